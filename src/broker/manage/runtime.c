/* How the broker is doing. Facts: docs/protocol/remoting.md 4.2 (28). What it does not know it leaves out. */
#include "broker/handlers.h"
#include "rpc/reply.h"

#include "codec/body_lists.h"
#include "codec/record.h"

#include <stdarg.h>
#include <stdio.h>

enum { PATH_TEXT = 4096 };

struct table {
    struct arena arena;
    struct kv_table kv;
};

__attribute__((format(printf, 3, 4))) static void put(struct table *t, const char *key, const char *fmt, ...)
{
    char text[512];
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

/* --- rates, by what was sampled last --- */

/* "10 s, 60 s, 600 s" of one kind, or of two together. */
static void put_rates(struct broker *b, struct table *t, const char *key, enum stats_kind kind, const enum stats_kind *other, bool times)
{
    static const struct { enum stats_span span; bool all; } parts[] = {{SPAN_MINUTE, false}, {SPAN_MINUTE, true}, {SPAN_HOUR, false}};
    double rate[3];
    for (int i = 0; i < 3; i++) {
        rate[i] = stats_rate_of(&b->stats, kind, b->cluster, parts[i].span, parts[i].all, times);
        if (other) rate[i] += stats_rate_of(&b->stats, *other, b->cluster, parts[i].span, parts[i].all, true);
    }
    put(t, key, "%.4f %.4f %.4f", rate[0], rate[1], rate[2]);
}

static void put_all_rates(struct broker *b, struct table *t)
{
    static const enum stats_kind misses = STATS_GET_MISSES;
    put_rates(b, t, "putTps", BROKER_PUT_NUMS, NULL, false);
    put_rates(b, t, "getFoundTps", BROKER_GET_NUMS, NULL, true);
    put_rates(b, t, "getMissTps", STATS_GET_MISSES, NULL, true);
    put_rates(b, t, "getTotalTps", BROKER_GET_NUMS, &misses, true);
    put_rates(b, t, "getTransferredTps", BROKER_GET_NUMS, NULL, false);
    put(t, "timerEnqueueTps", "%.1f", stats_rate_of(&b->stats, STATS_TIMERS_IN, b->cluster, SPAN_MINUTE, true, false));
    put(t, "timerDequeueTps", "%.1f", stats_rate_of(&b->stats, STATS_TIMERS_OUT, b->cluster, SPAN_MINUTE, true, false));
}

static void put_days(struct broker *b, struct table *t)
{
    put_number(t, "msgPutTotalYesterdayMorning", b->stats.puts.yesterday);
    put_number(t, "msgPutTotalTodayMorning", b->stats.puts.today);
    put_number(t, "msgGetTotalYesterdayMorning", b->stats.gets.yesterday);
    put_number(t, "msgGetTotalTodayMorning", b->stats.gets.today);
}

static void put_send_times(struct broker *b, struct table *t)
{
    static const char *const classes[PUT_TIMES] = {"<=0ms", "0~10ms", "10~50ms", "50~100ms", "100~200ms", "200~500ms", "500ms~1s", "1~2s", "2~3s",
                                                   "3~4s", "4~5s", "5~10s", "10s~"};
    struct buf text = BUF_EMPTY;
    for (int i = 0; i < PUT_TIMES; i++) buf_printf(&text, "[%s]:%lld ", classes[i], (long long)b->stats.last_put_times[i]);
    put(t, "putMessageDistributeTime", "%.*s", (int)text.n, (const char *)text.p);
    put_number(t, "putMessageEntireTimeMax", b->stats.put_longest_ms);
    buf_done(&text);
}

/* What the original has between a request and its answer, and nobody waits in here. */
static void put_queues(struct table *t)
{
    static const char *const empty[] = {"sendThreadPoolQueueSize", "pullThreadPoolQueueSize", "litePullThreadPoolQueueSize", "queryThreadPoolQueueSize",
        "ackThreadPoolQueueSize", "EndTransactionQueueSize", "sendThreadPoolQueueHeadWaitTimeMills", "pullThreadPoolQueueHeadWaitTimeMills",
        "queryThreadPoolQueueHeadWaitTimeMills", "litePullThreadPoolQueueHeadWaitTimeMills", "ackThreadPoolQueueHeadWaitTimeMills",
        "dispatchMaxBuffer", "pageCacheLockTimeMills"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) put(t, empty[i], "0");
    put(t, "remainTransientStoreBufferNumbs", "2147483647");   /* as there without such buffers */
}

/* --- the store --- */

static void put_disk(struct broker *b, struct table *t)
{
    int32_t percent = store_counts(b->store).disk_used_percent;
    char key[PATH_TEXT];
    if (percent < 0) return;
    snprintf(key, sizeof key, "commitLogDiskRatio_%s/commitlog", b->cfg->store.root);
    put(t, key, "%.2f", percent / 100.0);
    put(t, "commitLogDiskRatio", "%.2f", percent / 100.0);
    put(t, "consumeQueueDiskRatio", "%.2f", percent / 100.0);
}

static void put_earliest(struct broker *b, struct table *t)
{
    struct pinned record = {.release = NULL};
    err_t e = store_log_max(b->store) > store_log_min(b->store) ? store_record_at(b->store, store_log_min(b->store), &record) : NULL;
    bool there = !e && record.bytes.n;
    put_number(t, "earliestMessageTimeStamp", there ? record_store_ms(record.bytes.p) : -1);
    err_drop(e, "-1 says that it is not known");
    pin_release(&record);
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
        if (level > b->delay_levels.count) break;
        snprintf(key, sizeof key, "scheduleMessageOffset_%d", level);
        put(t, key, "%lld,%lld", (long long)(offset > 0 ? offset : 0), (long long)store_max_offset(b->store, SLICE(DELAY_LEVELS_TOPIC), level - 1));
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

void broker_look(struct broker *b)
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
    broker_look(b);
    put_times(b, &t);
    put_store(b, &t);
    put_disk(b, &t);
    put_earliest(b, &t);
    put_all_rates(b, &t);
    put_days(b, &t);
    put_send_times(b, &t);
    put_queues(&t);
    put_delay_levels(b, &t);
    put_timers(b, &t);
    for (int i = 0; i < METRICS_COUNT; i++)
        if (metric_rows[i].has_total) put_number(&t, metric_rows[i].name, b->metrics.values[i]);
    if (!disk_again(b, call)) reply_bean(call, NULL, NULL, &kv_table_bean, &t.kv);
    arena_done(&t.arena);
}
