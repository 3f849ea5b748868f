/* Consumers that filter by SQL92: what they are told when they start, what they get, and what becomes of their expressions. */
#include "flow/flow.h"

#include <stdio.h>
#include <stdlib.h>

/* A heartbeat of one consumer of T; type NULL: none given. */
static void subscribe(struct flow *f, const char *group, const char *type, const char *expression, int64_t version)
{
    struct subscription s = {.topic = SLICE("T"), .expression = slice_text(expression), .type = slice_text(type), .version = version};
    struct heartbeat_consumer consumer = {.group = slice_text(group), .type = CONSUME_PASSIVELY, .model = MODEL_CLUSTERING, .from = FROM_LAST_OFFSET};
    struct heartbeat hb = {.client_id = SLICE("c1")};
    struct buf body = BUF_EMPTY;
    consumer.subscriptions.items = &s;
    hb.consumers.items = &consumer;
    consumer.subscriptions.count = hb.consumers.count = 1;
    bean_encode(&heartbeat_bean, &hb, JSON_RAW, &body);
    struct answer *a = caller_call(f->caller, REQUEST_HEART_BEAT, NULL, NULL, buf_slice(&body));
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    answer_free(a);
    buf_done(&body);
}

static struct pull_header fields(const char *group, int64_t offset, int64_t version)
{
    return (struct pull_header){.topic = SLICE("T"), .consumer_group = slice_text(group), .max_msg_nums = 32, .queue_offset = offset,
                                .sub_version = version, .expression_type = SLICE("SQL92")};
}

/* By what the group's heartbeat said. */
static struct pulled pull_known(struct flow *f, const char *group, int64_t offset, int64_t version)
{
    struct pull_header h = fields(group, offset, version);
    return flow_pull_header(f, &h);
}

/* With an expression of its own. */
static struct pulled pull_carried(struct flow *f, const char *expression, int64_t offset)
{
    struct pull_header h = fields("Carries", offset, 0);
    h.sys_flag = 4;
    h.subscription = slice_text(expression);
    return flow_pull_header(f, &h);
}

static int32_t begin_waiting(struct flow *f, struct pull_header h, int32_t flags)
{
    h.sys_flag = 2 | flags;
    h.suspend_timeout_millis = 15000;
    return caller_request(f->caller, REQUEST_PULL_MESSAGE, &pull_kind, &h, (struct slice){NULL, 0});
}

/* Ten messages: a = 0 … 9. */
static struct flow *start_with_ten(const char *const *settings)
{
    struct flow *f = flow_start(settings);
    char properties[32], body[8];
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 10; i++) {
        snprintf(properties, sizeof properties, "a=%d;TAGS=A", i);
        snprintf(body, sizeof body, "%d", i);
        EXPECT_EQ(flow_send(f, "T", 0, properties, body).code, RESPONSE_SUCCESS);
    }
    return f;
}

TEST(filter, a_group_gets_what_its_expression_matches_and_its_offsets_pass_the_rest)
{
    struct flow *f = start_with_ten(NULL);
    subscribe(f, "G", "SQL92", "a BETWEEN 3 AND 5", 7);
    struct pulled p = pull_known(f, "G", 0, 7);
    EXPECT_EQ(p.code, RESPONSE_SUCCESS);
    EXPECT_EQ(p.count, 3);
    EXPECT_TEXT(p.messages[0].body, "3");
    EXPECT_TEXT(p.messages[2].body, "5");
    EXPECT_EQ(p.next, 10);
    p = pull_known(f, "G", 6, 7);
    EXPECT_EQ(p.code, RESPONSE_PULL_RETRY_IMMEDIATELY);
    EXPECT_EQ(p.next, 10);
    flow_stop(f);
}

