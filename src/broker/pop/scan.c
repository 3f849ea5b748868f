#include "broker/pop/pop_state.h"

#include "broker/handlers.h"
#include "broker/intake/traffic.h"

#include "base/log.h"
#include "codec/properties.h"
#include "codec/receipt_handle.h"
#include "codec/record.h"

#include <stdlib.h>

/* A read looks at so many entries, and a turn makes so many reads that find nothing: then others have theirs. */
enum { SCAN_ENTRIES = 4096, SCANS_AT_ONCE = 16, OF_HUNDRED = 100, GROUP_WINDOW = 4096 };

/* One topic that a pop looks at. */
struct scanned {
    const struct topic *topic;
    enum pop_kind kind;
    bool recode;                     /* its messages get the name of the topic that was asked for */
};

/* Where a notification's expression matched nothing so far. */
struct seen_queue {
    enum pop_kind kind;
    int32_t queue_id;
    int64_t next;
};

static bool is_full(const struct poll *poll) { return (int64_t)poll->messages >= poll->header->max_msg_nums; }
static bool must_stop(const struct poll *poll) { return poll->cold || poll->unfinished || (poll->notification && poll->messages); }

/* --- what goes into the answer --- */

/* The record as if it had been sent to the topic that was asked for; what it is acknowledged with goes along. */
static bool recode(struct poll *poll, const struct scanned *t, int64_t start_offset, const struct message *m, struct buf *out)
{
    struct buf handle = BUF_EMPTY, properties = BUF_EMPTY;
    struct receipt_handle h = {
        .start_offset = start_offset, .pop_ms = poll->pop_ms, .invisible_ms = poll->header->invisible_time, .revive_queue = poll->revive_queue,
        .kind = t->kind, .broker = poll->pop->own_broker, .queue_id = m->queue_id, .offset = m->queue_offset,
    };
    struct message again = *m;
    receipt_handle_write_short(&h, &handle);
    buf_put_slice(&properties, m->properties);
    if (!properties_get(m->properties, SLICE("POP_CK")).n) properties_put(&properties, SLICE("POP_CK"), buf_slice(&handle));
    again.topic = poll->header->topic;
    again.properties = buf_slice(&properties);
    bool fits = properties.n <= RECORD_PROPERTIES_MAX;
    if (fits) {
        struct record_place place = {m->log_offset, m->queue_offset, m->store_ms, &m->store_host};
        size_t size = record_size(&again, &m->store_host);
        record_encode(&again, &place, size, buf_take(out, size));
    }
    buf_done(&handle);
    buf_done(&properties);
    return fits;
}

/* A copy: until the check point is stored the records may leave memory. */
static void add_records(struct poll *poll, const struct scanned *t, int64_t start_offset, struct read_result *r)
{
    for (size_t i = 0; i < r->slices; i++) {
        struct slice rest = r->slice[i].bytes;
        struct message m;
        if (!t->recode) buf_put_slice(&poll->body, rest);
        while (t->recode && rest.n && record_read(rest, &m) == RECORD_WHOLE) {
            size_t size = record_read_size(&m);
            if (!recode(poll, t, start_offset, &m, &poll->body)) buf_put(&poll->body, rest.p, size);
            rest = slice_skip(rest, size);
        }
    }
    read_result_release(r);
}

/* --- check points --- */

struct point_write {
    struct poll *poll;
    struct check_point *point;
    struct appended appended;
};

static void commit(struct pop *p, const struct lease_queue *q, int64_t offset)
{
    offsets_commit(p->broker->offsets, SLICE("broker"), q->topic, q->group, q->queue_id, offset);
}

/* Not stored: what went out comes back at once. */
static void take_back(struct pop *p, struct check_point *point)
{
    leases_expire(&p->leases, point, tasks_wall_ms(p->broker->tasks));
    pop_arm(p);
}

