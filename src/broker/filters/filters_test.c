/* The kept expressions of groups: what the file holds, and when they go. */
#include "kit/fake_tasks.h"
#include "kit/test.h"

#include "base/log.h"
#include "broker/filters/filters.h"

#include <stdio.h>
#include <stdlib.h>

enum { HOUR_MS = 3600000 };

struct fixture {
    struct fake_tasks tasks;
    struct filters *filters;
    char *folder;
    struct filters_options options;
};

static struct fixture *start(void)
{
    struct fixture *f = must_zero(sizeof *f);
    log_set_level(LOG_ERROR);
    fake_tasks_init(&f->tasks, 1795994000000);
    f->folder = test_folder();
    f->options = (struct filters_options){.folder = f->folder, .error_percent = 20, .groups = 32};
    EXPECT_OK(filters_open(&f->options, fs_real(), &f->tasks.tasks, &f->filters));
    return f;
}

static void restart(struct fixture *f)
{
    while (fake_tasks_run_work(&f->tasks)) {}
    EXPECT_OK(filters_close(f->filters));
    EXPECT_OK(filters_open(&f->options, fs_real(), &f->tasks.tasks, &f->filters));
}

static void stop(struct fixture *f)
{
    while (fake_tasks_run_work(&f->tasks)) {}
    EXPECT_OK(filters_close(f->filters));
    fake_tasks_done(&f->tasks);
    test_folder_remove(f->folder);
    free(f);
}

struct walk {
    const struct subscription *next, *end;
};

static const struct subscription *next(void *ctx)
{
    struct walk *w = ctx;
    return w->next == w->end ? NULL : w->next++;
}

static void follow(struct fixture *f, const char *group, const struct subscription *all, size_t count)
{
    struct walk w = {all, all + count};
    filters_follow(f->filters, slice_text(group), next, &w);
}

static void follow_one(struct fixture *f, const char *group, const char *topic, const char *expression, int64_t version)
{
    struct subscription s = {.topic = slice_text(topic), .expression = slice_text(expression), .type = SLICE("SQL92"), .version = version};
    follow(f, group, &s, 1);
}

static bool has(struct fixture *f, const char *group, const char *topic)
{
    return filters_find(f->filters, slice_text(group), slice_text(topic));
}

static struct buf file_text(struct fixture *f)
{
    char path[512];
    struct buf text = BUF_EMPTY;
    snprintf(path, sizeof path, "%s/consumerFilter.json", f->folder);
    EXPECT_OK(fs_read_file(fs_real(), path, 1 << 20, &text));
    buf_put_u8(&text, 0);
    return text;
}

static bool file_has(struct fixture *f, const char *what)
{
    struct buf text = file_text(f);
    bool found = strstr((const char *)text.p, what);
    buf_done(&text);
    return found;
}

static void unpack(struct fixture *f)
{
    char command[1024];
    snprintf(command, sizeof command, "zstd -qdc '%s/store/clean.tar.zst' | tar -xOf - clean/store/config/consumerFilter.json > '%s/consumerFilter.json'",
             FIXTURES, f->folder);
    EXPECT_EQ(system(command), 0);
}

TEST(filters, what_the_original_left_is_read_and_written_again_byte_for_byte)
{
    struct fixture *f = start();
    EXPECT_OK(filters_close(f->filters));
    fake_tasks_advance(&f->tasks, 1795994502221 - tasks_wall_ms(&f->tasks.tasks));   /* when the group went, in the file */
    unpack(f);
    struct buf before = file_text(f);
    EXPECT_OK(filters_open(&f->options, fs_real(), &f->tasks.tasks, &f->filters));
    const struct filter *filter = filters_find(f->filters, SLICE("GroupSql"), SLICE("TopicFilter"));
    EXPECT(filter);
    EXPECT_EQ(filter_evaluate(filter, SLICE("price\x01" "4\x02region\x01hz\x02")), FILTER_TRUE);
    EXPECT_EQ(filter_evaluate(filter, SLICE("price\x01" "3\x02region\x01hz\x02")), FILTER_FALSE);
    follow_one(f, "GroupSql", "TopicFilter", "price > 3 AND region = 'hz'", 1795994463149);   /* comes, and goes again */
    follow(f, "GroupSql", NULL, 0);
    restart(f);
    struct buf after = file_text(f);
    assert_string_equal((const char *)after.p, (const char *)before.p);
    buf_done(&before);
    buf_done(&after);
    stop(f);
}

