#include "broker/intake/traffic.h"

#include "meta/names.h"

#include <strings.h>

bool traffic_is_system(struct slice topic, struct slice group) { return topic_name_is_system(topic) || (group.n && group_name_is_system(group)); }

static bool is_true(struct slice text) { return text.n == 4 && !strncasecmp((const char *)text.p, "true", 4); }

struct slice traffic_type(const struct known_properties *known)
{
    if (is_true(known->transaction)) return SLICE("transaction");
    if (known->sharding_key.p) return SLICE("fifo");
    return known->delay_level.n || known_has_timer(known) ? SLICE("delay") : SLICE("normal");
}

void traffic_in(struct broker *b, struct slice topic, struct slice type, int64_t messages, int64_t bytes)
{
    struct metrics *m = &b->metrics;
    if (!metrics_are_broken_down(m) || !messages) return;
    const struct slice labels[] = {topic, type, metric_bool(traffic_is_system(topic, (struct slice){NULL, 0}))};
    metric_count(m, METRIC_MESSAGES_IN, messages, labels);
    metric_count(m, METRIC_THROUGHPUT_IN, bytes, labels);
    metric_observe(m, METRIC_MESSAGE_SIZE, bytes / messages, labels);
}

void traffic_out(struct broker *b, struct slice topic, struct slice group, int64_t messages, int64_t bytes, enum traffic_way way)
{
    struct metrics *m = &b->metrics;
    const struct slice retry = way == TRAFFIC_PULLED ? (struct slice){NULL, 0} : metric_bool(way == TRAFFIC_POPPED_RETRY);
    if (!messages) return;
    const struct slice labels[] = {topic, group, metric_bool(metrics_are_broken_down(m) && traffic_is_system(topic, group)), retry};
    metric_count(m, METRIC_MESSAGES_OUT, messages, labels);
    metric_count(m, METRIC_THROUGHPUT_OUT, bytes, labels);
}