static void point_stored(void *ctx, err_t e)
{
    struct point_write *w = ctx;
    struct check_point *point = w->point;
    struct poll *poll = w->poll;
    struct pop *p = poll->pop;
    struct lease_queue *q = point->queue;
    free(w);
    point->storing = false;
    q->storing--;
    poll->storing--;
    if (err_code(e) == ERR_FLUSH_DISK_TIMEOUT) {
        err_drop(e, "the messages go out; if the disk loses their check point they come again");
        e = NULL;
    }
    if (!e && point->next_offset >= 0) commit(p, q, point->next_offset);
    if (e) take_back(p, point);
    if (e && !poll->failed) poll->failed = e;
    else err_free(e);
    pop_settle(p, point);
    poll_stored(poll);
}

static void set_point(const struct poll *poll, const struct lease_queue *q, int64_t start_offset, const int64_t *offsets, size_t count,
                      struct pop_record *out)
{
    *out = (struct pop_record){
        .kind = POP_POINT, .topic = q->topic, .group = q->group, .broker = poll->pop->own_broker, .queue_id = q->queue_id,
        .start_offset = start_offset, .pop_ms = poll->pop_ms, .invisible_ms = poll->header->invisible_time, .count = count,
    };
    for (size_t i = 0; i < count; i++) out->diffs[i] = offsets[i] > start_offset ? (int32_t)(offsets[i] - start_offset) : 0;
}

/* The messages go out once that is written down. False: it cannot be, and they do not. */
static bool lease(struct poll *poll, struct lease_queue *q, int64_t start_offset, const int64_t *offsets, size_t count, int64_t next)
{
    struct pop *p = poll->pop;
    struct pop_record r;
    set_point(poll, q, start_offset, offsets, count, &r);
    struct check_point *point = leases_add(&p->leases, q, &r);
    if (!point) return false;
    struct point_write *w = must_zero(sizeof *w);
    w->poll = poll;
    w->point = point;
    point->revive_queue = poll->revive_queue;
    err_t e = pop_store(p, &r, poll->revive_queue, r.pop_ms + r.invisible_ms - 1000, point_stored, w, &w->appended);
    if (e) {
        log_warn("pop.not_stored topic=\"%.*s\" group=\"%.*s\" queue=%d error=\"%s\"", SLICE_ARG(q->topic), SLICE_ARG(q->group), q->queue_id,
                 err_text(e));
        err_free(e);
        leases_remove(&p->leases, point);
        free(w);
        return false;
    }
    point->storing = true;
    point->next_offset = q->next = next;
    q->storing++;
    poll->storing++;
    pop_arm(p);
    return true;
}

/* Nothing was there for the group up to an offset. It is committed when what went out before is written down. */
static void pass(struct pop *p, struct lease_queue *q, int64_t next)
{
    if (next <= q->next) return;
    q->next = next;
    if (!q->storing) {
        commit(p, q, next);
        return;
    }
    for (struct list_node *node = q->points.head.prev; node != &q->points.head; node = node->prev) {
        struct check_point *point = LIST_OWNER(node, struct check_point, in_queue);
        if (!point->storing || point->next_offset < 0) continue;
        point->next_offset = next;
        return;
    }
}

/* --- where a queue begins --- */

static int64_t newest_offset(struct broker *b, struct slice topic, int32_t queue_id)
{
    int64_t min = store_min_offset(b->store, topic, queue_id), max = store_max_offset(b->store, topic, queue_id);
    if (b->cfg->broker.pop_init_in_memory && min <= 0 && store_is_recent(b->store, topic, queue_id, 0)) return 0;
    return max > 0 ? max - 1 : 0;
}

/* A group's first pop of the queue settles where it begins. */
static int64_t init_offset(struct poll *poll, const struct scanned *t, int32_t queue_id)
{
    struct broker *b = poll->pop->broker;
    enum { INIT_MIN = 0 };
    if (poll->header->init_mode == INIT_MIN || t->kind != POP_NORMAL) return store_min_offset(b->store, t->topic->config.name, queue_id);
    return newest_offset(b, t->topic->config.name, queue_id);
}

