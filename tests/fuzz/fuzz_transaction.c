/* What stands in op records and in the properties of half messages: any bytes give offsets and facts that can be, and what is made of a half
 * message says the same as it. The first byte chooses. */
#include "fuzz/fuzz.h"

#include "broker/transaction/transaction.h"
#include "codec/properties.h"
#include "codec/record.h"

static void take_offset(void *ctx, int64_t offset)
{
    int64_t *largest = ctx;
    FUZZ_EXPECT(offset >= 0);
    if (offset > *largest) *largest = offset;
}

static void try_op(struct slice body)
{
    int64_t largest = -1;
    FUZZ_EXPECT(ops_read(body, take_offset, &largest) == largest);
}

static void try_question(const struct message *m, const struct half_facts *facts)
{
    struct buf record = BUF_EMPTY;
    struct message shown;
    if (facts->topic.n > RECORD_TOPIC_MAX_V1 || m->properties.n > RECORD_PROPERTIES_MAX) return;
    half_ask(m, facts, &record);
    FUZZ_EXPECT(record_read(buf_slice(&record), &shown) == RECORD_WHOLE);
    FUZZ_EXPECT(shown.queue_id == facts->queue_id && slice_eq(shown.topic, facts->topic));
    buf_done(&record);
}

static void try_half(struct slice text)
{
    struct message out, m = {.topic = HALF_TOPIC, .queue_offset = 77, .log_offset = 9000, .properties = text, .body = SLICE("body")};
    struct half_facts facts, again;
    struct buf properties = BUF_EMPTY;
    if (!half_facts_read(&m, &facts)) return;
    FUZZ_EXPECT(facts.first_offset >= 0 && facts.first_offset <= 77 && facts.checks >= 0 && facts.queue_id >= 0 && facts.topic.n);
    FUZZ_EXPECT(half_immunity_ms(&facts) >= -1);
    half_put_back(&m, facts.first_offset, 3, &properties, &out);
    out.queue_offset = 78;
    FUZZ_EXPECT(half_facts_read(&out, &again));
    FUZZ_EXPECT(again.first_offset == facts.first_offset && again.checks == 3 && again.queue_id == facts.queue_id);
    FUZZ_EXPECT(slice_eq(again.topic, facts.topic) && slice_eq(again.group, facts.group) && slice_eq(again.unique_key, facts.unique_key));
    FUZZ_EXPECT(half_immunity_ms(&again) == half_immunity_ms(&facts));
    try_question(&m, &facts);
    buf_done(&properties);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (!n) return 0;
    uint8_t *copy = fuzz_copy(p + 1, n - 1);
    if (p[0] & 1) try_op(slice_of(copy, n - 1));
    else try_half(slice_of(copy, n - 1));
    free(copy);
    return 0;
}
