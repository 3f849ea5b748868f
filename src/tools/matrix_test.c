/* matrix_test.c - one flipped bit in each field of each file of a store, after a good stop, after a kill, and after a kill without a
 * checkpoint: the store opens, every other message is served under its offset, nothing damaged is served, new messages find their
 * place, and check says what is wrong. Configuration files: meta/matrix_test.c. */
#include "tools/tools_fixture.h"

#include "codec/record.h"

#include <stdlib.h>
#include <string.h>

enum stop { CLEAN, KILLED, WITHOUT_CHECKPOINT, STOPS };
static const char *const stop_names[] = {"a good stop", "a kill", "a kill without checkpoint"};

/* What is flipped; for the messages of tests that fail. */
struct place {
    const char *what;
    const char *path;
    int64_t at;
    uint8_t mask;
    bool v6;
    enum stop stop;
};

static void fail_at(const struct place *p, const struct tools_fixture *t, const char *why)
{
    fail_msg("%s at %lld mask %d hosts %s after %s: %s\n%s", p->what, (long long)p->at, p->mask, p->v6 ? "v6" : "v4", stop_names[p->stop], why,
             t->text ? t->text : "");
}

static struct tools_fixture *flipped(const struct place *p)
{
    struct tools_fixture *t = tools_fixture_new(p->v6);
    if (p->stop != CLEAN) {
        store_fixture_open(t->s);
        store_fixture_kill(t->s);
    }
    if (p->stop == WITHOUT_CHECKPOINT) EXPECT_OK(fs_remove(t->options.fs, "/store/checkpoint"));
    sim_fs_flip(t->s->disk, p->path, p->at, p->mask);
    return t;
}

static void expect_verdict(const struct place *p, struct tools_fixture *t, bool damage)
{
    EXPECT_OK(tools_fixture_check(t));
    if (t->whole == damage) fail_at(p, t, damage ? "check saw nothing" : "check saw damage");
}

/* The messages but one, which is `served` or not; then a new one, and all of it again after another start. */
static void expect_served(const struct place *p, struct tools_fixture *t, int damaged, bool served)
{
    int64_t next = 0;
    t->s->options.scrub_bytes_per_second = 1 << 20;
    for (int round = 0; round < 2; round++) {
        store_fixture_open(t->s);
        for (int i = 0; i < FIXTURE_MESSAGES; i++)
            if (tools_fixture_serves(t, i) != (i != damaged || served)) fail_at(p, t, i == damaged ? "the message itself" : "another message");
        fake_tasks_advance(&t->s->tasks, 5000);   /* the scrub */
        fake_tasks_settle(&t->s->tasks);
        for (int i = 0; i < FIXTURE_MESSAGES; i++)
            if (tools_fixture_serves(t, i) != (i != damaged || served)) fail_at(p, t, "not the same when it has been looked through");
        next = store_fixture_append(t->s, "TopicA", 0, "a new one").queue_offset;
        if (next != 14 + round) fail_at(p, t, "the next message has another offset");
        fake_tasks_settle(&t->s->tasks);
        store_fixture_expect(t->s, "TopicA", 0, next, "a new one");
        store_fixture_close(t->s);
    }
}

/* --- records --- */

enum { MESSAGE = 9, BODY = 21 };   /* topic A, queue 0, offset 3; its body is that long */
enum hosts { NONE, BORN, BOTH };   /* how many of them lie before the field */

