#include "codec/receipt_handle.h"
#include "codec/stored_kit.h"

static bool is_kind(json_t *row, const char *kind) { return slice_eq(row_text(row, "kind"), slice_text(kind)); }

static void check_handle(json_t *row)
{
    struct receipt_handle h;
    struct buf again = BUF_EMPTY;
    if (!is_kind(row, "receipt")) return;
    bool good = !json_object_get(row, "error");
    EXPECT_EQ(receipt_handle_parse(row_text(row, "handle"), &h), good);
    if (good) {
        EXPECT_EQ(h.start_offset, row_number(row, "startOffset"));
        EXPECT_EQ(receipt_handle_ends_ms(&h), row_number(row, "nextVisible"));
        EXPECT_EQ(h.revive_queue, row_number(row, "reviveQueueId"));
        EXPECT(slice_eq(h.broker, row_text(row, "brokerName")));
        EXPECT_EQ(h.queue_id, row_number(row, "queueId"));
        EXPECT_EQ(h.offset, row_number(row, "offset"));
        EXPECT_EQ(h.log_offset, row_number(row, "commitLogOffset"));
        receipt_handle_write(&h, &again);
        EXPECT(slice_eq(buf_slice(&again), row_text(row, "encoded")));
        buf_clear(&again);
        pop_topic_name(h.kind, SLICE("G"), SLICE("T"), &again);
        EXPECT(slice_eq(buf_slice(&again), row_text(row, "realTopic")));
        EXPECT_EQ(pop_kind_of(buf_slice(&again)), h.kind);
    }
    buf_done(&again);
}

TEST(receipt_handle, agrees_with_the_originals) { each_vector("handles.jsonl", 20, check_handle); }

TEST(receipt_handle, with_a_kind_that_is_none_or_times_that_overflow_is_refused)
{
    struct receipt_handle h;
    EXPECT(!receipt_handle_parse(SLICE("1 2 3 0 3 b 0 1"), &h));
    EXPECT(!receipt_handle_parse(SLICE("1 9223372036854775807 1 0 0 b 0 1"), &h));
    EXPECT(!receipt_handle_parse(SLICE("1 2 3 0 0  0 1"), &h));
    EXPECT(!receipt_handle_parse(SLICE("1 2 3 0 0 b 0 1 x"), &h));
}

TEST(receipt_handle, every_cut_of_one_is_refused_or_another)
{
    struct slice text = SLICE("10 1700000000000 60000 3 0 broker-a 2 12 4096");
    struct receipt_handle h;
    for (size_t n = 0; n < text.n; n++)
        if (receipt_handle_parse(slice_of(text.p, n), &h)) EXPECT(h.offset == 12 || h.offset == 1);
}

static void check_info(json_t *row)
{
    struct slice rest = row_text(row, "encoded");
    struct pop_info_item item;
    struct buf again = BUF_EMPTY;
    bool broken, bad;
    size_t items = 0;
    if (!is_kind(row, "startOffsetInfo") && !is_kind(row, "msgOffsetInfo") && !is_kind(row, "orderCountInfo")) return;
    while (pop_info_next(&rest, &item, &broken)) {
        int64_t offsets[8] = {0};
        size_t n = 0;
        while (pop_info_next_offset(&item.value, &offsets[n], &bad)) n++;
        EXPECT(!bad);
        EXPECT(n > 0);
        if (item.offset >= 0) pop_info_put_count(&again, item.kind, item.queue_id, item.offset, (int32_t)offsets[0]);
        else pop_info_put_offsets(&again, item.kind, item.queue_id, offsets, n);
        items++;
    }
    EXPECT(!broken);
    EXPECT_EQ(items, json_object_size(json_object_get(row, "parsed")));
    EXPECT(slice_eq(buf_slice(&again), row_text(row, "encoded")));
    buf_done(&again);
}

TEST(pop_info, agrees_with_the_originals) { each_vector("handles.jsonl", 20, check_info); }

TEST(pop_info, that_is_not_one_is_told_broken)
{
    static const char *const wrong[] = {"0", "0 1", "3 1 2", "0 x 2", "0 qo1 2", "0 1 2 3", "0 qo1%x 1", "0 qo1%-1 1", " ", "0  1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct slice rest = slice_text(wrong[i]);
        struct pop_info_item item;
        bool broken;
        EXPECT(!pop_info_next(&rest, &item, &broken));
        EXPECT(broken);
    }
}

TEST(pop_info, knows_whose_retry_topic_it_is)
{
    EXPECT(slice_eq(pop_origin_topic(SLICE("%RETRY%G_T"), SLICE("G")), SLICE("T")));
    EXPECT(slice_eq(pop_origin_topic(SLICE("%RETRY%G+T_x"), SLICE("G")), SLICE("T_x")));
    EXPECT(!pop_origin_topic(SLICE("%RETRY%G"), SLICE("G")).n);
    EXPECT(!pop_origin_topic(SLICE("%RETRY%GG_T"), SLICE("G")).n);
    EXPECT(!pop_origin_topic(SLICE("T"), SLICE("G")).n);
}
