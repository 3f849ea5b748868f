#include "broker/transaction/transaction.h"

#include "broker/handlers.h"
#include "broker/intake/intake.h"

#include "base/log.h"
#include "codec/properties.h"
#include "codec/record.h"

#include <stdlib.h>

/* Of what arrives in a turn all is read in it, as a rule: ends come as fast as half messages do. */
enum { READS_AT_ONCE = 64, READ_MESSAGES = 64, READ_BYTES = 1 << 20, LATE_MAX = 65536 };

static const struct slice group = {(const uint8_t *)"CID_RMQ_SYS_TRANS", 17};

/* --- reading the two queues --- */

static void read_queue(struct transactions *t, struct slice topic, int64_t offset, struct read_result *out)
{
    struct read_request r = {
        .topic = topic, .queue_id = 0, .offset = offset, .max_messages = READ_MESSAGES, .max_bytes = READ_BYTES, .max_scan = READ_MESSAGES,
    };
    store_read(t->broker->store, &r, out);
}

static void each_record(struct read_result *r, void (*take)(struct transactions *t, const struct message *m), struct transactions *t)
{
    for (size_t i = 0; i < r->slices; i++) {
        struct slice rest = r->slice[i].bytes;
        struct message m;
        while (rest.n && record_read(rest, &m) == RECORD_WHOLE) {
            take(t, &m);
            rest = slice_skip(rest, record_read_size(&m));
        }
    }
    read_result_release(r);
}

static void add_ended(void *ctx, int64_t offset) { halves_add_ended(ctx, offset); }

static void take_op(struct transactions *t, const struct message *m)
{
    if (!slice_eq(properties_get(m->properties, SLICE("TAGS")), SLICE("d"))) return;
    int64_t largest = ops_read(m->body, add_ended, &t->halves);
    if (largest >= 0) halves_note_op(&t->halves, m->queue_offset, largest);
}

static void show_count(struct transactions *t) { metric_set(&t->broker->metrics, METRIC_HALF_MESSAGES, (int64_t)t->halves.count); }

static void take_half(struct transactions *t, const struct message *m)
{
    struct half_facts facts;
    if (!half_facts_read(m, &facts)) {
        log_warn("transaction.not_understood queue_offset=%lld log_offset=%lld text=\"it stays where it is\"", (long long)m->queue_offset,
                 (long long)m->log_offset);
        return;
    }
    struct half copy = {
        .first_offset = facts.first_offset, .queue_offset = m->queue_offset, .log_offset = m->log_offset, .born_ms = m->born_ms,
        .immunity_ms = half_immunity_ms(&facts), .checks = facts.checks,
        .sure = m->queue_offset >= t->inherited_end || !facts.unique_key.n || !t->broker->cfg->store.index,
    };
    if (halves_see(&t->halves, &copy)) checks_arm(t);
    show_count(t);
}

/* Where to read on, or -1: that was all, or (the store is cold) it is not known yet. */
static int64_t read_some(struct transactions *t, struct slice topic, int64_t offset, void (*take)(struct transactions *t, const struct message *m))
{
    struct read_result r;
    read_queue(t, topic, offset, &r);
    if (store_is_cold(t->broker->store)) {
        read_result_release(&r);
        return -1;
    }
    each_record(&r, take, t);
    bool more = r.status == READ_FOUND || r.status == READ_NO_MATCH || r.status == READ_MESSAGE_GONE || r.status == READ_OFFSET_TOO_SMALL;
    return more && r.next_offset > offset ? r.next_offset : -1;
}

/* Returns whether there may be more; store_is_cold() tells whether it has to be fetched. */
static bool read_more(struct transactions *t)
{
    bool ops = !t->ops_read;
    int64_t *at = ops ? &t->op_end : &t->halves.next;
    int64_t next = read_some(t, ops ? OP_TOPIC : HALF_TOPIC, *at, ops ? take_op : take_half);
    if (next > *at) *at = next;   /* also over what is damaged or gone */
    if (next >= 0 || store_is_cold(t->broker->store)) return true;
    if (!ops) return false;
    halves_sort_ended(&t->halves);
    t->ops_read = true;
    return true;
}

static void begin_again(struct transactions *t, struct list *late);

static void is_read(struct transactions *t)
{
    if (!t->ready) {
        t->ready = true;
        halves_forget_ended(&t->halves);
        if (t->halves.count) log_info("transaction.open count=%zu text=\"of an earlier run\"", t->halves.count);
    }
    begin_again(t, &t->late);
}

static void on_fetched(struct disk_wait *w, bool stopping);

static void read_on(struct transactions *t)
{
    struct broker *b = t->broker;
    t->reading = true;
    for (int i = 0; i < READS_AT_ONCE; i++) {
        if (!read_more(t)) {
            t->reading = false;
            is_read(t);
            return;
        }
        if (!store_is_cold(b->store)) continue;
        t->disk.go_on = on_fetched;
        disk_wait(b, &t->disk);
        return;
    }
    timer_start(b->tasks, &t->more, 0);
}

