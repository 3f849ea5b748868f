/* conn.h - a stream cut into units (frames), and what is to be sent, gathered until the turn ends: one vectored write for all
 * replies of a turn.
 * Threads  loop
 * Owns     conn_new takes the stream. A unit's bytes are gone when `unit` returns.
 * Memory   an idle connection keeps no buffer; buffers come from the group and go back to it. */
#ifndef SKYLARK_NET_CONN_H
#define SKYLARK_NET_CONN_H

#include "base/buf.h"
#include "base/pin.h"
#include "net/loop.h"

struct conn;

/* The connections that are flushed together at the end of a turn. Embedded; outlives its connections. */
struct conn_group {
    struct loop *loop;
    struct turn_hook hook;
    struct list dirty;
    struct list closing;
    struct buf *spare;
    size_t spares;
};

void conn_group_init(struct conn_group *g, struct loop *loop);
/* All connections must have been closed. */
void conn_group_done(struct conn_group *g);

struct conn_events {
    /* How many bytes the unit takes that begins at p; 0: more bytes are needed to tell. An error ends the connection. */
    err_t (*size)(const uint8_t *p, size_t n, size_t *out);
    /* One whole unit; its bytes may be changed. The connection may be closed here. */
    void (*unit)(void *ctx, uint8_t *p, size_t n);
    /* The connection is over: conn_close it. e NULL: the other end closed. Takes e. */
    void (*end)(void *ctx, err_t e);
    /* Output that had not been taken at once has been. NULL: nobody cares. */
    void (*taken)(void *ctx);
};

struct conn_limits {
    size_t max_unsent_bytes;     /* above it nothing is read or handed over, also within a turn; below half of it again */
    int64_t stalled_close_ms;    /* ended with BUSY when paused and nothing was taken for so long */
};

struct conn *conn_new(struct conn_group *g, struct stream *s, const struct conn_events *events, const struct conn_limits *limits, void *ctx);
/* Offers what is unsent once more and closes. No event comes after it; the memory is freed at the end of the turn. */
void conn_close(struct conn *c);

/* Says good-bye: what is unsent goes out, then the other end is told that nothing more comes, and what it still sends is thrown away. `end` (e NULL)
 * follows when it has closed too, or soon, where streams cannot be closed by half. Nothing may be sent after it. */
void conn_finish(struct conn *c);
/* Nothing is read or handed over while it is held: for who passes units on to somebody who is slow. */
void conn_hold(struct conn *c, bool hold);

/* The buffer to append output to; conn_sent() when done. Valid until then. */
struct buf *conn_out(struct conn *c);
void conn_sent(struct conn *c);
/* Appends pinned bytes behind what was put into conn_out() so far; takes the pin. Between conn_out() and conn_sent(). */
void conn_out_pinned(struct conn *c, struct pinned *p);

size_t conn_unsent_bytes(const struct conn *c);
/* mono_ms of the last byte read or written. */
int64_t conn_active_ms(const struct conn *c);

#endif
