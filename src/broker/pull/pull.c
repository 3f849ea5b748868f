#include "broker/handlers.h"
#include "broker/intake/traffic.h"
#include "broker/pull/pull_filter.h"

#include "base/log.h"
#include "codec/lmq.h"
#include "meta/names.h"

#include <stdlib.h>

enum { ENTRY_BYTES = 20, SCAN_ENTRIES_MAX = 65536 };

/* A pull that waits for messages. Everything it needs is copied: the bytes of its request are gone. */
struct held_pull {
    struct waiter waiter;
    struct disk_wait disk;           /* what it shall get is not in memory */
    enum wake_reason reason;         /* … and why it got up */
    struct broker *broker;
    struct call *call;
    struct pull_header *header;
    struct pull_filter filter;       /* what the pull brought along; what its group says is looked up anew each time */
};

/* An error that carries the kind of prohibition in a field. */
static void forbid(struct call *call, int32_t type, err_t e)
{
    struct pull_reply_header reply = {.forbidden_type = type};
    header_set(&reply, pull_reply, forbidden_type);
    call_reply(call, err_response(e), err_text(e), &pull_reply_kind, &reply, (struct slice){NULL, 0});
    err_free(e);
}

/* --- may it be --- */

static err_t check_pull(struct broker *b, const struct call *call, const struct pull_header *h, int32_t *forbidden,
                        const struct group **group, const struct topic **topic)
{
    char text[ADDR_TEXT_MAX];
    *forbidden = FORBIDDEN_BROKER;
    if (!(b->cfg->broker.permission & PERM_READ))
        return err_new(ERR_NO_PERMISSION, "the broker[%s] pulling message is forbidden", addr_format_ip(&b->advertised, text));
    if (call->code == REQUEST_LITE_PULL_MESSAGE && !b->cfg->broker.lite_pull)
        return err_new(ERR_NO_PERMISSION, "the broker[%s] for lite pull consumer is forbidden", addr_format_ip(&b->advertised, text));
    *group = groups_find_or_create(b->groups, h->consumer_group);
    *forbidden = 0;
    if (!*group)
        return err_new(ERR_GROUP_NOT_FOUND, "subscription group [%.*s] does not exist, " SEE_FAQ, SLICE_ARG(h->consumer_group));
    *forbidden = FORBIDDEN_GROUP;
    if (!(*group)->config.consume_enable)
        return err_new(ERR_NO_PERMISSION, "subscription group no permission, %.*s", SLICE_ARG(h->consumer_group));
    *topic = topics_find(b->topics, h->topic);
    *forbidden = 0;
    if (!*topic) return err_new(ERR_TOPIC_NOT_FOUND, "topic[%.*s] not exist, apply first please! " SEE_FAQ, SLICE_ARG(h->topic));
    *forbidden = FORBIDDEN_TOPIC;
    if (!((*topic)->config.perm & PERM_READ))
        return err_new(ERR_NO_PERMISSION, "the topic[%.*s] pulling message is forbidden", SLICE_ARG(h->topic));
    *forbidden = 0;
    if (h->queue_id < 0 || h->queue_id >= (*topic)->config.read_queues)
        return err_new(ERR_INVALID, "queueId[%d] is illegal, topic:[%.*s] topicConfig.readQueueNums:[%d] consumer:[/%s]", h->queue_id,
                       SLICE_ARG(h->topic), (*topic)->config.read_queues, addr_format(rpc_conn_remote(call->conn), text));
    return NULL;
}

/* --- reading and answering --- */

static const char *const status_names[] = {
    [READ_FOUND] = "FOUND", [READ_NO_MATCH] = "NO_MATCHED_MESSAGE", [READ_NO_QUEUE] = "NO_MESSAGE_IN_QUEUE",
    [READ_QUEUE_EMPTY] = "NO_MESSAGE_IN_QUEUE", [READ_OFFSET_TOO_SMALL] = "OFFSET_TOO_SMALL",
    [READ_OFFSET_AT_END] = "OFFSET_OVERFLOW_ONE", [READ_OFFSET_PAST_END] = "OFFSET_OVERFLOW_BADLY",
    [READ_MESSAGE_GONE] = "MESSAGE_WAS_REMOVING",
};

static int32_t code_of(enum read_status status, int64_t asked)
{
    switch (status) {
    case READ_FOUND: return RESPONSE_SUCCESS;
    case READ_NO_MATCH: case READ_MESSAGE_GONE: return RESPONSE_PULL_RETRY_IMMEDIATELY;
    case READ_NO_QUEUE: case READ_QUEUE_EMPTY: return asked ? RESPONSE_PULL_OFFSET_MOVED : RESPONSE_PULL_NOT_FOUND;
    case READ_OFFSET_AT_END: return RESPONSE_PULL_NOT_FOUND;
    case READ_OFFSET_TOO_SMALL: case READ_OFFSET_PAST_END: return RESPONSE_PULL_OFFSET_MOVED;
    }
    return RESPONSE_SYSTEM_ERROR;
}

