#include "kit/test.h"

#include "kit/caller.h"
#include "kit/wire_replay.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { CONNS_MAX = 64, REPLY_MS = 40000, SETTLE_MS = 200 };

struct replay {
    const struct wire_replay *how;
    int line;
    int numbers[CONNS_MAX];      /* as in the file */
    struct caller *callers[CONNS_MAX];
    size_t count;
    char skipped[CONNS_MAX][65536 / 8];   /* by conn: opaques (low 16 bits) of requests left out */
    size_t compared;
};

static const char *text_of(json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static int number_of(json_t *o, const char *key) { return (int)json_integer_value(json_object_get(o, key)); }

static bool named(const char *names, const char *name)
{
    struct slice rest = slice_text(names ? names : ""), one;
    while (slice_split(&rest, ' ', &one))
        if (one.n && slice_eq(one, slice_text(name))) return true;
    return false;
}

static void differ(const struct replay *r, const char *what, struct slice ours, struct slice theirs)
{
    fail_msg("%s.jsonl line %d: %s differs\n   ours: %.*s\n theirs: %.*s", r->how->file, r->line, what, (int)(ours.n > 2000 ? 2000 : ours.n),
             (const char *)ours.p, (int)(theirs.n > 2000 ? 2000 : theirs.n), (const char *)theirs.p);
}

/* --- bodies --- */

/* Puts quotes around keys that are bare numbers, as the official servers write maps by number. */
static struct buf quote_keys(struct slice s)
{
    struct buf b = BUF_EMPTY;
    bool text = false;
    for (size_t i = 0; i < s.n; i++) {
        size_t end = i + 1;
        uint8_t c = s.p[i];
        buf_put_u8(&b, c);
        if (text && c == '\\' && end < s.n) buf_put_u8(&b, s.p[++i]);
        else if (c == '"') text = !text;
        if (text || (c != '{' && c != ',')) continue;
        while (end < s.n && (s.p[end] == '-' || (s.p[end] >= '0' && s.p[end] <= '9'))) end++;
        if (end == i + 1 || end >= s.n || s.p[end] != ':') continue;
        buf_printf(&b, "\"%.*s\"", (int)(end - i - 1), (const char *)s.p + i + 1);
        i = end - 1;
    }
    return b;
}

static json_t *parse(struct slice s)
{
    struct buf b = quote_keys(s);
    json_t *j = json_loadb((const char *)b.p, b.n, JSON_DECODE_ANY, NULL);
    buf_done(&b);
    return j;
}

/* Takes the keys that may differ out, at every depth. */
static void strip(json_t *j, const char *names)
{
    if (json_is_object(j)) {
        const char *key;
        json_t *v;
        void *next;
        json_object_foreach_safe(j, next, key, v) {
            if (named(names, key)) json_object_del(j, key);
            else strip(v, names);
        }
    }
    size_t i;
    json_t *v;
    if (json_is_array(j)) json_array_foreach(j, i, v) strip(v, names);
}

static bool same_json(const struct replay *r, struct slice ours, struct slice theirs, bool *out_is_json)
{
    json_t *a = parse(ours), *b = parse(theirs);
    *out_is_json = b != NULL;
    strip(a, r->how->volatile_names);
    strip(b, r->how->volatile_names);
    bool same = a && b && json_equal(a, b);
    json_decref(a);
    json_decref(b);
    return same;
}

static void compare_body(const struct replay *r, struct slice ours, struct slice theirs)
{
    bool is_json;
    if (slice_eq(ours, theirs) || same_json(r, ours, theirs, &is_json)) return;
    if (!is_json && r->how->any_body && !ours.n == !theirs.n) return;
    differ(r, "the body", ours, theirs);
}

/* --- header fields --- */

static void compare_fields_one_way(const struct replay *r, const struct frame *a, const struct frame *b, bool a_is_ours)
{
    for (size_t i = 0; i < a->count; i++) {
        char name[128];
        snprintf(name, sizeof name, "%.*s", SLICE_ARG(a->fields[i].name));
        if (named(r->how->volatile_names, name)) continue;
        struct slice value = frame_get(b, a->fields[i].name);
        if (value.p && slice_eq(value, a->fields[i].value)) continue;
        if (!value.p) value = SLICE("(none)");
        differ(r, name, a_is_ours ? a->fields[i].value : value, a_is_ours ? value : a->fields[i].value);
    }
}

static void compare_number(const struct replay *r, const char *what, int ours, int theirs)
{
    if (ours != theirs) fail_msg("%s.jsonl line %d: %s is %d, was %d", r->how->file, r->line, what, ours, theirs);
}

static void compare(struct replay *r, const struct frame *ours, const struct frame *theirs)
{
    compare_number(r, "code", ours->code, theirs->code);
    compare_number(r, "flag", ours->flag, theirs->flag);
    compare_number(r, "serialization", (int)ours->form, (int)theirs->form);
    if (!slice_eq(ours->remark, theirs->remark) && !named(r->how->volatile_names, "remark")) differ(r, "the remark", ours->remark, theirs->remark);
    compare_fields_one_way(r, ours, theirs, true);
    compare_fields_one_way(r, theirs, ours, false);
    compare_body(r, ours->body, theirs->body);
    r->compared++;
}

/* --- walking through the file --- */

static size_t conn_of(struct replay *r, int number)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->numbers[i] == number) return i;
    assert_true(r->count < CONNS_MAX);
    r->numbers[r->count] = number;
    r->callers[r->count] = caller_open(r->how->sim, r->how->loop, r->how->host, r->how->port);
    return r->count++;
}

