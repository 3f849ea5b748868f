#include "broker/broker.h"

#include "broker/accounts/accounts.h"
#include "broker/assign/topic_queues.h"
#include "broker/delay/levels.h"
#include "broker/delay/timed.h"
#include "broker/handlers.h"
#include "broker/intake/delay.h"
#include "broker/lite/lite.h"
#include "broker/metrics/collect.h"
#include "broker/pop/pop.h"
#include "broker/registration.h"
#include "broker/transaction/transaction.h"

#include "base/log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SCAN_MS = STATS_PERIOD_MS, DRAIN_LOOK_MS = 5, LINGER_MS = 250, PATH_TEXT_MAX = 4096 };

/* --- requests --- */

void broker_dispatch(void *broker, struct call *call)
{
    struct broker *b = broker;
    enum { EVERY_PORT, MAIN_PORT };
    bool is_fast = rpc_conn_tag(call->conn) == PORT_FAST;
    switch (call->code) {
#define CASE_broker(name, handler, port) case REQUEST_##name: if (is_fast && port == MAIN_PORT) break; handle_##handler(b, call); return;
#define CASE_namesrv(name, handler, port)
#define REQUEST(room, name, code, handler, rights, port) CASE_##room(name, handler, port)
#define CALL(name, code)
#include "catalog/requests.def"
#undef REQUEST
#undef CALL
    }
    call_fail(call, err_new(ERR_NOT_SUPPORTED, " request type %d not supported", call->code));
}

/* Of clients; what comes from within the process has been let in there. */
static void on_call(void *ctx, struct call *call)
{
    err_t e = accounts_check(ctx, call);
    if (e) call_fail(call, e);
    else broker_dispatch(ctx, call);
}

static void on_closed(void *ctx, struct rpc_conn *conn)
{
    struct broker *b = ctx;
    struct list *waiting = rpc_conn_waiting(conn);
    while (!list_empty(waiting)) hold_wake(LIST_OWNER(list_first(waiting), struct waiter, in_conn), WAKE_DROPPED);
    members_closed(&b->members, conn);
    guests_closed(&b->guests, conn);
    lite_conn_closed(b->lite, conn);
}

static void on_answered(void *ctx, const struct call *call, int32_t code)
{
    struct broker *b = ctx;
    int64_t took_ms = tasks_mono_ms(b->tasks) - call->begun_ms;
    const struct slice status = code == RESPONSE_SUCCESS ? SLICE("success") : SLICE("failure");
    rpc_watch_answered(&b->watch, call, code);
    if (call->code == REQUEST_UPDATE_AND_CREATE_TOPIC) metric_observe(&b->metrics, METRIC_TOPIC_CREATE_TIME, took_ms, LABELS(status, metric_bool(false)));
    if (call->code == REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP) metric_observe(&b->metrics, METRIC_GROUP_CREATE_TIME, took_ms, &status);
}

/* --- what parts of the broker tell each other --- */

static void on_arrived(void *ctx, struct slice topic, int32_t queue_id, int64_t first, int64_t end)
{
    struct broker *b = ctx;
    (void)first;
    hold_arrived(&b->hold, topic, queue_id, end);
    if (topic.p[0] == '%') lite_arrived(b->lite, topic);
    if (slice_eq(topic, SLICE(DELAY_LEVELS_TOPIC))) levels_arrived(b->levels, queue_id);
    else if (slice_eq(topic, SLICE(TIMER_TOPIC))) timed_arrived(b->timed);
    else if (slice_eq(topic, HALF_TOPIC)) transactions_arrived(b->transactions);
    else if (pop_is_revive_topic(b->pop, topic)) pop_revive_arrived(b->pop, queue_id);
}

/* reserve.time: hours, -1 or nothing for fileReservedTime. The unit is that of the original's tiered storage, the only one of its stores
 * that heeds it. */
static void reserve(struct broker *b, const struct topic *topic)
{
    enum { HOUR_MS = 3600000 };
    int64_t hours = -1;
    struct slice text = topic_attribute(&topic->config, SLICE("reserve.time"));
    if (text.p && (!slice_to_i64(text, &hours) || hours < 0)) hours = -1;   /* a file may say anything */
    store_reserve(b->store, topic->config.name, hours > INT64_MAX / HOUR_MS ? INT64_MAX : hours * HOUR_MS);
}

