/* ReceiveMessage and what follows it: AckMessage, ChangeInvisibleDuration, ForwardMessageToDeadLetterQueue.
 * Facts: docs/protocol/grpc.md 8, 9, docs/protocol/pop.md 9 */
#include "flow/grpc_world.h"

#include <stdio.h>

static struct v2_message *send(struct grpc_world *w, const char *topic, const char *body)
{
    struct v2_message *m = world_message(w, topic, body);
    EXPECT_EQ(world_send(w, m)->status->code, V2_CODE_OK);
    return m;
}

static void send_tagged(struct grpc_world *w, const char *topic, const char *tag)
{
    struct v2_message *m = world_message(w, topic, tag);
    m->system_properties->tag = arena_copy(&w->arena, slice_text(tag));
    EXPECT_EQ(world_send(w, m)->status->code, V2_CODE_OK);
}

static struct grpc_client_call *receive_begin(struct grpc_world *w, const char *client_id, const struct v2_receive_message_request *q)
{
    return world_begin(w, client_id, "ReceiveMessage", "30S", &v2_receive_message_request_pb, q);
}

/* A group starts at the end of a topic: so it has to be there before the messages. */
static void begin_group(struct grpc_world *w, const char *client_id, const char *group, const char *topic)
{
    struct v2_receive_message_request q = world_receive_request(w, group, topic);
    world_consumer(w, client_id, group, topic);
    world_receive(w, client_id, &q);
}

static struct v2_change_invisible_duration_response *change(struct grpc_world *w, const char *group, const struct v2_message *m, struct slice handle, int64_t seconds)
{
    struct v2_duration d = {.seconds = seconds};
    struct v2_change_invisible_duration_request q = {
        .group = world_name(w, group), .topic = m->topic, .receipt_handle = handle, .invisible_duration = &d,
        .message_id = m->system_properties->message_id,
    };
    return WORLD_CALL(w, "c", "ChangeInvisibleDuration", change_invisible_duration, &q);
}

TEST(grpc_receive, a_message_arrives_as_it_was_sent)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 2, "");
    begin_group(w, "c", "g", "Plain");
    struct v2_message *m = world_message(w, "Plain", "plain");
    struct slice keys[2] = {SLICE("k1"), SLICE("k2")};
    struct v2_message_user_properties_entry own = {SLICE("user"), SLICE("value")};
    m->system_properties->tag = SLICE("TagA");
    m->system_properties->keys.items = keys;
    m->system_properties->keys.count = 2;
    m->system_properties->trace_context = SLICE("trace");
    m->user_properties.items = &own;
    m->user_properties.count = 1;
    world_send(w, m);
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    struct world_received got = world_receive(w, "c", &q);
    EXPECT_EQ(got.code, V2_CODE_OK);
    EXPECT(got.ended_in_order);
    EXPECT_EQ(got.count, 1);
    const struct v2_message *r = got.messages[0];
    const struct v2_system_properties *s = r->system_properties;
    EXPECT_TEXT(r->topic->name, "Plain");
    EXPECT_TEXT(r->body, "plain");
    EXPECT_TEXT(s->tag, "TagA");
    EXPECT_EQ(s->keys.count, 2);
    EXPECT_TEXT(s->keys.items[1], "k2");
    EXPECT(slice_eq(s->message_id, m->system_properties->message_id));
    EXPECT_TEXT(s->body_digest->checksum, "AC7938D40CFC2307E2BF325D28E7884E");
    EXPECT_EQ(s->body_digest->type, V2_DIGEST_TYPE_MD5);
    EXPECT_EQ(s->body_encoding, V2_ENCODING_IDENTITY);
    EXPECT_EQ(s->message_type, V2_MESSAGE_TYPE_NORMAL);
    EXPECT_EQ(s->born_timestamp->seconds, 1789999999);
    EXPECT_TEXT(s->born_host, "client-host");
    EXPECT_TEXT(s->store_host, "10.0.0.2:10911");
    EXPECT(s->store_timestamp->seconds > 0);
    EXPECT(s->has_queue_offset && s->queue_offset == 0);
    EXPECT_EQ(s->delivery_attempt, 1);
    EXPECT_TEXT(s->trace_context, "trace");
    EXPECT(s->receipt_handle.n);
    EXPECT(!s->message_group.p && !s->delivery_timestamp && !s->dead_letter_queue && !s->has_priority);
    EXPECT_EQ(r->user_properties.count, 2);   /* TRACE_CONTEXT is shown among them, as in the original */
    EXPECT_EQ(world_ack(w, "c", "g", r), V2_CODE_OK);
    grpc_world_stop(w);
}

