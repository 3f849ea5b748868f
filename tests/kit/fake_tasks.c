#include "kit/fake_tasks.h"

static struct fake_tasks *of(struct tasks *t) { return LIST_OWNER(t, struct fake_tasks, tasks); }

static int64_t fake_wall(struct tasks *t) { return of(t)->wall_ms; }
static int64_t fake_mono(struct tasks *t) { return of(t)->mono_ms; }
static int64_t fake_idle(struct tasks *t) { return of(t)->mono_ms * 1000 - of(t)->busy_us; }
static bool fake_on_loop(struct tasks *t)
{
    (void)t;
    return true;
}

static void fake_timer_stop(struct tasks *t, struct timer *timer)
{
    (void)t;
    if (!timer->armed) return;
    list_remove(&timer->node);
    timer->armed = false;
}

static void fake_timer_start(struct tasks *t, struct timer *timer, int64_t delay_ms)
{
    struct fake_tasks *f = of(t);
    fake_timer_stop(t, timer);
    timer->due_ms = f->mono_ms + (delay_ms > 0 ? delay_ms : 0);
    timer->armed = true;
    struct list_node *behind = f->timers.head.prev;
    while (behind != &f->timers.head && LIST_OWNER(behind, struct timer, node)->due_ms > timer->due_ms) behind = behind->prev;
    timer->node.prev = behind;
    timer->node.next = behind->next;
    behind->next->prev = &timer->node;
    behind->next = &timer->node;
}

static void fake_work(struct tasks *t, struct work *w)
{
    struct fake_tasks *f = of(t);
    buf_put(&f->jobs, &w, sizeof w);
    f->jobs_given++;
}

static void fake_post(struct tasks *t, struct mail *m)
{
    m->next = of(t)->mail;
    of(t)->mail = m;
}

static void fake_on_turn_end(struct tasks *t, struct turn_hook *h) { list_add(&of(t)->hooks, &h->node); }

static void fake_off_turn_end(struct tasks *t, struct turn_hook *h)
{
    (void)t;
    list_remove(&h->node);
}

static const struct tasks_ops fake_ops = {
    .wall_ms = fake_wall,
    .mono_ms = fake_mono,
    .idle_us = fake_idle,
    .timer_start = fake_timer_start,
    .timer_stop = fake_timer_stop,
    .work = fake_work,
    .post = fake_post,
    .on_turn_end = fake_on_turn_end,
    .off_turn_end = fake_off_turn_end,
    .on_loop = fake_on_loop,
};

void fake_tasks_init(struct fake_tasks *f, int64_t wall_ms)
{
    *f = (struct fake_tasks){.tasks = {&fake_ops}, .wall_ms = wall_ms};
    list_init(&f->timers);
    list_init(&f->hooks);
}

void fake_tasks_done(struct fake_tasks *f) { buf_done(&f->jobs); }

void fake_tasks_turn(struct fake_tasks *f)
{
    struct mail *in_order = NULL;
    for (struct mail *m = f->mail, *next; m; m = next) {
        next = m->next;
        m->next = in_order;
        in_order = m;
    }
    f->mail = NULL;
    for (struct mail *m = in_order, *next; m; m = next) {
        next = m->next;
        m->deliver(m);
    }
    LIST_EACH(&f->hooks, node)
    {
        struct turn_hook *h = LIST_OWNER(node, struct turn_hook, node);
        h->run(h->ctx);
    }
}

static struct work *first_job(struct fake_tasks *f)
{
    struct work *w;
    if (!f->jobs.n) return NULL;
    memcpy(&w, f->jobs.p, sizeof w);
    f->jobs.n -= sizeof w;
    memmove(f->jobs.p, f->jobs.p + sizeof w, f->jobs.n);
    return w;
}

struct work *fake_tasks_take_work(struct fake_tasks *f)
{
    struct work *w = first_job(f);
    if (w) w->run(w);
    return w;
}

size_t fake_tasks_run_work(struct fake_tasks *f)
{
    size_t n = f->jobs.n / sizeof(struct work *);
    for (size_t i = 0; i < n; i++) {
        struct work *w = fake_tasks_take_work(f);
        w->done(w);
    }
    if (n) fake_tasks_turn(f);
    return n;
}

static bool fire_next(struct fake_tasks *f)
{
    if (list_empty(&f->timers)) return false;
    struct timer *t = LIST_OWNER(list_first(&f->timers), struct timer, node);
    if (t->due_ms > f->mono_ms) return false;
    fake_timer_stop(&f->tasks, t);
    t->fire(t->ctx);
    return true;
}

void fake_tasks_advance(struct fake_tasks *f, int64_t ms)
{
    f->wall_ms += ms;
    f->mono_ms += ms;
    size_t due = fake_tasks_timers(f);   /* those that are started now fire next time */
    while (due-- > 0 && fire_next(f)) {}
    fake_tasks_turn(f);
}

void fake_tasks_settle(struct fake_tasks *f)
{
    fake_tasks_turn(f);
    while (fake_tasks_run_work(f)) {}
}

void fake_tasks_forget(struct fake_tasks *f)
{
    buf_clear(&f->jobs);
    f->mail = NULL;
    list_init(&f->timers);
    list_init(&f->hooks);
}

size_t fake_tasks_timers(const struct fake_tasks *f)
{
    size_t n = 0;
    for (const struct list_node *node = f->timers.head.next; node != &f->timers.head; node = node->next) n++;
    return n;
}
