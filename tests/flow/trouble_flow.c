/* What goes wrong around a broker: its disk, its clients, its name servers, its own end. */
#include "flow/flow.h"

#include "codec/record.h"
#include "rpc/rpc.h"

#include <stdio.h>

/* --- the disk --- */

/* As many messages as the broker takes, up to `most`; the refusal is told. */
static int send_until_refused(struct flow *f, int most, struct sent *refusal)
{
    static char body[4000];
    memset(body, 'x', sizeof body - 1);
    for (int i = 0; i < most; i++) {
        *refusal = flow_send(f, "T", 0, "", body);
        if (refusal->code != RESPONSE_SUCCESS) return i;
    }
    return most;
}

static void expect_dense(struct flow *f, int64_t count)
{
    for (int64_t at = 0; at < count;) {
        struct pulled p = flow_pull(f, "T", 0, at, "*");
        EXPECT_EQ(p.code, RESPONSE_SUCCESS);
        for (size_t i = 0; i < p.count; i++, at++) EXPECT_EQ(p.messages[i].queue_offset, at);
    }
}

TEST(trouble, a_full_disk_refuses_sends_goes_on_reading_and_takes_messages_again_when_there_is_room)
{
    struct sent s;
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "", "before");
    sim_run_for(f->sim, 2000);
    sim_fs_set_space(f->disk, 0);
    int stored = 1 + send_until_refused(f, 2000, &s);
    EXPECT_EQ(s.code, RESPONSE_SERVICE_NOT_AVAILABLE);
    EXPECT(strstr(s.remark, "writing is off") && strstr(s.remark, "no space left"));
    sim_run_for(f->sim, 5000);
    EXPECT_EQ(flow_send(f, "T", 0, "", "still full").code, RESPONSE_SERVICE_NOT_AVAILABLE);
    expect_dense(f, stored - 1);   /* the last one may be in the log alone: its queue entry found no room */
    sim_fs_set_space(f->disk, 64 << 20);
    sim_run_for(f->sim, 3000);
    EXPECT_EQ(flow_send(f, "T", 0, "", "after").queue_offset, stored);
    flow_crash(f);
    expect_dense(f, stored + 1);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").max, stored + 1);   /* no half record behind them */
    flow_stop(f);
}

TEST(trouble, a_nearly_full_disk_loses_old_messages_first_refuses_sends_above_its_limit_and_follows_a_limit_that_is_changed)
{
    static const char *const settings[] = {"mappedFileSizeCommitLog=65536", "cleanFileForciblyEnable=false", "fileReservedTime=1000000", NULL};
    static char body[4001];
    struct flow *f = flow_start(settings);
    memset(body, 'x', 4000);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 60; i++) EXPECT_EQ(flow_send(f, "T", 0, "", body).code, RESPONSE_SUCCESS);
    sim_fs_set_used(f->disk, 91);
    sim_run_for(f->sim, 15000);
    struct sent s = flow_send(f, "T", 0, "", "refused");
    EXPECT_EQ(s.code, RESPONSE_SERVICE_NOT_AVAILABLE);
    EXPECT(strstr(s.remark, "91 percent full"));
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").code, RESPONSE_SUCCESS);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "cleanFileForciblyEnable=true\ndiskSpaceWarningLevelRatio=95", NULL), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 15000);
    EXPECT_EQ(flow_send(f, "T", 0, "", "taken again").queue_offset, 60);
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    EXPECT_EQ(p.code, RESPONSE_PULL_OFFSET_MOVED);
    EXPECT(p.min > 0);
    EXPECT_EQ(p.next, p.min);
    EXPECT_EQ(flow_pull(f, "T", 0, p.min, "*").code, RESPONSE_SUCCESS);
    flow_crash(f);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").min, p.min);
    EXPECT_EQ(flow_pull(f, "T", 0, 60, "*").code, RESPONSE_SUCCESS);
    flow_stop(f);
}

