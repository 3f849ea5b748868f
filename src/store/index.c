#include "store/index.h"

#include "base/buf.h"
#include "base/log.h"
#include "codec/java_hash.h"
#include "codec/properties.h"
#include "codec/record.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    SOON_MS = 200,                  /* how long keys may wait for others to come along; a query does not wait for it */
    RETRY_MS = 5000,
    JOB_BYTES = 32 << 20,           /* of the log, in one job */
    FAR_BEHIND_BYTES = 256 << 20,   /* a query does not wait for so much */
    KEYS_AT_ONCE = 256 << 10,       /* each time a few thousand pages of slots are written, however many keys go there */
    KEYS_KEPT = 64 << 10,           /* room for more is given back when a job does not use a quarter of it */
    FRESH_MAX = 64 << 20,           /* bytes of keys that wait; when there are more they are read from the log later */
};

/* Hashes that the keys of a topic begin with, of the topic last asked for: most messages have that of the one before them. */
struct prefix {
    struct buf topic;
    int32_t keys;
    int32_t tags;
    struct buf tag;                 /* the tag last asked for, too … */
    uint32_t tag_hash;              /* … and what its key comes to */
};

/* One walk of a worker over a part of the log. */
struct index_job {
    struct work work;
    struct index *ix;
    struct pinned bytes;            /* records from `from` on */
    int64_t from;
    int64_t to;                     /* set by the worker: everything before it has its keys in the files */
    int64_t limit;                  /* of the log */
    int64_t now_ms;
    struct list queries;
    struct buf keys;                /* struct index_key, not yet added */
    struct prefix prefix;
    err_t e;
    bool repairs;                   /* looks through the newest file instead */
    bool running;
};

struct index {
    struct index_options options;
    char *folder;
    struct index_file **files;      /* by name, oldest first; of the running job, else of the loop */
    size_t count, cap;
    int64_t first;                  /* where the log began when it was opened */
    int64_t done;                   /* records below it have their keys here */
    struct buf fresh;               /* struct index_key of messages as they were appended … */
    int64_t fresh_from;             /* … from this place on; what lies before it is read from the log. INT64_MAX: the next one's */
    struct prefix prefix;
    int64_t visible;
    int64_t sure_ms;                /* of the running job, else of the loop */
    struct index_state shown;
    bool unsure;                    /* the newest file has to be looked through */
    bool complained;
    bool closed;
    struct timer timer;
    struct list waiting;            /* queries */
    struct index_job job;
};

/* --- files; thread: whoever they belong to --- */

static struct index_file *newest(const struct index *ix) { return ix->count ? ix->files[ix->count - 1] : NULL; }

static void add_file(struct index *ix, struct index_file *f)
{
    if (ix->count == ix->cap) {
        ix->cap = ix->cap ? ix->cap * 2 : 8;
        struct index_file **files = must_alloc(ix->cap * sizeof(struct index_file *));
        if (ix->count) memcpy(files, ix->files, ix->count * sizeof(struct index_file *));
        free(ix->files);
        ix->files = files;
    }
    ix->files[ix->count++] = f;
}

static void path_of(const struct index *ix, const char *name, char out[static 1024]) { snprintf(out, 1024, "%s/%s", ix->folder, name); }

/* Two files of one millisecond would have one name. */
static void name_by_time(const struct index *ix, int64_t now_ms, char out[static INDEX_NAME_DIGITS + 1])
{
    for (;; now_ms++) {
        char text[64];
        struct tm t;
        time_t seconds = (time_t)(now_ms / 1000);
        localtime_r(&seconds, &t);
        size_t n = strftime(text, sizeof text, "%Y%m%d%H%M%S", &t);
        snprintf(text + n, sizeof text - n, "%03d", (int)(now_ms % 1000));
        memcpy(out, text, INDEX_NAME_DIGITS);
        out[INDEX_NAME_DIGITS] = 0;
        const struct index_file *f = newest(ix);
        if (!f || strcmp(out, f->path + strlen(f->path) - INDEX_NAME_DIGITS) > 0) return;
    }
}

