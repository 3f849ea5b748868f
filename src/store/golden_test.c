/* golden_test.c - stores that the official server left behind, opened by ours. Each has an expected.json with what is in it.
 * Left out until there is code for them: the timer's files, config files. */
#include "kit/fake_tasks.h"
#include "kit/test.h"

#include "codec/properties.h"
#include "codec/record.h"
#include "codec/queue_entry.h"
#include "store/store.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

struct golden {
    char *folder;
    char root[600];
    json_t *json;
    json_t *expected;
    struct fake_tasks tasks;
    struct store *store;
    int64_t damaged;      /* position of the record that is damaged on purpose; -1: none */
};

static int64_t number(json_t *o, const char *key) { return json_integer_value(json_object_get(o, key)); }
static const char *text(json_t *o, const char *key) { return json_string_value(json_object_get(o, key)); }
static int64_t config_number(json_t *o, const char *key) { return strtoll(text(o, key), NULL, 10); }

static void unpack(struct golden *g, const char *name)
{
    char command[1200];
    g->folder = test_folder();
    snprintf(command, sizeof command, "zstd -qdc '%s/store/%s.tar.zst' | tar -xf - -C '%s'", FIXTURES, name, g->folder);
    EXPECT_EQ(system(command), 0);
    snprintf(g->root, sizeof g->root, "%s/%s/expected.json", g->folder, name);
    g->json = json_load_file(g->root, JSON_ALLOW_NUL, NULL);
    EXPECT(g->json);
    g->expected = json_object_get(g->json, "expected");
    snprintf(g->root, sizeof g->root, "%s/%s/store", g->folder, name);
}

static void reopen(struct golden *g)
{
    json_t *config = json_object_get(g->json, "config");
    struct store_options o = {
        .root = g->root,
        .log_file_bytes = config_number(config, "mappedFileSizeCommitLog"),
        .queue_file_entries = config_number(config, "mappedFileSizeConsumeQueue") / QUEUE_ENTRY_BYTES,
        .batch_file_entries = config_number(config, "mapperFileSizeBatchConsumeQueue") / BATCH_ENTRY_BYTES,
        .sync_timeout_ms = 5000, .flush_interval_ms = 500, .queue_flush_interval_ms = 1000, .max_message_bytes = 4 << 20, .recent_percent = 40,
        .store_host = {.ip = {127, 0, 0, 1}, .port = 10911},
        .index = true, .index_slots = (int32_t)config_number(config, "maxHashSlotNum"), .index_entries = (int32_t)config_number(config, "maxIndexNum"),
    };
    EXPECT_OK(store_open(&o, fs_real(), &g->tasks.tasks, &g->store));
}

static struct golden *golden_open(const char *name)
{
    struct golden *g = must_zero(sizeof *g);
    fake_tasks_init(&g->tasks, 1796000000000);
    unpack(g, name);
    json_t *damage = json_object_get(g->json, "damage");
    g->damaged = damage ? number(damage, "record") : -1;
    reopen(g);
    return g;
}

static void golden_close(struct golden *g)
{
    EXPECT_OK(store_close(g->store));
    json_decref(g->json);
    fake_tasks_done(&g->tasks);
    test_folder_remove(g->folder);
    free(g);
}

/* --- asking, as often as it takes until all is in memory --- */

static void on_fetched(struct store_fetch *f) { (void)f; }

static bool was_cold(struct golden *g)
{
    struct store_fetch fetch = {.done = on_fetched};
    if (!store_is_cold(g->store)) return false;
    store_fetch(g->store, &fetch);
    fake_tasks_settle(&g->tasks);
    EXPECT(!fetch.job);
    return true;
}

static err_t record_at(struct golden *g, int64_t at, struct pinned *out)
{
    err_t e = store_record_at(g->store, at, out);
    while (was_cold(g)) {
        err_free(e);
        e = store_record_at(g->store, at, out);
    }
    return e;
}

static void read_at(struct golden *g, const struct read_request *r, struct read_result *out)
{
    do store_read(g->store, r, out);
    while (was_cold(g));
}

static int64_t offset_by_time(struct golden *g, struct slice topic, int32_t queue_id, int64_t ms, enum time_boundary b)
{
    int64_t offset;
    do offset = store_offset_by_time(g->store, topic, queue_id, ms, b);
    while (was_cold(g));
    return offset;
}

/* --- records --- */

static void check_addr(const struct addr *a, const char *want)
{
    char got[ADDR_TEXT_MAX + 8], ip[ADDR_TEXT_MAX];
    snprintf(got, sizeof got, "%s %u", addr_format_ip(a, ip), a->port);
    if (!a->v6) assert_string_equal(got, want);   /* IPv6 is written in another way by Java */
}

