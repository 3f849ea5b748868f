#include "kit/test.h"

#include "broker/pop/leases.h"
#include "os/random.h"

#include <stdlib.h>

static const struct slice own = {(const uint8_t *)"broker-a", 8};

/* As the original wrote them. */
static const char point_text[] = "{\"bm\":0,\"bn\":\"broker-a\",\"c\":\"GroupPop\",\"d\":[0,1,2,3],\"it\":3600000,\"n\":4,\"pt\":1795994463795,\"q\":0,"
                                 "\"reviveTime\":1795998063795,\"ro\":0,\"so\":0,\"sp\":false,\"t\":\"TopicPop\"}";
static const char ack_text[] = "{\"ao\":1,\"bn\":\"broker-a\",\"c\":\"GroupPop\",\"pt\":1795994463795,\"q\":0,\"so\":0,\"t\":\"TopicPop\"}";

static struct pop_record read_one(enum pop_record_kind kind, const char *text, struct arena *arena)
{
    struct pop_record r;
    EXPECT(pop_record_read(kind, slice_text(text), arena, &r));
    return r;
}

static void expect_written(const struct pop_record *r, const char *text)
{
    struct buf out = BUF_EMPTY;
    pop_record_write(r, &out);
    EXPECT(slice_eq(buf_slice(&out), slice_text(text)));
    buf_done(&out);
}

TEST(pop_record, is_read_and_written_as_the_original_does)
{
    struct arena arena = ARENA_EMPTY;
    struct buf key = BUF_EMPTY;
    struct pop_record r = read_one(POP_POINT, point_text, &arena);
    EXPECT_EQ(r.count, 4);
    EXPECT_EQ(r.diffs[3], 3);
    EXPECT_EQ(r.pop_ms + r.invisible_ms, 1795998063795);
    expect_written(&r, point_text);
    pop_record_put_key(&r, &key);
    EXPECT(slice_eq(buf_slice(&key), SLICE("TopicPop@0@0@GroupPop@1795994463795@broker-a@ck")));
    r = read_one(POP_ACK, ack_text, &arena);
    EXPECT_EQ(r.offset_count, 1);
    expect_written(&r, ack_text);
    buf_clear(&key);
    pop_record_put_key(&r, &key);
    EXPECT(slice_eq(buf_slice(&key), SLICE("TopicPop@0@1@GroupPop@1795994463795@broker-a@ack")));
    r = read_one(POP_BATCH_ACK, "{\"ackOffsetList\":[4,7],\"brokerName\":\"b\",\"consumerGroup\":\"G\",\"topic\":\"T\",\"popTime\":9,"
                                "\"startOffset\":4,\"queueId\":3}", &arena);
    EXPECT_EQ(r.offset_count, 2);
    expect_written(&r, "{\"ao\":-1,\"aol\":[4,7],\"bn\":\"b\",\"c\":\"G\",\"pt\":9,\"q\":3,\"so\":4,\"t\":\"T\"}");
    buf_done(&key);
    arena_done(&arena);
}

TEST(pop_record, of_an_old_release_has_messages_that_follow_each_other)
{
    struct arena arena = ARENA_EMPTY;
    struct pop_record r = read_one(POP_POINT, "{\"so\":7,\"n\":3,\"bm\":2,\"t\":\"T\",\"c\":\"G\"}", &arena);
    EXPECT_EQ(r.count, 3);
    EXPECT_EQ(r.diffs[2], 2);
    EXPECT_EQ(r.acked, 2);
    arena_done(&arena);
}

TEST(pop_record, that_is_none_is_refused)
{
    static const char *const wrong[] = {
        "", "[]", "{}", "{\"t\":\"T\"}", "{\"t\":\"T\",\"c\":\"G\",\"n\":33}", "{\"t\":\"T\",\"c\":\"G\",\"n\":2,\"d\":[0]}",
        "{\"t\":\"T\",\"c\":\"G\",\"n\":1,\"d\":[-1]}", "{\"t\":\"T\",\"c\":\"G\",\"so\":-1}", "{\"t\":\"T\",\"c\":\"G\",\"pt\":9223372036854775807,\"it\":1}",
    };
    struct arena arena = ARENA_EMPTY;
    struct pop_record r;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) EXPECT(!pop_record_read(POP_POINT, slice_text(wrong[i]), &arena, &r));
    arena_done(&arena);
}

