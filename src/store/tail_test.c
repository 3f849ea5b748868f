#include "store/store_fixture.h"

#include <stdio.h>

struct seen {
    struct store_tail tail;
    struct buf bodies;
    int most;                        /* then it is enough */
    int count;
    bool done;
    enum err_code error;
};

static bool take_body(struct store_tail *t, const struct message *m)
{
    struct seen *s = LIST_OWNER(t, struct seen, tail);
    buf_put_slice(&s->bodies, m->body);
    return ++s->count < s->most;
}

static void tail_read(struct store_tail *t, err_t e)
{
    struct seen *s = LIST_OWNER(t, struct seen, tail);
    s->done = true;
    s->error = err_code(e);
    err_free(e);
}

static void expect_tail(struct store_fixture *f, int64_t from, int most, const char *bodies)
{
    struct seen s = {.tail = {take_body, tail_read}, .most = most};
    store_tail(f->store, from, &s.tail);
    fake_tasks_settle(&f->tasks);
    EXPECT(s.done);
    EXPECT_EQ(s.error, ERR_NONE);
    EXPECT_TEXT(buf_slice(&s.bodies), bodies);
    buf_done(&s.bodies);
}

TEST(tail, records_of_an_earlier_run_are_read_from_a_place_on_over_files_and_damage)
{
    struct store_fixture *f = store_fixture_new(1);
    char bodies[6][1200];
    int64_t at[6];
    f->options.log_file_bytes = 4096;
    store_fixture_open(f);
    for (int i = 0; i < 6; i++) {
        snprintf(bodies[i], sizeof bodies[i], "%01199d", i);
        at[i] = store_fixture_append(f, "T", 0, bodies[i]).log_offset;
    }
    fake_tasks_settle(&f->tasks);
    char all[6 * 1200] = "", rest[6 * 1200] = "";
    for (int i = 0; i < 6; i++) strcat(all, bodies[i]);
    for (int i = 2; i < 6; i++) strcat(rest, bodies[i]);
    EXPECT(at[5] > 4096);
    expect_tail(f, 0, 99, all);
    expect_tail(f, at[2], 99, rest);
    expect_tail(f, at[1] + 1, 99, rest);    /* no record begins there */
    expect_tail(f, at[2], 1, bodies[2]);
    expect_tail(f, store_log_max(f->store), 99, "");
    expect_tail(f, INT64_MAX, 99, "");
    store_fixture_free(f);
}

TEST(tail, a_disk_that_cannot_read_is_an_error)
{
    struct store_fixture *f = store_fixture_new(1);
    struct seen s = {.tail = {take_body, tail_read}, .most = 99};
    store_fixture_open(f);
    store_fixture_append(f, "T", 0, "a");
    fake_tasks_settle(&f->tasks);
    sim_fs_fail(f->disk, SIM_READ, 1, true, ERR_IO);
    store_tail(f->store, 0, &s.tail);
    fake_tasks_settle(&f->tasks);
    sim_fs_heal(f->disk);
    EXPECT(s.done);
    EXPECT_EQ(s.error, ERR_IO);
    buf_done(&s.bodies);
    store_fixture_free(f);
}

TEST(tail, a_store_that_is_closed_meanwhile_still_answers)
{
    struct store_fixture *f = store_fixture_new(1);
    struct seen s = {.tail = {take_body, tail_read}, .most = 99};
    store_fixture_open(f);
    store_fixture_append(f, "T", 0, "a");
    fake_tasks_settle(&f->tasks);
    store_tail(f->store, 0, &s.tail);
    store_fixture_close(f);
    fake_tasks_settle(&f->tasks);
    EXPECT(s.done);
    buf_done(&s.bodies);
    store_fixture_free(f);
}
