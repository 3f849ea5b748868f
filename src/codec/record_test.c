#include "codec/record.h"

#include "codec/checkpoint.h"
#include "codec/properties.h"
#include "codec/queue_entry.h"
#include "codec/stored_kit.h"

#include <stdlib.h>

static const struct addr host_v4 = {.ip = {127, 0, 0, 1}, .port = 10911};
static const struct addr host_v6 = {.ip = {0xfd, [15] = 1}, .v6 = true, .port = 10911};

static struct buf encode(const struct message *m, const struct addr *store_host)
{
    struct buf b = BUF_EMPTY;
    struct record_place place = {.log_offset = 4096, .queue_offset = 7, .store_ms = 1700000000000, .store_host = store_host};
    size_t size = record_size(m, store_host);
    record_encode(m, &place, size, buf_take(&b, size));
    return b;
}

static struct message sample(void)
{
    return (struct message){
        .topic = SLICE("Topic"),
        .queue_id = 3,
        .flag = -5,
        .sys_flag = SYS_FLAG_MULTI_TAGS,
        .born_ms = 1699999999999,
        .born_host = host_v4,
        .reconsume_times = 2,
        .prepared_offset = 1ll << 40,
        .body = SLICE("body"),
        .properties = SLICE("a\x01" "b\x02"),
    };
}

TEST(record, reads_back_what_was_encoded_with_hosts_of_either_family)
{
    for (int families = 0; families < 4; families++) {
        struct message m = sample(), got;
        m.born_host = families & 1 ? host_v6 : host_v4;
        const struct addr *store_host = families & 2 ? &host_v6 : &host_v4;
        struct buf b = encode(&m, store_host);
        EXPECT_EQ(record_read(buf_slice(&b), &got), RECORD_WHOLE);
        EXPECT(addr_eq(&got.born_host, &m.born_host) && addr_eq(&got.store_host, store_host));
        EXPECT(slice_eq(got.topic, m.topic) && slice_eq(got.body, m.body) && slice_eq(got.properties, m.properties));
        EXPECT_EQ(got.flag, -5);
        EXPECT_EQ(got.sys_flag & 0xF, SYS_FLAG_MULTI_TAGS);
        EXPECT_EQ(got.log_offset, 4096);
        EXPECT_EQ(got.queue_offset, 7);
        EXPECT_EQ(got.prepared_offset, 1ll << 40);
        EXPECT_EQ(got.store_ms, record_store_ms(b.p));
        EXPECT_EQ(record_read_size(&got), b.n);
        EXPECT(record_body_intact(&got) && record_looks_written(&got));
        buf_done(&b);
    }
}

TEST(record, its_properties_are_found_by_its_lengths_and_never_outside_of_it)
{
    for (int families = 0; families < 8; families++) {
        struct message m = sample();
        char topic[200];
        memset(topic, 't', sizeof topic);
        if (families & 1) m.born_host = host_v6;
        if (families & 4) m.topic = slice_of(topic, sizeof topic);
        struct buf b = encode(&m, families & 2 ? &host_v6 : &host_v4);
        struct slice found = record_properties(buf_slice(&b));
        EXPECT(slice_eq(found, m.properties));
        for (size_t n = 0; n < b.n; n++) {
            uint8_t *cut = must_alloc(n + 1);
            memcpy(cut, b.p, n);
            EXPECT_EQ(record_properties(slice_of(cut, n)).n, 0);
            free(cut);
        }
        for (size_t i = 0; i < b.n; i++) {
            uint8_t *whole = must_alloc(b.n);
            memcpy(whole, b.p, b.n);
            whole[i] ^= 0x80;
            found = record_properties(slice_of(whole, b.n));
            EXPECT(!found.n || (found.p >= whole && found.p + found.n <= whole + b.n));
            free(whole);
        }
        buf_done(&b);
    }
}

TEST(record, a_topic_of_127_bytes_has_the_first_form_and_one_of_128_the_second)
{
    char topic[200];
    memset(topic, 't', sizeof topic);
    for (size_t n = 127; n <= 200; n += n == 127 ? 1 : 72) {
        struct message m = sample(), got;
        m.topic = slice_of(topic, n);
        struct buf b = encode(&m, &host_v4);
        EXPECT(record_magic(b.p) == (n == 127 ? RECORD_MAGIC_V1 : RECORD_MAGIC_V2));
        EXPECT_EQ(record_read(buf_slice(&b), &got), RECORD_WHOLE);
        EXPECT_EQ(got.topic.n, n);
        buf_done(&b);
    }
}

