/* Lite topics by remoting: subscriptions, pops, acknowledgements, and what tools see of them. */
#include "flow/flow.h"

#include "codec/body_lite.h"
#include "codec/properties.h"
#include "codec/receipt_handle.h"
#include "codec/record.h"

#include <stdio.h>

static const char *const on[] = {"enableLmq=true", "enableMultiDispatch=true", NULL};

static void make_group(struct flow *f, const char *group, const char *more)
{
    char json[400];
    snprintf(json, sizeof json, "{\"groupName\":\"%s\",\"attributes\":{\"+lite.bind.topic\":\"P\"%s}}", group, more);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, NULL, NULL, json, NULL), RESPONSE_SUCCESS);
}

static struct flow *start_with(const char *const *settings)
{
    struct flow *f = flow_start(settings);
    flow_make_topic_with(f, "P", 4, "+message.type=LITE,+lite.topic.expiration=30");
    make_group(f, "G", "");
    return f;
}

static struct flow *start(void) { return start_with(on); }

static void send(struct flow *f, const char *lite, const char *body)
{
    char properties[100];
    snprintf(properties, sizeof properties, "__LITE_TOPIC=%s", lite);
    EXPECT_EQ(flow_send(f, "P", 1, properties, body).code, RESPONSE_SUCCESS);
}

/* lites: "a,b"; more: ',"offsetOption":…' */
static int32_t subscribe_more(struct flow *f, struct caller *c, const char *action, const char *client, const char *group, const char *lites,
                              const char *more, char *remark)
{
    struct buf body = BUF_EMPTY;
    struct slice rest = slice_text(lites), lite;
    buf_printf(&body, "{\"subscriptionSet\":[{\"action\":\"%s\",\"clientId\":\"%s\",\"group\":\"%s\",\"topic\":\"P\",\"version\":1%s", action, client, group, more);
    buf_put_text(&body, ",\"liteTopicSet\":[");
    for (bool first = true; rest.n && slice_split(&rest, ',', &lite); first = false) buf_printf(&body, "%s\"%.*s\"", first ? "" : ",", SLICE_ARG(lite));
    buf_put_text(&body, "]}]}");
    struct answer *a = caller_call(c, REQUEST_LITE_SUBSCRIPTION_CTL, NULL, NULL, buf_slice(&body));
    int32_t code = a->frame.code;
    if (remark) snprintf(remark, 200, "%.*s", SLICE_ARG(a->frame.remark));
    answer_free(a);
    buf_done(&body);
    (void)f;
    return code;
}

static void subscribe(struct flow *f, const char *action, const char *client, const char *lites)
{
    EXPECT_EQ(subscribe_more(f, f->caller, action, client, "G", lites, "", NULL), RESPONSE_SUCCESS);
}

struct lite_popped {
    int32_t code;                    /* -1: no answer */
    struct pop_lite_reply_header reply;
    size_t count;
    struct message messages[32];
    int64_t offsets[32];             /* in the lite topic */
};

static struct pop_lite_header fields(struct flow *f, const char *client)
{
    return (struct pop_lite_header){
        .client_id = slice_text(client), .consumer_group = SLICE("G"), .topic = SLICE("P"), .max_msg_num = 32, .invisible_time = 10000,
        .born_time = tasks_wall_ms(rpc_tasks(f->loop)),
    };
}

static struct lite_popped taken(struct flow *f, struct answer *a)
{
    struct lite_popped p = {.code = -1};
    if (!a) return p;
    p.code = a->frame.code;
    EXPECT_OK(header_decode(&pop_lite_reply_kind, &a->frame, &p.reply));
    p.reply.order_count_info = arena_copy(&f->arena, p.reply.order_count_info);
    struct slice rest = arena_copy(&f->arena, a->frame.body);
    for (; rest.n; p.count++) {
        struct message *m = &p.messages[p.count];
        EXPECT_EQ(record_read(rest, m), RECORD_WHOLE);
        EXPECT(slice_to_i64(properties_get(m->properties, SLICE("INNER_MULTI_QUEUE_OFFSET")), &p.offsets[p.count]));
        rest = slice_skip(rest, record_read_size(m));
    }
    answer_free(a);
    return p;
}

static struct lite_popped pop_with(struct flow *f, const struct pop_lite_header *h)
{
    return taken(f, caller_reply(f->caller, caller_request(f->caller, REQUEST_POP_LITE_MESSAGE, &pop_lite_kind, h, SLICE("")), 30000));
}

