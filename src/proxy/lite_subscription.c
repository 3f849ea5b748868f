/* SyncLiteSubscription: which lite topics a client wants. Facts: docs/protocol/grpc.md 9.6. Popping from lite topics is not there yet, so
 * only what the original refuses as well is told apart: a group must be bound to the topic. */
#include "proxy/checks.h"

static struct slice bound_topic(const struct group_facts *g)
{
    for (size_t i = 0; g && i < g->config.attributes.count; i++)
        if (slice_eq(g->config.attributes.items[i].key, SLICE("lite.bind.topic"))) return g->config.attributes.items[i].value;
    return (struct slice){NULL, 0};
}

static void with_facts(struct request *r)
{
    const struct v2_sync_lite_subscription_request *q = r->in;
    struct slice bound = bound_topic(r->wanted.group), told = bound.n ? bound : SLICE("null");
    if (!r->wanted.group) request_refuse(r, V2_CODE_ILLEGAL_CONSUMER_GROUP, "the group %.*s does not exist", SLICE_ARG(q->group->name));
    else if (slice_eq(bound, q->topic->name)) request_refuse(r, V2_CODE_UNSUPPORTED, "lite topics cannot be consumed yet");
    else
        request_refuse(r, V2_CODE_ILLEGAL_TOPIC, "lite group %.*s is expected to bind topic %.*s, but actual is %.*s", SLICE_ARG(q->group->name),
                       SLICE_ARG(told), SLICE_ARG(q->topic->name));
}

void serve_sync_lite_subscription(struct request *r)
{
    const struct v2_sync_lite_subscription_request *q = r->in;
    if (!check_topic(r, q->topic) || !check_group(r, q->group)) return;
    for (size_t i = 0; q->action == V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_ADD && i < q->lite_topic_set.count; i++)
        if (!check_lite_topic(r, q->lite_topic_set.items[i])) return;
    request_want(r, WANT_GROUP, (struct slice){NULL, 0}, q->group->name, with_facts);
}
