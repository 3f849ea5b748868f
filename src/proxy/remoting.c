#include "proxy/proxy.h"

#include "base/log.h"
#include "codec/body_queue.h"
#include "codec/body_route.h"
#include "codec/requests.h"
#include "rpc/relay.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAMESRV = 0, REFRESH_MS = 30000, ASK_MS = 3000, NAMESRVS_MAX = 16 };

struct broker_place {
    char *name;
    char *address;                     /* of its master */
};

struct proxy_remoting {
    struct proxy_remoting_options options;
    struct rpc_relay *relay;
    char *text;                        /* the name servers' addresses, cut at their ; */
    struct slice namesrvs[NAMESRVS_MAX];
    size_t namesrv_count, namesrv_next;
    struct broker_place brokers[RELAY_SERVERS_MAX - 1];   /* server 1 and on */
    size_t broker_count;
    struct rpc_peer *names;            /* asked for brokers */
    struct timer refresh;
};

/* --- brokers that are known --- */

static size_t find_broker(const struct proxy_remoting *m, struct slice name)
{
    for (size_t i = 0; i < m->broker_count; i++)
        if (slice_eq(slice_text(m->brokers[i].name), name)) return i + 1;
    return 0;
}

static void learn(struct proxy_remoting *m, const struct route_broker *b)
{
    struct slice address = {NULL, 0};
    for (size_t i = 0; i < b->addresses.count; i++)
        if (b->addresses.items[i].id == 0) address = b->addresses.items[i].text;
    if (!address.p || !b->name.n) return;
    size_t known = find_broker(m, b->name);
    if (!known && m->broker_count == sizeof m->brokers / sizeof *m->brokers) {
        log_warn("proxy.too_many_brokers name=\"%.*s\" most=%zu", SLICE_ARG(b->name), m->broker_count);
        return;
    }
    struct broker_place *place = &m->brokers[known ? known - 1 : m->broker_count++];
    if (!known) place->name = must_dup(b->name);
    free(place->address);
    place->address = must_dup(address);
}

static void on_cluster_info(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct proxy_remoting *m = ctx;
    struct arena arena = ARENA_EMPTY;
    struct cluster_info info = {.brokers = {NULL, 0}};
    if (!e) e = bean_decode(&cluster_info_bean, reply->frame->body, &arena, "cluster info", &info);
    if (!e)
        for (size_t i = 0; i < info.brokers.count; i++) learn(m, &info.brokers.items[i]);
    if (e) log_debug("proxy.no_cluster_info why=\"%s\"", err_text(e));
    err_free(e);
    arena_done(&arena);
}

static void refresh(void *ctx)
{
    struct proxy_remoting *m = ctx;
    struct rpc_request r = {.code = REQUEST_GET_BROKER_CLUSTER_INFO, .timeout_ms = ASK_MS, .done = on_cluster_info, .ctx = m};
    rpc_peer_request(m->names, &r);
    timer_start(rpc_tasks(m->options.loop), &m->refresh, REFRESH_MS);
}

/* --- where a request goes --- */

static bool is_served(int32_t code)
{
    switch (code) {
    case REQUEST_SEND_MESSAGE: case REQUEST_SEND_MESSAGE_V2: case REQUEST_SEND_BATCH_MESSAGE: case REQUEST_CONSUMER_SEND_MSG_BACK:
    case REQUEST_END_TRANSACTION: case REQUEST_RECALL_MESSAGE: case REQUEST_HEART_BEAT: case REQUEST_UNREGISTER_CLIENT:
    case REQUEST_CHECK_CLIENT_CONFIG: case REQUEST_PULL_MESSAGE: case REQUEST_LITE_PULL_MESSAGE: case REQUEST_POP_MESSAGE:
    case REQUEST_UPDATE_CONSUMER_OFFSET: case REQUEST_ACK_MESSAGE: case REQUEST_CHANGE_MESSAGE_INVISIBLETIME:
    case REQUEST_GET_CONSUMER_CONNECTION_LIST: case REQUEST_GET_CONSUMER_LIST_BY_GROUP:
    case REQUEST_GET_MAX_OFFSET: case REQUEST_GET_MIN_OFFSET:
    case REQUEST_QUERY_CONSUMER_OFFSET: case REQUEST_SEARCH_OFFSET_BY_TIMESTAMP: case REQUEST_LOCK_BATCH_MQ: case REQUEST_UNLOCK_BATCH_MQ:
    case REQUEST_GET_ROUTEINFO_BY_TOPIC: return true;
    }
    return false;
}