static void check_properties(struct slice properties, json_t *want)
{
    const char *name;
    json_t *value;
    json_object_foreach(want, name, value)
    {
        struct slice got;
        EXPECT(properties_find(properties, slice_text(name), &got));
        EXPECT_TEXT(got, json_string_value(value));
    }
}

static void check_message(const struct message *m, json_t *want)
{
    EXPECT_TEXT(m->topic, text(want, "topic"));
    EXPECT_EQ(m->queue_id, number(want, "queueId"));
    EXPECT_EQ(m->queue_offset, number(want, "queueOffset"));
    EXPECT_EQ(m->log_offset, number(want, "storedOffset"));
    EXPECT_EQ(m->flag, number(want, "flag"));
    EXPECT_EQ(m->sys_flag, number(want, "sysFlag"));
    EXPECT_EQ(m->born_ms, number(want, "bornTimestamp"));
    EXPECT_EQ(m->store_ms, number(want, "storeTimestamp"));
    EXPECT_EQ(m->reconsume_times, number(want, "reconsumeTimes"));
    EXPECT_EQ(m->prepared_offset, number(want, "preparedTransactionOffset"));
    EXPECT_EQ(m->body_crc, number(want, "bodyCrc"));
    check_addr(&m->born_host, text(want, "bornHost"));
    check_addr(&m->store_host, text(want, "storeHost"));
    check_properties(m->properties, json_object_get(want, "properties"));
}

/* What is read is encoded again and gives the same bytes. */
static void check_encoding(const struct message *m, struct slice record)
{
    struct record_place place = {m->log_offset, m->queue_offset, m->store_ms, &m->store_host};
    size_t size = record_size(m, &m->store_host);
    EXPECT_EQ(size, record.n);
    uint8_t *again = must_alloc(size);
    record_encode(m, &place, size, again);
    EXPECT(memcmp(again, record.p, size) == 0);
    free(again);
}

static void check_records(struct golden *g, bool crc_property)
{
    size_t i;
    json_t *want;
    json_array_foreach(json_object_get(g->expected, "records"), i, want)
    {
        int64_t at = number(want, "position");
        struct pinned p;
        if (strcmp(text(want, "kind"), "message") || at == g->damaged) {
            EXPECT_ERR(record_at(g, at, &p), ERR_NOT_FOUND);
            continue;
        }
        struct message m;
        EXPECT_OK(record_at(g, at, &p));
        EXPECT_EQ(p.bytes.n, number(want, "size"));
        EXPECT_EQ(record_read(p.bytes, &m), RECORD_WHOLE);
        check_message(&m, want);
        check_encoding(&m, p.bytes);
        EXPECT_EQ(record_check_crc_property(p.bytes, &m), crc_property ? 1 : -1);
        pin_release(&p);
    }
}

/* --- queues --- */

/* "topic@id" in two. */
static int32_t split_key(const char *key, struct slice *topic)
{
    const char *at = strrchr(key, '@');
    *topic = slice_of(key, (size_t)(at - key));
    return (int32_t)strtol(at + 1, NULL, 10);
}

struct seen_tag {
    int64_t tag_hash;
};

static bool see_tag(void *ctx, int64_t tag_hash)
{
    ((struct seen_tag *)ctx)->tag_hash = tag_hash;
    return true;
}

/* One entry: [offset, position, size, tag hash or extension address, … , tag hash of the extension]; of batches [first offset, position,
 * size, tag hash, messages, place in a compacted log]. */
static void check_entry(struct golden *g, struct slice topic, int32_t queue_id, bool batches, json_t *entry)
{
    int64_t at = json_integer_value(json_array_get(entry, 1));
    size_t last = batches ? 3 : json_array_size(entry) - 1;
    struct seen_tag seen = {0};
    struct read_filter filter = {.entry = see_tag, .ctx = &seen};
    struct read_request r = {.topic = topic, .queue_id = queue_id, .max_messages = 1, .max_bytes = 1, .max_scan = 1};
    r.filter = &filter;
    r.offset = json_integer_value(json_array_get(entry, 0));
    struct read_result got;
    read_at(g, &r, &got);
    if (at == g->damaged) {
        EXPECT_EQ(got.status, READ_MESSAGE_GONE);   /* never served */
        return;
    }
    EXPECT_EQ(got.status, READ_FOUND);
    EXPECT_EQ(got.bytes, json_integer_value(json_array_get(entry, 2)));
    EXPECT_EQ(record_log_offset(got.slice[0].bytes.p), at);
    EXPECT_EQ(seen.tag_hash, json_integer_value(json_array_get(entry, last)));
    EXPECT_EQ(got.messages, batches ? json_integer_value(json_array_get(entry, 4)) : 1);
    EXPECT_EQ(got.next_offset, r.offset + got.messages);
    read_result_release(&got);
}

