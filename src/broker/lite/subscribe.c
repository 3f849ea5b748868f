/* LITE_SUBSCRIPTION_CTL: what a client subscribes to, all of it or a change. A lite topic is kept where producers send it to, and where it has
 * messages already. Facts: docs/protocol/lite.md */
#include "broker/handlers.h"
#include "broker/lite/lite_state.h"

#include "base/log.h"
#include "codec/body_lite.h"
#include "codec/java_hash.h"
#include "codec/jump_hash.h"
#include "meta/names.h"

#include <stdlib.h>

/* A request under way: which broker a lite topic is for is asked a name server. */
struct lite_asking {
    struct lite *lite;
    struct call *call;
    struct arena arena;
    struct lite_subscriptions body;
    size_t at;
    bool waits, inside;
    err_t failed;
};

/* --- which lite topics are for this broker --- */

struct places {
    bool known;
    const struct message_queue *queues;
    size_t count;
};

static bool is_mine(const struct broker *b, const struct places *p, struct slice lite)
{
    if (!p->known || !p->count) return true;
    return slice_eq(p->queues[jump_hash(java_hash(lite), p->count)].broker, slice_text(b->cfg->broker.name));
}

/* False: another broker's, or it cannot be a lite topic. */
static bool queue_for(const struct lite *l, const struct places *places, struct slice topic, struct slice lite, struct buf *queue)
{
    struct slice parent, name;
    buf_clear(queue);
    lite_queue_name(topic, lite, queue);
    if (queue->n > RETRY_TOPIC_NAME_MAX || !lite_queue_parse(buf_slice(queue), &parent, &name) || !slice_eq(name, lite)) return false;
    return is_mine(l->broker, places, lite) || store_max_offset(l->broker->store, buf_slice(queue), 0) > 0;
}

/* --- where the group goes on --- */

void lite_move(struct lite *l, struct slice queue, struct slice group, int64_t offset)
{
    struct broker *b = l->broker;
    if (offset < 0 || offset == offsets_query(b->offsets, queue, group, 0)) return;
    log_info("lite.offset_reset queue=\"%.*s\" group=\"%.*s\" to=%lld", SLICE_ARG(queue), SLICE_ARG(group), (long long)offset);
    offsets_reset(b->offsets, queue, group, 0, offset);
    order_clear(&l->order, queue, group, 0);
    lite_ready_named(l, queue, group);
}

static void move_as_asked(struct lite *l, struct slice queue, struct slice group, const struct lite_offset_option *o)
{
    int64_t now = offsets_query(l->broker->offsets, queue, group, 0);
    if (!o) return;
    switch (o->type) {
    case LITE_OFFSET_POLICY:
        if (o->value == LITE_POLICY_MIN) lite_move(l, queue, group, 0);
        if (o->value == LITE_POLICY_MAX) lite_move(l, queue, group, store_max_offset(l->broker->store, queue, 0));
        break;
    case LITE_OFFSET_OFFSET: lite_move(l, queue, group, o->value); break;
    case LITE_OFFSET_TAIL_N:
        if (now >= 0 && o->value >= 0) lite_move(l, queue, group, now > o->value ? now - o->value : 0);
        break;
    default: break;   /* as the original, no times */
    }
}

/* --- one entry --- */

static err_t check_group(const struct broker *b, struct slice name)
{
    const struct group *group = groups_find(b->groups, name);
    return group && group->config.consume_enable ? NULL : err_new(ERR_ILLEGAL_OPERATION, "Consumer group is not allowed to consume.");
}

static struct lite_client *speaker(struct lite_asking *a, const struct lite_subscription *s)
{
    struct lite *l = a->lite;
    struct lite_client *c = lite_client_find(l, s->client_id);
    bool other = c && c->group && !(slice_eq(c->group->name, s->group) && slice_eq(slice_text(c->topic), s->topic));
    if (other) lite_client_leave(l, c);
    c = lite_client_get(l, s->client_id);
    lite_client_join(l, c, s->group, s->topic);
    c->told_ms = tasks_mono_ms(l->broker->tasks);
    if (c->conn == a->call->conn || !rpc_conn_open(a->call->conn)) return c;
    if (c->conn) rpc_conn_unref(c->conn);
    c->conn = rpc_conn_ref(a->call->conn);
    return c;
}