static void take_reset(struct poll *poll, struct lease_queue *q)
{
    struct pop *p = poll->pop;
    if (!offsets_reset_pending(p->broker->offsets, q->topic, q->group, q->queue_id)) return;
    int64_t offset = offsets_take_reset(p->broker->offsets, q->topic, q->group, q->queue_id);
    order_clear(&p->order, q->topic, q->group, q->queue_id);
    q->next = offset;
    commit(p, q, offset);
}

/* False: not in memory. */
static bool find_begin(struct poll *poll, const struct scanned *t, struct lease_queue *q)
{
    struct pop *p = poll->pop;
    take_reset(poll, q);
    if (q->next >= 0) return true;
    int64_t offset = init_offset(poll, t, q->queue_id);
    if (store_is_cold(p->broker->store)) return false;
    q->next = offset;
    commit(p, q, offset);
    return true;
}

/* --- reading --- */

static void read_some(struct poll *poll, const struct scanned *t, int32_t queue_id, int64_t offset, int64_t messages, struct read_result *out)
{
    struct broker *b = poll->pop->broker;
    struct read_request r = {
        .topic = t->topic->config.name, .queue_id = queue_id, .offset = offset, .max_messages = (int32_t)messages,
        .max_bytes = b->cfg->store.transfer_memory_bytes, .max_scan = SCAN_ENTRIES, .filter = pop_filter_begin(&poll->filter),
    };
    store_read(b->store, &r, out);
    if (!store_is_cold(b->store)) return;
    read_result_release(out);
    poll->cold = true;
}

static size_t offsets_of(const struct read_result *r, int64_t *offsets)
{
    size_t n = 0;
    for (size_t i = 0; i < r->slices; i++) {
        struct slice rest = r->slice[i].bytes;
        while (rest.n && n < POINT_MESSAGES_MAX) {
            offsets[n++] = record_queue_offset(rest.p);
            rest = slice_skip(rest, record_total_size(rest.p));
        }
    }
    return n;
}

static void put_infos(struct poll *poll, const struct scanned *t, int32_t queue_id, int64_t start_offset, const int64_t *offsets, size_t count)
{
    pop_info_put_start(&poll->start_info, t->kind, queue_id, start_offset);
    pop_info_put_offsets(&poll->offset_info, t->kind, queue_id, offsets, count);
}

static void take_ordered(struct poll *poll, struct lease_queue *q, int64_t start_offset, const int64_t *offsets, size_t count)
{
    struct pop *p = poll->pop;
    struct order_pop pop = {
        .topic = q->topic, .group = q->group, .queue_id = q->queue_id, .attempt_id = poll->header->attempt_id, .pop_ms = poll->pop_ms,
        .invisible_ms = poll->header->invisible_time, .offsets = offsets, .count = count,
    };
    order_popped(&p->order, &pop, &poll->count_info);
    commit(p, q, start_offset);
    pop_arm_unlock(p, order_unlock_ms(order_find(&p->order, q->topic, q->group, q->queue_id), poll->pop_ms));
}

static void count_taken(struct poll *poll, const struct scanned *t, size_t messages, size_t bytes)
{
    poll->messages += messages;
    traffic_out(poll->pop->broker, poll->header->topic, poll->header->consumer_group, (int64_t)messages, (int64_t)bytes,
                t->kind == POP_NORMAL ? TRAFFIC_POPPED : TRAFFIC_POPPED_RETRY);
}

static void take(struct poll *poll, const struct scanned *t, struct lease_queue *q, int64_t start_offset, struct read_result *r)
{
    int64_t offsets[POINT_MESSAGES_MAX];
    size_t count = offsets_of(r, offsets);
    if (poll->header->order) {
        take_ordered(poll, q, start_offset, offsets, count);
    } else if (!lease(poll, q, start_offset, offsets, count, r->next_offset)) {
        poll->rest += (int64_t)count;
        read_result_release(r);
        return;
    }
    put_infos(poll, t, q->queue_id, start_offset, offsets, count);
    add_records(poll, t, start_offset, r);
    count_taken(poll, t, count, r->bytes);
}

