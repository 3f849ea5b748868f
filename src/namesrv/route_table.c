#include "namesrv/route_state.h"
#include "base/log.h"

#include <stdlib.h>

struct route_table *route_table_new(void (*min_changed)(void *ctx, const struct min_change *change), void *ctx)
{
    struct route_table *t = must_zero(sizeof *t);
    t->min_changed = min_changed;
    t->ctx = ctx;
    return t;
}

static void broker_free(struct broker *b)
{
    free(b->address);
    free(b->ha_address);
    arena_done(&b->memory);
    free(b);
}

static void group_free(void *p)
{
    struct group *g = p;
    for (size_t i = 0; i < g->count; i++) broker_free(g->brokers[i]);
    free(g->brokers);
    free(g->cluster);
    free(g->name);
    free(g->zone);
    free(g);
}

static void topic_free(void *p)
{
    struct topic *topic = p;
    for (size_t i = 0; i < topic->mapping_count; i++) arena_done(&topic->mappings[i].memory);
    free(topic->mappings);
    free(topic->entries);
    free(topic);
}

void route_table_free(struct route_table *t)
{
    if (!t) return;
    map_done_with(&t->topics, topic_free);
    map_done_with(&t->groups, group_free);
    free(t);
}

/* --- topics --- */

size_t route_table_brokers(const struct route_table *t)
{
    struct map_entry *e;
    size_t sum = 0;
    for (size_t at = 0; (e = map_next(&t->groups, &at));) sum += ((const struct group *)e->value)->count;
    return sum;
}

static struct entry *find_entry(struct topic *topic, const struct group *g)
{
    for (size_t i = 0; topic && i < topic->count; i++)
        if (topic->entries[i].group == g) return &topic->entries[i];
    return NULL;
}

static struct topic *find_or_add_topic(struct route_table *t, struct slice name)
{
    struct topic *topic = map_get(&t->topics, name);
    if (topic) return topic;
    topic = must_zero(sizeof *topic);
    map_put(&t->topics, name, topic);
    return topic;
}

static void put_entry(struct route_table *t, struct slice name, const struct entry *e)
{
    struct topic *topic = find_or_add_topic(t, name);
    struct entry *there = find_entry(topic, e->group);
    if (!there) {
        topic->entries = realloc(topic->entries, (topic->count + 1) * sizeof *topic->entries);
        if (!topic->entries) abort();
        there = &topic->entries[topic->count++];
    }
    *there = *e;
}

static void drop_mapping(struct topic *topic, const struct group *g)
{
    for (size_t i = 0; i < topic->mapping_count; i++) {
        if (topic->mappings[i].group != g) continue;
        arena_done(&topic->mappings[i].memory);
        topic->mappings[i] = topic->mappings[--topic->mapping_count];
        return;
    }
}

static void put_mapping(struct route_table *t, struct group *g, const struct queue_mapping *m)
{
    struct topic *topic = map_get(&t->topics, m->topic);
    if (!topic) return;
    drop_mapping(topic, g);
    topic->mappings = realloc(topic->mappings, (topic->mapping_count + 1) * sizeof *topic->mappings);
    if (!topic->mappings) abort();
    struct mapping *fresh = &topic->mappings[topic->mapping_count++];
    *fresh = (struct mapping){.group = g, .memory = ARENA_EMPTY};
    bean_copy(&queue_mapping_bean, m, &fresh->memory, &fresh->mapping);
}

/* The group has this topic no longer; a topic that nobody has goes (N2). */
static void drop_entry(struct route_table *t, struct slice name, struct topic *topic, const struct group *g)
{
    struct entry *e = find_entry(topic, g);
    if (!e) return;
    size_t at = (size_t)(e - topic->entries);
    memmove(e, e + 1, (topic->count - at - 1) * sizeof *e);
    topic->count--;
    drop_mapping(topic, g);
    if (topic->count) return;
    map_remove(&t->topics, name);
    topic_free(topic);
}

static void drop_entries(struct route_table *t, const struct group *g)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&t->topics, &at));) drop_entry(t, e->key, e->value, g);
}

