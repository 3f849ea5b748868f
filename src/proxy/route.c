/* A route as the proxy uses it: brokers that can be reached, queues in the order of their names. */
#include "proxy/state.h"

#include <stdlib.h>

struct route *route_ref(struct route *r)
{
    r->refs++;
    return r;
}

void route_unref(struct route *r)
{
    if (!r || --r->refs) return;
    arena_done(&r->arena);
    free(r);
}

static const struct route_broker *find_addresses(const struct topic_route *route, struct slice name)
{
    for (size_t i = 0; i < route->brokers.count; i++)
        if (slice_eq(route->brokers.items[i].name, name)) return &route->brokers.items[i];
    return NULL;
}

/* The master's, or that of the smallest id. */
static struct slice main_address(const struct route_broker *b, bool *has_master)
{
    const struct id_text *best = NULL;
    for (size_t i = 0; b && i < b->addresses.count; i++)
        if (!best || b->addresses.items[i].id < best->id) best = &b->addresses.items[i];
    *has_master = best && best->id == 0;
    return best ? best->text : (struct slice){NULL, 0};
}

static bool add_parts(struct proxy *p, struct route *r)
{
    r->parts = arena_take(&r->arena, (r->data.queues.count + 1) * sizeof *r->parts);
    if (!r->parts) return false;
    for (size_t i = 0; i < r->data.queues.count; i++) {
        struct route_part *part = &r->parts[r->part_count++];
        part->queues = &r->data.queues.items[i];
        part->addresses = find_addresses(&r->data, part->queues->broker);
        struct slice address = main_address(part->addresses, &part->has_master);
        if (address.n) part->broker = brokers_put(&p->brokers, part->queues->broker, address);
    }
    return true;
}

static int by_broker_and_id(const void *a, const void *b)
{
    const struct write_queue *x = a, *y = b;
    int names = slice_compare(x->part->queues->broker, y->part->queues->broker);
    return names ? names : (x->queue_id > y->queue_id) - (x->queue_id < y->queue_id);
}

/* Every producer must come to the same queue for a message group: so they stand in one order. */
static bool add_writable(struct route *r)
{
    size_t most = 0;
    for (size_t i = 0; i < r->part_count; i++) most += r->parts[i].queues->write_queues > 0 ? (size_t)r->parts[i].queues->write_queues : 0;
    r->writable = arena_take(&r->arena, (most + 1) * sizeof *r->writable);
    if (!r->writable) return false;
    for (size_t i = 0; i < r->part_count; i++) {
        const struct route_part *part = &r->parts[i];
        if (!(part->queues->perm & PERM_WRITE) || !part->has_master) continue;
        for (int32_t id = 0; id < part->queues->write_queues; id++) r->writable[r->writable_count++] = (struct write_queue){part, id};
    }
    if (r->writable_count) qsort(r->writable, r->writable_count, sizeof *r->writable, by_broker_and_id);
    return true;
}

err_t route_make(struct proxy *p, struct slice topic, struct slice body, struct route **out)
{
    struct route *r = must_zero(sizeof *r);
    r->refs = 1;
    r->arena = ARENA_EMPTY;
    err_t e = topic_route_decode(arena_copy(&r->arena, body), &r->arena, &r->data);
    if (!e && (!r->data.queues.count || !r->data.brokers.count))
        e = err_new(ERR_TOPIC_NOT_FOUND, "No topic route info in name server for the topic: %.*s", SLICE_ARG(topic));
    if (!e && !(add_parts(p, r) && add_writable(r))) e = err_new(ERR_OUT_OF_MEMORY, NULL);
    if (e) {
        route_unref(r);
        return e;
    }
    r->next_write = r->writable_count ? random_below(&p->random, (uint32_t)r->writable_count) : 0;
    r->next_read = random_below(&p->random, (uint32_t)r->part_count);
    *out = r;
    return NULL;
}
