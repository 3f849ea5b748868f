/* Producers that say nothing are asked. */
#include "broker/handlers.h"
#include "broker/transaction/transaction.h"

#include "base/clamped.h"
#include "base/log.h"
#include "codec/message_id.h"
#include "codec/record.h"

#include <stdlib.h>

/* A round looks at all that is open, in slices; of what it puts back and looks up only so much is under way at once. A half
 * message that is not due is put back only when so many others came after it, and few of them are open: from the oldest one on a start has to
 * read. */
enum {
    LOOKS_AT_ONCE = 4096, DEEDS_AT_ONCE = 32, SLICE_MS = 1, PUTTING_MAX = 8 << 20, LOOKUPS_MAX = 256, BEHIND_MAX = 1000, BEHIND_OPEN = 4,
    HOUR_MS = 3600000,
};

enum deed { LEAVE, ASK, GIVE_UP, PUT_BACK };

/* A half message that is being put back, or given up. */
struct putting {
    struct transactions *t;
    int64_t name;
    enum deed deed;
    struct appended at;
    size_t bytes;
    struct buf question;      /* ASK: the record that the producer is shown */
    struct buf group;         /* and whom to ask */
    char key[80];
    size_t key_bytes;
};

static void go_on(struct transactions *t);

/* --- asking --- */

static struct client *next_producer(struct transactions *t, struct slice name)
{
    struct member_group *g = members_producers(&t->broker->members, name);
    if (!g || !g->count) return NULL;
    size_t skip = t->turn++ % g->count;
    MEMBERS_EACH(g, node)
        if (!skip--) return MEMBER_OF(node)->client;
    return NULL;
}

static void send_question(struct putting *p)
{
    struct transactions *t = p->t;
    struct broker *b = t->broker;
    struct client *c = next_producer(t, buf_slice(&p->group));
    char id[MESSAGE_ID_TEXT];
    if (!c) {
        log_debug("transaction.nobody_to_ask group=\"%.*s\" queue_offset=%lld", (int)p->group.n, (const char *)p->group.p,
                  (long long)p->at.queue_offset);
        return;
    }
    struct slice key = slice_of(p->key, p->key_bytes);
    struct check_transaction_header h = {
        .bname = slice_text(b->cfg->broker.name), .commit_log_offset = p->at.log_offset, .msg_id = key, .topic = HALF_TOPIC,
        .offset_msg_id = slice_of(id, offset_id_format(&b->advertised, p->at.log_offset, id)), .tran_state_table_offset = p->at.queue_offset,
        .transaction_id = key,
    };
    struct rpc_request r = {.code = REQUEST_CHECK_TRANSACTION_STATE, .kind = &check_transaction_kind, .header = &h, .body = buf_slice(&p->question)};
    rpc_conn_request(c->conn, &r);
    metric_add(&b->metrics, METRIC_CHECKS, 1);
    t->round_asked++;
}

/* m is the copy that the answer will name. */
static void write_question(struct putting *p, const struct message *m, const struct half_facts *facts)
{
    struct message shown = *m;
    shown.queue_offset = p->at.queue_offset;
    shown.log_offset = p->at.log_offset;
    shown.store_ms = p->at.store_ms;
    shown.store_host = p->t->broker->advertised;
    half_ask(&shown, facts, &p->question);
}

static void note_names(struct putting *p, const struct half_facts *facts)
{
    buf_put_slice(&p->group, facts->group);
    p->key_bytes = facts->unique_key.n < sizeof p->key ? facts->unique_key.n : 0;
    if (p->key_bytes) memcpy(p->key, facts->unique_key.p, p->key_bytes);
}

/* --- putting back and giving up --- */

static struct putting *putting_new(struct transactions *t, struct half *half, enum deed deed)
{
    struct putting *p = must_zero(sizeof *p);
    p->t = t;
    p->name = half->first_offset;
    p->deed = deed;
    half->busy = true;
    return p;
}

static void putting_free(struct putting *p)
{
    struct transactions *t = p->t;
    t->putting_bytes -= p->bytes;
    buf_done(&p->question);
    buf_done(&p->group);
    free(p);
    checks_resume(t);
}

