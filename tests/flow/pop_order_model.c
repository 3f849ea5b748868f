/* Ordered pops beside a model: messages of several message groups are sent, popped in batches, acknowledged in any order, kept longer, left alone
 * until their time is over, moved back and forth by an administrator; kills, power cuts and stops in between. Of a class (the queue, or with
 * groupOrder its message group) one batch is out at a time, nothing comes before what is older in it and not acknowledged, nothing that is
 * acknowledged comes again, and all of it comes in the end.
 * SEEDS=n runs n seeds of each kind, SEED=n that one. */
#include "flow/pop_kit.h"

#include "codec/properties.h"
#include "os/random.h"

#include <stdio.h>
#include <stdlib.h>

enum { QUEUES = 2, KEYS = 3, STEPS = 90, SEEDS = 2, MESSAGES_MAX = 1000 };
/* What an administrator does, and what a broker without SYNC_FLUSH was told, is on disk so much later. */
enum { WRITTEN_MS = 60, FLUSHED_MS = 6000, SLACK_MS = 30 };
enum state { UNSEEN, OUT, ACKED };
#define UNHEARD_MS (INT64_MAX / 2)

struct one {
    int id;
    int key;
    enum state state;
    bool sure;                       /* of OUT: nobody else may have it; of ACKED: it does not come again */
    int64_t until_ms;                /* of OUT */
    int64_t early_ms;                /* ... or so much before: a change counts from when it came, and is answered when it is on disk */
    int64_t acked_ms;
    int attempt;                     /* of OUT: the number of its pop */
    struct popped_message message;
};

struct line {
    struct one messages[MESSAGES_MAX];   /* by offset */
    int64_t count;
};

struct run {
    struct flow *f;
    struct random random;
    bool sync, by_groups;
    int sent, attempts;
    char attempt[24];                /* of the last pop */
    struct line lines[QUEUES];
};

static uint32_t draw(struct run *r, uint32_t below) { return random_below(&r->random, below); }
static int64_t now(const struct run *r) { return tasks_wall_ms(rpc_tasks(r->f->loop)); }

static void tell(const struct run *r, const char *what, int64_t a, int64_t b)
{
    if (getenv("SEED")) printf("%lld %s %lld %lld\n", (long long)now(r), what, (long long)a, (long long)b);
}

static bool same_class(const struct run *r, const struct one *a, const struct one *b) { return !r->by_groups || a->key == b->key; }

/* --- what comes out --- */

static bool is_in(const struct popped *p, size_t before, int32_t queue_id, int64_t offset)
{
    for (size_t i = 0; i < before; i++)
        if (p->messages[i].m.queue_id == queue_id && p->messages[i].m.queue_offset == offset) return true;
    return false;
}

/* Of its class nothing older is left out, and nothing is out by another attempt. */
static void expect_turn(struct run *r, const struct popped *p, size_t at, int attempt, bool repeated)
{
    const struct popped_message *m = &p->messages[at];
    const struct line *line = &r->lines[m->m.queue_id];
    const struct one *it = &line->messages[m->m.queue_offset];
    for (int64_t k = 0; k < line->count; k++) {
        const struct one *o = &line->messages[k];
        if (!same_class(r, o, it)) continue;
        bool older = k < m->m.queue_offset && o->state != ACKED && !is_in(p, at, m->m.queue_id, k);
        bool out = o->state == OUT && o->sure && o->until_ms - o->early_ms > p->reply.pop_time + SLACK_MS && o->attempt != attempt && !repeated;
        if (older || out)
            printf("at %lld: %d@%lld key %d comes while %lld is %s until %lld\n", (long long)now(r), m->m.queue_id, (long long)m->m.queue_offset,
                   it->key, (long long)k, out ? "out" : "left out", (long long)o->until_ms);
        EXPECT(!older && !out);
    }
}

/* Of a queue as a whole what is acknowledged behind what is not comes again with it, as in the original. */
static bool may_come(const struct run *r, const struct line *line, int64_t offset)
{
    const struct one *it = &line->messages[offset];
    if (it->state != ACKED || !it->sure) return true;
    for (int64_t k = 0; !r->by_groups && k < offset; k++)
        if (line->messages[k].state != ACKED || !line->messages[k].sure) return true;
    return false;
}

