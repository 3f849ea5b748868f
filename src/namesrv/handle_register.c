/* Brokers: they come, say that they live, and leave. */
#include "namesrv/state.h"

static struct slice order_table(struct namesrv *ns, struct buf *text)
{
    struct arena arena = ARENA_EMPTY;
    struct kv_table table;
    if (ns->config->namesrv.return_order_config && kv_list(&ns->kv, ORDER_SPACE, &arena, &table))
        bean_encode(&kv_table_bean, &table, JSON_RAW, text);
    arena_done(&arena);
    return buf_slice(text);
}

static void reply_registered(struct namesrv *ns, struct call *call, const struct master *master)
{
    struct register_broker_reply_header h = {.master_addr = master->address, .ha_server_addr = master->ha_address};
    struct buf text = BUF_EMPTY;
    call_reply(call, RESPONSE_SUCCESS, NULL, &register_broker_reply_kind, &h, order_table(ns, &text));
    buf_done(&text);
}

static void fill_registration(struct namesrv *ns, const struct call *call, const struct register_broker_header *h,
                              const struct register_body *body, struct registration *out)
{
    *out = (struct registration){
        .cluster = h->cluster_name, .group = h->broker_name, .address = h->broker_addr, .ha_address = h->ha_server_addr,
        .zone = frame_get(call->frame, SLICE("__ZONE_NAME")), .id = h->broker_id, .timeout_ms = BROKER_TIMEOUT_MS,
        .knows_acting_master = header_has(h, register_broker, enable_acting_master),
        .enable_acting_master = h->enable_acting_master,
        .delete_missing = ns->config->namesrv.delete_missing_topics, .conn_id = rpc_conn_id(call->conn), .body = body};
    if (header_has(h, register_broker, heartbeat_timeout_millis)) out->timeout_ms = h->heartbeat_timeout_millis;
}

static err_t decode_registration(const struct call *call, struct register_broker_header *h, struct arena *arena,
                                 struct register_body *body)
{
    err_t e = header_decode(&register_broker_kind, call->frame, h);
    if (e) return e;
    if (h->body_crc32 && (uint32_t)h->body_crc32 != register_crc(call->body)) return err_new(ERR_REFUSED, "crc32 not match");
    return register_body_decode(call->body, h->compressed, call->version, arena, body);
}

void handle_register_broker(struct namesrv *ns, struct call *call)
{
    struct register_broker_header h;
    struct register_body body;
    struct registration r;
    struct master master;
    struct arena arena = ARENA_EMPTY;
    err_t e = decode_registration(call, &h, &arena, &body);
    if (!e) {
        fill_registration(ns, call, &h, &body, &r);
        if (route_table_register(ns->routes, &r, tasks_mono_ms(ns->tasks), &master) == REGISTERED_REFUSED)
            e = err_new(ERR_REFUSED, "register broker failed");
    }
    if (e) call_fail(call, e);
    else reply_registered(ns, call, &master);
    arena_done(&arena);
}

void handle_unregister_broker(struct namesrv *ns, struct call *call)
{
    struct unregister_broker_header h;
    err_t e = header_decode(&unregister_broker_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    route_table_unregister(ns->routes, h.broker_name, h.broker_addr, h.broker_id);
    call_reply_ok(call);
}

void handle_broker_heartbeat(struct namesrv *ns, struct call *call)
{
    struct broker_heartbeat_header h;
    err_t e = header_decode(&broker_heartbeat_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    route_table_touch(ns->routes, h.broker_name, h.broker_addr, tasks_mono_ms(ns->tasks));
    call_reply_ok(call);
}

void handle_query_data_version(struct namesrv *ns, struct call *call)
{
    struct query_data_version_header h;
    struct data_version asked;
    struct buf text = BUF_EMPTY;
    err_t e = header_decode(&query_data_version_kind, call->frame, &h);
    if (!e) e = data_version_decode(call->body, &asked);
    if (e) {
        call_fail(call, e);
        return;
    }
    const struct data_version *own = route_table_version(ns->routes, h.broker_name, h.broker_addr);
    struct query_data_version_reply_header reply = {.changed = !own || !data_version_eq(own, &asked)};
    if (!reply.changed) route_table_touch(ns->routes, h.broker_name, h.broker_addr, tasks_mono_ms(ns->tasks));
    if (own) data_version_encode(own, &text);
    call_reply(call, RESPONSE_SUCCESS, NULL, &query_data_version_reply_kind, &reply, buf_slice(&text));
    buf_done(&text);
}

void handle_register_topic(struct namesrv *ns, struct call *call)
{
    struct register_topic_header h;
    struct topic_route route;
    struct arena arena = ARENA_EMPTY;
    err_t e = header_decode(&register_topic_kind, call->frame, &h);
    if (!e) e = topic_route_decode(call->body, &arena, &route);
    if (e) {
        call_fail(call, e);
    } else {
        route_table_add_topic(ns->routes, h.topic, &route);
        call_reply_ok(call);
    }
    arena_done(&arena);
}
