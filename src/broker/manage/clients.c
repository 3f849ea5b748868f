#include "broker/handlers.h"
#include "rpc/reply.h"

#include "codec/body_check_client.h"
#include "codec/body_queue.h"
#include "meta/names.h"

static bool subscribes_to_ordered(struct broker *b, const struct heartbeat_consumer *h)
{
    for (size_t i = 0; i < h->subscriptions.count; i++) {
        const struct topic *t = topics_find(b->topics, h->subscriptions.items[i].topic);
        if (t && t->config.order) return true;
    }
    return false;
}

/* A group that consumes has a topic for what is to be tried again. */
static void ensure_retry_topic(struct broker *b, const struct heartbeat_consumer *h, const struct group *group)
{
    struct buf name = BUF_EMPTY;
    retry_topic_name(h->group, &name);
    topics_ensure(b->topics, buf_slice(&name), group->config.retry_queues, PERM_READ | PERM_WRITE, subscribes_to_ordered(b, h),
                  h->unit_mode ? TOPIC_SYS_UNIT_SUB : 0);
    buf_done(&name);
}

/* *must_tell: the client must send its subscriptions again. */
static err_t take_consumer(struct broker *b, struct client *c, const struct heartbeat *hb, const struct heartbeat_consumer *h,
                           bool *must_tell)
{
    if (b->cfg->broker.reject_pull_consumer && h->type == CONSUME_ACTIVELY) return NULL;
    const struct group *group = groups_find_or_create(b->groups, h->group);
    if (!group) return NULL;
    ensure_retry_topic(b, h, group);
    bool tells_little = false;
    err_t e = members_consumer(&b->members, c, h, hb->fingerprint, hb->fingerprint && hb->without_sub, &tells_little);
    *must_tell |= tells_little;
    return e;
}

/* All groups of a heartbeat, also behind one that is refused; the first error counts. */
static err_t take_consumers(struct broker *b, struct client *c, const struct heartbeat *hb, bool *must_tell)
{
    err_t first = NULL;
    for (size_t i = 0; i < hb->consumers.count; i++) {
        err_t e = take_consumer(b, c, hb, &hb->consumers.items[i], must_tell);
        if (first) err_drop(e, "the first error is told");
        else first = e;
    }
    return first;
}

static void put_heartbeat_fields(void *ctx, struct frame_writer *w)
{
    const bool *must_tell = ctx;
    frame_put(w, SLICE("IS_SUPPORT_HEART_BEAT_V2"), SLICE("true"));
    frame_put(w, SLICE("IS_SUB_CHANGE"), *must_tell ? SLICE("true") : SLICE("false"));
}

/* A client tells its groups and what they subscribe to. Facts: docs/protocol/remoting.md A2 */
void handle_heartbeat(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct heartbeat hb;
    err_t e = heartbeat_decode(call->body, &arena, &hb);
    if (!e && !hb.client_id.n) e = err_new(ERR_BODY, "the heartbeat names no client");
    if (e) {
        call_fail(call, e);
        arena_done(&arena);
        return;
    }
    struct client *c = members_client(&b->members, call, hb.client_id);
    bool must_tell = hb.fingerprint == 0;   /* a heartbeat of the first kind always gets "true" */
    e = take_consumers(b, c, &hb, &must_tell);
    for (size_t i = 0; i < hb.producers.count; i++)
        if (hb.producers.items[i].group.n) members_producer(&b->members, c, hb.producers.items[i].group);
    if (e) call_fail(call, e);
    else call_reply_more(call, RESPONSE_SUCCESS, NULL, NULL, NULL, put_heartbeat_fields, &must_tell, (struct slice){NULL, 0});
    arena_done(&arena);
}

void handle_unregister_client(struct broker *b, struct call *call)
{
    struct unregister_client_header h;
    err_t e = header_decode(&unregister_client_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    members_leave(&b->members, call->conn, h.producer_group, h.consumer_group);
    call_reply_ok(call);
}

/* Before it starts, a consumer asks whether its expression will be understood. */
void handle_check_client(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct check_client check;
    err_t e = bean_decode(&check_client_bean, call->body, &arena, "client check", &check);
    if (!e && check.subscription && !subscription_is_tag(check.subscription->type)) {
        struct filter *filter = NULL;
        e = filters_compile(check.subscription->type, check.subscription->expression, b->cfg->broker.property_filter, &filter);
        filter_free(filter);
    }
    reply_outcome(call, e);
    arena_done(&arena);
}

/* The ids of a group's consumers; a client that is connected twice for a moment counts once. */
static void list_consumers(struct member_group *g, struct arena *arena, struct consumer_list *out)
{
    struct map seen = MAP_EMPTY;
    MEMBERS_EACH(g, node) {
        struct slice id = slice_text(MEMBER_OF(node)->client->id);
        if (map_put(&seen, id, g)) continue;
        struct slice *item = arena_list_add(arena, (void **)&out->client_ids.items, &out->client_ids.count, sizeof *item);
        if (item) *item = id;
    }
    map_done(&seen);
}

void handle_consumer_list(struct broker *b, struct call *call)
{
    struct consumer_list_header h;
    err_t e = header_decode(&consumer_list_kind, call->frame, &h);
    struct member_group *g = e ? NULL : members_consumers(&b->members, h.consumer_group);
    if (!e && !g) e = err_new(ERR_REFUSED, "no consumer for this group, %.*s", SLICE_ARG(h.consumer_group));
    if (e) {
        call_fail(call, e);
        return;
    }
    struct arena arena = ARENA_EMPTY;
    struct consumer_list list = {.client_ids = {NULL, 0}};
    list_consumers(g, &arena, &list);
    reply_bean(call, NULL, NULL, &consumer_list_bean, &list);
    arena_done(&arena);
}
