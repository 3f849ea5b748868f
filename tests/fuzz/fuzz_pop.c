/* What pop reads back: its records, its snapshot, and consumerOrderInfo.json. What is read is written as something that reads the same. */
#include "fuzz/fuzz.h"

#include "broker/pop/leases.h"
#include "broker/order/order_file.h"

static void try_record(enum pop_record_kind kind, struct slice text)
{
    struct arena arena = ARENA_EMPTY, second = ARENA_EMPTY;
    struct pop_record r, again;
    arena.limit = second.limit = 4 << 20;
    if (pop_record_read(kind, text, &arena, &r) && (kind != POP_ACK || r.offset_count)) {
        struct leases l = LEASES_EMPTY;
        struct buf out = BUF_EMPTY;
        pop_record_write(&r, &out);
        FUZZ_EXPECT(pop_record_read(kind, buf_slice(&out), &second, &again) && again.count == r.count);
        leases_apply(&l, &r, SLICE("b"));
        leases_apply(&l, &again, SLICE("b"));
        buf_done(&out);
        leases_done(&l);
    }
    arena_done(&arena);
    arena_done(&second);
}

static void try_snapshot(struct slice bytes)
{
    struct leases l = LEASES_EMPTY, back = LEASES_EMPTY;
    struct buf out = BUF_EMPTY;
    if (leases_decode(&l, bytes)) {
        leases_encode(&l, &out);
        FUZZ_EXPECT(leases_decode(&back, buf_slice(&out)) && back.out == l.out);
    }
    buf_done(&out);
    leases_done(&l);
    leases_done(&back);
}

static void try_order(struct slice text)
{
    struct order o = {.queues = MAP_EMPTY}, back = {.queues = MAP_EMPTY};
    struct buf out = BUF_EMPTY;
    err_t e = order_file_decode(&o, text);
    if (!e) {
        order_file_encode(&o, &out);
        e = order_file_decode(&back, buf_slice(&out));
        FUZZ_EXPECT(!e && back.queues.count == o.queues.count);
    }
    err_free(e);
    buf_done(&out);
    order_empty(&o);
    order_empty(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    uint8_t *copy = fuzz_copy(p, n);
    struct slice text = slice_of(copy, n);
    try_record(POP_POINT, text);
    try_record(POP_ACK, text);
    try_record(POP_BATCH_ACK, text);
    try_snapshot(text);
    try_order(text);
    free(copy);
    return 0;
}