static void reserve_all(struct broker *b)
{
    const struct topic *topic;
    for (size_t at = 0; (topic = topics_next(b->topics, &at));) reserve(b, topic);
}

static void on_topic_changed(void *ctx, const struct topic *topic)
{
    struct broker *b = ctx;
    if (topic) reserve(b, topic);
    registration_topic_changed(b->registration, topic ? &topic->config : NULL);
    if (!topic) return;   /* store_delete_topic() is told by name */
    err_t e = store_set_compacted(b->store, topic->config.name, topic_is_compacted(topic), true);
    err_drop(e, "its messages are kept in the commit log alone until the next start");
}

/* The members of a group share its queues anew when one comes or goes. */
static void on_group_changed(void *ctx, struct member_group *g)
{
    struct broker *b = ctx;
    const struct group *group = groups_find(b->groups, slice_text(g->name));
    if (b->stopping || g->model == MODEL_BROADCASTING || (group && !group->config.notify_ids_changed)) return;
    if (!b->cfg->broker.notify_ids_changed) return;
    struct notify_consumer_ids_header h = {.consumer_group = slice_text(g->name)};
    struct rpc_request notice = {.code = REQUEST_NOTIFY_CONSUMER_IDS_CHANGED, .kind = &notify_consumer_ids_kind, .header = &h};
    MEMBERS_EACH(g, node) rpc_conn_request(MEMBER_OF(node)->client->conn, &notice);
}

struct view_walk {
    const struct member_group *group;
    size_t at;
};

static const struct subscription *next_in_view(void *ctx)
{
    struct view_walk *w = ctx;
    struct map_entry *e = map_next(&w->group->view, &w->at);
    return e ? &((const struct interest *)e->value)->subscription : NULL;
}

static void on_view_changed(void *ctx, struct member_group *g)
{
    struct broker *b = ctx;
    struct view_walk walk = {.group = g};
    if (!b->stopping) filters_follow(b->filters, slice_text(g->name), next_in_view, &walk);
}

static void sample_stats(struct broker *b)
{
    time_t now = (time_t)(tasks_wall_ms(b->tasks) / 1000);
    struct tm local;
    localtime_r(&now, &local);
    if (b->day >= 0 && b->day != local.tm_yday)
        stats_day_ends(&b->stats, (int64_t)store_counts(b->store).messages, metric_get(&b->metrics, METRIC_MESSAGES_OUT));
    b->day = local.tm_yday;
    stats_sample(&b->stats, tasks_wall_ms(b->tasks));
}

static void scan(void *ctx)
{
    struct broker *b = ctx;
    members_expire(&b->members, b->cfg->broker.channel_expired_ms);
    locks_expire(&b->locks);
    quotas_expire(&b->quotas, tasks_mono_ms(b->tasks));
    sample_stats(b);
    filters_tidy(b->filters, b->cfg->broker.filter_keep_ms);
    timer_start(b->tasks, &b->scan, SCAN_MS);
}

bool broker_has_open_half(const struct broker *b, const struct message *half)
{
    struct half_facts facts;
    return half_facts_read(half, &facts) && halves_find(&b->transactions->halves, facts.first_offset);
}

bool broker_has_delivered(const struct broker *b, int64_t ms) { return b->timed && timed_has_delivered(b->timed, ms); }

void broker_show_pops(struct broker *b) { pop_show(b->pop); }

int64_t broker_revive_lag(const struct broker *b, int32_t queue_id) { return pop_revive_lag(b->pop, queue_id); }
int64_t broker_revive_first(const struct broker *b, int32_t queue_id, struct slice *out_topic) { return pop_revive_first(b->pop, queue_id, out_topic); }

size_t broker_pop_in_flight(const struct broker *b, struct slice topic, struct slice group, int32_t queue_id)
{
    return pop_in_flight(b->pop, topic, group, queue_id);
}

void broker_topic_deleted(struct broker *b, struct slice topic)
{
    pop_topic_gone(b->pop, topic);
    lite_topic_gone(b->lite, topic);
}

void broker_group_deleted(struct broker *b, struct slice group)
{
    pop_group_gone(b->pop, group);
    lite_group_gone(b->lite, group);
}

