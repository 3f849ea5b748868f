#include "proxy/checks.h"
#include "proxy/message_in.h"
#include "proxy/message_out.h"

#include "base/log.h"
#include "codec/body_heartbeat.h"
#include "codec/properties.h"
#include "codec/record.h"
#include "codec/requests.h"

#include <stdio.h>
#include <stdlib.h>

enum { HEARTBEAT_MS = 3000, GROUPS_AT_ONCE = 100 };

struct open_end {
    struct transaction_end end;
    int64_t expires_ms;              /* mono */
};

/* Of one transaction, the oldest first. */
struct open_ends {
    struct open_end *items;
    size_t count;
};

struct watched_topic {
    struct broker_peer **brokers;
    size_t count;
};

void transactions_init(struct transactions *t, struct proxy *p) { *t = (struct transactions){p, MAP_EMPTY, MAP_EMPTY, 0}; }

static void ends_free(void *value)
{
    struct open_ends *o = value;
    free(o->items);
    free(o);
}

static void watched_free(void *value)
{
    struct watched_topic *w = value;
    free(w->brokers);
    free(w);
}

void transactions_done(struct transactions *t)
{
    map_done_with(&t->ends, ends_free);
    map_done_with(&t->watched, watched_free);
}

/* --- where prepared messages are --- */

static struct buf end_key(struct slice topic, struct slice id)
{
    struct buf key = BUF_EMPTY;
    buf_put_slice(&key, topic);
    buf_put_u8(&key, '@');
    buf_put_slice(&key, id);
    return key;
}

static void drop_first(struct open_ends *o)
{
    memmove(o->items, o->items + 1, --o->count * sizeof *o->items);
}

void transactions_add(struct transactions *t, struct slice topic, struct slice id, const struct transaction_end *end)
{
    const struct config_proxy *cfg = t->proxy->cfg;
    struct buf key = end_key(topic, id);
    struct open_ends *o = map_get(&t->ends, buf_slice(&key));
    if (!o) {
        o = must_zero(sizeof *o);
        map_put(&t->ends, buf_slice(&key), o);
    }
    while (o->count && o->count >= (size_t)cfg->transaction_max) drop_first(o);
    o->items = realloc(o->items, (o->count + 1) * sizeof *o->items);
    if (!o->items) abort();
    o->items[o->count++] = (struct open_end){*end, tasks_mono_ms(t->proxy->tasks) + cfg->transaction_expire_ms};
    buf_done(&key);
}

bool transactions_take(struct transactions *t, struct slice topic, struct slice id, struct transaction_end *out)
{
    struct buf key = end_key(topic, id);
    struct open_ends *o = map_get(&t->ends, buf_slice(&key));
    bool found = o && o->items[o->count - 1].expires_ms > tasks_mono_ms(t->proxy->tasks);
    if (found) *out = o->items[--o->count].end;
    if (o && (!o->count || !found)) ends_free(map_remove(&t->ends, buf_slice(&key)));
    buf_done(&key);
    return found;
}

static void forget_old_ends(struct transactions *t)
{
    int64_t now = tasks_mono_ms(t->proxy->tasks);
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&t->ends, &at));) {
        struct open_ends *o = e->value;
        while (o->count && o->items[0].expires_ms <= now) drop_first(o);
        if (!o->count) ends_free(map_remove(&t->ends, e->key));
    }
}

/* --- who can be asked --- */

static void send_heartbeat(struct transactions *t, struct broker_peer *b, struct heartbeat_producer *groups, size_t count)
{
    char id[64];
    snprintf(id, sizeof id, "rmq-proxy-producer-client@%016llx", (unsigned long long)t->proxy->options.seed);
    struct heartbeat body = {.client_id = slice_text(id)};
    body.producers.items = groups;
    body.producers.count = count;
    struct buf text = BUF_EMPTY;
    struct heartbeat_header h = {0};
    bean_encode(&heartbeat_bean, &body, JSON_STRICT, &text);
    struct rpc_request q = {.code = REQUEST_HEART_BEAT, .kind = &heartbeat_kind, .header = &h, .body = buf_slice(&text), .timeout_ms = HEARTBEAT_MS};
    broker_request(b, &q);
    buf_done(&text);
}

static bool has_broker(const struct watched_topic *w, const struct broker_peer *b)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->brokers[i] == b) return true;
    return false;
}

static void heartbeat_to(struct transactions *t, struct broker_peer *b)
{
    struct heartbeat_producer groups[GROUPS_AT_ONCE];
    size_t count = 0;
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&t->watched, &at));) {
        if (!has_broker(e->value, b)) continue;
        groups[count++] = (struct heartbeat_producer){e->key};
        if (count < GROUPS_AT_ONCE) continue;
        send_heartbeat(t, b, groups, count);
        count = 0;
    }
    if (count) send_heartbeat(t, b, groups, count);
}