TEST(grpc_receive, an_acknowledged_message_does_not_come_again)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 2, "");
    begin_group(w, "c", "g", "Plain");
    send(w, "Plain", "one");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    q.invisible_duration->seconds = 10;
    struct world_received got = world_receive(w, "c", &q);
    EXPECT_EQ(world_ack(w, "c", "g", got.messages[0]), V2_CODE_OK);
    EXPECT_EQ(world_ack(w, "c", "g", got.messages[0]), V2_CODE_OK);
    for (int i = 0; i < 5; i++) EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_MESSAGE_NOT_FOUND);
    grpc_world_stop(w);
}

TEST(grpc_receive, an_unacknowledged_message_comes_again_as_the_next_attempt)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 2, "");
    begin_group(w, "c", "g", "Plain");
    struct v2_message *m = send(w, "Plain", "one");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    q.invisible_duration->seconds = 10;
    EXPECT_EQ(world_receive(w, "c", &q).messages[0]->system_properties->delivery_attempt, 1);
    q.long_polling_timeout->seconds = 20;
    struct world_received got = world_receive(w, "c", &q);
    EXPECT_EQ(got.code, V2_CODE_OK);
    EXPECT_EQ(got.messages[0]->system_properties->delivery_attempt, 2);
    EXPECT_TEXT(got.messages[0]->topic->name, "Plain");
    EXPECT(slice_eq(got.messages[0]->system_properties->message_id, m->system_properties->message_id));
    EXPECT_EQ(world_ack(w, "c", "g", got.messages[0]), V2_CODE_OK);
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_MESSAGE_NOT_FOUND);
    grpc_world_stop(w);
}

TEST(grpc_receive, nothing_new_is_told_after_the_time_asked_for)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 2, "");
    begin_group(w, "c", "g", "Plain");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    q.long_polling_timeout->seconds = 7;
    int64_t began = sim_now_ms(w->sim);
    struct world_received got = world_receive(w, "c", &q);
    int64_t took = sim_now_ms(w->sim) - began;
    EXPECT_EQ(got.code, V2_CODE_MESSAGE_NOT_FOUND);
    EXPECT_TEXT(got.text, "no new message");
    EXPECT(got.ended_in_order);
    EXPECT(took >= 6900 && took < 7500);
    EXPECT_EQ(metric_get(&w->metrics, METRIC_POLLS_WAITING), 0);
    grpc_world_stop(w);
}

/* --- one poll covers everything --- */

