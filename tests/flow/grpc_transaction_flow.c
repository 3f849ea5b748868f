/* Transactions of gRPC producers: their end, and brokers that ask about them. Facts: docs/protocol/grpc.md 9.4 */
#include "flow/grpc_world.h"

#include "codec/properties.h"

static struct v2_message *prepared(struct grpc_world *w, const char *body)
{
    struct v2_message *m = world_message(w, "Tx", body);
    m->system_properties->message_type = V2_MESSAGE_TYPE_TRANSACTION;
    EXPECT_EQ(world_send(w, m)->status->code, V2_CODE_OK);
    return m;
}

static int32_t end(struct grpc_world *w, const struct v2_message *m, struct slice transaction_id, int32_t resolution, int32_t source)
{
    struct v2_end_transaction_request q = {
        .topic = m->topic, .message_id = m->system_properties->message_id, .transaction_id = transaction_id, .resolution = resolution,
        .source = source,
    };
    return WORLD_CALL(w, "p", "EndTransaction", end_transaction, &q)->status->code;
}

static struct grpc_world *start(void)
{
    static const char *const often[] = {"transactionTimeOut=1000", "transactionCheckInterval=2000", NULL};
    struct world_options o = {.seed = 1, .brokers = 1, .broker = often};
    struct grpc_world *w = grpc_world_start(&o);
    world_topic(w, "Tx", 1, "+message.type=TRANSACTION");
    return w;
}

TEST(grpc_transaction, a_committed_message_is_there_and_a_rolled_back_one_is_not)
{
    struct grpc_world *w = start();
    struct message got;
    world_producer(w, "p", "Tx");
    struct v2_message *one = prepared(w, "one"), *two = prepared(w, "two");
    EXPECT(!world_pull(w, 0, "Tx", 0, 0, &got));
    EXPECT_EQ(end(w, two, two->system_properties->message_id, V2_TRANSACTION_RESOLUTION_ROLLBACK, V2_TRANSACTION_SOURCE_SOURCE_CLIENT), V2_CODE_OK);
    EXPECT_EQ(end(w, one, one->system_properties->message_id, V2_TRANSACTION_RESOLUTION_COMMIT, V2_TRANSACTION_SOURCE_SOURCE_CLIENT), V2_CODE_OK);
    sim_run_for(w->sim, 500);
    EXPECT(world_pull(w, 0, "Tx", 0, 0, &got));
    EXPECT_TEXT(got.body, "one");
    EXPECT_TEXT(properties_get(got.properties, SLICE("TRAN_MSG")), "true");
    EXPECT(slice_eq(properties_get(got.properties, SLICE("UNIQ_KEY")), one->system_properties->message_id));
    EXPECT(!world_pull(w, 0, "Tx", 0, 1, &got));
    grpc_world_stop(w);
}

TEST(grpc_transaction, what_cannot_be_ended_has_its_code)
{
    struct grpc_world *w = start();
    world_producer(w, "p", "Tx");
    struct v2_message *m = prepared(w, "one");
    int32_t commit = V2_TRANSACTION_RESOLUTION_COMMIT;
    EXPECT_EQ(end(w, m, SLICE("nobody knows it"), commit, 1), V2_CODE_INTERNAL_SERVER_ERROR);
    EXPECT_EQ(end(w, m, SLICE(" "), commit, 1), V2_CODE_INVALID_TRANSACTION_ID);
    EXPECT_EQ(end(w, m, m->system_properties->message_id, commit, 1), V2_CODE_OK);
    EXPECT_EQ(end(w, m, m->system_properties->message_id, commit, 1), V2_CODE_INTERNAL_SERVER_ERROR);   /* it is used up */
    m->topic = world_name(w, "bad topic!");
    EXPECT_EQ(end(w, m, m->system_properties->message_id, commit, 1), V2_CODE_ILLEGAL_TOPIC);
    grpc_world_stop(w);
}

TEST(grpc_transaction, an_orphan_is_asked_for_and_ended_by_the_answer)
{
    struct grpc_world *w = start();
    struct grpc_client_call *stream = world_producer(w, "p", "Tx");
    struct v2_message *m = prepared(w, "orphan");
    struct message got;
    struct v2_telemetry_command *c = world_command(w, stream, 60000);
    EXPECT(c);
    EXPECT_EQ(c->command_case, V2_TELEMETRY_COMMAND_RECOVER_ORPHANED_TRANSACTION_COMMAND);
    const struct v2_recover_orphaned_transaction_command *r = c->recover_orphaned_transaction_command;
    EXPECT(slice_eq(r->transaction_id, m->system_properties->message_id));
    EXPECT_TEXT(r->message->topic->name, "Tx");
    EXPECT_TEXT(r->message->body, "orphan");
    EXPECT_EQ(r->message->system_properties->message_type, V2_MESSAGE_TYPE_TRANSACTION);
    EXPECT(slice_eq(r->message->system_properties->message_id, m->system_properties->message_id));
    sim_run_for(w->sim, 1000);
    EXPECT_EQ(end(w, m, r->transaction_id, V2_TRANSACTION_RESOLUTION_COMMIT, V2_TRANSACTION_SOURCE_SOURCE_SERVER_CHECK), V2_CODE_OK);
    sim_run_for(w->sim, 500);
    EXPECT(world_pull(w, 0, "Tx", 0, 0, &got));
    EXPECT_TEXT(got.body, "orphan");
    EXPECT(!world_command(w, stream, 30000));                  /* nothing more is asked */
    grpc_world_stop(w);
}

TEST(grpc_transaction, producers_are_asked_in_turn_and_only_those_that_listen)
{
    struct grpc_world *w = start();
    struct grpc_client_call *one = world_producer(w, "p1", "Tx"), *two = world_producer(w, "p2", "Tx"), *gone = world_producer(w, "p3", "Tx");
    grpc_client_cancel(gone);
    for (int i = 0; i < 6; i++) prepared(w, "orphan");
    size_t by_one = 0, by_two = 0;
    sim_run_for(w->sim, 4500);
    while (world_command(w, one, 0)) by_one++;
    while (world_command(w, two, 0)) by_two++;
    EXPECT(by_one && by_two);
    EXPECT(by_one + by_two >= 6);
    grpc_world_stop(w);
}

TEST(grpc_transaction, its_end_is_awaited_for_so_long)
{
    static const char *const seldom[] = {"transactionTimeOut=3600000", NULL};
    struct world_options o = {.seed = 1, .brokers = 1, .broker = seldom};
    struct grpc_world *w = grpc_world_start(&o);
    world_topic(w, "Tx", 1, "+message.type=TRANSACTION");
    world_producer(w, "p", "Tx");
    struct v2_message *m = prepared(w, "late");
    sim_run_for(w->sim, 31000);
    EXPECT_EQ(end(w, m, m->system_properties->message_id, V2_TRANSACTION_RESOLUTION_COMMIT, 1), V2_CODE_INTERNAL_SERVER_ERROR);
    grpc_world_stop(w);
}
