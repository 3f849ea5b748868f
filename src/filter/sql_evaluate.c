#include "filter/sql.h"

#include "codec/property_marks.h"
#include "filter/java_number.h"

/* What a node comes to. */
struct value {
    enum { VALUE_NULL, VALUE_BOOL, VALUE_INT, VALUE_LONG, VALUE_DOUBLE, VALUE_TEXT, VALUE_FAILED } kind;
    union {
        int64_t number;
        double real;
        struct slice text;
    };
};

struct run {
    const struct filter *f;
    const struct slice *values;     /* of the names */
};

static enum filter_verdict condition(const struct run *r, const struct sql_node *n);

static enum filter_verdict truth(bool is) { return is ? FILTER_TRUE : FILTER_FALSE; }

/* NOT: what is not known, or failed, stays so. */
static enum filter_verdict negate(enum filter_verdict v) { return v == FILTER_TRUE ? FILTER_FALSE : v == FILTER_FALSE ? FILTER_TRUE : v; }

/* --- values --- */

static struct value of_verdict(enum filter_verdict v)
{
    switch (v) {
    case FILTER_UNKNOWN: return (struct value){.kind = VALUE_NULL};
    case FILTER_FAILED: return (struct value){.kind = VALUE_FAILED};
    default: return (struct value){.kind = VALUE_BOOL, .number = v == FILTER_TRUE};
    }
}

/* Only constants are numbers: a property is text, and a text has no negative. */
static struct value negative(struct value v)
{
    switch (v.kind) {
    case VALUE_INT: case VALUE_LONG: v.number = -v.number; return v;
    case VALUE_DOUBLE: v.real = -v.real; return v;
    case VALUE_FAILED: return v;
    default: return (struct value){.kind = VALUE_NULL};
    }
}

static struct value value(const struct run *r, const struct sql_node *n)
{
    switch (n->op) {
    case SQL_PROPERTY: {
        struct slice text = r->values[n->slot];
        return (struct value){.kind = text.p ? VALUE_TEXT : VALUE_NULL, .text = text};
    }
    case SQL_TEXT: return (struct value){.kind = VALUE_TEXT, .text = sql_text(r->f, n->text)};
    case SQL_INT: return (struct value){.kind = VALUE_INT, .number = n->number};
    case SQL_LONG: return (struct value){.kind = VALUE_LONG, .number = n->number};
    case SQL_DOUBLE: return (struct value){.kind = VALUE_DOUBLE, .real = n->real};
    case SQL_BOOL: return (struct value){.kind = VALUE_BOOL, .number = n->number};
    case SQL_NULL: return (struct value){.kind = VALUE_NULL};
    case SQL_NEGATE: return negative(value(r, &r->f->nodes[n->left]));
    default: return of_verdict(condition(r, n));
    }
}

/* --- comparing: a text becomes what stands beside it, and both become the wider kind of number --- */

static bool read_as(struct value *text, const struct value *beside)
{
    struct value v = {.kind = beside->kind};
    bool good = true;
    switch (beside->kind) {
    case VALUE_INT: good = java_int(text->text, &v.number); break;
    case VALUE_LONG: good = java_long(text->text, &v.number); break;
    case VALUE_DOUBLE: good = java_double(text->text, &v.real); break;
    default: v.number = java_bool(text->text);
    }
    *text = v;
    return good;
}

static double as_double(const struct value *v) { return v->kind == VALUE_DOUBLE ? v->real : (double)v->number; }

/* Less than, equal to, greater than 0. False: the two cannot be compared. */
static bool compare(struct value a, struct value b, int *out)
{
    if (a.kind == VALUE_TEXT && b.kind == VALUE_TEXT) {
        *out = slice_eq(a.text, b.text) ? 0 : -1;   /* texts have no order here */
        return true;
    }
    if (a.kind == VALUE_TEXT && !read_as(&a, &b)) return false;
    if (b.kind == VALUE_TEXT && !read_as(&b, &a)) return false;
    if ((a.kind == VALUE_BOOL || b.kind == VALUE_BOOL) && a.kind != b.kind) *out = -1;
    else if (a.kind == VALUE_DOUBLE || b.kind == VALUE_DOUBLE) *out = java_compare(as_double(&a), as_double(&b));
    else *out = a.number < b.number ? -1 : a.number > b.number;
    return true;
}

