/* SQL92 as the original evaluates it: all golden vectors, what differs on purpose, and what a hostile expression meets. */
#include "filter/sql.h"

#include "codec/properties.h"
#include "codec/stored_kit.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const verdicts[] = {[FILTER_FALSE] = "false", [FILTER_TRUE] = "true", [FILTER_UNKNOWN] = "null", [FILTER_FAILED] = "eval_error"};

/* --- golden vectors --- */

/* Rows in which a truth stands left of a text: the original of that day fails there, and later ones read the text as a truth, as they
 * always did with the sides the other way round (docs/decisions/0008). */
static const struct { const char *expression, *properties, *ours; } differs[] = {
    {"TRUE = b", "p0", "true"}, {"TRUE = b", "p2", "false"}, {"a = 5 = b", "p0", "true"}, {"a = 5 = b", "p2", "true"},
    {"a = 5 and not s = 'abc'", "p0", "false"},
};

static json_t *all_properties;
static size_t different, from_text;

static const char *expected(const char *expression, const char *properties, const char *theirs)
{
    for (size_t i = 0; i < sizeof differs / sizeof *differs; i++) {
        if (strcmp(differs[i].expression, expression) || strcmp(differs[i].properties, properties)) continue;
        assert_string_equal(theirs, "eval_error");
        different++;
        return differs[i].ours;
    }
    return theirs;
}

/* What is written down as a message's properties: empty values are not, so an expression that names one cannot be tried that way. */
static bool evaluate_text(const struct filter *f, json_t *properties, enum filter_verdict *out)
{
    struct buf text = BUF_EMPTY;
    const char *name;
    json_t *v;
    for (uint32_t i = 0; i < f->names_count; i++) {
        char *key = slice_dup(f->names[i]);
        v = json_object_get(properties, key);
        free(key);
        if (v && !json_string_length(v)) return false;
    }
    json_object_foreach(properties, name, v) {
        properties_put(&text, slice_text(name), slice_of(json_string_value(v), json_string_length(v)));
    }
    *out = filter_evaluate(f, buf_slice(&text));
    buf_done(&text);
    return true;
}

static enum filter_verdict evaluate_values(const struct filter *f, json_t *properties)
{
    struct slice values[FILTER_NAMES_MAX] = {{NULL, 0}};
    for (uint32_t i = 0; i < f->names_count; i++) {
        char *name = slice_dup(f->names[i]);
        json_t *v = json_object_get(properties, name);
        if (v) values[i] = slice_of(json_string_value(v), json_string_length(v));
        free(name);
    }
    return sql_evaluate(f, f->root, values);
}

static void check_row(json_t *row)
{
    const char *expression = json_string_value(json_object_get(row, "expr")), *result = json_string_value(json_object_get(row, "result"));
    const char *set = json_string_value(json_object_get(row, "props"));
    struct filter *f;
    err_t e = filter_compile(row_text(row, "expr"), &f);
    if (!strcmp(result, "parse_error")) {
        if (!e) fail_msg("%s: compiles", expression);
        EXPECT_ERR(e, ERR_SUBSCRIPTION_PARSE);
        return;
    }
    if (e) fail_msg("%s: %s", expression, err_text(e));
    json_t *properties = json_object_get(all_properties, set);
    const char *want = expected(expression, set, result);
    enum filter_verdict v = evaluate_values(f, properties);
    if (strcmp(verdicts[v], want)) fail_msg("%s on %s: %s, not %s", expression, set, verdicts[v], want);
    EXPECT_EQ(json_is_true(json_object_get(row, "matched")), !strcmp(result, "true"));
    if (evaluate_text(f, properties, &v)) {
        from_text++;
        if (strcmp(verdicts[v], want)) fail_msg("%s on the text of %s: %s, not %s", expression, set, verdicts[v], want);
    }
    filter_free(f);
}