static err_t roll(struct index *ix, int64_t now_ms)
{
    char name[INDEX_NAME_DIGITS + 1], path[1024];
    struct index_file *f, *before = newest(ix);
    err_t e = before ? index_file_sync(before) : fs_make_folder(ix->options.fs, ix->folder);
    if (e) return e;
    if (before) ix->sure_ms = before->end_ms;
    name_by_time(ix, now_ms, name);
    path_of(ix, name, path);
    e = index_file_make(ix->options.fs, path, ix->options.shape, before, &f);
    if (e) return e;
    add_file(ix, f);
    return fs_sync_folder(ix->options.fs, ix->folder);
}

/* --- keys of records; thread: any --- */

static void use_topic(struct prefix *p, struct slice topic)
{
    if (p->topic.n && slice_eq(buf_slice(&p->topic), topic)) return;
    buf_clear(&p->topic);
    buf_clear(&p->tag);
    buf_put_slice(&p->topic, topic);
    p->keys = index_topic_hash(topic);
    p->tags = java_hash_more(p->keys, SLICE("T#"));
}

static uint32_t hash_of_tag(struct prefix *p, struct slice tag)
{
    if (slice_eq(buf_slice(&p->tag), tag)) return p->tag_hash;
    buf_clear(&p->tag);
    buf_put_slice(&p->tag, tag);
    return p->tag_hash = index_hash_behind(p->tags, tag);
}

static void prefix_done(struct prefix *p)
{
    buf_done(&p->topic);
    buf_done(&p->tag);
}

static void put_key(struct buf *keys, uint32_t hash, int64_t log_offset, int64_t store_ms)
{
    *(struct index_key *)(void *)buf_take(keys, sizeof(struct index_key)) = (struct index_key){hash, log_offset, store_ms};
}

static void look_for_keys(struct message *m)
{
    struct slice rest = m->properties, name, value;
    m->unique_key = m->key_words = m->tags = (struct slice){NULL, 0};
    while (properties_next(&rest, &name, &value)) {
        if (slice_eq(name, SLICE("UNIQ_KEY"))) m->unique_key = value;
        else if (slice_eq(name, SLICE("KEYS"))) m->key_words = value;
        else if (slice_eq(name, SLICE("TAGS"))) m->tags = value;
    }
}

static void put_keys(struct prefix *p, struct buf *keys, const struct message *m, int64_t log_offset, int64_t store_ms)
{
    struct slice words = m->key_words, word;
    if ((m->sys_flag & SYS_FLAG_TRANSACTION_MASK) == SYS_FLAG_TRANSACTION_ROLLBACK) return;
    use_topic(p, m->topic);
    if (m->unique_key.n) put_key(keys, index_hash_behind(p->keys, m->unique_key), log_offset, store_ms);
    while (words.n && slice_split(&words, ' ', &word))
        if (word.n) put_key(keys, index_hash_behind(p->keys, word), log_offset, store_ms);
    if (m->tags.n) put_key(keys, hash_of_tag(p, m->tags), log_offset, store_ms);
}

static void empty_keys(struct buf *keys)
{
    if (keys->cap > KEYS_KEPT * sizeof(struct index_key) && keys->n < keys->cap / 4) buf_done(keys);
    else buf_clear(keys);
}

static err_t add_keys(struct index_job *j)
{
    struct index *ix = j->ix;
    const struct index_key *k = (const struct index_key *)(const void *)j->keys.p;
    size_t n = j->keys.n / sizeof *k;
    while (n) {
        struct index_file *f = newest(ix);
        size_t room = f ? index_file_room(f) : 0;
        err_t e = room ? index_file_add(f, k, n < room ? n : room) : roll(ix, j->now_ms);
        if (e) return e;
        if (!room) continue;
        k += n < room ? n : room;
        n -= n < room ? n : room;
    }
    empty_keys(&j->keys);
    return NULL;
}

