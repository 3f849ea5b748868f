/* Grammar, from what binds least: or; and; = <> IS; < <= > >= BETWEEN IN CONTAINS STARTSWITH ENDSWITH; + - NOT; parentheses, constants,
 * properties. What stands behind a whole expression is not looked at, but for its first token, which must be one: as in the original. */
#include "filter/sql.h"
#include "filter/sql_lexer.h"

#include "base/buf.h"
#include "filter/java_number.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* What may be done with a part of an expression. */
enum part_kind { PART_CONSTANT, PART_TRUTH, PART_PROPERTY, PART_NEGATIVE, PART_CONDITION };

struct part {
    uint32_t node;
    enum part_kind kind;            /* PART_TRUTH: TRUE, FALSE, NULL, which are constants and conditions */
    int depth;
    struct slice source;            /* its first token, for errors */
};

struct parser {
    struct slice whole;
    struct slice rest;
    struct token token;             /* not taken yet */
    const uint8_t *taken_end;       /* of the last one that was taken */
    struct sql_text *clauses;       /* where the operands of chains stand, by node; NULL: nobody asks */
    int nested;
    err_t wrong;                    /* the first error; then every token is TOKEN_END */
    struct buf nodes;               /* struct sql_node */
    struct buf items;               /* struct sql_text */
    struct slice names[FILTER_NAMES_MAX];
    uint32_t names_count;
    uint8_t *text;                  /* the copy that is kept: quotes taken away */
};

/* --- errors --- */

enum { SHOWN = 32 };

/* Letters, not bytes, from 1: what somebody counts who looks at it. */
static size_t place(const struct parser *p, const uint8_t *at)
{
    size_t letters = 1;
    for (const uint8_t *c = p->whole.p; c < at; c++) letters += (*c & 0xC0) != 0x80;
    return letters;
}

static err_t describe(const struct parser *p, struct slice at, const char *reason)
{
    size_t n = at.n, letter = place(p, at.p);
    if (!n) return err_new(ERR_SUBSCRIPTION_PARSE, "the SQL92 expression is wrong at its end, letter %zu: %s", letter, reason);
    if (n > SHOWN)
        for (n = SHOWN; n && (at.p[n] & 0xC0) == 0x80; n--) {}   /* no letter is cut */
    return err_new(ERR_SUBSCRIPTION_PARSE, "the SQL92 expression is wrong at letter %zu, \"%.*s%s\": %s", letter, (int)n, (const char *)at.p,
                   n < at.n ? "..." : "", reason);
}

static void fail(struct parser *p, struct slice at, const char *reason)
{
    if (!p->wrong) p->wrong = describe(p, at, reason);
    p->token = (struct token){.kind = TOKEN_END, .source = slice_of(p->whole.p + p->whole.n, 0)};
    p->rest = p->token.source;
}

static void fail_part(struct parser *p, const struct part *part, const char *reason) { fail(p, part->source, reason); }

/* --- tokens --- */

static struct slice letter_at(struct slice s)
{
    size_t n = 1;
    while (n < s.n && (s.p[n] & 0xC0) == 0x80) n++;
    return slice_of(s.p, n);
}

static struct token take(struct parser *p)
{
    struct token taken = p->token;
    if (taken.source.n) p->taken_end = taken.source.p + taken.source.n;
    p->token = sql_next(&p->rest);
    if (p->token.kind != TOKEN_WRONG) return taken;
    const uint8_t *at = p->token.source.p;
    fail(p, letter_at(slice_of(at, (size_t)(p->whole.p + p->whole.n - at))), p->token.reason);
    return taken;
}

static bool take_if(struct parser *p, enum token_kind kind)
{
    if (p->token.kind != kind) return false;
    take(p);
    return true;
}

static bool expect(struct parser *p, enum token_kind kind, const char *what)
{
    if (take_if(p, kind)) return true;
    fail(p, p->token.source, what);
    return false;
}

/* --- nodes --- */

static struct sql_node *node_at(struct parser *p, uint32_t i) { return (struct sql_node *)p->nodes.p + i; }

static uint32_t add_node(struct parser *p, struct sql_node n)
{
    uint32_t count = (uint32_t)(p->nodes.n / sizeof n);
    if (count > FILTER_PARTS_MAX) {
        fail(p, p->token.source, "it has too many parts");
        return 0;
    }
    buf_put(&p->nodes, &n, sizeof n);
    return count;
}

