#include "broker/pull/pull_filter.h"

#include "base/log.h"
#include "codec/properties.h"
#include "codec/record.h"
#include "meta/names.h"

/* What one read may spend on expressions, and what is spent on a message besides its properties: some ms. */
enum { WORK_MAX = 32 << 20, WORK_MESSAGE_BYTES = 64, TELL_MS = 10000 };

static void take_codes(const struct subscription *s, struct pull_filter *out)
{
    out->all = subscription_is_all(s);
    out->codes = s->codes.items;
    out->count = out->all ? 0 : s->codes.count;
}

/* With filterSupportRetry, the messages of a retry topic are those of the topics that they came from. */
static void take_sql(struct broker *b, const struct pull_header *h, const struct filter *sql, struct pull_filter *out)
{
    out->sql = sql;
    if (!b->cfg->broker.filter_retry || !topic_name_is_retry(h->topic)) return;
    out->by_retry = b->filters;
    out->group = topic_name_group(h->topic);
}

static err_t open_carried_tags(const struct pull_header *h, struct pull_filter *out)
{
    struct subscription s;
    err_t e = subscription_parse(h->topic, h->subscription, &out->arena, &s);
    if (e) {
        err_drop(e, "clients know one wording for it");
        return err_new(ERR_SUBSCRIPTION_PARSE, "parse the consumer's subscription failed");
    }
    take_codes(&s, out);
    return NULL;
}

/* With the original an expression that is wrong filters nothing when a pull brings it, and applications live with that; who reads the log
 * must not have to. */
static void tell_ignored(struct broker *b, const struct pull_header *h, err_t why)
{
    int64_t now_ms = tasks_mono_ms(b->tasks);
    metric_add(&b->metrics, METRIC_FILTERS_IGNORED, 1);
    if (!b->filter_ignored_ms || now_ms - b->filter_ignored_ms >= TELL_MS) {
        b->filter_ignored_ms = now_ms;
        log_warn("filter.ignored group=\"%.*s\" topic=\"%.*s\" expression=\"%.*s\" error=\"%s\" text=\"the pull gets every message\"",
                 SLICE_ARG(h->consumer_group), SLICE_ARG(h->topic), SLICE_ARG(h->subscription), err_text(why));
    }
    err_free(why);
}

/* The pull brings its own subscription. */
static err_t open_carried(struct broker *b, const struct pull_header *h, struct pull_filter *out)
{
    if (subscription_is_tag(h->expression_type)) return open_carried_tags(h, out);
    err_t e = filters_compile(h->expression_type, h->subscription, b->cfg->broker.property_filter, &out->own);
    if (!e) take_sql(b, h, out->own, out);
    if (err_code(e) != ERR_SUBSCRIPTION_PARSE) return e;
    tell_ignored(b, h, e);
    return NULL;
}

/* Of a group whose expression cannot be compiled: as clients know it, and why. */
static err_t no_filter(const struct subscription *s)
{
    struct filter *f = NULL;
    err_t why = filter_compile(s->expression, &f), e;
    e = err_new(ERR_FILTER_MISSING, "The broker's consumer filter data is not exist!Your expression may be wrong! %s",
                why ? err_text(why) : "");
    err_free(why);
    filter_free(f);
    return e;
}

/* The pull relies on what the group's heartbeats said. */
static err_t open_known(struct broker *b, const struct call *call, const struct pull_header *h, const struct group *group,
                        struct pull_filter *out, int32_t *forbidden)
{
    struct member_group *members = members_consumers(&b->members, h->consumer_group);
    if (!members) return err_new(ERR_SUBSCRIPTION_MISSING, "the consumer's group info not exist" SEE_FAQ);
    bool isolates = b->cfg->broker.subscription_consistency == CONSISTENCY_ISOLATE;
    const struct member *one = isolates ? members_member(&b->members, call->conn, members) : NULL;
    *forbidden = FORBIDDEN_BROADCAST;
    if (!group->config.consume_broadcast_enable && (one ? one->model : members->model) == MODEL_BROADCASTING)
        return err_new(ERR_NO_PERMISSION, "the consumer group[%.*s] can not consume by broadcast way", SLICE_ARG(h->consumer_group));
    *forbidden = FORBIDDEN_SUBSCRIPTION;
    if (groups_is_read_forbidden(b->groups, h->consumer_group, h->topic))
        return err_new(ERR_NO_PERMISSION, "the consumer group[%.*s] is forbidden for topic[%.*s]", SLICE_ARG(h->consumer_group), SLICE_ARG(h->topic));
    *forbidden = 0;
    const struct interest *x = isolates ? members_own_interest(members, one, h->topic) : members_interest(members, h->topic);
    if (!x) return err_new(ERR_SUBSCRIPTION_MISSING, "the consumer's subscription not exist" SEE_FAQ);
    if (x->subscription.version < h->sub_version) {
        members_outdated(&b->members, call->conn, h->consumer_group);
        return err_new(ERR_SUBSCRIPTION_OLD, "the consumer's subscription not latest");
    }
    if (subscription_is_tag(x->subscription.type)) {
        take_codes(&x->subscription, out);
        return NULL;
    }
    err_t e = filters_check_type(x->subscription.type, b->cfg->broker.property_filter);
    if (!e && !x->filter) e = no_filter(&x->subscription);
    if (!e) take_sql(b, h, x->filter, out);
    return e;
}

err_t pull_filter_open(struct broker *b, const struct call *call, const struct pull_header *h, const struct group *group,
                       struct pull_filter *out, int32_t *forbidden)
{
    *out = PULL_FILTER_EMPTY;
    if (h->sys_flag & PULL_HAS_SUBSCRIPTION) return open_carried(b, h, out);
    return open_known(b, call, h, group, out, forbidden);
}

void pull_filter_done(struct pull_filter *f)
{
    filter_free(f->own);
    arena_done(&f->arena);
    *f = PULL_FILTER_EMPTY;
}

/* --- matching --- */

static bool matches_tags(void *ctx, int64_t tag_hash)
{
    const struct pull_filter *f = ctx;
    return filter_tags_match(f->codes, f->count, tag_hash);
}

/* NULL: nobody asked for anything of the message's first topic, so that it passes, as in the original. */
static const struct filter *filter_for(const struct pull_filter *f, struct slice properties)
{
    return f->by_retry ? filters_find(f->by_retry, f->group, properties_get(properties, SLICE("RETRY_TOPIC"))) : f->sql;
}

static bool matches_sql(void *ctx, struct slice record)
{
    struct pull_filter *f = ctx;
    struct slice properties = record_properties(record);
    const struct filter *sql = filter_for(f, properties);
    f->work += (int64_t)(properties.n + WORK_MESSAGE_BYTES) * (int64_t)filter_parts(f->sql);
    f->enough = f->work > WORK_MAX;
    return !sql || filter_evaluate(sql, properties) == FILTER_TRUE;
}

const struct read_filter *pull_filter_begin(struct pull_filter *f)
{
    f->work = 0;
    f->enough = false;
    if (!f->sql && f->all) return NULL;
    f->read = (struct read_filter){.ctx = f, .enough = &f->enough};
    if (f->sql) f->read.record = matches_sql;
    else f->read.entry = matches_tags;
    return &f->read;
}
