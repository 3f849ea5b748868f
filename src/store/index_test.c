#include "kit/test.h"

#include "base/json.h"
#include "kit/fake_tasks.h"
#include "store/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

struct index_fixture {
    char *folder;
    char path[600];
    struct index_file *f;
};

static const struct index_shape small = {.slots = 7, .entries = 50};

static void begin(struct index_fixture *x)
{
    x->folder = test_folder();
    snprintf(x->path, sizeof x->path, "%s/20261129232050040", x->folder);
    EXPECT_OK(index_file_make(fs_real(), x->path, small, NULL, &x->f));
}

static void end(struct index_fixture *x)
{
    index_file_close(x->f);
    test_folder_remove(x->folder);
}

static void reopen(struct index_fixture *x)
{
    index_file_close(x->f);
    EXPECT_OK(index_file_open(fs_real(), x->path, small, &x->f));
}

static void add(struct index_fixture *x, uint32_t hash, int64_t log_offset, int64_t store_ms)
{
    struct index_key key = {hash, log_offset, store_ms};
    EXPECT_OK(index_file_add(x->f, &key, 1));
}

/* Where holes take memory when they are looked at, a full one ends the process: here nobody may look at any. */
TEST(index_file, holes_are_never_looked_at_through_the_map)
{
    enum { PAGE = 4096, PAGES = 20, SLOTS_OF_PAGE = 1024 };
    static const struct index_shape wide = {.slots = PAGES * SLOTS_OF_PAGE, .entries = 50};
    struct index_fixture x = {.folder = test_folder()};
    int64_t found[4];
    snprintf(x.path, sizeof x.path, "%s/20261129232050040", x.folder);
    EXPECT_OK(index_file_make(fs_real(), x.path, wide, NULL, &x.f));
    uint8_t *map = (uint8_t *)(uintptr_t)x.f->bytes;
    EXPECT_EQ(mprotect(map + PAGE, (PAGES - 1) * PAGE, PROT_NONE), 0);   /* all pages that hold nothing but slots */
    for (uint32_t page = 2; page < PAGES - 1; page++) EXPECT_EQ(index_file_find(x.f, page * SLOTS_OF_PAGE + 7, 0, INT64_MAX, found, 4), 0);
    add(&x, 5 * SLOTS_OF_PAGE + 7, 4711, 1000);
    EXPECT_EQ(index_file_find(x.f, 6 * SLOTS_OF_PAGE + 20, 0, INT64_MAX, found, 4), 0);
    EXPECT_EQ(mprotect(map + 5 * PAGE, 2 * PAGE, PROT_READ), 0);         /* this one is none any more */
    EXPECT_EQ(index_file_find(x.f, 5 * SLOTS_OF_PAGE + 7, 0, INT64_MAX, found, 4), 1);
    EXPECT_EQ(found[0], 4711);
    add(&x, 5 * SLOTS_OF_PAGE + 7, 4712, 1000);
    EXPECT_EQ(index_file_find(x.f, 5 * SLOTS_OF_PAGE + 7, 0, INT64_MAX, found, 4), 2);
    EXPECT_EQ(mprotect(map + PAGE, (PAGES - 1) * PAGE, PROT_READ), 0);
    end(&x);
}

static err_t map_blindly(struct file *f, int64_t size, const uint8_t **out)
{
    err_t e = fs_real()->ops->map(f, size, out);
    if (!e) EXPECT_EQ(mprotect((void *)(uintptr_t)*out, (size_t)size, PROT_NONE), 0);
    return e;
}

/* The disk is full, and the header of a file that was just made is a hole as well: also for who opens it after that. */
TEST(index_file, a_file_without_a_header_is_made_and_opened_without_looking_at_the_map)
{
    struct fs_ops ops = *fs_real()->ops;
    struct fs blind = {&ops};
    struct index_fixture x = {.folder = test_folder()};
    ops.map = map_blindly;
    snprintf(x.path, sizeof x.path, "%s/20261129232050040", x.folder);
    EXPECT_OK(index_file_make(&blind, x.path, small, NULL, &x.f));
    index_file_close(x.f);
    EXPECT_OK(index_file_open(&blind, x.path, small, &x.f));
    EXPECT_EQ(index_file_room(x.f), (size_t)small.entries - 1);
    end(&x);
}