static void receive_wakes(uint64_t seed, const char *expression, bool sql)
{
    struct world_options o = {.seed = seed, .brokers = 3};
    struct grpc_world *w = grpc_world_start(&o);
    struct v2_filter_expression filter = {sql ? V2_FILTER_TYPE_SQL : V2_FILTER_TYPE_TAG, slice_text(expression)};
    for (int i = 0; i < 3; i++) world_topic_at(w, i, "Wide", 8, "");
    begin_group(w, "c", "g", "Wide");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Wide");
    q.long_polling_timeout->seconds = 10;
    q.filter_expression = &filter;
    for (int round = 0; round < 4; round++) {
        struct grpc_client_call *k = receive_begin(w, "c", &q);
        if (round) sim_run_for(w->sim, random_below(sim_random(w->sim), 9000));
        int64_t sent_ms = sim_now_ms(w->sim);
        if (round % 2) send_tagged(w, "Wide", "Other");       /* must neither be delivered nor end the poll */
        send_tagged(w, "Wide", "TagA");
        struct world_received got = world_received(w, k, WORLD_WAIT_MS);
        if (!strcmp(expression, "*") && round % 2) {
            EXPECT_EQ(got.code, V2_CODE_OK);
        } else {
            EXPECT_EQ(got.code, V2_CODE_OK);
            EXPECT_EQ(got.count, 1);
            EXPECT_TEXT(got.messages[0]->body, "TagA");
        }
        EXPECT(sim_now_ms(w->sim) - sent_ms < 1500);
        for (size_t i = 0; i < got.count; i++) EXPECT_EQ(world_ack(w, "c", "g", got.messages[i]), V2_CODE_OK);
        if (!strcmp(expression, "*") && round % 2 && got.count == 1) {
            struct world_received rest = world_receive(w, "c", &q);
            EXPECT_EQ(rest.code, V2_CODE_OK);
            EXPECT_EQ(world_ack(w, "c", "g", rest.messages[0]), V2_CODE_OK);
        }
    }
    grpc_world_stop(w);
}

TEST(grpc_receive, is_never_empty_while_a_message_is_somewhere)
{
    for (uint64_t seed = 1; seed <= 30; seed++) receive_wakes(seed, "*", false);
}

TEST(grpc_receive, with_tags_is_never_empty_while_a_message_matches)
{
    for (uint64_t seed = 100; seed < 115; seed++) receive_wakes(seed, "TagA || TagC", false);
}

TEST(grpc_receive, with_an_expression_is_never_empty_while_a_message_matches)
{
    for (uint64_t seed = 200; seed < 215; seed++) receive_wakes(seed, "TAGS = 'TagA'", true);
}

TEST(grpc_receive, every_waiting_client_gets_its_message)
{
    enum { CLIENTS = 12 };
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct world_options o = {.seed = seed, .brokers = 3};
        struct grpc_world *w = grpc_world_start(&o);
        struct grpc_client_call *calls[CLIENTS];
        char id[20];
        size_t found = 0;
        for (int i = 0; i < 3; i++) world_topic_at(w, i, "Wide", 8, "");
        begin_group(w, "c", "g", "Wide");
        struct v2_receive_message_request q = world_receive_request(w, "g", "Wide");
        q.long_polling_timeout->seconds = 20;
        q.batch_size = 1;
        for (int i = 0; i < CLIENTS; i++) {
            snprintf(id, sizeof id, "c%d", i);
            world_consumer(w, id, "g", "Wide");
            calls[i] = receive_begin(w, id, &q);
        }
        sim_run_for(w->sim, 500);
        for (int i = 0; i < CLIENTS; i++) send(w, "Wide", "x");
        for (int i = 0; i < CLIENTS; i++) {
            struct world_received got = world_received(w, calls[i], WORLD_WAIT_MS);
            EXPECT_EQ(got.code, V2_CODE_OK);
            EXPECT_EQ(got.count, 1);
            found += got.count;
            EXPECT_EQ(world_ack(w, "c", "g", got.messages[0]), V2_CODE_OK);
        }
        EXPECT_EQ(found, CLIENTS);
        EXPECT(metric_get(&w->metrics, METRIC_POLLS_NOTIFIED) < 40 * CLIENTS);
        grpc_world_stop(w);
    }
}

TEST(grpc_receive, at_a_broker_waits_one_question_for_all)
{
    enum { CLIENTS = 50 };
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 4, "");
    begin_group(w, "c", "g", "Plain");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    int64_t before = metric_get(&w->metrics, METRIC_POLLS_NOTIFIED);
    for (int i = 0; i < CLIENTS; i++) receive_begin(w, "c", &q);
    sim_run_for(w->sim, 2000);
    EXPECT_EQ(metric_get(&w->metrics, METRIC_POLLS_WAITING), CLIENTS);
    EXPECT(metric_get(&w->metrics, METRIC_POLLS_NOTIFIED) - before <= 2);
    sim_run_for(w->sim, 6000);
    EXPECT_EQ(metric_get(&w->metrics, METRIC_POLLS_WAITING), 0);
    grpc_world_stop(w);
}

