#include "kit/test.h"
#include "codec/body_batch_ack.h"

/* Recorded from the original's client. */
static const char recorded[] = "{\"acks\":[{\"b\":\"BQ==\",\"c\":\"WirePopG\",\"it\":60000,\"pt\":1795996405036,\"q\":1,\"r\":\"0\",\"rq\":0,\"so\":0,"
                               "\"t\":\"WirePop\"}],\"brokerName\":\"broker-a\"}";

TEST(batch_ack, is_read_and_written_as_the_originals_client_does)
{
    struct arena arena = ARENA_EMPTY;
    struct batch_ack_body body;
    struct ack_bits bits;
    struct buf out = BUF_EMPTY;
    EXPECT_OK(bean_decode(&batch_ack_bean, slice_text(recorded), &arena, "acks", &body));
    EXPECT_EQ(body.acks.count, 1);
    EXPECT_EQ(body.acks.items[0].pop_ms, 1795996405036);
    EXPECT(batch_ack_bits_read(body.acks.items[0].bits, &bits));
    EXPECT(ack_bits_has(&bits, 0) && !ack_bits_has(&bits, 1) && ack_bits_has(&bits, 2));
    bean_encode(&batch_ack_bean, &body, JSON_RAW, &out);
    EXPECT(slice_eq(buf_slice(&out), slice_text(recorded)));
    buf_clear(&out);
    batch_ack_bits_write(&bits, &out);
    EXPECT(slice_eq(buf_slice(&out), SLICE("BQ==")));
    buf_done(&out);
    arena_done(&arena);
}

TEST(batch_ack, is_read_with_long_names_too)
{
    struct arena arena = ARENA_EMPTY;
    struct batch_ack_body body;
    struct slice text = SLICE("{acks:[]}");
    err_t e = bean_decode(&batch_ack_bean, text, &arena, "acks", &body);
    EXPECT_ERR(e, ERR_BODY);
    text = SLICE("{\"acks\":[{\"consumerGroup\":\"G\",\"topic\":\"T\",\"retry\":\"1\",\"startOffset\":7,\"queueId\":2,\"bitSet\":\"AQ==\"}]}");
    EXPECT_OK(bean_decode(&batch_ack_bean, text, &arena, "acks", &body));
    EXPECT_EQ(body.acks.items[0].start_offset, 7);
    EXPECT(slice_eq(body.acks.items[0].retry, SLICE("1")));
    EXPECT(slice_eq(body.acks.items[0].bits, SLICE("AQ==")));
    arena_done(&arena);
}

TEST(batch_ack, bits_of_any_number_come_back_and_too_many_are_refused)
{
    for (size_t i = 0; i < BATCH_ACK_BITS_MAX; i += 5) {
        struct ack_bits bits = {{0}}, back;
        struct buf text = BUF_EMPTY;
        ack_bits_add(&bits, i);
        ack_bits_add(&bits, i / 2);
        batch_ack_bits_write(&bits, &text);
        EXPECT(batch_ack_bits_read(buf_slice(&text), &back));
        EXPECT(!memcmp(&bits, &back, sizeof bits));
        buf_done(&text);
    }
    struct buf big = BUF_EMPTY;
    struct ack_bits back;
    memset(buf_take(&big, 4 * BATCH_ACK_BITS_MAX), '/', 4 * BATCH_ACK_BITS_MAX);
    EXPECT(!batch_ack_bits_read(buf_slice(&big), &back));
    buf_done(&big);
    EXPECT(!batch_ack_bits_read(SLICE("A"), &back));
    EXPECT(!batch_ack_bits_read(SLICE("A-=="), &back));
    EXPECT(batch_ack_bits_read(SLICE(""), &back));
}
