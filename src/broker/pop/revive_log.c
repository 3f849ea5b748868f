/* The revive topic: what an original wrote there, and what we did. Facts: docs/protocol/pop.md 3.5
 * What the table knows goes its own way; here it only keeps the group's offset from passing it. A check point that the table does not know is
 * one whose messages all came to their end, which its acknowledgements tell, or an original's: when all that was due by then has come, what is
 * not acknowledged is put back. */
#include "broker/pop/pop_state.h"

#include "base/log.h"
#include "codec/properties.h"
#include "codec/record.h"

#include <stdio.h>
#include <stdlib.h>

enum { READ_MESSAGES = 64, READ_BYTES = 1 << 20, READS_AT_ONCE = 8, LOOK_MS = 500 };

/* A check point that the table does not know. */
struct foreign {
    struct list_node node;
    struct revive_mark *mark;
    struct buf key;
    struct pop_record record;        /* its texts lie in the key */
    int64_t told_ms;                 /* acknowledgements written before it came are due by then */
};

/* --- how far the group is --- */

static void commit(struct revive_queue *q)
{
    struct pop *p = q->pop;
    int64_t done = list_empty(&q->marks) ? q->next - 1 : LIST_OWNER(q->marks.head.next, struct revive_mark, node)->offset - 1;
    if (done <= q->committed || p->stopped) return;
    q->committed = done;
    offsets_commit(p->broker->offsets, SLICE("broker"), slice_text(p->revive_topic), REVIVE_GROUP, q->queue_id, done);
}

static struct revive_mark *mark_new(struct revive_queue *q, int64_t offset)
{
    struct revive_mark *mark = must_alloc(sizeof *mark);
    mark->queue = q;
    mark->offset = offset;
    list_add(&q->marks, &mark->node);
    return mark;
}

void revive_log_release(struct revive_mark *mark)
{
    struct revive_queue *q = mark->queue;
    list_remove(&mark->node);
    free(mark);
    commit(q);
}

/* --- those that the table does not know --- */

/* Names first, so that they can be pointed to; then the numbers. */
static void put_key(const struct pop *p, const struct pop_record *r, struct buf *out)
{
    struct slice broker = r->broker.n ? r->broker : p->own_broker;
    const int64_t numbers[] = {r->queue_id, r->start_offset, r->pop_ms, (int64_t)r->topic.n, (int64_t)r->group.n};
    buf_put_slice(out, r->topic);
    buf_put_slice(out, r->group);
    buf_put_slice(out, broker);
    buf_put(out, numbers, sizeof numbers);
}

static void foreign_free(struct pop *p, struct foreign *f)
{
    map_remove(&p->foreign, buf_slice(&f->key));
    list_remove(&f->node);
    buf_done(&f->key);
    free(f);
}

static bool is_acked(const struct pop_record *r)
{
    uint32_t all = r->count == POINT_MESSAGES_MAX ? UINT32_MAX : ((uint32_t)1 << r->count) - 1;
    return (r->acked & all) == all;
}

static void look_at_foreign(void *ctx);

static void add_foreign(struct revive_queue *q, const struct pop_record *r, int64_t offset)
{
    struct pop *p = q->pop;
    struct foreign *f = must_zero(sizeof *f);
    f->record = *r;
    put_key(p, r, &f->key);
    f->record.topic = slice_of(f->key.p, r->topic.n);
    f->record.group = slice_of(f->key.p + r->topic.n, r->group.n);
    f->record.broker = slice_of(f->key.p + r->topic.n + r->group.n, r->broker.n ? r->broker.n : p->own_broker.n);
    if (map_get(&p->foreign, buf_slice(&f->key))) {   /* the same once more */
        buf_done(&f->key);
        free(f);
        return;
    }
    f->mark = mark_new(q, offset);
    f->told_ms = tasks_wall_ms(p->broker->tasks) + 1;
    if (f->told_ms < r->pop_ms + r->invisible_ms) f->told_ms = r->pop_ms + r->invisible_ms;
    map_put(&p->foreign, buf_slice(&f->key), f);
    list_add(&p->foreign_order, &f->node);
    if (!p->foreign_timer.armed) timer_start(p->broker->tasks, &p->foreign_timer, LOOK_MS);
}

