#include "kit/test.h"
#include "codec/body_connection.h"
#include "codec/body_group_config.h"
#include "codec/body_heartbeat.h"
#include "codec/body_lists.h"
#include "codec/body_queue.h"
#include "codec/body_route.h"
#include "codec/body_stats.h"
#include "codec/body_subscription.h"
#include "codec/body_topic_config.h"

struct vector {
    struct slice op, class_name, name, json, rewritten;
    bool accepted;
};

static const struct bean_field vector_rows[] = {
    {"op", offsetof(struct vector, op), &bean_text, NULL, false},
    {"class", offsetof(struct vector, class_name), &bean_text, NULL, false},
    {"case", offsetof(struct vector, name), &bean_text, NULL, false},
    {"json", offsetof(struct vector, json), &bean_text, NULL, false},
    {"accepted", offsetof(struct vector, accepted), &bean_bool, NULL, false},
    {"rewritten", offsetof(struct vector, rewritten), &bean_text, NULL, false},
};
static const struct bean vector_bean = BEAN(struct vector, vector_rows, NULL);

static const struct {
    const char *name;
    const struct bean *bean;
} classes[] = {
    {"HeartbeatData", &heartbeat_bean},
    {"MessageQueue", &message_queue_bean},
    {"SubscriptionGroupConfig", &group_config_bean},
    {"TopicConfig", &topic_config_bean},
    {"ClusterInfo", &cluster_info_bean},
    {"ConsumeStats", &consume_stats_bean},
    {"KVTable", &kv_table_bean},
    {"ResetOffsetBody", &offset_table_bean},
    {"TopicRouteData", &topic_route_bean},
    {"TopicStatsTable", &topic_stats_bean},
    {"LockBatchRequestBody", &lock_request_bean},
    {"DataVersion", &data_version_bean},
};

static const struct bean *bean_of(struct slice class_name)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (slice_eq(class_name, slice_text(classes[i].name))) return classes[i].bean;
    return NULL;
}

static void expect_rewritten(const struct bean *b, struct slice json, struct slice expected)
{
    struct arena arena = ARENA_EMPTY;
    struct buf out = BUF_EMPTY;
    void *body = arena_take(&arena, b->size);
    EXPECT_OK(bean_decode(b, json, &arena, "vector", body));
    bean_encode(b, body, JSON_RAW, &out);
    if (!slice_eq(buf_slice(&out), expected)) print_error("%.*s\n%.*s\n", SLICE_ARG(buf_slice(&out)), SLICE_ARG(expected));
    EXPECT(slice_eq(buf_slice(&out), expected));
    buf_done(&out);
    arena_done(&arena);
}

/* Where we are more tolerant, on purpose: an unknown property never matters, whatever is in it. And a list that is null or
 * absent is an empty one, a reference an empty object. */
static bool differs(const struct vector *v)
{
    return slice_starts(v->name, SLICE("unknown field with")) || slice_eq(v->name, SLICE("null")) || slice_eq(v->name, SLICE("reference")) ||
           (slice_eq(v->class_name, SLICE("ClusterInfo")) && slice_eq(v->op, SLICE("read")));
}

static void check(const struct vector *v)
{
    const struct bean *b = bean_of(v->class_name);
    if (!b || differs(v)) return;
    if (slice_eq(v->op, SLICE("write"))) {
        expect_rewritten(b, v->json, v->json);
    } else if (v->accepted) {
        expect_rewritten(b, v->json, v->rewritten);
    } else {
        struct arena arena = ARENA_EMPTY;
        EXPECT_ERR(bean_decode(b, v->json, &arena, "vector", arena_take(&arena, b->size)), ERR_BODY);
        arena_done(&arena);
    }
}

static void for_each_line(const char *fixture, void (*each)(struct slice line, struct arena *arena))
{
    struct buf file = test_fixture(fixture);
    struct slice rest = buf_slice(&file), line;
    while (slice_split(&rest, '\n', &line)) {
        struct arena arena = ARENA_EMPTY;
        if (line.n) each(line, &arena);
        arena_done(&arena);
    }
    buf_done(&file);
}

static void check_line(struct slice line, struct arena *arena)
{
    struct vector v;
    EXPECT_OK(bean_decode(&vector_bean, line, arena, "vector", &v));
    check(&v);
}

TEST(body, reads_and_writes_like_the_original)
{
    for_each_line("vectors/json_dialect.jsonl", check_line);
}

static void check_fingerprint_line(struct slice line, struct arena *arena)
{
    struct vector v;
    EXPECT_OK(bean_decode(&vector_bean, line, arena, "vector", &v));
    expect_rewritten(&heartbeat_bean, v.json, v.json);
}

TEST(body, heartbeats_of_the_official_client_survive_a_round_trip_byte_for_byte)
{
    for_each_line("vectors/heartbeat_fingerprint.jsonl", check_fingerprint_line);
}