static err_t subscribe(struct lite *l, struct lite_client *c, struct slice queue)
{
    int64_t max = l->broker->cfg->broker.max_lite_subscriptions;
    if (lite_sub_find(l, c, queue)) return NULL;
    if ((int64_t)l->subscriptions >= max) return err_new(ERR_LITE_QUOTA, "lite subscription quota exceeded %lld", (long long)max);
    lite_subscribe(l, c, queue);
    lite_ready(l, lite_share_find(l, queue, c->group->name));
    return NULL;
}

static err_t add_some(struct lite_asking *a, const struct lite_subscription *s, const struct places *places)
{
    struct lite *l = a->lite;
    struct broker *b = l->broker;
    struct buf queue = BUF_EMPTY;
    err_t e = NULL;
    if (lite_is_wildcard(b, s->group)) return err_new(ERR_ILLEGAL_OPERATION, "subscribe lite operation is not supported for this group");
    bool exclusive = lite_group_says(b, s->group, SLICE("lite.sub.model"), SLICE("Exclusive"));
    bool resets = lite_group_says(b, s->group, SLICE("lite.sub.reset.offset.exclusive"), SLICE("true"));
    struct lite_client *c = speaker(a, s);
    for (size_t i = 0; !e && i < s->lite_topics.count; i++) {
        if (!queue_for(l, places, s->topic, s->lite_topics.items[i], &queue)) continue;
        if (exclusive && lite_take_over(l, s->group, buf_slice(&queue), c) && resets) lite_move(l, buf_slice(&queue), s->group, 0);
        move_as_asked(l, buf_slice(&queue), s->group, s->offset);
        e = subscribe(l, c, buf_slice(&queue));
    }
    buf_done(&queue);
    return e;
}

static void remove_some(struct lite *l, const struct lite_subscription *s)
{
    struct lite_client *c = lite_client_find(l, s->client_id);
    bool resets = lite_group_says(l->broker, s->group, SLICE("lite.sub.reset.offset.unsubscribe"), SLICE("true"));
    struct buf queue = BUF_EMPTY;
    if (!c || !c->group) return;
    c->told_ms = tasks_mono_ms(l->broker->tasks);
    for (size_t i = 0; i < s->lite_topics.count; i++) {
        buf_clear(&queue);
        lite_queue_name(s->topic, s->lite_topics.items[i], &queue);
        struct lite_sub *sub = lite_sub_find(l, c, buf_slice(&queue));
        if (!sub) continue;
        lite_unsubscribe(l, sub);
        if (resets) lite_move(l, buf_slice(&queue), c->group->name, 0);
    }
    buf_done(&queue);
}

/* Those that stay are marked, the others go. */
static void keep_only(struct lite *l, struct lite_client *c, const struct lite_subscription *s)
{
    struct buf queue = BUF_EMPTY;
    LIST_EACH(&c->subs, node) LIST_OWNER(node, struct lite_sub, in_client)->stays = false;
    for (size_t i = 0; i < s->lite_topics.count; i++) {
        buf_clear(&queue);
        lite_queue_name(s->topic, s->lite_topics.items[i], &queue);
        struct lite_sub *sub = lite_sub_find(l, c, buf_slice(&queue));
        if (sub) sub->stays = true;
    }
    buf_done(&queue);
    LIST_EACH(&c->subs, left) {
        struct lite_sub *sub = LIST_OWNER(left, struct lite_sub, in_client);
        if (!sub->stays) lite_unsubscribe(l, sub);
    }
}

static err_t add_all(struct lite_asking *a, const struct lite_subscription *s, const struct places *places)
{
    struct lite *l = a->lite;
    struct buf queue = BUF_EMPTY;
    err_t e = NULL;
    const struct lite_group *before = lite_group_find(l, s->group);
    bool had_wildcard = before && before->wildcard.p;
    struct lite_client *c = speaker(a, s);
    if (c->group->wildcard.p) {
        if (!had_wildcard) lite_dispatch_group(l, c->group);
        return NULL;
    }
    keep_only(l, c, s);
    for (size_t i = 0; !e && i < s->lite_topics.count; i++)
        if (queue_for(l, places, s->topic, s->lite_topics.items[i], &queue)) e = subscribe(l, c, buf_slice(&queue));
    buf_done(&queue);
    return e;
}

