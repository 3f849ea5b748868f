#include "broker/filters/filters.h"

#include "base/json.h"
#include "base/log.h"
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>

/* A start finds no group alive; those that the file calls so count as gone for so long. */
enum { DEAD_AT_START_MS = 30000 };

/* Texts are owned, and may hold any byte. */
struct group {
    struct slice name;
    struct map topics;              /* topic -> struct kept */
};

struct kept {
    struct list_node in_dead;       /* in filters.dead, when dead_ms */
    struct group *group;
    struct slice topic;
    struct slice expression;
    struct filter *filter;
    int64_t born_ms;                /* wall_ms, as the others: since when the group has this expression */
    int64_t dead_ms;                /* 0: the group is there */
    int64_t version;                /* of the subscription */
    bool seen;                      /* while its group is followed */
};

struct filters {
    struct map groups;              /* name -> struct group */
    struct list dead;               /* struct kept, in the order they died */
    size_t bytes, dead_bytes;
    size_t count;
    struct bloom bloom;
    struct tasks *tasks;
    struct saver saver;
    bool changed;
};

err_t filters_check_type(struct slice type, bool on)
{
    if (!on) return err_new(ERR_REFUSED, "The broker does not support consumer to filter message by %.*s", SLICE_ARG(type));
    if (slice_eq(type, SLICE("SQL92"))) return NULL;
    return err_new(ERR_SUBSCRIPTION_PARSE, "there are filters of type TAG and SQL92, and none of type \"%.*s\"", SLICE_ARG(type));
}

err_t filters_compile(struct slice type, struct slice expression, bool on, struct filter **out)
{
    err_t e = filters_check_type(type, on);
    return e ? e : filter_compile(expression, out);
}

/* --- the table --- */

static size_t bytes_of(const struct kept *k)
{
    enum { PART_BYTES = 32 };
    return sizeof *k + k->topic.n + 2 * k->expression.n + PART_BYTES * filter_parts(k->filter);
}

static struct slice own(struct slice s) { return slice_of(must_dup(s), s.n); }
static void drop(struct slice s) { free((void *)s.p); }

static struct kept *find(const struct filters *f, struct slice group, struct slice topic)
{
    const struct group *g = map_get(&f->groups, group);
    return g ? map_get(&g->topics, topic) : NULL;
}

static void revive(struct filters *f, struct kept *k)
{
    if (!k->dead_ms) return;
    k->dead_ms = 0;
    list_remove(&k->in_dead);
    f->dead_bytes -= bytes_of(k);
}

static void forget(struct filters *f, struct kept *k)
{
    struct group *g = k->group;
    revive(f, k);
    f->bytes -= bytes_of(k);
    map_remove(&g->topics, k->topic);
    filter_free(k->filter);
    drop(k->topic);
    drop(k->expression);
    free(k);
    f->count--;
    if (g->topics.count) return;
    map_remove(&f->groups, g->name);
    map_done(&g->topics);
    drop(g->name);
    free(g);
}

static void die(struct filters *f, struct kept *k, int64_t at_ms)
{
    if (k->dead_ms) return;
    k->dead_ms = at_ms;
    list_add(&f->dead, &k->in_dead);
    f->dead_bytes += bytes_of(k);
    while (f->dead_bytes > FILTERS_DEAD_BYTES) forget(f, LIST_OWNER(list_first(&f->dead), struct kept, in_dead));
}

/* Takes the filter. */
static struct kept *keep(struct filters *f, struct slice group, struct slice topic, struct slice expression, struct filter *filter)
{
    struct group *g = map_get(&f->groups, group);
    if (!g) {
        g = must_zero(sizeof *g);
        g->name = own(group);
        g->topics = MAP_EMPTY;
        map_put(&f->groups, group, g);
    }
    struct kept *k = must_zero(sizeof *k);
    k->group = g;
    k->topic = own(topic);
    k->expression = own(expression);
    k->filter = filter;
    map_put(&g->topics, topic, k);
    f->bytes += bytes_of(k);
    f->count++;
    return k;
}

