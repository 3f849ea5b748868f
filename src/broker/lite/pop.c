/* POP_LITE_MESSAGE: what came to the lite topics that a client subscribes to, or a wait for it. Facts: docs/protocol/lite.md */
#include "broker/handlers.h"
#include "broker/lite/lite_state.h"

#include "base/log.h"
#include "codec/lmq.h"
#include "codec/properties.h"
#include "codec/receipt_handle.h"
#include "codec/record.h"

#include <stdlib.h>

enum { BATCH_MAX = 32, TOO_LATE_MS = 500, ENDS_EARLY_MS = 50, SCAN_ENTRIES = 4096, READS_AT_ONCE = 16, QUEUES_AT_ONCE = 1024, PARKED = -1 };

/* --- may it be --- */

static err_t check_first(struct broker *b, const struct pop_lite_header *h, char *text)
{
    int64_t late_ms, end_ms;
    const char *host = addr_format_ip(&b->advertised, text);
    if (__builtin_sub_overflow(tasks_wall_ms(b->tasks), h->born_time, &late_ms)) late_ms = 0;
    if (__builtin_sub_overflow(late_ms, h->poll_time, &late_ms)) late_ms = 0;
    if (late_ms > TOO_LATE_MS) return err_new(ERR_POLLING_TIMEOUT, "the broker[%s] pop message is timeout too much", host);
    if (!(b->cfg->broker.permission & PERM_READ)) return err_new(ERR_NO_PERMISSION, "the broker[%s] pop message is forbidden", host);
    if (h->max_msg_num < 0) return err_new(ERR_INVALID, "the broker[%s] pop message's num is negative", host);
    if (h->max_msg_num > BATCH_MAX) return err_new(ERR_INVALID, "the broker[%s] pop message's num is greater than 32", host);
    if (!__builtin_add_overflow(tasks_wall_ms(b->tasks), h->invisible_time, &end_ms)) return NULL;
    return err_new(ERR_INVALID, "the invisible time %lld never ends", (long long)h->invisible_time);
}

static err_t check_topic(struct broker *b, const struct pop_lite_header *h)
{
    const struct topic *topic = topics_find(b->topics, h->topic);
    if (!topic) return err_new(ERR_TOPIC_NOT_FOUND, "topic [%.*s] not exist, apply first please! " SEE_FAQ, SLICE_ARG(h->topic));
    if (!(topic->config.perm & PERM_READ))
        return err_new(ERR_NO_PERMISSION, "the topic [%.*s] peeking message is forbidden", SLICE_ARG(h->topic));
    if (!lite_is_parent(b, h->topic)) return err_new(ERR_INVALID, "the topic [%.*s] message type not match", SLICE_ARG(h->topic));
    return NULL;
}

static err_t check_group(struct broker *b, const struct pop_lite_header *h)
{
    const struct group *group = groups_find_or_create(b->groups, h->consumer_group);
    if (!group) return err_new(ERR_GROUP_NOT_FOUND, "subscription group [%.*s] not exist, " SEE_FAQ, SLICE_ARG(h->consumer_group));
    if (!group->config.consume_enable)
        return err_new(ERR_NO_PERMISSION, "subscription group no permission, %.*s", SLICE_ARG(h->consumer_group));
    if (slice_eq(lite_bound_topic(b, h->consumer_group), h->topic)) return NULL;
    return err_new(ERR_INVALID, "subscription bind topic not match, %.*s", SLICE_ARG(h->consumer_group));
}

/* Once more when it is woken: only what may have changed. */
static err_t check(struct broker *b, const struct pop_lite_header *h, bool again)
{
    char text[ADDR_TEXT_MAX];
    err_t e = again ? NULL : check_first(b, h, text);
    if (!e) e = check_topic(b, h);
    if (!e) e = check_group(b, h);
    return e;
}

static void refuse(struct call *call, err_t e)
{
    struct pop_lite_reply_header none = {.pop_time = 0};
    call_reply(call, err_response(e), err_text(e), &pop_lite_reply_kind, &none, (struct slice){NULL, 0});
    err_free(e);
}

/* --- one lite topic --- */

/* Its place in the light queue: the record tells that in the queue of its own topic. */
static int64_t offset_in(struct slice queue, struct slice record)
{
    struct message m;
    struct slice names, offsets, name, number;
    int64_t offset;
    if (record_read(record, &m) != RECORD_WHOLE) return -1;
    if (slice_eq(m.topic, queue)) return m.queue_offset;
    names = properties_get(m.properties, LMQ_NAMES);
    offsets = properties_get(m.properties, LMQ_OFFSETS);
    while (slice_split(&names, ',', &name) && slice_split(&offsets, ',', &number))
        if (slice_eq(name, queue)) return slice_to_i64(number, &offset) ? offset : -1;
    return -1;
}

