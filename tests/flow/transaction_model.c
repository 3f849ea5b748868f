/* Transactions beside a model: many producers' decisions, ends that are lost, repeated and contrary, questions that are answered or not, kills
 * and power cuts in between. At the end each message is where its producer wanted it, once.
 * SEEDS=n runs n seeds of each kind, SEED=n that one. */
#include "flow/flow.h"

#include "codec/message_id.h"
#include "codec/properties.h"
#include "codec/record.h"
#include "os/random.h"

#include <stdio.h>
#include <stdlib.h>

enum { IDS = 60, STEPS = 220, SEEDS = 8, CHECK_MAX = 4, COMMIT = SYS_FLAG_TRANSACTION_COMMIT, ROLLBACK = SYS_FLAG_TRANSACTION_ROLLBACK };
enum decision { COMMITS, ROLLS_BACK, NEVER_DECIDES, CONTRADICTS };

/* One message, as its producer knows it. */
struct fate {
    enum decision decision;
    bool acknowledged;          /* the half message; else it may be lost */
    int64_t queue_offset;
    int64_t log_offset;
    char key[80];
    int32_t ended;              /* outcome that was confirmed first; 0: none yet */
    int in_topic, given_up;     /* where it was found */
};

struct run {
    struct flow *f;
    struct random random;
    struct fate fates[IDS];
    int begun;
    bool sync;
};

static uint32_t draw(struct run *r, uint32_t below) { return random_below(&r->random, below); }

static void heartbeat(struct run *r)
{
    static const char body[] = "{\"clientID\":\"c1\",\"consumerDataSet\":[],\"producerDataSet\":[{\"groupName\":\"P\"}]}";
    answer_free(caller_call(r->f->caller, REQUEST_HEART_BEAT, NULL, NULL, slice_text(body)));
}

/* --- what producers do --- */

static int32_t send_fields(struct run *r, int id, struct send_header *h, char body[16])
{
    *h = flow_send_fields("T", 0);
    h->properties = flow_properties(draw(r, 8) ? "TRAN_MSG=true;PGROUP=P" : "TRAN_MSG=true;PGROUP=P;CHECK_IMMUNITY_TIME_IN_SECONDS=2");
    h->born_timestamp = tasks_wall_ms(rpc_tasks(r->f->loop));
    return snprintf(body, 16, "%d", id);
}

static void prepare(struct run *r)
{
    struct send_header h;
    struct addr host;
    char body[16];
    struct fate *fate = &r->fates[r->begun];
    *fate = (struct fate){.decision = draw(r, 10) < 5 ? COMMITS : (enum decision)(1 + draw(r, 3))};
    send_fields(r, r->begun++, &h, body);
    struct sent s = flow_send_header(r->f, REQUEST_SEND_MESSAGE_V2, &h, slice_text(body));
    EXPECT_EQ(s.code, RESPONSE_SUCCESS);
    fate->acknowledged = true;
    fate->queue_offset = s.queue_offset;
    EXPECT_OK(offset_id_parse(slice_text(s.msg_id), &host, &fate->log_offset));
    snprintf(fate->key, sizeof fate->key, "%s", s.transaction_id);
}

/* Sends and does not live to hear of it. */
static void prepare_unheard(struct run *r)
{
    struct send_header h;
    char body[16];
    r->fates[r->begun] = (struct fate){.decision = (enum decision)draw(r, 3)};
    send_fields(r, r->begun++, &h, body);
    caller_request(r->f->caller, REQUEST_SEND_MESSAGE_V2, &send_v2_kind, &h, slice_text(body));
    sim_run_for(r->f->sim, draw(r, 6));
}

static int32_t outcome_of(struct run *r, const struct fate *fate)
{
    switch (fate->decision) {
    case COMMITS: return COMMIT;
    case ROLLS_BACK: return ROLLBACK;
    case CONTRADICTS: return draw(r, 2) ? COMMIT : ROLLBACK;
    case NEVER_DECIDES: break;
    }
    return 0;
}

static void end(struct run *r, struct fate *fate, int64_t queue_offset, int64_t log_offset, bool asked)
{
    char remark[512];
    struct end_transaction_header h = {
        .producer_group = SLICE("P"), .tran_state_table_offset = queue_offset, .commit_log_offset = log_offset,
        .commit_or_rollback = outcome_of(r, fate), .msg_id = slice_text(fate->key), .from_transaction_check = asked,
    };
    header_set(&h, end_transaction, from_transaction_check);
    if (!h.commit_or_rollback) return;
    if (draw(r, 2)) {
        caller_oneway(r->f->caller, REQUEST_END_TRANSACTION, &end_transaction_kind, &h, SLICE(""));
        return;
    }
    int32_t code = flow_code(r->f, REQUEST_END_TRANSACTION, &end_transaction_kind, &h, NULL, remark);
    EXPECT(code == RESPONSE_SUCCESS || code == RESPONSE_ILLEGAL_OPERATION);
    if (code == RESPONSE_SUCCESS && !*remark && !fate->ended) fate->ended = h.commit_or_rollback;
    else EXPECT(code != RESPONSE_SUCCESS || *remark);   /* nobody ends it a second time */
}

static void end_some(struct run *r)
{
    struct fate *fate = &r->fates[draw(r, (uint32_t)r->begun)];
    if (fate->acknowledged) end(r, fate, fate->queue_offset, fate->log_offset, false);
}

