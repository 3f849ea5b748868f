/* Transactions: half messages, how they end, and producers that are asked. */
#include "flow/flow.h"

#include "codec/body_transaction.h"
#include "codec/java_hash.h"
#include "codec/message_id.h"
#include "codec/properties.h"
#include "codec/record.h"

#include <stdio.h>

#define HALF_TOPIC "RMQ_SYS_TRANS_HALF_TOPIC"
#define OP_TOPIC "RMQ_SYS_TRANS_OP_HALF_TOPIC"
#define GIVEN_UP_TOPIC "TRANS_CHECK_MAX_TIME_TOPIC"

enum { COMMIT = SYS_FLAG_TRANSACTION_COMMIT, ROLLBACK = SYS_FLAG_TRANSACTION_ROLLBACK, UNKNOWN = 0 };

/* A half message, as its producer knows it. */
struct prepared {
    int64_t queue_offset;
    int64_t log_offset;
    char key[80];
};

static struct prepared take_place(const struct sent *s)
{
    struct prepared p = {.queue_offset = s->queue_offset};
    struct addr host;
    EXPECT_EQ(s->code, RESPONSE_SUCCESS);
    EXPECT_OK(offset_id_parse(slice_text(s->msg_id), &host, &p.log_offset));
    snprintf(p.key, sizeof p.key, "%s", s->transaction_id);
    return p;
}

/* Born now, as its age counts. */
static struct sent send_half(struct flow *f, const char *topic, int32_t queue_id, const char *properties, struct slice body, int32_t sys_flag)
{
    char text[1000];
    struct send_header h = flow_send_fields(topic, queue_id);
    snprintf(text, sizeof text, "TRAN_MSG=true;PGROUP=P%s%s", *properties ? ";" : "", properties);
    h.properties = flow_properties(text);
    h.sys_flag = SYS_FLAG_TRANSACTION_PREPARED | sys_flag;
    h.flag = 77;
    h.born_timestamp = tasks_wall_ms(rpc_tasks(f->loop));
    return flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, body);
}

static struct prepared prepare(struct flow *f, const char *properties, const char *body)
{
    struct sent s = send_half(f, "T", 0, properties, slice_text(body), 0);
    return take_place(&s);
}

static struct end_transaction_header end_fields(const struct prepared *p, int32_t outcome)
{
    return (struct end_transaction_header){
        .producer_group = SLICE("P"), .tran_state_table_offset = p->queue_offset, .commit_log_offset = p->log_offset,
        .commit_or_rollback = outcome, .msg_id = slice_text(p->key), .transaction_id = slice_text(p->key),
    };
}

static int32_t end_header(struct flow *f, const struct end_transaction_header *h, char *remark)
{
    return flow_code(f, REQUEST_END_TRANSACTION, &end_transaction_kind, h, NULL, remark);
}

static int32_t end(struct flow *f, const struct prepared *p, int32_t outcome)
{
    struct end_transaction_header h = end_fields(p, outcome);
    return end_header(f, &h, NULL);
}

/* As official producers do it. */
static void end_oneway(struct flow *f, const struct prepared *p, int32_t outcome)
{
    struct end_transaction_header h = end_fields(p, outcome);
    caller_oneway(f->caller, REQUEST_END_TRANSACTION, &end_transaction_kind, &h, SLICE(""));
    sim_run_for(f->sim, 5);
}

static int64_t open_halves(struct flow *f) { return flow_metric(f, "rocketmq_half_messages"); }

static void produce_as(struct flow *f, struct caller *c, const char *client_id)
{
    struct buf body = BUF_EMPTY;
    struct heartbeat_producer producer = {.group = SLICE("P")};
    struct heartbeat hb = {.client_id = slice_text(client_id)};
    (void)f;
    hb.producers.items = &producer;
    hb.producers.count = 1;
    bean_encode(&heartbeat_bean, &hb, JSON_RAW, &body);
    struct answer *a = caller_call(c, REQUEST_HEART_BEAT, NULL, NULL, buf_slice(&body));
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    answer_free(a);
    buf_done(&body);
}

/* A question to a producer; taken apart, it names the half message. */
struct asked {
    bool came;
    struct prepared half;
    struct message shown;      /* borrows from the flow's arena */
};

static struct asked next_question(struct flow *f, struct caller *c, int64_t limit_ms)
{
    struct asked q = {.came = false};
    struct check_transaction_header h;
    struct answer *a = caller_asked(c, REQUEST_CHECK_TRANSACTION_STATE, limit_ms);
    if (!a) return q;
    q.came = true;
    EXPECT_OK(header_decode(&check_transaction_kind, &a->frame, &h));
    EXPECT(a->frame.flag & FRAME_FLAG_ONEWAY);
    EXPECT_TEXT(h.bname, "broker-a");
    EXPECT_TEXT(h.topic, HALF_TOPIC);
    EXPECT(slice_eq(h.msg_id, h.transaction_id));
    q.half.queue_offset = h.tran_state_table_offset;
    q.half.log_offset = h.commit_log_offset;
    snprintf(q.half.key, sizeof q.half.key, "%.*s", SLICE_ARG(h.msg_id));
    EXPECT_EQ(record_read(arena_copy(&f->arena, a->frame.body), &q.shown), RECORD_WHOLE);
    EXPECT(record_body_intact(&q.shown));
    EXPECT_EQ(q.shown.queue_offset, h.tran_state_table_offset);
    EXPECT_EQ(q.shown.log_offset, h.commit_log_offset);
    answer_free(a);
    return q;
}