TEST(filter, a_pull_without_a_usable_expression_of_its_group_has_the_code_of_the_original)
{
    struct flow *f = start_with_ten(NULL);
    EXPECT_EQ(pull_known(f, "G", 0, 7).code, RESPONSE_SUBSCRIPTION_NOT_EXIST);
    subscribe(f, "G", "SQL92", "a > 3", 6);
    EXPECT_EQ(pull_known(f, "G", 0, 7).code, RESPONSE_SUBSCRIPTION_NOT_LATEST);
    subscribe(f, "G", "SQL92", "a > ", 7);
    struct pulled p = pull_known(f, "G", 0, 7);
    EXPECT_EQ(p.code, RESPONSE_FILTER_DATA_NOT_EXIST);
    EXPECT(strstr(p.remark, "Your expression may be wrong!") && strstr(p.remark, "letter 5"));
    subscribe(f, "G", "XPATH", "a", 8);
    p = pull_known(f, "G", 0, 8);
    EXPECT_EQ(p.code, RESPONSE_SUBSCRIPTION_PARSE_FAILED);
    EXPECT(strstr(p.remark, "XPATH"));
    subscribe(f, "G", "SQL92", "a > 8", 9);
    EXPECT_EQ(pull_known(f, "G", 0, 9).count, 1);
    flow_stop(f);
}

TEST(filter, a_pull_may_bring_its_own_expression_and_a_wrong_one_filters_nothing_but_is_told)
{
    struct flow *f = start_with_ten(NULL);
    EXPECT_EQ(pull_carried(f, "a > 6 AND TAGS = 'A'", 0).count, 3);
    struct pulled p = pull_carried(f, "a BETWEEN 3 AND 1", 0);
    EXPECT_EQ(p.count, 10);   /* as with the original */
    EXPECT_EQ(pull_carried(f, "", 0).count, 10);
    EXPECT_EQ(flow_metric(f, "skylark_filters_ignored_total"), 2);
    flow_stop(f);
}

static int32_t check(struct flow *f, const char *type, const char *expression, char *remark)
{
    char body[512];
    snprintf(body, sizeof body, "{\"clientId\":\"c\",\"group\":\"G\",\"subscriptionData\":{\"topic\":\"T\",\"expressionType\":\"%s\",\"subString\":\"%s\"}}", type,
             expression);
    return flow_code(f, REQUEST_CHECK_CLIENT_CONFIG, NULL, NULL, body, remark);
}

TEST(filter, a_consumer_is_told_before_it_starts_where_its_expression_is_wrong)
{
    struct flow *f = flow_start(NULL);
    char remark[512];
    EXPECT_EQ(check(f, "SQL92", "a > 9223372036854775807", remark), RESPONSE_SUCCESS);
    EXPECT_EQ(check(f, "TAG", "a || b", remark), RESPONSE_SUCCESS);
    static const char *const wrong[][2] = {
        {"a > 9223372036854775808", "letter 5"}, {"a > '5'", "no order"}, {"a = NULL", "IS NULL"}, {"a IN (1,2)", "letter 7"}, {"", "its end"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        EXPECT_EQ(check(f, "SQL92", wrong[i][0], remark), RESPONSE_SUBSCRIPTION_PARSE_FAILED);
        if (!strstr(remark, wrong[i][1])) fail_msg("%s", remark);
    }
    EXPECT_EQ(check(f, "FOO", "a", remark), RESPONSE_SUBSCRIPTION_PARSE_FAILED);
    EXPECT(!flow_is_there(f, "/store/config/consumerFilter.json"));   /* a question registers nothing */
    flow_stop(f);
}

TEST(filter, expressions_are_refused_by_name_while_they_are_off)
{
    static const char *const off[] = {"enablePropertyFilter=false", NULL};
    struct flow *f = start_with_ten(off);
    char remark[512];
    struct pulled p = pull_carried(f, "a > 1", 0);
    EXPECT_EQ(p.code, RESPONSE_SYSTEM_ERROR);
    EXPECT(strstr(p.remark, "filter message by SQL92"));
    subscribe(f, "G", "SQL92", "a > 1", 7);
    p = pull_known(f, "G", 0, 7);
    EXPECT_EQ(p.code, RESPONSE_SYSTEM_ERROR);
    EXPECT(strstr(p.remark, "filter message by SQL92"));
    EXPECT_EQ(check(f, "SQL92", "a > 1", remark), RESPONSE_SYSTEM_ERROR);
    EXPECT(strstr(remark, "filter message by SQL92"));
    EXPECT_EQ(check(f, "TAG", "a", remark), RESPONSE_SUCCESS);
    flow_stop(f);
}

static void expect_woken_by_match(struct flow *f, int32_t waiting)
{
    EXPECT_EQ(flow_pulled(f, waiting, 500).code, -1);
    flow_send(f, "T", 0, "a=1", "no match");
    flow_send(f, "T", 0, "b=100", "none");
    flow_send(f, "T", 0, "a=x", "fails");
    EXPECT_EQ(flow_pulled(f, waiting, 500).code, -1);
    flow_send(f, "T", 0, "a=100", "match");
    struct pulled p = flow_pulled(f, waiting, 100);
    EXPECT_EQ(p.code, RESPONSE_SUCCESS);
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.messages[0].body, "match");
    EXPECT_EQ(p.next, 14);
}

