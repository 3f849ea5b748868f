#include "store/state.h"

#include "base/log.h"
#include "codec/record.h"
#include "os/process.h"
#include "store/compaction.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { RETRY_MS = 1000, ROOT_BYTES_MAX = 600, TOPIC_MAX_RETRY = 255, INNER_BASE_BYTES = sizeof "INNER_BASE\x01\x02" - 1 + 19 };

#define DELETED "deleted-"   /* then a number: queues of a deleted topic, on their way out */
#define REBUILD "rebuild-"   /* what an interrupted 'skylark store rebuild' left */

static char *path_in(const char *root, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return must_strdup(path);
}

/* --- writing on and off --- */

static const char *mode_text(enum store_mode mode)
{
    return mode == STORE_LOST ? "the next start" : "a try succeeds, one each second";
}

void store_stop_writing(struct store *s, enum store_mode mode, err_t e)
{
    if (s->mode < mode) {
        s->mode = mode;
        free(s->why);
        s->why = must_strdup(err_text(e));
        log_error("store.writing_stopped root=\"%s\" text=\"%s\" until=\"%s\"", s->options.root, s->why, mode_text(mode));
    }
    err_free(e);
    if (s->mode == STORE_FULL && !s->closed) timer_start(s->tasks, &s->retry_timer, RETRY_MS);
}

void store_try_writing(void *store)
{
    struct store *s = store;
    if (s->mode != STORE_FULL) return;
    err_t e = commit_log_repair(&s->log);
    if (!e) e = dispatch_unstick(s);
    if (e) {
        err_drop(e, "still no room; tried again in a second");
        timer_start(s->tasks, &s->retry_timer, RETRY_MS);
        return;
    }
    s->mode = STORE_WRITABLE;
    log_info("store.writing_resumed root=\"%s\"", s->options.root);
    flush_arm(s);
}

bool store_is_writable(struct store *s, const char **why)
{
    *why = s->mode != STORE_WRITABLE ? s->why : s->cleaning.crowded ? "the disk is nearly full" : NULL;
    return !*why;
}

/* --- open --- */

static void again(void *store) { (void)store; /* the turn it makes is what it is for */ }

void store_init_queues(struct store *s)
{
    int64_t singles = s->options.queue_file_entries, batches = s->options.batch_file_entries;
    const int64_t entries[QUEUE_KINDS] = {[QUEUE_OF_SINGLES] = singles, [QUEUE_OF_BATCHES] = batches ? batches : singles};
    queues_init(&s->queues, s->fs, s->options.root, entries);
}

static struct store *store_new(const struct store_options *options, struct fs *fs, struct tasks *tasks)
{
    struct store *s = must_zero(sizeof *s);
    s->options = *options;
    s->options.root = must_strdup(options->root);
    s->options.log_folder = options->log_folder ? must_strdup(options->log_folder) : path_in(s->options.root, "commitlog");
    s->fs = fs;
    s->tasks = tasks;
    s->checkpoint_path = path_in(options->root, "checkpoint");
    if (!s->options.delay_levels.count) s->options.delay_levels = delay_levels_default;
    s->recent_bytes = machine_memory_bytes() / 100 * options->recent_percent;
    store_init_queues(s);
    deleted_topics_init(&s->deleted_topics, options->root, fs, tasks);
    cold_init(&s->cold, fs, tasks, store_job_ended, s);
    flush_init(s);
    resync_init(s);
    clean_init(s);
    timer_init(&s->answer_timer, dispatch_answer_overdue, s);
    timer_init(&s->retry_timer, store_try_writing, s);
    timer_init(&s->again_timer, again, s);
    s->turn_end = (struct turn_hook){.run = dispatch_turn_end, .ctx = s};
    return s;
}

