#include "kit/fake_tasks.h"
#include "kit/test.h"

#include "broker/hold/hold.h"
#include "os/random.h"

#include <stdio.h>
#include <stdlib.h>

struct fixture {
    struct fake_tasks tasks;
    struct hold hold;
};

struct guest {
    struct waiter waiter;
    struct fixture *fixture;
    int woken;
    enum wake_reason reason;
    bool again;                 /* waits anew when it wakes */
    struct guest *takes_along;  /* cancelled when this one wakes */
};

static void on_wake(struct waiter *w, enum wake_reason reason)
{
    struct guest *g = LIST_OWNER(w, struct guest, waiter);
    g->woken++;
    g->reason = reason;
    if (g->takes_along) hold_cancel(&g->takes_along->waiter);
    if (g->again) hold_wait(&g->fixture->hold, w, SLICE("T"), 0, w->past + 1, w->deadline_ms);
}

static void start(struct fixture *f)
{
    fake_tasks_init(&f->tasks, 1000000);
    hold_init(&f->hold, &f->tasks.tasks);
}

static void stop(struct fixture *f)
{
    hold_done(&f->hold);
    EXPECT_EQ(f->hold.waiting, 0);
    EXPECT_EQ(fake_tasks_timers(&f->tasks), 0);
    fake_tasks_done(&f->tasks);
}

static void wait_for(struct fixture *f, struct guest *g, const char *topic, int32_t queue_id, int64_t past, int64_t ms)
{
    g->fixture = f;
    g->waiter.wake = on_wake;
    hold_wait(&f->hold, &g->waiter, slice_text(topic), queue_id, past, tasks_mono_ms(&f->tasks.tasks) + ms);
}

TEST(hold, an_arrival_wakes_who_waits_for_that_queue_and_has_not_seen_it)
{
    struct fixture f;
    struct guest first = {.woken = 0}, second = {.woken = 0}, later = {.woken = 0}, other_queue = {.woken = 0}, other_topic = {.woken = 0};
    start(&f);
    wait_for(&f, &first, "T", 0, 5, 1000);
    wait_for(&f, &second, "T", 0, 5, 1000);
    wait_for(&f, &later, "T", 0, 7, 1000);
    wait_for(&f, &other_queue, "T", 1, 5, 1000);
    wait_for(&f, &other_topic, "T2", 0, 5, 1000);
    hold_arrived(&f.hold, SLICE("T"), 0, 5);   /* entries 0 to 4: nothing new */
    EXPECT_EQ(first.woken, 0);
    hold_arrived(&f.hold, SLICE("T"), 0, 6);
    EXPECT_EQ(first.woken, 1);
    EXPECT_EQ(first.reason, WAKE_ARRIVED);
    EXPECT_EQ(second.woken, 1);
    EXPECT_EQ(later.woken + other_queue.woken + other_topic.woken, 0);
    EXPECT_EQ(f.hold.waiting, 3);
    hold_arrived(&f.hold, SLICE("T"), 0, 8);
    EXPECT_EQ(later.woken, 1);
    EXPECT_EQ(first.woken, 1);
    stop(&f);
    EXPECT_EQ(other_queue.reason, WAKE_DROPPED);
}

TEST(hold, time_wakes_each_at_its_own)
{
    struct fixture f;
    struct guest soon = {.woken = 0}, late = {.woken = 0};
    start(&f);
    wait_for(&f, &late, "T", 0, 0, 2000);
    wait_for(&f, &soon, "T", 0, 0, 1000);
    fake_tasks_advance(&f.tasks, 999);
    EXPECT_EQ(soon.woken, 0);
    fake_tasks_advance(&f.tasks, 1);
    EXPECT_EQ(soon.woken, 1);
    EXPECT_EQ(soon.reason, WAKE_TIMEOUT);
    EXPECT_EQ(late.woken, 0);
    hold_arrived(&f.hold, SLICE("T"), 0, 1);
    EXPECT_EQ(soon.woken, 1);
    EXPECT_EQ(late.reason, WAKE_ARRIVED);
    fake_tasks_advance(&f.tasks, 5000);
    EXPECT_EQ(late.woken, 1);
    stop(&f);
}

TEST(hold, who_wakes_may_wait_again_and_is_not_woken_twice_by_one_arrival)
{
    struct fixture f;
    struct guest g = {.again = true};
    start(&f);
    wait_for(&f, &g, "T", 0, 0, 1000);
    hold_arrived(&f.hold, SLICE("T"), 0, 10);
    EXPECT_EQ(g.woken, 1);
    hold_arrived(&f.hold, SLICE("T"), 0, 10);
    EXPECT_EQ(g.woken, 2);
    g.again = false;
    stop(&f);
}

TEST(hold, a_cancelled_one_does_not_wake)
{
    struct fixture f;
    struct guest g = {.woken = 0};
    start(&f);
    wait_for(&f, &g, "T", 0, 0, 1000);
    hold_cancel(&g.waiter);
    hold_cancel(&g.waiter);
    hold_arrived(&f.hold, SLICE("T"), 0, 1);
    fake_tasks_advance(&f.tasks, 2000);
    EXPECT_EQ(g.woken, 0);
    stop(&f);
}