struct tag_vector {
    struct slice expression, normal, error;
    BEAN_LIST(struct slice) tags;
    BEAN_LIST(int32_t) codes;
};
static const struct bean_field tag_rows[] = {
    {"expression", offsetof(struct tag_vector, expression), &bean_text, NULL, false},
    {"subString", offsetof(struct tag_vector, normal), &bean_text, NULL, false},
    {"tags", offsetof(struct tag_vector, tags), &bean_texts, NULL, false},
    {"codes", offsetof(struct tag_vector, codes), &bean_i32s, NULL, false},
    {"error", offsetof(struct tag_vector, error), &bean_text, NULL, false},
};
static const struct bean tag_bean = BEAN(struct tag_vector, tag_rows, NULL);

static bool has_tag(const struct subscription *s, struct slice tag)
{
    for (size_t i = 0; i < s->tags.count; i++)
        if (slice_eq(s->tags.items[i], tag)) return true;
    return false;
}

static bool has_code(const struct subscription *s, int32_t code)
{
    for (size_t i = 0; i < s->codes.count; i++)
        if (s->codes.items[i] == code) return true;
    return false;
}

static void check_tags(struct slice line, struct arena *arena)
{
    struct tag_vector v;
    struct subscription s;
    EXPECT_OK(bean_decode(&tag_bean, line, arena, "vector", &v));
    err_t e = subscription_parse(SLICE("T"), v.expression, arena, &s);
    if (v.error.p) {
        EXPECT_ERR(e, ERR_SUBSCRIPTION_PARSE);
        return;
    }
    EXPECT_OK(e);
    EXPECT(slice_eq(s.expression, v.normal));
    EXPECT_EQ(s.tags.count, v.tags.count);
    EXPECT_EQ(s.codes.count, v.codes.count);
    for (size_t i = 0; i < v.tags.count; i++) EXPECT(has_tag(&s, v.tags.items[i]));
    for (size_t i = 0; i < v.codes.count; i++) EXPECT(has_code(&s, v.codes.items[i]));
}

TEST(subscription, tags_are_parsed_as_the_official_client_does)
{
    for_each_line("vectors/tag_expression.jsonl", check_tags);
}

TEST(subscription, more_tags_than_anybody_means_are_refused)
{
    struct arena arena = ARENA_EMPTY;
    struct buf text = BUF_EMPTY;
    struct subscription s, copy;
    for (int i = 0; i < SUBSCRIPTION_TAGS_MAX; i++) buf_printf(&text, "t%d||", i);
    EXPECT_OK(subscription_parse(SLICE("T"), buf_slice(&text), &arena, &s));
    EXPECT_EQ(s.tags.count, SUBSCRIPTION_TAGS_MAX);
    EXPECT_OK(subscription_copy(&s, &arena, &copy));
    buf_put_text(&text, "t0 || one");
    EXPECT_ERR(subscription_parse(SLICE("T"), buf_slice(&text), &arena, &s), ERR_SUBSCRIPTION_PARSE);
    s.codes.count++;   /* as a heartbeat may say it */
    EXPECT_ERR(subscription_copy(&s, &arena, &copy), ERR_SUBSCRIPTION_PARSE);
    buf_done(&text);
    arena_done(&arena);
}

TEST(subscription, a_copy_outlives_the_body_it_came_from)
{
    struct arena first = ARENA_EMPTY, second = ARENA_EMPTY;
    struct subscription s, copy;
    EXPECT_OK(subscription_parse(arena_copy(&first, SLICE("T")), arena_copy(&first, SLICE("a || b")), &first, &s));
    EXPECT_OK(subscription_copy(&s, &second, &copy));
    arena_done(&first);
    EXPECT_TEXT(copy.tags.items[1], "b");
    EXPECT_EQ(copy.codes.items[0], 97);
    EXPECT_TEXT(copy.type, "TAG");
    arena_done(&second);
}

TEST(body, tables_take_the_name_from_the_key_when_the_value_has_none)
{
    struct arena arena = ARENA_EMPTY;
    struct topic_table t;
    EXPECT_OK(bean_decode(&topic_table_bean, SLICE("{\"topicConfigTable\":{\"A\":{\"perm\":4},\"B\":{\"topicName\":\"B\"}}}"),
                          &arena, "topics", &t));
    EXPECT_EQ(t.topics.count, 2);
    EXPECT_TEXT(t.topics.items[0].name, "A");
    EXPECT_EQ(t.topics.items[0].perm, 4);
    EXPECT_EQ(t.topics.items[1].read_queues, 16);
    EXPECT(!t.version);
    arena_done(&arena);
}

TEST(body, a_small_hostile_body_cannot_ask_for_much_memory)
{
    struct buf body = BUF_EMPTY;
    buf_put_text(&body, "{\"groupConfigList\":[{}");
    for (int i = 0; i < 2000000; i++) buf_put_text(&body, ",{}");
    buf_put_text(&body, "]}");
    struct arena arena = ARENA_EMPTY;
    struct group_config_list list;
    EXPECT_ERR(bean_decode(&group_config_list_bean, buf_slice(&body), &arena, "groups", &list), ERR_BODY);
    EXPECT(arena.total <= ARENA_LIMIT_BYTES);
    arena_done(&arena);
    buf_done(&body);
}
