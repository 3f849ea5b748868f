#include "tools/report.h"
#include "tools/view.h"

#include "codec/properties.h"
#include "codec/record.h"
#include "store/redispatch.h"

#include <inttypes.h>
#include <stdlib.h>

struct dump {
    struct view v;
    const struct dump_options *d;
    FILE *out;
    struct buf text;
    enum queue_kind kind;        /* of the queue it is at */
    int64_t lines;
};

/* False when that was the last line asked for. */
static bool line_done(struct dump *d)
{
    buf_put_u8(&d->text, '\n');
    print_buf(d->out, &d->text);
    return ++d->lines < d->d->limit;
}

static bool wants_topic(const struct dump *d, struct slice topic, int32_t queue_id)
{
    if (d->d->topic && !slice_eq(topic, slice_text(d->d->topic))) return false;
    return d->d->queue_id < 0 || d->d->queue_id == queue_id;
}

/* --- JSON --- */

static void put_number(struct json_out *w, const char *key, int64_t value)
{
    json_put_key(w, slice_text(key));
    json_put_i64(w, value);
}

static void put_slice(struct json_out *w, const char *key, struct slice value)
{
    json_put_key(w, slice_text(key));
    json_put_text(w, value);
}

static void put_host(struct json_out *w, const char *key, const struct addr *a)
{
    char text[ADDR_TEXT_MAX];
    addr_format(a, text);
    put_slice(w, key, slice_text(text));
}

static void put_hex(struct json_out *w, const char *key, struct slice bytes)
{
    struct buf hex = BUF_EMPTY;
    for (size_t i = 0; i < bytes.n; i++) buf_printf(&hex, "%02X", bytes.p[i]);
    put_slice(w, key, hex.n ? buf_slice(&hex) : SLICE(""));
    buf_done(&hex);
}

static void put_properties(struct json_out *w, struct slice text)
{
    struct slice name, value;
    json_put_key(w, SLICE("properties"));
    json_put_object(w);
    while (properties_next(&text, &name, &value)) {
        json_put_key(w, name);
        json_put_text(w, value);
    }
    json_put_object_end(w);
}

static void record_json(struct dump *d, const struct log_step *s)
{
    const struct message *m = &s->message;
    struct json_out w;
    json_out_init(&w, &d->text, JSON_STRICT);
    json_put_object(&w);
    put_number(&w, "position", s->at);
    put_number(&w, "size", s->size);
    put_slice(&w, "topic", m->topic);
    put_number(&w, "queueId", m->queue_id);
    put_number(&w, "queueOffset", m->queue_offset);
    put_number(&w, "flag", m->flag);
    put_number(&w, "sysFlag", m->sys_flag);
    put_number(&w, "bornTimestamp", m->born_ms);
    put_host(&w, "bornHost", &m->born_host);
    put_number(&w, "storeTimestamp", m->store_ms);
    put_host(&w, "storeHost", &m->store_host);
    put_number(&w, "reconsumeTimes", m->reconsume_times);
    put_number(&w, "preparedTransactionOffset", m->prepared_offset);
    put_number(&w, "bodyCrc", m->body_crc);
    put_number(&w, "bodyBytes", (int64_t)m->body.n);
    json_put_key(&w, SLICE("intact"));
    json_put_bool(&w, s->kind == LOG_RECORD);
    put_properties(&w, m->properties);
    if (d->d->body) put_hex(&w, "bodyHex", m->body);
    json_put_object_end(&w);
}

static void piece_json(struct dump *d, const struct log_step *s, const char *what)
{
    struct json_out w;
    json_out_init(&w, &d->text, JSON_STRICT);
    json_put_object(&w);
    put_number(&w, "position", s->at);
    put_number(&w, "size", s->size);
    put_slice(&w, "what", slice_text(what));
    json_put_object_end(&w);
}

/* --- text --- */

static void put_property(struct dump *d, const struct message *m, const char *label, struct slice name)
{
    struct slice value = properties_get(m->properties, name);
    if (!value.n) return;
    buf_printf(&d->text, " %s=", label);
    put_printable(&d->text, value);
}

static void record_text(struct dump *d, const struct log_step *s)
{
    const struct message *m = &s->message;
    char time[TIME_TEXT_MAX], host[ADDR_TEXT_MAX];
    addr_format(&m->born_host, host);
    buf_printf(&d->text, "%12" PRId64 " %7" PRId64 " B  %s  ", s->at, s->size, time_text(m->store_ms, time));
    put_printable(&d->text, m->topic);
    buf_printf(&d->text, " queue %d offset %" PRId64 " from %s", m->queue_id, m->queue_offset, host);
    put_property(d, m, "tags", SLICE("TAGS"));
    put_property(d, m, "keys", SLICE("KEYS"));
    put_property(d, m, "id", SLICE("UNIQ_KEY"));
    if (redispatch_kind(m) == QUEUE_OF_BATCHES) buf_printf(&d->text, " batch of %d", redispatch_count(m));
    if (s->kind == LOG_BAD_CHECKSUM) buf_put_text(&d->text, "  BAD CHECKSUM");
    if (!d->d->body) return;
    buf_put_text(&d->text, "\n             | ");
    put_printable(&d->text, m->body);
}