static void take(struct run *r, const struct popped *p, size_t at, int attempt)
{
    const struct popped_message *m = &p->messages[at];
    struct line *line = &r->lines[m->m.queue_id];
    int32_t id;
    EXPECT(m->m.queue_offset < line->count && slice_to_i32(m->m.body, &id));
    struct one *it = &line->messages[m->m.queue_offset];
    EXPECT_EQ(it->id, id);
    tell(r, "comes", m->m.queue_id, m->m.queue_offset);
    if (!may_come(r, line, m->m.queue_offset)) printf("at %lld: %d@%lld comes again\n", (long long)now(r), m->m.queue_id, (long long)m->m.queue_offset);
    EXPECT(may_come(r, line, m->m.queue_offset));
    it->state = OUT;
    it->sure = true;
    it->until_ms = p->reply.pop_time + p->reply.invisible_time;
    it->early_ms = 0;
    it->attempt = attempt;
    it->message = *m;
}

/* What a pop took of a queue as a whole is all that is known of it: also what is acknowledged behind that comes again. */
static void only_these(struct run *r, const struct popped *p)
{
    for (int32_t q = 0; q < QUEUES && !r->by_groups; q++) {
        bool any = false;
        for (int64_t k = 0; k < r->lines[q].count; k++) {
            struct one *o = &r->lines[q].messages[k];
            if (is_in(p, p->count, q, k)) any = true;
            else if (any) o->state = UNSEEN;
        }
    }
}

/* Whether a class of the queue has something and nothing of it is out, whatever is not sure. */
static bool has_something(const struct run *r, int32_t queue_id)
{
    const struct line *line = &r->lines[queue_id];
    for (int64_t k = 0; k < line->count; k++) {
        const struct one *it = &line->messages[k];
        bool free = it->state == UNSEEN;
        for (int64_t o = 0; free && o < line->count; o++) {
            const struct one *other = &line->messages[o];
            bool may_be_out = other->state == OUT && other->until_ms + SLACK_MS > now(r);
            free = !(same_class(r, it, other) && (may_be_out || (other->state == ACKED && !other->sure) || other->until_ms == UNHEARD_MS));
        }
        if (free) return true;
    }
    return false;
}

static struct pop_header any_pop(struct run *r, bool repeats)
{
    struct pop_header h = pop_fields(r->f);
    h.order = true;
    header_set(&h, pop, order);
    h.group_order = r->by_groups;
    if (r->by_groups) header_set(&h, pop, group_order);
    h.max_msg_nums = 1 + (int32_t)draw(r, draw(r, 3) ? 4 : 32);
    h.invisible_time = 300 + draw(r, 5000);
    h.queue_id = draw(r, 3) ? (int32_t)draw(r, QUEUES) : -1;
    if (!repeats) snprintf(r->attempt, sizeof r->attempt, "attempt-%d", ++r->attempts);
    h.attempt_id = slice_text(r->attempt);
    return h;
}

static size_t pop_with_header(struct run *r, const struct pop_header *h, bool repeats)
{
    bool something = h->queue_id >= 0 && has_something(r, h->queue_id);
    struct popped p = pop_with(r->f, h);
    tell(r, "popped", h->queue_id, (int64_t)p.count);
    EXPECT(p.code == RESPONSE_SUCCESS || p.code == RESPONSE_POLLING_TIMEOUT);
    if (something && !p.count) printf("at %lld: queue %d has something, and nothing comes\n", (long long)now(r), h->queue_id);
    EXPECT(!something || p.count);
    for (size_t i = 0; i < p.count; i++) expect_turn(r, &p, i, r->attempts, repeats);
    for (size_t i = 0; i < p.count; i++) take(r, &p, i, r->attempts);
    only_these(r, &p);
    return p.count;
}

/* --- what becomes of it --- */

static struct one *any_out(struct run *r)
{
    size_t n = 0;
    struct one *chosen = NULL;
    for (int q = 0; q < QUEUES; q++)
        for (int64_t k = 0; k < r->lines[q].count; k++)
            if (r->lines[q].messages[k].state == OUT && r->lines[q].messages[k].until_ms != UNHEARD_MS && !draw(r, (uint32_t)++n)) chosen = &r->lines[q].messages[k];
    return chosen;
}

