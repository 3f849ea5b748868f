#include "store/store_fixture.h"

#include "codec/record.h"

#include <stdio.h>
#include <stdlib.h>

void store_fixture_done(void *ctx, err_t e)
{
    struct store_fixture *f = ctx;
    if (!f->dead && !e) f->stored++;
    if (!f->dead && e) {
        f->failed++;
        f->last_error = err_code(e);
    }
    err_free(e);
}

/* Who waits until bytes were fetched. */
struct fixture_fetch {
    struct store_fetch fetch;
    bool done;
};

static void arrived(void *ctx, struct slice topic, int32_t queue_id, int64_t first, int64_t end)
{
    struct store_fixture *f = ctx;
    (void)topic;
    (void)queue_id;
    EXPECT(first < end);
    f->arrivals++;
    f->arrived_end = end;
}

struct store_fixture *store_fixture_new(uint64_t seed)
{
    struct store_fixture *f = must_zero(sizeof *f);
    f->disk = sim_fs_new(seed);
    fake_tasks_init(&f->tasks, 1700000000000);
    f->options = (struct store_options){
        .root = "/store",
        .log_file_bytes = 64 << 10,
        .queue_file_entries = 100,
        .sync_timeout_ms = 5000,
        .flush_interval_ms = 500,
        .queue_flush_interval_ms = 1000,
        .max_message_bytes = 16 << 10, .recent_percent = 40,
        .store_host = {.ip = {127, 0, 0, 1}, .port = 10911},
        .arrived = arrived,
        .arrived_ctx = f,
    };
    return f;
}

void store_fixture_open(struct store_fixture *f)
{
    f->dead = false;
    sim_fs_warm(f->disk);   /* a start may wait for the disk */
    EXPECT_OK(store_open(&f->options, sim_fs_disk(f->disk), &f->tasks.tasks, &f->store));
}

void store_fixture_close(struct store_fixture *f)
{
    EXPECT_OK(store_close(f->store));
    f->store = NULL;
    fake_tasks_settle(&f->tasks);
}

/* The memory of a killed process goes too: its store is closed on a disk that is gone. */
static void bury(struct store_fixture *f)
{
    f->dead = true;
    if (f->store) err_free(store_close(f->store));
    f->store = NULL;
    fake_tasks_settle(&f->tasks);
    fake_tasks_forget(&f->tasks);
    sim_fs_restart(f->disk);
}

void store_fixture_kill(struct store_fixture *f)
{
    sim_fs_stop(f->disk);
    bury(f);
}

void store_fixture_cut_power(struct store_fixture *f)
{
    sim_fs_cut_power(f->disk);
    bury(f);
}

void store_fixture_free(struct store_fixture *f)
{
    if (f->store) store_fixture_kill(f);
    sim_fs_free(f->disk);
    fake_tasks_done(&f->tasks);
    free(f);
}

struct message store_fixture_message(const char *topic, int32_t queue_id, const char *body)
{
    return (struct message){
        .topic = slice_text(topic),
        .queue_id = queue_id,
        .body = slice_text(body),
        .properties = SLICE("TAGS\x01TagA\x02"),
        .tag_hash = 2598919,
        .born_host = {.ip = {10, 0, 0, 1}, .port = 1234},
    };
}

struct message store_fixture_batch(const char *topic, int32_t queue_id, const char *body, int32_t count)
{
    static char properties[64];
    struct message m = store_fixture_message(topic, queue_id, body);
    int n = snprintf(properties, sizeof properties, "INNER_NUM\x01%d\x02UNIQ_KEY\x01%s\x02", count, topic);
    m.properties = slice_of(properties, (size_t)n);
    m.tag_hash = 0;
    m.sys_flag = SYS_FLAG_INNER_BATCH | SYS_FLAG_NEED_UNWRAP;
    m.batch_topic = true;
    m.inner_count = count;
    return m;
}

err_t store_fixture_try(struct store_fixture *f, const struct message *m, struct appended *out)
{
    return store_append(f->store, m, 1, true, store_fixture_done, f, out);
}

struct appended store_fixture_append(struct store_fixture *f, const char *topic, int32_t queue_id, const char *body)
{
    struct message m = store_fixture_message(topic, queue_id, body);
    struct appended a = {0};
    EXPECT_OK(store_fixture_try(f, &m, &a));
    return a;
}

static void fetched(struct store_fetch *f) { ((struct fixture_fetch *)(void *)f)->done = true; }

void store_fixture_evict(struct store_fixture *f)
{
    sim_fs_evict(f->disk, "/store/commitlog");
    sim_fs_evict(f->disk, "/store/consumequeue");
    sim_fs_evict(f->disk, "/store/batchconsumequeue");
    fake_tasks_turn(&f->tasks);
}

void store_fixture_fetch(struct store_fixture *f)
{
    struct fixture_fetch fetch = {.fetch = {.done = fetched}};
    store_fetch(f->store, &fetch.fetch);
    EXPECT(!store_is_cold(f->store) && !fetch.done);
    fake_tasks_settle(&f->tasks);
    EXPECT(fetch.done);
    f->fetches++;
}

void store_fixture_read_all(struct store_fixture *f, const struct read_request *r, struct read_result *out)
{
    store_read(f->store, r, out);
    while (store_is_cold(f->store)) {
        EXPECT_EQ(out->slices, 0);
        store_fixture_fetch(f);
        store_read(f->store, r, out);
    }
}

enum read_status store_fixture_read(struct store_fixture *f, const char *topic, int32_t queue_id, int64_t offset, struct buf *out)
{
    struct read_request r = {
        .topic = slice_text(topic), .queue_id = queue_id, .offset = offset, .max_messages = 1, .max_bytes = 1, .max_scan = 1};
    struct read_result got;
    store_fixture_read_all(f, &r, &got);
    if (got.status == READ_FOUND) {
        struct message m;
        EXPECT_EQ(got.slices, 1);
        EXPECT_EQ(record_read(got.slice[0].bytes, &m), RECORD_WHOLE);
        EXPECT(record_body_intact(&m));
        EXPECT_EQ(m.queue_offset, offset);
        buf_put_slice(out, m.body);
    }
    read_result_release(&got);
    return got.status;
}

void store_fixture_expect(struct store_fixture *f, const char *topic, int32_t queue_id, int64_t offset, const char *body)
{
    struct buf text = BUF_EMPTY;
    EXPECT_EQ(store_fixture_read(f, topic, queue_id, offset, &text), READ_FOUND);
    EXPECT_TEXT(buf_slice(&text), body);
    buf_done(&text);
}

int64_t store_fixture_min(struct store_fixture *f, const char *topic, int32_t queue_id)
{
    int64_t min = store_min_offset(f->store, slice_text(topic), queue_id);
    while (store_is_cold(f->store)) {
        store_fixture_fetch(f);
        min = store_min_offset(f->store, slice_text(topic), queue_id);
    }
    return min;
}

int64_t store_fixture_max(struct store_fixture *f, const char *topic, int32_t queue_id)
{
    return store_max_offset(f->store, slice_text(topic), queue_id);
}
