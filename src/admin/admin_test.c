/* Operations: who is asked what, and what becomes of the answers. */
#include "admin/admin_fixture.h"

#include <stdlib.h>
#include <string.h>

#define ROUTE(body)    {REQUEST_GET_ROUTEINFO_BY_TOPIC, RESPONSE_SUCCESS, body}
#define CLUSTER(body)  {REQUEST_GET_BROKER_CLUSTER_INFO, RESPONSE_SUCCESS, body}
#define NO_ROUTE       {REQUEST_GET_ROUTEINFO_BY_TOPIC, RESPONSE_TOPIC_NOT_EXIST, "No topic route info\nSee a link"}
#define END            {0, 0, NULL}
#define SAYS(text)     "{\"facts\":{\"maxOffset\":\"7\"},\"sentence\":\"" text "\"}"

static struct admin_reasons reasons;
static struct admin_transactions transactions;
static struct admin_resumed resumed;

static void expect_error(const struct cluster *c, enum err_code code, const char *part)
{
    EXPECT_EQ(err_code(c->error), code);
    if (!strstr(err_text(c->error), part)) print_error("\"%s\" does not hold \"%s\"\n", err_text(c->error), part);
    EXPECT(strstr(err_text(c->error), part));
}

/* --- why queue --- */

static struct why_queue_header queue;
static struct slice broker_name;

static void why_queue(void *ctx)
{
    struct cluster *c = ctx;
    admin_why_queue(c->admin, &queue, broker_name, &reasons, cluster_done, c);
}

static void ask_queue(struct cluster *c, int32_t id, const char *name)
{
    queue = (struct why_queue_header){.consumer_group = SLICE("G"), .topic = SLICE("T"), .queue_id = id};
    broker_name = slice_text(name);
    cluster_run(c, why_queue);
}

static struct cluster *two_brokers(const struct line *a, const struct line *b)
{
    struct cluster *c = cluster_start();
    cluster_serve(c, 0, (struct line[]){ROUTE(two_route), CLUSTER(two_cluster), END});
    cluster_serve(c, 1, a);
    cluster_serve(c, 2, b);
    return c;
}

static struct cluster *two_that_know_queues(void)
{
    return two_brokers((struct line[]){{REQUEST_WHY_QUEUE, 0, SAYS("a says")}, END}, (struct line[]){{REQUEST_WHY_QUEUE, 0, SAYS("b says")}, END});
}

TEST(admin, the_broker_that_has_the_queue_is_asked)
{
    struct cluster *c = two_that_know_queues();
    ask_queue(c, 5, NULL);
    EXPECT_OK(c->error);
    EXPECT_EQ(reasons.list.count, 1);
    EXPECT_TEXT(reasons.list.items[0].why.sentence, "b says");
    EXPECT_TEXT(reasons.list.items[0].broker.address, "10.0.0.3:1");
    EXPECT_TEXT(cluster_field(c, 2, "queueId"), "5");
    EXPECT_TEXT(cluster_field(c, 2, "consumerGroup"), "G");
    EXPECT_EQ(c->servers[1].asked, 0);
    ask_queue(c, 1, "a");
    EXPECT_TEXT(reasons.list.items[0].why.sentence, "a says");
    ask_queue(c, 77, "a");   /* the broker says what is wrong with it */
    EXPECT_TEXT(cluster_field(c, 1, "queueId"), "77");
    cluster_stop(c);
}

TEST(admin, a_queue_that_several_brokers_have_or_none_is_told_with_the_brokers)
{
    struct cluster *c = two_that_know_queues();
    ask_queue(c, 3, NULL);
    expect_error(c, ERR_USAGE, "topic \"T\" has a queue 3 on several brokers: a, b");
    ask_queue(c, 8, NULL);
    expect_error(c, ERR_INVALID, "topic \"T\" has no queue 8: a has 0 to 3, b has 0 to 7");
    ask_queue(c, 3, "x");
    expect_error(c, ERR_NOT_FOUND, "topic \"T\" has no broker \"x\"; it is on a, b");
    EXPECT_EQ(c->servers[1].asked + c->servers[2].asked, 0);
    cluster_stop(c);
}

TEST(admin, a_broker_that_is_given_is_asked_and_no_name_server)
{
    struct cluster *c = two_that_know_queues();
    cluster_admin(c, NULL, "10.0.0.2:1");
    ask_queue(c, 99, NULL);
    EXPECT_TEXT(reasons.list.items[0].why.sentence, "a says");
    EXPECT(!reasons.list.items[0].broker.name.p);
    EXPECT_EQ(c->servers[0].asked, 0);
    cluster_stop(c);
}

