/* SyncLiteSubscription: which lite topics a client wants. Facts: docs/protocol/grpc.md 9.6. A group must be bound to
 * the topic. Brokers deliver nothing from lite topics yet: it is as with the original when enableLmq is off. */
#include "proxy/checks.h"

static void with_facts(struct request *r)
{
    const struct v2_sync_lite_subscription_request *q = r->in;
    struct slice bound = group_attribute(r->wanted.group, SLICE("lite.bind.topic")), told = bound.n ? bound : SLICE("null");
    if (!r->wanted.group) request_refuse(r, V2_CODE_ILLEGAL_CONSUMER_GROUP, "the group %.*s does not exist", SLICE_ARG(q->group->name));
    else if (slice_eq(bound, q->topic->name)) request_ok(r);
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