/* --- the file --- */

static void put_positions(const struct filters *f, const struct kept *k, struct json_out *w)
{
    struct buf text = BUF_EMPTY;
    int32_t positions[BLOOM_POSITIONS_MAX];
    buf_put_slice(&text, k->group->name);
    buf_put_u8(&text, '#');
    buf_put_slice(&text, k->topic);
    bloom_positions(&f->bloom, buf_slice(&text), positions);
    json_put_key(w, SLICE("bloomFilterData"));
    json_put_object(w);
    json_put_key(w, SLICE("bitNum"));
    json_put_i64(w, f->bloom.bits);
    buf_clear(&text);
    for (int32_t i = 0; i < f->bloom.positions; i++) buf_printf(&text, "%c%d", i ? ',' : '[', positions[i]);
    buf_put_u8(&text, ']');
    json_put_key(w, SLICE("bitPos"));
    json_put_source(w, buf_slice(&text));   /* on one line, as the original has it */
    json_put_object_end(w);
    buf_done(&text);
}

static void put_i64(struct json_out *w, const char *key, int64_t v)
{
    json_put_key(w, slice_text(key));
    json_put_i64(w, v);
}

static void put_text(struct json_out *w, const char *key, struct slice text)
{
    json_put_key(w, slice_text(key));
    json_put_text(w, text);
}

static void put_kept(const struct filters *f, const struct kept *k, struct json_out *w)
{
    json_put_key(w, k->group->name);
    json_put_object(w);
    put_positions(f, k, w);
    put_i64(w, "bornTime", k->born_ms);
    put_i64(w, "clientVersion", k->version);
    put_text(w, "consumerGroup", k->group->name);
    json_put_key(w, SLICE("dead"));
    json_put_bool(w, k->dead_ms >= k->born_ms);
    put_i64(w, "deadTime", k->dead_ms);
    put_text(w, "expression", k->expression);
    put_text(w, "expressionType", SLICE("SQL92"));
    put_text(w, "topic", k->topic);
    json_put_object_end(w);
}

struct of_topic {
    BEAN_LIST(const struct kept *) kept;
};

/* The file is sorted by topic, the table by group. */
static void gather(const struct filters *f, struct arena *arena, struct map *topics)
{
    struct map_entry *g, *t;
    for (size_t at = 0; (g = map_next(&f->groups, &at));) {
        const struct group *group = g->value;
        for (size_t in = 0; (t = map_next(&group->topics, &in));) {
            struct of_topic *list = map_get(topics, t->key);
            if (!list) {
                list = arena_take(arena, sizeof *list);
                map_put(topics, t->key, list);
            }
            *(const struct kept **)arena_list_add(arena, (void **)&list->kept.items, &list->kept.count, sizeof(struct kept *)) = t->value;
        }
    }
}

static void encode(void *ctx, struct buf *out)
{
    const struct filters *f = ctx;
    struct arena arena = ARENA_EMPTY;
    struct map topics = MAP_EMPTY;
    struct map_entry *e;
    struct json_out w;
    arena.limit = SIZE_MAX;   /* our own table */
    gather(f, &arena, &topics);
    json_out_init(&w, out, JSON_PRETTY);
    json_put_object(&w);
    json_put_key(&w, SLICE("filterDataByTopic"));
    json_put_object(&w);
    for (size_t at = 0; (e = map_next(&topics, &at));) {
        const struct of_topic *list = e->value;
        json_put_key(&w, e->key);
        json_put_object(&w);
        json_put_key(&w, SLICE("groupFilterData"));
        json_put_object(&w);
        for (size_t i = 0; i < list->kept.count; i++) put_kept(f, list->kept.items[i], &w);
        json_put_object_end(&w);
        json_put_key(&w, SLICE("topic"));
        json_put_text(&w, e->key);
        json_put_object_end(&w);
    }
    json_put_object_end(&w);
    json_put_object_end(&w);
    map_done(&topics);
    arena_done(&arena);
}

