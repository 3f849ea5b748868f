/* Heartbeat and NotifyClientTermination: a client is there, or goes. Facts: docs/protocol/grpc.md 6 */
#include "proxy/checks.h"
#include "proxy/settings.h"

static const char no_settings[] = "cannot find client settings for this client";

/* False: the request was refused. */
static bool check_client(struct request *r, const struct v2_resource *group)
{
    if (!r->client) {
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

void serve_heartbeat(struct request *r)
{
    const struct v2_heartbeat_request *q = r->in;
    if (!check_client(r, q->group)) return;
    r->client->seen_ms = tasks_mono_ms(r->proxy->tasks);
    request_ok(r);
}

void serve_notify_client_termination(struct request *r)
{
    const struct v2_notify_client_termination_request *q = r->in;
    struct proxy *p = r->proxy;
    struct client *c = r->client;
    if (!check_client(r, q->group)) return;
    clients_remove(&p->clients, c);
    request_ok(r);
}