TEST(grpc_receive, above_the_threshold_waits_at_one_broker)
{
    static const char *const settings[] = {"popWithNotifyThreshold=0", NULL};
    struct world_options o = {.seed = 1, .brokers = 1, .proxy = settings};
    struct grpc_world *w = grpc_world_start(&o);
    world_topic(w, "Plain", 4, "");
    begin_group(w, "c", "g", "Plain");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    struct grpc_client_call *k = receive_begin(w, "c", &q);
    sim_run_for(w->sim, 1000);
    send(w, "Plain", "x");
    struct world_received got = world_received(w, k, WORLD_WAIT_MS);
    EXPECT_EQ(got.code, V2_CODE_OK);
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_MESSAGE_NOT_FOUND);
    EXPECT_EQ(metric_get(&w->metrics, METRIC_POLLS_NOTIFIED), 0);
    grpc_world_stop(w);
}

static void wait_at_one(void *proxy) { EXPECT_OK(proxy_configure(proxy, SLICE("popWithNotifyThreshold=0\n"))); }

TEST(grpc_receive, the_threshold_may_change_while_running)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 4, "");
    begin_group(w, "c", "g", "Plain");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    sim_call(w->proxy_loop, wait_at_one, w->proxy);
    int64_t before = metric_get(&w->metrics, METRIC_POLLS_NOTIFIED);
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_MESSAGE_NOT_FOUND);
    EXPECT_EQ(metric_get(&w->metrics, METRIC_POLLS_NOTIFIED), before);
    EXPECT_ERR(proxy_configure(w->proxy, SLICE("popWithNotifyThreshold=-1\n")), ERR_CONFIG);
    grpc_world_stop(w);
}

/* --- clients that go --- */

/* The client goes at any moment: before the message, while it is popped, while it is on its way to the client. */
static bool comes_soon_after_a_client_went(uint64_t seed)
{
    struct world_options o = {.seed = seed, .brokers = 2};
    struct grpc_world *w = grpc_world_start(&o);
    world_topic(w, "Plain", 2, "");
    begin_group(w, "c", "g", "Plain");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    struct v2_message *m = send(w, "Plain", "x");
    q.invisible_duration->seconds = 15;
    struct grpc_client_call *k = receive_begin(w, "c", &q);
    sim_run_for(w->sim, random_below(sim_random(w->sim), 7));
    grpc_client_cancel(k);
    int64_t began = sim_now_ms(w->sim);
    q.long_polling_timeout->seconds = 20;
    struct world_received got = world_receive(w, "c", &q);
    bool soon = sim_now_ms(w->sim) - began < 9000;
    EXPECT_EQ(got.code, V2_CODE_OK);
    EXPECT_EQ(got.count, 1);
    EXPECT(slice_eq(got.messages[0]->system_properties->message_id, m->system_properties->message_id));
    EXPECT_EQ(world_ack(w, "c", "g", got.messages[0]), V2_CODE_OK);
    sim_run_for(w->sim, 100);   /* a pop for the first one may still be under way */
    EXPECT_EQ(metric_get(&w->metrics, METRIC_POLLS_WAITING), 0);
    grpc_world_stop(w);
    return soon;
}

TEST(grpc_receive, what_a_client_that_went_would_have_got_comes_to_the_next)
{
    size_t soon = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) soon += comes_soon_after_a_client_went(seed);
    EXPECT(soon >= 10);
}