static const struct record_case {
    const char *what;
    int64_t at;
    enum hosts behind;
    uint8_t mask;
    bool served[STOPS];
    bool seen;
} record_cases[] = {
    {"size", 3, NONE, 1, {false, false, false}, true},
    {"size, made huge", 0, NONE, 0x40, {false, false, false}, true},
    {"magic", 7, NONE, 1, {false, false, false}, true},
    {"magic, first byte", 4, NONE, 0x10, {false, false, false}, true},
    {"checksum", 11, NONE, 1, {false, false, false}, true},
    {"checksum, sign", 8, NONE, 0x80, {false, false, false}, true},
    {"queue id", 15, NONE, 0x10, {true, true, false}, true},        /* nothing but the queue entry knows better */
    {"queue id, negative", 12, NONE, 0x80, {true, true, false}, true},
    {"flag", 19, NONE, 1, {true, true, true}, false},                /* no checksum covers it */
    {"queue offset", 27, NONE, 0x10, {true, true, false}, true},
    {"queue offset, smaller", 27, NONE, 1, {true, true, false}, true},
    {"queue offset, negative", 20, NONE, 0x80, {true, true, false}, true},
    {"position", 35, NONE, 1, {false, false, false}, true},
    {"position, negative", 28, NONE, 0x80, {false, false, false}, true},
    {"system flag: compressed", 39, NONE, 1, {true, true, true}, false},
    {"system flag: prepared", 39, NONE, 4, {true, true, false}, true},
    {"system flag: committed", 39, NONE, 8, {true, true, true}, false},
    {"system flag: born host", 39, NONE, 0x10, {false, false, false}, true},
    {"system flag: store host", 39, NONE, 0x20, {false, false, false}, true},
    {"system flag: inner batch", 39, NONE, 0x80, {true, true, false}, true},
    {"born time", 47, NONE, 1, {true, true, true}, false},
    {"born host, address", 48, NONE, 1, {true, true, true}, false},
    {"born host, port", 55, BORN, 1, {true, true, true}, false},
    {"store time", 61, BORN, 1, {true, true, true}, true},           /* the index counts seconds */
    {"store host, address", 64, BORN, 1, {true, true, true}, false},
    {"store host, port", 71, BOTH, 1, {true, true, true}, false},
    {"reconsume times", 75, BOTH, 1, {true, true, true}, false},
    {"prepared offset", 83, BOTH, 1, {true, true, true}, false},
    {"body length", 87, BOTH, 1, {false, false, false}, true},
    {"body length, negative", 84, BOTH, 0x80, {false, false, false}, true},
    {"body, first byte", 88, BOTH, 1, {false, false, false}, true},
    {"body, last byte", 88 + BODY - 1, BOTH, 0x80, {false, false, false}, true},
    {"topic length", 88 + BODY, BOTH, 1, {false, false, false}, true},
    {"topic", 89 + BODY, BOTH, 1, {true, true, false}, true},
    {"topic, last byte", 94 + BODY, BOTH, 2, {true, true, false}, true},
    {"properties length", 96 + BODY, BOTH, 1, {false, false, false}, true},
    {"property name", 97 + BODY, BOTH, 1, {true, true, true}, true},        /* the index knows the key */
    {"property tag", 97 + BODY + 33, BOTH, 1, {true, true, true}, true},    /* the queue entry knows its hash */
};

static void try_record(const struct record_case *c, bool v6, enum stop stop)
{
    struct tools_fixture *whole = tools_fixture_new(v6);
    int64_t at = whole->places[MESSAGE].log_offset + c->at + (v6 ? 12 * c->behind : 0);
    tools_fixture_free(whole);
    struct place p = {c->what, "/store/commitlog/00000000000000000000", at, c->mask, v6, stop};
    struct tools_fixture *t = flipped(&p);
    bool served = c->served[stop];
    expect_verdict(&p, t, c->seen);
    expect_served(&p, t, MESSAGE, served);
    expect_verdict(&p, t, c->seen);
    tools_fixture_free(t);
}

TEST(matrix, a_bit_of_any_field_of_a_record_costs_at_most_that_record)
{
    for (size_t i = 0; i < sizeof record_cases / sizeof *record_cases; i++)
        for (int v6 = 0; v6 < 2; v6++)
            for (int stop = CLEAN; stop < STOPS; stop++) try_record(&record_cases[i], v6, (enum stop)stop);
}

TEST(matrix, a_damaged_record_is_counted_whoever_meets_it_first)
{
    for (size_t i = 0; i < sizeof record_cases / sizeof *record_cases; i++) {
        const struct record_case *c = &record_cases[i];
        if (c->served[CLEAN]) continue;
        struct tools_fixture *t = tools_fixture_new(false);
        sim_fs_flip(t->s->disk, "/store/commitlog/00000000000000000000", t->places[MESSAGE].log_offset + c->at, c->mask);
        t->s->options.scrub_bytes_per_second = i % 2 ? 1 << 20 : 0;
        store_fixture_open(t->s);
        fake_tasks_advance(&t->s->tasks, 5000);
        fake_tasks_settle(&t->s->tasks);
        EXPECT(!tools_fixture_serves(t, MESSAGE));
        EXPECT_EQ(store_counts(t->s->store).damaged, 1);
        tools_fixture_free(t);
    }
}

/* --- queue entries --- */

enum { ENTRIES_OF_FILE = 8 };