/* Entries that one pull looks at: as many as it asks for, but at least maxFilterMessageSize and never so many that others wait. */
static int32_t scan_entries(const struct broker *b, int32_t asked)
{
    int32_t usual = b->cfg->store.max_filter_bytes / ENTRY_BYTES;
    int32_t most = usual > SCAN_ENTRIES_MAX ? usual : SCAN_ENTRIES_MAX;
    return asked < usual ? usual : asked > most ? most : asked;
}

static void read_for(struct broker *b, const struct pull_header *h, int64_t offset, struct pull_filter *filter, struct read_result *out)
{
    int32_t most = b->cfg->store.transfer_memory_count;
    int32_t bytes = b->cfg->store.transfer_memory_bytes;
    struct read_request r = {
        .topic = h->topic, .queue_id = h->queue_id, .offset = offset,
        .max_messages = h->max_msg_nums < most ? h->max_msg_nums : most,
        .max_bytes = header_has(h, pull, max_msg_bytes) && h->max_msg_bytes > 0 && h->max_msg_bytes < bytes ? h->max_msg_bytes : bytes,
        .max_scan = scan_entries(b, h->max_msg_nums),
        .filter = pull_filter_begin(filter),
    };
    store_read(b->store, &r, out);
}

/* Where the group had better pull the next time: one that is far behind reads what only the disk has, and a slave may do that for it. */
static int64_t best_broker(const struct broker *b, const struct group *group, bool far_behind)
{
    if (!b->cfg->broker.slave_read || !group) return 0;
    return far_behind ? group->config.slow_broker_id : group->config.broker_id;
}

static void reply_pull(struct broker *b, struct call *call, const struct pull_header *h, int32_t code, const char *remark, struct read_result *r)
{
    const struct topic *topic = topics_find(b->topics, h->topic);
    const struct group *group = groups_find(b->groups, h->consumer_group);
    struct pull_reply_header reply = {
        .suggest_which_broker_id = best_broker(b, group, r->far_behind), .next_begin_offset = r->next_offset,
        .min_offset = r->min_offset, .max_offset = r->max_offset,
        .topic_sys_flag = topic ? topic->config.sys_flag : 0, .group_sys_flag = group ? group->config.sys_flag : 0,
    };
    header_set(&reply, pull_reply, topic_sys_flag);
    header_set(&reply, pull_reply, group_sys_flag);
    call_reply_pinned(call, code, remark, &pull_reply_kind, &reply, r->slice, r->slices);
}

/* Light topics and groups are there as soon as somebody names them: they are remembered when something was committed. */
static bool is_remembered(const struct broker *b, const struct pull_header *h)
{
    if (!b->cfg->store.lmq || !(name_is_lmq(h->topic) || name_is_lmq(h->consumer_group))) return true;
    return offsets_of_queue(b->offsets, h->topic, h->consumer_group, h->queue_id);
}

/* For who asks why the queue does not move. */
static void note(struct broker *b, const struct call *call, const struct pull_header *h, int64_t next, int32_t code, int32_t messages)
{
    if (!is_remembered(b, h)) return;
    struct pull_note n = {
        .at_ms = tasks_mono_ms(b->tasks), .from = h->queue_offset, .code = code, .messages = messages, .conn = rpc_conn_id(call->conn),
    };
    offsets_note_pull(b->offsets, h->topic, h->consumer_group, h->queue_id, next, &n);
}

/* A group that reads what left memory long ago takes the disk from everybody else. */
static void stop_if_slow(struct broker *b, const struct pull_header *h, int64_t behind_bytes)
{
    if (!b->cfg->broker.disable_slow || behind_bytes <= b->cfg->broker.slow_bytes) return;
    log_warn("group.disabled group=\"%.*s\" topic=\"%.*s\" queue=%d behind_bytes=%lld text=\"it is further behind than consumerFallbehindThreshold allows\"",
             SLICE_ARG(h->consumer_group), SLICE_ARG(h->topic), h->queue_id, (long long)behind_bytes);
    groups_disable(b->groups, h->consumer_group);
}