static void store_free(struct store *s)
{
    scrub_done(&s->scrub);
    compaction_free(s->compaction);
    commit_log_close(&s->log);
    queues_done(&s->queues);
    deleted_topics_done(&s->deleted_topics);
    fifo_done(&s->records);
    fifo_done(&s->appends);
    fifo_done(&s->early);
    buf_done(&s->scratch);
    buf_done(&s->touched);
    buf_done(&s->arrivals);
    flush_done(s);
    resync_done(s);
    clean_done(s);
    file_close(s->lock);
    free(s->why);
    free(s->checkpoint_path);
    free((void *)s->options.root);
    free((void *)s->options.log_folder);
    free(s);
}

void store_job_ended(void *store)
{
    struct store *s = store;
    bool compaction_idle = !s->compaction || compaction_is_idle(s->compaction);
    bool idle = flush_is_idle(s) && clean_is_idle(s) && cold_is_idle(&s->cold) && scrub_is_idle(&s->scrub) && compaction_idle;
    if (s->closed && !s->index && idle) store_free(s);
}

static err_t take_lock(struct store *s)
{
    char *path = path_in(s->options.root, "lock");
    err_t e = fs_open(s->fs, path, FILE_CREATE, &s->lock);
    if (!e) e = file_lock(s->lock);
    if (!e) e = file_write_at(s->lock, 0, "lock", 4);
    free(path);
    return e;
}

/* So that its name is durable, with that of `abort`, before anything is written into it (S10). */
static err_t make_checkpoint(struct store *s)
{
    struct file *f;
    err_t e = fs_open(s->fs, s->checkpoint_path, FILE_CREATE, &f);
    if (!e) file_close(f);
    return e;
}

static err_t load_checkpoint(struct store *s)
{
    struct buf bytes = BUF_EMPTY;
    err_t e = fs_read_file(s->fs, s->checkpoint_path, CHECKPOINT_BYTES, &bytes);
    if (err_code(e) == ERR_NOT_FOUND) {
        err_free(e);   /* a new store, or one that never lived long enough */
        e = make_checkpoint(s);
    }
    if (!e) checkpoint_decode(buf_slice(&bytes), &s->checkpoint);
    buf_done(&bytes);
    return e;
}

static err_t file_exists(struct fs *fs, const char *path, bool *out)
{
    struct file_info info;
    err_t e = fs_info(fs, path, &info);
    *out = !e;
    if (err_code(e) != ERR_NOT_FOUND) return e;
    err_free(e);
    return NULL;
}

/* `abort` is there while a store is open: who finds it knows that the last run did not end well. */
static err_t mark_running(struct store *s, const char *path)
{
    char text[24];
    struct file *f;
    err_t e = fs_open(s->fs, path, FILE_CREATE, &f);
    if (e) return e;
    int n = snprintf(text, sizeof text, "%" PRId64, process_id());
    e = file_set_size(f, 0);
    if (!e) e = file_write_at(f, 0, text, (size_t)n);
    if (!e) e = file_sync(f);
    file_close(f);
    return e ? e : fs_sync_folder(s->fs, s->options.root);
}

static void remove_leftover(void *ctx, const char *name)
{
    struct store *s = ctx;
    if (!slice_starts(slice_text(name), SLICE(DELETED)) && !slice_starts(slice_text(name), SLICE(REBUILD))) return;
    char *path = path_in(s->options.root, name);
    err_drop(fs_remove_tree(s->fs, path), "it is tried again at the next start");
    free(path);
}

