#include "proxy/consumption.h"

#include "base/log.h"

#include <stdlib.h>

/* By how often it was renewed. */
static const int64_t steps_ms[] = {60000, 180000, 300000, 600000, 1800000, 3600000};
enum { STEPS = sizeof steps_ms / sizeof *steps_ms };

struct held {
    struct list_node node;           /* of the client's */
    struct handles *all;
    struct client *client;           /* NULL: gone while a renewal is under way */
    char *key, *group, *topic, *text, *lite_topic;
    struct held_message message;     /* what these say */
    int64_t since_ms;                /* wall */
    int32_t reconsume_times;
    size_t renewals, failures;
    bool busy;                       /* a renewal is under way */
    bool replaced;                   /* the message was delivered anew meanwhile */
    struct list waiting;             /* of struct waiting_request */
};

struct waiting_request {
    struct list_node node;
    struct request *request;
    void (*again)(struct request *r);
};

void handles_init(struct handles *h, struct proxy *p) { *h = (struct handles){p, MAP_EMPTY}; }

static struct buf key_of(const struct held_message *m)
{
    struct buf key = BUF_EMPTY;
    const struct slice texts[] = {m->group, m->topic, m->lite_topic, m->handle.broker};
    const int64_t numbers[] = {m->handle.kind, m->handle.queue_id, m->handle.offset};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        buf_put_slice(&key, texts[i]);
        buf_put_u8(&key, ' ');
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        buf_put_i64_text(&key, numbers[i]);
        buf_put_u8(&key, ' ');
    }
    return key;
}

static struct held *find(struct handles *h, const struct held_message *m)
{
    if (!h->by_key.count) return NULL;   /* nobody asked for renewals */
    struct buf key = key_of(m);
    struct held *held = map_get(&h->by_key, buf_slice(&key));
    buf_done(&key);
    return held;
}

static void use_text(struct held *h, struct slice text)
{
    free(h->text);
    h->text = must_dup(text);
    h->message.text = slice_text(h->text);
    if (!receipt_handle_parse(h->message.text, &h->message.handle)) h->message.handle = (struct receipt_handle){.log_offset = -1};
}

static void held_free(struct held *h)
{
    if (map_get(&h->all->by_key, slice_text(h->key)) == h) map_remove(&h->all->by_key, slice_text(h->key));
    list_remove(&h->node);
    free(h->key);
    free(h->group);
    free(h->topic);
    free(h->text);
    free(h->lite_topic);
    free(h);
}

void handles_done(struct handles *h) { map_done(&h->by_key); }

void handles_add(struct handles *all, struct client *c, const struct held_message *m, int32_t reconsume_times)
{
    struct held *former = find(all, m);
    if (former && former->busy) former->replaced = true;   /* its end frees it */
    else if (former) held_free(former);
    struct held *h = must_zero(sizeof *h);
    struct buf key = key_of(m);
    h->all = all;
    h->client = c;
    h->key = must_dup(buf_slice(&key));
    h->group = must_dup(m->group);
    h->topic = must_dup(m->topic);
    if (m->lite_topic.n) h->lite_topic = must_dup(m->lite_topic);
    h->message = (struct held_message){.group = slice_text(h->group), .topic = slice_text(h->topic), .lite_topic = slice_text(h->lite_topic)};
    use_text(h, m->text);
    h->since_ms = now_ms(all->proxy);
    h->reconsume_times = reconsume_times;
    list_init(&h->waiting);
    list_add(&c->handles, &h->node);
    map_put(&all->by_key, slice_text(h->key), h);
    buf_done(&key);
}

size_t handles_count(const struct client *c, size_t most)
{
    size_t n = 0;
    for (const struct list_node *node = c->handles.head.next; node != &c->handles.head && n < most; node = node->next) n++;
    return n;
}

bool handles_wait(struct handles *all, struct request *r, const struct held_message *m, void (*again)(struct request *r))
{
    struct held *h = find(all, m);
    if (!h || !h->busy || all->proxy->ending) return false;
    struct waiting_request *w = request_take(r, sizeof *w);
    w->request = r;
    w->again = again;
    list_add(&h->waiting, &w->node);
    return true;
}

void handles_take(struct handles *all, struct request *r, struct held_message *m)
{
    struct held *h = find(all, m);
    if (!h || h->busy) return;
    struct receipt_handle asked = m->handle;
    m->text = arena_copy(&r->arena, h->message.text);
    if (!receipt_handle_parse(m->text, &m->handle)) m->handle = asked;
    held_free(h);
}

/* --- renewing --- */

