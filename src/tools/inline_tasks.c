#include "tools/inline_tasks.h"

#include <assert.h>

static struct inline_tasks *of(struct tasks *t) { return LIST_OWNER(t, struct inline_tasks, tasks); }

static int64_t wall(struct tasks *t) { return of(t)->wall_ms + of(t)->mono_ms; }
static int64_t mono(struct tasks *t) { return of(t)->mono_ms; }

static bool on_loop(struct tasks *t)
{
    (void)t;
    return true;
}

static void stop(struct tasks *t, struct timer *timer)
{
    (void)t;
    if (timer->armed) list_remove(&timer->node);
    timer->armed = false;
}

static void start(struct tasks *tasks, struct timer *timer, int64_t delay_ms)
{
    struct inline_tasks *t = of(tasks);
    stop(tasks, timer);
    timer->due_ms = t->mono_ms + (delay_ms > 0 ? delay_ms : 0);
    timer->armed = true;
    list_add(&t->timers, &timer->node);
}

static void work(struct tasks *t, struct work *w) { buf_put(&of(t)->jobs, &w, sizeof w); }

static void post(struct tasks *t, struct mail *m)
{
    (void)t, (void)m;
    assert(!"a store sends no mail");
}

static void on_turn_end(struct tasks *t, struct turn_hook *h) { list_add(&of(t)->hooks, &h->node); }

static void off_turn_end(struct tasks *t, struct turn_hook *h)
{
    (void)t;
    list_remove(&h->node);
}

void inline_tasks_init(struct inline_tasks *t, int64_t wall_ms)
{
    static const struct tasks_ops ops = {
        .wall_ms = wall, .mono_ms = mono, .timer_start = start, .timer_stop = stop, .work = work, .post = post, .on_turn_end = on_turn_end,
        .off_turn_end = off_turn_end, .on_loop = on_loop,
    };
    *t = (struct inline_tasks){.tasks = {&ops}, .wall_ms = wall_ms};
    list_init(&t->timers);
    list_init(&t->hooks);
}

void inline_tasks_done(struct inline_tasks *t) { buf_done(&t->jobs); }

static void end_turn(struct inline_tasks *t)
{
    LIST_EACH(&t->hooks, node) {
        struct turn_hook *h = LIST_OWNER(node, struct turn_hook, node);
        h->run(h->ctx);
    }
}

void inline_tasks_work(struct inline_tasks *t)
{
    end_turn(t);
    for (size_t at = 0; at < t->jobs.n; at += sizeof(struct work *)) {
        struct work *w;
        memcpy(&w, t->jobs.p + at, sizeof w);
        w->run(w);
        w->done(w);   /* may give another one */
        end_turn(t);
    }
    buf_clear(&t->jobs);
}

bool inline_tasks_fire(struct inline_tasks *t)
{
    struct timer *first = NULL;
    LIST_EACH(&t->timers, node) {
        struct timer *timer = LIST_OWNER(node, struct timer, node);
        if (!first || timer->due_ms < first->due_ms) first = timer;
    }
    if (!first) return false;
    if (first->due_ms > t->mono_ms) t->mono_ms = first->due_ms;
    stop(&t->tasks, first);
    first->fire(first->ctx);
    return true;
}
