#include "kit/test.h"

#include "broker/transaction/half_message.h"
#include "broker/transaction/halves.h"
#include "broker/transaction/transaction.h"
#include "codec/properties.h"
#include "os/random.h"

#include <stdio.h>
#include <stdlib.h>

static struct half *see(struct halves *h, int64_t queue_offset, int64_t first_offset)
{
    struct half copy = {.first_offset = first_offset, .queue_offset = queue_offset, .log_offset = queue_offset * 100};
    return halves_see(h, &copy);
}

TEST(halves, what_was_put_back_is_one_transaction_behind_the_others)
{
    struct halves h;
    halves_init(&h);
    struct half *a = see(&h, 0, 0), *b = see(&h, 1, 1);
    a->busy = true;
    EXPECT(see(&h, 2, 0) == a);
    EXPECT_EQ(a->queue_offset, 2);
    EXPECT(a->busy);
    EXPECT_EQ(h.count, 2);
    EXPECT_EQ(halves_begin(&h), 1);
    EXPECT(halves_find(&h, 0) == a && halves_find(&h, 1) == b && !halves_find(&h, 2));
    halves_remove(&h, b);
    EXPECT_EQ(halves_begin(&h), 2);
    halves_remove(&h, a);
    EXPECT_EQ(halves_begin(&h), 3);
    EXPECT(!see(&h, 1, 1));   /* seen before: nothing comes back */
    halves_done(&h);
}

TEST(halves, what_an_earlier_run_ended_does_not_open)
{
    struct halves h;
    halves_init(&h);
    int64_t ended[] = {7, 3, 5};
    for (int i = 0; i < 3; i++) halves_add_ended(&h, ended[i]);
    halves_sort_ended(&h);
    for (int64_t at = 3; at < 8; at++) see(&h, at, at);
    EXPECT(!see(&h, 8, 5));   /* its first copy was ended, as the original writes it down */
    halves_forget_ended(&h);
    EXPECT_EQ(h.count, 2);
    EXPECT(halves_find(&h, 4) && halves_find(&h, 6));
    EXPECT_EQ(halves_begin(&h), 4);
    halves_done(&h);
}

TEST(halves, a_walk_sees_each_once_though_they_go_and_are_put_back_meanwhile)
{
    struct halves h;
    halves_init(&h);
    for (int64_t at = 0; at < 6; at++) see(&h, at, at);
    halves_walk(&h);
    EXPECT_EQ(halves_walk_next(&h)->first_offset, 0);
    see(&h, 6, 0);                              /* put back */
    halves_remove(&h, halves_find(&h, 1));      /* the next one goes */
    struct half *two = halves_walk_next(&h);
    EXPECT_EQ(two->first_offset, 2);
    halves_walk_back(&h, two);
    halves_remove(&h, two);
    EXPECT_EQ(halves_walk_next(&h)->first_offset, 3);
    see(&h, 7, 4);
    EXPECT_EQ(halves_walk_next(&h)->first_offset, 5);
    EXPECT(!halves_walk_next(&h));
    halves_walk_again(&h);
    EXPECT_EQ(halves_walk_next(&h)->first_offset, 3);
    EXPECT_EQ(halves_walk_next(&h)->first_offset, 5);
    EXPECT(!halves_walk_next(&h));
    halves_walk(&h);
    EXPECT_EQ(halves_walk_next(&h)->first_offset, 3);
    EXPECT_EQ(halves_walk_next(&h)->first_offset, 5);
    EXPECT_EQ(halves_walk_next(&h)->first_offset, 0);
    halves_done(&h);
}

TEST(halves, op_records_are_kept_as_long_as_they_name_what_a_start_would_read)
{
    struct halves h;
    halves_init(&h);
    EXPECT_EQ(halves_op_begin(&h, 0, 0), 0);
    halves_note_op(&h, 0, 4);
    halves_note_op(&h, 1, 2);
    halves_note_op(&h, 2, 9);
    EXPECT_EQ(halves_op_begin(&h, 3, 3), 0);
    EXPECT_EQ(halves_op_begin(&h, 5, 3), 2);
    EXPECT_EQ(halves_op_begin(&h, 10, 3), 3);
    for (int64_t i = 3; i < 20000; i++) {
        halves_note_op(&h, i, i * 2);
        EXPECT_EQ(halves_op_begin(&h, i * 2, i + 1), i);
    }
    EXPECT(h.notes.n < 200000);   /* what was let go takes no room */
    halves_done(&h);
}

/* Many random steps beside the plainest table there can be. */
enum { MODEL_HALVES = 400 };

struct model {
    int64_t newest[MODEL_HALVES];   /* by first offset; -1: it ended, or is none */
    int64_t next;
};

static int64_t model_begin(const struct model *m)
{
    int64_t least = m->next;
    for (int i = 0; i < MODEL_HALVES; i++)
        if (m->newest[i] >= 0 && m->newest[i] < least) least = m->newest[i];
    return least;
}

static void step(struct halves *h, struct model *m, struct random *r)
{
    int64_t name = random_below(r, MODEL_HALVES);
    struct half *half = halves_find(h, name);
    EXPECT_EQ(half != NULL, m->newest[name] >= 0);
    switch (random_below(r, 4)) {
    case 0:
        if (m->next >= MODEL_HALVES) break;
        see(h, m->next, m->next);
        m->newest[m->next] = m->next;
        m->next++;
        break;
    case 1:
        if (!half) break;
        see(h, m->next, name);
        m->newest[name] = m->next++;
        break;
    case 2:
        if (half) halves_remove(h, half);
        m->newest[name] = -1;
        break;
    default:
        if (!h->walk || !halves_walk_next(h)) halves_walk(h);
    }
    EXPECT_EQ(halves_begin(h), model_begin(m));
}

