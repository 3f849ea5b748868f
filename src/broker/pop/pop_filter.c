#include "broker/pop/pop_filter.h"

#include "broker/state.h"
#include "codec/properties.h"
#include "codec/record.h"

/* What one read may spend on expressions, and what is spent on a message besides its properties: some ms. */
enum { WORK_MAX = 8 << 20, WORK_MESSAGE_BYTES = 64 };

static err_t open_tags(struct slice topic, struct slice expression, struct pop_filter *out)
{
    struct subscription s;
    err_t e = subscription_parse(topic, expression, &out->arena, &s);
    if (e) return e;
    out->all = subscription_is_all(&s);
    out->codes = s.codes.items;
    out->count = out->all ? 0 : s.codes.count;
    return NULL;
}

err_t pop_filter_open(struct slice topic, struct slice type, struct slice expression, bool by_properties, struct pop_filter *out)
{
    err_t e;
    *out = POP_FILTER_EMPTY;
    if (!expression.n) return NULL;
    if (subscription_is_tag(type)) e = open_tags(topic, expression, out);
    else e = filters_compile(type, expression, by_properties, &out->sql);
    if (!e) return NULL;
    pop_filter_done(out);
    err_drop(e, "clients know one wording for it");
    return err_new(ERR_SUBSCRIPTION_PARSE, "parse the consumer's subscription failed");
}

void pop_filter_done(struct pop_filter *f)
{
    filter_free(f->sql);
    arena_done(&f->arena);
    *f = POP_FILTER_EMPTY;
}

static bool matches_tags(void *ctx, int64_t tag_hash)
{
    const struct pop_filter *f = ctx;
    return filter_tags_match(f->codes, f->count, tag_hash);
}

static bool matches_sql(void *ctx, struct slice record)
{
    struct pop_filter *f = ctx;
    struct slice properties = record_properties(record);
    f->work += (int64_t)(properties.n + WORK_MESSAGE_BYTES) * (int64_t)filter_parts(f->sql);
    f->enough = f->work > WORK_MAX;
    return filter_evaluate(f->sql, properties) == FILTER_TRUE;
}

const struct read_filter *pop_filter_begin(struct pop_filter *f)
{
    f->work = 0;
    f->enough = false;
    if (!f->sql && f->all) return NULL;
    f->read = (struct read_filter){.ctx = f, .enough = &f->enough};
    if (f->sql) f->read.record = matches_sql;
    else f->read.entry = matches_tags;
    return &f->read;
}