static const char *status_name(const struct read_result *r)
{
    static const char *const names[] = {
        [READ_FOUND] = "FOUND",
        [READ_NO_MATCH] = "NO_MATCHED_MESSAGE",
        [READ_NO_QUEUE] = "NO_MATCHED_LOGIC_QUEUE",
        [READ_QUEUE_EMPTY] = "NO_MESSAGE_IN_QUEUE",
        [READ_OFFSET_TOO_SMALL] = "OFFSET_TOO_SMALL",
        [READ_OFFSET_AT_END] = "OFFSET_OVERFLOW_ONE",
        [READ_OFFSET_PAST_END] = "OFFSET_OVERFLOW_BADLY",
        [READ_MESSAGE_GONE] = "MESSAGE_WAS_REMOVING",
    };
    return names[r->status];
}

/* The original ends a read with the file of the queue, ours does not: it is asked for as many as the original had. */
static void check_probe(struct golden *g, struct slice topic, int32_t queue_id, json_t *probe)
{
    int32_t count = (int32_t)number(probe, "count");
    struct read_request r = {.topic = topic, .queue_id = queue_id, .max_bytes = 256 << 10, .max_scan = 800};
    r.offset = number(probe, "offset");
    r.max_messages = count ? count : 32;
    struct read_result got;
    read_at(g, &r, &got);
    assert_string_equal(status_name(&got), text(probe, "status"));
    EXPECT_EQ(got.messages, count);
    EXPECT_EQ(got.bytes, number(probe, "bytes"));
    EXPECT_EQ(got.next_offset, number(probe, "next"));
    EXPECT_EQ(got.min_offset, number(probe, "min"));
    EXPECT_EQ(got.max_offset, number(probe, "max"));
    read_result_release(&got);
}

static void check_probes(struct golden *g, struct slice topic, int32_t queue_id, json_t *queue)
{
    size_t i;
    json_t *probe;
    json_array_foreach(json_object_get(queue, "getMessage"), i, probe) check_probe(g, topic, queue_id, probe);
    json_array_foreach(json_object_get(queue, "byTime"), i, probe)
    {
        int64_t ms = number(probe, "timestamp");
        EXPECT_EQ(offset_by_time(g, topic, queue_id, ms, BOUNDARY_LOWER), number(probe, "lower"));
        EXPECT_EQ(offset_by_time(g, topic, queue_id, ms, BOUNDARY_UPPER), number(probe, "upper"));
    }
}

static void check_queues(struct golden *g, json_t *queues, bool probes)
{
    const char *key;
    json_t *queue, *entry;
    size_t i;
    json_object_foreach(queues, key, queue)
    {
        struct slice topic;
        int32_t queue_id = split_key(key, &topic);
        bool batches = !strcmp(text(queue, "type"), "BatchCQ");
        EXPECT(batches || !strcmp(text(queue, "type"), "SimpleCQ"));
        EXPECT_EQ(store_min_offset(g->store, topic, queue_id), number(queue, "min"));
        EXPECT_EQ(store_max_offset(g->store, topic, queue_id), number(queue, "max"));
        json_array_foreach(json_object_get(queue, "entries"), i, entry) check_entry(g, topic, queue_id, batches, entry);
        if (probes) check_probes(g, topic, queue_id, queue);
    }
}

static void check_all(const char *name, bool crc_property)
{
    struct golden *g = golden_open(name);
    json_t *state = json_object_get(g->expected, "afterLoad");
    for (int round = 0; round < 2; round++) {
        EXPECT_EQ(store_log_min(g->store), number(state, "minPhyOffset"));
        EXPECT_EQ(store_log_max(g->store), number(state, "maxPhyOffset"));
        check_records(g, crc_property);
        check_queues(g, json_object_get(g->expected, "consumeQueues"), true);
        EXPECT_OK(store_close(g->store));   /* and once more from what ours leaves */
        reopen(g);
    }
    golden_close(g);
}

TEST(golden, a_clean_store) { check_all("clean", false); }
TEST(golden, a_store_whose_server_was_killed) { check_all("crash", false); }
TEST(golden, a_store_with_extended_queues_and_a_checksum_over_each_record) { check_all("ext", true); }
/* --- index --- */

static void on_found(void *ctx, struct store_found *found)
{
    struct store_found *out = ctx;
    *out = *found;
    out->index_ms = 1;
}

static struct store_found find(struct golden *g, const char *topic, const char *key, int32_t max)
{
    struct store_find f = {.topic = slice_text(topic), .key = slice_text(key), .end_ms = INT64_MAX, .max = max};
    struct store_found found = {.index_ms = 0};
    store_find(g->store, &f, on_found, &found);
    fake_tasks_settle(&g->tasks);
    EXPECT_EQ(found.index_ms, 1);
    return found;
}

