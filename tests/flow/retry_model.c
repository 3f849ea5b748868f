/* Random messages that are sent, sent back, tried again and given up, with crashes in between, against what is written down by hand: each
 * is in exactly one place, once, and no try comes early.
 * SEED=n SEEDS=m run others than the first ones. */
#include "flow/flow.h"

#include "codec/properties.h"
#include "os/random.h"

#include <stdio.h>
#include <stdlib.h>

enum { COPIES_MAX = 512, TRIES_MAX = 8, STEPS = 40, HOUR_MS = 3600000 };

/* One message as it lies in a queue; sent back once at the most. */
struct copy {
    char key[16];
    int32_t tries;
    bool dead;              /* in the topic of dead letters */
    int64_t due_ms;         /* wall_ms; 0: at once */
    int64_t log_offset;     /* -1: not seen yet */
    bool sent_back;
    size_t times;           /* seen so often */
};

struct model {
    struct flow *f;
    struct random random;
    struct copy copies[COPIES_MAX];
    size_t count;
    int32_t max_tries;
    int sent;
};

static int64_t wall_ms(struct model *m) { return sim_tune(m->f->sim)->start_wall_ms + sim_now_ms(m->f->sim); }

static struct copy *expect_copy(struct model *m, const char *key, int32_t tries, bool dead, int64_t due_ms)
{
    EXPECT(m->count < COPIES_MAX);
    struct copy *c = &m->copies[m->count++];
    *c = (struct copy){.tries = tries, .dead = dead, .due_ms = due_ms, .log_offset = -1};
    snprintf(c->key, sizeof c->key, "%s", key);
    return c;
}

static struct copy *find_copy(struct model *m, struct slice key, int32_t tries, bool dead)
{
    for (size_t i = 0; i < m->count; i++) {
        struct copy *c = &m->copies[i];
        if (slice_eq(slice_text(c->key), key) && c->tries == tries && c->dead == dead) return c;
    }
    return NULL;
}

static void send_new(struct model *m)
{
    char key[16], properties[40];
    snprintf(key, sizeof key, "K%d", m->sent++);
    snprintf(properties, sizeof properties, "UNIQ_KEY=%s", key);
    EXPECT_EQ(flow_send(m->f, "T", 0, properties, key).code, RESPONSE_SUCCESS);
    expect_copy(m, key, 0, false, 0);
}

/* Everything in the queue is a message that should be there, and not before its time. */
static void look_through(struct model *m, const char *topic, bool dead)
{
    for (int64_t at = 0;;) {
        struct pulled p = flow_pull(m->f, topic, 0, at, "*");
        for (size_t i = 0; i < p.count; i++) {
            const struct message *found = &p.messages[i];
            struct copy *c = find_copy(m, properties_get(found->properties, SLICE("UNIQ_KEY")), found->reconsume_times, dead);
            EXPECT(c);
            EXPECT_TEXT(found->body, c->key);
            EXPECT(found->store_ms >= c->due_ms);
            c->log_offset = found->log_offset;
            c->times++;
        }
        if (!p.count) return;
        at = p.next;
    }
}

static void look_at_all(struct model *m)
{
    for (size_t i = 0; i < m->count; i++) m->copies[i].times = 0;
    look_through(m, "T", false);
    look_through(m, "%RETRY%G", false);
    look_through(m, "%DLQ%G", true);
    for (size_t i = 0; i < m->count; i++) {
        const struct copy *c = &m->copies[i];
        bool is_due = c->due_ms + 1000 <= wall_ms(m);   /* some time for a delivery that a crash delayed */
        if (is_due) EXPECT(c->times >= 1);
        EXPECT(c->times <= 1);
    }
}

/* One that is there and was not sent back, by chance; NULL when that finds none. */
static struct copy *pick(struct model *m)
{
    if (!m->count) return NULL;
    struct copy *c = &m->copies[random_below(&m->random, (uint32_t)m->count)];
    return c->sent_back || c->dead || c->log_offset < 0 ? NULL : c;
}

static void send_back(struct model *m)
{
    static const int32_t level_s[] = {10, 1, 5};   /* of what a client may ask for; the first stands for "as usual" */
    look_at_all(m);
    struct copy *c = pick(m);
    if (!c) return;
    int32_t level = (int32_t)random_below(&m->random, 4) - 1;
    struct send_back_header h = {.group = SLICE("G"), .offset = c->log_offset, .delay_level = level};
    bool dead = level < 0 || c->tries >= m->max_tries;
    int64_t usual_s = c->tries == 0 ? 10 : c->tries == 1 ? 30 : c->tries == 2 ? 60 : 120;
    int64_t due_ms = dead ? 0 : wall_ms(m) + 1000 * (level > 0 ? level_s[level] : usual_s);
    EXPECT_EQ(flow_code(m->f, REQUEST_CONSUMER_SEND_MSG_BACK, &send_back_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
    c->sent_back = true;
    expect_copy(m, c->key, c->tries + 1, dead, due_ms);
}

static void step(struct model *m)
{
    uint32_t dice = random_below(&m->random, 20);
    if (dice < 6) send_new(m);
    else if (dice < 15) send_back(m);
    else if (dice < 18) sim_run_for(m->f->sim, random_below(&m->random, 30000));
    else if (dice < 19) flow_restart(m->f);
    else flow_crash(m->f);
}

static void run_seed(uint64_t seed)
{
    static const char *const settings[] = {"serverChannelMaxIdleTimeSeconds=0", NULL};
    struct model m = {.f = flow_start(settings)};
    char body[160];
    random_init(&m.random, seed);
    m.max_tries = (int32_t)random_below(&m.random, 4);
    flow_make_topic(m.f, "T", 1);
    snprintf(body, sizeof body, "{\"groupName\":\"G\",\"consumeEnable\":true,\"retryQueueNums\":1,\"retryMaxTimes\":%d}", m.max_tries);
    EXPECT_EQ(flow_code(m.f, REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, NULL, NULL, body, NULL), RESPONSE_SUCCESS);
    for (int i = 0; i < STEPS; i++) step(&m);
    sim_run_for(m.f->sim, HOUR_MS);
    look_at_all(&m);
    flow_stop(m.f);
}

TEST(model, a_message_that_is_tried_again_is_in_one_place)
{
    struct seeds seeds = flow_seeds(50);
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        run_seed(seed);
    }
}
