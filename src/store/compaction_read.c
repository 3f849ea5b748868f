#include "store/compaction_state.h"

#include <stdio.h>

int64_t compaction_first(struct compaction *c, struct slice topic, int32_t queue_id)
{
    const struct compaction_log *l = compaction_log_of(c, topic, queue_id);
    return l && l->attached ? compaction_log_first(l) : -1;
}

static bool is_full(const struct read_request *r, const struct read_result *out, int32_t more)
{
    if (!out->messages) return false;
    return out->messages >= r->max_messages || out->bytes + (size_t)more > (size_t)r->max_bytes;
}

/* False when there is no slice left for it. */
static bool add_record(const struct compaction_file *f, struct slice record, struct read_result *out)
{
    struct pinned *last = out->slices ? &out->slice[out->slices - 1] : NULL;
    if (last && last->bytes.p + last->bytes.n == record.p && last->owner == f->log) {
        last->bytes.n += record.n;
    } else {
        if (out->slices == READ_SLICES_MAX) return false;
        mapped_file_pin(f->log);
        out->slice[out->slices++] = (struct pinned){record, mapped_file_unpin, f->log};
    }
    out->messages++;
    out->bytes += record.n;
    return true;
}

static bool matches(const struct read_filter *filter, const struct compaction_entry *e, struct slice record)
{
    if (!filter) return true;
    return (!filter->entry || filter->entry(filter->ctx, e->tag_hash)) && (!filter->record || filter->record(filter->ctx, record));
}

static void note_damage(struct compaction_log *l, int64_t position)
{
    char text[TOPIC_BYTES_MAX + 100];
    snprintf(text, sizeof text, "no good message is here, in the compaction log of queue %d of topic '%s'", l->queue_id, l->topic);
    damage_add_record(&l->damage, position, text);
}

/* Looks at one entry; false: it does not fit any more. One that leads back is damaged. */
static bool read_entry(struct compaction_log *l, size_t file, const struct read_request *r, const struct compaction_entry *e,
                       struct read_result *out)
{
    const struct compaction_file *f = compaction_log_file(l, file);
    struct slice record;
    struct message m;
    if (is_full(r, out, e->size)) return false;
    if (e->queue_offset < out->next_offset || !compaction_file_record(f, e, &record, &m)) {
        note_damage(l, e->position);
        return true;
    }
    if (matches(r->filter, e, record) && !add_record(f, record, out)) return false;
    out->next_offset = e->queue_offset + 1;
    return true;
}

bool compaction_read(struct compaction *c, const struct consume_queue *q, struct read_request *r, struct read_result *out)
{
    struct compaction_log *l = compaction_log_of(c, q->topic->name, q->queue_id);
    struct compaction_cursor at;
    struct compaction_entry e;
    if (!l || !l->attached || compaction_log_first(l) < 0) return false;
    out->min_offset = compaction_log_first(l);
    if (r->offset >= l->next) return false;
    bool more = compaction_log_seek(l, r->offset, &at) && compaction_log_get(l, &at, &e);
    int32_t scanned = 0;
    for (; more && scanned < r->max_scan && read_entry(l, at.file, r, &e, out); scanned++) {
        at.entry++;
        more = compaction_log_get(l, &at, &e);
    }
    if (!more && !scanned) {   /* a gap up to where the commit log goes on */
        r->offset = out->next_offset = l->next;
        return false;
    }
    if (!more && !out->messages) out->next_offset = l->next;
    if (out->next_offset == r->offset) out->next_offset++;   /* nothing but damage: not there again */
    out->status = out->messages ? READ_FOUND : READ_NO_MATCH;
    return true;
}
