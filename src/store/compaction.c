#include "store/compaction_state.h"

#include "base/log.h"
#include "codec/record.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FEED_MS = 1000,                 /* from one look for messages to be copied to the next: each copy is synced */
    RETRY_MS = 5000,
    CATCH_UP_BYTES = 256 << 20,     /* at a stop; what is behind it is the next start's */
};

static const char *const kinds[] = {"compactionLog", "compactionCq"};

static bool job_runs(const struct compaction *c) { return c->feed.log || c->rounds.running; }

static bool is_on(const struct compaction *c, struct slice topic)
{
    const struct compaction_topic *t = map_get(&c->topics, topic);
    return t && t->on && !t->doomed;
}

/* --- logs --- */

struct compaction_log *compaction_log_of(const struct compaction *c, struct slice topic, int32_t queue_id)
{
    char key[COMPACTION_KEY_BYTES];
    if (!topic.n || topic.n > TOPIC_BYTES_MAX || !is_on(c, topic)) return NULL;
    return map_get(&c->logs, compaction_key_of(topic, queue_id, key));
}

/* As the original rounds them: it counts on the one being a multiple of the other. */
static struct compaction_sizes sizes_of(const struct compaction_options *o)
{
    int64_t unit = o->entry_file_bytes / COMPACTION_ENTRY_BYTES * COMPACTION_ENTRY_BYTES;
    if (unit < 2 * COMPACTION_ENTRY_BYTES) unit = 2 * COMPACTION_ENTRY_BYTES;
    int64_t n = o->log_file_bytes / unit, rest = o->log_file_bytes % unit;
    return (struct compaction_sizes){n < 5 ? 5 * unit : rest > 0 && rest < unit / 2 ? n * unit : (n + 1) * unit, unit};
}

static err_t open_log(struct compaction *c, struct slice topic, int32_t queue_id, struct compaction_log **out)
{
    char key[COMPACTION_KEY_BYTES];
    struct compaction_sizes sizes = sizes_of(&c->s->options.compaction);
    err_t e = compaction_log_open(c->s->fs, c->folder, topic, queue_id, sizes, compaction_position(c, topic, queue_id), out);
    if (e) return e;
    map_put(&c->logs, compaction_key_of(topic, queue_id, key), *out);
    return NULL;
}

/* The offsets of the queue and of its compaction log are of one kind from here on. */
static err_t attach(struct compaction_log *l, struct consume_queue *q)
{
    if (l->attached) return NULL;
    bool is_new = q->first < 0 && q->next == 0;   /* its messages have left the commit log, and it was lost or made anew */
    err_t e = NULL;
    if (l->next > 0 && is_new) e = consume_queue_begin_at(q, l->next);
    else if (l->next > q->end) e = compaction_log_cut(l, q->end);
    if (e) return e;
    if (is_new) q->next = q->end;
    l->attached = true;
    return NULL;
}

err_t compaction_log_get_or_open(struct compaction *c, struct slice topic, struct consume_queue *q, struct compaction_log **out)
{
    struct compaction_log *l = compaction_log_of(c, topic, q->queue_id);
    err_t e = l ? NULL : open_log(c, topic, q->queue_id, &l);
    if (!e) e = attach(l, q);
    if (!e) *out = l;
    return e;
}

static void drop_logs(struct compaction *c, struct slice topic)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&c->logs, &at));) {
        struct compaction_log *l = e->value;
        if (slice_eq(slice_text(l->topic), topic)) compaction_log_free(map_remove(&c->logs, e->key));
    }
}

/* --- jobs --- */

static void go_on(struct compaction *c);
static void remove_doomed(struct compaction *c);

static struct compaction_log *ripe_log(const struct compaction *c)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&c->logs, &at));) {
        struct compaction_log *l = e->value;
        if (is_on(c, slice_text(l->topic)) && compaction_log_is_ripe(l)) return l;
    }
    return NULL;
}

static void free_maps(struct buf *maps)
{
    for (size_t at = 0; at < maps->n; at += sizeof(struct mapped_file *)) {
        struct mapped_file *f;
        memcpy(&f, maps->p + at, sizeof f);
        mapped_file_free(f);
    }
    buf_clear(maps);
}

/* Thread: worker. */
static void run_job(struct work *w)
{
    struct compaction *c = LIST_OWNER(w, struct compaction, rounds.work);
    struct compaction_rounds *r = &c->rounds;
    if (r->job == COMPACTION_SLICE) r->e = compaction_round_run(&r->round);
    else if (r->job == COMPACTION_POSITIONS) r->e = fs_replace_file(c->s->fs, c->positions_path, buf_slice(&r->text));
    free_maps(&r->freed);
}

