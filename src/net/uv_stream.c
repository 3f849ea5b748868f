#include "base/buf.h"
#include "net/uv_internal.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

enum { BACKLOG = 1024 };

struct uv_stream_one {
    struct stream stream;
    uv_tcp_t tcp;
    uv_write_t write;
    uv_shutdown_t shutdown;
    const struct stream_events *events;
    void *ctx;
    bool writing;
    bool closed;
};

struct uv_listener_one {
    struct listener listener;
    uv_tcp_t tcp;
    struct listener_events events;
};

struct uv_connect_one {
    struct connect connect;
    uv_getaddrinfo_t resolve;
    struct addrinfo *found;         /* of a name, to be freed */
    struct addrinfo *next;          /* of them: not tried yet */
    uv_connect_t request;
    struct uv_stream_one *stream;   /* NULL while the name is resolved */
    struct timer timeout;
    connect_done *done;
    void *ctx;
    bool cancelled;                 /* `done` has run, or must not run */
    bool resolving;
};

/* --- addresses --- */

struct addr addr_of_sockaddr(const struct sockaddr_storage *s)
{
    struct addr a = {.v6 = s->ss_family == AF_INET6};
    if (!a.v6) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)s;
        memcpy(a.ip, &in->sin_addr, 4);
        a.port = ntohs(in->sin_port);
        return a;
    }
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)s;
    a.port = ntohs(in6->sin6_port);
    a.scope = in6->sin6_scope_id;
    if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
        a.v6 = false;
        memcpy(a.ip, in6->sin6_addr.s6_addr + 12, 4);
    } else {
        memcpy(a.ip, in6->sin6_addr.s6_addr, 16);
    }
    return a;
}

void sockaddr_of_addr(const struct addr *a, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (!a->v6) {
        struct sockaddr_in *in = (struct sockaddr_in *)out;
        in->sin_family = AF_INET;
        in->sin_port = htons(a->port);
        memcpy(&in->sin_addr, a->ip, 4);
        return;
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(a->port);
    in6->sin6_scope_id = a->scope;
    memcpy(&in6->sin6_addr, a->ip, 16);
}

/* --- streams --- */

static struct uv_stream_one *one(struct stream *s) { return (struct uv_stream_one *)s; }

static const struct stream_ops uv_stream_ops;

static struct uv_stream_one *stream_new(struct loop *l)
{
    struct uv_stream_one *s = must_zero(sizeof *s);
    s->stream = (struct stream){l, &uv_stream_ops};
    uv_tcp_init(&uv_of(l)->uv, &s->tcp);
    s->tcp.data = s;
    return s;
}

static void free_stream(uv_handle_t *handle) { free(handle->data); }

static void close_stream(struct stream *stream)
{
    struct uv_stream_one *s = one(stream);
    if (s->closed) return;
    s->closed = true;
    uv_close((uv_handle_t *)&s->tcp, free_stream);
}

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    struct uv_stream_one *s = handle->data;
    *out = uv_buf_init(uv_of(s->stream.loop)->read_buffer, READ_BUFFER_BYTES);
}

static void on_read(uv_stream_t *handle, ssize_t n, const uv_buf_t *buf)
{
    struct uv_stream_one *s = handle->data;
    if (s->closed || n == 0) return;
    if (n > 0) s->events->data(s->ctx, (uint8_t *)buf->base, (size_t)n);
    else s->events->end(s->ctx, n == UV_EOF ? NULL : uv_error((int)n, "read"));
}

static void start_stream(struct stream *stream, const struct stream_events *events, void *ctx)
{
    struct uv_stream_one *s = one(stream);
    s->events = events;
    s->ctx = ctx;
    uv_read_start((uv_stream_t *)&s->tcp, give_buffer, on_read);
}

static void pause_stream(struct stream *stream, bool paused)
{
    struct uv_stream_one *s = one(stream);
    if (paused) uv_read_stop((uv_stream_t *)&s->tcp);
    else uv_read_start((uv_stream_t *)&s->tcp, give_buffer, on_read);
}

static void on_written(uv_write_t *req, int status)
{
    struct uv_stream_one *s = req->data;
    s->writing = false;
    if (s->closed) return;
    if (status) s->events->end(s->ctx, uv_error(status, "write"));
    else s->events->written(s->ctx);
}

