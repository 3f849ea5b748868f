#include "broker/pop/pop_state.h"

#include "broker/handlers.h"

#include <stdlib.h>

enum { NAME_MAX_BYTES = 256, KEY_MAX = 2 * NAME_MAX_BYTES + 2 + sizeof(int32_t), ENDS_EARLY_MS = 50 };

/* --- points --- */

static struct slice point_key(char key[static KEY_MAX], struct slice topic, struct slice group, int32_t queue_id)
{
    size_t n = 0;
    if (topic.n > NAME_MAX_BYTES || group.n > NAME_MAX_BYTES) return (struct slice){NULL, 0};
    memcpy(key, topic.p, topic.n);
    n += topic.n;
    key[n++] = 0;
    memcpy(key + n, group.p, group.n);
    n += group.n;
    key[n++] = 0;
    memcpy(key + n, &queue_id, sizeof queue_id);
    return slice_of(key, n + sizeof queue_id);
}

static struct wait_point *find_point(const struct pop *p, struct slice topic, struct slice group, int32_t queue_id)
{
    char key[KEY_MAX];
    struct slice k = p->points.count ? point_key(key, topic, group, queue_id) : (struct slice){NULL, 0};
    return k.p ? map_get(&p->points, k) : NULL;
}

static void on_arrived(struct watch *w, int32_t queue_id, int64_t end);
static void on_gone(struct watch *w);

static void watch(struct wait_point *point)
{
    struct buf name = BUF_EMPTY;
    for (enum pop_kind kind = POP_NORMAL; kind < POP_KINDS; kind++) {
        buf_clear(&name);
        pop_topic_name(kind, point->group, point->topic, &name);
        struct point_watch *pw = &point->watches[kind];
        *pw = (struct point_watch){.watch = {.arrived = on_arrived, .gone = on_gone}, .point = point, .kind = kind};
        hold_watch(&point->pop->broker->hold, &pw->watch, buf_slice(&name));
    }
    buf_done(&name);
}

static struct wait_point *make_point(struct pop *p, struct slice topic, struct slice group, int32_t queue_id)
{
    char key[KEY_MAX];
    struct wait_point *point = must_zero(sizeof *point + topic.n + group.n);
    uint8_t *texts = (uint8_t *)(point + 1);
    memcpy(texts, topic.p, topic.n);
    memcpy(texts + topic.n, group.p, group.n);
    point->pop = p;
    point->topic = slice_of(texts, topic.n);
    point->group = slice_of(texts + topic.n, group.n);
    point->queue_id = queue_id;
    list_init(&point->pops);
    list_init(&point->notifications);
    map_put(&p->points, point_key(key, topic, group, queue_id), point);
    watch(point);
    return point;
}

static bool is_empty(const struct wait_point *point) { return !point->pop_count && !point->notification_count; }

static void remove_point(struct wait_point *point)
{
    char key[KEY_MAX];
    struct pop *p = point->pop;
    for (enum pop_kind kind = POP_NORMAL; kind < POP_KINDS; kind++) hold_unwatch(&p->broker->hold, &point->watches[kind].watch);
    map_remove(&p->points, point_key(key, point->topic, point->group, point->queue_id));
    free(point);
}

/* In a turn of its own: nobody walks over points or their watches then. */
void wait_tidy(void *ctx)
{
    struct pop *p = ctx;
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&p->points, &at));)
        if (is_empty(e->value)) remove_point(e->value);
}

void wait_done(struct pop *p)
{
    wait_tidy(p);
    map_done(&p->points);
}

/* --- parking --- */

static bool is_full(const struct pop *p, const struct wait_point *point, bool notification)
{
    const struct config_broker *cfg = &p->broker->cfg->broker;
    size_t all = notification ? p->notifications_waiting : p->pops_waiting;
    size_t here = !point ? 0 : notification ? point->notification_count : point->pop_count;
    return (int64_t)all >= cfg->max_pop_polling || here > (size_t)cfg->pop_polling;
}

/* Who gives up first comes first; most come in that order. */
static void insert(struct list *l, struct poll *poll)
{
    struct list_node *before = l->head.prev;
    while (before != &l->head && LIST_OWNER(before, struct poll, in_point)->expired_ms > poll->expired_ms) before = before->prev;
    struct list_node *n = &poll->in_point;
    n->prev = before;
    n->next = before->next;
    before->next->prev = n;
    before->next = n;
}

static void enter(struct pop *p, struct wait_point *point, struct poll *poll)
{
    insert(poll->notification ? &point->notifications : &point->pops, poll);
    poll->point = point;
    if (poll->notification) point->notification_count++, p->notifications_waiting++;
    else point->pop_count++, p->pops_waiting++;
}

void wait_leave(struct poll *poll)
{
    struct wait_point *point = poll->point;
    struct pop *p = poll->pop;
    list_remove(&poll->in_point);
    poll->point = NULL;
    if (poll->notification) point->notification_count--, p->notifications_waiting--;
    else point->pop_count--, p->pops_waiting--;
    if (is_empty(point) && !p->tidy.armed) timer_start(p->broker->tasks, &p->tidy, 0);
}

