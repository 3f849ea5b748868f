#include "store/cold.h"

#include "base/log.h"
#include "store/damage.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    JOBS_MAX = 8,                   /* that read at a time; workers are left for those who sync */
    LOOK_BYTES = 256 << 10,         /* of the log, looked at together */
    AHEAD_MIN = 64 << 10,
    AHEAD_MAX = 4 << 20,
    QUEUE_BYTES = 128 << 10,        /* of a queue's file, read at once: from a 64 KiB step on, so also what lies shortly before */
};

struct cold_job {
    struct work work;
    struct list_node node;
    struct cold *cold;
    struct fs *fs;
    struct store_fetch *asker;      /* NULL: nobody waits for it any more */
    struct cold_place place;
    size_t ahead;
    int64_t share;                  /* of a reader who reads on and on: bytes that nobody has asked for yet; of others 0 */
    bool goes_on;
    err_t e;
};

static void look_again(void *ctx) { (void)ctx; /* the turn it makes is what it is for */ }

void cold_init(struct cold *c, struct fs *fs, struct tasks *tasks, void (*ended)(void *ctx), void *ctx)
{
    *c = (struct cold){.tasks = tasks, .fs = fs, .waits = true, .ended = ended, .ctx = ctx};
    list_init(&c->waiting);
    list_init(&c->running);
    timer_init(&c->timer, look_again, c);
}

/* --- what was met --- */

static void place_done(struct cold_place *p)
{
    if (p->file) mapped_file_unpin(p->file);
    p->file = NULL;
}

void cold_forget(struct cold *c)
{
    c->met = false;
    place_done(&c->place);
}

bool cold_is_warm(struct cold *c, struct mapped_file *f, int64_t at, int64_t bytes, int64_t end, struct damage *damage)
{
    if (c->waits || (f == c->warm_file && at >= c->warm_from && at + bytes <= c->warm_to)) return true;
    if (end > mapped_file_end(f)) end = mapped_file_end(f);
    int64_t look = bytes > LOOK_BYTES ? bytes : LOOK_BYTES;
    if (look > end - at) look = end - at;
    int64_t warm = (int64_t)fs_in_memory(f->fs, mapped_file_from(f, at).p, (size_t)look);
    if (warm > 0) {
        c->warm_file = f;
        c->warm_from = at;
        c->warm_to = at + warm;
    }
    if (warm >= bytes) return true;
    if (c->met) return false;
    c->met = true;
    mapped_file_pin(f);
    c->place.file = f;
    c->place.damage = damage;
    c->place.at = at;
    c->place.bytes = (size_t)bytes;
    return false;
}

void cold_meet_queue(struct cold *c, const char *path, int64_t at)
{
    if (c->met) return;
    c->met = true;
    snprintf(c->place.path, sizeof c->place.path, "%s", path);
    c->place.at = at;
}

/* --- jobs --- */

static err_t read_queue(const struct cold_job *j)
{
    struct file *f;
    size_t got;
    err_t e = fs_open(j->fs, j->place.path, FILE_WRITE, &f);
    if (e) return e;
    void *bytes = must_alloc(QUEUE_BYTES);
    e = file_read_at(f, j->place.at - j->place.at % (QUEUE_BYTES / 2), bytes, QUEUE_BYTES, &got);
    free(bytes);
    file_close(f);
    return e;
}

static void run_job(struct work *w)
{
    struct cold_job *j = LIST_OWNER(w, struct cold_job, work);
    const struct cold_place *p = &j->place;
    j->e = p->file ? fs_fetch(j->fs, mapped_file_from(p->file, p->at).p, p->bytes, j->ahead) : read_queue(j);
}

static void job_done(struct work *w);

static bool has_room(const struct cold *c) { return c->running_count < JOBS_MAX; }

static void begin(struct cold *c, struct cold_job *j)
{
    list_remove(&j->node);
    list_add(&c->running, &j->node);
    c->running_count++;
    past_share_spend(&c->share, j->share);
    j->work = (struct work){.run = run_job, .done = job_done};
    tasks_work(c->tasks, &j->work);
}

static void give_away(struct cold *c)
{
    LIST_EACH(&c->waiting, node) {
        struct cold_job *j = LIST_OWNER(node, struct cold_job, node);
        if (has_room(c) && (!j->goes_on || past_share_allows(&c->share))) begin(c, j);
    }
    if (!list_empty(&c->waiting) && has_room(c) && !c->timer.armed) timer_start(c->tasks, &c->timer, PAST_WINDOW_MS);
}