TEST(grpc_receive, what_is_popped_for_a_client_that_went_is_given_back)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "c", "g", "Plain");
    send(w, "Plain", "x");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    sim_partition(w->sim, "10.0.0.6", "10.0.0.2", 2000);      /* the pop comes to the broker when its client has gone */
    struct grpc_client_call *k = receive_begin(w, "c", &q);
    sim_run_for(w->sim, 500);
    grpc_client_cancel(k);
    sim_run_for(w->sim, 2500);
    int64_t began = sim_now_ms(w->sim);
    q.long_polling_timeout->seconds = 20;
    struct world_received got = world_receive(w, "c", &q);
    EXPECT_EQ(got.code, V2_CODE_OK);
    EXPECT(sim_now_ms(w->sim) - began < 10000);               /* and not after 30 s */
    grpc_world_stop(w);
}

/* --- acknowledgements and times --- */

TEST(grpc_ack, of_several_messages_each_has_its_entry)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "c", "g", "Plain");
    for (int i = 0; i < 5; i++) send(w, "Plain", "x");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    q.invisible_duration->seconds = 10;
    struct v2_ack_message_entry entries[8];
    size_t count = 0;
    while (count < 5) {
        struct world_received got = world_receive(w, "c", &q);
        EXPECT_EQ(got.code, V2_CODE_OK);
        for (size_t i = 0; i < got.count; i++)
            entries[count++] = (struct v2_ack_message_entry){got.messages[i]->system_properties->message_id, got.messages[i]->system_properties->receipt_handle, {NULL, 0}};
    }
    entries[5] = (struct v2_ack_message_entry){SLICE("x"), SLICE("garbage handle"), {NULL, 0}};
    entries[6] = (struct v2_ack_message_entry){SLICE("y"), SLICE("0 1700000000000 60000 0 0 broker-a 0 0 0"), {NULL, 0}};
    entries[7] = (struct v2_ack_message_entry){SLICE("z"), SLICE("0 1790000010000 99999999 0 0 nosuch 0 0 0"), {NULL, 0}};
    struct v2_ack_message_request ack = {world_name(w, "g"), world_name(w, "Plain"), {entries, 8}};
    struct v2_ack_message_response *r = WORLD_CALL(w, "c", "AckMessage", ack_message, &ack);
    EXPECT_EQ(r->status->code, V2_CODE_MULTIPLE_RESULTS);
    EXPECT_EQ(r->entries.count, 8);
    for (int i = 0; i < 8; i++) {
        EXPECT(slice_eq(r->entries.items[i].receipt_handle, entries[i].receipt_handle));
        EXPECT_EQ(r->entries.items[i].status->code, i < 5 ? V2_CODE_OK : i == 5 ? V2_CODE_INTERNAL_SERVER_ERROR : V2_CODE_INVALID_RECEIPT_HANDLE);
    }
    ack.entries.count = 0;
    EXPECT_EQ(WORLD_CALL(w, "c", "AckMessage", ack_message, &ack)->status->code, V2_CODE_INTERNAL_SERVER_ERROR);
    for (int i = 0; i < 4; i++) EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_MESSAGE_NOT_FOUND);
    grpc_world_stop(w);
}

TEST(grpc_ack, is_taken_by_a_proxy_that_knows_nothing)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "c", "g", "Plain");
    send(w, "Plain", "x");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    q.invisible_duration->seconds = 20;
    struct world_received got = world_receive(w, "c", &q);
    EXPECT_EQ(got.count, 1);
    world_restart_proxy(w);
    EXPECT_EQ(world_ack(w, "other", "g", got.messages[0]), V2_CODE_OK);
    world_consumer(w, "c", "g", "Plain");
    for (int i = 0; i < 6; i++) EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_MESSAGE_NOT_FOUND);
    grpc_world_stop(w);
}