static struct lite_popped pop(struct flow *f, const char *client)
{
    struct pop_lite_header h = fields(f, client);
    return pop_with(f, &h);
}

static int32_t pop_waiting(struct flow *f, struct caller *c, const char *client, int64_t ms)
{
    struct pop_lite_header h = fields(f, client);
    h.poll_time = ms;
    return caller_request(c, REQUEST_POP_LITE_MESSAGE, &pop_lite_kind, &h, SLICE(""));
}

static void write_handle(const struct lite_popped *p, size_t i, struct buf *out)
{
    struct receipt_handle h = {
        .pop_ms = p->reply.pop_time, .invisible_ms = p->reply.invisible_time, .revive_queue = p->reply.revive_qid, .broker = SLICE("broker-a"),
        .offset = p->offsets[i],
    };
    receipt_handle_write_short(&h, out);
}

static int32_t ack_as(struct flow *f, const char *group, const char *lite, const struct lite_popped *p, size_t i, char *remark)
{
    struct buf handle = BUF_EMPTY;
    write_handle(p, i, &handle);
    struct ack_header h = {
        .consumer_group = slice_text(group), .topic = SLICE("P"), .extra_info = buf_slice(&handle), .offset = p->offsets[i], .lite_topic = slice_text(lite),
    };
    int32_t code = flow_code(f, REQUEST_ACK_MESSAGE, &ack_kind, &h, "", remark);
    buf_done(&handle);
    return code;
}

static void ack(struct flow *f, const char *lite, const struct lite_popped *p, size_t i)
{
    EXPECT_EQ(ack_as(f, "G", lite, p, i, NULL), RESPONSE_SUCCESS);
}

static void change(struct flow *f, const char *lite, struct lite_popped *p, size_t i, int64_t ms, bool suspend)
{
    struct buf handle = BUF_EMPTY;
    struct change_invisible_reply_header reply;
    write_handle(p, i, &handle);
    struct change_invisible_header h = {
        .consumer_group = SLICE("G"), .topic = SLICE("P"), .extra_info = buf_slice(&handle), .offset = p->offsets[i], .lite_topic = slice_text(lite),
        .invisible_time = ms, .suspend = suspend,
    };
    header_set(&h, change_invisible, suspend);
    struct answer *a = caller_call(f->caller, REQUEST_CHANGE_MESSAGE_INVISIBLETIME, &change_invisible_kind, &h, SLICE(""));
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    EXPECT_OK(header_decode(&change_invisible_reply_kind, &a->frame, &reply));
    EXPECT_EQ(reply.pop_time, p->reply.pop_time);
    EXPECT_EQ(reply.revive_qid, ORDERED_REVIVE_QUEUE);
    answer_free(a);
    buf_done(&handle);
}

/* --- delivery --- */

TEST(lite, a_client_gets_what_comes_to_its_lite_topics_and_nothing_else)
{
    struct flow *f = start();
    send(f, "a", "before");
    subscribe(f, "COMPLETE_ADD", "c", "a,b");
    struct lite_popped p = pop(f, "c");
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.messages[0].body, "before");
    EXPECT_TEXT(p.messages[0].topic, "P");
    EXPECT_EQ(p.reply.revive_qid, ORDERED_REVIVE_QUEUE);
    EXPECT_TEXT(p.reply.order_count_info, "0");
    ack(f, "a", &p, 0);
    EXPECT_EQ(flow_offset(f, "G", "%LMQ%$P$a", 0), 1);
    send(f, "other", "x");
    EXPECT_EQ(pop(f, "c").code, RESPONSE_POLLING_TIMEOUT);
    send(f, "b", "b0");
    send(f, "a", "a1");
    send(f, "b", "b1");
    p = pop(f, "c");
    EXPECT_EQ(p.count, 3);
    EXPECT_TEXT(p.messages[0].body, "b0");
    EXPECT_TEXT(p.messages[1].body, "b1");
    EXPECT_TEXT(p.messages[2].body, "a1");
    EXPECT_TEXT(p.reply.order_count_info, "0;0;0");
    EXPECT_EQ(p.offsets[2], 1);
    flow_stop(f);
}