static void on_fetched(struct disk_wait *w, bool stopping)
{
    if (!stopping) read_on(LIST_OWNER(w, struct transactions, disk));
}

static void on_more(void *ctx) { read_on(ctx); }

void transactions_arrived(struct transactions *t)
{
    if (t && !t->reading && !t->broker->stopping) read_on(t);
}

/* --- requests that came too early --- */

struct late_call {
    struct list_node node;
    struct disk_wait disk;
    struct transactions *t;
    struct call *call;
    struct frame *frame;
};

static struct late_call *late_new(struct transactions *t, struct call *call)
{
    struct late_call *late = must_zero(sizeof *late);
    late->t = t;
    late->call = call;
    late->frame = frame_copy(call->frame);
    call->frame = late->frame;
    call->body = late->frame->body;
    return late;
}

/* Also when the connection is gone meanwhile: a producer that ends a transaction waits for no answer. */
static void go_on(struct late_call *late, bool stopping)
{
    if (stopping) call_drop(late->call);
    else broker_dispatch(late->t->broker, late->call);
    free(late->frame);
    free(late);
}

void transactions_later(struct transactions *t, struct half *half, struct call *call)
{
    if (t->late_count == LATE_MAX) {
        call_fail(call, err_new(ERR_BUSY, "%d requests wait for transactions to be known", LATE_MAX));
        return;
    }
    list_add(half ? &half->late : &t->late, &late_new(t, call)->node);
    t->late_count++;
}

static void let_go_on(struct transactions *t, struct list *calls)
{
    while (!list_empty(calls)) {
        struct late_call *late = LIST_OWNER(list_first(calls), struct late_call, node);
        list_remove(&late->node);
        t->late_count--;
        go_on(late, t->broker->stopping);
    }
}

static void on_due(void *ctx)
{
    struct transactions *t = ctx;
    struct list due;
    list_move(&t->due, &due);   /* what waits again does so behind these */
    let_go_on(t, &due);
}

/* In a turn of their own: whoever tells may be in the middle of something. */
static void begin_again(struct transactions *t, struct list *late)
{
    while (!list_empty(late)) {
        struct list_node *node = list_first(late);
        list_remove(node);
        list_add(&t->due, node);
    }
    if (!list_empty(&t->due) && !t->wake.armed) timer_start(t->broker->tasks, &t->wake, 0);
}

void transactions_release(struct transactions *t, struct half *half)
{
    half->busy = false;
    begin_again(t, &half->late);
}

static void late_fetched(struct disk_wait *w, bool stopping) { go_on(LIST_OWNER(w, struct late_call, disk), stopping); }

void transactions_fetch(struct transactions *t, struct call *call)
{
    struct late_call *late = late_new(t, call);
    late->disk.go_on = late_fetched;
    disk_wait(t->broker, &late->disk);
}

/* --- looking for what an earlier run ended --- */

/* Where it may be: a message that is due later waits in one of two topics; what was asked after often enough may be given up. */
enum { IN_ITS_TOPIC, IN_SCHEDULE, IN_WHEEL, GIVEN_UP, PLACES };

struct lookup {
    struct list_node node;
    struct transactions *t;     /* NULL: the broker is going */
    int64_t name;
    int64_t born_ms;
    struct buf texts;           /* topic, then key */
    struct slice topic, key;
    int place;
    unsigned places;            /* still to be looked at: a bit for each */
    bool ask;
};

static void look(struct lookup *l);

static bool has_ended(const struct lookup *l, const struct store_found *found)
{
    for (size_t i = 0; i < found->count; i++) {
        struct message m;
        if (record_read(found->record[i].bytes, &m) != RECORD_WHOLE || m.born_ms != l->born_ms) continue;
        if (l->place == GIVEN_UP || (m.sys_flag & SYS_FLAG_TRANSACTION_MASK) == SYS_FLAG_TRANSACTION_COMMIT) return true;
    }
    return false;
}

static void lookup_free(struct lookup *l)
{
    if (l->t) list_remove(&l->node);
    if (l->t) l->t->lookup_count--;
    buf_done(&l->texts);
    free(l);
}

static void looked_up(struct lookup *l, bool ended)
{
    struct transactions *t = l->t;
    struct half *half = halves_find(&t->halves, l->name);
    half->sure = true;
    transactions_release(t, half);
    if (ended) {
        log_info("transaction.ended_before queue_offset=%lld key=\"%.*s\"", (long long)half->queue_offset, SLICE_ARG(l->key));
        transactions_ended(t, half);
    } else if (l->ask) {
        checks_ask(t, half);
    }
}

static void on_found(void *ctx, struct store_found *found)
{
    struct lookup *l = ctx;
    bool ended = l->t && has_ended(l, found);
    for (size_t i = 0; i < found->count; i++) pin_release(&found->record[i]);
    if (l->t && !ended && l->places) {
        look(l);
        return;
    }
    struct transactions *t = l->t;
    if (t) looked_up(l, ended);
    lookup_free(l);
    if (t) checks_resume(t);
}

