#include "broker/delay/timed_state.h"

#include "base/clamped.h"
#include "base/log.h"
#include "codec/java_hash.h"
#include "codec/properties.h"
#include "codec/record.h"

#include <inttypes.h>

enum { ENTRIES_AT_ONCE = 64 };

/* What a message of the timer topic says of itself. */
struct timed_message {
    struct slice real_topic;
    int64_t out_ms, born_ms;
    bool deletes;
};

static const char *read_message(struct slice record, int64_t queue_offset, struct timed_message *out)
{
    struct message m;
    if (record_read(record, &m) != RECORD_WHOLE) return "its record is damaged";
    if (!slice_eq(m.topic, SLICE(TIMER_TOPIC)) || m.queue_offset != queue_offset) return "its entry points to another record";
    out->real_topic = properties_get(m.properties, SLICE("REAL_TOPIC"));
    out->deletes = properties_get(m.properties, SLICE("TIMER_DEL_UNIQKEY")).n;
    out->born_ms = m.born_ms;
    if (!slice_to_i64(properties_get(m.properties, SLICE("TIMER_OUT_MS")), &out->out_ms) || out->out_ms < 0) return "it does not say when it is due";
    return NULL;
}

/* Far ahead is where the wheel does not reach: there it comes by again. Facts: docs/protocol/store.md 9, roll. */
static int64_t slot_for(const struct timed *t, int64_t out_ms, int64_t now_tick, int32_t *flags)
{
    int64_t window_ms = t->roll_ticks * t->tick_ms, over_ms = out_ms - now_tick - window_ms;
    if (over_ms < 0) return timed_full_tick(t, out_ms);
    *flags |= TIMER_ROLLS;
    return now_tick + (over_ms < t->roll_ticks / 3 * t->tick_ms ? t->roll_ticks / 2 * t->tick_ms : window_ms);
}

static void put_in_wheel(struct timed *t, const struct timed_message *m, const struct store_entry *entry, int64_t now_tick)
{
    int32_t flags = TIMER_NORMAL | (m->deletes ? TIMER_DELETES : 0);
    int64_t slot_ms = slot_for(t, m->out_ms, now_tick, &flags), added_ms = slot_ms < now_tick ? slot_ms : now_tick;
    struct timer_unit u = {
        .flags = flags, .added_ms = added_ms, .delay_ms = (int32_t)(slot_ms - added_ms), .log_offset = entry->log_offset, .size = entry->size,
        .topic_hash = java_hash(m->real_topic),
    };
    while (!timers_add(t->timers, &u)) u.delay_ms += (int32_t)t->tick_ms;   /* the slot still holds what is long due: a tick later, then */
    timer_metrics_add(t->broker->timer_metrics, m->real_topic, m->deletes ? -1 : 1);
    stats_add(&t->broker->stats, STATS_TIMERS_IN, t->broker->cluster, 1);
    metric_count(&t->broker->metrics, METRIC_TIMER_ENQUEUES, 1, LABELS(m->real_topic, SLICE("local"), SLICE("disk")));
}

/* It was delivered before wheel and log were lost. */
static bool was_delivered(const struct timed *t, const struct timed_message *m)
{
    return t->lost && timed_full_tick(t, m->out_ms) < t->lost_before_ms;
}

static void count_wait(struct broker *b, const struct timed_message *m)
{
    int64_t seconds = clamped_minus(m->out_ms, m->born_ms) / 1000;   /* whole ones, as the original counts */
    if (seconds < 0 || seconds > INT32_MAX) seconds = seconds < 0 ? 0 : INT32_MAX;   /* what a client says when it was born may be anything */
    metric_observe(&b->metrics, METRIC_DELAY_LATENCY, seconds * 1000000, LABELS(m->real_topic, SLICE("local"), SLICE("disk")));
}

/* As long as its slot was not taken it goes there, also when it is due already: what takes it back may be there, too. */
static void place(struct timed *t, const struct timed_message *m, const struct store_entry *entry)
{
    int64_t now_tick = timed_full_tick(t, tasks_wall_ms(t->broker->tasks));
    if (entry->queue_offset < t->known_until && (timers_has(t->timers, entry->log_offset) || was_delivered(t, m))) return;
    count_wait(t->broker, m);
    bool set_back = now_tick < t->read_ms && m->out_ms >= now_tick && m->out_ms < t->read_ms;   /* the clock */
    if (set_back) t->read_ms = timed_full_tick(t, m->out_ms);
    if (timed_full_tick(t, m->out_ms) >= t->read_ms) {
        put_in_wheel(t, m, entry, now_tick);
        return;
    }
    if (m->deletes) return;   /* too late */
    struct timer_unit u = {.flags = TIMER_NORMAL, .added_ms = INT64_MAX, .log_offset = entry->log_offset, .size = entry->size};
    timed_deliver_now(t, &u, entry->queue_offset);
}

/* False: its record is not in memory. */
static bool look_at(struct timed *t, const struct store_entry *entry)
{
    struct broker *b = t->broker;
    struct pinned record;
    struct timed_message m;
    err_t e = store_record_at(b->store, entry->log_offset, &record);
    if (e && store_is_cold(b->store)) {
        err_free(e);
        return false;
    }
    const char *why = e ? "its record is gone or damaged" : read_message(record.bytes, entry->queue_offset, &m);
    bool expired = e && t->lost;   /* read again from the beginning: the oldest are gone, and were delivered */
    if (why && !expired)
        log_error("timer.not_delivered queue_offset=%" PRId64 " log_offset=%" PRId64 " text=\"%s\"", entry->queue_offset, entry->log_offset, why);
    if (!why) place(t, &m, entry);
    if (!e) pin_release(&record);
    err_free(e);
    return true;
}

bool timed_is_behind(const struct timed *t)
{
    bool waits = t->next < t->known_until || t->next < t->rolled_to;
    return waits && !t->broker->cfg->store.timer_stop_enqueue && !t->withheld;
}

static void wait_for_disk(struct timed *t)
{
    t->enqueue_fetches = FETCH_RUNS;
    disk_wait(t->broker, &t->enqueue_fetch);
}

bool timed_enqueue_is_behind(const struct timed *t)
{
    return t->enqueue_fetches == FETCH_NONE && t->next < store_max_offset(t->broker->store, SLICE(TIMER_TOPIC), 0);
}

static void passed(struct timed *t, int64_t next)
{
    if (next == t->next) return;
    t->next = next;
    timed_changed(t);
    if (t->next < t->known_until) return;
    if (t->lost) log_info("timer.read_again waiting=%" PRId64, timers_count(t->timers));
    t->lost = false;
    timers_forget_known(t->timers);
}

void timed_enqueue(struct timed *t)
{
    struct store_entry entries[ENTRIES_AT_ONCE];
    struct store *s = t->broker->store;
    int64_t next = t->next;
    bool cold = false;
    for (int looks = 0; looks < TIMED_LOOKS && timed_enqueue_is_behind(t) && !timed_slice_is_used_up(t) && !cold;) {
        size_t n = store_entries(s, SLICE(TIMER_TOPIC), 0, next, ENTRIES_AT_ONCE, entries);
        cold = !n && store_is_cold(s);
        t->withheld = !n && !cold;   /* until the next start: a sync failed, and the disk has lost entries */
        if (!n) break;
        for (size_t i = 0; i < n && !timed_slice_is_used_up(t) && !cold; i++, looks++) {
            cold = !look_at(t, &entries[i]);
            if (!cold) next = entries[i].queue_offset + 1;
        }
        passed(t, next);
    }
    if (cold) wait_for_disk(t);
}
