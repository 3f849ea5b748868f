#include "flow/flow.h"

#include <stdio.h>

static void commit(struct flow *f, int64_t offset)
{
    struct update_offset_header h = {.consumer_group = SLICE("G"), .topic = SLICE("T"), .queue_id = 0, .commit_offset = offset};
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_CONSUMER_OFFSET, &update_offset_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
}

TEST(offset, what_a_group_committed_is_there_after_a_restart)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), -1);
    commit(f, 42);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 42);
    flow_restart(f);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 42);
    commit(f, 43);
    sim_run_for(f->sim, 6000);   /* they are written every five seconds */
    flow_crash(f);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 43);
    flow_stop(f);
}

TEST(offset, a_group_that_never_committed_begins_at_zero_while_the_first_message_is_young)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    struct query_offset_header h = {.consumer_group = SLICE("G"), .topic = SLICE("T"), .queue_id = 0};
    char remark[512];
    EXPECT_EQ(flow_code(f, REQUEST_QUERY_CONSUMER_OFFSET, &query_offset_kind, &h, NULL, remark), RESPONSE_QUERY_NOT_FOUND);
    flow_send(f, "T", 0, "", "x");
    EXPECT_EQ(flow_code(f, REQUEST_QUERY_CONSUMER_OFFSET, &query_offset_kind, &h, NULL, remark), RESPONSE_SUCCESS);
    flow_stop(f);
}

static int64_t search(struct flow *f, int64_t at, const char *boundary)
{
    struct search_offset_header h = {.topic = SLICE("T"), .queue_id = 0, .timestamp = at, .boundary_type = slice_text(boundary)};
    struct answer *a = caller_call(f->caller, REQUEST_SEARCH_OFFSET_BY_TIMESTAMP, &search_offset_kind, &h, (struct slice){NULL, 0});
    struct offset_reply_header reply;
    EXPECT_OK(header_decode(&offset_reply_kind, &a->frame, &reply));
    answer_free(a);
    return reply.offset;
}

TEST(offset, searching_by_time_finds_the_first_and_the_last_of_equal_times)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 5; i++) {
        flow_send(f, "T", 0, "", "x");
        sim_run_for(f->sim, 100);
    }
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    int64_t third = p.messages[2].store_ms;
    EXPECT_EQ(search(f, third, NULL), 2);
    EXPECT_EQ(search(f, third, "UPPER"), 2);
    EXPECT_EQ(search(f, third + 1, NULL), 3);
    EXPECT_EQ(search(f, third + 1, "upper"), 2);
    EXPECT_EQ(search(f, third + 1000000, NULL), 5);   /* the end, not one before it */
    EXPECT_EQ(search(f, third + 1000000, "UPPER"), 4);
    EXPECT_EQ(search(f, 0, NULL), 0);
    flow_stop(f);
}

static int32_t reset(struct flow *f, int64_t timestamp, int64_t offset, char *remark)
{
    struct reset_offset_header h = {.topic = SLICE("T"), .group = SLICE("G"), .timestamp = timestamp, .is_force = true};
    if (offset >= 0) {
        h.queue_id = 0;
        h.offset = offset;
        header_set(&h, reset_offset, queue_id);
        header_set(&h, reset_offset, offset);
    }
    return flow_code(f, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, &reset_offset_kind, &h, NULL, remark);
}

TEST(offset, a_reset_is_told_to_the_next_pull_and_commits_before_it_do_not_count)
{
    struct flow *f = flow_start(NULL);
    char remark[512];
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 10; i++) flow_send(f, "T", 0, "", "x");
    commit(f, 5);
    flow_pull(f, "T", 0, 0, "*");   /* the group is known */
    EXPECT_EQ(reset(f, -1, -1, remark), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 10);   /* the end, not one before it */
    commit(f, 6);                                 /* of a consumer that has not heard of it */
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 10);
    struct pulled p = flow_pull(f, "T", 0, 6, "*");
    EXPECT_EQ(p.code, RESPONSE_PULL_OFFSET_MOVED);
    EXPECT_EQ(p.next, 10);
    EXPECT_EQ(reset(f, 0, 3, remark), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_pull(f, "T", 0, 10, "*").next, 3);
    EXPECT_EQ(reset(f, 0, 500, remark), RESPONSE_SYSTEM_ERROR);
    assert_string_equal(remark, "Target offset 500 not in consume queue range [0-10]");
    flow_stop(f);
}

TEST(offset, a_reset_to_a_time_after_the_last_message_goes_to_the_end)
{
    struct flow *f = flow_start(NULL);
    char remark[512];
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 10; i++) flow_send(f, "T", 0, "", "x");
    flow_pull(f, "T", 0, 0, "*");
    EXPECT_EQ(reset(f, 4000000000000, -1, remark), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 10);
    EXPECT_EQ(reset(f, -1, -1, remark), RESPONSE_SUCCESS);   /* now */
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 10);
    flow_stop(f);
}

/* A broker known by an IPv6 address, also one that is good on one link only: ids and records are longer, and hold. */
static void expect_served_at(const char *advertised)
{
    struct flow *f = flow_start_at(advertised, NULL);
    flow_make_topic(f, "T", 1);
    struct sent s = flow_send(f, "T", 0, "TAGS=A", "x");
    EXPECT_EQ(s.code, RESPONSE_SUCCESS);
    EXPECT_EQ(strlen(s.msg_id), 56);
    struct pulled p = flow_pull(f, "T", 0, 0, "A");
    EXPECT_EQ(p.count, 1);
    EXPECT(p.messages[0].store_host.v6);
    EXPECT_TEXT(p.messages[0].body, "x");
    struct earliest_time_header h = {.topic = SLICE("T"), .queue_id = 0};
    struct earliest_time_reply_header reply;
    struct answer *a = caller_call(f->caller, REQUEST_GET_EARLIEST_MSG_STORETIME, &earliest_time_kind, &h, SLICE(""));
    EXPECT_OK(header_decode(&earliest_time_reply_kind, &a->frame, &reply));
    EXPECT_EQ(reply.timestamp, p.messages[0].store_ms);
    answer_free(a);
    flow_crash(f);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "A").count, 1);
    flow_stop(f);
}

TEST(offset, times_are_read_from_records_with_ipv6_hosts)
{
    expect_served_at("[fd00::1:7a]:10911");
    expect_served_at("[fe80::1%lo]:10911");
}

TEST(offset, a_new_topic_of_the_same_name_begins_at_zero_for_everybody)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "", "x");
    commit(f, 1);
    struct delete_topic_header h = {.topic = SLICE("T")};
    EXPECT_EQ(flow_code(f, REQUEST_DELETE_TOPIC_IN_BROKER, &delete_topic_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), -1);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(flow_send(f, "T", 0, "", "y").queue_offset, 0);
    flow_stop(f);
}