TEST(halves, random_steps_agree_with_a_plain_table)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct halves h;
        struct model m = {.next = 0};
        struct random r;
        random_init(&r, seed);
        halves_init(&h);
        for (int i = 0; i < MODEL_HALVES; i++) m.newest[i] = -1;
        for (int i = 0; i < 2000; i++) step(&h, &m, &r);
        halves_done(&h);
    }
}

/* --- the texts --- */

static void add(void *ctx, int64_t offset) { buf_printf(ctx, "%lld ", (long long)offset); }

TEST(ops, a_body_of_anything_gives_the_offsets_that_are_in_it)
{
    static const struct {
        const char *body, *offsets;
        int64_t largest;
    } cases[] = {
        {"12,15,", "12 15 ", 15}, {"12,15", "12 15 ", 15}, {"", "", -1}, {",,", "", -1}, {"x,3,-4,5x,0,", "3 0 ", 3},
        {"99999999999999999999999,9223372036854775807,", "9223372036854775807 ", INT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf got = BUF_EMPTY;
        EXPECT_EQ(ops_read(slice_text(cases[i].body), add, &got), cases[i].largest);
        EXPECT_TEXT(buf_slice(&got), cases[i].offsets);
        buf_done(&got);
    }
}

#define FACTS "REAL_TOPIC\1T\2REAL_QID\0013\2PGROUP\1P\2UNIQ_KEY\1K\2"

static bool read_facts(const char *more, int64_t queue_offset, struct half_facts *facts)
{
    static char text[500];
    snprintf(text, sizeof text, FACTS "%s", more);
    struct message m = {.topic = HALF_TOPIC, .queue_offset = queue_offset, .properties = slice_text(text)};
    return half_facts_read(&m, facts);
}

TEST(half_message, its_facts_are_read_and_nonsense_counts_as_nothing)
{
    struct half_facts facts;
    EXPECT(read_facts("TRAN_PREPARED_QUEUE_OFFSET\0015\2TRANSACTION_CHECK_TIMES\0017\2", 9, &facts));
    EXPECT_TEXT(facts.topic, "T");
    EXPECT_TEXT(facts.group, "P");
    EXPECT_TEXT(facts.unique_key, "K");
    EXPECT_EQ(facts.queue_id, 3);
    EXPECT_EQ(facts.first_offset, 5);
    EXPECT_EQ(facts.checks, 7);
    EXPECT(read_facts("TRAN_PREPARED_QUEUE_OFFSET\00110\2TRANSACTION_CHECK_TIMES\1-7\2", 9, &facts));
    EXPECT_EQ(facts.first_offset, 9);   /* no copy is older than the first one */
    EXPECT_EQ(facts.checks, 0);
    EXPECT(read_facts("TRAN_PREPARED_QUEUE_OFFSET\1x\2TRANSACTION_CHECK_TIMES\00199999999999\2", 9, &facts));
    EXPECT_EQ(facts.first_offset, 9);
    EXPECT_EQ(facts.checks, 0);
    EXPECT(!read_facts("REAL_QID\1-1\2", 9, &facts));
    EXPECT(!read_facts("REAL_QID\1x\2", 9, &facts));
    EXPECT(!read_facts("REAL_QID\00165536\2", 9, &facts));
    struct message other = {.topic = SLICE("T"), .properties = SLICE(FACTS)};
    EXPECT(!half_facts_read(&other, &facts));
}

TEST(half_message, immunity_is_what_was_asked_for_and_no_number_is_none)
{
    static const struct {
        const char *seconds;
        int64_t ms;
        int64_t late_ms;    /* the first age that is late, with a usual time of 6000 */
    } cases[] = {
        {"10", 10000, 10001}, {"5", 5000, 6001}, {"0", 0, 6001}, {"x", -1, 6001}, {"-1", -1, 6001}, {"9223372036854775807", INT64_MAX, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct half_facts facts = {.immunity = slice_text(cases[i].seconds)};
        EXPECT_EQ(half_immunity_ms(&facts), cases[i].ms);
        EXPECT(!half_is_late(&facts, cases[i].late_ms - 1, 6000));
        EXPECT(half_is_late(&facts, cases[i].late_ms, 6000) == (cases[i].late_ms != INT64_MAX));
    }
    struct half_facts nothing = {.immunity = {NULL, 0}};
    EXPECT(!half_is_late(&nothing, INT64_MAX, 6000));
}

TEST(half_message, what_is_put_back_names_its_first_copy_and_counts_the_questions_once)
{
    struct buf text = BUF_EMPTY;
    struct message out, m = {
        .topic = HALF_TOPIC, .flag = 4, .reconsume_times = 2, .body = SLICE("b"), .sys_flag = SYS_FLAG_COMPRESSED,
        .properties = SLICE("a\1b\2TRANSACTION_CHECK_TIMES\0011\2TRAN_PREPARED_QUEUE_OFFSET\0018\2c\1d"),
    };
    half_put_back(&m, 8, 2, &text, &out);
    EXPECT_TEXT(out.properties, "a\1b\2c\1d\2TRANSACTION_CHECK_TIMES\0012\2TRAN_PREPARED_QUEUE_OFFSET\0018\2");
    EXPECT_EQ(out.flag, 4);
    EXPECT_EQ(out.reconsume_times, 2);
    EXPECT_EQ(out.sys_flag, SYS_FLAG_COMPRESSED);
    EXPECT_TEXT(out.body, "b");
    buf_done(&text);
}