TEST(admin, an_answer_that_is_an_error_or_cannot_be_read_is_told)
{
    struct cluster *c = two_brokers((struct line[]){{REQUEST_WHY_QUEUE, RESPONSE_REQUEST_CODE_NOT_SUPPORTED, " request type 90011 not supported"},
                                                    {REQUEST_WHY_QUEUE, RESPONSE_SYSTEM_ERROR, "the text\nand more"},
                                                    {REQUEST_WHY_QUEUE, RESPONSE_SUCCESS, "{\"facts\":"}, END},
                                    (struct line[]){END});
    ask_queue(c, 0, "a");
    expect_error(c, ERR_NOT_SUPPORTED, "broker a: it does not know the request");
    ask_queue(c, 0, "a");
    expect_error(c, ERR_REFUSED, "broker a: the text (code 1)");
    EXPECT(!strstr(err_text(c->error), "more"));
    ask_queue(c, 0, "a");
    expect_error(c, ERR_BODY, "broker a: ");
    EXPECT(!admin_is_silence(c->error));
    cluster_stop(c);
}

/* --- why message, why send --- */

static void why_message(void *ctx)
{
    static const struct why_message_header h = {.topic = {(const uint8_t *)"T", 1}, .unique_key = {(const uint8_t *)"K", 1}};
    struct cluster *c = ctx;
    admin_why_message(c->admin, &h, &reasons, cluster_done, c);
}

static void why_send(void *ctx)
{
    static const struct why_send_header h = {.topic = {(const uint8_t *)"T", 1}};
    struct cluster *c = ctx;
    admin_why_send(c->admin, &h, &reasons, cluster_done, c);
}

#define COPY(ms) "{\"commitLogOffset\":1,\"dueTimestamp\":0,\"place\":\"in its topic\",\"queueId\":0,\"queueOffset\":1,\"reconsumeTimes\":0,\"storeTimestamp\":" ms ",\"topic\":\"T\"}"
#define KNOWS(copies, text) "{\"copies\":[" copies "],\"facts\":{},\"sentence\":\"" text "\"}"

TEST(admin, the_broker_with_the_newest_copy_of_a_message_tells)
{
    struct cluster *c = two_brokers((struct line[]){{REQUEST_WHY_MESSAGE, 0, KNOWS(COPY("5") "," COPY("9"), "a")}, {REQUEST_WHY_MESSAGE, 0, KNOWS("", "a knows none")}, END},
                                    (struct line[]){{REQUEST_WHY_MESSAGE, 0, KNOWS(COPY("8"), "b")}, {REQUEST_WHY_MESSAGE, 0, KNOWS(COPY("1"), "b")},
                                                    {REQUEST_WHY_MESSAGE, 0, KNOWS("", "b knows none")}, END});
    static const char *const told[] = {"a", "b", "a knows none"};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        cluster_run(c, why_message);
        EXPECT_OK(c->error);
        EXPECT_EQ(reasons.list.count, 1);
        EXPECT_TEXT(reasons.list.items[0].why.sentence, told[i]);
    }
    EXPECT(!cluster_field(c, 1, "consumerGroup").p);
    cluster_stop(c);
}

TEST(admin, a_topic_that_nobody_has_is_told_and_may_be_asked_of_all_masters)
{
    struct cluster *c = cluster_start();
    cluster_serve(c, 0, (struct line[]){NO_ROUTE, CLUSTER(two_cluster), END});
    cluster_serve(c, 1, (struct line[]){{REQUEST_WHY_SEND, 0, SAYS("a would take it")}, END});
    cluster_serve(c, 2, (struct line[]){{REQUEST_WHY_SEND, 0, SAYS("b would take it")}, END});
    cluster_run(c, why_message);
    expect_error(c, ERR_TOPIC_NOT_FOUND, "no broker has a topic \"T\"");
    cluster_run(c, why_send);
    EXPECT_OK(c->error);
    EXPECT_EQ(reasons.list.count, 2);
    EXPECT_TEXT(reasons.list.items[0].why.sentence, "a would take it");
    EXPECT_TEXT(reasons.list.items[1].why.sentence, "b would take it");
    cluster_stop(c);
}

/* --- who does not answer --- */