void cold_turn_ended(struct cold *c, int64_t written)
{
    cold_forget(c);
    c->warm_file = NULL;
    past_share_turn(&c->share, tasks_mono_ms(c->tasks), tasks_idle_us(c->tasks), written);
    if (!list_empty(&c->waiting)) give_away(c);
}

static void answer(struct cold_job *j)
{
    struct store_fetch *f = j->asker;
    j->asker = NULL;
    if (!f) return;
    f->job = NULL;
    f->bytes = j->place.file ? (int64_t)(j->place.bytes + j->ahead) : 0;
    f->done(f);
}

/* What the disk does not give is no message; of a queue (whose file may not be there) the read that follows waits and sees for itself. */
static void note_failure(struct cold *c, struct cold_job *j)
{
    if (j->place.file) {
        log_warn("store.unreadable position=%" PRId64 " text=\"%s\"", j->place.at, err_text(j->e));
        damage_add_record(j->place.damage, j->place.at, "the disk cannot read it");
        return;
    }
    if (err_code(j->e) != ERR_NOT_FOUND)
        log_warn("store.unreadable path=\"%s\" at=%" PRId64 " text=\"%s\"", j->place.path, j->place.at, err_text(j->e));
    c->queue_waits = true;
}

static void job_done(struct work *w)
{
    struct cold_job *j = LIST_OWNER(w, struct cold_job, work);
    struct cold *c = j->cold;
    list_remove(&j->node);
    c->running_count--;
    if (j->e) note_failure(c, j);
    answer(j);
    c->queue_waits = false;
    give_away(c);
    place_done(&j->place);
    err_free(j->e);
    free(j);
    c->ended(c->ctx);
}

/* --- reading ahead --- */

static struct cold_stream *stream_at(struct cold *c, const struct mapped_file *f, int64_t at)
{
    for (size_t i = 0; i < STREAMS_MAX; i++) {
        struct cold_stream *s = &c->stream[i];
        if (s->ahead && s->file == f && at >= s->end - (int64_t)s->ahead && at <= s->end + (int64_t)s->ahead) return s;
    }
    return NULL;
}

/* Several may read the same part, of several queues: what was asked for counts once. */
static void set_ahead(struct cold *c, struct cold_job *j)
{
    const struct cold_place *p = &j->place;
    struct cold_stream *s = stream_at(c, p->file, p->at);
    int64_t end = p->at + (int64_t)p->bytes, left = mapped_file_end(p->file) - end;
    size_t ahead = !s ? AHEAD_MIN : s->ahead < AHEAD_MAX ? s->ahead * 2 : AHEAD_MAX;
    j->goes_on = s;
    j->ahead = (int64_t)ahead < left ? ahead : (size_t)left;
    if (s && end + (int64_t)j->ahead > s->end) j->share = end + (int64_t)j->ahead - s->end;
    if (!s) s = &c->stream[c->next_stream++ % STREAMS_MAX];
    *s = (struct cold_stream){p->file, end + (int64_t)ahead, ahead};
}

void cold_fetch(struct cold *c, struct store_fetch *f)
{
    assert(c->met && !f->job);
    struct cold_job *j = must_zero(sizeof *j);
    j->cold = c;
    j->fs = c->fs;
    j->asker = f;
    j->place = c->place;   /* with its pin */
    c->place.file = NULL;
    c->met = false;
    if (j->place.file) set_ahead(c, j);
    f->job = j;
    list_add(&c->waiting, &j->node);
    give_away(c);
}

void cold_cancel(struct store_fetch *f)
{
    if (f->job) f->job->asker = NULL;
    f->job = NULL;
}

void cold_end(struct cold *c)
{
    timer_stop(c->tasks, &c->timer);
    cold_forget(c);
    LIST_EACH(&c->running, node) answer(LIST_OWNER(node, struct cold_job, node));
    while (!list_empty(&c->waiting)) {
        struct cold_job *j = LIST_OWNER(list_first(&c->waiting), struct cold_job, node);
        list_remove(&j->node);
        answer(j);
        place_done(&j->place);
        free(j);
    }
}
