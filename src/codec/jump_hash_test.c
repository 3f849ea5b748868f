#include "codec/jump_hash.h"

#include "kit/test.h"

/* Facts: the values of the library that the original takes it from (Guava, Hashing.consistentHash). */
TEST(jump_hash, is_that_of_the_original)
{
    static const struct {
        int64_t hash;
        size_t n, place;
    } rows[] = {
        {10863919174838991, 11, 6}, {2016238256797177309, 11, 3}, {1673758223894951030, 11, 5}, {2, 100001, 80343}, {2201, 100001, 22152},
        {2202, 100001, 15018}, {0, 1, 0}, {-1, 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) EXPECT_EQ(jump_hash(rows[i].hash, rows[i].n), rows[i].place);
}

TEST(jump_hash, another_place_moves_few_names)
{
    size_t moved = 0;
    for (int64_t h = -5000; h < 5000; h++) {
        size_t before = jump_hash(h * 2654435761, 8), after = jump_hash(h * 2654435761, 9);
        EXPECT(before < 8 && after < 9);
        EXPECT(after == before || after == 8);
        moved += after != before;
    }
    EXPECT(moved > 900 && moved < 1300);   /* a ninth of them */
}