TEST(admin, a_broker_that_is_silent_is_a_failure_among_those_that_answer)
{
    struct cluster *c = two_brokers((struct line[]){{REQUEST_WHY_SEND, SILENT, NULL}, END}, (struct line[]){{REQUEST_WHY_SEND, 0, SAYS("b")}, END});
    int64_t before = sim_now_ms(c->sim);
    cluster_run(c, why_send);
    int64_t took = sim_now_ms(c->sim) - before;
    EXPECT(took >= 3000 && took < 3100);
    EXPECT_OK(c->error);
    EXPECT_EQ(reasons.list.count, 1);
    EXPECT_EQ(reasons.failures.list.count, 1);
    EXPECT_TEXT(reasons.failures.list.items[0].broker.name, "a");
    EXPECT_TEXT(reasons.failures.list.items[0].text, "10.0.0.2:1: no answer within 3000 ms");
    EXPECT(reasons.failures.list.items[0].silent);
    cluster_stop(c);
}

TEST(admin, it_is_silence_when_nobody_answers_and_no_longer_when_one_refuses)
{
    struct cluster *c = two_brokers((struct line[]){{REQUEST_WHY_SEND, SILENT, NULL}, END},
                                    (struct line[]){{REQUEST_WHY_SEND, SILENT, NULL}, {REQUEST_WHY_SEND, RESPONSE_NO_PERMISSION, "no"}, END});
    cluster_run(c, why_send);
    EXPECT(admin_is_silence(c->error));
    cluster_run(c, why_send);
    EXPECT(!admin_is_silence(c->error));
    expect_error(c, ERR_REFUSED, "broker b: no (code 16)");
    cluster_stop(c);
}

TEST(admin, the_first_name_server_that_answers_well_counts)
{
    struct cluster *c = cluster_start();
    cluster_serve(c, 0, (struct line[]){{REQUEST_GET_ROUTEINFO_BY_TOPIC, SILENT, NULL}, END});
    cluster_serve(c, 1, (struct line[]){{REQUEST_WHY_SEND, 0, SAYS("a")}, END});
    cluster_serve(c, 2, (struct line[]){{REQUEST_WHY_SEND, 0, SAYS("b")}, END});
    cluster_serve(c, 3, (struct line[]){ROUTE(two_route), END});
    cluster_admin(c, "10.0.0.1:1; 10.0.0.7:1 ;10.0.0.4:1", NULL);
    int64_t before = sim_now_ms(c->sim);
    cluster_run(c, why_send);
    EXPECT_OK(c->error);
    EXPECT_EQ(reasons.list.count, 2);
    EXPECT(sim_now_ms(c->sim) - before < 1000);
    cluster_stop(c);
}

TEST(admin, name_servers_that_are_not_there_are_silence)
{
    struct cluster *c = cluster_start();
    cluster_admin(c, "10.0.0.7:1;10.0.0.8:1", NULL);
    cluster_run(c, why_send);
    EXPECT(admin_is_silence(c->error));
    EXPECT(strstr(err_text(c->error), "no name server answers: 10.0.0."));
    cluster_stop(c);
}

TEST(admin, what_is_under_way_when_an_admin_is_freed_says_nothing_more)
{
    struct cluster *c = two_brokers((struct line[]){{REQUEST_WHY_SEND, SILENT, NULL}, END}, (struct line[]){{REQUEST_WHY_SEND, SILENT, NULL}, END});
    cluster_admin(c, NULL, NULL);
    c->done = 0;
    sim_call(c->loop, why_send, c);
    sim_run_for(c->sim, 500);
    EXPECT_EQ(c->servers[1].asked, 1);
    admin_free(c->admin);
    c->admin = NULL;
    sim_run_for(c->sim, 10000);
    EXPECT_EQ(c->done, 0);
    cluster_stop(c);
}

/* --- transactions --- */

#define HALF(key, offset, log) "{\"bornTimestamp\":5,\"checkTimes\":1,\"commitLogOffset\":" log ",\"producerGroup\":\"P\",\"queueId\":0,\"queueOffset\":" offset ",\"topic\":\"T\",\"uniqKey\":\"" key "\"}"
#define PAGE(next, rows) "{\"nextOffset\":" next ",\"open\":3,\"transactions\":[" rows "]}"
#define OPEN(next, rows) {REQUEST_GET_OPEN_TRANSACTIONS, 0, PAGE(next, rows)}

static void list(void *ctx)
{
    struct cluster *c = ctx;
    admin_transaction_list(c->admin, SLICE("T"), SLICE("P"), &transactions, cluster_done, c);
}