void broker_offset_reset(struct broker *b, struct slice topic, struct slice group, int32_t queue_id, int64_t queue_offset)
{
    pop_offset_reset(b->pop, topic, group, queue_id, queue_offset);
    lite_offset_reset(b->lite, topic, group);
}

err_t broker_lite_ack(struct broker *b, const struct ack_header *h, const struct receipt_handle *handle) { return lite_ack(b->lite, h, handle); }

err_t broker_lite_change(struct broker *b, const struct change_invisible_header *h, const struct receipt_handle *handle,
                         struct change_invisible_reply_header *out)
{
    return lite_change(b->lite, h, handle, out);
}

void broker_topic_queues(struct broker *b, struct slice topic, broker_queues_done *done, void *ctx)
{
    if (b->stopping) done(ctx, false, NULL, 0);
    else topic_queues_get(b->topic_queues, topic, done, ctx);
}

/* --- start --- */

struct clean_options broker_clean_rules(const struct config *cfg)
{
    return (struct clean_options){
        .interval_ms = cfg->store.clean_interval_ms, .reserved_ms = cfg->store.clean_reserved_hours * 3600000,
        .used_percent = cfg->store.clean_used_percent, .force_percent = cfg->store.clean_force_percent,
        .full_percent = cfg->store.clean_full_percent, .may_force = cfg->store.clean_forcibly, .batch = cfg->store.clean_batch,
        .hours = (uint32_t)cfg->store.clean_hours,
    };
}

static err_t open_store(struct broker *b)
{
    const struct config *cfg = b->cfg;
    struct store_options o = {
        .root = cfg->store.root, .log_folder = cfg->store.log_folder, .log_file_bytes = cfg->store.log_file_bytes,
        .queue_file_entries = (cfg->store.queue_file_bytes + 19) / 20,
        .batch_file_entries = (cfg->store.batch_queue_file_bytes + 45) / 46, .sync_flush = cfg->store.flush_disk_type == SYNC_FLUSH,
        .sync_timeout_ms = cfg->store.sync_timeout_ms, .flush_interval_ms = cfg->store.flush_log_ms,
        .queue_flush_interval_ms = cfg->store.flush_queue_ms, .max_message_bytes = cfg->store.max_message_bytes,
        .recent_percent = cfg->store.memory_ratio, .scrub_bytes_per_second = cfg->store.scrub_bytes_per_second,
        .index = cfg->store.index, .index_slots = cfg->store.index_slots, .index_entries = cfg->store.index_entries,
        .lmq = cfg->store.lmq && cfg->store.multi_dispatch, .lmq_max = cfg->store.lmq_quota ? cfg->store.lmq_max : INT32_MAX,
        .delay_levels = b->delay_levels, .clean = broker_clean_rules(cfg),
        .compaction = {
            .on = cfg->store.compaction, .log_file_bytes = cfg->store.compaction_log_bytes, .entry_file_bytes = cfg->store.compaction_entry_bytes,
            .interval_ms = cfg->store.compaction_interval_ms, .map_bytes = cfg->store.compaction_map_bytes / cfg->store.compaction_threads,
        },
        .store_host = b->advertised, .arrived = on_arrived, .arrived_ctx = b, .mono_us = b->options.mono_us,
    };
    err_t e = store_open(&o, b->options.fs, b->tasks, &b->store);
    if (!e) b->log_max_at_start = store_log_max(b->store);
    return e;
}

