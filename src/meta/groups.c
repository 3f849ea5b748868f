#include "meta/groups.h"
#include "base/log.h"
#include "base/map.h"
#include "codec/lmq.h"
#include "meta/attributes.h"
#include "meta/names.h"
#include "meta/topics.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const start_groups[] = {
    "TOOLS_CONSUMER",  "FILTERSRV_CONSUMER",    "SELF_TEST_C_GROUP", "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL", "CID_ONSAPI_PERMISSION", "CID_ONSAPI_OWNER",  "CID_RMQ_SYS_TRANS",
};

/* Light groups all are alike but for their names: the last ones that were asked for. */
enum { LIGHT_GROUPS = 16, LIGHT_NAME_MAX = 255 };

struct light_groups {
    size_t next;
    struct group groups[LIGHT_GROUPS];
    uint8_t names[LIGHT_GROUPS][LIGHT_NAME_MAX];
};

struct groups {
    struct light_groups *light;     /* NULL: there are none */
    struct map map;                 /* name -> struct group */
    struct map forbidden;           /* group -> struct map of topic -> bits */
    struct data_version version;
    struct saver saver;
    struct tasks *tasks;
    bool auto_create;
    bool create_system;
};

static void group_free(void *p)
{
    struct group *group = p;
    arena_done(&group->memory);
    free(group);
}

static struct group *put(struct groups *g, const struct group_config *config)
{
    struct group *group = map_get(&g->map, config->name);
    struct arena fresh = ARENA_EMPTY;
    struct group_config copy;
    bean_copy(&group_config_bean, config, &fresh, &copy);
    if (!group) {
        group = must_zero(sizeof *group);
        group->memory = ARENA_EMPTY;
        map_put(&g->map, copy.name, group);
    }
    arena_done(&group->memory);
    group->memory = fresh;
    group->config = copy;
    return group;
}

static struct group *put_default(struct groups *g, struct slice name)
{
    struct group_config config = group_config_default;
    config.name = name;
    return put(g, &config);
}

static void changed(struct groups *g)
{
    data_version_next(&g->version, tasks_wall_ms(g->tasks));
    saver_mark(&g->saver);
}

/* --- forbidden reading: bits are kept in the pointers' place --- */

static void *bits_to_value(int32_t bits) { return (void *)(intptr_t)bits; }
static int32_t value_to_bits(const void *value) { return (int32_t)(intptr_t)value; }

static int32_t forbidden_bits(const struct groups *g, struct slice group, struct slice topic)
{
    const struct map *topics = map_get(&g->forbidden, group);
    return topics ? value_to_bits(map_get(topics, topic)) : 0;
}

static void set_forbidden_bits(struct groups *g, struct slice group, struct slice topic, int32_t bits)
{
    struct map *topics = map_get(&g->forbidden, group);
    if (!topics && !bits) return;
    if (!topics) {
        topics = must_zero(sizeof *topics);
        map_put(&g->forbidden, group, topics);
    }
    if (bits) map_put(topics, topic, bits_to_value(bits));
    else map_remove(topics, topic);
    if (topics->count) return;
    map_remove(&g->forbidden, group);
    map_done(topics);
    free(topics);
}

static void forbidden_free(void *p)
{
    map_done(p);
    free(p);
}

bool groups_is_read_forbidden(const struct groups *g, struct slice group, struct slice topic)
{
    return g->forbidden.count && forbidden_bits(g, group, topic) & 1 << FORBIDDEN_READ_BIT;
}

void groups_set_read_forbidden(struct groups *g, struct slice group, struct slice topic, bool forbidden)
{
    int32_t now = forbidden_bits(g, group, topic), bit = 1 << FORBIDDEN_READ_BIT;
    int32_t wanted = forbidden ? now | bit : now & ~bit;
    if (wanted == now) return;
    set_forbidden_bits(g, group, topic, wanted);
    changed(g);
}