static err_t open_files(struct store *s)
{
    bool abnormal;
    err_t e = fs_make_durable_folder(s->fs, s->options.root);
    if (!e) e = fs_make_durable_folder(s->fs, s->options.log_folder);
    if (!e) e = fs_make_folder(s->fs, s->queues.files.folder[QUEUE_OF_SINGLES]);
    if (!e) e = take_lock(s);
    if (e) return e;
    char *path = path_in(s->options.root, "abort");
    e = file_exists(s->fs, path, &abnormal);
    if (!e) s->ended_badly = abnormal;
    if (!e) e = load_checkpoint(s);
    if (!e) e = fs_list(s->fs, s->options.root, remove_leftover, s);
    if (!e) e = queues_discover(&s->queues);
    if (!e) {
        s->queues.files.mend = abnormal;
        e = commit_log_open(&s->log, s->fs, s->tasks, s->options.log_folder, s->options.log_file_bytes, abnormal, store_job_ended, s);
    }
    if (!e) e = deleted_topics_load(&s->deleted_topics);
    if (!e) e = mark_running(s, path);
    if (!e) e = recovery_run(s, abnormal);
    if (!e && s->options.compaction.on) e = compaction_open(s, &s->compaction);
    free(path);
    return e;
}

static err_t check_options(const struct store_options *o)
{
    if (strlen(o->root) > ROOT_BYTES_MAX || (o->log_folder && strlen(o->log_folder) > ROOT_BYTES_MAX))
        return err_new(ERR_CONFIG, "the path of the store is too long: %s", o->root);
    if (o->log_file_bytes >= RECORD_SMALLEST && o->queue_file_entries > 0 && o->batch_file_entries >= 0) return NULL;
    return err_new(ERR_CONFIG, "store files of %" PRId64 " bytes and %" PRId64 " entries are too small", o->log_file_bytes,
                   o->queue_file_entries);
}

err_t store_open(const struct store_options *options, struct fs *fs, struct tasks *tasks, struct store **out)
{
    err_t e = check_options(options);
    if (e) return e;
    struct store *s = store_new(options, fs, tasks);
    e = open_files(s);
    if (e) {
        e = err_in(e, "open the store in %s", options->root);
        store_free(s);
        return e;
    }
    s->synced = s->visible = s->log.written;
    s->log.cold = s->queues.files.cold = &s->cold;
    s->cold.waits = false;
    if (options->index) s->index = find_index_new(s);
    scrub_begin(&s->scrub, tasks, &s->log, options->scrub_bytes_per_second, store_job_ended, s);
    tasks_on_turn_end(tasks, &s->turn_end);
    flush_arm(s);
    clean_start(s);
    *out = s;
    return NULL;
}

/* --- close --- */

static void stop_timers(struct store *s)
{
    timer_stop(s->tasks, &s->log_timer);
    timer_stop(s->tasks, &s->queue_timer);
    timer_stop(s->tasks, &s->answer_timer);
    timer_stop(s->tasks, &s->retry_timer);
    timer_stop(s->tasks, &s->again_timer);
    timer_stop(s->tasks, &s->cleaning.timer);
    timer_stop(s->tasks, &s->resync.timer);
}

static err_t remove_abort(struct store *s)
{
    char *path = path_in(s->options.root, "abort");
    err_t e = fs_remove_for_good(s->fs, path);
    free(path);
    return e;
}

err_t store_close(struct store *s)
{
    assert_on_loop(s->tasks);
    tasks_off_turn_end(s->tasks, &s->turn_end);
    s->closed = true;
    stop_timers(s);
    scrub_stop(&s->scrub);
    dispatch_turn_end(s);
    cold_end(&s->cold);
    s->cold.waits = true;
    err_t e = flush_all(s);
    if (s->compaction) compaction_stop(s->compaction);
    if (e) dispatch_fail_waiting(s, err_new(ERR_CLOSED, "the store is closing: %s", err_text(e)));
    if (!e && !s->queues_in_doubt && !s->queues_lost && s->mode < STORE_BROKEN) e = remove_abort(s);
    file_close(s->lock);
    s->lock = NULL;
    bool index_idle = !s->index || index_is_idle(s->index);
    index_free(s->index);
    if (index_idle) s->index = NULL;
    store_job_ended(s);
    return err_in(e, "close the store");
}

/* --- append --- */

