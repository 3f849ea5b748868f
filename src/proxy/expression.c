#include "proxy/expression.h"

#include "codec/properties.h"

/* "a || b": the next one, without what is around it; false at the end. */
static bool next_tag(struct slice *rest, struct slice *out)
{
    while (rest->n) {
        size_t n = 0;
        while (n < rest->n && !(rest->p[n] == '|' && n + 1 < rest->n && rest->p[n + 1] == '|')) n++;
        *out = slice_trim(slice_of(rest->p, n));
        *rest = slice_skip(*rest, n < rest->n ? n + 2 : n);
        if (out->n) return true;
    }
    return false;
}

static bool is_bars(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != '|') return false;
    return true;
}

static bool read_tags(struct request *r, struct slice text, struct expression *out)
{
    struct slice tag;
    if (is_bars(text)) {
        request_refuse(r, V2_CODE_ILLEGAL_FILTER_EXPRESSION, "subString split error");
        return false;
    }
    while (next_tag(&text, &tag)) {
        struct slice *place = arena_list_add(&r->arena, (void **)&out->tags, &out->tag_count, sizeof *place);
        *place = tag;
    }
    return true;
}

bool expression_read(struct request *r, const struct v2_filter_expression *f, struct expression *out)
{
    struct slice text = f ? f->expression : (struct slice){NULL, 0};
    bool sql = f && f->type == V2_FILTER_TYPE_SQL;
    *out = (struct expression){.type = sql ? SLICE("SQL92") : SLICE("TAG"), .text = text.n ? text : SLICE("*")};
    if (sql && !text.n) {
        request_refuse(r, V2_CODE_ILLEGAL_FILTER_EXPRESSION, "Expression can't be null! SQL92");
        return false;
    }
    return sql || slice_eq(out->text, SLICE("*")) || read_tags(r, text, out);
}

bool expression_matches(const struct expression *e, const struct message *m)
{
    struct slice tag = properties_get(m->properties, SLICE("TAGS"));
    for (size_t i = 0; i < e->tag_count; i++)
        if (slice_eq(e->tags[i], tag)) return true;
    return !e->tag_count;
}
