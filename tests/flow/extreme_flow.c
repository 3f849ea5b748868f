/* Values that no client of good will sends: each is answered, and none makes the broker work or remember without bound. */
#include "flow/flow.h"

#include <stdio.h>

/* --- names and remarks --- */

TEST(extreme, a_remark_that_names_something_huge_is_cut)
{
    struct flow *f = flow_start(NULL);
    struct buf name = BUF_EMPTY;
    for (int i = 0; i < 3000000; i++) buf_put_text(&name, i % 2 ? "\x01" : "\xC3\xA4");   /* each first byte six in JSON */
    struct max_offset_header offset = {.topic = buf_slice(&name)};
    struct get_topic_config_header h = {.topic = buf_slice(&name)};
    struct answer *a = caller_call(f->caller, REQUEST_GET_TOPIC_CONFIG, &get_topic_config_kind, &h, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_TOPIC_NOT_EXIST);
    EXPECT(a->frame.remark.n > 4000 && a->frame.remark.n <= 4096);
    EXPECT((a->frame.remark.p[a->frame.remark.n - 1] & 0xC0) != 0xC0);   /* no half of a character */
    answer_free(a);
    EXPECT_EQ(flow_code(f, REQUEST_GET_MAX_OFFSET, &max_offset_kind, &offset, NULL, NULL), RESPONSE_SUCCESS);
    buf_done(&name);
    flow_stop(f);
}

/* --- topics and groups --- */

TEST(extreme, topics_have_a_number_of_queues_that_can_be)
{
    static const int32_t wrong[] = {-1, INT32_MIN, 65537, 1000000000, INT32_MAX};
    struct flow *f = flow_start(NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct create_topic_header h = {
            .topic = SLICE("T"), .default_topic = SLICE("TBW102"), .read_queue_nums = wrong[i], .write_queue_nums = 1, .perm = 6,
            .topic_filter_type = SLICE("SINGLE_TAG"),
        };
        EXPECT_EQ(flow_code(f, REQUEST_UPDATE_AND_CREATE_TOPIC, &create_topic_kind, &h, NULL, NULL), RESPONSE_INVALID_PARAMETER);
        h.read_queue_nums = 1;
        h.write_queue_nums = wrong[i];
        EXPECT_EQ(flow_code(f, REQUEST_UPDATE_AND_CREATE_TOPIC, &create_topic_kind, &h, NULL, NULL), RESPONSE_INVALID_PARAMETER);
    }
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, NULL, NULL, "{\"groupName\":\"G\",\"retryQueueNums\":1000000000}", NULL),
              RESPONSE_INVALID_PARAMETER);
    flow_stop(f);
}

TEST(extreme, a_topic_of_odd_permission_and_no_queues_can_be_asked_about)
{
    static const int32_t perms[] = {-1, INT32_MIN, 0, 255};
    struct flow *f = flow_start(NULL);
    for (size_t i = 0; i < sizeof perms / sizeof *perms; i++) {
        struct create_topic_header h = {
            .topic = SLICE("T"), .default_topic = SLICE("TBW102"), .perm = perms[i], .topic_filter_type = SLICE("SINGLE_TAG"),
        };
        struct topic_stats_header stats = {.topic = SLICE("T")};
        EXPECT_EQ(flow_code(f, REQUEST_UPDATE_AND_CREATE_TOPIC, &create_topic_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
        EXPECT_EQ(flow_code(f, REQUEST_GET_TOPIC_STATS_INFO, &topic_stats_kind, &stats, NULL, NULL), RESPONSE_SUCCESS);
        EXPECT(flow_send(f, "T", 0, "", "x").code != RESPONSE_SUCCESS);
        EXPECT(flow_send(f, "T", -1, "", "x").code != RESPONSE_FLUSH_DISK_TIMEOUT);
        EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").code, perms[i] & 4 ? RESPONSE_INVALID_PARAMETER : RESPONSE_NO_PERMISSION);
    }
    flow_stop(f);
}

/* --- sends --- */

TEST(extreme, sends_with_extreme_numbers_store_them_or_are_refused)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    struct send_header h = flow_send_fields("T", 0);
    h.born_timestamp = INT64_MIN;
    h.flag = INT32_MIN;
    h.reconsume_times = INT32_MAX;
    h.sys_flag = 0x30;   /* both hosts have IPv6 addresses, it says */
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("low")).code, RESPONSE_SUCCESS);
    h.born_timestamp = INT64_MAX;
    h.flag = INT32_MAX;
    h.sys_flag = 0;
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("high")).code, RESPONSE_SUCCESS);
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    EXPECT_EQ(p.count, 2);
    EXPECT_EQ(p.messages[0].born_ms, INT64_MIN);
    EXPECT_EQ(p.messages[0].flag, INT32_MIN);
    EXPECT_EQ(p.messages[1].born_ms, INT64_MAX);
    h.queue_id = INT32_MAX;
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("x")).code, RESPONSE_INVALID_PARAMETER);
    h.queue_id = INT32_MIN;   /* any queue */
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("x")).code, RESPONSE_SUCCESS);
    h.topic = SLICE("New");
    h.queue_id = 0;
    h.default_topic_queue_nums = INT32_MAX;   /* as many as the default topic has */
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("x")).code, RESPONSE_SUCCESS);
    EXPECT_EQ(flow_pull(f, "New", 8, 0, "*").code, RESPONSE_INVALID_PARAMETER);
    flow_stop(f);
}