static void look(struct lookup *l)
{
    const struct slice topic[PLACES] = {
        [IN_ITS_TOPIC] = l->topic, [IN_SCHEDULE] = SLICE("SCHEDULE_TOPIC_XXXX"), [IN_WHEEL] = SLICE("rmq_sys_wheel_timer"),
        [GIVEN_UP] = GIVEN_UP_TOPIC,
    };
    l->place = __builtin_ctz(l->places);
    l->places &= l->places - 1;
    struct store_find f = {
        .topic = topic[l->place], .key = l->key, .begin_ms = 0, .end_ms = INT64_MAX, .max = FIND_MAX,
    };
    store_find(l->t->broker->store, &f, on_found, l);
}

void transactions_look_up(struct transactions *t, struct half *half, const struct message *m, const struct half_facts *facts, bool ask)
{
    struct known_properties known;
    struct lookup *l = must_zero(sizeof *l);
    known_properties_read(m->properties, &known);
    l->t = t;
    l->name = half->first_offset;
    l->born_ms = half->born_ms;
    buf_put_slice(&l->texts, facts->topic);
    buf_put_slice(&l->texts, facts->unique_key);
    l->topic = slice_of(l->texts.p, facts->topic.n);
    l->key = slice_of(l->texts.p + facts->topic.n, facts->unique_key.n);
    l->places = 1 << IN_ITS_TOPIC;
    if (known.delay_level.n || known_has_timer(&known)) l->places |= 1 << IN_SCHEDULE | 1 << IN_WHEEL;
    if (half->checks >= t->broker->cfg->broker.transaction_check_max) l->places |= 1 << GIVEN_UP;
    l->ask = ask;
    list_add(&t->lookups, &l->node);
    t->lookup_count++;
    half->busy = true;
    look(l);
}

/* --- what ends --- */

void transactions_ended(struct transactions *t, struct half *half)
{
    ops_add(t, half);
    transactions_forget(t, half);
}

void transactions_forget(struct transactions *t, struct half *half)
{
    halves_remove(&t->halves, half);
    show_count(t);
    checks_arm(t);   /* also the progress has to be noted */
}

err_t transactions_put(struct transactions *t, struct message *m, append_done *done, void *ctx, struct appended *out)
{
    struct known_properties known;
    known_properties_read(m->properties, &known);
    intake_keys(&known, m);
    return store_append(t->broker->store, m, 1, true, done, ctx, out);
}

/* --- life --- */

/* Where an earlier run came to, at the most where the queue ends: the file of offsets may know more than a log that lost its end. */
static int64_t begin_of(struct broker *b, struct slice topic)
{
    int64_t committed = offsets_query(b->offsets, topic, group, 0), max = store_max_offset(b->store, topic, 0);
    return committed < 0 ? 0 : committed < max ? committed : max;
}

struct transactions *transactions_new(struct broker *b)
{
    struct transactions *t = must_zero(sizeof *t);
    t->broker = b;
    halves_init(&t->halves);
    list_init(&t->late);
    list_init(&t->due);
    list_init(&t->lookups);
    timer_init(&t->more, on_more, t);
    timer_init(&t->wake, on_due, t);
    ops_init(t);
    checks_init(t);
    t->halves.next = begin_of(b, HALF_TOPIC);
    t->op_end = begin_of(b, OP_TOPIC);
    t->committed = (struct transaction_progress){.half_offset = t->halves.next, .op_offset = t->op_end};
    t->inherited_end = store_max_offset(b->store, HALF_TOPIC, 0);
    read_on(t);
    return t;
}

void transactions_end(struct transactions *t)
{
    if (!t) return;
    timer_stop(t->broker->tasks, &t->more);
    timer_stop(t->broker->tasks, &t->wake);
    checks_end(t);
    let_go_on(t, &t->late);
    let_go_on(t, &t->due);
    LIST_EACH(&t->halves.open, node) let_go_on(t, &LIST_OWNER(node, struct half, node)->late);
    ops_flush(t);
    timer_stop(t->broker->tasks, &t->ops_timer);
    LIST_EACH(&t->lookups, node) {
        struct lookup *l = LIST_OWNER(node, struct lookup, node);
        list_remove(node);
        l->t = NULL;
    }
}

static void commit_one(struct broker *b, struct slice topic, int64_t offset)
{
    if (offsets_query(b->offsets, topic, group, 0) != offset) offsets_commit(b->offsets, SLICE("broker"), topic, group, 0, offset);
}

void transactions_commit_progress(struct transactions *t, const struct transaction_progress *p)
{
    commit_one(t->broker, HALF_TOPIC, p->half_offset);
    commit_one(t->broker, OP_TOPIC, p->op_offset);
    t->committed = *p;
}

struct transaction_progress transactions_progress(struct transactions *t)
{
    int64_t begin = halves_begin(&t->halves);
    return (struct transaction_progress){begin, halves_op_begin(&t->halves, begin, t->op_end), 0};
}

void transactions_free(struct transactions *t, bool clean)
{
    if (!t) return;
    if (clean && t->ready) {
        struct transaction_progress p = transactions_progress(t);
        transactions_commit_progress(t, &p);
    }
    buf_done(&t->ops);
    halves_done(&t->halves);
    free(t);
}
