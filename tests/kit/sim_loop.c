#include "kit/sim_world.h"

#include <assert.h>
#include <stdlib.h>

struct sim_loop *sim_loop_of(struct loop *l) { return (struct sim_loop *)l; }
static struct sim_loop *loop_of_tasks(struct tasks *t) { return (struct sim_loop *)LIST_OWNER(t, struct loop, tasks); }
bool sim_loop_alive(const struct sim_loop *l) { return l->process->alive; }

struct loop *sim_loop_new(struct sim_process *p)
{
    struct sim_loop *l = must_zero(sizeof *l);
    l->base.tasks.ops = &sim_tasks_ops;
    l->base.ops = &sim_loop_ops;
    l->process = p;
    l->number = ++p->sim->next_loop;
    l->alarm_us = INT64_MAX;
    list_init(&l->ready);
    list_init(&l->hooks);
    list_add(&p->sim->loops, &l->node);
    return &l->base;
}

void sim_loop_free(struct sim_loop *l)
{
    free(l->timers);
    free(l);
}

/* --- turns --- */

/* What the test does between two runs happens as if on the loop. */
static bool on_loop(struct tasks *t)
{
    struct sim_loop *l = loop_of_tasks(t);
    struct sim *s = l->process->sim;
    return !s->on_worker && (!s->current || s->current == l);
}

static int64_t loop_us(struct sim_loop *l)
{
    struct sim *s = l->process->sim;
    return s->current == l ? l->turn_us : s->now_us;
}

/* Milliseconds start at 1: some code takes 0 for "never". */
static int64_t mono_ms(struct tasks *t) { return loop_us(loop_of_tasks(t)) / 1000 + 1; }
static int64_t wall_ms(struct tasks *t)
{
    struct sim_loop *l = loop_of_tasks(t);
    return l->process->sim->options.start_wall_ms + loop_us(l) / 1000;
}

static void fire_timers(struct sim_loop *l);
static void plan_alarm(struct sim_loop *l);

static void run_ready(struct sim_loop *l)
{
    struct list now;
    list_init(&now);
    while (!list_empty(&l->ready)) {   /* what is added from here on belongs to the next turn */
        struct list_node *n = list_first(&l->ready);
        list_remove(n);
        list_add(&now, n);
    }
    while (!list_empty(&now)) {
        struct list_node *n = list_first(&now);
        list_remove(n);
        struct sim_ready *r = LIST_OWNER(n, struct sim_ready, node);
        r->run(r);
    }
}

static void begin_turn(struct sim_loop *l)
{
    struct sim *s = l->process->sim;
    assert(!s->current && "a turn inside of a turn");
    s->current = l;
    l->turn_us = s->now_us;
    s->turns++;
}

static void end_turn(struct sim_loop *l)
{
    struct sim *s = l->process->sim;
    LIST_EACH(&l->hooks, n) {
        struct turn_hook *h = LIST_OWNER(n, struct turn_hook, node);
        h->run(h->ctx);
    }
    s->current = NULL;
    l->busy_until_us = s->now_us + sim_draw(s, 1, s->options.turn_max_us);
    if (!list_empty(&l->ready)) sim_plan_turn(l);
    plan_alarm(l);
}

static void run_turn(struct sim *s, void *p, int64_t n)
{
    (void)n;
    struct sim_loop *l = p;
    l->turn_planned = false;
    if (!sim_loop_alive(l)) return;
    sim_note(s, 't', l->number);
    begin_turn(l);
    fire_timers(l);
    run_ready(l);
    end_turn(l);
}

void sim_plan_turn(struct sim_loop *l)
{
    if (l->turn_planned || !sim_loop_alive(l)) return;
    l->turn_planned = true;
    struct sim *s = l->process->sim;
    sim_push(s, l->busy_until_us - s->now_us, run_turn, l, 0);
}

void sim_ready_add(struct sim_loop *l, struct sim_ready *r)
{
    if (sim_ready_queued(r)) return;
    list_add(&l->ready, &r->node);
    if (l->process->sim->current != l) sim_plan_turn(l);   /* else end_turn does */
}

void sim_call(struct loop *loop, void (*f)(void *), void *ctx)
{
    struct sim_loop *l = sim_loop_of(loop);
    if (!sim_loop_alive(l)) return;
    begin_turn(l);
    f(ctx);
    end_turn(l);
}

/* --- timers --- */

static bool timer_before(const struct timer *a, const struct timer *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->sequence < b->sequence;
}

/* A timer knows its place in the heap, so that it can be taken out. */
static void timer_place(struct sim_loop *l, size_t i, struct timer *t)
{
    l->timers[i] = t;
    t->impl = (void *)(uintptr_t)i;
}

static void timer_up(struct sim_loop *l, size_t i, struct timer *t)
{
    for (size_t up; i > 0 && timer_before(t, l->timers[up = (i - 1) / 2]); i = up) timer_place(l, i, l->timers[up]);
    timer_place(l, i, t);
}

static void timer_down(struct sim_loop *l, size_t i, struct timer *t)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= l->timer_count) break;
        if (child + 1 < l->timer_count && timer_before(l->timers[child + 1], l->timers[child])) child++;
        if (!timer_before(l->timers[child], t)) break;
        timer_place(l, i, l->timers[child]);
        i = child;
    }
    timer_up(l, i, t);
}

static void timer_out(struct sim_loop *l, struct timer *t)
{
    size_t i = (size_t)(uintptr_t)t->impl;
    assert(i < l->timer_count && l->timers[i] == t);
    struct timer *last = l->timers[--l->timer_count];
    if (last != t) timer_down(l, i, last);
    t->armed = false;
}

