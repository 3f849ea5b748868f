/* What a group's configuration says about deliveries. */
#include "proxy/facts.h"

struct slice group_attribute(const struct group_facts *g, struct slice key)
{
    return g ? group_config_attribute(&g->config, key) : (struct slice){NULL, 0};
}

int32_t group_attempts(const struct group_facts *g) { return (g ? g->config.retry_max_times : group_config_default.retry_max_times) + 1; }

static const int64_t default_steps_ms[] = {
    1000, 5000, 10000, 30000, 60000, 120000, 180000, 240000, 300000, 360000, 420000, 480000, 540000, 600000, 1200000, 1800000, 3600000, 7200000,
};

size_t group_step_count(const struct customized_retry *c)
{
    return c && c->next_ms.count ? c->next_ms.count : sizeof default_steps_ms / sizeof *default_steps_ms;
}

int64_t group_step_ms(const struct customized_retry *c, size_t at) { return c && c->next_ms.count ? c->next_ms.items[at] : default_steps_ms[at]; }

static int64_t customized_ms(const struct customized_retry *c, int32_t times)
{
    size_t count = group_step_count(c), at = (size_t)(times < 0 ? 0 : times) + 2;   /* the first two are not waited for */
    return group_step_ms(c, at < count ? at : count - 1);
}

static int64_t exponential_ms(const struct exponential_retry *x, int32_t times)
{
    enum { TIMES_MAX = 32 };
    double ms = (double)x->initial_ms;
    for (int32_t i = 0; i < times && i < TIMES_MAX; i++) ms *= (double)x->multiplier;
    return ms < (double)x->max_ms ? (int64_t)ms : x->max_ms;
}

int64_t group_backoff_ms(const struct group_facts *g, int32_t times)
{
    static const struct exponential_retry usual = {5000, 7200000, 2};
    const struct retry_policy *policy = g ? &g->config.retry : &group_config_default.retry;
    if (policy->type == RETRY_POLICY_EXPONENTIAL) return exponential_ms(policy->exponential ? policy->exponential : &usual, times);
    return customized_ms(policy->customized, times);
}