/* --- pulls and offsets --- */

static struct pull_header pull_all(void)
{
    return (struct pull_header){
        .topic = SLICE("T"), .consumer_group = SLICE("G"), .max_msg_nums = 32, .sys_flag = 4, .subscription = SLICE("*"), .expression_type = SLICE("TAG"),
    };
}

TEST(extreme, pulls_of_no_or_of_all_messages_get_one_or_as_many_as_are_allowed)
{
    static const int32_t asked[] = {INT32_MIN, -1, 0, 1, INT32_MAX};
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 40; i++) flow_send(f, "T", 0, "TAGS=A", "x");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct pull_header h = pull_all();
        h.max_msg_nums = asked[i];
        h.max_msg_bytes = asked[i];
        header_set(&h, pull, max_msg_bytes);
        struct pulled p = flow_pull_header(f, &h);
        EXPECT_EQ(p.code, RESPONSE_SUCCESS);
        EXPECT_EQ(p.count, asked[i] > 1 ? 32 : 1);
    }
    flow_stop(f);
}

TEST(extreme, offsets_at_both_ends_of_the_numbers_are_answered)
{
    static const int64_t offsets[] = {INT64_MIN, INT64_MIN + 1, -1, 5, INT64_MAX - 1, INT64_MAX};
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "", "x");
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        EXPECT_EQ(flow_pull(f, "T", 0, offsets[i], "*").code, RESPONSE_PULL_OFFSET_MOVED);
        struct search_offset_header by_time = {.topic = SLICE("T"), .timestamp = offsets[i], .boundary_type = SLICE("upper")};
        EXPECT_EQ(flow_code(f, REQUEST_SEARCH_OFFSET_BY_TIMESTAMP, &search_offset_kind, &by_time, NULL, NULL), RESPONSE_SUCCESS);
        by_time.boundary_type = SLICE("lower");
        EXPECT_EQ(flow_code(f, REQUEST_SEARCH_OFFSET_BY_TIMESTAMP, &search_offset_kind, &by_time, NULL, NULL), RESPONSE_SUCCESS);
        struct view_message_header view = {.offset = offsets[i]};
        EXPECT_EQ(flow_code(f, REQUEST_VIEW_MESSAGE_BY_ID, &view_message_kind, &view, NULL, NULL), RESPONSE_SYSTEM_ERROR);
    }
    flow_stop(f);
}

TEST(extreme, offsets_are_kept_of_queues_that_can_be)
{
    static const int32_t wrong[] = {-1, INT32_MIN, 65536, INT32_MAX};
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct update_offset_header h = {.consumer_group = SLICE("G"), .topic = SLICE("T"), .queue_id = wrong[i], .commit_offset = 1};
        struct reset_offset_header reset = {.topic = SLICE("T"), .group = SLICE("G"), .queue_id = wrong[i], .timestamp = 0};
        header_set(&reset, reset_offset, queue_id);
        EXPECT_EQ(flow_code(f, REQUEST_UPDATE_CONSUMER_OFFSET, &update_offset_kind, &h, NULL, NULL), RESPONSE_INVALID_PARAMETER);
        if (wrong[i] == -1) continue;   /* a reset of all queues */
        EXPECT_EQ(flow_code(f, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, &reset_offset_kind, &reset, NULL, NULL), RESPONSE_INVALID_PARAMETER);
    }
    flow_stop(f);
}

/* --- groups and clients --- */

