/* Short texts from outside: properties, subscription expressions, message ids, addresses, numbers. */
#include "fuzz/fuzz.h"

#include "codec/body_subscription.h"
#include "codec/message_id.h"
#include "codec/properties.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    uint8_t *copy = fuzz_copy(p, n);
    struct slice text = slice_of(copy, n);
    try_properties(text);
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
