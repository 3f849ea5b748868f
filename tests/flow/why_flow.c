/* Explanations: one sentence, and the facts that the broker decides from. */
#include "flow/flow.h"

#include "codec/body_why.h"

#include <stdio.h>

/* Asks, and expects the sentence to hold this text. */
static struct why ask(struct flow *f, int32_t code, const struct header_kind *kind, const void *header, const char *text)
{
    struct why why = {.sentence = {NULL, 0}};
    struct answer *a = caller_call(f->caller, code, kind, header, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    struct slice body = arena_copy(&f->arena, a->frame.body);
    answer_free(a);
    EXPECT_OK(bean_decode(&why_bean, body, &f->arena, "why", &why));
    if (!memmem(why.sentence.p, why.sentence.n, text, strlen(text))) print_error("\"%.*s\" does not hold \"%s\"\n", SLICE_ARG(why.sentence), text);
    EXPECT(memmem(why.sentence.p, why.sentence.n, text, strlen(text)));
    return why;
}

static struct why queue(struct flow *f, const char *topic, int32_t queue_id, const char *text)
{
    struct why_queue_header h = {.consumer_group = SLICE("G"), .topic = slice_text(topic), .queue_id = queue_id};
    return ask(f, REQUEST_WHY_QUEUE, &why_queue_kind, &h, text);
}

static struct why message(struct flow *f, const char *group, const char *key, const char *text)
{
    struct why_message_header h = {.topic = SLICE("T"), .unique_key = slice_text(key)};
    if (group) h.consumer_group = slice_text(group);
    return ask(f, REQUEST_WHY_MESSAGE, &why_message_kind, &h, text);
}

static struct why send(struct flow *f, const char *topic, const char *text)
{
    struct why_send_header h = {.topic = slice_text(topic)};
    return ask(f, REQUEST_WHY_SEND, &why_send_kind, &h, text);
}

static struct slice fact(const struct why *why, const char *name)
{
    for (size_t i = 0; i < why->facts.count; i++)
        if (slice_eq(why->facts.items[i].key, slice_text(name))) return why->facts.items[i].value;
    return (struct slice){NULL, 0};
}

static void set_group(struct flow *f, const char *consume_enable)
{
    char body[200];
    snprintf(body, sizeof body, "{\"groupName\":\"G\",\"consumeEnable\":%s,\"retryQueueNums\":1,\"retryMaxTimes\":16}", consume_enable);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, NULL, NULL, body, NULL), RESPONSE_SUCCESS);
}

static void commit(struct flow *f, int64_t offset)
{
    struct update_offset_header h = {.consumer_group = SLICE("G"), .topic = SLICE("T"), .queue_id = 0, .commit_offset = offset};
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_CONSUMER_OFFSET, &update_offset_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
}

/* A pull by the group's subscription. */
static int32_t pull(struct flow *f, int64_t offset)
{
    struct pull_header h = {.topic = SLICE("T"), .consumer_group = SLICE("G"), .queue_offset = offset, .max_msg_nums = 32};
    return flow_code(f, REQUEST_PULL_MESSAGE, &pull_kind, &h, NULL, NULL);
}

static void set_key(struct flow *f, const char *pair)
{
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, pair, NULL), RESPONSE_SUCCESS);
}

TEST(why, a_queue_that_nobody_may_or_can_consume_is_explained)
{
    struct flow *f = flow_start(NULL);
    queue(f, "T", 0, "topic T is not known to this broker");
    flow_make_topic(f, "T", 1);
    queue(f, "T", 7, "topic T has 1 queues to read, and none with number 7");
    queue(f, "T", 0, "group G is not known to this broker");
    set_group(f, "false");
    queue(f, "T", 0, "group G may not consume: consumeEnable=false");
    set_group(f, "true");
    queue(f, "T", 0, "the queue holds no messages");
    flow_send(f, "T", 0, "", "x");
    queue(f, "T", 0, "no consumer of group G is connected");
    flow_subscribe(f, f->caller, "c1", "G", "Other", "*", 1);
    queue(f, "T", 0, "none of the 1 consumers of group G subscribes to topic T");
    flow_subscribe(f, f->caller, "c1", "G", "T", "*", 2);
    queue(f, "T", 0, "nobody has pulled the queue since the broker started");
    set_key(f, "brokerPermission=2");
    queue(f, "T", 0, "this broker may not be read: brokerPermission=2");
    flow_stop(f);
}

