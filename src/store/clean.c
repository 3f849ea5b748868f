#include "store/state.h"

#include "base/log.h"
#include "store/compaction.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

enum {
    SOON_MS = 100,          /* to the next round, while there is more to do */
    CROWDED_MS = 1000,      /* while writing is off */
    SEARCHES_MAX = 64,      /* queues whose first entry is looked for in one round; some 30 us each */
};

#define RESERVED_MS_MAX (INT64_MAX / 4)   /* can be added to any time */

/* --- the job; thread: worker --- */

static void note(struct cleaning *c, err_t e)
{
    if (c->e) err_free(e);
    else c->e = e;
}

static void look(struct cleaning *c)
{
    int32_t root = 0, log = 0;
    err_t e = fs_used_percent(c->fs, c->root, &root);
    if (!e) e = fs_used_percent(c->fs, c->log_folder, &log);
    c->used_percent = e ? -1 : root > log ? root : log;
    c->used_bytes = fs_used_bytes(c->fs, c->root);
    note(c, e);
}

static void free_unused(struct cleaning *c)
{
    for (size_t at = 0; at < c->unused.n; at += sizeof(struct mapped_file *)) {
        struct mapped_file *f;
        memcpy(&f, c->unused.p + at, sizeof f);
        mapped_file_free(f);
    }
    buf_clear(&c->unused);
}

static void remove_paths(struct cleaning *c)
{
    for (struct slice rest = buf_slice(&c->paths); rest.n;) {
        const char *path = (const char *)rest.p;
        err_t e = fs_remove(c->fs, path);
        if (err_code(e) == ERR_NOT_FOUND) err_free(e);   /* its topic was deleted meanwhile */
        else note(c, e);
        rest = slice_skip(rest, strlen(path) + 1);
    }
    buf_clear(&c->paths);
}

static struct retention_log log_of(const struct cleaning *c)
{
    int64_t first = c->removed < c->count ? c->starts[c->removed] : c->log_first + (int64_t)c->removed * c->log_file_bytes;
    return (struct retention_log){c->log_folder, c->log_file_bytes, first, c->now_ms};
}

/* Whether a file that is old enough holds messages of a topic that is to be kept longer. */
static bool is_kept(struct cleaning *c, int64_t modified_ms, err_t *e)
{
    bool kept = false;
    struct retention_log log = log_of(c);
    *e = retention_keeps(&c->retention, &log, log.first, modified_ms, c->rules.reserved_ms, &kept);
    return *e || kept;
}

/* Oldest first, each name durable before the next one goes: whatever a power cut brings back, no file is missing in between. */
static void remove_log_files(struct cleaning *c, int64_t written_before_ms)
{
    err_t e = NULL;
    for (c->removed = 0; c->removed < c->count; c->removed++) {
        char path[PATH_BYTES];
        struct file_info info;
        segment_path(path, c->log_folder, c->starts[c->removed]);
        e = fs_info(c->fs, path, &info);
        if (e || info.modified_ms > written_before_ms) break;
        if (written_before_ms < INT64_MAX && is_kept(c, info.modified_ms, &e)) break;
        e = fs_remove(c->fs, path);
        if (e) break;
        e = fs_sync_folder(c->fs, c->log_folder);
        if (!e) continue;
        c->removed++;
        break;
    }
    note(c, e);
}

static void run_round(struct work *w)
{
    struct cleaning *c = LIST_OWNER(w, struct cleaning, work);
    const struct clean_options *o = &c->rules;
    free_unused(c);
    remove_paths(c);
    look(c);
    c->removed = 0;
    int32_t threshold = o->force_percent < o->full_percent ? o->force_percent : o->full_percent;
    bool force = o->may_force && c->used_percent > threshold;
    if (force) remove_log_files(c, INT64_MAX);
    else if (c->right_hour || c->used_percent > o->used_percent) remove_log_files(c, c->now_ms - o->reserved_ms);
    struct retention_log log = log_of(c);
    note(c, retention_search(&c->retention, &log));
}

/* --- rounds; thread: loop --- */

/* Not the last file, and none whose records may still be looked for after a crash, or wait to be copied to a compaction log. */
static void choose_log_files(struct store *s)
{
    struct cleaning *c = &s->cleaning;
    int64_t limit = s->checkpoint.resume_offset < s->synced ? s->checkpoint.resume_offset : s->synced;
    int64_t needed = s->compaction ? compaction_log_limit(s->compaction) : INT64_MAX;
    if (needed < limit) limit = needed;
    size_t most = (size_t)s->options.clean.batch < CLEAN_BATCH_MAX ? (size_t)s->options.clean.batch : CLEAN_BATCH_MAX;
    for (c->count = 0; c->count < most && c->count + 1 < s->log.files.count; c->count++) {
        const struct mapped_file *f = s->log.files.all[c->count];
        if (mapped_file_end(f) > limit) break;
        c->starts[c->count] = f->start;
    }
}

static bool is_right_hour(const struct clean_options *o, int64_t now_ms)
{
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm t;
    return localtime_r(&seconds, &t) && (o->hours >> t.tm_hour & 1);
}

static void begin_round(void *store)
{
    struct store *s = store;
    struct cleaning *c = &s->cleaning;
    if (c->running) return;
    c->rules = s->options.clean;
    c->now_ms = tasks_wall_ms(s->tasks);
    c->right_hour = c->asked || is_right_hour(&s->options.clean, c->now_ms);
    c->log_first = commit_log_first(&s->log);
    c->log_file_bytes = s->options.log_file_bytes;
    choose_log_files(s);
    retention_prepare(&c->retention);
    c->running = true;
    tasks_work(s->tasks, &c->work);
}

