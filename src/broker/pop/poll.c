#include "broker/handlers.h"
#include "broker/pop/pop_state.h"

#include "base/log.h"

#include <stdlib.h>

/* As the original: a request that is so late is not looked at. */
enum { TOO_LATE_MS = 500 };

/* The original's words for an answer to which nobody gave others. */
static const char no_remark[] = "not set any response code";

/* --- refusals: with all fields zero --- */

static void refuse(struct call *call, bool notification, err_t e)
{
    struct pop_reply_header reply = {.pop_time = 0};
    struct notification_reply_header none = {.has_msg = false};
    if (notification) call_reply(call, err_response(e), err_text(e), &notification_reply_kind, &none, (struct slice){NULL, 0});
    else call_reply(call, err_response(e), err_text(e), &pop_reply_kind, &reply, (struct slice){NULL, 0});
    err_free(e);
}

/* --- may it be --- */

/* Nothing is handed out any more; who waits asks again, elsewhere or later. */
static err_t is_stopping(const struct broker *b)
{
    return b->stopping ? err_new(ERR_POLLING_TIMEOUT, "the broker is stopping") : NULL;
}

static err_t check_first(struct broker *b, const struct pop_header *h, char *text)
{
    int64_t late_ms;
    const char *host = addr_format_ip(&b->advertised, text);
    if (__builtin_sub_overflow(tasks_wall_ms(b->tasks), h->born_time, &late_ms)) late_ms = 0;
    if (__builtin_sub_overflow(late_ms, h->poll_time, &late_ms)) late_ms = 0;
    if (late_ms > TOO_LATE_MS) return err_new(ERR_POLLING_TIMEOUT, "the broker[%s] pop message is timeout too much", host);
    if (!(b->cfg->broker.permission & PERM_READ)) return err_new(ERR_NO_PERMISSION, "the broker[%s] pop message is forbidden", host);
    if (h->max_msg_nums < 0) return err_new(ERR_INVALID, "the broker[%s] pop message's num is negative", host);
    if (h->max_msg_nums > POINT_MESSAGES_MAX) return err_new(ERR_INVALID, "the broker[%s] pop message's num is greater than 32", host);
    if (!b->timed) return err_new(ERR_REFUSED, "the broker[%s] pop message is forbidden because timerWheelEnable is false", host);
    return NULL;
}

err_t pop_check_names(struct broker *b, const struct call *call, struct slice topic_name, int32_t queue_id, struct slice group_name)
{
    char text[ADDR_TEXT_MAX];
    const struct topic *topic = topics_find(b->topics, topic_name);
    if (!topic) return err_new(ERR_TOPIC_NOT_FOUND, "topic[%.*s] not exist, apply first please! " SEE_FAQ, SLICE_ARG(topic_name));
    if (!(topic->config.perm & PERM_READ))
        return err_new(ERR_NO_PERMISSION, "the topic[%.*s] peeking message is forbidden", SLICE_ARG(topic_name));
    if (queue_id >= topic->config.read_queues)
        return err_new(ERR_INVALID, "queueId[%d] is illegal, topic:[%.*s] topicConfig.readQueueNums:[%d] consumer:[/%s]", queue_id,
                       SLICE_ARG(topic_name), topic->config.read_queues, addr_format(rpc_conn_remote(call->conn), text));
    const struct group *group = groups_find_or_create(b->groups, group_name);
    if (!group) return err_new(ERR_GROUP_NOT_FOUND, "subscription group [%.*s] does not exist, " SEE_FAQ, SLICE_ARG(group_name));
    if (!group->config.consume_enable) return err_new(ERR_NO_PERMISSION, "subscription group no permission, %.*s", SLICE_ARG(group_name));
    return NULL;
}

static err_t check_names(struct broker *b, const struct call *call, const struct pop_header *h)
{
    return pop_check_names(b, call, h->topic, h->queue_id, h->consumer_group);
}

static err_t check_pop(struct broker *b, const struct call *call, const struct pop_header *h)
{
    char text[ADDR_TEXT_MAX];
    int64_t end_ms;
    err_t e = check_first(b, h, text);
    if (!e) e = check_names(b, call, h);
    if (!e && __builtin_add_overflow(tasks_wall_ms(b->tasks), h->invisible_time, &end_ms))
        e = err_new(ERR_INVALID, "the invisible time %lld never ends", (long long)h->invisible_time);
    return e;
}

static err_t check_notification(struct broker *b, const struct call *call, const struct pop_header *h)
{
    char text[ADDR_TEXT_MAX];
    if (!(b->cfg->broker.permission & PERM_READ))
        return err_new(ERR_NO_PERMISSION, "the broker[%s] peeking message is forbidden", addr_format_ip(&b->advertised, text));
    return check_names(b, call, h);
}