TEST(admin, all_pages_of_all_masters_make_one_list)
{
    struct cluster *c = two_brokers((struct line[]){OPEN("7", HALF("k3", "3", "30")), OPEN("9", ""), OPEN("-1", HALF("k9", "9", "90")), END},
                                    (struct line[]){OPEN("-1", HALF("k1", "1", "255")), END});
    cluster_run(c, list);
    EXPECT_OK(c->error);
    EXPECT_EQ(transactions.open, 6);
    EXPECT_EQ(transactions.list.count, 3);
    EXPECT_TEXT(transactions.list.items[0].row.key, "k3");
    EXPECT_TEXT(transactions.list.items[1].row.key, "k9");
    EXPECT_TEXT(transactions.list.items[2].row.key, "k1");
    EXPECT_TEXT(transactions.list.items[2].message_id, "0A0000030000000100000000000000FF");
    EXPECT_EQ(c->servers[1].asked, 3);
    EXPECT_TEXT(cluster_field(c, 1, "fromOffset"), "9");
    EXPECT_TEXT(cluster_field(c, 1, "producerGroup"), "P");
    EXPECT_TEXT(cluster_field(c, 1, "topic"), "T");
    EXPECT(!cluster_field(c, 2, "fromOffset").p);
    cluster_stop(c);
}

TEST(admin, pages_that_do_not_go_on_are_a_failure)
{
    struct cluster *c = two_brokers((struct line[]){OPEN("7", ""), OPEN("7", ""), END}, (struct line[]){OPEN("-1", ""), END});
    cluster_run(c, list);
    EXPECT_OK(c->error);
    EXPECT_EQ(transactions.failures.list.count, 1);
    EXPECT_TEXT(transactions.failures.list.items[0].text, "the page after offset 7 begins at 7");
    cluster_stop(c);
}

static struct slice id;

static void resume(void *ctx)
{
    struct cluster *c = ctx;
    admin_transaction_resume(c->admin, SLICE("T"), id, &resumed, cluster_done, c);
}

TEST(admin, a_transaction_is_resumed_by_its_key_or_by_its_message_id)
{
    struct cluster *c = two_brokers((struct line[]){OPEN("-1", ""), {REQUEST_RESUME_CHECK_HALF_MESSAGE, 0, ""}, END},
                                    (struct line[]){OPEN("-1", HALF("k1", "1", "255")), {REQUEST_RESUME_CHECK_HALF_MESSAGE, 0, ""}, END});
    id = SLICE("k1");
    cluster_run(c, resume);
    EXPECT_OK(c->error);
    EXPECT_TEXT(resumed.broker.name, "b");
    EXPECT_TEXT(cluster_field(c, 2, "msgId"), "0A0000030000000100000000000000FF");
    id = SLICE("0A000002000000010000000000000011");
    cluster_run(c, resume);
    EXPECT_OK(c->error);
    EXPECT_TEXT(resumed.broker.name, "a");
    EXPECT_TEXT(cluster_field(c, 1, "msgId"), "0A000002000000010000000000000011");
    cluster_stop(c);
}

TEST(admin, a_message_id_of_a_stranger_is_not_followed)
{
    struct cluster *c = two_brokers((struct line[]){OPEN("-1", ""), END}, (struct line[]){OPEN("-1", ""), END});
    cluster_serve(c, 3, (struct line[]){{REQUEST_RESUME_CHECK_HALF_MESSAGE, 0, ""}, END});
    static const char *const ids[] = {"0A000004000000010000000000000011", "k2", "7F0000010A1B2C3D4E5F000000000001"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        id = slice_text(ids[i]);
        cluster_run(c, resume);
        expect_error(c, ERR_NOT_FOUND, ids[i]);
    }
    EXPECT_EQ(c->servers[3].asked, 0);
    cluster_stop(c);
}

TEST(admin, a_broker_that_lists_no_transactions_may_still_resume_one)
{
    struct cluster *c = cluster_start();
    cluster_serve(c, 1, (struct line[]){{REQUEST_GET_OPEN_TRANSACTIONS, RESPONSE_REQUEST_CODE_NOT_SUPPORTED, "no"},
                                        {REQUEST_RESUME_CHECK_HALF_MESSAGE, 0, ""}, {REQUEST_RESUME_CHECK_HALF_MESSAGE, 1, "the transaction has ended already"}, END});
    cluster_admin(c, NULL, "10.0.0.2:1");
    id = SLICE("7F000001000000010000000000000011");   /* behind another address than its own */
    cluster_run(c, resume);
    EXPECT_OK(c->error);
    EXPECT_TEXT(resumed.broker.address, "10.0.0.2:1");
    cluster_run(c, resume);
    expect_error(c, ERR_REFUSED, "ended already");
    cluster_stop(c);
}
