#include "meta/topics.h"
#include "base/log.h"
#include "base/map.h"
#include "codec/lmq.h"
#include "meta/attributes.h"
#include "meta/names.h"

#include <stdio.h>
#include <stdlib.h>

#define FAQ "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."

/* Light topics all are alike but for their names: the last ones that were asked for. */
enum { LIGHT_TOPICS = 16 };

struct light_topics {
    size_t next;
    struct topic topics[LIGHT_TOPICS];
    uint8_t names[LIGHT_TOPICS][RETRY_TOPIC_NAME_MAX];
};

struct topics {
    struct light_topics *light;         /* NULL: there are none */
    struct map map;                     /* name -> struct topic */
    struct data_version version;
    struct saver saver;
    struct tasks *tasks;
    struct topics_options options;      /* its texts are gone */
    uint64_t made;                      /* topics that came into being */
    uint64_t saved;                     /* … of which so many are on disk */
    uint64_t saving;                    /* … or will be when `watch` is done; 0: it does not wait */
    struct saver_waiter watch;
};

/* topics.json */
struct topics_file {
    struct data_version version;
    BEAN_LIST(struct topic_config) topics;
};
static const struct bean_field file_rows[] = {
    {"dataVersion", offsetof(struct topics_file, version), &bean_part, &data_version_bean, false},
    {"topicConfigTable", offsetof(struct topics_file, topics), &bean_table, &topic_config_table, false},
};
static const struct bean file_bean = BEAN(struct topics_file, file_rows, NULL);

static void topic_free(void *p)
{
    struct topic *topic = p;
    arena_done(&topic->memory);
    free(topic);
}

/* Empty when it has none of that name. */
static struct slice attribute(const struct topic_config *config, struct slice key)
{
    for (size_t i = 0; i < config->attributes.count; i++)
        if (slice_eq(config->attributes.items[i].key, key)) return config->attributes.items[i].value;
    return SLICE("");
}

/* Puts a copy of the config into the table; the struct topic of that name stays the same. */
static struct topic *put(struct topics *t, const struct topic_config *config)
{
    struct topic *topic = map_get(&t->map, config->name);
    struct arena fresh = ARENA_EMPTY;
    struct topic_config copy;
    bean_copy(&topic_config_bean, config, &fresh, &copy);   /* before the old texts go: config may borrow from them */
    if (!topic) {
        topic = must_zero(sizeof *topic);
        topic->memory = ARENA_EMPTY;
        topic->closed = topic_name_is_closed(copy.name);
        topic->system = topic_name_is_system(copy.name);
        topic->made = ++t->made;
        map_put(&t->map, copy.name, topic);
    }
    arena_done(&topic->memory);
    topic->memory = fresh;
    topic->config = copy;
    topic->batches = slice_eq(attribute(&copy, SLICE("queue.type")), SLICE("BatchCQ"));
    return topic;
}

/* --- whether they are on disk --- */

static void watch(struct topics *t)
{
    if (t->saving || t->made == t->saved) return;
    t->saving = t->made;
    saver_wait(&t->saver, &t->watch);
}

static void watched(struct saver_waiter *w, err_t e)
{
    struct topics *t = LIST_OWNER(w, struct topics, watch);
    uint64_t saving = t->saving;
    t->saving = 0;
    if (e) {
        err_free(e);   /* logged by the saver, which tries again; watch() is called with the next that waits for it */
        return;
    }
    t->saved = saving;
    watch(t);
}

bool topics_is_saved(const struct topics *t, const struct topic *topic)
{
    return topic->made <= t->saved || saver_is_clean(&t->saver);
}

void topics_when_saved(struct topics *t, struct saver_waiter *w)
{
    watch(t);
    saver_wait(&t->saver, w);
}

static void changed(struct topics *t, const struct topic *topic)
{
    topics_touch(t);
    if (t->options.changed) t->options.changed(t->options.changed_ctx, topic);
}

/* --- the file --- */

static void encode_file(void *ctx, struct buf *out)
{
    struct topics *t = ctx;
    struct arena arena = ARENA_EMPTY;
    struct topic_table table;
    topics_table(t, &arena, &table);
    struct topics_file file = {.version = t->version, .topics = {table.topics.items, table.topics.count}};
    bean_encode(&file_bean, &file, JSON_PRETTY, out);
    arena_done(&arena);
}

