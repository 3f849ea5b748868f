#include "broker/delay/timed_state.h"

#include "base/log.h"

#include <assert.h>
#include <stdlib.h>

enum {
    LOOK_AGAIN_MS = 10000,           /* the wall clock may be set while messages wait */
    PAUSED_MS = 1000,                /* timerStopEnqueue, timerStopDequeue: how soon it is seen that they are off again */
    SAFE_RETRY_MS = 100,             /* until the commit log is on disk */
};

void timed_wake(struct timed *t, int64_t delay_ms)
{
    int64_t at = tasks_mono_ms(t->broker->tasks) + delay_ms;
    if (t->stopped || !t->ready || t->looking || (t->go.armed && t->wake_mono_ms <= at)) return;
    t->wake_mono_ms = at;
    timer_start(t->broker->tasks, &t->go, delay_ms);
}

int64_t timed_full_tick(const struct timed *t, int64_t ms) { return ms - ms % t->tick_ms; }

bool timed_slice_is_used_up(const struct timed *t)
{
    return t->messages >= TIMED_SLICE_MESSAGES || t->bytes >= TIMED_SLICE_BYTES || t->on_their_way >= TIMED_ON_THEIR_WAY_MAX;
}

/* --- to the disk --- */

void timed_changed(struct timed *t)
{
    t->changed = true;
    if (!t->flush.armed && t->prepared_log < 0 && !t->stopped) timer_start(t->broker->tasks, &t->flush, t->broker->cfg->store.timer_flush_ms);
}

/* Everything before it is stored where it belongs. */
static int64_t safe_read_ms(const struct timed *t)
{
    int64_t ms = t->read_ms;
    LIST_EACH(&t->slots, node) {
        const struct timed_slot *s = LIST_OWNER(node, struct timed_slot, node);
        if (s->slot_ms < ms) ms = s->slot_ms;
    }
    return ms;
}

static int64_t safe_offset(const struct timed *t)
{
    return list_empty(&t->immediate) ? t->next : LIST_OWNER(t->immediate.head.next, struct timed_delivery, in_order)->queue_offset;
}

/* Until what came before the last stop has been met, the place from which on it is looked for must stay. */
static bool has_caught_up(const struct timed *t)
{
    return came_is_empty(t->came) || (!t->looking && t->next >= t->known_until && t->read_ms >= t->began_ms);
}

int64_t timed_log_from(const struct timed *t) { return has_caught_up(t) ? store_log_max(t->broker->store) : t->came_from; }

static int64_t begin_of_untold(const struct timed *t)
{
    int64_t at = timed_log_from(t);
    LIST_EACH(&t->slots, node) {
        const struct timed_slot *s = LIST_OWNER(node, struct timed_slot, node);
        if (s->log_from < at) at = s->log_from;
    }
    const struct timed_delivery *first = list_empty(&t->immediate) ? NULL : LIST_OWNER(t->immediate.head.next, struct timed_delivery, in_order);
    return first && first->log_from < at ? first->log_from : at;
}

bool timed_has_delivered(const struct timed *t, int64_t ms)
{
    bool behind = t->next < store_max_offset(t->broker->store, SLICE(TIMER_TOPIC), 0);
    int64_t safe_ms = safe_read_ms(t);
    if (!t->ready || t->looking || behind || !list_empty(&t->immediate)) return false;
    if (safe_ms >= ms) return true;
    return safe_ms == t->read_ms && timers_next(t->timers, t->read_ms, ms) < 0;   /* while nothing waits, the time is not moved on */
}

static void note_check(struct timed *t, int64_t log_offset)
{
    struct timer_check *c = &t->broker->timer_check;
    c->log_offset = log_offset;
    c->read_ms = safe_read_ms(t);
    c->queue_offset = c->master_queue_offset = safe_offset(t);
    c->timestamp = tasks_wall_ms(t->broker->tasks);
    c->counter++;
}

/* A power cut takes what the commit log has not on disk, and must not leave files behind that say it was delivered. */
static void flush(void *ctx)
{
    struct timed *t = ctx;
    struct broker *b = t->broker;
    if (t->flushing) return;   /* `flushed` comes */
    if (t->prepared_log < 0) {
        note_check(t, begin_of_untold(t));
        if (!timers_prepare(t->timers, &b->timer_check)) return;
        t->changed = false;
        t->prepared_log = store_log_max(b->store);
    }
    if (store_log_flushed(b->store) < t->prepared_log) {
        timer_start(b->tasks, &t->flush, SAFE_RETRY_MS);
        return;
    }
    t->flushing = true;
    timers_flush(t->timers, store_log_min(b->store));
}

