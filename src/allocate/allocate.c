#include "allocate/allocate.h"

#include "base/buf.h"
#include "codec/md5.h"

#include <stdlib.h>

/* A run of neighbours; those in front have one more when it does not come out even. */
static void average(size_t members, size_t member, size_t queues, allocate_take *take, void *ctx)
{
    size_t share = queues / members, more = queues % members;
    size_t first = member * share + (member < more ? member : more);
    size_t count = share + (member < more);
    for (size_t i = 0; i < count; i++) take(ctx, first + i);
}

static void circle(size_t members, size_t member, size_t queues, allocate_take *take, void *ctx)
{
    for (size_t i = member; i < queues; i += members) take(ctx, i);
}

allocate_strategy *allocate_named(struct slice name)
{
    if (slice_eq(name, SLICE("AVG"))) return average;
    if (slice_eq(name, SLICE("AVG_BY_CIRCLE"))) return circle;
    return NULL;
}

/* --- by hash --- */

enum { PLACES = 10 };

struct ring_place {
    uint32_t hash;
    size_t client, order;
};

static uint32_t hash_of(struct slice text)
{
    uint8_t digest[MD5_BYTES];
    md5(text, digest);
    return get_be32(digest);
}

static int by_hash(const void *a, const void *b)
{
    const struct ring_place *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static struct ring_place *make_ring(const struct sharers *s)
{
    struct ring_place *ring = must_alloc(s->count * PLACES * sizeof *ring);
    struct buf key = BUF_EMPTY;
    for (size_t i = 0; i < s->count * PLACES; i++) {
        buf_clear(&key);
        buf_printf(&key, "%.*s-%zu", SLICE_ARG(s->clients[i / PLACES]), i % PLACES);
        ring[i] = (struct ring_place){hash_of(buf_slice(&key)), i / PLACES, i};
    }
    buf_done(&key);
    qsort(ring, s->count * PLACES, sizeof *ring, by_hash);
    return ring;
}

/* The first place at or behind the hash; of several with one hash the one that was made last. */
static size_t owner_of(const struct ring_place *ring, size_t count, uint32_t hash)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ring[middle].hash < hash) low = middle + 1;
        else high = middle;
    }
    if (low == count) low = 0;
    while (low + 1 < count && ring[low + 1].hash == ring[low].hash) low++;
    return ring[low].client;
}

void allocate_by_hash(const struct sharers *s, allocate_take *take, void *ctx)
{
    struct ring_place *ring = make_ring(s);
    struct buf text = BUF_EMPTY;
    for (size_t i = 0; i < s->queue_count; i++) {
        const struct message_queue *q = &s->queues[i];
        buf_clear(&text);
        buf_printf(&text, "MessageQueue [topic=%.*s, brokerName=%.*s, queueId=%d]", SLICE_ARG(q->topic), SLICE_ARG(q->broker), q->queue_id);
        if (owner_of(ring, s->count * PLACES, hash_of(buf_slice(&text))) == s->self) take(ctx, i);
    }
    buf_done(&text);
    free(ring);
}

/* --- by room --- */

static bool is_one_of(struct slice s, const struct slice *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (slice_eq(s, list[i])) return true;
    return false;
}

/* "room@broker" and nothing more. */
static bool in_rooms(struct slice broker, const struct slice *rooms, size_t room_count)
{
    struct slice room;
    if (!slice_split(&broker, '@', &room) || !broker.n) return false;
    return !memchr(broker.p, '@', broker.n) && is_one_of(room, rooms, room_count);
}

/* Passes on places in a part of the list by their places in the whole of it. */
struct part {
    size_t *places;
    size_t count;
    allocate_take *take;
    void *ctx;
};

static void take_part(void *ctx, size_t place)
{
    const struct part *p = ctx;
    p->take(p->ctx, p->places[place]);
}

void allocate_of_rooms(const struct sharers *s, const struct slice *rooms, size_t room_count, allocate_take *take, void *ctx)
{
    struct part p = {.places = must_alloc((s->queue_count + 1) * sizeof(size_t)), .take = take, .ctx = ctx};
    for (size_t i = 0; i < s->queue_count; i++)
        if (in_rooms(s->queues[i].broker, rooms, room_count)) p.places[p.count++] = i;
    size_t share = p.count / s->count;
    for (size_t i = 0; i < share; i++) take_part(&p, s->self * share + i);
    if (s->self < p.count % s->count) take_part(&p, s->count * share + s->self);
    free(p.places);
}

/* Queues of one room, shared by its clients, or by all when it has none. */
static void share_room(const struct sharers *s, struct slice room, allocate_strategy *inner, const struct slice *client_rooms,
                       const struct slice *queue_rooms, struct part *p)
{
    size_t clients = 0, self = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (!slice_eq(client_rooms[i], room)) continue;
        if (i == s->self) self = clients;
        clients++;
    }
    if (clients && !slice_eq(client_rooms[s->self], room)) return;
    p->count = 0;
    for (size_t i = 0; i < s->queue_count; i++)
        if (slice_eq(queue_rooms[i], room)) p->places[p->count++] = i;
    inner(clients ? clients : s->count, clients ? self : s->self, p->count, take_part, p);
}

static int by_text(const void *a, const void *b) { return slice_compare(*(const struct slice *)a, *(const struct slice *)b); }

void allocate_nearby(const struct sharers *s, allocate_strategy *inner, const struct slice *client_rooms, const struct slice *queue_rooms,
                     allocate_take *take, void *ctx)
{
    struct part p = {.places = must_alloc((s->queue_count + 1) * sizeof(size_t)), .take = take, .ctx = ctx};
    struct slice *rooms = must_alloc((s->queue_count + 1) * sizeof *rooms);
    for (size_t i = 0; i < s->queue_count; i++) rooms[i] = queue_rooms[i];
    if (s->queue_count) qsort(rooms, s->queue_count, sizeof *rooms, by_text);
    share_room(s, client_rooms[s->self], inner, client_rooms, queue_rooms, &p);   /* the own one first, as the original */
    for (size_t i = 0; i < s->queue_count; i++) {
        if (i && slice_eq(rooms[i], rooms[i - 1])) continue;
        if (!is_one_of(rooms[i], client_rooms, s->count)) share_room(s, rooms[i], inner, client_rooms, queue_rooms, &p);
    }
    free(rooms);
    free(p.places);
}
