#include "admin/broker/broker.h"

#include "base/properties_file.h"

static const struct column changed_columns[] = {{"brokerName", CELL_TEXT}, {"brokerAddr", CELL_TEXT}};

void broker_end_changes(struct job *j, const char *done)
{
    struct replies all = j->replies;
    struct table *t = NULL;
    for (size_t i = 0; i < all.list.count; i++) {
        if (!job_good(j, all.list.items[i])) continue;
        if (!t) {
            outcome_line(&j->outcome, "%s", done);
            t = OUTCOME_TABLE(&j->outcome, "brokers", changed_columns);
        }
        row_text(t, all.list.items[i]->broker.name);
        row_text(t, all.list.items[i]->broker.address);
    }
    if (!t) j->failures = (struct admin_failures){.list = {NULL, 0}};   /* the error of one is told for all */
    job_end_with(j, &all);
}

void broker_put_properties(struct job *j, struct table *t, struct slice name, struct slice text)
{
    struct properties p;
    struct slice key, value;
    properties_file_begin(&p, text);
    while (properties_file_next(&p, job_arena(j), &key, &value)) {
        row_text(t, name);
        row_text(t, key);
        row_text(t, value);
    }
}

struct slice kv_value(const struct kv_table *t, const char *key)
{
    for (size_t i = 0; i < t->pairs.count; i++)
        if (slice_eq(t->pairs.items[i].key, slice_text(key))) return t->pairs.items[i].value;
    return (struct slice){NULL, 0};
}

/* Values are read with escapes: a backslash is doubled. */
struct slice broker_property_line(struct job *j)
{
    struct slice key = slice_trim(job_param(j, "key")), value = slice_trim(job_param(j, "value"));
    struct buf line = BUF_EMPTY;
    buf_printf(&line, "%.*s=", SLICE_ARG(key));
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '\\') buf_put_u8(&line, '\\');
        buf_put_u8(&line, value.p[i]);
    }
    buf_put_u8(&line, '\n');
    struct slice kept = job_copy(j, buf_slice(&line));
    buf_done(&line);
    return kept;
}
