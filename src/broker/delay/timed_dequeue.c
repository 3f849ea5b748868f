#include "broker/delay/timed_state.h"

#include "base/log.h"
#include "broker/intake/due.h"
#include "codec/properties.h"
#include "codec/record.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { RETRY_MS = 100, TAKE_AGAIN_MS = 1000, READS_MAX = 3 };

/* --- slots --- */

void timed_slot_free(struct timed_slot *s)
{
    buf_done(&s->units);
    map_done_with(&s->deleted, free);
    free(s);
}

static struct timer_unit unit_at(const struct timed_slot *s, size_t i)
{
    struct timer_unit u;
    memcpy(&u, s->units.p + i * sizeof u, sizeof u);
    return u;
}

static size_t unit_count(const struct timed_slot *s) { return s->units.n / sizeof(struct timer_unit); }

static void slot_may_end(struct timed_slot *s)
{
    struct timed *t = s->timed;
    if (!s->all_sent || s->outstanding) return;
    timers_clear(t->timers, s->slot_ms, false);
    list_remove(&s->node);
    timed_slot_free(s);
    timed_changed(t);
}

/* --- on their way --- */

static void tell_refused(struct timed *t, err_t e)
{
    if (t->refused_mono_ms < 0) {
        t->refused_mono_ms = tasks_mono_ms(t->broker->tasks);
        log_warn("timer.refused error=\"%s\" text=\"due messages wait until the store takes them\"", err_text(e));
    }
    err_free(e);
}

static void tell_taken(struct timed *t)
{
    if (t->refused_mono_ms < 0) return;
    log_info("timer.resumed after_ms=%" PRId64, tasks_mono_ms(t->broker->tasks) - t->refused_mono_ms);
    t->refused_mono_ms = -1;
}

static void wait_to_retry(struct timed *t, struct timed_delivery *d)
{
    list_add(&t->retries, &d->node);
    t->retry_mono_ms = tasks_mono_ms(t->broker->tasks) + RETRY_MS;
    timed_wake(t, RETRY_MS);
}

/* The message is where it belongs, or never will be. */
static void delivery_end(struct timed_delivery *d)
{
    struct timed_slot *s = d->slot;
    if (!s) {
        list_remove(&d->in_order);
        timed_changed(d->timed);
    } else {
        s->outstanding--;
        slot_may_end(s);
    }
    free(d);
}

static void delivered(void *ctx, err_t e)
{
    struct timed_delivery *d = ctx;
    struct timed *t = d->timed;
    t->on_their_way--;
    if (err_code(e) == ERR_FLUSH_DISK_TIMEOUT) {   /* stored; flush() waits for the disk */
        err_free(e);
        e = NULL;
    }
    if (e) {
        tell_refused(t, e);
        t->rolled_to = 0;   /* its offset is given to another one; it will have a new one */
        wait_to_retry(t, d);
        return;
    }
    delivery_end(d);
    if (!t->go.armed) timed_wake(t, 0);
}

/* --- one message --- */

static void put_number(struct buf *text, struct slice name, int64_t value)
{
    char number[24];
    int n = snprintf(number, sizeof number, "%" PRId64, value);
    properties_put(text, name, slice_of(number, (size_t)n));
}

/* When it was enqueued, and when it left; what an earlier roll said of that is replaced. */
static struct slice with_times(struct timed *t, struct slice properties, const struct timer_unit *u)
{
    struct buf *text = &t->broker->scratch;
    struct slice rest = properties, name, value;
    int32_t rolls = 0;
    bool counts = u->flags & TIMER_ROLLS;
    buf_clear(text);
    while (properties_next(&rest, &name, &value)) {
        if (slice_eq(name, SLICE("TIMER_ENQUEUE_MS")) || slice_eq(name, SLICE("TIMER_DEQUEUE_MS"))) continue;
        if (counts && slice_eq(name, SLICE("TIMER_ROLL_TIMES"))) slice_to_i32(value, &rolls);
        else properties_put(text, name, value);
    }
    if (counts) put_number(text, SLICE("TIMER_ROLL_TIMES"), rolls < INT32_MAX ? rolls + 1 : rolls);
    put_number(text, SLICE("TIMER_ENQUEUE_MS"), u->added_ms);
    put_number(text, SLICE("TIMER_DEQUEUE_MS"), tasks_wall_ms(t->broker->tasks));
    return buf_slice(text);
}