TEST(filter, a_waiting_pull_is_woken_by_a_message_that_matches_and_by_no_other)
{
    struct flow *f = start_with_ten(NULL);
    subscribe(f, "G", "SQL92", "a > 50", 7);
    expect_woken_by_match(f, begin_waiting(f, fields("G", 10, 7), 0));
    flow_stop(f);
}

TEST(filter, a_waiting_pull_with_its_own_expression_keeps_it)
{
    struct flow *f = start_with_ten(NULL);
    struct pull_header h = fields("Carries", 10, 0);
    h.subscription = SLICE("a > 50");
    expect_woken_by_match(f, begin_waiting(f, h, 4));
    int32_t waiting = begin_waiting(f, (struct pull_header){.topic = SLICE("T"), .consumer_group = SLICE("G"), .max_msg_nums = 1, .queue_offset = 14,
                                                            .subscription = SLICE("a > 50"), .expression_type = SLICE("SQL92")}, 4);
    EXPECT_EQ(flow_pulled(f, waiting, 100).code, -1);   /* still there when the broker ends */
    flow_stop(f);
}

TEST(filter, a_waiting_pull_goes_by_the_expression_that_its_group_has_when_a_message_comes)
{
    struct flow *f = start_with_ten(NULL);
    subscribe(f, "G", "SQL92", "a > 50", 7);
    int32_t waiting = begin_waiting(f, fields("G", 10, 7), 0);
    EXPECT_EQ(flow_pulled(f, waiting, 100).code, -1);
    subscribe(f, "G", "SQL92", "a < 5", 8);
    flow_send(f, "T", 0, "a=60", "no longer");
    EXPECT_EQ(flow_pulled(f, waiting, 100).code, -1);
    flow_send(f, "T", 0, "a=2", "now");
    EXPECT_EQ(flow_pulled(f, waiting, 100).count, 1);
    flow_stop(f);
}

static bool file_has(struct flow *f, const char *what)
{
    struct buf text = BUF_EMPTY;
    EXPECT_OK(fs_read_file(sim_fs_disk(f->disk), "/store/config/consumerFilter.json", 1 << 20, &text));
    bool found = memmem(text.p, text.n, what, strlen(what));
    buf_done(&text);
    return found;
}

