/* threads.h - threads of a library beside those of its user: a lock, an event to wait for, a pool for jobs that may take long.
 * Threads  as said at each
 * Units    ms */
#ifndef SKYLARK_OS_THREADS_H
#define SKYLARK_OS_THREADS_H

#include "base/list.h"
#include "os/tasks.h"

#include <pthread.h>

/* A leaf: nothing that may wait is called while it is held. Thread: any. */
struct lock {
    pthread_mutex_t mutex;
};
void lock_init(struct lock *l);
void lock_done(struct lock *l);
void lock_take(struct lock *l);
void lock_give(struct lock *l);

/* Something that happens once; who waits for it goes on. Thread: any. */
struct event {
    struct lock lock;
    pthread_cond_t happened_cond;
    bool happened;
};
void event_init(struct event *e);
/* Nobody waits any more. */
void event_done(struct event *e);
void event_set(struct event *e);
void event_wait(struct event *e);
bool event_has_happened(const struct event *e);

/* Something that many change, with a lock around it: waits until it may have changed. Thread: any. */
struct monitor {
    struct lock lock;
    pthread_cond_t changed;
};
void monitor_init(struct monitor *m);
void monitor_done(struct monitor *m);
/* Wakes all who wait. The lock may be held, or not. */
void monitor_wake(struct monitor *m);
/* Gives the lock back while it waits. False: the time is over; until_ms is of process_mono_us() / 1000, INT64_MAX for ever. */
bool monitor_wait(struct monitor *m, int64_t until_ms);

struct thread;
/* Runs f on a new thread that gets no signals. Errors: INTERNAL. Thread: any. */
err_t thread_start(const char *name, void (*f)(void *ctx), void *ctx, struct thread **out) MUST_CHECK;
/* Waits for its end, and frees it. */
void thread_join(struct thread *t);

/* Runs a struct work (os/tasks.h) on threads of its own: `run` there, `done` on the loop. */
struct pool;
/* threads 0: on the workers of the loop. `begin` is called on each thread first; NULL: nothing is. Errors: INTERNAL. Thread: any. */
err_t pool_new(struct tasks *tasks, const char *name, int threads, void (*begin)(void *ctx), void *ctx, struct pool **out) MUST_CHECK;
/* In the order they come, on whatever thread is free. Thread: loop. */
void pool_run(struct pool *p, struct work *w);
/* Whether the caller is one of its threads. Thread: any. */
bool pool_is_mine(const struct pool *p);
/* All jobs have been run. NULL is fine. Waits for the threads. Thread: any but its own. */
void pool_free(struct pool *p);

#endif
