/* Short texts from outside: properties, subscription expressions, message ids, addresses, numbers. */
#include "fuzz/fuzz.h"

#include "codec/body_batch_ack.h"
#include "codec/body_subscription.h"
#include "codec/message_id.h"
#include "codec/properties.h"
#include "codec/receipt_handle.h"

static void try_properties(struct slice text)
{
    struct slice rest = text, name, value;
    while (properties_next(&rest, &name, &value)) {
        FUZZ_EXPECT(name.n && value.n && rest.n < text.n);
        FUZZ_EXPECT(properties_find(text, name, &value));
        struct buf without = BUF_EMPTY;
        properties_put_without(&without, text, name);
        FUZZ_EXPECT(!properties_find(buf_slice(&without), name, &value));
        buf_done(&without);
        if (text.n > 4096) break;
    }
}

/* What is read is written again as something that reads the same. */
static void try_pop(struct slice text)
{
    struct receipt_handle h, again;
    struct ack_bits bits, back;
    struct buf out = BUF_EMPTY;
    if (receipt_handle_parse(text, &h)) {
        receipt_handle_write(&h, &out);
        FUZZ_EXPECT(receipt_handle_parse(buf_slice(&out), &again) && again.offset == h.offset && again.log_offset == h.log_offset);
    }
    buf_clear(&out);
    if (batch_ack_bits_read(text, &bits)) {
        batch_ack_bits_write(&bits, &out);
        FUZZ_EXPECT(batch_ack_bits_read(buf_slice(&out), &back) && !memcmp(&bits, &back, sizeof bits));
    }
    buf_done(&out);
    struct pop_info_item item;
    struct slice rest = text;
    bool broken;
    for (int64_t offset; pop_info_next(&rest, &item, &broken);) {
        FUZZ_EXPECT(item.kind < POP_KINDS && rest.n < text.n);
        while (pop_info_next_offset(&item.value, &offset, &broken)) {}
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    uint8_t *copy = fuzz_copy(p, n);
    struct slice text = slice_of(copy, n);
    try_properties(text);
    try_pop(text);
    struct arena arena = ARENA_EMPTY;
    struct subscription s;
    err_free(subscription_parse(SLICE("topic"), text, &arena, &s));
    struct addr host;
    int64_t offset;
    err_free(offset_id_parse(text, &host, &offset));
    struct unique_id id;
    err_free(unique_id_parse(text, &id));
    struct slice part;
    uint16_t port;
    err_free(addr_parse(text, &host));
    err_free(addr_split(text, &part, &port));
    slice_to_i64(text, &offset);
    arena_done(&arena);
    free(copy);
    return 0;
}
