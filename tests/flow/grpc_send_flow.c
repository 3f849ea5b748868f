/* SendMessage: every limit with its code, and what is stored. Facts: docs/protocol/grpc.md 4, 10 */
#include "flow/grpc_world.h"

#include "codec/properties.h"

#include <stdio.h>

static struct v2_message *message(struct grpc_world *w, const char *topic) { return world_message(w, topic, "body"); }

static void add_property(struct grpc_world *w, struct v2_message *m, struct slice key, struct slice value)
{
    struct v2_message_user_properties_entry *e =
        arena_list_add(&w->arena, (void **)&m->user_properties.items, &m->user_properties.count, sizeof *e);
    *e = (struct v2_message_user_properties_entry){key, value};
}

static struct slice letters(struct grpc_world *w, size_t n)
{
    char *p = arena_take(&w->arena, n + 1);
    memset(p, 'x', n);
    return slice_of(p, n);
}

static struct v2_timestamp *in_ms(struct grpc_world *w, int64_t ms)
{
    struct v2_timestamp *t = arena_take(&w->arena, sizeof *t);
    ms += tasks_wall_ms(rpc_tasks(w->client_loop));
    t->seconds = ms / 1000;
    t->nanos = (int32_t)(ms % 1000) * 1000000;
    return t;
}

/* --- limits --- */

