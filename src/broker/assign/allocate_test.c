#include "broker/assign/allocate.h"

#include "codec/bean.h"
#include "kit/test.h"

struct vector {
    struct slice strategy, current;
    BEAN_LIST(struct slice) clients, queues, result;
};

static const struct bean_field rows[] = {
    {"strategy", offsetof(struct vector, strategy), &bean_text, NULL, false},
    {"current", offsetof(struct vector, current), &bean_text, NULL, false},
    {"clients", offsetof(struct vector, clients), &bean_texts, NULL, false},
    {"queues", offsetof(struct vector, queues), &bean_texts, NULL, false},
    {"result", offsetof(struct vector, result), &bean_texts, NULL, false},
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

static bool check(struct slice line)
{
    struct arena arena = ARENA_EMPTY;
    struct vector v;
    size_t place;
    EXPECT_OK(bean_decode(&vector_bean, line, &arena, "vector", &v));
    allocate_strategy *strategy = allocate_named(v.strategy);
    bool checked = strategy && place_of(&v, &place);
    if (checked) {
        struct taking t = {&v, 0};
        strategy(v.clients.count, place, v.queues.count, take, &t);
        EXPECT_EQ(t.taken, v.result.count);
    }
    arena_done(&arena);
    return checked;
}

TEST(allocate, queues_are_shared_as_the_official_strategies_share_them)
{
    struct buf file = test_fixture("vectors/allocate.jsonl");
    struct slice rest = buf_slice(&file), line;
    int checked = 0;
    while (slice_split(&rest, '\n', &line)) checked += line.n && check(line);
    EXPECT(checked >= 70);
    buf_done(&file);
}

TEST(allocate, strategies_that_only_clients_know_have_no_name_here)
{
    EXPECT(!allocate_named(SLICE("CONSISTENT_HASH")));
    EXPECT(!allocate_named(SLICE("")));
}
