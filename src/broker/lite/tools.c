/* What tools ask about lite topics (200074 to 200078). Facts: docs/protocol/lite.md */
#include "broker/handlers.h"
#include "broker/lite/lite_state.h"

#include "codec/body_lite.h"
#include "codec/java_hash.h"
#include "codec/jump_hash.h"
#include "rpc/reply.h"

#include <stdlib.h>

enum { NAMES_MAX = 10000, NAMES_USUAL = 1000, ARENA_BYTES = 64 << 20 };

/* --- what is there --- */

static err_t find_parent(const struct broker *b, struct slice name, const struct topic **out)
{
    const struct topic *topic = topics_find(b->topics, name);
    if (!topic) return err_new(ERR_TOPIC_NOT_FOUND, "Topic [%.*s] not exist.", SLICE_ARG(name));
    if (!lite_is_parent(b, name)) return err_new(ERR_INVALID, "Topic [%.*s] type not match.", SLICE_ARG(name));
    *out = topic;
    return NULL;
}

static err_t find_group(const struct broker *b, struct slice name, const struct group **out)
{
    const struct group *group = groups_find(b->groups, name);
    if (!group) return err_new(ERR_GROUP_NOT_FOUND, "Group [%.*s] not exist.", SLICE_ARG(name));
    *out = group;
    return NULL;
}

static void list_groups(const struct broker *b, struct slice parent, struct arena *arena, struct slice **items, size_t *count)
{
    const struct group *group;
    for (size_t at = 0; (group = groups_next(b->groups, &at));) {
        if (!slice_eq(group_config_attribute(&group->config, SLICE("lite.bind.topic")), parent)) continue;
        struct slice *name = arena_list_add(arena, (void **)items, count, sizeof *name);
        if (name) *name = group->config.name;
    }
}

/* Of groups that have committed: where others have only pulled is known apart from that. */
static size_t count_offsets(const struct broker *b)
{
    const struct group_offsets *g;
    size_t n = 0;
    for (size_t at = 0; (g = offsets_next(b->offsets, &at));) n += offsets_has_committed(g);
    return n;
}

/* --- the broker --- */

static void list_topics(const struct broker *b, struct arena *arena, struct lite_overview *o)
{
    const struct topic *topic;
    for (size_t at = 0; (topic = topics_next(b->topics, &at));) {
        struct slice name = topic->config.name;
        if (!lite_is_parent(b, name)) continue;
        struct lite_number *ttl = arena_list_add(arena, (void **)&o->topics.items, &o->topics.count, sizeof *ttl);
        if (ttl) *ttl = (struct lite_number){name, lite_ttl_minutes(topic)};
        struct named_list groups = {.name = name};
        list_groups(b, name, arena, &groups.texts.items, &groups.texts.count);
        struct named_list *row = groups.texts.count ? arena_list_add(arena, (void **)&o->groups.items, &o->groups.count, sizeof *row) : NULL;
        if (row) *row = groups;
    }
}

static size_t count_waiting(const struct lite *l)
{
    size_t n = 0;
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&l->clients, &at));) n += ((const struct lite_client *)e->value)->group != NULL;
    return n;
}

void handle_lite_overview(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct store_counts c = store_counts(b->store);
    struct lite_overview o = {
        .store_type = SLICE("default"), .queues_max = b->cfg->store.lmq_max, .queues = (int32_t)c.light_queues,
        .queue_topics = (int32_t)c.queue_topics, .subscriptions = (int32_t)b->lite->subscriptions, .offsets = (int32_t)count_offsets(b),
        .ordered = (int32_t)b->lite->order.queues.count, .events = (int32_t)count_waiting(b->lite),
    };
    arena.limit = ARENA_BYTES;
    list_topics(b, &arena, &o);
    reply_bean(call, NULL, NULL, &lite_overview_bean, &o);
    arena_done(&arena);
}

/* --- a topic --- */

struct counting {
    struct slice parent;
    int32_t count;
};

static void count(void *ctx, struct slice queue)
{
    struct counting *c = ctx;
    struct slice parent, name;
    c->count += lite_queue_parse(queue, &parent, &name) && slice_eq(parent, c->parent);
}

void handle_lite_parent(struct broker *b, struct call *call)
{
    struct lite_parent_header h;
    struct arena arena = ARENA_EMPTY;
    const struct topic *topic;
    err_t e = header_decode(&lite_parent_kind, call->frame, &h);
    if (!e) e = find_parent(b, h.topic, &topic);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct counting counted = {.parent = h.topic};
    struct lite_parent p = {.topic = h.topic, .ttl = lite_ttl_minutes(topic), .queues = (int32_t)store_counts(b->store).light_queues};
    store_each_topic(b->store, count, &counted);
    p.lite_topics = counted.count;
    arena.limit = ARENA_BYTES;
    list_groups(b, h.topic, &arena, &p.groups.items, &p.groups.count);
    reply_bean(call, NULL, NULL, &lite_parent_bean, &p);
    arena_done(&arena);
}

