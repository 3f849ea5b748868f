/* Members of one group that ask for different things, and what becomes of each message, by subscriptionConsistency. The clients here share
 * queues and look at tags as official ones do. Case I11. */
#include "flow/flow.h"

#include "codec/body_queue.h"
#include "codec/properties.h"

#include <stdio.h>
#include <stdlib.h>

enum { CLIENTS = 2, QUEUES = 2 };

struct client {
    struct caller *caller;
    const char *id, *topic, *tag;
    int64_t version;
    int32_t code;               /* of its heartbeat */
    char remark[512];
    char got[64];               /* bodies it hands over, with a blank behind each */
    int32_t pull_code;          /* of its last pull that was not FOUND */
};

struct scene {
    struct flow *f;
    struct client client[CLIENTS];
};

static void beat(struct client *c)
{
    struct arena arena = ARENA_EMPTY;
    struct buf body = BUF_EMPTY;
    struct subscription s;
    EXPECT_OK(subscription_parse(slice_text(c->topic), slice_text(c->tag), &arena, &s));
    s.version = c->version;
    struct heartbeat_consumer consumer = {.group = SLICE("G"), .type = CONSUME_PASSIVELY, .model = MODEL_CLUSTERING, .from = FROM_FIRST_OFFSET};
    struct heartbeat hb = {.client_id = slice_text(c->id)};
    consumer.subscriptions.items = &s;
    hb.consumers.items = &consumer;
    consumer.subscriptions.count = hb.consumers.count = 1;
    bean_encode(&heartbeat_bean, &hb, JSON_RAW, &body);
    struct answer *a = caller_call(c->caller, REQUEST_HEART_BEAT, NULL, NULL, buf_slice(&body));
    c->code = a->frame.code;
    snprintf(c->remark, sizeof c->remark, "%.*s", SLICE_ARG(a->frame.remark));
    answer_free(a);
    buf_done(&body);
    arena_done(&arena);
}

/* Two clients of group G, the second with the newer subscription, and messages x and y in both queues of both topics. */
static struct scene start(const char *mode, const char *topic_1, const char *tag_1, const char *topic_2, const char *tag_2)
{
    char setting[64], body[8];
    const char *const settings[] = {setting, NULL};
    snprintf(setting, sizeof setting, "subscriptionConsistency=%s", mode);
    struct scene s = {.f = flow_start(settings)};
    for (const char *topic = "AB"; *topic; topic++) {
        char name[2] = {*topic, 0};
        flow_make_topic(s.f, name, QUEUES);
        for (int q = 0; q < QUEUES; q++) {
            snprintf(body, sizeof body, "%sx%d", name, q);
            flow_send(s.f, name, q, "TAGS=x", body);
            snprintf(body, sizeof body, "%sy%d", name, q);
            flow_send(s.f, name, q, "TAGS=y", body);
        }
    }
    s.client[0] = (struct client){.caller = s.f->caller, .id = "c1", .topic = topic_1, .tag = tag_1, .version = 1};
    s.client[1] = (struct client){.caller = flow_caller(s.f), .id = "c2", .topic = topic_2, .tag = tag_2, .version = 2};
    for (int i = 0; i < CLIENTS; i++) beat(&s.client[i]);
    return s;
}

static void stop(struct scene *s)
{
    caller_close(s->client[1].caller);
    flow_stop(s->f);
}

/* How many members there are, and which of them this one is; -1: none. They are known by joining in the order of their ids. */
static int place_of(struct client *c, int *count)
{
    struct consumer_list_header h = {.consumer_group = SLICE("G")};
    struct arena arena = ARENA_EMPTY;
    struct consumer_list list;
    struct answer *a = caller_call(c->caller, REQUEST_GET_CONSUMER_LIST_BY_GROUP, &consumer_list_kind, &h, (struct slice){NULL, 0});
    int place = -1;
    EXPECT_OK(bean_decode(&consumer_list_bean, a->frame.body, &arena, "consumer list", &list));
    *count = (int)list.client_ids.count;
    for (int i = 0; i < *count; i++)
        if (slice_eq(list.client_ids.items[i], slice_text(c->id))) place = i;
    answer_free(a);
    arena_done(&arena);
    return place;
}

static void hand_over(struct client *c, const struct pulled *p)
{
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(c->tag, "*") && !slice_eq(properties_get(p->messages[i].properties, SLICE("TAGS")), slice_text(c->tag))) continue;
        size_t n = strlen(c->got);
        snprintf(c->got + n, sizeof c->got - n, "%.*s ", SLICE_ARG(p->messages[i].body));
    }
}

static struct pulled pull_as(struct scene *s, struct client *c, const char *topic, int32_t queue)
{
    struct pull_header h = {.topic = slice_text(topic), .consumer_group = SLICE("G"), .queue_id = queue, .max_msg_nums = 32, .sub_version = c->version};
    struct caller *usual = s->f->caller;
    s->f->caller = c->caller;
    struct pulled p = flow_pull_header(s->f, &h);
    s->f->caller = usual;
    return p;
}

