#include "broker/registration.h"

#include "broker/handlers.h"
#include "codec/body_lists.h"
#include "codec/body_register.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

enum { PERIOD_MIN_MS = 10000, PERIOD_MAX_MS = 60000, UNREGISTER_TIMEOUT_MS = 1000, CHANGE_TIMEOUT_MS = 3000 };

struct name_server {
    struct list_node node;
    char *address;
    struct rpc_peer *peer;
    bool named;                     /* in namesrvAddr as it is now */
    bool registered;                /* as of the last answer, for the log */
    bool complained;
};

/* Everybody is told the same; ends when the last one has answered. */
struct round {
    struct registration *registration;
    size_t waiting;
    void (*done)(void *ctx);        /* NULL: nobody waits */
    void *ctx;
};

/* One name server's part of a round. */
struct told {
    struct round *round;
    struct name_server *server;
};

struct registration {
    struct broker *broker;
    struct list servers;
    struct timer regular;
    struct timer soon;              /* changes of one turn go out together */
    struct map changed;             /* names of topics -> themselves */
    bool all;                       /* the next round tells everything */
    bool ended;
};

/* --- what is told --- */

static bool is_told(const struct registration *r, struct slice topic) { return r->all || map_get(&r->changed, topic); }

static void keep_changed(const struct registration *r, struct topic_table *table)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->topics.count; i++)
        if (is_told(r, table->topics.items[i].name)) table->topics.items[kept++] = table->topics.items[i];
    table->topics.count = kept;
}

/* What the whole broker does not permit, none of its topics does. */
static void limit_permissions(const struct broker *b, struct topic_table *table)
{
    enum { BOTH = PERM_READ | PERM_WRITE };
    if ((b->cfg->broker.permission & BOTH) == BOTH) return;
    for (size_t i = 0; i < table->topics.count; i++) table->topics.items[i].perm &= b->cfg->broker.permission;
}

static void encode_body(struct registration *r, struct buf *out)
{
    struct arena arena = ARENA_EMPTY;
    struct register_body body = {.filter_servers = {NULL, 0}};
    topics_table(r->broker->topics, &arena, &body.table);
    keep_changed(r, &body.table);
    limit_permissions(r->broker, &body.table);
    register_body_encode(&body, r->broker->cfg->broker.compressed_register, out);
    arena_done(&arena);
}

/* host:port as it is told to others; host NULL: the advertised one. */
static void put_address(const struct broker *b, const char *host, int32_t port, char out[static 320])
{
    struct addr a = b->advertised;
    char text[ADDR_TEXT_MAX];
    a.port = (uint16_t)port;
    if (!host) host = b->options.advertised_host;
    if (host) snprintf(out, 320, strchr(host, ':') && host[0] != '[' ? "[%.255s]:%d" : "%.255s:%d", host, port);
    else snprintf(out, 320, "%s", addr_format(&a, text));
}

void registration_addresses(const struct broker *b, char address[static REGISTRATION_ADDRESS_MAX], char ha[static REGISTRATION_ADDRESS_MAX])
{
    put_address(b, NULL, b->advertised.port, address);
    put_address(b, b->cfg->broker.ip2, b->cfg->store.ha_port, ha);
}

/* --- rounds --- */

static void end_part(struct round *round)
{
    if (--round->waiting) return;
    if (round->done) round->done(round->ctx);
    free(round);
}

static void set_ordered(struct broker *b, struct slice topic)
{
    const struct topic *t = topics_find(b->topics, topic);
    if (!t || t->config.order) return;
    struct topic_config wanted = t->config;
    bool changed;
    wanted.order = true;
    wanted.attributes.count = 0;   /* edits: none */
    err_drop(topics_set(b->topics, &wanted, &changed), "the order flag is a hint");
}

/* The name server answers with the order configuration of all topics. */
static void take_order_table(struct broker *b, struct slice body)
{
    struct arena arena = ARENA_EMPTY;
    struct kv_table table;
    err_t e = body.n ? bean_decode(&kv_table_bean, body, &arena, "order table", &table) : NULL;
    for (size_t i = 0; body.n && !e && i < table.pairs.count; i++) set_ordered(b, table.pairs.items[i].key);
    err_drop(e, "the order flag is a hint");
    arena_done(&arena);
}