/* --- the request --- */

static const struct lite_subscription *entry(const struct lite_asking *a) { return &a->body.entries.items[a->at]; }

static void on_queues(void *ctx, bool known, const struct message_queue *queues, size_t count);

static void finish(struct lite_asking *a)
{
    if (a->failed) call_fail(a->call, a->failed);
    else call_reply_ok(a->call);
    arena_done(&a->arena);
    free(a);
}

static void go_on(struct lite_asking *a)
{
    a->inside = true;
    for (; !a->failed && a->at < a->body.entries.count; a->at++) {
        const struct lite_subscription *s = entry(a);
        bool adds = s->action == LITE_PARTIAL_ADD || s->action == LITE_COMPLETE_ADD;
        if (!slice_trim(s->client_id).n || !slice_trim(s->group).n || !slice_trim(s->topic).n) {
            log_warn("lite.subscription_without_names client=\"%.*s\" group=\"%.*s\" topic=\"%.*s\"", SLICE_ARG(s->client_id), SLICE_ARG(s->group),
                     SLICE_ARG(s->topic));
            continue;
        }
        if (s->action == LITE_PARTIAL_REMOVE) remove_some(a->lite, s);
        struct lite_client *c = s->action == LITE_COMPLETE_REMOVE ? lite_client_find(a->lite, s->client_id) : NULL;
        if (c) lite_client_leave(a->lite, c);
        if (adds) a->failed = check_group(a->lite->broker, s->group);
        if (!adds || a->failed) continue;
        a->waits = true;
        broker_topic_queues(a->lite->broker, s->topic, on_queues, a);
        if (a->waits) {
            a->inside = false;
            return;
        }
    }
    finish(a);
}

static void on_queues(void *ctx, bool known, const struct message_queue *queues, size_t count)
{
    struct lite_asking *a = ctx;
    struct places places = {known, queues, count};
    const struct lite_subscription *s = entry(a);
    a->waits = false;
    a->failed = s->action == LITE_PARTIAL_ADD ? add_some(a, s, &places) : add_all(a, s, &places);
    if (a->inside) return;
    a->at++;
    go_on(a);
}

void handle_lite_subscriptions(struct broker *b, struct call *call)
{
    if (!call->body.n) {
        call_fail(call, err_new(ERR_ILLEGAL_OPERATION, "Request body is null."));
        return;
    }
    struct lite_asking *a = must_zero(sizeof *a);
    a->lite = b->lite;
    a->call = call;
    a->arena = ARENA_EMPTY;
    a->failed = bean_decode(&lite_subscriptions_bean, arena_copy(&a->arena, call->body), &a->arena, "lite subscriptions", &a->body);
    if (!a->failed && !a->body.entries.count) a->failed = err_new(ERR_ILLEGAL_OPERATION, "LiteSubscriptionCtlRequestBody is empty.");
    if (!b->lite->told && !(b->cfg->store.lmq && b->cfg->store.multi_dispatch)) {
        log_warn("lite.off: a client subscribes to lite topics, and will get nothing: enableLmq and enableMultiDispatch are not both true");
        b->lite->told = true;
    }
    go_on(a);
}

/* --- clients that are gone without a word --- */

void lite_expire(void *ctx)
{
    struct lite *l = ctx;
    struct broker *b = l->broker;
    struct map_entry *e;
    int64_t now = tasks_mono_ms(b->tasks);
    for (size_t at = 0; (e = map_next(&l->clients, &at));) {
        struct lite_client *c = e->value;
        if (!c->group || now - c->told_ms <= b->cfg->broker.lite_expired_ms) continue;
        log_info("lite.client_expired client=\"%.*s\" group=\"%.*s\"", SLICE_ARG(c->id), SLICE_ARG(c->group->name));
        lite_client_leave(l, c);
    }
    order_tidy(&l->order);
    timer_start(b->tasks, &l->expire, b->cfg->broker.lite_check_ms);
}
