#include "os/threads.h"

#include "kit/test.h"
#include "os/process.h"

#include <signal.h>
#include <stdlib.h>

/* --- threads --- */

static void note_mask(void *ctx)
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    *(bool *)ctx = sigismember(&now, SIGTERM) && sigismember(&now, SIGPIPE);
}

TEST(threads, a_thread_gets_no_signals_and_who_made_it_gets_his_as_before)
{
    struct thread *t;
    bool blocked = false;
    sigset_t mine;
    EXPECT_OK(thread_start("test", note_mask, &blocked, &t));
    thread_join(t);
    EXPECT(blocked);
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    EXPECT(!sigismember(&mine, SIGTERM));
}

static void set_event(void *ctx) { event_set(ctx); }

TEST(threads, who_waits_for_an_event_goes_on_when_it_happens_and_later_ones_at_once)
{
    struct event e;
    struct thread *t;
    event_init(&e);
    EXPECT_OK(thread_start("test", set_event, &e, &t));
    event_wait(&e);
    event_wait(&e);
    thread_join(t);
    event_done(&e);
}

TEST(threads, a_wait_with_an_end_ends_by_itself)
{
    struct monitor m;
    monitor_init(&m);
    lock_take(&m.lock);
    EXPECT(!monitor_wait(&m, process_mono_us() / 1000 - 1));
    lock_give(&m.lock);
    monitor_done(&m);
}

/* --- the pool: jobs wait for each other, so each of them needs a thread of its own --- */

enum { THREADS = 3, JOBS = 200 };

struct meeting {
    struct monitor monitor;
    struct pool *pool;
    int present, most, begun, strangers, delivered;
};

struct job_of_test {
    struct work work;
    struct meeting *meeting;
};

static void begin(void *ctx)
{
    struct meeting *m = ctx;
    lock_take(&m->monitor.lock);
    m->begun++;
    lock_give(&m->monitor.lock);
}

static void meet(struct work *w)
{
    struct meeting *m = LIST_OWNER(w, struct job_of_test, work)->meeting;
    lock_take(&m->monitor.lock);
    m->strangers += !pool_is_mine(m->pool);
    if (++m->present > m->most) m->most = m->present;
    monitor_wake(&m->monitor);
    while (m->most < THREADS) monitor_wait(&m->monitor, INT64_MAX);
    m->present--;
    lock_give(&m->monitor.lock);
}

static void met(struct work *w) { LIST_OWNER(w, struct job_of_test, work)->meeting->delivered++; }

/* Letters of the pool's threads, counted here and delivered by the test. */
struct box {
    struct tasks base;
    struct lock lock;
    struct mail *first;
    int count;
};

static void box_post(struct tasks *t, struct mail *m)
{
    struct box *b = (struct box *)t;
    lock_take(&b->lock);
    m->next = b->first;
    b->first = m;
    b->count++;
    lock_give(&b->lock);
}

TEST(pool, jobs_run_on_all_of_its_threads_and_end_on_the_loop)
{
    static const struct tasks_ops ops = {.post = box_post};
    struct box box = {.base.ops = &ops};
    struct meeting m = {.present = 0};
    struct job_of_test *jobs = calloc(JOBS, sizeof *jobs);
    lock_init(&box.lock);
    monitor_init(&m.monitor);
    EXPECT_OK(pool_new(&box.base, "test", THREADS, NULL, NULL, &m.pool));
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct job_of_test){{.run = meet, .done = met}, &m};
        pool_run(m.pool, &jobs[i].work);
    }
    EXPECT(!pool_is_mine(m.pool));
    pool_free(m.pool);
    EXPECT_EQ(m.most, THREADS);
    EXPECT_EQ(m.strangers, 0);
    EXPECT_EQ(box.count, JOBS);
    EXPECT_EQ(m.delivered, 0);
    for (struct mail *next, *mail = box.first; mail; mail = next) {
        next = mail->next;
        mail->deliver(mail);
    }
    EXPECT_EQ(m.delivered, JOBS);
    monitor_done(&m.monitor);
    lock_done(&box.lock);
    free(jobs);
}

TEST(pool, each_thread_is_told_when_it_begins)
{
    static const struct tasks_ops ops = {.post = box_post};
    struct box box = {.base.ops = &ops};
    struct meeting m = {.present = 0};
    struct pool *pool;
    monitor_init(&m.monitor);
    EXPECT_OK(pool_new(&box.base, "test", THREADS, begin, &m, &pool));
    pool_free(pool);
    EXPECT_EQ(m.begun, THREADS);
    monitor_done(&m.monitor);
}
