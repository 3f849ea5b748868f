#include "broker/intake/delay.h"

#include "codec/properties.h"
#include "timer/timer.h"

#include <inttypes.h>
#include <stdio.h>

/* Of half messages and rollbacks nobody waits for the delivery; a committed message is a new one, and delayed then. */
static bool can_wait(const struct message *m)
{
    int32_t kind = m->sys_flag & SYS_FLAG_TRANSACTION_MASK;
    if (slice_eq(m->topic, SLICE("RMQ_SYS_TRANS_HALF_TOPIC")) || slice_eq(m->topic, SLICE("RMQ_SYS_TRANS_OP_HALF_TOPIC"))) return false;
    return kind == SYS_FLAG_TRANSACTION_NONE || kind == SYS_FLAG_TRANSACTION_COMMIT;
}

/* What is said anew, or would be a second wish for a time. */
static const char *const of_level[] = {"REAL_TOPIC", "REAL_QID", "DELAY", "TIMER_DELIVER_MS", "TIMER_DELAY_SEC", "TIMER_DELAY_MS", NULL};
static const char *const of_timer[] = {"REAL_TOPIC", "REAL_QID", "TIMER_OUT_MS", NULL};

static bool is_one_of(struct slice name, const char *const *names)
{
    for (; *names; names++)
        if (slice_eq(name, slice_text(*names))) return true;
    return false;
}

static void put_others(struct slice properties, const char *const *replaced, struct buf *text)
{
    struct slice name, value;
    while (properties_next(&properties, &name, &value))
        if (!is_one_of(name, replaced)) properties_put(text, name, value);
}

static void put_number(struct buf *text, struct slice name, int64_t value)
{
    char number[24];
    int n = snprintf(number, sizeof number, "%" PRId64, value);
    properties_put(text, name, slice_of(number, (size_t)n));
}

static void put_real_place(const struct message *m, struct buf *text)
{
    properties_put(text, SLICE("REAL_TOPIC"), m->topic);
    put_number(text, SLICE("REAL_QID"), m->queue_id);
}

static void wait_on_level(struct broker *b, struct message *m, int32_t level, struct buf *text)
{
    put_others(m->properties, of_level, text);
    if (level > b->delay_levels.count) level = b->delay_levels.count;
    put_number(text, SLICE("DELAY"), level);
    put_real_place(m, text);
    m->topic = SLICE(DELAY_LEVELS_TOPIC);
    m->queue_id = level - 1;
    m->delay_level = level;
    tasks_refresh(b->tasks);   /* its delay begins now, not when the turn began: it must not come early */
}

/* --- times --- */

static err_t time_illegal(struct broker *b)
{
    return err_new(ERR_MESSAGE_ILLEGAL,
                   "timer message illegal, the delay time should not be bigger than the max delay %" PRId64 "ms; or if set del msg, the delay "
                   "time should be bigger than the current time", b->cfg->store.timer_max_delay_s * 1000);
}

/* Seconds go before milliseconds, these before a time. False: there is no such time. */
static bool deliver_ms(const struct known_properties *p, int64_t now_ms, int64_t *out)
{
    int64_t n, ms;
    if (p->timer_delay_sec.n)
        return slice_to_i64(p->timer_delay_sec, &n) && !__builtin_mul_overflow(n, 1000, &ms) && !__builtin_add_overflow(now_ms, ms, out);
    if (p->timer_delay_ms.n) return slice_to_i64(p->timer_delay_ms, &n) && !__builtin_add_overflow(now_ms, n, out);
    return slice_to_i64(p->timer_deliver_ms, out);
}

/* More messages in one tick than are wanted: some are refused, of twice as many all. Facts: docs/protocol/semantics.md 3 */
static bool is_crowded(struct broker *b, int64_t slot_ms)
{
    int64_t limit = b->cfg->store.timer_congested, count = timers_count_at(b->timers, slot_ms);
    if (count <= limit) return false;
    return count >= 2 * limit || random_below(&b->random, 1000) > 1000 * (count - limit) / (limit + 1);
}

static err_t crowded(int64_t limit)
{
    return err_new(ERR_REFUSED,
                   "timer message is under flow control, max num limit is %" PRId64 " or the current value is greater than %" PRId64
                   " and less than %" PRId64 ", trigger random flow control", 2 * limit, limit, 2 * limit);
}

/* The tick before the one in which it is due: slots are delivered when their tick is over. */
static int64_t slot_of(int64_t due_ms, int64_t tick_ms) { return (due_ms - 1) / tick_ms * tick_ms; }

static err_t wait_until(struct broker *b, struct message *m, const struct known_properties *p, struct buf *text)
{
    int64_t now_ms = tasks_wall_ms(b->tasks), due_ms;
    if (!b->timers) return err_new(ERR_REFUSED, "accurate timer message is not enabled, timerWheelEnable is false");
    if (!deliver_ms(p, now_ms, &due_ms)) return time_illegal(b);
    if (due_ms <= now_ms) return p->timer_delete_key.n ? time_illegal(b) : NULL;
    if (due_ms - now_ms > b->cfg->store.timer_max_delay_s * 1000) return time_illegal(b);
    int64_t slot_ms = slot_of(due_ms, b->cfg->store.timer_tick_ms);
    if (is_crowded(b, slot_ms)) return crowded(b->cfg->store.timer_congested);
    put_others(m->properties, of_timer, text);
    put_number(text, SLICE("TIMER_OUT_MS"), slot_ms);
    put_real_place(m, text);
    m->topic = SLICE(TIMER_TOPIC);
    m->queue_id = 0;
    m->batch_topic = false;
    m->properties = buf_slice(text);
    return NULL;
}

/* What comes out of the wheel goes there again when it has to wait longer than the wheel reaches, or not at all. */
static bool asks_for_time(const struct message *m, const struct known_properties *p)
{
    return known_has_timer(p) && !p->timer_out_ms.n && !slice_eq(m->topic, SLICE(TIMER_TOPIC));
}

err_t intake_delay(struct broker *b, struct message *m, const struct known_properties *p, struct buf *text)
{
    int32_t level = 0;
    if (!can_wait(m)) return NULL;
    if (p->delay_level.n && !slice_to_i32(p->delay_level, &level))
        return err_new(ERR_FIELD, "the property DELAY is no number: \"%.*s\"", SLICE_ARG(p->delay_level));
    if (level <= 0) return asks_for_time(m, p) ? wait_until(b, m, p, text) : NULL;
    wait_on_level(b, m, level, text);
    m->batch_topic = false;
    m->properties = buf_slice(text);
    return NULL;
}