TEST(index_file, hashes_of_keys_are_those_of_the_original)
{
    struct buf text = test_fixture("vectors/index_key_hash.jsonl");
    struct slice rest = buf_slice(&text), line;
    int count = 0;
    while (slice_split(&rest, '\n', &line)) {
        if (!line.n) continue;
        struct arena arena = ARENA_EMPTY;
        struct json j;
        struct slice key = {NULL, 0};
        int64_t hash = -1;
        json_begin(&j, line, &arena);
        for (json_object(&j); json_next(&j);) {
            struct slice name = json_key(&j);
            if (slice_eq(name, SLICE("key")))
                key = json_text(&j);
            else if (slice_eq(name, SLICE("keyHash")))
                hash = json_i64(&j);
            else
                json_skip(&j);
        }
        EXPECT_OK(json_end(&j, "vector"));
        const uint8_t *mark = memchr(key.p, '#', key.n);
        if (mark) { /* two rows are keys without a topic */
            struct slice topic = slice_of(key.p, (size_t)(mark - key.p));
            EXPECT_EQ(index_hash(topic, slice_of(mark + 1, key.n - topic.n - 1)), hash);
            count++;
        }
        arena_done(&arena);
    }
    EXPECT(count > 40);
    buf_done(&text);
}

TEST(index_file, the_newest_record_of_a_key_comes_first_and_other_keys_of_its_slot_do_not)
{
    struct index_fixture x;
    int64_t found[10];
    begin(&x);
    add(&x, 3, 100, 5000);
    add(&x, 10, 200, 6000); /* the same slot */
    add(&x, 3, 300, 7000);
    add(&x, 4, 400, 8000);
    for (int again = 0; again < 2; again++, reopen(&x)) {
        EXPECT_EQ(index_file_find(x.f, 3, 0, INT64_MAX, found, 10), 2);
        EXPECT_EQ(found[0], 300);
        EXPECT_EQ(found[1], 100);
        EXPECT_EQ(index_file_find(x.f, 3, 0, INT64_MAX, found, 1), 1);
        EXPECT_EQ(index_file_find(x.f, 3, 5000, 6500, found, 10), 1);
        EXPECT_EQ(found[0], 100);
        EXPECT_EQ(index_file_find(x.f, 10, 0, INT64_MAX, found, 10), 1);
        EXPECT_EQ(index_file_find(x.f, 17, 0, INT64_MAX, found, 10), 0);
        EXPECT_EQ(x.f->used_slots, 2);
        EXPECT_EQ(x.f->begin_offset, 100);
        EXPECT_EQ(x.f->end_offset, 400);
    }
    end(&x);
}

/* Many keys one by one, and the same in pieces: every byte must agree. */
TEST(index_file, keys_added_together_make_the_same_file_as_one_by_one)
{
    struct index_fixture one, many;
    begin(&one);
    begin(&many);
    struct index_key keys[49];
    for (int i = 0; i < 49; i++) keys[i] = (struct index_key){(uint32_t)(i * i) % 23, 1000 + i, 5000 + 700 * i};
    for (int i = 0; i < 49; i++) EXPECT_OK(index_file_add(one.f, &keys[i], 1));
    EXPECT_OK(index_file_add(many.f, keys, 20));
    EXPECT_OK(index_file_add(many.f, keys + 20, 29));
    EXPECT_EQ(index_file_room(many.f), 0);
    EXPECT(memcmp(one.f->bytes, many.f->bytes, (size_t)index_file_bytes(small)) == 0);
    end(&one);
    end(&many);
}

/* Runs of neighbouring pages, longer than one write takes, gaps between them, and the last page, which is not whole. */
TEST(index_file, keys_of_many_pages_of_slots_make_the_same_file_as_one_by_one)
{
    enum { KEYS = 600, PAGE = 1024 };
    const struct index_shape wide = {.slots = 41 * PAGE + 5, .entries = KEYS + 1};
    struct index_fixture x;
    struct index_file *one, *many;
    struct index_key keys[KEYS];
    char path[2][700];
    begin(&x);
    for (int i = 0; i < 2; i++) snprintf(path[i], sizeof path[i], "%s/2026112923205005%d", x.folder, i);
    EXPECT_OK(index_file_make(fs_real(), path[0], wide, NULL, &one));
    EXPECT_OK(index_file_make(fs_real(), path[1], wide, NULL, &many));
    for (int i = 0; i < KEYS; i++) {
        int page = i % 2 ? i * 7 % 20 : i % 3 ? 25 + i % 5 * 3 : 41; /* 0 to 19, every third from 25 on, the last */
        keys[i] = (struct index_key){(uint32_t)(page * PAGE + (page == 41 ? i % 5 : i * 13 % PAGE)), 1000 + i, 5000 + i};
    }
    for (int i = 0; i < KEYS; i++) EXPECT_OK(index_file_add(one, &keys[i], 1));
    EXPECT_OK(index_file_add(many, keys, KEYS / 3));
    EXPECT_OK(index_file_add(many, keys + KEYS / 3, KEYS - KEYS / 3));
    EXPECT(memcmp(one->bytes, many->bytes, (size_t)index_file_bytes(wide)) == 0);
    EXPECT(one->used_slots > 100);
    index_file_close(one);
    index_file_close(many);
    end(&x);
}