static void start_job(struct compaction *c, enum compaction_job job)
{
    struct compaction_rounds *r = &c->rounds;
    r->job = job;
    r->running = true;
    buf_done(&r->freed);
    r->freed = c->unused;
    c->unused = BUF_EMPTY;
    tasks_work(c->s->tasks, &r->work);
}

static void end_round(struct compaction *c)
{
    c->rounds.active = c->rounds.waits = false;
    compaction_round_end(&c->rounds.round, &c->unused);
}

static void round_failed(struct compaction *c, err_t e)
{
    struct compaction_round *r = &c->rounds.round;
    log_warn("store.compaction_failed topic=\"%s\" queue=%d text=\"%s\"", r->log->topic, r->log->queue_id, err_text(e));
    err_free(e);
    if (r->phase == COMPACTION_SWAP) {
        c->rounds.waits = true;
        if (!c->closed) timer_start(c->s->tasks, &c->round_timer, RETRY_MS);
        return;
    }
    c->rounds.due = false;
    end_round(c);
}

static void round_finished(struct compaction *c)
{
    const struct compaction_round *r = &c->rounds.round;
    const struct compaction_log *l = r->log;
    size_t before = compaction_log_count(l);
    c->s->counts.compactions++;
    c->s->counts.compacted_messages += r->read - r->kept;
    uint64_t read = r->read, kept = r->kept, damaged = r->damaged;
    int64_t ms = tasks_mono_ms(c->s->tasks) - r->begun_ms;
    end_round(c);
    log_info("store.compacted topic=\"%s\" queue=%d messages=%" PRIu64 " kept=%" PRIu64 " damaged=%" PRIu64 " files=%zu"
             " files_before=%zu position=%" PRId64 " ms=%" PRId64, l->topic, l->queue_id, read, kept, damaged, compaction_log_count(l), before,
             l->position, ms);
    compaction_position_set(c, slice_text(l->topic), l->queue_id, l->position);
    buf_clear(&c->rounds.text);
    compaction_positions_encode(c, &c->rounds.text);
    if (!c->closed) start_job(c, COMPACTION_POSITIONS);
}

static void job_done(struct work *w)
{
    struct compaction *c = LIST_OWNER(w, struct compaction, rounds.work);
    struct compaction_rounds *r = &c->rounds;
    err_t e = r->e;
    r->e = NULL;
    r->running = false;
    if (r->job == COMPACTION_POSITIONS && e) err_drop(e, "the next round writes the positions again"), e = NULL;
    if (e) round_failed(c, e);
    else if (r->job == COMPACTION_SLICE && r->round.phase == COMPACTION_DONE) round_finished(c);
    c->fed_last = false;
    if (c->closed) compaction_stop(c);
    else go_on(c);
    if (c->closed) store_job_ended(c->s);
}

static void feed_done(struct work *w)
{
    struct compaction *c = LIST_OWNER(w, struct compaction, feed.work);
    err_drop(compaction_feed_end(c), "told, and tried again");
    c->fed_last = true;
    if (c->closed) compaction_stop(c);
    else go_on(c);
    if (c->closed) store_job_ended(c->s);
}

static bool start_feed(struct compaction *c)
{
    bool behind;
    if (compaction_feed_find(c, &behind)) {
        tasks_work(c->s->tasks, &c->feed.work);
        return true;
    }
    if (behind && !c->feed_timer.armed) timer_start(c->s->tasks, &c->feed_timer, FEED_MS);
    return false;
}

static bool start_slice(struct compaction *c)
{
    struct compaction_rounds *r = &c->rounds;
    if (r->waits) return false;
    if (!r->active) {
        struct compaction_log *l = r->due ? ripe_log(c) : NULL;
        r->due = l;
        if (!l) return false;
        compaction_round_begin(&r->round, l, c->s->options.compaction.map_bytes, tasks_mono_ms(c->s->tasks));
        r->active = true;
    }
    start_job(c, COMPACTION_SLICE);
    return true;
}

static void on_fetched(struct store_fetch *f)
{
    struct compaction *c = LIST_OWNER(f, struct compaction, fetch);
    if (!c->s->closed) go_on(c);
}

bool compaction_met_cold(struct compaction *c)
{
    if (!store_is_cold(c->s)) return false;
    if (!c->fetch.job) store_fetch(c->s, &c->fetch);
    else cold_forget(&c->s->cold);
    return true;
}

