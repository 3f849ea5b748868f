#include "tools/check.h"

#include <stdlib.h>

enum { JSON_FILE_MAX = 256 << 20 };

enum log_step_kind check_record_at(struct check *c, struct view_reader *r, int64_t at, struct log_step *out)
{
    enum log_step_kind kind = view_record(&c->v, r, at, out);
    if (r->why) report_add(&c->r, DAMAGE, "commitlog", at, "reads it from the disk when it is asked for it", "%s", err_text(r->why));
    return kind;
}

/* --- the checkpoint --- */

static void expect_not_later(struct check *c, const char *field, int64_t value, int64_t limit)
{
    if (value <= limit) return;
    report_add(&c->r, DAMAGE, "checkpoint", -1, "trusts it after a bad stop: entries that were lost with the power are then not written again",
               "%s is %lld, but the log ends with %lld", field, (long long)value, (long long)limit);
}

static void expect_boundary(struct check *c, int64_t at)
{
    struct view_reader r = {.start = 0};
    struct log_step step;
    if (at < view_log_first(&c->v) || at >= c->end) return;
    if (check_record_at(c, &r, at, &step) == LOG_NO_RECORD)
        report_add(&c->r, NOTE, "checkpoint", -1, "begins its look after a bad stop at the start of a file instead",
                   "it vouches for what lies before %lld, where no record begins", (long long)at);
    view_reader_done(&r);
}

static bool nothing_else(struct slice bytes)
{
    static const uint8_t none[CHECKPOINT_BYTES];
    enum { FIELDS_END = 48, OURS = 1024, OURS_END = 1044 };
    if (bytes.n <= FIELDS_END) return true;
    size_t n = (bytes.n < OURS ? bytes.n : OURS) - FIELDS_END;
    if (memcmp(bytes.p + FIELDS_END, none, n)) return false;
    return bytes.n <= OURS_END || bytes.n > CHECKPOINT_BYTES || !memcmp(bytes.p + OURS_END, none, bytes.n - OURS_END);
}

static bool ours_is_broken(struct slice bytes, const struct checkpoint *cp)
{
    static const uint8_t none[20];
    enum { OURS = 1024, OURS_BYTES = 20 };
    return bytes.n >= OURS + OURS_BYTES && cp->resume_offset < 0 && memcmp(bytes.p + OURS, none, OURS_BYTES);
}

void check_checkpoint(struct check *c)
{
    struct buf bytes = BUF_EMPTY;
    struct checkpoint cp;
    err_t e = view_checkpoint(&c->v, &bytes, &cp);
    const char *from_first = "reads the whole log after a bad stop";
    if (e) {
        bool missing = err_code(e) == ERR_NOT_FOUND;
        report_add(&c->r, missing ? NOTE : DAMAGE, "checkpoint", -1, from_first, "%s", missing ? "there is none" : err_text(e));
        err_free(e);
        buf_done(&bytes);
        return;
    }
    struct slice all = buf_slice(&bytes);
    if (all.n != CHECKPOINT_BYTES && all.n)
        report_add(&c->r, DAMAGE, "checkpoint", -1, "takes what is missing for zero", "it has %zu bytes instead of %d", all.n, CHECKPOINT_BYTES);
    if (ours_is_broken(all, &cp))
        report_add(&c->r, DAMAGE, "checkpoint", 1024, from_first, "the place to go on from does not agree with its checksum");
    if (!nothing_else(all)) report_add(&c->r, NOTE, "checkpoint", 48, "does not read it", "there is something where both servers write zeros");
    expect_not_later(c, "physicMsgTimestamp", cp.log_ms, c->last_ms);
    expect_not_later(c, "logicsMsgTimestamp", cp.queues_ms, c->last_ms);
    expect_not_later(c, "indexMsgTimestamp", cp.index_ms, c->last_ms);
    expect_not_later(c, "the place to go on from", cp.resume_offset, c->end);
    expect_not_later(c, "logicsPhysicalOffset", cp.queues_offset, c->end);
    expect_not_later(c, "confirmPhyOffset", cp.confirmed, c->end);
    if (cp.log_ms < 0 || cp.queues_ms < 0 || cp.index_ms < 0)
        report_add(&c->r, DAMAGE, "checkpoint", -1, from_first, "it holds a time before 1970");
    if (cp.resume_offset >= 0) expect_boundary(c, cp.resume_offset);
    buf_done(&bytes);
}

