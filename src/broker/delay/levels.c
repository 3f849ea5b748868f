#include "broker/delay/levels.h"

#include "broker/delay/came.h"
#include "broker/intake/due.h"

#include "base/clamped.h"
#include "base/log.h"

#include <assert.h>
#include <stdlib.h>

enum {
    ENTRIES_AT_ONCE = 64,
    SLICE_MESSAGES = 256,            /* of one turn: others want theirs */
    SLICE_BYTES = 1 << 20,
    ON_THEIR_WAY_MAX = 1024,         /* messages that the disk has not confirmed yet: others wait for the same syncs */
    RETRY_MS = 100,                  /* the original's */
    SAVE_SOON_MS = 1000,             /* what is delivered after a rest is told in the file: a kill doubles what the file does not tell */
    SAFE_RETRY_MS = 1000,            /* until what was delivered is on disk */
    WITHHELD_MS = 1000,              /* until the store gives again what a failed sync put in doubt */
    LOOK_AGAIN_MS = 10000,           /* the wall clock may be set while a message waits */
};

enum level_state {
    LEVEL_LOOK,                      /* what comes next is not known */
    LEVEL_EMPTY,                     /* nothing: a message that arrives is the next */
    LEVEL_WAITS,                     /* until due_ms */
    LEVEL_READS,                     /* its next entry or record is not in memory */
    LEVEL_REFUSED,                   /* by the store; tried again at retry_mono_ms */
};

struct level {
    struct levels *levels;
    int32_t number;
    enum level_state state;
    int64_t next;                    /* queue_offset */
    int64_t due_offset;              /* the message that the two below are about; -1: none */
    int64_t due_ms;                  /* wall_ms */
    int64_t due_mono_ms;             /* the same, should the clock be set back meanwhile */
    int64_t retry_mono_ms;
    int64_t failed;                  /* first offset whose message the store did not take after all; -1: none */
    size_t on_their_way;
    bool begun;                      /* what is gone from its queue was skipped */
    int64_t known_until;             /* queue_offset: messages before it may have come in an earlier run */
    int64_t came_offset;             /* one that has, and waits until those before it are stored; -1: none */
    struct disk_wait disk;
};

/* One message on its way into the log. */
struct delivery {
    struct list_node node;           /* in levels.deliveries */
    struct level *level;
    int64_t log_offset;
    int64_t queue_offset;
};

struct levels {
    struct broker *broker;
    struct timer go;
    int64_t wake_mono_ms;                 /* when it fires, while it is armed */
    struct timer save;
    int64_t safe[DELAY_LEVELS_MAX + 1];   /* delivered when `safe_log` was the end of the log */
    int64_t saved_mono_ms;
    int64_t safe_log;                     /* -1: nothing waits to be saved */
    int64_t safe_begin;                   /* what is delivered and not told by `safe` lies behind it in the log */
    int64_t begin;                        /* the same for what the file tells; -1: it does not say */
    int64_t stopped_log;                  /* the end of the log when nothing more was delivered */
    struct came *came;                    /* what was delivered before the last stop and is not told; NULL: nothing */
    bool looking;                         /* for that: nothing is delivered meanwhile */
    struct list deliveries;               /* in the order of the log */
    int64_t refused_at;                   /* mono_ms; -1: the store takes messages */
    size_t on_their_way;
    size_t messages, bytes;               /* of this turn's slice */
    int32_t first;                        /* the level that comes first in the next turn */
    bool stopped;
    struct level level[DELAY_LEVELS_MAX + 1];
};

static void wake(struct levels *l, int64_t delay_ms)
{
    int64_t at = tasks_mono_ms(l->broker->tasks) + delay_ms;
    if (l->stopped || l->looking || (l->go.armed && l->wake_mono_ms <= at)) return;
    l->wake_mono_ms = at;
    timer_start(l->broker->tasks, &l->go, delay_ms);
}

/* --- how far it is --- */

static void save_soon(struct levels *l)
{
    if (l->save.armed || l->stopped) return;
    int64_t interval = l->broker->cfg->store.flush_delay_offsets_ms, ago = tasks_mono_ms(l->broker->tasks) - l->saved_mono_ms;
    int64_t soonest = interval < SAVE_SOON_MS ? interval : SAVE_SOON_MS;
    timer_start(l->broker->tasks, &l->save, interval - ago > soonest ? interval - ago : soonest);
}

