#include "base/buf.h"
#include "net/uv_internal.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* Of the whole process. They wait for disks: eight for reads of the past, and one for each kind of job that a store has besides. */
#define WORKERS "16"

static struct uv_loop *of_tasks(struct tasks *t) { return (struct uv_loop *)t; }

err_t uv_error(int number, const char *what)
{
    return err_new(number == UV_ETIMEDOUT ? ERR_TIMEOUT : ERR_NETWORK, "%s: %s", what, uv_strerror(number));
}

/* --- time --- */

static int64_t loop_wall_ms(struct tasks *t)
{
    struct uv_loop *l = of_tasks(t);
    if (!l->wall_ms) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        l->wall_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    }
    return l->wall_ms;
}

static int64_t loop_mono_ms(struct tasks *t) { return (int64_t)uv_now(&of_tasks(t)->uv); }

static int64_t loop_idle_us(struct tasks *t) { return (int64_t)(uv_metrics_idle_time(&of_tasks(t)->uv) / 1000); }

static void loop_refresh(struct tasks *t)
{
    struct uv_loop *l = of_tasks(t);
    uv_update_time(&l->uv);
    l->wall_ms = 0;
}

/* --- timers: a heap, and one libuv timer for its top --- */

static bool is_before(const struct timer *a, const struct timer *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->sequence < b->sequence;
}

static void heap_set(struct uv_loop *l, size_t at, struct timer *timer)
{
    l->heap[at] = timer;
    timer->impl = (void *)(uintptr_t)at;
}

static void heap_up(struct uv_loop *l, size_t at)
{
    struct timer *timer = l->heap[at];
    for (; at && is_before(timer, l->heap[(at - 1) / 2]); at = (at - 1) / 2) heap_set(l, at, l->heap[(at - 1) / 2]);
    heap_set(l, at, timer);
}

static void heap_down(struct uv_loop *l, size_t at)
{
    struct timer *timer = l->heap[at];
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= l->timers) break;
        if (child + 1 < l->timers && is_before(l->heap[child + 1], l->heap[child])) child++;
        if (!is_before(l->heap[child], timer)) break;
        heap_set(l, at, l->heap[child]);
        at = child;
    }
    heap_set(l, at, timer);
}

static void heap_remove(struct uv_loop *l, struct timer *timer)
{
    size_t at = (size_t)(uintptr_t)timer->impl;
    struct timer *last = l->heap[--l->timers];
    timer->armed = false;
    if (last == timer) return;
    heap_set(l, at, last);
    heap_up(l, at);
    heap_down(l, (size_t)(uintptr_t)last->impl);
}


static void fire_due(uv_timer_t *handle)
{
    struct uv_loop *l = handle->data;
    int64_t now = (int64_t)uv_now(&l->uv);
    uint64_t newest = l->timer_sequence;   /* a timer started by a timer waits for the next turn */
    l->arm_later = true;                   /* libuv fires what is due and armed meanwhile in the same turn, for ever if need be */
    while (l->timers && l->heap[0]->due_ms <= now && l->heap[0]->sequence <= newest) {
        struct timer *timer = l->heap[0];
        heap_remove(l, timer);
        timer->fire(timer->ctx);
    }
}

static void arm(struct uv_loop *l)
{
    if (!l->timers) {
        uv_timer_stop(&l->next_timer);
        return;
    }
    int64_t delay = l->heap[0]->due_ms - (int64_t)uv_now(&l->uv);
    uv_timer_start(&l->next_timer, fire_due, delay > 0 ? (uint64_t)delay : 0, 0);
}

static void loop_timer_stop(struct tasks *t, struct timer *timer)
{
    if (timer->armed) heap_remove(of_tasks(t), timer);   /* an early wake-up of the libuv timer is harmless */
}