static void keep_brokers(struct watched_topic *w, const struct route *route)
{
    free(w->brokers);
    w->brokers = must_zero((route->part_count + 1) * sizeof *w->brokers);
    w->count = 0;
    for (size_t i = 0; i < route->part_count; i++)
        if (route->parts[i].broker && !has_broker(w, route->parts[i].broker)) w->brokers[w->count++] = route->parts[i].broker;
}

static void watch(struct request *r)
{
    struct transactions *t = &r->proxy->transactions;
    struct slice topic = *(struct slice *)r->state;
    struct watched_topic *w = map_get(&t->watched, topic);
    if (r->wanted.type == TOPIC_TRANSACTION && r->wanted.route && clients_produce(&t->proxy->clients, topic)) {
        bool is_new = !w;
        if (is_new) {
            w = must_zero(sizeof *w);
            map_put(&t->watched, topic, w);
        }
        keep_brokers(w, r->wanted.route);
        for (size_t i = 0; is_new && i < w->count; i++) heartbeat_to(t, w->brokers[i]);
    }
    request_free(r);
}

void transactions_watch(struct transactions *t, struct slice topic)
{
    struct request *r = request_new(t->proxy, NULL, NULL, (struct slice){NULL, 0});
    struct slice *name = request_take(r, sizeof *name);
    *name = arena_copy(&r->arena, topic);
    r->state = name;
    request_want(r, WANT_ROUTE | WANT_TYPE, *name, (struct slice){NULL, 0}, watch);
}

static void heartbeats(struct transactions *t)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&t->watched, &at));)
        if (!clients_produce(&t->proxy->clients, e->key)) watched_free(map_remove(&t->watched, e->key));
    for (size_t at = 0; (e = map_next(&t->watched, &at));) transactions_watch(t, e->key);   /* brokers may have come */
    for (size_t at = 0; (e = map_next(&t->proxy->brokers.by_name, &at));) heartbeat_to(t, e->value);
}

void transactions_scan(struct transactions *t)
{
    int64_t now = tasks_mono_ms(t->proxy->tasks);
    forget_old_ends(t);
    if (now < t->heartbeat_ms) return;
    t->heartbeat_ms = now + t->proxy->cfg->transaction_heartbeat_s * 1000;
    heartbeats(t);
}

/* --- a broker asks --- */

static void ask_client(struct proxy *p, struct client *c, const struct message *m, struct slice id)
{
    struct arena arena = ARENA_EMPTY;
    struct popped place = {.topic = m->topic, .reconsume_times = m->reconsume_times};
    struct v2_message *message = message_out(&arena, m, &place, now_ms(p));
    struct v2_recover_orphaned_transaction_command recover = {.message = message, .transaction_id = id};
    struct v2_telemetry_command command = {
        .command_case = V2_TELEMETRY_COMMAND_RECOVER_ORPHANED_TRANSACTION_COMMAND, .recover_orphaned_transaction_command = &recover,
    };
    if (message) telemetry_send(p, c, &command);
    arena_done(&arena);
}

/* Texts of headers, which clients are told. */
static bool is_question(const struct message *m, struct slice id, struct slice topic)
{
    return id.n && utf8_valid(id) && topic.n && utf8_valid(topic) && m->body.n;
}

static void check(struct broker_peer *from, const struct check_transaction_header *h, const struct message *m)
{
    struct proxy *p = from->proxy;
    struct slice topic = properties_get(m->properties, PROPERTY_GROUP);   /* gRPC producers have their topic for a group */
    struct slice id = h->transaction_id.n ? h->transaction_id : properties_get(m->properties, PROPERTY_UNIQUE_KEY);
    struct client *c = clients_producer(&p->clients, topic);
    if (!c || !is_question(m, id, topic)) {
        log_debug("transaction.nobody_to_ask topic=\"%.*s\" broker=\"%s\"", SLICE_ARG(topic), from->name);
        return;
    }
    struct transaction_end end = {from, h->tran_state_table_offset, h->commit_log_offset};
    transactions_add(&p->transactions, topic, id, &end);
    ask_client(p, c, m, id);
}

void transactions_check(struct broker_peer *from, struct call *call)
{
    struct check_transaction_header h;
    struct message m;
    err_t e = header_decode(&check_transaction_kind, call->frame, &h);
    if (!e && record_read(call->body, &m) != RECORD_WHOLE) e = err_new(ERR_BODY, "no message to check");
    if (!e) check(from, &h, &m);
    else log_warn("transaction.check_broken broker=\"%s\" why=\"%s\"", from->name, err_text(e));
    err_free(e);
    call_drop(call);   /* it is asked one way */
}