TEST(index_file, adding_the_same_keys_after_a_kill_gives_the_same_file)
{
    struct index_fixture x, whole;
    begin(&x);
    begin(&whole);
    struct index_key keys[30];
    for (int i = 0; i < 30; i++) keys[i] = (struct index_key){(uint32_t)i % 11, 1000 + i, 5000 + i};
    EXPECT_OK(index_file_add(x.f, keys, 10));
    EXPECT_OK(index_file_add(whole.f, keys, 10));
    uint8_t header[INDEX_HEADER_BYTES];
    memcpy(header, x.f->bytes, sizeof header);
    EXPECT_OK(index_file_add(x.f, keys + 10, 20));
    EXPECT_OK(file_write_at(x.f->file, 0, header, sizeof header)); /* killed before the header was written */
    reopen(&x);
    EXPECT_EQ(x.f->next, 11);
    int64_t found[10];
    EXPECT_EQ(index_file_find(x.f, 3, 0, INT64_MAX, found, 10), 1); /* those of before are still found */
    EXPECT_OK(index_file_add(x.f, keys + 10, 20));
    EXPECT_OK(index_file_add(whole.f, keys + 10, 20));
    EXPECT(memcmp(x.f->bytes, whole.f->bytes, (size_t)index_file_bytes(small)) == 0);
    end(&x);
    end(&whole);
}

TEST(index_file, a_new_file_goes_on_where_the_one_before_ended)
{
    struct index_fixture x;
    struct index_file *next;
    char path[700];
    begin(&x);
    add(&x, 3, 100, 5000);
    add(&x, 3, 200, 9000);
    snprintf(path, sizeof path, "%s/20261129232050041", x.folder);
    EXPECT_OK(index_file_make(fs_real(), path, small, x.f, &next));
    EXPECT_EQ(next->begin_ms, 9000);
    EXPECT_EQ(next->end_offset, 200);
    index_file_close(next);
    end(&x);
}

TEST(index_file, damaged_chains_end_instead_of_going_round)
{
    struct index_fixture x;
    int64_t found[10];
    begin(&x);
    add(&x, 3, 100, 5000);
    add(&x, 3, 200, 6000);
    uint8_t self[4];
    put_be32(self, 2);
    EXPECT_OK(file_write_at(x.f->file, INDEX_HEADER_BYTES + 7 * INDEX_SLOT_BYTES + 2 * INDEX_ENTRY_BYTES + 16, self,
                            4)); /* 2 before 2 */
    EXPECT_EQ(index_file_find(x.f, 3, 0, INT64_MAX, found, 10), 1);
    put_be32(self, 0x7FFFFFFF);
    EXPECT_OK(file_write_at(x.f->file, INDEX_HEADER_BYTES + 3 * INDEX_SLOT_BYTES, self, 4)); /* a slot that names no entry */
    EXPECT_EQ(index_file_find(x.f, 3, 0, INT64_MAX, found, 10), 0);
    end(&x);
}

