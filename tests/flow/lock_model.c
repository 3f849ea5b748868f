/* Random clients that lock queues, ask again, let go and fall silent, with stops, crashes and power cuts in between, against what is written
 * down by hand: a queue has one owner at the most, who keeps it until it lets go or was silent for LOCK_LIVES_MS, over a clean stop as well.
 * SEED=n SEEDS=m run others than the first ones. */
#include "flow/flow.h"

#include "broker/locks/locks.h"
#include "codec/body_queue.h"
#include "os/random.h"

#include <stdio.h>
#include <stdlib.h>

enum { CLIENTS = 3, GROUPS = 2, TOPICS = 2, QUEUES = 3, PLACES = GROUPS * TOPICS * QUEUES, STEPS = 60 };
enum { NOBODY = -1, CALL_MS = 1000 };   /* CALL_MS: within the moments a request takes, either answer is right */

struct model {
    struct flow *f;
    struct random random;
    int owner[PLACES];          /* a client, or NOBODY */
    int64_t heard_ms[PLACES];   /* when the owner asked last */
    int taken_over, refused, kept_over_stop;
};

enum state { FREE, HELD, UNSURE };

static int64_t now_ms(const struct model *m) { return sim_now_ms(m->f->sim); }

static enum state state_of(const struct model *m, int place)
{
    int64_t silent_ms = now_ms(m) - m->heard_ms[place];
    if (m->owner[place] == NOBODY || silent_ms > LOCK_LIVES_MS + CALL_MS) return FREE;
    return silent_ms < LOCK_LIVES_MS - CALL_MS ? HELD : UNSURE;
}

static int place_of(int group, int topic, int queue) { return (group * TOPICS + topic) * QUEUES + queue; }

/* Bit i: queue i. */
static uint32_t ask(struct model *m, bool unlock, int client, int group, int topic, uint32_t queues)
{
    char body[640];
    int n = snprintf(body, sizeof body, "{\"clientId\":\"C%d\",\"consumerGroup\":\"G%d\",\"mqSet\":[", client, group);
    const char *mark = "";
    for (int i = 0; i < QUEUES; i++) {
        if (!(queues >> i & 1)) continue;
        n += snprintf(body + n, sizeof body - (size_t)n, "%s{\"brokerName\":\"broker-a\",\"queueId\":%d,\"topic\":\"T%d\"}", mark, i, topic);
        mark = ",";
    }
    snprintf(body + n, sizeof body - (size_t)n, "]}");
    struct answer *a = caller_call(m->f->caller, unlock ? REQUEST_UNLOCK_BATCH_MQ : REQUEST_LOCK_BATCH_MQ, NULL, NULL, slice_text(body));
    struct lock_reply reply = {.queues = {NULL, 0}};
    struct arena arena = ARENA_EMPTY;
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    if (!unlock) EXPECT_OK(bean_decode(&lock_reply_bean, a->frame.body, &arena, "locks", &reply));
    uint32_t got = 0;
    for (size_t i = 0; i < reply.queues.count; i++) {
        const struct message_queue *q = &reply.queues.items[i];
        EXPECT(q->queue_id >= 0 && q->queue_id < QUEUES && q->topic.n == 2 && q->topic.p[1] == '0' + topic);
        EXPECT(!(got >> q->queue_id & 1));
        got |= 1u << q->queue_id;
    }
    answer_free(a);
    arena_done(&arena);
    return got;
}

static void check_lock(struct model *m, int client, int place, bool got)
{
    enum state before = state_of(m, place);
    bool mine = m->owner[place] == client;
    if (before == HELD) EXPECT_EQ(got, mine);
    if (before == FREE || mine) EXPECT(got);
    m->refused += !got;
    if (!got) return;
    m->taken_over += m->owner[place] != NOBODY && !mine;
    m->owner[place] = client;
    m->heard_ms[place] = now_ms(m);
}

static void lock_some(struct model *m)
{
    int client = (int)random_below(&m->random, CLIENTS), group = (int)random_below(&m->random, GROUPS), topic = (int)random_below(&m->random, TOPICS);
    uint32_t queues = random_below(&m->random, 1u << QUEUES);
    uint32_t got = ask(m, false, client, group, topic, queues);
    EXPECT_EQ(got & ~queues, 0);
    for (int i = 0; i < QUEUES; i++)
        if (queues >> i & 1) check_lock(m, client, place_of(group, topic, i), got >> i & 1);
}