static struct pop_record point_of(int64_t start, int64_t pop_ms, int64_t invisible_ms, size_t count)
{
    struct pop_record r = {
        .kind = POP_POINT, .topic = SLICE("T"), .group = SLICE("G"), .broker = own, .start_offset = start, .pop_ms = pop_ms,
        .invisible_ms = invisible_ms, .count = count,
    };
    for (size_t i = 0; i < count; i++) r.diffs[i] = (int32_t)i;
    return r;
}

static struct pop_record ack_of(int64_t start, int64_t pop_ms, int64_t *offset)
{
    return (struct pop_record){
        .kind = POP_ACK, .topic = SLICE("T"), .group = SLICE("G"), .broker = own, .start_offset = start, .pop_ms = pop_ms, .offsets = offset,
        .offset_count = 1,
    };
}

static void apply(struct leases *l, struct pop_record r) { leases_apply(l, &r, own); }

TEST(leases, come_due_in_the_order_of_their_times)
{
    struct leases l = LEASES_EMPTY;
    struct random random;
    random_init(&random, 5);
    struct lease_queue *q = leases_queue(&l, SLICE("T"), SLICE("G"), 0, true);
    for (int i = 0; i < 500; i++) {
        struct pop_record r = point_of(i, 1000, random_below(&random, 5000), 1);
        struct check_point *p = leases_add(&l, q, &r);
        EXPECT(p);
        if (random_below(&random, 3) == 0) leases_remove(&l, p);
        else if (random_below(&random, 5) == 0) leases_expire(&l, p, 1000 + random_below(&random, 5000));
    }
    int64_t last = 0;
    EXPECT(!leases_take_due(&l, 999));
    for (struct check_point *p; (p = leases_take_due(&l, 7000));) {
        EXPECT(leases_due_ms(p) >= last);
        last = leases_due_ms(p);
    }
    EXPECT_EQ(leases_next_due_ms(&l), -1);
    leases_done(&l);
}

/* Differences of times and of offsets do not fit into 32 bits. */
TEST(leases, far_apart_come_due_in_their_order)
{
    struct leases l = LEASES_EMPTY;
    struct lease_queue *q = leases_queue(&l, SLICE("T"), SLICE("G"), 0, true);
    const int64_t starts[] = {2147483649, 1, 4294967298, 2}, dues[] = {2147483649 + 1000, 1000, 1ll << 50, 999};
    const size_t order[] = {3, 1, 0, 2};
    for (size_t i = 0; i < 4; i++) {
        struct pop_record r = point_of(starts[i], dues[i] - 500, 500, 1);
        EXPECT(leases_add(&l, q, &r));
    }
    for (size_t i = 0; i < 4; i++) {
        struct check_point *p = leases_take_due(&l, INT64_MAX);
        EXPECT(p && p->start_offset == starts[order[i]] && leases_due_ms(p) == dues[order[i]]);
    }
    leases_done(&l);
}

TEST(leases, count_what_is_out)
{
    struct leases l = LEASES_EMPTY;
    struct lease_queue *q = leases_queue(&l, SLICE("T"), SLICE("G"), 0, true);
    struct pop_record r = point_of(10, 1, 100, 3);
    struct check_point *p = leases_add(&l, q, &r);
    size_t at;
    EXPECT(!leases_add(&l, q, &r));
    EXPECT(leases_find(&l, q, 10, 1) == p && !leases_find(&l, q, 10, 2));
    EXPECT_EQ(leases_index(p, 12), 2);
    EXPECT_EQ(leases_index(p, 13), -1);
    leases_ack(&l, p, 1);
    leases_ack(&l, p, 1);
    EXPECT_EQ(l.out, 2);
    EXPECT(!leases_find_message(q, 11, &at));
    EXPECT(leases_find_message(q, 12, &at) == p && at == 2);
    leases_unack(&l, p, 1);
    EXPECT_EQ(q->out, 3);
    for (size_t i = 0; i < 3; i++) leases_ack(&l, p, i);
    EXPECT(leases_is_over(p));
    leases_remove(&l, p);
    EXPECT_EQ(l.out, 0);
    leases_remove_queue(&l, q);
    leases_done(&l);
}