static err_t open_meta(struct broker *b, const char *folder)
{
    const struct config *cfg = b->cfg;
    struct topics_options topics = {
        .folder = folder, .cluster = slice_text(cfg->broker.cluster), .broker = slice_text(cfg->broker.name),
        .default_queues = cfg->broker.default_topic_queues, .revive_queues = cfg->broker.revive_queues,
        .auto_create = cfg->broker.auto_create_topic, .cluster_topic = cfg->broker.cluster_topic, .broker_topic = cfg->broker.broker_topic,
        .timer = cfg->store.timer_wheel, .trace = cfg->broker.trace_topic, .trace_name = slice_text(cfg->broker.trace_topic_name),
        .check_system_names = cfg->broker.validate_system_topic, .allow_mixed = cfg->broker.allow_mixed_message_type,
        .lmq = cfg->store.lmq,
        .changed = on_topic_changed, .changed_ctx = b,
    };
    struct groups_options groups = {
        .folder = folder, .auto_create = cfg->broker.auto_create_group, .create_system = cfg->broker.create_system_group, .lmq = cfg->store.lmq,
    };
    struct offsets_options offsets = {
        .folder = folder, .flush_interval_ms = cfg->broker.flush_offsets_ms, .version_step = cfg->broker.offset_version_step,
        .lmq = cfg->store.lmq,
    };
    struct auth_options accounts = {
        .folder = folder, .first_user = slice_text(cfg->broker.first_user), .inner_user = slice_text(cfg->broker.inner_user),
    };
    struct filters_options filters = {
        .folder = folder, .error_percent = cfg->broker.filter_error_percent, .groups = cfg->broker.filter_groups,
    };
    err_t e = topics_open(&topics, b->options.fs, b->tasks, &b->topics);
    if (!e) e = groups_open(&groups, b->options.fs, b->tasks, &b->groups);
    if (!e) e = offsets_open(&offsets, b->options.fs, b->tasks, &b->offsets);
    if (!e) e = delay_offsets_open(folder, cfg->broker.delay_version_step, b->options.fs, b->tasks, &b->delay_offsets);
    if (!e) e = auth_open(&accounts, b->options.fs, b->tasks, &b->auth);
    if (!e) e = filters_open(&filters, b->options.fs, b->tasks, &b->filters);
    if (!e) e = timer_metrics_open(folder, b->options.fs, b->tasks, &b->timer_metrics);
    if (!e) e = request_modes_open(folder, b->options.fs, b->tasks, &b->request_modes);
    return e;
}

static err_t set_compacted_topics(struct broker *b)
{
    const struct topic *topic;
    err_t e = NULL;
    for (size_t at = 0; !e && (topic = topics_next(b->topics, &at));)
        e = store_set_compacted(b->store, topic->config.name, topic_is_compacted(topic), false);
    return e;
}

static void locks_path(const struct broker *b, char out[static PATH_TEXT_MAX]) { snprintf(out, PATH_TEXT_MAX, "%s/config/queueLocks.json", b->cfg->store.root); }

static void load_locks(struct broker *b)
{
    char path[PATH_TEXT_MAX];
    locks_path(b, path);
    locks_load(&b->locks, b->options.fs, path);
    b->keeps_locks = true;
}

static err_t save_locks(struct broker *b)
{
    char path[PATH_TEXT_MAX];
    locks_path(b, path);
    return b->keeps_locks ? locks_save(&b->locks, b->options.fs, path) : NULL;
}

static err_t open_data(struct broker *b)
{
    char *folder;
    if (asprintf(&folder, "%s/config", b->cfg->store.root) < 0) return err_new(ERR_OUT_OF_MEMORY, NULL);
    err_t e = open_store(b);   /* first: it takes the lock of the folder */
    if (!e) e = fs_make_durable_folder(b->options.fs, folder);
    if (!e) e = open_meta(b, folder);
    if (!e) reserve_all(b);
    if (!e) load_locks(b);
    if (!e) e = set_compacted_topics(b);
    free(folder);
    return e;
}

/* The port two below the main one, for clients that send by it; without pulls. Not there when the main port is a free one. */
static err_t listen_fast(struct broker *b, const struct rpc_service *service, const struct rpc_options *options)
{
    struct addr at = b->options.listen;
    if (at.port < 3) return NULL;
    at.port -= 2;
    return rpc_listen(b->options.loop, &at, PORT_FAST, service, options, &b->fast_port);
}

static err_t listen(struct broker *b)
{
    struct rpc_service service = {.handle = on_call, .closed = on_closed, .ctx = b, .answered = on_answered};
    struct rpc_options options = rpc_options_default();
    options.idle_close_ms = (int64_t)b->cfg->netty.idle_seconds * 1000;
    options.metrics = &b->metrics;
    err_t e = rpc_listen(b->options.loop, &b->options.listen, PORT_MAIN, &service, &options, &b->main_port);
    if (!e) e = listen_fast(b, &service, &options);
    service.handle = broker_dispatch;
    if (!e) b->local = rpc_listen_local(b->options.loop, PORT_MAIN, &service, &options);
    return e;
}