/* Either length of the topic's length, whatever the topic: the next record is looked for where this one ends. */
TEST(record, its_size_is_what_it_says_however_its_topic_is_counted)
{
    struct message m = sample(), got;
    struct buf b = encode(&m, &host_v4);
    size_t at = RECORD_HEAD_BYTES + m.body.n;
    uint8_t *longer = must_alloc(b.n + 1);
    memcpy(longer, b.p, at);
    longer[at] = 0;
    memcpy(longer + at + 1, b.p + at, b.n - at);
    put_be32(longer, (uint32_t)b.n + 1);
    put_be32(longer + 4, RECORD_MAGIC_V2);
    EXPECT_EQ(record_read(slice_of(longer, b.n + 1), &got), RECORD_WHOLE);
    EXPECT(slice_eq(got.topic, m.topic) && slice_eq(got.properties, m.properties));
    EXPECT_EQ(record_read_size(&got), b.n + 1);
    EXPECT(slice_eq(record_properties(slice_of(longer, b.n + 1)), m.properties));
    free(longer);
    buf_done(&b);
}

/* The byte has a sign in the original, which takes such a record for damaged. */
TEST(record, a_topic_counted_in_one_byte_is_at_most_127_long)
{
    char topic[128];
    memset(topic, 'l', sizeof topic);
    struct message m = sample(), got;
    m.topic = slice_of(topic, sizeof topic);
    struct buf b = encode(&m, &host_v4);
    size_t at = RECORD_HEAD_BYTES + m.body.n;
    memmove(b.p + at, b.p + at + 1, b.n - at - 1);
    put_be32(b.p, (uint32_t)b.n - 1);
    put_be32(b.p + 4, RECORD_MAGIC_V1);
    EXPECT_EQ(record_read(slice_of(b.p, b.n - 1), &got), RECORD_DAMAGED);
    EXPECT_EQ(record_properties(slice_of(b.p, b.n - 1)).n, 0);
    buf_done(&b);
}

/* Every byte changed in turn: damage is seen, or leaves a record of the same shape; nothing is read beyond the bytes. */
TEST(record, no_changed_byte_leads_beyond_the_end)
{
    struct message m = sample(), got;
    struct buf b = encode(&m, &host_v4);
    for (size_t i = 0; i < b.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            b.p[i] ^= (uint8_t)(1 << bit);
            if (record_read(buf_slice(&b), &got) == RECORD_WHOLE) EXPECT_EQ(record_read_size(&got), b.n);
            b.p[i] ^= (uint8_t)(1 << bit);
        }
    for (size_t n = 0; n < b.n; n++) {
        uint8_t *cut = must_alloc(n);
        memcpy(cut, b.p, n);
        EXPECT(record_read(slice_of(cut, n), &got) != RECORD_WHOLE);
        free(cut);
    }
    buf_done(&b);
}

TEST(record, tells_zeros_a_blank_and_damage_apart)
{
    struct message got;
    uint8_t bytes[128] = {0};
    EXPECT_EQ(record_read(slice_of(bytes, sizeof bytes), &got), RECORD_END);
    record_encode_blank(sizeof bytes, bytes);
    EXPECT_EQ(record_read(slice_of(bytes, sizeof bytes), &got), RECORD_BLANK);
    bytes[4] = 1;
    EXPECT_EQ(record_read(slice_of(bytes, sizeof bytes), &got), RECORD_DAMAGED);
}

TEST(record, zeros_to_the_end_of_the_properties_were_never_written)
{
    char properties[1500];
    memset(properties, 'p', sizeof properties);
    struct message m = sample(), got;
    m.properties = slice_of(properties, sizeof properties);
    struct buf b = encode(&m, &host_v4);
    EXPECT_EQ(record_read(buf_slice(&b), &got), RECORD_WHOLE);
    EXPECT(record_looks_written(&got));
    memset(b.p + 512, 0, 512);                     /* one sector of three (the record begins at a multiple of 512) */
    EXPECT(!record_looks_written(&got));
    memset(b.p + 512, 'p', 512);
    b.p[600] = 0;                                  /* a zero byte in a value is none of our business */
    EXPECT(record_looks_written(&got));
    memset(b.p + b.n - 30, 0, 30);
    EXPECT(!record_looks_written(&got));
    buf_done(&b);
}

TEST(record, one_that_states_an_impossible_place_is_looked_at_like_any_other)
{
    static const int64_t places[] = {INT64_MAX, INT64_MIN, -1, INT64_MAX - 511};
    struct message m = sample(), got;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct buf b = encode(&m, &host_v4);
        put_be64(b.p + 28, (uint64_t)places[i]);
        EXPECT_EQ(record_read(buf_slice(&b), &got), RECORD_WHOLE);
        EXPECT_EQ(got.log_offset, places[i]);
        EXPECT(record_looks_written(&got));
        memset(b.p + b.n - 5, 0, 5);
        EXPECT(!record_looks_written(&got));
        buf_done(&b);
    }
}

static void check_crc(json_t *row)
{
    struct buf bytes = row_bytes(row, "hex");
    EXPECT_EQ(record_crc(buf_slice(&bytes)), row_number(row, "crc"));
    buf_done(&bytes);
}

TEST(record, checksum_of_the_golden_samples) { each_vector("crc32.jsonl", 20, check_crc); }