TEST(lite, a_pop_that_waits_gets_a_message_in_the_turn_in_which_it_comes)
{
    struct flow *f = start();
    subscribe(f, "PARTIAL_ADD", "c", "a");
    int32_t waiting = pop_waiting(f, f->caller, "c", 20000), late = pop_waiting(f, f->caller, "nobody", 3000);
    sim_run_for(f->sim, 1000);
    send(f, "a", "x");
    struct lite_popped p = taken(f, caller_reply(f->caller, waiting, 5));
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(taken(f, caller_reply(f->caller, late, 5000)).code, RESPONSE_POLLING_TIMEOUT);
    /* of two that wait for the same, one gets it */
    subscribe(f, "PARTIAL_ADD", "d", "b");
    subscribe(f, "PARTIAL_ADD", "e", "b");
    int32_t d = pop_waiting(f, f->caller, "d", 5000), e = pop_waiting(f, f->caller, "e", 5000);
    send(f, "b", "y");
    EXPECT_EQ(taken(f, caller_reply(f->caller, d, 6000)).count + taken(f, caller_reply(f->caller, e, 6000)).count, 1);
    flow_stop(f);
}

TEST(lite, a_lite_topic_is_blocked_until_its_batch_is_acknowledged_or_visible_again)
{
    struct flow *f = start();
    subscribe(f, "COMPLETE_ADD", "c", "a");
    subscribe(f, "COMPLETE_ADD", "d", "a");
    send(f, "a", "0");
    send(f, "a", "1");
    struct pop_lite_header h = fields(f, "c");
    h.attempt_id = SLICE("one");
    struct lite_popped p = pop_with(f, &h);
    EXPECT_EQ(p.count, 2);
    send(f, "a", "2");
    EXPECT_EQ(pop(f, "d").count, 0);
    int32_t waiting = pop_waiting(f, f->caller, "d", 20000);
    ack(f, "a", &p, 1);
    EXPECT(!caller_reply(f->caller, waiting, 100));
    ack(f, "a", &p, 0);   /* now all of it is */
    struct lite_popped next = taken(f, caller_reply(f->caller, waiting, 5));
    EXPECT_EQ(next.count, 1);
    EXPECT_TEXT(next.messages[0].body, "2");
    waiting = pop_waiting(f, f->caller, "c", 20000);
    EXPECT(!caller_reply(f->caller, waiting, 9900));
    next = taken(f, caller_reply(f->caller, waiting, 200));   /* its time is over */
    EXPECT_EQ(next.count, 1);
    EXPECT_TEXT(next.reply.order_count_info, "1");
    change(f, "a", &next, 0, 2000, false);
    waiting = pop_waiting(f, f->caller, "c", 20000);
    EXPECT(!caller_reply(f->caller, waiting, 1900));
    next = taken(f, caller_reply(f->caller, waiting, 200));
    EXPECT_TEXT(next.reply.order_count_info, "2");
    change(f, "a", &next, 0, 1000, true);   /* given back: that was no try */
    sim_run_for(f->sim, 1100);
    next = pop(f, "c");
    EXPECT_TEXT(next.reply.order_count_info, "2");
    flow_stop(f);
}

