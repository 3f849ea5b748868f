/* Topics with cleanup.policy=COMPACTION, over the wire. */
#include "flow/flow.h"

#include "os/file.h"

#include <stdio.h>

/* Nine messages in a file of the compaction log; a round a minute after there is something for it. */
static const char *const small[] = {
    "compactionCqMappedFileSize=460", "compactionMappedFileSize=4600", "compactionScheduleInternal=60000", "maxMessageSize=4096",
    "mappedFileSizeCommitLog=65536", "deleteWhen=", "fileReservedTime=1", NULL,
};

static int64_t send(struct flow *f, const char *topic, const char *key, const char *body)
{
    char properties[64];
    snprintf(properties, sizeof properties, "TAGS=A;KEYS=%s", key);
    struct sent s = flow_send(f, topic, 0, properties, body);
    EXPECT_EQ(s.code, RESPONSE_SUCCESS);
    return s.queue_offset;
}

static int64_t min_offset(struct flow *f, const char *topic)
{
    struct min_offset_header h = {.topic = slice_text(topic)};
    struct answer *a = caller_call(f->caller, REQUEST_GET_MIN_OFFSET, &min_offset_kind, &h, (struct slice){NULL, 0});
    struct offset_reply_header reply;
    EXPECT_OK(header_decode(&offset_reply_kind, &a->frame, &reply));
    answer_free(a);
    return reply.offset;
}

/* Ten states of three keys, then what fills files. */
static void send_states(struct flow *f, const char *topic)
{
    char body[32], key[32];
    for (int i = 0; i < 10; i++) {
        snprintf(key, sizeof key, "key%d", i % 3);
        snprintf(body, sizeof body, "state%d", i);
        send(f, topic, key, body);
    }
    for (int i = 0; i < 9; i++) {
        snprintf(key, sizeof key, "fill%d", i);
        send(f, topic, key, "fill");
    }
}

static void expect_newest(struct flow *f, int64_t offset)
{
    struct pulled p = flow_pull(f, "States", 0, offset, "*");
    EXPECT_EQ(p.code, RESPONSE_SUCCESS);
    EXPECT_EQ(p.count, 12);
    EXPECT_EQ(p.messages[0].queue_offset, 7);
    EXPECT_TEXT(p.messages[0].body, "state7");
    EXPECT_TEXT(p.messages[1].body, "state8");
    EXPECT_TEXT(p.messages[2].body, "state9");
    EXPECT_EQ(p.next, 19);
    EXPECT_EQ(p.min, 7);
    EXPECT_EQ(p.max, 19);
}

TEST(compaction, a_pull_gets_the_newest_message_of_each_key_and_one_in_a_gap_goes_on)
{
    struct flow *f = flow_start(small);
    flow_make_topic_with(f, "States", 1, "+cleanup.policy=COMPACTION");
    send_states(f, "States");
    struct pulled p = flow_pull(f, "States", 0, 0, "*");
    EXPECT_EQ(p.count, 19);
    EXPECT_EQ(p.min, 0);
    sim_run_for(f->sim, 120000);
    EXPECT_EQ(flow_metric(f, "skylark_compactions_total"), 1);
    EXPECT_EQ(flow_metric(f, "skylark_compacted_messages_total"), 7);
    expect_newest(f, 0);
    expect_newest(f, 4);
    EXPECT_EQ(flow_pull(f, "States", 0, 8, "*").messages[0].queue_offset, 8);
    EXPECT_EQ(min_offset(f, "States"), 7);
    flow_restart(f);
    expect_newest(f, 0);
    flow_crash(f);
    expect_newest(f, 6);
    flow_stop(f);
}