static err_t check(struct broker *b, const struct call *call, const struct pop_header *h, bool notification)
{
    return notification ? check_notification(b, call, h) : check_pop(b, call, h);
}

/* --- a request --- */

static void poll_free(struct poll *poll)
{
    buf_done(&poll->body);
    pop_filter_done(&poll->filter);
    buf_done(&poll->start_info);
    buf_done(&poll->offset_info);
    buf_done(&poll->count_info);
    buf_done(&poll->seen);
    free(poll->header);
    free(poll);
}

static void on_wake(struct waiter *w, enum wake_reason reason)
{
    struct poll *poll = LIST_OWNER(w, struct poll, waiter);
    list_remove(&w->in_conn);
    wait_leave(poll);
    poll_run(poll, reason);
}

static void on_fetched(struct disk_wait *w, bool stopping)
{
    poll_run(LIST_OWNER(w, struct poll, disk), stopping ? WAKE_DROPPED : WAKE_ARRIVED);
}

static void on_more(void *ctx)
{
    struct poll *poll = ctx;
    poll_run(poll, WAKE_ARRIVED);
}

static struct poll *poll_new(struct pop *p, struct call *call, const struct pop_header *h, bool notification)
{
    struct poll *poll = must_zero(sizeof *poll);
    poll->pop = p;
    poll->call = call;
    poll->header = header_copy(&pop_kind, h);
    poll->filter = POP_FILTER_EMPTY;
    poll->notification = notification;
    poll->waiter = (struct waiter){.wake = on_wake};
    poll->disk.go_on = on_fetched;
    list_node_init(&poll->in_scanning);
    timer_init(&poll->more, on_more, poll);
    if (__builtin_add_overflow(h->born_time, h->poll_time, &poll->expired_ms)) poll->expired_ms = INT64_MAX;
    return poll;
}

/* --- answers --- */

static void answer_notification(struct poll *poll, bool full)
{
    struct notification_reply_header reply = {.has_msg = poll->messages > 0, .polling_full = full};
    call_reply(poll->call, RESPONSE_SUCCESS, no_remark, &notification_reply_kind, &reply, (struct slice){NULL, 0});
    poll_free(poll);
}

static struct slice text_of(const struct buf *b) { return b->n ? buf_slice(b) : SLICE(""); }

static void answer(struct poll *poll, int32_t code)
{
    struct pop_reply_header reply = {
        .pop_time = poll->pop_ms, .invisible_time = poll->header->invisible_time, .revive_qid = poll->revive_queue, .rest_num = poll->rest,
        .start_offset_info = text_of(&poll->start_info), .msg_offset_info = text_of(&poll->offset_info),
    };
    if (poll->header->order) reply.order_count_info = text_of(&poll->count_info);
    struct pinned body = {buf_slice(&poll->body), free, poll->body.p};
    size_t parts = poll->body.n > 0;
    call_reply_pinned(poll->call, code, parts ? "FOUND" : "NO_MESSAGE_IN_QUEUE", &pop_reply_kind, &reply, &body, parts);
    if (parts) poll->body = BUF_EMPTY;
}

/* What is left is for the next one that waits. */
static void found(struct poll *poll)
{
    struct pop *p = poll->pop;
    answer(poll, RESPONSE_SUCCESS);
    if (poll->rest > 0 || poll->unfinished) wait_wake(p, poll->header->topic, poll->header->consumer_group, poll->header->queue_id);
    poll_free(poll);
}

/* It was woken for something that another one may take now. */
static void give_up(struct poll *poll, err_t e)
{
    struct pop *p = poll->pop;
    struct slice topic = poll->header->topic, group = poll->header->consumer_group;
    if (e) refuse(poll->call, poll->notification, e);
    else call_drop(poll->call);
    if (!poll->notification && !p->stopped) wait_wake(p, topic, group, poll->header->queue_id);
    poll_free(poll);
}

void poll_stored(struct poll *poll)
{
    if (poll->storing) return;
    err_t e = poll->failed;
    poll->failed = NULL;
    if (e) give_up(poll, e);
    else found(poll);
}

static void nothing(struct poll *poll)
{
    enum park_result result = poll->last_look ? PARK_TOO_LATE : wait_park(poll);
    if (result == PARKED) return;
    if (poll->notification) {
        answer_notification(poll, result == PARK_FULL);
        return;
    }
    if (poll->last_look && poll->rest > 0) metric_add(&poll->pop->broker->metrics, METRIC_FALSE_EMPTIES, 1);
    answer(poll, result == PARK_FULL ? RESPONSE_POLLING_FULL : RESPONSE_POLLING_TIMEOUT);
    poll_free(poll);
}

/* --- looking --- */