static void forbidden_table(const struct groups *g, struct arena *arena, struct group_table *out)
{
    struct map_entry *e, *t;
    for (size_t at = 0; (e = map_next(&g->forbidden, &at));) {
        struct forbidden_group *group =
            arena_list_add(arena, (void **)&out->forbidden.items, &out->forbidden.count, sizeof *group);
        *group = (struct forbidden_group){.group = e->key};
        for (size_t k = 0; (t = map_next(e->value, &k));) {
            struct forbidden_topic *topic =
                arena_list_add(arena, (void **)&group->topics.items, &group->topics.count, sizeof *topic);
            *topic = (struct forbidden_topic){t->key, value_to_bits(t->value)};
        }
    }
}

/* --- the file --- */

void groups_table(const struct groups *g, struct arena *arena, struct group_table *out)
{
    arena->limit = SIZE_MAX;   /* our own data, however much */
    *out = (struct group_table){.version = arena_take(arena, sizeof *out->version)};
    *out->version = g->version;
    out->groups.items = arena_take(arena, (g->map.count + 1) * sizeof *out->groups.items);
    const struct group *group;
    for (size_t at = 0; (group = groups_next(g, &at));) out->groups.items[out->groups.count++] = group->config;
    forbidden_table(g, arena, out);
}

static void encode_file(void *ctx, struct buf *out)
{
    struct arena arena = ARENA_EMPTY;
    struct group_table table;
    groups_table(ctx, &arena, &table);
    bean_encode(&group_table_bean, &table, JSON_PRETTY, out);
    arena_done(&arena);
}

static err_t decode_file(void *ctx, struct slice text)
{
    struct groups *g = ctx;
    struct arena arena = ARENA_EMPTY;
    struct group_table table;
    arena.limit = (size_t)1 << 30;   /* our own file */
    err_t e = bean_decode(&group_table_bean, text, &arena, "groups", &table);
    for (size_t i = 0; !e && i < table.groups.count; i++) put(g, &table.groups.items[i]);
    for (size_t i = 0; !e && i < table.forbidden.count; i++) {
        const struct forbidden_group *f = &table.forbidden.items[i];
        for (size_t k = 0; k < f->topics.count; k++)
            set_forbidden_bits(g, f->group, f->topics.items[k].topic, f->topics.items[k].bits);
    }
    if (!e && table.version) g->version = *table.version;
    arena_done(&arena);
    return e;
}

/* --- life --- */

static void groups_free(struct groups *g)
{
    map_done_with(&g->map, group_free);
    map_done_with(&g->forbidden, forbidden_free);
    free(g->light);
    free(g);
}

static void make_start_groups(struct groups *g)
{
    for (size_t i = 0; i < sizeof start_groups / sizeof *start_groups; i++) {
        struct slice name = slice_text(start_groups[i]);
        struct group *group = map_get(&g->map, name);
        if (!group) group = put_default(g, name);
        group->system = true;
        if (slice_starts(name, SLICE("CID_ONS"))) group->config.consume_broadcast_enable = true;
    }
}

err_t groups_open(const struct groups_options *options, struct fs *fs, struct tasks *tasks, struct groups **out)
{
    struct groups *g = must_zero(sizeof *g);
    g->tasks = tasks;
    g->auto_create = options->auto_create;
    g->create_system = options->create_system;
    if (options->lmq) g->light = must_zero(sizeof *g->light);
    g->version.timestamp = tasks_wall_ms(tasks);
    char path[4096];
    bool found;
    snprintf(path, sizeof path, "%s/subscriptionGroup.json", options->folder);
    err_t e = fs_make_durable_folder(fs, options->folder);
    if (!e) e = saver_load(fs, path, decode_file, g, &found);
    if (e) {
        groups_free(g);
        return err_in(e, "load the groups");
    }
    saver_init(&g->saver, fs, tasks, path, encode_file, g);
    make_start_groups(g);
    if (!found) saver_mark(&g->saver);
    *out = g;
    return NULL;
}

err_t groups_close(struct groups *g)
{
    if (!g) return NULL;
    err_t e = saver_done(&g->saver);
    groups_free(g);
    return e;
}