TEST(compaction, what_is_kept_is_fetched_by_a_worker_when_it_is_not_in_memory)
{
    struct flow *f = flow_start(small);
    flow_make_topic_with(f, "States", 1, "+cleanup.policy=COMPACTION");
    send_states(f, "States");
    sim_run_for(f->sim, 120000);
    int64_t at = 0;
    int messages = 0;
    for (int pulls = 0; at < 19; pulls++) {
        EXPECT(pulls < 19);
        sim_fs_evict(f->disk, "/store/compaction");   /* who touches it on the loop dies of it */
        struct pulled p = flow_pull(f, "States", 0, at, "*");
        EXPECT(p.code == RESPONSE_SUCCESS && p.count > 0);
        messages += (int)p.count;
        at = p.next;
    }
    EXPECT_EQ(messages, 12);
    sim_fs_evict(f->disk, "/store/compaction");
    EXPECT_EQ(min_offset(f, "States"), 7);
    flow_stop(f);
}

TEST(compaction, tags_are_filtered_and_a_pull_waits_behind_what_is_kept)
{
    struct flow *f = flow_start(small);
    flow_make_topic_with(f, "States", 1, "+cleanup.policy=COMPACTION");
    send_states(f, "States");
    sim_run_for(f->sim, 120000);
    struct pulled p = flow_pull(f, "States", 0, 0, "B");
    EXPECT_EQ(p.code, RESPONSE_PULL_RETRY_IMMEDIATELY);
    EXPECT_EQ(p.next, 19);
    int32_t waiting = flow_pull_waiting(f, "States", 0, 19, "*", 20000);
    EXPECT_EQ(send(f, "States", "key0", "state10"), 19);
    p = flow_pulled(f, waiting, 5000);
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.messages[0].body, "state10");
    flow_stop(f);
}

TEST(compaction, a_pull_far_past_the_end_is_sent_to_the_end)
{
    struct flow *f = flow_start(small);
    flow_make_topic_with(f, "States", 1, "+cleanup.policy=COMPACTION");
    send_states(f, "States");
    sim_run_for(f->sim, 10000);
    struct pulled p = flow_pull(f, "States", 0, 1000, "*");
    EXPECT_EQ(p.code, RESPONSE_PULL_OFFSET_MOVED);
    EXPECT_EQ(p.next, 19);
    flow_stop(f);
}

TEST(compaction, a_message_without_key_is_refused_single_and_in_a_batch)
{
    struct flow *f = flow_start(small);
    flow_make_topic_with(f, "States", 1, "+cleanup.policy=COMPACTION");
    struct sent s = flow_send(f, "States", 0, "TAGS=A", "x");
    EXPECT_EQ(s.code, RESPONSE_MESSAGE_ILLEGAL);
    assert_string_equal(s.remark, "Required message key is missing");
    EXPECT_EQ(flow_send(f, "States", 0, "KEYS= ", "x").code, RESPONSE_MESSAGE_ILLEGAL);
    struct buf batch = BUF_EMPTY;
    flow_batch_add(&batch, flow_properties("KEYS=k"), "a");
    flow_batch_add(&batch, flow_properties("TAGS=A"), "b");
    struct send_header h = flow_send_fields("States", 0);
    h.batch = true;
    header_set(&h, send, batch);
    s = flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, buf_slice(&batch));
    EXPECT_EQ(s.code, RESPONSE_MESSAGE_ILLEGAL);
    assert_string_equal(s.remark, "Required message key is missing");
    EXPECT_EQ(flow_pull(f, "States", 0, 0, "*").max, 0);
    buf_done(&batch);
    flow_stop(f);
}

TEST(compaction, messages_of_a_batch_are_kept_by_their_own_keys)
{
    struct flow *f = flow_start(small);
    flow_make_topic_with(f, "States", 1, "+cleanup.policy=COMPACTION");
    struct buf batch = BUF_EMPTY;
    flow_batch_add(&batch, flow_properties("KEYS=k"), "a");
    flow_batch_add(&batch, flow_properties("KEYS=l"), "b");
    flow_batch_add(&batch, flow_properties("KEYS=k"), "c");
    struct send_header h = flow_send_fields("States", 0);
    h.batch = true;
    header_set(&h, send, batch);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, buf_slice(&batch)).code, RESPONSE_SUCCESS);
    buf_done(&batch);
    for (int i = 0; i < 9; i++) send(f, "States", "fill", "fill");
    sim_run_for(f->sim, 120000);
    struct pulled p = flow_pull(f, "States", 0, 0, "*");
    EXPECT_TEXT(p.messages[0].body, "b");
    EXPECT_TEXT(p.messages[1].body, "c");
    flow_stop(f);
}