/* Most questions are answered; the last one that there will be always is. */
static void answer(struct run *r, struct answer *a)
{
    struct check_transaction_header h;
    struct message m;
    int32_t id;
    int64_t times = 0;
    EXPECT_OK(header_decode(&check_transaction_kind, &a->frame, &h));
    EXPECT_EQ(record_read(a->frame.body, &m), RECORD_WHOLE);
    EXPECT(slice_to_i32(m.body, &id) && id >= 0 && id < r->begun);
    slice_to_i64(properties_get(m.properties, SLICE("TRANSACTION_CHECK_TIMES")), &times);
    EXPECT(times >= 1 && times <= CHECK_MAX);
    if (times < 2 && !draw(r, 3)) return;
    end(r, &r->fates[id], h.tran_state_table_offset, h.commit_log_offset, true);
}

static void answer_all(struct run *r, int64_t limit_ms)
{
    struct answer *a;
    while ((a = caller_asked(r->f->caller, REQUEST_CHECK_TRANSACTION_STATE, limit_ms))) {
        answer(r, a);
        answer_free(a);
    }
}

/* --- what befalls the broker --- */

static void stop_somehow(struct run *r)
{
    if (draw(r, 4) == 0) flow_restart(r->f);
    else if (r->sync) flow_cut_power(r->f);
    else flow_crash(r->f);
    heartbeat(r);
}

static void step(struct run *r)
{
    uint32_t n = draw(r, 100);
    if (n < 30 && r->begun < IDS) prepare(r);
    else if (n < 60 && r->begun) end_some(r);
    else if (n < 75) answer_all(r, 0);
    else if (n < 93) sim_run_for(r->f->sim, draw(r, 1500));
    else if (n < 95 && r->begun < IDS) prepare_unheard(r), stop_somehow(r);
    else if (n < 98) stop_somehow(r);
    else heartbeat(r);
}

/* --- the end --- */

static void count(struct run *r, const char *topic, size_t place)
{
    for (int64_t at = 0;;) {
        struct pulled p = flow_pull(r->f, topic, 0, at, "*");
        if (p.code != RESPONSE_SUCCESS) return;
        for (size_t i = 0; i < p.count; i++) {
            int32_t id;
            EXPECT(slice_to_i32(p.messages[i].body, &id) && id >= 0 && id < r->begun);
            ++*(int *)(void *)((char *)&r->fates[id] + place);
        }
        at = p.next;
    }
}

static void print_fates(const struct run *r)
{
    for (int i = 0; i < r->begun; i++) {
        const struct fate *f = &r->fates[i];
        printf("id %d decision %d acknowledged %d ended %d in topic %d given up %d\n", i, f->decision, f->acknowledged, f->ended, f->in_topic,
               f->given_up);
    }
}

/* All questions, and all ends that wait for no answer, may have been lost by bad luck: then it was given up. */
static void expect_fate(const struct run *r, const struct fate *fate)
{
    if (fate->in_topic + fate->given_up > 1) print_fates(r);
    EXPECT(fate->in_topic + fate->given_up <= 1);
    if (fate->ended) EXPECT_EQ(fate->in_topic, fate->ended == COMMIT);
    if (fate->ended) EXPECT_EQ(fate->given_up, 0);
    if (fate->decision == ROLLS_BACK || fate->decision == NEVER_DECIDES) EXPECT_EQ(fate->in_topic, 0);
    if (!fate->acknowledged) return;
    if (fate->decision == COMMITS) EXPECT_EQ(fate->in_topic + fate->given_up, 1);
    if (fate->decision == NEVER_DECIDES) EXPECT_EQ(fate->given_up, 1);
}

static void settle(struct run *r)
{
    for (int i = 0; i < 100 && flow_metric(r->f, "rocketmq_half_messages"); i++) {
        heartbeat(r);
        answer_all(r, 3500);
    }
    EXPECT_EQ(flow_metric(r->f, "rocketmq_half_messages"), 0);
}

static void run_seed(uint64_t seed, bool sync)
{
    const char *const settings[] = {
        "transactionCheckInterval=3000", "transactionTimeOut=1000", "transactionCheckMax=4", "transactionOpBatchInterval=700",
        sync ? "flushDiskType=SYNC_FLUSH" : "flushDiskType=ASYNC_FLUSH", NULL,
    };
    struct run r = {.f = flow_start(settings), .sync = sync};
    printf("seed %llu %s\n", (unsigned long long)seed, sync ? "sync" : "async");
    random_init(&r.random, seed);
    flow_make_topic(r.f, "T", 1);
    heartbeat(&r);
    for (int i = 0; i < STEPS; i++) step(&r);
    settle(&r);
    if (draw(&r, 2)) stop_somehow(&r);
    settle(&r);
    count(&r, "T", offsetof(struct fate, in_topic));
    count(&r, "TRANS_CHECK_MAX_TIME_TOPIC", offsetof(struct fate, given_up));
    if (getenv("SEED")) print_fates(&r);
    for (int i = 0; i < r.begun; i++) expect_fate(&r, &r.fates[i]);
    flow_stop(r.f);
}

static void run_seeds(bool sync)
{
    struct seeds seeds = flow_seeds(SEEDS);
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) run_seed(seed, sync);
}

TEST(transaction_model, each_message_is_in_one_place_once_through_kills) { run_seeds(false); }
TEST(transaction_model, each_message_is_in_one_place_once_through_power_cuts) { run_seeds(true); }
