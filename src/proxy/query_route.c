/* QueryRoute: the queues of a topic, as this proxy serves them. Facts: docs/protocol/grpc.md 7.1 */
#include "proxy/checks.h"
#include "proxy/endpoints.h"

struct v2_endpoints *endpoints_told(struct request *r, const struct v2_endpoints *asked)
{
    struct v2_endpoints *e = request_take(r, sizeof *e);
    uint16_t port = r->proxy->options.port ? r->proxy->options.port : (uint16_t)r->proxy->options.config->edge.grpc_port;
    if (!asked) return e;
    e->scheme = asked->scheme;
    e->addresses.count = asked->addresses.count;
    e->addresses.items = request_take(r, (asked->addresses.count + 1) * sizeof *e->addresses.items);
    for (size_t i = 0; i < asked->addresses.count; i++) {
        e->addresses.items[i] = asked->addresses.items[i];
        if (!r->proxy->cfg->endpoint_port) e->addresses.items[i].port = port;
    }
    return e;
}

struct v2_broker *broker_told(struct request *r, const struct route_broker *broker, int64_t id, struct v2_endpoints *endpoints)
{
    struct v2_broker *b = request_take(r, sizeof *b);
    b->name = broker->name;
    b->id = (int32_t)id;
    b->endpoints = endpoints;
    return b;
}

/* --- what a topic takes --- */

struct types {
    int32_t items[4];
    size_t count;
};

static struct types accepted(enum topic_type type)
{
    static const int32_t one[] = {
        [TOPIC_UNSPECIFIED] = V2_MESSAGE_TYPE_UNSPECIFIED, [TOPIC_NORMAL] = V2_MESSAGE_TYPE_NORMAL, [TOPIC_FIFO] = V2_MESSAGE_TYPE_FIFO,
        [TOPIC_DELAY] = V2_MESSAGE_TYPE_DELAY, [TOPIC_TRANSACTION] = V2_MESSAGE_TYPE_TRANSACTION, [TOPIC_LITE] = V2_MESSAGE_TYPE_LITE,
        [TOPIC_PRIORITY] = V2_MESSAGE_TYPE_PRIORITY,
    };
    if (type == TOPIC_MIXED)
        return (struct types){{V2_MESSAGE_TYPE_NORMAL, V2_MESSAGE_TYPE_FIFO, V2_MESSAGE_TYPE_DELAY, V2_MESSAGE_TYPE_TRANSACTION}, 4};
    return (struct types){{one[type]}, 1};
}

/* --- the queues --- */

struct listing {
    struct request *request;
    struct v2_query_route_response *out;
    struct v2_message_queue template;     /* but for id and permission */
};

static bool add_queues(struct listing *l, int32_t *id, int32_t count, int32_t permission)
{
    PB_LIST(struct v2_message_queue) *list = (void *)&l->out->message_queues;
    for (int32_t i = 0; i < count; i++) {
        struct v2_message_queue *q = arena_list_add(&l->request->arena, (void **)&list->items, &list->count, sizeof *q);
        if (!q) return false;
        *q = l->template;
        q->id = (*id)++;
        q->permission = permission;
    }
    return true;
}

static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

/* Queues that can only be read or written come first; the ids go on through all of them. */
static bool add_part(struct listing *l, const struct route_queues *q)
{
    bool read = q->perm & PERM_READ, write = q->perm & PERM_WRITE;
    int32_t id = 0, both = read && write ? smaller(q->read_queues, q->write_queues) : 0;
    if (!read && !write) return add_queues(l, &id, larger(1, larger(q->read_queues, q->write_queues)), V2_PERMISSION_NONE);
    return add_queues(l, &id, read ? q->read_queues - both : 0, V2_PERMISSION_READ) &&
           add_queues(l, &id, write ? q->write_queues - both : 0, V2_PERMISSION_WRITE) && add_queues(l, &id, both, V2_PERMISSION_READ_WRITE);
}

static bool add_all(struct listing *l, const struct route *route, struct v2_endpoints *endpoints)
{
    for (size_t i = 0; i < route->part_count; i++) {
        const struct route_part *part = &route->parts[i];
        for (size_t k = 0; part->addresses && k < part->addresses->addresses.count; k++) {
            l->template.broker = broker_told(l->request, part->addresses, part->addresses->addresses.items[k].id, endpoints);
            if (!add_part(l, part->queues)) return false;
        }
    }
    return true;
}

static void answer(struct request *r)
{
    const struct v2_query_route_request *q = r->in;
    if (!request_has_route(r)) return;
    struct v2_query_route_response *out = request_take(r, sizeof *out);
    struct types types = accepted(r->wanted.type);
    struct listing l = {.request = r, .out = out, .template = {.topic = q->topic}};
    l.template.accept_message_types.items = types.items;
    l.template.accept_message_types.count = types.count;
    out->status = status_ok(r);
    if (add_all(&l, r->wanted.route, endpoints_told(r, q->endpoints))) request_answer(r, out);
    else request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "the topic has too many queues");
}

void serve_query_route(struct request *r)
{
    const struct v2_query_route_request *q = r->in;
    if (!check_topic(r, q->topic)) return;
    request_want(r, WANT_ROUTE | WANT_TYPE, q->topic->name, (struct slice){NULL, 0}, answer);
}
