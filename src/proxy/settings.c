#include "proxy/settings.h"

#include "proxy/checks.h"

#include <stdlib.h>
#include <strings.h>

enum { LITE_QUOTA = 2000 };

const char *client_type_name(int32_t type)
{
    static const char *const names[] = {
        "CLIENT_TYPE_UNSPECIFIED", "PRODUCER", "PUSH_CONSUMER", "SIMPLE_CONSUMER", "PULL_CONSUMER", "LITE_PUSH_CONSUMER", "LITE_SIMPLE_CONSUMER",
    };
    return type >= 0 && type < (int32_t)(sizeof names / sizeof *names) ? names[type] : "UNRECOGNIZED";
}

/* --- producers --- */

static void merge_producer(struct request *r, struct v2_settings *s)
{
    const struct config_proxy *cfg = r->proxy->cfg;
    struct v2_retry_policy *policy = request_take(r, sizeof *policy);
    struct v2_exponential_backoff *backoff = request_take(r, sizeof *backoff);
    backoff->initial = duration_new(&r->arena, cfg->producer_backoff_initial_ms);
    backoff->max = duration_new(&r->arena, cfg->producer_backoff_max_ms);
    backoff->multiplier = (float)cfg->producer_backoff_multiplier;
    policy->max_attempts = cfg->producer_attempts;
    policy->strategy_case = V2_RETRY_POLICY_EXPONENTIAL_BACKOFF;
    policy->exponential_backoff = backoff;
    s->backoff_policy = policy;
    s->publishing->validate_message_type = cfg->type_check;
    s->publishing->max_body_size = cfg->max_message_bytes;
}

/* --- consumers --- */

static struct v2_customized_backoff *customized(struct request *r, const struct customized_retry *c)
{
    struct v2_customized_backoff *b = request_take(r, sizeof *b);
    b->next.count = group_step_count(c);
    b->next.items = request_take(r, (b->next.count + 1) * sizeof *b->next.items);
    for (size_t i = 0; i < b->next.count; i++) b->next.items[i] = *duration_new(&r->arena, group_step_ms(c, i));
    return b;
}

static struct v2_exponential_backoff *exponential(struct request *r, const struct exponential_retry *x)
{
    static const struct exponential_retry usual = {5000, 7200000, 2};
    struct v2_exponential_backoff *b = request_take(r, sizeof *b);
    if (!x) x = &usual;
    b->initial = duration_new(&r->arena, x->initial_ms);
    b->max = duration_new(&r->arena, x->max_ms);
    b->multiplier = (float)x->multiplier;
    return b;
}

static void group_policy(struct request *r, const struct group_config *g, struct v2_retry_policy *policy)
{
    policy->max_attempts = g->retry_max_times + 1;
    policy->exponential_backoff = NULL;
    policy->customized_backoff = NULL;
    if (g->retry.type == RETRY_POLICY_EXPONENTIAL) {
        policy->strategy_case = V2_RETRY_POLICY_EXPONENTIAL_BACKOFF;
        policy->exponential_backoff = exponential(r, g->retry.exponential);
    } else {
        policy->strategy_case = V2_RETRY_POLICY_CUSTOMIZED_BACKOFF;
        policy->customized_backoff = customized(r, g->retry.customized);
    }
}

static void tell_group(struct request *r, struct v2_settings *s, const struct group_config *g, struct slice quota)
{
    const struct config_proxy *cfg = r->proxy->cfg;
    struct v2_subscription *sub = s->subscription;
    if (!s->backoff_policy) s->backoff_policy = request_take(r, sizeof *s->backoff_policy);
    group_policy(r, g, s->backoff_policy);
    sub->has_fifo = sub->has_receive_batch_size = sub->has_lite_subscription_quota = sub->has_max_lite_topic_size = true;
    sub->fifo = g->consume_orderly;
    sub->receive_batch_size = cfg->consumer_batch;
    sub->long_polling_timeout = duration_new(&r->arena, cfg->long_poll_max_ms);
    if (!slice_to_i32(quota, &sub->lite_subscription_quota)) sub->lite_subscription_quota = LITE_QUOTA;
    sub->max_lite_topic_size = cfg->max_lite_topic_bytes;
}

/* The client's own word counts where nobody knows the group. */
static void tell_defaults(struct request *r, struct v2_settings *s)
{
    struct v2_subscription own = *s->subscription;
    struct v2_retry_policy *policy = s->backoff_policy;
    s->backoff_policy = NULL;
    tell_group(r, s, &group_config_default, (struct slice){NULL, 0});
    if (own.has_fifo) s->subscription->fifo = own.fifo;
    if (own.has_receive_batch_size) s->subscription->receive_batch_size = own.receive_batch_size;
    if (own.long_polling_timeout) s->subscription->long_polling_timeout = own.long_polling_timeout;
    if (own.has_lite_subscription_quota) s->subscription->lite_subscription_quota = own.lite_subscription_quota;
    if (own.has_max_lite_topic_size) s->subscription->max_lite_topic_size = own.max_lite_topic_size;
    if (!policy) return;
    if (policy->max_attempts) s->backoff_policy->max_attempts = policy->max_attempts;
    if (!policy->strategy_case) return;
    policy->max_attempts = s->backoff_policy->max_attempts;
    s->backoff_policy = policy;
}

/* --- metrics --- */

static struct v2_endpoints *collector(struct request *r, const char *address)
{
    struct slice host;
    uint16_t port;
    err_t e = address ? addr_split(slice_text(address), &host, &port) : err_new(ERR_ADDRESS, NULL);
    if (e) {
        err_drop(e, "metricCollectorAddress is no address: clients send no metrics");
        return NULL;
    }
    struct v2_endpoints *endpoints = request_take(r, sizeof *endpoints);
    endpoints->scheme = V2_ADDRESS_SCHEME_IPV4;
    endpoints->addresses.items = request_take(r, sizeof *endpoints->addresses.items);
    endpoints->addresses.count = 1;
    endpoints->addresses.items[0] = (struct v2_address){host, port};
    return endpoints;
}

static void tell_metric(struct request *r, struct v2_settings *s)
{
    const char *mode = r->proxy->cfg->metric_mode;
    s->metric = request_take(r, sizeof *s->metric);
    if (strcasecmp(mode, "on") == 0) s->metric->endpoints = collector(r, r->proxy->cfg->metric_address);
    else if (strcasecmp(mode, "proxy") == 0) s->metric->endpoints = s->access_point;
    s->metric->on = s->metric->endpoints != NULL;
}

struct v2_settings *settings_merged(struct request *r, struct v2_settings *s, const struct group_facts *group)
{
    if (s->pub_sub_case == V2_SETTINGS_PUBLISHING) merge_producer(r, s);
    else if (group) tell_group(r, s, &group->config, group_attribute(group, SLICE("lite.sub.client.quota")));
    else tell_defaults(r, s);
    tell_metric(r, s);
    return s;
}
