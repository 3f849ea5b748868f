#include "codec/pop_info.h"

static const struct slice retry_prefix = {(const uint8_t *)"%RETRY%", 7};

enum pop_kind pop_kind_of(struct slice topic)
{
    if (!slice_starts(topic, retry_prefix)) return POP_NORMAL;
    return memchr(topic.p, '+', topic.n) ? POP_RETRY_V2 : POP_RETRY_V1;
}

bool pop_kind_parse(struct slice text, enum pop_kind *out)
{
    if (text.n != 1 || text.p[0] < '0' || text.p[0] >= '0' + POP_KINDS) return false;
    *out = (enum pop_kind)(text.p[0] - '0');
    return true;
}

void pop_topic_name(enum pop_kind kind, struct slice group, struct slice topic, struct buf *out)
{
    if (kind != POP_NORMAL) {
        buf_put_slice(out, retry_prefix);
        buf_put_slice(out, group);
        buf_put_u8(out, kind == POP_RETRY_V2 ? '+' : '_');
    }
    buf_put_slice(out, topic);
}

struct slice pop_origin_topic(struct slice retry_topic, struct slice group)
{
    struct slice rest = retry_topic;
    if (!slice_starts(rest, retry_prefix)) return slice_of(NULL, 0);
    rest = slice_skip(rest, retry_prefix.n);
    if (!slice_starts(rest, group)) return slice_of(NULL, 0);
    rest = slice_skip(rest, group.n);
    if (rest.n < 2 || (rest.p[0] != '_' && rest.p[0] != '+')) return slice_of(NULL, 0);
    return slice_skip(rest, 1);
}

/* --- writing --- */

static void put_front(struct buf *out, enum pop_kind kind)
{
    if (out->n) buf_put_u8(out, ';');
    buf_put_u8(out, (uint8_t)('0' + kind));
    buf_put_u8(out, ' ');
}

static void put_queue(struct buf *out, enum pop_kind kind, int32_t queue_id)
{
    put_front(out, kind);
    buf_put_i64_text(out, queue_id);
    buf_put_u8(out, ' ');
}

void pop_info_put_start(struct buf *out, enum pop_kind kind, int32_t queue_id, int64_t offset)
{
    put_queue(out, kind, queue_id);
    buf_put_i64_text(out, offset);
}

void pop_info_put_offsets(struct buf *out, enum pop_kind kind, int32_t queue_id, const int64_t *offsets, size_t count)
{
    put_queue(out, kind, queue_id);
    for (size_t i = 0; i < count; i++) {
        if (i) buf_put_u8(out, ',');
        buf_put_i64_text(out, offsets[i]);
    }
}

void pop_info_put_count(struct buf *out, enum pop_kind kind, int32_t queue_id, int64_t offset, int32_t count)
{
    put_front(out, kind);
    buf_put_text(out, "qo");
    buf_put_i64_text(out, queue_id);
    buf_put_u8(out, '%');
    buf_put_i64_text(out, offset);
    buf_put_u8(out, ' ');
    buf_put_i64_text(out, count);
}

void pop_info_put_least(struct buf *out, enum pop_kind kind, int32_t queue_id, int32_t count)
{
    put_queue(out, kind, queue_id);
    buf_put_i64_text(out, count);
}

/* --- reading --- */

/* "3", or "qo3%100". */
static bool read_key(struct slice key, struct pop_info_item *out)
{
    struct slice queue;
    out->offset = -1;
    if (!slice_starts(key, SLICE("qo"))) return slice_to_i32(key, &out->queue_id);
    key = slice_skip(key, 2);
    return slice_split(&key, '%', &queue) && slice_to_i32(queue, &out->queue_id) && slice_to_i64(key, &out->offset) && out->offset >= 0;
}

bool pop_info_next(struct slice *rest, struct pop_info_item *out, bool *broken)
{
    struct slice item, kind, key;
    struct pop_info_item read = {.value = {NULL, 0}};
    *broken = false;
    if (!slice_split(rest, ';', &item)) return false;
    bool good = slice_split(&item, ' ', &kind) && pop_kind_parse(kind, &read.kind) && slice_split(&item, ' ', &key) && read_key(key, &read) &&
                item.n && !memchr(item.p, ' ', item.n);
    *broken = !good;
    read.value = item;
    if (good) *out = read;
    return good;
}

bool pop_info_next_offset(struct slice *value, int64_t *out, bool *broken)
{
    struct slice number;
    *broken = false;
    if (!slice_split(value, ',', &number)) return false;
    *broken = !slice_to_i64(number, out);
    return !*broken;
}