TEST(sql, all_golden_rows_come_out_as_in_the_original)
{
    struct buf file = test_fixture("vectors/sql92_props.json");
    all_properties = json_loadb((const char *)file.p, file.n, 0, NULL);
    EXPECT(all_properties);
    different = from_text = 0;
    each_vector("sql92.jsonl", 1433, check_row);
    EXPECT_EQ(different, sizeof differs / sizeof *differs);
    EXPECT(from_text > 1200);
    json_decref(all_properties);
    buf_done(&file);
}

/* --- by hand --- */

/* properties: "NAME=value;NAME=value" */
static enum filter_verdict try(const char *expression, const char *properties)
{
    struct buf text = BUF_EMPTY;
    struct slice rest = slice_text(properties), pair, name;
    while (rest.n && slice_split(&rest, ';', &pair)) {
        slice_split(&pair, '=', &name);
        properties_put(&text, name, pair);
    }
    struct filter *f;
    EXPECT_OK(filter_compile(slice_text(expression), &f));
    enum filter_verdict v = filter_evaluate(f, buf_slice(&text));
    filter_free(f);
    buf_done(&text);
    return v;
}

TEST(sql, a_truth_and_a_property_are_compared_from_both_sides)
{
    static const char *const both[] = {"TRUE = a", "a = TRUE"};
    for (int i = 0; i < 2; i++) {
        EXPECT_EQ(try(both[i], "a=true"), FILTER_TRUE);
        EXPECT_EQ(try(both[i], "a=tRuE"), FILTER_TRUE);
        EXPECT_EQ(try(both[i], "a=false"), FILTER_FALSE);
        EXPECT(try(both[i], "b=true") != FILTER_TRUE);
    }
}

TEST(sql, operators_on_texts_are_false_of_what_is_not_there_and_so_true_behind_not)
{
    EXPECT_EQ(try("a CONTAINS 'x'", ""), FILTER_FALSE);
    EXPECT_EQ(try("a NOT CONTAINS 'x'", ""), FILTER_FALSE);
    EXPECT_EQ(try("a NOT STARTSWITH 'x'", ""), FILTER_FALSE);
    EXPECT_EQ(try("NOT (a CONTAINS 'x')", ""), FILTER_TRUE);
    EXPECT_EQ(try("a CONTAINS ''", "a=abc"), FILTER_FALSE);
}

TEST(sql, what_is_not_known_stays_so)
{
    EXPECT_EQ(try("a <> 10", ""), FILTER_UNKNOWN);
    EXPECT_EQ(try("NOT (a = 10)", ""), FILTER_UNKNOWN);
    EXPECT_EQ(try("a NOT IN ('x')", ""), FILTER_UNKNOWN);
    EXPECT_EQ(try("a IS NULL", ""), FILTER_TRUE);
    EXPECT_EQ(try("a IS NULL OR b = 1", ""), FILTER_TRUE);
}

TEST(sql, the_last_of_several_properties_of_one_name_counts)
{
    EXPECT_EQ(try("a = 2 AND b = 3", "a=1;b=3;a=2"), FILTER_TRUE);
    EXPECT_EQ(try("aa = 1", "a=1;aaa=1"), FILTER_UNKNOWN);
}

TEST(sql, long_lists_find_each_of_their_texts_and_no_other)
{
    struct buf expression = BUF_EMPTY;
    char pair[32];
    buf_put_text(&expression, "a IN (");
    for (int i = 0; i < 500; i++) buf_printf(&expression, "%s'%d'", i ? "," : "", (i * 7919) % 1000);
    buf_put_text(&expression, ")");
    buf_put_u8(&expression, 0);
    for (int i = 0; i < 500; i++) {
        snprintf(pair, sizeof pair, "a=%d", (i * 7919) % 1000);
        EXPECT_EQ(try((const char *)expression.p, pair), FILTER_TRUE);
    }
    EXPECT_EQ(try((const char *)expression.p, "a=1000"), FILTER_FALSE);
    EXPECT_EQ(try((const char *)expression.p, "a=x"), FILTER_FALSE);
    buf_done(&expression);
}

/* --- errors --- */

