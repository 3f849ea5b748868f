#include "broker/pop/pop_state.h"

#include "broker/handlers.h"
#include "broker/intake/put.h"

#include "base/log.h"
#include "codec/properties.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ACK_BEFORE_MS = 1000,            /* a check point comes to the revive topic that much before its acknowledgements */
    LOOK_AGAIN_MS = 10000,           /* the wall clock may be set */
};

/* --- requests that come before it is ready --- */

struct late_call {
    struct list_node node;
    struct call *call;
    struct frame *frame;
};

void pop_later(struct pop *p, struct call *call)
{
    struct late_call *late = must_zero(sizeof *late);
    late->call = call;
    late->frame = frame_copy(call->frame);
    call->frame = late->frame;
    call->body = late->frame->body;
    list_add(&p->late, &late->node);
}

static void let_go_on(struct pop *p)
{
    struct list late;
    list_move(&p->late, &late);
    while (!list_empty(&late)) {
        struct late_call *l = LIST_OWNER(list_first(&late), struct late_call, node);
        list_remove(&l->node);
        if (p->stopped || !rpc_conn_open(l->call->conn)) call_drop(l->call);
        else broker_dispatch(p->broker, l->call);
        free(l->frame);
        free(l);
    }
}

/* --- records --- */

static void put_properties(const struct pop_record *r, int64_t deliver_ms, struct buf *out)
{
    char number[24];
    struct buf key = BUF_EMPTY;
    properties_put(out, SLICE("TAGS"), pop_record_tag(r->kind));
    properties_put(out, SLICE("TIMER_DELIVER_MS"), slice_of(number, (size_t)snprintf(number, sizeof number, "%" PRId64, deliver_ms)));
    pop_record_put_key(r, &key);
    properties_put(out, SLICE("UNIQ_KEY"), buf_slice(&key));
    buf_done(&key);
}

err_t pop_store(struct pop *p, const struct pop_record *r, int32_t revive_queue, int64_t deliver_ms, append_done *done, void *ctx,
                struct appended *out)
{
    struct broker *b = p->broker;
    struct buf body = BUF_EMPTY, properties = BUF_EMPTY;
    int64_t now_ms = tasks_wall_ms(b->tasks);
    bool late = r->kind != POP_POINT && deliver_ms <= now_ms;
    if (late) deliver_ms = now_ms + 1;   /* through the wheel, behind its check point: before it, it would be nobody's */
    pop_record_write(r, &body);
    put_properties(r, deliver_ms, &properties);
    struct message m = {
        .topic = slice_text(p->revive_topic), .queue_id = revive_queue, .born_ms = now_ms, .born_host = b->advertised,
        .body = buf_slice(&body), .properties = buf_slice(&properties),
    };
    err_t e = intake_put(b, &m, done, ctx, out);
    if (!e) metric_count(&b->metrics, METRIC_POP_REVIVE_IN, 1, LABELS(r->topic, r->group, r->kind == POP_POINT ? SLICE("CK") : SLICE("ACK"), SLICE("PUT_OK")));
    rebuild_arm(p);
    buf_done(&body);
    buf_done(&properties);
    return e;
}

struct own_ack {
    struct appended appended;
};

static void own_ack_done(void *ctx, err_t e)
{
    err_drop(e, "what is out no more is told by the snapshot, too");
    free(ctx);
}

/* In the revive queue of its check point; of one whose queue is not known any queue tells it to a start. */
void pop_store_ack(struct pop *p, const struct check_point *point, uint32_t bits)
{
    int64_t offsets[POINT_MESSAGES_MAX];
    struct pop_record r = {
        .kind = POP_BATCH_ACK, .topic = point->queue->topic, .group = point->queue->group, .queue_id = point->queue->queue_id,
        .broker = point->broker ? slice_text(point->broker) : p->own_broker, .start_offset = point->start_offset, .pop_ms = point->pop_ms,
        .offsets = offsets,
    };
    for (size_t i = 0; i < point->count; i++)
        if (bits >> i & 1) offsets[r.offset_count++] = leases_offset(point, i);
    if (!r.offset_count || p->stopped) return;
    if (r.offset_count == 1) r.kind = POP_ACK;
    struct own_ack *ack = must_zero(sizeof *ack);
    err_t e = pop_store(p, &r, point->revive_queue, leases_due_ms(point), own_ack_done, ack, &ack->appended);
    if (e) own_ack_done(ack, e);
}

