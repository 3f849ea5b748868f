/* Pops beside a model: messages are sent, popped in any number, acknowledged one by one or together, kept longer, left alone until their time is
 * over, moved back and forth by an administrator, deleted with their topic; kills, power cuts and stops in between. Each message that lies
 * somewhere is handed out once; while it is out nobody else gets it; acknowledged, it is gone; not acknowledged, it is in the retry topic once,
 * tried once more.
 * SEEDS=n runs n seeds of each kind, SEED=n that one. */
#include "flow/pop_kit.h"

#include "os/random.h"

#include <stdio.h>
#include <stdlib.h>

enum { QUEUES = 2, STEPS = 90, SEEDS = 6, PLACES_MAX = 4000, LATE_MS = 2500 };
/* What an administrator does is answered at once, and on disk a little later. */
enum { WRITTEN_MS = 60 };
enum state { UNSEEN, OUT, ACKED, GONE };

/* A message where it lies: in its topic, or as a retry of itself. */
struct place {
    int id;
    int generation;             /* of the topic */
    enum pop_kind kind;
    int32_t queue_id;
    int64_t offset;
    int32_t tries;              /* reconsumeTimes */
    enum state state;
    bool sure;                  /* of ACKED: it will not come back; of UNSEEN: it will come */
    bool came_back;             /* of OUT, whose time was over: its retry was seen */
    int64_t until_ms;
    struct popped_message message;
};

struct run {
    struct flow *f;
    struct random random;
    bool sync;
    int sent;
    int generation;
    bool unheard;               /* a pop whose answer nobody heard, or a mark that may be lost */
    struct place places[PLACES_MAX];
    size_t count;
    struct popped_message stale[64];
    size_t stale_count;
};

static uint32_t draw(struct run *r, uint32_t below) { return random_below(&r->random, below); }
static int64_t now(const struct run *r) { return tasks_wall_ms(rpc_tasks(r->f->loop)); }

/* For who looks at one seed. */
static void tell(const struct run *r, const char *what, int64_t n)
{
    if (getenv("SEED")) printf("%lld %s %lld\n", (long long)now(r), what, (long long)n);
}

static struct place *add_place(struct run *r)
{
    EXPECT(r->count < PLACES_MAX);
    struct place *p = &r->places[r->count++];
    *p = (struct place){.generation = r->generation};
    return p;
}

static struct place *find_place(struct run *r, enum pop_kind kind, int32_t queue_id, int64_t offset)
{
    for (size_t i = 0; i < r->count; i++) {
        struct place *p = &r->places[i];
        if (p->generation == r->generation && p->kind == kind && p->queue_id == queue_id && p->offset == offset) return p;
    }
    return NULL;
}

/* --- what comes out --- */

static void show(const struct run *r, const char *what, const struct popped_message *m)
{
    printf("%s at %lld: body %.*s %s %d@%lld tries %d\n", what, (long long)now(r), SLICE_ARG(m->m.body), m->topic, m->m.queue_id,
           (long long)m->m.queue_offset, m->m.reconsume_times);
    for (size_t i = 0; i < r->count; i++) {
        const struct place *p = &r->places[i];
        int32_t id;
        if (!slice_to_i32(m->m.body, &id) || p->id != id || p->generation != r->generation) continue;
        printf("  kind %d %d@%lld tries %d state %d sure %d came back %d until %lld\n", p->kind, p->queue_id, (long long)p->offset, p->tries, p->state,
               p->sure, p->came_back, (long long)p->until_ms);
    }
}

/* What the retry m is one of: a message that was out too long, or one of a pop that nobody heard of. */
static bool find_source(struct run *r, int id, int32_t tries, int64_t at_ms)
{
    struct place *maybe = NULL;
    for (size_t i = 0; i < r->count; i++) {
        struct place *p = &r->places[i];
        if (p->id != id || p->generation != r->generation || p->tries != tries || p->came_back) continue;
        if (p->state == OUT && p->until_ms <= at_ms) {
            p->came_back = true;
            return true;
        }
        if ((p->state == ACKED && !p->sure) || (p->state == GONE && !p->sure) || (p->state == UNSEEN && r->unheard)) maybe = p;
    }
    if (!maybe && r->unheard && tries > 0) return find_source(r, id, tries - 1, at_ms);   /* a retry that an unheard pop took */
    if (!maybe) return false;
    maybe->state = OUT;
    maybe->came_back = true;
    return true;
}