static int64_t newest_offset(struct broker *b, struct slice queue)
{
    int64_t min = store_min_offset(b->store, queue, 0), max = store_max_offset(b->store, queue, 0);
    if (b->cfg->broker.pop_init_in_memory && min <= 0 && store_is_recent(b->store, queue, 0, 0)) return 0;
    return max > 0 ? max - 1 : 0;
}

static void commit(struct broker *b, struct slice queue, struct slice group, int64_t offset)
{
    offsets_commit(b->offsets, SLICE("broker"), queue, group, 0, offset);
}

/* Where the group is. False: that is not in memory. */
static bool find_offset(struct lite_poll *p, struct slice queue, int64_t *out)
{
    struct broker *b = p->lite->broker;
    struct slice group = p->header->consumer_group;
    int64_t offset = offsets_query(b->offsets, queue, group, 0);
    if (offsets_reset_pending(b->offsets, queue, group, 0)) {
        offset = offsets_take_reset(b->offsets, queue, group, 0);
        order_clear(&p->lite->order, queue, group, 0);
        commit(b, queue, group, offset);
    }
    if (offset < 0) {
        offset = newest_offset(b, queue);
        if (store_is_cold(b->store)) return false;
        commit(b, queue, group, offset);
    }
    *out = offset;
    return true;
}

static void put_counts(struct lite_poll *p, struct slice queue)
{
    const struct order_queue *q = order_find(&p->lite->order, queue, p->header->consumer_group, 0);
    for (size_t i = 0; q && i < q->count; i++) buf_printf(&p->counts, "%s%d", p->counts.n ? ";" : "", q->messages[i].count > 0 ? q->messages[i].count : 0);
}

static void hand_out(struct lite_poll *p, struct slice queue, const int64_t *offsets, size_t count)
{
    struct buf unused = BUF_EMPTY;
    struct order_pop pop = {
        .topic = queue, .group = p->header->consumer_group, .attempt_id = p->header->attempt_id, .pop_ms = p->pop_ms,
        .invisible_ms = p->header->invisible_time, .offsets = offsets, .count = count,
    };
    order_popped(&p->lite->order, &pop, &unused);
    buf_done(&unused);
    put_counts(p, queue);
    p->messages += count;
}

static void take(struct lite_poll *p, struct slice queue, const struct read_result *r)
{
    int64_t offsets[BATCH_MAX];
    size_t count = 0;
    for (size_t i = 0; i < r->slices; i++) {
        struct slice rest = r->slice[i].bytes;
        while (rest.n && count < BATCH_MAX) {
            struct slice record = slice_of(rest.p, record_total_size(rest.p));
            int64_t offset = offset_in(queue, record);
            rest = slice_skip(rest, record.n);
            if (offset < 0) continue;
            offsets[count++] = offset;
            buf_put_slice(&p->body, record);
        }
    }
    if (count) hand_out(p, queue, offsets, count);
    else commit(p->lite->broker, queue, p->header->consumer_group, r->next_offset);   /* what nobody could acknowledge */
}

/* Reads from an offset on, over what is gone. True: something came of it, and there may be more. */
static bool read_queue(struct lite_poll *p, struct slice queue, int64_t at)
{
    struct broker *b = p->lite->broker;
    for (int tries = 0; tries < READS_AT_ONCE; tries++) {
        struct read_result r;
        struct read_request q = {
            .topic = queue, .offset = at, .max_messages = p->header->max_msg_num - (int32_t)p->messages,
            .max_bytes = b->cfg->store.transfer_memory_bytes, .max_scan = SCAN_ENTRIES,
        };
        store_read(b->store, &q, &r);
        p->cold = store_is_cold(b->store);
        if (!p->cold && r.status == READ_FOUND) take(p, queue, &r);
        read_result_release(&r);
        bool wrong = r.status == READ_OFFSET_TOO_SMALL || r.status == READ_OFFSET_PAST_END || r.status == READ_MESSAGE_GONE || r.status == READ_NO_MATCH;
        if (p->cold || !wrong || r.next_offset == at) return !p->cold && r.status == READ_FOUND;
        log_warn("lite.offset_corrected queue=\"%.*s\" group=\"%.*s\" from=%lld to=%lld", SLICE_ARG(queue), SLICE_ARG(p->header->consumer_group),
                 (long long)at, (long long)r.next_offset);
        at = r.next_offset;
        commit(b, queue, p->header->consumer_group, at);
    }
    return true;
}