static void note_done(struct levels *l, int32_t number, int64_t queue_offset)
{
    delay_offsets_set(l->broker->delay_offsets, number, queue_offset);
    save_soon(l);
}

/* Until each level has met what came before the last stop, the place from which on that is looked for must stay. */
static bool has_caught_up(const struct levels *l)
{
    bool empty = came_is_empty(l->came);
    for (int32_t n = 1; n <= l->broker->delay_levels.count; n++) {
        const struct level *v = &l->level[n];
        bool rests = v->state == LEVEL_WAITS || v->state == LEVEL_EMPTY;
        if (v->came_offset >= 0 || (!empty && !rests && v->next < v->known_until)) return false;
    }
    return true;
}

/* What is delivered and not counted yet lies behind it. */
static int64_t begin_of_untold(struct levels *l)
{
    if (!has_caught_up(l)) return l->begin;
    struct list_node *first = list_first(&l->deliveries);
    return first ? LIST_OWNER(first, struct delivery, node)->log_offset : store_log_max(l->broker->store);
}

/* A power cut takes what the log has not on disk, and must not leave a file behind that says it was delivered. */
static void save(void *ctx)
{
    struct levels *l = ctx;
    struct broker *b = l->broker;
    if (l->safe_log < 0) {
        for (int32_t n = 0; n <= DELAY_LEVELS_MAX; n++) l->safe[n] = delay_offsets_get(b->delay_offsets, n);
        l->safe_log = store_log_max(b->store);
        l->safe_begin = begin_of_untold(l);
    }
    if (store_log_flushed(b->store) < l->safe_log) {
        timer_start(b->tasks, &l->save, SAFE_RETRY_MS);
        return;
    }
    delay_offsets_save(b->delay_offsets, l->safe, l->safe_begin);
    l->begin = l->safe_begin;
    l->safe_log = -1;
    l->saved_mono_ms = tasks_mono_ms(b->tasks);
}

static void passed(struct level *v, int64_t queue_offset)
{
    if (v->failed < 0 || queue_offset < v->failed) note_done(v->levels, v->number, queue_offset + 1);
}

static void retry_from(struct level *v, int64_t queue_offset)
{
    v->next = queue_offset;
    v->state = LEVEL_REFUSED;
    v->retry_mono_ms = tasks_mono_ms(v->levels->broker->tasks) + RETRY_MS;
    wake(v->levels, RETRY_MS);
}

static void tell_refused(struct levels *l, int32_t number, err_t e)
{
    if (l->refused_at < 0) {
        l->refused_at = tasks_mono_ms(l->broker->tasks);
        log_warn("delay.refused level=%d error=\"%s\" text=\"due messages wait until the store takes them\"", number, err_text(e));
    }
    err_free(e);
}

static void tell_taken(struct levels *l)
{
    if (l->refused_at < 0) return;
    log_info("delay.resumed after_ms=%lld", (long long)(tasks_mono_ms(l->broker->tasks) - l->refused_at));
    l->refused_at = -1;
}

/* The answers of one level come in the order of its messages; those behind one that failed have failed too. */
static void delivered(void *ctx, err_t e)
{
    struct delivery *d = ctx;
    struct level *v = d->level;
    struct levels *l = v->levels;
    v->on_their_way--;
    l->on_their_way--;
    list_remove(&d->node);
    if (err_code(e) == ERR_FLUSH_DISK_TIMEOUT) {   /* stored; save() waits for the disk */
        err_free(e);
        e = NULL;
    }
    if (e && v->failed < 0) v->failed = d->queue_offset;
    if (e) tell_refused(l, v->number, e);
    else passed(v, d->queue_offset);
    if (v->failed >= 0 && !v->on_their_way) {
        retry_from(v, v->failed);
        v->failed = -1;
    } else if (!l->stopped && !l->go.armed && l->on_their_way < ON_THEIR_WAY_MAX) {
        wake(l, 0);
    }
    free(d);
}

/* --- one message --- */

