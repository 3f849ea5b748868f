#include "rpc/rpc_internal.h"

#include "net/local.h"

#include <stdlib.h>

enum { CONNECT_TIMEOUT_MS = 3000 };

/* A request that waits for the connection. */
struct waiting {
    struct list_node node;
    struct rpc_request request;
    void *header;
    struct buf body;
};

struct rpc_peer {
    struct rpc_hub hub;
    char *address;                /* of logs, when there is a port */
    struct local_port *port;      /* NULL: by the network */
    struct rpc_service service;   /* of who made the peer */
    struct connect *connecting;
    struct rpc_conn *conn;        /* NULL while there is none */
    struct list waiting;
};

static void peer_handle(void *ctx, struct call *call)
{
    struct rpc_peer *p = ctx;
    if (p->service.handle) p->service.handle(p->service.ctx, call);
    else call_fail(call, err_new(ERR_NOT_SUPPORTED, " request type %d not supported", call->code));
}

static void peer_closed(void *ctx, struct rpc_conn *c)
{
    struct rpc_peer *p = ctx;
    p->conn = NULL;
    if (p->service.closed) p->service.closed(p->service.ctx, c);
}

struct rpc_peer *rpc_peer_new(struct loop *loop, struct slice address, const struct rpc_service *service, const struct rpc_options *options)
{
    struct rpc_peer *p = must_zero(sizeof *p);
    p->address = must_dup(slice_trim(address));
    if (service) p->service = *service;
    list_init(&p->waiting);
    struct rpc_service own = {.handle = peer_handle, .closed = peer_closed, .ctx = p};
    hub_init(&p->hub, loop, -1, &own, options);
    return p;
}

struct rpc_peer *rpc_peer_new_local(struct loop *loop, struct local_port *port, const struct rpc_service *service,
                                    const struct rpc_options *options)
{
    struct rpc_peer *p = rpc_peer_new(loop, SLICE("127.0.0.1:0"), service, options);
    p->port = local_port_ref(port);
    p->hub.options.within_process = true;
    return p;
}

static void waiting_free(struct waiting *w)
{
    list_remove(&w->node);
    free(w->header);
    buf_done(&w->body);
    free(w);
}

static void send_waiting(struct rpc_peer *p)
{
    while (p->conn && !list_empty(&p->waiting)) {
        struct waiting *w = LIST_OWNER(list_first(&p->waiting), struct waiting, node);
        rpc_conn_request(p->conn, &w->request);
        waiting_free(w);
    }
}

/* Takes e. Requests that are made while this runs wait for the next attempt. */
static void fail_waiting(struct rpc_peer *p, err_t e)
{
    struct list failed = p->waiting;
    if (list_empty(&p->waiting)) {
        err_drop(e, "nobody waits for the connection");
        return;
    }
    failed.head.next->prev = failed.head.prev->next = &failed.head;
    list_init(&p->waiting);
    while (!list_empty(&failed)) {
        struct waiting *w = LIST_OWNER(list_first(&failed), struct waiting, node);
        struct rpc_request r = w->request;
        waiting_free(w);
        if (r.done) r.done(r.ctx, err_new(err_code(e), "%s", err_text(e)), NULL);
    }
    err_free(e);
}

static void on_connected(void *ctx, err_t e, struct stream *s)
{
    struct rpc_peer *p = ctx;
    p->connecting = NULL;
    if (e) {
        fail_waiting(p, err_in(e, "%s", p->address));
        return;
    }
    struct addr remote = {.v6 = false};
    err_drop(addr_parse(slice_text(p->address), &remote), "a name stays unresolved in logs");
    p->conn = rpc_conn_new(&p->hub, s, &remote);
    send_waiting(p);
}

static err_t connect_here(struct rpc_peer *p)
{
    struct stream *s;
    err_t e = local_connect(p->hub.loop, p->port, NULL, &s);
    if (!e) on_connected(p, NULL, s);
    return e;
}

static err_t begin_connect(struct rpc_peer *p)
{
    if (p->port) return connect_here(p);
    struct slice host;
    uint16_t port;
    err_t e = addr_split(slice_text(p->address), &host, &port);
    if (e) return e;
    return loop_connect(p->hub.loop, host, port, CONNECT_TIMEOUT_MS, on_connected, p, &p->connecting);
}

void rpc_peer_request(struct rpc_peer *p, const struct rpc_request *r)
{
    if (p->conn) {
        rpc_conn_request(p->conn, r);
        return;
    }
    struct waiting *w = must_zero(sizeof *w);
    w->request = *r;
    w->request.header = w->header = r->kind ? header_copy(r->kind, r->header) : NULL;
    buf_put_slice(&w->body, r->body);
    w->request.body = buf_slice(&w->body);
    list_add(&p->waiting, &w->node);
    if (p->connecting) return;
    err_t e = begin_connect(p);
    if (e) fail_waiting(p, err_in(e, "%s", p->address));
}

void rpc_peer_free(struct rpc_peer *p)
{
    if (!p) return;
    if (p->connecting) connect_cancel(p->connecting);
    fail_waiting(p, err_new(ERR_CLOSED, NULL));
    hub_done(&p->hub);
    local_port_unref(p->port);
    free(p->address);
    free(p);
}
