/* Light message queues: a message is found in each one it names, at the offsets it states, whatever happens to the process and the disk. */
#include "store/store_fixture.h"

#include "codec/lmq.h"
#include "codec/properties.h"
#include "codec/record.h"
#include "os/random.h"

#include <stdio.h>
#include <stdlib.h>

static struct store_fixture *start_with(bool sync_flush, int32_t most, uint64_t seed)
{
    struct store_fixture *f = store_fixture_new(seed);
    f->options.sync_flush = sync_flush;
    f->options.lmq = true;
    f->options.lmq_max = most;
    store_fixture_open(f);
    return f;
}

/* Its properties begin with the names; `text` keeps them. */
static struct message message_for(const char *topic, const char *names, struct buf *text)
{
    struct message m = store_fixture_message(topic, 0, "body");
    buf_clear(text);
    properties_put(text, SLICE("WAIT"), SLICE("true"));
    properties_put(text, LMQ_NAMES, slice_text(names));
    properties_put(text, SLICE("TAGS"), SLICE("TagA"));
    m.properties = buf_slice(text);
    return m;
}

static err_t try_for(struct store_fixture *f, const char *topic, const char *names, struct appended *a)
{
    struct buf text = BUF_EMPTY;
    struct message m = message_for(topic, names, &text);
    err_t e = store_fixture_try(f, &m, a);
    buf_done(&text);
    return e;
}

static void append_for(struct store_fixture *f, const char *topic, const char *names)
{
    struct appended a;
    EXPECT_OK(try_for(f, topic, names, &a));
    fake_tasks_settle(&f->tasks);
}

/* The record that a queue gives for an offset; its bytes stay in `r`. */
static struct message read_at(struct store_fixture *f, const char *topic, int64_t offset, struct read_result *r)
{
    struct read_request request = {.topic = slice_text(topic), .offset = offset, .max_messages = 1, .max_bytes = 1, .max_scan = 1};
    struct message m = {.queue_id = -1};
    store_fixture_read_all(f, &request, r);
    EXPECT_EQ(r->status, READ_FOUND);
    EXPECT_EQ(record_read(r->slice[0].bytes, &m), RECORD_WHOLE);
    return m;
}

static void expect_offsets(struct store_fixture *f, const char *topic, int64_t offset, const char *offsets)
{
    struct read_result r;
    struct message m = read_at(f, topic, offset, &r);
    EXPECT_TEXT(properties_get(m.properties, LMQ_OFFSETS), offsets);
    read_result_release(&r);
}

TEST(lmq, a_message_is_in_each_light_queue_it_names_and_says_its_offsets_there)
{
    struct store_fixture *f = start_with(false, 100, 1);
    struct read_result r;
    append_for(f, "T", "%LMQ%a");
    append_for(f, "T", "%LMQ%a,%LMQ%b");
    EXPECT_EQ(f->arrivals, 5);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 2);
    EXPECT_EQ(store_fixture_max(f, "%LMQ%a", 0), 2);
    EXPECT_EQ(store_fixture_max(f, "%LMQ%b", 0), 1);
    expect_offsets(f, "%LMQ%a", 0, "0");
    expect_offsets(f, "%LMQ%a", 1, "1,0");
    struct message m = read_at(f, "%LMQ%b", 0, &r);
    EXPECT_TEXT(m.topic, "T");
    EXPECT_EQ(m.queue_offset, 1);
    EXPECT_TEXT(m.properties, "WAIT\x01true\x02INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02TAGS\x01TagA\x02INNER_MULTI_QUEUE_OFFSET\x01" "1,0\x02");
    read_result_release(&r);
    store_fixture_free(f);
}

TEST(lmq, a_queue_that_is_named_twice_or_is_the_messages_own_has_one_entry)
{
    struct store_fixture *f = start_with(false, 100, 1);
    append_for(f, "T", "%LMQ%a,%LMQ%a");
    append_for(f, "%LMQ%a", "%LMQ%b,%LMQ%a");
    append_for(f, "T", "%LMQ%a");
    expect_offsets(f, "%LMQ%a", 0, "0,0");
    expect_offsets(f, "%LMQ%a", 1, "0,1");
    expect_offsets(f, "%LMQ%a", 2, "2");
    EXPECT_EQ(store_fixture_max(f, "%LMQ%a", 0), 3);
    store_fixture_kill(f);
    EXPECT_OK(fs_remove_tree(sim_fs_disk(f->disk), "/store/consumequeue"));   /* the log alone tells */
    store_fixture_open(f);
    EXPECT_EQ(store_fixture_max(f, "%LMQ%a", 0), 3);
    EXPECT_EQ(store_fixture_max(f, "%LMQ%b", 0), 1);
    expect_offsets(f, "%LMQ%a", 1, "0,1");
    store_fixture_free(f);
}