static void count_get(struct broker *b, const struct pull_header *h, const struct read_result *r)
{
    traffic_out(b, h->topic, h->consumer_group, r->messages, (int64_t)r->bytes, TRAFFIC_PULLED);
    if (!r->messages) {
        stats_add(&b->stats, STATS_GET_MISSES, b->cluster, 1);
        return;
    }
    stats_add_for_group(&b->stats, GROUP_GET_NUMS, h->topic, h->consumer_group, r->messages);
    stats_add_for_group(&b->stats, GROUP_GET_SIZE, h->topic, h->consumer_group, (int64_t)r->bytes);
    stats_add(&b->stats, BROKER_GET_NUMS, b->cluster, r->messages);
}

static void answer(struct broker *b, struct call *call, const struct pull_header *h, struct read_result *r)
{
    if (r->status == READ_FOUND) stop_if_slow(b, h, r->behind_bytes);
    note(b, call, h, r->next_offset, code_of(r->status, h->queue_offset), r->messages);
    count_get(b, h, r);
    reply_pull(b, call, h, code_of(r->status, h->queue_offset), status_names[r->status], r);
}

/* --- waiting --- */

static void refuse(struct broker *b, struct call *call, const struct pull_header *h, int32_t forbidden, err_t e)
{
    bool known = offsets_of_queue(b->offsets, h->topic, h->consumer_group, h->queue_id);
    if (known) note(b, call, h, -1, err_response(e), 0);   /* nobody makes us remember groups by asking for what is not there */
    if (forbidden) forbid(call, forbidden, e);
    else call_fail(call, e);
}

static void on_fetched(struct disk_wait *w, bool stopping);

/* Looks again, by what the group subscribes to now. What arrived and does not match is passed over without a word to the
 * client, which goes on waiting behind it. Returns whether it waits again. */
static bool look_again(struct held_pull *held, struct pull_filter *filter, enum wake_reason reason)
{
    struct broker *b = held->broker;
    struct waiter *w = &held->waiter;
    struct read_result r;
    read_for(b, held->header, w->past, filter, &r);
    while (reason == WAKE_ARRIVED && r.status == READ_NO_MATCH && !store_is_cold(b->store) && !filter->enough) {
        w->past = r.next_offset;
        read_for(b, held->header, w->past, filter, &r);
    }
    if (store_is_cold(b->store)) {
        held->reason = reason;
        held->disk.go_on = on_fetched;
        disk_wait(b, &held->disk);
        return true;
    }
    if (reason == WAKE_ARRIVED && r.status == READ_OFFSET_AT_END && w->deadline_ms > tasks_mono_ms(b->tasks)) {
        list_add(rpc_conn_waiting(held->call->conn), &w->in_conn);
        hold_wait(&b->hold, w, held->header->topic, held->header->queue_id, r.next_offset, w->deadline_ms);
        return true;
    }
    answer(b, held->call, held->header, &r);
    return false;
}

static void held_pull_free(struct held_pull *held)
{
    pull_filter_done(&held->filter);
    free(held->header);
    free(held);
}

/* By what the group says now; returns whether it waits again. */
static bool look_for_group(struct held_pull *held, const struct group *group, enum wake_reason reason, int32_t *forbidden)
{
    struct pull_filter filter;
    bool waits = false;
    err_t e = pull_filter_open(held->broker, held->call, held->header, group, &filter, forbidden);
    if (e) refuse(held->broker, held->call, held->header, *forbidden, e);
    else waits = look_again(held, &filter, reason);
    pull_filter_done(&filter);
    return waits;
}

/* What the pull shall get may be in memory. */
static void go_on(struct held_pull *held, enum wake_reason reason)
{
    const struct group *group;
    const struct topic *topic;
    int32_t forbidden = 0;
    bool waits = false;
    if (!rpc_conn_open(held->call->conn)) {
        call_drop(held->call);
    } else {
        err_t e = check_pull(held->broker, held->call, held->header, &forbidden, &group, &topic);
        if (e) refuse(held->broker, held->call, held->header, forbidden, e);
        else if (held->header->sys_flag & PULL_HAS_SUBSCRIPTION) waits = look_again(held, &held->filter, reason);
        else waits = look_for_group(held, group, reason, &forbidden);
    }
    if (!waits) held_pull_free(held);
}

static void on_wake(struct waiter *w, enum wake_reason reason)
{
    list_remove(&w->in_conn);
    go_on(LIST_OWNER(w, struct held_pull, waiter), reason);
}

static void on_fetched(struct disk_wait *w, bool stopping)
{
    struct held_pull *held = LIST_OWNER(w, struct held_pull, disk);
    if (!stopping) {
        go_on(held, held->reason);
        return;
    }
    call_drop(held->call);
    held_pull_free(held);
}