TEST(grpc_change, a_message_comes_again_when_the_new_time_is_over)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "c", "g", "Plain");
    send(w, "Plain", "x");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    struct world_received got = world_receive(w, "c", &q);
    const struct v2_message *m = got.messages[0];
    struct v2_change_invisible_duration_response *r = change(w, "g", m, m->system_properties->receipt_handle, 6);
    EXPECT_EQ(r->status->code, V2_CODE_OK);
    EXPECT(r->receipt_handle.n && !slice_eq(r->receipt_handle, m->system_properties->receipt_handle));
    int64_t began = sim_now_ms(w->sim);
    q.long_polling_timeout->seconds = 15;
    got = world_receive(w, "c", &q);
    EXPECT_EQ(got.code, V2_CODE_OK);
    EXPECT_EQ(got.messages[0]->system_properties->delivery_attempt, 2);
    EXPECT(sim_now_ms(w->sim) - began >= 5000 && sim_now_ms(w->sim) - began < 12000);
    EXPECT_EQ(world_ack(w, "c", "g", got.messages[0]), V2_CODE_OK);
    grpc_world_stop(w);
}

TEST(grpc_change, a_message_given_back_at_once_comes_a_second_later)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "c", "g", "Plain");
    send(w, "Plain", "x");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    q.long_polling_timeout->seconds = 15;
    struct world_received got = world_receive(w, "c", &q);
    EXPECT_EQ(change(w, "g", got.messages[0], got.messages[0]->system_properties->receipt_handle, 0)->status->code, V2_CODE_OK);
    int64_t began = sim_now_ms(w->sim);
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_OK);
    EXPECT(sim_now_ms(w->sim) - began >= 900 && sim_now_ms(w->sim) - began < 6000);
    grpc_world_stop(w);
}

TEST(grpc_change, the_new_handle_acknowledges)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "c", "g", "Plain");
    send(w, "Plain", "x");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    struct world_received got = world_receive(w, "c", &q);
    struct v2_message *m = got.messages[0];
    m->system_properties->receipt_handle = change(w, "g", m, m->system_properties->receipt_handle, 10)->receipt_handle;
    EXPECT_EQ(world_ack(w, "c", "g", m), V2_CODE_OK);
    for (int i = 0; i < 4; i++) EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_MESSAGE_NOT_FOUND);
    grpc_world_stop(w);
}

TEST(grpc_change, what_cannot_be_has_its_code)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    struct v2_message *m = world_message(w, "Plain", "x");
    struct slice expired = SLICE("0 1700000000000 60000 0 0 broker-a 0 0 0");
    EXPECT_EQ(change(w, "g", m, SLICE("garbage"), 10)->status->code, V2_CODE_INTERNAL_SERVER_ERROR);
    EXPECT_EQ(change(w, "g", m, expired, 10)->status->code, V2_CODE_INVALID_RECEIPT_HANDLE);
    EXPECT_EQ(change(w, "g", m, expired, 43201)->status->code, V2_CODE_ILLEGAL_INVISIBLE_TIME);
    EXPECT_EQ(change(w, "g", m, expired, -1)->status->code, V2_CODE_ILLEGAL_INVISIBLE_TIME);
    EXPECT_EQ(change(w, "bad group!", m, expired, 10)->status->code, V2_CODE_ILLEGAL_CONSUMER_GROUP);
    EXPECT_EQ(change(w, "g", m, SLICE("0 1790000010000 99999999 0 0 nosuch 0 0 0"), 10)->status->code, V2_CODE_INVALID_RECEIPT_HANDLE);
    grpc_world_stop(w);
}

static int32_t bury(struct grpc_world *w, const char *group, const struct v2_message *m, struct slice handle)
{
    struct v2_forward_message_to_dead_letter_queue_request q = {
        .group = world_name(w, group), .topic = m->topic, .receipt_handle = handle, .message_id = m->system_properties->message_id,
    };
    return WORLD_CALL(w, "c", "ForwardMessageToDeadLetterQueue", forward_message_to_dead_letter_queue, &q)->status->code;
}