/* The next whole record of the bytes, from i on; false at a blank and at the end. Damaged ones are passed: a record names its own
 * position, so nothing else is taken for one. */
static bool next_record(const struct index_job *j, size_t *i, struct message *m)
{
    struct slice bytes = j->bytes.bytes;
    for (; *i + RECORD_SMALLEST <= bytes.n; ++*i) {
        enum record_kind kind = record_read(slice_skip(bytes, *i), m);
        if (kind == RECORD_WHOLE && m->log_offset == j->from + (int64_t)*i) return true;
        if (kind == RECORD_BLANK) return false;
    }
    return false;
}

/* Keys of a record that the files end with are there already, all or some of them. */
static size_t keys_there(const struct index *ix, int64_t log_offset)
{
    size_t there = 0;
    for (size_t i = ix->count; i-- > 0;) {
        const struct index_file *f = ix->files[i];
        int32_t number = f->next - 1;
        while (number > 0 && index_file_offset(f, number) == log_offset) number--, there++;
        if (number > 0) break;
    }
    return there;
}

static void drop_front(struct buf *keys, size_t n)
{
    size_t bytes = n * sizeof(struct index_key);
    if (bytes > keys->n) bytes = keys->n;
    memmove(keys->p, keys->p + bytes, keys->n - bytes);
    keys->n -= bytes;
}

static err_t index_bytes(struct index_job *j)
{
    struct message m;
    size_t i = 0;
    int64_t last = newest(j->ix) ? newest(j->ix)->end_offset : -1;
    err_t e = fs_fetch(j->ix->options.fs, j->bytes.bytes.p, j->bytes.bytes.n < JOB_BYTES ? j->bytes.bytes.n : JOB_BYTES, 0);
    bool more = true;
    while (!e && i < JOB_BYTES && (more = next_record(j, &i, &m))) {
        look_for_keys(&m);
        if (m.log_offset >= last) put_keys(&j->prefix, &j->keys, &m, m.log_offset, m.store_ms);
        if (m.log_offset == last) drop_front(&j->keys, keys_there(j->ix, last));
        i += record_read_size(&m);
        if (j->keys.n >= KEYS_AT_ONCE * sizeof(struct index_key)) e = add_keys(j);
    }
    if (!e) e = add_keys(j);
    if (!e) j->to = j->from + (int64_t)(more ? i : j->bytes.bytes.n);
    return e;
}

/* --- queries; thread: worker --- */

static void answer(struct index *ix, struct index_query *q)
{
    size_t max = q->max < INDEX_FOUND_MAX ? q->max : INDEX_FOUND_MAX;
    for (size_t i = ix->count; i-- > 0 && q->count < max;) {
        const struct index_file *f = ix->files[i];
        if (f->next > 1 && f->begin_ms <= q->end_ms && f->end_ms >= q->begin_ms)
            q->count += index_file_find(f, q->hash, q->begin_ms, q->end_ms, q->found + q->count, max - q->count);
        if (f->begin_ms > 0 && f->begin_ms < q->begin_ms) break;   /* older files are older still */
    }
}

/* Places behind `limit` are none: bytes of a header may be damaged. */
static int64_t end_of_files(const struct index *ix, int64_t limit)
{
    int64_t end = 0;
    for (size_t i = 0; i < ix->count; i++) {
        const struct index_file *f = ix->files[i];
        int64_t at = f->doubtful && f->next > 1 ? index_file_offset(f, f->next - 1) : f->end_offset;
        if (at > end && at < limit) end = at;
    }
    return end;
}

static void run_job(struct work *w)
{
    struct index_job *j = LIST_OWNER(w, struct index_job, work);
    if (j->repairs) {
        j->e = index_file_repair(newest(j->ix));
        int64_t end = end_of_files(j->ix, j->limit);
        j->to = end > j->from ? end : j->from;
    } else if (j->bytes.bytes.n) {
        j->e = index_bytes(j);
    } else if (j->keys.n) {
        j->e = add_keys(j);
    }
    LIST_EACH(&j->queries, node) answer(j->ix, LIST_OWNER(node, struct index_query, node));
}

