#include "admin/job.h"

#include "os/tasks.h"
#include "rpc/rpc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A request under way. */
struct errand {
    struct job *job;
    struct reply *reply;
};

struct job *job_new(struct admin *a, const struct params *params)
{
    struct job *j = admin_take(a, sizeof *j);
    *j = (struct job){.admin = a, .params = params};
    j->now_ms = tasks_wall_ms(rpc_tasks(admin_options(a)->loop));
    outcome_init(&j->outcome, admin_arena(a));
    return j;
}

void job_run(struct job *j, job_phase *first, admin_done *done, void *ctx)
{
    admin_begin(j->admin, done, ctx);
    first(j);
}

int64_t job_mono_ms(const struct job *j)
{
    struct tasks *t = rpc_tasks(admin_options(j->admin)->loop);
    tasks_refresh(t);
    return tasks_mono_ms(t);
}

void job_fail(struct job *j, err_t e) { admin_end(j->admin, e); }
void job_end(struct job *j) { admin_end(j->admin, NULL); }

struct arena *job_arena(struct job *j) { return admin_arena(j->admin); }
void *job_take(struct job *j, size_t n) { return admin_take(j->admin, n); }
struct slice job_param(const struct job *j, const char *name) { return param_get(j->params, name); }

struct slice job_copy(struct job *j, struct slice text)
{
    if (!text.p) return text;
    uint8_t *p = job_take(j, text.n + 1);
    memcpy(p, text.p, text.n);
    return slice_of(p, text.n);
}

struct slice job_encode(struct job *j, const struct bean *bean, const void *value)
{
    struct buf text = BUF_EMPTY;
    bean_encode(bean, value, JSON_RAW, &text);
    struct slice kept = job_copy(j, buf_slice(&text));
    buf_done(&text);
    return kept;
}

struct slice job_text(struct job *j, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    char *p = job_take(j, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(args);
    va_end(again);
    return slice_of(p, (size_t)n);
}

err_t job_read_file(struct job *j, struct slice path, struct slice *out)
{
    if (!j->read_file) return err_new(ERR_NOT_SUPPORTED, "files cannot be read here");
    return j->read_file((const char *)job_copy(j, path).p, out);   /* which ends it with a NUL */
}

static err_t write_file(struct job *j, struct slice path, struct slice text)
{
    if (!j->write_file) return err_new(ERR_NOT_SUPPORTED, "files cannot be written here");
    return j->write_file((const char *)job_copy(j, path).p, text);
}

void job_write_and_end(struct job *j, struct slice path, struct slice text)
{
    err_t e = write_file(j, path, text);
    if (e) {
        job_fail(j, e);
        return;
    }
    outcome_line(&j->outcome, "written");
    outcome_text(&j->outcome, SLICE("file"), path);
    outcome_number(&j->outcome, "bytes", (int64_t)text.n);
    job_end(j);
}

/* --- asking --- */

static void go_on(struct job *j)
{
    job_phase *next = j->next;
    j->next = NULL;
    j->replies = j->asked;
    j->asked = (struct replies){.list = {NULL, 0}};
    next(j);
}

static void on_answer(void *ctx, err_t e, struct slice body)
{
    struct errand *x = ctx;
    struct job *j = x->job;
    x->reply->code = err_code(e);
    x->reply->silent = admin_is_silence(e);
    if (e) x->reply->text = job_copy(j, slice_text(err_text(e)));
    x->reply->body = body;
    err_free(e);   /* it is in the reply */
    if (!--j->waiting && j->next) go_on(j);
}

void job_ask(struct job *j, const struct admin_broker *who, const struct request *r, const void *tag)
{
    struct errand *x = job_take(j, sizeof *x);
    struct reply **slot = arena_list_add(job_arena(j), (void **)&j->asked.list.items, &j->asked.list.count, sizeof *slot);
    struct request request = *r;
    *x = (struct errand){j, job_take(j, sizeof *x->reply)};
    *x->reply = (struct reply){.broker = *who, .tag = tag, .heard = {.code = -1}};
    if (slot) *slot = x->reply;
    request.heard = &x->reply->heard;
    j->waiting++;
    admin_ask(j->admin, who->address, &request, on_answer, x);
}

void job_wait(struct job *j, job_phase *next)
{
    j->next = next;
    if (!j->waiting) go_on(j);
}

static void note_failure(struct job *j, const struct reply *r, struct slice text)
{
    struct admin_failure *f = arena_list_add(job_arena(j), (void **)&j->failures.list.items, &j->failures.list.count, sizeof *f);
    if (f) *f = (struct admin_failure){r->broker, text, r->silent};
}

bool job_good(struct job *j, const struct reply *r)
{
    if (r->code) note_failure(j, r, r->text);
    return !r->code;
}

bool job_read(struct job *j, const struct reply *r, const struct bean *bean, void *out)
{
    if (!job_good(j, r)) return false;
    err_t e = bean_decode(bean, r->body, job_arena(j), "answer", out);
    if (e) note_failure(j, r, job_copy(j, slice_text(err_text(e))));
    bool read = !e;
    err_free(e);   /* it is among the failures */
    return read;
}

void job_end_with(struct job *j, const struct replies *r)
{
    const struct reply *worst = NULL;
    for (size_t i = 0; i < r->list.count; i++) {
        const struct reply *one = r->list.items[i];
        if (!one->code) {
            job_end(j);
            return;
        }
        if (!worst || (worst->silent && !one->silent)) worst = one;
    }
    if (!worst) {
        job_end(j);
        return;
    }
    struct slice name = worst->broker.name;
    if (name.p) job_fail(j, err_new(worst->code, "broker %.*s: %.*s", SLICE_ARG(name), SLICE_ARG(worst->text)));
    else job_fail(j, err_new(worst->code, "%.*s", SLICE_ARG(worst->text)));
}
