#include "timer/timer.h"

#include "base/log.h"
#include "timer/files.h"
#include "timer/load.h"
#include "timer/wheel.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <threads.h>

enum { LOAD_RETRY_MS = 1000 };

/* A job that somebody who may block can wait for, or keep from beginning. */
enum job_state { JOB_NONE, JOB_WAITS, JOB_RUNS, JOB_ENDED, JOB_CALLED_OFF };

struct job {
    struct work work;
    struct timers *timers;
    _Atomic int state;
    bool given;                      /* `done` has not run */
    err_t e;                         /* the job's answer */
};

/* The units of a slot that lie in files. */
struct chain_job {
    struct job job;
    int64_t from;                    /* position of the newest */
    int64_t slot_ms;
    int64_t reached;                 /* position that could not be read */
    struct buf units;
};

struct flush_job {
    struct job job;
    struct buf log;                  /* bytes of the log of timers … */
    int64_t from;                    /* … and where they begin */
    struct buf pages;                /* size_t number, bytes; repeated */
    struct timer_check check;
    int64_t log_min;
    int64_t first, end;              /* of the log of timers */
    bool put_aside;                  /* the files are not to be used any more */
    bool prepared;                   /* until it is written, or put back */
};

struct timers {
    struct timers_options options;
    struct tasks *tasks;
    struct timer_files files;
    struct wheel wheel;
    struct timers_begin begin;
    struct buf known;                /* int64_t, ascending */
    int64_t first;                   /* of the log of timers */
    struct buf tail;                 /* of the log, not yet on its way to the disk … */
    int64_t tail_from;               /* … from this position on */
    struct timers_take *take;        /* who waits for the units of a slot */
    bool reset;                      /* with the next flush the files are put aside */
    bool ready;
    bool closed;
    struct timer retry;
    struct job load_job;
    struct timer_load load;
    struct chain_job chain;
    struct flush_job flush;
};

/* --- jobs --- */

static void timers_free(struct timers *t)
{
    wheel_done(&t->wheel);
    timer_files_done(&t->files);
    buf_done(&t->known);
    buf_done(&t->load.known);
    buf_done(&t->tail);
    buf_done(&t->chain.units);
    buf_done(&t->flush.log);
    buf_done(&t->flush.pages);
    free((void *)t->options.root);
    free(t);
}

static void give(struct job *j)
{
    j->given = true;
    atomic_store(&j->state, JOB_WAITS);
    tasks_work(j->timers->tasks, &j->work);
}

/* Thread: worker. False: it was called off. */
static bool begins(struct job *j)
{
    int waits = JOB_WAITS;
    return atomic_compare_exchange_strong(&j->state, &waits, JOB_RUNS);
}

static void ends(struct job *j) { atomic_store(&j->state, JOB_ENDED); }

/* The job is over, or will not begin. Waits for one that runs. */
static void settle(struct job *j)
{
    int waits = JOB_WAITS;
    if (atomic_compare_exchange_strong(&j->state, &waits, JOB_CALLED_OFF)) return;
    while (atomic_load(&j->state) == JOB_RUNS) thrd_yield();
}

/* For `done`: whether the owner has gone meanwhile. */
static bool is_gone(struct job *j)
{
    struct timers *t = j->timers;
    j->given = false;
    if (!t->closed) return false;
    err_free(j->e);
    j->e = NULL;
    if (!t->load_job.given && !t->chain.job.given && !t->flush.job.given) timers_free(t);
    return true;
}

/* --- the beginning --- */

static void run_load(struct work *w)
{
    struct job *j = LIST_OWNER(w, struct job, work);
    if (!begins(j)) return;
    j->e = timer_load(&j->timers->load);
    ends(j);
}

static void load_again(void *timers)
{
    struct timers *t = timers;
    wheel_done(&t->wheel);
    buf_done(&t->load.known);
    t->load = (struct timer_load){.files = &t->files, .tick_ms = t->options.tick_ms, .wheel = &t->wheel};
    give(&t->load_job);
}

static void loaded(struct work *w)
{
    struct job *j = LIST_OWNER(w, struct job, work);
    struct timers *t = j->timers;
    if (is_gone(j)) return;
    if (j->e) {
        log_error("timer.not_loaded root=\"%s\" error=\"%s\" text=\"timer messages wait; tried again each second\"", t->options.root, err_text(j->e));
        err_free(j->e);
        j->e = NULL;
        timer_start(t->tasks, &t->retry, LOAD_RETRY_MS);
        return;
    }
    t->begin = (struct timers_begin){t->load.check, t->load.lost};
    t->known = t->load.known;
    t->load.known = BUF_EMPTY;
    t->first = t->load.first;
    t->tail_from = t->load.end;
    t->ready = true;
    t->options.ready(t->options.ctx);
}