static struct part above(struct parser *p, const struct part *left, const struct part *right, enum part_kind kind, struct sql_node n)
{
    int depth = 1 + (right && right->depth > left->depth ? right->depth : left->depth);
    if (depth > FILTER_DEPTH_MAX) fail_part(p, left, "it is nested too deeply");
    n.left = left->node;
    if (right) n.right = right->node;
    return (struct part){add_node(p, n), kind, depth, left->source};
}

static struct part condition_above(struct parser *p, const struct part *left, const struct part *right, enum sql_op op)
{
    return above(p, left, right, PART_CONDITION, (struct sql_node){.op = op});
}

static struct part constant(struct parser *p, struct slice source, struct sql_node n)
{
    enum part_kind kind = n.op == SQL_BOOL || n.op == SQL_NULL ? PART_TRUTH : PART_CONSTANT;
    return (struct part){add_node(p, n), kind, 1, source};
}

static bool is_constant(const struct part *x) { return x->kind == PART_CONSTANT || x->kind == PART_TRUTH; }

static bool is_number(struct parser *p, const struct part *x)
{
    uint8_t op = node_at(p, x->node)->op;
    return op == SQL_INT || op == SQL_LONG || op == SQL_DOUBLE;
}

/* --- what an operator takes --- */

/* A property alone is a condition, too. */
static struct part as_condition(struct parser *p, struct part x)
{
    if (p->wrong || x.kind == PART_CONDITION || x.kind == PART_TRUTH) return x;
    if (x.kind == PART_PROPERTY) return condition_above(p, &x, NULL, SQL_CAST);
    fail_part(p, &x, "this is neither true nor false; a condition was expected");
    return x;
}

static void check_ordered(struct parser *p, const struct part *x)
{
    if (!p->wrong && (x->kind == PART_CONDITION || (is_constant(x) && !is_number(p, x))))
        fail_part(p, x, "this has no order; only numbers and properties can be less or greater");
}

static struct part ordered(struct parser *p, const struct part *left, const struct part *right, enum sql_op op)
{
    check_ordered(p, left);
    check_ordered(p, right);
    return condition_above(p, left, right, op);
}

static void check_equal(struct parser *p, const struct part *left, const struct part *right)
{
    const struct part *sides[] = {left, right};
    for (int i = 0; i < 2 && !p->wrong; i++)
        if (sides[i]->kind == PART_TRUTH && node_at(p, sides[i]->node)->op == SQL_NULL)
            fail_part(p, sides[i], "NULL cannot be compared; IS NULL and IS NOT NULL can be asked for");
    if (!p->wrong && left->kind == PART_TRUTH && right->kind == PART_CONSTANT)
        fail_part(p, right, "TRUE and FALSE cannot be compared with this");
}

static struct part equal(struct parser *p, const struct part *left, const struct part *right)
{
    check_equal(p, left, right);
    return condition_above(p, left, right, SQL_EQUAL);
}

static struct part not_of(struct parser *p, struct part x) { return condition_above(p, &x, NULL, SQL_NOT); }

/* --- constants --- */

/* Two quotes become one; the text stays where it was. */
static struct sql_text unquoted(struct parser *p, struct slice source)
{
    struct sql_text t = {.at = (uint32_t)(source.p - p->whole.p) + 1};
    uint8_t *out = p->text + t.at;
    for (size_t i = 1; i + 1 < source.n; i++) {
        if (source.p[i] == '\'') i++;
        out[t.n++] = source.p[i];
    }
    return t;
}

static struct part decimal(struct parser *p, struct slice source)
{
    struct slice digits = source;
    int64_t v = 0;
    if ((digits.p[digits.n - 1] | 32) == 'l') digits.n--;
    if (!java_long(digits, &v)) fail(p, source, "no number is greater than 9223372036854775807");
    return constant(p, source, (struct sql_node){.op = v <= INT32_MAX ? SQL_INT : SQL_LONG, .number = v});
}

static struct part real(struct parser *p, struct slice source)
{
    double v = 0;
    if (!java_double(source, &v) || isinf(v)) fail(p, source, "no number is greater than 1.7976931348623157E308");
    else if (v == 0) fail(p, source, "a number with a point is at least 4.9E-324; 0 can be written without");
    return constant(p, source, (struct sql_node){.op = SQL_DOUBLE, .real = v});
}

