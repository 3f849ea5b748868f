#include "grpc/internal.h"

#include "grpc/gzip.h"
#include "grpc/words.h"

#include <assert.h>
#include <stdlib.h>

enum { PREFIX_BYTES = 5, COPY_BELOW = 1024, PACK_FROM = 1024, HEADERS_MAX = 6 };

/* --- the queue of messages --- */

static void outgoing_unref(void *owner)
{
    struct outgoing *o = owner;
    if (--o->refs) return;
    for (size_t i = 0; i < o->count; i++) pin_release(&o->parts[i]);
    free(o);
}

static size_t bytes_of(const struct pinned *parts, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) size += parts[i].bytes.n;
    return size;
}

static struct outgoing *outgoing_new(const struct pinned *parts, size_t count, bool packed)
{
    struct outgoing *o = must_alloc(sizeof *o + (count + 1) * sizeof *o->parts);
    *o = (struct outgoing){.refs = 1, .count = count + 1};
    size_t size = bytes_of(parts, count);
    o->prefix[0] = packed;
    put_be32(o->prefix + 1, (uint32_t)size);
    o->parts[0] = (struct pinned){.bytes = slice_of(o->prefix, PREFIX_BYTES)};
    memcpy(o->parts + 1, parts, count * sizeof *parts);
    o->left = PREFIX_BYTES + size;
    return o;
}

static void queue(struct grpc_call *k, struct outgoing *o)
{
    if (!k->unsent) k->moved_ms = tasks_mono_ms(&k->conn->server->loop->tasks);
    list_add(&k->out, &o->node);
    k->unsent += o->left;
    k->conn->unsent += o->left;
    grpc_call_submit(k);
}

/* Who sends packed messages gets packed ones, unless they are small. Takes the pins. */
static struct outgoing *pack(struct pinned *parts, size_t count)
{
    struct buf plain = BUF_EMPTY, packed = BUF_EMPTY;
    for (size_t i = 0; i < count; i++) {
        buf_put_slice(&plain, parts[i].bytes);
        pin_release(&parts[i]);
    }
    gzip_pack(buf_slice(&plain), &packed);
    buf_done(&plain);
    struct pinned part = {.bytes = buf_slice(&packed), .release = free, .owner = packed.p};
    return outgoing_new(&part, 1, true);
}

void grpc_send(struct grpc_call *k, struct pinned *parts, size_t count)
{
    assert(!k->over);
    queue(k, k->packs && bytes_of(parts, count) >= PACK_FROM ? pack(parts, count) : outgoing_new(parts, count, false));
}

void grpc_send_copy(struct grpc_call *k, struct slice bytes)
{
    void *copy = must_alloc(bytes.n ? bytes.n : 1);
    if (bytes.n) memcpy(copy, bytes.p, bytes.n);
    struct pinned part = {.bytes = slice_of(copy, bytes.n), .release = free, .owner = copy};
    grpc_send(k, &part, 1);
}

size_t grpc_call_unsent(const struct grpc_call *k) { return k->unsent; }

bool grpc_call_drop_output(struct grpc_call *k)
{
    struct outgoing *first = list_empty(&k->out) ? NULL : LIST_OWNER(list_first(&k->out), struct outgoing, node);
    bool half_sent = first && (first->part || first->at);
    while (!list_empty(&k->out)) {
        struct outgoing *o = LIST_OWNER(list_first(&k->out), struct outgoing, node);
        list_remove(&o->node);
        outgoing_unref(o);
    }
    k->conn->unsent -= k->unsent;
    k->unsent = 0;
    return half_sent;
}

void grpc_call_reset(struct grpc_call *k, uint32_t code)
{
    nghttp2_submit_rst_stream(k->conn->session, NGHTTP2_FLAG_NONE, k->id, code);
    grpc_session_touch(k->conn);
}

/* --- headers --- */

/* Both live as long as the process: nothing is copied. */
static nghttp2_nv constant(struct slice name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)name.p, (uint8_t *)value, name.n, strlen(value), NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

static const char *const status_digits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"};

static size_t add_status(struct grpc_call *k, nghttp2_nv *out)
{
    assert((size_t)k->status < sizeof status_digits / sizeof *status_digits);
    out[0] = constant(SLICE("grpc-status"), status_digits[k->status]);
    if (!k->status_text.n) return 1;
    out[1] = constant(SLICE("grpc-message"), "");
    out[1].value = k->status_text.p;
    out[1].valuelen = k->status_text.n;
    out[1].flags = NGHTTP2_NV_FLAG_NO_COPY_NAME;
    return 2;
}

