#include "proxy/checks.h"

#include "kit/test.h"

TEST(checks, what_is_blank_is_so_in_java)
{
    EXPECT(is_blank((struct slice){NULL, 0}));
    EXPECT(is_blank(SLICE(" \t\n\x0b\x1f")));
    EXPECT(is_blank(SLICE("\xe2\x80\x83\xe3\x80\x80")));       /* U+2003, U+3000 */
    EXPECT(!is_blank(SLICE(" a ")));
    EXPECT(!is_blank(SLICE("\xc2\xa0")));                      /* a no-break space is none */
    EXPECT(!is_blank(SLICE("\xe2\x80\x87")));
    EXPECT(!is_blank(SLICE("\0")));
}

TEST(checks, control_characters_are_those_of_iso)
{
    EXPECT(has_control_character(SLICE("a\x1f")));
    EXPECT(has_control_character(SLICE("\x7f")));
    EXPECT(has_control_character(SLICE("\xc2\x80")));
    EXPECT(has_control_character(SLICE("\xc2\x9f")));
    EXPECT(!has_control_character(SLICE("\xc2\xa0 \xc3\x80 ~")));
    EXPECT(!has_control_character(SLICE("")));
}

/* Facts: docs/protocol/grpc.md 10.3 */
TEST(checks, properties_of_the_system_are_reserved)
{
    static const char *const theirs[] = {
        "TRACE_ON", "MSG_REGION", "KEYS", "TAGS", "WAIT", "DELAY", "RETRY_TOPIC", "REAL_TOPIC", "REAL_QID", "TRAN_MSG", "PGROUP", "MIN_OFFSET",
        "MAX_OFFSET", "BUYER_ID", "ORIGIN_MESSAGE_ID", "TRANSFER_FLAG", "CORRECTION_FLAG", "MQ2_FLAG", "RECONSUME_TIME", "UNIQ_KEY",
        "MAX_RECONSUME_TIMES", "CONSUME_START_TIME", "POP_CK", "POP_CK_OFFSET", "1ST_POP_TIME", "TRAN_PREPARED_QUEUE_OFFSET", "DUP_INFO",
        "EXTEND_UNIQ_INFO", "INSTANCE_ID", "CORRELATION_ID", "REPLY_TO_CLIENT", "TTL", "ARRIVE_TIME", "PUSH_REPLY_TIME", "CLUSTER", "MSG_TYPE",
        "INNER_MULTI_QUEUE_OFFSET", "TIMER_DELAY_MS", "TIMER_DELAY_SEC", "TIMER_DELIVER_MS", "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS",
        "TIMER_ROLL_TIMES", "TIMER_OUT_MS", "TIMER_DEL_UNIQKEY", "TIMER_DELAY_LEVEL", "__BORNHOST", "BORN_TIMESTAMP", "DLQ_ORIGIN_TOPIC",
        "DLQ_ORIGIN_MESSAGE_ID", "__CRC32#", "_SYS_MSG_PRIORITY_", "__LITE_TOPIC", "ORIGIN_GROUP",
    };
    static const char *const ours[] = {
        "__SHARDINGKEY", "TRACE_CONTEXT", "CHECK_IMMUNITY_TIME_IN_SECONDS", "TRANSACTION_CHECK_TIMES", "__transactionId__",
        "INNER_MULTI_DISPATCH", "INNER_NUM", "INNER_BASE", "tags", "", "TAGS ", "user",
    };
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) EXPECT(property_is_reserved(slice_text(theirs[i])));
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) EXPECT(!property_is_reserved(slice_text(ours[i])));
}

TEST(checks, times_that_cannot_be_are_told)
{
    int64_t ms;
    EXPECT(timestamp_ms(NULL, &ms) && ms == 0);
    EXPECT(timestamp_ms(&(struct v2_timestamp){1790000000, 999999999}, &ms));
    EXPECT_EQ(ms, 1790000000999);
    EXPECT(timestamp_ms(&(struct v2_timestamp){-1, 500000000}, &ms));
    EXPECT_EQ(ms, -500);
    EXPECT(!timestamp_ms(&(struct v2_timestamp){253402300800, 0}, &ms));
    EXPECT(!timestamp_ms(&(struct v2_timestamp){0, 1000000000}, &ms));
    EXPECT(!timestamp_ms(&(struct v2_timestamp){0, -1}, &ms));
    EXPECT(duration_ms(&(struct v2_duration){43200, 1000000}, &ms));
    EXPECT_EQ(ms, 43200001);
    EXPECT(duration_ms(&(struct v2_duration){-1, -500000000}, &ms));
    EXPECT_EQ(ms, -1500);
    EXPECT(!duration_ms(&(struct v2_duration){1, -1}, &ms));
    EXPECT(!duration_ms(&(struct v2_duration){INT64_MAX, 0}, &ms));
}
