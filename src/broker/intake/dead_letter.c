#include "broker/intake/dead_letter.h"

#include "broker/intake/traffic.h"

#include "base/log.h"
#include "codec/properties.h"
#include "meta/names.h"

enum { DEAD_LETTER_QUEUES = 1 };

struct slice dead_letter_reason_text(enum dead_letter_reason why)
{
    switch (why) {
    case DEAD_TRIED_OFTEN: return SLICE("tried as often as the group may");
    case DEAD_AS_ASKED: return SLICE("the consumer asked for it");
    case DEAD_IN_ORDER: return SLICE("consumed in order, given up by the consumer");
    case DEAD_NOT: break;
    }
    return (struct slice){NULL, 0};
}

int32_t intake_max_retries(const struct call *call, const struct group *group, const int32_t *said)
{
    return said && call->version >= VERSION_3_4_9 ? *said : group->config.retry_max_times;
}

const struct topic *intake_dead_letter_topic(struct broker *b, struct slice group)
{
    struct buf name = BUF_EMPTY;
    dead_letter_topic_name(group, &name);
    const struct topic *topic = topics_ensure(b->topics, buf_slice(&name), DEAD_LETTER_QUEUES, PERM_READ | PERM_WRITE, false, 0);
    buf_done(&name);
    return topic;
}

void intake_tell_dead_letter(struct broker *b, struct slice group, struct slice topic, struct slice unique_key, enum dead_letter_reason why)
{
    metric_count(&b->metrics, METRIC_DEAD_LETTERS, 1, LABELS(topic, group, metric_bool(traffic_is_system(topic, group))));
    log_info("dead_letter.stored group=\"%.*s\" topic=\"%.*s\" unique_key=\"%.*s\" why=\"%.*s\"", SLICE_ARG(group), SLICE_ARG(topic),
             SLICE_ARG(unique_key), SLICE_ARG(dead_letter_reason_text(why)));
}

static enum dead_letter_reason why_dead(struct broker *b, const struct call *call, const struct send_header *h, const struct group *group)
{
    int32_t max = intake_max_retries(call, group, header_has(h, send, max_reconsume_times) ? &h->max_reconsume_times : NULL);
    if (h->reconsume_times > max) return DEAD_TRIED_OFTEN;
    return locks_any(&b->locks, group->config.name) ? DEAD_IN_ORDER : DEAD_NOT;   /* in order nothing is tried again later */
}

err_t intake_retried(struct broker *b, const struct call *call, struct send_header *h, const struct topic **topic, struct buf *text)
{
    struct slice name = topic_name_group(h->topic);
    const struct group *group = groups_find_or_create(b->groups, name);
    if (!group) return err_new(ERR_GROUP_NOT_FOUND, "subscription group not exist, %.*s" SEE_FAQ, SLICE_ARG(name));
    enum dead_letter_reason why = why_dead(b, call, h, group);
    if (why == DEAD_NOT) return NULL;
    const struct topic *dead = intake_dead_letter_topic(b, name);
    if (!dead) return err_new(ERR_REFUSED, "topic[%%DLQ%%%.*s] not exist", SLICE_ARG(name));
    intake_tell_dead_letter(b, name, properties_get(h->properties, SLICE("RETRY_TOPIC")), properties_get(h->properties, SLICE("UNIQ_KEY")), why);
    properties_put_without(text, h->properties, SLICE("DELAY"));
    properties_put(text, SLICE("DELAY"), SLICE("-1"));
    properties_put(text, SLICE("DLQ_REASON"), dead_letter_reason_text(why));
    h->properties = buf_slice(text);
    h->topic = dead->config.name;
    h->queue_id = 0;
    *topic = dead;
    return NULL;
}