static void log_outcome(struct name_server *s, err_t e)
{
    if (!e && !s->registered) log_info("namesrv.registered address=%s", s->address);
    if (e && !s->complained) log_warn("namesrv.register_failed address=%s why=\"%s\"", s->address, err_text(e));
    s->registered = !e;
    s->complained = e;
}

static void on_registered(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct told *told = ctx;
    if (!e && reply->frame->code != RESPONSE_SUCCESS)
        e = err_new(ERR_REFUSED, "code %d: %.*s", reply->frame->code, SLICE_ARG(reply->frame->remark));
    if (!e) take_order_table(told->round->registration->broker, reply->frame->body);
    log_outcome(told->server, e);
    err_free(e);
    end_part(told->round);
    free(told);
}

static struct round *round_new(struct registration *r, void (*done)(void *ctx), void *ctx)
{
    struct round *round = must_zero(sizeof *round);
    round->registration = r;
    round->waiting = 1;   /* ours, until everybody has been told */
    round->done = done;
    round->ctx = ctx;
    return round;
}

static void tell(struct name_server *s, struct round *round, const struct rpc_request *request)
{
    struct told *told = must_zero(sizeof *told);
    struct rpc_request one = *request;
    told->round = round;
    told->server = s;
    one.ctx = told;
    round->waiting++;
    rpc_peer_request(s->peer, &one);
}

static void register_everywhere(struct registration *r, int64_t timeout_ms, void (*done)(void *ctx), void *ctx)
{
    struct broker *b = r->broker;
    struct buf body = BUF_EMPTY;
    char address[320], ha[320];
    encode_body(r, &body);
    map_done(&r->changed);
    r->all = false;
    registration_addresses(b, address, ha);
    struct register_broker_header h = {
        .broker_addr = slice_text(address), .broker_id = b->cfg->broker.id, .broker_name = slice_text(b->cfg->broker.name),
        .cluster_name = slice_text(b->cfg->broker.cluster), .ha_server_addr = slice_text(ha),
        .body_crc32 = (int32_t)register_crc(buf_slice(&body)), .compressed = b->cfg->broker.compressed_register,
    };
    header_set(&h, register_broker, body_crc32);
    header_set(&h, register_broker, compressed);
    header_set(&h, register_broker, enable_acting_master);
    struct rpc_request request = {
        .code = REQUEST_REGISTER_BROKER, .kind = &register_broker_kind, .header = &h, .body = buf_slice(&body), .timeout_ms = timeout_ms,
        .done = on_registered,
    };
    struct round *round = round_new(r, done, ctx);
    LIST_EACH(&r->servers, node) tell(LIST_OWNER(node, struct name_server, node), round, &request);
    buf_done(&body);
    end_part(round);
}

static void regular(void *ctx)
{
    struct registration *r = ctx;
    int64_t period = r->broker->cfg->broker.register_period_ms;
    if (period < PERIOD_MIN_MS) period = PERIOD_MIN_MS;
    if (period > PERIOD_MAX_MS) period = PERIOD_MAX_MS;
    timer_start(r->broker->tasks, &r->regular, period);
    r->all = true;
    register_everywhere(r, r->broker->cfg->broker.register_timeout_ms, NULL, NULL);
}

static void soon(void *ctx)
{
    struct registration *r = ctx;
    register_everywhere(r, CHANGE_TIMEOUT_MS, NULL, NULL);
}

/* --- life --- */

static struct name_server *find_server(struct registration *r, struct slice address)
{
    LIST_EACH(&r->servers, node) {
        struct name_server *s = LIST_OWNER(node, struct name_server, node);
        if (slice_eq(slice_text(s->address), address)) return s;
    }
    return NULL;
}

static struct name_server *add_server(struct registration *r, struct slice address)
{
    struct name_server *s = must_zero(sizeof *s);
    s->address = must_dup(address);
    s->peer = rpc_peer_new(r->broker->options.loop, address, NULL, NULL);
    list_add(&r->servers, &s->node);
    return s;
}