static void expect_refused(const char *expression, const char *place, const char *reason)
{
    struct filter *f;
    err_t e = filter_compile(slice_text(expression), &f);
    if (!e) fail_msg("%s compiles", expression);
    if (!strstr(err_text(e), place) || !strstr(err_text(e), reason)) fail_msg("%s: %s", expression, err_text(e));
    EXPECT_ERR(e, ERR_SUBSCRIPTION_PARSE);
}

TEST(sql, an_error_tells_the_place_and_the_reason)
{
    expect_refused("", "at its end, letter 1", "was expected");
    expect_refused("a > 'x'", "letter 5, \"'x'\"", "no order");
    expect_refused("a = 1 AND b >", "at its end, letter 14", "was expected");
    expect_refused("a = 9223372036854775808", "letter 5, \"9223372036854775808\"", "greater than 9223372036854775807");
    expect_refused("a > 0.0", "letter 5, \"0.0\"", "at least 4.9E-324");
    expect_refused("a = NULL", "letter 5, \"NULL\"", "IS NULL");
    expect_refused("a IN (1, 2)", "letter 7, \"1\"", "a list holds texts");
    expect_refused("a BETWEEN 6 AND 4", "letter 11, \"6\"", "greater than the second");
    expect_refused("(a = 1", "at its end, letter 7", "not closed");
    expect_refused("s = 'abc", "letter 5, \"'\"", "no end");
    expect_refused("u = '\xe4\xb8\xad\xe6\x96\x87' AND \xe4\xb8\xad = 1", "letter 14, \"\xe4\xb8\xad\"", "no meaning");
    expect_refused("a == 5", "letter 4, \"=\"", "was expected");
    expect_refused("a NOT 5", "letter 7, \"5\"", "BETWEEN, IN");
    expect_refused("5", "letter 1, \"5\"", "neither true nor false");
}

TEST(sql, what_stands_behind_a_whole_expression_is_passed_over_if_its_first_token_is_one)
{
    EXPECT_EQ(try("a = 1 AND b = 2) whatever ; # follows", "a=1;b=2"), FILTER_TRUE);
    expect_refused("a = 1 ; b", "letter 7", "no meaning");
}

static void expect_limit(const char *begin, const char *again, int times, const char *end, const char *reason)
{
    struct buf text = BUF_EMPTY;
    struct filter *f;
    buf_put_text(&text, begin);
    for (int i = 0; i < times; i++) buf_put_text(&text, again);
    buf_put_text(&text, end);
    err_t e = filter_compile(buf_slice(&text), &f);
    if (reason && (!e || !strstr(err_text(e), reason))) fail_msg("%d times %s: %s", times, again, e ? err_text(e) : "compiles");
    if (!reason && e) fail_msg("%d times %s: %s", times, again, err_text(e));
    if (e) err_free(e);
    else filter_free(f);
    buf_done(&text);
}

TEST(sql, what_is_too_long_too_deep_or_too_much_is_refused)
{
    expect_limit("", "(", FILTER_DEPTH_MAX + 1, "a", "nested too deeply");
    expect_limit("", "(", 1000000 / 32, "a", "nested too deeply");
    expect_limit("", "NOT ", 5000, "a", "nested too deeply");
    expect_limit("", "-", 5000, "a", "nested too deeply");
    expect_limit("a", " IS NULL", 1000, "", "nested too deeply");
    expect_limit("a = 1", " AND a = 1", FILTER_PARTS_MAX / 3 - 1, "", NULL);
    expect_limit("a = 1", " AND a = 1", FILTER_PARTS_MAX / 3 + 1, "", "too many parts");
    expect_limit("a IN ('b'", ",'c'", 8000, ")", NULL);
    expect_limit("a IN ('b'", ",'c'", 9000, ")", "more than 32768");
    expect_limit("'", "x", FILTER_TEXT_MAX, "'", "more than 32768");
    struct buf text = BUF_EMPTY;
    for (int i = 0; i <= FILTER_NAMES_MAX; i++) buf_printf(&text, "%sp%d = 1", i ? " OR " : "", i);
    struct filter *f;
    err_t e = filter_compile(buf_slice(&text), &f);
    EXPECT(strstr(err_text(e), "too many properties"));
    EXPECT_ERR(e, ERR_SUBSCRIPTION_PARSE);
    buf_done(&text);
}

