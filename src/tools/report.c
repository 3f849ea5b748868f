#include "tools/report.h"

#include <inttypes.h>
#include <stdarg.h>

enum { TEXT_BYTES = 1024 };

static const char *const level_names[LEVELS] = {"note", "damage"};

static void put_key_text(struct json_out *w, const char *key, const char *text)
{
    json_put_key(w, slice_text(key));
    json_put_text(w, slice_text(text));
}

void report_begin(struct report *r, const struct tools_options *o, const char *root, size_t most)
{
    *r = (struct report){.out = o->out, .json = o->json, .most = most};
    json_out_init(&r->w, &r->text, JSON_STRICT);
    if (!r->json) return;
    json_put_object(&r->w);
    put_key_text(&r->w, "store", root);
    json_put_key(&r->w, SLICE("findings"));
    json_put_array(&r->w);
}

static void put_json(struct report *r, enum level level, const char *file, int64_t at, const char *what, const char *broker)
{
    json_put_object(&r->w);
    put_key_text(&r->w, "level", level_names[level]);
    put_key_text(&r->w, "file", file);
    if (at >= 0) {
        json_put_key(&r->w, SLICE("position"));
        json_put_i64(&r->w, at);
    }
    put_key_text(&r->w, "what", what);
    put_key_text(&r->w, "broker", broker);
    json_put_object_end(&r->w);
}

void report_add(struct report *r, enum level level, const char *file, int64_t at, const char *broker, const char *fmt, ...)
{
    char what[TEXT_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    if (r->counts[level]++ >= r->most) return;
    if (r->json) {
        put_json(r, level, file, at, what, broker);
    } else {
        buf_printf(&r->text, "%-6s ", level_names[level]);
        put_printable(&r->text, slice_text(file));
        if (at >= 0) buf_printf(&r->text, " at %" PRId64, at);
        buf_put_text(&r->text, ": ");
        put_printable(&r->text, slice_text(what));
        buf_printf(&r->text, " [the broker %s]\n", broker);
    }
    print_buf(r->out, &r->text);
}

static void end_findings(struct report *r)
{
    if (r->json && r->w.depth == 2) json_put_array_end(&r->w);
}

void report_number(struct report *r, const char *name, int64_t value)
{
    if (!r->json) return;
    end_findings(r);
    json_put_key(&r->w, slice_text(name));
    json_put_i64(&r->w, value);
}

void report_line(struct report *r, const char *fmt, ...)
{
    char line[TEXT_BYTES];
    if (r->json) return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    buf_printf(&r->text, "%s\n", line);
    print_buf(r->out, &r->text);
}

void report_end(struct report *r)
{
    for (int i = 0; i < LEVELS; i++)
        if (r->counts[i] > r->most) report_line(r, "… and %zu more of level %s (--most shows more)", r->counts[i] - r->most, level_names[i]);
    report_number(r, "notes", (int64_t)r->counts[NOTE]);
    report_number(r, "damaged", (int64_t)r->counts[DAMAGE]);
    if (r->json) {
        json_put_key(&r->w, SLICE("whole"));
        json_put_bool(&r->w, !r->counts[DAMAGE]);
        json_put_object_end(&r->w);
        buf_put_u8(&r->text, '\n');
    }
    report_line(r, r->counts[DAMAGE] ? "damaged: %zu findings, %zu notes" : "whole: %zu findings, %zu notes", r->counts[DAMAGE], r->counts[NOTE]);
    print_buf(r->out, &r->text);
    buf_done(&r->text);
}
