#include "os/threads.h"

#include "base/buf.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

void lock_init(struct lock *l) { pthread_mutex_init(&l->mutex, NULL); }
void lock_done(struct lock *l) { pthread_mutex_destroy(&l->mutex); }
void lock_take(struct lock *l) { pthread_mutex_lock(&l->mutex); }
void lock_give(struct lock *l) { pthread_mutex_unlock(&l->mutex); }

/* --- waiting --- */

/* By the clock that nobody sets. */
static void cond_init(pthread_cond_t *c)
{
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(c, &a);
    pthread_condattr_destroy(&a);
}

void event_init(struct event *e)
{
    lock_init(&e->lock);
    cond_init(&e->happened_cond);
    e->happened = false;
}

void event_done(struct event *e)
{
    pthread_cond_destroy(&e->happened_cond);
    lock_done(&e->lock);
}

/* Woken while the lock is held: who waited may free the event as soon as he has the lock. */
void event_set(struct event *e)
{
    lock_take(&e->lock);
    e->happened = true;
    pthread_cond_broadcast(&e->happened_cond);
    lock_give(&e->lock);
}

void event_wait(struct event *e)
{
    lock_take(&e->lock);
    while (!e->happened) pthread_cond_wait(&e->happened_cond, &e->lock.mutex);
    lock_give(&e->lock);
}

bool event_has_happened(const struct event *e)
{
    struct event *locked = (struct event *)e;
    lock_take(&locked->lock);
    bool happened = e->happened;
    lock_give(&locked->lock);
    return happened;
}

void monitor_init(struct monitor *m)
{
    lock_init(&m->lock);
    cond_init(&m->changed);
}

void monitor_done(struct monitor *m)
{
    pthread_cond_destroy(&m->changed);
    lock_done(&m->lock);
}

void monitor_wake(struct monitor *m) { pthread_cond_broadcast(&m->changed); }

bool monitor_wait(struct monitor *m, int64_t until_ms)
{
    if (until_ms == INT64_MAX) return pthread_cond_wait(&m->changed, &m->lock.mutex) == 0;
    struct timespec at = {until_ms / 1000, until_ms % 1000 * 1000000};
    return pthread_cond_timedwait(&m->changed, &m->lock.mutex, &at) != ETIMEDOUT;
}

/* --- threads --- */

struct thread {
    pthread_t id;
    void (*f)(void *ctx);
    void *ctx;
};

static void *run_thread(void *p)
{
    struct thread *t = p;
    t->f(t->ctx);
    return NULL;
}

err_t thread_start(const char *name, void (*f)(void *), void *ctx, struct thread **out)
{
    struct thread *t = must_zero(sizeof *t);
    t->f = f;
    t->ctx = ctx;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);   /* the process's handlers run on the threads that the user made */
    int failed = pthread_create(&t->id, NULL, run_thread, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        free(t);
        return err_new(ERR_INTERNAL, "cannot start a thread: %s", strerror(failed));
    }
    pthread_setname_np(t->id, name);
    *out = t;
    return NULL;
}

void thread_join(struct thread *t)
{
    if (!t) return;
    pthread_join(t->id, NULL);
    free(t);
}

/* --- the pool --- */

struct job {
    struct list_node node;
    struct mail mail;
    struct work *work;
};

struct pool {
    struct tasks *tasks;
    void (*begin)(void *ctx);
    void *ctx;
    struct monitor monitor;
    struct list jobs;           /* guarded by the monitor's lock, as is `ending` */
    bool ending;
    int count;
    struct thread *threads[];
};

static _Thread_local const struct pool *mine;

static void deliver(struct mail *m)
{
    struct job *j = LIST_OWNER(m, struct job, mail);
    struct work *w = j->work;
    free(j);
    w->done(w);
}

static struct job *next_job(struct pool *p)
{
    struct job *j = NULL;
    lock_take(&p->monitor.lock);
    while (list_empty(&p->jobs) && !p->ending) monitor_wait(&p->monitor, INT64_MAX);
    if (!list_empty(&p->jobs)) {
        j = LIST_OWNER(list_first(&p->jobs), struct job, node);
        list_remove(&j->node);
    }
    lock_give(&p->monitor.lock);
    return j;
}

static void work_on(void *ctx)
{
    struct pool *p = ctx;
    mine = p;
    if (p->begin) p->begin(p->ctx);
    for (struct job *j; (j = next_job(p));) {
        j->work->run(j->work);
        tasks_post(p->tasks, &j->mail);
    }
}

err_t pool_new(struct tasks *tasks, const char *name, int threads, void (*begin)(void *), void *ctx, struct pool **out)
{
    struct pool *p = must_zero(sizeof *p + (size_t)threads * sizeof(struct thread *));
    p->tasks = tasks;
    p->begin = begin;
    p->ctx = ctx;
    monitor_init(&p->monitor);
    list_init(&p->jobs);
    err_t e = NULL;
    for (; !e && p->count < threads; p->count += !e) e = thread_start(name, work_on, p, &p->threads[p->count]);
    if (e) pool_free(p);
    else *out = p;
    return e;
}

void pool_run(struct pool *p, struct work *w)
{
    if (!p->count) {
        tasks_work(p->tasks, w);
        return;
    }
    struct job *j = must_zero(sizeof *j);
    j->mail.deliver = deliver;
    j->work = w;
    lock_take(&p->monitor.lock);
    list_add(&p->jobs, &j->node);
    pthread_cond_signal(&p->monitor.changed);
    lock_give(&p->monitor.lock);
}

bool pool_is_mine(const struct pool *p) { return p && mine == p; }

void pool_free(struct pool *p)
{
    if (!p) return;
    lock_take(&p->monitor.lock);
    p->ending = true;
    monitor_wake(&p->monitor);
    lock_give(&p->monitor.lock);
    for (int i = 0; i < p->count; i++) thread_join(p->threads[i]);
    assert(list_empty(&p->jobs));
    monitor_done(&p->monitor);
    free(p);
}