static void no_topic(struct grpc_world *w, struct v2_message *m) { (void)w, m->topic = NULL; }
static void bad_topic(struct grpc_world *w, struct v2_message *m) { m->topic = world_name(w, "bad topic!"); }
static void long_topic(struct grpc_world *w, struct v2_message *m) { m->topic->name = letters(w, 128); }
static void system_topic(struct grpc_world *w, struct v2_message *m) { m->topic = world_name(w, "SCHEDULE_TOPIC_XXXX"); }
static void empty_body(struct grpc_world *w, struct v2_message *m) { (void)w, m->body = SLICE(""); }
static void large_body(struct grpc_world *w, struct v2_message *m) { m->body = letters(w, 4194305); }
static void largest_body(struct grpc_world *w, struct v2_message *m) { m->body = letters(w, 4194304); }
static void tag_bar(struct grpc_world *w, struct v2_message *m) { (void)w, m->system_properties->tag = SLICE("a|b"); }
static void tag_blank(struct grpc_world *w, struct v2_message *m) { (void)w, m->system_properties->tag = SLICE(" \t "); }
static void tag_control(struct grpc_world *w, struct v2_message *m) { (void)w, m->system_properties->tag = SLICE("a\x01"); }
static void tag_empty(struct grpc_world *w, struct v2_message *m) { (void)w, m->system_properties->tag = SLICE(""); }
static void key(struct grpc_world *w, struct v2_message *m, struct slice text)
{
    struct slice *k = arena_take(&w->arena, sizeof *k);
    *k = text;
    m->system_properties->keys.items = k;
    m->system_properties->keys.count = 1;
}
static void key_blank(struct grpc_world *w, struct v2_message *m) { key(w, m, SLICE("  ")); }
static void key_control(struct grpc_world *w, struct v2_message *m) { key(w, m, SLICE("k\xc2\x80")); }
static void key_empty(struct grpc_world *w, struct v2_message *m) { key(w, m, SLICE("")); }
static void no_id(struct grpc_world *w, struct v2_message *m) { (void)w, m->system_properties->message_id = SLICE(" "); }
static void no_system(struct grpc_world *w, struct v2_message *m) { (void)w, m->system_properties = NULL; }
static void group_blank(struct grpc_world *w, struct v2_message *m) { (void)w, m->system_properties->message_group = SLICE(" "); }
static void group_64(struct grpc_world *w, struct v2_message *m) { m->system_properties->message_group = letters(w, 64); }
static void group_control(struct grpc_world *w, struct v2_message *m) { (void)w, m->system_properties->message_group = SLICE("g\x7f"); }
static void reserved(struct grpc_world *w, struct v2_message *m) { add_property(w, m, SLICE("TAGS"), SLICE("x")); }
static void key_with_control(struct grpc_world *w, struct v2_message *m) { add_property(w, m, SLICE("a\x02"), SLICE("x")); }
static void value_with_control(struct grpc_world *w, struct v2_message *m) { add_property(w, m, SLICE("a"), SLICE("x\n")); }
static void properties(struct grpc_world *w, struct v2_message *m, int n)
{
    for (int i = 0; i < n; i++) {
        char *name = arena_take(&w->arena, 16);
        int length = snprintf(name, 16, "k%d", i);
        add_property(w, m, slice_of(name, (size_t)length), SLICE("v"));
    }
}
static void properties_128(struct grpc_world *w, struct v2_message *m) { properties(w, m, 128); }
static void properties_129(struct grpc_world *w, struct v2_message *m) { properties(w, m, 129); }
static void bytes_16384(struct grpc_world *w, struct v2_message *m) { add_property(w, m, SLICE("k"), letters(w, 16383)); }
static void bytes_16385(struct grpc_world *w, struct v2_message *m)
{
    bytes_16384(w, m);
    m->system_properties->tag = SLICE("t");
}
static void too_late(struct grpc_world *w, struct v2_message *m) { m->system_properties->delivery_timestamp = in_ms(w, 86400000 + 5000); }
static void no_time(struct grpc_world *w, struct v2_message *m)
{
    m->system_properties->delivery_timestamp = in_ms(w, 1000);
    m->system_properties->delivery_timestamp->nanos = -1;
}
static void long_recovery(struct grpc_world *w, struct v2_message *m)
{
    m->system_properties->message_type = V2_MESSAGE_TYPE_TRANSACTION;
    m->system_properties->orphaned_transaction_recovery_duration = arena_take(&w->arena, sizeof(struct v2_duration));
    m->system_properties->orphaned_transaction_recovery_duration->seconds = 3601;
}
static void negative_priority(struct grpc_world *w, struct v2_message *m)
{
    (void)w;
    m->system_properties->has_priority = true;
    m->system_properties->priority = -1;
}
static void lite_name(struct grpc_world *w, struct v2_message *m) { (void)w, m->system_properties->lite_topic = SLICE("a.b"); }
static void lite_long(struct grpc_world *w, struct v2_message *m) { m->system_properties->lite_topic = letters(w, 65); }
static void is_fifo(struct grpc_world *w, struct v2_message *m) { m->system_properties->message_group = letters(w, 63); }
static void is_delay(struct grpc_world *w, struct v2_message *m) { m->system_properties->delivery_timestamp = in_ms(w, 1000); }
static void is_transaction(struct grpc_world *w, struct v2_message *m) { (void)w, m->system_properties->message_type = V2_MESSAGE_TYPE_TRANSACTION; }
static void is_priority(struct grpc_world *w, struct v2_message *m)
{
    (void)w;
    m->system_properties->has_priority = true;
}
static void own_group(struct grpc_world *w, struct v2_message *m) { add_property(w, m, SLICE("__SHARDINGKEY"), SLICE("g")); }
static void unknown_topic(struct grpc_world *w, struct v2_message *m) { m->topic = world_name(w, "NoSuchTopic"); }
static void nothing(struct grpc_world *w, struct v2_message *m) { (void)w, (void)m; }