/* --- groups --- */

static struct broker *find_address(const struct group *g, struct slice address)
{
    for (size_t i = 0; g && i < g->count; i++)
        if (slice_eq(slice_text(g->brokers[i]->address), address)) return g->brokers[i];
    return NULL;
}

static struct broker *find_id(const struct group *g, int64_t id)
{
    for (size_t i = 0; g && i < g->count; i++)
        if (g->brokers[i]->id == id) return g->brokers[i];
    return NULL;
}

static void take_out(struct group *g, struct broker *b)
{
    size_t at = 0;
    while (g->brokers[at] != b) at++;
    memmove(g->brokers + at, g->brokers + at + 1, (g->count - at - 1) * sizeof *g->brokers);
    g->count--;
    broker_free(b);
}

static void put_in(struct group *g, struct broker *b)
{
    size_t at = 0;
    g->brokers = realloc(g->brokers, (g->count + 1) * sizeof *g->brokers);
    if (!g->brokers) abort();
    while (at < g->count && g->brokers[at]->id < b->id) at++;
    memmove(g->brokers + at + 1, g->brokers + at, (g->count - at) * sizeof *g->brokers);
    g->brokers[at] = b;
    g->count++;
}

static void tell_min_change(struct route_table *t, const struct group *g, struct slice offline)
{
    struct arena arena = ARENA_EMPTY;
    struct id_text *addresses = arena_take(&arena, g->count * sizeof *addresses);
    for (size_t i = 0; i < g->count; i++)
        addresses[i] = (struct id_text){g->brokers[i]->id, slice_text(g->brokers[i]->address)};
    struct min_change change = {slice_text(g->name), addresses, g->count, offline, slice_text(g->brokers[0]->ha_address)};
    if (t->min_changed) t->min_changed(t->ctx, &change);
    arena_done(&arena);
}

/* Without a master, topics of a group with acting masters can only be read. */
static void wipe_write(struct route_table *t, const struct group *g)
{
    struct map_entry *m;
    for (size_t at = 0; (m = map_next(&t->topics, &at));) {
        struct entry *e = find_entry(m->value, g);
        if (e) e->perm &= ~PERM_WRITE;
    }
}

/* Takes a broker out of its group, with what follows from it. The group is freed when it was the last (N1). */
static void leave(struct route_table *t, struct group *g, struct broker *b, const char *why)
{
    bool was_smallest = g->brokers[0] == b;
    char *address = must_strdup(b->address);
    log_info("broker.left group=\"%s\" id=%lld address=%s why=%s", g->name, (long long)b->id, address, why);
    take_out(g, b);
    if (!g->count) {
        drop_entries(t, g);
        map_remove(&t->groups, slice_text(g->name));
        group_free(g);
    } else {
        if (g->enable_acting_master && !group_has_master(g)) wipe_write(t, g);
        if (was_smallest) tell_min_change(t, g, slice_text(address));
    }
    free(address);
}

/* --- registration --- */

static void replace_text(char **where, struct slice text)
{
    if (*where && slice_eq(slice_text(*where), text)) return;
    free(*where);
    *where = text.p ? must_dup(text) : NULL;
}

static struct group *find_or_add_group(struct route_table *t, const struct registration *r)
{
    struct group *g = map_get(&t->groups, r->group);
    if (!g) {
        g = must_zero(sizeof *g);
        g->name = must_dup(r->group);
        map_put(&t->groups, r->group, g);
    }
    replace_text(&g->cluster, r->cluster);
    replace_text(&g->zone, r->zone);
    g->enable_acting_master = r->knows_acting_master && r->enable_acting_master;
    return g;
}

/* Whether the registration may not have the id it asks for. */
static enum registered check(const struct group *g, const struct registration *r)
{
    const struct broker *holder = find_id(g, r->id);
    bool other = holder && !slice_eq(slice_text(holder->address), r->address);
    if (other && holder->version.state_version > r->body->table.version->state_version) {
        log_warn("broker.stale group=\"%.*s\" id=%lld address=%.*s holder=%s", SLICE_ARG(r->group), (long long)r->id,
                 SLICE_ARG(r->address), holder->address);
        return REGISTERED_STALE;
    }
    return !holder && r->body->table.topics.count == 1 ? REGISTERED_REFUSED : REGISTERED;
}

