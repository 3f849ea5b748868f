#include "app/one_port.h"

#include "base/log.h"
#include "grpc/grpc.h"
#include "net/sniff.h"
#include "rpc/relay.h"

#include <stdlib.h>

enum { NAMESRV, BROKER };

struct one_port {
    struct listener *listener;        /* NULL: nobody is taken */
    struct addr at;
    struct sniffer sniffer;
    struct rpc_relay *relay;
    struct local_port *namesrv, *broker;
    struct grpc_server *grpc;
};

/* No code is known to both. */
static size_t server_of(int32_t code)
{
    switch (code) {
#define IF_namesrv(number) case number:
#define IF_broker(number)
#define REQUEST(room, name, number, handler, rights, port) IF_##room(number)
#define CALL(name, number)
#include "catalog/requests.def"
#undef REQUEST
#undef CALL
#undef IF_namesrv
#undef IF_broker
        return NAMESRV;
    default: return BROKER;
    }
}

static void choose(void *ctx, const struct frame *f, struct slice body, struct relay_choice *out)
{
    (void)ctx, (void)body;
    out->servers[0] = (uint16_t)server_of(f->code);
    out->count = 1;
}

static struct local_port *place(void *ctx, size_t server, struct slice *out_address)
{
    struct one_port *o = ctx;
    (void)out_address;
    return server == NAMESRV ? o->namesrv : o->broker;
}

static void on_found(void *ctx, const struct sniffed *what)
{
    struct one_port *o = ctx;
    if (what->protocol == PROTOCOL_OTHER) rpc_relay_take(o->relay, what->stream, &what->remote);
    else grpc_server_take(o->grpc, what);
}

static void on_refused(void *ctx, const struct addr *remote, err_t e)
{
    char text[ADDR_TEXT_MAX];
    (void)ctx;
    if (e) log_info("port.refused remote=%s why=\"%s\"", addr_format(remote, text), err_text(e));
    err_free(e);
}

static void on_accepted(void *ctx, struct stream *stream, const struct addr *remote) { sniffer_take(&((struct one_port *)ctx)->sniffer, stream, remote); }

err_t one_port_new(const struct one_port_options *options, struct one_port **out)
{
    struct one_port *o = must_zero(sizeof *o);
    struct rpc_relay_options relay = {.choose = choose, .place = place, .ctx = o, .idle_close_ms = options->idle_close_ms};
    struct listener_events events = {.accepted = on_accepted, .ctx = o};
    err_t e = loop_listen(options->loop, &options->at, &events, &o->listener);
    if (e) {
        free(o);
        return e;
    }
    o->at = listener_addr(o->listener);
    o->grpc = options->grpc;
    o->namesrv = options->namesrv;
    o->broker = options->broker;
    o->relay = rpc_relay_new(options->loop, &relay);
    sniffer_init(&o->sniffer, options->loop, options->tls, options->tls ? options->tls_mode : TLS_DISABLED, on_found, on_refused, o);
    *out = o;
    return NULL;
}

struct addr one_port_addr(const struct one_port *o) { return o->at; }

void one_port_leave(struct one_port *o)
{
    if (!o->listener) return;
    listener_close(o->listener);
    o->listener = NULL;
    sniffer_done(&o->sniffer);
}

void one_port_free(struct one_port *o)
{
    if (!o) return;
    one_port_leave(o);
    rpc_relay_free(o->relay);
    free(o);
}