static void ack_one(struct run *r, struct one *it)
{
    EXPECT_EQ(pop_ack(r->f, "G", &it->message), RESPONSE_SUCCESS);
    tell(r, "acked", it->message.handle.queue_id, it->message.handle.offset);
    it->state = ACKED;
    it->acked_ms = now(r);
}

static void ack_all(struct run *r)
{
    for (int q = 0; q < QUEUES; q++)
        for (int64_t k = 0; k < r->lines[q].count; k++)
            if (r->lines[q].messages[k].state == OUT && r->lines[q].messages[k].until_ms != UNHEARD_MS && r->lines[q].messages[k].sure) ack_one(r, &r->lines[q].messages[k]);
}

static void change_one(struct run *r)
{
    struct one *it = any_out(r);
    if (!it || !it->sure) return;
    int64_t ms = draw(r, 5000), begun_ms = now(r);
    EXPECT_EQ(pop_change(r->f, "G", &it->message, ms), RESPONSE_SUCCESS);
    it->until_ms = now(r) + ms;
    it->early_ms = now(r) - begun_ms;
    tell(r, "changed", it->message.handle.offset, ms);
}

static void send_some(struct run *r)
{
    for (uint32_t n = 1 + draw(r, 5); n; n--) {
        int32_t q = (int32_t)draw(r, QUEUES);
        struct line *line = &r->lines[q];
        struct one *it = &line->messages[line->count++];
        char properties[40], body[16];
        EXPECT(line->count < MESSAGES_MAX);
        *it = (struct one){.id = r->sent++, .key = (int)draw(r, KEYS)};
        snprintf(properties, sizeof properties, "__SHARDINGKEY=g%d", it->key);
        snprintf(body, sizeof body, "%d", it->id);
        EXPECT_EQ(flow_send(r->f, "T", q, properties, body).code, RESPONSE_SUCCESS);
    }
}

static void reset(struct run *r)
{
    int32_t q = (int32_t)draw(r, QUEUES);
    int64_t to = draw(r, (uint32_t)r->lines[q].count + 1);
    struct reset_offset_header h = {.topic = SLICE("T"), .group = SLICE("G"), .is_force = true, .queue_id = q, .offset = to};
    header_set(&h, reset_offset, queue_id);
    header_set(&h, reset_offset, offset);
    if (flow_code(r->f, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, &reset_offset_kind, &h, "", NULL) != RESPONSE_SUCCESS) return;
    tell(r, "reset", q, to);
    sim_run_for(r->f->sim, WRITTEN_MS);
    for (int64_t k = 0; k < r->lines[q].count; k++) {
        struct one *it = &r->lines[q].messages[k];
        it->state = k < to ? ACKED : UNSEEN;
        it->sure = true;
        it->until_ms = 0;
        it->acked_ms = 0;
    }
}

/* --- what befalls the broker --- */

/* Without SYNC_FLUSH a killed broker has forgotten what it was told in the last seconds. */
static void forget_some(struct run *r)
{
    for (int q = 0; q < QUEUES; q++) {
        for (int64_t k = 0; k < r->lines[q].count; k++) {
            struct one *it = &r->lines[q].messages[k];
            if (it->state == OUT || (it->state == ACKED && it->acked_ms > now(r) - FLUSHED_MS)) it->sure = false;
        }
    }
}

static void stop_somehow(struct run *r)
{
    bool clean = draw(r, 4) == 0, power = draw(r, 2);
    tell(r, "stop", clean, power);
    if (clean) flow_restart(r->f);
    else if (r->sync && power) flow_cut_power(r->f);
    else flow_crash(r->f);
    if (!clean && !r->sync) forget_some(r);
}

/* Whatever it could have taken may be out, until it is seen again. */
static void pop_unheard(struct run *r)
{
    struct pop_header h = any_pop(r, false);
    pop_begin_by(r->f, r->f->caller, &h);
    sim_run_for(r->f->sim, draw(r, 6));
    for (int q = 0; q < QUEUES; q++) {
        if (h.queue_id >= 0 && h.queue_id != q) continue;
        for (int64_t k = 0; k < r->lines[q].count; k++) {
            struct one *it = &r->lines[q].messages[k];
            if (it->state == ACKED || (it->state == OUT && it->sure && it->until_ms > now(r) + 100)) continue;
            it->state = OUT;
            it->sure = false;
            it->until_ms = UNHEARD_MS;   /* there is no handle of it */
        }
    }
    stop_somehow(r);
}