/* A heartbeat of `groups` consumer groups, each of `topics` topics; version of all subscriptions. */
static void heartbeat(struct caller *c, const char *client_id, int groups, int topics, int version)
{
    struct buf body = BUF_EMPTY;
    buf_printf(&body, "{\"clientID\":\"%s\",\"producerDataSet\":[],\"consumerDataSet\":[", client_id);
    for (int g = 0; g < groups; g++) {
        buf_printf(&body, "%s{\"groupName\":\"G%d\",\"consumeType\":\"CONSUME_PASSIVELY\",\"messageModel\":\"CLUSTERING\","
                          "\"consumeFromWhere\":\"CONSUME_FROM_FIRST_OFFSET\",\"subscriptionDataSet\":[", g ? "," : "", g);
        for (int t = 0; t < topics; t++)
            buf_printf(&body, "%s{\"topic\":\"T%d\",\"subString\":\"*\",\"subVersion\":%d,\"expressionType\":\"TAG\"}", t ? "," : "", t, version);
        buf_put_text(&body, "]}");
    }
    buf_put_text(&body, "]}");
    struct answer *a = caller_call(c, REQUEST_HEART_BEAT, NULL, NULL, buf_slice(&body));
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    answer_free(a);
    buf_done(&body);
}

static bool is_subscribed(struct flow *f, const char *group, const char *topic, int64_t version)
{
    struct pull_header h = pull_all();
    h.consumer_group = slice_text(group);
    h.topic = slice_text(topic);
    h.sys_flag = 0;
    h.sub_version = version;
    return flow_code(f, REQUEST_PULL_MESSAGE, &pull_kind, &h, NULL, NULL) == RESPONSE_PULL_NOT_FOUND;
}

TEST(extreme, a_client_of_a_thousand_groups_or_a_thousand_topics_is_known_with_all_of_them)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T0", 1);
    flow_make_topic(f, "T999", 1);
    struct caller *many_groups = flow_caller(f), *many_topics = flow_caller(f);
    for (int i = 0; i < 3; i++) {
        heartbeat(many_groups, "many-groups", 1000, 1, 1);
        EXPECT(is_subscribed(f, "G0", "T0", 1) && is_subscribed(f, "G999", "T0", 1));
        heartbeat(many_topics, "many-topics", 1, 1000, 2 + i);
        EXPECT(is_subscribed(f, "G0", "T0", 2 + i) && is_subscribed(f, "G0", "T999", 2 + i));
    }
    caller_close(many_topics);   /* what the other said rules again */
    sim_run_for(f->sim, 1000);
    EXPECT(is_subscribed(f, "G0", "T0", 1) && !is_subscribed(f, "G0", "T0", 2) && !is_subscribed(f, "G0", "T999", 0));
    caller_close(many_groups);
    sim_run_for(f->sim, 1000);
    EXPECT(!is_subscribed(f, "G0", "T0", 0));
    flow_stop(f);
}

TEST(extreme, of_many_members_the_newest_rules_whoever_leaves)
{
    enum { MEMBERS = 40 };
    struct flow *f = flow_start(NULL);
    struct caller *c[MEMBERS];
    char id[16];
    flow_make_topic(f, "T0", 1);
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(id, sizeof id, "client-%d", i / 2);   /* each twice, as in a reconnect */
        heartbeat(c[i] = flow_caller(f), id, 1, 1, 100 + (i * 7) % MEMBERS);
    }
    struct consumer_list_header h = {.consumer_group = SLICE("G0")};
    struct answer *a = caller_call(f->caller, REQUEST_GET_CONSUMER_LIST_BY_GROUP, &consumer_list_kind, &h, (struct slice){NULL, 0});
    size_t named = 0;
    for (size_t i = 0; i < a->frame.body.n; i++) named += a->frame.body.p[i] == '-';
    EXPECT_EQ(named, MEMBERS / 2);
    answer_free(a);
    for (int left = MEMBERS; left > 0; left--) {
        int newest = 0;
        for (int i = MEMBERS - left; i < MEMBERS; i++) newest = 100 + (i * 7) % MEMBERS > newest ? 100 + (i * 7) % MEMBERS : newest;
        EXPECT(is_subscribed(f, "G0", "T0", newest) && !is_subscribed(f, "G0", "T0", newest + 1));
        caller_close(c[MEMBERS - left]);
        sim_run_for(f->sim, 100);
    }
    flow_stop(f);
}

