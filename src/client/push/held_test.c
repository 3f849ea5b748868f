#include "client/push/held.h"

#include "kit/test.h"

static struct held *add(struct held_list *l, int64_t offset) { return held_add(l, sky_message_new("T", "x", 1), offset, 10); }

TEST(held, what_may_be_committed_ends_before_the_first_that_is_not_done)
{
    struct held_list l;
    held_init(&l);
    EXPECT_EQ(held_committable(&l), -1);
    struct held *a = add(&l, 5), *b = add(&l, 6), *c = add(&l, 9);
    EXPECT_EQ(held_committable(&l), 5);
    held_done(&l, held_ref(b));
    EXPECT_EQ(held_committable(&l), 5);
    EXPECT_EQ(l.messages, 2);
    EXPECT_EQ(l.bytes, 20);
    held_done(&l, b);            /* twice is once */
    EXPECT_EQ(l.messages, 2);
    EXPECT(held_at(&l, 0) == a && held_at(&l, 1) == c && !held_at(&l, 2));
    held_done(&l, a);
    EXPECT_EQ(held_committable(&l), 9);
    held_done(&l, c);
    EXPECT_EQ(held_committable(&l), 10);
    EXPECT_EQ(l.bytes, 0);
    held_unref(b);
    held_free_all(&l);
}

TEST(held, a_message_that_came_before_is_not_taken_again)
{
    struct held_list l;
    held_init(&l);
    EXPECT(add(&l, 7));
    EXPECT(!add(&l, 7));
    EXPECT(!add(&l, 6));
    EXPECT_EQ(l.messages, 1);
    held_free_all(&l);
}

TEST(held, the_span_is_between_the_oldest_and_the_newest)
{
    struct held_list l;
    held_init(&l);
    EXPECT_EQ(held_span(&l), 0);
    struct held *first = add(&l, 100);
    for (int64_t i = 101; i < 400; i++) held_done(&l, add(&l, i));
    EXPECT_EQ(held_span(&l), 299);
    EXPECT_EQ(l.messages, 1);
    held_done(&l, first);
    EXPECT_EQ(held_span(&l), 0);
    EXPECT_EQ(held_committable(&l), 400);
    held_free_all(&l);
}