TEST(filter, what_groups_asked_for_is_in_the_file_of_the_original_while_they_are_there_and_a_day_longer)
{
    struct flow *f = start_with_ten(NULL);
    subscribe(f, "G", "SQL92", "a > 3", 7);
    sim_run_for(f->sim, 11000);
    EXPECT(file_has(f, "\"expression\":\"a > 3\"") && file_has(f, "\"consumerGroup\":\"G\"") && file_has(f, "\"dead\":false"));
    flow_restart(f);
    EXPECT_EQ(pull_known(f, "G", 0, 7).code, RESPONSE_SUBSCRIPTION_NOT_EXIST);   /* kept, and yet nobody's */
    subscribe(f, "G", "SQL92", "a > 3", 7);
    EXPECT_EQ(pull_known(f, "G", 0, 7).count, 6);
    caller_close(f->caller);
    f->caller = flow_caller(f);
    sim_run_for(f->sim, 11000);
    EXPECT(file_has(f, "\"dead\":true"));
    sim_run_for(f->sim, 24 * 3600 * 1000 + 20000);
    EXPECT(!file_has(f, "a > 3"));
    flow_stop(f);
}

TEST(filter, an_expression_that_is_very_long_looks_at_fewer_messages_at_once)
{
    struct flow *f = flow_start(NULL);
    struct buf expression = BUF_EMPTY, value = BUF_EMPTY;
    flow_make_topic(f, "T", 1);
    buf_put_text(&value, "a=");
    for (int i = 0; i < 30000; i++) buf_put_u8(&value, 'x');
    buf_put_u8(&value, 0);
    for (int i = 0; i < 10; i++) EXPECT_EQ(flow_send(f, "T", 0, (const char *)value.p, "x").code, RESPONSE_SUCCESS);
    buf_put_text(&expression, "a CONTAINS 'y'");
    for (int i = 0; i < 680; i++) buf_put_text(&expression, " OR a CONTAINS 'xxxxxxxxxxxy'");
    buf_put_u8(&expression, 0);
    int64_t offset = 0;
    int rounds = 0;
    for (; offset < 10; rounds++) {
        struct pulled p = pull_carried(f, (const char *)expression.p, offset);
        EXPECT_EQ(p.code, RESPONSE_PULL_RETRY_IMMEDIATELY);
        EXPECT(p.next > offset);
        offset = p.next;
    }
    EXPECT(rounds > 1);
    buf_done(&expression);
    buf_done(&value);
    flow_stop(f);
}

/* --- retry topics --- */

static struct pulled pull_retry(struct flow *f, const char *type, const char *expression)
{
    struct pull_header h = fields("G", 0, 0);
    h.topic = SLICE("%RETRY%G");
    h.sys_flag = 4;
    h.expression_type = slice_text(type);
    h.subscription = slice_text(expression);
    return flow_pull_header(f, &h);
}

static struct flow *start_with_retries(const char *const *settings)
{
    struct flow *f = start_with_ten(settings);
    subscribe(f, "G", "SQL92", "a > 3", 7);   /* makes the retry topic, too */
    flow_send(f, "%RETRY%G", 0, "a=2;RETRY_TOPIC=T", "of T, no match");
    flow_send(f, "%RETRY%G", 0, "a=4;RETRY_TOPIC=T", "of T");
    flow_send(f, "%RETRY%G", 0, "a=2;RETRY_TOPIC=U", "of U");
    return f;
}

TEST(filter, what_comes_back_to_be_tried_again_is_not_judged_again)
{
    struct flow *f = start_with_retries(NULL);
    EXPECT_EQ(pull_retry(f, "TAG", "*").count, 3);   /* as clients subscribe to it */
    EXPECT_EQ(pull_retry(f, "SQL92", "a = 2").count, 2);
    flow_stop(f);
}

TEST(filter, with_filter_support_retry_the_topic_a_message_came_from_says_by_what_it_is_judged)
{
    static const char *const on[] = {"filterSupportRetry=true", NULL};
    struct flow *f = start_with_retries(on);
    EXPECT_EQ(pull_retry(f, "TAG", "*").count, 3);
    struct pulled p = pull_retry(f, "SQL92", "a = 2");
    EXPECT_EQ(p.count, 2);
    EXPECT_TEXT(p.messages[0].body, "of T");
    EXPECT_TEXT(p.messages[1].body, "of U");
    flow_stop(f);
}