static struct part property(struct parser *p, struct slice name)
{
    uint32_t slot = 0;
    while (slot < p->names_count && !slice_eq(p->names[slot], name)) slot++;
    if (slot == FILTER_NAMES_MAX) {
        fail(p, name, "it names too many properties");
        return (struct part){0, PART_PROPERTY, 1, name};
    }
    p->names[slot] = name;
    if (slot == p->names_count) p->names_count++;
    return (struct part){add_node(p, (struct sql_node){.op = SQL_PROPERTY, .slot = (uint16_t)slot}), PART_PROPERTY, 1, name};
}

/* --- the grammar --- */

static struct part or_expression(struct parser *p);

static struct part primary(struct parser *p)
{
    struct token t = p->token;
    if (t.kind == TOKEN_TEXT || t.kind == TOKEN_DECIMAL || t.kind == TOKEN_FLOAT || t.kind == TOKEN_TRUE || t.kind == TOKEN_FALSE ||
        t.kind == TOKEN_NULL || t.kind == TOKEN_NAME || t.kind == TOKEN_OPEN)
        take(p);
    switch (t.kind) {
    case TOKEN_TEXT: return constant(p, t.source, (struct sql_node){.op = SQL_TEXT, .text = unquoted(p, t.source)});
    case TOKEN_DECIMAL: return decimal(p, t.source);
    case TOKEN_FLOAT: return real(p, t.source);
    case TOKEN_TRUE: case TOKEN_FALSE: return constant(p, t.source, (struct sql_node){.op = SQL_BOOL, .number = t.kind == TOKEN_TRUE});
    case TOKEN_NULL: return constant(p, t.source, (struct sql_node){.op = SQL_NULL});
    case TOKEN_NAME: return property(p, t.source);
    case TOKEN_OPEN: {
        struct part inner = or_expression(p);
        expect(p, TOKEN_CLOSE, "a parenthesis is not closed here");
        return inner;
    }
    default:
        fail(p, t.source, "a property, a constant or a parenthesis was expected");
        return (struct part){0, PART_CONSTANT, 0, t.source};
    }
}

static struct part unary(struct parser *p)
{
    struct token t = p->token;
    if (t.kind != TOKEN_PLUS && t.kind != TOKEN_MINUS && t.kind != TOKEN_NOT && t.kind != TOKEN_OPEN) return primary(p);
    if (++p->nested > FILTER_DEPTH_MAX) fail(p, t.source, "it is nested too deeply");
    struct part x;
    if (take_if(p, TOKEN_PLUS)) {
        x = unary(p);
    } else if (take_if(p, TOKEN_MINUS)) {
        x = unary(p);
        x = above(p, &x, NULL, PART_NEGATIVE, (struct sql_node){.op = SQL_NEGATE});
    } else if (take_if(p, TOKEN_NOT)) {
        x = not_of(p, as_condition(p, unary(p)));
    } else {
        x = primary(p);
    }
    x.source = t.source;
    p->nested--;
    return x;
}

/* Constants that come in the wrong order would never match. */
static void check_bounds(struct parser *p, const struct part *low, const struct part *high)
{
    if (p->wrong || !is_constant(low) || !is_constant(high) || !is_number(p, low) || !is_number(p, high)) return;
    const struct sql_node *a = node_at(p, low->node), *b = node_at(p, high->node);
    bool real = a->op == SQL_DOUBLE || b->op == SQL_DOUBLE;
    double x = a->op == SQL_DOUBLE ? a->real : (double)a->number, y = b->op == SQL_DOUBLE ? b->real : (double)b->number;
    if (real ? x > y : a->number > b->number) fail_part(p, low, "the first bound of BETWEEN is greater than the second");
}

static struct part between(struct parser *p, const struct part *x, bool negated)
{
    struct part low = unary(p);
    expect(p, TOKEN_AND, "BETWEEN needs AND and a second bound");
    struct part high = unary(p);
    if (!negated) check_bounds(p, &low, &high);
    struct part first = ordered(p, x, &low, negated ? SQL_LESS : SQL_GREATER_EQUAL);
    struct part second = ordered(p, x, &high, negated ? SQL_GREATER : SQL_LESS_EQUAL);
    if (!p->wrong) node_at(p, first.node)->next = second.node;
    return condition_above(p, &first, &second, negated ? SQL_OR : SQL_AND);
}

