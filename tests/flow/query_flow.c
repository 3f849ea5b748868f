#include "flow/flow.h"

#include "codec/body_queue_data.h"
#include "codec/record.h"

static struct query_message_header by_key(const char *key)
{
    return (struct query_message_header){.topic = SLICE("T"), .key = slice_text(key), .max_num = 10, .end_timestamp = INT64_MAX};
}

/* How many are found; their queue offsets in `offsets`. */
static size_t query(struct flow *f, const struct query_message_header *h, int64_t offsets[FLOW_MESSAGES_MAX])
{
    struct answer *a = caller_call(f->caller, REQUEST_QUERY_MESSAGE, &query_message_kind, h, (struct slice){NULL, 0});
    struct query_message_reply_header reply;
    struct slice rest = a->frame.body;
    struct message m;
    size_t count = 0;
    EXPECT_OK(header_decode(&query_message_reply_kind, &a->frame, &reply));
    for (; rest.n; rest = slice_skip(rest, record_read_size(&m))) {
        EXPECT_EQ(record_read(rest, &m), RECORD_WHOLE);
        EXPECT(count < FLOW_MESSAGES_MAX);
        offsets[count++] = m.queue_offset;
    }
    EXPECT_EQ(a->frame.code, count ? RESPONSE_SUCCESS : RESPONSE_QUERY_NOT_FOUND);
    EXPECT_EQ(reply.index_last_update_timestamp > 0, count > 0);
    answer_free(a);
    return count;
}

TEST(query, messages_are_found_by_key_unique_key_and_tags)
{
    struct flow *f = flow_start(NULL);
    int64_t at[FLOW_MESSAGES_MAX];
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "UNIQ_KEY=U1;KEYS=order7 customer9;TAGS=paid", "a");
    flow_send(f, "T", 0, "UNIQ_KEY=U2;KEYS=order8 customer9;TAGS=open", "b");
    struct query_message_header h = by_key("customer9");
    EXPECT_EQ(query(f, &h, at), 2);
    EXPECT_EQ(at[0], 0);
    EXPECT_EQ(at[1], 1);
    h = by_key("U2");
    h.unique_key_query = SLICE("true");
    EXPECT_EQ(query(f, &h, at), 1);
    EXPECT_EQ(at[0], 1);
    h = by_key("paid");
    EXPECT_EQ(query(f, &h, at), 0);
    h.index_type = SLICE("T");
    EXPECT_EQ(query(f, &h, at), 1);
    EXPECT_EQ(at[0], 0);
    h = by_key("order7");
    flow_crash(f);
    EXPECT_EQ(query(f, &h, at), 1);
    flow_stop(f);
}

TEST(query, times_and_numbers_of_any_size_are_answered)
{
    static const int64_t times[] = {INT64_MIN, -1, 0, INT64_MAX};
    static const int32_t numbers[] = {INT32_MIN, -1, 0, 1, INT32_MAX};
    struct flow *f = flow_start(NULL);
    int64_t at[FLOW_MESSAGES_MAX];
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "UNIQ_KEY=U1;KEYS=k", "a");
    for (size_t b = 0; b < 4; b++)
        for (size_t e = 0; e < 4; e++)
            for (size_t n = 0; n < 5; n++) {
                struct query_message_header h = by_key("k");
                h.begin_timestamp = times[b];
                h.end_timestamp = times[e];
                h.max_num = numbers[n];
                EXPECT_EQ(query(f, &h, at), b < 3 && e == 3 && n > 2);
            }
    flow_stop(f);
}

static struct queue_data_list entries_of(struct flow *f, int64_t index, int32_t count, const char *group)
{
    struct query_consume_queue_header h = {.topic = SLICE("T"), .queue_id = 0, .index = index, .count = count};
    struct queue_data_list list;
    if (group) h.consumer_group = slice_text(group);
    struct answer *a = caller_call(f->caller, REQUEST_QUERY_CONSUME_QUEUE, &query_consume_queue_kind, &h, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    EXPECT_OK(bean_decode(&queue_data_list_bean, arena_copy(&f->arena, a->frame.body), &f->arena, "entries", &list));
    answer_free(a);
    return list;
}

TEST(query, entries_of_a_queue_are_shown_with_what_a_group_asks_for)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 100; i++) flow_send(f, "T", 0, i % 2 ? "TAGS=B" : "TAGS=A", "x");
    struct queue_data_list list = entries_of(f, 10, 80, "G");
    EXPECT_EQ(list.entries.count, 80);
    EXPECT_EQ(list.min_offset, 0);
    EXPECT_EQ(list.max_offset, 100);
    EXPECT_EQ(list.entries.items[0].tag_hash, 'A');
    EXPECT_EQ(list.entries.items[79].tag_hash, 'B');
    EXPECT_EQ(list.entries.items[1].log_offset, flow_pull(f, "T", 0, 11, "*").messages[0].log_offset);
    EXPECT_TEXT(list.filter_data, "G@T is not online!");
    flow_subscribe(f, f->caller, "c", "G", "T", "A || C", 1);
    list = entries_of(f, 98, 80, "G");
    EXPECT_EQ(list.entries.count, 2);
    EXPECT(list.subscription);
    EXPECT_TEXT(list.subscription->expression, "A || C");
    EXPECT_EQ(entries_of(f, 200, 5, NULL).entries.count, 0);
    flow_stop(f);
}

TEST(query, entries_that_cannot_be_are_refused)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    struct query_consume_queue_header h = {.topic = SLICE("None"), .count = 1};
    EXPECT_EQ(flow_code(f, REQUEST_QUERY_CONSUME_QUEUE, &query_consume_queue_kind, &h, NULL, NULL), RESPONSE_SYSTEM_ERROR);
    h.topic = SLICE("T");
    h.queue_id = 7;
    EXPECT_EQ(flow_code(f, REQUEST_QUERY_CONSUME_QUEUE, &query_consume_queue_kind, &h, NULL, NULL), RESPONSE_SYSTEM_ERROR);
    h.queue_id = 0;
    h.index = INT64_MAX;
    h.count = INT32_MAX;
    EXPECT_EQ(flow_code(f, REQUEST_QUERY_CONSUME_QUEUE, &query_consume_queue_kind, &h, NULL, NULL), RESPONSE_INVALID_PARAMETER);
    flow_stop(f);
}