static bool is_for_all(int32_t code) { return code == REQUEST_HEART_BEAT || code == REQUEST_UNREGISTER_CLIENT; }
static bool is_short(int32_t code) { return code == REQUEST_SEND_MESSAGE_V2 || code == REQUEST_SEND_BATCH_MESSAGE; }

static void refuse(struct relay_choice *out, int32_t code, const char *fmt, struct slice name)
{
    out->count = 0;
    out->code = code;
    snprintf(out->remark, sizeof out->remark, fmt, name.n < 64 ? (int)name.n : 64, (const char *)name.p);
}

static void choose_broker(const struct proxy_remoting *m, struct slice name, struct relay_choice *out)
{
    size_t server = name.n ? find_broker(m, name) : m->broker_count == 1;   /* without a name: the only one */
    if (server) {
        out->servers[0] = (uint16_t)server;
        out->count = 1;
    } else if (name.n) {
        refuse(out, RESPONSE_SYSTEM_ERROR, "the broker \"%.*s\" is not known here", name);
    } else {
        refuse(out, RESPONSE_SYSTEM_ERROR, "the request does not say which broker it is for (bname)%.*s", SLICE(""));
    }
}

/* Locks name their broker in the queues alone. */
static void choose_by_queues(const struct proxy_remoting *m, struct slice body, struct relay_choice *out)
{
    struct arena arena = ARENA_EMPTY;
    struct lock_request r = {.queues = {NULL, 0}};
    err_t e = lock_request_decode(body, &arena, &r);
    choose_broker(m, !e && r.queues.count ? r.queues.items[0].broker : (struct slice){NULL, 0}, out);
    err_free(e);
    arena_done(&arena);
}

static void choose_all(const struct proxy_remoting *m, struct relay_choice *out)
{
    for (; out->count < m->broker_count; out->count++) out->servers[out->count] = (uint16_t)(out->count + 1);
    if (!out->count) refuse(out, RESPONSE_SYSTEM_ERROR, "no broker is known yet%.*s", SLICE(""));
}

/* Of this proxy itself: there is no other port for it. */
static void configure(const struct proxy_remoting *m, const struct frame *f, struct slice body, struct relay_choice *out)
{
    if (f->code == REQUEST_GET_BROKER_CONFIG) {
        proxy_configuration(m->options.proxy, &out->body);
        return;
    }
    err_t e = proxy_configure(m->options.proxy, body);
    out->code = e ? err_response(e) : RESPONSE_SUCCESS;
    if (e) snprintf(out->remark, sizeof out->remark, "%s", err_text(e));
    err_free(e);
}

static bool is_about_proxy(const struct proxy_remoting *m, int32_t code)
{
    return m->options.proxy && (code == REQUEST_UPDATE_BROKER_CONFIG || code == REQUEST_GET_BROKER_CONFIG);
}

static void choose(void *ctx, const struct frame *f, struct slice body, struct relay_choice *out)
{
    const struct proxy_remoting *m = ctx;
    struct slice name = frame_get(f, is_short(f->code) ? SLICE("n") : SLICE("bname"));
    bool locks = f->code == REQUEST_LOCK_BATCH_MQ || f->code == REQUEST_UNLOCK_BATCH_MQ;
    if (f->code == REQUEST_GET_ROUTEINFO_BY_TOPIC) {
        out->servers[0] = NAMESRV;
        out->count = 1;
        out->watch = true;
    } else if (is_about_proxy(m, f->code)) {
        configure(m, f, body, out);
    } else if (!is_served(f->code)) {
        refuse(out, RESPONSE_REQUEST_CODE_NOT_SUPPORTED, "the proxy does not serve requests of this code%.*s", SLICE(""));
    } else if (is_for_all(f->code)) {
        choose_all(m, out);
    } else if (locks && !name.n) {
        choose_by_queues(m, body, out);
    } else {
        choose_broker(m, name, out);
    }
}

static struct slice namesrv(struct proxy_remoting *m) { return m->namesrvs[m->namesrv_next++ % m->namesrv_count]; }

static struct local_port *place(void *ctx, size_t server, struct slice *out_address)
{
    struct proxy_remoting *m = ctx;
    *out_address = server == NAMESRV ? namesrv(m) : slice_text(m->brokers[server - 1].address);
    return m->options.local ? m->options.local(m->options.local_ctx, *out_address) : NULL;
}

/* --- routes: clients are told this port instead of the brokers' --- */