static void on_put(void *ctx, err_t e)
{
    struct putting *p = ctx;
    struct transactions *t = p->t;
    struct half *half = halves_find(&t->halves, p->name);
    bool stored = !e || err_code(e) == ERR_FLUSH_DISK_TIMEOUT;
    err_drop(e, "the next round tries again");
    transactions_release(t, half);
    if (stored && p->deed == ASK) {
        send_question(p);
    } else if (stored && p->deed == GIVE_UP) {
        metric_add(&t->broker->metrics, METRIC_GIVEN_UP, 1);
        log_warn("transaction.given_up group=\"%.*s\" key=\"%.*s\" asked=%d text=\"it is in TRANS_CHECK_MAX_TIME_TOPIC\"", (int)p->group.n,
                 (const char *)p->group.p, (int)p->key_bytes, p->key, half->checks);
        t->round_given_up++;
        transactions_ended(t, half);
    }
    putting_free(p);
}

/* What cannot grow any more is asked after where it is; only memory knows then how often. */
static void ask_in_place(struct putting *p, struct half *half, const struct message *m, const struct half_facts *facts)
{
    half->checks++;
    p->at = (struct appended){m->log_offset, m->queue_offset, m->store_ms, 0};
    write_question(p, m, facts);
    note_names(p, facts);
    send_question(p);
}

static void refused(struct putting *p, struct half *half, const struct message *m, const struct half_facts *facts, err_t e)
{
    transactions_release(p->t, half);
    if (p->deed == ASK && err_code(e) == ERR_MESSAGE_ILLEGAL) ask_in_place(p, half, m, facts);
    err_drop(e, "the next round tries again");
    p->bytes = 0;
    putting_free(p);
}

static void put(struct transactions *t, struct half *half, const struct message *m, const struct half_facts *facts, enum deed deed)
{
    struct buf text = BUF_EMPTY;
    struct message out;
    struct putting *p = putting_new(t, half, deed);
    if (deed == GIVE_UP) half_give_up(m, &out);
    else half_put_back(m, half->first_offset, half->checks + (deed == ASK), &text, &out);
    err_t e = transactions_put(t, &out, on_put, p, &p->at);
    if (e) {
        refused(p, half, m, facts, e);
    } else {
        p->bytes = (size_t)p->at.size;
        t->putting_bytes += p->bytes;
        note_names(p, facts);
        if (deed == ASK) write_question(p, &out, facts);
        if (deed == ASK)
            log_debug("transaction.asked group=\"%.*s\" key=\"%.*s\" topic=\"%.*s\" queue_offset=%lld time=%d", SLICE_ARG(facts->group),
                     SLICE_ARG(facts->unique_key), SLICE_ARG(facts->topic), (long long)p->at.queue_offset, half->checks + 1);
    }
    buf_done(&text);
}

/* --- the record of a half message --- */

static void lost(struct transactions *t, struct half *half)
{
    log_warn("transaction.lost queue_offset=%lld log_offset=%lld why=\"its record is gone or damaged\"", (long long)half->queue_offset,
             (long long)half->log_offset);
    transactions_forget(t, half);
}

/* False: not in memory. */
static bool act(struct transactions *t, struct half *half, enum deed deed)
{
    struct broker *b = t->broker;
    struct pinned record;
    struct message m;
    struct half_facts facts;
    err_t e = store_record_at(b->store, half->log_offset, &record);
    if (e) {
        bool cold = store_is_cold(b->store);
        err_drop(e, "fetched, or told as lost");
        if (!cold) lost(t, half);
        return !cold;
    }
    if (record_read(record.bytes, &m) != RECORD_WHOLE || !half_facts_read(&m, &facts)) {
        lost(t, half);
    } else if (!half->sure && deed != PUT_BACK) {
        transactions_look_up(t, half, &m, &facts, deed == ASK);
    } else {
        if (deed == GIVE_UP) topics_ensure(b->topics, GIVEN_UP_TOPIC, 1, PERM_READ | PERM_WRITE, false, 0);
        put(t, half, &m, &facts, deed);
    }
    pin_release(&record);
    return true;
}

/* One that is not in memory is looked at again as part of a round, which fetches it. */
void checks_ask(struct transactions *t, struct half *half)
{
    if (act(t, half, ASK)) return;
    t->round_again = true;
    if (!t->round_runs && !t->broker->stopping) timer_start(t->broker->tasks, &t->slice, SLICE_MS);
}

/* --- rounds --- */

