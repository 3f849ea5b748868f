#include "kit/test.h"

#include "kit/caller.h"
#include "kit/wire_compare.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { CONNS_MAX = 64, REPLY_MS = 40000, SETTLE_MS = 200, ASKED_MAX = 64, PAUSE_MAX_MS = 100 };

/* One connection of the recording. */
struct line_conn {
    int number;                  /* as in the file */
    struct caller *caller;       /* NULL: over */
    enum frame_form form;        /* of the requests sent, and so of the replies we want */
    bool numberless;             /* the last request had no opaque: it counts as 0 */
    char skipped[65536 / 8];     /* opaques (low 16 bits) of requests left out */
    char refused[65536 / 8];     /* … of requests that must be refused as not supported */
};

/* A request that the server made: its number in the recording, and ours. */
struct asked {
    int conn, theirs;
    int32_t ours;
};

struct replay {
    struct wire_place at;
    struct line_conn conns[CONNS_MAX];
    size_t count;
    struct asked asked[ASKED_MAX];
    size_t asked_count;
    size_t compared;
    int64_t said_ms;             /* when the client said something last, in the recording */
};

static const char *text_of(json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static int number_of(json_t *o, const char *key) { return (int)json_integer_value(json_object_get(o, key)); }

static void mark(char *set, int opaque) { set[(uint16_t)opaque / 8] |= (char)(1 << (opaque & 7)); }
static bool is_marked(const char *set, int opaque) { return set[(uint16_t)opaque / 8] >> (opaque & 7) & 1; }

static struct line_conn *conn_of(struct replay *r, int number)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->conns[i].number == number) return &r->conns[i];
    assert_true(r->count < CONNS_MAX);
    struct line_conn *c = &r->conns[r->count++];
    const struct wire_replay *how = r->at.how;
    c->number = number;
    c->caller = caller_open(how->sim, how->loop, how->host, how->port);
    return c;
}

/* --- what the client says --- */

static bool is_left_out(const struct replay *r, json_t *decoded)
{
    char number[16];
    snprintf(number, sizeof number, "%d", number_of(decoded, "code"));
    return wire_named(r->at.how->skip_requests, text_of(decoded, "name")) || wire_named(r->at.how->skip_requests, number);
}

/* A header that the recorder could not read has no name; "?" stands for it. */
static bool is_unsupported(const struct replay *r, json_t *decoded)
{
    const char *name = text_of(decoded, "name");
    return wire_named(r->at.how->unsupported, *name ? name : "?");
}

static void send_request(struct replay *r, struct line_conn *c, json_t *decoded, struct slice bytes)
{
    int opaque = number_of(decoded, "opaque");
    if (bytes.n > FRAME_LENGTH_BYTES && bytes.p[FRAME_LENGTH_BYTES] <= FRAME_BINARY) c->form = (enum frame_form)bytes.p[FRAME_LENGTH_BYTES];
    c->numberless = !json_is_integer(json_object_get(decoded, "opaque"));
    if (is_unsupported(r, decoded)) mark(c->refused, c->numberless ? 0 : opaque);
    caller_send(c->caller, bytes);
    if (!strcmp(text_of(decoded, "kind"), "oneway")) sim_run_for(r->at.how->sim, SETTLE_MS);
}

/* The recorded answer to a request of ours, under the number that ours has. */
static void send_response(struct replay *r, struct line_conn *c, int opaque, struct slice bytes)
{
    struct frame *f = must_zero(sizeof *f);
    struct buf copy = BUF_EMPTY, out = BUF_EMPTY;
    buf_put_slice(&copy, bytes);
    EXPECT_OK(frame_decode(copy.p, copy.n, f));
    for (size_t i = 0; i < r->asked_count; i++) {
        if (r->asked[i].conn != c->number || r->asked[i].theirs != opaque) continue;
        struct frame_head head = {f->form, f->code, f->language, f->version, r->asked[i].ours, f->flag, f->remark};
        struct frame_writer w;
        frame_begin(&w, &out, &head);
        for (size_t k = 0; k < f->count; k++) frame_put(&w, f->fields[k].name, f->fields[k].value);
        frame_end(&w, f->body.n);
        buf_put_slice(&out, f->body);
    }
    caller_send(c->caller, out.n ? buf_slice(&out) : bytes);
    buf_done(&copy);
    buf_done(&out);
    free(f);
}

