#include "namesrv/route_state.h"

#include <strings.h>

#define ADD(arena, list) arena_list_add(arena, (void **)&(list).items, &(list).count, sizeof *(list).items)

static void add_text(struct arena *arena, void *list, const char *text)
{
    BEAN_LIST(struct slice) *texts = list;
    struct slice *s = ADD(arena, *texts);
    *s = slice_text(text);
}

static void add_addresses(struct arena *arena, const struct group *g, void *list)
{
    BEAN_LIST(struct id_text) *addresses = list;
    for (size_t i = 0; i < g->count; i++) {
        struct id_text *a = ADD(arena, *addresses);
        *a = (struct id_text){g->brokers[i]->id, slice_text(g->brokers[i]->address)};
    }
}

static void fill_broker(struct arena *arena, const struct group *g, struct route_broker *out)
{
    *out = (struct route_broker){.cluster = slice_text(g->cluster), .name = slice_text(g->name),
                                 .enable_acting_master = g->enable_acting_master};
    if (g->zone) out->zone = slice_text(g->zone);
    add_addresses(arena, g, &out->addresses);
}

/* A group without master shows its slave of smallest id as one, if it wants that and its topic can only be read. */
static void show_acting_master(const struct group *g, const struct entry *e, struct route_broker *broker)
{
    if (group_has_master(g) || !g->enable_acting_master || e->perm & PERM_WRITE) return;
    broker->addresses.items[0].id = 0;
}

/* Brokers of other zones are left out, but those without a master. */
static bool in_other_zone(const struct group *g, struct slice zone)
{
    if (!zone.p || !group_has_master(g)) return false;
    const char *own = g->zone ? g->zone : "";
    return strlen(own) != zone.n || strncasecmp(own, (const char *)zone.p, zone.n);
}

static void add_filter_servers(struct arena *arena, const struct group *g, struct topic_route *out)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct broker *b = g->brokers[i];
        if (!b->filter_servers.count) continue;
        struct named_list *named = ADD(arena, out->filter_servers);
        named->name = slice_text(b->address);
        named->texts.items = b->filter_servers.items;
        named->texts.count = b->filter_servers.count;
    }
}

static void add_entry(struct arena *arena, const struct entry *e, bool acting, struct topic_route *out)
{
    struct route_queues *q = ADD(arena, out->queues);
    *q = (struct route_queues){slice_text(e->group->name), e->read_queues, e->write_queues, e->perm, e->sys_flag};
    struct route_broker *broker = ADD(arena, out->brokers);
    fill_broker(arena, e->group, broker);
    if (acting) show_acting_master(e->group, e, broker);
    add_filter_servers(arena, e->group, out);
}

bool route_table_route(const struct route_table *t, const struct route_question *q, struct arena *arena, struct topic_route *out)
{
    const struct topic *topic = map_get(&t->topics, q->topic);
    bool acting = q->acting_master && !slice_starts(q->topic, SLICE("rmq_sys_SYNC_BROKER_MEMBER_"));
    if (!topic) return false;
    arena->limit = SIZE_MAX;
    *out = (struct topic_route){.order = {NULL, 0}};
    for (size_t i = 0; i < topic->count; i++)
        if (!in_other_zone(topic->entries[i].group, q->zone)) add_entry(arena, &topic->entries[i], acting, out);
    for (size_t i = 0; i < topic->mapping_count; i++) {
        struct queue_mapping *m = ADD(arena, out->mappings);
        *m = topic->mappings[i].mapping;
        m->broker = slice_text(topic->mappings[i].group->name);
    }
    return true;
}

static struct named_list *find_cluster(struct arena *arena, struct cluster_info *out, const char *cluster)
{
    for (size_t i = 0; i < out->clusters.count; i++)
        if (slice_eq(out->clusters.items[i].name, slice_text(cluster))) return &out->clusters.items[i];
    struct named_list *fresh = ADD(arena, out->clusters);
    fresh->name = slice_text(cluster);
    return fresh;
}

void route_table_clusters(const struct route_table *t, struct arena *arena, struct cluster_info *out)
{
    struct map_entry *e;
    arena->limit = SIZE_MAX;
    *out = (struct cluster_info){.brokers = {NULL, 0}};
    for (size_t at = 0; (e = map_next(&t->groups, &at));) {
        const struct group *g = e->value;
        fill_broker(arena, g, ADD(arena, out->brokers));
        add_text(arena, &find_cluster(arena, out, g->cluster)->texts, g->name);
    }
}

void route_table_members(const struct route_table *t, struct slice cluster, struct slice group, struct arena *arena,
                         struct broker_group *out)
{
    const struct group *g = map_get(&t->groups, group);
    arena->limit = SIZE_MAX;
    *out = (struct broker_group){.cluster = cluster, .name = group};
    if (g) add_addresses(arena, g, &out->addresses);
}

static bool in_cluster(const struct topic *topic, struct slice cluster)
{
    for (size_t i = 0; i < topic->count; i++)
        if (slice_eq(slice_text(topic->entries[i].group->cluster), cluster)) return true;
    return false;
}

static bool is_chosen(const struct topic *topic, enum topic_choice choice, struct slice cluster)
{
    int32_t flag = topic->entries[0].sys_flag;
    switch (choice) {
    case TOPICS_ALL: return true;
    case TOPICS_OF_CLUSTER: return in_cluster(topic, cluster);
    case TOPICS_UNIT: return flag & TOPIC_SYS_UNIT;
    case TOPICS_WITH_UNIT_SUB: return flag & TOPIC_SYS_UNIT_SUB;
    default: return !(flag & TOPIC_SYS_UNIT) && flag & TOPIC_SYS_UNIT_SUB;
    }
}

void route_table_topics(const struct route_table *t, enum topic_choice choice, struct slice cluster, struct arena *arena,
                        struct topic_list *out)
{
    struct map_entry *e;
    arena->limit = SIZE_MAX;
    *out = (struct topic_list){.broker_address = {NULL, 0}};
    for (size_t at = 0; (e = map_next(&t->topics, &at));)
        if (is_chosen(e->value, choice, cluster)) *(struct slice *)ADD(arena, out->topics) = e->key;
}

void route_table_system_topics(const struct route_table *t, struct arena *arena, struct topic_list *out)
{
    struct cluster_info info;
    route_table_clusters(t, arena, &info);
    *out = (struct topic_list){.broker_address = {NULL, 0}};
    for (size_t i = 0; i < info.brokers.count; i++) *(struct slice *)ADD(arena, out->topics) = info.brokers.items[i].name;
    for (size_t i = 0; i < info.clusters.count; i++) *(struct slice *)ADD(arena, out->topics) = info.clusters.items[i].name;
    if (info.brokers.count) out->broker_address = info.brokers.items[0].addresses.items[0].text;
}