TEST(filters, a_group_that_is_gone_is_kept_for_a_while_and_goes_on_when_it_comes_back)
{
    struct fixture *f = start();
    follow_one(f, "G", "T", "a > 1", 5);
    fake_tasks_advance(&f->tasks, HOUR_MS);
    follow(f, "G", NULL, 0);
    restart(f);
    EXPECT(file_has(f, "\"dead\":true") && file_has(f, "\"clientVersion\":5"));
    EXPECT(has(f, "G", "T"));
    fake_tasks_advance(&f->tasks, 23 * HOUR_MS);
    filters_tidy(f->filters, 24 * HOUR_MS);
    EXPECT(has(f, "G", "T"));
    follow_one(f, "G", "T", "a > 1", 6);
    restart(f);
    EXPECT(file_has(f, "\"dead\":false") && file_has(f, "\"clientVersion\":6") && file_has(f, "\"bornTime\":1795994000000"));
    fake_tasks_advance(&f->tasks, 24 * HOUR_MS);   /* a start finds it gone */
    filters_tidy(f->filters, 24 * HOUR_MS);
    EXPECT(!has(f, "G", "T"));
    EXPECT_EQ(filters_count(f->filters), 0);
    stop(f);
}

TEST(filters, a_new_expression_takes_the_place_of_the_old_one_and_a_wrong_one_leaves_none)
{
    struct fixture *f = start();
    follow_one(f, "G", "T", "a > 1", 5);
    follow_one(f, "G", "T", "a > 2", 6);
    EXPECT_EQ(filter_evaluate(filters_find(f->filters, SLICE("G"), SLICE("T")), SLICE("a\x01" "2\x02")), FILTER_FALSE);
    follow_one(f, "G", "T", "a >", 7);
    EXPECT(!has(f, "G", "T"));
    follow_one(f, "G", "T", "a > 1", 8);
    struct subscription s[] = {{.topic = SLICE("T"), .expression = SLICE("A"), .type = SLICE("TAG")},
                               {.topic = SLICE("U"), .expression = SLICE("a = 1"), .type = SLICE("SQL92")}};
    follow(f, "G", s, 2);
    restart(f);
    EXPECT(file_has(f, "\"expression\":\"a = 1\"") && file_has(f, "\"dead\":true") && file_has(f, "\"dead\":false"));
    stop(f);
}

TEST(filters, groups_that_only_use_tags_leave_no_trace)
{
    struct fixture *f = start();
    struct subscription s = {.topic = SLICE("T"), .expression = SLICE("A"), .type = SLICE("TAG")};
    follow(f, "G", &s, 1);
    restart(f);
    char path[512];
    struct buf text = BUF_EMPTY;
    snprintf(path, sizeof path, "%s/consumerFilter.json", f->folder);
    EXPECT_ERR(fs_read_file(fs_real(), path, 1 << 20, &text), ERR_NOT_FOUND);
    buf_done(&text);
    stop(f);
}

TEST(filters, expressions_take_a_limited_amount_of_memory_and_those_of_groups_that_are_gone_a_smaller_one)
{
    struct fixture *f = start();
    char group[32];
    struct buf expression = BUF_EMPTY;
    buf_put_text(&expression, "a = '");
    for (int i = 0; i < 30000; i++) buf_put_u8(&expression, 'x');
    buf_put_text(&expression, "'");
    buf_put_u8(&expression, 0);
    for (int i = 0; i < 400; i++) {
        snprintf(group, sizeof group, "G%d", i);
        follow_one(f, group, "T", (const char *)expression.p, 1);
        follow(f, group, NULL, 0);
    }
    EXPECT(filters_count(f->filters) * 60000 < FILTERS_DEAD_BYTES + 60000);
    EXPECT(filters_count(f->filters) > 100);
    EXPECT(has(f, "G399", "T") && !has(f, "G0", "T"));   /* the oldest went */
    for (int i = 0; i < 1000; i++) {
        snprintf(group, sizeof group, "H%d", i);
        follow_one(f, group, "T", (const char *)expression.p, 1);
    }
    EXPECT(filters_count(f->filters) * 60000 < FILTERS_BYTES + 60000);
    EXPECT(has(f, "H0", "T") && !has(f, "H999", "T"));
    follow(f, "H0", NULL, 0);
    buf_done(&expression);
    stop(f);
}

TEST(filters, rows_that_cannot_be_used_are_left_out_and_the_others_taken)
{
    struct fixture *f = start();
    EXPECT_OK(filters_close(f->filters));
    char path[512];
    static const char text[] = "{\"filterDataByTopic\":{\"T\":{\"groupFilterData\":{"
        "\"A\":{\"expression\":\"a >\",\"expressionType\":\"SQL92\"},\"B\":{\"expression\":\"a > 1\",\"expressionType\":\"XPATH\"},\"C\":null,"
        "\"D\":{\"bornTime\":9,\"clientVersion\":3,\"deadTime\":0,\"expression\":\"a > 1\",\"expressionType\":\"SQL92\",\"what\":[1]}},\"topic\":\"T\"},\"U\":null}}";
    snprintf(path, sizeof path, "%s/consumerFilter.json", f->folder);
    EXPECT_OK(fs_replace_file(fs_real(), path, slice_text(text)));
    EXPECT_OK(filters_open(&f->options, fs_real(), &f->tasks.tasks, &f->filters));
    EXPECT_EQ(filters_count(f->filters), 1);
    EXPECT(has(f, "D", "T"));
    stop(f);
}