/* What the file says of one group. The bits are made anew when they are written: they follow from the names. */
struct row {
    struct slice expression, type;
    int64_t born_ms, dead_ms, version;
};

static void read_row(struct json *j, struct row *r)
{
    while (json_next(j)) {
        struct slice key = json_key(j);
        if (slice_eq(key, SLICE("bornTime"))) r->born_ms = json_i64(j);
        else if (slice_eq(key, SLICE("clientVersion"))) r->version = json_i64(j);
        else if (slice_eq(key, SLICE("deadTime"))) r->dead_ms = json_i64(j);
        else if (slice_eq(key, SLICE("expression"))) r->expression = json_text(j);
        else if (slice_eq(key, SLICE("expressionType"))) r->type = json_text(j);
        else json_skip(j);
    }
}

static void take_row(struct filters *f, struct slice topic, struct slice group, const struct row *r)
{
    struct filter *filter;
    err_t e = filters_compile(r->type, r->expression, true, &filter);
    if (e) {
        log_warn("filter.dropped group=\"%.*s\" topic=\"%.*s\" text=\"%s\"", SLICE_ARG(group), SLICE_ARG(topic), err_text(e));
        err_free(e);
        return;
    }
    struct kept *old = find(f, group, topic);
    if (old) forget(f, old);
    struct kept *k = keep(f, group, topic, r->expression, filter);
    int64_t dead_ms = r->dead_ms > 0 ? r->dead_ms : tasks_wall_ms(f->tasks) - DEAD_AT_START_MS;
    k->born_ms = r->born_ms;
    k->version = r->version;
    die(f, k, dead_ms > r->born_ms ? dead_ms : r->born_ms > 0 ? r->born_ms : 1);
}

static void read_groups(struct json *j, struct filters *f, struct slice topic)
{
    if (!json_object(j)) return;
    while (json_next(j)) {
        struct slice group = json_key(j);
        struct row r = {.expression = {NULL, 0}};
        if (!json_object(j)) continue;
        read_row(j, &r);
        if (json_ok(j) && topic.n && group.n) take_row(f, topic, group, &r);
    }
}

static void read_topics(struct json *j, struct filters *f)
{
    if (!json_object(j)) return;
    while (json_next(j)) {
        struct slice topic = json_key(j);
        if (!json_object(j)) continue;
        while (json_next(j)) {
            if (slice_eq(json_key(j), SLICE("groupFilterData"))) read_groups(j, f, topic);
            else json_skip(j);
        }
    }
}

static void forget_all(struct filters *f)
{
    struct map_entry *g, *t;
    for (size_t at = 0; (g = map_next(&f->groups, &at)); at = 0) {
        struct group *group = g->value;
        size_t in = 0;
        t = map_next(&group->topics, &in);
        forget(f, t->value);
    }
}

static err_t decode(void *ctx, struct slice text)
{
    struct filters *f = ctx;
    struct arena arena = ARENA_EMPTY;
    struct json j;
    arena.limit = SIZE_MAX;   /* our own file */
    forget_all(f);            /* of a candidate that broke off */
    json_begin(&j, text, &arena);
    if (json_object(&j))
        while (json_next(&j)) {
            if (slice_eq(json_key(&j), SLICE("filterDataByTopic"))) read_topics(&j, f);
            else json_skip(&j);
        }
    err_t e = json_end(&j, "consumer filters");
    arena_done(&arena);
    return e;
}

/* --- life --- */

static void filters_free(struct filters *f)
{
    forget_all(f);
    map_done(&f->groups);
    free(f);
}

err_t filters_open(const struct filters_options *options, struct fs *fs, struct tasks *tasks, struct filters **out)
{
    struct filters *f = must_zero(sizeof *f);
    char path[4096];
    bool found;
    f->groups = MAP_EMPTY;
    f->tasks = tasks;
    f->bloom = bloom_of(options->error_percent, options->groups);
    list_init(&f->dead);
    snprintf(path, sizeof path, "%s/consumerFilter.json", options->folder);
    err_t e = saver_load(fs, path, decode, f, &found);
    if (e) {
        filters_free(f);
        return err_in(e, "load the consumer filters");
    }
    saver_init(&f->saver, fs, tasks, path, encode, f);
    *out = f;
    return NULL;
}

