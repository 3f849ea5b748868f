#include "app/front.h"

#include "base/log.h"
#include "grpc/grpc.h"
#include "net/sniff.h"
#include "rpc/relay.h"

#include <stdlib.h>

enum { NAMESRV, BROKER };

struct front {
    struct front_options options;
    struct listener *listener;
    struct sniffer sniffer;
    struct log_limit refused;    /* lines about who was refused */
};

static void on_found(void *ctx, const struct sniffed *what)
{
    struct front *f = ctx;
    if (what->protocol == PROTOCOL_OTHER) f->options.take(f->options.take_ctx, what->stream, &what->remote);
    else grpc_server_take(f->options.grpc, what);
}

static void on_refused(void *ctx, const struct addr *remote, err_t e)
{
    struct front *f = ctx;
    char text[ADDR_TEXT_MAX];
    if (e && log_may(&f->refused, "port.refused", tasks_mono_ms(&f->options.loop->tasks)))
        log_info("port.refused remote=%s why=\"%s\"", addr_format(remote, text), err_text(e));
    err_free(e);
}

static void on_accepted(void *ctx, struct stream *stream, const struct addr *remote)
{
    struct front *f = ctx;
    sniffer_take(&f->sniffer, stream, remote);
}

err_t front_new(const struct front_options *options, struct front **out)
{
    struct front *f = must_zero(sizeof *f);
    struct listener_events events = {.accepted = on_accepted, .ctx = f};
    err_t e = loop_listen(options->loop, &options->at, &events, &f->listener);
    if (e) {
        free(f);
        return e;
    }
    f->options = *options;
    sniffer_init(&f->sniffer, options->loop, options->tls, options->tls ? options->tls_mode : TLS_DISABLED, on_found, on_refused, f);
    *out = f;
    return NULL;
}

struct addr front_addr(const struct front *f) { return listener_addr(f->listener); }

void front_free(struct front *f)
{
    if (!f) return;
    listener_close(f->listener);
    sniffer_done(&f->sniffer);
    free(f);
}

/* --- a name server and a broker --- */

/* No code is known to both. */
static uint16_t server_of(int32_t code)
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
    out->servers[0] = server_of(f->code);
    out->count = 1;
}

static struct local_port *place(void *ctx, size_t server, struct slice *out_address)
{
    const struct both_servers *both = ctx;
    (void)out_address;
    return server == NAMESRV ? both->namesrv : both->broker;
}

struct rpc_relay *front_relay_new(struct loop *loop, const struct both_servers *servers, int64_t idle_close_ms)
{
    struct rpc_relay_options o = {.choose = choose, .place = place, .ctx = (void *)servers, .idle_close_ms = idle_close_ms};
    return rpc_relay_new(loop, &o);
}
