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
        if (f) *f = (struct found){*b, m};
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

struct slice message_body_text(struct job *j, const struct message *m)
{
    struct slice body = m->body;
    if (m->sys_flag & SYS_FLAG_COMPRESSED) return job_text(j, "(%zu bytes, compressed)", body.n);
    if (m->sys_flag & SYS_FLAG_INNER_BATCH) return job_text(j, "(%zu bytes, a batch)", body.n);
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
    row_number(t, (int64_t)m->body.n);
    if (body) row_text(t, message_body_text(j, m));
}

static const struct column property_columns[] = {{"name", CELL_TEXT}, {"value", CELL_TEXT}};

void message_outcome(struct job *j, const struct found *f, bool body)
{
    const struct message *m = &f->message;
    struct slice rest = m->properties, name, value;
    struct outcome *o = &j->outcome;
    outcome_text(o, SLICE("offsetId"), message_offset_id(j, m));
    outcome_text(o, SLICE("msgId"), message_key_of(j, m));
    outcome_text(o, SLICE("topic"), m->topic);
    outcome_text(o, SLICE("tags"), or_none(message_property(m, "TAGS")));
    outcome_text(o, SLICE("keys"), or_none(message_property(m, "KEYS")));
    outcome_text(o, SLICE("brokerName"), f->broker.name);
    outcome_number(o, "queueId", m->queue_id);
    outcome_number(o, "queueOffset", m->queue_offset);
    outcome_number(o, "commitLogOffset", m->log_offset);
    outcome_number(o, "reconsumeTimes", m->reconsume_times);
    outcome_time(o, "bornTimestamp", m->born_ms);
    outcome_time(o, "storeTimestamp", m->store_ms);
    outcome_text(o, SLICE("bornHost"), addr_text_of(j, &m->born_host));
    outcome_text(o, SLICE("storeHost"), addr_text_of(j, &m->store_host));
    outcome_number(o, "sysFlag", m->sys_flag);
    outcome_number(o, "bodySize", (int64_t)m->body.n);
    if (body) outcome_text(o, SLICE("body"), message_body_text(j, m));
    struct table *t = OUTCOME_TABLE(o, "properties", property_columns);
    while (properties_next(&rest, &name, &value)) {
        row_text(t, name);
        row_text(t, value);
    }
    table_sort(t, 1);
}