TEST(extreme, a_large_group_is_told_once_of_changes_that_come_together)
{
    enum { MEMBERS = 300 };
    struct flow *f = flow_start(NULL);
    struct caller *c[MEMBERS];
    char id[16];
    flow_make_topic(f, "T0", 1);
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(id, sizeof id, "client-%d", i);
        heartbeat(c[i] = flow_caller(f), id, 1, 1, 1);
    }
    sim_run_for(f->sim, 1000);
    while (caller_unread(c[0])) answer_free(caller_asked(c[0], REQUEST_NOTIFY_CONSUMER_IDS_CHANGED, 0));
    for (int i = 200; i < MEMBERS; i++) caller_close(c[i]);
    sim_run_for(f->sim, 1000);
    size_t notices = caller_unread(c[0]);
    EXPECT(notices >= 1 && notices <= 5);
    struct answer *a = caller_asked(c[0], REQUEST_NOTIFY_CONSUMER_IDS_CHANGED, 0);
    EXPECT(a);
    answer_free(a);
    for (int i = 0; i < 200; i++) caller_close(c[i]);
    sim_run_for(f->sim, 1000);
    flow_stop(f);
}

TEST(extreme, a_clock_that_is_set_forward_makes_no_client_old)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T0", 1);
    struct caller *one = flow_caller(f);
    heartbeat(one, "one", 1, 1, 1);
    sim_tune(f->sim)->start_wall_ms += 3600 * 1000;
    sim_run_for(f->sim, 30000);
    EXPECT(is_subscribed(f, "G0", "T0", 1));
    caller_close(one);
    flow_stop(f);
}

/* --- ports --- */

TEST(extreme, the_fast_port_knows_everything_but_pulls)
{
    struct flow *f = flow_start(NULL);
    char remark[512];
    flow_make_topic(f, "T", 1);
    caller_close(f->caller);
    f->caller = caller_open(f->sim, f->client_loop, flow_host, FLOW_PORT - 2);
    EXPECT_EQ(flow_send(f, "T", 0, "", "x").code, RESPONSE_SUCCESS);
    struct pull_header h = pull_all();
    EXPECT_EQ(flow_code(f, REQUEST_PULL_MESSAGE, &pull_kind, &h, NULL, remark), RESPONSE_REQUEST_CODE_NOT_SUPPORTED);
    assert_string_equal(remark, " request type 11 not supported");
    EXPECT_EQ(flow_code(f, REQUEST_LITE_PULL_MESSAGE, &pull_kind, &h, NULL, remark), RESPONSE_REQUEST_CODE_NOT_SUPPORTED);
    assert_string_equal(remark, " request type 361 not supported");
    struct max_offset_header max = {.topic = SLICE("T")};
    EXPECT_EQ(flow_code(f, REQUEST_GET_MAX_OFFSET, &max_offset_kind, &max, NULL, NULL), RESPONSE_SUCCESS);
    flow_stop(f);
}

/* Names of any length and numbers of any size, in requests that look for something: each is answered. */
TEST(extreme, what_is_asked_about_things_that_cannot_be_is_answered)
{
    static const size_t lengths[] = {1, 127, 128, 255, 256, 70000};
    static const int64_t numbers[] = {INT64_MIN, -1, 0, INT32_MAX, INT64_MAX};
    struct flow *f = flow_start(NULL);
    struct buf name = BUF_EMPTY;
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "UNIQ_KEY=U", "x");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        buf_clear(&name);
        memset(buf_take(&name, lengths[i]), 'n', lengths[i]);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            struct slice n = buf_slice(&name);
            int32_t small = (int32_t)numbers[k];
            struct send_back_header back = {.group = n, .offset = numbers[k], .delay_level = small, .max_reconsume_times = small};
            header_set(&back, send_back, max_reconsume_times);
            struct why_queue_header queue = {.consumer_group = n, .topic = k % 2 ? n : SLICE("T"), .queue_id = small};
            struct why_message_header message = {.topic = k % 2 ? n : SLICE("T"), .unique_key = n, .consumer_group = n};
            struct why_send_header send = {.topic = n};
            struct query_consume_queue_header entries = {.topic = k % 2 ? n : SLICE("T"), .queue_id = small, .index = numbers[k], .count = small, .consumer_group = n};
            flow_code(f, REQUEST_CONSUMER_SEND_MSG_BACK, &send_back_kind, &back, NULL, NULL);
            EXPECT_EQ(flow_code(f, REQUEST_WHY_QUEUE, &why_queue_kind, &queue, NULL, NULL), RESPONSE_SUCCESS);
            EXPECT_EQ(flow_code(f, REQUEST_WHY_MESSAGE, &why_message_kind, &message, NULL, NULL), RESPONSE_SUCCESS);
            EXPECT_EQ(flow_code(f, REQUEST_WHY_SEND, &why_send_kind, &send, NULL, NULL), RESPONSE_SUCCESS);
            flow_code(f, REQUEST_QUERY_CONSUME_QUEUE, &query_consume_queue_kind, &entries, NULL, NULL);
        }
    }
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").count, 1);   /* and it goes on */
    buf_done(&name);
    flow_stop(f);
}