TEST(grpc_dead_letter, a_message_given_up_lies_in_its_groups_queue)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "c", "g", "Plain");
    send(w, "Plain", "doomed");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    q.invisible_duration->seconds = 10;
    struct world_received got = world_receive(w, "c", &q);
    struct message dead;
    EXPECT_EQ(bury(w, "g", got.messages[0], got.messages[0]->system_properties->receipt_handle), V2_CODE_OK);
    sim_run_for(w->sim, 500);
    EXPECT(world_pull(w, 0, "%DLQ%g", 0, 0, &dead));
    EXPECT_TEXT(dead.body, "doomed");
    for (int i = 0; i < 4; i++) EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_MESSAGE_NOT_FOUND);
    EXPECT_EQ(bury(w, "g", got.messages[0], SLICE("0 1790000010000 99999999 0 0 broker-a 0 0")), V2_CODE_INVALID_RECEIPT_HANDLE);   /* not told where it lies */
    EXPECT_EQ(bury(w, "g", got.messages[0], SLICE("garbage")), V2_CODE_INTERNAL_SERVER_ERROR);
    grpc_world_stop(w);
}

TEST(grpc_dead_letter, a_message_delivered_too_often_is_buried_by_itself)
{
    struct grpc_world *w = grpc_world_simple();
    struct message dead;
    world_topic(w, "Plain", 1, "");
    world_group(w, "{\"groupName\":\"g\",\"retryMaxTimes\":1}");
    begin_group(w, "c", "g", "Plain");
    send(w, "Plain", "doomed");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    q.invisible_duration->seconds = 10;
    q.long_polling_timeout->seconds = 20;
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_OK);
    EXPECT_EQ(world_receive(w, "c", &q).messages[0]->system_properties->delivery_attempt, 2);
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_MESSAGE_NOT_FOUND);   /* there would be a third one */
    EXPECT(world_pull(w, 0, "%DLQ%g", 0, 0, &dead));
    EXPECT_TEXT(dead.body, "doomed");
    grpc_world_stop(w);
}

/* --- renewal --- */

TEST(grpc_renewal, keeps_a_message_away_until_it_is_acknowledged)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "c", "g", "Plain");
    send(w, "Plain", "slow");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain"), other = world_receive_request(w, "g", "Plain");
    q.auto_renew = true;
    q.invisible_duration = NULL;
    struct world_received got = world_receive(w, "c", &q);
    EXPECT_EQ(got.code, V2_CODE_OK);
    for (int i = 0; i < 30; i++) {                            /* 150 s and more, of 60 s */
        EXPECT_EQ(world_receive(w, "c", &other).code, V2_CODE_MESSAGE_NOT_FOUND);
        struct v2_heartbeat_request beat = {.group = world_name(w, "g")};
        EXPECT_EQ(WORLD_CALL(w, "c", "Heartbeat", heartbeat, &beat)->status->code, V2_CODE_OK);
    }
    EXPECT(metric_get(&w->metrics, METRIC_RENEWALS) >= 1);
    EXPECT_EQ(world_ack(w, "c", "g", got.messages[0]), V2_CODE_OK);   /* by the handle it was given at first */
    int64_t renewals = metric_get(&w->metrics, METRIC_RENEWALS);
    for (int i = 0; i < 40; i++) {
        EXPECT_EQ(world_receive(w, "c", &other).code, V2_CODE_MESSAGE_NOT_FOUND);
        struct v2_heartbeat_request beat = {.group = world_name(w, "g")};
        WORLD_CALL(w, "c", "Heartbeat", heartbeat, &beat);
    }
    EXPECT_EQ(metric_get(&w->metrics, METRIC_RENEWALS), renewals);
    grpc_world_stop(w);
}

static bool is_renewing(void *ctx) { return metric_get(&((struct grpc_world *)ctx)->metrics, METRIC_RENEWALS) == 1; }