TEST(why, a_queue_whose_consumer_is_slow_gone_or_done_is_explained)
{
    static const char *const settings[] = {"serverChannelMaxIdleTimeSeconds=0", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 3; i++) flow_send(f, "T", 0, "", "x");
    flow_subscribe(f, f->caller, "client-1", "G", "T", "*", 1);
    commit(f, 0);
    EXPECT_EQ(pull(f, 0), RESPONSE_SUCCESS);
    struct why w = queue(f, "T", 0, "messages 0 to 2 were given to client-1 and are not committed");
    EXPECT_TEXT(fact(&w, "lag"), "3");
    EXPECT_TEXT(fact(&w, "lastPullBy"), "client-1");
    EXPECT_TEXT(fact(&w, "lastPullResult"), "it got messages");
    EXPECT_TEXT(fact(&w, "verdict"), "matches");
    EXPECT(fact(&w, "lagMs").n);
    commit(f, 3);
    queue(f, "T", 0, "everything is consumed: the group committed offset 3, and the queue ends at 3");
    flow_send(f, "T", 0, "", "y");
    sim_run_for(f->sim, 70000);
    queue(f, "T", 0, "the last pull, by client-1, was 70 s ago: the client does not ask for more");
    set_group(f, "false");
    EXPECT_EQ(pull(f, 3), RESPONSE_NO_PERMISSION);
    set_group(f, "true");
    queue(f, "T", 0, "the last pull, by client-1 0 s ago, was refused with code 16");
    flow_stop(f);
}

TEST(why, a_queue_in_order_names_the_holder_of_its_lock)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "", "x");
    flow_subscribe(f, f->caller, "c1", "G", "T", "*", 1);
    char body[160];
    snprintf(body, sizeof body, "{\"consumerGroup\":\"G\",\"clientId\":\"holder-9\",\"mqSet\":[{\"topic\":\"T\",\"brokerName\":\"%s\",\"queueId\":0}]}",
             f->config.broker.name);
    EXPECT_EQ(flow_code(f, REQUEST_LOCK_BATCH_MQ, NULL, NULL, body, NULL), RESPONSE_SUCCESS);
    struct why w = queue(f, "T", 0, "holder-9 holds the lock of the queue and does not pull it");
    EXPECT_TEXT(fact(&w, "lockHolder"), "holder-9");
    flow_stop(f);
}

TEST(why, what_the_subscription_leaves_out_is_told_with_the_expression)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "TAGS=B;UNIQ_KEY=U", "x");
    flow_subscribe(f, f->caller, "c1", "G", "T", "A || C", 1);
    commit(f, 0);
    EXPECT_EQ(pull(f, 0), RESPONSE_PULL_RETRY_IMMEDIATELY);
    queue(f, "T", 0, "the message at offset 0 does not match: its tags are \"B\", the group subscribes to \"A || C\"");
    commit(f, 1);
    sim_run_for(f->sim, 1000);
    message(f, "G", "U", "the message at offset 0 does not match: its tags are \"B\", the group subscribes to \"A || C\"");
    flow_stop(f);
}

static void subscribe_by_sql(struct flow *f, const char *expression)
{
    struct subscription s = {.topic = SLICE("T"), .expression = slice_text(expression), .type = SLICE("SQL92"), .version = 1};
    struct heartbeat_consumer consumer = {.group = SLICE("G"), .type = CONSUME_PASSIVELY, .model = MODEL_CLUSTERING, .from = FROM_LAST_OFFSET};
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

TEST(why, the_clause_of_an_expression_that_left_a_message_out_is_named_and_all_are_told)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "region=eu;price=5;UNIQ_KEY=U", "x");
    subscribe_by_sql(f, "region = 'eu' AND price > 10 AND (colour = 'red' OR price = 5)");
    commit(f, 0);
    struct pull_header h = {.topic = SLICE("T"), .consumer_group = SLICE("G"), .max_msg_nums = 32, .sub_version = 1, .expression_type = SLICE("SQL92")};
    EXPECT_EQ(flow_code(f, REQUEST_PULL_MESSAGE, &pull_kind, &h, NULL, NULL), RESPONSE_PULL_RETRY_IMMEDIATELY);
    struct why w = queue(f, "T", 0, "the message at offset 0 does not match: price > 10 is false; the group subscribes to \"region = 'eu' AND");
    EXPECT_TEXT(fact(&w, "clauses"), "region = 'eu' is true; price > 10 is false; (colour = 'red' OR price = 5) is true; > colour = 'red' asks for a "
                                     "property that is not there; > price = 5 is true");
    commit(f, 1);
    sim_run_for(f->sim, 1000);
    message(f, "G", "U", "the message at offset 0 does not match: price > 10 is false;");
    flow_stop(f);
}

