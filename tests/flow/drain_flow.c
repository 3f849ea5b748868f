/* drain_flow.c - a broker that is told to stop answers what came in, and lets nobody wait. */
#include "flow/pop_kit.h"

struct stop {
    struct flow *flow;
    bool done;
};

static void on_done(void *ctx) { ((struct stop *)ctx)->done = true; }

static void begin_stop(void *ctx)
{
    struct stop *s = ctx;
    broker_stop(s->flow->broker, on_done, s);
}

static bool is_done(void *ctx) { return ((struct stop *)ctx)->done; }

TEST(drain, who_waits_for_messages_is_answered_before_the_connection_ends)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    int32_t pull = flow_pull_waiting(f, "T", 0, 0, "*", 30000);
    struct pop_header h = pop_fields(f);
    struct caller *popper = flow_caller(f);
    h.poll_time = 20000;
    int32_t pop = pop_begin_by(f, popper, &h);
    sim_run_for(f->sim, 100);
    struct stop s = {.flow = f};
    sim_call(f->loop, begin_stop, &s);
    EXPECT(sim_run_until(f->sim, is_done, &s, 2000));
    EXPECT_EQ(flow_pulled(f, pull, 1000).code, RESPONSE_PULL_NOT_FOUND);
    EXPECT_EQ(popped_by(f, popper, &h, pop, 1000).code, RESPONSE_POLLING_TIMEOUT);
    caller_close(popper);
    flow_stop(f);
}

TEST(drain, a_send_that_waits_for_the_disk_is_answered_and_what_comes_later_is_not_taken)
{
    const char *const settings[] = {"flushDiskType=SYNC_FLUSH", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    sim_tune(f->sim)->work_max_us = 500000;
    int32_t send = flow_send_begin(f, f->caller, "T", "under way");
    sim_run_for(f->sim, 5);   /* it has come, and its sync takes long */
    struct stop s = {.flow = f};
    sim_call(f->loop, begin_stop, &s);
    sim_run_for(f->sim, 5);
    int32_t late = flow_send_begin(f, f->caller, "T", "too late");
    EXPECT(sim_run_until(f->sim, is_done, &s, 2000));
    struct answer *a = caller_reply(f->caller, send, 1000);
    EXPECT(a && a->frame.code == RESPONSE_SUCCESS);
    answer_free(a);
    flow_restart(f);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").count, 1);
    (void)late;
    flow_stop(f);
}

TEST(drain, a_stop_waits_no_longer_than_it_may)
{
    const char *const settings[] = {"flushDiskType=SYNC_FLUSH", "shutdownWaitMillis=50", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    sim_tune(f->sim)->work_max_us = 60000000;   /* a disk that hangs */
    flow_send_begin(f, f->caller, "T", "x");
    sim_run_for(f->sim, 5);
    struct stop s = {.flow = f};
    int64_t began = sim_now_ms(f->sim);
    sim_call(f->loop, begin_stop, &s);
    EXPECT(sim_run_until(f->sim, is_done, &s, 2000));
    EXPECT(sim_now_ms(f->sim) - began < 200);
    sim_tune(f->sim)->work_max_us = 1000;
    sim_run_for(f->sim, 60000);
    flow_stop(f);
}

TEST(drain, nothing_is_handed_out_by_pops_any_more)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "", "x");
    struct pop_header h = pop_fields(f);
    struct stop s = {.flow = f};
    int32_t pop = pop_begin_by(f, f->caller, &h);
    sim_call(f->loop, begin_stop, &s);   /* before it has come */
    struct popped p = popped_by(f, f->caller, &h, pop, 1000);
    EXPECT(p.code == RESPONSE_POLLING_TIMEOUT || p.code == -1);
    EXPECT_EQ(p.count, 0);
    flow_restart(f);
    p = pop_once(f);
    EXPECT_EQ(p.count, 1);
    flow_stop(f);
}

/* --- who sends while the broker stops --- */

TEST(drain, who_sends_while_the_broker_stops_learns_at_once_that_nobody_takes_it_and_waits_for_no_other)
{
    const char *const settings[] = {"flushDiskType=SYNC_FLUSH", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    struct caller *other = flow_caller(f);
    flow_subscribe(f, other, "c1", "G", "T", "*", 1);   /* its connection is known */
    sim_tune(f->sim)->work_max_us = 2000000;
    int32_t send = flow_send_begin(f, f->caller, "T", "under way");
    sim_run_for(f->sim, 5);
    struct stop s = {.flow = f};
    sim_call(f->loop, begin_stop, &s);
    sim_run_for(f->sim, 2);
    flow_send_begin(f, other, "T", "too late");
    EXPECT(caller_ended(other, 100));
    EXPECT(!s.done);
    struct answer *a = caller_reply(f->caller, send, 3000);   /* and who is owed an answer gets it */
    EXPECT(a && a->frame.code == RESPONSE_SUCCESS);
    answer_free(a);
    EXPECT(caller_ended(f->caller, 100));
    caller_close(other);
    EXPECT(sim_run_until(f->sim, is_done, &s, 3000));
    flow_restart(f);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").count, 1);
    flow_stop(f);
}

/* Bytes that are unread when a connection closes make the kernel throw away what the other end has not got yet. */
static void stop_amid_requests(int ms)
{
    struct flow *f = flow_start(NULL);
    struct stop s = {.flow = f};
    int32_t sends[8];
    int answered = 0;
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 4; i++) sends[i] = flow_send_begin(f, f->caller, "T", "x");
    sim_run_for(f->sim, ms);
    sim_call(f->loop, begin_stop, &s);
    for (int i = 4; i < 8; i++) sends[i] = flow_send_begin(f, f->caller, "T", "x");
    EXPECT(sim_run_until(f->sim, is_done, &s, 4000));
    flow_free_broker(f);
    EXPECT(caller_ended(f->caller, 1000));
    for (int i = 0; i < 8; i++) {
        struct answer *a = caller_reply(f->caller, sends[i], 0);
        EXPECT(!a || i == answered);
        answered += a != NULL;
        answer_free(a);
    }
    flow_restart(f);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").count, answered);   /* what was stored was told, and the other way round */
    flow_stop(f);
}

TEST(drain, an_answer_comes_though_more_was_sent_behind_its_request)
{
    for (int ms = 0; ms < 12; ms++) stop_amid_requests(ms);
}
