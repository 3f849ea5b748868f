/* SyncLiteSubscription: which lite topics a client wants, told to all brokers of their topic. Facts: docs/protocol/lite.md */
#include "proxy/lite_subscription.h"

#include "base/log.h"
#include "codec/body_lite.h"
#include "codec/requests.h"
#include "proxy/checks.h"
#include "proxy/status.h"

enum { SYNC_MS = 2000, QUOTA_USUAL = 2000, QUOTA_SLACK = 300 };

/* --- may it be --- */

bool lite_check_bound(struct request *r, struct slice group, struct slice topic)
{
    struct slice bound = group_attribute(r->wanted.group, SLICE("lite.bind.topic")), told = bound.n ? bound : SLICE("null");
    if (!r->wanted.group) request_refuse(r, V2_CODE_ILLEGAL_CONSUMER_GROUP, "group not found: %.*s", SLICE_ARG(group));
    else if (slice_eq(bound, topic)) return true;
    else
        request_refuse(r, V2_CODE_ILLEGAL_TOPIC, "lite group %.*s is expected to bind topic %.*s, but actual is %.*s", SLICE_ARG(group),
                       SLICE_ARG(told), SLICE_ARG(topic));
    return false;
}

static bool check_quota(struct request *r, size_t count)
{
    int64_t quota;
    if (!slice_to_i64(group_attribute(r->wanted.group, SLICE("lite.sub.client.quota")), &quota)) quota = QUOTA_USUAL;
    if (!count || quota > INT64_MAX - QUOTA_SLACK || (int64_t)count <= quota + QUOTA_SLACK) return true;
    request_refuse(r, V2_CODE_LITE_SUBSCRIPTION_QUOTA_EXCEEDED, "lite subscription quota exceeded: %lld", (long long)quota);
    return false;
}

/* As many as a second's may come at once. */
static bool check_rate(struct request *r, const struct v2_sync_lite_subscription_request *q)
{
    struct proxy *p = r->proxy;
    int64_t now = tasks_mono_ms(p->tasks), rate = p->cfg->lite_syncs;
    if (q->action != V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_ADD) return true;
    int64_t passed = now - p->lite_syncs_ms;
    p->lite_syncs_ms = now;
    p->lite_syncs = passed >= 1000 ? 0 : p->lite_syncs - passed * rate / 1000;
    if (p->lite_syncs < 0) p->lite_syncs = 0;
    if (p->lite_syncs < rate) {
        p->lite_syncs++;
        return true;
    }
    request_refuse(r, V2_CODE_TOO_MANY_REQUESTS, "Too many syncLiteSubscription requests, topic=%.*s, group=%.*s, clientId=%.*s",
                   SLICE_ARG(q->topic->name), SLICE_ARG(q->group->name), SLICE_ARG(r->client_id));
    return false;
}

/* --- what brokers are told --- */

/* False: it asks for no offset that we know. */
static bool read_option(const struct v2_offset_option *o, struct lite_offset_option *out)
{
    switch (o->offset_type_case) {
    case V2_OFFSET_OPTION_POLICY: *out = (struct lite_offset_option){LITE_OFFSET_POLICY, o->policy}; return true;
    case V2_OFFSET_OPTION_OFFSET: *out = (struct lite_offset_option){LITE_OFFSET_OFFSET, o->offset}; return true;
    case V2_OFFSET_OPTION_TAIL_N: *out = (struct lite_offset_option){LITE_OFFSET_TAIL_N, o->tail_n}; return true;
    case V2_OFFSET_OPTION_TIMESTAMP: *out = (struct lite_offset_option){LITE_OFFSET_TIMESTAMP, o->timestamp}; return true;
    default: return false;
    }
}

static void tell(struct broker_peer *b, const struct lite_subscription *s, rpc_done *done, void *ctx)
{
    struct lite_subscription one = *s;
    struct lite_subscriptions body = {.entries = {&one, 1}};
    struct buf text = BUF_EMPTY;
    bean_encode(&lite_subscriptions_bean, &body, JSON_STRICT, &text);
    struct rpc_request q = {.code = REQUEST_LITE_SUBSCRIPTION_CTL, .body = buf_slice(&text), .timeout_ms = SYNC_MS, .done = done, .ctx = ctx};
    broker_request(b, &q);
    buf_done(&text);
}

static bool can_read(const struct route_part *part) { return part->queues->perm & PERM_READ && part->queues->read_queues > 0 && part->broker; }

/* --- the RPC --- */

struct syncing {
    struct request *request;
    size_t waits;
    int32_t code;                    /* of the first failure; 0: none */
    struct slice text;
};

static void fail(struct syncing *s, int32_t code, struct slice text)
{
    if (s->code) return;
    s->code = code;
    s->text = utf8_valid(text) ? arena_copy(&s->request->arena, text) : SLICE("");
}

static void one_less(struct syncing *s)
{
    if (--s->waits) return;
    if (s->code) request_refuse(s->request, s->code, "%.*s", SLICE_ARG(s->text));
    else request_ok(s->request);
}

static void on_told(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct syncing *s = ctx;
    if (e) fail(s, code_of_error(err_code(e)), slice_text(err_text(e)));
    else if (reply->frame->code != RESPONSE_SUCCESS) fail(s, code_of_response(reply->frame->code), reply->frame->remark);
    err_free(e);
    one_less(s);
}