/* One that is not the owner changes nothing; one that was silent for too long may still be known as the owner. */
static void unlock_some(struct model *m)
{
    int client = (int)random_below(&m->random, CLIENTS), group = (int)random_below(&m->random, GROUPS), topic = (int)random_below(&m->random, TOPICS);
    uint32_t queues = random_below(&m->random, 1u << QUEUES);
    ask(m, true, client, group, topic, queues);
    for (int i = 0; i < QUEUES; i++) {
        int place = place_of(group, topic, i);
        if (queues >> i & 1 && m->owner[place] == client) m->owner[place] = NOBODY;
    }
}

/* What the broker tells of who holds a queue, and for how long it was silent. */
static void check_told(struct model *m)
{
    int group = (int)random_below(&m->random, GROUPS), topic = (int)random_below(&m->random, TOPICS), queue = (int)random_below(&m->random, QUEUES);
    int place = place_of(group, topic, queue);
    char group_name[4], topic_name[4], holder[32];
    snprintf(group_name, sizeof group_name, "G%d", group);
    snprintf(topic_name, sizeof topic_name, "T%d", topic);
    snprintf(holder, sizeof holder, "\"lockHolder\":\"C%d\"", m->owner[place]);
    struct why_queue_header h = {.consumer_group = slice_text(group_name), .topic = slice_text(topic_name), .queue_id = queue};
    struct answer *a = caller_call(m->f->caller, REQUEST_WHY_QUEUE, &why_queue_kind, &h, SLICE(""));
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    char *text = must_dup(a->frame.body);
    enum state state = state_of(m, place);
    if (state == FREE) EXPECT(!strstr(text, "\"lockHolder\""));
    if (state == HELD) {
        const char *silent = strstr(text, "\"lockSilentMs\":\"");
        EXPECT(strstr(text, holder) && silent);
        int64_t off = atoll(silent + strlen("\"lockSilentMs\":\"")) - (now_ms(m) - m->heard_ms[place]);
        EXPECT(off > -CALL_MS && off < CALL_MS);
    }
    free(text);
    answer_free(a);
}

/* Who held a queue holds it still. */
static void stop_and_start(struct model *m)
{
    for (int i = 0; i < PLACES; i++) m->kept_over_stop += state_of(m, i) == HELD;
    flow_restart(m->f);
}

/* As in the original a kill forgets all locks. */
static void forget_all(struct model *m)
{
    for (int i = 0; i < PLACES; i++) m->owner[i] = NOBODY;
}

static void crash(struct model *m)
{
    if (random_below(&m->random, 2)) flow_crash(m->f);
    else flow_cut_power(m->f);
    forget_all(m);
}

static void step(struct model *m)
{
    uint32_t dice = random_below(&m->random, 32);
    if (dice < 14) lock_some(m);
    else if (dice < 18) unlock_some(m);
    else if (dice < 22) check_told(m);
    else if (dice < 28) sim_run_for(m->f->sim, random_below(&m->random, 25000));
    else if (dice < 29) sim_run_for(m->f->sim, 30000 + random_below(&m->random, 60000));
    else if (dice < 31) stop_and_start(m);
    else crash(m);
}

static void run_seed(struct model *m, uint64_t seed)
{
    static const char *const settings[] = {"serverChannelMaxIdleTimeSeconds=0", NULL};
    m->f = flow_start(settings);
    random_init(&m->random, seed);
    for (int i = 0; i < TOPICS; i++) flow_make_topic(m->f, i ? "T1" : "T0", QUEUES);
    forget_all(m);
    for (int i = 0; i < STEPS; i++) step(m);
    flow_stop(m->f);
}

TEST(model, a_queue_that_is_locked_has_one_owner_until_it_lets_go_or_is_silent)
{
    struct model m = {.taken_over = 0};
    struct seeds seeds = flow_seeds(100);
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        run_seed(&m, seed);
    }
    EXPECT(m.taken_over && m.refused && m.kept_over_stop);   /* or what was tried says nothing */
}
