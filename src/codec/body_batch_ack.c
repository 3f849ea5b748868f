#include "codec/body_batch_ack.h"

/* --- the long names: read, never written --- */

static bool never(const struct bean_field *f, const void *m)
{
    (void)f;
    (void)m;
    return true;
}

static void text_read(struct json *j, const struct bean_field *f, void *m) { bean_text.read(j, f, m); }
static void i32_read(struct json *j, const struct bean_field *f, void *m) { bean_i32.read(j, f, m); }
static void i64_read(struct json *j, const struct bean_field *f, void *m) { bean_i64.read(j, f, m); }
static const struct bean_type bean_old_text = {text_read, NULL, never};
static const struct bean_type bean_old_i32 = {i32_read, NULL, never};
static const struct bean_type bean_old_i64 = {i64_read, NULL, never};

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

static const struct bean_field ack_rows[] = {
    ROW(batch_ack, bits, "b", text, NULL),
    ROW(batch_ack, group, "c", text, NULL),
    ROW(batch_ack, invisible_ms, "it", i64, NULL),
    ROW(batch_ack, pop_ms, "pt", i64, NULL),
    ROW(batch_ack, queue_id, "q", i32, NULL),
    ROW(batch_ack, retry, "r", text, NULL),
    ROW(batch_ack, revive_queue, "rq", i32, NULL),
    ROW(batch_ack, start_offset, "so", i64, NULL),
    ROW(batch_ack, topic, "t", text, NULL),
    ROW(batch_ack, bits, "bitSet", old_text, NULL),
    ROW(batch_ack, group, "consumerGroup", old_text, NULL),
    ROW(batch_ack, invisible_ms, "invisibleTime", old_i64, NULL),
    ROW(batch_ack, pop_ms, "popTime", old_i64, NULL),
    ROW(batch_ack, queue_id, "queueId", old_i32, NULL),
    ROW(batch_ack, retry, "retry", old_text, NULL),
    ROW(batch_ack, revive_queue, "reviveQueueId", old_i32, NULL),
    ROW(batch_ack, start_offset, "startOffset", old_i64, NULL),
    ROW(batch_ack, topic, "topic", old_text, NULL),
};
static const struct bean ack_bean = BEAN(struct batch_ack, ack_rows, NULL);

static const struct bean_field body_rows[] = {
    ROW(batch_ack_body, acks, "acks", list, &ack_bean),
    ROW(batch_ack_body, broker, "brokerName", text, NULL),
};
const struct bean batch_ack_bean = BEAN(struct batch_ack_body, body_rows, NULL);

/* --- bits --- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(uint8_t c)
{
    const char *at = c ? memchr(letters, c, sizeof letters - 1) : NULL;
    return at ? (int)(at - letters) : -1;
}

bool batch_ack_bits_read(struct slice text, struct ack_bits *out)
{
    struct ack_bits read = {{0}};
    size_t at = 0, padding = 0;
    uint32_t bits = 0, count = 0;
    while (padding < 2 && padding < text.n && text.p[text.n - 1 - padding] == '=') padding++;
    if (padding && text.n % 4) return false;
    text.n -= padding;
    if (text.n % 4 == 1) return false;
    for (size_t i = 0; i < text.n; i++) {
        int v = value_of(text.p[i]);
        if (v < 0) return false;
        bits = bits << 6 | (uint32_t)v;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        uint8_t byte = (uint8_t)(bits >> count);
        if (byte && at >= sizeof read.bytes) return false;
        if (byte) read.bytes[at] = byte;
        at++;
    }
    *out = read;
    return true;
}

void batch_ack_bits_write(const struct ack_bits *b, struct buf *out)
{
    size_t n = sizeof b->bytes;
    while (n && !b->bytes[n - 1]) n--;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t v = (uint32_t)b->bytes[i] << 16 | (left > 1 ? (uint32_t)b->bytes[i + 1] << 8 : 0) | (left > 2 ? b->bytes[i + 2] : 0);
        buf_put_u8(out, (uint8_t)letters[v >> 18]);
        buf_put_u8(out, (uint8_t)letters[v >> 12 & 63]);
        buf_put_u8(out, left > 1 ? (uint8_t)letters[v >> 6 & 63] : '=');
        buf_put_u8(out, left > 2 ? (uint8_t)letters[v & 63] : '=');
    }
}
