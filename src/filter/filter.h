/* filter.h - which messages a consumer asks for: tags, and SQL92 expressions over a message's properties.
 * Facts    docs/protocol/semantics.md 7; vectors: tests/fixtures/vectors/sql92.jsonl, bloom.jsonl
 * Shape    an expression is compiled once into one allocation: a tree of conditions, its names and texts; it is evaluated on the
 *          property text of a message as it lies in the log, without copying
 * Limits   see FILTER_…_MAX: each message is compared with all of an expression, and expressions come from anybody
 * Errors   SUBSCRIPTION_PARSE, with the place (in letters, from 1) and the reason
 * Threads  any: nothing that was compiled changes */
#ifndef SKYLARK_FILTER_FILTER_H
#define SKYLARK_FILTER_FILTER_H

#include "base/err.h"
#include "base/slice.h"

/* Bytes of an expression; conditions and operands in it; how deep it nests; different properties it names. */
enum { FILTER_TEXT_MAX = 32768, FILTER_PARTS_MAX = 2048, FILTER_DEPTH_MAX = 64, FILTER_NAMES_MAX = 64 };

/* --- tags --- */

/* Whether one of the codes, hashes of tags, is that of a queue entry. */
static inline bool filter_tags_match(const int32_t *codes, size_t count, int64_t tag_hash)
{
    for (size_t i = 0; i < count; i++)
        if (codes[i] == tag_hash) return true;
    return false;
}

/* --- SQL92 --- */

struct filter;

/* What an expression says of one message. Only FILTER_TRUE is a match. */
enum filter_verdict {
    FILTER_FALSE,
    FILTER_TRUE,
    FILTER_UNKNOWN,     /* it depends on a property that is not there */
    FILTER_FAILED,      /* it compares what cannot be compared, as a text that is no number with a number */
};

/* Copies the expression. */
err_t filter_compile(struct slice expression, struct filter **out) MUST_CHECK;
void filter_free(struct filter *f);
/* `properties` as in a record: name 0x01 value 0x02, repeated; anything else in it is passed over. */
enum filter_verdict filter_evaluate(const struct filter *f, struct slice properties);
/* One operand of a chain of ANDs or ORs, or all of an expression without one. */
struct filter_clause {
    struct slice text;          /* as in the expression */
    int depth;                  /* 0: of the outermost chain; 1: of a chain that is an operand of that … */
    bool any;                   /* of a chain of ORs */
    enum filter_verdict verdict;
};

/* What each clause of an expression says of one message, in the order of the text: an operand before those of the chain in it. Compiles anew,
 * since a compiled expression does not keep its text: for people who ask why, not for every message. */
err_t filter_explain(struct slice expression, struct slice properties, void (*each)(void *ctx, const struct filter_clause *clause), void *ctx) MUST_CHECK;

/* Conditions and operands: what one evaluation costs, and the memory, are in proportion to it. */
size_t filter_parts(const struct filter *f);

/* --- bloom filters: which groups' expressions a message matches, in the original's queue extension files --- */

enum { BLOOM_POSITIONS_MAX = 7 };

struct bloom {
    int32_t positions;          /* of one name, at most BLOOM_POSITIONS_MAX */
    int32_t bits;               /* a multiple of 8 */
};

/* For `expected` names, at least 1, with `error_percent` of false hits, 1 to 99. */
struct bloom bloom_of(int32_t error_percent, int32_t expected);
/* The bits of a name: out[0 … positions - 1]. */
void bloom_positions(const struct bloom *b, struct slice name, int32_t out[static BLOOM_POSITIONS_MAX]);

#endif