TEST(hold, a_topic_that_goes_wakes_all_who_wait_for_it_in_all_queues)
{
    struct fixture f;
    struct guest guests[40] = {{.woken = 0}}, other = {.woken = 0};
    start(&f);
    for (int i = 0; i < 40; i++) wait_for(&f, &guests[i], "T", i % 20, 0, 1000);
    wait_for(&f, &other, "T2", 0, 0, 1000);
    hold_drop_topic(&f.hold, SLICE("T"));
    for (int i = 0; i < 40; i++) EXPECT(guests[i].woken == 1 && guests[i].reason == WAKE_DROPPED);
    EXPECT_EQ(other.woken, 0);
    stop(&f);
}

TEST(hold, one_connection_s_waiter_is_woken_alone)
{
    struct fixture f;
    struct guest one = {.woken = 0}, other = {.woken = 0};
    start(&f);
    wait_for(&f, &one, "T", 0, 0, 1000);
    wait_for(&f, &other, "T", 0, 0, 1000);
    hold_wake(&one.waiter, WAKE_DROPPED);
    EXPECT_EQ(one.woken, 1);
    EXPECT_EQ(other.woken, 0);
    stop(&f);
}

/* Against a plain table: who waits for what. */
TEST(hold, wakes_exactly_those_a_plain_model_says)
{
    enum { GUESTS = 60, QUEUES = 4, STEPS = 3000 };
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct fixture f;
        struct random r;
        struct guest guests[GUESTS] = {{.woken = 0}};
        int64_t past[GUESTS];
        int32_t queue[GUESTS];
        bool waits[GUESTS] = {false};
        int64_t end[QUEUES] = {0};
        start(&f);
        random_init(&r, seed);
        for (int step = 0; step < STEPS; step++) {
            int i = (int)random_below(&r, GUESTS);
            int32_t q = (int32_t)random_below(&r, QUEUES);
            switch (random_below(&r, 4)) {
            case 0:
            case 1:
                if (waits[i]) break;
                queue[i] = q;
                past[i] = end[q] + (int64_t)random_below(&r, 3);
                waits[i] = true;
                guests[i].woken = 0;
                wait_for(&f, &guests[i], "T", q, past[i], 1000000000);
                break;
            case 2:
                hold_cancel(&guests[i].waiter);
                waits[i] = false;
                break;
            default:
                end[q] += 1 + (int64_t)random_below(&r, 2);
                hold_arrived(&f.hold, SLICE("T"), q, end[q]);
                for (int k = 0; k < GUESTS; k++) {
                    bool must = waits[k] && queue[k] == q && past[k] < end[q];
                    if (waits[k] && guests[k].woken != must) fail_msg("seed %llu step %d", (unsigned long long)seed, step);
                    if (must) waits[k] = false;
                }
            }
        }
        stop(&f);
    }
}

TEST(hold, who_is_parked_wakes_when_somebody_says_so_or_in_time)
{
    struct fixture f;
    struct guest woken = {.woken = 0}, late = {.woken = 0}, dropped = {.woken = 0};
    struct guest *all[] = {&woken, &late, &dropped};
    start(&f);
    for (size_t i = 0; i < 3; i++) {
        all[i]->waiter.wake = on_wake;
        hold_park(&f.hold, &all[i]->waiter, tasks_mono_ms(&f.tasks.tasks) + (i == 1 ? 500 : 5000));
    }
    hold_arrived(&f.hold, SLICE("T"), 0, 7);
    EXPECT_EQ(woken.woken + late.woken + dropped.woken, 0);
    hold_wake(&woken.waiter, WAKE_ARRIVED);
    EXPECT(woken.woken == 1 && woken.reason == WAKE_ARRIVED);
    fake_tasks_advance(&f.tasks, 600);
    EXPECT(late.woken == 1 && late.reason == WAKE_TIMEOUT);
    hold_done(&f.hold);
    EXPECT(dropped.woken == 1 && dropped.reason == WAKE_DROPPED);
    hold_init(&f.hold, &f.tasks.tasks);
    stop(&f);
}

struct observer {
    struct watch watch;
    int arrived, gone;
    int32_t queue_id;
};

static void on_arrived(struct watch *w, int32_t queue_id, int64_t end)
{
    struct observer *o = LIST_OWNER(w, struct observer, watch);
    o->arrived++;
    o->queue_id = queue_id;
    EXPECT_EQ(end, 9);
}

static void on_gone(struct watch *w) { LIST_OWNER(w, struct observer, watch)->gone++; }

TEST(hold, who_watches_a_topic_is_told_of_each_arrival_and_of_its_end)
{
    struct fixture f;
    struct observer one = {.watch = {.arrived = on_arrived, .gone = on_gone}}, two = one, other = one;
    start(&f);
    hold_watch(&f.hold, &one.watch, SLICE("T"));
    hold_watch(&f.hold, &two.watch, SLICE("T"));
    hold_watch(&f.hold, &other.watch, SLICE("U"));
    hold_arrived(&f.hold, SLICE("T"), 3, 9);
    EXPECT(one.arrived == 1 && two.arrived == 1 && !other.arrived && one.queue_id == 3);
    hold_unwatch(&f.hold, &two.watch);
    hold_unwatch(&f.hold, &two.watch);
    hold_drop_topic(&f.hold, SLICE("T"));
    EXPECT(one.gone == 1 && !two.gone && !other.gone);
    hold_unwatch(&f.hold, &one.watch);
    hold_unwatch(&f.hold, &other.watch);
    hold_arrived(&f.hold, SLICE("T"), 3, 9);
    EXPECT_EQ(one.arrived, 1);
    stop(&f);
}
