#include "broker/why/verdict.h"

#include "codec/java_hash.h"
#include "codec/properties.h"

static const char *verdict_text(enum filter_verdict v)
{
    switch (v) {
    case FILTER_FALSE: return "does not match";
    case FILTER_TRUE: return "matches";
    case FILTER_UNKNOWN: return "does not match: a property that is asked for is not there";
    case FILTER_FAILED: return "does not match: what cannot be compared is compared";
    }
    return "?";
}

static enum filter_verdict verdict_of(const struct interest *x, const struct message *m)
{
    const struct subscription *s = &x->subscription;
    if (!subscription_is_tag(s->type)) return x->filter ? filter_evaluate(x->filter, m->properties) : FILTER_FAILED;
    if (subscription_is_all(s)) return FILTER_TRUE;
    struct slice tags = properties_get(m->properties, SLICE("TAGS"));
    return filter_tags_match(s->codes.items, s->codes.count, tags.n ? tags_hash(tags) : 0) ? FILTER_TRUE : FILTER_FALSE;
}

void verdict_tell(struct broker *b, struct slice group, struct slice topic, const struct message *m, struct answer_text *a)
{
    struct member_group *members = members_consumers(&b->members, group);
    const struct interest *x = members ? members_interest(members, topic) : NULL;
    if (!x) return;
    enum filter_verdict v = verdict_of(x, m);
    answer_fact(a, "subscription", "%.*s", SLICE_ARG(x->subscription.expression));
    answer_fact(a, "verdict", "%s", verdict_text(v));
    if (v != FILTER_TRUE)
        answer_say(a, "the message at offset %lld %s by what the group subscribes to: \"%.*s\"", (long long)m->queue_offset, verdict_text(v),
                   SLICE_ARG(x->subscription.expression));
}