/* The original filters topic and key in the client; it answers for hashes. */
static bool is_for(int64_t at, struct golden *g, const char *topic, const char *key)
{
    struct pinned record;
    struct message m;
    EXPECT_OK(record_at(g, at, &record));
    EXPECT_EQ(record_read(record.bytes, &m), RECORD_WHOLE);
    struct slice words = properties_get(m.properties, SLICE("KEYS")), word;
    bool yes = slice_eq(properties_get(m.properties, SLICE("UNIQ_KEY")), slice_text(key));
    while (words.n && slice_split(&words, ' ', &word)) yes |= slice_eq(word, slice_text(key));
    yes = yes && slice_eq(m.topic, slice_text(topic));
    pin_release(&record);
    return yes;
}

static void check_lookup(struct golden *g, const char *both, json_t *places)
{
    char *topic = must_strdup(both), *key = strchr(topic, '#');
    *key++ = 0;
    struct store_found found = find(g, topic, key, FIND_MAX);
    json_t *place;
    int64_t before = -1;
    size_t i, expected = 0;
    json_array_foreach(places, i, place) {
        int64_t at = json_integer_value(place);
        if (at == before || !is_for(at, g, topic, key)) continue;   /* twice where both keys of a record have the hash */
        before = at;
        EXPECT(expected < found.count);
        EXPECT_EQ(record_log_offset(found.record[expected++].bytes.p), at);
    }
    EXPECT_EQ(found.count, expected);
    for (i = 0; i < found.count; i++) pin_release(&found.record[i]);
    free(topic);
}

static void check_lookups(struct golden *g)
{
    json_t *all = json_object_get(g->expected, "indexLookups"), *one;
    const char *key;
    EXPECT(json_object_size(all) > 200);
    json_object_foreach(all, key, one) check_lookup(g, key, json_object_get(one, "queryMessage"));
}

TEST(golden, keys_are_found_in_the_index_of_the_original)
{
    struct golden *g = golden_open("clean");
    check_lookups(g);
    golden_close(g);
}

/* Names tell when a file was made, so they differ; what is in them does not. */
TEST(golden, an_index_built_again_from_the_log_is_that_of_the_original_byte_for_byte)
{
    struct golden *g = golden_open("clean");
    char command[1400];
    check_lookups(g);
    EXPECT_OK(store_close(g->store));
    snprintf(command, sizeof command, "cd '%s' && cat index/* > ../before && rm -r index", g->root);
    EXPECT_EQ(system(command), 0);
    reopen(g);
    check_lookups(g);
    snprintf(command, sizeof command, "cd '%s' && cat index/* | cmp - ../before", g->root);
    EXPECT_EQ(system(command), 0);
    golden_close(g);
}

TEST(golden, all_queues_are_rebuilt_from_the_log_alone)
{
    struct golden *g = golden_open("clean");
    char command[1400];
    EXPECT_OK(store_close(g->store));
    snprintf(command, sizeof command, "cd '%s' && mv batchconsumequeue ../before && rm -r consumequeue", g->root);
    EXPECT_EQ(system(command), 0);
    reopen(g);
    check_queues(g, json_object_get(g->expected, "consumeQueues"), true);
    snprintf(command, sizeof command, "cd '%s' && diff -r batchconsumequeue ../before", g->root);
    EXPECT_EQ(system(command), 0);   /* byte for byte */
    golden_close(g);
}

TEST(golden, a_store_with_a_torn_last_record) { check_all("torn", false); }

TEST(golden, a_record_torn_in_its_properties_is_cut_though_its_body_is_whole)
{
    struct golden *g = golden_open("torn-properties");
    EXPECT_EQ(store_log_max(g->store), g->damaged);
    EXPECT_EQ(store_max_offset(g->store, SLICE("TopicTail"), 0), 366);
    check_records(g, false);
    golden_close(g);
}

/* The expectations of the store before the bit was flipped, but for the damaged record. */
static void check_flipped(const char *name)
{
    struct golden *g = golden_open(name);
    struct golden *whole = golden_open("clean");
    for (int round = 0; round < 2; round++) {
        EXPECT_EQ(store_log_max(g->store), number(json_object_get(whole->expected, "afterLoad"), "maxPhyOffset"));
        check_records(g, false);
        check_queues(g, json_object_get(whole->expected, "consumeQueues"), false);
        EXPECT_OK(store_close(g->store));
        reopen(g);
    }
    golden_close(whole);
    golden_close(g);
}

TEST(golden, a_bit_flipped_in_the_last_file_costs_one_record_and_not_all_behind_it) { check_flipped("flip-last"); }
TEST(golden, a_bit_flipped_in_the_first_file_is_found_when_its_record_is_read) { check_flipped("flip-first"); }