static void wait_for_disk(struct level *v)
{
    v->state = LEVEL_READS;
    disk_wait(v->levels->broker, &v->disk);
}

static void on_read(struct disk_wait *w, bool stopping)
{
    struct level *v = LIST_OWNER(w, struct level, disk);
    v->state = LEVEL_LOOK;
    if (!stopping) wake(v->levels, 0);
}

/* What nobody can deliver must not keep the others. */
static void pass_over(struct level *v, const struct store_entry *entry, const char *why)
{
    log_error("delay.not_delivered level=%d queue_offset=%lld log_offset=%lld text=\"%s\"", v->number, (long long)entry->queue_offset,
              (long long)entry->log_offset, why);
    v->next = entry->queue_offset + 1;
    if (!v->on_their_way) passed(v, entry->queue_offset);
}

static void sent_off(struct level *v, const struct store_entry *entry, int32_t bytes)
{
    struct levels *l = v->levels;
    tell_taken(l);
    v->next = entry->queue_offset + 1;
    v->on_their_way++;
    l->on_their_way++;
    l->messages++;
    l->bytes += (size_t)bytes;
}

static err_t append(struct level *v, const struct store_entry *entry, const struct message *m)
{
    struct appended appended;
    struct delivery *d = must_alloc(sizeof *d);
    *d = (struct delivery){.level = v, .queue_offset = entry->queue_offset};
    err_t e = store_append(v->levels->broker->store, m, 1, true, delivered, d, &appended);
    if (e) {
        free(d);   /* refused: delivered() will not run */
        return e;
    }
    d->log_offset = appended.log_offset;
    list_add(&v->levels->deliveries, &d->node);
    sent_off(v, entry, appended.size);
    return NULL;
}

static bool has_come(struct level *v, const struct store_entry *entry, const struct message *m)
{
    return entry->queue_offset < v->known_until && (v->came_offset == entry->queue_offset || came_take(v->levels->came, m));
}

/* It came before the last stop. False: those before it have to be stored first, as progress is told in order. */
static bool pass_what_came(struct level *v, const struct store_entry *entry)
{
    v->came_offset = v->on_their_way ? entry->queue_offset : -1;
    if (v->on_their_way) {
        retry_from(v, entry->queue_offset);
        return false;
    }
    v->next = entry->queue_offset + 1;
    v->levels->messages++;
    passed(v, entry->queue_offset);
    return true;
}

/* False: the level cannot go on now. */
static bool deliver(struct level *v, const struct store_entry *entry)
{
    struct broker *b = v->levels->broker;
    struct pinned record;
    struct message m;
    err_t e = store_record_at(b->store, entry->log_offset, &record);
    if (e && store_is_cold(b->store)) {
        err_free(e);
        wait_for_disk(v);
        return false;
    }
    const char *why = e ? "its record is gone or damaged" : intake_due(b, record.bytes, SLICE(DELAY_LEVELS_TOPIC), entry->queue_offset, &m);
    bool found = !e, came = !why && has_come(v, entry, &m);
    if (!why && !came) e = append(v, entry, &m);
    if (found) pin_release(&record);
    if (came) return pass_what_came(v, entry);
    if (why || err_code(e) == ERR_MESSAGE_ILLEGAL) {
        pass_over(v, entry, why ? why : err_text(e));
        err_free(e);
        return true;
    }
    if (!e) return true;
    tell_refused(v->levels, v->number, e);
    retry_from(v, entry->queue_offset);
    return false;
}

/* --- one level --- */

/* A clock that was set back would make it wait longer than its level says. */
static void wait_for(struct level *v, const struct store_entry *entry)
{
    struct broker *b = v->levels->broker;
    tasks_refresh(b->tasks);
    int64_t wait_ms = clamped_minus(entry->tag_hash, tasks_wall_ms(b->tasks)), most_ms = delay_levels_ms(&b->delay_levels, v->number);
    v->state = LEVEL_WAITS;
    v->next = entry->queue_offset;
    if (v->due_offset == entry->queue_offset) return;   /* as it was */
    v->due_offset = entry->queue_offset;
    v->due_ms = entry->tag_hash;
    v->due_mono_ms = tasks_mono_ms(b->tasks) + (wait_ms < most_ms ? wait_ms : most_ms) + 1;   /* both clocks are cut to whole ms */
    if (delay_offsets_get(b->delay_offsets, v->number) < 0) note_done(v->levels, v->number, v->next);
}

