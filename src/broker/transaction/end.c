/* A producer says how a transaction ended. Facts: docs/protocol/remoting.md A11 */
#include "broker/handlers.h"
#include "broker/intake/put.h"
#include "broker/transaction/transaction.h"

#include "base/clamped.h"
#include "base/log.h"
#include "codec/record.h"

#include <stdlib.h>

/* An end that is being stored. */
struct ending {
    struct transactions *t;
    struct call *call;
    int64_t name;
    bool commits;
    struct appended at;
    int64_t born_ms;
    size_t topic_bytes;
    uint8_t topic[];
};

static void count_end(struct transactions *t, const struct ending *end)
{
    const struct slice topic = slice_of(end->topic, end->topic_bytes);
    metric_count(&t->broker->metrics, end->commits ? METRIC_COMMITS : METRIC_ROLLBACKS, 1, &topic);
    int64_t age_ms = clamped_minus(tasks_wall_ms(t->broker->tasks), end->born_ms);
    if (end->commits) metric_observe(&t->broker->metrics, METRIC_FINISH_LATENCY, age_ms / 1000, &topic);
}

static err_t find_record(struct broker *b, int64_t log_offset, struct pinned *record, struct message *m, struct half_facts *facts)
{
    err_t e = store_record_at(b->store, log_offset, record);
    if (!e && record_read(record->bytes, m) == RECORD_WHOLE && half_facts_read(m, facts)) return NULL;
    if (e) err_drop(e, "producers know one wording for it");
    else pin_release(record);
    return err_new(ERR_REFUSED, "Find prepared transaction message failed");
}

static err_t check(struct broker *b, const struct end_transaction_header *h, const struct message *m, const struct half_facts *facts)
{
    int64_t age_ms = clamped_minus(tasks_wall_ms(b->tasks), m->born_ms);
    if (!h->from_transaction_check && half_is_late(facts, age_ms, b->cfg->broker.transaction_timeout_ms))
        return err_new(ERR_ILLEGAL_OPERATION, "the time that CHECK_IMMUNITY_TIME_IN_SECONDS gave is over, the producer will be asked");
    if (!slice_eq(facts->group, h->producer_group)) return err_new(ERR_REFUSED, "The producer group wrong");
    if (m->queue_offset != h->tran_state_table_offset) return err_new(ERR_REFUSED, "The transaction state table offset wrong");
    if (m->log_offset != h->commit_log_offset) return err_new(ERR_REFUSED, "The commit log offset wrong");
    return NULL;
}

static void on_stored(void *ctx, err_t e)
{
    struct ending *end = ctx;
    struct transactions *t = end->t;
    struct half *half = halves_find(&t->halves, end->name);
    transactions_release(t, half);
    if (e && err_code(e) != ERR_FLUSH_DISK_TIMEOUT) {   /* not stored: it stays open */
        call_fail(end->call, e);
    } else {
        err_free(e);
        count_end(t, end);
        if (end->commits) transactions_ended(t, half);
        if (end->commits && !end->call->oneway) ops_flush(t);   /* answered is written down, also for the original after a kill */
        if (!end->commits) transactions_forget(t, half);   /* its op record is what was stored */
        call_reply_ok(end->call);
    }
    free(end);
}

static err_t commit(struct ending *end, const struct end_transaction_header *h, const struct message *m, const struct half_facts *facts)
{
    struct broker *b = end->t->broker;
    struct message out;
    const struct topic *topic = topics_find(b->topics, facts->topic);
    if (!topic) return err_new(ERR_TOPIC_NOT_FOUND, "topic[%.*s] not exist", SLICE_ARG(facts->topic));
    struct buf text = BUF_EMPTY;
    half_commit(m, facts, h->commit_log_offset, &text, &out);
    out.batch_topic = topic->batches;
    err_t e = intake_put(b, &out, on_stored, end, &end->at);
    buf_done(&text);
    return e;
}

/* Nobody waits for it: it is written down with others. */
static void roll_back_soon(struct transactions *t, struct call *call, struct half *half, const struct half_facts *facts)
{
    metric_count(&t->broker->metrics, METRIC_ROLLBACKS, 1, &facts->topic);
    transactions_ended(t, half);
    call_reply_ok(call);
}

static void end_it(struct transactions *t, struct call *call, const struct end_transaction_header *h, struct half *half, const struct message *m,
                   const struct half_facts *facts)
{
    bool commits = h->commit_or_rollback == SYS_FLAG_TRANSACTION_COMMIT;
    if (!commits && call->oneway) {
        roll_back_soon(t, call, half, facts);
        return;
    }
    struct ending *end = must_zero(sizeof *end + facts->topic.n);
    end->born_ms = m->born_ms;
    end->topic_bytes = facts->topic.n;
    if (facts->topic.n) memcpy(end->topic, facts->topic.p, facts->topic.n);
    end->t = t;
    end->call = call;
    end->name = half->first_offset;
    end->commits = commits;
    half->busy = true;
    err_t e = commits ? commit(end, h, m, facts) : ops_write(t, half, on_stored, end);
    if (!e) return;
    transactions_release(t, half);
    free(end);
    log_warn("transaction.not_ended group=\"%.*s\" key=\"%.*s\" why=\"%s\"", SLICE_ARG(facts->group), SLICE_ARG(facts->unique_key), err_text(e));
    call_fail(call, e);
}

/* Ends it, or waits until it is known how. Who ends it a second time is told that it has ended. */
static void end_when_known(struct transactions *t, struct call *call, const struct end_transaction_header *h, const struct message *m,
                           const struct half_facts *facts)
{
    struct half *half = halves_find(&t->halves, facts->first_offset);
    if (m->queue_offset >= t->halves.next) {
        transactions_later(t, NULL, call);
    } else if (half && half->busy) {
        transactions_later(t, half, call);
    } else if (!half) {
        call_reply(call, RESPONSE_SUCCESS, "the transaction has ended already", NULL, NULL, (struct slice){NULL, 0});
    } else if (!half->sure) {
        transactions_look_up(t, half, m, facts, false);
        transactions_later(t, half, call);
    } else {
        end_it(t, call, h, half, m, facts);
    }
}

static bool has_outcome(const struct end_transaction_header *h)
{
    return h->commit_or_rollback == SYS_FLAG_TRANSACTION_COMMIT || h->commit_or_rollback == SYS_FLAG_TRANSACTION_ROLLBACK;
}

void handle_end_transaction(struct broker *b, struct call *call)
{
    struct end_transaction_header h;
    struct pinned record;
    struct message m;
    struct half_facts facts;
    err_t e = header_decode(&end_transaction_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
    } else if (!has_outcome(&h)) {
        call_drop(call);   /* it is asked later, or again; as with the original there is no answer */
    } else if (!b->transactions->ready) {
        transactions_later(b->transactions, NULL, call);
    } else if ((e = find_record(b, h.commit_log_offset, &record, &m, &facts))) {
        if (!store_is_cold(b->store)) {
            call_fail(call, e);
            return;
        }
        err_free(e);
        transactions_fetch(b->transactions, call);
    } else {
        e = check(b, &h, &m, &facts);
        if (e) call_fail(call, e);
        else end_when_known(b->transactions, call, &h, &m, &facts);
        pin_release(&record);
    }
}