static void change_route(struct proxy_remoting *m, struct topic_route *route)
{
    for (size_t i = 0; i < route->brokers.count; i++) {
        struct route_broker *b = &route->brokers.items[i];
        learn(m, b);
        for (size_t k = 0; k < b->addresses.count; k++) b->addresses.items[k].text = slice_text(m->options.access);
    }
}

/* Clients before 4.9.4 get numbers as keys, newer ones texts. */
static enum json_style style_of(struct slice body)
{
    struct slice mark = SLICE("\"brokerAddrs\":{\"");
    return memmem(body.p, body.n, mark.p, mark.n) ? JSON_STRICT : JSON_RAW;
}

static void put_frame(const struct frame *f, struct slice body, struct buf *out)
{
    struct frame_head head = {
        .form = f->form, .code = f->code, .language = f->language, .version = f->version, .opaque = f->opaque, .flag = f->flag, .remark = f->remark,
    };
    struct frame_writer w;
    frame_begin(&w, out, &head);
    for (size_t i = 0; i < f->count; i++) frame_put(&w, f->fields[i].name, f->fields[i].value);
    frame_end(&w, body.n);
    buf_put_slice(out, body);
}

static void look_at_route(void *ctx, const struct frame *f, struct buf *out)
{
    struct proxy_remoting *m = ctx;
    struct arena arena = ARENA_EMPTY;
    struct buf body = BUF_EMPTY;
    struct topic_route route = {.brokers = {NULL, 0}};
    if (f->code != RESPONSE_SUCCESS) return;
    err_t e = topic_route_decode(f->body, &arena, &route);
    if (e) {
        log_warn("proxy.route_unread why=\"%s\"", err_text(e));
    } else {
        change_route(m, &route);
        bean_encode(&topic_route_bean, &route, style_of(f->body), &body);
        put_frame(f, buf_slice(&body), out);
    }
    err_free(e);
    buf_done(&body);
    arena_done(&arena);
}

/* --- life --- */

static struct rpc_peer *peer_to(struct proxy_remoting *m, struct slice address)
{
    struct local_port *here = m->options.local ? m->options.local(m->options.local_ctx, address) : NULL;
    return here ? rpc_peer_new_local(m->options.loop, here, NULL, NULL) : rpc_peer_new(m->options.loop, address, NULL, NULL);
}

static void split_namesrvs(struct proxy_remoting *m)
{
    struct slice rest = slice_text(m->text), one;
    while (m->namesrv_count < NAMESRVS_MAX && slice_split(&rest, ';', &one)) {
        one = slice_trim(one);
        if (one.n) m->namesrvs[m->namesrv_count++] = one;
    }
}

err_t proxy_remoting_new(const struct proxy_remoting_options *options, struct proxy_remoting **out)
{
    struct proxy_remoting *m = must_zero(sizeof *m);
    m->options = *options;
    m->options.access = must_strdup(options->access);
    m->text = must_strdup(options->namesrv_addr);
    split_namesrvs(m);
    timer_init(&m->refresh, refresh, m);
    if (!m->namesrv_count) {
        proxy_remoting_free(m);
        return err_new(ERR_CONFIG, "namesrvAddr names no name server");
    }
    struct rpc_relay_options relay = {
        .choose = choose, .place = place, .reply = look_at_route, .ctx = m, .idle_close_ms = options->idle_close_ms,
    };
    m->relay = rpc_relay_new(options->loop, &relay);
    m->names = peer_to(m, m->namesrvs[0]);
    timer_start(rpc_tasks(options->loop), &m->refresh, 0);
    *out = m;
    return NULL;
}

void proxy_remoting_take(struct proxy_remoting *m, struct stream *s, const struct addr *remote) { rpc_relay_take(m->relay, s, remote); }

void proxy_remoting_quiesce(struct proxy_remoting *m) { rpc_relay_quiesce(m->relay); }
bool proxy_remoting_settle(struct proxy_remoting *m) { return rpc_relay_settle(m->relay); }

void proxy_remoting_free(struct proxy_remoting *m)
{
    if (!m) return;
    timer_stop(rpc_tasks(m->options.loop), &m->refresh);
    rpc_relay_free(m->relay);
    rpc_peer_free(m->names);
    for (size_t i = 0; i < m->broker_count; i++) {
        free(m->brokers[i].name);
        free(m->brokers[i].address);
    }
    free((char *)m->options.access);
    free(m->text);
    free(m);
}
