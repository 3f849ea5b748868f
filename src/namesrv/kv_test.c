#include "kit/test.h"
#include "namesrv/kv.h"

TEST(kv, what_is_put_is_listed_written_and_read_again)
{
    struct kv kv = {MAP_EMPTY}, again = {MAP_EMPTY};
    struct arena arena = ARENA_EMPTY;
    struct kv_table table;
    struct buf text = BUF_EMPTY;
    kv_put(&kv, SLICE("N"), SLICE("K"), SLICE("V"));
    kv_put(&kv, SLICE("N"), SLICE("K"), SLICE("W\n"));
    kv_put(&kv, SLICE("M"), SLICE("K"), SLICE("1"));
    EXPECT(kv_remove(&kv, SLICE("M"), SLICE("K")));
    EXPECT(!kv_remove(&kv, SLICE("M"), SLICE("K")));
    kv_encode(&kv, &text);
    EXPECT_TEXT(buf_slice(&text), "{\"configTable\":{\"N\":{\"K\":\"W\\n\"},\"M\":{}}}");
    EXPECT_OK(kv_decode(&again, buf_slice(&text)));
    assert_string_equal(kv_get(&again, SLICE("N"), SLICE("K")), "W\n");
    EXPECT(!kv_get(&again, SLICE("X"), SLICE("K")));
    EXPECT(kv_list(&again, SLICE("N"), &arena, &table));
    EXPECT_EQ(table.pairs.count, 1);
    EXPECT(!kv_list(&again, SLICE("X"), &arena, &table));
    EXPECT_ERR(kv_decode(&again, SLICE("{\"configTable\":[]}")), ERR_BODY);
    buf_done(&text);
    arena_done(&arena);
    kv_done(&kv);
    kv_done(&again);
}
