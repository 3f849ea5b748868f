/* inline_tasks.h - os/tasks.h for a command that does one thing after the other: workers' jobs run on the thread that waits for them,
 * and timers fire in their order, at once. The room's own.
 * Threads  owner */
#ifndef SKYLARK_TOOLS_INLINE_TASKS_H
#define SKYLARK_TOOLS_INLINE_TASKS_H

#include "base/buf.h"
#include "os/tasks.h"

struct inline_tasks {
    struct tasks tasks;
    struct list timers;      /* by due time */
    struct list hooks;
    struct buf jobs;         /* struct work * */
    int64_t mono_ms;
    int64_t wall_ms;
};

void inline_tasks_init(struct inline_tasks *t, int64_t wall_ms);
void inline_tasks_done(struct inline_tasks *t);
/* Turns and jobs until there are none left. */
void inline_tasks_work(struct inline_tasks *t);
/* Fires the next timer; false when there is none. */
bool inline_tasks_fire(struct inline_tasks *t);

#endif
