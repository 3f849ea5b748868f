#include "broker/lite/lite_state.h"

#include "base/log.h"
#include "broker/handlers.h"

#include <stdlib.h>
#include <strings.h>

/* --- what topics and groups are --- */

bool lite_is_parent(const struct broker *b, struct slice name)
{
    const struct topic *topic = topics_find(b->topics, name);
    return topic && slice_eq(topic_attribute(&topic->config, SLICE("message.type")), SLICE("LITE"));
}

int32_t lite_ttl_minutes(const struct topic *topic)
{
    int32_t minutes;
    struct slice text = topic_attribute(&topic->config, SLICE("lite.topic.expiration"));
    return slice_to_i32(text, &minutes) ? minutes : -1;
}

static struct slice attribute(const struct broker *b, struct slice name, struct slice key)
{
    const struct group *group = groups_find(b->groups, name);
    return group ? group_config_attribute(&group->config, key) : (struct slice){NULL, 0};
}

struct slice lite_bound_topic(const struct broker *b, struct slice group) { return attribute(b, group, SLICE("lite.bind.topic")); }

bool lite_group_says(const struct broker *b, struct slice group, struct slice key, struct slice value)
{
    struct slice said = attribute(b, group, key);
    return said.n == value.n && !strncasecmp((const char *)said.p, (const char *)value.p, value.n);
}

bool lite_is_wildcard(const struct broker *b, struct slice group) { return attribute(b, group, SLICE("lite.sub.wildcard")).p; }

/* --- life --- */

struct lite *lite_new(struct broker *b)
{
    struct lite *l = must_zero(sizeof *l);
    l->broker = b;
    l->clients = l->topics = l->groups = MAP_EMPTY;
    list_init(&l->wildcards);
    list_init(&l->woken);
    order_open_in_memory(&l->order, b);
    l->started_ms = tasks_mono_ms(b->tasks);
    timer_init(&l->expire, lite_expire, l);
    timer_init(&l->clean, lite_clean, l);
    if (!b->cfg->store.lmq) return l;   /* there are no lite topics then */
    timer_start(b->tasks, &l->expire, b->cfg->broker.lite_check_ms);
    timer_start(b->tasks, &l->clean, b->cfg->broker.lite_clean_ms);
    return l;
}

static void stop_share(struct lite *l, struct lite_topic *t)
{
    LIST_EACH(&t->shares, node) timer_stop(l->broker->tasks, &LIST_OWNER(node, struct lite_share, in_topic)->unlock);
}

void lite_stop(struct lite *l)
{
    struct map_entry *e;
    if (!l) return;
    l->stopped = true;
    timer_stop(l->broker->tasks, &l->expire);
    timer_stop(l->broker->tasks, &l->clean);
    for (size_t at = 0; (e = map_next(&l->topics, &at));) stop_share(l, e->value);
    lite_clean_end(l);
}

void lite_free(struct lite *l)
{
    if (!l) return;
    lite_registry_done(l);
    err_drop(order_close(&l->order), "it has no file");
    free(l);
}

void lite_conn_closed(struct lite *l, const struct rpc_conn *conn)
{
    struct map_entry *e;
    for (size_t at = 0; l && (e = map_next(&l->clients, &at));) {
        struct lite_client *c = e->value;
        if (c->conn != conn) continue;
        rpc_conn_unref(c->conn);
        c->conn = NULL;
    }
}

/* --- what an administrator does --- */

struct gathering {
    struct slice parent;
    struct buf names;                /* each with a 0 behind it */
};

static void gather(void *ctx, struct slice queue)
{
    struct gathering *g = ctx;
    struct slice parent, name;
    if (!lite_queue_parse(queue, &parent, &name) || !slice_eq(parent, g->parent)) return;
    buf_put_slice(&g->names, queue);
    buf_put_u8(&g->names, 0);
}

void lite_topic_gone(struct lite *l, struct slice topic)
{
    struct gathering g = {topic, BUF_EMPTY};
    if (!l || !l->broker->cfg->store.lmq || slice_starts(topic, SLICE("%"))) return;
    store_each_topic(l->broker->store, gather, &g);
    struct slice rest = buf_slice(&g.names), queue;
    while (rest.n && slice_split(&rest, 0, &queue))
        if (queue.n) lite_delete_queue(l, topic, queue);
    buf_done(&g.names);
}

void lite_group_gone(struct lite *l, struct slice group)
{
    if (l) order_forget(&l->order, (struct slice){NULL, 0}, group);
}

void lite_offset_reset(struct lite *l, struct slice queue, struct slice group)
{
    if (!l) return;
    order_clear(&l->order, queue, group, 0);
    lite_ready_named(l, queue, group);
}

/* --- tools --- */

void handle_lite_dispatch(struct broker *b, struct call *call)
{
    struct lite_dispatch_header h;
    err_t e = header_decode(&lite_dispatch_kind, call->frame, &h);
    if (!e && !groups_find(b->groups, h.group)) e = err_new(ERR_GROUP_NOT_FOUND, "Group [%.*s] not exist.", SLICE_ARG(h.group));
    if (!e && !lite_bound_topic(b, h.group).n) e = err_new(ERR_INVALID, "Group [%.*s] is not a LITE group.", SLICE_ARG(h.group));
    if (e) {
        call_fail(call, e);
        return;
    }
    log_info("lite.dispatch group=\"%.*s\" client=\"%.*s\"", SLICE_ARG(h.group), SLICE_ARG(h.client_id));
    struct lite_client *c = h.client_id.n ? lite_client_find(b->lite, h.client_id) : NULL;
    struct lite_group *g = h.client_id.n ? NULL : lite_group_find(b->lite, h.group);
    if (c && c->group && slice_eq(c->group->name, h.group)) lite_dispatch_client(b->lite, c);
    if (g) lite_dispatch_group(b->lite, g);
    call_reply_ok(call);
}