static void mark_skipped(struct replay *r, size_t conn, int opaque) { r->skipped[conn][(uint16_t)opaque / 8] |= (char)(1 << (opaque & 7)); }
static bool is_skipped(struct replay *r, size_t conn, int opaque) { return r->skipped[conn][(uint16_t)opaque / 8] >> (opaque & 7) & 1; }

static void send_line(struct replay *r, size_t conn, json_t *decoded, const char *hex)
{
    char number[16];
    snprintf(number, sizeof number, "%d", number_of(decoded, "code"));
    if (named(r->how->skip_requests, text_of(decoded, "name")) || named(r->how->skip_requests, number)) {
        mark_skipped(r, conn, number_of(decoded, "opaque"));
        return;
    }
    struct buf b = BUF_EMPTY;
    test_unhex(slice_text(hex), &b);
    caller_send(r->callers[conn], buf_slice(&b));
    buf_done(&b);
    if (!strcmp(text_of(decoded, "kind"), "oneway")) sim_run_for(r->how->sim, SETTLE_MS);
}

static void expect_reply(struct replay *r, size_t conn, json_t *decoded, const char *hex)
{
    int opaque = number_of(decoded, "opaque");
    if (is_skipped(r, conn, opaque)) return;
    struct answer *ours = caller_reply(r->callers[conn], opaque, r->how->reply_limit_ms ? r->how->reply_limit_ms : REPLY_MS);
    if (!ours) fail_msg("%s.jsonl line %d: no reply to %s", r->how->file, r->line, json_dumps(json_object_get(decoded, "requestCode"), JSON_ENCODE_ANY));
    struct buf b = BUF_EMPTY;
    test_unhex(slice_text(hex), &b);
    struct frame *theirs = must_zero(sizeof *theirs);
    EXPECT_OK(frame_decode(b.p, b.n, theirs));
    compare(r, &ours->frame, theirs);
    free(theirs);
    buf_done(&b);
    answer_free(ours);
}

/* A connection that the original ended before the client did must end here too. */
static void play_event(struct replay *r, size_t conn, bool from_server, const char *event)
{
    if (strcmp(event, "eof") && strcmp(event, "reset")) return;
    if (!r->callers[conn]) return;
    if (from_server && !caller_ended(r->callers[conn], REPLY_MS)) fail_msg("%s.jsonl line %d: the connection stays open", r->how->file, r->line);
    caller_close(r->callers[conn]);
    r->callers[conn] = NULL;
    sim_run_for(r->how->sim, SETTLE_MS);
}

static void play_line(struct replay *r, json_t *line)
{
    if (strcmp(text_of(line, "role"), r->how->role)) return;
    size_t conn = conn_of(r, number_of(line, "conn"));
    bool from_server = !strcmp(text_of(line, "dir"), "s2c");
    json_t *decoded = json_object_get(line, "decoded");
    const char *kind = text_of(decoded, "kind"), *hex = text_of(line, "hex"), *raw = text_of(line, "raw");
    if (json_object_get(line, "event")) {
        play_event(r, conn, from_server, text_of(line, "event"));
    } else if (!r->callers[conn]) {
        return;
    } else if (!from_server) {
        send_line(r, conn, decoded, *hex ? hex : raw);
    } else if (!strcmp(kind, "response")) {
        expect_reply(r, conn, decoded, hex);
    }
}

size_t wire_replay(const struct wire_replay *how)
{
    char name[128];
    snprintf(name, sizeof name, "wire/%s.jsonl", how->file);
    struct buf file = test_fixture(name);
    struct replay *r = must_zero(sizeof *r);
    r->how = how;
    struct slice rest = buf_slice(&file), line;
    while (slice_split(&rest, '\n', &line)) {
        r->line++;
        if (!line.n) continue;
        json_t *j = json_loadb((const char *)line.p, line.n, 0, NULL);
        assert_non_null(j);
        play_line(r, j);
        json_decref(j);
    }
    for (size_t i = 0; i < r->count; i++) caller_close(r->callers[i]);
    size_t compared = r->compared;
    free(r);
    buf_done(&file);
    return compared;
}