/* A property that is not there equals another one; beside anything else it depends on the side, as in the original. */
static enum filter_verdict equal(struct value a, struct value b)
{
    int order;
    if (a.kind == VALUE_FAILED || b.kind == VALUE_FAILED) return FILTER_FAILED;
    if (a.kind == VALUE_NULL) return b.kind == VALUE_NULL ? FILTER_TRUE : FILTER_UNKNOWN;
    if (b.kind == VALUE_NULL) return FILTER_FALSE;
    return compare(a, b, &order) ? truth(order == 0) : FILTER_FAILED;
}

static enum filter_verdict verdict_of(enum sql_op op, int order)
{
    switch (op) {
    case SQL_EQUAL: return truth(order == 0);
    case SQL_LESS: return truth(order < 0);
    case SQL_LESS_EQUAL: return truth(order <= 0);
    case SQL_GREATER: return truth(order > 0);
    default: return truth(order >= 0);
    }
}

static enum filter_verdict ordered(enum sql_op op, struct value a, struct value b)
{
    struct value number = {.kind = VALUE_DOUBLE};
    int order;
    if (a.kind == VALUE_FAILED || b.kind == VALUE_FAILED) return FILTER_FAILED;
    if (a.kind == VALUE_NULL || b.kind == VALUE_NULL) return FILTER_UNKNOWN;
    if (a.kind == VALUE_TEXT && b.kind == VALUE_TEXT && (!read_as(&a, &number) || !read_as(&b, &number))) return FILTER_FAILED;
    return compare(a, b, &order) ? verdict_of(op, order) : FILTER_FAILED;
}

/* A property on the left and a constant on the right, as nearly always: the same as below, in a third of the time. */
static enum filter_verdict with_constant(const struct filter *f, enum sql_op op, struct slice text, const struct sql_node *constant)
{
    int64_t v;
    double d;
    if (!text.p) return FILTER_UNKNOWN;
    switch (constant->op) {
    case SQL_TEXT: return truth(slice_eq(text, sql_text(f, constant->text)));
    case SQL_DOUBLE: return java_double(text, &d) ? verdict_of(op, java_compare(d, constant->real)) : FILTER_FAILED;
    default:
        if (!(constant->op == SQL_INT ? java_int(text, &v) : java_long(text, &v))) return FILTER_FAILED;
        return verdict_of(op, v < constant->number ? -1 : v > constant->number);
    }
}

static enum filter_verdict compared(const struct run *r, const struct sql_node *n)
{
    const struct sql_node *left = &r->f->nodes[n->left], *right = &r->f->nodes[n->right];
    if (left->op == SQL_PROPERTY && right->op >= SQL_TEXT && right->op <= SQL_DOUBLE)
        return with_constant(r->f, n->op, r->values[left->slot], right);
    if (n->op == SQL_EQUAL) return equal(value(r, left), value(r, right));
    return ordered(n->op, value(r, left), value(r, right));
}

/* --- conditions --- */

static enum filter_verdict all_of(const struct run *r, const struct sql_node *n)
{
    bool unknown = false;
    for (uint32_t i = n->left; i; i = r->f->nodes[i].next) {
        enum filter_verdict v = condition(r, &r->f->nodes[i]);
        if (v == FILTER_FALSE || v == FILTER_FAILED) return v;
        unknown |= v == FILTER_UNKNOWN;
    }
    return unknown ? FILTER_UNKNOWN : FILTER_TRUE;
}

static enum filter_verdict any_of(const struct run *r, const struct sql_node *n)
{
    bool unknown = false;
    for (uint32_t i = n->left; i; i = r->f->nodes[i].next) {
        enum filter_verdict v = condition(r, &r->f->nodes[i]);
        if (v == FILTER_TRUE || v == FILTER_FAILED) return v;
        unknown |= v == FILTER_UNKNOWN;
    }
    return unknown ? FILTER_UNKNOWN : FILTER_FALSE;
}