static int32_t within(int32_t queues) { return queues < 0 ? 0 : queues > TOPIC_QUEUES_MAX ? TOPIC_QUEUES_MAX : queues; }

/* What a file says is limited like what a request says. */
static void put_from_file(struct topics *t, const struct topic_config *config)
{
    struct topic_config c = *config;
    c.read_queues = within(c.read_queues);
    c.write_queues = within(c.write_queues);
    if (!c.name.n || c.name.n > RETRY_TOPIC_NAME_MAX) {
        log_warn("topic.left_out topic=\"%.*s\" why=\"a name of %zu bytes\"", SLICE_ARG(c.name), c.name.n);
        return;
    }
    if (c.read_queues != config->read_queues || c.write_queues != config->write_queues)
        log_warn("topic.limited topic=\"%.*s\" read=%d write=%d", SLICE_ARG(c.name), config->read_queues, config->write_queues);
    put(t, &c);
}

static err_t decode_file(void *ctx, struct slice text)
{
    struct topics *t = ctx;
    struct arena arena = ARENA_EMPTY;
    struct topics_file file;
    arena.limit = (size_t)1 << 30;   /* our own file */
    err_t e = bean_decode(&file_bean, text, &arena, "topics", &file);
    for (size_t i = 0; !e && i < file.topics.count; i++) put_from_file(t, &file.topics.items[i]);
    if (!e) t->version = file.version;
    arena_done(&arena);
    return e;
}

/* --- system topics --- */

static void make_system(struct topics *t, struct slice name, int32_t queues, int32_t perm)
{
    struct topic_config config = {.name = name, .read_queues = queues, .write_queues = queues, .perm = perm};
    struct topic *topic = map_get(&t->map, name);
    if (!topic) topic = put(t, &config);
    topic->system = true;
}

/* prefix + name + suffix */
static void make_named(struct topics *t, const char *prefix, struct slice name, const char *suffix, int32_t queues, int32_t perm)
{
    struct buf full = BUF_EMPTY;
    buf_printf(&full, "%s%.*s%s", prefix, SLICE_ARG(name), suffix);
    make_system(t, buf_slice(&full), queues, perm);
    buf_done(&full);
}

static void make_system_topics(struct topics *t)
{
    enum { RW = PERM_READ | PERM_WRITE };
    const struct topics_options *o = &t->options;
    make_system(t, SLICE("SELF_TEST_TOPIC"), 1, RW);
    if (o->auto_create) make_system(t, SLICE("TBW102"), o->default_queues, RW | PERM_INHERIT);
    make_system(t, SLICE("BenchmarkTest"), 1024, RW);
    make_system(t, o->cluster, 16, PERM_INHERIT | (o->cluster_topic ? RW : 0));
    make_system(t, o->broker, 1, PERM_INHERIT | (o->broker_topic ? RW : 0));
    make_system(t, SLICE("OFFSET_MOVED_EVENT"), 1, RW);
    make_system(t, SLICE("SCHEDULE_TOPIC_XXXX"), 18, RW);
    if (o->trace) make_system(t, o->trace_name, 1, RW);
    make_named(t, "", o->cluster, "_REPLY_TOPIC", 1, RW);
    make_named(t, "rmq_sys_REVIVE_LOG_", o->cluster, "", o->revive_queues, RW);
    make_named(t, "rmq_sys_SYNC_BROKER_MEMBER_", o->broker, "", 1, PERM_INHERIT);
    make_system(t, SLICE("RMQ_SYS_TRANS_HALF_TOPIC"), 1, RW);
    make_system(t, SLICE("RMQ_SYS_TRANS_OP_HALF_TOPIC"), 1, RW);
    if (o->timer) make_system(t, SLICE("rmq_sys_wheel_timer"), 1, RW);
}

/* --- life --- */

static void topics_free(struct topics *t)
{
    map_done_with(&t->map, topic_free);
    free(t->light);
    free(t);
}