TEST(lite, the_same_attempt_gets_the_same_messages_at_once)
{
    struct flow *f = start();
    subscribe(f, "COMPLETE_ADD", "c", "a");
    send(f, "a", "0");
    struct pop_lite_header h = fields(f, "c");
    h.attempt_id = SLICE("one");
    EXPECT_EQ(pop_with(f, &h).count, 1);
    struct lite_popped p = pop_with(f, &h);   /* the answer was lost */
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.reply.order_count_info, "0");
    h.attempt_id = SLICE("two");
    EXPECT_EQ(pop_with(f, &h).count, 0);
    struct lite_dispatch_header all = {.group = SLICE("G")};
    EXPECT_EQ(flow_code(f, REQUEST_TRIGGER_LITE_DISPATCH, &lite_dispatch_kind, &all, NULL, NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(pop_with(f, &h).count, 0);
    flow_stop(f);
}

TEST(lite, a_full_batch_leaves_the_rest_for_the_next_pop)
{
    struct flow *f = start();
    subscribe(f, "COMPLETE_ADD", "c", "a,b,d");
    for (int i = 0; i < 3; i++) send(f, "a", "a"), send(f, "b", "b"), send(f, "d", "d");
    struct pop_lite_header h = fields(f, "c");
    h.max_msg_num = 4;
    struct lite_popped p = pop_with(f, &h);
    EXPECT_EQ(p.count, 4);   /* all of a, one of b */
    p = pop_with(f, &h);
    EXPECT_EQ(p.count, 3);   /* all of d: b is blocked */
    EXPECT_TEXT(p.messages[0].body, "d");
    flow_stop(f);
}

/* --- subscriptions --- */

TEST(lite, subscriptions_are_added_removed_and_replaced)
{
    struct flow *f = start();
    subscribe(f, "COMPLETE_ADD", "c", "a,b");
    subscribe(f, "PARTIAL_ADD", "c", "d");
    subscribe(f, "PARTIAL_REMOVE", "c", "a,unknown");
    for (int i = 0; i < 4; i++) send(f, (const char *[]){"a", "b", "d", "e"}[i], (const char *[]){"a", "b", "d", "e"}[i]);
    struct lite_popped p = pop(f, "c");
    EXPECT_EQ(p.count, 2);
    EXPECT_TEXT(p.messages[0].body, "b");
    EXPECT_TEXT(p.messages[1].body, "d");
    subscribe(f, "COMPLETE_ADD", "c", "e");   /* nothing else any more */
    p = pop(f, "c");
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.messages[0].body, "e");
    subscribe(f, "COMPLETE_REMOVE", "c", "");
    send(f, "b", "x");
    sim_run_for(f->sim, 11000);
    EXPECT_EQ(pop(f, "c").count, 0);
    flow_stop(f);
}