/* What a unit names may be another record: the log may have lost its end since. */
static const char *check_time(const struct timed *t, const struct timer_unit *u, const struct message *m)
{
    int64_t out_ms;
    if (!slice_to_i64(properties_get(m->properties, SLICE("TIMER_OUT_MS")), &out_ms) || out_ms < 0) return "it does not say when it is due";
    if (u->added_ms == INT64_MAX || u->flags & TIMER_ROLLS) return NULL;
    return timed_full_tick(t, out_ms) <= timer_unit_time_ms(u) ? NULL : "its time is another one than its unit says";
}

/* The message that goes out; why there is none. */
static const char *make_message(struct timed *t, const struct timer_unit *u, struct slice record, struct message *out)
{
    const char *why = intake_due(t->broker, record, SLICE(TIMER_TOPIC), DUE_ANY_OFFSET, out);
    if (!why) why = check_time(t, u, out);
    if (why) return why;
    out->properties = with_times(t, out->properties, u);
    if (u->flags & TIMER_ROLLS) {
        out->topic = SLICE(TIMER_TOPIC);
        out->queue_id = 0;
        out->batch_topic = false;
    }
    return NULL;
}

static void count_out(struct timed_delivery *d, struct slice topic)
{
    if (d->unit.added_ms != INT64_MAX && !d->counted) timer_metrics_add(d->timed->broker->timer_metrics, topic, -1);
    d->counted = true;
}

static void tell_lost(const struct timer_unit *u, const char *why)
{
    log_error("timer.not_delivered log_offset=%" PRId64 " text=\"%s\"", u->log_offset, why);
}

/* Hands d over to the store. Takes d. */
static void send(struct timed *t, struct timed_delivery *d, struct slice record)
{
    struct broker *b = t->broker;
    struct message m;
    struct appended appended;
    const char *why = make_message(t, &d->unit, record, &m);
    struct slice topic = why ? (struct slice){NULL, 0} : properties_get(m.properties, SLICE("REAL_TOPIC"));
    if (!why && came_take(t->came, &m)) {
        t->messages++;
        count_out(d, topic);
        delivery_end(d);
        return;
    }
    err_t e = why ? NULL : store_append(b->store, &m, 1, true, delivered, d, &appended);
    if (why || err_code(e) == ERR_MESSAGE_ILLEGAL) {
        tell_lost(&d->unit, why ? why : err_text(e));
        err_free(e);
        delivery_end(d);
        return;
    }
    if (e) {
        tell_refused(t, e);
        wait_to_retry(t, d);
        return;
    }
    tell_taken(t);
    t->on_their_way++;
    t->messages++;
    stats_add(&b->stats, STATS_TIMERS_OUT, b->cluster, 1);
    metric_count(&b->metrics, METRIC_TIMER_DEQUEUES, 1, LABELS(topic, SLICE("local"), SLICE("disk")));
    t->bytes += (size_t)appended.size;
    if (d->unit.flags & TIMER_ROLLS) t->rolled_to = appended.queue_offset + 1;
    count_out(d, topic);
}

/* False: not in memory. Gone for good: record->bytes is empty. */
static bool get_record(struct timed *t, const struct timer_unit *u, struct pinned *record)
{
    struct store *s = t->broker->store;
    *record = (struct pinned){.bytes = {NULL, 0}};
    err_t e = store_record_at(s, u->log_offset, record);
    bool cold = e && store_is_cold(s);
    err_free(e);
    return !cold;
}

static struct timed_delivery *delivery_new(struct timed *t, struct timed_slot *s, const struct timer_unit *u)
{
    struct timed_delivery *d = must_zero(sizeof *d);
    d->timed = t;
    d->slot = s;
    d->unit = *u;
    if (s) s->outstanding++;
    return d;
}

void timed_deliver_now(struct timed *t, const struct timer_unit *u, int64_t queue_offset)
{
    struct pinned record;
    struct timed_delivery *d = delivery_new(t, NULL, u);
    d->queue_offset = queue_offset;
    d->log_from = timed_log_from(t);
    list_add(&t->immediate, &d->in_order);
    if (!get_record(t, u, &record)) {   /* it was there a moment ago */
        wait_to_retry(t, d);
        return;
    }
    send(t, d, record.bytes);
    if (record.bytes.n) pin_release(&record);
}