static enum deed deed_for(struct transactions *t, const struct half *half)
{
    const struct config *cfg = t->broker->cfg;
    int64_t age_ms = clamped_minus(tasks_wall_ms(t->broker->tasks), half->born_ms);
    int64_t immune_ms = half->immunity_ms >= 0 ? half->immunity_ms : cfg->broker.transaction_timeout_ms;
    if (half->checks >= cfg->broker.transaction_check_max || age_ms > cfg->store.clean_reserved_hours * HOUR_MS) return GIVE_UP;
    if (age_ms > immune_ms || age_ms < 0) return ASK;   /* the clock of a producer may be ahead of ours */
    int64_t behind_max = BEHIND_MAX + BEHIND_OPEN * (int64_t)t->halves.count;
    return t->halves.next - half->queue_offset > behind_max ? PUT_BACK : LEAVE;
}

static void on_fetched(struct disk_wait *w, bool stopping)
{
    struct transactions *t = LIST_OWNER(w, struct transactions, round_disk);
    t->round_fetches = false;
    if (!stopping) go_on(t);
}

/* What was reached in an earlier round counts when the log is on disk up to there. */
static void note_progress(struct transactions *t)
{
    if (t->reached.log_end && store_log_flushed(t->broker->store) >= t->reached.log_end) transactions_commit_progress(t, &t->reached);
    t->reached = transactions_progress(t);
    t->reached.log_end = store_log_max(t->broker->store);
}

static bool is_idle(const struct transactions *t)
{
    return !t->halves.count && t->reached.half_offset == t->committed.half_offset && t->reached.op_offset == t->committed.op_offset;
}

/* One line for what happened since the last one. */
static void tell_round(struct transactions *t)
{
    if (t->round_asked || t->round_given_up)
        log_info("transaction.round open=%zu asked=%u given_up=%u", t->halves.count, t->round_asked, t->round_given_up);
    t->round_asked = t->round_given_up = 0;
}

static void end_round(struct transactions *t)
{
    if (t->round_again) {
        t->round_again = false;
        halves_walk_again(&t->halves);
        timer_start(t->broker->tasks, &t->slice, SLICE_MS);
        return;
    }
    t->round_runs = false;
    tell_round(t);
    note_progress(t);
    if (!is_idle(t)) checks_arm(t);
}

static bool is_crowded(const struct transactions *t) { return t->putting_bytes > PUTTING_MAX || t->lookup_count >= LOOKUPS_MAX; }

void checks_resume(struct transactions *t)
{
    if (!t->round_waits || is_crowded(t) || t->broker->stopping) return;
    t->round_waits = false;
    timer_start(t->broker->tasks, &t->slice, SLICE_MS);
}

static void go_on(struct transactions *t)
{
    struct half *half;
    int looks = 0, deeds = 0;
    while ((half = halves_walk_next(&t->halves))) {
        enum deed deed = half->busy ? LEAVE : deed_for(t, half);
        if (is_crowded(t)) {
            halves_walk_back(&t->halves, half);
            t->round_waits = true;
            return;
        }
        if (deeds == DEEDS_AT_ONCE || looks++ == LOOKS_AT_ONCE) {
            halves_walk_back(&t->halves, half);
            timer_start(t->broker->tasks, &t->slice, SLICE_MS);
            return;
        }
        if (deed == LEAVE) continue;
        deeds++;
        if (act(t, half, deed)) continue;
        halves_walk_back(&t->halves, half);
        t->round_disk.go_on = on_fetched;
        t->round_fetches = true;
        disk_wait(t->broker, &t->round_disk);
        return;
    }
    end_round(t);
}

static void on_slice(void *ctx)
{
    struct transactions *t = ctx;
    if (t->round_fetches) return;
    if (!t->round_runs) halves_walk_again(&t->halves);   /* it had ended */
    t->round_runs = true;
    go_on(t);
}

static void on_round(void *ctx)
{
    struct transactions *t = ctx;
    if (!t->ready || t->round_runs) {
        checks_arm(t);
        return;
    }
    t->round_runs = true;
    halves_walk(&t->halves);
    go_on(t);
}

void checks_init(struct transactions *t)
{
    timer_init(&t->round, on_round, t);
    timer_init(&t->slice, on_slice, t);
}

void checks_end(struct transactions *t)
{
    timer_stop(t->broker->tasks, &t->round);
    timer_stop(t->broker->tasks, &t->slice);
}

void checks_arm(struct transactions *t)
{
    if (!t->round.armed && !t->broker->stopping) timer_start(t->broker->tasks, &t->round, t->broker->cfg->broker.transaction_check_ms);
}
