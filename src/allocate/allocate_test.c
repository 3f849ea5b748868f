#include "allocate/allocate.h"

#include "codec/bean.h"
#include "kit/test.h"

struct vector {
    struct slice strategy, current;
    BEAN_LIST(struct slice) clients, queues, result, config, rooms;
};

static const struct bean_field rows[] = {
    {"strategy", offsetof(struct vector, strategy), &bean_text, NULL, false},
    {"current", offsetof(struct vector, current), &bean_text, NULL, false},
    {"clients", offsetof(struct vector, clients), &bean_texts, NULL, false},
    {"queues", offsetof(struct vector, queues), &bean_texts, NULL, false},
    {"result", offsetof(struct vector, result), &bean_texts, NULL, false},
    {"config", offsetof(struct vector, config), &bean_texts, NULL, false},
    {"rooms", offsetof(struct vector, rooms), &bean_texts, NULL, false},
};
static const struct bean vector_bean = BEAN(struct vector, rows, NULL);

struct taking {
    const struct vector *v;
    size_t taken;
};

static void take(void *ctx, size_t place)
{
    struct taking *t = ctx;
    EXPECT(t->taken < t->v->result.count && place < t->v->queues.count);
    EXPECT(slice_eq(t->v->queues.items[place], t->v->result.items[t->taken++]));
}

/* Whoever is no member is asked for by nobody. */
static bool place_of(const struct vector *v, size_t *out)
{
    for (*out = 0; *out < v->clients.count; ++*out)
        if (slice_eq(v->clients.items[*out], v->current)) return true;
    return false;
}

/* "topic@broker@id", where the broker may hold one more "@". */
static struct message_queue queue_of(struct slice text)
{
    struct message_queue q = {.queue_id = 0};
    size_t first = (size_t)((uint8_t *)memchr(text.p, '@', text.n) - text.p), last = text.n;
    while (text.p[last - 1] != '@') last--;
    q.topic = slice_of(text.p, first);
    q.broker = slice_of(text.p + first + 1, last - first - 2);
    EXPECT(slice_to_i32(slice_skip(text, last), &q.queue_id));
    return q;
}

/* "hz-…" is in the room "hz". */
static struct slice room_of(struct slice name)
{
    struct slice room;
    EXPECT(slice_split(&name, '-', &room));
    return room;
}

static void nearby(const struct sharers *s, struct slice inner, struct taking *t)
{
    struct slice client_rooms[64], queue_rooms[64];
    for (size_t i = 0; i < s->count; i++) client_rooms[i] = room_of(s->clients[i]);
    for (size_t i = 0; i < s->queue_count; i++) queue_rooms[i] = room_of(s->queues[i].broker);
    allocate_nearby(s, allocate_named(inner), client_rooms, queue_rooms, take, t);
}

/* False: the strategy is no more than a list that was configured. */
static bool share(const struct vector *v, size_t self, struct taking *t)
{
    struct message_queue queues[64];
    EXPECT(v->queues.count <= 64 && v->clients.count <= 64);
    for (size_t i = 0; i < v->queues.count; i++) queues[i] = queue_of(v->queues.items[i]);
    struct sharers s = {v->clients.items, v->clients.count, self, queues, v->queues.count};
    struct slice near_by = SLICE("MACHINE_ROOM_NEARBY-");
    if (allocate_named(v->strategy)) allocate_named(v->strategy)(s.count, self, s.queue_count, take, t);
    else if (slice_eq(v->strategy, SLICE("CONSISTENT_HASH"))) allocate_by_hash(&s, take, t);
    else if (slice_eq(v->strategy, SLICE("MACHINE_ROOM"))) allocate_of_rooms(&s, v->rooms.items, v->rooms.count, take, t);
    else if (slice_starts(v->strategy, near_by)) nearby(&s, slice_skip(v->strategy, near_by.n), t);
    else return false;
    return true;
}

static bool check(struct slice line)
{
    struct arena arena = ARENA_EMPTY;
    struct vector v;
    size_t place;
    bool checked = false;
    EXPECT_OK(bean_decode(&vector_bean, line, &arena, "vector", &v));
    struct taking t = {&v, 0};
    if (place_of(&v, &place)) checked = share(&v, place, &t);
    if (checked) EXPECT_EQ(t.taken, v.result.count);
    arena_done(&arena);
    return checked;
}

TEST(allocate, queues_are_shared_as_the_official_strategies_share_them)
{
    struct buf file = test_fixture("vectors/allocate.jsonl");
    struct slice rest = buf_slice(&file), line;
    int checked = 0;
    while (slice_split(&rest, '\n', &line)) checked += line.n && check(line);
    EXPECT(checked >= 200);
    buf_done(&file);
}

TEST(allocate, strategies_that_only_clients_know_have_no_name_here)
{
    EXPECT(!allocate_named(SLICE("CONSISTENT_HASH")));
    EXPECT(!allocate_named(SLICE("")));
}
