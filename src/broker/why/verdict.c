#include "broker/why/verdict.h"

#include "base/buf.h"
#include "codec/java_hash.h"
#include "codec/properties.h"

static const char *verdict_text(enum filter_verdict v)
{
    switch (v) {
    case FILTER_FALSE: return "does not match";
    case FILTER_TRUE: return "matches";
    case FILTER_UNKNOWN: return "does not match: a property that is asked for is not there";
    case FILTER_FAILED: return "does not match: what cannot be compared is compared";
    }
    return "?";
}

static enum filter_verdict verdict_of(const struct interest *x, const struct message *m)
{
    const struct subscription *s = &x->subscription;
    if (!subscription_is_tag(s->type)) return x->filter ? filter_evaluate(x->filter, m->properties) : FILTER_FAILED;
    if (subscription_is_all(s)) return FILTER_TRUE;
    struct slice tags = properties_get(m->properties, SLICE("TAGS"));
    return filter_tags_match(s->codes.items, s->codes.count, tags.n ? tags_hash(tags) : 0) ? FILTER_TRUE : FILTER_FALSE;
}

/* --- which part of an expression it is --- */

enum { CLAUSES_BYTES = 800, CLAUSE_SHOWN = 200, EXPRESSION_SHOWN = 400 };

struct clauses {
    struct buf text;                     /* of all, as a fact */
    struct buf first;                    /* of the outermost chain, the first one that is not true, and what it is */
};

static const char *clause_text(enum filter_verdict v)
{
    switch (v) {
    case FILTER_FALSE: return "is false";
    case FILTER_TRUE: return "is true";
    case FILTER_UNKNOWN: return "asks for a property that is not there";
    case FILTER_FAILED: return "compares what cannot be compared";
    }
    return "?";
}

/* No letter is cut. */
static struct slice shown(struct slice text, size_t most)
{
    if (text.n <= most) return text;
    while (most && (text.p[most] & 0xC0) == 0x80) most--;
    return slice_of(text.p, most);
}

static void put_clause(struct buf *out, const struct filter_clause *c)
{
    struct slice text = shown(c->text, CLAUSE_SHOWN);
    buf_printf(out, "%.*s%s %s", SLICE_ARG(text), text.n < c->text.n ? "..." : "", clause_text(c->verdict));
}

static void note_clause(void *ctx, const struct filter_clause *c)
{
    struct clauses *all = ctx;
    if (!all->first.n && c->depth == 0 && c->verdict != FILTER_TRUE) put_clause(&all->first, c);
    if (all->text.n > CLAUSES_BYTES) return;
    if (all->text.n) buf_put_slice(&all->text, SLICE("; "));
    for (int i = 0; i < c->depth; i++) buf_put_u8(&all->text, '>');
    if (c->depth) buf_put_u8(&all->text, ' ');
    put_clause(&all->text, c);
    if (all->text.n > CLAUSES_BYTES) buf_put_slice(&all->text, SLICE("; ..."));
}

static void tell_clauses(const struct subscription *s, const struct message *m, enum filter_verdict v, struct answer_text *a)
{
    struct clauses all = {BUF_EMPTY, BUF_EMPTY};
    struct slice expression = shown(s->expression, EXPRESSION_SHOWN);
    err_t e = filter_explain(s->expression, m->properties, note_clause, &all);
    if (!e) answer_fact(a, "clauses", "%.*s", (int)all.text.n, (const char *)all.text.p);
    if (!e && v != FILTER_TRUE)
        answer_say(a, "the message at offset %lld does not match: %.*s; the group subscribes to \"%.*s%s\"", (long long)m->queue_offset,
                   (int)all.first.n, (const char *)all.first.p, SLICE_ARG(expression), expression.n < s->expression.n ? "..." : "");
    if (e) answer_say(a, "the group subscribes to what cannot be asked for: %s", err_text(e));
    err_free(e);
    buf_done(&all.text);
    buf_done(&all.first);
}

static void tell_tags(const struct subscription *s, const struct message *m, enum filter_verdict v, struct answer_text *a)
{
    struct slice tags = shown(properties_get(m->properties, SLICE("TAGS")), CLAUSE_SHOWN), expression = shown(s->expression, EXPRESSION_SHOWN);
    answer_fact(a, "tags", "%.*s", SLICE_ARG(tags));
    if (v == FILTER_TRUE) return;
    if (tags.n) answer_say(a, "the message at offset %lld does not match: its tags are \"%.*s\", the group subscribes to \"%.*s\"",
                           (long long)m->queue_offset, SLICE_ARG(tags), SLICE_ARG(expression));
    answer_say(a, "the message at offset %lld does not match: it has no tags, the group subscribes to \"%.*s\"", (long long)m->queue_offset,
               SLICE_ARG(expression));
}

void verdict_tell(struct broker *b, struct slice group, struct slice topic, const struct message *m, struct answer_text *a)
{
    struct member_group *members = members_consumers(&b->members, group);
    const struct interest *x = members ? members_interest(members, topic) : NULL;
    if (!x) return;
    const struct subscription *s = &x->subscription;
    enum filter_verdict v = verdict_of(x, m);
    answer_fact(a, "subscription", "%.*s", SLICE_ARG(s->expression));
    answer_fact(a, "verdict", "%s", verdict_text(v));
    if (subscription_is_tag(s->type)) tell_tags(s, m, v, a);
    else tell_clauses(s, m, v, a);
    if (v != FILTER_TRUE)
        answer_say(a, "the message at offset %lld %s by what the group subscribes to: \"%.*s\"", (long long)m->queue_offset, verdict_text(v),
                   SLICE_ARG(s->expression));
}