/* Entry 22 begins 4 bytes before the end of a sector: its hash is all that lies there. */
TEST(index_file, a_header_that_counts_more_slots_than_there_are_or_fewer_than_none_takes_the_nearest_number)
{
    static const struct { int32_t stated, becomes; } cases[] = {{INT32_MAX, 7}, {INT32_MIN, 0}, {3, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct index_fixture x;
        struct file *f;
        uint8_t stated[4];
        begin(&x);
        add(&x, 1, 100, 1000);
        put_be32(stated, (uint32_t)cases[i].stated);
        EXPECT_OK(fs_open(fs_real(), x.path, FILE_WRITE, &f));
        EXPECT_OK(file_write_at(f, 32, stated, 4));
        file_close(f);
        reopen(&x);
        EXPECT_EQ(x.f->used_slots, cases[i].becomes);
        add(&x, 2, 200, 2000);   /* one slot more */
        EXPECT_EQ(x.f->used_slots, cases[i].becomes + 1);
        end(&x);
    }
}

TEST(index_file, an_entry_of_which_the_disk_has_the_second_half_alone_ends_what_is_kept)
{
    enum { SPLIT = 22 };
    static const uint8_t lost[4];
    struct index_fixture x;
    int64_t at = INDEX_HEADER_BYTES + 7 * INDEX_SLOT_BYTES + SPLIT * INDEX_ENTRY_BYTES, found[10];
    EXPECT_EQ(at % 512, 508);
    begin(&x);
    for (int i = 1; i < SPLIT + 3; i++) add(&x, (uint32_t)i + 100, i * 300, 5000);
    EXPECT_OK(file_write_at(x.f->file, at, lost, sizeof lost));
    EXPECT_OK(index_file_repair(x.f));
    EXPECT_EQ(x.f->next, SPLIT);
    EXPECT_EQ(x.f->end_offset, (SPLIT - 1) * 300);   /* from there on keys are taken from the log again */
    EXPECT_EQ(index_file_find(x.f, 100 + SPLIT - 1, 0, INT64_MAX, found, 10), 1);
    end(&x);
}

static bool nothing_to_read(void *ctx, int64_t from, struct pinned *out) { return (void)ctx, (void)from, (void)out, false; }

static struct index *empty_index(struct fake_tasks *tasks, const char *folder)
{
    fake_tasks_init(tasks, 1764460800000);
    struct index_options o = {.fs = fs_real(), .tasks = &tasks->tasks, .folder = folder, .shape = small, .read = nothing_to_read};
    return index_new(&o, 0, 0);
}

static void note(struct index *ix, int64_t log_offset)
{
    struct message m = {.topic = SLICE("T"), .unique_key = SLICE("U"), .keys_known = true};
    index_note(ix, &m, log_offset, 5000);
    index_advance(ix, log_offset + 100);
}

TEST(index, messages_that_come_while_keys_are_written_wait_for_others)
{
    struct fake_tasks tasks;
    char *folder = test_folder();
    struct index *ix = empty_index(&tasks, folder);
    note(ix, 0);
    EXPECT(index_is_idle(ix));
    fake_tasks_advance(&tasks, 1000);
    EXPECT(!index_is_idle(ix));
    note(ix, 100);
    EXPECT_EQ(fake_tasks_run_work(&tasks), 1);
    EXPECT(index_is_idle(ix)); /* one job for one message would keep a worker awake for as long as messages come */
    note(ix, 200);
    EXPECT_EQ(index_state(ix).newest_offset, 0);
    fake_tasks_advance(&tasks, 1000);
    EXPECT_EQ(fake_tasks_run_work(&tasks), 1);
    EXPECT_EQ(index_state(ix).newest_offset, 200);
    EXPECT_EQ(tasks.jobs_given, 2);
    index_free(ix);
    fake_tasks_done(&tasks);
    test_folder_remove(folder);
}

TEST(index, what_a_stop_finds_waiting_is_written_before_it_ends)
{
    struct fake_tasks tasks;
    char *folder = test_folder();
    struct index *ix = empty_index(&tasks, folder);
    note(ix, 0);
    note(ix, 100);
    EXPECT_EQ(index_state(ix).newest_offset, 0);
    index_catch_up(ix);
    EXPECT_EQ(index_state(ix).newest_offset, 100);
    EXPECT_EQ(index_state(ix).sure_ms, 5000);
    EXPECT_EQ(tasks.jobs_given, 0);
    index_free(ix);
    fake_tasks_done(&tasks);
    test_folder_remove(folder);
}

/* As after a bad stop that is followed by a good one before the worker has come to it. */
TEST(index, a_stop_before_the_files_were_looked_through_does_not_vouch_for_them)
{
    struct fake_tasks tasks;
    char *folder = test_folder();
    struct index *ix = empty_index(&tasks, folder);
    note(ix, 0);
    index_catch_up(ix);
    index_free(ix);
    struct index_options o = {.fs = fs_real(), .tasks = &tasks.tasks, .folder = folder, .shape = small, .read = nothing_to_read, .sure_ms = 4999};
    ix = index_new(&o, 0, 1000);
    index_catch_up(ix);
    EXPECT_EQ(index_state(ix).sure_ms, 4999);
    index_free(ix);
    fake_tasks_done(&tasks);
    test_folder_remove(folder);
}