static void piece_text(struct dump *d, const struct log_step *s, const char *what)
{
    buf_printf(&d->text, "%12" PRId64 " %7" PRId64 " B  %s", s->at, s->size, what);
}

/* --- the log --- */

static bool has_key(const struct dump *d, const struct message *m)
{
    struct slice words = properties_get(m->properties, SLICE("KEYS")), key, word;
    if (!d->d->key) return true;
    key = slice_text(d->d->key);
    if (slice_eq(properties_get(m->properties, SLICE("UNIQ_KEY")), key)) return true;
    while (words.n && slice_split(&words, ' ', &word))
        if (slice_eq(word, key)) return true;
    return false;
}

static bool on_step(void *ctx, const struct view_file *f, const struct log_step *s)
{
    static const char *const pieces[] = {[LOG_NO_RECORD] = "no record", [LOG_ZEROS] = "zeros to the end of the file", [LOG_BLANK] = "blank: the rest of the file"};
    struct dump *d = ctx;
    (void)f;
    if (s->at >= d->d->to) return false;
    bool is_record = s->kind == LOG_RECORD || s->kind == LOG_BAD_CHECKSUM, json = d->v.options->json;
    bool all = !d->d->topic && d->d->queue_id < 0 && !d->d->key;
    if (is_record && (!wants_topic(d, s->message.topic, s->message.queue_id) || !has_key(d, &s->message))) return true;
    if (!is_record && !all) return true;
    if (is_record && json) record_json(d, s);
    else if (is_record) record_text(d, s);
    else if (json) piece_json(d, s, pieces[s->kind]);
    else piece_text(d, s, pieces[s->kind]);
    return line_done(d);
}

static void unreadable(void *ctx, const struct view_file *f, int64_t at, err_t e)
{
    struct dump *d = ctx;
    struct log_step s = {.at = at, .size = f->start + f->size - at};
    if (d->v.options->json) piece_json(d, &s, err_text(e));
    else piece_text(d, &s, err_text(e));
    err_free(e);
    line_done(d);
}

/* A place in the middle of a record is none: the first one from there on is looked for. */
static void dump_log(struct dump *d)
{
    int64_t from = d->d->from > view_log_first(&d->v) ? d->d->from : 0;
    view_walk(&d->v, from, &(struct view_walker){.step = on_step, .unreadable = unreadable, .ctx = d, .what = "commit log"});
}

/* --- queues --- */

static void entry_text(struct dump *d, const struct queue_entry *e)
{
    char time[TIME_TEXT_MAX];
    buf_printf(&d->text, "%12" PRId64 "  %14" PRId64 " %9d B  %" PRId64, e->queue_offset, e->log_offset, e->size, e->tag_hash);
    if (d->kind == QUEUE_OF_BATCHES) buf_printf(&d->text, "  %d messages, %s", e->count, time_text(e->store_ms, time));
    else if (queue_entry_is_filler(*e)) buf_put_text(&d->text, "  filler");
}

static void entry_json(struct dump *d, const struct queue_entry *e)
{
    struct json_out w;
    json_out_init(&w, &d->text, JSON_STRICT);
    json_put_object(&w);
    put_number(&w, "queueOffset", e->queue_offset);
    put_number(&w, "position", e->log_offset);
    put_number(&w, "size", e->size);
    put_number(&w, "tagsCode", e->tag_hash);
    if (d->kind == QUEUE_OF_BATCHES) {
        put_number(&w, "messages", e->count);
        put_number(&w, "storeTimestamp", e->store_ms);
    }
    json_put_object_end(&w);
}

static bool on_entry(void *ctx, const struct view_entry *e)
{
    struct dump *d = ctx;
    int64_t last = d->kind == QUEUE_OF_BATCHES && queue_entry_is_written(e->entry) ? queue_entry_end(e->entry) - 1 : e->entry.queue_offset;
    if (last < d->d->from) return true;
    if (e->entry.queue_offset >= d->d->to) return false;
    if (d->v.options->json) entry_json(d, &e->entry);
    else entry_text(d, &e->entry);
    return line_done(d);
}

static err_t dump_queue(struct dump *d)
{
    err_t e = NULL;
    bool found = false;
    for (size_t i = 0; i < d->v.queue_count && !e; i++) {
        const struct view_queue *q = &d->v.queues[i];
        if (!wants_topic(d, slice_text(q->topic), q->id)) continue;
        found = true;
        d->kind = q->kind;
        if (!d->v.options->json)
            fprintf(d->out, "%s queue %d: offset, position, size, hash of the tag%s\n", q->topic, q->id,
                    q->kind == QUEUE_OF_BATCHES ? "; messages in the batch, time" : "");
        for (size_t j = 0; j < q->count && !e && d->lines < d->d->limit; j++) e = view_queue_file(&d->v, q, &q->files[j], on_entry, d);
    }
    if (!e && !found) e = err_new(ERR_NOT_FOUND, "there is no such queue in %s; 'skylark store stats' lists what there is", d->v.root);
    return e;
}

