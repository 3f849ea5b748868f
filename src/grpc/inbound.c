#include "grpc/internal.h"

#include "grpc/gzip.h"

#include <stdio.h>

/* Windows. Those of the connection are given back at once, or calls that wait would keep others from going on; those of a stream
 * when its bytes are used, or the memory for messages that have not come whole allows. */

enum { PREFIX_BYTES = 5, TEXT_MAX = 160, ZIPPED = 1 };

static void give_back(struct grpc_call *k)
{
    if (k->owed && !k->closing) nghttp2_session_consume_stream(k->conn->session, k->id, k->owed);
    k->owed = 0;
    grpc_session_touch(k->conn);
}

/* A large message need not wait for the network once for each window: it is known how much comes. */
static void open_window(struct grpc_call *k, size_t size)
{
    struct grpc_conn *c = k->conn;
    if (k->promised || size <= GRPC_STREAM_WINDOW || c->promised + size > c->server->options.max_message_bytes) return;
    k->promised = size;
    c->promised += size;
    nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, k->id, (int32_t)size);
}

static void close_window(struct grpc_call *k)
{
    if (!k->promised) return;
    k->conn->promised -= k->promised;
    k->promised = 0;
    if (!k->closing) nghttp2_session_set_local_window_size(k->conn->session, NGHTTP2_FLAG_NONE, k->id, GRPC_STREAM_WINDOW);
}

void grpc_call_drop_input(struct grpc_call *k)
{
    close_window(k);
    k->conn->unfinished -= k->in.n;
    buf_done(&k->in);
    give_back(k);
}

static void end_too_large(struct grpc_call *k)
{
    char text[TEXT_MAX];
    snprintf(text, sizeof text, "the message is larger than %zu bytes", k->conn->server->options.max_message_bytes);
    grpc_call_end(k, GRPC_RESOURCE_EXHAUSTED, text);
}

/* --- one message --- */

static void hand_over_zipped(struct grpc_call *k, struct slice packed)
{
    struct buf bytes = BUF_EMPTY;
    switch (gzip_unpack(packed, k->conn->server->options.max_message_bytes, &bytes)) {
    case GZIP_FINE: k->service->message(k->service->ctx, k, buf_slice(&bytes)); break;
    case GZIP_TOO_LARGE: end_too_large(k); break;
    case GZIP_BROKEN: grpc_call_end(k, GRPC_INTERNAL, "the message cannot be unpacked"); break;
    }
    buf_done(&bytes);
}

static void hand_over(struct grpc_call *k, uint8_t flag, struct slice bytes)
{
    if (!flag) k->service->message(k->service->ctx, k, bytes);
    else if (flag == ZIPPED && k->zipped) hand_over_zipped(k, bytes);
    else grpc_call_end(k, GRPC_INTERNAL, "the message is marked as packed, and the call says nothing of how");
}

/* The size of the message at the front with its prefix; 0: not known yet, or the call was ended. */
static size_t whole_size(struct grpc_call *k, struct slice at)
{
    if (at.n < PREFIX_BYTES) return 0;
    uint32_t size = get_be32(at.p + 1);
    if (size <= k->conn->server->options.max_message_bytes) return PREFIX_BYTES + (size_t)size;
    end_too_large(k);
    return 0;
}

/* Hands over what is whole at the front; returns how many bytes that took. */
static size_t take_whole(struct grpc_call *k, struct slice bytes)
{
    size_t done = 0;
    while (!k->over && !grpc_session_is_full(k->conn)) {
        struct slice at = slice_skip(bytes, done);
        size_t size = whole_size(k, at);
        if (!size || size > at.n) break;
        done += size;
        hand_over(k, at.p[0], slice_of(at.p + PREFIX_BYTES, size - PREFIX_BYTES));
    }
    return done;
}

/* --- what has not come whole --- */

/* The first of the calls with unfinished messages always goes on, so that they cannot stop each other. */
static bool is_first_unfinished(const struct grpc_call *k)
{
    LIST_EACH(&k->conn->calls, node) {
        const struct grpc_call *other = LIST_OWNER(node, struct grpc_call, node);
        if (other->in.n) return other == k;
    }
    return true;
}

static bool may_grow(const struct grpc_call *k)
{
    return k->conn->unfinished <= k->conn->server->options.max_message_bytes || is_first_unfinished(k);
}

static void keep(struct grpc_call *k, struct slice bytes)
{
    if (k->over) return;
    buf_put_slice(&k->in, bytes);
    k->conn->unfinished += bytes.n;
}

/* Adds to the message that has not come whole only what it lacks, and hands it over when it has. Returns the bytes used. */
static size_t complete(struct grpc_call *k, struct slice bytes)
{
    size_t size = whole_size(k, buf_slice(&k->in));
    if (k->over) return bytes.n;
    size_t want = size ? size - k->in.n : PREFIX_BYTES - k->in.n;
    size_t use = want < bytes.n ? want : bytes.n;
    keep(k, slice_of(bytes.p, use));
    if (size && use < want) open_window(k, size);
    if (!size) size = whole_size(k, buf_slice(&k->in));   /* a message without bytes is whole with its prefix */
    if (k->over || !size || k->in.n < size) return use;
    close_window(k);
    struct buf whole = k->in;
    k->in = BUF_EMPTY;
    k->conn->unfinished -= whole.n;
    hand_over(k, whole.p[0], slice_of(whole.p + PREFIX_BYTES, whole.n - PREFIX_BYTES));
    buf_done(&whole);
    return use;
}

/* Too much is unsent: what is here waits, several messages perhaps. */
static void hold_back(struct grpc_call *k)
{
    if (k->over || !k->in.n || !grpc_session_is_full(k->conn)) return;
    k->held = k->conn->holds = true;
}

static void take(struct grpc_call *k, struct slice bytes)
{
    while (bytes.n && k->in.n && !k->held && !k->over && !grpc_session_is_full(k->conn)) bytes = slice_skip(bytes, complete(k, bytes));
    if (bytes.n && !k->in.n) bytes = slice_skip(bytes, take_whole(k, bytes));
    if (bytes.n) keep(k, bytes);
    hold_back(k);
}

void grpc_call_settle(struct grpc_call *k)
{
    if (k->over || (!k->held && may_grow(k))) give_back(k);
    else if (k->owed) k->conn->starves = true;
}

void grpc_call_take(struct grpc_call *k, struct slice bytes)
{
    k->owed += bytes.n;
    if (!k->over) take(k, bytes);
    grpc_call_settle(k);
}

static void tell_half_closed(struct grpc_call *k)
{
    if (k->over || k->held) return;
    if (k->in.n) grpc_call_end(k, GRPC_INTERNAL, "the last message did not come whole");
    else k->service->half_closed(k->service->ctx, k);
}

void grpc_call_half_close(struct grpc_call *k)
{
    k->closing = true;
    tell_half_closed(k);
}

void grpc_call_go_on(struct grpc_call *k)
{
    if (k->over || !k->held) return;
    struct buf had = k->in;
    k->held = false;
    k->in = BUF_EMPTY;
    k->conn->unfinished -= had.n;
    take(k, buf_slice(&had));
    buf_done(&had);
    grpc_call_settle(k);
    if (k->closing) tell_half_closed(k);
}