TEST(lmq, what_waits_or_is_of_one_group_alone_is_in_no_light_queue)
{
    static const char *const topics[] = {"%RETRY%G", "%DLQ%G", "SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer", "RMQ_SYS_TRANS_HALF_TOPIC"};
    struct store_fixture *f = start_with(false, 100, 1);
    struct message batch = store_fixture_batch("B", 0, "x", 3);
    struct appended a;
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) append_for(f, topics[i], "%LMQ%a");
    batch.keys_known = true;
    batch.further_queues = SLICE("%LMQ%a");
    EXPECT_OK(store_fixture_try(f, &batch, &a));
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(store_fixture_max(f, "%LMQ%a", 0), 0);
    EXPECT_EQ(store_fixture_max(f, "B", 0), 3);
    store_fixture_free(f);
}

TEST(lmq, nothing_is_written_for_light_queues_while_they_are_off)
{
    struct store_fixture *f = store_fixture_new(1);
    struct read_result r;
    store_fixture_open(f);
    append_for(f, "T", "%LMQ%a");
    EXPECT_EQ(store_fixture_max(f, "%LMQ%a", 0), 0);
    struct message m = read_at(f, "T", 0, &r);
    EXPECT_TEXT(m.properties, "WAIT\x01true\x02INNER_MULTI_DISPATCH\x01%LMQ%a\x02TAGS\x01TagA\x02");
    read_result_release(&r);
    store_fixture_free(f);
}

TEST(lmq, names_that_cannot_be_are_refused_and_leave_nothing_behind)
{
    static const char *const wrong[] = {"a", "%LMQ%a,", ",%LMQ%a", "%LMQ%a,,%LMQ%b", "%LMQ%a/b", "%LMQ%a,T", "%RETRY%G"};
    struct store_fixture *f = start_with(false, 1000, 1);
    struct buf names = BUF_EMPTY;
    struct appended a;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) EXPECT_ERR(try_for(f, "T", wrong[i], &a), ERR_MESSAGE_ILLEGAL);
    for (int i = 0; i < 257; i++) buf_printf(&names, "%s%%LMQ%%%d", i ? "," : "", i);
    buf_put_u8(&names, 0);
    EXPECT_ERR(try_for(f, "T", (const char *)names.p, &a), ERR_MESSAGE_ILLEGAL);
    buf_clear(&names);
    buf_printf(&names, "%%LMQ%%%0251d", 1);   /* a byte longer than a folder's name */
    buf_put_u8(&names, 0);
    EXPECT_ERR(try_for(f, "T", (const char *)names.p, &a), ERR_MESSAGE_ILLEGAL);
    buf_done(&names);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 0);
    EXPECT_EQ(store_fixture_max(f, "%LMQ%a", 0), 0);
    append_for(f, "T", "%LMQ%a");
    expect_offsets(f, "%LMQ%a", 0, "0");
    store_fixture_free(f);
}

TEST(lmq, offsets_that_make_the_property_text_too_long_are_refused)
{
    struct store_fixture *f = start_with(false, 1000, 1);
    static char names[] = "%LMQ%a";
    enum { OTHER_BYTES = sizeof "INNER_MULTI_DISPATCH\1%LMQ%a\2INNER_MULTI_QUEUE_OFFSET\1""0\2FILL\1\2" - 1 };
    uint8_t *fill = must_alloc(RECORD_PROPERTIES_MAX);
    struct buf text = BUF_EMPTY;
    struct appended a;
    memset(fill, 'x', RECORD_PROPERTIES_MAX);
    for (int more = 1; more >= 0; more--) {
        struct message m = store_fixture_message("T", 0, "body");
        buf_clear(&text);
        properties_put(&text, LMQ_NAMES, slice_text(names));
        properties_put(&text, SLICE("FILL"), slice_of(fill, (size_t)(RECORD_PROPERTIES_MAX - OTHER_BYTES + more)));
        m.properties = buf_slice(&text);
        err_t e = store_fixture_try(f, &m, &a);
        if (more) EXPECT_ERR(e, ERR_MESSAGE_ILLEGAL);
        else EXPECT_OK(e);
    }
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(store_fixture_max(f, names, 0), 1);
    buf_done(&text);
    free(fill);
    store_fixture_free(f);
}

TEST(lmq, there_are_as_many_light_queues_as_are_allowed_and_those_there_are_go_on)
{
    struct store_fixture *f = start_with(false, 2, 1);
    struct appended a;
    append_for(f, "T", "%LMQ%a,%LMQ%b");
    EXPECT_ERR(try_for(f, "T", "%LMQ%a,%LMQ%c", &a), ERR_LMQ_QUOTA);
    EXPECT_ERR(try_for(f, "%LMQ%c", "%LMQ%a", &a), ERR_LMQ_QUOTA);
    append_for(f, "T", "%LMQ%b");
    EXPECT_EQ(store_fixture_max(f, "%LMQ%a", 0), 1);
    EXPECT_EQ(store_fixture_max(f, "%LMQ%b", 0), 2);
    store_delete_topic(f->store, SLICE("%LMQ%a"));
    append_for(f, "T", "%LMQ%c");
    EXPECT_EQ(store_fixture_max(f, "%LMQ%c", 0), 1);
    store_fixture_close(f);
    store_fixture_open(f);
    EXPECT_ERR(try_for(f, "T", "%LMQ%a", &a), ERR_LMQ_QUOTA);   /* counted at the start too */
    store_fixture_free(f);
}