static void wait_for_disk(struct timed *t)
{
    t->dequeue_fetches = FETCH_RUNS;
    disk_wait(t->broker, &t->dequeue_fetch);
}

void timed_dequeue_fetched(struct disk_wait *w, bool stopping)
{
    struct timed *t = LIST_OWNER(w, struct timed, dequeue_fetch);
    t->dequeue_fetches = FETCH_NONE;
    if (!stopping) timed_wake(t, 0);
}

void timed_retry(struct timed *t)
{
    if (list_empty(&t->retries) || t->dequeue_fetches == FETCH_RUNS || tasks_mono_ms(t->broker->tasks) < t->retry_mono_ms) return;
    struct list waiting;
    list_move(&t->retries, &waiting);
    bool goes_on = true;
    LIST_EACH(&waiting, node) {
        struct timed_delivery *d = LIST_OWNER(node, struct timed_delivery, node);
        struct pinned record;
        list_remove(node);
        goes_on = goes_on && list_empty(&t->retries) && !timed_slice_is_used_up(t);
        bool there = goes_on && get_record(t, &d->unit, &record);
        if (there) send(t, d, record.bytes);
        else list_add(&t->retries, &d->node);
        if (there && record.bytes.n) pin_release(&record);
        if (goes_on && !there) wait_for_disk(t);
    }
}

/* --- a slot --- */

/* What one of the messages that take others back says. */
struct deletion {
    bool used;
    char topic[];
};

static struct deletion *deletion_new(struct slice topic)
{
    struct deletion *d = must_zero(sizeof *d + topic.n + 1);
    if (topic.n) memcpy(d->topic, topic.p, topic.n);
    return d;
}

/* Messages that take others back. False: one is not in memory. */
static bool collect_deletes(struct timed *t, struct timed_slot *s)
{
    for (; s->deletes_done < unit_count(s); s->deletes_done++) {
        struct timer_unit u = unit_at(s, s->deletes_done);
        struct pinned record;
        struct message m;
        if (!(u.flags & TIMER_DELETES) || u.flags & TIMER_ROLLS) continue;
        if (!get_record(t, &u, &record)) return false;
        struct slice key = {NULL, 0}, topic = {NULL, 0};
        if (record.bytes.n && record_read(record.bytes, &m) == RECORD_WHOLE && slice_eq(m.topic, SLICE(TIMER_TOPIC))) {
            key = properties_get(m.properties, SLICE("TIMER_DEL_UNIQKEY"));
            topic = properties_get(m.properties, SLICE("REAL_TOPIC"));
        }
        if (key.n) free(map_put(&s->deleted, key, deletion_new(topic)));
        if (record.bytes.n) pin_release(&record);
    }
    return true;
}

/* A key that takes back messages of this topic; it has done so then. */
static bool takes_back(struct timed_slot *s, struct slice key, struct slice topic)
{
    struct deletion *d = map_get(&s->deleted, key);
    if (!d || !slice_eq(slice_text(d->topic), topic)) return false;
    d->used = true;
    return true;
}

/* By its unique key, or by topic and unique key: which of them is configured where it was recalled. */
static bool is_deleted(struct timed_slot *s, struct slice record)
{
    struct message m;
    if (!s->deleted.count || !record.n || record_read(record, &m) != RECORD_WHOLE) return false;
    struct slice topic = properties_get(m.properties, SLICE("REAL_TOPIC")), unique = properties_get(m.properties, SLICE("UNIQ_KEY"));
    if (!unique.n) return false;
    struct buf key = BUF_EMPTY;
    buf_put_slice(&key, topic);
    buf_put_u8(&key, '+');
    buf_put_slice(&key, unique);
    bool deleted = takes_back(s, unique, topic) || takes_back(s, buf_slice(&key), topic);
    buf_done(&key);
    return deleted;
}

/* One that took nothing back was counted for a message that there is not. */
static void recount_deletes(struct timed *t, struct timed_slot *s)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&s->deleted, &at));) {
        const struct deletion *d = e->value;
        if (!d->used) timer_metrics_add(t->broker->timer_metrics, slice_text(d->topic), 1);
    }
}