/* --- a lite topic --- */

struct topic_asking {
    struct broker *broker;
    struct call *call;
    struct lite_topic_header *header;
    struct lite_offsets offsets;
};

static void add_member(struct arena *arena, struct lite_topic_info *info, struct slice id, struct slice group)
{
    struct lite_member *m = arena_list_add(arena, (void **)&info->members.items, &info->members.count, sizeof *m);
    if (m) *m = (struct lite_member){id, group};
}

static void list_members(const struct lite *l, struct slice queue, struct slice parent, struct arena *arena, struct lite_topic_info *info)
{
    const struct lite_topic *t = map_get(&l->topics, queue);
    for (const struct list_node *n = t ? t->shares.head.next : NULL; n && n != &t->shares.head; n = n->next) {
        const struct lite_share *s = LIST_OWNER(n, struct lite_share, in_topic);
        for (const struct list_node *m = s->subs.head.next; m != &s->subs.head; m = m->next)
            add_member(arena, info, LIST_OWNER(m, struct lite_sub, in_share)->client->id, s->group->name);
    }
    for (const struct list_node *n = l->wildcards.head.next; n != &l->wildcards.head; n = n->next) {
        const struct lite_group *g = LIST_OWNER(n, struct lite_group, in_wildcards);
        if (slice_eq(g->wildcard, parent)) add_member(arena, info, SLICE("*"), g->name);
    }
}

static void on_queues(void *ctx, bool known, const struct message_queue *queues, size_t n)
{
    struct topic_asking *a = ctx;
    struct broker *b = a->broker;
    const struct lite_topic_header *h = a->header;
    struct arena arena = ARENA_EMPTY;
    struct buf queue = BUF_EMPTY;
    struct lite_topic_info info = {.parent = h->parent_topic, .lite_topic = h->lite_topic, .offsets = a->offsets};
    info.is_here = !known || !n || slice_eq(queues[jump_hash(java_hash(h->lite_topic), n)].broker, slice_text(b->cfg->broker.name));
    arena.limit = ARENA_BYTES;
    lite_queue_name(h->parent_topic, h->lite_topic, &queue);
    list_members(b->lite, buf_slice(&queue), h->parent_topic, &arena, &info);
    reply_bean(a->call, NULL, NULL, &lite_topic_info_bean, &info);
    arena_done(&arena);
    buf_done(&queue);
    free(a->header);
    free(a);
}

static struct lite_offsets offsets_of(struct broker *b, struct slice parent, struct slice name)
{
    struct buf queue = BUF_EMPTY;
    lite_queue_name(parent, name, &queue);
    struct lite_offsets o = {.max_offset = store_max_offset(b->store, buf_slice(&queue), 0)};
    if (o.max_offset > 0) {
        o.min_offset = store_min_offset(b->store, buf_slice(&queue), 0);
        o.last_ms = store_time_of(b->store, buf_slice(&queue), 0, o.max_offset - 1);
    }
    buf_done(&queue);
    return o;
}

void handle_lite_topic(struct broker *b, struct call *call)
{
    struct lite_topic_header h;
    const struct topic *topic;
    err_t e = header_decode(&lite_topic_kind, call->frame, &h);
    if (!e) e = find_parent(b, h.parent_topic, &topic);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct lite_offsets offsets = offsets_of(b, h.parent_topic, h.lite_topic);
    if (disk_again(b, call)) return;
    struct topic_asking *a = must_zero(sizeof *a);
    *a = (struct topic_asking){b, call, header_copy(&lite_topic_kind, &h), offsets};
    broker_topic_queues(b, a->header->parent_topic, on_queues, a);
}

/* --- a client --- */

static void describe_client(const struct lite *l, const struct lite_client_header *h, struct arena *arena, struct lite_client_info *info)
{
    const struct lite_client *c = lite_client_find(l, h->client_id);
    int32_t most = header_has(h, lite_client, max_count) ? h->max_count : NAMES_USUAL;
    if (most > NAMES_MAX) most = NAMES_MAX;
    info->count = -1;
    if (!c || !c->group) return;
    info->count = c->group->wildcard.p ? 1 : (int32_t)c->sub_count;
    info->popped_ms = c->popped_ms ? c->popped_ms : -1;
    info->found_ms = c->found_ms;
    for (const struct list_node *n = c->subs.head.next; n != &c->subs.head && (int32_t)info->lite_topics.count < most; n = n->next) {
        struct slice *name = arena_list_add(arena, (void **)&info->lite_topics.items, &info->lite_topics.count, sizeof *name);
        if (!name) return;
        *name = LIST_OWNER(n, struct lite_sub, in_client)->share->topic->queue;
    }
}

