/* How the broker is doing. Facts: docs/protocol/remoting.md 4.2 (28). What it does not know it leaves out. */
#include "broker/handlers.h"
#include "rpc/reply.h"

#include "codec/body_lists.h"

#include <stdarg.h>
#include <stdio.h>

struct table {
    struct arena arena;
    struct kv_table kv;
};

__attribute__((format(printf, 3, 4))) static void put(struct table *t, const char *key, const char *fmt, ...)
{
    char text[160];
    va_list args;
    struct pair *row = arena_list_add(&t->arena, (void **)&t->kv.pairs.items, &t->kv.pairs.count, sizeof *row);
    if (!row) return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    *row = (struct pair){arena_copy(&t->arena, slice_text(key)), arena_copy(&t->arena, slice_text(text))};
}

static void put_number(struct table *t, const char *key, int64_t value) { put(t, key, "%lld", (long long)value); }

/* "[ 0 days, 0 hours, 2 minutes, 59 seconds ]" */
static void put_runtime(struct table *t, int64_t seconds)
{
    put(t, "runtime", "[ %lld days, %lld hours, %lld minutes, %lld seconds ]", (long long)(seconds / 86400),
        (long long)(seconds / 3600 % 24), (long long)(seconds / 60 % 60), (long long)(seconds % 60));
}

static void put_times(struct broker *b, struct table *t)
{
    put_number(t, "bootTimestamp", b->start_ms);
    put_runtime(t, (tasks_wall_ms(b->tasks) - b->start_ms) / 1000);
    put(t, "brokerVersionDesc", "V5_5_0");
    put(t, "brokerActive", "true");
    put(t, "startAcceptSendRequestTimeStamp", "0");
}

static void put_store(struct broker *b, struct table *t)
{
    const struct metrics *m = &b->metrics;
    int64_t stored = metric_get(m, METRIC_MESSAGES_IN), bytes = metric_get(m, METRIC_THROUGHPUT_IN);
    put_number(t, "putMessageTimesTotal", stored);
    put_number(t, "msgPutTotalTodayNow", stored);
    put_number(t, "msgGetTotalTodayNow", metric_get(m, METRIC_MESSAGES_OUT));
    put_number(t, "putMessageSizeTotal", bytes);
    put_number(t, "putMessageFailedTimes", metric_get(m, METRIC_SENDS_REFUSED));
    put(t, "putMessageAverageSize", "%.1f", stored ? (double)bytes / (double)stored : 0);
    put_number(t, "commitLogMinOffset", store_log_min(b->store));
    put_number(t, "commitLogMaxOffset", store_log_max(b->store));
    put(t, "remainHowManyDataToFlush", "%lld B", (long long)(store_log_max(b->store) - store_log_flushed(b->store)));
    put(t, "dispatchBehindBytes", "0");   /* queue entries are written in the turn of their messages */
}

/* How far each delay level is: delivered, and stored. */
static void put_delay_levels(struct broker *b, struct table *t)
{
    for (int32_t level = 1; level <= DELAY_LEVELS_MAX; level++) {
        char key[40];
        int64_t offset = delay_offsets_get(b->delay_offsets, level);
        if (offset < 0) continue;
        snprintf(key, sizeof key, "scheduleMessageOffset_%d", level);
        put(t, key, "%lld,%lld", (long long)offset, (long long)store_max_offset(b->store, SLICE(DELAY_LEVELS_TOPIC), level - 1));
    }
}

static void put_timers(struct broker *b, struct table *t)
{
    int64_t now = tasks_wall_ms(b->tasks), due_ms = b->timers ? timers_next(b->timers, b->timer_check.read_ms, now - now % b->cfg->store.timer_tick_ms) : -1;
    int64_t looked_at = b->timer_check.queue_offset, max = store_max_offset(b->store, SLICE("rmq_sys_wheel_timer"), 0);
    put_number(t, "timerReadBehind", due_ms >= 0 ? (now - due_ms) / 1000 : 0);
    put_number(t, "timerOffsetBehind", b->timers && max > looked_at ? max - looked_at : 0);
    put_number(t, "timerCongestNum", b->timers ? timers_count(b->timers) : 0);
}

/* Metrics that other parts count, or that are counted by looking. */
static void collect(struct broker *b)
{
    struct store_counts c = store_counts(b->store);
    struct metrics *m = &b->metrics;
    broker_show_pops(b);
    metric_set(m, METRIC_COMPACTED, (int64_t)c.compacted_messages);
    metric_set(m, METRIC_COMPACTIONS, (int64_t)c.compactions);
    metric_set(m, METRIC_DISAGREEMENTS, b->members.disagreements);
    metric_set(m, METRIC_GROUPS, (int64_t)groups_count(b->groups));
    metric_set(m, METRIC_HELD_PULLS, (int64_t)b->hold.waiting);
    metric_set(m, METRIC_LOG_SYNCS, (int64_t)c.syncs);
    metric_set(m, METRIC_LOG_WRITES, (int64_t)c.writes);
    metric_set(m, METRIC_MESSAGES_IN, (int64_t)c.messages);
    metric_set(m, METRIC_RECORDS_DAMAGED, (int64_t)c.damaged);
    metric_set(m, METRIC_SCRUB_LEFT, (int64_t)c.scrub_left_bytes);
    metric_set(m, METRIC_THROUGHPUT_IN, (int64_t)c.bytes);
    metric_set(m, METRIC_TOPICS, (int64_t)topics_count(b->topics));
}

void handle_runtime_info(struct broker *b, struct call *call)
{
    struct table t = {.arena = ARENA_EMPTY, .kv = {.pairs = {NULL, 0}}};
    collect(b);
    put_times(b, &t);
    put_store(b, &t);
    put_delay_levels(b, &t);
    put_timers(b, &t);
    for (int i = 0; i < METRICS_COUNT; i++) put_number(&t, metric_rows[i].name, b->metrics.values[i]);
    reply_bean(call, NULL, NULL, &kv_table_bean, &t.kv);
    arena_done(&t.arena);
}