TEST(grpc_renewal, that_is_under_way_ends_before_the_acknowledgement)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "c", "g", "Plain");
    send(w, "Plain", "slow");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain"), other = world_receive_request(w, "g", "Plain");
    q.auto_renew = true;
    struct world_received got = world_receive(w, "c", &q);
    EXPECT_EQ(got.code, V2_CODE_OK);
    EXPECT(sim_run_until(w->sim, is_renewing, w, 60000));
    sim_partition(w->sim, "10.0.0.6", "10.0.0.2", 1000);      /* the new handle is on its way */
    EXPECT_EQ(world_ack(w, "c", "g", got.messages[0]), V2_CODE_OK);
    for (int i = 0; i < 20; i++) {                            /* longer than either handle lives */
        struct v2_heartbeat_request beat = {.group = world_name(w, "g")};
        EXPECT_EQ(world_receive(w, "c", &other).code, V2_CODE_MESSAGE_NOT_FOUND);
        WORLD_CALL(w, "c", "Heartbeat", heartbeat, &beat);
    }
    EXPECT(is_renewing(w));                                    /* and no other renewal came */
    grpc_world_stop(w);
}

TEST(grpc_renewal, ends_with_its_client)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "c", "g", "Plain");
    send(w, "Plain", "left behind");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    q.auto_renew = true;
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_OK);
    struct v2_notify_client_termination_request end = {.group = world_name(w, "g")};
    EXPECT_EQ(WORLD_CALL(w, "c", "NotifyClientTermination", notify_client_termination, &end)->status->code, V2_CODE_OK);
    world_consumer(w, "d", "g", "Plain");
    q.auto_renew = false;
    q.long_polling_timeout->seconds = 15;
    struct world_received got = world_receive(w, "d", &q);
    EXPECT_EQ(got.code, V2_CODE_OK);
    EXPECT_TEXT(got.messages[0]->body, "left behind");
    grpc_world_stop(w);
}

/* --- what is asked --- */

TEST(grpc_receive, every_limit_has_its_code)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "c", "g", "Plain");
    struct v2_filter_expression bars = {V2_FILTER_TYPE_TAG, SLICE("||")}, empty_sql = {V2_FILTER_TYPE_SQL, SLICE("")}, bad_sql = {V2_FILTER_TYPE_SQL, SLICE("a ==")};
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    q.invisible_duration->seconds = 9;
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_ILLEGAL_INVISIBLE_TIME);
    q.invisible_duration->seconds = 43201;
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_ILLEGAL_INVISIBLE_TIME);
    q.invisible_duration->seconds = 30;
    q.filter_expression = &bars;
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_ILLEGAL_FILTER_EXPRESSION);
    q.filter_expression = &empty_sql;
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_ILLEGAL_FILTER_EXPRESSION);
    q.filter_expression = &bad_sql;
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_INTERNAL_SERVER_ERROR);
    q.filter_expression = NULL;
    q.batch_size = -1;
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_INTERNAL_SERVER_ERROR);
    q.batch_size = 100;
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_MESSAGE_NOT_FOUND);
    q.message_queue = NULL;
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_ILLEGAL_TOPIC);
    q = world_receive_request(w, "", "Plain");
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_ILLEGAL_CONSUMER_GROUP);
    q = world_receive_request(w, "g", "NoSuchTopic");
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_TOPIC_NOT_FOUND);
    EXPECT_EQ(world_receive(w, "stranger", &q).code, V2_CODE_INTERNAL_SERVER_ERROR);
    grpc_world_stop(w);
}

TEST(grpc_receive, needs_time_to_wait)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "c", "g", "Plain");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    struct grpc_client_call *k = world_begin(w, "c", "ReceiveMessage", "3S", &v2_receive_message_request_pb, &q);
    struct world_received got = world_received(w, k, WORLD_WAIT_MS);
    EXPECT_EQ(got.code, V2_CODE_ILLEGAL_POLLING_TIME);
    EXPECT(got.ended_in_order);
    k = world_begin(w, "c", "ReceiveMessage", NULL, &v2_receive_message_request_pb, &q);   /* no limit is fine */
    EXPECT_EQ(world_received(w, k, WORLD_WAIT_MS).code, V2_CODE_MESSAGE_NOT_FOUND);
    grpc_world_stop(w);
}