const struct timers_begin *timers_begin(const struct timers *t) { return &t->begin; }

bool timers_has(const struct timers *t, int64_t log_offset)
{
    size_t low = 0, high = t->known.n / sizeof(int64_t);
    while (low < high) {
        int64_t at;
        size_t middle = (low + high) / 2;
        memcpy(&at, t->known.p + middle * sizeof at, sizeof at);
        if (at == log_offset) return true;
        if (at < log_offset) low = middle + 1;
        else high = middle;
    }
    return false;
}

void timers_forget_known(struct timers *t) { buf_done(&t->known); }

/* --- adding --- */

int64_t timers_log_end(const struct timers *t) { return t->tail_from + (int64_t)t->tail.n; }

/* The rest of the file is a blank. */
static void end_file(struct timers *t)
{
    int64_t left = t->files.file_bytes - timers_log_end(t) % t->files.file_bytes;
    uint8_t *p = buf_take(&t->tail, (size_t)left);
    memset(p, 0, (size_t)left);
    if (left >= TIMER_BLANK_BYTES) timer_blank_encode((int32_t)left, p);
}

bool timers_add(struct timers *t, const struct timer_unit *u)
{
    assert(t->ready);
    struct timer_unit unit = *u;
    int64_t time = timer_unit_time_ms(u) / t->options.tick_ms;
    const struct timer_slot *s = wheel_slot(&t->wheel, time);
    if (s && s->last >= 0 && s->time != time) return false;   /* one that is delivered was cleared */
    if (!timer_unit_fits(t->files.file_bytes, timers_log_end(t) % t->files.file_bytes)) end_file(t);
    int64_t position = timers_log_end(t);
    unit.before = s ? s->last : -1;
    timer_unit_encode(&unit, buf_take(&t->tail, TIMER_UNIT_BYTES));
    wheel_add(&t->wheel, time, position, unit.flags);
    return true;
}

/* --- what is due --- */

static bool is_open(const struct timers *t, int64_t time)
{
    return wheel_holds(wheel_slot(&t->wheel, time), time) && !*wheel_mark(&t->wheel, time);
}

int64_t timers_first(const struct timers *t)
{
    int64_t first = -1;
    for (size_t i = 0; i < TIMER_SLOTS; i++) {
        if (!t->wheel.pages[i / WHEEL_PAGE_SLOTS]) {
            i += WHEEL_PAGE_SLOTS - 1;
            continue;
        }
        const struct timer_slot *s = wheel_slot(&t->wheel, (int64_t)i);
        if (s->last >= 0 && (first < 0 || s->time < first)) first = s->time;
    }
    return first < 0 ? -1 : first * t->options.tick_ms;
}

int64_t timers_next(const struct timers *t, int64_t from_ms, int64_t to_ms)
{
    if (!t->ready) return -1;
    int64_t tick_ms = t->options.tick_ms, time = from_ms > 0 ? (from_ms + tick_ms - 1) / tick_ms : 0, end = (to_ms + tick_ms - 1) / tick_ms;
    while (time < end) {
        size_t in_page = wheel_index(time) % WHEEL_PAGE_SLOTS;
        if (!t->wheel.pages[wheel_index(time) / WHEEL_PAGE_SLOTS]) time += (int64_t)(WHEEL_PAGE_SLOTS - in_page);
        else if (is_open(t, time)) return time * t->options.tick_ms;
        else time++;
    }
    return -1;
}

int32_t timers_count_at(const struct timers *t, int64_t ms)
{
    int64_t time = ms / t->options.tick_ms;
    const struct timer_slot *s = t->ready ? wheel_slot(&t->wheel, time) : NULL;
    return wheel_holds(s, time) ? s->count : 0;
}

int64_t timers_count(const struct timers *t) { return t->ready ? t->wheel.count : 0; }

/* A unit that has not reached its file; NULL: it has, or was never. */
static const uint8_t *in_memory(const struct timers *t, int64_t position)
{
    const struct flush_job *f = &t->flush;
    if (position >= t->tail_from) return position + TIMER_UNIT_BYTES <= timers_log_end(t) ? t->tail.p + (position - t->tail_from) : NULL;
    bool going = f->prepared && position >= f->from && position + TIMER_UNIT_BYTES <= f->from + (int64_t)f->log.n;
    return going ? f->log.p + (position - f->from) : NULL;
}

static bool is_of_slot(const struct timer_unit *u, int64_t slot_ms, int64_t tick_ms) { return timer_unit_time_ms(u) / tick_ms == slot_ms / tick_ms; }

