#include "broker/intake/delay.h"

#include "codec/properties.h"

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
static bool is_replaced(struct slice name)
{
    static const char *const names[] = {"REAL_TOPIC", "REAL_QID", "DELAY", "TIMER_DELIVER_MS", "TIMER_DELAY_SEC", "TIMER_DELAY_MS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_eq(name, slice_text(names[i]))) return true;
    return false;
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
    struct slice rest = m->properties, name, value;
    while (properties_next(&rest, &name, &value))
        if (!is_replaced(name)) properties_put(text, name, value);
    if (level > b->delay_levels.count) level = b->delay_levels.count;
    put_number(text, SLICE("DELAY"), level);
    put_real_place(m, text);
    m->topic = SLICE(DELAY_LEVELS_TOPIC);
    m->queue_id = level - 1;
    m->delay_level = level;
    tasks_refresh(b->tasks);   /* its delay begins now, not when the turn began: it must not come early */
}

err_t intake_delay(struct broker *b, struct message *m, const struct known_properties *p, struct buf *text)
{
    int32_t level = 0;
    if (!can_wait(m)) return NULL;
    if (p->delay_level.n && !slice_to_i32(p->delay_level, &level))
        return err_new(ERR_FIELD, "the property DELAY is no number: \"%.*s\"", SLICE_ARG(p->delay_level));
    if (level <= 0 && known_has_timer(p)) return err_new(ERR_MESSAGE_ILLEGAL, "timer messages are not supported by this version of the broker");
    if (level <= 0) return NULL;
    wait_on_level(b, m, level, text);
    m->batch_topic = false;
    m->properties = buf_slice(text);
    return NULL;
}