static void resume(struct list *waiting)
{
    while (!list_empty(waiting)) {
        struct waiting_request *w = LIST_OWNER(list_first(waiting), struct waiting_request, node);
        list_remove(&w->node);
        w->again(w->request);
    }
}

/* The client went meanwhile, or the message was delivered anew. */
static void end_alone(struct held *h)
{
    if (!h->all->proxy->ending && !h->replaced) consumption_give_back(h->all->proxy, &h->message, false);
    held_free(h);
}

static void on_renewed(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct held *h = ctx;
    struct buf text = BUF_EMPTY;
    struct list waiting;
    bool drop = false;
    h->busy = false;
    if (!e && reply->frame->code != RESPONSE_SUCCESS) e = err_new(ERR_REFUSED, "%.*s", SLICE_ARG(reply->frame->remark)), drop = true;
    if (!e) e = consumption_changed_handle(&h->message, reply->frame, &text);
    if (!e) {
        use_text(h, buf_slice(&text));
        h->renewals++;
        h->failures = 0;
    } else {
        log_info("renewal.failed handle=\"%s\" group=\"%s\" why=\"%s\"", h->text, h->group, err_text(e));
        err_free(e);
        if (++h->failures >= (size_t)h->all->proxy->cfg->renew_retries) drop = true;
    }
    buf_done(&text);
    list_move(&h->waiting, &waiting);
    if (!h->client || h->replaced) end_alone(h);
    else if (drop) held_free(h);
    resume(&waiting);
}

static void renew(struct held *h, struct broker_peer *b)
{
    size_t step = h->renewals < STEPS ? h->renewals : STEPS - 1;
    h->busy = true;
    proxy_count(h->all->proxy, METRIC_RENEWALS, 1);
    consumption_change(b, &h->message, steps_ms[step], false, on_renewed, h);
}

struct giving_up {
    struct held_message message;
    int32_t reconsume_times;
};

/* It was renewed for long enough: others get it when the group's policy says so. */
static void stop_renewing(struct request *r)
{
    struct giving_up *g = r->state;
    struct broker_peer *b = request_broker(r, g->message.handle.broker);
    if (b) consumption_change(b, &g->message, group_backoff_ms(r->wanted.group, g->reconsume_times), false, NULL, NULL);
    request_free(r);
}

static void give_up(struct held *h)
{
    struct request *r = request_new(h->all->proxy, NULL, NULL, (struct slice){NULL, 0});
    struct giving_up *g = request_take(r, sizeof *g);
    struct held_message *m = &g->message;
    m->group = arena_copy(&r->arena, h->message.group);
    m->topic = arena_copy(&r->arena, h->message.topic);
    if (h->lite_topic) m->lite_topic = arena_copy(&r->arena, h->message.lite_topic);
    m->text = arena_copy(&r->arena, h->message.text);
    if (!receipt_handle_parse(m->text, &m->handle)) m->handle.broker = (struct slice){NULL, 0};
    g->reconsume_times = h->reconsume_times;
    r->state = g;
    log_info("renewal.over handle=\"%s\" group=\"%s\" after_ms=%lld", h->text, h->group, (long long)(now_ms(h->all->proxy) - h->since_ms));
    held_free(h);
    request_want(r, WANT_GROUP, (struct slice){NULL, 0}, m->group, stop_renewing);
}

static void look_at(struct held *h, int64_t now)
{
    const struct config_proxy *cfg = h->all->proxy->cfg;
    if (h->busy || receipt_handle_ends_ms(&h->message.handle) - now > cfg->renew_ahead_ms) return;
    struct broker_peer *b = brokers_find(&h->all->proxy->brokers, h->message.handle.broker);
    if (!b) held_free(h);
    else if (now - h->since_ms >= cfg->renew_max_ms) give_up(h);
    else renew(h, b);
}

void handles_scan(struct handles *all)
{
    int64_t now = now_ms(all->proxy);
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&all->by_key, &at));) look_at(e->value, now);
}

/* --- a client goes --- */

void handles_give_back(struct handles *all, struct client *c)
{
    LIST_EACH(&c->handles, node) {
        struct held *h = LIST_OWNER(node, struct held, node);
        if (h->busy) {
            list_remove(&h->node);
            h->client = NULL;
        } else {
            consumption_give_back(all->proxy, &h->message, false);
            held_free(h);
        }
    }
}

void handles_drop(struct handles *all, struct client *c)
{
    (void)all;
    LIST_EACH(&c->handles, node) held_free(LIST_OWNER(node, struct held, node));
}
