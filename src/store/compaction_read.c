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

struct reading {
    struct compaction *compaction;
    struct compaction_log *log;
    const struct read_request *request;
    struct read_result *out;
    int32_t scanned;
};

/* Whether an entry's record can be looked at. What cannot be an entry's place is not looked at either. */
static bool is_warm(const struct reading *g, const struct compaction_file *f, const struct compaction_entry *e)
{
    int64_t end = f->start + f->used;
    if (e->position < f->start || e->size < 0 || e->size > end - e->position) return true;
    return cold_is_warm(&g->compaction->s->cold, f->log, e->position, e->size, end, &g->log->damage);
}

/* Looks at one entry; false: it does not fit any more, or is not in memory. One that leads back is damaged. */
static bool read_entry(struct reading *g, const struct compaction_file *f, const struct compaction_entry *e)
{
    struct read_result *out = g->out;
    struct slice record;
    struct message m;
    const struct read_filter *filter = g->request->filter;
    if (is_full(g->request, out, e->size) || (filter && filter->enough && *filter->enough)) return false;
    if (e->queue_offset < out->next_offset || damage_has_record(&g->log->damage, e->position)) {
        note_damage(g->log, e->position);
        return true;
    }
    if (!is_warm(g, f, e)) return false;
    if (!compaction_file_record(f, e, &record, &m)) {
        note_damage(g->log, e->position);
        return true;
    }
    if (matches(filter, e, record) && !add_record(f, record, out)) return false;
    out->next_offset = e->queue_offset + 1;
    return true;
}

/* Whether the entries of a file can be looked at. Those that the disk does not give are passed over: *lost. */
static bool entries_are_warm(const struct reading *g, const struct compaction_file *f, bool *lost)
{
    struct mapped_file *m = f->entries;
    int64_t bytes = f->count * COMPACTION_ENTRY_BYTES;
    *lost = m && damage_has_record(&g->log->lost_entries, m->start);
    if (*lost || bytes == 0) return true;
    return cold_is_warm(&g->compaction->s->cold, m, m->start, bytes, m->start + bytes, &g->log->lost_entries);
}

/* False: it does not go on behind this file. */
static bool read_file(struct reading *g, const struct compaction_file *f, bool first)
{
    bool lost;
    if (!entries_are_warm(g, f, &lost)) return false;
    for (int64_t i = first ? compaction_file_search(f, g->request->offset) : 0; !lost && i < f->count; i++, g->scanned++) {
        struct compaction_entry e = compaction_file_entry(f, i);
        if (g->scanned >= g->request->max_scan || !read_entry(g, f, &e)) return false;
    }
    return true;
}

/* Messages, or a place to go on at. */
static void answer(const struct compaction_log *l, const struct read_request *r, bool more, struct read_result *out)
{
    if (!more && !out->messages) out->next_offset = l->next;
    if (out->next_offset == r->offset) out->next_offset++;   /* nothing but damage: not there again */
    out->status = out->messages ? READ_FOUND : READ_NO_MATCH;
}

bool compaction_read(struct compaction *c, const struct consume_queue *q, struct read_request *r, struct read_result *out)
{
    struct compaction_log *l = compaction_log_of(c, q->topic->name, q->queue_id);
    if (!l || !l->attached || compaction_log_first(l) < 0) return false;
    out->min_offset = compaction_log_first(l);
    if (r->offset >= l->next) return false;
    struct reading g = {.compaction = c, .log = l, .request = r, .out = out};
    size_t first = compaction_log_file_of(l, r->offset), file = first;
    while (file < compaction_log_count(l) && read_file(&g, compaction_log_file(l, file), file == first)) file++;
    bool more = file < compaction_log_count(l);
    if (!more && !g.scanned) {   /* a gap up to where the commit log goes on */
        r->offset = out->next_offset = l->next;
        return false;
    }
    answer(l, r, more, out);
    return true;
}
