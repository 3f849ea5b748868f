#include "broker/disk/cold_control.h"

#include "broker/handlers.h"

#include "base/json.h"
#include "base/log.h"
#include "base/properties_file.h"
#include "meta/names.h"

#include <stdlib.h>

enum { ROUND_MS = 5000, REMEMBERED_MS = 60000, HOLD_MS = 3000, LIMITS_MAX = 10000, GROUP_BYTES_MAX = 255 };

struct cold_group {
    int64_t bytes;              /* in this round */
    int64_t begun_ms, last_ms;  /* wall_ms of the first read and the last one */
    int64_t last_mono_ms;
    bool told;                  /* that it is over its limit, in this round */
};

void cold_control_init(struct cold_control *c)
{
    *c = (struct cold_control){.groups = MAP_EMPTY, .limits = MAP_EMPTY};
    list_init(&c->held);
}

void cold_control_done(struct cold_control *c)
{
    map_done_with(&c->groups, free);
    map_done_with(&c->limits, free);
}

/* --- rounds --- */

/* Looked at when somebody asks: a broker at rest has no timer for it. */
static void begin_round(struct broker *b)
{
    struct cold_control *c = &b->cold;
    int64_t now = tasks_mono_ms(b->tasks);
    struct map_entry *e;
    if (now - c->round_ms < ROUND_MS) return;
    c->round_ms = now;
    c->total = 0;
    for (size_t at = 0; (e = map_next(&c->groups, &at));) {
        struct cold_group *g = e->value;
        g->bytes = 0;
        g->told = false;
        if (now - g->last_mono_ms < REMEMBERED_MS) continue;
        map_remove(&c->groups, e->key);
        free(g);
    }
}

void cold_control_note(struct broker *b, struct slice group, int64_t bytes)
{
    if (!b->cfg->store.cold_control || bytes <= 0 || group_name_is_system(group)) return;
    begin_round(b);
    struct cold_group *g = map_get(&b->cold.groups, group);
    if (!g) {
        g = must_zero(sizeof *g);
        g->begun_ms = tasks_wall_ms(b->tasks);
        map_put(&b->cold.groups, group, g);
    }
    g->bytes += bytes;
    g->last_ms = tasks_wall_ms(b->tasks);
    g->last_mono_ms = tasks_mono_ms(b->tasks);
    b->cold.total += bytes;
}

static int64_t limit_of(const struct broker *b, struct slice group)
{
    const int64_t *limit = map_get(&b->cold.limits, group);
    return limit ? *limit : b->cfg->broker.cold_group_bytes;
}

bool cold_control_is_over(struct broker *b, struct slice group)
{
    if (!b->cfg->store.cold_control) return false;
    begin_round(b);
    struct cold_group *g = map_get(&b->cold.groups, group);
    if (!g || (g->bytes < limit_of(b, group) && b->cold.total < b->cfg->broker.cold_total_bytes)) return false;
    if (!g->told)
        log_info("cold.held_back group=\"%.*s\" bytes=%lld limit=%lld of_all=%lld limit_of_all=%lld", SLICE_ARG(group), (long long)g->bytes,
                 (long long)limit_of(b, group), (long long)b->cold.total, (long long)b->cfg->broker.cold_total_bytes);
    g->told = true;
    return true;
}

/* --- who waits for its turn --- */

struct cold_hold {
    struct list_node node;
    struct timer timer;
    struct broker *broker;
    struct call *call;
    struct frame *frame;
};

static void hold_free(struct cold_hold *h)
{
    list_remove(&h->node);
    free(h->frame);
    free(h);
}

static void on_turn(void *hold)
{
    struct cold_hold *h = hold;
    struct broker *b = h->broker;
    b->may_read_cold = true;
    if (rpc_conn_open(h->call->conn)) broker_dispatch(b, h->call);
    else call_drop(h->call);
    b->may_read_cold = false;
    hold_free(h);
}

void cold_control_hold(struct broker *b, struct call *call)
{
    struct cold_hold *h = must_zero(sizeof *h);
    h->broker = b;
    h->call = call;
    h->frame = frame_copy(call->frame);
    call->frame = h->frame;
    call->body = h->frame->body;
    list_add(&b->cold.held, &h->node);
    timer_init(&h->timer, on_turn, h);
    timer_start(b->tasks, &h->timer, HOLD_MS);
}