static void update_broker(struct broker *b, const struct registration *r, int64_t now_ms)
{
    replace_text(&b->address, r->address);
    replace_text(&b->ha_address, r->ha_address.p ? r->ha_address : SLICE(""));
    b->seen_ms = now_ms;
    b->timeout_ms = r->timeout_ms;
    b->version = *r->body->table.version;
    b->conn_id = r->conn_id;
    arena_done(&b->memory);
    b->filter_servers.items = NULL;
    b->filter_servers.count = 0;
    for (size_t i = 0; i < r->body->filter_servers.count; i++) {
        struct slice *s = arena_list_add(&b->memory, (void **)&b->filter_servers.items, &b->filter_servers.count, sizeof *s);
        if (s) *s = arena_copy(&b->memory, r->body->filter_servers.items[i]);
    }
}

static bool names_topic(const struct map *named, struct slice topic) { return map_get(named, topic); }

static void drop_missing(struct route_table *t, const struct group *g, const struct registration *r)
{
    struct map named = MAP_EMPTY;
    struct map_entry *e;
    for (size_t i = 0; i < r->body->table.topics.count; i++) map_put(&named, r->body->table.topics.items[i].name, (void *)g);
    for (size_t at = 0; (e = map_next(&t->topics, &at));)
        if (!names_topic(&named, e->key)) drop_entry(t, e->key, e->value, g);
    map_done(&named);
}

/* all: also those the table has already. */
static void take_topics(struct route_table *t, struct group *g, const struct registration *r, bool all, bool read_only)
{
    const struct topic_table *table = &r->body->table;
    if (r->delete_missing && !table->mappings.count) drop_missing(t, g, r);
    for (size_t i = 0; i < table->topics.count; i++) {
        const struct topic_config *c = &table->topics.items[i];
        if (!c->name.n || (!all && find_entry(map_get(&t->topics, c->name), g))) continue;
        struct entry e = {g, c->read_queues, c->write_queues, read_only ? c->perm & ~PERM_WRITE : c->perm, c->sys_flag};
        put_entry(t, c->name, &e);
    }
    for (size_t i = 0; all && i < table->mappings.count; i++) put_mapping(t, g, &table->mappings.items[i]);
}

static void tell_master(const struct group *g, const struct broker *b, struct master *out)
{
    *out = (struct master){{NULL, 0}, {NULL, 0}};
    if (b->id == 0 || !group_has_master(g)) return;
    out->address = slice_text(g->brokers[0]->address);
    out->ha_address = slice_text(g->brokers[0]->ha_address);
}

/* The broker's place in its group; *out_changed tells whether it is new or registers another state. */
static struct broker *seat(struct group *g, const struct registration *r, int64_t now_ms, bool *out_changed)
{
    struct broker *b = find_address(g, r->address);
    if (b && b->id != r->id) {   /* an address has one id only */
        take_out(g, b);
        b = NULL;
    }
    b = find_id(g, r->id);
    *out_changed = !b || !data_version_eq(&b->version, r->body->table.version) || !slice_eq(slice_text(b->address), r->address);
    if (!b) {
        b = must_zero(sizeof *b);
        b->memory = ARENA_EMPTY;
        b->id = r->id;
        put_in(g, b);
        log_info("broker.joined cluster=\"%.*s\" group=\"%.*s\" id=%lld address=%.*s", SLICE_ARG(r->cluster), SLICE_ARG(r->group),
                 (long long)r->id, SLICE_ARG(r->address));
    }
    update_broker(b, r, now_ms);
    return b;
}

