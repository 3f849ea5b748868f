#include "filter/sql.h"

#include "base/buf.h"

#include <stdlib.h>

struct explanation {
    const struct filter *f;
    struct slice expression;
    const struct sql_text *clauses;     /* by node; n 0: none begins there */
    const struct slice *values;
    void (*each)(void *ctx, const struct filter_clause *clause);
    void *ctx;
};

/* BETWEEN is two conditions as well, but one in the text. */
static bool is_chain(const struct explanation *x, const struct sql_node *n)
{
    return (n->op == SQL_AND || n->op == SQL_OR) && x->clauses[n->left].n;
}

static void tell_chain(const struct explanation *x, const struct sql_node *chain, int depth)
{
    for (uint32_t i = chain->left; i; i = x->f->nodes[i].next) {
        struct sql_text at = x->clauses[i];
        struct filter_clause clause = {
            .text = slice_of(x->expression.p + at.at, at.n), .depth = depth, .any = chain->op == SQL_OR,
            .verdict = sql_evaluate(x->f, i, x->values),
        };
        x->each(x->ctx, &clause);
        if (is_chain(x, &x->f->nodes[i])) tell_chain(x, &x->f->nodes[i], depth + 1);
    }
}

static void tell_all(const struct explanation *x)
{
    const struct sql_node *root = &x->f->nodes[x->f->root];
    struct filter_clause whole = {.text = slice_trim(x->expression), .verdict = sql_evaluate(x->f, x->f->root, x->values)};
    if (is_chain(x, root)) tell_chain(x, root, 0);
    else x->each(x->ctx, &whole);
}

err_t filter_explain(struct slice expression, struct slice properties, void (*each)(void *ctx, const struct filter_clause *clause), void *ctx)
{
    struct slice values[FILTER_NAMES_MAX];
    struct filter *f;
    struct sql_text *clauses = must_zero(SQL_NODES_MAX * sizeof *clauses);
    err_t e = sql_compile(expression, clauses, &f);
    if (!e) {
        struct explanation x = {f, expression, clauses, values, each, ctx};
        sql_values(f, properties, values);
        tell_all(&x);
        filter_free(f);
    }
    free(clauses);
    return e;
}