static int by_shape(const void *a, const void *b, void *text)
{
    const struct sql_text *x = a, *y = b;
    return sql_compare(slice_of((uint8_t *)text + x->at, x->n), slice_of((uint8_t *)text + y->at, y->n));
}

static struct part in(struct parser *p, const struct part *x, bool negated)
{
    struct sql_node n = {.op = SQL_IN, .negated = negated, .items.first = (uint32_t)(p->items.n / sizeof(struct sql_text))};
    if (x->kind != PART_PROPERTY) fail_part(p, x, "only a property can be IN a list");
    expect(p, TOKEN_OPEN, "IN needs a list in parentheses");
    do {
        struct slice source = p->token.source;
        if (!expect(p, TOKEN_TEXT, "a list holds texts, as 'a', 'b'")) break;
        struct sql_text t = unquoted(p, source);
        buf_put(&p->items, &t, sizeof t);
        n.items.count++;
    } while (take_if(p, TOKEN_COMMA));
    expect(p, TOKEN_CLOSE, "the list of IN is not closed here");
    if (n.items.count) qsort_r((struct sql_text *)p->items.p + n.items.first, n.items.count, sizeof(struct sql_text), by_shape, p->text);
    return above(p, x, NULL, PART_CONDITION, n);
}

static struct part search(struct parser *p, const struct part *x, enum sql_op op, bool negated)
{
    struct slice source = p->token.source;
    struct sql_node n = {.op = op, .negated = negated};
    if (expect(p, TOKEN_TEXT, "a text in single quotes was expected")) n.text = unquoted(p, source);
    return above(p, x, NULL, PART_CONDITION, n);
}

/* What may stand behind NOT as well. */
static bool phrase(struct parser *p, struct part *x, bool negated)
{
    if (take_if(p, TOKEN_CONTAINS)) *x = search(p, x, SQL_CONTAINS, negated);
    else if (take_if(p, TOKEN_STARTSWITH)) *x = search(p, x, SQL_STARTS, negated);
    else if (take_if(p, TOKEN_ENDSWITH)) *x = search(p, x, SQL_ENDS, negated);
    else if (take_if(p, TOKEN_BETWEEN)) *x = between(p, x, negated);
    else if (take_if(p, TOKEN_IN)) *x = in(p, x, negated);
    else return false;
    return true;
}

static struct part comparison(struct parser *p)
{
    struct part x = unary(p), right;
    for (;;) {
        enum sql_op op;
        switch (p->token.kind) {
        case TOKEN_GREATER: op = SQL_GREATER; break;
        case TOKEN_GREATER_EQUAL: op = SQL_GREATER_EQUAL; break;
        case TOKEN_LESS: op = SQL_LESS; break;
        case TOKEN_LESS_EQUAL: op = SQL_LESS_EQUAL; break;
        case TOKEN_NOT:
            take(p);
            if (!phrase(p, &x, true)) fail(p, p->token.source, "behind NOT here: BETWEEN, IN, CONTAINS, STARTSWITH or ENDSWITH");
            continue;
        default:
            if (!phrase(p, &x, false)) return x;
            continue;
        }
        take(p);
        right = unary(p);
        x = ordered(p, &x, &right, op);
    }
}

static struct part is_null(struct parser *p, const struct part *x)
{
    bool negated = take_if(p, TOKEN_NOT);
    struct slice source = p->token.source;
    expect(p, TOKEN_NULL, negated ? "IS NOT needs NULL" : "IS needs NULL or NOT NULL");
    struct part null = constant(p, source, (struct sql_node){.op = SQL_NULL});
    struct part is = condition_above(p, x, &null, SQL_EQUAL);
    return negated ? not_of(p, is) : is;
}

static struct part equality(struct parser *p)
{
    struct part x = comparison(p), right;
    for (;;) {
        if (take_if(p, TOKEN_EQUAL)) {
            right = comparison(p);
            x = equal(p, &x, &right);
        } else if (take_if(p, TOKEN_NOT_EQUAL)) {
            right = comparison(p);
            x = not_of(p, equal(p, &x, &right));
        } else if (take_if(p, TOKEN_IS)) {
            x = is_null(p, &x);
        } else {
            return x;
        }
    }
}

