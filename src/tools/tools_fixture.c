#include "tools/tools_fixture.h"

#include "codec/properties.h"
#include "codec/record.h"

#include <stdlib.h>

const char *tools_fixture_topic(int i, int32_t *queue_id)
{
    *queue_id = i % 3 == 1;
    return i % 3 == 2 ? "TopicB" : "TopicA";
}

int64_t tools_fixture_offset(int i) { return i / 3; }

static void append(struct tools_fixture *t, int i, bool v6)
{
    char body[32], properties[96];
    int32_t queue_id;
    const char *topic = tools_fixture_topic(i, &queue_id);
    snprintf(body, sizeof body, "the body of message %d", i);
    snprintf(properties, sizeof properties, "UNIQ_KEY\1U%d\2KEYS\1k%d word\2TAGS\1TagA\2", i, i % 5);
    struct message m = store_fixture_message(topic, queue_id, body);
    m.properties = slice_text(properties);
    m.born_host.v6 = v6;
    EXPECT_OK(store_fixture_try(t->s, &m, &t->places[i]));
    fake_tasks_settle(&t->s->tasks);
    fake_tasks_advance(&t->s->tasks, 700);
}

struct tools_fixture *tools_fixture_new(bool v6)
{
    struct tools_fixture *t = must_zero(sizeof *t);
    t->s = store_fixture_new(1);
    struct store_options *o = &t->s->options;
    o->log_file_bytes = FIXTURE_LOG_BYTES;
    o->queue_file_entries = 8;
    o->store_host.v6 = v6;
    o->index = true;
    o->index_slots = 31;
    o->index_entries = 60;
    store_fixture_open(t->s);
    for (int i = 0; i < FIXTURE_MESSAGES; i++) append(t, i, v6);
    store_fixture_close(t->s);
    t->options = (struct tools_options){
        .fs = sim_fs_disk(t->s->disk), .folder = "/store", .queue_file_entries = 8, .index_slots = 31, .index_entries = 60, .now_ms = 1700000100000};
    return t;
}

void tools_fixture_free(struct tools_fixture *t)
{
    store_fixture_free(t->s);
    free(t->text);
    free(t);
}

/* --- what the tools say --- */

static void begin(struct tools_fixture *t)
{
    free(t->text);
    t->text = NULL;
    t->options.out = open_memstream(&t->text, &t->bytes);
}

static err_t end(struct tools_fixture *t, err_t e)
{
    fclose(t->options.out);
    return e;
}

err_t tools_fixture_check(struct tools_fixture *t)
{
    begin(t);
    t->whole = false;
    return end(t, tools_check(&t->options, 1000, &t->whole));
}

err_t tools_fixture_dump(struct tools_fixture *t, const struct dump_options *d)
{
    begin(t);
    return end(t, tools_dump(&t->options, d));
}

err_t tools_fixture_stats(struct tools_fixture *t)
{
    begin(t);
    return end(t, tools_stats(&t->options));
}

err_t tools_fixture_rebuild(struct tools_fixture *t)
{
    begin(t);
    return end(t, tools_rebuild(&t->options));
}

/* --- what the store says --- */

bool tools_fixture_serves(struct tools_fixture *t, int i)
{
    char body[32];
    int32_t queue_id;
    struct read_request r = {.topic = slice_text(tools_fixture_topic(i, &queue_id)), .offset = tools_fixture_offset(i), .max_messages = 1, .max_bytes = 1,
                             .max_scan = 1};
    struct read_result out;
    struct message m;
    r.queue_id = queue_id;
    store_read(t->s->store, &r, &out);
    bool served = out.status == READ_FOUND;
    if (served) {
        EXPECT_EQ(record_read(out.slice[0].bytes, &m), RECORD_WHOLE);
        EXPECT(record_body_intact(&m));   /* never a damaged one */
        snprintf(body, sizeof body, "the body of message %d", i);
        served = slice_eq(m.body, slice_text(body));
    }
    read_result_release(&out);
    return served;
}

struct listing {
    struct tools_fixture *t;
    const char *folder;
    bool names;
    struct buf *out;
};

static void add_file(void *ctx, const char *name)
{
    struct listing *l = ctx, below = *l;
    char path[1024];
    struct file_info info;
    snprintf(path, sizeof path, "%s/%s", l->folder, name);
    EXPECT_OK(fs_info(l->t->options.fs, path, &info));
    if (l->names) buf_printf(l->out, "%s\n", path);
    if (!info.folder) {
        EXPECT_OK(fs_read_file(l->t->options.fs, path, 1 << 20, l->out));
        return;
    }
    below.folder = path;
    EXPECT_OK(fs_list(l->t->options.fs, path, add_file, &below));
}

struct buf tools_fixture_files(struct tools_fixture *t, const char *folder, bool names)
{
    struct buf out = BUF_EMPTY;
    struct listing l = {t, folder, names, &out};
    EXPECT_OK(fs_list(t->options.fs, folder, add_file, &l));
    return out;
}