/* Each client reads the queues that are its own. */
static void consume(struct scene *s)
{
    for (int i = 0; i < CLIENTS; i++) {
        struct client *c = &s->client[i];
        int count, place = place_of(c, &count);
        for (int q = 0; q < QUEUES; q++) {
            if (place < 0 || q % count != place) continue;
            struct pulled p = pull_as(s, c, c->topic, q);
            if (p.code == RESPONSE_SUCCESS) hand_over(c, &p);
            else c->pull_code = p.code;
        }
    }
}

static void expect_outcome(struct scene *s, const char *first, const char *second)
{
    consume(s);
    assert_string_equal(s->client[0].got, first);
    assert_string_equal(s->client[1].got, second);
}

static int64_t disagreements(struct scene *s) { return flow_metric(s->f, "skylark_subscription_disagreements_total"); }

TEST(consistency, warn_lets_the_newest_tags_rule_and_what_the_others_asked_for_is_skipped)
{
    struct scene s = start("warn", "A", "x", "A", "y");
    EXPECT_EQ(disagreements(&s), 1);
    expect_outcome(&s, "", "Ay1 ");   /* the first gets y messages and throws them away; its own are filtered out */
    stop(&s);
}

TEST(consistency, isolate_gives_each_the_tags_it_asked_for_in_the_queues_that_are_its_own)
{
    struct scene s = start("isolate", "A", "x", "A", "y");
    EXPECT_EQ(disagreements(&s), 1);
    expect_outcome(&s, "Ax0 ", "Ay1 ");
    stop(&s);
}

TEST(consistency, reject_refuses_the_second_and_the_first_gets_all_it_asked_for)
{
    struct scene s = start("reject", "A", "x", "A", "y");
    EXPECT_EQ(disagreements(&s), 1);
    EXPECT_EQ(s.client[0].code, RESPONSE_SUCCESS);
    EXPECT_EQ(s.client[1].code, RESPONSE_SYSTEM_ERROR);
    EXPECT(strstr(s.client[1].remark, "topic \"A\", client \"c2\" asks for \"y\", client \"c1\" for \"x\""));
    expect_outcome(&s, "Ax0 Ax1 ", "");
    EXPECT_EQ(pull_as(&s, &s.client[1], "A", 0).code, RESPONSE_SUBSCRIPTION_NOT_LATEST);
    stop(&s);
}

TEST(consistency, reject_takes_the_second_when_the_first_has_left)
{
    struct scene s = start("reject", "A", "x", "A", "y");
    struct unregister_client_header h = {.client_id = SLICE("c1"), .consumer_group = SLICE("G")};
    EXPECT_EQ(flow_code(s.f, REQUEST_UNREGISTER_CLIENT, &unregister_client_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
    beat(&s.client[1]);
    EXPECT_EQ(s.client[1].code, RESPONSE_SUCCESS);
    expect_outcome(&s, "", "Ay0 Ay1 ");
    stop(&s);
}

/* Queues are given to all members of a group, whatever they subscribe to: requests for that name no topic. What is given to one that does
 * not want it stays where it is, and shows as lag. */
static void expect_own_topics(const char *mode)
{
    struct scene s = start(mode, "A", "*", "B", "*");
    EXPECT_EQ(disagreements(&s), 2);
    expect_outcome(&s, "Ax0 Ay0 ", "Bx1 By1 ");
    EXPECT_EQ(flow_offset(s.f, "G", "A", 1), -1);
    EXPECT_EQ(pull_as(&s, &s.client[0], "A", 1).count, 2);   /* still there for whoever comes */
    stop(&s);
}

TEST(consistency, other_topics_are_read_by_those_who_asked_for_them_and_the_rest_waits) { expect_own_topics("warn"); }
TEST(consistency, isolate_reads_other_topics_likewise) { expect_own_topics("isolate"); }

TEST(consistency, isolate_gives_nobody_a_topic_that_only_another_member_asked_for)
{
    struct scene s = start("isolate", "A", "*", "B", "*");
    EXPECT_EQ(pull_as(&s, &s.client[0], "B", 0).code, RESPONSE_SUBSCRIPTION_NOT_EXIST);
    struct client stranger = {.caller = flow_caller(s.f), .id = "c3", .tag = "*"};
    EXPECT_EQ(pull_as(&s, &stranger, "A", 0).code, RESPONSE_SUBSCRIPTION_NOT_EXIST);
    caller_close(stranger.caller);
    stop(&s);
}

TEST(consistency, the_mode_may_change_while_the_broker_runs)
{
    struct scene s = start("warn", "A", "x", "A", "y");
    EXPECT_EQ(flow_code(s.f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "subscriptionConsistency=isolate\n", NULL), RESPONSE_SUCCESS);
    expect_outcome(&s, "Ax0 ", "Ay1 ");
    stop(&s);
}