static err_t refuse(const struct store *s)
{
    if (s->closed) return err_new(ERR_NOT_AVAILABLE, "the store is closed");
    if (s->mode == STORE_WRITABLE)
        return err_new(ERR_DISK_FULL, "writing is off: the disk is %d percent full, more than diskSpaceWarningLevelRatio=%d allows",
                       s->cleaning.used_percent, s->options.clean.full_percent);
    return err_new(s->mode == STORE_FULL ? ERR_DISK_FULL : ERR_NOT_AVAILABLE, "writing is off: %s", s->why);
}

static size_t topic_max(struct slice topic)
{
    return slice_starts(topic, SLICE("%RETRY%")) ? TOPIC_MAX_RETRY : RECORD_TOPIC_MAX_V1;
}

static err_t check_length(const char *part, size_t n, size_t limit)
{
    if (n <= limit) return NULL;
    return err_new(ERR_MESSAGE_ILLEGAL, "the message is illegal: its %s has %zu bytes, the limit is %zu", part, n, limit);
}

static bool is_batch(const struct message *m) { return m->sys_flag & SYS_FLAG_INNER_BATCH; }

static err_t check_batch(const struct message *m)
{
    if (m->batch_topic && m->inner_count > 0 && m->inner_count <= BATCH_COUNT_MAX) return NULL;
    return err_new(ERR_MESSAGE_ILLEGAL, "the message is illegal: %d messages cannot be one record of topic \"%.*s\"", m->inner_count,
                   SLICE_ARG(m->topic));
}

/* `known`: its queue is there, so its topic can be. */
static err_t check_message(const struct store *s, const struct message *m, bool known)
{
    err_t e = check_length("body", m->body.n, (size_t)s->options.max_message_bytes);
    if (!e) e = check_length("property text", m->properties.n, RECORD_PROPERTIES_MAX - (is_batch(m) ? INNER_BASE_BYTES : 0));
    if (!e) e = check_length("topic", m->topic.n, topic_max(m->topic));
    if (e) return e;
    if (!known && (m->queue_id < 0 || !queue_topic_is_legal(m->topic)))
        return err_new(ERR_MESSAGE_ILLEGAL, "the message is illegal: queue %d of topic \"%.*s\" cannot be", m->queue_id,
                       SLICE_ARG(m->topic));
    return is_batch(m) ? check_batch(m) : NULL;
}

static err_t check_all(const struct store *s, const struct message *m, size_t count, bool known, size_t *bytes)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        err_t e = check_message(s, &m[i], known);
        if (e) return e;
        assert(m[i].queue_id == m[0].queue_id && slice_eq(m[i].topic, m[0].topic));
        size_t size = record_size(&m[i], &s->options.store_host) + (is_batch(&m[i]) ? INNER_BASE_BYTES : 0);
        if (s->compaction) e = compaction_check_size(s->compaction, m[i].topic, m[i].queue_id, size);
        if (e) return e;
        sum += size;
    }
    *bytes = sum;
    return NULL;
}

/* Half messages and rollbacks are in the log alone. */
static bool has_queue_entry(const struct message *m)
{
    int32_t kind = m->sys_flag & SYS_FLAG_TRANSACTION_MASK;
    return kind == SYS_FLAG_TRANSACTION_NONE || kind == SYS_FLAG_TRANSACTION_COMMIT;
}

/* The first offset of a batch is a property of it, too. */
static struct slice with_base(struct store *s, struct slice properties, int64_t base)
{
    buf_clear(&s->scratch);
    buf_printf(&s->scratch, "INNER_BASE\x01%" PRId64 "\x02", base);
    buf_put_slice(&s->scratch, properties);
    return buf_slice(&s->scratch);
}