static enum write_result write_stream(struct stream *stream, const struct iovec *parts, size_t count)
{
    _Static_assert(sizeof(uv_buf_t) == sizeof(struct iovec), "libuv's buffers are the kernel's on this system");
    struct uv_stream_one *s = one(stream);
    const uv_buf_t *bufs = (const uv_buf_t *)parts;
    int taken = uv_try_write((uv_stream_t *)&s->tcp, bufs, (unsigned)count);
    size_t skip = taken > 0 ? (size_t)taken : 0;
    while (count && skip >= bufs->len) {
        skip -= bufs->len;
        bufs++;
        count--;
    }
    if (!count) return WRITE_DONE;
    /* A socket that is broken tells it through the callback, like one that is full. */
    uv_buf_t first = uv_buf_init(bufs->base + skip, (unsigned)(bufs->len - skip));
    uv_buf_t *rest = must_alloc(count * sizeof *rest);
    memcpy(rest, bufs, count * sizeof *rest);
    rest[0] = first;
    s->write.data = s;
    s->writing = true;
    uv_write(&s->write, (uv_stream_t *)&s->tcp, rest, (unsigned)count, on_written);
    free(rest);
    return WRITE_LATER;
}

static void on_shutdown(uv_shutdown_t *req, int status) { (void)req, (void)status; }

/* A connection that is broken tells it to the reader. */
static bool half_close_stream(struct stream *stream)
{
    struct uv_stream_one *s = one(stream);
    uv_shutdown(&s->shutdown, (uv_stream_t *)&s->tcp, on_shutdown);
    return true;
}

static struct addr addr_of_stream(struct stream *stream)
{
    struct sockaddr_storage s = {0};
    int length = sizeof s;
    uv_tcp_getsockname(&one(stream)->tcp, (struct sockaddr *)&s, &length);
    return addr_of_sockaddr(&s);
}

static const struct stream_ops uv_stream_ops = {
    .start = start_stream, .pause = pause_stream, .write = write_stream, .close = close_stream, .local = addr_of_stream,
    .half_close = half_close_stream,
};

/* --- listeners --- */

static void on_connection(uv_stream_t *server, int status)
{
    struct uv_listener_one *listener = server->data;
    if (status < 0) return;   /* out of descriptors, say: the client waits in the backlog until some are free */
    struct uv_stream_one *s = stream_new(listener->listener.loop);
    struct sockaddr_storage remote;
    int length = sizeof remote;
    if (uv_accept(server, (uv_stream_t *)&s->tcp) || uv_tcp_getpeername(&s->tcp, (struct sockaddr *)&remote, &length)) {
        close_stream(&s->stream);
        return;
    }
    uv_tcp_nodelay(&s->tcp, 1);
    struct addr from = addr_of_sockaddr(&remote);
    listener->events.accepted(listener->events.ctx, &s->stream, &from);
}

static void free_listener(uv_handle_t *handle) { free(handle->data); }
static void close_listener(struct listener *l) { uv_close((uv_handle_t *)&((struct uv_listener_one *)l)->tcp, free_listener); }

static err_t listen_at(struct loop *loop, const struct addr *at, const struct listener_events *events, struct listener **out)
{
    struct uv_listener_one *l = must_zero(sizeof *l);
    l->listener.loop = loop;
    l->events = *events;
    uv_tcp_init(&uv_of(loop)->uv, &l->tcp);
    l->tcp.data = l;
    struct sockaddr_storage s;
    sockaddr_of_addr(at, &s);
    int failed = uv_tcp_bind(&l->tcp, (struct sockaddr *)&s, 0);
    if (!failed) failed = uv_listen((uv_stream_t *)&l->tcp, BACKLOG, on_connection);
    if (failed) {
        char text[ADDR_TEXT_MAX];
        close_listener(&l->listener);
        return err_new(failed == UV_EADDRNOTAVAIL ? ERR_ADDRESS : ERR_NETWORK, "cannot listen on %s: %s", addr_format(at, text),
                       failed == UV_EADDRINUSE ? "the port is in use" : uv_strerror(failed));
    }
    *out = &l->listener;
    return NULL;
}

static struct addr addr_of_listener(const struct listener *l)
{
    struct sockaddr_storage s = {0};
    int length = sizeof s;
    uv_tcp_getsockname(&((const struct uv_listener_one *)l)->tcp, (struct sockaddr *)&s, &length);
    return addr_of_sockaddr(&s);
}