/* False: what it needs is not in memory. */
static bool look_at(struct lite_poll *p, struct lite_share *s)
{
    struct lite *l = p->lite;
    struct slice queue = s->topic->queue;
    int64_t at;
    if (lite_is_blocked(l, queue, p->header->consumer_group, p->header->attempt_id)) {
        lite_arm(l, s);
        return true;
    }
    p->cold = !find_offset(p, queue, &at);
    if (!p->cold && read_queue(p, queue, at)) lite_ready(l, s);   /* mostly: when what was taken is visible again */
    return !p->cold;
}

/* --- all that have something --- */

static bool is_full(const struct lite_poll *p)
{
    return (int64_t)p->messages >= p->header->max_msg_num || (int64_t)p->body.n >= p->lite->broker->cfg->store.transfer_memory_bytes;
}

static bool is_of(const struct lite_client *c, const struct pop_lite_header *h)
{
    return c && c->group && slice_eq(c->group->name, h->consumer_group) && slice_eq(slice_text(c->topic), h->topic);
}

static void look_at_all(struct lite_poll *p)
{
    struct lite *l = p->lite;
    struct lite_client *c = lite_client_find(l, p->header->client_id);
    struct lite_share *s;
    if (!is_of(c, p->header)) return;
    c->popped_ms = p->pop_ms;
    for (int i = 0; !is_full(p); i++) {
        p->unfinished = i == QUEUES_AT_ONCE;
        if (p->unfinished || !(s = lite_next(c))) break;
        if (!look_at(p, s)) {
            lite_put_back(l, c, s);
            return;
        }
        if (s->group->wildcard.p) lite_share_tidy(l, s);
    }
    if (p->messages) c->found_ms = p->pop_ms;
}

/* --- its life --- */

static void poll_free(struct lite_poll *p)
{
    buf_done(&p->body);
    buf_done(&p->counts);
    free(p->header);
    free(p);
}

/* What is left in the client's hands is for another one of its polls. */
static void wake_next(struct lite *l, struct slice client_id)
{
    struct lite_client *c = lite_client_find(l, client_id);
    if (!c || !c->poll_count || l->stopped) return;
    if (!list_empty(&c->ready) || (c->group && c->group->wildcard.p && !list_empty(&c->group->ready))) lite_wake(l, c);
}

static void answer(struct lite_poll *p, int32_t code)
{
    struct broker *b = p->lite->broker;
    struct pop_lite_reply_header reply = {
        .pop_time = p->pop_ms, .invisible_time = p->header->invisible_time, .revive_qid = ORDERED_REVIVE_QUEUE,
        .order_count_info = p->counts.n ? buf_slice(&p->counts) : SLICE(""),
    };
    metric_add(&b->metrics, METRIC_MESSAGES_OUT, (int64_t)p->messages);
    metric_add(&b->metrics, METRIC_THROUGHPUT_OUT, (int64_t)p->body.n);
    struct pinned body = {buf_slice(&p->body), free, p->body.p};
    size_t parts = p->body.n > 0;
    call_reply_pinned(p->call, code, parts ? "FOUND" : "NO_MESSAGE_IN_QUEUE", &pop_lite_reply_kind, &reply, &body, parts);
    if (parts) p->body = BUF_EMPTY;
    poll_free(p);
}

static void give_up(struct lite_poll *p, err_t e)
{
    struct lite *l = p->lite;
    struct lite_client *c = lite_client_find(l, p->header->client_id);
    if (e) refuse(p->call, e);
    else call_drop(p->call);
    poll_free(p);
    if (c && !l->stopped && c->group && !list_empty(&c->ready)) lite_ready(l, LIST_OWNER(list_first(&c->ready), struct lite_sub, in_ready)->share);
}

/* --- waiting --- */

static void leave(struct lite_poll *p)
{
    struct lite_client *c = p->client;
    list_remove(&p->in_client);
    p->client = NULL;
    c->poll_count--;
    p->lite->polls--;
    lite_client_tidy(p->lite, c);
}

static void on_wake(struct waiter *w, enum wake_reason reason)
{
    struct lite_poll *p = LIST_OWNER(w, struct lite_poll, waiter);
    list_remove(&w->in_conn);
    leave(p);
    lite_poll_run(p, reason);
}

static void enter(struct lite_poll *p, struct lite_client *c)
{
    struct list_node *before = c->polls.head.prev;
    while (before != &c->polls.head && LIST_OWNER(before, struct lite_poll, in_client)->expired_ms > p->expired_ms) before = before->prev;
    struct list_node *n = &p->in_client;
    n->prev = before;
    n->next = before->next;
    before->next->prev = n;
    before->next = n;
    p->client = c;
    c->poll_count++;
    p->lite->polls++;
}

