/* Lite topics that got no message for as long as their topic says (lite.topic.expiration) are deleted. They are looked through in slices, and
 * where the time of a last message is not in memory a worker reads it. Facts: docs/protocol/lite.md */
#include "broker/lite/lite_state.h"

#include "base/log.h"

#include <stdlib.h>

enum { SLICE_QUEUES = 256 };

struct lite_cleaning {
    struct lite *lite;
    struct disk_wait disk;
    struct timer more;
    struct buf names;                /* of all that may be over, each with a 0 behind it */
    size_t at;
    size_t deleted;
};

/* Minutes; <= 0: for ever. */
static int32_t ttl_of(const struct broker *b, struct slice parent)
{
    const struct topic *topic = lite_is_parent(b, parent) ? topics_find(b->topics, parent) : NULL;
    return topic ? lite_ttl_minutes(topic) : -1;
}

void lite_delete_queue(struct lite *l, struct slice parent, struct slice queue)
{
    struct broker *b = l->broker;
    const struct group *group;
    for (size_t at = 0; (group = groups_next(b->groups, &at));) {
        if (!slice_eq(group_config_attribute(&group->config, SLICE("lite.bind.topic")), parent)) continue;
        offsets_remove(b->offsets, queue, group->config.name);
        order_clear(&l->order, queue, group->config.name, 0);
    }
    offsets_remove(b->offsets, queue, SLICE("TOOLS_CONSUMER"));
    lite_forget_queue(l, queue);
    store_delete_topic(b->store, queue);
    hold_drop_topic(&b->hold, queue);
}

static void gather(void *ctx, struct slice queue)
{
    struct lite_cleaning *c = ctx;
    struct slice parent, name;
    if (!lite_queue_parse(queue, &parent, &name) || ttl_of(c->lite->broker, parent) <= 0) return;
    buf_put_slice(&c->names, queue);
    buf_put_u8(&c->names, 0);
}

static void end(struct lite_cleaning *c)
{
    if (c->deleted) log_info("lite.expired queues=%zu", c->deleted);
    timer_stop(c->lite->broker->tasks, &c->more);
    c->lite->cleaning = NULL;
    buf_done(&c->names);
    free(c);
}

/* False: not in memory. */
static bool look_at(struct lite_cleaning *c, struct slice queue)
{
    struct broker *b = c->lite->broker;
    struct slice parent, name;
    int64_t max = store_max_offset(b->store, queue, 0);
    int32_t minutes = lite_queue_parse(queue, &parent, &name) ? ttl_of(b, parent) : -1;
    if (max <= 0 || minutes <= 0) return true;
    int64_t last_ms = store_time_of(b->store, queue, 0, max - 1);
    if (store_is_cold(b->store)) return false;
    int64_t silent_ms = tasks_wall_ms(b->tasks) - last_ms;
    if (silent_ms < b->cfg->broker.lite_min_ttl_ms || silent_ms <= (int64_t)minutes * 60000) return true;
    log_debug("lite.expired queue=\"%.*s\" silent_ms=%lld", SLICE_ARG(queue), (long long)silent_ms);
    lite_delete_queue(c->lite, parent, queue);
    c->deleted++;
    return true;
}

static void go_on(void *ctx)
{
    struct lite_cleaning *c = ctx;
    for (int i = 0; i < SLICE_QUEUES; i++) {
        struct slice rest = slice_skip(buf_slice(&c->names), c->at), queue;
        if (!rest.n || !slice_split(&rest, 0, &queue)) {
            end(c);
            return;
        }
        if (!look_at(c, queue)) {
            disk_wait(c->lite->broker, &c->disk);
            return;
        }
        c->at += queue.n + 1;
    }
    timer_start(c->lite->broker->tasks, &c->more, 0);
}

static void on_fetched(struct disk_wait *w, bool stopping)
{
    struct lite_cleaning *c = LIST_OWNER(w, struct lite_cleaning, disk);
    if (stopping || c->lite->stopped) end(c);
    else go_on(c);
}

/* Right after a start nothing is deleted: what producers send again is not known yet. */
void lite_clean(void *ctx)
{
    struct lite *l = ctx;
    struct broker *b = l->broker;
    timer_start(b->tasks, &l->clean, b->cfg->broker.lite_clean_ms);
    if (l->cleaning || tasks_mono_ms(b->tasks) - l->started_ms < b->cfg->broker.lite_min_ttl_ms) return;
    struct lite_cleaning *c = must_zero(sizeof *c);
    c->lite = l;
    c->names = BUF_EMPTY;
    c->disk.go_on = on_fetched;
    timer_init(&c->more, go_on, c);
    l->cleaning = c;
    store_each_topic(b->store, gather, c);
    go_on(c);
}

/* One that waits for the disk ends with disk_end(). */
void lite_clean_end(struct lite *l)
{
    if (l->cleaning && l->cleaning->more.armed) end(l->cleaning);
}