TEST(trouble, after_a_sync_that_failed_no_message_is_taken_until_what_was_in_doubt_is_on_disk)
{
    static const char *const settings[] = {"flushDiskType=SYNC_FLUSH", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(flow_send(f, "T", 0, "", "before").code, RESPONSE_SUCCESS);
    sim_run_for(f->sim, 20000);   /* whatever else had to be synced is */
    f->stays_warm = true;
    sim_fs_fail(f->disk, SIM_SYNC, 1, true, ERR_IO);
    struct sent s = flow_send(f, "T", 0, "", "in doubt");
    EXPECT(s.code != RESPONSE_SUCCESS && *s.remark);
    s = flow_send(f, "T", 0, "", "refused");
    EXPECT_EQ(s.code, RESPONSE_SERVICE_NOT_AVAILABLE);
    EXPECT(strstr(s.remark, "sync"));
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").count, 1);
    sim_run_for(f->sim, 60000);
    EXPECT_EQ(flow_send(f, "T", 0, "", "still refused").code, RESPONSE_SERVICE_NOT_AVAILABLE);
    sim_fs_heal(f->disk);
    sim_run_for(f->sim, 2000);
    s = flow_send(f, "T", 0, "", "after");
    EXPECT(s.code == RESPONSE_SUCCESS && s.queue_offset == 2);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").count, 3);
    flow_crash(f);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").count, 3);
    flow_stop(f);
}

/* --- clients --- */

TEST(trouble, a_client_that_dies_takes_its_waiting_pulls_with_it)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    struct caller *dying = flow_caller(f), *own = f->caller;
    f->caller = dying;
    for (int i = 0; i < 10; i++) flow_pull_waiting(f, "T", 0, 0, "*", 600000);
    sim_run_for(f->sim, 100);
    EXPECT_EQ(flow_metric(f, "skylark_held_pulls"), 10);
    f->caller = own;
    int32_t mine = flow_pull_waiting(f, "T", 0, 0, "*", 10000);
    caller_close(dying);
    sim_run_for(f->sim, 100);
    EXPECT_EQ(flow_metric(f, "skylark_held_pulls"), 1);
    flow_send(f, "T", 0, "", "x");
    EXPECT_EQ(flow_pulled(f, mine, 100).count, 1);
    flow_stop(f);
}

TEST(trouble, nobody_waits_for_ever_whatever_was_asked_for)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_pull_waiting(f, "T", 0, 0, "*", INT64_MAX);
    sim_run_for(f->sim, 100);
    EXPECT_EQ(flow_metric(f, "skylark_held_pulls"), 1);
    for (int i = 0; i < 11; i++) {
        sim_run_for(f->sim, 55000);   /* the connection is not idle */
        EXPECT_EQ(flow_metric(f, "skylark_connections"), 1);
    }
    EXPECT_EQ(flow_metric(f, "skylark_held_pulls"), 0);
    flow_stop(f);
}

/* --- its own end --- */

TEST(trouble, a_stop_answers_what_is_stored_and_what_waits)
{
    static const char *const settings[] = {"flushDiskType=SYNC_FLUSH", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    flow_make_topic(f, "Empty", 1);
    struct caller *sender = flow_caller(f);
    int32_t waiting = flow_pull_waiting(f, "Empty", 0, 0, "*", 15000);
    sim_run_for(f->sim, 100);
    sim_tune(f->sim)->work_max_us = 10000000;   /* the disk takes its time: the sync is under way when the stop comes */
    int32_t sending = flow_send_begin(f, sender, "T", "on its way");
    sim_run_for(f->sim, 20);
    EXPECT(!caller_unread(sender));
    flow_free_broker(f);
    struct answer *a = caller_reply(sender, sending, 1000);
    EXPECT(a && a->frame.code == RESPONSE_SUCCESS);
    answer_free(a);
    EXPECT_EQ(flow_pulled(f, waiting, 1000).code, RESPONSE_PULL_NOT_FOUND);
    caller_close(sender);
    sim_run_for(f->sim, 11000);   /* until the worker is back */
    sim_tune(f->sim)->work_max_us = 1000;
    flow_restart(f);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").count, 1);
    flow_stop(f);
}

/* --- name servers --- */

/* A name server that agrees to everything and counts. */
struct counter {
    struct sim_process *process;
    struct rpc_listener *listener;
    int registrations, goodbyes;
};

static void count(void *ctx, struct call *call)
{
    struct counter *c = ctx;
    c->registrations += call->code == REQUEST_REGISTER_BROKER;
    c->goodbyes += call->code == REQUEST_UNREGISTER_BROKER;
    call_reply_ok(call);
}

static void counter_start(struct flow *f, struct counter *c)
{
    struct rpc_service service = {.handle = count, .ctx = c};
    struct rpc_options options = rpc_options_default();
    struct addr at = {.port = 9876};
    *c = (struct counter){.process = sim_process_new(f->sim, "10.0.0.3")};
    EXPECT_OK(rpc_listen(sim_loop_new(c->process), &at, 0, &service, &options, &c->listener));
}

TEST(trouble, a_name_server_that_was_away_is_told_again)
{
    static const char *const settings[] = {"namesrvAddr=10.0.0.3:9876", NULL};
    struct flow *f = flow_start(settings);
    struct counter first, second;
    counter_start(f, &first);
    sim_run_for(f->sim, 35000);   /* it came after the broker: the next regular round finds it */
    EXPECT(first.registrations >= 1);
    sim_process_kill(first.process);
    rpc_listener_close(first.listener);
    sim_run_for(f->sim, 65000);
    EXPECT_EQ(flow_code(f, 12345, NULL, NULL, NULL, NULL), RESPONSE_REQUEST_CODE_NOT_SUPPORTED);   /* the broker does not mind */
    counter_start(f, &second);
    sim_run_for(f->sim, 35000);
    EXPECT(second.registrations >= 1);
    int before = second.registrations;
    flow_make_topic(f, "T", 1);
    EXPECT(second.registrations > before);   /* and at once when a topic is made */
    rpc_listener_close(second.listener);
    flow_stop(f);
}