/* --- kills, power cuts, writes that fail --- */

enum { LIGHT = 4, SENDS = 40 };
static const char *const light[LIGHT] = {"%LMQ%0", "%LMQ%1", "%LMQ%2", "%LMQ%3"};

/* What one name says of one record: its own offset among those that the record states. */
static int64_t stated_offset(const struct message *m, const char *name)
{
    struct slice names = properties_get(m->properties, LMQ_NAMES), offsets = properties_get(m->properties, LMQ_OFFSETS), one, offset;
    int64_t n;
    while (slice_split(&names, ',', &one) && slice_split(&offsets, ',', &offset))
        if (slice_eq(one, slice_text(name)) && slice_to_i64(offset, &n)) return n;
    return -1;
}

static int64_t max_of(struct store_fixture *f, int q) { return store_fixture_max(f, light[q], 0); }

/* Every light queue has the records that name it, in the order of the log, each at the offset that it states. */
static void check_all(struct store_fixture *f)
{
    int64_t next[LIGHT] = {0};
    struct read_result r;
    for (int64_t i = 0; i < store_fixture_max(f, "T", 0); i++) {
        struct message m = read_at(f, "T", i, &r);
        for (int q = 0; q < LIGHT; q++) {
            int64_t offset = stated_offset(&m, light[q]);
            if (offset < 0) continue;
            struct read_result same;
            EXPECT_EQ(offset, next[q]++);
            EXPECT_EQ(read_at(f, light[q], offset, &same).log_offset, m.log_offset);
            read_result_release(&same);
        }
        read_result_release(&r);
    }
    for (int q = 0; q < LIGHT; q++) EXPECT_EQ(max_of(f, q), next[q]);
}

/* Records are lost in the middle: what is there is where it says it is. */
static void check_what_is_left(struct store_fixture *f)
{
    for (int q = 0; q < LIGHT; q++)
        for (int64_t i = 0; i < max_of(f, q); i++) {
            struct read_request request = {.topic = slice_text(light[q]), .offset = i, .max_messages = 1, .max_bytes = 1, .max_scan = 1};
            struct read_result r;
            struct message m;
            store_fixture_read_all(f, &request, &r);
            if (r.status == READ_FOUND) {
                EXPECT_EQ(record_read(r.slice[0].bytes, &m), RECORD_WHOLE);
                EXPECT_EQ(stated_offset(&m, light[q]), i);
            }
            read_result_release(&r);
        }
}

static void random_names(struct random *random, char out[static 64])
{
    size_t n = 0;
    for (int q = 0; q < LIGHT; q++)
        if (random_below(random, 2)) n += (size_t)snprintf(out + n, 64 - n, "%s%s", n ? "," : "", light[q]);
    out[n] = 0;
}

static void send_some(struct store_fixture *f, struct random *random)
{
    for (int i = 0; i < SENDS; i++) {
        char names[64];
        struct appended a;
        random_names(random, names);
        if (random_below(random, 20) == 0) sim_fs_fail(f->disk, SIM_WRITE, 1 + random_below(random, 6), false, ERR_DISK_FULL);
        err_free(try_for(f, "T", names, &a));
        if (random_below(random, 3) == 0) fake_tasks_advance(&f->tasks, 300);
        if (random_below(random, 3) == 0) fake_tasks_settle(&f->tasks);
    }
}

static void run_history(uint64_t seed, bool sync_flush, bool cuts)
{
    struct store_fixture *f = start_with(sync_flush, 100, seed);
    struct random random;
    random_init(&random, seed);
    for (int life = 0; life < 4; life++) {
        send_some(f, &random);
        int answered = f->stored;
        if (cuts && random_below(&random, 2)) store_fixture_cut_power(f);
        else store_fixture_kill(f);
        sim_fs_heal(f->disk);
        store_fixture_open(f);
        if (sync_flush || !cuts) {
            EXPECT(store_fixture_max(f, "T", 0) >= answered);
            check_all(f);
        } else {
            check_what_is_left(f);
        }
        f->stored = (int)store_fixture_max(f, "T", 0);
    }
    store_fixture_free(f);
}

TEST(lmq, kills_power_cuts_and_full_disks_leave_each_light_queue_with_the_messages_that_name_it)
{
    for (uint64_t seed = 1; seed <= 30; seed++) run_history(seed, true, true);
    for (uint64_t seed = 1; seed <= 20; seed++) run_history(seed, false, false);
    for (uint64_t seed = 1; seed <= 30; seed++) run_history(seed, false, true);
}
