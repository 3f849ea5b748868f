/* What was found, as text of any width and as JSON. */
#include "admin/outcome.h"
#include "kit/test.h"

static const struct column columns[] = {{"topic", CELL_TEXT}, {"queueId", CELL_NUMBER}, {"lastUpdateTimestamp", CELL_TIME}, {"tps", CELL_RATE}, {"order", CELL_FLAG}};

static void fill(struct outcome *o)
{
    outcome_line(o, "%s", "two rows");
    outcome_text(o, SLICE("name"), SLICE("x"));
    outcome_number(o, "count", 2);
    struct table *t = OUTCOME_TABLE(o, "rows", columns);
    row_text(t, SLICE("b"));
    row_number(t, 10);
    row_time(t, 1796042445070);
    row_rate(t, 1.5);
    row_flag(t, true);
    row_text(t, SLICE("a"));
    row_number(t, 9);
    row_time(t, 0);
    row_none(t);
    row_flag(t, false);
    table_sort(t, 2);
    OUTCOME_TABLE(o, "others", columns);
    row_text(outcome_texts(o, "names"), SLICE("n\x1B"));
    outcome_rate(o, "sum", 0.25);
}

static void expect_reads(int width, bool colour, const char *expected)
{
    struct arena arena = ARENA_EMPTY;
    struct outcome o;
    struct buf out = BUF_EMPTY;
    struct outcome_style style = {.width = width, .colour = colour};
    outcome_init(&o, &arena);
    fill(&o);
    outcome_print(&o, &style, &out);
    EXPECT_TEXT(buf_slice(&out), expected);
    buf_done(&out);
    arena_done(&arena);
}

TEST(outcome, reads_as_lines_facts_and_tables)
{
    static const char expected[] = "two rows\n\nname   x\ncount  2\n\n"
                                   "topic  queueId  lastUpdateTimestamp       tps   order\n"
                                   "a      9        -                         -     false\n"
                                   "b      10       2026-11-30T12:40:45.070Z  1.50  true\n\n"
                                   "no others\n\nn\\x1B\n\nsum  0.25\n";
    expect_reads(0, false, expected);
    expect_reads(53, false, expected);
}

TEST(outcome, a_table_that_is_wider_than_the_terminal_is_printed_row_by_row)
{
    expect_reads(52, true, "two rows\n\nname   x\ncount  2\n\n"
                          "topic                a\nqueueId              9\nlastUpdateTimestamp  -\ntps                  -\norder                false\n\n"
                          "topic                b\nqueueId              10\nlastUpdateTimestamp  2026-11-30T12:40:45.070Z\ntps                  1.50\n"
                          "order                true\n\nno others\n\nn\\x1B\n\nsum  0.25\n");
}

TEST(outcome, heads_are_bold_where_there_is_colour)
{
    expect_reads(80, true, "two rows\n\nname   x\ncount  2\n\n"
                          "\x1B[1mtopic  queueId  lastUpdateTimestamp       tps   order\x1B[0m\n"
                          "a      9        -                         -     false\n"
                          "b      10       2026-11-30T12:40:45.070Z  1.50  true\n\n"
                          "no others\n\nn\\x1B\n\nsum  0.25\n");
}

TEST(outcome, is_a_json_object_with_numbers_where_numbers_are)
{
    struct arena arena = ARENA_EMPTY;
    struct outcome o;
    struct buf out = BUF_EMPTY;
    struct json_out w;
    outcome_init(&o, &arena);
    fill(&o);
    outcome_line(&o, "the last line counts");
    json_out_init(&w, &out, JSON_STRICT);
    json_put_object(&w);
    outcome_write(&o, &w);
    json_put_object_end(&w);
    EXPECT_TEXT(buf_slice(&out),
                "{\"name\":\"x\",\"count\":2,\"rows\":[{\"topic\":\"a\",\"queueId\":9,\"lastUpdateTimestamp\":0,\"tps\":null,\"order\":false},"
                "{\"topic\":\"b\",\"queueId\":10,\"lastUpdateTimestamp\":1796042445070,\"tps\":1.5,\"order\":true}],\"others\":[],\"names\":[\"n\\u001b\"],"
                "\"sum\":0.25,\"message\":\"the last line counts\"}");
    buf_done(&out);
    arena_done(&arena);
}