/* Takes a filter that came with the pull. */
static void hold_pull(struct broker *b, struct call *call, const struct pull_header *h, struct pull_filter *filter, int64_t past)
{
    int64_t wait_ms = b->cfg->broker.long_polling ? h->suspend_timeout_millis : b->cfg->broker.short_polling_ms;
    if (wait_ms > HOLD_MAX_MS) wait_ms = HOLD_MAX_MS;
    struct held_pull *held = must_alloc(sizeof *held);
    held->broker = b;
    held->call = call;
    call->held = true;
    held->header = header_copy(&pull_kind, h);
    held->filter = PULL_FILTER_EMPTY;
    if (h->sys_flag & PULL_HAS_SUBSCRIPTION) {
        held->filter = *filter;
        if (filter->by_retry) held->filter.group = topic_name_group(held->header->topic);   /* it borrowed from the request */
        *filter = PULL_FILTER_EMPTY;
    }
    note(b, call, h, -1, PULL_WAITS, 0);
    held->waiter = (struct waiter){.wake = on_wake};
    list_add(rpc_conn_waiting(call->conn), &held->waiter.in_conn);
    hold_wait(&b->hold, &held->waiter, held->header->topic, h->queue_id, past, tasks_mono_ms(b->tasks) + wait_ms);
}

/* --- the handler --- */

/* An administrator moved the group's offset: the consumer is told to go there. */
static bool answer_reset(struct broker *b, struct call *call, const struct pull_header *h)
{
    if (!b->cfg->broker.reset_on_server || !offsets_reset_pending(b->offsets, h->topic, h->consumer_group, h->queue_id)) return false;
    int64_t min = store_min_offset(b->store, h->topic, h->queue_id);
    if (disk_again(b, call)) return true;
    struct read_result r = {
        .next_offset = offsets_take_reset(b->offsets, h->topic, h->consumer_group, h->queue_id), .min_offset = min,
        .max_offset = store_max_offset(b->store, h->topic, h->queue_id),
    };
    reply_pull(b, call, h, RESPONSE_PULL_OFFSET_MOVED, "OFFSET_RESET", &r);
    return true;
}

static void commit_offset(struct broker *b, const struct call *call, const struct pull_header *h)
{
    if (!(h->sys_flag & PULL_COMMITS) || h->commit_offset < 0) return;
    char client[ADDR_TEXT_MAX];
    offsets_commit(b->offsets, slice_text(addr_format(rpc_conn_remote(call->conn), client)), h->topic, h->consumer_group, h->queue_id,
                   h->commit_offset);
}

/* The disk would have to be read for it, and has been read enough for its group. Who pulls by itself is not told to come later, as it would take
 * that for a failure, but waits. */
static bool hold_back(struct broker *b, struct call *call, const struct pull_header *h)
{
    if (!store_is_cold(b->store) || b->may_read_cold || !cold_control_is_over(b, h->consumer_group)) return false;
    struct member_group *members = members_consumers(&b->members, h->consumer_group);
    store_forget_cold(b->store);
    if (members && members->type == CONSUME_ACTIVELY) cold_control_hold(b, call);
    else refuse(b, call, h, 0, err_new(ERR_BUSY, "This consumer group is reading cold data. It has been flow control"));
    return true;
}

static void pull(struct broker *b, struct call *call, const struct pull_header *h, struct pull_filter *filter)
{
    struct read_result r;
    commit_offset(b, call, h);
    cold_control_note(b, h->consumer_group, b->fetched_bytes);
    read_for(b, h, h->queue_offset, filter, &r);
    if (hold_back(b, call, h)) return;
    if (disk_again(b, call)) return;
    bool may_wait = h->sys_flag & PULL_MAY_WAIT && h->suspend_timeout_millis > 0 && !call->oneway;
    if (may_wait && code_of(r.status, h->queue_offset) == RESPONSE_PULL_NOT_FOUND) hold_pull(b, call, h, filter, r.next_offset);
    else answer(b, call, h, &r);
}

/* Hands out messages of one queue from an offset on, or waits for them. Facts: docs/protocol/remoting.md A7 */
void handle_pull(struct broker *b, struct call *call)
{
    struct pull_header h = {.queue_id = -1};
    const struct group *group;
    const struct topic *topic;
    struct pull_filter filter = PULL_FILTER_EMPTY;
    int32_t forbidden = 0;

    err_t e = header_decode(&pull_kind, call->frame, &h);
    if (!e) e = check_pull(b, call, &h, &forbidden, &group, &topic);
    if (!e) e = pull_filter_open(b, call, &h, group, &filter, &forbidden);
    if (e) refuse(b, call, &h, forbidden, e);
    else if (!answer_reset(b, call, &h)) pull(b, call, &h, &filter);
    pull_filter_done(&filter);
}
