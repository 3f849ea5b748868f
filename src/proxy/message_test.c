#include "proxy/message_in.h"
#include "proxy/message_out.h"

#include "kit/test.h"

static struct v2_message *shown(struct arena *arena, struct message *m, const char *topic)
{
    struct popped place = {.topic = slice_text(topic)};
    struct v2_message *out = message_out(arena, m, &place, 1000);
    EXPECT(out);
    return out;
}

TEST(message, its_type_follows_from_its_properties)
{
    EXPECT_EQ(message_type_of(SLICE("")), TOPIC_NORMAL);
    EXPECT_EQ(message_type_of(SLICE("TRAN_MSG\x01true\x02__SHARDINGKEY\x01g\x02")), TOPIC_TRANSACTION);
    EXPECT_EQ(message_type_of(SLICE("TRAN_MSG\x01" "false\x02")), TOPIC_NORMAL);
    EXPECT_EQ(message_type_of(SLICE("DELAY\x01" "3\x02__SHARDINGKEY\x01g\x02")), TOPIC_DELAY);
    EXPECT_EQ(message_type_of(SLICE("TIMER_DELAY_SEC\x01" "3\x02")), TOPIC_DELAY);
    EXPECT_EQ(message_type_of(SLICE("TIMER_DELAY_MS\x01" "3\x02")), TOPIC_DELAY);
    EXPECT_EQ(message_type_of(SLICE("__SHARDINGKEY\x01g\x02_SYS_MSG_PRIORITY_\x01" "1\x02")), TOPIC_FIFO);
    EXPECT_EQ(message_type_of(SLICE("_SYS_MSG_PRIORITY_\x01" "1\x02__LITE_TOPIC\x01l\x02")), TOPIC_PRIORITY);
    EXPECT_EQ(message_type_of(SLICE("__LITE_TOPIC\x01l\x02")), TOPIC_LITE);
}

/* Facts: docs/protocol/grpc.md 10.4 */
TEST(message, names_split_at_their_namespace)
{
    static const struct {
        const char *topic, *ns, *name;
    } rows[] = {
        {"Plain", "", "Plain"}, {"ns%Plain", "ns", "Plain"}, {"%DLQ%group", "", "%DLQ%group"}, {"%DLQ%ns%group", "ns", "%DLQ%group"},
        {"%RETRY%ns%group", "ns", "%RETRY%group"}, {"%odd", "", "%odd"},
    };
    struct arena arena = ARENA_EMPTY;
    struct message m = {.body = SLICE("x")};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct v2_message *out = shown(&arena, &m, rows[i].topic);
        EXPECT_TEXT(out->topic->resource_namespace, rows[i].ns);
        EXPECT_TEXT(out->topic->name, rows[i].name);
    }
    arena_done(&arena);
}

TEST(message, what_an_old_producer_stored_is_shown_as_well_as_can_be)
{
    struct arena arena = ARENA_EMPTY;
    struct message m = {
        .body = SLICE("x"), .log_offset = 255, .born_ms = -1, .reconsume_times = 2,
        .born_host = {.ip = {10, 0, 0, 7}, .port = 1234}, .store_host = {.ip = {10, 0, 0, 1}, .port = 10911},
        .properties = SLICE("KEYS\x01" "a  b \x02TAGS\x01" "caf\xe9\x02own\x01" "1\x02own\x01" "2\x02"
                            "DLQ_ORIGIN_TOPIC\x01t\x02" "DLQ_ORIGIN_MESSAGE_ID\x01i\x02"),
    };
    struct v2_message *out = shown(&arena, &m, "Plain");
    struct v2_system_properties *s = out->system_properties;
    EXPECT_EQ(s->keys.count, 3);                               /* an empty one in the middle counts, as in Java */
    EXPECT_TEXT(s->keys.items[2], "b");
    EXPECT_TEXT(s->tag, "caf?");                               /* a client's decoder refuses what is no UTF-8 */
    EXPECT_EQ(out->user_properties.count, 1);
    EXPECT_TEXT(out->user_properties.items[0].value, "2");     /* the last of a name counts */
    EXPECT_TEXT(s->message_id, "0A00000100002A9F00000000000000FF");
    EXPECT_TEXT(s->born_host, "10.0.0.7");
    EXPECT_TEXT(s->store_host, "10.0.0.1:10911");
    EXPECT_EQ(s->born_timestamp->seconds, -1);
    EXPECT_EQ(s->born_timestamp->nanos, 999000000);
    EXPECT_TEXT(s->dead_letter_queue->topic, "t");
    EXPECT_TEXT(s->dead_letter_queue->message_id, "i");
    arena_done(&arena);
}