/* After a crash the store finds the records of a deleted topic again, and one of the same name that is made anew may have them. */
static bool is_older(const struct run *r, int id)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->places[i].id == id && r->places[i].kind == POP_NORMAL) return r->places[i].generation < r->generation;
    return false;
}

static void take(struct run *r, const struct popped *popped, const struct popped_message *m)
{
    int32_t id;
    EXPECT(slice_to_i32(m->m.body, &id));
    tell(r, m->topic, m->m.queue_offset);
    struct place *p = find_place(r, m->handle.kind, m->m.queue_id, m->m.queue_offset);
    if (!p) {
        p = add_place(r);
        p->id = id;
        p->kind = m->handle.kind;
        p->queue_id = m->m.queue_id;
        p->offset = m->m.queue_offset;
        p->tries = m->m.reconsume_times;
        p->state = GONE;
        p->sure = true;
        bool good = p->kind != POP_NORMAL && (is_older(r, id) || find_source(r, id, p->tries - 1, popped->reply.pop_time));
        if (!good) show(r, "nobody's retry", m);
        EXPECT(good);
    } else {
        if (p->state != UNSEEN) show(r, "handed out twice", m);
        EXPECT_EQ(p->state, UNSEEN);
        EXPECT_EQ(p->id, id);
        EXPECT_EQ(p->tries, m->m.reconsume_times);
    }
    p->state = OUT;
    p->came_back = false;
    p->until_ms = popped->reply.pop_time + popped->reply.invisible_time;
    p->message = *m;
    if (!is_older(r, id)) return;
    EXPECT_EQ(pop_ack(r->f, "G", m), RESPONSE_SUCCESS);   /* nobody says what becomes of these */
    p->state = GONE;
}

static struct pop_header any_pop(struct run *r)
{
    struct pop_header h = pop_fields(r->f);
    h.max_msg_nums = 1 + (int32_t)draw(r, draw(r, 3) ? 4 : 32);
    h.invisible_time = draw(r, 5) ? 300 + draw(r, 6000) : draw(r, 100);
    if (draw(r, 3) == 0) h.queue_id = (int32_t)draw(r, QUEUES);
    if (draw(r, 4) == 0) h.poll_time = draw(r, 500);
    return h;
}

static size_t pop_some(struct run *r, const struct pop_header *h)
{
    struct popped p = pop_with(r->f, h);
    EXPECT(p.code == RESPONSE_SUCCESS || p.code == RESPONSE_POLLING_TIMEOUT);
    tell(r, "popped", (int64_t)p.count);
    for (size_t i = 0; i < p.count; i++) take(r, &p, &p.messages[i]);
    return p.count;
}

/* --- what becomes of it --- */

static struct place *any_out(struct run *r)
{
    size_t n = 0;
    struct place *chosen = NULL;
    for (size_t i = 0; i < r->count; i++) {
        struct place *p = &r->places[i];
        if (p->generation == r->generation && p->state == OUT && !p->came_back && !draw(r, (uint32_t)++n)) chosen = p;
    }
    return chosen;
}

/* Acknowledged before its time was over, it is gone for good; after that, it depends. */
static void note_ack(struct run *r, struct place *p, bool heard)
{
    bool in_time = now(r) < p->until_ms;
    p->state = ACKED;
    p->sure = in_time && heard;
}

static void ack_one(struct run *r)
{
    struct place *p = any_out(r);
    if (!p) return;
    EXPECT_EQ(pop_ack(r->f, "G", &p->message), RESPONSE_SUCCESS);
    note_ack(r, p, true);
    if (draw(r, 8) == 0) EXPECT_EQ(pop_ack(r->f, "G", &p->message), RESPONSE_SUCCESS);
}

static void ack_many(struct run *r)
{
    struct popped_message messages[POPPED_MAX];
    struct place *places[POPPED_MAX];
    size_t n = 0, wanted = 1 + draw(r, POPPED_MAX);
    for (size_t i = 0; i < r->count && n < wanted; i++) {
        struct place *p = &r->places[i];
        if (p->generation != r->generation || p->state != OUT || p->came_back || draw(r, 2)) continue;
        messages[n] = p->message;
        places[n++] = p;
    }
    if (!n) return;
    EXPECT_EQ(pop_ack_batch(r->f, "G", messages, n), RESPONSE_SUCCESS);
    for (size_t i = 0; i < n; i++) note_ack(r, places[i], true);
}

static void keep_stale(struct run *r, const struct popped_message *m)
{
    if (r->stale_count < sizeof r->stale / sizeof *r->stale) r->stale[r->stale_count++] = *m;
}