/* --- connecting --- */

static void connect_free(struct uv_connect_one *c)
{
    timer_stop(&c->connect.loop->tasks, &c->timeout);
    uv_freeaddrinfo(c->found);
    free(c);
}

/* Ends an attempt that has not been told to anybody yet. */
static void connect_finish(struct uv_connect_one *c, err_t e)
{
    connect_done *done = c->done;
    void *ctx = c->ctx;
    struct stream *s = e ? NULL : &c->stream->stream;
    if (e && c->stream) close_stream(&c->stream->stream);
    connect_free(c);
    done(ctx, e, s);
}

static int connect_next(struct uv_connect_one *c);

static void on_connected(uv_connect_t *req, int status)
{
    struct uv_connect_one *c = req->data;
    if (c->cancelled) {
        connect_free(c);
        return;
    }
    if (status && c->next && !connect_next(c)) return;
    if (!status) uv_tcp_nodelay(&c->stream->tcp, 1);
    connect_finish(c, status ? uv_error(status, "connect") : NULL);
}

static int begin_connect(struct uv_connect_one *c, const struct sockaddr *to)
{
    c->stream = stream_new(c->connect.loop);
    c->request.data = c;
    return uv_tcp_connect(&c->request, &c->stream->tcp, to, on_connected);
}

/* A name may have several addresses, not all of them in use ("localhost" in both families): one after the other is tried. */
static int connect_next(struct uv_connect_one *c)
{
    int failed = UV_EAI_NODATA;
    while (c->next && failed) {
        if (c->stream) close_stream(&c->stream->stream);
        const struct sockaddr *to = c->next->ai_addr;
        c->next = c->next->ai_next;
        failed = begin_connect(c, to);
    }
    return failed;
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    struct uv_connect_one *c = req->data;
    c->resolving = false;
    c->found = c->next = found;
    int failed = status;
    if (!c->cancelled && !failed) failed = connect_next(c);
    if (c->cancelled) connect_free(c);
    else if (failed) connect_finish(c, uv_error(failed, "connect"));
}

/* libuv calls back later in any case, so the attempt is freed there. */
static void cancel_connect(struct connect *connect)
{
    struct uv_connect_one *c = (struct uv_connect_one *)connect;
    c->cancelled = true;
    timer_stop(&c->connect.loop->tasks, &c->timeout);
    if (c->stream) close_stream(&c->stream->stream);
    else if (c->resolving) uv_cancel((uv_req_t *)&c->resolve);
}

static void connect_timeout(void *ctx)
{
    struct uv_connect_one *c = ctx;
    connect_done *done = c->done;
    void *done_ctx = c->ctx;
    cancel_connect(&c->connect);
    done(done_ctx, err_new(ERR_TIMEOUT, "no connection in time"), NULL);
}

static err_t connect_to(struct loop *loop, struct slice host, uint16_t port, int64_t timeout_ms, connect_done *done, void *ctx,
                        struct connect **out)
{
    struct uv_connect_one *c = must_zero(sizeof *c);
    c->connect.loop = loop;
    c->done = done;
    c->ctx = ctx;
    timer_init(&c->timeout, connect_timeout, c);
    char *name = must_dup(host);
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct sockaddr_storage literal;
    int failed;
    if (!uv_ip4_addr(name, port, (struct sockaddr_in *)&literal) || !uv_ip6_addr(name, port, (struct sockaddr_in6 *)&literal)) {
        failed = begin_connect(c, (struct sockaddr *)&literal);
    } else {
        c->resolve.data = c;
        c->resolving = true;
        failed = uv_getaddrinfo(&uv_of(loop)->uv, &c->resolve, on_resolved, name, service, &hints);
    }
    free(name);
    if (failed) {
        if (c->stream) close_stream(&c->stream->stream);
        connect_free(c);
        return uv_error(failed, "connect");
    }
    timer_start(&loop->tasks, &c->timeout, timeout_ms);
    *out = &c->connect;
    return NULL;
}

const struct loop_ops uv_loop_ops = {
    .listen = listen_at, .listener_addr = addr_of_listener, .listener_close = close_listener, .connect = connect_to,
    .connect_cancel = cancel_connect,
};
