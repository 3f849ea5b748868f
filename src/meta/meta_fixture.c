#include "meta/meta_fixture.h"


#include <stdio.h>
#include <stdlib.h>

static void topic_changed(void *ctx, const struct topic *topic)
{
    (void)topic;
    ((struct meta_fixture *)ctx)->topic_changes++;
}

struct meta_fixture *meta_fixture_new(uint64_t seed)
{
    struct meta_fixture *f = must_zero(sizeof *f);
    f->disk = sim_fs_new(seed);
    fake_tasks_init(&f->tasks, 1700000000000);
    f->topics_options = (struct topics_options){
        .folder = "/config", .cluster = SLICE("DefaultCluster"), .broker = SLICE("broker-a"), .default_queues = 8,
        .revive_queues = 8, .auto_create = true, .cluster_topic = true, .broker_topic = true, .timer = true,
        .trace_name = SLICE("RMQ_SYS_TRACE_TOPIC"), .check_system_names = true, .changed = topic_changed, .changed_ctx = f};
    f->groups_options = (struct groups_options){.folder = "/config", .auto_create = true, .create_system = true};
    f->offsets_options = (struct offsets_options){.folder = "/config", .flush_interval_ms = 5000, .version_step = 500};
    return f;
}

void meta_fixture_open(struct meta_fixture *f)
{
    struct fs *fs = sim_fs_disk(f->disk);
    EXPECT_OK(topics_open(&f->topics_options, fs, &f->tasks.tasks, &f->topics));
    EXPECT_OK(groups_open(&f->groups_options, fs, &f->tasks.tasks, &f->groups));
    EXPECT_OK(offsets_open(&f->offsets_options, fs, &f->tasks.tasks, &f->offsets));
}

static void close_all(struct meta_fixture *f, bool must_succeed)
{
    err_t e[] = {topics_close(f->topics), groups_close(f->groups), offsets_close(f->offsets)};
    for (int i = 0; i < 3; i++) {
        if (must_succeed) EXPECT_OK(e[i]);
        else err_free(e[i]);
    }
    f->topics = NULL;
    f->groups = NULL;
    f->offsets = NULL;
    fake_tasks_settle(&f->tasks);   /* jobs under way end */
}

void meta_fixture_close(struct meta_fixture *f) { close_all(f, true); }

void meta_fixture_crash(struct meta_fixture *f)
{
    sim_fs_cut_power(f->disk);
    close_all(f, false);
    sim_fs_restart(f->disk);
}

void meta_fixture_free(struct meta_fixture *f)
{
    close_all(f, false);
    fake_tasks_done(&f->tasks);
    sim_fs_free(f->disk);
    free(f);
}

void meta_fixture_write(struct meta_fixture *f, const char *name, struct slice text)
{
    char path[256];
    struct file *file;
    struct fs *fs = sim_fs_disk(f->disk);
    snprintf(path, sizeof path, "/config/%s", name);
    EXPECT_OK(fs_make_folder(fs, "/config"));
    EXPECT_OK(fs_open(fs, path, FILE_CREATE, &file));
    EXPECT_OK(file_set_size(file, 0));
    EXPECT_OK(file_write_at(file, 0, text.p, text.n));
    EXPECT_OK(file_sync(file));
    file_close(file);
    EXPECT_OK(fs_sync_folder(fs, "/config"));
}

struct buf meta_fixture_read(struct meta_fixture *f, const char *name)
{
    char path[256];
    struct buf text = BUF_EMPTY;
    snprintf(path, sizeof path, "/config/%s", name);
    EXPECT_OK(fs_read_file(sim_fs_disk(f->disk), path, 64 << 20, &text));
    return text;
}

void meta_fixture_lines(const char *name, void (*each)(struct slice line, struct arena *arena))
{
    struct buf file = test_fixture(name);
    struct slice rest = buf_slice(&file), line;
    int n = 0;
    while (slice_split(&rest, '\n', &line)) {
        struct arena arena = ARENA_EMPTY;
        if (line.n) each(line, &arena), n++;
        arena_done(&arena);
    }
    EXPECT(n > 0);
    buf_done(&file);
}
