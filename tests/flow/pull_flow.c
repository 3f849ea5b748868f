#include "flow/flow.h"

#include <stdio.h>
#include <stdlib.h>

TEST(pull, every_state_of_a_queue_has_the_code_of_the_original)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").code, RESPONSE_PULL_NOT_FOUND);
    EXPECT_EQ(flow_pull(f, "T", 0, 7, "*").code, RESPONSE_PULL_OFFSET_MOVED);
    for (int i = 0; i < 3; i++) flow_send(f, "T", 0, "TAGS=A", "x");
    struct pulled p = flow_pull(f, "T", 0, 3, "*");
    EXPECT_EQ(p.code, RESPONSE_PULL_NOT_FOUND);
    assert_string_equal(p.remark, "OFFSET_OVERFLOW_ONE");
    p = flow_pull(f, "T", 0, 5000, "*");
    EXPECT_EQ(p.code, RESPONSE_PULL_OFFSET_MOVED);   /* to the end, not to 0 */
    EXPECT_EQ(p.next, 3);
    p = flow_pull(f, "T", 0, -5, "*");
    EXPECT_EQ(p.code, RESPONSE_PULL_OFFSET_MOVED);
    EXPECT_EQ(p.next, 0);
    p = flow_pull(f, "T", 0, 0, "Z");
    EXPECT_EQ(p.code, RESPONSE_PULL_RETRY_IMMEDIATELY);
    EXPECT_EQ(p.next, 3);
    EXPECT_EQ(flow_pull(f, "T", 1, 0, "*").code, RESPONSE_INVALID_PARAMETER);
    EXPECT_EQ(flow_pull(f, "None", 0, 0, "*").code, RESPONSE_TOPIC_NOT_EXIST);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "||").code, RESPONSE_SUBSCRIPTION_PARSE_FAILED);
    flow_stop(f);
}

TEST(pull, tags_whose_hashes_collide_are_left_to_the_client_and_offsets_pass_what_is_filtered)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "TAGS=Aa", "1");
    flow_send(f, "T", 0, "TAGS=BB", "2");   /* the same hash */
    flow_send(f, "T", 0, "TAGS=Aa", "3");
    flow_send(f, "T", 0, "TAGS=C", "4");
    struct pulled p = flow_pull(f, "T", 0, 0, "Aa");
    EXPECT_EQ(p.count, 3);
    EXPECT_EQ(p.next, 4);   /* past the last one, though it was filtered out */
    flow_stop(f);
}

static void expect_lag(struct flow *f, int64_t broker_offset, int64_t consumer_offset)
{
    char text[128];
    struct consume_stats_header h = {.consumer_group = SLICE("G")};
    struct answer *a = caller_call(f->caller, REQUEST_GET_CONSUME_STATS, &consume_stats_kind, &h, SLICE(""));
    snprintf(text, sizeof text, "\"brokerOffset\":%lld,\"consumerOffset\":%lld,", (long long)broker_offset, (long long)consumer_offset);
    if (!memmem(a->frame.body.p, a->frame.body.n, text, strlen(text))) fail_msg("%.*s", SLICE_ARG(a->frame.body));
    answer_free(a);
}

TEST(pull, what_a_tag_filters_away_leaves_no_lag)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    for (const char *tag = "AABAAA"; *tag; tag++) flow_send(f, "T", 0, *tag == 'A' ? "TAGS=A" : "TAGS=B", "x");
    struct pulled p = flow_pull(f, "T", 0, 0, "A");
    EXPECT_EQ(p.count, 5);
    EXPECT_EQ(p.next, 6);
    struct update_offset_header h = {.consumer_group = SLICE("G"), .topic = SLICE("T"), .commit_offset = p.next};
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_CONSUMER_OFFSET, &update_offset_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
    expect_lag(f, 6, 6);
    flow_stop(f);
}

TEST(pull, tags_with_negative_hashes_are_found)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "TAGS=polygenelubricants", "min");   /* hashes to -2147483648 */
    flow_send(f, "T", 0, "TAGS=other", "no");
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "polygenelubricants").count, 1);
    flow_stop(f);
}

TEST(pull, a_waiting_pull_is_answered_by_the_first_message_that_matches)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "TAGS=B", "old");
    int32_t waiting = flow_pull_waiting(f, "T", 0, 1, "A", 15000);
    EXPECT_EQ(flow_pulled(f, waiting, 1000).code, -1);
    flow_send(f, "T", 0, "TAGS=B", "no match");
    EXPECT_EQ(flow_pulled(f, waiting, 1000).code, -1);
    flow_send(f, "T", 0, "TAGS=A", "match");
    struct pulled p = flow_pulled(f, waiting, 100);
    EXPECT_EQ(p.code, RESPONSE_SUCCESS);
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.messages[0].body, "match");
    EXPECT_EQ(p.next, 3);
    flow_stop(f);
}

TEST(pull, a_waiting_pull_ends_in_time_and_tells_what_it_has_passed)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    int64_t begun = sim_now_ms(f->sim);
    int32_t waiting = flow_pull_waiting(f, "T", 0, 0, "A", 5000);
    flow_send(f, "T", 0, "TAGS=B", "no match");
    struct pulled p = flow_pulled(f, waiting, 20000);
    EXPECT_EQ(p.code, RESPONSE_PULL_NOT_FOUND);
    EXPECT_EQ(p.next, 1);
    EXPECT(sim_now_ms(f->sim) - begun >= 5000 && sim_now_ms(f->sim) - begun < 5200);
    flow_stop(f);
}