static void run_alarm(struct sim *s, void *p, int64_t n)
{
    (void)n;
    struct sim_loop *l = p;
    if (l->alarm_us == s->now_us) l->alarm_us = INT64_MAX;
    if (l->timer_count && (l->timers[0]->due_ms - 1) * 1000 <= s->now_us) sim_plan_turn(l);
    else plan_alarm(l);
}

static void plan_alarm(struct sim_loop *l)
{
    if (!l->timer_count || l->turn_planned || !sim_loop_alive(l)) return;
    struct sim *s = l->process->sim;
    int64_t due_us = (l->timers[0]->due_ms - 1) * 1000;
    if (due_us < l->busy_until_us) due_us = l->busy_until_us;
    if (due_us >= l->alarm_us && l->alarm_us > s->now_us) return;
    l->alarm_us = due_us;
    sim_push(s, due_us - s->now_us, run_alarm, l, 0);
}

static void op_timer_stop(struct tasks *t, struct timer *timer)
{
    struct sim_loop *l = loop_of_tasks(t);
    assert_on_loop(t);
    if (timer->armed) timer_out(l, timer);
}

static void op_timer_start(struct tasks *t, struct timer *timer, int64_t delay_ms)
{
    struct sim_loop *l = loop_of_tasks(t);
    op_timer_stop(t, timer);
    if (!sim_loop_alive(l)) return;
    if (l->timer_count == l->timer_cap) {
        l->timer_cap = l->timer_cap ? l->timer_cap * 2 : 16;
        l->timers = realloc(l->timers, l->timer_cap * sizeof(struct timer *));
        if (!l->timers) abort();
    }
    timer->due_ms = mono_ms(t) + (delay_ms > 0 ? delay_ms : 0);
    timer->sequence = l->timer_sequence++;
    timer->armed = true;
    timer_up(l, l->timer_count++, timer);
    if (l->process->sim->current != l) plan_alarm(l);
}

/* A timer that is started while others fire waits for the next turn, even with no delay. */
static void fire_timers(struct sim_loop *l)
{
    int64_t now_ms = mono_ms(&l->base.tasks);
    uint64_t end = l->timer_sequence;
    while (l->timer_count && l->timers[0]->due_ms <= now_ms && l->timers[0]->sequence < end) {
        struct timer *t = l->timers[0];
        timer_out(l, t);
        t->fire(t->ctx);
    }
}

/* --- workers and mail --- */

/* All that were given away and whose `done` has not run. Those of a killed process stay here for good, and with them what the process
 * had allocated: left behind, and not leaked. */
static struct list jobs = {{&jobs.head, &jobs.head}};

struct job {
    struct list_node node;
    struct sim_ready ready;
    struct sim_loop *loop;
    struct work *work;
};

static void job_done(struct sim_ready *r)
{
    struct job *j = LIST_OWNER(r, struct job, ready);
    struct work *w = j->work;
    list_remove(&j->node);
    free(j);
    w->done(w);
}

static void job_ended(struct sim *s, void *p, int64_t n)
{
    (void)s;
    (void)n;
    struct job *j = p;
    if (sim_loop_alive(j->loop)) sim_ready_add(j->loop, &j->ready);
}

static void job_run(struct sim *s, void *p, int64_t n)
{
    struct job *j = p;
    if (!sim_loop_alive(j->loop)) return;
    sim_note(s, 'w', j->loop->number);
    s->on_worker = true;
    j->work->run(j->work);
    s->on_worker = false;
    sim_push(s, n, job_ended, j, 0);
}

static void op_work(struct tasks *t, struct work *w)
{
    struct sim_loop *l = loop_of_tasks(t);
    struct sim *s = l->process->sim;
    assert_on_loop(t);
    struct job *j = must_zero(sizeof *j);
    list_add(&jobs, &j->node);
    list_node_init(&j->ready.node);
    j->ready.run = job_done;
    j->loop = l;
    j->work = w;
    w->impl = j;
    int64_t takes_us = sim_draw(s, 20, s->options.work_max_us);
    sim_push(s, takes_us / 2, job_run, j, takes_us / 2);
}

struct letter {
    struct list_node loose;
    struct sim_ready ready;
    struct sim_loop *loop;
    struct mail *mail;
};

static void letter_deliver(struct sim_ready *r)
{
    struct letter *t = LIST_OWNER(r, struct letter, ready);
    struct mail *m = t->mail;
    sim_loose_free(t);
    m->deliver(m);
}

/* Letters of one sender arrive in order: all take the same way, straight into the next turn. */
static void op_post(struct tasks *t, struct mail *m)
{
    struct sim_loop *l = loop_of_tasks(t);
    if (!sim_loop_alive(l)) return;
    struct letter *letter = sim_loose_new(l->process->sim, sizeof *letter);
    list_node_init(&letter->ready.node);
    letter->ready.run = letter_deliver;
    letter->loop = l;
    letter->mail = m;
    sim_ready_add(l, &letter->ready);
}

static void op_on_turn_end(struct tasks *t, struct turn_hook *h) { list_add(&loop_of_tasks(t)->hooks, &h->node); }

static void op_off_turn_end(struct tasks *t, struct turn_hook *h)
{
    (void)t;
    if (list_linked(&h->node)) list_remove(&h->node);
}

const struct tasks_ops sim_tasks_ops = {
    .wall_ms = wall_ms,
    .mono_ms = mono_ms,
    .timer_start = op_timer_start,
    .timer_stop = op_timer_stop,
    .work = op_work,
    .post = op_post,
    .on_turn_end = op_on_turn_end,
    .off_turn_end = op_off_turn_end,
    .on_loop = on_loop,
};
