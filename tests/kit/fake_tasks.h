/* fake_tasks.h - tasks (os/tasks.h) driven by hand: nothing happens unless the test says so.
 * Clock    both clocks advance with fake_tasks_advance() only
 * Threads  owner; "workers" run in fake_tasks_run_work() */
#ifndef SKYLARK_TESTS_KIT_FAKE_TASKS_H
#define SKYLARK_TESTS_KIT_FAKE_TASKS_H

#include "base/buf.h"
#include "os/tasks.h"

struct fake_tasks {
    struct tasks tasks;
    int64_t wall_ms;
    int64_t mono_ms;
    int64_t busy_us;        /* of mono_ms: the loop had something to do */
    struct list timers;     /* armed ones, by due time */
    struct list hooks;
    struct buf jobs;        /* struct work *, not yet run */
    struct mail *mail;      /* newest first */
    uint64_t jobs_given;    /* ever */
};

void fake_tasks_init(struct fake_tasks *f, int64_t wall_ms);
void fake_tasks_done(struct fake_tasks *f);
/* Delivers mail, then ends the turn: the hooks run. */
void fake_tasks_turn(struct fake_tasks *f);
/* Runs the jobs there are (not those they lead to), each with its `done`, then ends the turn; returns how many. */
size_t fake_tasks_run_work(struct fake_tasks *f);
/* Runs the oldest job, without its `done`; NULL when there is none. For looking at what is between the two. */
struct work *fake_tasks_take_work(struct fake_tasks *f);
/* Moves the clocks, fires the timers that are due, ends the turn. */
void fake_tasks_advance(struct fake_tasks *f, int64_t ms);
/* Turns and jobs until there is nothing left to do at this time. */
void fake_tasks_settle(struct fake_tasks *f);
/* Forgets jobs, timers and mail, as a process does that is killed. */
void fake_tasks_forget(struct fake_tasks *f);
size_t fake_tasks_timers(const struct fake_tasks *f);

#endif