/* --- jobs; thread: loop --- */

static void go_on(struct index *ix);

static void show_state(struct index *ix)
{
    const struct index_file *f = newest(ix);
    ix->shown = (struct index_state){.sure_ms = ix->sure_ms, .newest_ms = f ? f->end_ms : 0, .newest_offset = f ? f->end_offset : 0};
}

static void complain(struct index *ix, err_t e)
{
    if (!ix->complained) log_warn("index.behind folder=\"%s\" why=\"%s\"", ix->folder, err_text(e));
    ix->complained = true;
    err_free(e);
}

static void release(struct index *ix)
{
    for (size_t i = 0; i < ix->count; i++) index_file_close(ix->files[i]);
    buf_done(&ix->job.keys);
    prefix_done(&ix->job.prefix);
    prefix_done(&ix->prefix);
    buf_done(&ix->fresh);
    free(ix->files);
    free(ix->folder);
    free(ix);
}

static void tell(struct list *answered)
{
    while (!list_empty(answered)) {
        struct index_query *q = LIST_OWNER(list_first(answered), struct index_query, node);
        list_remove(&q->node);
        q->done(q);
    }
}

static int64_t first_fresh(const struct index *ix)
{
    const struct index_key *k = (const struct index_key *)(const void *)ix->fresh.p;
    return ix->fresh.n ? k->log_offset : INT64_MAX;
}

/* What the job has done is done: the error it ended with. */
static err_t job_result(struct index *ix)
{
    struct index_job *j = &ix->job;
    err_t e = j->e;
    j->e = NULL;
    show_state(ix);
    pin_release(&j->bytes);
    buf_clear(&j->keys);
    if (e) {
        ix->fresh_from = first_fresh(ix);   /* what this job had is read from the log next time */
        return e;
    }
    ix->done = j->to;
    if (j->repairs) ix->unsure = false;
    if (ix->complained) log_info("index.writes_again folder=\"%s\"", ix->folder);
    ix->complained = false;
    return NULL;
}

static void job_done(struct work *w)
{
    struct index *ix = LIST_OWNER(w, struct index_job, work)->ix;
    struct list answered;
    ix->job.running = false;
    list_move(&ix->job.queries, &answered);
    err_t e = job_result(ix);
    bool closed = ix->closed;
    void (*ended)(void *ctx) = ix->options.ended;
    void *ctx = ix->options.ctx;
    if (e) complain(ix, e);
    if (closed) index_catch_up(ix);
    else if (e) timer_start(ix->options.tasks, &ix->timer, RETRY_MS);
    else go_on(ix);
    if (closed) release(ix);
    tell(&answered);
    if (closed) ended(ctx);
}

/* Queries that this job can answer: nothing that they ask for comes after it, or so much that they cannot wait. */
static void take_queries(struct index *ix, int64_t to)
{
    LIST_EACH(&ix->waiting, node) {
        struct index_query *q = LIST_OWNER(node, struct index_query, node);
        if (q->need > to && q->need - to < FAR_BEHIND_BYTES) continue;
        list_remove(node);
        list_add(&ix->job.queries, node);
    }
}

/* The part of the log before the fresh keys; false when it is done. */
static bool read_log(struct index *ix)
{
    struct index_job *j = &ix->job;
    int64_t end = ix->fresh_from < ix->visible ? ix->fresh_from : ix->visible;
    if (ix->done >= end || !ix->options.read(ix->options.ctx, ix->done, &j->bytes)) return false;
    if (j->bytes.bytes.n > (size_t)(end - ix->done)) j->bytes.bytes.n = (size_t)(end - ix->done);
    return true;
}

