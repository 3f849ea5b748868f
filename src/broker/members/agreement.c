#include "broker/members/agreement.h"

#include "base/log.h"
#include "meta/names.h"

enum { LINES_MAX = 8 };

/* --- one subscription --- */

static bool has_tag(const struct subscription *s, struct slice tag)
{
    for (size_t i = 0; i < s->tags.count; i++)
        if (slice_eq(s->tags.items[i], tag)) return true;
    return false;
}

static bool has_same_tags(const struct subscription *a, const struct subscription *b)
{
    if (!a->tags.count || a->tags.count != b->tags.count) return false;
    for (size_t i = 0; i < a->tags.count; i++)
        if (!has_tag(b, a->tags.items[i])) return false;
    return true;
}

bool asks_for_the_same(const struct subscription *a, const struct subscription *b)
{
    bool by_tag = subscription_is_tag(a->type);
    if (by_tag != subscription_is_tag(b->type) || (!by_tag && !slice_eq(a->type, b->type))) return false;
    return slice_eq(a->expression, b->expression) || (by_tag && has_same_tags(a, b));
}

/* --- all that a client says --- */

struct comparison {
    struct member_group *group;
    const struct client *client;
    const struct heartbeat_consumer *says;
    int64_t found;
    err_t first;
};

/* Whether this difference gets a line. */
static bool is_told(struct comparison *k) { return k->found++ < LINES_MAX; }

static struct slice expression_of(const struct subscription *s) { return s ? s->expression : SLICE("(none)"); }
static struct slice type_of(const struct subscription *s) { return !s ? SLICE("(none)") : s->type.p ? s->type : SLICE("TAG"); }

static void topic_differs(struct comparison *k, struct slice topic, const struct subscription *mine, const struct client *other,
                          const struct subscription *theirs)
{
    struct slice a = expression_of(mine), b = expression_of(theirs);
    if (!is_told(k)) return;
    log_warn("subscription.inconsistent group=\"%s\" topic=\"%.*s\" client=\"%s\" expression=\"%.*s\" other_client=\"%s\" "
             "other_expression=\"%.*s\" type=\"%.*s\" other_type=\"%.*s\"",
             k->group->name, SLICE_ARG(topic), k->client->id, SLICE_ARG(a), other->id, SLICE_ARG(b), SLICE_ARG(type_of(mine)),
             SLICE_ARG(type_of(theirs)));
    if (k->first) return;
    k->first = err_new(ERR_REFUSED,
                       "members of group \"%s\" must agree: topic \"%.*s\", client \"%s\" asks for \"%.*s\", client \"%s\" for \"%.*s\"",
                       k->group->name, SLICE_ARG(topic), k->client->id, SLICE_ARG(a), other->id, SLICE_ARG(b));
}

static const char *name_of(const char *const *names, int32_t number) { return number < 0 ? "(none)" : names[number]; }

static void kind_differs(struct comparison *k, const char *what, const char *const *names, int32_t my_kind, const struct client *other,
                         int32_t their_kind)
{
    const char *mine = name_of(names, my_kind), *theirs = name_of(names, their_kind);
    if (!is_told(k)) return;
    log_warn("subscription.inconsistent group=\"%s\" what=%s client=\"%s\" value=%s other_client=\"%s\" other_value=%s", k->group->name,
             what, k->client->id, mine, other->id, theirs);
    if (k->first) return;
    k->first = err_new(ERR_REFUSED, "members of group \"%s\" must agree: %s, client \"%s\" has %s, client \"%s\" %s", k->group->name, what,
                       k->client->id, mine, other->id, theirs);
}

/* With the first other member that has another one. */
static void compare_kinds(struct comparison *k)
{
    const struct member *by_model = NULL, *by_type = NULL;
    MEMBERS_EACH(k->group, node) {
        const struct member *other = MEMBER_OF(node);
        if (other->client == k->client) continue;
        if (!by_model && (int32_t)other->model != k->says->model) by_model = other;
        if (!by_type && (int32_t)other->type != k->says->type) by_type = other;
    }
    if (by_model) kind_differs(k, "messageModel", message_model_names, k->says->model, by_model->client, (int32_t)by_model->model);
    if (by_type) kind_differs(k, "consumeType", consume_type_names, k->says->type, by_type->client, (int32_t)by_type->type);
}

static bool is_said(const struct comparison *k, struct slice topic, size_t guess)
{
    size_t n = k->says->subscriptions.count;
    for (size_t i = 0; i < n; i++)
        if (slice_eq(k->says->subscriptions.items[(guess + i) % n].topic, topic)) return true;
    return false;
}

static const struct interest *first_of_others(const struct member_group *g)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&g->view, &at));)
        if (!topic_name_is_retry(e->key)) return e->value;
    return NULL;
}

static bool says_something(const struct heartbeat_consumer *h)
{
    for (size_t i = 0; i < h->subscriptions.count; i++)
        if (!topic_name_is_retry(h->subscriptions.items[i].topic)) return true;
    return false;
}

static void compare_topics(struct comparison *k)
{
    const struct interest *first = first_of_others(k->group);
    struct map_entry *e;
    if (!first || !says_something(k->says)) return;
    for (size_t i = 0; i < k->says->subscriptions.count; i++) {
        const struct subscription *mine = &k->says->subscriptions.items[i];
        if (topic_name_is_retry(mine->topic)) continue;
        const struct interest *theirs = map_get(&k->group->view, mine->topic);
        if (!theirs) topic_differs(k, mine->topic, mine, first->owner->client, NULL);
        else if (!asks_for_the_same(mine, &theirs->subscription))
            topic_differs(k, mine->topic, mine, theirs->owner->client, &theirs->subscription);
    }
    for (size_t at = 0, i = 0; (e = map_next(&k->group->view, &at)); i++) {
        const struct interest *theirs = e->value;
        if (!topic_name_is_retry(e->key) && !is_said(k, e->key, i))
            topic_differs(k, e->key, NULL, theirs->owner->client, &theirs->subscription);
    }
}

err_t members_compare(struct member_group *g, const struct client *c, const struct heartbeat_consumer *h, int64_t *count)
{
    struct comparison k = {.group = g, .client = c, .says = h};
    compare_kinds(&k);
    compare_topics(&k);
    if (k.found > LINES_MAX)
        log_warn("subscription.inconsistent group=\"%s\" client=\"%s\" more=%lld", g->name, c->id, (long long)(k.found - LINES_MAX));
    *count += k.found;
    return k.first;
}