static bool is_due(const struct level *v, const struct store_entry *entry)
{
    struct broker *b = v->levels->broker;
    if (entry->tag_hash <= tasks_wall_ms(b->tasks)) return true;
    return v->due_offset == entry->queue_offset && tasks_mono_ms(b->tasks) >= v->due_mono_ms;
}

static bool slice_is_used_up(const struct levels *l)
{
    return l->messages >= SLICE_MESSAGES || l->bytes >= SLICE_BYTES || l->on_their_way >= ON_THEIR_WAY_MAX;
}

static void end_of_queue(struct level *v)
{
    struct broker *b = v->levels->broker;
    bool withheld = v->next < store_max_offset(b->store, SLICE(DELAY_LEVELS_TOPIC), v->number - 1);
    v->state = withheld ? LEVEL_REFUSED : LEVEL_EMPTY;
    v->retry_mono_ms = tasks_mono_ms(b->tasks) + WITHHELD_MS;
}

/* What is older than the log begins is gone. False: not known yet. */
static bool skip_what_is_gone(struct level *v)
{
    struct store *s = v->levels->broker->store;
    int64_t min = store_min_offset(s, SLICE(DELAY_LEVELS_TOPIC), v->number - 1);
    if (store_is_cold(s)) {
        wait_for_disk(v);
        return false;
    }
    if (v->next < min) {
        log_warn("delay.messages_gone level=%d from=%lld to=%lld text=\"they were removed with old log files\"", v->number, (long long)v->next,
                 (long long)min);
        v->next = min;
    }
    v->begun = true;
    return true;
}

/* Delivers what is due; the level's state says then why it stopped. */
static void run_level(struct level *v)
{
    struct levels *l = v->levels;
    struct store_entry entries[ENTRIES_AT_ONCE];
    if (!v->begun && !skip_what_is_gone(v)) return;
    while (!slice_is_used_up(l)) {
        size_t n = store_entries(l->broker->store, SLICE(DELAY_LEVELS_TOPIC), v->number - 1, v->next, ENTRIES_AT_ONCE, entries);
        if (!n && store_is_cold(l->broker->store)) {
            wait_for_disk(v);
            return;
        }
        if (!n) {
            end_of_queue(v);
            return;
        }
        for (size_t i = 0; i < n; i++) {
            if (slice_is_used_up(l)) return;
            if (!is_due(v, &entries[i])) {
                wait_for(v, &entries[i]);
                return;
            }
            v->state = LEVEL_LOOK;
            if (!deliver(v, &entries[i])) return;
        }
    }
}