static void try_entry(int64_t entry, int64_t byte, uint8_t mask, enum stop stop)
{
    char path[96];
    bool place_is_hit = byte < 12, rewritten = stop == WITHOUT_CHECKPOINT;
    snprintf(path, sizeof path, "/store/consumequeue/TopicA/0/%020lld", (long long)(entry / ENTRIES_OF_FILE * ENTRIES_OF_FILE * 20));
    struct place p = {"queue entry", path, entry % ENTRIES_OF_FILE * 20 + byte, mask, false, stop};
    struct tools_fixture *t = flipped(&p);
    if (stop == CLEAN) expect_verdict(&p, t, true);
    store_fixture_open(t->s);
    int damaged = (int)entry * 3;
    bool served = tools_fixture_serves(t, damaged);
    if (!served && (!place_is_hit || rewritten)) fail_at(&p, t, "the entry was not made anew");
    store_fixture_close(t->s);
    expect_served(&p, t, damaged, served);
    EXPECT_OK(tools_fixture_rebuild(t));
    expect_verdict(&p, t, false);
    store_fixture_open(t->s);
    if (!tools_fixture_serves(t, damaged)) fail_at(&p, t, "a rebuild does not bring it back");
    tools_fixture_free(t);
}

/* The first, one in the middle, the last and the first of a file, and the last of all. */
TEST(matrix, a_bit_of_any_byte_of_a_queue_entry_costs_at_most_that_entry_and_a_rebuild_brings_it_back)
{
    static const int64_t entries[] = {0, 3, 7, 8, 13};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        for (int64_t byte = 0; byte < 20; byte++)
            for (int stop = CLEAN; stop < STOPS; stop++) try_entry(entries[i], byte, byte % 2 ? 1 : 0x80, (enum stop)stop);
}

/* --- index --- */

static void on_found(void *ctx, struct store_found *found)
{
    *(size_t *)ctx = found->count;
    for (size_t i = 0; i < found->count; i++) pin_release(&found->record[i]);
}

static size_t find(struct tools_fixture *t, const char *topic, const char *key)
{
    struct store_find f = {.topic = slice_text(topic), .key = slice_text(key), .begin_ms = 0, .end_ms = INT64_MAX, .max = 10};
    size_t count = 99;
    store_find(t->s->store, &f, on_found, &count);
    fake_tasks_settle(&t->s->tasks);
    return count;
}

static void expect_found(const struct place *p, struct tools_fixture *t, bool all_keys)
{
    struct appended a;
    struct message m = store_fixture_message("TopicA", 0, "to be found");
    m.properties = SLICE("UNIQ_KEY\1NEW\2");
    store_fixture_open(t->s);
    EXPECT_OK(store_fixture_try(t->s, &m, &a));
    fake_tasks_settle(&t->s->tasks);
    if (find(t, "TopicA", "NEW") != 1) fail_at(p, t, "a new message is not found");
    for (int i = 0; i < FIXTURE_MESSAGES && all_keys; i++) {
        char key[8];
        int32_t queue_id;
        snprintf(key, sizeof key, "U%d", i);
        if (find(t, tools_fixture_topic(i, &queue_id), key) != 1) fail_at(p, t, "an older message is not found");
    }
    for (int i = 0; i < FIXTURE_MESSAGES; i++)
        if (!tools_fixture_serves(t, i)) fail_at(p, t, "a message is not served");
}

static void first_name(void *ctx, const char *name) { if (!*(char *)ctx) strcpy(ctx, name); }
static void last_name(void *ctx, const char *name) { strcpy(ctx, name); }

static void try_index(bool newest, int64_t at, uint8_t mask, enum stop stop, bool all_keys)
{
    char name[32] = "", path[64];
    struct tools_fixture *whole = tools_fixture_new(false);
    EXPECT_OK(fs_list(whole->options.fs, "/store/index", newest ? last_name : first_name, name));
    tools_fixture_free(whole);
    snprintf(path, sizeof path, "/store/index/%s", name);
    struct place p = {newest ? "newest index file" : "oldest index file", path, at, mask, false, stop};
    struct tools_fixture *t = flipped(&p);
    if (stop == CLEAN) expect_verdict(&p, t, true);
    else EXPECT_OK(tools_fixture_check(t));
    expect_found(&p, t, all_keys);
    tools_fixture_free(t);
}

enum { SLOTS_AT = 40, ENTRIES_AT = 40 + 31 * 4, HEADER_BYTES = 40 };

/* The newest file is made whole by the store; of older ones it uses what it can. */
TEST(matrix, a_bit_of_any_byte_of_an_index_header_costs_no_key_of_the_newest_file_and_no_message)
{
    for (int64_t at = 0; at < HEADER_BYTES; at++)
        for (int stop = CLEAN; stop < WITHOUT_CHECKPOINT; stop++) {
            try_index(true, at, at % 2 ? 1 : 0x80, (enum stop)stop, true);
            try_index(false, at, at % 2 ? 1 : 0x80, (enum stop)stop, false);
        }
}

