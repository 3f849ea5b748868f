/* sql.h - a compiled expression: a tree of nodes in one allocation. The room's own.
 * Facts    docs/protocol/semantics.md 7.2
 * Threads  any */
#ifndef SKYLARK_FILTER_SQL_H
#define SKYLARK_FILTER_SQL_H

#include "filter/filter.h"

enum sql_op {
    /* values */
    SQL_PROPERTY,       /* the property of names[slot] */
    SQL_TEXT,           /* this and the next three follow each other: with_constant() */
    SQL_INT,            /* what fits into 32 bits: a property beside it must, too */
    SQL_LONG,
    SQL_DOUBLE,
    SQL_BOOL,
    SQL_NULL,
    SQL_NEGATE,         /* of left */
    /* conditions */
    SQL_AND,            /* of left and its next ones */
    SQL_OR,
    SQL_NOT,            /* of left */
    SQL_CAST,           /* left, a property, as a condition: texts are false */
    SQL_EQUAL, SQL_LESS, SQL_LESS_EQUAL, SQL_GREATER, SQL_GREATER_EQUAL,   /* of left and right */
    SQL_IN,             /* left, a property, among items[first, first + count) */
    SQL_CONTAINS, SQL_STARTS, SQL_ENDS,   /* left and `text` */
};

struct sql_text {
    uint32_t at;        /* in the filter's copy of the expression */
    uint32_t n;
};

struct sql_node {
    uint8_t op;
    bool negated;       /* SQL_IN, SQL_CONTAINS, SQL_STARTS, SQL_ENDS: NOT is part of it */
    uint16_t slot;
    uint32_t left, right;
    uint32_t next;      /* sibling below SQL_AND, SQL_OR; 0: none */
    union {
        int64_t number;
        double real;
        struct sql_text text;
        struct { uint32_t first, count; } items;
    };
};

enum { SQL_INDEX = 256 };

/* Node 0 is not used; what lies behind the struct: nodes, items, names, the expression with its texts as they are meant. */
struct filter {
    const struct sql_node *nodes;
    const struct sql_text *items;       /* sorted by length, then by bytes, within each list */
    const struct slice *names;
    const uint8_t *text;
    uint32_t root;
    uint32_t parts;
    uint32_t names_count;
    uint8_t index[SQL_INDEX];           /* open addressing by sql_hash(): slot + 1; 0 empty */
};

static inline uint8_t sql_hash(struct slice name) { return (uint8_t)(name.n * 37 + name.p[0] * 5u + name.p[name.n - 1] * 3u); }
static inline struct slice sql_text(const struct filter *f, struct sql_text t) { return slice_of(f->text + t.at, t.n); }

/* By shape alone, as the items of a list are sorted. */
static inline int sql_compare(struct slice a, struct slice b)
{
    if (a.n != b.n) return a.n < b.n ? -1 : 1;
    return a.n ? memcmp(a.p, b.p, a.n) : 0;
}

/* What a node, a condition, says with the values of names[0 …]; p NULL: not there. */
enum filter_verdict sql_evaluate(const struct filter *f, uint32_t node, const struct slice *values);
/* The values of names[0 …] in a property text. */
void sql_values(const struct filter *f, struct slice properties, struct slice values[static FILTER_NAMES_MAX]);

/* As filter_compile(); `clauses` has a place for each node, or is NULL: the operands of chains get theirs in the expression. */
enum { SQL_NODES_MAX = FILTER_PARTS_MAX + 1 };
err_t sql_compile(struct slice expression, struct sql_text *clauses, struct filter **out) MUST_CHECK;

#endif
