/* Random messages that wait, on levels and for times, through refusals, restarts, kills and power cuts: each comes when it is due, and once.
 * SEEDS=n runs n seeds of each kind, SEED=n that one. */
#include "flow/flow.h"

#include "codec/delay_levels.h"
#include "os/random.h"

#include <stdio.h>
#include <stdlib.h>

enum { MESSAGES_MAX = 600, STEPS = 45, SEEDS = 4, LATE_MS = 1200 };

struct waiting {
    struct flow *flow;
    struct random random;
    uint64_t seed;
    int64_t due_ms[MESSAGES_MAX];    /* by number; -1: not stored */
    int came[MESSAGES_MAX];
    int count;
    int64_t trouble_ms;              /* the last time that somebody could not deliver */
    int64_t looked_at;
};

static int64_t wall_ms(struct flow *f) { return sim_tune(f->sim)->start_wall_ms + sim_now_ms(f->sim); }
static uint32_t below(struct waiting *w, uint32_t n) { return random_below(&w->random, n); }

static void send_some(struct waiting *w)
{
    for (uint32_t i = below(w, 12); i > 0 && w->count < MESSAGES_MAX; i--) {
        char properties[80] = "", body[16];
        int64_t now = wall_ms(w->flow), due = now;
        int32_t level = 1 + (int32_t)below(w, 3);
        uint32_t kind = below(w, 3);
        if (kind == 0) due += delay_levels_ms(&delay_levels_default, level);
        if (kind == 1) due += 1 + below(w, 20000);
        if (kind == 0) snprintf(properties, sizeof properties, "DELAY=%d", level);
        if (kind == 1) snprintf(properties, sizeof properties, "TIMER_DELIVER_MS=%lld", (long long)due);
        snprintf(body, sizeof body, "%d", w->count);
        struct sent s = flow_send(w->flow, "T", 0, properties, body);
        w->due_ms[w->count++] = s.code == RESPONSE_SUCCESS ? due : -1;
    }
}

static void blame(const struct waiting *w, int64_t number, const char *when)
{
    fail_msg("seed %llu: message %lld came %s", (unsigned long long)w->seed, (long long)number, when);
}

/* What came since the last look. */
static void look(struct waiting *w)
{
    for (;;) {
        struct pulled p = flow_pull(w->flow, "T", 0, w->looked_at, "*");
        if (p.code != RESPONSE_SUCCESS) return;
        for (size_t i = 0; i < p.count; i++) {
            int64_t number;
            EXPECT(slice_to_i64(p.messages[i].body, &number));
            if (w->due_ms[number] < 0) continue;   /* its sender was told nothing good, and that is no promise */
            bool late = p.messages[i].store_ms > w->due_ms[number] + LATE_MS;
            if (p.messages[i].store_ms < w->due_ms[number]) blame(w, number, "early");
            if (late && w->due_ms[number] > w->trouble_ms + LATE_MS) blame(w, number, "late");
            if (++w->came[number] > 1) blame(w, number, "twice");
        }
        w->looked_at = p.next;
    }
}

static void be_full(struct waiting *w)
{
    sim_fs_set_space(w->flow->disk, 0);
    sim_run_for(w->flow->sim, 200 + below(w, 4000));
    send_some(w);
    sim_fs_set_space(w->flow->disk, 64 << 20);
    sim_run_for(w->flow->sim, 2500);
    w->trouble_ms = wall_ms(w->flow);
}

static void fail_once(struct waiting *w)
{
    sim_fs_fail(w->flow->disk, SIM_WRITE, 1 + below(w, 5), false, ERR_IO);
    send_some(w);
    sim_run_for(w->flow->sim, 3000);
    sim_fs_heal(w->flow->disk);
    sim_run_for(w->flow->sim, 2500);
    w->trouble_ms = wall_ms(w->flow);
}

enum ending { STOP, KILL, CUT };

static void end_and_begin(struct waiting *w, enum ending ending)
{
    if (ending == KILL) flow_crash(w->flow);
    else if (ending == CUT) flow_cut_power(w->flow);
    else flow_restart(w->flow);
    sim_run_for(w->flow->sim, 100);
    w->trouble_ms = wall_ms(w->flow);
}

static void run_waiting(uint64_t seed, enum ending ending, bool sync_flush)
{
    const char *flush = sync_flush ? "flushDiskType=SYNC_FLUSH" : "flushDiskType=ASYNC_FLUSH";
    const char *const settings[] = {flush, "timerRollWindowSlot=8", "flushDelayOffsetInterval=1000", NULL};
    struct waiting *w = must_zero(sizeof *w);
    w->flow = flow_start(settings);
    w->seed = seed;
    random_init(&w->random, seed);
    flow_make_topic(w->flow, "T", 1);
    for (int step = 0; step < STEPS; step++) {
        switch (below(w, 8)) {
        case 0: be_full(w); break;
        case 1: fail_once(w); break;
        case 2: end_and_begin(w, ending); break;
        default:
            send_some(w);
            sim_run_for(w->flow->sim, below(w, 2500));
        }
        look(w);
    }
    sim_run_for(w->flow->sim, 35000);
    look(w);
    for (int i = 0; i < w->count; i++)
        if (w->due_ms[i] >= 0 && !w->came[i]) fail_msg("seed %llu: message %d never came", (unsigned long long)seed, i);
    EXPECT_EQ(flow_metric(w->flow, "timerCongestNum"), 0);
    EXPECT_EQ(flow_metric(w->flow, "timerOffsetBehind"), 0);
    flow_stop(w->flow);
    free(w);
}

static void run_seeds(enum ending ending)
{
    struct seeds seeds = flow_seeds(SEEDS);
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        printf("seed %llu\n", (unsigned long long)seed);
        run_waiting(seed, ending, ending == CUT || seed % 2);
    }
}

TEST(waiting_model, each_message_comes_once_in_time_through_refusals_and_restarts) { run_seeds(STOP); }
TEST(waiting_model, each_message_comes_once_and_none_early_through_kills) { run_seeds(KILL); }
TEST(waiting_model, each_message_comes_once_and_none_early_through_power_cuts) { run_seeds(CUT); }