/* --- numbers at their limits --- */

static void write_at(struct tools_fixture *t, const char *path, int64_t at, const void *bytes, size_t n)
{
    struct file *f;
    EXPECT_OK(fs_open(t->options.fs, path, FILE_WRITE, &f));
    EXPECT_OK(file_write_at(f, at, bytes, n));
    file_close(f);
}

/* The largest or the smallest number in each place of an index file's header that is `marked`, and in the store times of all records. */
static void try_limits(unsigned marked, bool largest)
{
    static const struct { int64_t at; size_t bytes; } fields[] = {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 4}, {36, 4}};
    enum { FIELDS = 6, STORE_TIME_AT = 56 };
    uint8_t number[8], other[8];
    char name[32] = "", path[64];
    struct tools_fixture *t = tools_fixture_new(false);
    put_be64(number, largest ? INT64_MAX : (uint64_t)INT64_MIN);
    put_be64(other, largest ? (uint64_t)INT64_MIN : INT64_MAX);
    EXPECT_OK(fs_list(t->options.fs, "/store/index", last_name, name));
    snprintf(path, sizeof path, "/store/index/%s", name);
    for (int i = 0; i < FIELDS; i++)
        if (marked >> i & 1) write_at(t, path, fields[i].at, number, fields[i].bytes);
    for (int i = 0; i < FIXTURE_MESSAGES && marked >> FIELDS & 1; i++) {
        int64_t at = t->places[i].log_offset;
        snprintf(path, sizeof path, "/store/commitlog/%020lld", (long long)(at / FIXTURE_LOG_BYTES * FIXTURE_LOG_BYTES));
        write_at(t, path, at % FIXTURE_LOG_BYTES + STORE_TIME_AT, other, 8);
    }
    struct place p = {largest ? "largest numbers" : "smallest numbers", "index and records", marked, 0, false, CLEAN};
    expect_verdict(&p, t, true);
    store_fixture_open(t->s);
    struct appended next;
    struct message m = store_fixture_message("TopicA", 0, "to be found");
    m.properties = SLICE("KEYS\1a b c d e f g h i j\2");
    EXPECT_OK(store_fixture_try(t->s, &m, &next));
    fake_tasks_settle(&t->s->tasks);
    find(t, "TopicA", "U0");
    for (int i = 0; i < FIXTURE_MESSAGES; i++)
        if (!tools_fixture_serves(t, i)) fail_at(&p, t, "a message is not served");
    tools_fixture_free(t);
}

TEST(matrix, numbers_at_their_limits_in_index_and_records_are_told_and_cost_no_message)
{
    for (unsigned marked = 1; marked < 1 << 7; marked++) {
        try_limits(marked, false);
        try_limits(marked, true);
    }
}

TEST(matrix, a_bit_of_any_field_of_an_index_entry_or_slot_costs_no_message_and_no_new_key)
{
    for (int64_t byte = 0; byte < 20; byte++)
        for (int stop = CLEAN; stop < WITHOUT_CHECKPOINT; stop++) {
            if (byte < 12 || byte >= 16) try_index(true, ENTRIES_AT + 20 + byte, byte % 2 ? 1 : 0x80, (enum stop)stop, false);
            try_index(false, ENTRIES_AT + 5 * 20 + byte, byte % 2 ? 1 : 0x80, (enum stop)stop, false);
        }
    for (int64_t slot = 0; slot < 31; slot += 3)
        for (int64_t byte = 0; byte < 4; byte++) try_index(true, SLOTS_AT + slot * 4 + byte, 1, CLEAN, false);
}

/* --- checkpoint --- */

static void try_checkpoint(int64_t at, uint8_t mask, enum stop stop)
{
    struct place p = {"checkpoint", "/store/checkpoint", at, mask, false, stop};
    struct tools_fixture *t = flipped(&p);
    EXPECT_OK(tools_fixture_check(t));
    if (t->whole && at >= 1024) fail_at(&p, t, "check saw nothing");   /* that part has a checksum */
    expect_served(&p, t, -1, true);
    tools_fixture_free(t);
}

TEST(matrix, a_bit_of_any_byte_of_the_checkpoint_costs_no_message)
{
    for (int stop = CLEAN; stop < WITHOUT_CHECKPOINT; stop++) {
        for (int64_t at = 0; at < 48; at++) try_checkpoint(at, at % 2 ? 1 : 0x80, (enum stop)stop);
        for (int64_t at = 1024; at < 1044; at++) try_checkpoint(at, at % 2 ? 1 : 0x80, (enum stop)stop);
    }
}