/* --- the table --- */

int64_t pop_next_offset(const struct pop *p, struct slice topic, struct slice group, int32_t queue_id)
{
    const struct lease_queue *q = leases_queue((struct leases *)&p->leases, topic, group, queue_id, false);
    int64_t committed = offsets_query(p->broker->offsets, topic, group, queue_id);
    return q && q->next > committed ? q->next : committed;
}

struct lease_queue *pop_queue(struct pop *p, struct slice topic, struct slice group, int32_t queue_id)
{
    struct lease_queue *q = leases_queue(&p->leases, topic, group, queue_id, true);
    if (!q) return NULL;
    int64_t committed = offsets_query(p->broker->offsets, topic, group, queue_id);
    if (committed > q->next) q->next = committed;
    q->used_ms = tasks_mono_ms(p->broker->tasks);
    return q;
}

void pop_settle(struct pop *p, struct check_point *point)
{
    if (!leases_is_over(point)) return;
    struct revive_mark *mark = point->mark;
    if (point->recent) rebuild_forget_recent(p);
    leases_remove(&p->leases, point);
    if (mark) revive_log_release(mark);
}

static void on_due(void *ctx)
{
    struct pop *p = ctx;
    revive_due(p);
    pop_arm(p);
}

void pop_arm(struct pop *p)
{
    int64_t due_ms = leases_next_due_ms(&p->leases), wait_ms;
    if (!p->ready || p->stopped || due_ms < 0) {
        timer_stop(p->broker->tasks, &p->due);
        return;
    }
    wait_ms = due_ms - tasks_wall_ms(p->broker->tasks);
    if (wait_ms < 0) wait_ms = 0;
    if (wait_ms > LOOK_AGAIN_MS) wait_ms = LOOK_AGAIN_MS;
    if (p->due.armed && p->due.due_ms <= tasks_mono_ms(p->broker->tasks) + wait_ms) return;
    timer_start(p->broker->tasks, &p->due, wait_ms);
}

/* --- what others do to it --- */

static void drop_point(struct pop *p, struct check_point *point)
{
    pop_store_ack(p, point, leases_all(point) & ~point->acked);
    for (size_t i = 0; i < point->count; i++) leases_ack(&p->leases, point, i);
    point->untold = 0;
    point->next_offset = -1;   /* where the group goes on is settled otherwise */
    pop_settle(p, point);
}

static void drop_points(struct pop *p, struct lease_queue *q)
{
    LIST_EACH(&q->points, node) drop_point(p, LIST_OWNER(node, struct check_point, in_queue));
}

static void store_mark(struct pop *p, struct slice topic, struct slice group, int32_t queue_id, int64_t offset)
{
    struct pop_record r = {
        .kind = POP_POINT, .topic = topic, .group = group, .broker = p->own_broker, .queue_id = queue_id, .start_offset = offset,
        .pop_ms = tasks_wall_ms(p->broker->tasks),
    };
    struct own_ack *ack = must_zero(sizeof *ack);
    err_t e = pop_store(p, &r, 0, r.pop_ms, own_ack_done, ack, &ack->appended);
    if (e) own_ack_done(ack, e);
    rebuild_changed(p);
}

/* Done once it is known what is out. */
struct early {
    struct list_node node;
    struct slice topic, group;       /* behind it; p NULL: none */
    int32_t queue_id;                /* -1: all of the topic, or of the group */
    int64_t offset;
};