void handle_lite_client(struct broker *b, struct call *call)
{
    struct lite_client_header h;
    const struct topic *topic;
    const struct group *group;
    struct arena arena = ARENA_EMPTY;
    err_t e = header_decode(&lite_client_kind, call->frame, &h);
    if (!e) e = find_parent(b, h.parent_topic, &topic);
    if (!e) e = find_group(b, h.group, &group);
    if (!e && !slice_eq(lite_bound_topic(b, h.group), h.parent_topic))
        e = err_new(ERR_INVALID, "Subscription [%.*s]-[%.*s] not match.", SLICE_ARG(h.group), SLICE_ARG(h.parent_topic));
    if (e) {
        call_fail(call, e);
        return;
    }
    struct lite_client_info info = {.client_id = h.client_id, .group = h.group, .parent = h.parent_topic, .popped_ms = -1};
    arena.limit = ARENA_BYTES;
    describe_client(b->lite, &h, &arena, &info);
    reply_bean(call, NULL, NULL, &lite_client_info_bean, &info);
    arena_done(&arena);
}

/* --- a group --- */

static int by_lag(const void *a, const void *b)
{
    const struct lite_lag *x = a, *y = b;
    return (x->lag < y->lag) - (x->lag > y->lag);
}

/* All lite topics that the group is behind in, those where it is most first. */
static void list_lags(struct broker *b, struct slice group, struct arena *arena, struct lite_group_info *info)
{
    const struct group_offsets *g;
    struct slice parent, name;
    for (size_t at = 0; (g = offsets_next(b->offsets, &at));) {
        if (!slice_eq(g->group, group) || !lite_queue_parse(g->topic, &parent, &name)) continue;
        int64_t offset = offsets_query(b->offsets, g->topic, group, 0), max = store_max_offset(b->store, g->topic, 0);
        struct lite_lag *lag = offset >= 0 && max > offset ? arena_list_add(arena, (void **)&info->by_lag.items, &info->by_lag.count, sizeof *lag) : NULL;
        if (!lag) continue;
        *lag = (struct lite_lag){.earliest_ms = -1, .lag = max - offset, .lite_topic = name};
        info->lag += max - offset;
    }
    if (info->by_lag.count) qsort(info->by_lag.items, info->by_lag.count, sizeof *info->by_lag.items, by_lag);
}

static void find_times(struct broker *b, struct slice group, struct lite_group_info *info)
{
    struct buf queue = BUF_EMPTY;
    for (size_t i = 0; i < info->by_lag.count; i++) {
        struct lite_lag *lag = &info->by_lag.items[i];
        buf_clear(&queue);
        lite_queue_name(info->parent, lag->lite_topic, &queue);
        lag->earliest_ms = store_time_of(b->store, buf_slice(&queue), 0, offsets_query(b->offsets, buf_slice(&queue), group, 0));
    }
    buf_done(&queue);
}

static void describe_lags(struct broker *b, const struct lite_group_header *h, struct arena *arena, struct lite_group_info *info)
{
    size_t most = h->top_k < 0 ? 0 : h->top_k > NAMES_MAX ? NAMES_MAX : (size_t)h->top_k;
    list_lags(b, h->group, arena, info);
    if (info->by_lag.count > most) info->by_lag.count = most;
    find_times(b, h->group, info);
}

static void describe_one(struct broker *b, const struct lite_group_header *h, struct arena *arena, struct lite_group_info *info)
{
    struct buf name = BUF_EMPTY;
    lite_queue_name(info->parent, h->lite_topic, &name);
    struct slice queue = buf_slice(&name);
    int64_t max = store_max_offset(b->store, queue, 0), offset = offsets_query(b->offsets, queue, h->group, 0);
    if (max <= 0) {
        info->lag = info->earliest_ms = -1;
    } else if (offset >= 0) {
        struct lite_progress *p = arena_take(arena, sizeof *p);
        info->lag = max - offset;
        info->earliest_ms = store_time_of(b->store, queue, 0, offset);
        if (p) *p = (struct lite_progress){.broker_offset = max, .consumer_offset = offset};
        if (p && offset > 0) p->last_ms = store_time_of(b->store, queue, 0, offset - 1);
        info->progress = p;
    }
    buf_done(&name);
}

void handle_lite_group(struct broker *b, struct call *call)
{
    struct lite_group_header h;
    const struct group *group;
    struct arena arena = ARENA_EMPTY;
    err_t e = header_decode(&lite_group_kind, call->frame, &h);
    if (!e) e = find_group(b, h.group, &group);
    if (!e && !lite_bound_topic(b, h.group).n) e = err_new(ERR_INVALID, "Group [%.*s] is not a LITE group.", SLICE_ARG(h.group));
    if (e) {
        call_fail(call, e);
        return;
    }
    struct lite_group_info info = {.group = h.group, .parent = lite_bound_topic(b, h.group), .lite_topic = h.lite_topic, .earliest_ms = -1};
    arena.limit = ARENA_BYTES;
    if (h.lite_topic.n) describe_one(b, &h, &arena, &info);
    else describe_lags(b, &h, &arena, &info);
    if (!disk_again(b, call)) reply_bean(call, NULL, NULL, &lite_group_info_bean, &info);
    arena_done(&arena);
}