static int32_t answer_question(struct flow *f, const struct asked *q, int32_t outcome)
{
    struct end_transaction_header h = end_fields(&q->half, outcome);
    h.from_transaction_check = true;
    header_set(&h, end_transaction, from_transaction_check);
    return end_header(f, &h, NULL);
}

static int64_t messages_in(struct flow *f, const char *topic) { return flow_pull(f, topic, 0, 0, "*").max; }

static struct flow *start(const char *const *settings)
{
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    return f;
}

/* --- committing and rolling back --- */

TEST(transaction, a_half_message_is_seen_by_nobody_until_it_is_committed)
{
    struct flow *f = start(NULL);
    struct prepared p = prepare(f, "KEYS=k;TAGS=A;u=v", "hello");
    EXPECT_EQ(messages_in(f, "T"), 0);
    EXPECT_EQ(open_halves(f), 1);
    EXPECT_EQ(end(f, &p, COMMIT), RESPONSE_SUCCESS);
    struct pulled got = flow_pull(f, "T", 0, 0, "A");
    EXPECT_EQ(got.count, 1);
    const struct message *m = &got.messages[0];
    EXPECT_TEXT(m->body, "hello");
    EXPECT_TEXT(m->topic, "T");
    EXPECT_EQ(m->flag, 77);
    EXPECT_EQ(m->prepared_offset, p.log_offset);
    EXPECT_EQ(m->sys_flag & SYS_FLAG_TRANSACTION_MASK, SYS_FLAG_TRANSACTION_COMMIT);
    EXPECT_TEXT(properties_get(m->properties, SLICE("TRAN_MSG")), "true");
    EXPECT_TEXT(properties_get(m->properties, SLICE("PGROUP")), "P");
    EXPECT(!properties_get(m->properties, SLICE("REAL_TOPIC")).p && !properties_get(m->properties, SLICE("REAL_QID")).p);
    EXPECT_TEXT(properties_get(m->properties, SLICE("KEYS")), "k");
    EXPECT_TEXT(properties_get(m->properties, SLICE("u")), "v");
    EXPECT_TEXT(properties_get(m->properties, SLICE("__transactionId__")), p.key);
    EXPECT_TEXT(properties_get(m->properties, SLICE("UNIQ_KEY")), p.key);
    EXPECT_EQ(open_halves(f), 0);
    EXPECT_EQ(flow_metric(f, "rocketmq_commit_messages_total"), 1);
    flow_stop(f);
}

TEST(transaction, what_is_rolled_back_is_seen_by_nobody)
{
    struct flow *f = start(NULL);
    struct prepared a = prepare(f, "", "a"), b = prepare(f, "", "b");
    EXPECT_EQ(end(f, &a, ROLLBACK), RESPONSE_SUCCESS);
    end_oneway(f, &b, ROLLBACK);
    EXPECT_EQ(open_halves(f), 0);
    sim_run_for(f->sim, 120000);
    EXPECT_EQ(messages_in(f, "T"), 0);
    EXPECT_EQ(flow_metric(f, "rocketmq_rollback_messages_total"), 2);
    flow_stop(f);
}

TEST(transaction, who_ends_twice_changes_nothing)
{
    char remark[512];
    struct flow *f = start(NULL);
    struct prepared a = prepare(f, "", "a"), b = prepare(f, "", "b");
    struct end_transaction_header h = end_fields(&a, COMMIT);
    EXPECT_EQ(end(f, &a, COMMIT), RESPONSE_SUCCESS);
    EXPECT_EQ(end_header(f, &h, remark), RESPONSE_SUCCESS);
    assert_string_equal(remark, "the transaction has ended already");
    EXPECT_EQ(end(f, &a, ROLLBACK), RESPONSE_SUCCESS);
    EXPECT_EQ(end(f, &b, ROLLBACK), RESPONSE_SUCCESS);
    EXPECT_EQ(end(f, &b, COMMIT), RESPONSE_SUCCESS);
    end_oneway(f, &a, COMMIT);
    end_oneway(f, &b, COMMIT);
    EXPECT_EQ(messages_in(f, "T"), 1);
    flow_restart(f);
    EXPECT_EQ(end(f, &a, COMMIT), RESPONSE_SUCCESS);
    EXPECT_EQ(end(f, &b, COMMIT), RESPONSE_SUCCESS);
    EXPECT_EQ(messages_in(f, "T"), 1);
    flow_stop(f);
}

TEST(transaction, ends_that_come_together_count_once)
{
    struct flow *f = start(NULL);
    struct prepared p = prepare(f, "", "a");
    struct end_transaction_header h = end_fields(&p, COMMIT);
    int32_t opaque[5];
    for (int i = 0; i < 5; i++) opaque[i] = caller_request(f->caller, REQUEST_END_TRANSACTION, &end_transaction_kind, &h, SLICE(""));
    for (int i = 0; i < 5; i++) {
        struct answer *a = caller_reply(f->caller, opaque[i], 10000);
        EXPECT(a && a->frame.code == RESPONSE_SUCCESS);
        answer_free(a);
    }
    EXPECT_EQ(messages_in(f, "T"), 1);
    flow_stop(f);
}