TEST(sql, property_texts_that_are_broken_are_passed_over)
{
    struct filter *f;
    EXPECT_OK(filter_compile(SLICE("a = 1"), &f));
    EXPECT_EQ(filter_evaluate(f, SLICE("")), FILTER_UNKNOWN);
    EXPECT_EQ(filter_evaluate(f, SLICE("a\x01")), FILTER_UNKNOWN);
    EXPECT_EQ(filter_evaluate(f, SLICE("\x01" "1\x02" "a\x02\x02" "a\x01" "1")), FILTER_TRUE);
    filter_free(f);
}

/* --- clauses --- */

static void put_clause(void *ctx, const struct filter_clause *c)
{
    static const char marks[] = {[FILTER_FALSE] = '-', [FILTER_TRUE] = '+', [FILTER_UNKNOWN] = '?', [FILTER_FAILED] = '!'};
    struct buf *out = ctx;
    buf_printf(out, "%*s%s%.*s%c\n", c->depth, "", c->any ? "or " : "", SLICE_ARG(c->text), marks[c->verdict]);
}

static void expect_clauses(const char *expression, const char *want)
{
    struct buf out = BUF_EMPTY;
    EXPECT_OK(filter_explain(slice_text(expression), SLICE("a\x01" "5\x02" "b\x01x\x02"), put_clause, &out));
    EXPECT_TEXT(buf_slice(&out), want);
    buf_done(&out);
}

TEST(explain, each_operand_of_a_chain_has_its_text_and_its_verdict)
{
    expect_clauses(" a > 3 ", "a > 3+\n");
    expect_clauses("a > 3 AND b = 'y' AND c IS NULL", "a > 3+\nb = 'y'-\nc IS NULL+\n");
    expect_clauses("a = 1 OR b = 'it''s' OR c = 2", "or a = 1-\nor b = 'it''s'-\nor c = 2?\n");
    expect_clauses("b > 3 and TRUE and b", "b > 3!\nTRUE+\nb-\n");
}

TEST(explain, chains_in_a_chain_follow_their_operand_and_what_only_looks_like_one_does_not)
{
    expect_clauses("a BETWEEN 1 AND 3", "a BETWEEN 1 AND 3-\n");
    expect_clauses("a BETWEEN 1 AND 3 AND (b = 'x' OR (c = 1 and a = 5) )", "a BETWEEN 1 AND 3-\n(b = 'x' OR (c = 1 and a = 5) )+\n"
                   " or b = 'x'+\n or (c = 1 and a = 5)?\n  c = 1?\n  a = 5+\n");
    expect_clauses("a = 5 OR a = 1 AND b = 'x'", "or a = 5+\nor a = 1 AND b = 'x'-\n a = 1-\n b = 'x'+\n");
    expect_clauses("NOT (a = 5 AND b = 'x') AND a NOT IN ('5')", "NOT (a = 5 AND b = 'x')-\na NOT IN ('5')-\n");
}

TEST(explain, what_does_not_compile_is_told_and_the_longest_chain_is_explained)
{
    struct buf text = BUF_EMPTY, out = BUF_EMPTY;
    EXPECT_ERR(filter_explain(SLICE("a > 3 AND"), SLICE(""), put_clause, &out), ERR_SUBSCRIPTION_PARSE);
    EXPECT_EQ(out.n, 0);
    enum { OPERANDS = (FILTER_PARTS_MAX - 1) / 3 };   /* each of three parts, and the chain */
    for (int i = 0; i < OPERANDS; i++) buf_printf(&text, "%sa=%d", i ? " OR " : "", i);
    EXPECT_OK(filter_explain(buf_slice(&text), SLICE("a\x01" "5\x02"), put_clause, &out));
    size_t lines = 0;
    for (size_t i = 0; i < out.n; i++) lines += out.p[i] == '\n';
    EXPECT_EQ(lines, OPERANDS);
    buf_done(&text);
    buf_done(&out);
}