/* PARKED: it waits; otherwise what to answer. */
static int32_t park(struct lite_poll *p)
{
    struct lite *l = p->lite;
    struct broker *b = l->broker;
    const struct lite_client *known = lite_client_find(l, p->header->client_id);
    int64_t left_ms;
    if (p->last_look || p->header->poll_time <= 0 || p->call->oneway) return RESPONSE_POLLING_TIMEOUT;
    if ((int64_t)l->polls >= b->cfg->broker.max_pop_polling) return RESPONSE_POLLING_FULL;
    if (__builtin_sub_overflow(p->expired_ms, tasks_wall_ms(b->tasks), &left_ms)) return RESPONSE_POLLING_TIMEOUT;
    left_ms -= ENDS_EARLY_MS;
    if (left_ms < 0) return RESPONSE_POLLING_TIMEOUT;
    if (known && known->poll_count > (size_t)b->cfg->broker.pop_polling) return RESPONSE_POLLING_FULL;
    if (left_ms > HOLD_MAX_MS) left_ms = HOLD_MAX_MS;
    enter(p, lite_client_get(l, p->header->client_id));
    list_add(rpc_conn_waiting(p->call->conn), &p->waiter.in_conn);
    hold_park(&b->hold, &p->waiter, tasks_mono_ms(b->tasks) + left_ms);
    return PARKED;
}

static void look(struct lite_poll *p)
{
    struct lite *l = p->lite;
    p->pop_ms = tasks_wall_ms(l->broker->tasks);
    p->cold = p->unfinished = false;
    look_at_all(p);
    if (p->cold && !p->messages) {
        disk_wait(l->broker, &p->disk);
        return;
    }
    if (p->cold) store_forget_cold(l->broker->store);
    int32_t code = p->messages ? RESPONSE_SUCCESS : park(p);
    if (code == PARKED) {
        if (p->unfinished) wake_next(l, p->header->client_id);
        return;
    }
    struct slice id = p->header->client_id;
    struct buf name = BUF_EMPTY;
    buf_put_slice(&name, id);
    answer(p, code);
    wake_next(l, buf_slice(&name));
    buf_done(&name);
}

static void on_fetched(struct disk_wait *w, bool stopping)
{
    lite_poll_run(LIST_OWNER(w, struct lite_poll, disk), stopping ? WAKE_DROPPED : WAKE_ARRIVED);
}

void lite_poll_run(struct lite_poll *p, enum wake_reason reason)
{
    struct broker *b = p->lite->broker;
    if (reason == WAKE_DROPPED || p->lite->stopped || b->stopping || !rpc_conn_open(p->call->conn)) {
        give_up(p, NULL);
        return;
    }
    err_t e = check(b, p->header, true);
    if (e) {
        give_up(p, e);
        return;
    }
    p->last_look |= reason == WAKE_TIMEOUT;
    look(p);
}

/* The answer to its last pop was lost: what that took it gets again. */
static void note_attempt(struct lite *l, const struct pop_lite_header *h)
{
    struct lite_client *c = lite_client_find(l, h->client_id);
    if (!is_of(c, h) || !h->attempt_id.n) return;
    bool again = c->attempt_id && slice_eq(slice_text(c->attempt_id), h->attempt_id);
    free(c->attempt_id);
    c->attempt_id = must_dup(h->attempt_id);
    if (again && c->group->wildcard.p) lite_dispatch_group(l, c->group);
    else if (again) lite_dispatch_client(l, c);
}

static struct lite_poll *poll_new(struct lite *l, struct call *call, const struct pop_lite_header *h)
{
    struct lite_poll *p = must_zero(sizeof *p);
    p->lite = l;
    p->call = call;
    p->header = header_copy(&pop_lite_kind, h);
    p->waiter = (struct waiter){.wake = on_wake};
    p->disk.go_on = on_fetched;
    if (__builtin_add_overflow(h->born_time, h->poll_time, &p->expired_ms)) p->expired_ms = INT64_MAX;
    return p;
}

void handle_pop_lite(struct broker *b, struct call *call)
{
    struct pop_lite_header h;
    err_t e = header_decode(&pop_lite_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    if (!h.born_time) h.born_time = tasks_wall_ms(b->tasks);
    e = check(b, &h, false);
    if (e) {
        refuse(call, e);
        return;
    }
    note_attempt(b->lite, &h);
    look(poll_new(b->lite, call, &h));
}
