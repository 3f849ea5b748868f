/* An expression, a zero byte, and the properties of a message: both from anybody. */
#include "fuzz/fuzz.h"

#include "codec/properties.h"
#include "filter/filter.h"

/* What counts of the properties, written anew, and one that no expression can name. */
static void try_properties(const struct filter *f, struct slice properties)
{
    enum filter_verdict v = filter_evaluate(f, properties);
    FUZZ_EXPECT(v == FILTER_FALSE || v == FILTER_TRUE || v == FILTER_UNKNOWN || v == FILTER_FAILED);
    struct buf again = BUF_EMPTY;
    struct slice name, value;
    while (properties_next(&properties, &name, &value)) properties_put(&again, name, value);
    properties_put(&again, SLICE("no.name"), SLICE("5"));
    FUZZ_EXPECT(filter_evaluate(f, buf_slice(&again)) == v);
    buf_done(&again);
}

struct chain {
    struct slice expression;
    size_t clauses;
    bool any, settled, unknown;     /* of the outermost chain */
    enum filter_verdict verdict;    /* what settled it */
};

static void try_clause(void *ctx, const struct filter_clause *c)
{
    struct chain *chain = ctx;
    FUZZ_EXPECT(c->text.n && c->text.p >= chain->expression.p && c->text.p + c->text.n <= chain->expression.p + chain->expression.n);
    FUZZ_EXPECT(c->depth >= 0 && c->depth <= FILTER_DEPTH_MAX && ++chain->clauses <= FILTER_PARTS_MAX);
    if (c->depth || chain->settled) return;
    chain->any = c->any;
    chain->settled = c->verdict == FILTER_FAILED || c->verdict == (c->any ? FILTER_TRUE : FILTER_FALSE);
    chain->unknown |= c->verdict == FILTER_UNKNOWN;
    chain->verdict = c->verdict;
}

/* Clauses lie in the expression, and together say what all of it says. */
static void try_clauses(const struct filter *f, struct slice expression, struct slice properties)
{
    struct chain chain = {.expression = expression};
    err_t e = filter_explain(expression, properties, try_clause, &chain);
    FUZZ_EXPECT(!e && chain.clauses);
    if (!chain.settled) chain.verdict = chain.unknown ? FILTER_UNKNOWN : chain.any ? FILTER_FALSE : FILTER_TRUE;
    FUZZ_EXPECT(chain.verdict == filter_evaluate(f, properties));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    uint8_t *copy = fuzz_copy(p, n);
    const uint8_t *mark = n ? memchr(copy, 0, n) : NULL;
    size_t length = mark ? (size_t)(mark - copy) : n;
    struct filter *f;
    err_t e = filter_compile(slice_of(copy, length), &f);
    if (e) {
        FUZZ_EXPECT(err_code(e) == ERR_SUBSCRIPTION_PARSE && strstr(err_text(e), "letter "));
        err_free(e);
    } else {
        FUZZ_EXPECT(filter_parts(f) && filter_parts(f) <= FILTER_PARTS_MAX);
        try_properties(f, slice_of(copy + length, n - length));
        try_clauses(f, slice_of(copy, length), slice_of(copy + length, n - length));
        try_properties(f, mark ? slice_of(mark + 1, n - length - 1) : slice_of(copy, 0));
        filter_free(f);
    }
    int32_t positions[BLOOM_POSITIONS_MAX];
    struct bloom b = bloom_of(n ? 1 + copy[0] % 99 : 20, n ? 1 + copy[n - 1] : 32);
    bloom_positions(&b, slice_of(copy, n), positions);
    for (int32_t i = 0; i < b.positions; i++) FUZZ_EXPECT(positions[i] >= 0 && positions[i] < b.bits);
    free(copy);
    return 0;
}