err_t filters_close(struct filters *f)
{
    if (!f) return NULL;
    if (f->changed) f->saver.dirty = true;
    err_t e = saver_done(&f->saver);
    filters_free(f);
    return e;
}

/* --- use --- */

/* The same expression goes on, with what its new version is; another one begins now. */
static bool update(struct filters *f, struct kept *k, const struct subscription *s)
{
    if (!slice_eq(k->expression, s->expression)) return false;
    k->version = s->version;
    revive(f, k);
    return true;
}

static struct kept *begin(struct filters *f, struct slice group, const struct subscription *s)
{
    struct filter *filter;
    if (f->bytes > FILTERS_BYTES) {
        log_warn("filter.not_kept group=\"%.*s\" topic=\"%.*s\" text=\"there are too many\"", SLICE_ARG(group), SLICE_ARG(s->topic));
        return NULL;
    }
    err_t e = filter_compile(s->expression, &filter);
    if (e) {
        err_drop(e, "who pulls by it is told");
        return NULL;
    }
    struct kept *k = keep(f, group, s->topic, s->expression, filter);
    k->born_ms = tasks_wall_ms(f->tasks);
    k->version = s->version;
    log_info("filter.registered group=\"%.*s\" topic=\"%.*s\" expression=\"%.*s\"", SLICE_ARG(group), SLICE_ARG(s->topic),
             SLICE_ARG(s->expression));
    return k;
}

static void follow_one(struct filters *f, struct slice group, const struct subscription *s)
{
    if (!slice_eq(s->type, SLICE("SQL92"))) return;
    struct kept *k = find(f, group, s->topic);
    if (k && !update(f, k, s)) {
        forget(f, k);
        k = NULL;
    }
    if (!k) k = begin(f, group, s);
    if (k) k->seen = true;
}

static void end_unseen(struct filters *f, struct slice group)
{
    const struct group *g = map_get(&f->groups, group);
    struct kept **gone = NULL;
    struct map_entry *e;
    size_t n = 0;
    if (!g) return;
    gone = must_alloc((g->topics.count + 1) * sizeof(struct kept *));
    for (size_t at = 0; (e = map_next(&g->topics, &at));) {
        struct kept *k = e->value;
        if (!k->seen && !k->dead_ms) gone[n++] = k;
        k->seen = false;
    }
    for (size_t i = 0; i < n; i++) die(f, gone[i], tasks_wall_ms(f->tasks));
    free(gone);
}

void filters_follow(struct filters *f, struct slice group, filters_next *next, void *ctx)
{
    const struct subscription *s;
    bool any = map_get(&f->groups, group);
    while ((s = next(ctx))) {
        any |= !subscription_is_tag(s->type);
        follow_one(f, group, s);
    }
    if (!any) return;   /* as most groups */
    end_unseen(f, group);
    f->changed = true;
}

void filters_tidy(struct filters *f, int64_t keep_ms)
{
    int64_t now = tasks_wall_ms(f->tasks);
    LIST_EACH(&f->dead, node) {
        struct kept *k = LIST_OWNER(node, struct kept, in_dead);
        if (now - k->dead_ms < keep_ms) continue;
        log_info("filter.expired group=\"%.*s\" topic=\"%.*s\"", SLICE_ARG(k->group->name), SLICE_ARG(k->topic));
        forget(f, k);
        f->changed = true;
    }
    if (f->changed) saver_mark(&f->saver);
    f->changed = false;
}

const struct filter *filters_find(const struct filters *f, struct slice group, struct slice topic)
{
    const struct kept *k = find(f, group, topic);
    return k ? k->filter : NULL;
}

size_t filters_count(const struct filters *f) { return f->count; }