/* Settings that promise what this version cannot do. */
static err_t check_settings(const struct config *cfg)
{
    if (cfg->store.role == SLAVE) return err_new(ERR_CONFIG, "brokerRole=SLAVE cannot be: this version does not replicate");
    if (cfg->broker.authorization) return err_new(ERR_CONFIG, "authorizationEnabled=true cannot be: this version does not check what users may do");
    if (cfg->store.role == SYNC_MASTER) log_warn("broker.no_replicas role=SYNC_MASTER text=\"messages are kept here alone\"");
    return NULL;
}

static void encode_config(void *ctx, struct buf *out)
{
    struct broker *b = ctx;
    config_write(b->cfg, CONFIG_BROKER, out);
}

static void break_down(struct broker *b)
{
    struct metric_names n = {
        .cluster = b->cfg->broker.cluster, .node_type = "broker", .node_id = b->cfg->broker.name, .in_delta = b->cfg->metrics.in_delta,
        .labels = b->cfg->metrics.labels,
    };
    metrics_break_down_as(&b->metrics, &n, (size_t)b->cfg->metrics.limit);
}

err_t broker_new(const struct broker_options *options, struct broker **out)
{
    err_t e = check_settings(options->config);
    if (e) return e;
    struct broker *b = must_zero(sizeof *b);
    b->options = *options;
    b->cfg = options->config;
    e = delay_levels_parse(slice_text(b->cfg->store.delay_levels), &b->delay_levels);
    if (e) {
        free(b);
        return e;
    }
    b->tasks = rpc_tasks(options->loop);
    b->start_ms = tasks_wall_ms(b->tasks);
    b->advertised = options->advertised;
    if (!b->advertised.port) b->advertised.port = options->listen.port;
    b->region = slice_text(b->cfg->broker.region_id);
    b->cluster = slice_text(b->cfg->broker.cluster);
    b->trace_on = b->cfg->broker.trace_on ? SLICE("true") : SLICE("false");
    random_init(&b->random, options->seed);
    members_init(&b->members, b->tasks, &b->cfg->broker.subscription_consistency, on_group_changed, on_view_changed, b);
    b->guests = GUESTS_EMPTY;
    hold_init(&b->hold, b->tasks);
    list_init(&b->disk_waits);
    cold_control_init(&b->cold);
    locks_init(&b->locks, b->tasks);
    b->quotas = QUOTAS_EMPTY;
    stats_init(&b->stats);
    b->watch = (struct rpc_watch){.tasks = b->tasks, .metrics = &b->metrics, .config = b->cfg};
    if (b->cfg->metrics.exporter != METRICS_DISABLE) break_down(b);
    b->day = -1;
    timer_init(&b->scan, scan, b);
    e = open_data(b);
    if (!e) e = listen(b);
    if (e) {
        err_drop(broker_free(b), "the first error is told");
        return e;
    }
    b->advertised.port = options->advertised.port ? options->advertised.port : rpc_listener_addr(b->main_port).port;
    if (b->cfg->broker.config_path) saver_init(&b->config_saver, options->fs, b->tasks, b->cfg->broker.config_path, encode_config, b);
    b->registration = registration_new(b);
    b->topic_queues = topic_queues_new(b);
    b->transactions = transactions_new(b);
    timer_start(b->tasks, &b->scan, SCAN_MS);
    b->levels = levels_new(b);
    if (b->cfg->store.timer_wheel) b->timed = timed_new(b);
    b->lite = lite_new(b);
    e = pop_new(b, &b->pop);
    if (e) {
        err_drop(broker_free(b), "the first error is told");
        return e;
    }
    *out = b;
    return NULL;
}

/* --- stop --- */

/* Clients close when they are told that nothing more comes; those that do not are not waited for. */
static void wait_for_good_byes(struct broker *b, bool idle)
{
    int64_t until_ms = tasks_mono_ms(b->tasks) + LINGER_MS;
    if (!idle || b->drain.idle) return;
    b->drain.idle = true;
    if (until_ms < b->drain.until_ms) b->drain.until_ms = until_ms;
}

/* What came in is answered, and the answers are sent, or have had their time. Who is owed nothing is told at once that nothing more comes, and
 * does not wait for others: what he sends now, or has sent without our reading it, he sends to another broker. */
