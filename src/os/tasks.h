/* tasks.h - what a loop offers to the owners of state who know nothing of sockets: time, timers, workers, mail.
 * Implementations: net/loop (libuv), and the simulated loop in tests/kit. The same broker runs on either.
 * Threads  tasks_post: any; everything else: loop
 * Units    wall_ms is the time since 1970 in ms, mono_ms never goes back */
#ifndef SKYLARK_OS_TASKS_H
#define SKYLARK_OS_TASKS_H

#include "base/err.h"
#include "base/list.h"

#include <stdint.h>

struct tasks;

/* A timer, embedded in its owner. Set `fire` and `ctx` once with timer_init(). */
struct timer {
    struct list_node node;      /* the implementation's */
    void *impl;                 /* the implementation's */
    int64_t due_ms;             /* the implementation's; mono_ms */
    uint64_t sequence;          /* the implementation's */
    bool armed;
    void (*fire)(void *ctx);    /* Thread: loop */
    void *ctx;
};

/* One blocking job. `run` is called on a worker, then `done` on the loop that gave it away, always in this order and both
 * exactly once. Embedded in its owner, who keeps it alive until `done`. */
struct work {
    void *impl;                     /* the implementation's */
    void (*run)(struct work *w);    /* Thread: worker */
    void (*done)(struct work *w);   /* Thread: loop */
};

/* A letter to a loop: `deliver` is called once on the receiving loop. Embedded in its owner. */
struct mail {
    struct mail *next;              /* the implementation's */
    void (*deliver)(struct mail *m);
};

/* Called at the end of every turn of the loop, in the order of their registration: a store first (it writes what the
 * turn brought), connections last (they send the replies). */
struct turn_hook {
    struct list_node node;
    void (*run)(void *ctx);
    void *ctx;
};

struct tasks_ops {
    int64_t (*wall_ms)(struct tasks *);
    int64_t (*mono_ms)(struct tasks *);
    int64_t (*idle_us)(struct tasks *);
    void (*refresh)(struct tasks *);
    void (*timer_start)(struct tasks *, struct timer *, int64_t delay_ms);
    void (*timer_stop)(struct tasks *, struct timer *);
    void (*work)(struct tasks *, struct work *);
    void (*post)(struct tasks *, struct mail *);
    void (*on_turn_end)(struct tasks *, struct turn_hook *);
    void (*off_turn_end)(struct tasks *, struct turn_hook *);
    bool (*on_loop)(struct tasks *);
};

struct tasks {
    const struct tasks_ops *ops;
};

/* Time as of the start of this turn of the loop, or of the last tasks_refresh() in it. */
static inline int64_t tasks_wall_ms(struct tasks *t) { return t->ops->wall_ms(t); }
static inline int64_t tasks_mono_ms(struct tasks *t) { return t->ops->mono_ms(t); }

/* How long the loop has waited for something to do since it began, in µs: a loop whose idle time does not grow is busy. */
static inline int64_t tasks_idle_us(struct tasks *t) { return t->ops->idle_us ? t->ops->idle_us(t) : t->ops->mono_ms(t) * 1000; }

/* The time is that of now. For who tells others a time, or compares the two clocks: a turn may have taken a while already. */
static inline void tasks_refresh(struct tasks *t)
{
    if (t->ops->refresh) t->ops->refresh(t);
}

static inline void timer_init(struct timer *timer, void (*fire)(void *), void *ctx)
{
    *timer = (struct timer){.fire = fire, .ctx = ctx};
}
/* Fires once, not before delay_ms have passed; starting an armed timer moves it. */
static inline void timer_start(struct tasks *t, struct timer *timer, int64_t delay_ms) { t->ops->timer_start(t, timer, delay_ms); }
/* After it the timer does not fire; harmless when it is not armed. */
static inline void timer_stop(struct tasks *t, struct timer *timer) { t->ops->timer_stop(t, timer); }

static inline void tasks_work(struct tasks *t, struct work *w) { t->ops->work(t, w); }
static inline void tasks_post(struct tasks *t, struct mail *m) { t->ops->post(t, m); }
static inline void tasks_on_turn_end(struct tasks *t, struct turn_hook *h) { t->ops->on_turn_end(t, h); }
static inline void tasks_off_turn_end(struct tasks *t, struct turn_hook *h) { t->ops->off_turn_end(t, h); }

#define assert_on_loop(tasks) assert((tasks)->ops->on_loop(tasks))

#endif