/* G6 */
TEST(transaction, an_end_that_names_another_group_or_place_is_refused_and_the_half_message_is_untouched)
{
    char remark[512];
    struct flow *f = start(NULL);
    struct prepared p = prepare(f, "", "a"), other = prepare(f, "", "b");
    struct end_transaction_header h = end_fields(&p, COMMIT);
    h.producer_group = SLICE("Q");
    EXPECT_EQ(end_header(f, &h, remark), RESPONSE_SYSTEM_ERROR);
    assert_string_equal(remark, "The producer group wrong");
    h = end_fields(&p, COMMIT);
    h.tran_state_table_offset = other.queue_offset;
    EXPECT_EQ(end_header(f, &h, remark), RESPONSE_SYSTEM_ERROR);
    assert_string_equal(remark, "The transaction state table offset wrong");
    h = end_fields(&p, ROLLBACK);
    int64_t wrong[] = {p.log_offset + 1, -1, INT64_MAX, 1 << 30};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        h.commit_log_offset = wrong[i];
        EXPECT_EQ(end_header(f, &h, remark), RESPONSE_SYSTEM_ERROR);
        assert_string_equal(remark, "Find prepared transaction message failed");
    }
    EXPECT_EQ(open_halves(f), 2);
    EXPECT_EQ(messages_in(f, "T"), 0);
    EXPECT_EQ(end(f, &p, COMMIT), RESPONSE_SUCCESS);
    EXPECT_EQ(messages_in(f, "T"), 1);
    flow_stop(f);
}

/* The committed message has all that its half message says. */
TEST(transaction, only_a_half_message_can_be_ended)
{
    char remark[512];
    struct flow *f = start(NULL);
    struct prepared p = prepare(f, "", "a");
    EXPECT_EQ(end(f, &p, COMMIT), RESPONSE_SUCCESS);
    struct message m = flow_pull(f, "T", 0, 0, "*").messages[0];
    struct end_transaction_header h = end_fields(&p, COMMIT);
    h.commit_log_offset = m.log_offset;
    h.tran_state_table_offset = m.queue_offset;
    EXPECT_EQ(end_header(f, &h, remark), RESPONSE_SYSTEM_ERROR);
    assert_string_equal(remark, "Find prepared transaction message failed");
    EXPECT_EQ(messages_in(f, "T"), 1);
    flow_stop(f);
}

TEST(transaction, an_end_without_an_outcome_is_not_answered)
{
    struct flow *f = start(NULL);
    struct prepared p = prepare(f, "", "a");
    struct end_transaction_header h = end_fields(&p, UNKNOWN);
    int32_t opaque = caller_request(f->caller, REQUEST_END_TRANSACTION, &end_transaction_kind, &h, SLICE(""));
    EXPECT(!caller_reply(f->caller, opaque, 1000));
    EXPECT_EQ(open_halves(f), 1);
    flow_stop(f);
}

TEST(transaction, a_commit_to_a_topic_that_is_gone_leaves_the_half_message_open)
{
    struct flow *f = start(NULL);
    struct prepared p = prepare(f, "", "a");
    struct delete_topic_header h = {.topic = SLICE("T")};
    EXPECT_EQ(flow_code(f, REQUEST_DELETE_TOPIC_IN_BROKER, &delete_topic_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(end(f, &p, COMMIT), RESPONSE_TOPIC_NOT_EXIST);
    EXPECT_EQ(open_halves(f), 1);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(end(f, &p, COMMIT), RESPONSE_SUCCESS);
    EXPECT_EQ(messages_in(f, "T"), 1);
    flow_stop(f);
}

TEST(transaction, what_cannot_be_a_half_message_is_refused_or_sent_at_once)
{
    static const char *const settings[] = {"rejectTransactionMessage=true", NULL};
    struct flow *f = start(settings);
    struct send_header h = flow_send_fields("T", 0);
    EXPECT_EQ(send_half(f, "T", 0, "", SLICE("a"), 0).code, RESPONSE_NO_PERMISSION);
    h.sys_flag = SYS_FLAG_TRANSACTION_COMMIT;
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("a")).code, RESPONSE_MESSAGE_ILLEGAL);
    h.sys_flag = SYS_FLAG_TRANSACTION_ROLLBACK;
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("a")).code, RESPONSE_MESSAGE_ILLEGAL);
    h.sys_flag = 0;
    h.batch = true;
    header_set(&h, send, batch);
    struct buf batch = BUF_EMPTY;
    flow_batch_add(&batch, flow_properties("TRAN_MSG=true"), "a");
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, buf_slice(&batch)).code, RESPONSE_MESSAGE_ILLEGAL);
    buf_done(&batch);
    EXPECT_EQ(messages_in(f, "T"), 0);
    EXPECT_EQ(messages_in(f, HALF_TOPIC), 0);
    flow_stop(f);
}

/* What a client copies from a message it once got says nothing. */
TEST(transaction, a_sender_cannot_say_what_the_broker_says_of_a_half_message)
{
    struct flow *f = start(NULL);
    prepare(f, "TRAN_PREPARED_QUEUE_OFFSET=0;TRANSACTION_CHECK_TIMES=14;REAL_TOPIC=X;REAL_QID=9;__transactionId__=x", "first");
    struct prepared p = prepare(f, "TRAN_PREPARED_QUEUE_OFFSET=0;TRANSACTION_CHECK_TIMES=14;REAL_TOPIC=X;REAL_QID=9", "second");
    EXPECT_EQ(open_halves(f), 2);
    EXPECT_EQ(end(f, &p, COMMIT), RESPONSE_SUCCESS);
    EXPECT_EQ(open_halves(f), 1);
    EXPECT_TEXT(flow_pull(f, "T", 0, 0, "*").messages[0].body, "second");
    flow_stop(f);
}

/* --- asking --- */