static size_t add_first(struct grpc_call *k, nghttp2_nv *out, const char *http_status)
{
    out[0] = constant(SLICE(":status"), http_status);
    out[1] = constant(SLICE("content-type"), "application/grpc");
    out[2] = constant(SLICE("grpc-accept-encoding"), "identity,gzip");
    if (!k->packs) return 3;
    out[3] = constant(SLICE("grpc-encoding"), "gzip");
    return 4;
}

/* An answer without a message: all headers at once. */
static void submit_status_alone(struct grpc_call *k, const char *http_status)
{
    nghttp2_nv headers[HEADERS_MAX];
    size_t n = add_first(k, headers, http_status);
    n += add_status(k, headers + n);
    k->answered = true;
    nghttp2_submit_response(k->conn->session, k->id, headers, n, NULL);
}

static void submit_trailers(struct grpc_call *k)
{
    nghttp2_nv headers[2];
    nghttp2_submit_trailer(k->conn->session, k->id, headers, add_status(k, headers));
}

static void submit_messages(struct grpc_call *k)
{
    nghttp2_nv headers[HEADERS_MAX];
    nghttp2_data_provider provider = {.source.ptr = k, .read_callback = grpc_call_read};
    k->answered = true;
    nghttp2_submit_response(k->conn->session, k->id, headers, add_first(k, headers, "200"), &provider);
}

/* There is something new to say: a message, or a status. What memory is too short for, libnghttp2 reports when it sends. */
void grpc_call_submit(struct grpc_call *k)
{
    if (!k->answered && k->finished && !k->unsent) submit_status_alone(k, "200");
    else if (!k->answered) submit_messages(k);
    else if (k->waits) nghttp2_session_resume_data(k->conn->session, k->id);
    k->waits = false;
    grpc_session_touch(k->conn);
}

void grpc_call_refuse(struct grpc_call *k, const char *http_status, enum grpc_status status, const char *text)
{
    k->over = k->finished = true;
    k->status = status;
    status_text_encode(slice_text(text), &k->status_text);
    submit_status_alone(k, http_status);
    grpc_session_touch(k->conn);
}

/* --- giving bytes to the session --- */

/* How many bytes the next DATA frame has. Status and trailers come right behind the last one. */
ssize_t grpc_call_read(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length, uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    (void)session, (void)id, (void)buf, (void)ctx;
    struct grpc_call *k = source->ptr;
    if (!k->unsent && !k->finished) {
        k->waits = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    size_t n = k->unsent < length ? k->unsent : length;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (k->finished && n == k->unsent) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        submit_trailers(k);
    }
    return (ssize_t)n;
}

/* Small pieces are copied, larger ones go to the socket from where they are. */
static void put(struct conn *conn, struct outgoing *o, struct slice bytes)
{
    if (bytes.n < COPY_BELOW) {
        buf_put_slice(conn_out(conn), bytes);
        return;
    }
    struct pinned piece = {.bytes = bytes, .release = outgoing_unref, .owner = o};
    o->refs++;
    conn_out_pinned(conn, &piece);
}

/* Moves up to n bytes of the first message; returns how many. */
static size_t move(struct grpc_call *k, struct outgoing *o, size_t n)
{
    while (o->part < o->count && o->at == o->parts[o->part].bytes.n) {
        o->part++;
        o->at = 0;
    }
    struct slice rest = slice_skip(o->parts[o->part].bytes, o->at);
    if (rest.n > n) rest.n = n;
    put(k->conn->conn, o, rest);
    o->at += rest.n;
    o->left -= rest.n;
    if (!o->left) {
        list_remove(&o->node);
        outgoing_unref(o);
    }
    return rest.n;
}

int grpc_call_write(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t length, nghttp2_data_source *source, void *ctx)
{
    enum { FRAME_HEAD = 9 };
    (void)session, (void)frame, (void)ctx;
    struct grpc_call *k = source->ptr;
    buf_put(conn_out(k->conn->conn), head, FRAME_HEAD);
    k->unsent -= length;
    k->conn->unsent -= length;
    k->moved_ms = tasks_mono_ms(&k->conn->server->loop->tasks);
    while (length) length -= move(k, LIST_OWNER(list_first(&k->out), struct outgoing, node), length);
    return 0;
}