static err_t broken(int64_t position, int64_t slot_ms)
{
    return err_new(ERR_CORRUPT, "the unit at %lld of the timer log is not one of %lld", (long long)position, (long long)slot_ms);
}

/* Thread: worker. */
static void run_chain(struct work *w)
{
    struct chain_job *c = LIST_OWNER(w, struct chain_job, job.work);
    const struct timers *t = c->job.timers;
    struct timer_reader r;
    if (!begins(&c->job)) return;
    err_t e = NULL;
    timer_reader_init(&r, &t->files, true);
    for (int64_t at = c->from; !e && at >= 0;) {
        struct timer_unit u;
        c->reached = at;
        e = timer_reader_unit(&r, at, &u);
        if (!e && !is_of_slot(&u, c->slot_ms, t->options.tick_ms)) e = broken(at, c->slot_ms);
        if (e) break;
        buf_put(&c->units, &u, sizeof u);
        at = u.before;
    }
    timer_reader_done(&r);
    c->job.e = e;
    ends(&c->job);
}

static void answer_take(struct timers *t, err_t e)
{
    struct timers_take *take = t->take;
    t->take = NULL;
    if (take) take->done(take, e);
    else err_free(e);
}

static void chain_read(struct work *w)
{
    struct chain_job *c = LIST_OWNER(w, struct chain_job, job.work);
    struct timers *t = c->job.timers;
    if (is_gone(&c->job)) return;
    err_t e = c->job.e;
    c->job.e = NULL;
    if (err_code(e) == ERR_NOT_FOUND && c->reached < t->first) {
        err_free(e);   /* that old, that its message is gone too */
        e = NULL;
    } else if (err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        e = broken(c->reached, c->slot_ms);
    }
    if (t->take) t->take->units = c->units;
    else buf_done(&c->units);
    c->units = BUF_EMPTY;
    answer_take(t, e);
}

void timers_take(struct timers *t, int64_t slot_ms, struct timers_take *take)
{
    assert(t->ready && !t->take && !t->chain.job.given);
    int64_t time = slot_ms / t->options.tick_ms, at = wheel_slot(&t->wheel, time)->last;
    const uint8_t *p;
    err_t e = NULL;
    *wheel_mark(&t->wheel, time) = true;
    t->take = take;
    while (!e && at >= 0 && (p = in_memory(t, at))) {
        struct timer_unit u;
        if (!timer_unit_decode(p, at, &u) || !is_of_slot(&u, slot_ms, t->options.tick_ms)) e = broken(at, slot_ms);
        else buf_put(&take->units, &u, sizeof u);
        if (!e) at = u.before;
    }
    if (e || at < 0) {
        answer_take(t, e);
        return;
    }
    t->chain.from = at;
    t->chain.slot_ms = slot_ms;
    t->chain.units = take->units;   /* the job goes on there */
    take->units = BUF_EMPTY;
    give(&t->chain.job);
}

void timers_take_cancel(struct timers *t)
{
    if (t) t->take = NULL;
}

void timers_clear(struct timers *t, int64_t slot_ms, bool again)
{
    int64_t time = slot_ms / t->options.tick_ms;
    if (!wheel_holds(wheel_slot(&t->wheel, time), time)) return;   /* everything was forgotten meanwhile */
    if (again) *wheel_mark(&t->wheel, time) = false;
    else wheel_clear(&t->wheel, time);
}

/* --- to the disk --- */

/* Thread: worker, or whoever may block. The checkpoint comes last: it vouches for the rest. */
static err_t write_all(const struct timer_files *files, struct flush_job *f)
{
    err_t e = f->put_aside ? timer_files_put_aside(files) : NULL;
    if (!e) e = timer_files_write_log(files, f->from, buf_slice(&f->log));
    if (!e) e = timer_files_write_wheel(files, buf_slice(&f->pages));
    if (!e) e = timer_files_write_check(files, &f->check);
    if (!e) err_drop(timer_files_expire(files, f->log_min, f->end, &f->first), "the file is kept; it is tried again");
    return e;
}

static void run_flush(struct work *w)
{
    struct flush_job *f = LIST_OWNER(w, struct flush_job, job.work);
    if (!begins(&f->job)) return;
    f->job.e = write_all(&f->job.timers->files, f);
    ends(&f->job);
}

static void take_pages(struct timers *t, struct buf *out)
{
    for (size_t i = 0; i < WHEEL_PAGES; i++) {
        struct wheel_page *p = t->wheel.pages[i];
        if (!p || !p->dirty) continue;
        buf_put(out, &i, sizeof i);
        wheel_page_encode(&t->wheel, i, buf_take(out, WHEEL_PAGE_BYTES));
        p->dirty = false;
    }
}