/* Feeds and slices of rounds take turns. */
static void go_on(struct compaction *c)
{
    struct compaction_rounds *r = &c->rounds;
    if (job_runs(c) || c->closed) return;
    remove_doomed(c);
    if (c->fed_last && start_slice(c)) return;
    if (start_feed(c) || start_slice(c)) return;
    if (c->unused.n) start_job(c, COMPACTION_FREE);
    if (!r->active && !c->round_timer.armed && ripe_log(c)) timer_start(c->s->tasks, &c->round_timer, c->s->options.compaction.interval_ms);
}

static void end_waiting(struct compaction *c)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&c->logs, &at));) ((struct compaction_log *)e->value)->waits = false;
}

static void feed_timer_fired(void *ctx)
{
    end_waiting(ctx);
    go_on(ctx);
}

static void round_timer_fired(void *ctx)
{
    struct compaction *c = ctx;
    c->rounds.due = true;
    c->rounds.waits = false;
    go_on(c);
}

void compaction_note(struct compaction *c)
{
    if (c->topics.count && !c->closed && !c->feed_timer.armed) timer_start(c->s->tasks, &c->feed_timer, FEED_MS);
}

/* --- topics --- */

static void remove_files(struct compaction *c, struct slice topic)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s/%s/%.*s", c->folder, kinds[i], SLICE_ARG(topic));
        store_discard_folder(c->s, path);
    }
}

static bool is_at(const struct compaction *c, struct slice topic)
{
    if (c->feed.log && slice_eq(slice_text(c->feed.log->topic), topic)) return true;
    return c->rounds.active && c->rounds.running && slice_eq(slice_text(c->rounds.round.log->topic), topic);
}

static void remove_topic(struct compaction *c, struct compaction_topic *t)
{
    if (c->rounds.active && slice_eq(slice_text(c->rounds.round.log->topic), t->name)) end_round(c);
    drop_logs(c, t->name);
    compaction_positions_forget(c, t->name);
    remove_files(c, t->name);
    t->doomed = false;
}

static void remove_doomed(struct compaction *c)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&c->topics, &at));) {
        struct compaction_topic *t = e->value;
        if (t->doomed && !is_at(c, t->name)) remove_topic(c, t);
    }
}

void compaction_delete(struct compaction *c, struct slice topic)
{
    struct compaction_topic *t = map_get(&c->topics, topic);
    if (!t || !queue_topic_is_legal(topic)) return;
    t->on = false;
    t->doomed = true;
    remove_doomed(c);
}

struct opening {
    struct compaction *c;
    struct slice topic;
    err_t e;
};

static void open_queue(void *ctx, const char *name)
{
    struct opening *o = ctx;
    struct compaction_log *l;
    int32_t queue_id;
    if (o->e || !slice_to_i32(slice_text(name), &queue_id) || queue_id < 0) return;
    const struct queue_topic *t = map_get(&o->c->s->queues.topics, o->topic);
    if (t && t->kind == QUEUE_OF_BATCHES) return;
    o->e = compaction_log_get_or_open(o->c, o->topic, queues_get(&o->c->s->queues, o->topic, queue_id, QUEUE_OF_SINGLES), &l);
}

static err_t open_queues(struct compaction *c, struct slice topic)
{
    struct opening o = {.c = c, .topic = topic};
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s/%.*s", c->folder, kinds[0], SLICE_ARG(topic));
    err_t e = fs_list(c->s->fs, path, open_queue, &o);
    return e ? e : o.e;
}

static struct compaction_topic *topic_get(struct compaction *c, struct slice name)
{
    struct compaction_topic *t = map_get(&c->topics, name);
    if (t) return t;
    t = must_zero(sizeof *t);
    t->name = slice_of(must_dup(name), name.n);
    map_put(&c->topics, name, t);
    return t;
}

err_t compaction_set(struct compaction *c, struct slice topic, bool on, bool made)
{
    struct compaction_topic *t = on ? NULL : map_get(&c->topics, topic);
    if (!queue_topic_is_legal(topic) || (!on && !t)) return NULL;
    if (!t) t = topic_get(c, topic);
    bool was_on = t->on;
    t->on = on;
    if (!on || was_on) return NULL;
    if (made && !t->doomed) remove_topic(c, t);   /* what is there is left from an earlier topic of that name */
    err_t e = made ? NULL : open_queues(c, t->name);
    compaction_note(c);
    return e;
}