err_t topics_open(const struct topics_options *options, struct fs *fs, struct tasks *tasks, struct topics **out)
{
    struct topics *t = must_zero(sizeof *t);
    t->tasks = tasks;
    t->options = *options;
    if (options->lmq) t->light = must_zero(sizeof *t->light);
    t->version.timestamp = tasks_wall_ms(tasks);
    char path[4096];
    bool found;
    snprintf(path, sizeof path, "%s/topics.json", options->folder);
    err_t e = fs_make_durable_folder(fs, options->folder);
    if (!e) e = saver_load(fs, path, decode_file, t, &found);
    if (e) {
        topics_free(t);
        return err_in(e, "load the topics");
    }
    saver_init(&t->saver, fs, tasks, path, encode_file, t);
    make_system_topics(t);
    t->saved = t->made;   /* each start makes the system's own again */
    t->watch.done = watched;
    if (!found) saver_mark(&t->saver);
    t->options.folder = NULL;
    *out = t;
    return NULL;
}

err_t topics_close(struct topics *t)
{
    if (!t) return NULL;
    err_t e = saver_done(&t->saver);
    topics_free(t);
    return e;
}

/* --- use --- */

bool topic_is_compacted(const struct topic *topic)
{
    for (size_t i = 0; i < topic->config.attributes.count; i++) {
        const struct pair *p = &topic->config.attributes.items[i];
        if (slice_eq(p->key, SLICE("cleanup.policy"))) return slice_eq(p->value, SLICE("COMPACTION"));
    }
    return false;
}

static const struct topic *find_light(struct light_topics *l, struct slice name)
{
    if (!name_is_lmq(name) || name.n > RETRY_TOPIC_NAME_MAX) return NULL;
    for (size_t i = 0; i < LIGHT_TOPICS; i++)
        if (slice_eq(l->topics[i].config.name, name)) return &l->topics[i];
    size_t at = l->next++ % LIGHT_TOPICS;
    memcpy(l->names[at], name.p, name.n);
    l->topics[at] = (struct topic){.config = {.read_queues = 1, .write_queues = 1, .perm = PERM_READ | PERM_WRITE}};
    l->topics[at].config.name = slice_of(l->names[at], name.n);
    return &l->topics[at];
}

const struct topic *topics_find(const struct topics *t, struct slice name)
{
    const struct topic *topic = map_get(&t->map, name);
    return topic || !t->light ? topic : find_light(t->light, name);
}

static err_t not_found(struct slice name)
{
    return err_new(ERR_TOPIC_NOT_FOUND, "topic[%.*s] not exist, apply first please!" FAQ, SLICE_ARG(name));
}

err_t topics_create_on_send(struct topics *t, struct slice name, struct slice default_topic, int32_t queues, int32_t sys_flag,
                            const struct topic **out)
{
    const struct topic *existing = topics_find(t, name);
    const struct topic *model = topics_find(t, default_topic);
    if (existing) {
        *out = existing;
        return NULL;
    }
    if (!model) return not_found(name);
    int32_t perm = model->config.perm;
    if (!t->options.auto_create && slice_eq(default_topic, SLICE("TBW102"))) perm &= ~PERM_INHERIT;
    if (!(perm & PERM_INHERIT)) return not_found(name);
    if (queues > model->config.write_queues) queues = model->config.write_queues;
    if (queues < 0) queues = 0;
    struct topic_config config = {.name = name, .read_queues = queues, .write_queues = queues, .perm = perm & ~PERM_INHERIT,
                                  .sys_flag = sys_flag, .filter = model->config.filter};
    struct topic *topic = put(t, &config);
    log_info("topic.created topic=\"%.*s\" queues=%d after=\"%.*s\"", SLICE_ARG(name), queues, SLICE_ARG(default_topic));
    changed(t, topic);
    *out = topic;
    return NULL;
}

const struct topic *topics_ensure(struct topics *t, struct slice name, int32_t queues, int32_t perm, bool order, int32_t sys_flag)
{
    struct topic *topic = map_get(&t->map, name);
    if (topic && topic->config.order == order) return topic;
    if (topic) {
        topic->config.order = order;
    } else {
        struct topic_config config = {.name = name, .read_queues = queues, .write_queues = queues, .perm = perm,
                                      .sys_flag = sys_flag, .order = order};
        topic = put(t, &config);
        log_info("topic.created topic=\"%.*s\" queues=%d", SLICE_ARG(name), queues);
    }
    changed(t, topic);
    return topic;
}

bool topics_is_system(const struct topics *t, struct slice name)
{
    const struct topic *topic = topics_find(t, name);
    return topic_name_is_system(name) || (topic && topic->system);
}