static void keep_for_later(struct pop *p, struct slice topic, struct slice group, int32_t queue_id, int64_t offset)
{
    struct early *e = must_zero(sizeof *e + topic.n + group.n);
    uint8_t *texts = (uint8_t *)(e + 1);
    if (topic.n) memcpy(texts, topic.p, topic.n);
    if (group.n) memcpy(texts + topic.n, group.p, group.n);
    e->topic = topic.p ? slice_of(texts, topic.n) : topic;
    e->group = group.p ? slice_of(texts + topic.n, group.n) : group;
    e->queue_id = queue_id;
    e->offset = offset;
    list_add(&p->early, &e->node);
}

void pop_offset_reset(struct pop *p, struct slice topic, struct slice group, int32_t queue_id, int64_t offset)
{
    if (!p) return;
    if (!p->ready) {
        keep_for_later(p, topic, group, queue_id, offset);
        return;
    }
    struct lease_queue *q = leases_queue(&p->leases, topic, group, queue_id, false);
    order_clear(&p->order, topic, group, queue_id);
    if (q) {
        drop_points(p, q);
        q->next = offset;
        store_mark(p, topic, group, queue_id, offset);
    }
    wait_wake(p, topic, group, queue_id);
}

static void forget(struct pop *p, struct slice topic, struct slice group)
{
    struct map_entry *e;
    bool any = false;
    if (!p->ready) {
        keep_for_later(p, topic, group, -1, 0);
        return;
    }
    for (size_t at = 0; (e = map_next(&p->leases.queues, &at));) {
        struct lease_queue *q = e->value;
        if (topic.p ? !slice_eq(q->topic, topic) : !slice_eq(q->group, group)) continue;
        drop_points(p, q);
        q->next = -1;
        any = true;
    }
    order_forget(&p->order, topic, group);
    if (any || p->written_log >= 0) store_mark(p, topic.p ? topic : SLICE(""), topic.p ? SLICE("") : group, -1, 0);
}

void pop_topic_gone(struct pop *p, struct slice topic)
{
    if (p) forget(p, topic, (struct slice){NULL, 0});
}

void pop_group_gone(struct pop *p, struct slice group)
{
    if (p) forget(p, (struct slice){NULL, 0}, group);
}

int64_t pop_revive_lag(const struct pop *p, int32_t queue_id) { return revive_log_lag_of(p, queue_id); }

int64_t pop_revive_first(const struct pop *p, int32_t queue_id, struct slice *out_topic)
{
    assert(queue_id >= 0 && queue_id < p->revive_queue_count);
    *out_topic = slice_text(p->revive_topic);
    return p->revive_queues[queue_id].committed + 1;
}

size_t pop_in_flight(const struct pop *p, struct slice topic, struct slice group, int32_t queue_id)
{
    const struct lease_queue *q = p ? leases_queue((struct leases *)&p->leases, topic, group, queue_id, false) : NULL;
    return (q ? q->out : 0) + (p ? order_in_flight(&p->order, topic, group, queue_id) : 0);
}

static void do_early(struct pop *p)
{
    while (!list_empty(&p->early)) {
        struct early *e = LIST_OWNER(list_first(&p->early), struct early, node);
        list_remove(&e->node);
        if (e->queue_id >= 0) pop_offset_reset(p, e->topic, e->group, e->queue_id, e->offset);
        else forget(p, e->topic, e->group);
        free(e);
    }
}

void pop_show(const struct pop *p)
{
    metric_set(&p->broker->metrics, METRIC_POP_OUT, (int64_t)p->leases.out);
    metric_set(&p->broker->metrics, METRIC_POP_POINTS, (int64_t)p->leases.points.count);
    metric_set(&p->broker->metrics, METRIC_POP_REVIVE_LAG, revive_log_lag(p));
    metric_set(&p->broker->metrics, METRIC_POP_WAITING, (int64_t)(p->pops_waiting + p->notifications_waiting));
}

/* --- life --- */

static void on_unlock(void *ctx);

static void begin(struct pop *p)
{
    p->ready = true;
    do_early(p);
    revive_log_begin(p);
    pop_arm(p);
    on_unlock(p);
    let_go_on(p);
}