static void check_batch(json_t *row)
{
    struct buf encoded = row_bytes(row, "encoded");
    struct slice rest = buf_slice(&encoded);
    json_t *want;
    size_t i;
    bool broken;
    struct message m;
    json_array_foreach(json_object_get(row, "messages"), i, want)
    {
        struct buf body = row_bytes(want, "body");
        EXPECT(batch_next(&rest, &m, &broken));
        EXPECT_EQ(m.flag, row_number(want, "flag"));
        EXPECT(slice_eq(m.body, buf_slice(&body)));
        const char *name;
        json_t *value;
        json_object_foreach(json_object_get(want, "properties"), name, value)
            EXPECT_TEXT(properties_get(m.properties, slice_text(name)), json_string_value(value));
        buf_done(&body);
    }
    EXPECT(!batch_next(&rest, &m, &broken));
    EXPECT(!broken);
    buf_done(&encoded);
}

TEST(batch, messages_of_the_golden_bodies) { each_vector("batch_body.jsonl", 3, check_batch); }

TEST(batch, a_body_that_ends_early_is_broken)
{
    uint8_t one[24] = {0, 0, 0, 24, [19] = 2, 'h', 'i', 0, 0};
    struct slice rest = slice_of(one, sizeof one);
    struct message m;
    bool broken;
    EXPECT(batch_next(&rest, &m, &broken));
    EXPECT_TEXT(m.body, "hi");
    for (size_t n = 1; n < sizeof one; n++) {
        rest = slice_of(one, n);
        EXPECT(!batch_next(&rest, &m, &broken));
        EXPECT(broken);
    }
    one[3] = 11;
    rest = slice_of(one, sizeof one);
    EXPECT(!batch_next(&rest, &m, &broken) && broken);
}

TEST(queue_entry, an_address_of_the_extension_is_no_tag_hash)
{
    uint8_t bytes[QUEUE_ENTRY_BYTES];
    struct queue_entry e = {.log_offset = 1ll << 40, .size = 200, .tag_hash = INT32_MIN};
    queue_entry_put(bytes, &e);
    EXPECT_EQ(queue_entry_ext_offset(queue_entry_get(bytes, 7)), -1);
    e.tag_hash = INT64_MIN + 28;
    queue_entry_put(bytes, &e);
    EXPECT_EQ(queue_entry_ext_offset(queue_entry_get(bytes, 7)), 28);
    EXPECT_EQ(queue_entry_get(bytes, 7).log_offset, 1ll << 40);
    EXPECT_EQ(queue_entry_get(bytes, 7).queue_offset, 7);
}

TEST(checkpoint, our_own_part_is_taken_only_when_it_is_whole)
{
    uint8_t page[CHECKPOINT_BYTES];
    struct checkpoint c = {.log_ms = 5, .queues_ms = 4, .queues_offset = 99, .resume_offset = 77}, got;
    checkpoint_encode(&c, page);
    checkpoint_decode(slice_of(page, sizeof page), &got);
    EXPECT_EQ(got.log_ms, 5);
    EXPECT_EQ(got.queues_offset, 99);
    EXPECT_EQ(got.resume_offset, 77);
    page[1024 + 15] ^= 1;
    checkpoint_decode(slice_of(page, sizeof page), &got);
    EXPECT_EQ(got.resume_offset, -1);
    checkpoint_decode(slice_of(page, 0), &got);
    EXPECT_EQ(got.log_ms, 0);
    EXPECT_EQ(got.resume_offset, -1);
}

/* disk_bcq_entry of docs/protocol/vectors.tsv. */
TEST(queue_entry, an_entry_of_batches_is_that_of_the_original)
{
    static const uint8_t want[BATCH_ENTRY_BYTES] =
        "\x00\x00\x00\x00\x00\x00\x06\x40\x00\x00\x01\xf8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\xa2\x29\x96\x76\xf9"
        "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\xff\xff\xff\xff\x00\x00\x00";
    struct queue_entry e = {.log_offset = 1600, .size = 504, .store_ms = 1795994056441, .count = 2};
    uint8_t bytes[BATCH_ENTRY_BYTES];
    batch_entry_put(bytes, &e);
    EXPECT(memcmp(bytes, want, sizeof want) == 0);
    struct queue_entry read = batch_entry_get(want);
    EXPECT(queue_entry_is_written(read));
    EXPECT_EQ(read.log_offset, 1600);
    EXPECT_EQ(read.size, 504);
    EXPECT_EQ(read.store_ms, 1795994056441);
    EXPECT_EQ(queue_entry_end(read), 2);
}

TEST(queue_entry, what_cannot_be_a_batch_is_no_entry)
{
    static const uint8_t zeros[BATCH_ENTRY_BYTES];
    struct queue_entry good = {.log_offset = 5, .size = 100, .count = 3, .queue_offset = 10}, bad = good;
    EXPECT(queue_entry_is_written(good));
    EXPECT(!queue_entry_is_written(batch_entry_get(zeros)));
    bad.count = 0;
    EXPECT(!queue_entry_is_written(bad));
    bad = good, bad.queue_offset = -1;
    EXPECT(!queue_entry_is_written(bad));
    bad = good, bad.queue_offset = QUEUE_OFFSET_MAX;
    EXPECT(!queue_entry_is_written(bad));
}