TEST(grpc_send, every_limit_has_its_code)
{
    static const struct {
        void (*change)(struct grpc_world *w, struct v2_message *m);
        int32_t code;
    } limits[] = {
        {nothing, V2_CODE_OK},
        {no_topic, V2_CODE_ILLEGAL_TOPIC},
        {bad_topic, V2_CODE_ILLEGAL_TOPIC},
        {long_topic, V2_CODE_ILLEGAL_TOPIC},
        {system_topic, V2_CODE_ILLEGAL_TOPIC},
        {empty_body, V2_CODE_MESSAGE_BODY_EMPTY},
        {large_body, V2_CODE_MESSAGE_BODY_TOO_LARGE},
        {largest_body, V2_CODE_OK},
        {tag_bar, V2_CODE_ILLEGAL_MESSAGE_TAG},
        {tag_blank, V2_CODE_ILLEGAL_MESSAGE_TAG},
        {tag_control, V2_CODE_ILLEGAL_MESSAGE_TAG},
        {tag_empty, V2_CODE_OK},
        {key_blank, V2_CODE_ILLEGAL_MESSAGE_KEY},
        {key_control, V2_CODE_ILLEGAL_MESSAGE_KEY},
        {key_empty, V2_CODE_OK},
        {no_id, V2_CODE_ILLEGAL_MESSAGE_ID},
        {no_system, V2_CODE_ILLEGAL_MESSAGE_ID},
        {group_blank, V2_CODE_ILLEGAL_MESSAGE_GROUP},
        {group_64, V2_CODE_ILLEGAL_MESSAGE_GROUP},
        {group_control, V2_CODE_ILLEGAL_MESSAGE_GROUP},
        {reserved, V2_CODE_ILLEGAL_MESSAGE_PROPERTY_KEY},
        {key_with_control, V2_CODE_ILLEGAL_MESSAGE_PROPERTY_KEY},
        {value_with_control, V2_CODE_ILLEGAL_MESSAGE_PROPERTY_KEY},
        {properties_128, V2_CODE_OK},
        {properties_129, V2_CODE_MESSAGE_PROPERTIES_TOO_LARGE},
        {bytes_16384, V2_CODE_OK},
        {bytes_16385, V2_CODE_MESSAGE_PROPERTIES_TOO_LARGE},
        {too_late, V2_CODE_ILLEGAL_DELIVERY_TIME},
        {no_time, V2_CODE_INTERNAL_SERVER_ERROR},
        {long_recovery, V2_CODE_BAD_REQUEST},
        {negative_priority, V2_CODE_INTERNAL_SERVER_ERROR},
        {lite_name, V2_CODE_ILLEGAL_LITE_TOPIC},
        {lite_long, V2_CODE_ILLEGAL_LITE_TOPIC},
        {is_fifo, V2_CODE_MESSAGE_PROPERTY_CONFLICT_WITH_TYPE},
        {is_delay, V2_CODE_MESSAGE_PROPERTY_CONFLICT_WITH_TYPE},
        {is_transaction, V2_CODE_MESSAGE_PROPERTY_CONFLICT_WITH_TYPE},
        {is_priority, V2_CODE_MESSAGE_PROPERTY_CONFLICT_WITH_TYPE},
        {own_group, V2_CODE_MESSAGE_PROPERTY_CONFLICT_WITH_TYPE},
        {unknown_topic, V2_CODE_MESSAGE_PROPERTY_CONFLICT_WITH_TYPE},
    };
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 4, "+message.type=NORMAL");
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct v2_message *m = message(w, "Plain");
        limits[i].change(w, m);
        struct v2_send_message_response *r = world_send(w, m);
        if (r->status->code != limits[i].code) print_error("limit %zu: %.*s\n", i, SLICE_ARG(r->status->message));
        EXPECT_EQ(r->status->code, limits[i].code);
        EXPECT_EQ(r->entries.count, limits[i].code == V2_CODE_OK);
    }
    grpc_world_stop(w);
}

TEST(grpc_send, types_of_topics_are_kept)
{
    static const char *const names[] = {"NORMAL", "FIFO", "DELAY", "TRANSACTION", "PRIORITY"};
    void (*const make[])(struct grpc_world *, struct v2_message *) = {nothing, is_fifo, is_delay, is_transaction, is_priority};
    enum { TYPES = sizeof names / sizeof *names };
    struct grpc_world *w = grpc_world_simple();
    for (int t = 0; t < TYPES; t++) {
        char attribute[60];
        snprintf(attribute, sizeof attribute, "+message.type=%s", names[t]);
        world_topic(w, names[t], 2, attribute);
        for (int i = 0; i < TYPES; i++) {
            struct v2_message *m = message(w, names[t]);
            make[i](w, m);
            EXPECT_EQ(world_send(w, m)->status->code, t == i ? V2_CODE_OK : V2_CODE_MESSAGE_PROPERTY_CONFLICT_WITH_TYPE);
        }
    }
    grpc_world_stop(w);
}