static void tell_all(struct request *r, const struct v2_sync_lite_subscription_request *q)
{
    struct lite_offset_option option;
    struct syncing *s = request_take(r, sizeof *s);
    struct lite_subscription told = {
        .action = q->action, .client_id = r->client_id, .group = q->group->name, .topic = q->topic->name, .version = q->version,
    };
    told.lite_topics.items = q->lite_topic_set.items;
    told.lite_topics.count = q->lite_topic_set.count;
    bool adds = q->action == V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_ADD;
    if (adds && q->offset_option && read_option(q->offset_option, &option)) told.offset = &option;
    s->request = r;
    s->waits = 1;   /* until all are told */
    for (size_t i = 0; i < r->wanted.route->part_count; i++) {
        const struct route_part *part = &r->wanted.route->parts[i];
        if (!can_read(part)) continue;
        s->waits++;
        tell(part->broker, &told, on_told, s);
    }
    one_less(s);
}

static void with_facts(struct request *r)
{
    const struct v2_sync_lite_subscription_request *q = r->in;
    if (!lite_check_bound(r, q->group->name, q->topic->name) || !check_quota(r, q->lite_topic_set.count)) return;
    if (!request_has_route(r) || !check_rate(r, q)) return;
    tell_all(r, q);
}

void serve_sync_lite_subscription(struct request *r)
{
    const struct v2_sync_lite_subscription_request *q = r->in;
    if (!check_topic(r, q->topic) || !check_group(r, q->group)) return;
    if (q->action < V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_ADD || q->action > V2_LITE_SUBSCRIPTION_ACTION_COMPLETE_REMOVE) {
        request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "unknown LiteSubscriptionAction: %d", q->action);
        return;
    }
    for (size_t i = 0; q->action == V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_ADD && i < q->lite_topic_set.count; i++)
        if (!check_lite_topic(r, q->lite_topic_set.items[i])) return;
    request_want(r, WANT_ROUTE | WANT_GROUP, q->topic->name, q->group->name, with_facts);
}

/* --- a client that has gone --- */

struct leaving {
    struct slice client_id, group, topic;
};

static void ignore(void *ctx, err_t e, const struct rpc_reply *reply)
{
    (void)ctx;
    (void)reply;
    err_drop(e, "the broker forgets silent clients by itself");
}

static void tell_gone(struct request *r)
{
    const struct leaving *l = r->state;
    struct lite_subscription told = {.action = LITE_COMPLETE_REMOVE, .client_id = l->client_id, .group = l->group, .topic = l->topic};
    for (size_t i = 0; r->wanted.route && i < r->wanted.route->part_count; i++)
        if (can_read(&r->wanted.route->parts[i])) tell(r->wanted.route->parts[i].broker, &told, ignore, NULL);
    request_free(r);
}

void lite_client_gone(struct proxy *p, const struct client *c)
{
    if (!c->lite_parent || p->ending) return;
    struct request *r = request_new(p, NULL, NULL, (struct slice){NULL, 0});
    struct leaving *l = request_take(r, sizeof *l);
    l->client_id = arena_copy(&r->arena, slice_text(c->id));
    l->group = arena_copy(&r->arena, slice_text(c->group));
    l->topic = arena_copy(&r->arena, slice_text(c->lite_parent));
    r->state = l;
    request_want(r, WANT_ROUTE, l->topic, (struct slice){NULL, 0}, tell_gone);
}

/* --- a broker says that a client has lost a lite topic --- */

void lite_lost(struct broker_peer *from, struct call *call)
{
    struct notify_unsubscribe_lite_header h;
    err_t e = header_decode(&notify_unsubscribe_lite_kind, call->frame, &h);
    struct client *c = e ? NULL : clients_find(&from->proxy->clients, h.client_id);
    if (e) log_warn("lite.notice_broken broker=\"%s\" why=\"%s\"", from->name, err_text(e));
    if (c && c->group && slice_eq(slice_text(c->group), h.consumer_group) && utf8_valid(h.lite_topic)) {
        struct v2_notify_unsubscribe_lite_command lost = {h.lite_topic};
        struct v2_telemetry_command command = {
            .command_case = V2_TELEMETRY_COMMAND_NOTIFY_UNSUBSCRIBE_LITE_COMMAND, .notify_unsubscribe_lite_command = &lost,
        };
        telemetry_send(from->proxy, c, &command);
    }
    err_free(e);
    call_drop(call);   /* it is told one way */
}

/* --- who may be a lite consumer --- */

struct slice lite_misuse(struct request *r, int32_t type, struct slice group, struct slice topic, int32_t *code)
{
    struct slice bound = group_attribute(r->wanted.group, SLICE("lite.bind.topic"));
    bool lite = type == V2_CLIENT_TYPE_LITE_PUSH_CONSUMER;
    *code = V2_CODE_ILLEGAL_CONSUMER_GROUP;
    if (lite && !r->wanted.group) return request_printf(r, "group not found: %.*s", SLICE_ARG(group));
    if (lite && !bound.n) return request_printf(r, "regular group cannot use LITE mode: %.*s", SLICE_ARG(group));
    if (!lite && bound.n) return request_printf(r, "lite group must use LITE mode: %.*s", SLICE_ARG(group));
    if (!lite || !topic.p || slice_eq(topic, bound)) return (struct slice){NULL, 0};
    *code = V2_CODE_ILLEGAL_TOPIC;
    return request_printf(r, "lite group %.*s is expected to bind topic %.*s, but actual is %.*s", SLICE_ARG(group), SLICE_ARG(bound), SLICE_ARG(topic));
}