static void loop_timer_start(struct tasks *t, struct timer *timer, int64_t delay_ms)
{
    struct uv_loop *l = of_tasks(t);
    loop_timer_stop(t, timer);
    if (l->timers == l->timers_cap) {
        l->timers_cap = l->timers_cap ? l->timers_cap * 2 : 64;
        struct timer **heap = must_alloc(l->timers_cap * sizeof(struct timer *));
        if (l->timers) memcpy(heap, l->heap, l->timers * sizeof(struct timer *));
        free(l->heap);
        l->heap = heap;
    }
    timer->due_ms = (int64_t)uv_now(&l->uv) + (delay_ms > 0 ? delay_ms : 0);
    timer->sequence = ++l->timer_sequence;
    timer->armed = true;
    heap_set(l, l->timers++, timer);
    heap_up(l, l->timers - 1);
    if (l->heap[0] == timer && !l->arm_later) arm(l);
}

/* --- workers --- */

static void run_work(uv_work_t *req)
{
    struct work *w = req->data;
    w->run(w);
}

static void work_done(uv_work_t *req, int status)
{
    (void)status;
    struct work *w = req->data;
    free(req);
    w->done(w);
}

static void loop_work(struct tasks *t, struct work *w)
{
    uv_work_t *req = must_alloc(sizeof *req);
    req->data = w;
    w->impl = req;
    int failed = uv_queue_work(&of_tasks(t)->uv, req, run_work, work_done);
    assert(!failed);   /* it fails for wrong arguments only */
    (void)failed;
}

/* --- mail --- */

static void deliver_all(struct uv_loop *l)
{
    struct mail *in_order = NULL;
    for (struct mail *m = atomic_exchange(&l->mail, NULL), *next; m; m = next) {
        next = m->next;
        m->next = in_order;
        in_order = m;
    }
    for (struct mail *m = in_order, *next; m; m = next) {
        next = m->next;
        m->deliver(m);
    }
}

static void deliver_own_mail(uv_idle_t *handle)
{
    uv_idle_stop(handle);   /* before: letters may bring forth others */
    deliver_all(handle->data);
}

static _Thread_local struct uv_loop *running;

static void loop_post(struct tasks *t, struct mail *m)
{
    struct uv_loop *l = of_tasks(t);
    struct mail *newest = atomic_load(&l->mail);
    do m->next = newest;
    while (!atomic_compare_exchange_weak(&l->mail, &newest, m));
    if (running == l) uv_idle_start(&l->own_mail, deliver_own_mail);
    else uv_async_send(&l->wake);
}

static void deliver_mail(uv_async_t *handle)
{
    struct uv_loop *l = handle->data;
    deliver_all(l);
    if (atomic_load(&l->stopping)) uv_stop(&l->uv);
}

/* --- turns --- */

static void end_turn(struct uv_loop *l)
{
    LIST_EACH(&l->hooks, node) {
        struct turn_hook *hook = LIST_OWNER(node, struct turn_hook, node);
        hook->run(hook->ctx);
    }
    l->wall_ms = 0;
}

static void on_prepare(uv_prepare_t *handle)
{
    struct uv_loop *l = handle->data;
    end_turn(l);
    if (!l->arm_later) return;
    l->arm_later = false;
    arm(l);
}

static void on_check(uv_check_t *handle) { end_turn(handle->data); }

static void loop_on_turn_end(struct tasks *t, struct turn_hook *hook) { list_add(&of_tasks(t)->hooks, &hook->node); }

static void loop_off_turn_end(struct tasks *t, struct turn_hook *hook)
{
    (void)t;
    list_remove(&hook->node);
}

static bool loop_on_loop(struct tasks *t) { return pthread_equal(of_tasks(t)->thread, pthread_self()); }

static const struct tasks_ops uv_tasks_ops = {
    .wall_ms = loop_wall_ms, .mono_ms = loop_mono_ms, .idle_us = loop_idle_us, .refresh = loop_refresh,
    .timer_start = loop_timer_start, .timer_stop = loop_timer_stop, .work = loop_work, .post = loop_post,
    .on_turn_end = loop_on_turn_end, .off_turn_end = loop_off_turn_end, .on_loop = loop_on_loop,
};

/* --- the loop itself --- */

err_t real_loop_new(struct loop **out)
{
    setenv("UV_THREADPOOL_SIZE", WORKERS, 0);   /* heeded when the first job is given away */
    signal(SIGPIPE, SIG_IGN);
    return real_loop_new_quiet(out);
}