TEST(grpc_send, a_refusal_names_both_types)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Ordered", 2, "+message.type=FIFO");
    world_topic(w, "Untyped", 2, "");
    EXPECT_TEXT(world_send(w, message(w, "Ordered"))->status->message,
                "TopicMessageType validate failed, the expected type is FIFO, but actual type is NORMAL");
    EXPECT_EQ(world_send(w, message(w, "Untyped"))->status->code, V2_CODE_OK);   /* a topic without a type is normal */
    grpc_world_stop(w);
}

TEST(grpc_send, of_several_messages_each_has_its_entry)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    world_send(w, message(w, "Plain"));
    struct v2_message several[5];
    for (int i = 0; i < 5; i++) several[i] = *message(w, "Plain");
    struct v2_send_message_request q = {.messages = {several, 5}};
    struct v2_send_message_response *r = WORLD_CALL(w, "p", "SendMessage", send_message, &q);
    EXPECT_EQ(r->status->code, V2_CODE_OK);
    EXPECT_EQ(r->entries.count, 5);
    for (int i = 0; i < 5; i++) {
        struct message m;
        EXPECT_EQ(r->entries.items[i].status->code, V2_CODE_OK);
        EXPECT(slice_eq(r->entries.items[i].message_id, several[i].system_properties->message_id));
        EXPECT_EQ(r->entries.items[i].offset, i + 1);
        EXPECT(world_pull(w, 0, "Plain", 0, r->entries.items[i].offset, &m));
        EXPECT(slice_eq(properties_get(m.properties, SLICE("UNIQ_KEY")), several[i].system_properties->message_id));
    }
    grpc_world_stop(w);
}

TEST(grpc_send, several_messages_are_of_one_topic)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    struct v2_message several[2] = {*message(w, "Plain"), *message(w, "Plain")};
    struct v2_send_message_request q = {.messages = {several, 2}}, none = {.messages = {NULL, 0}};
    several[1].topic = world_name(w, "Plain");
    several[1].topic->resource_namespace = SLICE("ns");
    EXPECT_EQ(WORLD_CALL(w, "p", "SendMessage", send_message, &q)->status->code, V2_CODE_MESSAGE_CORRUPTED);
    EXPECT_EQ(WORLD_CALL(w, "p", "SendMessage", send_message, &none)->status->code, V2_CODE_MESSAGE_CORRUPTED);
    grpc_world_stop(w);
}

/* --- what is stored. Facts: docs/protocol/grpc.md 10.3 --- */

static void expect_property(const struct message *m, const char *name, const char *value)
{
    struct slice got = properties_get(m->properties, slice_text(name));
    if (!slice_eq(got, slice_text(value))) print_error("%s is \"%.*s\"\n", name, SLICE_ARG(got));
    EXPECT(slice_eq(got, slice_text(value)));
}

static size_t count_properties(const struct message *m)
{
    struct slice rest = m->properties, name, value;
    size_t count = 0;
    while (properties_next(&rest, &name, &value)) count++;
    return count;
}

TEST(grpc_send, every_field_becomes_its_property)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Ordered", 1, "+message.type=FIFO");
    struct v2_message *m = message(w, "Ordered");
    struct slice keys[2] = {SLICE("k1"), SLICE("k2")};
    struct message got;
    add_property(w, m, SLICE("user"), SLICE("\xc3\xa4"));
    add_property(w, m, SLICE("user"), SLICE("last"));
    add_property(w, m, SLICE("empty"), SLICE(""));
    m->system_properties->tag = SLICE("TagA");
    m->system_properties->keys.items = keys;
    m->system_properties->keys.count = 2;
    m->system_properties->message_group = SLICE("group-1");
    m->system_properties->trace_context = SLICE("trace");
    m->system_properties->body_encoding = V2_ENCODING_GZIP;
    EXPECT_EQ(world_send(w, m)->status->code, V2_CODE_OK);
    EXPECT(world_pull(w, 0, "Ordered", 0, 0, &got));
    expect_property(&got, "user", "last");
    expect_property(&got, "TAGS", "TagA");
    expect_property(&got, "KEYS", "k1 k2");
    expect_property(&got, "__SHARDINGKEY", "group-1");
    expect_property(&got, "TRACE_CONTEXT", "trace");
    expect_property(&got, "RECONSUME_TIME", "0");
    expect_property(&got, "PGROUP", "Ordered");
    expect_property(&got, "__BORNHOST", "client-host");
    expect_property(&got, "BORN_TIMESTAMP", "1789999999005");
    EXPECT(slice_eq(properties_get(got.properties, SLICE("UNIQ_KEY")), m->system_properties->message_id));
    EXPECT_EQ(got.born_ms, 1789999999005);
    EXPECT_EQ(got.sys_flag & SYS_FLAG_COMPRESSED, SYS_FLAG_COMPRESSED);
    EXPECT_TEXT(got.body, "body");
    /* and nothing else but what a broker adds: CLUSTER, MSG_REGION, TRACE_ON */
    EXPECT(count_properties(&got) <= 10 + 3);
    grpc_world_stop(w);
}

