#include "admin/message/message.h"

#include "codec/message_id.h"
#include "codec/properties.h"

enum { BODY_SHOWN_MAX = 64 << 10 };

void messages_add(struct job *j, const struct admin_broker *b, struct slice body, struct founds *out)
{
    while (body.n) {
        struct message m;
        if (record_read(body, &m) != RECORD_WHOLE) return;
        struct found *f = arena_list_add(job_arena(j), (void **)&out->list.items, &out->list.count, sizeof *f);
        if (f) *f = (struct found){.broker = *b, .message = m, .body_bytes = (int64_t)m.body.n};
        body = slice_skip(body, record_total_size(body.p));
    }
}

struct slice message_property(const struct message *m, const char *name) { return properties_get(m->properties, slice_text(name)); }

struct slice message_offset_id(struct job *j, const struct message *m)
{
    char text[MESSAGE_ID_TEXT];
    size_t n = offset_id_format(&m->store_host, m->log_offset, text);
    return job_copy(j, slice_of(text, n));
}

struct slice message_key_of(struct job *j, const struct message *m)
{
    struct slice key = message_property(m, "UNIQ_KEY");
    return key.n ? key : message_offset_id(j, m);
}

struct slice addr_text_of(struct job *j, const struct addr *a)
{
    char text[ADDR_TEXT_MAX];
    return job_text(j, "%s", addr_format(a, text));
}

static bool is_text(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < 32 && s.p[i] != '\n' && s.p[i] != '\t' && s.p[i] != '\r') return false;
    for (size_t i = 0; i < s.n;) {
        size_t more = s.p[i] < 0x80 ? 0 : (s.p[i] & 0xE0) == 0xC0 ? 1 : (s.p[i] & 0xF0) == 0xE0 ? 2 : (s.p[i] & 0xF8) == 0xF0 ? 3 : 9;
        if (more > s.n - i - 1) return false;
        for (size_t k = 1; k <= more; k++)
            if ((s.p[i + k] & 0xC0) != 0x80) return false;
        i += more + 1;
    }
    return true;
}

struct slice message_body_text(struct job *j, const struct found *f)
{
    struct slice body = f->message.body;
    if (f->wrong.p) return job_text(j, "(%zu bytes, not opened: %.*s)", body.n, SLICE_ARG(f->wrong));
    if (f->message.sys_flag & SYS_FLAG_COMPRESSED) return job_text(j, "(%zu bytes, compressed)", body.n);
    if (f->message.sys_flag & SYS_FLAG_INNER_BATCH) return job_text(j, "(%zu bytes, a batch)", body.n);
    if (is_text(body)) return body.n > BODY_SHOWN_MAX ? slice_of(body.p, BODY_SHOWN_MAX) : body;
    if (body.n > BODY_SHOWN_MAX / 2) body.n = BODY_SHOWN_MAX / 2;
    uint8_t *text = job_take(j, body.n * 2 + 1);
    for (size_t i = 0; i < body.n; i++) {
        text[i * 2] = (uint8_t)"0123456789ABCDEF"[body.p[i] >> 4];
        text[i * 2 + 1] = (uint8_t)"0123456789ABCDEF"[body.p[i] & 15];
    }
    return slice_of(text, body.n * 2);
}

/* --- tables --- */

#define COLUMNS \
    {"msgId", CELL_TEXT}, {"brokerName", CELL_TEXT}, {"queueId", CELL_NUMBER}, {"queueOffset", CELL_NUMBER}, {"tags", CELL_TEXT}, \
    {"keys", CELL_TEXT}, {"storeTimestamp", CELL_TIME}, {"bodySize", CELL_NUMBER}

static const struct column columns[] = {COLUMNS};
static const struct column columns_with_body[] = {COLUMNS, {"body", CELL_TEXT}};

struct table *message_table(struct job *j, bool bodies)
{
    return bodies ? OUTCOME_TABLE(&j->outcome, "messages", columns_with_body) : OUTCOME_TABLE(&j->outcome, "messages", columns);
}

static struct slice or_none(struct slice s) { return s.n ? s : (struct slice){NULL, 0}; }

void message_row(struct job *j, struct table *t, const struct found *f, bool body)
{
    const struct message *m = &f->message;
    row_text(t, message_key_of(j, m));
    row_text(t, f->broker.name);
    row_number(t, m->queue_id);
    row_number(t, m->queue_offset);
    row_text(t, or_none(message_property(m, "TAGS")));
    row_text(t, or_none(message_property(m, "KEYS")));
    row_time(t, m->store_ms);
    row_number(t, f->body_bytes);
    if (body) row_text(t, message_body_text(j, f));
}

static const struct column property_columns[] = {{"name", CELL_TEXT}, {"value", CELL_TEXT}};

static void put_batch(struct job *j, const struct founds *inner)
{
    struct table *t = message_table(j, true);
    for (size_t i = 0; i < inner->list.count; i++) message_row(j, t, &inner->list.items[i], true);
}

void message_outcome(struct job *j, const struct found *f, bool body)
{
    const struct message *m = &f->message;
    struct founds opened = {.list = {NULL, 0}};
    struct opening o;
    bool batch = m->sys_flag & SYS_FLAG_INNER_BATCH;
    struct slice rest = m->properties, name, value;
    struct outcome *r = &j->outcome;
    opening_begin(&o);
    message_open(j, &o, f, &opened);
    outcome_text(r, SLICE("offsetId"), message_offset_id(j, m));
    outcome_text(r, SLICE("msgId"), message_key_of(j, m));
    outcome_text(r, SLICE("topic"), m->topic);
    outcome_text(r, SLICE("tags"), or_none(message_property(m, "TAGS")));
    outcome_text(r, SLICE("keys"), or_none(message_property(m, "KEYS")));
    outcome_text(r, SLICE("brokerName"), f->broker.name);
    outcome_number(r, "queueId", m->queue_id);
    outcome_number(r, "queueOffset", m->queue_offset);
    outcome_number(r, "commitLogOffset", m->log_offset);
    outcome_number(r, "reconsumeTimes", m->reconsume_times);
    outcome_time(r, "bornTimestamp", m->born_ms);
    outcome_time(r, "storeTimestamp", m->store_ms);
    outcome_text(r, SLICE("bornHost"), addr_text_of(j, &m->born_host));
    outcome_text(r, SLICE("storeHost"), addr_text_of(j, &m->store_host));
    outcome_number(r, "sysFlag", m->sys_flag);
    outcome_number(r, "bodySize", batch || !opened.list.count ? f->body_bytes : opened.list.items[0].body_bytes);
    if (body && opened.list.count) outcome_text(r, SLICE("body"), message_body_text(j, batch ? f : &opened.list.items[0]));
    struct table *t = OUTCOME_TABLE(r, "properties", property_columns);
    while (properties_next(&rest, &name, &value)) {
        row_text(t, name);
        row_text(t, value);
    }
    table_sort(t, 1);
    if (batch) put_batch(j, &opened);
}