/* What it was asked and has not answered ends here. */
static void drop_server(struct name_server *s)
{
    rpc_peer_free(s->peer);
    list_remove(&s->node);
    free(s->address);
    free(s);
}

/* Those of namesrvAddr. Who is there already keeps its connection. */
static void take_servers(struct registration *r)
{
    struct slice rest = slice_text(r->broker->cfg->broker.namesrv_addr), address;
    LIST_EACH(&r->servers, node) LIST_OWNER(node, struct name_server, node)->named = false;
    while (rest.p && slice_split(&rest, ';', &address)) {
        address = slice_trim(address);
        if (!address.n) continue;
        struct name_server *s = find_server(r, address);
        if (!s) s = add_server(r, address);
        s->named = true;
    }
    LIST_EACH(&r->servers, node) {
        struct name_server *s = LIST_OWNER(node, struct name_server, node);
        if (!s->named) drop_server(s);
    }
}

struct registration *registration_new(struct broker *b)
{
    struct registration *r = must_zero(sizeof *r);
    r->broker = b;
    list_init(&r->servers);
    timer_init(&r->regular, regular, r);
    timer_init(&r->soon, soon, r);
    take_servers(r);
    if (!list_empty(&r->servers)) regular(r);
    return r;
}

void registration_free(struct registration *r)
{
    if (!r) return;
    timer_stop(r->broker->tasks, &r->regular);
    timer_stop(r->broker->tasks, &r->soon);
    LIST_EACH(&r->servers, node) drop_server(LIST_OWNER(node, struct name_server, node));
    map_done(&r->changed);
    free(r);
}

void registration_configured(struct registration *r)
{
    if (r->ended) return;
    take_servers(r);
    if (list_empty(&r->servers)) timer_stop(r->broker->tasks, &r->regular);
    else regular(r);
}

struct rpc_peer *registration_names(const struct registration *r)
{
    struct rpc_peer *any = NULL;
    LIST_EACH(&r->servers, node) {
        const struct name_server *s = LIST_OWNER(node, struct name_server, node);
        if (s->registered) return s->peer;
        if (!any) any = s->peer;
    }
    return any;
}

void registration_topic_changed(struct registration *r, const struct topic_config *topic)
{
    if (!r || r->ended || list_empty(&r->servers)) return;
    if (topic) map_put(&r->changed, topic->name, r);
    timer_start(r->broker->tasks, &r->soon, 0);
}

void registration_now(struct registration *r, void (*done)(void *ctx), void *ctx)
{
    if (r->ended) {   /* it would come back after its goodbye */
        done(ctx);
        return;
    }
    timer_stop(r->broker->tasks, &r->soon);
    register_everywhere(r, CHANGE_TIMEOUT_MS, done, ctx);
}

bool registration_is_known(const struct registration *r)
{
    LIST_EACH(&r->servers, node)
        if (LIST_OWNER(node, struct name_server, node)->registered) return true;
    return list_empty(&r->servers);
}

static void on_unregistered(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct told *told = ctx;
    (void)reply;
    err_drop(e, "a name server that does not answer finds out by itself");
    end_part(told->round);
    free(told);
}

void registration_end(struct registration *r, void (*done)(void *ctx), void *ctx)
{
    struct broker *b = r->broker;
    char address[320];
    r->ended = true;
    timer_stop(b->tasks, &r->regular);
    timer_stop(b->tasks, &r->soon);
    put_address(b, NULL, b->advertised.port, address);
    struct unregister_broker_header h = {
        .broker_addr = slice_text(address), .broker_id = b->cfg->broker.id, .broker_name = slice_text(b->cfg->broker.name),
        .cluster_name = slice_text(b->cfg->broker.cluster),
    };
    struct rpc_request request = {
        .code = REQUEST_UNREGISTER_BROKER, .kind = &unregister_broker_kind, .header = &h, .timeout_ms = UNREGISTER_TIMEOUT_MS,
        .done = on_unregistered,
    };
    struct round *round = round_new(r, done, ctx);
    LIST_EACH(&r->servers, node) {
        struct name_server *s = LIST_OWNER(node, struct name_server, node);
        if (s->registered) tell(s, round, &request);
    }
    end_part(round);
}