/* --- use --- */

static const struct group *find_light(struct light_groups *l, struct slice name)
{
    if (!name_is_lmq(name) || name.n > LIGHT_NAME_MAX) return NULL;
    for (size_t i = 0; i < LIGHT_GROUPS; i++)
        if (slice_eq(l->groups[i].config.name, name)) return &l->groups[i];
    size_t at = l->next++ % LIGHT_GROUPS;
    memcpy(l->names[at], name.p, name.n);
    l->groups[at] = (struct group){.config = group_config_default};
    l->groups[at].config.name = slice_of(l->names[at], name.n);
    return &l->groups[at];
}

const struct group *groups_find(const struct groups *g, struct slice name)
{
    const struct group *group = map_get(&g->map, name);
    return group || !g->light ? group : find_light(g->light, name);
}

const struct group *groups_find_or_create(struct groups *g, struct slice name)
{
    struct group *group = map_get(&g->map, name);
    if (group) return group;
    if (g->light && name_is_lmq(name)) return find_light(g->light, name);
    if (!g->auto_create && !(g->create_system && group_name_is_system(name))) return NULL;
    err_t e = group_name_check(name);
    if (e) {
        err_drop(e, "the group is not made");
        return NULL;
    }
    group = put_default(g, name);
    log_info("group.created group=\"%.*s\"", SLICE_ARG(name));
    changed(g);
    return group;
}

/* The attributes that the group will have. */
static err_t edit_attributes(const struct group *now, struct group_config *config, struct arena *arena)
{
    struct attributes current = {{NULL, 0}}, result;
    struct attributes edits = {{config->attributes.items, config->attributes.count}};
    if (now) current.pairs.items = now->config.attributes.items, current.pairs.count = now->config.attributes.count;
    err_t e = attributes_edit(ATTRIBUTES_OF_GROUP, now ? &current : NULL, &edits, arena, &result);
    if (e) return e;
    config->attributes.items = result.pairs.items;
    config->attributes.count = result.pairs.count;
    return NULL;
}

err_t groups_set(struct groups *g, const struct group_config *wanted)
{
    if (g->light && name_is_lmq(wanted->name)) return NULL;
    err_t e = group_name_check(wanted->name);
    if (!e && (wanted->retry_queues < 0 || wanted->retry_queues > TOPIC_QUEUES_MAX))
        e = err_new(ERR_INVALID, "retryQueueNums must be between 0 and %d, not %d", TOPIC_QUEUES_MAX, wanted->retry_queues);
    struct group_config config = *wanted;
    struct arena arena = ARENA_EMPTY;
    if (!e) e = edit_attributes(map_get(&g->map, wanted->name), &config, &arena);
    if (!e) {
        put(g, &config);
        log_info("group.set group=\"%.*s\"", SLICE_ARG(wanted->name));
        changed(g);
    }
    arena_done(&arena);
    return e;
}

void groups_disable(struct groups *g, struct slice name)
{
    struct group *group = map_get(&g->map, name);
    if (!group || !group->config.consume_enable) return;
    group->config.consume_enable = false;
    changed(g);
}

bool groups_delete(struct groups *g, struct slice name)
{
    struct group *group = map_remove(&g->map, name);
    if (!group) return false;
    log_info("group.deleted group=\"%.*s\"", SLICE_ARG(group->config.name));
    struct map *topics = map_remove(&g->forbidden, group->config.name);
    if (topics) forbidden_free(topics);
    group_free(group);
    changed(g);
    return true;
}

void groups_set_auto_create(struct groups *g, bool on) { g->auto_create = on; }
size_t groups_count(const struct groups *g) { return g->map.count; }

const struct group *groups_next(const struct groups *g, size_t *at)
{
    struct map_entry *e = map_next(&g->map, at);
    return e ? e->value : NULL;
}

struct data_version groups_version(const struct groups *g) { return g->version; }
void groups_when_saved(struct groups *g, struct saver_waiter *w) { saver_wait(&g->saver, w); }
