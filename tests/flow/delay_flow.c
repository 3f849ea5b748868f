/* Messages of delay levels: they wait in SCHEDULE_TOPIC_XXXX and come when they are due, once. */
#include "flow/flow.h"

#include "codec/delay_levels.h"
#include "codec/properties.h"

#include <stdio.h>
#include <stdlib.h>

enum { LATE_MS = 200 };

static int64_t wall_ms(struct flow *f) { return sim_tune(f->sim)->start_wall_ms + sim_now_ms(f->sim); }
static int64_t max_of(struct flow *f, const char *topic, int32_t queue_id) { return flow_pull(f, topic, queue_id, 0, "*").max; }
static struct slice property(const struct message *m, const char *name) { return properties_get(m->properties, slice_text(name)); }

/* Waits until the topic has `count` messages in queue 0, at the longest so long. */
static void wait_for(struct flow *f, const char *topic, int64_t count, int64_t limit_ms)
{
    int64_t end = sim_now_ms(f->sim) + limit_ms;
    while (max_of(f, topic, 0) < count && sim_now_ms(f->sim) < end) sim_run_for(f->sim, 50);
    EXPECT_EQ(max_of(f, topic, 0), count);
}

/* --- one message --- */

TEST(delay, a_message_comes_at_the_end_of_its_level_not_before_and_is_otherwise_as_it_was_sent)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 4);
    for (int32_t level = 1; level <= 4; level++) {
        char properties[80];
        snprintf(properties, sizeof properties, "TAGS=A;KEYS=k;UNIQ_KEY=U%d;DELAY=%d;WAIT=true", level, level);
        int64_t sent_ms = wall_ms(f), due_ms = sent_ms + delay_levels_ms(&delay_levels_default, level);
        struct sent s = flow_send(f, "T", 2, properties, "later");
        EXPECT_EQ(s.code, RESPONSE_SUCCESS);
        EXPECT_EQ(s.queue_id, 2);
        EXPECT_EQ(s.queue_offset, 0);   /* in the queue where it waits, as the original tells it */
        int32_t waiting = flow_pull_waiting(f, "T", 2, level - 1, "A", due_ms - sent_ms + 5000);
        struct pulled p = flow_pulled(f, waiting, due_ms - sent_ms + 5000);
        EXPECT_EQ(p.code, RESPONSE_SUCCESS);
        EXPECT_EQ(p.count, 1);
        const struct message *m = &p.messages[0];
        EXPECT(m->store_ms >= due_ms && wall_ms(f) <= due_ms + LATE_MS);
        EXPECT_TEXT(m->topic, "T");
        EXPECT_EQ(m->queue_id, 2);
        EXPECT_TEXT(m->body, "later");
        EXPECT_EQ(m->born_ms, 1795996348596);
        EXPECT_TEXT(property(m, "TAGS"), "A");
        EXPECT_TEXT(property(m, "WAIT"), "true");
        EXPECT_TEXT(property(m, "REAL_TOPIC"), "T");
        EXPECT_TEXT(property(m, "REAL_QID"), "2");
        EXPECT_EQ(property(m, "DELAY").p[0], '0' + level);
    }
    EXPECT_EQ(flow_pull(f, "T", 2, 0, "B").count, 0);
    flow_stop(f);
}

TEST(delay, what_waits_says_when_it_is_due_where_its_tags_would_be)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "TAGS=A;DELAY=18", "x");
    struct pulled p = flow_pull(f, DELAY_LEVELS_TOPIC, 17, 0, "*");
    EXPECT_EQ(p.count, 1);
    struct buf bytes = BUF_EMPTY;
    EXPECT_OK(fs_read_file(sim_fs_disk(f->disk), "/store/consumequeue/SCHEDULE_TOPIC_XXXX/17/00000000000000000000", 1 << 20, &bytes));
    EXPECT_EQ(get_be64(bytes.p + 12), p.messages[0].store_ms + 7200000);
    buf_done(&bytes);
    flow_stop(f);
}