static void correct(struct pop *p, struct lease_queue *q, int64_t next)
{
    log_warn("pop.offset_corrected topic=\"%.*s\" group=\"%.*s\" queue=%d from=%lld to=%lld", SLICE_ARG(q->topic), SLICE_ARG(q->group), q->queue_id,
             (long long)q->next, (long long)next);
    q->next = next;
    commit(p, q, next);
}

/* Until something matches, the queue ends, or that is enough for this turn. */
static void read_queue(struct poll *poll, const struct scanned *t, struct lease_queue *q)
{
    struct read_result r;
    bool corrected = false;
    for (;;) {
        int64_t at = q->next;
        read_some(poll, t, q->queue_id, at, poll->header->max_msg_nums - (int64_t)poll->messages, &r);
        if (poll->cold) return;
        if (r.status == READ_FOUND) {
            take(poll, t, q, at, &r);
            break;
        }
        bool wrong = r.status == READ_OFFSET_TOO_SMALL || r.status == READ_OFFSET_PAST_END;
        if (wrong && !corrected && !q->storing) {
            corrected = true;
            correct(poll->pop, q, r.next_offset);
            continue;
        }
        if ((r.status != READ_NO_MATCH && r.status != READ_MESSAGE_GONE) || r.next_offset <= at) break;
        pass(poll->pop, q, r.next_offset);
        if (q->next >= r.max_offset) break;
        if (++poll->scans >= SCANS_AT_ONCE) {
            poll->unfinished = true;
            break;
        }
    }
    if (r.status == READ_FOUND && r.max_offset > r.next_offset) poll->rest += r.max_offset - r.next_offset;
}

/* --- ordered by message groups --- */

static uint64_t message_group(struct slice record)
{
    struct slice key = properties_get(record_properties(record), SLICE("__SHARDINGKEY"));
    return key.n ? map_hash(key) | 1 : 0;
}

struct group_scan {
    struct poll *poll;
    const struct scanned *t;
    struct lease_queue *q;
    const struct order_queue *order;
    struct buf records;
    int64_t offsets[POINT_MESSAGES_MAX], froms[POINT_MESSAGES_MAX];
    uint64_t groups[POINT_MESSAGES_MAX];
    size_t count;
    struct buf skipped;              /* uint64_t: groups that have to wait for one of theirs */
    int64_t from;                    /* behind the last message that matched */
};

static bool is_skipped(const struct group_scan *s, uint64_t group)
{
    for (size_t at = 0; at < s->skipped.n; at += sizeof group)
        if (!memcmp(s->skipped.p + at, &group, sizeof group)) return true;
    return false;
}

/* One message that matches. False: that is enough. */
static bool look_at(struct group_scan *s, struct slice record)
{
    struct poll *poll = s->poll;
    int64_t offset = record_queue_offset(record.p), from = s->from;
    uint64_t group = message_group(record);
    s->from = offset + 1;
    if (order_is_done(s->order, offset)) return true;
    bool mine = !is_skipped(s, group) && order_turn_of(s->order, offset, group, poll->header->attempt_id, poll->pop_ms) == ORDER_TAKE;
    if (!mine) {
        if (!is_skipped(s, group)) buf_put(&s->skipped, &group, sizeof group);
        return true;
    }
    s->offsets[s->count] = offset;
    s->froms[s->count] = from;
    s->groups[s->count++] = group;
    buf_put_slice(&s->records, record);
    return poll->messages + s->count < (size_t)poll->header->max_msg_nums;
}