static void change_one(struct run *r)
{
    struct place *p = any_out(r);
    if (!p) return;
    struct popped_message old = p->message;
    bool in_time = now(r) + 20 < p->until_ms;
    int32_t code = pop_change(r->f, "G", &p->message, draw(r, 6000));
    if (in_time) EXPECT_EQ(code, RESPONSE_SUCCESS);
    if (code != RESPONSE_SUCCESS) return;
    p->until_ms = receipt_handle_ends_ms(&p->message.handle);
    keep_stale(r, &old);
}

/* Handles that were replaced, or whose time is long over, change nothing, whatever the answer. */
static void use_stale(struct run *r)
{
    if (!r->stale_count) return;
    struct popped_message m = r->stale[draw(r, (uint32_t)r->stale_count)];
    if (draw(r, 2)) pop_ack(r->f, "G", &m);
    else pop_change(r->f, "G", &m, 1000);
}

/* --- what producers do --- */

static void send_one(struct run *r, int32_t queue_id)
{
    char body[16];
    struct place *p = add_place(r);
    p->queue_id = queue_id;
    p->id = r->sent++;
    p->sure = true;
    snprintf(body, sizeof body, "%d", p->id);
    struct sent s = flow_send(r->f, "T", p->queue_id, "KEYS=k", body);
    EXPECT_EQ(s.code, RESPONSE_SUCCESS);
    p->offset = s.queue_offset;
}

static void send_some(struct run *r)
{
    for (uint32_t n = 1 + draw(r, 5); n; n--) send_one(r, (int32_t)draw(r, QUEUES));
}

/* --- what administrators do --- */

static void reset(struct run *r)
{
    int32_t queue_id = (int32_t)draw(r, QUEUES);
    int64_t max = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct place *p = &r->places[i];
        if (p->generation == r->generation && p->kind == POP_NORMAL && p->queue_id == queue_id && p->offset >= max) max = p->offset + 1;
    }
    int64_t to = draw(r, (uint32_t)max + 1);
    struct reset_offset_header h = {.topic = SLICE("T"), .group = SLICE("G"), .is_force = true, .queue_id = queue_id, .offset = to};
    header_set(&h, reset_offset, queue_id);
    header_set(&h, reset_offset, offset);
    int32_t code = flow_code(r->f, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, &reset_offset_kind, &h, "", NULL);
    if (code != RESPONSE_SUCCESS) return;   /* the group is not known yet */
    tell(r, "reset of queue", queue_id);
    tell(r, "reset to", to);
    sim_run_for(r->f->sim, WRITTEN_MS);
    for (size_t i = 0; i < r->count; i++) {
        struct place *p = &r->places[i];
        if (p->generation != r->generation || p->kind != POP_NORMAL || p->queue_id != queue_id) continue;
        bool over = p->state == OUT && p->until_ms <= now(r) && !p->came_back;
        if (over || (p->state == ACKED && !p->sure) || (p->state == UNSEEN && r->unheard)) {
            /* its retry may be there already: another place tells of it */
            struct place *was = add_place(r);
            *was = *p;
            was->kind = POP_KINDS;
            was->state = GONE;
            was->sure = false;
        }
        if (p->state == OUT) keep_stale(r, &p->message);
        p->state = p->offset >= to ? UNSEEN : GONE;
        p->sure = true;
        p->came_back = false;
    }
}

/* Each queue gets a message, and a clean stop follows: after a crash the store finds the records of a deleted topic again, and queues of the
 * same name that are empty would have them. */
static void delete_topic(struct run *r)
{
    struct delete_topic_header h = {.topic = SLICE("T")};
    EXPECT_EQ(flow_code(r->f, REQUEST_DELETE_TOPIC_IN_BROKER, &delete_topic_kind, &h, "", NULL), RESPONSE_SUCCESS);
    flow_make_topic(r->f, "T", QUEUES);
    sim_run_for(r->f->sim, WRITTEN_MS);
    tell(r, "topic made again", ++r->generation);
    for (int32_t i = 0; i < QUEUES; i++) send_one(r, i);
    flow_restart(r->f);
    r->unheard = false;
    r->stale_count = 0;
}

/* --- what befalls the broker --- */

static void stop_somehow(struct run *r)
{
    bool clean = draw(r, 4) == 0;
    tell(r, "stop, clean", clean);
    if (clean) flow_restart(r->f);
    else if (r->sync) flow_cut_power(r->f);
    else flow_crash(r->f);
}