TEST(why, a_message_is_found_wherever_it_waits)
{
    static const char *const settings[] = {"serverChannelMaxIdleTimeSeconds=0", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    message(f, "G", "none", "no message of topic T with that key is known here");
    flow_send(f, "T", 0, "UNIQ_KEY=A;DELAY=4", "x");
    sim_run_for(f->sim, 1000);
    struct why w = message(f, NULL, "A", "for topic T");
    EXPECT_EQ(w.copies.count, 1);
    EXPECT_TEXT(w.copies.items[0].place, "waiting on a delay level");
    EXPECT_EQ(w.copies.items[0].due_ms - w.copies.items[0].store_ms, 30000);
    sim_run_for(f->sim, 40000);
    message(f, NULL, "A", "it lies at offset 0 of queue 0 of T");
    message(f, "G", "A", "the group has not come to it: it lies at offset 0 of queue 0 of T, 0 behind");
    flow_subscribe(f, f->caller, "c1", "G", "T", "*", 1);
    EXPECT_EQ(pull(f, 0), RESPONSE_SUCCESS);
    message(f, "G", "A", "it was given to a consumer and is not committed");
    commit(f, 1);
    message(f, "G", "A", "the group got it");
    flow_stop(f);
}

TEST(why, a_message_that_failed_is_told_from_its_newest_copy)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "UNIQ_KEY=A", "x");
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    struct send_back_header h = {.group = SLICE("G"), .offset = p.messages[0].log_offset, .delay_level = 2};
    EXPECT_EQ(flow_code(f, REQUEST_CONSUMER_SEND_MSG_BACK, &send_back_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 1000);
    message(f, "G", "A", " s from now, for topic %RETRY%G");
    sim_run_for(f->sim, 5000);
    struct why w = message(f, "G", "A", "the group has not come to it: it lies at offset 0 of queue 0 of %RETRY%G");
    EXPECT_EQ(w.copies.count, 3);
    h.delay_level = -1;
    EXPECT_EQ(flow_code(f, REQUEST_CONSUMER_SEND_MSG_BACK, &send_back_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 1000);
    message(f, "G", "A", "it is a dead letter of group G since ");
    message(f, "Other", "A", "the group has not come to it: it lies at offset 0 of queue 0 of T");
    flow_stop(f);
}

TEST(why, a_message_that_was_prepared_is_told_with_its_state)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    struct send_header s = flow_send_fields("T", 0);
    s.sys_flag = SYS_FLAG_TRANSACTION_PREPARED;
    s.properties = flow_properties("UNIQ_KEY=A;TRAN_MSG=true;PGROUP=P");
    struct sent half = flow_send_header(f, REQUEST_SEND_MESSAGE, &s, SLICE("x"));
    EXPECT_EQ(half.code, RESPONSE_SUCCESS);
    sim_run_for(f->sim, 1000);
    message(f, "G", "A", "its producer, group P, has prepared it and neither committed nor rolled back; it was asked 0 times");
    flow_stop(f);
}

TEST(why, a_send_that_is_refused_is_explained_and_the_last_one_remembered)
{
    static const char *const settings[] = {"sendQuotaMessagesPerTopic=2", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    send(f, "T", "it would be taken, and none was refused lately");
    send(f, "SELF_TEST_TOPIC", "is the broker's own: clients may not send to it");
    for (int i = 0; i < 4; i++) flow_send(f, "T", 0, "", "x");
    send(f, "T", "topic T is over its quota");
    sim_run_for(f->sim, 5000);
    struct why w = send(f, "T", "it would be taken now; the last one that was refused, 5 s ago, came from ");
    EXPECT_TEXT(fact(&w, "lastRefusalCode"), "2");
    set_key(f, "autoCreateTopicEnable=false");
    send(f, "Unknown", "topic Unknown is not known to this broker, and autoCreateTopicEnable=false");
    set_key(f, "brokerPermission=4");
    send(f, "T", "this broker takes no messages: brokerPermission=4");
    flow_stop(f);
}

/* Whoever asks may be gone before the answer is. */
TEST(why, a_stop_in_the_middle_of_a_search_ends_well)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "UNIQ_KEY=A", "x");
    struct why_message_header h = {.topic = SLICE("T"), .unique_key = SLICE("A"), .consumer_group = SLICE("G")};
    caller_request(f->caller, REQUEST_WHY_MESSAGE, &why_message_kind, &h, (struct slice){NULL, 0});
    sim_run_for(f->sim, 2);
    flow_stop(f);
}