TEST(compaction, what_is_kept_outlives_the_files_of_the_commit_log)
{
    struct flow *f = flow_start(small);
    static char body[4001];
    memset(body, 'x', 4000);
    flow_make_topic_with(f, "States", 1, "+cleanup.policy=COMPACTION");
    flow_make_topic_with(f, "Plain", 1, "");
    send_states(f, "States");
    for (int i = 0; i < 60; i++) send(f, "Plain", "k", body);
    sim_run_for(f->sim, 120000);
    EXPECT_EQ(flow_code(f, REQUEST_DELETE_EXPIRED_COMMITLOG, NULL, NULL, NULL, NULL), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 20000);
    EXPECT(flow_pull(f, "Plain", 0, 0, "*").min > 0);
    expect_newest(f, 0);
    flow_crash(f);
    expect_newest(f, 0);
    EXPECT_EQ(send(f, "States", "key1", "state10"), 19);
    EXPECT_EQ(flow_pull(f, "States", 0, 0, "*").count, 12);
    EXPECT_TEXT(flow_pull(f, "States", 0, 19, "*").messages[0].body, "state10");
    sim_run_for(f->sim, 5000);
    EXPECT_EQ(flow_pull(f, "States", 0, 0, "*").count, 13);
    flow_stop(f);
}

TEST(compaction, topics_may_come_and_go_while_the_broker_runs)
{
    struct flow *f = flow_start(small);
    flow_make_topic_with(f, "States", 1, "+cleanup.policy=COMPACTION");
    send_states(f, "States");
    sim_run_for(f->sim, 120000);
    EXPECT(flow_is_there(f, "/store/compaction/compactionLog/States"));
    struct delete_topic_header gone = {.topic = SLICE("States")};
    EXPECT_EQ(flow_code(f, REQUEST_DELETE_TOPIC_IN_BROKER, &delete_topic_kind, &gone, NULL, NULL), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 1000);
    EXPECT(!flow_is_there(f, "/store/compaction/compactionLog/States"));
    flow_make_topic_with(f, "States", 1, "");
    EXPECT_EQ(flow_send(f, "States", 0, "", "plain").queue_offset, 0);
    sim_run_for(f->sim, 10000);
    EXPECT(!flow_is_there(f, "/store/compaction/compactionLog/States"));
    EXPECT_EQ(flow_pull(f, "States", 0, 0, "*").count, 1);
    EXPECT_EQ(flow_code(f, REQUEST_DELETE_TOPIC_IN_BROKER, &delete_topic_kind, &gone, NULL, NULL), RESPONSE_SUCCESS);
    flow_make_topic_with(f, "States", 1, "+cleanup.policy=COMPACTION");
    send_states(f, "States");
    sim_run_for(f->sim, 120000);
    expect_newest(f, 0);
    flow_stop(f);
}

TEST(compaction, without_enableCompaction_a_topic_is_like_any_other_but_for_its_keys)
{
    static const char *const off[] = {"enableCompaction=false", NULL};
    struct flow *f = flow_start(off);
    flow_make_topic_with(f, "States", 1, "+cleanup.policy=COMPACTION");
    send_states(f, "States");
    EXPECT_EQ(flow_send(f, "States", 0, "", "x").code, RESPONSE_MESSAGE_ILLEGAL);
    sim_run_for(f->sim, 120000);
    EXPECT(!flow_is_there(f, "/store/compaction"));
    EXPECT_EQ(flow_pull(f, "States", 0, 0, "*").count, 19);
    flow_stop(f);
}