/* Nothing more that was stored in time can come for it: the table takes it, and what is not acknowledged is put back. */
static void adopt(struct pop *p, struct foreign *f)
{
    struct lease_queue *q = pop_queue(p, f->record.topic, f->record.group, f->record.queue_id);
    struct check_point *point = q ? leases_add(&p->leases, q, &f->record) : NULL;
    struct revive_mark *mark = f->mark;
    if (point) {
        point->mark = mark;
        point->revive_queue = mark->queue->queue_id;
        point->next_offset = -1;
        point->recent = p->came;
        p->recent += point->recent;
        if (!slice_eq(f->record.broker, p->own_broker)) point->broker = must_dup(f->record.broker);
        log_info("pop.revived_of_log topic=\"%.*s\" group=\"%.*s\" queue=%d offset=%lld", SLICE_ARG(q->topic), SLICE_ARG(q->group), q->queue_id,
                 (long long)point->start_offset);
    }
    foreign_free(p, f);
    if (!point) revive_log_release(mark);
}

static bool is_read_up(const struct pop *p)
{
    for (int32_t i = 0; i < p->revive_queue_count; i++)
        if (p->revive_queues[i].reading) return false;
    return true;
}

static void look_at_foreign(void *ctx)
{
    struct pop *p = ctx;
    int64_t now_ms = tasks_wall_ms(p->broker->tasks);
    bool up = is_read_up(p);
    LIST_EACH(&p->foreign_order, node) {
        struct foreign *f = LIST_OWNER(node, struct foreign, node);
        if (up && f->told_ms <= now_ms && broker_has_delivered(p->broker, f->told_ms)) adopt(p, f);
    }
    pop_arm(p);
    if (!list_empty(&p->foreign_order)) timer_start(p->broker->tasks, &p->foreign_timer, LOOK_MS);
}

/* --- reading --- */

static void take_point(struct revive_queue *q, const struct pop_record *r, int64_t offset)
{
    struct pop *p = q->pop;
    struct lease_queue *of = leases_queue(&p->leases, r->topic, r->group, r->queue_id, false);
    struct check_point *point = leases_find(&p->leases, of, r->start_offset, r->pop_ms);
    if (!r->count || is_acked(r)) return;
    if (!point) {
        add_foreign(q, r, offset);
    } else if (!point->mark) {
        point->mark = mark_new(q, offset);
        point->revive_queue = q->queue_id;
    }
}

static void take_ack(struct pop *p, const struct pop_record *r)
{
    struct buf key = BUF_EMPTY;
    put_key(p, r, &key);
    struct foreign *f = map_get(&p->foreign, buf_slice(&key));
    buf_done(&key);
    if (!f) return;
    for (size_t i = 0; i < r->offset_count; i++)
        for (size_t k = 0; k < f->record.count; k++)
            if (f->record.start_offset + f->record.diffs[k] == r->offsets[i]) f->record.acked |= (uint32_t)1 << k;
    if (!is_acked(&f->record)) return;
    struct revive_mark *mark = f->mark;
    foreign_free(p, f);
    revive_log_release(mark);
}

static void count_read(const struct revive_queue *q, const struct pop_record *r)
{
    char id[16];
    snprintf(id, sizeof id, "%d", q->queue_id);
    metric_count(&q->pop->broker->metrics, METRIC_POP_REVIVE_OUT, 1,
                 LABELS(r->topic, r->group, slice_text(id), r->kind == POP_POINT ? SLICE("CK") : SLICE("ACK")));
}

static void take(struct revive_queue *q, const struct message *m)
{
    struct arena arena = ARENA_EMPTY;
    struct pop_record r;
    enum pop_record_kind kind = pop_record_kind_of(properties_get(m->properties, SLICE("TAGS")));
    if (kind != POP_NO_RECORD && !pop_record_read(kind, m->body, &arena, &r))
        log_warn("pop.not_understood queue=%d offset=%lld text=\"it is passed over\"", q->queue_id, (long long)m->queue_offset);
    else if (kind == POP_POINT) count_read(q, &r), take_point(q, &r, m->queue_offset);
    else if (kind != POP_NO_RECORD) count_read(q, &r), take_ack(q->pop, &r);
    arena_done(&arena);
}

static void take_all(struct revive_queue *q, struct read_result *r)
{
    for (size_t i = 0; i < r->slices; i++) {
        struct slice rest = r->slice[i].bytes;
        struct message m;
        while (rest.n && record_read(rest, &m) == RECORD_WHOLE) {
            take(q, &m);
            rest = slice_skip(rest, record_read_size(&m));
        }
    }
    read_result_release(r);
}

