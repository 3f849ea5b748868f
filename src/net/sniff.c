#include "net/sniff.h"

#include "net/proxy_header.h"
#include "net/replay.h"
#include "net/tls.h"

#include <stdio.h>
#include <stdlib.h>

enum { TLS_HEAD = 5, HTTP1_MOST = 8, ATTRIBUTE_MAX = 256 };

/* A connection that has not told yet what it speaks. */
struct newcomer {
    struct list_node node;
    struct sniffer *sniffer;
    struct stream *stream;
    struct addr remote, local;
    struct buf in;
    struct buf attributes;
    struct timer timer;
    bool past_proxy, encrypted;
};

static bool may_become(struct slice bytes, struct slice mark)
{
    return memcmp(bytes.p, mark.p, bytes.n < mark.n ? bytes.n : mark.n) == 0;
}

static bool is_method(struct slice first)
{
    static const char *const methods[] = {"GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "PATCH "};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (may_become(first, slice_text(methods[i]))) return true;
    return false;
}

enum protocol protocol_of(struct slice first)
{
    enum { HANDSHAKE = 22, MAJOR = 3 };
    struct slice preface = SLICE("PRI ");
    if (!first.n) return PROTOCOL_MORE;
    if (first.p[0] == HANDSHAKE) {
        if (first.n < TLS_HEAD) return first.n > 1 && first.p[1] != MAJOR ? PROTOCOL_OTHER : PROTOCOL_MORE;
        return first.p[1] == MAJOR ? PROTOCOL_TLS : PROTOCOL_OTHER;
    }
    if (may_become(first, preface)) return first.n < preface.n ? PROTOCOL_MORE : PROTOCOL_HTTP2;
    if (!is_method(first)) return PROTOCOL_OTHER;
    return first.n < HTTP1_MOST && !memchr(first.p, ' ', first.n) ? PROTOCOL_MORE : PROTOCOL_HTTP1;
}

/* --- the end of being a newcomer --- */

static void release(struct newcomer *n)
{
    timer_stop(&n->sniffer->loop->tasks, &n->timer);
    list_remove(&n->node);
    buf_done(&n->in);
    buf_done(&n->attributes);
    free(n);
}

/* Takes e. */
static void give_up(struct newcomer *n, err_t e)
{
    struct sniffer *s = n->sniffer;
    struct addr remote = n->remote;
    stream_close(n->stream);
    release(n);
    s->refused(s->ctx, &remote, e);
}

static void hand_over(struct newcomer *n, enum protocol protocol)
{
    struct sniffer *s = n->sniffer;
    struct buf attributes = n->attributes;
    n->attributes = BUF_EMPTY;
    struct sniffed what = {
        .protocol = protocol, .remote = n->remote, .local = n->local, .encrypted = n->encrypted, .attributes = buf_slice(&attributes),
    };
    stream_pause(n->stream, true);
    what.stream = replay_stream_new(n->stream, buf_slice(&n->in));
    release(n);
    s->found(s->ctx, &what);
    buf_done(&attributes);
}

/* --- what is in front --- */

static bool is_ascii(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < 0x20 || s.p[i] > 0x7E) return false;
    return s.n;
}

static void add_attribute(struct newcomer *n, const char *name, struct slice value)
{
    buf_put(&n->attributes, name, strlen(name) + 1);
    buf_put_slice(&n->attributes, value);
    buf_put_u8(&n->attributes, 0);
}

static void add_address(struct newcomer *n, const char *ip_name, const char *port_name, const struct addr *a)
{
    char text[ADDR_TEXT_MAX];
    add_attribute(n, ip_name, slice_text(addr_format_ip(a, text)));
    snprintf(text, sizeof text, "%u", (unsigned)a->port);
    add_attribute(n, port_name, slice_text(text));
}

static void keep_header(struct newcomer *n, const struct proxy_header *h)
{
    uint8_t type;
    struct slice rest = h->extras, value;
    if (!h->has_addresses) return;
    n->remote = h->source;
    add_address(n, "proxy_protocol_addr", "proxy_protocol_port", &h->source);
    add_address(n, "proxy_protocol_server_addr", "proxy_protocol_server_port", &h->destination);
    while (proxy_header_extra(&rest, &type, &value)) {
        char name[32];
        if (value.n > ATTRIBUTE_MAX || !is_ascii(value)) continue;
        snprintf(name, sizeof name, "proxy_protocol_tlv_0x%02x", type);
        add_attribute(n, name, value);
    }
}