err_t topics_check_name(const struct topics *t, struct slice name)
{
    err_t e = topic_name_check(name);
    if (!e && t->options.check_system_names && topics_is_system(t, name))
        e = err_new(ERR_INVALID, "The topic[%.*s] is conflict with system topic.", SLICE_ARG(name));
    return e;
}

static bool wants_mixed(const struct topic_config *wanted)
{
    return slice_eq(topic_attribute(wanted, SLICE("+message.type")), SLICE("MIXED"));
}

/* The attributes that the topic will have. */
static err_t edit_attributes(const struct topic *now, struct topic_config *config, struct arena *arena)
{
    struct attributes current = {{NULL, 0}}, result;
    struct attributes edits = {{config->attributes.items, config->attributes.count}};
    if (now) current.pairs.items = now->config.attributes.items, current.pairs.count = now->config.attributes.count;
    err_t e = attributes_edit(ATTRIBUTES_OF_TOPIC, now ? &current : NULL, &edits, arena, &result);
    if (e) return e;
    config->attributes.items = result.pairs.items;
    config->attributes.count = result.pairs.count;
    return NULL;
}

/* Everybody who asks how far a topic is walks over its queues. */
static err_t check_queues(const struct topic_config *wanted)
{
    int32_t less = wanted->read_queues < wanted->write_queues ? wanted->read_queues : wanted->write_queues;
    int32_t more = wanted->read_queues > wanted->write_queues ? wanted->read_queues : wanted->write_queues;
    if (less >= 0 && more <= TOPIC_QUEUES_MAX) return NULL;
    return err_new(ERR_INVALID, "a topic has 0 to %d queues, not %d for reading and %d for writing", TOPIC_QUEUES_MAX,
                   wanted->read_queues, wanted->write_queues);
}

err_t topics_set(struct topics *t, const struct topic_config *wanted, bool *out_changed)
{
    *out_changed = false;
    if (t->light && name_is_lmq(wanted->name)) return NULL;
    err_t e = topics_check_name(t, wanted->name);
    if (!e) e = check_queues(wanted);
    if (!e && wants_mixed(wanted) && !t->options.allow_mixed) e = err_new(ERR_INVALID, "MIXED message type is not supported.");
    if (e) return e;
    struct arena arena = ARENA_EMPTY;
    struct topic *topic = map_get(&t->map, wanted->name);
    struct topic_config config = *wanted;
    e = edit_attributes(topic, &config, &arena);
    if (!e) {
        *out_changed = !topic || !topic_config_eq(&topic->config, &config);
        if (*out_changed) {
            topic = put(t, &config);   /* the texts of `wanted` may be gone now: they may have been the topic's own */
            log_info("topic.set topic=\"%.*s\" read=%d write=%d perm=%d", SLICE_ARG(topic->config.name), config.read_queues,
                     config.write_queues, config.perm);
            changed(t, topic);
        }
    }
    arena_done(&arena);
    return e;
}

void topics_remove(struct topics *t, struct slice name)
{
    struct topic *topic = map_remove(&t->map, name);
    if (!topic) return;
    log_info("topic.deleted topic=\"%.*s\"", SLICE_ARG(topic->config.name));
    topic_free(topic);
    changed(t, NULL);
}

err_t topics_delete(struct topics *t, struct slice name)
{
    err_t e = topics_check_name(t, name);
    if (!e) topics_remove(t, name);
    return e;
}

void topics_set_auto_create(struct topics *t, bool on) { t->options.auto_create = on; }

void topics_touch(struct topics *t)
{
    data_version_next(&t->version, tasks_wall_ms(t->tasks));
    saver_mark(&t->saver);
    watch(t);
}

size_t topics_count(const struct topics *t) { return t->map.count; }

const struct topic *topics_next(const struct topics *t, size_t *at)
{
    struct map_entry *e = map_next(&t->map, at);
    return e ? e->value : NULL;
}

struct data_version topics_version(const struct topics *t) { return t->version; }

void topics_table(const struct topics *t, struct arena *arena, struct topic_table *out)
{
    arena->limit = SIZE_MAX;   /* our own data, however much */
    *out = (struct topic_table){.version = arena_take(arena, sizeof *out->version)};
    *out->version = t->version;
    out->topics.items = arena_take(arena, (t->map.count + 1) * sizeof *out->topics.items);
    const struct topic *topic;
    for (size_t at = 0; (topic = topics_next(t, &at));) out->topics.items[out->topics.count++] = topic->config;
}