static void begin_look(struct poll *poll)
{
    struct pop *p = poll->pop;
    poll->scans = 0;
    poll->rest = 0;
    poll->unfinished = poll->cold = false;
    poll->pop_ms = tasks_wall_ms(p->broker->tasks);
    if (!poll->header->order) poll->revive_queue = (int32_t)(p->next_revive_queue++ % (uint32_t)p->broker->cfg->broker.revive_queues);
    else poll->revive_queue = 999;
    buf_clear(&poll->start_info);
    buf_clear(&poll->offset_info);
    buf_clear(&poll->count_info);
}

static void look(struct poll *poll)
{
    begin_look(poll);
    switch (poll_scan(poll)) {
    case SCAN_COLD:
        disk_wait(poll->pop->broker, &poll->disk);
        return;
    case SCAN_MORE:
        list_add(&poll->pop->scanning, &poll->in_scanning);
        timer_start(poll->pop->broker->tasks, &poll->more, 0);
        return;
    case SCAN_DONE: break;
    }
    if (poll->storing) return;   /* poll_stored() comes */
    if (!poll->messages) nothing(poll);
    else if (poll->notification) answer_notification(poll, false);
    else found(poll);
}

void poll_run(struct poll *poll, enum wake_reason reason)
{
    struct broker *b = poll->pop->broker;
    if (list_linked(&poll->in_scanning)) list_remove(&poll->in_scanning);
    if (poll->pop->stopped || !rpc_conn_open(poll->call->conn)) {
        give_up(poll, NULL);
        return;
    }
    if (b->stopping) {
        give_up(poll, is_stopping(b));
        return;
    }
    err_t e = reason == WAKE_TIMEOUT || poll->last_look ? check_names(b, poll->call, poll->header)
                                                        : check(b, poll->call, poll->header, poll->notification);
    if (e) {
        give_up(poll, e);
        return;
    }
    poll->last_look |= reason == WAKE_TIMEOUT;
    look(poll);
}

/* --- handlers --- */

static void begin(struct broker *b, struct call *call, struct pop_header *h, bool notification)
{
    if (!b->pop->ready) {
        pop_later(b->pop, call);
        return;
    }
    if (!h->born_time) h->born_time = tasks_wall_ms(b->tasks);
    err_t e = is_stopping(b);
    if (!e) e = check(b, call, h, notification);
    struct poll *poll = e ? NULL : poll_new(b->pop, call, h, notification);
    bool filtered = !notification || (b->cfg->broker.notify_filtered && h->exp_type.n && h->exp.n);
    if (!e && filtered) e = pop_filter_open(poll->header->topic, poll->header->exp_type, poll->header->exp, true, &poll->filter);
    if (e) {
        if (poll) poll_free(poll);
        refuse(call, notification, e);
        return;
    }
    if (!notification) views_note(b->pop, poll->header, call);
    look(poll);
}

/* Hands out messages of one queue or of all, or waits for them. Facts: docs/protocol/pop.md 2 */
void handle_pop(struct broker *b, struct call *call)
{
    struct pop_header h;
    err_t e = header_decode(&pop_kind, call->frame, &h);
    if (e) call_fail(call, e);
    else begin(b, call, &h, false);
}

/* Tells whether a pop would find something, or when it does. Facts: docs/protocol/pop.md 7 */
void handle_notification(struct broker *b, struct call *call)
{
    struct notification_header n;
    err_t e = header_decode(&notification_kind, call->frame, &n);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct pop_header h = {
        .topic = n.topic, .consumer_group = n.consumer_group, .queue_id = n.queue_id, .poll_time = n.poll_time, .born_time = n.born_time,
        .order = n.order, .group_order = n.group_order, .attempt_id = n.attempt_id, .exp_type = n.exp_type, .exp = n.exp, .max_msg_nums = 1,
    };
    begin(b, call, &h, true);
}

void handle_polling_info(struct broker *b, struct call *call)
{
    struct polling_info_header h;
    struct polling_info_reply_header reply = {.polling_num = 0};
    err_t e = header_decode(&polling_info_kind, call->frame, &h);
    if (!e) {
        struct pop_header names = {.topic = h.topic, .consumer_group = h.consumer_group, .queue_id = h.queue_id};
        e = check_notification(b, call, &names);
    }
    if (!e) reply.polling_num = (int32_t)wait_count(b->pop, h.topic, h.consumer_group, h.queue_id);
    if (e) call_reply(call, err_response(e), err_text(e), &polling_info_reply_kind, &reply, (struct slice){NULL, 0});
    else call_reply(call, RESPONSE_SUCCESS, no_remark, &polling_info_reply_kind, &reply, (struct slice){NULL, 0});
    err_free(e);
}
