/* What was not acknowledged in time goes into the group's retry topic, and is written down as acknowledged. Facts: docs/protocol/pop.md 3.5 */
#include "broker/pop/pop_state.h"

#include "broker/intake/intake.h"

#include "base/log.h"
#include "codec/properties.h"
#include "codec/record.h"
#include "meta/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { AT_ONCE_MAX = 64, REFUSED_MS = 1000, REFUSED_MAX_MS = 30000 };

/* A check point that is due. */
struct revival {
    struct list_node node;
    struct pop *pop;
    struct check_point *point;
    size_t at;                       /* message looked at next */
    uint32_t putting;                /* messages whose retry is being stored */
    uint32_t done;                   /* bits of messages that are put, or gone */
    bool waits;                      /* for the disk, a topic, or better times */
    int refusals;                    /* of the store, in a row */
    bool ending;
    struct disk_wait disk;
    struct saver_waiter saved;
    struct timer again;
    struct appended appended;        /* of the acknowledgement */
};

struct retry_put {
    struct revival *revival;
    size_t at;
    struct appended appended;
};

static void go_on(struct revival *r);

/* --- the retry message --- */

static void put_properties(const struct check_point *point, const struct message *m, struct buf *out)
{
    char number[24];
    struct buf first = BUF_EMPTY;
    bool keeps = m->reconsume_times && properties_get(m->properties, SLICE("1ST_POP_TIME")).n;
    properties_put_without(&first, m->properties, SLICE("ORIGIN_GROUP"));
    if (keeps) buf_put_slice(out, buf_slice(&first));
    else properties_put_without(out, buf_slice(&first), SLICE("1ST_POP_TIME"));
    if (!keeps) properties_put(out, SLICE("1ST_POP_TIME"), slice_of(number, (size_t)snprintf(number, sizeof number, "%" PRId64, point->pop_ms)));
    properties_put(out, SLICE("ORIGIN_GROUP"), point->queue->group);
    buf_done(&first);
}

static void make_retry(const struct pop *p, const struct check_point *point, const struct message *m, const struct topic *topic, struct message *out)
{
    struct known_properties known;
    *out = (struct message){
        .topic = topic->config.name, .flag = m->flag, .sys_flag = m->sys_flag, .born_ms = m->born_ms, .born_host = p->broker->advertised,
        .reconsume_times = m->reconsume_times, .body = m->body, .body_crc = m->body_crc, .properties = out->properties,
    };
    if (!point->suspend && out->reconsume_times < INT32_MAX) out->reconsume_times++;
    if (p->broker->cfg->broker.separate_retry_queues && m->queue_id < topic->config.write_queues) out->queue_id = m->queue_id;
    known_properties_read(out->properties, &known);
    intake_keys(&known, out);
    out->further_queues = (struct slice){NULL, 0};   /* it is in its light queues already */
}

/* --- its topic --- */

static void retry_name(const struct pop *p, const struct check_point *point, struct buf *out)
{
    const struct lease_queue *q = point->queue;
    enum pop_kind kind = p->broker->cfg->broker.pop_retry_v2 ? POP_RETRY_V2 : POP_RETRY_V1;
    if (topic_name_is_retry(q->topic)) buf_put_slice(out, q->topic);
    else pop_topic_name(kind, q->group, q->topic, out);
}

static const struct topic *ensure_topic(struct pop *p, const struct check_point *point)
{
    struct broker *b = p->broker;
    struct buf name = BUF_EMPTY;
    int32_t queues = 1;
    const struct topic *normal = topics_find(b->topics, point->queue->topic);
    if (b->cfg->broker.separate_retry_queues && normal) queues = normal->config.write_queues;
    retry_name(p, point, &name);
    const struct topic *topic = topics_find(b->topics, buf_slice(&name));
    bool made = !topic;
    if (made) topic = topics_ensure(b->topics, buf_slice(&name), queues, PERM_READ | PERM_WRITE, false, 0);
    for (int32_t i = 0; made && topic && i < queues; i++)
        if (offsets_query(b->offsets, buf_slice(&name), point->queue->group, i) < 0)
            offsets_commit(b->offsets, SLICE("broker"), buf_slice(&name), point->queue->group, i, 0);
    buf_done(&name);
    return topic;
}

/* The topic that the messages were first sent to, or the group, may be deleted. A group that made itself known by its first pop may have been
 * lost in a crash: it is made again. */
static bool is_wanted(const struct pop *p, const struct check_point *point)
{
    struct slice origin = pop_origin_topic(point->queue->topic, point->queue->group);
    return topics_find(p->broker->topics, origin.n ? origin : point->queue->topic) && groups_find_or_create(p->broker->groups, point->queue->group);
}

/* --- one check point --- */

