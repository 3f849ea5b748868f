#include "broker/pop/record.h"

enum pop_record_kind pop_record_kind_of(struct slice tag)
{
    if (slice_eq(tag, SLICE("ck"))) return POP_POINT;
    if (slice_eq(tag, SLICE("ack"))) return POP_ACK;
    if (slice_eq(tag, SLICE("bAck"))) return POP_BATCH_ACK;
    return POP_NO_RECORD;
}

struct slice pop_record_tag(enum pop_record_kind kind)
{
    return kind == POP_POINT ? SLICE("ck") : kind == POP_ACK ? SLICE("ack") : SLICE("bAck");
}

/* --- reading --- */

static void read_diffs(struct json *j, struct pop_record *r, size_t *count)
{
    *count = 0;
    if (!json_array(j)) return;
    while (json_next(j)) {
        int32_t diff = json_i32(j);
        if (*count == POINT_MESSAGES_MAX || diff < 0) {
            json_fail(j, "no difference of offsets");
            return;
        }
        r->diffs[(*count)++] = diff;
    }
}

static void add_offset(struct json *j, struct pop_record *r, int64_t offset)
{
    int64_t *o = arena_list_add(j->arena, (void **)&r->offsets, &r->offset_count, sizeof *o);
    if (o) *o = offset;
    else json_fail(j, "too large");
}

static void read_offsets(struct json *j, struct pop_record *r)
{
    if (!json_array(j)) return;
    while (json_next(j)) add_offset(j, r, json_i64(j));
}

static bool is_key(struct slice key, const char *name) { return slice_eq(key, slice_text(name)); }

/* What only one of the two has. */
static void read_own(struct json *j, struct slice key, struct pop_record *r, int32_t *n, size_t *diffs)
{
    bool point = r->kind == POP_POINT;
    if (point && is_key(key, "it")) r->invisible_ms = json_i64(j);
    else if (point && is_key(key, "bm")) r->acked = (uint32_t)json_i64(j);
    else if (point && is_key(key, "n")) *n = json_i32(j);
    else if (point && is_key(key, "sp")) r->suspend = json_bool(j);
    else if (point && is_key(key, "d")) read_diffs(j, r, diffs);
    else if (r->kind == POP_ACK && (is_key(key, "ao") || is_key(key, "ackOffset"))) add_offset(j, r, json_i64(j));
    else if (r->kind == POP_BATCH_ACK && (is_key(key, "aol") || is_key(key, "ackOffsetList"))) read_offsets(j, r);
    else json_skip(j);
}

static void read_member(struct json *j, struct slice key, struct pop_record *r, int32_t *n, size_t *diffs)
{
    if (is_key(key, "t") || is_key(key, "topic")) r->topic = json_text(j);
    else if (is_key(key, "c") || is_key(key, "consumerGroup")) r->group = json_text(j);
    else if (is_key(key, "bn") || is_key(key, "brokerName")) r->broker = json_text(j);
    else if (is_key(key, "q") || is_key(key, "queueId")) r->queue_id = json_i32(j);
    else if (is_key(key, "so") || is_key(key, "startOffset")) r->start_offset = json_i64(j);
    else if (is_key(key, "pt") || is_key(key, "popTime")) r->pop_ms = json_i64(j);
    else read_own(j, key, r, n, diffs);
}

/* Old ones without differences: the messages follow each other. */
static bool settle_count(struct pop_record *r, int32_t n, size_t diffs)
{
    if (r->kind != POP_POINT) return true;
    if (n < 0 || n > POINT_MESSAGES_MAX || (diffs && diffs != (size_t)n)) return false;
    r->count = (size_t)n;
    for (int32_t i = 0; !diffs && i < n; i++) r->diffs[i] = i;
    return true;
}

static bool has_times(const struct pop_record *r)
{
    int64_t end;
    return r->start_offset >= 0 && r->start_offset < INT64_MAX - INT32_MAX && !__builtin_add_overflow(r->pop_ms, r->invisible_ms, &end);
}

bool pop_record_read(enum pop_record_kind kind, struct slice body, struct arena *arena, struct pop_record *out)
{
    struct pop_record r = {.kind = kind};
    struct json j;
    int32_t n = 0;
    size_t diffs = 0;
    json_begin(&j, body, arena);
    if (!json_object(&j)) return false;
    while (json_next(&j)) read_member(&j, json_key(&j), &r, &n, &diffs);
    err_t e = json_end(&j, "pop record");
    bool good = !e && r.topic.p && r.group.p && settle_count(&r, n, diffs) && has_times(&r);
    err_free(e);
    if (good) *out = r;
    return good;
}

/* --- writing --- */

static void put_number(struct json_out *w, const char *key, int64_t v)
{
    json_put_key(w, slice_text(key));
    json_put_i64(w, v);
}

static void put_text(struct json_out *w, const char *key, struct slice v)
{
    json_put_key(w, slice_text(key));
    json_put_text(w, v);
}

static void write_point(struct json_out *w, const struct pop_record *r)
{
    put_number(w, "bm", r->acked);
    put_text(w, "bn", r->broker);
    put_text(w, "c", r->group);
    json_put_key(w, SLICE("d"));
    json_put_array(w);
    for (size_t i = 0; i < r->count; i++) json_put_i64(w, r->diffs[i]);
    json_put_array_end(w);
    put_number(w, "it", r->invisible_ms);
    put_number(w, "n", (int64_t)r->count);
    put_number(w, "pt", r->pop_ms);
    put_number(w, "q", r->queue_id);
    put_number(w, "reviveTime", r->pop_ms + r->invisible_ms);
    put_number(w, "ro", 0);
    put_number(w, "so", r->start_offset);
    json_put_key(w, SLICE("sp"));
    json_put_bool(w, r->suspend);
    put_text(w, "t", r->topic);
}

static int64_t one_offset(const struct pop_record *r) { return r->kind == POP_ACK ? r->offsets[0] : -1; }

static void write_ack(struct json_out *w, const struct pop_record *r)
{
    put_number(w, "ao", one_offset(r));
    if (r->kind == POP_BATCH_ACK) {
        json_put_key(w, SLICE("aol"));
        json_put_array(w);
        for (size_t i = 0; i < r->offset_count; i++) json_put_i64(w, r->offsets[i]);
        json_put_array_end(w);
    }
    put_text(w, "bn", r->broker);
    put_text(w, "c", r->group);
    put_number(w, "pt", r->pop_ms);
    put_number(w, "q", r->queue_id);
    put_number(w, "so", r->start_offset);
    put_text(w, "t", r->topic);
}

void pop_record_write(const struct pop_record *r, struct buf *out)
{
    struct json_out w;
    json_out_init(&w, out, JSON_RAW);
    json_put_object(&w);
    if (r->kind == POP_POINT) write_point(&w, r);
    else write_ack(&w, r);
    json_put_object_end(&w);
}

/* Also of a batch it ends with "ack", after the offset -1. */
void pop_record_put_key(const struct pop_record *r, struct buf *out)
{
    bool point = r->kind == POP_POINT;
    buf_put_slice(out, r->topic);
    buf_put_u8(out, '@');
    buf_put_i64_text(out, r->queue_id);
    buf_put_u8(out, '@');
    buf_put_i64_text(out, point ? r->start_offset : one_offset(r));
    buf_put_u8(out, '@');
    buf_put_slice(out, r->group);
    buf_put_u8(out, '@');
    buf_put_i64_text(out, r->pop_ms);
    buf_put_u8(out, '@');
    buf_put_slice(out, r->broker);
    buf_put_text(out, point ? "@ck" : "@ack");
}
