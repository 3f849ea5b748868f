#include "client/push/push.h"

#include "meta/names.h"

#include <assert.h>
#include <stdlib.h>

enum { REBALANCE_MS = 20000, FIRST_PERSIST_MS = 10000, PERSIST_MS = 5000, RELOCK_MS = 20000, FIRST_RELOCK_MS = 1000, EXPIRE_MS = 60000 };

/* --- queues and numbers --- */

struct work_queue *work_ref(struct work_queue *q)
{
    q->refs++;
    return q;
}

void work_unref(struct work_queue *q)
{
    if (--q->refs) return;
    held_free_all(&q->held);
    free(q->topic);
    free(q->broker);
    free(q);
}

void push_busy(struct sky_push_consumer *p) { p->busy++; }

void push_settle(struct sky_push_consumer *p)
{
    p->busy--;
    member_settle(&p->member);
}

int32_t push_max_reconsume_times(const struct sky_push_consumer *p)
{
    if (p->options.max_reconsume_times >= 0) return p->options.max_reconsume_times;
    return p->options.ordered ? INT32_MAX : 16;
}

void push_count(struct sky_push_consumer *p, const struct work_queue *q, int64_t messages_before, int64_t bytes_before)
{
    int64_t queues = 0;
    LIST_EACH(&p->queues, n) queues += n != NULL;
    lock_take(&p->numbers);
    p->waiting_messages += q->held.messages - messages_before;
    p->waiting_bytes += q->held.bytes - bytes_before;
    p->queue_count = queues;
    lock_give(&p->numbers);
}

struct sky_error *sky_push_consumer_get_statistics(const struct sky_push_consumer *p, struct sky_push_consumer_statistics *out)
{
    if (out->size != sizeof *out) return error_new(SKY_INVALID, 0, "statistics of %zu bytes, not %zu", out->size, sizeof *out);
    struct sky_push_consumer *locked = (struct sky_push_consumer *)p;
    lock_take(&locked->numbers);
    *out = (struct sky_push_consumer_statistics){.size = sizeof *out, .consumed = p->consumed, .failed = p->failed, .pulled = p->pulled,
                                                 .queues = p->queue_count, .waiting_messages = p->waiting_messages, .waiting_bytes = p->waiting_bytes};
    lock_give(&locked->numbers);
    return NULL;
}

/* --- subscriptions --- */

struct topic_sub *push_sub(struct sky_push_consumer *p, struct slice topic)
{
    LIST_EACH(&p->subs, node) {
        struct topic_sub *s = LIST_OWNER(node, struct topic_sub, node);
        if (slice_eq(slice_text(s->topic), topic)) return s;
    }
    return NULL;
}

static void sub_free(struct topic_sub *s)
{
    arena_done(&s->arena);
    free(s->topic);
    free(s);
}

static struct topic_sub *sub_new(struct sky_push_consumer *p, const char *topic)
{
    struct topic_sub *s = must_zero(sizeof *s);
    *s = (struct topic_sub){.consumer = p, .topic = must_strdup(topic), .arena = ARENA_EMPTY, .is_retry = topic_name_is_retry(slice_text(topic))};
    list_node_init(&s->node);
    return s;
}

/* Errors: SUBSCRIPTION_PARSE. */
static err_t sub_fill(struct topic_sub *s, const char *expression, bool sql)
{
    struct slice topic = slice_text(s->topic);
    struct slice text = arena_copy(&s->arena, slice_text(expression));
    if (!sql) return subscription_parse(topic, text, &s->arena, &s->data);
    s->data = (struct subscription){.topic = topic, .expression = text, .type = SLICE("SQL92")};
    return NULL;
}

/* A letter that changes what is subscribed to. */
struct change {
    struct mail mail;
    struct sky_push_consumer *consumer;
    struct topic_sub *sub;       /* NULL: the topic goes */
    char *topic;
};

static void drop_queues_of(struct topic_sub *s)
{
    LIST_EACH(&s->consumer->queues, node) {
        struct work_queue *q = LIST_OWNER(node, struct work_queue, node);
        if (q->sub == s) queue_drop(q);
    }
}

/* The old one stays where a request about it points to: it takes the new one's contents. */
static void put_sub(struct sky_push_consumer *p, struct topic_sub *s)
{
    struct topic_sub *old = push_sub(p, slice_text(s->topic));
    s->data.version = tasks_wall_ms(tasks_of(p));
    if (!old) {
        list_add(&p->subs, &s->node);
        return;
    }
    struct arena arena = old->arena;
    char *topic = old->topic;
    if (s->data.version <= old->data.version) s->data.version = old->data.version + 1;
    old->arena = s->arena;
    old->data = s->data;
    old->topic = s->topic;
    s->arena = arena;
    s->topic = topic;
    sub_free(s);
}

static void apply_change(struct mail *mail)
{
    struct change *x = LIST_OWNER(mail, struct change, mail);
    struct sky_push_consumer *p = x->consumer;
    struct topic_sub *old = push_sub(p, slice_text(x->topic));
    if (x->sub) put_sub(p, x->sub);
    else if (old) {
        drop_queues_of(old);
        list_remove(&old->node);
        list_add(&p->gone_subs, &old->node);   /* a request may point to it */
    }
    free(x->topic);
    free(x);
    heartbeat_soon(client_of(p));
    rebalance_later(p, 0);
}