TEST(delay, a_queue_that_is_made_anew_from_the_log_knows_the_configured_levels)
{
    static const char *const settings[] = {"messageDelayLevel=7s 9s", NULL};
    for (int kill = 0; kill < 2; kill++) {
        struct flow *f = flow_start(settings);
        flow_make_topic(f, "T", 1);
        int64_t sent_ms = wall_ms(f);
        flow_send(f, "T", 0, "TAGS=A;DELAY=5", "x");
        flow_free_broker(f);
        EXPECT_OK(fs_remove_tree(sim_fs_disk(f->disk), "/store/consumequeue"));
        if (kill) flow_crash(f);
        else flow_restart(f);
        sim_run_for(f->sim, 8500);
        EXPECT_EQ(max_of(f, "T", 0), 0);
        wait_for(f, "T", 1, 2000);
        struct pulled p = flow_pull(f, "T", 0, 0, "A");
        EXPECT_EQ(p.count, 1);
        EXPECT(p.messages[0].store_ms >= sent_ms + 9000);
        flow_stop(f);
    }
}

TEST(delay, a_level_above_all_is_the_highest_and_none_or_a_negative_one_is_no_delay)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(flow_send(f, "T", 0, "DELAY=0", "x").code, RESPONSE_SUCCESS);
    EXPECT_EQ(flow_send(f, "T", 0, "DELAY=-3", "x").code, RESPONSE_SUCCESS);
    EXPECT_EQ(max_of(f, "T", 0), 2);
    EXPECT_EQ(flow_send(f, "T", 0, "DELAY=99", "x").code, RESPONSE_SUCCESS);
    EXPECT_EQ(flow_send(f, "T", 0, "DELAY=2147483647", "x").code, RESPONSE_SUCCESS);
    struct pulled p = flow_pull(f, DELAY_LEVELS_TOPIC, 17, 0, "*");
    EXPECT_EQ(p.count, 2);
    EXPECT_TEXT(property(&p.messages[0], "DELAY"), "18");
    struct sent s = flow_send(f, "T", 0, "DELAY=soon", "x");
    EXPECT_EQ(s.code, RESPONSE_SYSTEM_ERROR);
    EXPECT(strstr(s.remark, "DELAY"));
    EXPECT_EQ(flow_send(f, "T", 0, "DELAY=4294967297", "x").code, RESPONSE_SYSTEM_ERROR);
    EXPECT_EQ(max_of(f, "T", 0), 2);
    flow_stop(f);
}

TEST(delay, a_level_wins_over_a_time_and_what_a_client_says_of_the_real_place_does_not_count)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_make_topic(f, "Other", 1);
    EXPECT_EQ(flow_send(f, "T", 0, "REAL_TOPIC=Other;REAL_QID=7;DELAY=1;TIMER_DELAY_SEC=1000;TIMER_DELIVER_MS=1;TIMER_DELAY_MS=5", "x").code, RESPONSE_SUCCESS);
    wait_for(f, "T", 1, 2000);
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    EXPECT_TEXT(property(&p.messages[0], "REAL_TOPIC"), "T");
    EXPECT_EQ(property(&p.messages[0], "TIMER_DELAY_SEC").n + property(&p.messages[0], "TIMER_DELIVER_MS").n + property(&p.messages[0], "TIMER_DELAY_MS").n, 0);
    EXPECT_EQ(max_of(f, "Other", 0), 0);
    flow_stop(f);
}

/* --- many --- */