static void append_record(struct store *s, struct consume_queue *q, const struct message *m, struct appended *out)
{
    bool queued = has_queue_entry(m);
    struct record_place place = {
        .log_offset = commit_log_end(&s->log),
        .queue_offset = queued ? q->next : 0,
        .store_ms = s->last_ms,
        .store_host = &s->options.store_host,
    };
    int32_t count = is_batch(m) ? m->inner_count : 1;
    int64_t tag_hash = m->delay_level > 0 ? place.store_ms + delay_levels_ms(&s->options.delay_levels, m->delay_level) : m->tag_hash;
    size_t size = record_size(m, &s->options.store_host);
    record_encode(m, &place, size, commit_log_take(&s->log, size));
    if (queued) {
        struct waiting_record own = {q, place.log_offset, tag_hash, place.queue_offset, place.store_ms, (int32_t)size, count};
        *(struct waiting_record *)fifo_push(&s->records, sizeof own) = own;
        q->next += count;
        if (s->options.lmq && m->further_queues.n) lmq_append(s, m->further_queues, &own);
    }
    if (s->index) index_note(s->index, m, place.log_offset, place.store_ms);
    *out = (struct appended){place.log_offset, place.queue_offset, place.store_ms, (int32_t)size};
    s->counts.messages += (uint64_t)count;
    s->counts.bytes += size;
}

static void append_one(struct store *s, struct consume_queue *q, const struct message *m, struct appended *out)
{
    if (!is_batch(m)) {
        append_record(s, q, m, out);
        return;
    }
    struct message batch = *m;
    batch.properties = with_base(s, m->properties, q->next);
    append_record(s, q, &batch, out);
}

/* Who waits for the disk is answered with the records' visibility, the others when they are written. */
static void remember_append(struct store *s, bool wait_sync, append_done *done, void *ctx)
{
    bool sync_flush = s->options.sync_flush;
    struct waiting_append *w = fifo_push(sync_flush && !wait_sync ? &s->early : &s->appends, sizeof *w);
    *w = (struct waiting_append){done, ctx, commit_log_end(&s->log), INT64_MAX};
    if (sync_flush) w->due_ms = tasks_mono_ms(s->tasks) + s->options.sync_timeout_ms;
}

static err_t make_room(struct store *s, size_t bytes)
{
    err_t e = commit_log_make_room(&s->log, bytes);
    if (e && err_code(e) != ERR_MESSAGE_ILLEGAL) store_stop_writing(s, STORE_FULL, err_new(err_code(e), "%s", err_text(e)));
    return e;
}

/* What a topic keeps never changes. Queues of the other kind were made out of a log that does not tell of a single message what its
 * topic keeps, or are those of an earlier topic of that name. */
static struct consume_queue *queue_for(struct store *s, const struct message *m, struct consume_queue *known)
{
    enum queue_kind kind = m->batch_topic ? QUEUE_OF_BATCHES : QUEUE_OF_SINGLES;
    struct consume_queue *q = known ? known : queues_get(&s->queues, m->topic, m->queue_id, kind);
    return q->kind == kind ? q : store_replace_queues(s, m->topic, m->queue_id, kind);
}

err_t store_append(struct store *s, const struct message *m, size_t count, bool wait_sync, append_done *done, void *ctx,
                   struct appended *out)
{
    assert_on_loop(s->tasks);
    assert(count > 0);
    size_t bytes;
    struct message light;
    if (s->mode != STORE_WRITABLE || s->cleaning.crowded || s->closed) return refuse(s);
    err_t e = NULL;
    if (s->options.lmq && count == 1) {
        light = *m;
        m = &light;
        e = lmq_prepare(s, &light);
    }
    struct consume_queue *known = queues_find(&s->queues, m->topic, m->queue_id);
    if (!e) e = check_all(s, m, count, known, &bytes);
    if (!e) e = make_room(s, bytes);
    if (e) return e;
    struct consume_queue *q = queue_for(s, m, known);
    s->last_ms = tasks_wall_ms(s->tasks);
    for (size_t i = 0; i < count; i++) append_one(s, q, &m[i], &out[i]);
    remember_append(s, wait_sync, done, ctx);
    return NULL;
}

/* --- what is there --- */

