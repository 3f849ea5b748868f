/* QueryAssignment: what a push consumer asks for: all brokers of its topic. Facts: docs/protocol/grpc.md 7.2 */
#include "proxy/checks.h"
#include "proxy/endpoints.h"

static bool has_master(const struct route_part *part) { return part->addresses && part->has_master; }

static bool add(struct request *r, struct v2_query_assignment_response *out, const struct v2_message_queue *queue)
{
    PB_LIST(struct v2_assignment) *list = (void *)&out->assignments;
    struct v2_assignment *a = arena_list_add(&r->arena, (void **)&list->items, &list->count, sizeof *a);
    struct v2_message_queue *q = a ? arena_take(&r->arena, sizeof *q) : NULL;
    if (!q) return false;
    *q = *queue;
    a->message_queue = q;
    return true;
}

/* A queue at a time where order is kept, else a broker at a time. */
static bool add_part(struct request *r, struct v2_query_assignment_response *out, const struct route_part *part, struct v2_endpoints *endpoints, bool fifo)
{
    const struct v2_query_assignment_request *q = r->in;
    struct v2_message_queue queue = {.topic = q->topic, .id = -1};
    queue.permission = part->queues->perm & PERM_WRITE ? V2_PERMISSION_READ_WRITE : V2_PERMISSION_READ;
    queue.broker = broker_told(r, part->addresses, 0, endpoints);
    if (!fifo) return add(r, out, &queue);
    for (queue.id = 0; queue.id < part->queues->read_queues; queue.id++)
        if (!add(r, out, &queue)) return false;
    return true;
}

static void answer(struct request *r)
{
    const struct v2_query_assignment_request *q = r->in;
    if (!request_has_route(r)) return;
    struct v2_query_assignment_response *out = request_take(r, sizeof *out);
    struct v2_endpoints *endpoints = endpoints_told(r, q->endpoints);
    bool fine = true, fifo = r->wanted.group && r->wanted.group->config.consume_orderly && !group_attribute(r->wanted.group, SLICE("lite.bind.topic")).n;
    for (size_t i = 0; fine && i < r->wanted.route->part_count; i++) {
        const struct route_part *part = &r->wanted.route->parts[i];
        if (part->queues->perm & PERM_READ && part->queues->read_queues > 0 && has_master(part)) fine = add_part(r, out, part, endpoints, fifo);
    }
    out->status = status_ok(r);
    if (!fine) request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "the topic has too many queues");
    else if (!out->assignments.count) request_refuse(r, V2_CODE_FORBIDDEN, "no readable queue");
    else request_answer(r, out);
}

void serve_query_assignment(struct request *r)
{
    const struct v2_query_assignment_request *q = r->in;
    if (!check_topic(r, q->topic) || !check_group(r, q->group)) return;
    request_want(r, WANT_ROUTE | WANT_GROUP, q->topic->name, q->group->name, answer);
}
