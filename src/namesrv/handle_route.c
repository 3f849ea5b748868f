/* Routes: who serves a topic, which topics and brokers there are. */
#include "namesrv/state.h"

#define FAQ "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."

static bool is_ready(const struct namesrv *ns)
{
    const struct config_namesrv *c = &ns->config->namesrv;
    return !c->wait_for_service || tasks_mono_ms(ns->tasks) >= ns->started_ms + (int64_t)c->wait_seconds * 1000;
}

static err_t find_route(struct namesrv *ns, const struct call *call, struct slice topic, struct arena *arena,
                        struct topic_route *out)
{
    struct route_question q = {.topic = topic, .acting_master = ns->config->namesrv.support_acting_master};
    if (slice_eq(frame_get(call->frame, SLICE("__ZONE_MODE")), SLICE("true")))
        q.zone = frame_get(call->frame, SLICE("__ZONE_NAME"));
    if (!is_ready(ns)) return err_new(ERR_REFUSED, "name server not ready");
    if (!route_table_route(ns->routes, &q, arena, out))
        return err_new(ERR_TOPIC_NOT_FOUND, "No topic route info in name server for the topic: %.*s" FAQ, SLICE_ARG(topic));
    if (ns->config->namesrv.order_messages) out->order = slice_text(kv_get(&ns->kv, ORDER_SPACE, topic));
    return NULL;
}

/* Clients from 4.9.4 on read strict JSON; for the others integer keys stand bare, as they always did. */
static enum json_style style_for(const struct call *call, const struct route_header *h)
{
    return call->version >= VERSION_4_9_4 || h->accept_standard_json_only ? JSON_STRICT : JSON_RAW;
}

void handle_route(struct namesrv *ns, struct call *call)
{
    struct route_header h;
    struct topic_route route;
    struct arena arena = ARENA_EMPTY;
    err_t e = header_decode(&route_kind, call->frame, &h);
    if (!e) e = find_route(ns, call, h.topic, &arena, &route);
    if (e) {
        call_fail(call, e);
    } else {
        struct buf text = BUF_EMPTY;
        bean_encode(&topic_route_bean, &route, style_for(call, &h), &text);
        call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, buf_slice(&text));
        buf_done(&text);
    }
    arena_done(&arena);
}

void handle_cluster_info(struct namesrv *ns, struct call *call)
{
    struct cluster_info info;
    struct arena arena = ARENA_EMPTY;
    route_table_clusters(ns->routes, &arena, &info);
    reply_bean(call, NULL, NULL, &cluster_info_bean, &info);
    arena_done(&arena);
}

void handle_member_group(struct namesrv *ns, struct call *call)
{
    struct member_group_header h;
    struct broker_group group;
    struct arena arena = ARENA_EMPTY;
    err_t e = header_decode(&member_group_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    route_table_members(ns->routes, h.cluster_name, h.broker_name, &arena, &group);
    reply_bean(call, NULL, NULL, &member_group_reply_bean, &group);
    arena_done(&arena);
}

/* --- lists of topics --- */

static void reply_topics(struct namesrv *ns, struct call *call, bool allowed, enum topic_choice choice, struct slice cluster)
{
    struct topic_list list;
    struct arena arena = ARENA_EMPTY;
    if (!allowed) {
        call_fail(call, err_new(ERR_REFUSED, "disable"));
        return;
    }
    route_table_topics(ns->routes, choice, cluster, &arena, &list);
    reply_bean(call, NULL, NULL, &topic_list_bean, &list);
    arena_done(&arena);
}

static const struct slice no_cluster = {NULL, 0};

void handle_topic_list(struct namesrv *ns, struct call *call)
{
    reply_topics(ns, call, ns->config->namesrv.all_topic_list, TOPICS_ALL, no_cluster);
}

void handle_topics_by_cluster(struct namesrv *ns, struct call *call)
{
    struct topics_by_cluster_header h;
    err_t e = header_decode(&topics_by_cluster_kind, call->frame, &h);
    if (e) call_fail(call, e);
    else reply_topics(ns, call, ns->config->namesrv.topic_list, TOPICS_OF_CLUSTER, h.cluster);
}

void handle_unit_topics(struct namesrv *ns, struct call *call)
{
    reply_topics(ns, call, ns->config->namesrv.topic_list, TOPICS_UNIT, no_cluster);
}

void handle_unit_sub_topics(struct namesrv *ns, struct call *call)
{
    reply_topics(ns, call, ns->config->namesrv.topic_list, TOPICS_WITH_UNIT_SUB, no_cluster);
}

void handle_other_unit_sub_topics(struct namesrv *ns, struct call *call)
{
    reply_topics(ns, call, ns->config->namesrv.topic_list, TOPICS_NOT_UNIT_WITH_UNIT_SUB, no_cluster);
}

void handle_system_topic_list(struct namesrv *ns, struct call *call)
{
    struct topic_list list;
    struct arena arena = ARENA_EMPTY;
    route_table_system_topics(ns->routes, &arena, &list);
    reply_bean(call, NULL, NULL, &topic_list_bean, &list);
    arena_done(&arena);
}

/* --- changes --- */

void handle_wipe_perm(struct namesrv *ns, struct call *call)
{
    struct wipe_perm_header h;
    err_t e = header_decode(&wipe_perm_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct wipe_perm_reply_header reply = {.wipe_topic_count = route_table_set_writable(ns->routes, h.broker_name, false)};
    call_reply(call, RESPONSE_SUCCESS, NULL, &wipe_perm_reply_kind, &reply, slice_of(NULL, 0));
}

void handle_add_perm(struct namesrv *ns, struct call *call)
{
    struct add_perm_header h;
    err_t e = header_decode(&add_perm_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct add_perm_reply_header reply = {.add_topic_count = route_table_set_writable(ns->routes, h.broker_name, true)};
    call_reply(call, RESPONSE_SUCCESS, NULL, &add_perm_reply_kind, &reply, slice_of(NULL, 0));
}

void handle_delete_topic_route(struct namesrv *ns, struct call *call)
{
    struct delete_topic_route_header h;
    err_t e = header_decode(&delete_topic_route_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    route_table_delete_topic(ns->routes, h.topic, h.cluster_name);
    call_reply_ok(call);
}