int64_t store_log_min(struct store *s) { return commit_log_first(&s->log); }
int64_t store_log_max(struct store *s) { return s->log.written; }
int64_t store_log_flushed(struct store *s) { return s->synced; }

struct store_counts store_counts(const struct store *s)
{
    struct store_counts c = s->counts;
    c.writes = s->log.writes;
    c.damaged = damage_count(&s->log.damage) + (s->compaction ? compaction_damaged(s->compaction) : 0);
    c.scrub_left_bytes = (uint64_t)s->scrub.left;
    c.queue_topics = s->queues.topics.count;
    c.light_queues = s->queues.light;
    c.disk_used_percent = s->cleaning.used_percent;
    c.disk_used_bytes = s->cleaning.used_bytes;
    return c;
}

bool store_ended_badly(const struct store *s) { return s->ended_badly; }

void store_each_topic(struct store *s, void (*each)(void *ctx, struct slice topic), void *ctx)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&s->queues.topics, &at));) each(ctx, e->key);
}

/* --- what is not in memory --- */

bool store_is_cold(const struct store *s) { return s->cold.met; }

void store_fetch(struct store *s, struct store_fetch *f)
{
    assert_on_loop(s->tasks);
    assert(!s->closed);
    cold_fetch(&s->cold, f);
}

void store_forget_cold(struct store *s) { cold_forget(&s->cold); }

void store_fetch_cancel(struct store_fetch *f) { cold_cancel(f); }

/* --- delete a topic --- */

struct removal {
    struct work work;
    struct fs *fs;
    char path[PATH_BYTES];
    err_t e;
};

static void remove_folder(struct work *w)
{
    struct removal *r = LIST_OWNER(w, struct removal, work);
    r->e = fs_remove_tree(r->fs, r->path);
}

static void removed_folder(struct work *w)
{
    struct removal *r = LIST_OWNER(w, struct removal, work);
    if (r->e) log_warn("store.topic_files_left path=\"%s\" text=\"%s\"", r->path, err_text(r->e));
    err_free(r->e);
    free(r);
}

void store_discard_folder(struct store *s, const char *path)
{
    struct removal *r = must_zero(sizeof *r);
    r->work = (struct work){.run = remove_folder, .done = removed_folder};
    r->fs = s->fs;
    snprintf(r->path, sizeof r->path, "%s/" DELETED "%" PRIu64, s->options.root, s->deletions++);
    err_t e = fs_rename(s->fs, path, r->path);   /* at once, so that a new topic of that name begins empty */
    if (err_code(e) == ERR_NOT_FOUND) {
        err_free(e);   /* no message was ever written */
        free(r);
        return;
    }
    if (e) {
        err_drop(e, "the folder is removed where it is");
        snprintf(r->path, sizeof r->path, "%s", path);
    }
    tasks_work(s->tasks, &r->work);
}

static void remove_queues(struct store *s, struct slice topic)
{
    const struct queue_topic *t = map_get(&s->queues.topics, topic);
    if (!t) return;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%.*s", s->queues.files.folder[t->kind], SLICE_ARG(topic));
    s->queues.files.names_gone[t->kind] = true;
    queues_delete(&s->queues, topic);
    store_discard_folder(s, path);
}

void store_delete_topic(struct store *s, struct slice topic)
{
    assert_on_loop(s->tasks);
    store_reserve(s, topic, -1);
    if (s->compaction) compaction_delete(s->compaction, topic);
    if (!map_get(&s->queues.topics, topic)) return;   /* no message was ever written */
    deleted_topics_add(&s->deleted_topics, topic, commit_log_first(&s->log), s->checkpoint.resume_offset, commit_log_end(&s->log));
    remove_queues(s, topic);
}

err_t store_set_compacted(struct store *s, struct slice topic, bool compacted, bool made)
{
    assert_on_loop(s->tasks);
    return s->compaction ? compaction_set(s->compaction, topic, compacted, made) : NULL;
}

