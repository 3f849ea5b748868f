/* Who is connected, by language and version. Facts: docs/protocol/semantics.md 13 */
#include "broker/metrics/collect.h"

#include "meta/names.h"

#include <stdio.h>
#include <strings.h>

/* From this ordinal on there are two for each release: V4_0_0_SNAPSHOT, V4_0_0, V4_0_1_SNAPSHOT, …, ten to a minor, ten minors to a major. */
enum { REGULAR_FROM = 212, MAJOR_THERE = 4, IN_MINOR = 20, IN_MAJOR = 200, HIGHEST = 612 };

static struct slice version_label(int32_t ordinal, char out[static 32])
{
    int32_t n = ordinal - REGULAR_FROM;
    if (n < 0) snprintf(out, 32, "%d", ordinal);
    else if (ordinal >= HIGHEST) snprintf(out, 32, "higher_version");
    else snprintf(out, 32, "v%d_%d_%d%s", MAJOR_THERE + n / IN_MAJOR, n % IN_MAJOR / IN_MINOR, n % IN_MINOR / 2, n % 2 ? "" : "_snapshot");
    return slice_text(out);
}

static struct slice language_label(enum language l, char out[static 32])
{
    size_t n = 0;
    for (const char *p = language_name(l); *p && n < 31; p++) out[n++] = *p >= 'A' && *p <= 'Z' ? (char)(*p | 0x20) : *p;
    return slice_of(out, n);
}

static struct slice mode_label(enum consume_type type)
{
    switch (type) {
    case CONSUME_ACTIVELY: return SLICE("pull");
    case CONSUME_PASSIVELY: return SLICE("push");
    case CONSUME_POP: return SLICE("pop");
    case CONSUME_NONE: break;
    }
    return (struct slice){NULL, 0};
}

static void count_group(struct collector *c, const struct member_group *g)
{
    char version[32], language[32];
    struct slice name = slice_text(g->name), remoting = SLICE("remoting");
    MEMBERS_EACH(g, node) {
        const struct client *client = MEMBER_OF(node)->client;
        struct slice v = version_label(client->version, version), l = language_label(client->language, language);
        c->budget--;
        if (g->producer) metric_count(&c->seen, METRIC_PRODUCERS, 1, LABELS(l, v, remoting));
        else metric_count(&c->seen, METRIC_CONSUMERS, 1, LABELS(name, l, v, mode_label(g->type), remoting, metric_bool(group_name_is_system(name))));
    }
}

/* Where the step is. */
enum { COPYING_PRODUCERS, COPYING_CONSUMERS, COUNTING, TELLING_PRODUCERS, TELLING_CONSUMERS };

/* False: there are more. */
static bool copy_names(struct collector *c)
{
    const struct map *producers = &c->broker->members.producers, *consumers = &c->broker->members.consumers;
    if (collect_names_again(c, producers->moves + consumers->moves)) c->which = COPYING_PRODUCERS;
    for (int n = 0; n < COLLECT_NAMES_AT_ONCE; n++) {
        bool first = c->which == COPYING_PRODUCERS;
        const struct map_entry *e = map_next(first ? producers : consumers, &c->at);
        if (e) {
            collect_put_names(c, first ? SLICE("p") : SLICE("c"), e->key);
            continue;
        }
        c->which++;
        c->at = 0;
        if (!first) return true;
    }
    return false;
}

/* A group is counted whole in one turn. */
static bool count_groups(struct collector *c)
{
    struct members *m = &c->broker->members;
    struct slice kind, name;
    while (c->budget-- > 0) {
        if (!collect_next_names(c, &c->at, &kind, &name)) return true;
        const struct member_group *g = slice_eq(kind, SLICE("c")) ? members_consumers(m, name) : members_producers(m, name);
        if (g) count_group(c, g);
    }
    return false;
}

static bool tell(struct collector *c)
{
    enum metric which = c->which == TELLING_PRODUCERS ? METRIC_PRODUCERS : METRIC_CONSUMERS;
    if (c->budget <= 0 || metric_page_put_series(&c->scrape->page, &c->seen, which, &c->at, (size_t)c->budget)) return false;
    return true;
}

/* The labels of the broker. */
static void borrow_labels(struct collector *c)
{
    c->seen.base = c->broker->metrics.base;
    c->seen.limit = c->broker->metrics.limit;
}

enum step_result collect_connections(struct collector *c)
{
    if (!metrics_are_broken_down(&c->broker->metrics)) return STEP_OVER;
    if (c->which < COUNTING && !copy_names(c)) return STEP_AGAIN;
    borrow_labels(c);
    for (; c->which <= TELLING_CONSUMERS; c->which++, c->at = 0)
        if (c->which == COUNTING ? !count_groups(c) : !tell(c)) return STEP_AGAIN;
    c->seen.base = NULL;
    return STEP_OVER;
}