static void revival_free(struct revival *r)
{
    struct pop *p = r->pop;
    struct check_point *point = r->point;
    list_remove(&r->node);
    timer_stop(p->broker->tasks, &r->again);
    p->reviving--;
    point->revival = NULL;
    free(r);
    if (p->stopped) return;
    if (!leases_is_over(point) && (leases_all(point) & ~point->acked)) leases_again(&p->leases, point);
    pop_settle(p, point);
    pop_arm(p);
}

/* Later and later, while the store refuses; as soon as it takes something of one, the others are tried, too. */
static void try_later(struct revival *r)
{
    if (r->waits || r->pop->stopped) return;
    int64_t ms = r->refusals < 5 ? (int64_t)REFUSED_MS << r->refusals : REFUSED_MAX_MS;
    r->waits = true;
    r->refusals++;
    metric_add(&r->pop->broker->metrics, METRIC_POP_REFUSED, 1);
    timer_start(r->pop->broker->tasks, &r->again, ms);
}

static void store_takes(struct revival *r)
{
    struct pop *p = r->pop;
    if (!r->refusals) return;
    r->refusals = 0;
    for (struct list_node *n = p->revivals.head.next; n != &p->revivals.head && !p->stopped; n = n->next) {
        struct revival *other = LIST_OWNER(n, struct revival, node);
        if (other->again.armed) timer_start(p->broker->tasks, &other->again, 0);
    }
}

static void told(void *ctx, err_t e)
{
    struct revival *r = ctx;
    bool lost = e && err_code(e) != ERR_FLUSH_DISK_TIMEOUT;
    err_drop(e, "it is told again, if it was not stored");
    if (lost && !r->pop->stopped) {
        r->ending = false;
        try_later(r);
        return;
    }
    store_takes(r);
    if (!lost) r->point->untold &= ~r->done;
    revival_free(r);
}

/* All is stored: it is told, so that nobody does it again. */
static void finish(struct revival *r)
{
    struct pop *p = r->pop;
    struct check_point *point = r->point;
    struct lease_queue *q = point->queue;
    int64_t offsets[POINT_MESSAGES_MAX];
    struct pop_record record = {
        .topic = q->topic, .group = q->group, .broker = point->broker ? slice_text(point->broker) : p->own_broker, .queue_id = q->queue_id,
        .start_offset = point->start_offset, .pop_ms = point->pop_ms, .offsets = offsets,
    };
    r->ending = true;
    for (size_t i = 0; i < point->count; i++)
        if (r->done >> i & 1) offsets[record.offset_count++] = leases_offset(point, i);
    record.kind = record.offset_count == 1 ? POP_ACK : POP_BATCH_ACK;
    if (p->stopped) {
        revival_free(r);   /* the snapshot tells, and a start writes it down */
        return;
    }
    err_t e = record.offset_count ? pop_store(p, &record, point->revive_queue, leases_due_ms(point), told, r, &r->appended) : NULL;
    if (e || !record.offset_count) told(r, e);
}

static void on_fetched(struct disk_wait *w, bool stopping)
{
    struct revival *r = LIST_OWNER(w, struct revival, disk);
    r->waits = false;
    if (!stopping) go_on(r);
}

static void on_saved(struct saver_waiter *w, err_t e)
{
    struct revival *r = LIST_OWNER(w, struct revival, saved);
    r->waits = false;
    list_node_init(&w->node);
    err_drop(e, "it is tried again");
    if (!r->pop->stopped) go_on(r);
}

static void on_again(void *ctx)
{
    struct revival *r = ctx;
    r->waits = false;
    go_on(r);
}

static void is_out_no_more(struct revival *r, size_t at)
{
    leases_ack(&r->pop->leases, r->point, at);
    r->done |= (uint32_t)1 << at;
    r->point->untold |= (uint32_t)1 << at;
}

static void put_done(void *ctx, err_t e)
{
    struct retry_put *put = ctx;
    struct revival *r = put->revival;
    bool lost = e && err_code(e) != ERR_FLUSH_DISK_TIMEOUT;
    r->putting--;
    if (lost) {
        r->done &= ~((uint32_t)1 << put->at);
        r->point->untold &= ~((uint32_t)1 << put->at);
        leases_unack(&r->pop->leases, r->point, put->at);
        if (put->at < r->at) r->at = put->at;
        try_later(r);
    } else {
        store_takes(r);
    }
    err_drop(e, "it is put again, if it was not stored");
    free(put);
    if (!r->waits) go_on(r);
}

enum put_result { PUT_ON_ITS_WAY, PUT_NOT_NEEDED, PUT_WAITS };