void cold_control_end(struct broker *b)
{
    while (!list_empty(&b->cold.held)) {
        struct cold_hold *h = LIST_OWNER(list_first(&b->cold.held), struct cold_hold, node);
        timer_stop(b->tasks, &h->timer);
        call_drop(h->call);
        hold_free(h);
    }
}

/* --- limits --- */

static err_t read_limits(struct slice lines, struct arena *arena, struct map *out)
{
    struct properties p;
    struct slice group, value;
    properties_file_begin(&p, lines);
    while (properties_file_next(&p, arena, &group, &value)) {
        int64_t *limit = arena_take(arena, sizeof *limit);
        if (!group.n || group.n > GROUP_BYTES_MAX || !slice_to_i64(slice_trim(value), limit) || *limit < 0)
            return err_new(ERR_INVALID, "line %d: a group and its bytes were expected, as group=3145728", p.line);
        map_put(out, group, limit);
    }
    return NULL;
}

static void set_limit(struct broker *b, struct slice group, int64_t bytes)
{
    int64_t *limit = map_get(&b->cold.limits, group);
    if (!limit) {
        limit = must_alloc(sizeof *limit);
        map_put(&b->cold.limits, group, limit);
    }
    *limit = bytes;
    log_info("cold.limit group=\"%.*s\" bytes=%lld", SLICE_ARG(group), (long long)bytes);
}

err_t cold_control_set_limits(struct broker *b, struct slice lines)
{
    struct arena arena = ARENA_EMPTY;
    struct map wanted = MAP_EMPTY;
    struct map_entry *m;
    err_t e = read_limits(lines, &arena, &wanted);
    if (!e && b->cold.limits.count + wanted.count > LIMITS_MAX) e = err_new(ERR_INVALID, "there can be limits of %d groups", LIMITS_MAX);
    if (!e)
        for (size_t at = 0; (m = map_next(&wanted, &at));) set_limit(b, m->key, *(const int64_t *)m->value);
    map_done(&wanted);
    arena_done(&arena);
    return e;
}

void cold_control_remove_limit(struct broker *b, struct slice group)
{
    int64_t *limit = map_remove(&b->cold.limits, group);
    if (limit) log_info("cold.limit_removed group=\"%.*s\"", SLICE_ARG(group));
    free(limit);
}

/* --- what there is --- */

static void put_i64(struct json_out *w, struct slice key, int64_t value)
{
    json_put_key(w, key);
    json_put_i64(w, value);
}

static void put_groups(struct json_out *w, const struct cold_control *c)
{
    struct map_entry *e;
    json_put_key(w, SLICE("runtimeTable"));
    json_put_object(w);
    for (size_t at = 0; (e = map_next(&c->groups, &at));) {
        const struct cold_group *g = e->value;
        json_put_key(w, e->key);
        json_put_object(w);
        put_i64(w, SLICE("coldAcc"), g->bytes);
        put_i64(w, SLICE("createTimeMills"), g->begun_ms);
        put_i64(w, SLICE("lastColdReadTimeMills"), g->last_ms);
        json_put_object_end(w);
    }
    json_put_object_end(w);
}

void cold_control_describe(struct broker *b, struct buf *out)
{
    struct json_out w;
    struct map_entry *e;
    begin_round(b);
    json_out_init(&w, out, JSON_RAW);
    json_put_object(&w);
    put_groups(&w, &b->cold);
    json_put_key(&w, SLICE("configTable"));
    json_put_object(&w);
    for (size_t at = 0; (e = map_next(&b->cold.limits, &at));) put_i64(&w, e->key, *(const int64_t *)e->value);
    json_put_object_end(&w);
    put_i64(&w, SLICE("cgColdReadThreshold"), b->cfg->broker.cold_group_bytes);
    put_i64(&w, SLICE("globalColdReadThreshold"), b->cfg->broker.cold_total_bytes);
    put_i64(&w, SLICE("globalAcc"), b->cold.total);
    json_put_object_end(&w);
}