static bool look_at_all(struct group_scan *s, const struct read_result *r)
{
    for (size_t i = 0; i < r->slices; i++) {
        struct slice rest = r->slice[i].bytes;
        while (rest.n) {
            struct slice record = slice_of(rest.p, record_total_size(rest.p));
            if (!look_at(s, record)) return false;
            rest = slice_skip(rest, record.n);
        }
    }
    return true;
}

static void take_groups(struct group_scan *s, int64_t start_offset)
{
    struct poll *poll = s->poll;
    struct pop *p = poll->pop;
    struct lease_queue *q = s->q;
    struct order_pop pop = {
        .topic = q->topic, .group = q->group, .queue_id = q->queue_id, .attempt_id = poll->header->attempt_id, .pop_ms = poll->pop_ms,
        .invisible_ms = poll->header->invisible_time, .offsets = s->offsets, .froms = s->froms, .groups = s->groups, .count = s->count,
    };
    order_popped(&p->order, &pop, &poll->count_info);
    commit(p, q, start_offset);
    pop_arm_unlock(p, order_unlock_ms(order_find(&p->order, q->topic, q->group, q->queue_id), poll->pop_ms));
    put_infos(poll, s->t, q->queue_id, start_offset, s->offsets, s->count);
    buf_put_slice(&poll->body, buf_slice(&s->records));
    count_taken(poll, s->t, s->count, s->records.n);
}

/* From the first message that is not acknowledged on, over those whose group is busy. */
static void scan_groups(struct poll *poll, const struct scanned *t, struct lease_queue *q)
{
    struct group_scan s = {
        .poll = poll, .t = t, .q = q, .order = order_find(&poll->pop->order, q->topic, q->group, q->queue_id), .from = q->next,
    };
    struct read_result r = {.slices = 0};
    int64_t start_offset = q->next, at = q->next;
    bool more = true, read = false;
    while (more && at - start_offset < GROUP_WINDOW) {
        read_some(poll, t, q->queue_id, at, POINT_MESSAGES_MAX, &r);
        if (poll->cold) break;
        read = true;
        more = r.status == READ_FOUND || ((r.status == READ_NO_MATCH || r.status == READ_MESSAGE_GONE) && r.next_offset > at);
        if (r.status == READ_FOUND) {
            more = look_at_all(&s, &r);
        } else if (r.status == READ_OFFSET_TOO_SMALL && at == q->next && !poll->notification) {
            correct(poll->pop, q, r.next_offset);
            s.from = start_offset = r.next_offset;
            more = true;
        }
        at = r.next_offset;
        read_result_release(&r);
    }
    if (poll->cold && s.count) {
        store_forget_cold(poll->pop->broker->store);
        poll->cold = false;
    }
    if (poll->notification) poll->messages += s.count;
    else if (s.count) take_groups(&s, start_offset);
    if (s.count && read && r.max_offset > s.from && !s.skipped.n) poll->rest += r.max_offset - s.from;
    buf_done(&s.records);
    buf_done(&s.skipped);
}

/* --- one queue --- */

/* False: the queue is not for this pop. */
static bool may_take(struct poll *poll, const struct lease_queue *q)
{
    const struct pop_header *h = poll->header;
    const struct order_queue *order = order_find(&poll->pop->order, q->topic, q->group, q->queue_id);
    if (!h->order || h->group_order) return true;
    return !order || !order_is_blocked(order, h->attempt_id, h->invisible_time, poll->pop_ms);
}

static void add_rest(struct poll *poll, const struct lease_queue *q)
{
    int64_t max = store_max_offset(poll->pop->broker->store, q->topic, q->queue_id);
    if (max > q->next) poll->rest += max - q->next;
}

static bool is_over_limit(const struct poll *poll, const struct lease_queue *q)
{
    const struct config_broker *cfg = &poll->pop->broker->cfg->broker;
    return cfg->pop_in_flight_limited && (int64_t)q->out > cfg->pop_in_flight;
}