TEST(pull, a_pull_that_waits_for_a_queue_without_messages_is_woken_by_its_first)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 3);
    int32_t waiting = flow_pull_waiting(f, "T", 2, 0, "*", 15000);
    flow_send(f, "T", 1, "", "another queue");
    EXPECT_EQ(flow_pulled(f, waiting, 500).code, -1);
    flow_send(f, "T", 2, "", "this one");
    EXPECT_EQ(flow_pulled(f, waiting, 100).count, 1);
    flow_stop(f);
}

TEST(pull, a_sparse_tag_behind_thousands_of_others_arrives_without_full_polls)
{
    static const char *const settings[] = {"mappedFileSizeCommitLog=8388608", "mappedFileSizeConsumeQueue=200000", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    struct buf batch = BUF_EMPTY;
    for (int i = 0; i < 500; i++) flow_batch_add(&batch, flow_properties("TAGS=B"), "b");
    struct send_header h = flow_send_fields("T", 0);
    h.batch = true;
    header_set(&h, send, batch);
    for (int i = 0; i < 10; i++) EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, buf_slice(&batch)).code, RESPONSE_SUCCESS);
    buf_done(&batch);
    flow_send(f, "T", 0, "TAGS=A", "a");
    int64_t begun = sim_now_ms(f->sim), offset = 0;
    for (int rounds = 0;; rounds++) {
        struct pulled p = flow_pulled(f, flow_pull_waiting(f, "T", 0, offset, "A", 15000), 20000);
        if (p.code == RESPONSE_SUCCESS) break;
        EXPECT_EQ(p.code, RESPONSE_PULL_RETRY_IMMEDIATELY);
        EXPECT(p.next > offset && rounds < 100);
        offset = p.next;
    }
    EXPECT(sim_now_ms(f->sim) - begun < 1000);
    flow_stop(f);
}

TEST(pull, a_pull_without_its_own_subscription_needs_the_groups)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "TAGS=A", "a");
    flow_send(f, "T", 0, "TAGS=B", "b");
    struct pull_header h = {.topic = SLICE("T"), .consumer_group = SLICE("G2"), .max_msg_nums = 32, .sub_version = 5};
    char remark[512];
    EXPECT_EQ(flow_code(f, REQUEST_PULL_MESSAGE, &pull_kind, &h, NULL, remark), RESPONSE_SUBSCRIPTION_NOT_EXIST);
    flow_subscribe(f, f->caller, "c1", "G2", "Other", "*", 5);
    EXPECT_EQ(flow_code(f, REQUEST_PULL_MESSAGE, &pull_kind, &h, NULL, remark), RESPONSE_SUBSCRIPTION_NOT_EXIST);
    flow_subscribe(f, f->caller, "c1", "G2", "T", "B", 4);
    EXPECT_EQ(flow_code(f, REQUEST_PULL_MESSAGE, &pull_kind, &h, NULL, remark), RESPONSE_SUBSCRIPTION_NOT_LATEST);
    flow_subscribe(f, f->caller, "c1", "G2", "T", "B", 5);
    EXPECT_EQ(flow_code(f, REQUEST_PULL_MESSAGE, &pull_kind, &h, NULL, remark), RESPONSE_SUCCESS);
    flow_stop(f);
}

TEST(pull, waiting_pulls_of_a_deleted_topic_are_answered)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "", "x");
    int32_t waiting = flow_pull_waiting(f, "T", 0, 1, "*", 15000);
    struct delete_topic_header h = {.topic = SLICE("T")};
    EXPECT_EQ(flow_code(f, REQUEST_DELETE_TOPIC_IN_BROKER, &delete_topic_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_pulled(f, waiting, 1000).code, RESPONSE_TOPIC_NOT_EXIST);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(flow_send(f, "T", 0, "", "new").queue_offset, 0);
    flow_stop(f);
}

TEST(pull, a_group_that_is_too_far_behind_may_consume_no_more_when_that_is_wanted)
{
    static const char *const settings[] = {"disableConsumeIfConsumerReadSlowly=true", "consumerFallbehindThreshold=1000", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 20; i++) flow_send(f, "T", 0, "", "a message of some bytes");
    struct pull_header h = {.topic = SLICE("T"), .consumer_group = SLICE("G"), .max_msg_nums = 1, .sys_flag = 4, .subscription = SLICE("*"), .queue_offset = 19};
    EXPECT_EQ(flow_pull_header(f, &h).count, 1);   /* the newest: not behind at all */
    h.queue_offset = 0;
    EXPECT_EQ(flow_pull_header(f, &h).count, 1);   /* what was asked for is still given */
    h.queue_offset = 1;
    struct pulled p = flow_pull_header(f, &h);
    EXPECT_EQ(p.code, RESPONSE_NO_PERMISSION);
    EXPECT(strstr(p.remark, "subscription group no permission, G"));
    flow_restart(f);
    EXPECT_EQ(flow_pull_header(f, &h).code, RESPONSE_NO_PERMISSION);
    flow_stop(f);
}