static struct sky_error *change(struct sky_push_consumer *p, const char *topic, struct topic_sub *s)
{
    struct change *x = must_zero(sizeof *x);
    *x = (struct change){.mail.deliver = apply_change, .consumer = p, .sub = s, .topic = must_strdup(topic)};
    if (client_post(client_of(p), &p->member, &x->mail)) return NULL;
    if (s) sub_free(s);
    free(x->topic);
    free(x);
    return error_new(SKY_CLOSED, 0, "the consumer is shut down");
}

static struct sky_error *subscribe(struct sky_push_consumer *p, const char *topic, const char *expression, bool sql)
{
    err_t e = topic_name_check(slice_text(topic));
    if (e) return sky_error_from(e);
    struct topic_sub *s = sub_new(p, topic);
    e = sub_fill(s, expression, sql);
    if (e) {
        sub_free(s);
        struct sky_error *wrong = error_new(SKY_INVALID, 0, "%s", err_text(e));
        err_free(e);
        return wrong;
    }
    return change(p, topic, s);
}

struct sky_error *sky_push_consumer_subscribe(struct sky_push_consumer *p, const char *topic, const char *tags)
{
    return subscribe(p, topic, tags && *tags ? tags : "*", false);
}

struct sky_error *sky_push_consumer_subscribe_sql(struct sky_push_consumer *p, const char *topic, const char *expression)
{
    if (!expression || !*expression) return error_new(SKY_INVALID, 0, "an expression is needed");
    return subscribe(p, topic, expression, true);
}

struct sky_error *sky_push_consumer_unsubscribe(struct sky_push_consumer *p, const char *topic) { return change(p, topic ? topic : "", NULL); }

struct suspension {
    struct mail mail;
    struct sky_push_consumer *consumer;
    bool suspended;
};

static void apply_suspension(struct mail *mail)
{
    struct suspension *x = LIST_OWNER(mail, struct suspension, mail);
    x->consumer->suspended = x->suspended;
    free(x);
}

struct sky_error *sky_push_consumer_suspend(struct sky_push_consumer *p, bool suspended)
{
    struct suspension *x = must_zero(sizeof *x);
    *x = (struct suspension){.mail.deliver = apply_suspension, .consumer = p, .suspended = suspended};
    if (client_post(client_of(p), &p->member, &x->mail)) return NULL;
    free(x);
    return error_new(SKY_CLOSED, 0, "the consumer is shut down");
}

/* --- what happens by the clock --- */

static void on_rebalance(void *ctx)
{
    struct sky_push_consumer *p = ctx;
    timer_start(tasks_of(p), &p->rebalance, REBALANCE_MS);
    rebalance_all(p);
}

static void on_persist(void *ctx)
{
    struct sky_push_consumer *p = ctx;
    LIST_EACH(&p->queues, node) offset_tell(LIST_OWNER(node, struct work_queue, node));
    timer_start(tasks_of(p), &p->persist, PERSIST_MS);
}

static void on_relock(void *ctx)
{
    struct sky_push_consumer *p = ctx;
    order_relock(p);
    timer_start(tasks_of(p), &p->relock, RELOCK_MS);
}

static void on_expire(void *ctx)
{
    struct sky_push_consumer *p = ctx;
    consume_expire(p);
    timer_start(tasks_of(p), &p->expire, p->options.consume_timeout_ms < EXPIRE_MS ? p->options.consume_timeout_ms : EXPIRE_MS);
}

/* --- as a member of the client --- */

static struct sky_push_consumer *consumer_of(const struct member *m) { return LIST_OWNER(m, struct sky_push_consumer, member); }

static void join(struct member *m)
{
    struct sky_push_consumer *p = consumer_of(m);
    struct tasks *t = tasks_of(p);
    timer_start(t, &p->rebalance, REBALANCE_MS);
    timer_start(t, &p->persist, FIRST_PERSIST_MS);
    if (p->options.ordered) timer_start(t, &p->relock, FIRST_RELOCK_MS);
    else timer_start(t, &p->expire, p->options.consume_timeout_ms < EXPIRE_MS ? p->options.consume_timeout_ms : EXPIRE_MS);
    struct buf retry = BUF_EMPTY;
    retry_topic_name(slice_text(p->options.group), &retry);
    buf_put_u8(&retry, 0);
    struct topic_sub *s = p->options.broadcast ? NULL : sub_new(p, (const char *)retry.p);
    buf_done(&retry);
    if (!s) return;
    err_drop(sub_fill(s, "*", false), "everything is a right expression");
    put_sub(p, s);
}

static void leave(struct member *m)
{
    struct sky_push_consumer *p = consumer_of(m);
    atomic_store(&p->stopping, true);
    LIST_EACH(&p->queues, node) pull_forget(LIST_OWNER(node, struct work_queue, node));
    struct timer *const timers[] = {&p->rebalance, &p->persist, &p->relock, &p->expire};
    for (size_t i = 0; i < 4; i++) timer_stop(tasks_of(p), timers[i]);
    consume_give_up(p);
}