static void pop_unheard(struct run *r)
{
    struct pop_header h = any_pop(r);
    pop_begin_by(r->f, r->f->caller, &h);
    sim_run_for(r->f->sim, draw(r, 6));
    r->unheard = true;
    stop_somehow(r);
}

static void ack_unheard(struct run *r)
{
    struct place *p = any_out(r);
    struct buf handle = BUF_EMPTY;
    if (!p) return;
    receipt_handle_write_short(&p->message.handle, &handle);
    struct ack_header h = {
        .consumer_group = SLICE("G"), .topic = slice_text(p->message.topic), .queue_id = p->message.handle.queue_id, .extra_info = buf_slice(&handle),
        .offset = p->message.handle.offset,
    };
    caller_request(r->f->caller, REQUEST_ACK_MESSAGE, &ack_kind, &h, SLICE(""));
    buf_done(&handle);
    sim_run_for(r->f->sim, draw(r, 6));
    note_ack(r, p, false);
    stop_somehow(r);
}

static void step(struct run *r)
{
    uint32_t n = draw(r, 1000);
    tell(r, "step", n);
    struct pop_header h;
    if (n < 200) send_some(r);
    else if (n < 480) h = any_pop(r), pop_some(r, &h);
    else if (n < 600) ack_one(r);
    else if (n < 680) ack_many(r);
    else if (n < 760) change_one(r);
    else if (n < 790) use_stale(r);
    else if (n < 930) sim_run_for(r->f->sim, draw(r, draw(r, 2) ? 300 : 2500));
    else if (n < 945) pop_unheard(r);
    else if (n < 960) ack_unheard(r);
    else if (n < 982) stop_somehow(r);
    else if (n < 994) reset(r);
    else delete_topic(r);
}

/* --- the end --- */

/* Everything that is not acknowledged comes back in the end, and is acknowledged then. */
static void drain(struct run *r)
{
    for (int idle = 0; idle < 8;) {
        struct pop_header h = pop_fields(r->f);
        h.invisible_time = 30000;
        size_t n = pop_some(r, &h);
        for (size_t i = 0; n && i < r->count; i++) {
            struct place *p = &r->places[i];
            if (p->generation == r->generation && p->state == OUT && !p->came_back && p->until_ms > now(r)) {
                EXPECT_EQ(pop_ack(r->f, "G", &p->message), RESPONSE_SUCCESS);
                note_ack(r, p, true);
            }
        }
        idle = n ? 0 : idle + 1;
        if (!n) sim_run_for(r->f->sim, LATE_MS);
    }
}

/* A pop that nobody heard of may have had it, and its retry was taken for that of the message before it was reset. */
static bool came_otherwise(const struct run *r, const struct place *p)
{
    for (size_t i = 0; r->unheard && i < r->count; i++) {
        const struct place *o = &r->places[i];
        if (o != p && o->generation == p->generation && o->id == p->id && o->tries == p->tries && o->came_back) return true;
    }
    return false;
}

static void expect_all(struct run *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct place *p = &r->places[i];
        if (p->generation != r->generation) continue;
        bool lost = (p->state == UNSEEN && p->sure && !came_otherwise(r, p)) || (p->state == OUT && !p->came_back);
        if (lost)
            printf("lost: id %d kind %d %d@%lld tries %d state %d until %lld\n", p->id, p->kind, p->queue_id, (long long)p->offset, p->tries, p->state,
                   (long long)p->until_ms);
        EXPECT(!lost);
    }
    EXPECT_EQ(flow_metric(r->f, "skylark_pop_out"), 0);
}

static void run_seed(uint64_t seed, bool sync)
{
    const char *const settings[] = {
        sync ? "flushDiskType=SYNC_FLUSH" : "flushDiskType=ASYNC_FLUSH", seed % 3 ? "enableRetryTopicV2=false" : "enableRetryTopicV2=true", NULL,
    };
    struct run *r = must_zero(sizeof *r);
    r->f = flow_start(settings);
    r->sync = sync;
    printf("seed %llu %s\n", (unsigned long long)seed, sync ? "sync" : "async");
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

static void run_seeds(bool sync)
{
    struct seeds seeds = flow_seeds(SEEDS);
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) run_seed(seed, sync);
}

TEST(pop_model, each_message_has_one_lease_and_one_end_through_kills) { run_seeds(false); }
TEST(pop_model, each_message_has_one_lease_and_one_end_through_power_cuts) { run_seeds(true); }