static void scan_queue(struct poll *poll, const struct scanned *t, int32_t queue_id)
{
    struct lease_queue *q = pop_queue(poll->pop, t->topic->config.name, poll->header->consumer_group, queue_id);
    if (!q || must_stop(poll)) return;
    if (!find_begin(poll, t, q)) {
        poll->cold = true;
        return;
    }
    if (is_over_limit(poll, q) || is_full(poll)) {
        if (is_full(poll) && (!poll->header->order || may_take(poll, q))) add_rest(poll, q);
        return;
    }
    if (!may_take(poll, q)) return;
    if (poll->header->order && poll->header->group_order) scan_groups(poll, t, q);
    else read_queue(poll, t, q);
}

/* --- notifications: whether there is anything, and nothing moves --- */

static int64_t *seen_at(struct poll *poll, enum pop_kind kind, int32_t queue_id, int64_t from)
{
    struct seen_queue *all = (struct seen_queue *)(void *)poll->seen.p;
    size_t n = poll->seen.n / sizeof *all;
    for (size_t i = 0; i < n; i++) {
        if (all[i].kind != kind || all[i].queue_id != queue_id) continue;
        if (all[i].next < from) all[i].next = from;
        return &all[i].next;
    }
    struct seen_queue added = {kind, queue_id, from};
    buf_put(&poll->seen, &added, sizeof added);
    return &((struct seen_queue *)(void *)poll->seen.p)[n].next;
}

static void look_for_match(struct poll *poll, const struct scanned *t, int32_t queue_id, int64_t from)
{
    int64_t *at = seen_at(poll, t->kind, queue_id, from);
    struct read_result r;
    for (;;) {
        read_some(poll, t, queue_id, *at, 1, &r);
        if (poll->cold) return;
        read_result_release(&r);
        poll->messages += r.status == READ_FOUND;
        if (r.status == READ_FOUND || r.next_offset <= *at) return;
        *at = r.next_offset;
        if (++poll->scans < SCANS_AT_ONCE) continue;
        poll->unfinished = true;
        return;
    }
}

static void ask_queue(struct poll *poll, const struct scanned *t, int32_t queue_id)
{
    struct pop *p = poll->pop;
    struct slice topic = t->topic->config.name, group = poll->header->consumer_group;
    int64_t from = pop_next_offset(p, topic, group, queue_id), min;
    if (must_stop(poll)) return;
    struct lease_queue names = {.topic = topic, .group = group, .queue_id = queue_id, .next = from};
    if (!may_take(poll, &names)) return;
    int64_t max = store_max_offset(p->broker->store, topic, queue_id);
    if (from >= max) return;
    min = store_min_offset(p->broker->store, topic, queue_id);
    poll->cold = store_is_cold(p->broker->store);
    if (poll->cold) return;
    if (from < min) from = min;
    names.next = from;
    if (poll->header->order && poll->header->group_order) scan_groups(poll, t, &names);
    else if (!poll->filter.sql && poll->filter.all) poll->messages += from < max;
    else look_for_match(poll, t, queue_id, from);
}

/* --- which queues, in which order --- */

static void scan_one(struct poll *poll, const struct scanned *t, int32_t queue_id)
{
    if (poll->notification) ask_queue(poll, t, queue_id);
    else scan_queue(poll, t, queue_id);
}

static void scan_topic(struct poll *poll, const struct scanned *t, uint32_t shift)
{
    uint32_t n = (uint32_t)t->topic->config.read_queues;
    bool ascending = poll->pop->broker->cfg->broker.priority_ascending;
    for (uint32_t i = 0; i < n && !must_stop(poll); i++) scan_one(poll, t, (int32_t)(((ascending ? n - 1 - i : i) + shift) % n));
}

static void scan_retry(struct poll *poll, enum pop_kind kind, uint32_t shift)
{
    struct broker *b = poll->pop->broker;
    struct buf name = BUF_EMPTY;
    pop_topic_name(kind, poll->header->consumer_group, poll->header->topic, &name);
    struct scanned t = {.topic = topics_find(b->topics, buf_slice(&name)), .kind = kind, .recode = !b->cfg->broker.pop_actual_retry};
    if (t.topic) scan_topic(poll, &t, shift);
    buf_done(&name);
}