TEST(leases, of_the_log_are_those_that_were_there_when_it_ended)
{
    struct leases l = LEASES_EMPTY;
    int64_t at = 1;
    size_t index;
    apply(&l, point_of(0, 5, 100, 3));
    apply(&l, ack_of(0, 5, &at));
    apply(&l, point_of(3, 6, 100, 2));
    struct lease_queue *q = leases_queue(&l, SLICE("T"), SLICE("G"), 0, false);
    EXPECT_EQ(q->out, 4);
    EXPECT_EQ(q->next, 5);
    apply(&l, point_of(2, 9, 1000, 1));   /* kept longer, and nobody wrote down that the old lease is over */
    EXPECT_EQ(q->out, 4);
    struct check_point *old = leases_find(&l, q, 0, 5);
    EXPECT_EQ(old->untold, 4);
    EXPECT(leases_find_message(q, 2, &index) == leases_find(&l, q, 2, 9));
    at = 2;
    apply(&l, ack_of(0, 5, &at));
    EXPECT_EQ(old->untold, 0);
    struct pop_record mark = point_of(1, 10, 0, 0);
    leases_apply(&l, &mark, own);   /* an administrator: go on at 1 */
    EXPECT_EQ(q->out, 0);
    EXPECT_EQ(q->next, 1);
    EXPECT(q->moved);
    apply(&l, point_of(1, 11, 100, 2));
    mark.group = SLICE("");
    leases_apply(&l, &mark, own);   /* the topic was deleted */
    EXPECT_EQ(l.out, 0);
    EXPECT_EQ(q->next, -1);
    leases_done(&l);
}

/* What was written down twice, in the snapshot and in the log behind it. */
TEST(leases, told_twice_are_the_same)
{
    struct leases l = LEASES_EMPTY;
    size_t index;
    apply(&l, point_of(2, 9, 1000, 1));   /* of the snapshot, which knew that the lease before it was over */
    apply(&l, point_of(0, 5, 100, 3));
    apply(&l, point_of(2, 9, 1000, 1));
    struct lease_queue *q = leases_queue(&l, SLICE("T"), SLICE("G"), 0, false);
    EXPECT_EQ(q->out, 3);
    EXPECT(leases_find_message(q, 2, &index) == leases_find(&l, q, 2, 9));
    leases_done(&l);
}

TEST(leases, come_back_from_bytes_and_no_cut_of_them_does_harm)
{
    struct leases l = LEASES_EMPTY, back = LEASES_EMPTY;
    struct buf bytes = BUF_EMPTY, again = BUF_EMPTY;
    int64_t at = 1;
    for (int i = 0; i < 20; i++) apply(&l, point_of(i * 5, i, 1000, 5));
    apply(&l, ack_of(0, 0, &at));
    leases_queue(&l, SLICE("T2"), SLICE("G"), 7, true)->next = 5;
    leases_encode(&l, &bytes);
    EXPECT(leases_decode(&back, buf_slice(&bytes)));
    EXPECT_EQ(back.out, l.out);
    leases_encode(&back, &again);
    EXPECT(slice_eq(buf_slice(&bytes), buf_slice(&again)));
    leases_done(&back);
    for (size_t n = 0; n < bytes.n; n++) {
        EXPECT(!leases_decode(&back, slice_of(bytes.p, n)));
        EXPECT_EQ(back.queues.count, 0);
    }
    buf_done(&bytes);
    buf_done(&again);
    leases_done(&l);
}