/* From its first token to the last one that was taken. */
static void note_clause(struct parser *p, uint32_t node, const uint8_t *from)
{
    if (p->clauses && !p->wrong) p->clauses[node] = (struct sql_text){(uint32_t)(from - p->whole.p), (uint32_t)(p->taken_end - from)};
}

/* All operands of one kind become siblings below one node, so that a long chain is not a deep one. */
static struct part chain(struct parser *p, struct part (*operand)(struct parser *p), enum token_kind word, enum sql_op op)
{
    const uint8_t *from = p->token.source.p;
    struct part x = operand(p);
    if (p->token.kind != word) return x;
    x = as_condition(p, x);
    note_clause(p, x.node, from);
    struct part deepest = x, last = x;
    while (take_if(p, word)) {
        from = p->token.source.p;
        struct part next = as_condition(p, operand(p));
        if (p->wrong) return x;
        note_clause(p, next.node, from);
        node_at(p, last.node)->next = next.node;
        if (next.depth > deepest.depth) deepest = next;
        last = next;
    }
    return condition_above(p, &x, &deepest, op);
}

static struct part and_expression(struct parser *p) { return chain(p, equality, TOKEN_AND, SQL_AND); }
static struct part or_expression(struct parser *p) { return chain(p, and_expression, TOKEN_OR, SQL_OR); }

/* --- the result --- */

static void index_names(struct filter *f)
{
    for (uint32_t i = 0; i < f->names_count; i++) {
        uint8_t at = sql_hash(f->names[i]);
        while (f->index[at]) at++;
        f->index[at] = (uint8_t)(i + 1);
    }
}

/* The names keep their bytes in the text that is kept. */
static struct filter *gather(const struct parser *p, uint32_t root)
{
    size_t names_bytes = p->names_count * sizeof(struct slice);
    struct filter *f = must_zero(sizeof *f + p->nodes.n + names_bytes + p->items.n + p->whole.n);
    uint8_t *at = (uint8_t *)(f + 1);
    f->nodes = memcpy(at, p->nodes.p, p->nodes.n);
    at += p->nodes.n;
    struct slice *names = (struct slice *)at;
    at += names_bytes;
    f->items = (const struct sql_text *)at;
    if (p->items.n) memcpy(at, p->items.p, p->items.n);
    at += p->items.n;
    f->text = memcpy(at, p->text, p->whole.n);
    for (uint32_t i = 0; i < p->names_count; i++) names[i] = slice_of(f->text + (p->names[i].p - p->whole.p), p->names[i].n);
    f->names = names;
    f->names_count = p->names_count;
    f->parts = (uint32_t)(p->nodes.n / sizeof(struct sql_node)) - 1;
    f->root = root;
    index_names(f);
    return f;
}

static void parser_begin(struct parser *p, struct slice expression)
{
    *p = (struct parser){.whole = expression, .rest = expression, .nodes = BUF_EMPTY, .items = BUF_EMPTY};
    p->text = must_alloc(expression.n + 1);
    if (expression.n) memcpy(p->text, expression.p, expression.n);
    buf_put(&p->nodes, &(struct sql_node){.op = SQL_NULL}, sizeof(struct sql_node));
    take(p);
}

err_t sql_compile(struct slice expression, struct sql_text *clauses, struct filter **out)
{
    struct parser p;
    if (!expression.p) expression = SLICE("");
    if (expression.n > FILTER_TEXT_MAX)
        return err_new(ERR_SUBSCRIPTION_PARSE, "the SQL92 expression has %zu bytes, more than %d", expression.n, FILTER_TEXT_MAX);
    parser_begin(&p, expression);
    p.clauses = clauses;
    struct part whole = as_condition(&p, or_expression(&p));
    if (!p.wrong) *out = gather(&p, whole.node);
    free(p.text);
    buf_done(&p.nodes);
    buf_done(&p.items);
    return p.wrong;
}

err_t filter_compile(struct slice expression, struct filter **out) { return sql_compile(expression, NULL, out); }

void filter_free(struct filter *f) { free(f); }

size_t filter_parts(const struct filter *f) { return f->parts; }