/* Returns whether there may be more; store_is_cold() tells whether it has to be fetched. */
static bool read_some(struct revive_queue *q)
{
    struct pop *p = q->pop;
    struct read_result r;
    struct read_request request = {
        .topic = slice_text(p->revive_topic), .queue_id = q->queue_id, .offset = q->next, .max_messages = READ_MESSAGES, .max_bytes = READ_BYTES,
        .max_scan = READ_MESSAGES,
    };
    store_read(p->broker->store, &request, &r);
    if (store_is_cold(p->broker->store)) {
        read_result_release(&r);
        return true;
    }
    int64_t next = r.next_offset;
    bool end = r.status == READ_NO_QUEUE || r.status == READ_QUEUE_EMPTY || r.status == READ_OFFSET_AT_END;
    take_all(q, &r);
    if (end || next == q->next) return false;
    q->next = next;   /* also back, when the queue lost its end */
    return true;
}

static void on_more(void *ctx);

static void read_on(struct revive_queue *q)
{
    struct broker *b = q->pop->broker;
    q->reading = true;
    for (int i = 0; i < READS_AT_ONCE; i++) {
        if (!read_some(q)) {
            q->reading = false;
            commit(q);
            return;
        }
        if (!store_is_cold(b->store)) continue;
        disk_wait(b, &q->disk);
        return;
    }
    timer_start(b->tasks, &q->more, 0);
}

static void on_more(void *ctx) { read_on(ctx); }

static void on_fetched(struct disk_wait *w, bool stopping)
{
    if (!stopping) read_on(LIST_OWNER(w, struct revive_queue, disk));
}

void revive_log_arrived(struct pop *p, int32_t queue_id)
{
    if (!p->ready || p->stopped || queue_id < 0 || queue_id >= p->revive_queue_count) return;
    if (!p->revive_queues[queue_id].reading) read_on(&p->revive_queues[queue_id]);
}

int64_t revive_log_lag_of(const struct pop *p, int32_t queue_id)
{
    if (queue_id >= p->revive_queue_count) return -1;
    return store_max_offset(p->broker->store, slice_text(p->revive_topic), queue_id) - 1 - p->revive_queues[queue_id].committed;
}

int64_t revive_log_lag(const struct pop *p)
{
    int64_t lag = 0;
    for (int32_t i = 0; i < p->revive_queue_count; i++) lag += revive_log_lag_of(p, i);
    return lag;
}

/* --- life --- */

void revive_log_init(struct pop *p)
{
    const struct topic *topic = topics_find(p->broker->topics, slice_text(p->revive_topic));
    p->revive_queue_count = topic ? topic->config.read_queues : p->broker->cfg->broker.revive_queues;
    p->revive_queues = must_zero((size_t)p->revive_queue_count * sizeof *p->revive_queues);
    for (int32_t i = 0; i < p->revive_queue_count; i++) {
        struct revive_queue *q = &p->revive_queues[i];
        q->pop = p;
        q->queue_id = i;
        q->disk.go_on = on_fetched;
        list_init(&q->marks);
        timer_init(&q->more, on_more, q);
        int64_t committed = offsets_query(p->broker->offsets, slice_text(p->revive_topic), REVIVE_GROUP, i);
        int64_t last = store_max_offset(p->broker->store, slice_text(p->revive_topic), i) - 1;
        q->committed = committed < last ? committed : last;   /* the queue may have lost its end */
        q->next = q->committed + 1;
    }
    timer_init(&p->foreign_timer, look_at_foreign, p);
}

void revive_log_begin(struct pop *p)
{
    for (int32_t i = 0; i < p->revive_queue_count; i++) read_on(&p->revive_queues[i]);
}

void revive_log_end(struct pop *p)
{
    timer_stop(p->broker->tasks, &p->foreign_timer);
    for (int32_t i = 0; i < p->revive_queue_count; i++) timer_stop(p->broker->tasks, &p->revive_queues[i].more);
}

void revive_log_free(struct pop *p)
{
    while (!list_empty(&p->foreign_order)) foreign_free(p, LIST_OWNER(list_first(&p->foreign_order), struct foreign, node));
    map_done(&p->foreign);
    for (int32_t i = 0; i < p->revive_queue_count; i++) {
        struct list *marks = &p->revive_queues[i].marks;
        while (!list_empty(marks)) {
            struct revive_mark *mark = LIST_OWNER(list_first(marks), struct revive_mark, node);
            list_remove(&mark->node);
            free(mark);
        }
    }
    free(p->revive_queues);
}