/* True: it has something to do now. */
static bool is_ready(const struct level *v)
{
    struct broker *b = v->levels->broker;
    if (v->failed >= 0) return false;
    switch (v->state) {
    case LEVEL_LOOK: return true;
    case LEVEL_WAITS: return v->due_ms <= tasks_wall_ms(b->tasks) || v->due_mono_ms <= tasks_mono_ms(b->tasks);
    case LEVEL_REFUSED: return v->retry_mono_ms <= tasks_mono_ms(b->tasks);
    case LEVEL_EMPTY:
    case LEVEL_READS: break;
    }
    return false;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* ms until the next level has something to do; -1: none will by itself. */
static int64_t next_wake(const struct levels *l)
{
    int64_t now = tasks_mono_ms(l->broker->tasks), wall = tasks_wall_ms(l->broker->tasks), soonest = -1;
    for (int32_t n = 1; n <= l->broker->delay_levels.count; n++) {
        const struct level *v = &l->level[n];
        int64_t ms = -1;
        if (v->failed >= 0) continue;
        if (v->state == LEVEL_LOOK) ms = l->on_their_way < ON_THEIR_WAY_MAX ? 0 : -1;   /* else an answer wakes it */
        if (v->state == LEVEL_REFUSED) ms = v->retry_mono_ms - now;
        if (v->state == LEVEL_WAITS) ms = smaller(smaller(v->due_mono_ms - now, clamped_minus(v->due_ms, wall)), LOOK_AGAIN_MS);
        if (v->state == LEVEL_REFUSED || v->state == LEVEL_WAITS) ms = ms > 0 ? ms : 0;
        if (ms >= 0 && (soonest < 0 || ms < soonest)) soonest = ms;
    }
    return soonest;
}

static void run(void *ctx)
{
    struct levels *l = ctx;
    int32_t count = l->broker->delay_levels.count;
    l->messages = l->bytes = 0;
    for (int32_t i = 0; i < count && !slice_is_used_up(l); i++) {
        int32_t number = (l->first + i) % count + 1;
        if (is_ready(&l->level[number])) run_level(&l->level[number]);
    }
    l->first = (l->first + 1) % count;
    if (store_log_max(l->broker->store) - l->begin > CAME_LOG_BYTES) save_soon(l);
    int64_t ms = next_wake(l);
    if (ms >= 0) wake(l, ms);
}

void levels_arrived(struct levels *l, int32_t queue_id)
{
    if (!l || queue_id < 0 || queue_id >= l->broker->delay_levels.count) return;
    struct level *v = &l->level[queue_id + 1];
    if (v->state != LEVEL_EMPTY) return;
    v->state = LEVEL_LOOK;
    wake(l, 0);
}

/* --- life --- */

/* Where a level goes on: within what its queue has. */
static int64_t begins_at(struct broker *b, int32_t number)
{
    int64_t known = delay_offsets_get(b->delay_offsets, number);
    int64_t max = store_max_offset(b->store, SLICE(DELAY_LEVELS_TOPIC), number - 1);
    if (known <= max) return known > 0 ? known : 0;
    log_warn("delay.offset_corrected level=%d from=%lld to=%lld text=\"the queue ends there\"", number, (long long)known, (long long)max);
    delay_offsets_set(b->delay_offsets, number, max);
    return max;
}

static void looked(void *ctx)
{
    struct levels *l = ctx;
    l->looking = false;
    wake(l, 0);
}

/* What an earlier run delivered without telling it in the file. */
static void look_for_what_came(struct levels *l)
{
    struct broker *b = l->broker;
    bool behind = false;
    l->begin = delay_offsets_log(b->delay_offsets);
    for (int32_t n = 1; n <= b->delay_levels.count; n++) behind |= l->level[n].next < l->level[n].known_until;
    if (l->begin >= 0 && !behind) l->begin = store_log_max(b->store);
    if (l->begin < 0) save(l);   /* from here on it tells */
    l->looking = l->begin >= 0 && l->begin < store_log_max(b->store);
    if (l->looking) l->came = came_new(b, CAME_FROM_LEVELS, l->begin, looked, l);
}

struct levels *levels_new(struct broker *b)
{
    struct levels *l = must_zero(sizeof *l);
    l->broker = b;
    l->safe_log = l->refused_at = -1;
    timer_init(&l->go, run, l);
    timer_init(&l->save, save, l);
    list_init(&l->deliveries);
    for (int32_t n = 1; n <= b->delay_levels.count; n++) {
        l->level[n] = (struct level){.levels = l, .number = n, .next = begins_at(b, n), .due_offset = -1, .failed = -1, .came_offset = -1,
                                      .disk = {.go_on = on_read}};
        l->level[n].known_until = store_max_offset(b->store, SLICE(DELAY_LEVELS_TOPIC), n - 1);
    }
    look_for_what_came(l);
    wake(l, 0);
    return l;
}

void levels_stop(struct levels *l)
{
    if (!l) return;
    l->stopped = true;
    timer_stop(l->broker->tasks, &l->go);
    timer_stop(l->broker->tasks, &l->save);
    l->stopped_log = has_caught_up(l) ? store_log_max(l->broker->store) : l->begin;
    came_free(l->came);
    l->came = NULL;
}

void levels_free(struct levels *l, bool synced)
{
    if (!l) return;
    assert(l->stopped);
    if (synced) {
        for (int32_t n = 0; n <= DELAY_LEVELS_MAX; n++) l->safe[n] = delay_offsets_get(l->broker->delay_offsets, n);
        delay_offsets_save(l->broker->delay_offsets, l->safe, l->stopped_log);
    }
    free(l);
}