static bool is_among(const struct filter *f, const struct sql_node *n, struct slice text)
{
    uint32_t low = n->items.first, high = low + n->items.count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = sql_compare(text, sql_text(f, f->items[middle]));
        if (!order) return true;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return false;
}

static enum filter_verdict among(const struct run *r, const struct sql_node *n)
{
    struct slice text = r->values[r->f->nodes[n->left].slot];
    return text.p ? truth(is_among(r->f, n, text) != n->negated) : FILTER_UNKNOWN;
}

/* False of what is not there, and of the empty text, also with NOT. */
static enum filter_verdict search(const struct run *r, const struct sql_node *n)
{
    struct slice wanted = sql_text(r->f, n->text);
    if (!wanted.n) return FILTER_FALSE;
    struct value v = value(r, &r->f->nodes[n->left]);
    if (v.kind == VALUE_FAILED) return FILTER_FAILED;
    if (v.kind != VALUE_TEXT) return FILTER_FALSE;
    struct slice s = v.text;
    bool found = false;
    if (s.n >= wanted.n) {
        if (n->op == SQL_CONTAINS) found = memmem(s.p, s.n, wanted.p, wanted.n);
        else found = !memcmp(n->op == SQL_STARTS ? s.p : s.p + s.n - wanted.n, wanted.p, wanted.n);
    }
    return truth(found != n->negated);
}

static enum filter_verdict condition(const struct run *r, const struct sql_node *n)
{
    const struct sql_node *nodes = r->f->nodes;
    switch (n->op) {
    case SQL_AND: return all_of(r, n);
    case SQL_OR: return any_of(r, n);
    case SQL_NOT: return negate(condition(r, &nodes[n->left]));
    case SQL_CAST: return r->values[nodes[n->left].slot].p ? FILTER_FALSE : FILTER_UNKNOWN;
    case SQL_EQUAL: case SQL_LESS: case SQL_LESS_EQUAL: case SQL_GREATER: case SQL_GREATER_EQUAL: return compared(r, n);
    case SQL_IN: return among(r, n);
    case SQL_CONTAINS: case SQL_STARTS: case SQL_ENDS: return search(r, n);
    case SQL_BOOL: return truth(n->number);
    default: return FILTER_UNKNOWN;   /* SQL_NULL; no other node is a condition */
    }
}

enum filter_verdict sql_evaluate(const struct filter *f, uint32_t node, const struct slice *values)
{
    struct run r = {f, values};
    return condition(&r, &f->nodes[node]);
}

/* --- properties --- */

static inline uint64_t load8(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t load4(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Both have n bytes, at least one. Names are short: calling memcmp(), or going from byte to byte, costs more than two looks that overlap. */
static inline bool same_name(const uint8_t *a, const uint8_t *b, size_t n)
{
    if (n > 16) return !memcmp(a, b, n);
    if (n >= 8) return !((load8(a) ^ load8(b)) | (load8(a + n - 8) ^ load8(b + n - 8)));
    if (n >= 4) return !((load4(a) ^ load4(b)) | (load4(a + n - 4) ^ load4(b + n - 4)));
    return a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1];
}

struct finding {
    const struct filter *f;
    struct slice *values;
};

__attribute__((always_inline)) static inline void take_property(void *ctx, struct slice name, struct slice text)
{
    const struct finding *to = ctx;
    const struct filter *f = to->f;
    for (uint8_t at = sql_hash(name); f->index[at]; at++) {
        uint8_t slot = f->index[at] - 1;
        if (f->names[slot].n != name.n || !same_name(f->names[slot].p, name.p, name.n)) continue;
        to->values[slot] = text;   /* of several the last one counts */
        return;
    }
}

void sql_values(const struct filter *f, struct slice properties, struct slice values[static FILTER_NAMES_MAX])
{
    for (uint32_t i = 0; i < f->names_count; i++) values[i] = (struct slice){NULL, 0};
    struct finding to = {f, values};
    properties_each(properties, take_property, &to);   /* what an evaluation spends most of its time with */
}

enum filter_verdict filter_evaluate(const struct filter *f, struct slice properties)
{
    struct slice values[FILTER_NAMES_MAX];
    sql_values(f, properties, values);
    return sql_evaluate(f, f->root, values);
}