/* When the last callback has ended: what is done is told, and the queues are others'. */
static void finish(struct sky_push_consumer *p)
{
    p->finished = true;
    LIST_EACH(&p->queues, node) queue_drop(LIST_OWNER(node, struct work_queue, node));
}

static bool is_idle(const struct member *m)
{
    struct sky_push_consumer *p = consumer_of(m);
    if (!p->busy && !p->finished) finish(p);
    return !p->busy;
}

static void describe(const struct member *m, struct arena *arena, struct heartbeat *h)
{
    static const int32_t from[] = {[SKY_START_LAST] = FROM_LAST_OFFSET, [SKY_START_FIRST] = FROM_FIRST_OFFSET, [SKY_START_AT_TIME] = FROM_TIMESTAMP};
    const struct sky_push_consumer *p = consumer_of(m);
    struct heartbeat_consumer *c = arena_list_add(arena, (void **)&h->consumers.items, &h->consumers.count, sizeof *c);
    if (!c) return;
    *c = (struct heartbeat_consumer){.group = slice_text(m->group), .type = CONSUME_PASSIVELY, .from = from[p->options.start],
                                     .model = p->options.broadcast ? MODEL_BROADCASTING : MODEL_CLUSTERING};
    LIST_EACH(&p->subs, node) {
        struct subscription *s = arena_list_add(arena, (void **)&c->subscriptions.items, &c->subscriptions.count, sizeof *s);
        if (s) *s = LIST_OWNER(node, struct topic_sub, node)->data;
    }
}

static void route_changed(struct member *m, struct slice topic)
{
    struct sky_push_consumer *p = consumer_of(m);
    struct topic_sub *s = push_sub(p, topic);
    if (s) rebalance_later(p, 0);
}

static void members_changed(struct member *m) { rebalance_later(consumer_of(m), 0); }

static const struct member_ops ops = {.describe = describe, .is_idle = is_idle, .join = join, .leave = leave, .route_changed = route_changed,
                                      .members_changed = members_changed};

/* --- life --- */

static void subs_free(struct list *subs)
{
    LIST_EACH(subs, node) sub_free(LIST_OWNER(node, struct topic_sub, node));
}

static void push_free(struct sky_push_consumer *p)
{
    pool_free(p->threads);
    subs_free(&p->subs);
    subs_free(&p->gone_subs);
    lock_done(&p->numbers);
    free(p->options.group);
    member_done(&p->member);
    free(p);
}

static struct sky_push_consumer *push_new(const struct sky_push_consumer_options *o, sky_consume_fn *consume, void *user)
{
    struct sky_push_consumer *p = must_zero(sizeof *p);
    p->options = *o;
    p->options.group = must_strdup(o->group);
    p->consume = consume;
    p->user = user;
    atomic_init(&p->stopping, false);
    lock_init(&p->numbers);
    list_init(&p->subs);
    list_init(&p->gone_subs);
    list_init(&p->queues);
    list_init(&p->again);
    timer_init(&p->rebalance, on_rebalance, p);
    timer_init(&p->persist, on_persist, p);
    timer_init(&p->relock, on_relock, p);
    timer_init(&p->expire, on_expire, p);
    return p;
}

struct sky_error *sky_push_consumer_open(struct sky_client *c, const struct sky_push_consumer_options *o, sky_consume_fn *consume, void *user,
                                         struct sky_push_consumer **out)
{
    err_t e = group_name_check(slice_text(o->group));
    if (e) return sky_error_from(e);
    if (!consume) return error_new(SKY_INVALID, 0, "a consumer needs a callback");
    struct sky_push_consumer *p = push_new(o, consume, user);
    member_init(&p->member, c, &ops, o->group);
    e = client_pool(c, "skylark-use", o->threads, &p->threads);
    if (!e) e = member_open(&p->member);
    if (e) {
        push_free(p);
        struct sky_error *failed = error_new(err_code(e) == ERR_CLOSED ? SKY_CLOSED : SKY_INTERNAL, 0, "%s", err_text(e));
        err_free(e);
        return failed;
    }
    *out = p;
    return NULL;
}

void push_consumer_shutdown_begin(struct sky_push_consumer *p, void (*done)(void *), void *ctx) { member_close(&p->member, done, ctx); }
bool push_consumer_is_over(const struct sky_push_consumer *p) { return event_has_happened(&p->member.over); }

struct sky_error *sky_push_consumer_shutdown(struct sky_push_consumer *p)
{
    if (pool_is_mine(p->threads)) return error_new(SKY_STATE, 0, "a callback cannot wait for the end of itself");
    return member_shutdown(&p->member);
}

void sky_push_consumer_free(struct sky_push_consumer *p)
{
    if (!p) return;
    assert(!pool_is_mine(p->threads) && "a consumer is not freed by its callback");
    sky_error_free(sky_push_consumer_shutdown(p));
    push_free(p);
}