static int64_t priority_factor(const struct group *group)
{
    int64_t factor = OF_HUNDRED;
    for (size_t i = 0; group && i < group->config.attributes.count; i++) {
        const struct pair *a = &group->config.attributes.items[i];
        if (slice_eq(a->key, SLICE("priority.factor")) && !slice_to_i64(a->value, &factor)) factor = OF_HUNDRED;
    }
    return factor;
}

static bool by_priority(struct poll *poll, const struct topic *topic, uint32_t drawn)
{
    const struct group *group = groups_find(poll->pop->broker->groups, poll->header->consumer_group);
    if (poll->header->order || !slice_eq(topic_attribute(&topic->config, SLICE("message.type")), SLICE("PRIORITY"))) return false;
    return drawn < priority_factor(group);
}

/* With both namings, half of the pops begin with the older one; a pop looks at the other one only if that gave nothing: its answer can tell of
 * one kind of retries. */
static void scan_retries(struct poll *poll, bool older_first, uint32_t shift)
{
    const struct config_broker *cfg = &poll->pop->broker->cfg->broker;
    enum pop_kind first = !cfg->pop_retry_v2 || older_first ? POP_RETRY_V1 : POP_RETRY_V2;
    size_t before = poll->messages;
    scan_retry(poll, first, shift);
    if (!cfg->pop_retry_v2 || !cfg->pop_retry_v1 || poll->messages > before || must_stop(poll)) return;
    scan_retry(poll, first == POP_RETRY_V1 ? POP_RETRY_V2 : POP_RETRY_V1, shift);
}

static void scan_normal(struct poll *poll, const struct topic *topic, uint32_t shift)
{
    struct scanned t = {.topic = topic, .kind = POP_NORMAL};
    if (poll->header->queue_id >= 0) scan_one(poll, &t, poll->header->queue_id);
    else scan_topic(poll, &t, shift);
}

static void ordered_saved(struct saver_waiter *w, err_t e)
{
    struct poll *poll = LIST_OWNER(w, struct poll, saved);
    poll->storing--;
    err_drop(e, "the messages go out; after a power cut they may go out again");
    poll_stored(poll);
}

/* What is out is on disk before anybody is told, in a broker that syncs. */
static void wait_saved(struct poll *poll)
{
    struct order *o = &poll->pop->order;
    if (!o->syncs) return;
    poll->saved.done = ordered_saved;
    poll->storing += 2;   /* it may be done at once */
    order_when_saved(o, &poll->saved);
    poll->storing--;
}

enum scan_result poll_scan(struct poll *poll)
{
    struct broker *b = poll->pop->broker;
    const struct config_broker *cfg = &b->cfg->broker;
    const struct topic *topic = topics_find(b->topics, poll->header->topic);
    uint32_t drawn = random_below(&b->random, OF_HUNDRED);
    bool priority = by_priority(poll, topic, drawn), retries = !poll->header->order;
    bool first = retries && !poll->notification && drawn < (uint32_t)(priority ? cfg->pop_from_retry_priority : cfg->pop_from_retry);
    bool older = cfg->pop_retry_v2 && cfg->pop_retry_v1 && drawn % 2 == 0;
    uint32_t shift = priority ? 0 : drawn;
    if (first) scan_retries(poll, older, shift);
    scan_normal(poll, topic, shift);
    if (retries && !first && !is_full(poll)) scan_retries(poll, older, shift);
    if (poll->messages && poll->header->order && !poll->notification) wait_saved(poll);
    if (poll->messages) {
        if (poll->cold) store_forget_cold(b->store);
        poll->unfinished |= poll->cold;
        return SCAN_DONE;
    }
    return poll->cold ? SCAN_COLD : poll->unfinished ? SCAN_MORE : SCAN_DONE;
}