err_t real_loop_new_quiet(struct loop **out)
{
    struct uv_loop *l = must_zero(sizeof *l);
    int failed = uv_loop_init(&l->uv);
    if (!failed) failed = uv_loop_configure(&l->uv, UV_METRICS_IDLE_TIME);
    if (failed) {
        free(l);
        return uv_error(failed, "start an event loop");
    }
    l->loop.tasks.ops = &uv_tasks_ops;
    l->loop.ops = &uv_loop_ops;
    l->thread = pthread_self();
    l->read_buffer = must_alloc(READ_BUFFER_BYTES);
    list_init(&l->hooks);
    uv_async_init(&l->uv, &l->wake, deliver_mail);
    uv_idle_init(&l->uv, &l->own_mail);
    uv_prepare_init(&l->uv, &l->before_poll);
    uv_check_init(&l->uv, &l->after_poll);
    uv_timer_init(&l->uv, &l->next_timer);
    l->wake.data = l->own_mail.data = l->before_poll.data = l->after_poll.data = l->next_timer.data = l;
    uv_prepare_start(&l->before_poll, on_prepare);
    uv_check_start(&l->after_poll, on_check);
    *out = &l->loop;
    return NULL;
}

/* While a loop does not run its time stands still, and whoever is started on it may block (recovery of a store, say): timers count from
 * now on, or a time limit would be over before what it limits has begun. */
static void skip_time(struct uv_loop *l)
{
    int64_t before = (int64_t)uv_now(&l->uv);
    uv_update_time(&l->uv);
    int64_t skipped = (int64_t)uv_now(&l->uv) - before;
    for (size_t i = 0; i < l->timers; i++) l->heap[i]->due_ms += skipped;
    l->wall_ms = 0;
    arm(l);
}

void real_loop_run(struct loop *loop)
{
    struct uv_loop *l = uv_of(loop);
    real_loop_adopt(loop);
    skip_time(l);
    running = l;
    while (!atomic_load(&l->stopping)) uv_run(&l->uv, UV_RUN_DEFAULT);
    running = NULL;
    atomic_store(&l->stopping, false);
}

void real_loop_adopt(struct loop *loop) { uv_of(loop)->thread = pthread_self(); }

void real_loop_stop(struct loop *loop)
{
    struct uv_loop *l = uv_of(loop);
    atomic_store(&l->stopping, true);
    uv_async_send(&l->wake);
}

struct signal_watch {
    uv_signal_t handle;
    void (*fire)(void *ctx, int number);
    void *ctx;
};

static void free_watch(uv_handle_t *handle) { free(handle); }

static void close_left_open(uv_handle_t *handle, void *ctx)
{
    (void)ctx;
    if (uv_is_closing(handle)) return;
    assert(handle->type != UV_TCP);   /* somebody's listener, stream or connect: its owner would be called back after its end */
    uv_close(handle, handle->type == UV_SIGNAL ? free_watch : NULL);
}

void real_loop_free(struct loop *loop)
{
    if (!loop) return;
    struct uv_loop *l = uv_of(loop);
    while (atomic_load(&l->mail)) deliver_all(l);   /* letters own what they bring */
    end_turn(l);   /* connections that were closed after the last turn are freed by their hook */
    uv_walk(&l->uv, close_left_open, NULL);
    while (uv_loop_close(&l->uv) == UV_EBUSY) uv_run(&l->uv, UV_RUN_DEFAULT);
    free(l->heap);
    free(l->read_buffer);
    free(l);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct signal_watch *watch = (struct signal_watch *)handle;
    watch->fire(watch->ctx, number);
}

err_t real_loop_on_signal(struct loop *loop, int number, void (*fire)(void *ctx, int number), void *ctx)
{
    struct signal_watch *watch = must_zero(sizeof *watch);
    watch->fire = fire;
    watch->ctx = ctx;
    uv_signal_init(&uv_of(loop)->uv, &watch->handle);
    int failed = uv_signal_start(&watch->handle, on_signal, number);
    if (!failed) return NULL;
    uv_close((uv_handle_t *)&watch->handle, free_watch);
    return uv_error(failed, "watch a signal");
}
