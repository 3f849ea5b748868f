/* loop.h - an event loop: everything that waits, waits here. Two implementations run the same rooms above: libuv
 * (net/uv_loop), and the simulated one of tests/kit with a virtual clock and a network in memory.
 * Shape    a turn: read everything readable, handle it, then the turn hooks (stores write, connections send)
 * Threads  loop_new/free/run: the thread that runs it; loop_stop and tasks_post: any; the rest: loop
 * Owns     a listener or stream belongs to who made it, until …_close(); its callbacks do not run after that */
#ifndef SKYLARK_NET_LOOP_H
#define SKYLARK_NET_LOOP_H

#include "base/addr.h"
#include "os/tasks.h"

#include <sys/uio.h>

struct loop;
struct stream_ops;

/* One connection's bytes, both ways. Implementations of these three begin with the loop. A stream may stand on another one (net/tls). */
struct stream {
    struct loop *loop;
    const struct stream_ops *ops;
};
struct listener {
    struct loop *loop;
};
/* A connection attempt under way. */
struct connect {
    struct loop *loop;
};

/* What happens to a stream. Inside a callback the stream may be closed. */
struct stream_events {
    /* Bytes came in; they may be changed in place and are gone when it returns. */
    void (*data)(void *ctx, uint8_t *p, size_t n);
    /* The other end closed (e NULL) or the connection broke. The stream still must be closed. Takes e. */
    void (*end)(void *ctx, err_t e);
    /* The write that was WRITE_LATER is done, or failed (then `end` follows). */
    void (*written)(void *ctx);
};

enum write_result { WRITE_DONE, WRITE_LATER };

struct listener_events {
    /* A connection was accepted; the receiver owns the stream and calls stream_start. */
    void (*accepted)(void *ctx, struct stream *s, const struct addr *remote);
    void *ctx;
};

/* e NULL: connected, the stream is the receiver's. Takes e. Runs exactly once, unless the connect is cancelled. */
typedef void connect_done(void *ctx, err_t e, struct stream *s);

struct stream_ops {
    void (*start)(struct stream *, const struct stream_events *, void *ctx);
    void (*pause)(struct stream *, bool paused);
    enum write_result (*write)(struct stream *, const struct iovec *parts, size_t count);
    void (*close)(struct stream *);
    struct addr (*local)(struct stream *);
    bool (*half_close)(struct stream *);   /* NULL: it cannot */
};

struct loop_ops {
    err_t (*listen)(struct loop *, const struct addr *at, const struct listener_events *, struct listener **out);
    struct addr (*listener_addr)(const struct listener *);
    void (*listener_close)(struct listener *);
    err_t (*connect)(struct loop *, struct slice host, uint16_t port, int64_t timeout_ms, connect_done *, void *ctx,
                     struct connect **out);
    void (*connect_cancel)(struct connect *);
};

/* Implementations begin with this, and `tasks` with the loop's services. */
struct loop {
    struct tasks tasks;
    const struct loop_ops *ops;
};

/* Port 0 takes a free one; listener_addr tells. Errors: ADDRESS, NETWORK (in use, not permitted), with the address. */
static inline err_t loop_listen(struct loop *l, const struct addr *at, const struct listener_events *events, struct listener **out)
{
    return l->ops->listen(l, at, events, out);
}
static inline struct addr listener_addr(const struct listener *l) { return l->loop->ops->listener_addr(l); }
static inline void listener_close(struct listener *l) { l->loop->ops->listener_close(l); }

/* host is a name or a literal address; names are resolved by a worker. *out is valid until `done` runs. */
static inline err_t loop_connect(struct loop *l, struct slice host, uint16_t port, int64_t timeout_ms, connect_done *done, void *ctx,
                                 struct connect **out)
{
    return l->ops->connect(l, host, port, timeout_ms, done, ctx, out);
}
static inline void connect_cancel(struct connect *c) { c->loop->ops->connect_cancel(c); }

/* Begins reading. ctx is given to every event. */
static inline void stream_start(struct stream *s, const struct stream_events *events, void *ctx) { s->ops->start(s, events, ctx); }
/* No `data` while paused. */
static inline void stream_pause(struct stream *s, bool paused) { s->ops->pause(s, paused); }
/* Writes in order. WRITE_DONE: all taken. WRITE_LATER: the bytes must stay until `written` (or stream_close's return);
 * no other write before it. */
static inline enum write_result stream_write(struct stream *s, const struct iovec *parts, size_t count)
{
    return s->ops->write(s, parts, count);
}
/* Nothing is called back after it; bytes of a WRITE_LATER under way are no longer needed. */
static inline void stream_close(struct stream *s) { s->ops->close(s); }

/* Tells the other end, behind what was written, that nothing more comes; reading goes on. No write after it, nor while one is WRITE_LATER. A close
 * while bytes are unread makes the kernel throw away what the other end has not got yet: so who has said his last word half-closes, reads until the
 * end, and closes then. False: this kind of stream cannot. */
static inline bool stream_half_close(struct stream *s) { return s->ops->half_close && s->ops->half_close(s); }

/* The address at this end. */
static inline struct addr stream_local(struct stream *s) { return s->ops->local(s); }

/* --- the libuv loop --- */
err_t real_loop_new(struct loop **out) MUST_CHECK;
/* The same for a library, which leaves signals and environment of its process alone: the thread that runs it must block SIGPIPE. */
err_t real_loop_new_quiet(struct loop **out) MUST_CHECK;
void real_loop_run(struct loop *l);      /* until loop_stop */
/* The calling thread owns the loop from here on: its former one has ended. */
void real_loop_adopt(struct loop *l);
void real_loop_stop(struct loop *l);     /* Thread: any */
/* Listeners, streams and connects have been closed; jobs under way end first. NULL is fine. */
void real_loop_free(struct loop *l);
/* Calls `fire(ctx, number)` on the loop when the process gets the signal. */
err_t real_loop_on_signal(struct loop *l, int number, void (*fire)(void *ctx, int number), void *ctx) MUST_CHECK;

#endif