/* --- configuration --- */

static void check_json(struct check *c, const char *name)
{
    char file[PATH_BYTES], path[PATH_BYTES];
    struct buf text = BUF_EMPTY;
    struct arena arena = ARENA_EMPTY;
    struct json j;
    snprintf(file, sizeof file, "config/%s", name);
    view_path(&c->v, file, path);
    err_t e = fs_read_file(c->v.fs, path, JSON_FILE_MAX, &text);
    json_begin(&j, buf_slice(&text), &arena);
    if (!e) json_skip(&j);
    if (!e) e = json_end(&j, name);
    bool is_backup = strlen(name) > 4 && !strcmp(name + strlen(name) - 4, ".bak");
    if (e)
        report_add(&c->r, DAMAGE, file, j.wrong ? (int64_t)j.wrong_at : -1,
                   is_backup ? "reads it only when the file itself is no better; without either it refuses to start"
                             : "takes the .bak beside it; without a good one it refuses to start", "%s", err_text(e));
    err_free(e);
    arena_done(&arena);
    buf_done(&text);
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && !strcmp(name + n - m, end);
}

void check_config(struct check *c)
{
    struct buf names = BUF_EMPTY;
    err_t e = view_names(&c->v, "config", &names);
    if (e) report_add(&c->r, DAMAGE, "config", -1, "refuses to start", "%s", err_text(e));
    err_free(e);
    for (size_t i = 0; i < view_name_count(&names); i++) {
        const char *name = view_name(&names, i);
        if (ends_in(name, ".json") || ends_in(name, ".json.bak")) check_json(c, name);
    }
    view_names_done(&names);
}

/* --- all of it --- */

static void tell_summary(struct check *c)
{
    char size[SIZE_TEXT_MAX];
    int64_t first = view_log_first(&c->v);
    report_line(&c->r, "commit log      %zu files, %lld records, %s: %lld to %lld", c->v.log_count, (long long)c->records, size_text(c->end - first, size),
                (long long)first, (long long)c->end);
    report_line(&c->r, "consume queues  %zu queues, %lld entries", c->v.queue_count, (long long)c->entries);
    report_line(&c->r, "index           %lld keys", (long long)c->keys);
    if (c->kept_queues) report_line(&c->r, "compaction logs %lld queues, %lld messages", (long long)c->kept_queues, (long long)c->kept);
    report_number(&c->r, "logFiles", (int64_t)c->v.log_count);
    report_number(&c->r, "logFirst", first);
    report_number(&c->r, "logEnd", c->end);
    report_number(&c->r, "records", c->records);
    report_number(&c->r, "queues", (int64_t)c->v.queue_count);
    report_number(&c->r, "entries", c->entries);
    report_number(&c->r, "keys", c->keys);
    report_number(&c->r, "compactionQueues", c->kept_queues);
    report_number(&c->r, "compactionMessages", c->kept);
}

static void check_all(struct check *c)
{
    if (c->v.abort)
        report_add(&c->r, NOTE, "abort", -1, "looks closely at what was written last", "it is there: a broker runs, or was killed");
    check_log(c);
    check_queues(c);
    check_index(c);
    check_compaction(c);
    check_checkpoint(c);
    check_config(c);
    tell_summary(c);
}

err_t tools_check(const struct tools_options *o, size_t most_lines, bool *whole)
{
    struct check c = {.seen = MAP_EMPTY, .gap_at = -1};
    err_t e = view_open(&c.v, o);
    if (!e) {
        report_begin(&c.r, o, c.v.root, most_lines);
        check_all(&c);
        report_end(&c.r);
        *whole = !c.r.counts[DAMAGE];
    }
    map_done_with(&c.seen, free);
    view_close(&c.v);
    return e;
}