/* The fresh keys of visible records; those of the others stay. */
static bool take_fresh(struct index *ix)
{
    struct index_job *j = &ix->job;
    if (ix->done < ix->fresh_from || ix->done >= ix->visible) return false;
    const struct index_key *k = (const struct index_key *)(const void *)ix->fresh.p;
    size_t n = ix->fresh.n / sizeof *k;
    while (n && k[n - 1].log_offset >= ix->visible) n--;
    struct buf rest = j->keys;
    buf_put(&rest, k + n, ix->fresh.n - n * sizeof *k);
    j->keys = ix->fresh;
    j->keys.n = n * sizeof *k;
    ix->fresh = rest;
    j->to = ix->visible;
    return true;
}

/* Gives the next job what it has to do, but for queries; false: there is nothing. */
static bool take_work(struct index *ix)
{
    struct index_job *j = &ix->job;
    j->repairs = ix->unsure;
    j->from = j->to = j->repairs ? ix->first : ix->done;
    return j->repairs || read_log(ix) || take_fresh(ix);
}

static void begin_job(struct index *ix)
{
    struct index_job *j = &ix->job;
    if (j->running || ix->closed) return;
    bool more = take_work(ix);
    if (!j->repairs) take_queries(ix, !more ? INT64_MAX : j->bytes.bytes.n ? ix->done + (int64_t)j->bytes.bytes.n : j->to);
    if (!more && list_empty(&j->queries)) return;
    timer_stop(ix->options.tasks, &ix->timer);
    j->limit = ix->visible;
    j->now_ms = tasks_wall_ms(ix->options.tasks);
    j->running = true;
    tasks_work(ix->options.tasks, &j->work);
}

/* Keys of what was just appended wait for others: a page of slots costs the same for one key and for many. */
static void wait_for_more(struct index *ix)
{
    if (ix->fresh.n >= KEYS_AT_ONCE * sizeof(struct index_key)) begin_job(ix);
    else if (ix->visible > ix->done && !ix->timer.armed) timer_start(ix->options.tasks, &ix->timer, SOON_MS);
}

static void go_on(struct index *ix)
{
    bool behind = ix->done < ix->visible && ix->done < ix->fresh_from;
    if (behind || ix->unsure || !list_empty(&ix->waiting)) begin_job(ix);
    else wait_for_more(ix);
}

void index_note(struct index *ix, const struct message *m, int64_t log_offset, int64_t store_ms)
{
    if (ix->fresh.n >= FRESH_MAX) {
        buf_done(&ix->fresh);
        ix->fresh_from = INT64_MAX;
    }
    if (ix->fresh_from == INT64_MAX) ix->fresh_from = log_offset;
    if (m->keys_known) {
        put_keys(&ix->prefix, &ix->fresh, m, log_offset, store_ms);
        return;
    }
    struct message with_keys = *m;
    look_for_keys(&with_keys);
    put_keys(&ix->prefix, &ix->fresh, &with_keys, log_offset, store_ms);
}

void index_forget(struct index *ix, int64_t from)
{
    const struct index_key *k = (const struct index_key *)(const void *)ix->fresh.p;
    while (ix->fresh.n && k[ix->fresh.n / sizeof *k - 1].log_offset >= from) ix->fresh.n -= sizeof *k;
    if (ix->fresh_from != INT64_MAX && ix->fresh_from > from) ix->fresh_from = from;
}

static void timer_fired(void *ctx) { begin_job(ctx); }

void index_advance(struct index *ix, int64_t end)
{
    ix->visible = end;
    if (!ix->job.running && !ix->complained) wait_for_more(ix);
}

void index_find(struct index *ix, struct index_query *q)
{
    q->need = ix->visible;
    q->count = 0;
    list_add(&ix->waiting, &q->node);
    begin_job(ix);
}