err_t compaction_check_size(const struct compaction *c, struct slice topic, int32_t queue_id, size_t bytes)
{
    if (!c->topics.count || !is_on(c, topic)) return NULL;
    const struct compaction_log *l = compaction_log_of(c, topic, queue_id);
    int64_t limit = (l ? l->sizes : sizes_of(&c->s->options.compaction)).log_bytes - RECORD_BLANK_BYTES;
    if ((int64_t)bytes <= limit) return NULL;
    return err_new(ERR_MESSAGE_ILLEGAL, "the message is illegal: %zu bytes do not fit into a file of the compaction log"
                   " (compactionMappedFileSize)", bytes);
}

/* --- what it tells the store --- */

size_t compaction_damaged(const struct compaction *c)
{
    struct map_entry *e;
    size_t n = 0;
    for (size_t at = 0; (e = map_next(&c->logs, &at));) n += damage_count(&((const struct compaction_log *)e->value)->damage);
    return n;
}

static int64_t limit_of(struct compaction *c, struct slice topic, struct consume_queue *q)
{
    struct queue_entry e;
    const struct compaction_log *l = compaction_log_of(c, topic, q->queue_id);
    if (q->kind == QUEUE_OF_BATCHES) return INT64_MAX;
    int64_t min = consume_queue_min(q, commit_log_first(&c->s->log)), next = l && l->next > min ? l->next : min;
    int64_t limit = next < q->end && consume_queue_get(q, next, &e) ? e.log_offset : INT64_MAX;
    return compaction_met_cold(c) ? 0 : limit;
}

int64_t compaction_log_limit(struct compaction *c)
{
    struct map_entry *e;
    int64_t limit = INT64_MAX;
    for (size_t at = 0; (e = map_next(&c->topics, &at));) {
        const struct compaction_topic *t = e->value;
        struct queue_topic *queues = t->on && !t->doomed ? map_get(&c->s->queues.topics, t->name) : NULL;
        if (!queues) continue;
        LIST_EACH(&queues->queues, node) {
            int64_t need = limit_of(c, t->name, LIST_OWNER(node, struct consume_queue, in_topic));
            if (need < limit) limit = need;
        }
    }
    return limit;
}

/* --- life --- */

err_t compaction_open(struct store *s, struct compaction **out)
{
    char path[PATH_BYTES];
    struct compaction *c = must_zero(sizeof *c);
    c->s = s;
    snprintf(path, sizeof path, "%s/compaction", s->options.root);
    c->folder = must_strdup(path);
    snprintf(path, sizeof path, "%s/position-checkpoint", c->folder);
    c->positions_path = must_strdup(path);
    c->topics = c->logs = c->positions = MAP_EMPTY;
    c->rounds.work = (struct work){.run = run_job, .done = job_done};
    compaction_feed_init(&c->feed, feed_done);
    c->fetch = (struct store_fetch){.done = on_fetched};
    timer_init(&c->feed_timer, feed_timer_fired, c);
    timer_init(&c->round_timer, round_timer_fired, c);
    err_t e = compaction_positions_load(c);
    if (e) {
        compaction_free(c);
        return e;
    }
    *out = c;
    return NULL;
}

static void catch_up(struct compaction *c)
{
    bool behind;
    int64_t bytes = 0;
    while (bytes < CATCH_UP_BYTES && compaction_feed_find(c, &behind)) {
        c->feed.work.run(&c->feed.work);
        bytes += c->feed.bytes;
        err_t e = compaction_feed_end(c);
        if (!e) continue;
        err_drop(e, "the next start goes on");
        return;
    }
    if (bytes >= CATCH_UP_BYTES) log_info("store.compaction_behind folder=\"%s\" text=\"the next start goes on\"", c->folder);
}

void compaction_stop(struct compaction *c)
{
    c->closed = true;
    timer_stop(c->s->tasks, &c->feed_timer);
    timer_stop(c->s->tasks, &c->round_timer);
    if (job_runs(c)) return;   /* its end comes back here */
    remove_doomed(c);
    if (c->rounds.active) end_round(c);
    end_waiting(c);
    catch_up(c);
}

bool compaction_is_idle(const struct compaction *c) { return !job_runs(c); }

static void free_topic(void *p)
{
    struct compaction_topic *t = p;
    free((void *)t->name.p);
    free(t);
}

static void free_log(void *l) { compaction_log_free(l); }

void compaction_free(struct compaction *c)
{
    if (!c) return;
    assert(!job_runs(c));
    free_maps(&c->unused);
    buf_done(&c->unused);
    buf_done(&c->rounds.freed);
    buf_done(&c->rounds.text);
    compaction_feed_done(&c->feed);
    compaction_positions_done(c);
    map_done_with(&c->logs, free_log);
    map_done_with(&c->topics, free_topic);
    free(c->positions_path);
    free(c->folder);
    free(c);
}