static void cut_front(struct newcomer *n, size_t size)
{
    n->in.n -= size;
    memmove(n->in.p, n->in.p + size, n->in.n);
}

/* True: the first bytes are the client's own. */
static bool pass_proxy(struct newcomer *n)
{
    struct proxy_header h;
    switch (n->past_proxy ? PROXY_NONE : proxy_header_read(buf_slice(&n->in), &h)) {
    case PROXY_NONE: break;
    case PROXY_MORE: return false;
    case PROXY_BROKEN: give_up(n, err_new(ERR_FRAME, "a PROXY header that cannot be read")); return false;
    case PROXY_FOUND:
        keep_header(n, &h);
        cut_front(n, h.size);
        break;
    }
    n->past_proxy = true;
    return true;
}

static void listen_to(struct newcomer *n);

/* What comes out of the TLS stream is looked at in the same way, from the protocol on. */
static void unwrap(struct newcomer *n)
{
    stream_pause(n->stream, true);
    struct stream *below = replay_stream_new(n->stream, buf_slice(&n->in));
    n->stream = tls_stream_new(n->sniffer->tls, below);
    n->encrypted = true;
    buf_clear(&n->in);
    listen_to(n);
}

static void decide(struct newcomer *n)
{
    if (!pass_proxy(n)) return;
    enum protocol protocol = protocol_of(buf_slice(&n->in));
    bool may_tls = n->sniffer->tls && n->sniffer->mode != TLS_DISABLED && !n->encrypted;
    if (protocol == PROTOCOL_MORE) return;
    if (protocol == PROTOCOL_TLS && may_tls) unwrap(n);
    else if (protocol == PROTOCOL_TLS)
        give_up(n, err_new(ERR_REFUSED, n->encrypted ? "TLS inside of TLS" : "TLS is disabled (tls.server.mode)"));
    else if (!n->encrypted && n->sniffer->mode == TLS_ENFORCING)
        give_up(n, err_new(ERR_REFUSED, "only TLS is allowed (tls.server.mode=enforcing)"));
    else hand_over(n, protocol);
}

/* --- a newcomer's stream --- */

static void on_data(void *ctx, uint8_t *p, size_t size)
{
    struct newcomer *n = ctx;
    buf_put(&n->in, p, size);
    decide(n);
}

static void on_end(void *ctx, err_t e) { give_up(ctx, e); }
static void on_written(void *ctx) { (void)ctx; }
static void on_timer(void *ctx) { give_up(ctx, err_new(ERR_TIMEOUT, "said nothing, or not enough to tell what it speaks")); }

static void listen_to(struct newcomer *n)
{
    static const struct stream_events events = {on_data, on_end, on_written};
    stream_start(n->stream, &events, n);
}

void sniffer_take(struct sniffer *s, struct stream *stream, const struct addr *remote)
{
    struct newcomer *n = must_zero(sizeof *n);
    n->sniffer = s;
    n->stream = stream;
    n->remote = *remote;
    n->local = stream_local(stream);
    list_add(&s->pending, &n->node);
    timer_init(&n->timer, on_timer, n);
    timer_start(&s->loop->tasks, &n->timer, SNIFF_WAIT_MS);
    listen_to(n);
}

void sniffer_init(struct sniffer *s, struct loop *loop, const struct tls *tls, enum tls_mode mode,
                  void (*found)(void *ctx, const struct sniffed *what), void (*refused)(void *ctx, const struct addr *remote, err_t e), void *ctx)
{
    *s = (struct sniffer){.loop = loop, .tls = tls, .mode = mode, .found = found, .refused = refused, .ctx = ctx};
    list_init(&s->pending);
}

void sniffer_done(struct sniffer *s)
{
    while (!list_empty(&s->pending)) {
        struct newcomer *n = LIST_OWNER(list_first(&s->pending), struct newcomer, node);
        stream_close(n->stream);
        release(n);
    }
}