static void prepare(struct timers *t, const struct timer_check *check)
{
    struct flush_job *f = &t->flush;
    buf_clear(&f->pages);
    take_pages(t, &f->pages);
    buf_done(&f->log);
    f->log = t->tail;
    f->from = t->tail_from;
    t->tail_from = timers_log_end(t);
    t->tail = BUF_EMPTY;
    f->check = *check;
    f->check.flushed = t->tail_from;
    f->check.tick_ms = t->options.tick_ms;
    f->first = t->first;
    f->end = timer_file_start(&t->files, t->tail_from + t->files.file_bytes - 1);
    f->put_aside = t->reset;
    f->prepared = true;
    t->reset = false;
}

/* What could not be written is written with the next flush. */
static void put_back(struct timers *t)
{
    struct flush_job *f = &t->flush;
    buf_put_slice(&f->log, buf_slice(&t->tail));
    buf_done(&t->tail);
    t->tail = f->log;
    t->tail_from = f->from;
    f->log = BUF_EMPTY;
    for (struct slice rest = buf_slice(&f->pages); rest.n; rest = slice_skip(rest, sizeof(size_t) + WHEEL_PAGE_BYTES)) {
        size_t number;
        memcpy(&number, rest.p, sizeof number);
        if (t->wheel.pages[number]) t->wheel.pages[number]->dirty = true;
    }
    t->reset |= f->put_aside;
    f->prepared = false;
}

/* A flush that everything was forgotten under wrote what does not count any more. */
static bool is_overtaken(const struct timers *t) { return t->reset && !t->flush.put_aside; }

static void flushed(struct work *w)
{
    struct flush_job *f = LIST_OWNER(w, struct flush_job, job.work);
    struct timers *t = f->job.timers;
    if (is_gone(&f->job)) return;
    err_t e = f->job.e;
    f->job.e = NULL;
    if (!is_overtaken(t)) {
        if (e) put_back(t);
        else t->first = f->first;
        if (!e) wheel_trim(&t->wheel, f->check.read_ms / t->options.tick_ms);
    }
    f->prepared = false;
    buf_done(&f->log);
    buf_done(&f->pages);
    t->options.flushed(t->options.ctx, e);
}

bool timers_prepare(struct timers *t, const struct timer_check *check)
{
    assert(t->ready);
    if (t->flush.prepared || t->flush.job.given) return false;
    prepare(t, check);
    return true;
}

void timers_flush(struct timers *t, int64_t log_min)
{
    assert(t->flush.prepared && !t->flush.job.given);
    t->flush.log_min = log_min;
    give(&t->flush.job);
}

void timers_reset(struct timers *t)
{
    wheel_done(&t->wheel);
    buf_done(&t->tail);
    buf_done(&t->known);
    t->first = t->tail_from = 0;
    t->reset = true;
    if (t->flush.prepared && !t->flush.job.given) t->flush.prepared = false;
}

/* --- life --- */

static void job_init(struct job *j, struct timers *t, void (*run)(struct work *), void (*done)(struct work *))
{
    j->work = (struct work){.run = run, .done = done};
    j->timers = t;
}

struct timers *timers_new(const struct timers_options *options, struct fs *fs, struct tasks *tasks)
{
    struct timers *t = must_zero(sizeof *t);
    t->options = *options;
    t->options.root = must_strdup(options->root);
    t->tasks = tasks;
    timer_files_init(&t->files, fs, options->root, options->log_file_bytes);
    timer_init(&t->retry, load_again, t);
    job_init(&t->load_job, t, run_load, loaded);
    job_init(&t->chain.job, t, run_chain, chain_read);
    job_init(&t->flush.job, t, run_flush, flushed);
    load_again(t);
    return t;
}

err_t timers_close(struct timers *t, const struct timer_check *check)
{
    if (!t) return NULL;
    err_t e = NULL;
    struct job *all[] = {&t->load_job, &t->chain.job, &t->flush.job};
    bool busy = false;
    timer_stop(t->tasks, &t->retry);
    t->take = NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]->given) settle(all[i]);
        busy |= all[i]->given;
    }
    if (t->ready && check) {
        bool ended_well = t->flush.job.given && atomic_load(&t->flush.job.state) == JOB_ENDED && !t->flush.job.e;
        if (t->flush.prepared && !ended_well && !is_overtaken(t)) put_back(t);
        prepare(t, check);
        t->flush.log_min = 0;
        e = write_all(&t->files, &t->flush);
    }
    t->closed = true;
    if (!busy) timers_free(t);
    return err_in(e, "write the timers");
}
