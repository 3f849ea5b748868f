#include "broker/handlers.h"
#include "broker/registration.h"
#include "rpc/reply.h"

#include "base/log.h"
#include "codec/pop_info.h"
#include "meta/attributes.h"
#include "meta/names.h"

#include <stdlib.h>

/* --- create and change --- */

/* A topic is on disk, and known to the name servers, before its creator hears of it: it can be used at once, and for good. */
struct created {
    struct saver_waiter waiter;
    struct broker *broker;
    struct call *call;
};

static void registered(void *ctx) { call_reply_ok(ctx); }

static void saved(struct saver_waiter *w, err_t e)
{
    struct created *c = LIST_OWNER(w, struct created, waiter);
    if (e || c->broker->stopping) reply_outcome(c->call, e);
    else registration_now(c->broker->registration, registered, c->call);
    free(c);
}

static void reply_when_known(struct broker *b, struct call *call)
{
    struct created *c = must_zero(sizeof *c);
    c->waiter.done = saved;
    c->broker = b;
    c->call = call;
    topics_when_saved(b->topics, &c->waiter);
}

static err_t set_topic(struct broker *b, const struct topic_config *wanted, bool *changed)
{
    bool did;
    err_t e = topics_set(b->topics, wanted, &did);
    if (!e) *changed |= did;
    return e;
}

static err_t create_from_header(struct broker *b, const struct create_topic_header *h, bool *changed)
{
    struct arena arena = ARENA_EMPTY;
    struct attributes edits = {.pairs = {NULL, 0}};
    err_t e = h->attributes.n ? attribute_edits_parse(h->attributes, &arena, &edits) : NULL;
    struct topic_config wanted = {
        .name = h->topic, .read_queues = h->read_queue_nums, .write_queues = h->write_queue_nums, .perm = h->perm,
        .sys_flag = h->topic_sys_flag, .order = h->order,
        .filter = slice_eq(h->topic_filter_type, SLICE("MULTI_TAG")) ? TOPIC_FILTER_MULTI_TAG : TOPIC_FILTER_SINGLE_TAG,
    };
    wanted.attributes.items = edits.pairs.items;
    wanted.attributes.count = edits.pairs.count;
    if (!e) e = set_topic(b, &wanted, changed);
    arena_done(&arena);
    return e;
}

void handle_create_topic(struct broker *b, struct call *call)
{
    struct create_topic_header h;
    bool changed = false;
    err_t e = header_decode(&create_topic_kind, call->frame, &h);
    if (!e) e = create_from_header(b, &h, &changed);
    if (e) call_fail(call, e);
    else if (changed) reply_when_known(b, call);
    else call_reply_ok(call);
}

/* A list is taken as far as it is right. Its attributes say what is wanted, not what is to change. */
void handle_create_topics(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct topic_config_list list;
    bool changed = false;
    err_t e = bean_decode(&topic_config_list_bean, call->body, &arena, "topic list", &list);
    for (size_t i = 0; !e && i < list.topics.count; i++) e = set_topic(b, &list.topics.items[i], &changed);
    if (e) call_fail(call, e);
    else if (changed) reply_when_known(b, call);
    else call_reply_ok(call);
    arena_done(&arena);
}

/* --- delete --- */

static void forget_topic(struct broker *b, struct slice name)
{
    store_delete_topic(b->store, name);
    offsets_remove_topic(b->offsets, name);
    stats_forget_topic(&b->stats, name);
    broker_topic_deleted(b, name);
    hold_drop_topic(&b->hold, name);
}

/* Of the older naming, the name may be that of another topic of another group. */
static bool is_retry_of(const struct broker *b, enum pop_kind kind, struct slice name, struct slice group, struct slice topic)
{
    if (!topics_find(b->topics, name)) return false;
    return kind == POP_RETRY_V2 || offsets_find(b->offsets, topic, group) || offsets_find(b->offsets, name, group);
}

static void delete_retry_topic(struct broker *b, enum pop_kind kind, struct slice group, struct slice topic)
{
    struct buf name = BUF_EMPTY;
    pop_topic_name(kind, group, topic, &name);
    if (is_retry_of(b, kind, buf_slice(&name), group, topic)) {
        topics_remove(b->topics, buf_slice(&name));
        forget_topic(b, buf_slice(&name));
    }
    buf_done(&name);
}

/* Those that pop made. */
static void delete_retry_topics(struct broker *b, struct slice topic)
{
    const struct group *group;
    for (size_t at = 0; (group = groups_next(b->groups, &at));) {
        delete_retry_topic(b, POP_RETRY_V1, group->config.name, topic);
        delete_retry_topic(b, POP_RETRY_V2, group->config.name, topic);
    }
}

void handle_delete_topic(struct broker *b, struct call *call)
{
    struct delete_topic_header h;
    err_t e = header_decode(&delete_topic_kind, call->frame, &h);
    if (!e && !slice_trim(h.topic).n) e = err_new(ERR_INVALID, "The specified topic is blank.");
    if (!e) e = topics_check_name(b->topics, h.topic);
    struct slice name = e ? (struct slice){NULL, 0} : h.topic;
    if (!e) e = topics_delete(b->topics, name);
    if (e) {
        call_fail(call, e);
        return;
    }
    if (b->cfg->broker.clear_retry_topics) delete_retry_topics(b, name);
    forget_topic(b, name);
    offsets_flush(b->offsets);   /* a topic of that name that is made again begins anew, also after a crash */
    topics_when_saved(b->topics, reply_when_saved(call));
}

/* --- look --- */

void handle_get_topic(struct broker *b, struct call *call)
{
    struct get_topic_config_header h;
    err_t e = header_decode(&get_topic_config_kind, call->frame, &h);
    const struct topic *t = e ? NULL : topics_find(b->topics, h.topic);
    if (!e && !t) e = err_new(ERR_TOPIC_NOT_FOUND, "No topic in this broker. topic: %.*s", SLICE_ARG(h.topic));
    if (e) {
        call_fail(call, e);
        return;
    }
    reply_bean(call, NULL, NULL, &topic_config_bean, &t->config);
}

void handle_all_topics(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct topic_table table;
    struct all_topics_reply_header reply = {.total_topic_num = (int32_t)topics_count(b->topics)};
    topics_table(b->topics, &arena, &table);
    reply_bean(call, &all_topics_reply_kind, &reply, &topic_table_bean, &table);
    arena_done(&arena);
}