enum registered route_table_register(struct route_table *t, const struct registration *r, int64_t now_ms,
                                     struct master *out_master)
{
    struct group *known = map_get(&t->groups, r->group);
    *out_master = (struct master){{NULL, 0}, {NULL, 0}};
    enum registered result = check(known, r);
    if (result != REGISTERED) return result;
    struct group *g = find_or_add_group(t, r);
    int64_t smallest = g->count ? g->brokers[0]->id : 0;
    bool changed;
    struct broker *b = seat(g, r, now_ms, &changed);
    bool prime_slave = r->knows_acting_master && b->id != 0 && g->brokers[0] == b;
    if (b->id == 0 || prime_slave) take_topics(t, g, r, changed, prime_slave && g->enable_acting_master);
    tell_master(g, b, out_master);
    if (b->id < smallest) tell_min_change(t, g, (struct slice){NULL, 0});
    return REGISTERED;
}

/* --- leaving --- */

bool route_table_unregister(struct route_table *t, struct slice group, struct slice address, int64_t id)
{
    struct group *g = map_get(&t->groups, group);
    struct broker *b = find_address(g, address);
    if (!b || b->id != id) return false;
    leave(t, g, b, "unregistered");
    return true;
}

/* Takes out every broker for which `gone` says so. */
static size_t sweep(struct route_table *t, bool (*gone)(const struct broker *b, const void *ctx), const void *ctx,
                    const char *why)
{
    struct map_entry *e;
    size_t n = 0;
    for (size_t at = 0; (e = map_next(&t->groups, &at));) {
        struct group *g = e->value;
        for (size_t i = g->count; i-- > 0;) {
            if (!gone(g->brokers[i], ctx)) continue;
            bool last = g->count == 1;
            leave(t, g, g->brokers[i], why);
            n++;
            if (last) break;
        }
    }
    return n;
}

static bool came_by(const struct broker *b, const void *ctx) { return b->conn_id == *(const uint64_t *)ctx; }
static bool is_silent(const struct broker *b, const void *ctx) { return b->seen_ms + b->timeout_ms < *(const int64_t *)ctx; }

size_t route_table_conn_closed(struct route_table *t, uint64_t conn_id) { return sweep(t, came_by, &conn_id, "disconnected"); }
size_t route_table_expire(struct route_table *t, int64_t now_ms) { return sweep(t, is_silent, &now_ms, "silent"); }

void route_table_touch(struct route_table *t, struct slice group, struct slice address, int64_t now_ms)
{
    struct broker *b = find_address(map_get(&t->groups, group), address);
    if (b) b->seen_ms = now_ms;
}

const struct data_version *route_table_version(const struct route_table *t, struct slice group, struct slice address)
{
    const struct broker *b = find_address(map_get(&t->groups, group), address);
    return b ? &b->version : NULL;
}

/* --- administration --- */

int32_t route_table_set_writable(struct route_table *t, struct slice group, bool writable)
{
    const struct group *g = map_get(&t->groups, group);
    struct map_entry *m;
    int32_t n = 0;
    for (size_t at = 0; g && (m = map_next(&t->topics, &at));) {
        struct entry *e = find_entry(m->value, g);
        if (!e) continue;
        e->perm = writable ? PERM_READ | PERM_WRITE : e->perm & ~PERM_WRITE;
        n++;
    }
    return n;
}

void route_table_delete_topic(struct route_table *t, struct slice name, struct slice cluster)
{
    struct topic *topic = map_get(&t->topics, name);
    if (!topic) return;
    for (size_t i = topic->count; i-- > 0;) {
        const struct group *g = topic->entries[i].group;
        if (cluster.n && !slice_eq(slice_text(g->cluster), cluster)) continue;
        bool last = topic->count == 1;
        drop_entry(t, name, topic, g);
        if (last) return;
    }
}

void route_table_add_topic(struct route_table *t, struct slice topic, const struct topic_route *route)
{
    for (size_t i = 0; topic.n && i < route->queues.count; i++) {
        const struct route_queues *q = &route->queues.items[i];
        struct group *g = map_get(&t->groups, q->broker);
        struct entry e = {g, q->read_queues, q->write_queues, q->perm, q->sys_flag};
        if (g) put_entry(t, topic, &e);
    }
}