/* What the original stores for each kind of message; INNER_MULTI_DISPATCH and the like are a broker's. */
TEST(grpc_send, every_kind_of_message_has_its_properties)
{
    struct grpc_world *w = grpc_world_simple();
    struct message got;
    world_topic(w, "Ranked", 1, "+message.type=PRIORITY");
    world_topic(w, "Later", 1, "+message.type=DELAY");
    struct v2_message *m = message(w, "Ranked");
    m->system_properties->has_priority = true;
    m->system_properties->priority = 3;
    m->system_properties->has_delivery_attempt = true;
    m->system_properties->delivery_attempt = 2;
    EXPECT_EQ(world_send(w, m)->status->code, V2_CODE_OK);
    EXPECT(world_pull(w, 0, "Ranked", 0, 0, &got));
    expect_property(&got, "_SYS_MSG_PRIORITY_", "3");
    expect_property(&got, "RECONSUME_TIME", "2");
    m = message(w, "Later");
    m->system_properties->delivery_timestamp = in_ms(w, 2000);
    char deliver[24];
    snprintf(deliver, sizeof deliver, "%lld", (long long)m->system_properties->delivery_timestamp->seconds * 1000 + m->system_properties->delivery_timestamp->nanos / 1000000);
    EXPECT_EQ(world_send(w, m)->status->code, V2_CODE_OK);
    sim_run_for(w->sim, 6000);
    EXPECT(world_pull(w, 0, "Later", 0, 0, &got));
    expect_property(&got, "TIMER_DELIVER_MS", deliver);
    expect_property(&got, "PGROUP", "Later");
    grpc_world_stop(w);
}

TEST(grpc_send, without_a_born_host_it_is_the_clients_address)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    struct v2_message *m = message(w, "Plain");
    struct message got;
    m->system_properties->born_host = SLICE(" ");
    world_send(w, m);
    EXPECT(world_pull(w, 0, "Plain", 0, 0, &got));
    EXPECT(slice_starts(properties_get(got.properties, SLICE("__BORNHOST")), SLICE("10.0.0.9:")));
    grpc_world_stop(w);
}

TEST(grpc_send, a_message_group_stays_on_its_queue)
{
    enum { GROUPS = 20, EACH = 3 };
    struct world_options o = {.seed = 1, .brokers = 2};
    struct grpc_world *w = grpc_world_start(&o);
    world_topic(w, "Ordered", 4, "+message.type=FIFO");
    size_t found = 0, queues = 0;
    for (int g = 0; g < GROUPS; g++) {
        char name[20];
        snprintf(name, sizeof name, "group-%d", g);
        for (int i = 0; i < EACH; i++) {
            struct v2_message *m = message(w, "Ordered");
            m->system_properties->message_group = arena_copy(&w->arena, slice_text(name));
            EXPECT_EQ(world_send(w, m)->status->code, V2_CODE_OK);
        }
    }
    for (int b = 0; b < 2; b++) {
        for (int32_t q = 0; q < 4; q++) {
            struct message got;
            int64_t at = 0;
            for (; world_pull(w, b, "Ordered", q, at, &got); at++) found++;
            queues += at > 0;
            EXPECT_EQ(at % EACH, 0);
        }
    }
    EXPECT_EQ(found, GROUPS * EACH);
    EXPECT(queues > 3);              /* not all in one place */
    grpc_world_stop(w);
}