TEST(delay, messages_of_all_levels_come_in_their_order_and_each_once)
{
    static const char *const settings[] = {"messageDelayLevel=1s 2s 3s 4s", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 400; i++) {
        char properties[40], body[16];
        snprintf(properties, sizeof properties, "DELAY=%d", 4 - i % 4);
        snprintf(body, sizeof body, "%d %d", 4 - i % 4, i);
        EXPECT_EQ(flow_send(f, "T", 0, properties, body).code, RESPONSE_SUCCESS);
    }
    wait_for(f, "T", 400, 8000);
    int64_t last[5] = {-1, -1, -1, -1, -1};
    for (int64_t at = 0; at < 400;) {
        struct pulled p = flow_pull(f, "T", 0, at, "*");
        EXPECT_EQ(p.code, RESPONSE_SUCCESS);
        for (size_t i = 0; i < p.count; i++, at++) {
            int64_t level = p.messages[i].body.p[0] - '0', number;
            EXPECT(slice_to_i64(slice_skip(p.messages[i].body, 2), &number));
            EXPECT(number > last[level]);
            last[level] = number;
        }
    }
    sim_run_for(f->sim, 20000);
    EXPECT_EQ(max_of(f, "T", 0), 400);
    flow_stop(f);
}

TEST(delay, thousands_that_are_due_at_once_come_in_slices_and_others_are_answered_in_between)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_make_topic(f, "Other", 1);
    for (int i = 0; i < 1500; i++) EXPECT_EQ(flow_send(f, "T", 0, "DELAY=2", "x").code, RESPONSE_SUCCESS);
    int64_t before = flow_metric(f, "skylark_log_writes_total");
    sim_tune(f->sim)->start_wall_ms += 10000;   /* all at once */
    wait_for(f, "T", 1500, 20000);
    EXPECT(flow_metric(f, "skylark_log_writes_total") - before >= 1500 / 256);
    flow_stop(f);
}

/* --- ends and beginnings --- */

TEST(delay, a_restart_forgets_nothing_and_delivers_nothing_twice)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 20; i++) flow_send(f, "T", 0, i % 2 ? "DELAY=1" : "DELAY=3", "x");
    wait_for(f, "T", 10, 3000);
    flow_restart(f);
    EXPECT_EQ(max_of(f, "T", 0), 10);
    wait_for(f, "T", 20, 15000);
    flow_restart(f);
    sim_run_for(f->sim, 20000);
    EXPECT_EQ(max_of(f, "T", 0), 20);
    flow_stop(f);
}

TEST(delay, what_became_due_while_nobody_ran_comes_at_once)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 5; i++) flow_send(f, "T", 0, "DELAY=5", "x");
    flow_free_broker(f);
    sim_tune(f->sim)->start_wall_ms += 120000;
    flow_restart(f);
    wait_for(f, "T", 5, 1000);
    flow_stop(f);
}

static void after_a_kill(const char *flush)
{
    const char *const settings[] = {flush, "flushDelayOffsetInterval=1000", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 30; i++) flow_send(f, "T", 0, "DELAY=1", "x");
    wait_for(f, "T", 30, 3000);
    sim_run_for(f->sim, 4000);   /* it is told in delayOffset.json */
    for (int i = 0; i < 30; i++) flow_send(f, "T", 0, "DELAY=2", "x");
    flow_crash(f);
    sim_run_for(f->sim, 10000);
    EXPECT_EQ(max_of(f, "T", 0), 60);
    flow_stop(f);
}

TEST(delay, after_a_kill_what_waits_still_comes_and_what_is_known_to_be_delivered_does_not_again)
{
    after_a_kill("flushDiskType=ASYNC_FLUSH");
    after_a_kill("flushDiskType=SYNC_FLUSH");
}

/* --- refusals --- */

TEST(delay, messages_that_are_due_while_the_disk_is_full_come_once_each_when_there_is_room)
{
    static char body[4000];
    struct flow *f = flow_start(NULL);
    struct sent s;
    memset(body, 'x', sizeof body - 1);
    flow_make_topic(f, "T", 1);
    flow_make_topic(f, "Fill", 1);
    for (int i = 0; i < 10; i++) flow_send(f, "T", 0, "DELAY=2", "due");
    sim_run_for(f->sim, 2000);
    sim_fs_set_space(f->disk, 0);
    do s = flow_send(f, "Fill", 0, "", body);
    while (s.code == RESPONSE_SUCCESS);
    sim_run_for(f->sim, 8000);
    EXPECT_EQ(max_of(f, "T", 0), 0);
    sim_fs_set_space(f->disk, 64 << 20);
    wait_for(f, "T", 10, 5000);
    sim_run_for(f->sim, 5000);
    flow_restart(f);
    sim_run_for(f->sim, 5000);
    EXPECT_EQ(max_of(f, "T", 0), 10);
    flow_stop(f);
}