static enum put_result put_retry(struct revival *r, const struct message *m, const struct topic *topic, struct slice properties)
{
    struct pop *p = r->pop;
    struct message retry = {.properties = properties};
    make_retry(p, r->point, m, topic, &retry);
    if (r->point->recent && rebuild_came(p, &retry)) return PUT_NOT_NEEDED;
    struct retry_put *put = must_zero(sizeof *put);
    put->revival = r;
    put->at = r->at;
    err_t e = store_append(p->broker->store, &retry, 1, true, put_done, put, &put->appended);
    if (!e) {
        r->putting++;
        metric_count(&p->broker->metrics, METRIC_POP_RETRIES, 1, LABELS(r->point->queue->topic, r->point->queue->group, SLICE("PUT_OK")));
        return PUT_ON_ITS_WAY;
    }
    free(put);
    if (err_code(e) == ERR_MESSAGE_ILLEGAL && properties.p != m->properties.p) {
        err_drop(e, "it goes without what is added to it");
        return put_retry(r, m, topic, m->properties);
    }
    bool never = err_code(e) == ERR_MESSAGE_ILLEGAL;
    if (never)
        log_error("pop.retry_lost topic=\"%.*s\" queue=%d offset=%lld error=\"%s\"", SLICE_ARG(m->topic), m->queue_id, (long long)m->queue_offset,
                  err_text(e));
    err_drop(e, "it is tried again, but for what can never be stored");
    return never ? PUT_NOT_NEEDED : PUT_WAITS;
}

/* The record of a message that went out; false: there is none any more. */
static bool read_message(struct revival *r, struct pinned *record, struct message *m)
{
    const struct lease_queue *q = r->point->queue;
    struct read_result result;
    struct read_request request = {
        .topic = q->topic, .queue_id = q->queue_id, .offset = leases_offset(r->point, r->at), .max_messages = 1, .max_bytes = 1, .max_scan = 1,
    };
    store_read(r->pop->broker->store, &request, &result);
    bool found = !store_is_cold(r->pop->broker->store) && result.status == READ_FOUND && result.slices;
    if (found) *record = result.slice[0], result.slice[0].release = NULL;
    read_result_release(&result);
    return found && record_read(record->bytes, m) == RECORD_WHOLE;
}

static enum put_result put_one(struct revival *r)
{
    struct broker *b = r->pop->broker;
    struct pinned record = {.release = NULL};
    struct buf properties = BUF_EMPTY;
    struct message m;
    enum put_result result = PUT_NOT_NEEDED;
    if (read_message(r, &record, &m)) {
        const struct topic *topic = ensure_topic(r->pop, r->point);
        if (!topic) {
            result = PUT_NOT_NEEDED;
        } else if (!topics_is_saved(b->topics, topic)) {
            r->waits = true;
            r->saved.done = on_saved;
            topics_when_saved(b->topics, &r->saved);
            result = PUT_WAITS;
        } else {
            put_properties(r->point, &m, &properties);
            result = put_retry(r, &m, topic, buf_slice(&properties));
            if (result == PUT_WAITS) try_later(r);
        }
    } else if (store_is_cold(b->store)) {
        r->waits = true;
        disk_wait(b, &r->disk);
        result = PUT_WAITS;
    }
    pin_release(&record);
    buf_done(&properties);
    return result;
}

static void go_on(struct revival *r)
{
    struct check_point *point = r->point;
    bool wanted = is_wanted(r->pop, point);
    for (; !r->waits && r->at < point->count; r->at++) {
        if (r->pop->stopped) return;
        if (!leases_is_out(point, r->at)) continue;
        enum put_result result = wanted ? put_one(r) : PUT_NOT_NEEDED;
        if (result == PUT_WAITS) break;
        is_out_no_more(r, r->at);
    }
    if (!r->waits && !r->putting && !r->ending && r->at == point->count) finish(r);
}

/* --- all that is due --- */

void revive_begin(struct pop *p, struct check_point *point)
{
    struct revival *r = must_zero(sizeof *r);
    r->pop = p;
    r->point = point;
    r->disk.go_on = on_fetched;
    list_node_init(&r->saved.node);
    timer_init(&r->again, on_again, r);
    point->revival = r;
    p->reviving++;
    list_add(&p->revivals, &r->node);
    go_on(r);
}

void revive_due(struct pop *p)
{
    struct check_point *point;
    int64_t now_ms = tasks_wall_ms(p->broker->tasks);
    while (p->ready && !p->stopped && p->reviving < AT_ONCE_MAX && (point = leases_take_due(&p->leases, now_ms))) {
        if (leases_is_over(point)) pop_settle(p, point);
        else if (point->acked != leases_all(point)) revive_begin(p, point);
    }
}

/* What is being stored is answered by the store when it is closed; what waits for anything else ends here. */
void revive_end(struct pop *p)
{
    LIST_EACH(&p->revivals, node) {
        struct revival *r = LIST_OWNER(node, struct revival, node);
        timer_stop(p->broker->tasks, &r->again);
        if (list_linked(&r->saved.node)) list_remove(&r->saved.node);
    }
}

void revive_free(struct pop *p)
{
    while (!list_empty(&p->revivals)) {
        struct revival *r = LIST_OWNER(list_first(&p->revivals), struct revival, node);
        r->pop->stopped = true;
        revival_free(r);
    }
}