/* G8, and the round that asks nobody too early. */
TEST(transaction, only_producers_of_what_is_left_open_are_asked)
{
    struct flow *f = start(NULL);
    struct prepared p[6];
    produce_as(f, f->caller, "c1");
    for (int i = 0; i < 6; i++) {
        char body[8];
        snprintf(body, sizeof body, "m%d", i);
        p[i] = prepare(f, "", body);
        if (i % 2 == 0) end_oneway(f, &p[i], COMMIT);
    }
    EXPECT(!next_question(f, f->caller, 20000).came);
    for (int i = 1; i < 6; i += 2) {
        struct asked q = next_question(f, f->caller, 20000);
        EXPECT(q.came);
        EXPECT_EQ(q.half.queue_offset, 6 + i / 2);   /* a newer copy, behind the others */
        EXPECT_TEXT(q.shown.topic, "T");
        EXPECT_EQ(q.shown.flag, 77);
        EXPECT_TEXT(slice_text(q.half.key), p[i].key);
        EXPECT_TEXT(properties_get(q.shown.properties, SLICE("TRANSACTION_CHECK_TIMES")), "1");
        EXPECT_EQ(answer_question(f, &q, i == 3 ? ROLLBACK : COMMIT), RESPONSE_SUCCESS);
    }
    EXPECT(!next_question(f, f->caller, 70000).came);
    EXPECT_EQ(messages_in(f, "T"), 5);
    EXPECT_EQ(open_halves(f), 0);
    flow_stop(f);
}

/* G1 */
TEST(transaction, a_compressed_body_survives_being_put_back_twice)
{
    struct flow *f = start(NULL);
    static uint8_t body[8192];
    for (size_t i = 0; i < sizeof body; i++) body[i] = (uint8_t)(i * 7919 >> 3);
    produce_as(f, f->caller, "c1");
    struct sent s = send_half(f, "T", 0, "TAGS=A", slice_of(body, sizeof body), SYS_FLAG_COMPRESSED | 0x300);
    EXPECT_EQ(s.code, RESPONSE_SUCCESS);
    struct asked q = next_question(f, f->caller, 40000);
    EXPECT(q.came && slice_eq(q.shown.body, slice_of(body, sizeof body)));
    q = next_question(f, f->caller, 40000);
    EXPECT(q.came && slice_eq(q.shown.body, slice_of(body, sizeof body)));
    EXPECT_TEXT(properties_get(q.shown.properties, SLICE("TRANSACTION_CHECK_TIMES")), "2");
    EXPECT_EQ(answer_question(f, &q, COMMIT), RESPONSE_SUCCESS);
    struct pulled got = flow_pull(f, "T", 0, 0, "A");
    EXPECT_EQ(got.count, 1);
    EXPECT(slice_eq(got.messages[0].body, slice_of(body, sizeof body)));
    EXPECT_EQ(got.messages[0].sys_flag & 0x701, SYS_FLAG_COMPRESSED | 0x300);
    EXPECT_EQ(got.messages[0].flag, 77);
    flow_stop(f);
}

/* One run of a half message that asks for 30 s and was born `later_ms` after it was sent; the first round looks at it 30 s after it
 * arrived. Tells how long it took to arrive, and whether it was asked after in the first round and in the second. */
static void run_immune(int64_t later_ms, int64_t *took_ms, bool asked[2])
{
    static const char *const settings[] = {"transactionTimeOut=1000", NULL};
    struct flow *f = start(settings);
    produce_as(f, f->caller, "c1");
    struct send_header h = flow_send_fields("T", 0);
    h.properties = flow_properties("TRAN_MSG=true;PGROUP=P;CHECK_IMMUNITY_TIME_IN_SECONDS=30");
    int64_t sent_ms = tasks_wall_ms(rpc_tasks(f->loop));
    h.born_timestamp = sent_ms + later_ms;
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("x")).code, RESPONSE_SUCCESS);
    *took_ms = flow_pull(f, HALF_TOPIC, 0, 0, "*").messages[0].store_ms - sent_ms;
    uint64_t turns = sim_turns(f->sim);
    asked[0] = next_question(f, f->caller, 30500).came;
    EXPECT(sim_turns(f->sim) - turns < 3000);   /* one look, and no loop */
    asked[1] = next_question(f, f->caller, 30500).came;
    flow_stop(f);
}

/* G3 */
TEST(transaction, a_half_message_that_is_exactly_as_old_as_its_immunity_is_asked_after_in_the_next_round)
{
    int64_t took_ms, again_ms;
    bool asked[2];
    run_immune(0, &took_ms, asked);
    run_immune(took_ms, &again_ms, asked);
    EXPECT_EQ(again_ms, took_ms);
    EXPECT(!asked[0] && asked[1]);
    run_immune(took_ms - 1, &again_ms, asked);
    EXPECT(asked[0]);
}

TEST(transaction, producers_of_a_group_are_asked_in_turn)
{
    struct flow *f = start(NULL);
    struct caller *second = flow_caller(f);
    produce_as(f, f->caller, "c1");
    produce_as(f, second, "c2");
    for (int i = 0; i < 4; i++) prepare(f, "", "x");
    for (int i = 0; i < 2; i++) EXPECT(next_question(f, f->caller, 40000).came && next_question(f, second, 40000).came);
    caller_close(second);
    sim_run_for(f->sim, 1000);
    for (int i = 0; i < 4; i++) EXPECT(next_question(f, f->caller, 40000).came);
    flow_stop(f);
}