static void look_drained(void *ctx)
{
    struct broker *b = ctx;
    bool main_over = rpc_listener_settle(b->main_port), fast_over = rpc_listener_settle(b->fast_port);
    bool idle = rpc_listener_is_idle(b->main_port) && rpc_listener_is_idle(b->fast_port);
    wait_for_good_byes(b, idle);
    if (!(main_over && fast_over) && tasks_mono_ms(b->tasks) < b->drain.until_ms) {
        timer_start(b->tasks, &b->drain.again, DRAIN_LOOK_MS);
        return;
    }
    if (!idle) log_warn("broker.not_drained ms=%lld text=\"some requests are not answered\"", (long long)b->cfg->broker.drain_ms);
    b->drain.done(b->drain.ctx);
}

/* No name server sends anybody here any more. Nothing more is read, so that who sends something now learns at once that it was not taken. */
static void begin_drain(void *ctx)
{
    struct broker *b = ctx;
    rpc_listener_quiesce(b->main_port);
    rpc_listener_quiesce(b->fast_port);
    hold_end_waits(&b->hold);
    b->drain.until_ms = tasks_mono_ms(b->tasks) + b->cfg->broker.drain_ms;
    timer_init(&b->drain.again, look_drained, b);
    timer_start(b->tasks, &b->drain.again, 0);
}

void broker_stop(struct broker *b, void (*done)(void *ctx), void *ctx)
{
    b->stopping = true;
    b->drain.done = done;
    b->drain.ctx = ctx;
    registration_end(b->registration, begin_drain, b);
}

err_t broker_free(struct broker *b)
{
    if (!b) return NULL;
    b->stopping = true;
    registration_free(b->registration);
    b->registration = NULL;
    topic_queues_free(b->topic_queues);
    b->topic_queues = NULL;
    timer_stop(b->tasks, &b->scan);
    timer_stop(b->tasks, &b->drain.again);
    levels_stop(b->levels);
    transactions_end(b->transactions);
    timed_stop(b->timed);
    pop_stop(b->pop);
    lite_stop(b->lite);
    hold_done(&b->hold);
    cold_control_end(b);
    disk_end(b);   /* also for those whom their waking sent there */
    err_t e = b->store ? store_close(b->store) : NULL;   /* answers what waits for the disk, while the connections are there */
    transactions_free(b->transactions, !e);
    levels_free(b->levels, !e);
    err_t locked = e ? NULL : save_locks(b), timers = timed_free(b->timed, !e), popped = pop_free(b->pop, !e);
    rpc_listener_close(b->main_port);
    rpc_listener_close(b->fast_port);
    rpc_listener_close(b->local);
    lite_free(b->lite);
    err_t saved[] = {timers, popped, locked, auth_close(b->auth), timer_metrics_close(b->timer_metrics), filters_close(b->filters), request_modes_close(b->request_modes), delay_offsets_close(b->delay_offsets), offsets_close(b->offsets), groups_close(b->groups), topics_close(b->topics), saver_done(&b->config_saver)};
    for (size_t i = 0; i < sizeof saved / sizeof *saved; i++) {
        if (!e) e = saved[i];
        else err_drop(saved[i], "the first error is told");
    }
    collector_free(b->collector);
    metrics_done(&b->metrics);
    members_done(&b->members);
    guests_done(&b->guests);
    locks_done(&b->locks);
    cold_control_done(&b->cold);
    quotas_done(&b->quotas);
    stats_done(&b->stats);
    refusals_done(&b->refusals);
    buf_done(&b->scratch);
    free(b);
    return e;
}

/* --- how it is doing --- */

void broker_scrape(struct broker *b, struct scrape *s) { collector_begin(b, s); }

void broker_health(struct broker *b, struct health *out)
{
    const char *why = NULL;
    out->ready = false;
    if (b->stopping) snprintf(out->why, sizeof out->why, "the broker is stopping");
    else if (!store_is_writable(b->store, &why)) snprintf(out->why, sizeof out->why, "the broker takes no messages: %s", why);
    else if (!registration_is_known(b->registration)) snprintf(out->why, sizeof out->why, "no name server knows the broker yet");
    else out->ready = true;
}

struct addr broker_address(const struct broker *b) { return rpc_listener_addr(b->main_port); }
struct local_port *broker_local_port(const struct broker *b) { return rpc_listener_port(b->local); }