/* --- index --- */

static bool index_entry(struct dump *d, const struct index_file *f, const char *name, int32_t number)
{
    const uint8_t *p = f->bytes + INDEX_HEADER_BYTES + (int64_t)f->shape.slots * INDEX_SLOT_BYTES + (int64_t)number * INDEX_ENTRY_BYTES;
    if (!d->v.options->json) {
        buf_printf(&d->text, "%10d  hash %10u  %14" PRId64 "  +%u s  before it %d", number, get_be32(p), (int64_t)get_be64(p + 4), get_be32(p + 12),
                   (int32_t)get_be32(p + 16));
        return line_done(d);
    }
    struct json_out w;
    json_out_init(&w, &d->text, JSON_STRICT);
    json_put_object(&w);
    put_slice(&w, "file", slice_text(name));
    put_number(&w, "number", number);
    put_number(&w, "hash", get_be32(p));
    put_number(&w, "position", (int64_t)get_be64(p + 4));
    put_number(&w, "seconds", get_be32(p + 12));
    put_number(&w, "before", (int32_t)get_be32(p + 16));
    json_put_object_end(&w);
    return line_done(d);
}

static err_t dump_index_file(struct dump *d, const char *name)
{
    char file[PATH_BYTES], path[PATH_BYTES], begin[TIME_TEXT_MAX], end[TIME_TEXT_MAX];
    struct index_shape shape = {d->v.options->index_slots, d->v.options->index_entries};
    struct index_file *f;
    snprintf(file, sizeof file, "index/%s", name);
    view_path(&d->v, file, path);
    err_t e = index_file_view(d->v.fs, path, shape, &f);
    if (e) return err_in(e, "its maxHashSlotNum and maxIndexNum are needed (-c broker.conf, or --set)");
    if (!d->v.options->json)
        fprintf(d->out, "%s: %d keys in %d slots, %s to %s, records %" PRId64 " to %" PRId64 "\n", file, f->next - 1, f->used_slots,
                time_text(f->begin_ms, begin), time_text(f->end_ms, end), f->begin_offset, f->end_offset);
    int64_t number = d->d->from > 1 ? d->d->from : 1;
    bool more = true;
    for (; more && number < f->next && number < d->d->to; number++)
        if (!d->d->key || !d->d->topic || get_be32(f->bytes + INDEX_HEADER_BYTES + (int64_t)shape.slots * INDEX_SLOT_BYTES + number * INDEX_ENTRY_BYTES) ==
                                              index_hash(slice_text(d->d->topic), slice_text(d->d->key)))
            more = index_entry(d, f, name, (int32_t)number);
    index_file_close(f);
    return NULL;
}

static err_t dump_index(struct dump *d)
{
    struct buf names = BUF_EMPTY;
    err_t e = view_index_names(&d->v, &names);
    for (size_t i = 0; i < view_name_count(&names) && !e && d->lines < d->d->limit; i++) e = dump_index_file(d, view_name(&names, i));
    view_names_done(&names);
    return e;
}

/* --- checkpoint --- */

static err_t dump_checkpoint(struct dump *d)
{
    static const char *const names[] = {"physicMsgTimestamp", "logicsMsgTimestamp", "indexMsgTimestamp", "masterFlushedOffset", "confirmPhyOffset",
                                        "logicsPhysicalOffset", "resumeOffset"};
    struct buf bytes = BUF_EMPTY;
    struct checkpoint c;
    err_t e = view_checkpoint(&d->v, &bytes, &c);
    buf_done(&bytes);
    if (e) return e;
    const int64_t values[] = {c.log_ms, c.queues_ms, c.index_ms, c.master_flushed, c.confirmed, c.queues_offset, c.resume_offset};
    struct json_out w;
    json_out_init(&w, &d->text, JSON_STRICT);
    if (d->v.options->json) json_put_object(&w);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char time[TIME_TEXT_MAX];
        if (d->v.options->json) put_number(&w, names[i], values[i]);
        else if (i < 3) buf_printf(&d->text, "%-20s  %" PRId64 "  %s\n", names[i], values[i], time_text(values[i], time));
        else buf_printf(&d->text, "%-20s  %" PRId64 "\n", names[i], values[i]);
    }
    if (d->v.options->json) {
        json_put_object_end(&w);
        buf_put_u8(&d->text, '\n');
    }
    print_buf(d->out, &d->text);
    return NULL;
}

err_t tools_dump(const struct tools_options *o, const struct dump_options *options)
{
    struct dump d = {.d = options, .out = o->out};
    err_t e = view_open(&d.v, o);
    if (!e && options->limit > 0) {
        switch (options->what) {
        case DUMP_LOG: dump_log(&d); break;
        case DUMP_QUEUE: e = dump_queue(&d); break;
        case DUMP_INDEX: e = dump_index(&d); break;
        case DUMP_CHECKPOINT: e = dump_checkpoint(&d); break;
        }
    }
    buf_done(&d.text);
    view_close(&d.v);
    return e;
}
