/* What a command takes, as it stands in a line. */
#include "admin/command.h"
#include "kit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static const struct param table[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "a"},
    {"totalQueueNum", "qn", PARAM_VALUE, "N", "b"},
    {"list", "l", PARAM_SWITCH, NULL, "c"},
    {"group", NULL, PARAM_WORD, "GROUP", NULL},
    {"more", NULL, PARAM_MORE, "MORE", NULL},
    {.name = NULL},
};

static err_t read_words(struct params *p, struct slice common[COMMON_PARAMS], char **argv)
{
    int argc = 0;
    while (argv[argc]) argc++;
    *p = (struct params){.table = table};
    struct command_line l = {.command = "x", .common = common_params, .own = p, .common_given = common};
    return line_read(&l, argc, argv);
}

#define WORDS(...) ((char *[]){"x", __VA_ARGS__, NULL})

TEST(params, options_are_taken_as_mqadmin_and_as_getopt_take_them)
{
    struct params p;
    char **lines[] = {WORDS("-t", "T", "G", "-qn", "8"), WORDS("-tT", "-qn=8", "G"), WORDS("-t=T", "G", "--totalQueueNum", "8"),
                      WORDS("--topic=T", "G", "--totalQueueNum=8"), WORDS("-topic", "T", "-totalQueueNum", "8", "--", "G")};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct slice common[COMMON_PARAMS] = {{NULL, 0}};
        EXPECT_OK(read_words(&p, common, lines[i]));
        EXPECT_TEXT(param_get(&p, "topic"), "T");
        EXPECT_TEXT(param_get(&p, "totalQueueNum"), "8");
        EXPECT_TEXT(param_get(&p, "group"), "G");
        EXPECT(!param_has(&p, "more") && !param_has(&p, "list") && !param_has(&p, "nothing"));
    }
}

TEST(params, options_of_all_commands_stand_behind_the_commands_own)
{
    struct params p;
    struct slice common[COMMON_PARAMS] = {{NULL, 0}};
    EXPECT_OK(read_words(&p, common, WORDS("-t", "-1", "-l", "-n", "a:1", "G", "-nb:2", "M", "--json", "-b", "c:3")));
    EXPECT_TEXT(param_get(&p, "topic"), "-1");   /* a value may begin with a dash */
    EXPECT(param_has(&p, "list") && param_has(&p, "more"));
    EXPECT_TEXT(common[COMMON_NAMESRV], "b:2");
    EXPECT_TEXT(common[COMMON_BROKER], "c:3");
    EXPECT(common[COMMON_JSON].p);
}

TEST(params, what_is_wrong_is_named)
{
    struct params p;
    static const char *const words[][4] = {{"-t", "T"}, {"G"}, {"-t", "T", "G", "--no"}, {"-t", "T", "G", "-x1"}, {"G", "-t"}, {"-t", "", "G"}, {"-t", "T", "", NULL}};
    static const char *const texts[] = {"it takes GROUP [MORE]", "it needs -t TOPIC", "there is no option --no", "there is no option -x1", "-t wants a value",
                                        "it needs -t TOPIC", "an argument is empty"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char *argv[6] = {"x"};
        struct slice common[COMMON_PARAMS] = {{NULL, 0}};
        for (int k = 0; k < 4; k++) argv[k + 1] = (char *)words[i][k];
        err_t e = read_words(&p, common, argv);
        EXPECT_EQ(err_code(e), ERR_USAGE);
        if (!e || !strstr(err_text(e), texts[i])) print_error("%zu: %s\n", i, e ? err_text(e) : "fine");
        EXPECT(e && strstr(err_text(e), texts[i]));
        err_free(e);
    }
}

static int64_t time_of(const char *text)
{
    static const struct param one[] = {{"at", NULL, PARAM_VALUE, "TIME", NULL}, {.name = NULL}};
    struct params p = {.table = one};
    int64_t out = -77;
    p.given[0] = slice_text(text);
    err_t e = param_time(&p, "at", 1796042445070, 5, &out);
    if (e) out = -99;
    err_free(e);
    return out;
}

TEST(params, times_are_read_in_all_their_forms)
{
    EXPECT_EQ(time_of(NULL), 5);
    EXPECT_EQ(time_of("now"), 1796042445070);
    EXPECT_EQ(time_of("beginning"), 0);
    EXPECT_EQ(time_of("end"), -1);
    EXPECT_EQ(time_of("-1"), -1);
    EXPECT_EQ(time_of("1234567890123"), 1234567890123);
    EXPECT_EQ(time_of("-90s"), 1796042445070 - 90000);
    EXPECT_EQ(time_of("-2h"), 1796042445070 - 7200000);
    EXPECT_EQ(time_of("-7d"), 1796042445070 - 7 * 86400000ll);
    EXPECT_EQ(time_of("2026-11-30#12:40:45:070"), 1796042445070);
    EXPECT_EQ(time_of("2026-11-30T12:40:45.070Z"), 1796042445070);
    EXPECT_EQ(time_of("2026-11-30 12:40:45"), 1796042445000);
    static const char *const wrong[] = {"", "soon", "-2x", "-h", "2026-11-30", "2026-11-30#12:40", "2026-11-30#12:40:45:070x", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) EXPECT_EQ(time_of(wrong[i]), -99);
}

/* --- every option of mqadmin --- */

static const struct command *command_named(struct slice name)
{
    const struct command *c;
    for (size_t i = 0; (c = command_at(i)); i++)
        if (strlen(c->name) == name.n && !strncasecmp(c->name, (const char *)name.p, name.n)) return c;
    return NULL;
}

static const struct param *param_named(const struct param *t, struct slice name)
{
    for (; t && t->name; t++)
        if (slice_eq(slice_text(t->name), name)) return t;
    return NULL;
}

/* One row: command, alias, letter, long name, has an argument, is needed. */
static void check_row(struct slice row)
{
    struct slice cell[7] = {{NULL, 0}};
    for (int i = 0; i < 7; i++) slice_split(&row, '\t', &cell[i]);
    const struct command *c = command_named(cell[0]);
    if (!c) print_error("%.*s is not there\n", SLICE_ARG(cell[0]));
    EXPECT(c);
    if (c->absent || !cell[3].n) return;
    const struct param *p = param_named(c->params, cell[3]);
    if (!p && (slice_eq(cell[3], SLICE("namesrvAddr")) || slice_eq(cell[3], SLICE("nameserverAddr")))) return;   /* an option of all commands */
    if (!p) print_error("%.*s has no --%.*s\n", SLICE_ARG(cell[0]), SLICE_ARG(cell[3]));
    EXPECT(p);
    if (cell[2].n) EXPECT_TEXT(cell[2], p->letter);
    EXPECT_EQ(p->kind == PARAM_SWITCH, slice_eq(cell[4], SLICE("n")));
    EXPECT_EQ(p->kind == PARAM_NEEDED, slice_eq(cell[5], SLICE("y")));
}

TEST(params, each_option_of_each_command_of_mqadmin_is_taken)
{
    FILE *f = fopen(FIXTURES "/../../docs/protocol/mqadmin.tsv", "r");
    char line[512];
    size_t rows = 0;
    EXPECT(f);
    while (fgets(line, sizeof line, f)) {
        struct slice row = slice_text(line);
        if (rows++) check_row(slice_of(row.p, row.n - 1));
    }
    fclose(f);
    EXPECT(rows > 300);
}
