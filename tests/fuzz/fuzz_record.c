/* Records of the commit log, batch bodies, units of queue files, the checkpoint: bytes that a disk may have damaged. */
#include "fuzz/fuzz.h"

#include "codec/checkpoint.h"
#include "codec/queue_entry.h"
#include "codec/record.h"

static void encode_again(const struct message *m, size_t size)
{
    struct record_place place = {m->log_offset, m->queue_offset, m->store_ms, &m->store_host};
    size_t again = record_size(m, &m->store_host);
    FUZZ_EXPECT(again <= size);   /* a short topic in a long form shrinks */
    uint8_t *p = malloc(again);
    record_encode(m, &place, again, p);
    struct message second;
    FUZZ_EXPECT(record_read(slice_of(p, again), &second) == RECORD_WHOLE);
    FUZZ_EXPECT(record_body_intact(&second));
    FUZZ_EXPECT(slice_eq(second.body, m->body) && slice_eq(second.topic, m->topic) && second.queue_offset == m->queue_offset);
    free(p);
}

static void try_record(struct slice bytes)
{
    struct message m;
    if (record_read(bytes, &m) != RECORD_WHOLE) return;
    size_t size = record_read_size(&m);
    FUZZ_EXPECT(size <= bytes.n);
    record_body_intact(&m);
    record_looks_written(&m);
    record_check_crc_property(slice_of(bytes.p, size), &m);
    encode_again(&m, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    uint8_t *copy = fuzz_copy(p, n);
    struct slice bytes = slice_of(copy, n), rest = bytes;
    try_record(bytes);
    struct message m = {.flag = 0};
    bool broken = false;
    while (batch_next(&rest, &m, &broken)) FUZZ_EXPECT(rest.n < n && m.body.n <= n && m.properties.n <= n);
    struct queue_ext ext;
    if (queue_ext_read(bytes, &ext)) FUZZ_EXPECT(ext.size <= n && ext.bits.n <= n);
    struct checkpoint c;
    checkpoint_decode(bytes, &c);
    free(copy);
    return 0;
}