TEST(grpc_send, messages_without_a_group_go_round)
{
    struct world_options o = {.seed = 1, .brokers = 2};
    struct grpc_world *w = grpc_world_start(&o);
    world_topic(w, "Plain", 2, "");
    for (int i = 0; i < 8; i++) world_send(w, message(w, "Plain"));
    for (int b = 0; b < 2; b++) {
        for (int32_t q = 0; q < 2; q++) {
            struct message got;
            EXPECT(world_pull(w, b, "Plain", q, 1, &got));
            EXPECT(!world_pull(w, b, "Plain", q, 2, &got));
        }
    }
    grpc_world_stop(w);
}

TEST(grpc_send, a_topic_that_takes_no_messages_is_forbidden)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    struct create_topic_header h = {
        .topic = SLICE("Plain"), .default_topic = SLICE("TBW102"), .read_queue_nums = 1, .write_queue_nums = 1, .perm = 4,
        .topic_filter_type = SLICE("SINGLE_TAG"),
    };
    answer_free(caller_call(w->brokers[0].caller, REQUEST_UPDATE_AND_CREATE_TOPIC, &create_topic_kind, &h, (struct slice){NULL, 0}));
    sim_run_for(w->sim, 3000);
    EXPECT_EQ(world_send(w, message(w, "Plain"))->status->code, V2_CODE_FORBIDDEN);
    grpc_world_stop(w);
}

TEST(grpc_send, a_broker_that_does_not_answer_is_told_as_such)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    EXPECT_EQ(world_send(w, message(w, "Plain"))->status->code, V2_CODE_OK);
    sim_partition(w->sim, "10.0.0.6", "10.0.0.2", 10000);
    EXPECT_EQ(world_send(w, message(w, "Plain"))->status->code, V2_CODE_PROXY_TIMEOUT);
    sim_run_for(w->sim, 10000);
    EXPECT_EQ(world_send(w, message(w, "Plain"))->status->code, V2_CODE_OK);
    grpc_world_stop(w);
}

/* --- messages that wait --- */

TEST(grpc_send, a_delayed_message_can_be_recalled)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Later", 1, "+message.type=DELAY");
    struct v2_message *m = message(w, "Later");
    m->system_properties->delivery_timestamp = in_ms(w, 10000);
    struct v2_send_message_response *sent = world_send(w, m);
    EXPECT_EQ(sent->status->code, V2_CODE_OK);
    struct v2_recall_message_request q = {world_name(w, "Later"), sent->entries.items[0].recall_handle};
    EXPECT(q.recall_handle.n);
    struct v2_recall_message_response *r = WORLD_CALL(w, "p", "RecallMessage", recall_message, &q);
    EXPECT_EQ(r->status->code, V2_CODE_OK);
    EXPECT(slice_eq(r->message_id, m->system_properties->message_id));
    sim_run_for(w->sim, 15000);
    struct message got;
    EXPECT(!world_pull(w, 0, "Later", 0, 0, &got));
    grpc_world_stop(w);
}

TEST(grpc_send, a_recall_that_cannot_be_has_its_code)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Later", 1, "+message.type=DELAY");
    world_topic(w, "Plain", 1, "");
    struct v2_recall_message_request q = {world_name(w, "Later"), SLICE("garbage!")};
    EXPECT_EQ(WORLD_CALL(w, "p", "RecallMessage", recall_message, &q)->status->code, V2_CODE_INTERNAL_SERVER_ERROR);
    q.topic = world_name(w, "Plain");
    EXPECT_EQ(WORLD_CALL(w, "p", "RecallMessage", recall_message, &q)->status->code, V2_CODE_MESSAGE_PROPERTY_CONFLICT_WITH_TYPE);
    q.topic = world_name(w, "bad topic!");
    EXPECT_EQ(WORLD_CALL(w, "p", "RecallMessage", recall_message, &q)->status->code, V2_CODE_ILLEGAL_TOPIC);
    q = (struct v2_recall_message_request){world_name(w, "Later"), SLICE("djEgTGF0ZXIgbm9zdWNoIDE3OTAwMDAwMDAwMDEgSUQ=")};   /* broker nosuch */
    EXPECT_EQ(WORLD_CALL(w, "p", "RecallMessage", recall_message, &q)->status->code, V2_CODE_BAD_REQUEST);
    grpc_world_stop(w);
}
