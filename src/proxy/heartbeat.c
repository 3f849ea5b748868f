/* Heartbeat and NotifyClientTermination: a client is there, or goes. Facts: docs/protocol/grpc.md 6 */
#include "proxy/checks.h"
#include "proxy/lite_subscription.h"
#include "proxy/settings.h"

static const char no_settings[] = "cannot find client settings for this client";

static bool is_consumer(int32_t type)
{
    return type == V2_CLIENT_TYPE_PUSH_CONSUMER || type == V2_CLIENT_TYPE_SIMPLE_CONSUMER || type == V2_CLIENT_TYPE_LITE_PUSH_CONSUMER;
}

static bool is_group(struct slice name)
{
    err_t e = group_check(name);
    err_drop(e, "the client is refused anyway");
    return !e;
}

/* After a restart, or at another proxy, a client beats on without telling its settings, some of them for minutes. It is refused, so
 * that it tells them soon, and may receive meanwhile: its group says how. */
static void remember_untold(struct request *r, const struct v2_heartbeat_request *q)
{
    if (r->client || !is_consumer(q->client_type) || !is_group(resource_name(q->group))) return;
    struct client *c = clients_put(&r->proxy->clients, r->client_id);
    c->type = q->client_type;
    c->group = must_dup(q->group->name);
    c->untold = true;
    r->client = c;
}

/* False: the request was refused. */
static bool check_client(struct request *r, const struct v2_resource *group)
{
    if (!r->client || r->client->untold) {
        request_refuse(r, V2_CODE_UNRECOGNIZED_CLIENT_TYPE, "%s", no_settings);
        return false;
    }
    switch (r->client->type) {
    case V2_CLIENT_TYPE_PRODUCER: return true;
    case V2_CLIENT_TYPE_PUSH_CONSUMER:
    case V2_CLIENT_TYPE_LITE_PUSH_CONSUMER:
    case V2_CLIENT_TYPE_SIMPLE_CONSUMER: return check_group(r, group);
    default: request_refuse(r, V2_CODE_UNRECOGNIZED_CLIENT_TYPE, "%s", client_type_name(r->client->type)); return false;
    }
}

static void with_group(struct request *r)
{
    const struct v2_heartbeat_request *q = r->in;
    const struct client *c = clients_find(&r->proxy->clients, r->client_id);
    int32_t code;
    struct slice misuse = c ? lite_misuse(r, c->type, q->group->name, slice_text(c->lite_parent), &code) : (struct slice){NULL, 0};
    if (misuse.p) request_refuse(r, code, "%.*s", SLICE_ARG(misuse));
    else request_ok(r);
}

void serve_heartbeat(struct request *r)
{
    const struct v2_heartbeat_request *q = r->in;
    remember_untold(r, q);
    if (r->client) r->client->seen_ms = tasks_mono_ms(r->proxy->tasks);
    if (!check_client(r, q->group)) return;
    if (is_consumer(r->client->type)) request_want(r, WANT_GROUP, (struct slice){NULL, 0}, q->group->name, with_group);
    else request_ok(r);
}

void serve_notify_client_termination(struct request *r)
{
    const struct v2_notify_client_termination_request *q = r->in;
    struct proxy *p = r->proxy;
    struct client *c = r->client;
    if (!check_client(r, q->group)) {
        if (c && c->untold) clients_remove(&p->clients, c);
        return;
    }
    clients_remove(&p->clients, c);
    request_ok(r);
}