enum park_result wait_park(struct poll *poll)
{
    struct pop *p = poll->pop;
    const struct pop_header *h = poll->header;
    struct tasks *tasks = p->broker->tasks;
    int64_t left_ms;
    if (h->poll_time <= 0 || poll->call->oneway || __builtin_sub_overflow(poll->expired_ms, tasks_wall_ms(tasks), &left_ms)) return PARK_TOO_LATE;
    struct wait_point *point = find_point(p, h->topic, h->consumer_group, h->queue_id);
    if (is_full(p, point, poll->notification)) return PARK_FULL;
    left_ms -= ENDS_EARLY_MS;
    if (left_ms < 0) return PARK_TOO_LATE;
    if (left_ms > HOLD_MAX_MS) left_ms = HOLD_MAX_MS;
    if (!point) point = make_point(p, h->topic, h->consumer_group, h->queue_id);
    enter(p, point, poll);
    poll->call->held = true;
    list_add(rpc_conn_waiting(poll->call->conn), &poll->waiter.in_conn);
    hold_park(&p->broker->hold, &poll->waiter, tasks_mono_ms(tasks) + left_ms);
    return PARKED;
}

size_t wait_count(const struct pop *p, struct slice topic, struct slice group, int32_t queue_id)
{
    const struct wait_point *point = find_point(p, topic, group, queue_id);
    return point ? point->pop_count : 0;
}

/* --- waking ---
 * Whoever gets up may find that more is left, and wakes the next one: not from within, or a thousand that wait would stand on one
 * another's shoulders, but by a note of whom. */

struct wake_note {
    struct wait_point *point;
};

static void note(struct pop *p, struct wait_point *point)
{
    struct wake_note n = {point};
    if (point && !is_empty(point)) buf_put(&p->woken, &n, sizeof n);
}

/* Those that wait again may do so anywhere among the others. */
static void wake_notifications(struct wait_point *point)
{
    struct buf all = BUF_EMPTY;
    LIST_EACH(&point->notifications, node) {
        struct poll *poll = LIST_OWNER(node, struct poll, in_point);
        buf_put(&all, &poll, sizeof poll);
    }
    for (size_t at = 0; at < all.n; at += sizeof(struct poll *)) {
        struct poll *poll;
        memcpy(&poll, all.p + at, sizeof poll);
        hold_wake(&poll->waiter, WAKE_ARRIVED);
    }
    buf_done(&all);
}

static void wake_point(struct wait_point *point)
{
    if (point->pop_count) hold_wake(&LIST_OWNER(list_first(&point->pops), struct poll, in_point)->waiter, WAKE_ARRIVED);
    if (point->notification_count) wake_notifications(point);
}

/* Points stay while this goes on: they are tidied in another turn. */
static void wake_noted(struct pop *p)
{
    if (p->waking) return;
    p->waking = true;
    for (size_t at = 0; at < p->woken.n; at += sizeof(struct wake_note)) {
        struct wake_note n;
        memcpy(&n, p->woken.p + at, sizeof n);
        wake_point(n.point);
    }
    buf_clear(&p->woken);
    p->waking = false;
}

void wait_wake(struct pop *p, struct slice topic, struct slice group, int32_t queue_id)
{
    if (!p->points.count || p->stopped) return;
    note(p, find_point(p, topic, group, -1));
    if (queue_id >= 0) note(p, find_point(p, topic, group, queue_id));
    wake_noted(p);
}

void wait_wake_real(struct pop *p, struct slice topic, struct slice group, int32_t queue_id)
{
    struct slice origin = pop_origin_topic(topic, group);
    if (origin.n) wait_wake(p, origin, group, -1);
    else wait_wake(p, topic, group, queue_id);
}

/* An ordered queue that is blocked has nothing for anybody, whatever comes to it. */
static bool is_for_nobody(const struct wait_point *point, int32_t queue_id)
{
    struct list_node *first = list_empty(&point->pops) ? NULL : point->pops.head.next;
    if (point->notification_count || (first && !LIST_OWNER(first, struct poll, in_point)->header->order)) return false;
    const struct order_queue *q = order_find(&point->pop->order, point->topic, point->group, queue_id);
    return q && !q->by_groups && order_is_blocked(q, (struct slice){NULL, 0}, 0, tasks_wall_ms(point->pop->broker->tasks));
}

static void on_arrived(struct watch *w, int32_t queue_id, int64_t end)
{
    const struct point_watch *pw = LIST_OWNER(w, struct point_watch, watch);
    struct wait_point *point = pw->point;
    (void)end;
    if (is_empty(point) || point->pop->stopped) return;
    if (pw->kind == POP_NORMAL && point->queue_id >= 0 && point->queue_id != queue_id) return;
    if (pw->kind == POP_NORMAL && is_for_nobody(point, queue_id)) return;
    note(point->pop, point);
    wake_noted(point->pop);
}

/* All find out that there is no such topic. */
static void on_gone(struct watch *w)
{
    const struct point_watch *pw = LIST_OWNER(w, struct point_watch, watch);
    struct wait_point *point = pw->point;
    if (pw->kind != POP_NORMAL) return;
    while (point->pop_count) hold_wake(&LIST_OWNER(list_first(&point->pops), struct poll, in_point)->waiter, WAKE_DROPPED);
    while (point->notification_count)
        hold_wake(&LIST_OWNER(list_first(&point->notifications), struct poll, in_point)->waiter, WAKE_DROPPED);
}