TEST(delay, a_write_that_fails_in_the_middle_delays_messages_and_doubles_none)
{
    for (uint64_t nth = 1; nth < 8; nth++) {
        struct flow *f = flow_start(NULL);
        flow_make_topic(f, "T", 1);
        for (int i = 0; i < 10; i++) {
            flow_send(f, "T", 0, "DELAY=1", "due");
            sim_run_for(f->sim, 30);
        }
        sim_run_for(f->sim, 600);
        sim_fs_fail(f->disk, SIM_WRITE, nth, false, ERR_IO);
        sim_run_for(f->sim, 4000);
        sim_fs_heal(f->disk);
        wait_for(f, "T", 10, 5000);
        sim_run_for(f->sim, 3000);
        EXPECT_EQ(max_of(f, "T", 0), 10);
        flow_stop(f);
    }
}

/* --- clocks --- */

TEST(delay, a_clock_that_is_set_forward_is_believed_within_seconds)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "DELAY=18", "x");
    sim_run_for(f->sim, 1000);
    sim_tune(f->sim)->start_wall_ms += 7200000;
    wait_for(f, "T", 1, 11000);
    flow_stop(f);
}

TEST(delay, a_clock_that_is_set_back_makes_nobody_wait_longer_than_the_level)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "DELAY=3", "x");
    sim_run_for(f->sim, 1000);
    sim_tune(f->sim)->start_wall_ms -= 3600000;
    sim_run_for(f->sim, 8000);
    EXPECT_EQ(max_of(f, "T", 0), 0);
    wait_for(f, "T", 1, 2000);
    flow_stop(f);
}

/* --- what is told --- */

TEST(delay, how_far_levels_are_is_told_and_kept_as_by_the_original)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 3; i++) flow_send(f, "T", 0, "DELAY=1", "x");
    flow_send(f, "T", 0, "DELAY=16", "x");
    wait_for(f, "T", 3, 3000);
    struct answer *a = caller_call(f->caller, REQUEST_GET_ALL_DELAY_OFFSET, NULL, NULL, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    char text[512];
    snprintf(text, sizeof text, "%.*s", SLICE_ARG(a->frame.body));
    EXPECT(strstr(text, "\"offsetTable\":{1:3,16:0}"));
    EXPECT(strstr(text, "\"dataVersion\":{"));
    answer_free(a);
    flow_restart(f);
    struct buf file = BUF_EMPTY;
    EXPECT_OK(fs_read_file(sim_fs_disk(f->disk), "/store/config/delayOffset.json", 4096, &file));
    buf_put_u8(&file, 0);
    EXPECT(strstr((const char *)file.p, "\t\"offsetTable\":{\n\t\t1:3,\n\t\t16:0\n\t},\n\t\"skylarkLogOffset\":"));
    buf_done(&file);
    flow_stop(f);
}

TEST(delay, levels_at_rest_cost_no_turn)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "DELAY=1", "x");
    wait_for(f, "T", 1, 3000);
    sim_run_for(f->sim, 20000);
    uint64_t before = sim_turns(f->sim);
    sim_run_for(f->sim, 80000);
    uint64_t at_rest = sim_turns(f->sim) - before;
    flow_send(f, "T", 0, "DELAY=17", "x");
    sim_run_for(f->sim, 20000);
    before = sim_turns(f->sim);
    sim_run_for(f->sim, 80000);
    EXPECT(sim_turns(f->sim) - before <= at_rest + 12);   /* a look at the clock each ten seconds */
    flow_stop(f);
}