static void ack_unheard(struct run *r)
{
    struct one *it = any_out(r);
    struct buf handle = BUF_EMPTY;
    if (!it) return;
    receipt_handle_write_short(&it->message.handle, &handle);
    struct ack_header h = {
        .consumer_group = SLICE("G"), .topic = SLICE("T"), .queue_id = it->message.handle.queue_id, .extra_info = buf_slice(&handle),
        .offset = it->message.handle.offset,
    };
    caller_request(r->f->caller, REQUEST_ACK_MESSAGE, &ack_kind, &h, SLICE(""));
    buf_done(&handle);
    sim_run_for(r->f->sim, draw(r, 6));
    it->state = ACKED;
    it->sure = false;
    it->acked_ms = now(r);
    stop_somehow(r);
}

static void step(struct run *r)
{
    uint32_t n = draw(r, 1000);
    bool repeats = n < 230 && r->attempts;
    struct pop_header h;
    tell(r, "step", n, 0);
    if (n < 200) send_some(r);
    else if (n < 500) h = any_pop(r, repeats), pop_with_header(r, &h, repeats);
    else if (n < 640) {
        struct one *it = any_out(r);
        if (it && it->sure) ack_one(r, it);
    }
    else if (n < 720) ack_all(r);
    else if (n < 780) change_one(r);
    else if (n < 930) sim_run_for(r->f->sim, draw(r, draw(r, 2) ? 300 : 2500));
    else if (n < 945) pop_unheard(r);
    else if (n < 960) ack_unheard(r);
    else if (n < 985) stop_somehow(r);
    else reset(r);
}

/* --- the end --- */

static void drain(struct run *r)
{
    for (int idle = 0; idle < 4;) {
        sim_run_for(r->f->sim, 2000);
        size_t n = 0;
        for (int q = 0; q < QUEUES; q++) {
            struct pop_header h = any_pop(r, false);
            h.max_msg_nums = 32;
            h.invisible_time = 20000;
            h.queue_id = q;
            n += pop_with_header(r, &h, false);
        }
        ack_all(r);
        idle = n ? 0 : idle + 1;
    }
}

static void expect_all(struct run *r)
{
    for (int q = 0; q < QUEUES; q++) {
        for (int64_t k = 0; k < r->lines[q].count; k++) {
            const struct one *it = &r->lines[q].messages[k];
            if (it->state != ACKED) printf("lost: %d@%lld key %d state %d until %lld\n", q, (long long)k, it->key, it->state, (long long)it->until_ms);
            EXPECT_EQ(it->state, ACKED);
        }
        if (r->lines[q].count) EXPECT_EQ(flow_offset(r->f, "G", "T", q), r->lines[q].count);
    }
}

static void run_seed(uint64_t seed, bool sync, bool by_groups)
{
    const char *const settings[] = {sync ? "flushDiskType=SYNC_FLUSH" : "flushDiskType=ASYNC_FLUSH", NULL};
    struct run *r = must_zero(sizeof *r);
    r->f = flow_start(settings);
    r->sync = sync;
    r->by_groups = by_groups;
    printf("seed %llu %s %s\n", (unsigned long long)seed, sync ? "sync" : "async", by_groups ? "groups" : "queues");
    random_init(&r->random, seed);
    flow_make_topic(r->f, "T", QUEUES);
    for (int i = 0; i < STEPS; i++) step(r);
    drain(r);
    if (draw(r, 2)) stop_somehow(r);
    drain(r);
    expect_all(r);
    flow_stop(r->f);
    free(r);
}

static void run_seeds(bool sync, bool by_groups)
{
    struct seeds seeds = flow_seeds(SEEDS);
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) run_seed(seed, sync, by_groups);
}

TEST(pop_order_model, a_queue_has_one_batch_out_and_keeps_its_order_through_kills) { run_seeds(false, false); }
TEST(pop_order_model, a_queue_has_one_batch_out_and_keeps_its_order_through_power_cuts) { run_seeds(true, false); }
TEST(pop_order_model, a_message_group_has_one_batch_out_and_keeps_its_order_through_kills) { run_seeds(false, true); }
TEST(pop_order_model, a_message_group_has_one_batch_out_and_keeps_its_order_through_power_cuts) { run_seeds(true, true); }