struct walk {
    struct store *s;
    int searches;
};

/* Files of a queue that hold nothing but entries of records that are gone. */
static err_t clean_queue(void *ctx, struct consume_queue *q)
{
    struct walk *walk = ctx;
    struct store *s = walk->s;
    int64_t log_first = commit_log_first(&s->log);
    bool searches = q->min_log_first != log_first && q->first >= 0 && q->end - q->first > consume_queue_file_entries(q);
    if (searches && walk->searches++ >= SEARCHES_MAX) return NULL;   /* the next round's */
    size_t old = consume_queue_old_files(q, log_first);
    if (store_is_cold(s)) return NULL;   /* the next round's */
    for (size_t i = 0; i < old; i++) {
        char path[PATH_BYTES];
        consume_queue_path(q, q->first + (int64_t)i * consume_queue_file_entries(q), path);
        buf_put(&s->cleaning.paths, path, strlen(path) + 1);
    }
    if (old) consume_queue_forget_before(q, q->first + (int64_t)old * consume_queue_file_entries(q));
    return NULL;
}

/* What followed the log's beginning; true when there is more to look at. */
static bool follow_log(struct store *s)
{
    struct walk walk = {.s = s};
    err_drop(queues_each(&s->queues, clean_queue, &walk), "none of them fails");
    if (s->index) index_begin_at(s->index, commit_log_first(&s->log), &s->cleaning.paths);
    if (store_is_cold(s) && !s->cleaning.fetch.job) store_fetch(s, &s->cleaning.fetch);
    return walk.searches > SEARCHES_MAX;
}

static void on_fetched(struct store_fetch *f)
{
    struct store *s = LIST_OWNER(f, struct store, cleaning.fetch);
    if (!s->closed) timer_start(s->tasks, &s->cleaning.timer, SOON_MS);
}

static void tell_crowded(struct store *s)
{
    struct cleaning *c = &s->cleaning;
    bool crowded = c->used_percent > s->options.clean.full_percent;
    if (c->used_percent < 0 || crowded == c->crowded) return;
    c->crowded = crowded;
    if (crowded) {
        log_error("store.disk_nearly_full root=\"%s\" used_percent=%d diskSpaceWarningLevelRatio=%d text=\"nothing is written until there is room\"",
                  s->options.root, c->used_percent, s->options.clean.full_percent);
    } else {
        log_info("store.disk_has_room root=\"%s\" used_percent=%d text=\"messages are taken again\"", s->options.root, c->used_percent);
    }
}

static void round_done(struct work *w)
{
    struct store *s = LIST_OWNER(w, struct store, cleaning.work);
    struct cleaning *c = &s->cleaning;
    c->running = false;
    if (c->e) log_warn("store.cleaning_failed root=\"%s\" text=\"%s\"", s->options.root, err_text(c->e));
    err_free(c->e);
    c->e = NULL;
    if (s->closed) {
        store_job_ended(s);
        return;
    }
    if (c->removed) {
        mapped_files_forget_first(&s->log.files, c->removed, &c->unused);
        log_info("store.log_files_removed count=%zu log_min=%" PRId64 " used_percent=%d", c->removed, commit_log_first(&s->log), c->used_percent);
    }
    else if (c->right_hour) c->asked = false;   /* nothing old is left; what was asked during a round has the next one */
    retention_apply(&c->retention, &s->queues);
    tell_crowded(s);
    bool more = follow_log(s) || c->removed || c->paths.n || c->unused.n;
    int64_t wait_ms = more || c->asked ? SOON_MS : c->crowded ? CROWDED_MS : s->options.clean.interval_ms;
    if (wait_ms > 0) timer_start(s->tasks, &c->timer, wait_ms);
}

void clean_init(struct store *s)
{
    s->cleaning = (struct cleaning){
        .work = {.run = run_round, .done = round_done}, .fs = s->fs, .root = s->options.root,
        .log_folder = s->options.log_folder, .fetch = {.done = on_fetched},
    };
    retention_init(&s->cleaning.retention, &s->queues);
    timer_init(&s->cleaning.timer, begin_round, s);
}

void store_set_clean_rules(struct store *s, const struct clean_options *rules)
{
    int64_t interval_ms = s->options.clean.interval_ms;
    assert_on_loop(s->tasks);
    s->options.clean = *rules;
    s->options.clean.interval_ms = interval_ms;
}

static void show_all(struct consume_queue *q) { q->expired_below = 0; }

void store_reserve(struct store *s, struct slice topic, int64_t reserved_ms)
{
    assert_on_loop(s->tasks);
    if (!queue_topic_is_legal(topic)) return;
    retention_set(&s->cleaning.retention, topic, reserved_ms < RESERVED_MS_MAX ? reserved_ms : RESERVED_MS_MAX);
    if (reserved_ms < 0) queues_each_of(&s->queues, topic, show_all);
    else if (s->options.clean.interval_ms > 0) timer_start(s->tasks, &s->cleaning.timer, SOON_MS);   /* more may follow in this turn */
}

void store_clean_now(struct store *s)
{
    assert_on_loop(s->tasks);
    s->cleaning.asked = true;
    begin_round(s);
}

void clean_start(struct store *s)
{
    if (s->options.clean.interval_ms > 0) timer_start(s->tasks, &s->cleaning.timer, SOON_MS);
}

bool clean_is_idle(const struct store *s) { return !s->cleaning.running; }

void clean_done(struct store *s)
{
    free_unused(&s->cleaning);
    buf_done(&s->cleaning.unused);
    buf_done(&s->cleaning.paths);
    retention_done(&s->cleaning.retention);
}
