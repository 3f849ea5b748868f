#include "codec/timer.h"

#include "codec/record.h"

#define TIMER_BLANK_MAGIC 0xCBD43194u
#define CHECK_MAGIC 0x534B594C41524B54ull   /* "SKYLARKT" */

#define SLOT_TIME_MAX (1ll << 46)            /* of any tick: ms of it are a number */

enum { SLOT_COUNT_MAX = 1 << 30 };
enum { EXTRA_AT = 1024, EXTRA_BYTES = 24, FLAGS_ALL = 0xF };

void timer_unit_encode(const struct timer_unit *u, uint8_t out[static TIMER_UNIT_BYTES])
{
    put_be32(out, TIMER_UNIT_BYTES);
    put_be64(out + 4, (uint64_t)u->before);
    put_be32(out + 12, (uint32_t)u->flags);
    put_be64(out + 16, (uint64_t)u->added_ms);
    put_be32(out + 24, (uint32_t)u->delay_ms);
    put_be64(out + 28, (uint64_t)u->log_offset);
    put_be32(out + 36, (uint32_t)u->size);
    put_be32(out + 40, (uint32_t)u->topic_hash);
    put_be64(out + 44, 0);
}

static bool can_be(const struct timer_unit *u, int64_t position)
{
    return u->before >= -1 && u->before < position && (u->flags & ~FLAGS_ALL) == 0 && u->added_ms >= 0 && u->added_ms < INT64_MAX / 2
        && u->log_offset >= 0 && u->size > 0;
}

bool timer_unit_decode(const uint8_t *p, int64_t position, struct timer_unit *out)
{
    struct timer_unit u = {
        .before = (int64_t)get_be64(p + 4), .flags = (int32_t)get_be32(p + 12), .added_ms = (int64_t)get_be64(p + 16),
        .delay_ms = (int32_t)get_be32(p + 24), .log_offset = (int64_t)get_be64(p + 28), .size = (int32_t)get_be32(p + 36),
        .topic_hash = (int32_t)get_be32(p + 40),
    };
    if (get_be32(p) != TIMER_UNIT_BYTES || !can_be(&u, position)) return false;
    *out = u;
    return true;
}

void timer_blank_encode(int32_t left, uint8_t out[static TIMER_BLANK_BYTES])
{
    put_be32(out, (uint32_t)left);
    put_be64(out + 4, 0);
    put_be32(out + 12, TIMER_BLANK_MAGIC);
}

bool timer_is_blank(const uint8_t *p) { return get_be32(p + 12) == TIMER_BLANK_MAGIC && get_be64(p + 4) == 0; }

void timer_slot_encode(const struct timer_slot *s, uint8_t out[static TIMER_SLOT_BYTES])
{
    put_be64(out, (uint64_t)s->time);
    put_be64(out + 8, (uint64_t)s->first);
    put_be64(out + 16, (uint64_t)s->last);
    put_be32(out + 24, (uint32_t)s->count);
    put_be32(out + 28, 0);
}

void timer_slot_decode(const uint8_t *p, struct timer_slot *out)
{
    *out = (struct timer_slot){
        .time = (int64_t)get_be64(p), .first = (int64_t)get_be64(p + 8), .last = (int64_t)get_be64(p + 16), .count = (int32_t)get_be32(p + 24),
    };
    bool holds = out->time > 0 && out->time < SLOT_TIME_MAX && out->first >= 0 && out->last >= out->first;
    if (!holds) *out = (struct timer_slot){.first = -1, .last = -1};
    if (out->count > SLOT_COUNT_MAX || out->count < -SLOT_COUNT_MAX) out->count = 0;   /* it is for statistics alone */
}

void timer_check_encode(const struct timer_check *c, uint8_t out[static TIMER_CHECK_BYTES])
{
    const int64_t fields[] = {c->read_ms, c->flushed, c->queue_offset, c->master_queue_offset, c->state_version, c->timestamp, c->counter};
    uint8_t covered[TIMER_CHECK_SHORT_BYTES + EXTRA_BYTES];
    memset(out, 0, TIMER_CHECK_BYTES);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) put_be64(out + 8 * i, (uint64_t)fields[i]);
    put_be64(out + EXTRA_AT, CHECK_MAGIC);
    put_be64(out + EXTRA_AT + 8, (uint64_t)c->tick_ms);
    put_be64(out + EXTRA_AT + 16, (uint64_t)c->log_offset);
    memcpy(covered, out, TIMER_CHECK_SHORT_BYTES);
    memcpy(covered + TIMER_CHECK_SHORT_BYTES, out + EXTRA_AT, EXTRA_BYTES);
    put_be32(out + EXTRA_AT + EXTRA_BYTES, record_crc(slice_of(covered, sizeof covered)));
}

void timer_check_decode(struct slice bytes, struct timer_check *out)
{
    uint8_t p[EXTRA_AT + EXTRA_BYTES + 4] = {0}, covered[TIMER_CHECK_SHORT_BYTES + EXTRA_BYTES];
    if (bytes.n) memcpy(p, bytes.p, bytes.n < sizeof p ? bytes.n : sizeof p);
    *out = (struct timer_check){
        .read_ms = (int64_t)get_be64(p), .flushed = (int64_t)get_be64(p + 8), .queue_offset = (int64_t)get_be64(p + 16),
        .master_queue_offset = (int64_t)get_be64(p + 24), .state_version = (int64_t)get_be64(p + 32), .timestamp = (int64_t)get_be64(p + 40),
        .counter = (int64_t)get_be64(p + 48), .log_offset = -1,
    };
    memcpy(covered, p, TIMER_CHECK_SHORT_BYTES);
    memcpy(covered + TIMER_CHECK_SHORT_BYTES, p + EXTRA_AT, EXTRA_BYTES);
    bool ours = get_be64(p + EXTRA_AT) == CHECK_MAGIC && get_be32(p + EXTRA_AT + EXTRA_BYTES) == record_crc(slice_of(covered, sizeof covered));
    if (!ours) return;
    out->tick_ms = (int64_t)get_be64(p + EXTRA_AT + 8);
    int64_t log_offset = (int64_t)get_be64(p + EXTRA_AT + 16);
    if (log_offset >= 0) out->log_offset = log_offset;
}
