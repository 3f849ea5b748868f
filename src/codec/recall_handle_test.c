#include "codec/recall_handle.h"

#include "codec/stored_kit.h"

static void check_handle(json_t *row)
{
    struct recall_handle h;
    struct buf plain = BUF_EMPTY, again = BUF_EMPTY;
    struct slice text = row_text(row, "encoded");
    if (json_string_length(json_object_get(row, "kind")) != strlen("recall")) return;
    bool good = !json_object_get(row, "error");
    EXPECT_EQ(recall_handle_decode(text, &plain, &h), good);
    if (good) {
        EXPECT(slice_eq(h.topic, row_text(row, "topic")));
        EXPECT(slice_eq(h.broker, row_text(row, "brokerName")));
        EXPECT(slice_eq(h.time_ms, row_text(row, "timestamp")));
        EXPECT(slice_eq(h.unique_key, row_text(row, "messageId")));
        recall_handle_encode(&h, &again);
        if (!slice_eq(h.unique_key, SLICE("d"))) EXPECT(slice_eq(buf_slice(&again), text));   /* that one has a sixth part */
    }
    buf_done(&plain);
    buf_done(&again);
}

TEST(recall_handle, agrees_with_the_originals) { each_vector("handles.jsonl", 10, check_handle); }

TEST(recall_handle, of_any_length_comes_back_and_any_cut_of_it_is_refused_or_another)
{
    char key[40];
    for (size_t n = 1; n < sizeof key; n++) {
        struct buf text = BUF_EMPTY, plain = BUF_EMPTY;
        memset(key, 'k', sizeof key);
        struct recall_handle h = {SLICE("T"), SLICE("b"), SLICE("17"), slice_of(key, n)}, back;
        recall_handle_encode(&h, &text);
        EXPECT(recall_handle_decode(buf_slice(&text), &plain, &back));
        EXPECT(slice_eq(back.unique_key, h.unique_key));
        for (size_t cut = 0; cut < text.n; cut++) {
            buf_clear(&plain);
            if (recall_handle_decode(slice_of(text.p, cut), &plain, &back)) EXPECT(back.unique_key.n <= n);
        }
        buf_done(&plain);
        buf_done(&text);
    }
}

TEST(recall_handle, control_characters_and_wrong_padding_make_none)
{
    static const char *const wrong[] = {"djEgYSBiIGMgAQ==", "djEgYSBiIGMgZA=", "djEgYSBiIGMgZA===", "djEgYSBiIGMg", "djEgYSBiIGMgZA==x", "=", "====", "dj/gYSBiIGMgZA=="};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct buf plain = BUF_EMPTY;
        struct recall_handle h;
        EXPECT(!recall_handle_decode(slice_text(wrong[i]), &plain, &h));
        buf_done(&plain);
    }
}