static void flushed(void *ctx, err_t e)
{
    struct timed *t = ctx;
    t->prepared_log = -1;
    t->flushing = false;
    if (e && !t->flush_fails) log_error("timer.not_flushed error=\"%s\" text=\"tried again\"", err_text(e));
    if (!e && t->flush_fails) log_info("timer.flushed_again");
    t->flush_fails = e;
    if (e) t->changed = true;
    else t->broker->timer_check.flushed = timers_log_end(t->timers);
    err_free(e);
    timer_metrics_save(t->broker->timer_metrics);
    if (t->changed) timed_changed(t);
}

/* --- what comes next --- */

static int64_t smaller(int64_t a, int64_t b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

/* ms until a slot's tick is over; -1: nothing waits. */
static int64_t next_slot(const struct timed *t)
{
    int64_t slot = timers_next(t->timers, t->read_ms, t->read_ms + t->tick_ms * TIMER_SLOTS);
    if (slot < 0) return -1;
    int64_t ms = slot + t->tick_ms - tasks_wall_ms(t->broker->tasks);
    return ms < 0 ? 0 : ms < LOOK_AGAIN_MS ? ms : LOOK_AGAIN_MS;
}

static int64_t until(const struct timed *t, int64_t mono_ms)
{
    int64_t ms = mono_ms - tasks_mono_ms(t->broker->tasks);
    return ms > 0 ? ms : 0;
}

static bool has_slot_to_send(const struct timed *t)
{
    return !list_empty(&t->slots) && !LIST_OWNER(t->slots.head.prev, struct timed_slot, node)->all_sent;
}

static int64_t next_wake(const struct timed *t)
{
    const struct config_store *cfg = &t->broker->cfg->store;
    int64_t ms = -1;
    bool full = t->on_their_way >= TIMED_ON_THEIR_WAY_MAX;   /* an answer wakes it */
    if (timed_enqueue_is_behind(t) && !full) ms = cfg->timer_stop_enqueue || t->withheld ? PAUSED_MS : 0;
    if (!list_empty(&t->retries)) return smaller(ms, until(t, t->retry_mono_ms));
    if (t->taking || t->dequeue_fetches == FETCH_RUNS || full || timed_is_behind(t)) return ms;
    if (t->take_again_mono_ms >= 0) return smaller(ms, until(t, t->take_again_mono_ms));
    int64_t slot_ms = has_slot_to_send(t) ? 0 : next_slot(t);
    return smaller(ms, slot_ms >= 0 && cfg->timer_stop_dequeue ? PAUSED_MS : slot_ms);
}

static void run(void *ctx)
{
    struct timed *t = ctx;
    const struct config_store *cfg = &t->broker->cfg->store;
    t->messages = t->bytes = 0;
    timed_retry(t);
    if (!cfg->timer_stop_enqueue) timed_enqueue(t);
    if (!cfg->timer_stop_dequeue) timed_dequeue(t);
    if (store_log_max(t->broker->store) - t->broker->timer_check.log_offset > CAME_LOG_BYTES) timed_changed(t);
    int64_t ms = next_wake(t);
    if (ms >= 0) timed_wake(t, ms);
}

void timed_arrived(struct timed *t)
{
    if (t) timed_wake(t, 0);
}

/* --- life --- */

/* Within what the queue has. */
static int64_t within_queue(struct broker *b, int64_t offset)
{
    int64_t max = store_max_offset(b->store, SLICE(TIMER_TOPIC), 0);
    if (offset > max) log_warn("timer.offset_corrected from=%lld to=%lld text=\"the queue ends there\"", (long long)offset, (long long)max);
    return offset < max ? offset : max;
}

static void looked(void *ctx)
{
    struct timed *t = ctx;
    t->looking = false;
    timed_wake(t, 0);
}

/* What an earlier run delivered, or put into the timer topic once more, without telling it in the checkpoint. */
static void look_for_what_came(struct timed *t, int64_t first_ms)
{
    struct broker *b = t->broker;
    bool behind = t->next < t->known_until || (first_ms >= 0 && first_ms < t->began_ms);
    t->came_from = b->timer_check.log_offset;
    if (t->came_from < 0) flush(t);   /* from here on it tells */
    t->looking = behind && t->came_from >= 0 && t->came_from < store_log_max(b->store);
    if (t->looking) t->came = came_new(b, CAME_FROM_TIMER, t->came_from, looked, t);
}

static void ready(void *ctx)
{
    struct timed *t = ctx;
    struct broker *b = t->broker;
    const struct timers_begin *begin = timers_begin(t->timers);
    int64_t first = timers_first(t->timers), now = timed_full_tick(t, tasks_wall_ms(b->tasks));
    int64_t flushed_to = b->timer_check.flushed;
    b->timer_check = begin->check;
    b->timer_check.flushed = flushed_to ? flushed_to : begin->check.flushed;
    t->ready = true;
    t->read_ms = begin->check.read_ms > 0 && begin->check.read_ms < now ? timed_full_tick(t, begin->check.read_ms) : now;
    if (first >= 0 && first < t->read_ms) t->read_ms = first;
    b->timer_check.read_ms = t->read_ms;
    t->next = within_queue(b, begin->check.queue_offset);
    t->known_until = store_max_offset(b->store, SLICE(TIMER_TOPIC), 0);
    t->lost = begin->lost;
    t->lost_before_ms = begin->check.read_ms;
    log_info("timer.ready waiting=%lld queue_offset=%lld behind=%lld", (long long)timers_count(t->timers), (long long)t->next,
             (long long)(t->known_until - t->next));
    t->began_ms = now;
    look_for_what_came(t, first);
    timed_wake(t, 0);
}

static void enqueue_fetched(struct disk_wait *w, bool stopping)
{
    struct timed *t = LIST_OWNER(w, struct timed, enqueue_fetch);
    t->enqueue_fetches = FETCH_NONE;
    if (!stopping) timed_wake(t, 0);
}

/* As the original: a window that the wheel cannot hold is the largest it can. */
static int64_t roll_ticks(const struct config_store *cfg)
{
    enum { MOST = TIMER_SLOTS / 2 - 60, LEAST = 2 };
    int64_t ticks = cfg->timer_roll_ticks < LEAST || cfg->timer_roll_ticks > MOST ? MOST : cfg->timer_roll_ticks;
    return ticks < INT32_MAX / cfg->timer_tick_ms ? ticks : INT32_MAX / cfg->timer_tick_ms;   /* a unit has 32 bits for it */
}

struct timed *timed_new(struct broker *b)
{
    const struct config_store *cfg = &b->cfg->store;
    struct timed *t = must_zero(sizeof *t);
    t->broker = b;
    t->tick_ms = cfg->timer_tick_ms;
    t->roll_ticks = roll_ticks(cfg);
    t->retry_mono_ms = t->refused_mono_ms = t->take_again_mono_ms = t->prepared_log = -1;
    list_init(&t->immediate);
    list_init(&t->slots);
    list_init(&t->retries);
    timer_init(&t->go, run, t);
    timer_init(&t->flush, flush, t);
    t->enqueue_fetch.go_on = enqueue_fetched;
    t->dequeue_fetch.go_on = timed_dequeue_fetched;
    t->take.done = timed_taken;
    struct timers_options o = {
        .root = cfg->root, .tick_ms = cfg->timer_tick_ms, .log_file_bytes = cfg->timer_log_bytes, .ready = ready, .flushed = flushed, .ctx = t,
    };
    t->timers = b->timers = timers_new(&o, b->options.fs, b->tasks);
    return t;
}

void timed_stop(struct timed *t)
{
    if (!t) return;
    t->stopped = true;
    timer_stop(t->broker->tasks, &t->go);
    timer_stop(t->broker->tasks, &t->flush);
    timers_take_cancel(t->timers);
    if (t->taking) buf_done(&t->take.units);
    t->taking = NULL;
    t->stopped_log = begin_of_untold(t);
    came_free(t->came);
    t->came = NULL;
}

static void free_deliveries(struct timed *t)
{
    LIST_EACH(&t->retries, node) {
        list_remove(node);
        free(LIST_OWNER(node, struct timed_delivery, node));
    }
    LIST_EACH(&t->slots, node) {
        list_remove(node);
        timed_slot_free(LIST_OWNER(node, struct timed_slot, node));
    }
}

err_t timed_free(struct timed *t, bool synced)
{
    if (!t) return NULL;
    assert(t->stopped && t->on_their_way == 0);
    if (t->ready) note_check(t, t->stopped_log);
    err_t e = timers_close(t->timers, t->ready && synced ? &t->broker->timer_check : NULL);
    t->broker->timers = NULL;
    free_deliveries(t);
    free(t);
    return e;
}