TEST(lite, a_group_goes_on_where_a_subscription_says)
{
    static const struct {
        const char *option;
        size_t count;
    } rows[] = {{"", 1}, {"\"POLICY\",\"value\":1", 4}, {"\"POLICY\",\"value\":2", 0}, {"\"POLICY\",\"value\":0", 1}, {"\"OFFSET\",\"value\":2", 2},
                {"\"TAIL_N\",\"value\":2", 3}, {"\"TAIL_N\",\"value\":20", 4}, {"\"TIMESTAMP\",\"value\":1", 1}, {"\"OFFSET\",\"value\":-5", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct flow *f = start();
        char more[100] = "";
        if (*rows[i].option) snprintf(more, sizeof more, ",\"offsetOption\":{\"type\":%s}", rows[i].option);
        subscribe(f, "PARTIAL_ADD", "c", "a");
        for (int k = 0; k < 3; k++) send(f, "a", "x");
        struct lite_popped p = pop(f, "c");
        for (size_t k = 0; k < 3; k++) ack(f, "a", &p, k);
        send(f, "a", "x");
        EXPECT_EQ(subscribe_more(f, f->caller, "PARTIAL_ADD", "d", "G", "a", more, NULL), RESPONSE_SUCCESS);
        EXPECT_EQ(pop(f, "d").count, rows[i].count);
        flow_stop(f);
    }
}

TEST(lite, an_exclusive_group_has_one_client_of_a_lite_topic_and_the_other_is_told)
{
    struct flow *f = start();
    make_group(f, "X", ",\"+lite.sub.model\":\"Exclusive\",\"+lite.sub.reset.offset.exclusive\":\"true\"");
    struct caller *first = flow_caller(f), *second = flow_caller(f);
    EXPECT_EQ(subscribe_more(f, first, "PARTIAL_ADD", "c", "X", "a,b", "", NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(subscribe_more(f, first, "PARTIAL_ADD", "c", "X", "a", "", NULL), RESPONSE_SUCCESS);   /* it has it already */
    EXPECT(!caller_asked(first, -1, 100));
    EXPECT_EQ(subscribe_more(f, second, "PARTIAL_ADD", "d", "X", "a", "", NULL), RESPONSE_SUCCESS);
    struct answer *a = caller_asked(first, REQUEST_NOTIFY_UNSUBSCRIBE_LITE, 1000);
    struct notify_unsubscribe_lite_header told;
    EXPECT(a);
    EXPECT_OK(header_decode(&notify_unsubscribe_lite_kind, &a->frame, &told));
    EXPECT_TEXT(told.client_id, "c");
    EXPECT_TEXT(told.consumer_group, "X");
    EXPECT_TEXT(told.lite_topic, "a");
    answer_free(a);
    send(f, "a", "x");
    struct pop_lite_header h = fields(f, "c");
    h.consumer_group = SLICE("X");
    EXPECT_EQ(pop_with(f, &h).count, 0);
    h.client_id = SLICE("d");
    EXPECT_EQ(pop_with(f, &h).count, 1);
    caller_close(first);
    caller_close(second);
    flow_stop(f);
}

TEST(lite, a_wildcard_group_gets_all_lite_topics_of_its_topic)
{
    struct flow *f = start();
    char remark[200];
    make_group(f, "W", ",\"+lite.sub.wildcard\":\"true\"");
    send(f, "old", "0");
    EXPECT_EQ(subscribe_more(f, f->caller, "PARTIAL_ADD", "c", "W", "a", "", remark), RESPONSE_ILLEGAL_OPERATION);
    EXPECT_TEXT(slice_text(remark), "subscribe lite operation is not supported for this group");
    EXPECT_EQ(subscribe_more(f, f->caller, "COMPLETE_ADD", "c", "W", "", "", NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(subscribe_more(f, f->caller, "COMPLETE_ADD", "d", "W", "", "", NULL), RESPONSE_SUCCESS);
    struct pop_lite_header h = fields(f, "d");
    h.consumer_group = SLICE("W");
    struct lite_popped p = pop_with(f, &h);
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(ack_as(f, "W", "old", &p, 0, NULL), RESPONSE_SUCCESS);
    h.poll_time = 20000;
    h.client_id = SLICE("c");
    int32_t waiting = caller_request(f->caller, REQUEST_POP_LITE_MESSAGE, &pop_lite_kind, &h, SLICE(""));
    sim_run_for(f->sim, 100);
    send(f, "new", "1");
    p = taken(f, caller_reply(f->caller, waiting, 5));
    EXPECT_EQ(p.count, 1);
    send(f, "new", "2");
    h.client_id = SLICE("d");
    h.born_time = tasks_wall_ms(rpc_tasks(f->loop));
    waiting = caller_request(f->caller, REQUEST_POP_LITE_MESSAGE, &pop_lite_kind, &h, SLICE(""));
    EXPECT(!caller_reply(f->caller, waiting, 1000));
    EXPECT_EQ(ack_as(f, "W", "new", &p, 0, NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(taken(f, caller_reply(f->caller, waiting, 5)).count, 1);
    EXPECT_EQ(subscribe_more(f, f->caller, "COMPLETE_REMOVE", "c", "W", "", "", NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(subscribe_more(f, f->caller, "COMPLETE_REMOVE", "d", "W", "", "", NULL), RESPONSE_SUCCESS);
    flow_stop(f);
}

TEST(lite, subscriptions_have_a_limit_and_end_with_silence)
{
    static const char *const few[] = {"enableLmq=true", "enableMultiDispatch=true", "maxLiteSubscriptionCount=2", "liteSubscriptionCheckInterval=1000",
                                      "liteSubscriptionCheckTimeoutMills=5000", NULL};
    struct flow *f = start_with(few);
    char remark[200];
    subscribe(f, "COMPLETE_ADD", "c", "a,b");
    subscribe(f, "COMPLETE_ADD", "c", "a,b");   /* the same again is none more */
    EXPECT_EQ(subscribe_more(f, f->caller, "PARTIAL_ADD", "d", "G", "a", "", remark), RESPONSE_LITE_SUBSCRIPTION_QUOTA_EXCEEDED);
    EXPECT_TEXT(slice_text(remark), "lite subscription quota exceeded 2");
    sim_run_for(f->sim, 4000);
    subscribe(f, "COMPLETE_ADD", "c", "a,b");
    sim_run_for(f->sim, 4000);
    send(f, "a", "x");
    EXPECT_EQ(pop(f, "c").count, 1);
    sim_run_for(f->sim, 20000);
    EXPECT_EQ(pop(f, "c").count, 0);
    subscribe(f, "PARTIAL_ADD", "d", "a,b");
    EXPECT_EQ(pop(f, "d").count, 1);
    flow_stop(f);
}

/* --- what is refused --- */

TEST(lite, refusals_have_the_codes_of_the_original)
{
    struct flow *f = start();
    char remark[512];
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(flow_code(f, REQUEST_LITE_SUBSCRIPTION_CTL, NULL, NULL, "", remark), RESPONSE_ILLEGAL_OPERATION);
    EXPECT_TEXT(slice_text(remark), "Request body is null.");
    EXPECT_EQ(flow_code(f, REQUEST_LITE_SUBSCRIPTION_CTL, NULL, NULL, "{\"subscriptionSet\":[]}", remark), RESPONSE_ILLEGAL_OPERATION);
    EXPECT_EQ(subscribe_more(f, f->caller, "PARTIAL_ADD", "c", "Nobody", "a", "", remark), RESPONSE_ILLEGAL_OPERATION);
    EXPECT_TEXT(slice_text(remark), "Consumer group is not allowed to consume.");
    EXPECT_EQ(subscribe_more(f, f->caller, "PARTIAL_ADD", "", "G", "a", "", remark), RESPONSE_SUCCESS);
    subscribe(f, "PARTIAL_ADD", "c", "a$b,,a");
    struct pop_lite_header h = fields(f, "c");
    h.topic = SLICE("T");
    EXPECT_EQ(pop_with(f, &h).code, RESPONSE_INVALID_PARAMETER);
    h.topic = SLICE("Unknown");
    EXPECT_EQ(pop_with(f, &h).code, RESPONSE_TOPIC_NOT_EXIST);
    h = fields(f, "c");
    h.max_msg_num = 33;
    EXPECT_EQ(pop_with(f, &h).code, RESPONSE_INVALID_PARAMETER);
    h.max_msg_num = -1;
    EXPECT_EQ(pop_with(f, &h).code, RESPONSE_INVALID_PARAMETER);
    h = fields(f, "c");
    h.consumer_group = SLICE("Other");
    EXPECT_EQ(pop_with(f, &h).code, RESPONSE_INVALID_PARAMETER);
    h = fields(f, "c");
    h.born_time -= 1000;
    EXPECT_EQ(pop_with(f, &h).code, RESPONSE_POLLING_TIMEOUT);
    h = fields(f, "c");
    h.invisible_time = INT64_MAX;
    EXPECT_EQ(pop_with(f, &h).code, RESPONSE_INVALID_PARAMETER);
    send(f, "a", "x");
    struct lite_popped p = pop(f, "c");
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(ack_as(f, "Other", "a", &p, 0, remark), RESPONSE_INVALID_PARAMETER);
    EXPECT_TEXT(slice_text(remark), "group type or bind topic not match.");
    p.offsets[0] = 7;
    EXPECT_EQ(ack_as(f, "G", "a", &p, 0, remark), RESPONSE_NO_MESSAGE);
    p.offsets[0] = 1;
    EXPECT_EQ(ack_as(f, "G", "a", &p, 0, remark), RESPONSE_MESSAGE_ILLEGAL);
    p.offsets[0] = 0;
    p.reply.revive_qid = 3;
    EXPECT_EQ(ack_as(f, "G", "a", &p, 0, remark), RESPONSE_INVALID_PARAMETER);
    p.reply.revive_qid = ORDERED_REVIVE_QUEUE;
    ack(f, "a", &p, 0);
    ack(f, "a", &p, 0);   /* once more changes nothing */
    EXPECT_EQ(flow_offset(f, "G", "%LMQ%$P$a", 0), 1);
    flow_stop(f);
}

TEST(lite, without_light_queues_subscriptions_are_taken_and_nothing_comes)
{
    struct flow *f = start_with(NULL);
    subscribe(f, "COMPLETE_ADD", "c", "a");
    send(f, "a", "x");
    EXPECT_EQ(pop(f, "c").code, RESPONSE_POLLING_TIMEOUT);
    flow_stop(f);
}

/* --- ends --- */

TEST(lite, after_a_start_what_was_not_acknowledged_comes_again_and_the_rest_does_not)
{
    for (int how = 0; how < 2; how++) {
        struct flow *f = start();
        subscribe(f, "COMPLETE_ADD", "c", "a");
        for (int i = 0; i < 3; i++) send(f, "a", (const char *[]){"0", "1", "2"}[i]);
        struct lite_popped p = pop(f, "c");
        EXPECT_EQ(p.count, 3);
        ack(f, "a", &p, 0);
        sim_run_for(f->sim, 6000);   /* flushConsumerOffsetInterval */
        if (how) flow_crash(f);
        else flow_restart(f);
        ack(f, "a", &p, 2);   /* nobody knows what was out: only the next one counts */
        EXPECT_EQ(flow_offset(f, "G", "%LMQ%$P$a", 0), 1);
        ack(f, "a", &p, 1);
        EXPECT_EQ(flow_offset(f, "G", "%LMQ%$P$a", 0), 2);
        subscribe(f, "COMPLETE_ADD", "c", "a");
        p = pop(f, "c");
        EXPECT_EQ(p.count, 1);
        EXPECT_TEXT(p.messages[0].body, "2");
        flow_stop(f);
    }
}

TEST(lite, a_client_that_dies_takes_its_waiting_pops_with_it_and_others_go_on)
{
    struct flow *f = start();
    struct caller *dies = flow_caller(f);
    EXPECT_EQ(subscribe_more(f, dies, "PARTIAL_ADD", "c", "G", "a", "", NULL), RESPONSE_SUCCESS);
    for (int i = 0; i < 5; i++) pop_waiting(f, dies, "c", 20000);
    subscribe(f, "PARTIAL_ADD", "d", "a");
    int32_t waiting = pop_waiting(f, f->caller, "d", 20000);
    sim_run_for(f->sim, 100);
    caller_close(dies);
    sim_run_for(f->sim, 100);
    send(f, "a", "x");
    EXPECT_EQ(taken(f, caller_reply(f->caller, waiting, 5)).count, 1);
    pop_waiting(f, f->caller, "c", 20000);   /* it waits while the broker ends */
    flow_stop(f);
}

/* Longer than a silent connection lives. */
static void pass_minutes(struct flow *f, int64_t minutes)
{
    caller_close(f->caller);
    sim_run_for(f->sim, minutes * 60000);
    f->caller = flow_caller(f);
}

static const char *const cleaning[] = {"enableLmq=true", "enableMultiDispatch=true", "liteTtlCheckInterval=60000", "minLiteTTl=600000", NULL};

TEST(lite, a_lite_topic_that_got_nothing_for_so_long_as_its_topic_says_is_deleted)
{
    struct flow *f = start_with(cleaning);
    subscribe(f, "COMPLETE_ADD", "c", "a,b");
    send(f, "a", "x");
    send(f, "b", "x");
    pass_minutes(f, 20);
    send(f, "b", "y");
    pass_minutes(f, 12);   /* lite.topic.expiration=30 */
    EXPECT_EQ(flow_pull(f, "%LMQ%$P$a", 0, 0, "*").max, 0);
    EXPECT_EQ(flow_pull(f, "%LMQ%$P$b", 0, 0, "*").max, 2);
    subscribe(f, "COMPLETE_ADD", "c", "a,b");
    send(f, "a", "anew");
    struct lite_popped p = pop(f, "c");
    EXPECT_EQ(p.count, 3);
    flow_stop(f);
}

TEST(lite, with_their_topic_lite_topics_are_deleted)
{
    struct flow *f = start();
    subscribe(f, "COMPLETE_ADD", "c", "a");
    send(f, "a", "x");
    struct lite_popped p = pop(f, "c");
    ack(f, "a", &p, 0);
    struct delete_topic_header h = {.topic = SLICE("P")};
    EXPECT_EQ(flow_code(f, REQUEST_DELETE_TOPIC_IN_BROKER, &delete_topic_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_pull(f, "%LMQ%$P$a", 0, 0, "*").max, 0);
    EXPECT_EQ(flow_offset(f, "G", "%LMQ%$P$a", 0), -1);
    flow_stop(f);
}

/* --- tools --- */

static struct slice ask(struct flow *f, int32_t code, const struct header_kind *kind, const void *header)
{
    struct answer *a = caller_call(f->caller, code, kind, header, SLICE(""));
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    struct slice body = arena_copy(&f->arena, a->frame.body);
    answer_free(a);
    return body;
}

static void ask_bean(struct flow *f, int32_t code, const struct header_kind *kind, const void *header, const struct bean *bean, void *out)
{
    EXPECT_OK(bean_decode(bean, ask(f, code, kind, header), &f->arena, "answer", out));
}

TEST(lite, tools_see_topics_groups_and_clients)
{
    struct flow *f = start();
    subscribe(f, "COMPLETE_ADD", "c", "a,b");
    for (int i = 0; i < 3; i++) send(f, "a", "x");
    send(f, "b", "x");
    struct lite_popped p = pop(f, "c");
    EXPECT_EQ(p.count, 4);
    ack(f, "a", &p, 0);
    struct lite_overview o;
    ask_bean(f, REQUEST_GET_BROKER_LITE_INFO, NULL, NULL, &lite_overview_bean, &o);
    EXPECT_EQ(o.queues, 2);
    EXPECT_EQ(o.subscriptions, 2);
    EXPECT_TEXT(o.topics.items[0].name, "P");
    EXPECT_EQ(o.topics.items[0].number, 30);
    EXPECT_TEXT(o.groups.items[0].texts.items[0], "G");
    struct lite_parent_header ph = {.topic = SLICE("P")};
    struct lite_parent parent;
    ask_bean(f, REQUEST_GET_PARENT_TOPIC_INFO, &lite_parent_kind, &ph, &lite_parent_bean, &parent);
    EXPECT_EQ(parent.lite_topics, 2);
    EXPECT_EQ(parent.ttl, 30);
    struct lite_topic_header th = {.parent_topic = SLICE("P"), .lite_topic = SLICE("a")};
    struct lite_topic_info topic;
    ask_bean(f, REQUEST_GET_LITE_TOPIC_INFO, &lite_topic_kind, &th, &lite_topic_info_bean, &topic);
    EXPECT(topic.is_here);
    EXPECT_EQ(topic.offsets.max_offset, 3);
    EXPECT(topic.offsets.last_ms > 0);
    EXPECT_TEXT(topic.members.items[0].client_id, "c");
    struct lite_client_header ch = {.parent_topic = SLICE("P"), .group = SLICE("G"), .client_id = SLICE("c"), .max_count = 1};
    header_set(&ch, lite_client, max_count);
    struct lite_client_info client;
    ask_bean(f, REQUEST_GET_LITE_CLIENT_INFO, &lite_client_kind, &ch, &lite_client_info_bean, &client);
    EXPECT_EQ(client.count, 2);
    EXPECT_EQ(client.lite_topics.count, 1);
    EXPECT_TEXT(client.lite_topics.items[0], "%LMQ%$P$a");
    struct lite_group_header gh = {.group = SLICE("G"), .top_k = 1};
    header_set(&gh, lite_group, top_k);
    struct lite_group_info group;
    ask_bean(f, REQUEST_GET_LITE_GROUP_INFO, &lite_group_kind, &gh, &lite_group_info_bean, &group);
    EXPECT_EQ(group.lag, 3);
    EXPECT_EQ(group.by_lag.count, 1);
    EXPECT_EQ(group.by_lag.items[0].lag, 2);
    EXPECT(group.by_lag.items[0].earliest_ms > 0);
    gh.lite_topic = SLICE("a");
    ask_bean(f, REQUEST_GET_LITE_GROUP_INFO, &lite_group_kind, &gh, &lite_group_info_bean, &group);
    EXPECT_EQ(group.lag, 2);
    EXPECT_EQ(group.progress->broker_offset, 3);
    char remark[200];
    ph.topic = SLICE("T");
    EXPECT_EQ(flow_code(f, REQUEST_GET_PARENT_TOPIC_INFO, &lite_parent_kind, &ph, NULL, remark), RESPONSE_TOPIC_NOT_EXIST);
    gh.group = SLICE("TOOLS_CONSUMER");
    EXPECT_EQ(flow_code(f, REQUEST_GET_LITE_GROUP_INFO, &lite_group_kind, &gh, NULL, remark), RESPONSE_INVALID_PARAMETER);
    EXPECT_TEXT(slice_text(remark), "Group [TOOLS_CONSUMER] is not a LITE group.");
    flow_stop(f);
}

TEST(lite, offsets_by_time_are_found_in_lite_topics)
{
    struct flow *f = start();
    send(f, "a", "x");
    sim_run_for(f->sim, 1000);
    int64_t middle = tasks_wall_ms(rpc_tasks(f->loop));
    sim_run_for(f->sim, 1000);
    send(f, "a", "y");
    struct search_offset_header h = {.topic = SLICE("P"), .lite_topic = SLICE("a"), .timestamp = middle};
    struct offset_reply_header reply;
    struct answer *a = caller_call(f->caller, REQUEST_SEARCH_OFFSET_BY_TIMESTAMP, &search_offset_kind, &h, SLICE(""));
    EXPECT_OK(header_decode(&offset_reply_kind, &a->frame, &reply));
    EXPECT_EQ(reply.offset, 1);
    answer_free(a);
    flow_stop(f);
}