TEST(transaction, what_nobody_decides_on_is_given_up_after_so_many_questions_and_can_be_resumed)
{
    static const char *const settings[] = {"transactionCheckMax=3", NULL};
    struct flow *f = start(settings);
    produce_as(f, f->caller, "c1");
    struct prepared p = prepare(f, "TAGS=A", "x");
    for (int i = 0; i < 3; i++) EXPECT(next_question(f, f->caller, 40000).came);
    produce_as(f, f->caller, "c1");
    EXPECT(!next_question(f, f->caller, 70000).came);
    EXPECT_EQ(open_halves(f), 0);
    EXPECT_EQ(flow_metric(f, "skylark_transactions_given_up_total"), 1);
    struct pulled given_up = flow_pull(f, GIVEN_UP_TOPIC, 0, 0, "*");
    EXPECT_EQ(given_up.count, 1);
    EXPECT_TEXT(given_up.messages[0].body, "x");
    EXPECT_EQ(end(f, &p, COMMIT), RESPONSE_SUCCESS);   /* too late: it is in one place alone */
    EXPECT_EQ(messages_in(f, "T"), 0);

    char id[MESSAGE_ID_TEXT];
    struct resume_check_half_header h = {
        .msg_id = slice_of(id, offset_id_format(&given_up.messages[0].store_host, given_up.messages[0].log_offset, id)),
    };
    EXPECT_EQ(flow_code(f, REQUEST_RESUME_CHECK_HALF_MESSAGE, &resume_check_half_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
    struct asked q = next_question(f, f->caller, 40000);
    EXPECT(q.came);
    EXPECT_EQ(answer_question(f, &q, COMMIT), RESPONSE_SUCCESS);
    EXPECT_EQ(messages_in(f, "T"), 1);
    flow_stop(f);
}

static int32_t resume(struct flow *f, int64_t log_offset, char *remark)
{
    char id[MESSAGE_ID_TEXT];
    struct addr host;
    EXPECT_OK(addr_parse(SLICE("127.0.0.2:10911"), &host));
    struct resume_check_half_header h = {.msg_id = slice_of(id, offset_id_format(&host, log_offset, id))};
    return flow_code(f, REQUEST_RESUME_CHECK_HALF_MESSAGE, &resume_check_half_kind, &h, NULL, remark);
}

TEST(transaction, one_that_is_open_is_resumed_as_itself_and_others_not_at_all)
{
    char remark[512];
    struct flow *f = start(NULL);
    produce_as(f, f->caller, "c1");
    struct prepared a = prepare(f, "", "a"), b = prepare(f, "", "b");
    EXPECT(next_question(f, f->caller, 40000).came && next_question(f, f->caller, 40000).came);
    EXPECT_EQ(resume(f, a.log_offset, remark), RESPONSE_SUCCESS);   /* by an older copy */
    EXPECT_EQ(open_halves(f), 2);
    EXPECT_EQ(end(f, &b, COMMIT), RESPONSE_SUCCESS);
    EXPECT_EQ(resume(f, b.log_offset, remark), RESPONSE_SYSTEM_ERROR);
    assert_string_equal(remark, "the transaction has ended already");
    EXPECT_EQ(resume(f, flow_pull(f, "T", 0, 0, "*").messages[0].log_offset, remark), RESPONSE_SYSTEM_ERROR);
    assert_string_equal(remark, "the message is no half message");
    EXPECT(resume(f, 1, remark) != RESPONSE_SUCCESS);
    struct asked q = next_question(f, f->caller, 40000);
    EXPECT(q.came);
    EXPECT_TEXT(properties_get(q.shown.properties, SLICE("TRANSACTION_CHECK_TIMES")), "1");
    EXPECT_EQ(answer_question(f, &q, COMMIT), RESPONSE_SUCCESS);
    EXPECT_EQ(messages_in(f, "T"), 2);
    EXPECT_EQ(open_halves(f), 0);
    flow_stop(f);
}

/* The end of one, and the storing of another, are under way when the broker stops. */
TEST(transaction, what_is_being_ended_when_the_broker_stops_is_ended_or_open_afterwards)
{
    static const char *const settings[] = {"flushDiskType=SYNC_FLUSH", NULL};
    for (int64_t ms = 0; ms < 6; ms++) {
        struct flow *f = start(settings);
        struct prepared a = prepare(f, "", "a"), b = prepare(f, "", "b");
        struct end_transaction_header ha = end_fields(&a, COMMIT), hb = end_fields(&b, ROLLBACK);
        caller_request(f->caller, REQUEST_END_TRANSACTION, &end_transaction_kind, &ha, SLICE(""));
        caller_request(f->caller, REQUEST_END_TRANSACTION, &end_transaction_kind, &hb, SLICE(""));
        sim_run_for(f->sim, ms);
        flow_restart(f);
        EXPECT_EQ(end(f, &a, COMMIT), RESPONSE_SUCCESS);
        EXPECT_EQ(end(f, &b, ROLLBACK), RESPONSE_SUCCESS);
        EXPECT_EQ(messages_in(f, "T"), 1);
        EXPECT_EQ(open_halves(f), 0);
        flow_stop(f);
    }
}

TEST(transaction, what_is_put_back_too_often_to_grow_is_asked_after_where_it_is)
{
    static const char *const settings[] = {"transactionCheckMax=2", NULL};
    static char text[32700];
    struct flow *f = start(settings);
    produce_as(f, f->caller, "c1");
    struct send_header h = flow_send_fields("T", 0);
    snprintf(text, sizeof text, "TRAN_MSG=true;PGROUP=P;UNIQ_KEY=0123456789ABCDEF0123456789ABCDEF;pad=");
    size_t n = strlen(text);
    memset(text + n, 'x', 32600 - n);
    h.properties = flow_properties(text);
    h.sys_flag = SYS_FLAG_TRANSACTION_PREPARED;
    h.born_timestamp = tasks_wall_ms(rpc_tasks(f->loop));
    struct sent s = flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("x"));
    struct prepared p = take_place(&s);
    for (int i = 0; i < 2; i++) {
        struct asked q = next_question(f, f->caller, 40000);
        EXPECT(q.came);
        EXPECT_EQ(q.half.queue_offset, p.queue_offset);
    }
    produce_as(f, f->caller, "c1");
    EXPECT(!next_question(f, f->caller, 70000).came);
    EXPECT_EQ(messages_in(f, GIVEN_UP_TOPIC), 1);
    flow_stop(f);
}

/* An answer to the first question may come after the second one. */
TEST(transaction, an_older_copy_ends_the_transaction_as_well_as_the_newest)
{
    struct flow *f = start(NULL);
    produce_as(f, f->caller, "c1");
    struct prepared a = prepare(f, "", "a");
    prepare(f, "", "b");
    struct asked first = next_question(f, f->caller, 40000);
    struct asked other = next_question(f, f->caller, 40000);
    EXPECT(first.came && other.came);
    EXPECT(next_question(f, f->caller, 40000).came && next_question(f, f->caller, 40000).came);
    EXPECT_EQ(end(f, &a, COMMIT), RESPONSE_SUCCESS);                    /* as its producer knew it first */
    EXPECT_EQ(answer_question(f, &other, COMMIT), RESPONSE_SUCCESS);    /* as it was asked first */
    EXPECT_EQ(answer_question(f, &first, COMMIT), RESPONSE_SUCCESS);
    EXPECT_EQ(messages_in(f, "T"), 2);
    EXPECT_EQ(open_halves(f), 0);
    flow_restart(f);
    EXPECT_EQ(open_halves(f), 0);
    flow_stop(f);
}

TEST(transaction, a_producer_that_asked_for_time_and_let_it_pass_has_to_wait_for_the_question)
{
    struct flow *f = start(NULL);
    produce_as(f, f->caller, "c1");
    struct prepared p = prepare(f, "CHECK_IMMUNITY_TIME_IN_SECONDS=10", "x");
    sim_run_for(f->sim, 10500);
    EXPECT_EQ(end(f, &p, COMMIT), RESPONSE_ILLEGAL_OPERATION);
    EXPECT_EQ(messages_in(f, "T"), 0);
    struct asked q = next_question(f, f->caller, 40000);
    EXPECT(q.came);
    EXPECT_EQ(answer_question(f, &q, COMMIT), RESPONSE_SUCCESS);
    EXPECT_EQ(messages_in(f, "T"), 1);
    flow_stop(f);
}

/* --- what is on disk --- */

TEST(transaction, ends_are_written_down_together_in_the_words_of_the_original)
{
    struct flow *f = start(NULL);
    struct prepared p[3];
    for (int i = 0; i < 3; i++) p[i] = prepare(f, "", "x");
    end_oneway(f, &p[0], COMMIT);
    end_oneway(f, &p[2], ROLLBACK);
    EXPECT_EQ(messages_in(f, OP_TOPIC), 0);
    sim_run_for(f->sim, 3500);
    EXPECT_EQ(end(f, &p[1], ROLLBACK), RESPONSE_SUCCESS);   /* who waits for the answer has it written down */
    struct pulled ops = flow_pull(f, OP_TOPIC, 0, 0, "d");
    EXPECT_EQ(ops.count, 2);
    EXPECT_TEXT(ops.messages[0].body, "0,2,");
    EXPECT_TEXT(ops.messages[1].body, "1,");
    EXPECT_TEXT(properties_get(ops.messages[0].properties, SLICE("TAGS")), "d");
    flow_stop(f);
}

TEST(transaction, ends_that_fill_a_record_are_written_down_at_once)
{
    static const char *const settings[] = {"transactionOpMsgMaxSize=4", NULL};
    struct flow *f = start(settings);
    struct prepared p[4];
    for (int i = 0; i < 4; i++) p[i] = prepare(f, "", "x");
    for (int i = 0; i < 4; i++) end_oneway(f, &p[i], COMMIT);
    struct pulled ops = flow_pull(f, OP_TOPIC, 0, 0, "*");
    EXPECT_EQ(ops.count, 2);
    EXPECT_TEXT(ops.messages[1].body, "2,3,");
    flow_stop(f);
}

TEST(transaction, progress_is_kept_as_offsets_of_the_original_s_group_and_what_is_open_is_known_after_a_restart)
{
    struct flow *f = start(NULL);
    struct prepared p[4];
    for (int i = 0; i < 4; i++) p[i] = prepare(f, "", "x");
    end_oneway(f, &p[0], COMMIT);
    end_oneway(f, &p[1], ROLLBACK);
    end_oneway(f, &p[3], COMMIT);
    flow_restart(f);
    EXPECT_EQ(flow_offset(f, "CID_RMQ_SYS_TRANS", HALF_TOPIC, 0), 2);
    EXPECT_EQ(flow_offset(f, "CID_RMQ_SYS_TRANS", OP_TOPIC, 0), 0);
    EXPECT_EQ(open_halves(f), 1);
    EXPECT_EQ(end(f, &p[2], COMMIT), RESPONSE_SUCCESS);
    flow_restart(f);
    EXPECT_EQ(flow_offset(f, "CID_RMQ_SYS_TRANS", HALF_TOPIC, 0), 4);
    EXPECT_EQ(flow_offset(f, "CID_RMQ_SYS_TRANS", OP_TOPIC, 0), messages_in(f, OP_TOPIC));
    EXPECT_EQ(open_halves(f), 0);
    EXPECT_EQ(messages_in(f, "T"), 3);
    flow_stop(f);
}

TEST(transaction, progress_is_noted_while_the_broker_runs_and_then_there_is_nothing_left_to_do)
{
    struct flow *f = start(NULL);
    struct prepared p[2];
    for (int i = 0; i < 2; i++) p[i] = prepare(f, "", "x");
    end_oneway(f, &p[0], COMMIT);
    end_oneway(f, &p[1], ROLLBACK);
    sim_run_for(f->sim, 100000);
    EXPECT_EQ(flow_offset(f, "CID_RMQ_SYS_TRANS", HALF_TOPIC, 0), 2);
    EXPECT_EQ(flow_offset(f, "CID_RMQ_SYS_TRANS", OP_TOPIC, 0), 1);
    flow_stop(f);
}

static uint64_t turns_at_rest(struct flow *f)
{
    sim_run_for(f->sim, 200000);
    uint64_t before = sim_turns(f->sim);
    sim_run_for(f->sim, 600000);
    return sim_turns(f->sim) - before;
}

TEST(transaction, a_broker_that_had_transactions_is_as_much_at_rest_as_one_that_had_none)
{
    struct flow *f = start(NULL);
    uint64_t without = turns_at_rest(f);
    flow_stop(f);
    f = start(NULL);
    struct prepared p = prepare(f, "", "x");
    end_oneway(f, &p, COMMIT);
    EXPECT(turns_at_rest(f) <= without + 2);
    flow_stop(f);
}

/* The end was not written down when the broker died; the message that was committed tells. */
TEST(transaction, what_was_committed_right_before_a_crash_is_not_committed_again)
{
    struct flow *f = start(NULL);
    struct prepared a = prepare(f, "", "a"), b = prepare(f, "", "b");
    end_oneway(f, &a, COMMIT);
    end_oneway(f, &b, COMMIT);
    EXPECT_EQ(messages_in(f, OP_TOPIC), 0);
    sim_run_for(f->sim, 1000);
    flow_crash(f);
    produce_as(f, f->caller, "c1");
    EXPECT_EQ(open_halves(f), 2);
    EXPECT_EQ(end(f, &a, COMMIT), RESPONSE_SUCCESS);
    EXPECT(!next_question(f, f->caller, 100000).came);
    EXPECT_EQ(open_halves(f), 0);
    EXPECT_EQ(messages_in(f, "T"), 2);
    flow_stop(f);
}

TEST(transaction, a_producer_is_asked_after_a_crash_too)
{
    struct flow *f = start(NULL);
    produce_as(f, f->caller, "c1");
    prepare(f, "", "x");
    EXPECT(next_question(f, f->caller, 40000).came);
    flow_crash(f);
    produce_as(f, f->caller, "c1");
    struct asked q = next_question(f, f->caller, 70000);
    EXPECT(q.came);
    EXPECT_TEXT(properties_get(q.shown.properties, SLICE("TRANSACTION_CHECK_TIMES")), "2");
    EXPECT_EQ(answer_question(f, &q, COMMIT), RESPONSE_SUCCESS);
    EXPECT_EQ(messages_in(f, "T"), 1);
    flow_stop(f);
}

TEST(transaction, a_full_disk_leaves_what_it_cannot_end_open_and_writes_ends_down_later)
{
    struct flow *f = start(NULL);
    struct prepared a = prepare(f, "", "a"), b = prepare(f, "", "b"), c = prepare(f, "", "c");
    static char body[4000];
    memset(body, 'x', sizeof body - 1);
    sim_run_for(f->sim, 2000);
    sim_fs_set_space(f->disk, 0);
    for (int i = 0; i < 2000 && flow_send(f, "T", 0, "", body).code == RESPONSE_SUCCESS; i++) {}
    int64_t before = messages_in(f, "T");
    EXPECT_EQ(end(f, &a, COMMIT), RESPONSE_SERVICE_NOT_AVAILABLE);
    EXPECT_EQ(end(f, &b, ROLLBACK), RESPONSE_SERVICE_NOT_AVAILABLE);
    end_oneway(f, &c, ROLLBACK);
    EXPECT_EQ(open_halves(f), 2);
    sim_run_for(f->sim, 10000);
    sim_fs_set_space(f->disk, 64 << 20);
    sim_run_for(f->sim, 5000);
    EXPECT_TEXT(flow_pull(f, OP_TOPIC, 0, 0, "*").messages[0].body, "2,");
    EXPECT_EQ(end(f, &a, COMMIT), RESPONSE_SUCCESS);
    EXPECT_EQ(end(f, &b, ROLLBACK), RESPONSE_SUCCESS);
    EXPECT(messages_in(f, "T") > before);
    EXPECT_EQ(open_halves(f), 0);
    flow_stop(f);
}

/* More than one slice of a round, and of reading at a start. */
static void send_many(struct flow *f, int count, const char *properties)
{
    struct send_header h = flow_send_fields("T", 0);
    int32_t opaque = 0;
    h.properties = flow_properties(properties);
    h.born_timestamp = tasks_wall_ms(rpc_tasks(f->loop));
    for (int i = 0; i < count; i++) {
        opaque = caller_request(f->caller, REQUEST_SEND_MESSAGE_V2, &send_v2_kind, &h, SLICE("x"));
        if (i % 100 && i + 1 < count) continue;
        struct answer *a = caller_reply(f->caller, opaque, 10000);
        EXPECT(a && a->frame.code == RESPONSE_SUCCESS);
        answer_free(a);
    }
}

/* Of one round. */
static int64_t count_questions(struct flow *f, int32_t outcome)
{
    int64_t n = 0;
    for (struct asked q; (q = next_question(f, f->caller, n ? 2000 : 35000)).came; n++)
        if (outcome) end_oneway(f, &q.half, outcome);
    return n;
}

TEST(transaction, many_that_are_open_are_read_and_asked_after_in_slices_after_a_crash_too)
{
    enum { MANY = 700 };
    struct flow *f = start(NULL);
    produce_as(f, f->caller, "c1");
    send_many(f, MANY, "TRAN_MSG=true;PGROUP=P");
    EXPECT_EQ(open_halves(f), MANY);
    EXPECT_EQ(count_questions(f, UNKNOWN), MANY);
    flow_crash(f);
    produce_as(f, f->caller, "c1");
    sim_run_for(f->sim, 1000);
    EXPECT_EQ(open_halves(f), MANY);
    EXPECT_EQ(count_questions(f, ROLLBACK), MANY);
    EXPECT_EQ(open_halves(f), 0);
    EXPECT_EQ(messages_in(f, "T"), 0);
    flow_stop(f);
}

/* A start reads from the oldest one that is open: it must not lie far behind for as long as its producer asked to be left alone. */
TEST(transaction, an_immune_half_message_that_many_others_have_passed_is_put_back_without_a_question)
{
    enum { MANY = 1020 };
    struct flow *f = start(NULL);
    produce_as(f, f->caller, "c1");
    struct prepared p = prepare(f, "CHECK_IMMUNITY_TIME_IN_SECONDS=1000", "first");
    for (int i = 0; i < MANY; i++) {
        struct prepared other = prepare(f, "", "x");
        struct end_transaction_header h = end_fields(&other, ROLLBACK);
        caller_oneway(f->caller, REQUEST_END_TRANSACTION, &end_transaction_kind, &h, SLICE(""));
    }
    EXPECT(!next_question(f, f->caller, 40000).came);
    EXPECT_EQ(open_halves(f), 1);
    EXPECT_EQ(messages_in(f, HALF_TOPIC), MANY + 2);
    struct message newest = flow_pull(f, HALF_TOPIC, 0, MANY + 1, "*").messages[0];
    EXPECT_TEXT(newest.body, "first");
    EXPECT_TEXT(properties_get(newest.properties, SLICE("TRANSACTION_CHECK_TIMES")), "0");
    EXPECT_EQ(end(f, &p, COMMIT), RESPONSE_SUCCESS);   /* its producer knows the first copy alone */
    EXPECT_EQ(open_halves(f), 0);
    EXPECT_EQ(messages_in(f, "T"), 1);
    flow_stop(f);
}

/* --- tools --- */

static struct open_transactions list_open(struct flow *f, const struct open_transactions_header *h)
{
    struct open_transactions list;
    struct answer *a = caller_call(f->caller, REQUEST_GET_OPEN_TRANSACTIONS, &open_transactions_kind, h, SLICE(""));
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    EXPECT_OK(bean_decode(&open_transactions_bean, arena_copy(&f->arena, a->frame.body), &f->arena, "list", &list));
    answer_free(a);
    return list;
}

TEST(transaction, those_that_are_open_are_listed_a_page_at_a_time)
{
    struct flow *f = start(NULL);
    struct prepared p[5];
    for (int i = 0; i < 5; i++) p[i] = prepare(f, "", "x");
    end_oneway(f, &p[1], COMMIT);
    struct open_transactions_header h = {.max_num = 3};
    header_set(&h, open_transactions, max_num);
    struct open_transactions list = list_open(f, &h);
    EXPECT_EQ(list.open, 4);
    EXPECT_EQ(list.rows.count, 3);
    EXPECT_EQ(list.next_offset, 4);
    EXPECT_TEXT(list.rows.items[0].key, p[0].key);
    EXPECT_TEXT(list.rows.items[0].topic, "T");
    EXPECT_TEXT(list.rows.items[0].group, "P");
    EXPECT_EQ(list.rows.items[0].log_offset, p[0].log_offset);
    h.from_offset = list.next_offset;
    header_set(&h, open_transactions, from_offset);
    list = list_open(f, &h);
    EXPECT_EQ(list.rows.count, 1);
    EXPECT_EQ(list.next_offset, -1);
    EXPECT_EQ(list.rows.items[0].queue_offset, 4);
    h = (struct open_transactions_header){.topic = SLICE("other")};
    EXPECT_EQ(list_open(f, &h).rows.count, 0);
    flow_stop(f);
}

/* --- delayed --- */

TEST(transaction, a_delayed_message_waits_from_its_commit_on)
{
    static const char *const waits[] = {"DELAY=2", "TIMER_DELAY_MS=5000"};
    for (size_t i = 0; i < 2; i++) {
        struct flow *f = flow_start(NULL);
        flow_make_topic(f, "T", 1);
        struct prepared p = prepare(f, waits[i], "later");
        sim_run_for(f->sim, 5500);   /* longer than the delay, shorter than transactionTimeOut: what is not committed does not come */
        EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").max, 0);
        int64_t committed_ms = sim_now_ms(f->sim);
        EXPECT_EQ(end(f, &p, COMMIT), RESPONSE_SUCCESS);
        while (!flow_pull(f, "T", 0, 0, "*").max && sim_now_ms(f->sim) < committed_ms + 10000) sim_run_for(f->sim, 50);
        struct pulled got = flow_pull(f, "T", 0, 0, "*");
        EXPECT_EQ(got.count, 1);
        EXPECT_TEXT(got.messages[0].body, "later");
        EXPECT(sim_now_ms(f->sim) - committed_ms >= (i ? 4900 : 5000));   /* a time counts from when it was said */
        EXPECT_EQ(open_halves(f), 0);
        flow_stop(f);
    }
}

TEST(transaction, a_delayed_message_is_committed_once_through_a_crash_while_it_waits)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    struct prepared p = prepare(f, "DELAY=3", "later");
    EXPECT_EQ(end(f, &p, COMMIT), RESPONSE_SUCCESS);
    flow_crash(f);
    end(f, &p, COMMIT);   /* its producer is not sure */
    sim_run_for(f->sim, 60000);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").max, 1);
    EXPECT_EQ(open_halves(f), 0);
    flow_stop(f);
}