/* What the client said later arrives later, also by another connection. */
static void keep_pace(struct replay *r, json_t *line)
{
    int64_t at = json_integer_value(json_object_get(line, "t_ms")), pause = r->said_ms ? at - r->said_ms : 0;
    r->said_ms = at;
    if (pause > 0) sim_run_for(r->at.how->sim, pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
}

static void send_line(struct replay *r, struct line_conn *c, json_t *decoded, struct slice bytes)
{
    if (is_left_out(r, decoded)) mark(c->skipped, number_of(decoded, "opaque"));
    else if (!strcmp(text_of(decoded, "kind"), "response")) send_response(r, c, number_of(decoded, "opaque"), bytes);
    else send_request(r, c, decoded, bytes);
}

/* --- what the server says --- */

static struct frame *decode(struct buf *bytes)
{
    struct frame *f = must_zero(sizeof *f);
    EXPECT_OK(frame_decode(bytes->p, bytes->n, f));
    return f;
}

static void expect_refused(struct replay *r, const struct answer *ours)
{
    if (ours->frame.code != RESPONSE_REQUEST_CODE_NOT_SUPPORTED)
        fail_msg("%s.jsonl line %d: answered with code %d, although it is listed as not supported", r->at.file, r->at.line, ours->frame.code);
    r->compared++;
}

static void expect_reply(struct replay *r, struct line_conn *c, json_t *decoded, struct buf *bytes)
{
    const struct wire_replay *how = r->at.how;
    int opaque = c->numberless ? 0 : number_of(decoded, "opaque");
    if (is_marked(c->skipped, opaque)) return;
    struct answer *ours = caller_reply(c->caller, opaque, how->reply_limit_ms ? how->reply_limit_ms : REPLY_MS);
    if (!ours) fail_msg("%s.jsonl line %d: no reply to request %d", r->at.file, r->at.line, number_of(decoded, "requestCode"));
    if (is_marked(c->refused, opaque)) {
        expect_refused(r, ours);
    } else {
        struct frame *theirs = decode(bytes);
        wire_compare(&r->at, &ours->frame, theirs, c->form);
        r->compared++;
        free(theirs);
    }
    answer_free(ours);
}

static void expect_asked(struct replay *r, struct line_conn *c, json_t *decoded, struct buf *bytes)
{
    if (is_left_out(r, decoded)) return;
    struct answer *ours = caller_asked(c->caller, number_of(decoded, "code"), REPLY_MS);
    if (!ours) fail_msg("%s.jsonl line %d: our server does not say %s", r->at.file, r->at.line, text_of(decoded, "name"));
    struct frame *theirs = decode(bytes);
    wire_compare(&r->at, &ours->frame, theirs, FRAME_JSON);
    assert_true(r->asked_count < ASKED_MAX);
    r->asked[r->asked_count++] = (struct asked){c->number, number_of(decoded, "opaque"), ours->frame.opaque};
    free(theirs);
    answer_free(ours);
}

/* --- walking through the files --- */

/* A connection that the original ended before the client did must end here too. */
static void play_event(struct replay *r, struct line_conn *c, bool from_server, const char *event)
{
    if (strcmp(event, "eof") && strcmp(event, "reset")) return;
    if (!c->caller) return;
    if (from_server && !caller_ended(c->caller, REPLY_MS)) fail_msg("%s.jsonl line %d: the connection stays open", r->at.file, r->at.line);
    caller_close(c->caller);
    c->caller = NULL;
    sim_run_for(r->at.how->sim, SETTLE_MS);
}

static void play_frame(struct replay *r, struct line_conn *c, json_t *line, bool from_server)
{
    json_t *decoded = json_object_get(line, "decoded");
    const char *kind = text_of(decoded, "kind"), *hex = text_of(line, "hex");
    struct buf bytes = BUF_EMPTY;
    test_unhex(slice_text(*hex ? hex : text_of(line, "raw")), &bytes);
    if (!from_server) keep_pace(r, line);
    if (!from_server) send_line(r, c, decoded, buf_slice(&bytes));
    else if (!strcmp(kind, "response")) expect_reply(r, c, decoded, &bytes);
    else if (*hex) expect_asked(r, c, decoded, &bytes);
    buf_done(&bytes);
}

static void play_line(struct replay *r, json_t *line)
{
    char name[160];
    if (strcmp(text_of(line, "role"), r->at.how->role)) return;
    struct line_conn *c = conn_of(r, number_of(line, "conn"));
    bool from_server = !strcmp(text_of(line, "dir"), "s2c");
    snprintf(name, sizeof name, "%s:%d", r->at.file, r->at.line);
    if (json_object_get(line, "event")) play_event(r, c, from_server, text_of(line, "event"));
    else if (wire_named(r->at.how->skip_lines, name)) mark(c->skipped, number_of(json_object_get(line, "decoded"), "opaque"));
    else if (c->caller) play_frame(r, c, line, from_server);
}

static void play_file(struct replay *r, const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "wire/%s.jsonl", name);
    struct buf file = test_fixture(path);
    struct slice rest = buf_slice(&file), line;
    r->at.file = name;
    r->at.line = 0;
    while (slice_split(&rest, '\n', &line)) {
        r->at.line++;
        if (!line.n) continue;
        json_t *j = json_loadb((const char *)line.p, line.n, 0, NULL);
        assert_non_null(j);
        play_line(r, j);
        json_decref(j);
    }
    buf_done(&file);
}

size_t wire_replay(const struct wire_replay *how)
{
    struct replay *r = must_zero(sizeof *r);
    r->at.how = how;
    struct slice rest = slice_text(how->file), one;
    while (slice_split(&rest, ' ', &one)) {
        char name[128];
        snprintf(name, sizeof name, "%.*s", SLICE_ARG(one));
        play_file(r, name);
    }
    for (size_t i = 0; i < r->count; i++) caller_close(r->conns[i].caller);
    size_t compared = r->compared;
    free(r);
    return compared;
}