void pop_is_ready(struct pop *p)
{
    if (!p->stopped) begin(p);
}

static char *revive_topic_of(const struct broker *b)
{
    char *name;
    if (asprintf(&name, "rmq_sys_REVIVE_LOG_%.*s", SLICE_ARG(b->cluster)) < 0) return must_strdup("");
    return name;
}

err_t pop_new(struct broker *b, struct pop **out)
{
    struct pop *p = must_zero(sizeof *p);
    p->broker = b;
    p->own_broker = slice_text(b->cfg->broker.name);
    p->revive_topic = revive_topic_of(b);
    p->leases = LEASES_EMPTY;
    p->points = p->foreign = p->views = MAP_EMPTY;
    list_init(&p->late);
    list_init(&p->early);
    list_init(&p->scanning);
    list_init(&p->revivals);
    list_init(&p->foreign_order);
    p->snapshot_log = p->written_log = -1;
    timer_init(&p->due, on_due, p);
    timer_init(&p->tidy, wait_tidy, p);
    timer_init(&p->unlock, on_unlock, p);
    revive_log_init(p);
    err_t e = order_open(&p->order, b);
    if (!e) e = rebuild_begin(p);
    *out = p;   /* also half made: pop_free() takes it */
    return e;
}

void pop_stop(struct pop *p)
{
    if (!p) return;
    struct tasks *tasks = p->broker->tasks;
    p->stopped = true;
    timer_stop(tasks, &p->due);
    timer_stop(tasks, &p->tidy);
    timer_stop(tasks, &p->unlock);
    let_go_on(p);
    while (!list_empty(&p->scanning)) {
        struct poll *poll = LIST_OWNER(list_first(&p->scanning), struct poll, in_scanning);
        timer_stop(tasks, &poll->more);
        poll_run(poll, WAKE_DROPPED);
    }
    revive_log_end(p);
    revive_end(p);
    rebuild_end(p);
}

err_t pop_free(struct pop *p, bool clean)
{
    if (!p) return NULL;
    revive_free(p);
    while (!list_empty(&p->early)) {
        struct list_node *node = list_first(&p->early);
        list_remove(node);
        free(LIST_OWNER(node, struct early, node));
    }
    err_t e = rebuild_free(p, clean), saved = order_close(&p->order);
    if (!e) e = saved;
    else err_drop(saved, "the first error is told");
    timer_stop(p->broker->tasks, &p->tidy);
    wait_done(p);
    views_done(p);
    revive_log_free(p);
    leases_done(&p->leases);
    buf_done(&p->woken);
    free(p->revive_topic);
    free(p);
    return e;
}

void pop_revive_arrived(struct pop *p, int32_t queue_id)
{
    if (p) revive_log_arrived(p, queue_id);
}

bool pop_is_revive_topic(const struct pop *p, struct slice topic) { return p && slice_eq(topic, slice_text(p->revive_topic)); }

/* --- ordered queues --- */

static void wake_unlocked(void *ctx, struct slice topic, struct slice group, int32_t queue_id)
{
    wait_wake(ctx, topic, group, queue_id);
}

static void on_unlock(void *ctx)
{
    struct pop *p = ctx;
    int64_t next_ms = order_unlocked(&p->order, tasks_wall_ms(p->broker->tasks), wake_unlocked, p);
    pop_arm_unlock(p, next_ms);
}

void pop_arm_unlock(struct pop *p, int64_t at_ms)
{
    if (at_ms < 0 || p->stopped || !p->broker->cfg->broker.pop_order_unlock) return;
    int64_t ms = at_ms - tasks_wall_ms(p->broker->tasks), now_ms = tasks_mono_ms(p->broker->tasks);
    if (ms < 0) ms = 0;
    if (ms > LOOK_AGAIN_MS) ms = LOOK_AGAIN_MS;
    if (p->unlock.armed && p->unlock.due_ms <= now_ms + ms) return;
    timer_start(p->broker->tasks, &p->unlock, ms);
}