/* False: it cannot go on now. */
static bool send_slot(struct timed *t, struct timed_slot *s)
{
    if (!collect_deletes(t, s)) {
        wait_for_disk(t);
        return false;
    }
    for (; s->sent < unit_count(s); s->sent++) {
        struct timer_unit u = unit_at(s, unit_count(s) - 1 - s->sent);
        struct pinned record;
        if (u.flags & TIMER_DELETES && !(u.flags & TIMER_ROLLS)) continue;
        if (timed_slice_is_used_up(t) || !list_empty(&t->retries)) return false;
        if (!get_record(t, &u, &record)) {
            wait_for_disk(t);
            return false;
        }
        if (u.flags & TIMER_ROLLS || !is_deleted(s, record.bytes)) send(t, delivery_new(t, s, &u), record.bytes);
        if (record.bytes.n) pin_release(&record);
    }
    recount_deletes(t, s);
    s->all_sent = true;
    slot_may_end(s);
    return true;
}

/* --- taking slots --- */

void timed_begin_again(struct timed *t, err_t why)
{
    log_error("timer.wheel_lost error=\"%s\" text=\"its messages are read again from the timer topic\"", err_text(why));
    err_free(why);
    timers_reset(t->timers);
    if (!t->flushing) t->prepared_log = -1;
    t->lost_before_ms = t->read_ms;
    t->next = 0;
    t->known_until = store_max_offset(t->broker->store, SLICE(TIMER_TOPIC), 0);
    t->lost = true;
    timed_changed(t);
}

void timed_taken(struct timers_take *take, err_t e)
{
    struct timed *t = LIST_OWNER(take, struct timed, take);
    struct timed_slot *s = t->taking;
    t->taking = NULL;
    if (!e) {
        s->units = take->units;
        take->units = BUF_EMPTY;
        t->reads_failed = 0;
        t->take_again_mono_ms = -1;
    } else {
        buf_done(&take->units);
        list_remove(&s->node);
        timers_clear(t->timers, s->slot_ms, true);
        if (s->slot_ms < t->read_ms) t->read_ms = s->slot_ms;
        timed_slot_free(s);
        if (err_code(e) != ERR_CORRUPT && ++t->reads_failed < READS_MAX) {
            err_drop(e, "the slot is read again");
            t->take_again_mono_ms = tasks_mono_ms(t->broker->tasks) + TAKE_AGAIN_MS;
        } else {
            t->reads_failed = 0;
            t->take_again_mono_ms = -1;
            timed_begin_again(t, e);
        }
    }
    timed_wake(t, 0);
}

static void take_slot(struct timed *t, int64_t slot_ms)
{
    struct timed_slot *s = must_zero(sizeof *s);
    s->timed = t;
    s->slot_ms = slot_ms;
    s->log_from = timed_log_from(t);
    s->deleted = MAP_EMPTY;
    list_add(&t->slots, &s->node);
    t->taking = s;
    t->take.units = BUF_EMPTY;
    t->read_ms = slot_ms + t->tick_ms;
    timers_take(t->timers, slot_ms, &t->take);
}

/* What an earlier run left, and what comes by again, may take back what is due: it is in the wheel first. */
static bool may_take(const struct timed *t)
{
    if (t->taking || t->dequeue_fetches == FETCH_RUNS || !list_empty(&t->retries) || timed_slice_is_used_up(t)) return false;
    if (t->take_again_mono_ms >= 0 && tasks_mono_ms(t->broker->tasks) < t->take_again_mono_ms) return false;
    return !timed_is_behind(t);
}

void timed_dequeue(struct timed *t)
{
    while (may_take(t)) {
        struct timed_slot *last = list_empty(&t->slots) ? NULL : LIST_OWNER(t->slots.head.prev, struct timed_slot, node);
        if (last && !last->all_sent) {
            if (!send_slot(t, last)) return;
            continue;
        }
        int64_t now_tick = timed_full_tick(t, tasks_wall_ms(t->broker->tasks));
        int64_t slot_ms = timers_next(t->timers, t->read_ms, now_tick);
        if (slot_ms < 0) {
            if (now_tick > t->read_ms) t->read_ms = now_tick;
            return;
        }
        take_slot(t, slot_ms);
    }
}