/* --- queues of the other kind --- */

/* Entries of one queue, taken out of it. */
struct taken {
    struct buf entries;          /* struct queue_entry */
    int32_t queue_id;
};

/* What the entry of a single message does not say is in its record, if that is still there. False for a hole (S9). */
static bool complete_entry(struct store *s, struct queue_entry *e)
{
    struct slice record;
    if (!commit_log_find(&s->log, e->log_offset, e->size, &record)) return true;
    e->store_ms = record_store_ms(record.p);
    return record_queue_offset(record.p) == e->queue_offset;
}

static struct taken take_entries(struct store *s, struct consume_queue *q)
{
    struct taken t = {.queue_id = q->queue_id};
    struct queue_entry e;
    for (int64_t i = consume_queue_min_entry(q, commit_log_first(&s->log)); consume_queue_any(q, i, &e); i++)
        if (q->kind == QUEUE_OF_BATCHES || complete_entry(s, &e)) buf_put(&t.entries, &e, sizeof e);
    return t;
}

/* Queues of singles have no room for a batch: those of an earlier topic are given up. */
static bool can_hold(enum queue_kind kind, const struct taken *t)
{
    struct queue_entry e, before = {.count = 0};
    for (size_t at = 0; at < t->entries.n; at += sizeof e, before = e) {
        memcpy(&e, t->entries.p + at, sizeof e);
        if (kind == QUEUE_OF_SINGLES && (e.count != 1 || (before.count && e.queue_offset != before.queue_offset + 1))) return false;
    }
    return t->entries.n;
}

static err_t give_entries(struct consume_queue *q, const struct taken *t)
{
    struct queue_entry e;
    memcpy(&e, t->entries.p, sizeof e);
    err_t failed = q->kind == QUEUE_OF_SINGLES && e.queue_offset > 0 ? consume_queue_begin_at(q, e.queue_offset) : NULL;
    for (size_t at = 0; at < t->entries.n && !failed; at += sizeof e) {
        memcpy(&e, t->entries.p + at, sizeof e);
        consume_queue_put(q, &e);
    }
    if (!failed) failed = consume_queue_write(q);
    q->next = consume_queue_pending_end(q);
    return failed;
}

static void give_back(struct store *s, struct slice topic, enum queue_kind kind, struct taken *t)
{
    if (can_hold(kind, t)) {
        err_t e = give_entries(queues_get(&s->queues, topic, t->queue_id, kind), t);
        if (e) {
            s->stuck = true;
            store_stop_writing(s, STORE_FULL, err_in(e, "write queue entries"));
        }
    }
    buf_done(&t->entries);
}

struct consume_queue *store_replace_queues(struct store *s, struct slice topic, int32_t queue_id, enum queue_kind kind)
{
    static const char *const types[QUEUE_KINDS] = {[QUEUE_OF_SINGLES] = "SimpleCQ", [QUEUE_OF_BATCHES] = "BatchCQ"};
    struct queue_topic *t = map_get(&s->queues.topics, topic);
    struct buf all = BUF_EMPTY;
    log_warn("store.queues_replaced topic=\"%.*s\" type=%s text=\"its queues were of the other type\"", SLICE_ARG(topic), types[kind]);
    s->cold.waits = true;   /* such a topic is rare, and small */
    LIST_EACH(&t->queues, node) {
        struct taken taken = take_entries(s, LIST_OWNER(node, struct consume_queue, in_topic));
        buf_put(&all, &taken, sizeof taken);
    }
    s->cold.waits = false;
    remove_queues(s, topic);
    for (size_t at = 0; at < all.n; at += sizeof(struct taken)) {
        struct taken taken;
        memcpy(&taken, all.p + at, sizeof taken);
        give_back(s, topic, kind, &taken);
    }
    buf_done(&all);
    return queues_get(&s->queues, topic, queue_id, kind);
}