void index_begin_at(struct index *ix, int64_t log_first, struct buf *paths)
{
    if (ix->job.running) return;
    size_t old = 0;
    while (old + 1 < ix->count && ix->files[old]->end_offset < log_first) {
        buf_put(paths, ix->files[old]->path, strlen(ix->files[old]->path) + 1);
        index_file_close(ix->files[old++]);
    }
    ix->count -= old;
    if (old) memmove(ix->files, ix->files + old, ix->count * sizeof *ix->files);
    if (ix->first < log_first) ix->first = log_first;
    if (ix->done < log_first) ix->done = log_first;
}

bool index_is_idle(const struct index *ix) { return !ix->job.running; }

struct index_state index_state(const struct index *ix)
{
    struct index_state state = ix->shown;
    state.failed = ix->complained;
    return state;
}


/* --- life --- */

static void open_one(void *ctx, const char *name)
{
    struct index *ix = ctx;
    struct index_file *f;
    char path[1024];
    if (!index_file_has_name(name)) return;
    path_of(ix, name, path);
    err_t e = index_file_open(ix->options.fs, path, ix->options.shape, &f);
    if (!e) {
        add_file(ix, f);
        return;
    }
    log_warn("index.file_removed path=\"%s\" why=\"%s\"", path, err_text(e));
    err_free(e);
    err_drop(fs_remove(ix->options.fs, path), "it is built again beside it");
}

/* Keys are added to the newest file. One whose times are wrong would hide them; what is in it is built again from the log. */
static void drop_newest_if_wrong(struct index *ix)
{
    struct index_file *f = newest(ix);
    if (!f || index_file_times_fit(f)) return;
    log_warn("index.file_removed path=\"%s\" why=\"its header is damaged\"", f->path);
    err_drop(fs_remove(ix->options.fs, f->path), "it is built again beside it");
    index_file_close(f);
    ix->count--;
}

struct index *index_new(const struct index_options *options, int64_t log_first, int64_t log_end)
{
    struct index *ix = must_zero(sizeof *ix);
    ix->options = *options;
    ix->folder = must_strdup(options->folder);
    ix->sure_ms = options->sure_ms;
    list_init(&ix->waiting);
    list_init(&ix->job.queries);
    ix->job.ix = ix;
    ix->job.keys = BUF_EMPTY;
    ix->job.work.run = run_job;
    ix->job.work.done = job_done;
    timer_init(&ix->timer, timer_fired, ix);
    err_drop(fs_list(options->fs, ix->folder, open_one, ix), "what is not there is built again");
    drop_newest_if_wrong(ix);
    const struct index_file *f = newest(ix);
    ix->first = log_first;
    ix->fresh_from = log_end;
    int64_t end = end_of_files(ix, log_end);
    ix->done = end > log_first ? end : log_first;
    ix->unsure = f && (f->end_ms > options->sure_ms || f->next == 1 || f->doubtful);
    show_state(ix);
    return ix;
}

void index_catch_up(struct index *ix)
{
    err_t e = NULL;
    if (ix->job.running) return;   /* its end comes back here */
    timer_stop(ix->options.tasks, &ix->timer);
    ix->job.now_ms = tasks_wall_ms(ix->options.tasks);
    bool near = !ix->unsure && ix->visible - ix->done < FAR_BEHIND_BYTES;
    while (near && !e && take_work(ix)) {
        run_job(&ix->job.work);
        e = job_result(ix);
    }
    struct index_file *f = newest(ix);
    if (ix->unsure) f = NULL;   /* what was not looked through cannot be vouched for */
    if (!e && f && ix->sure_ms < f->end_ms) e = index_file_sync(f);
    if (!e && f) ix->sure_ms = f->end_ms;
    show_state(ix);
    if (e) complain(ix, e);
    if (!near) log_info("index.behind folder=\"%s\" bytes=%" PRId64 " text=\"the next start goes on\"", ix->folder, ix->visible - ix->done);
}

void index_free(struct index *ix)
{
    if (!ix) return;
    timer_stop(ix->options.tasks, &ix->timer);
    struct list answered;
    list_move(&ix->waiting, &answered);
    ix->closed = true;
    if (!ix->job.running) release(ix);
    tell(&answered);
}
