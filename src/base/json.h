/* json.h - reading and writing JSON, strict and in the dialect of the official servers.
 * Facts    docs/protocol/remoting.md 1.5; vectors: tests/fixtures/vectors/json_dialect.jsonl
 * Dialect  read besides strict JSON: integer keys {0:…}, objects as keys {{…}:…}, single quotes, one trailing comma, comments,
 *          a byte order mark, \xHH, raw control characters; numbers as text and text as numbers.
 *          Refused: bare text keys, repeated commas, anything after the value, integers out of range
 * Errors   sticky: after the first one every reader call answers "nothing" at once, and json_end() tells it (BODY). A loop over
 *          json_next() ends by itself
 * Limits   JSON_DEPTH_MAX levels; memory only for texts with escapes, from the caller's arena; never reads past the text
 * Threads  its owner */
#ifndef SKYLARK_BASE_JSON_H
#define SKYLARK_BASE_JSON_H

#include "base/arena.h"
#include "base/buf.h"

enum { JSON_DEPTH_MAX = 60 };

enum json_type { JSON_NOTHING, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_OBJECT, JSON_ARRAY };

struct json {
    const uint8_t *p;         /* next byte */
    const uint8_t *end;
    const uint8_t *start;
    struct arena *arena;
    const char *wrong;        /* the first error; NULL: none */
    size_t wrong_at;
    uint64_t objects;         /* bit per level: it is an object (else an array) */
    uint64_t begun;           /* bit per level: an element was read */
    int depth;
};

/* The text must stay while slices from it are in use. */
void json_begin(struct json *j, struct slice text, struct arena *arena);
/* Nothing but white space may follow. What `what` names is put into the error's message. */
err_t json_end(struct json *j, const char *what) MUST_CHECK;
/* Makes the reading fail, if it has not already. `why` must live as long as j. */
void json_fail(struct json *j, const char *why);
static inline bool json_ok(const struct json *j) { return !j->wrong; }

/* What comes next (a value, or a key); JSON_NOTHING after an error. */
enum json_type json_peek(struct json *j);

/* Goes into an object or array. False when it is null (which is then read) or, with an error, something else. */
bool json_object(struct json *j);
bool json_array(struct json *j);
/* In an object: true when a key comes next. In an array: true when an element comes next. False: it was the end, and we are
 * out of it again. */
bool json_next(struct json *j);
/* The key, text or integer (then its digits), and the colon. */
struct slice json_key(struct json *j);
/* For keys that are objects: read it like a value, then call this. */
void json_colon(struct json *j);

/* Values. null reads as p NULL, 0, false. Text reads as a number if it is one, a number as text. A fraction is cut off. */
struct slice json_text(struct json *j);
int64_t json_i64(struct json *j);
int32_t json_i32(struct json *j);
bool json_bool(struct json *j);
double json_double(struct json *j);
/* Any value, whatever is in it. The slice is its source text. */
struct slice json_skip(struct json *j);

/* --- writing --- */

enum json_style {
    JSON_RAW,      /* as between servers: integer keys bare, objects as keys */
    JSON_STRICT,   /* integer keys quoted, other than ASCII escaped */
    JSON_PRETTY,   /* as RAW, on lines indented with tabs: configuration files */
};

struct json_out {
    struct buf *out;
    enum json_style style;
    int depth;
    bool more;        /* a comma is due before the next element */
    bool after_key;
};

void json_out_init(struct json_out *w, struct buf *out, enum json_style style);
void json_put_object(struct json_out *w);
void json_put_object_end(struct json_out *w);
void json_put_array(struct json_out *w);
void json_put_array_end(struct json_out *w);
void json_put_key(struct json_out *w, struct slice key);
void json_put_key_i64(struct json_out *w, int64_t key);
/* Makes a key of the object that was just written (never in STRICT). */
void json_put_key_done(struct json_out *w);
void json_put_text(struct json_out *w, struct slice text);      /* p NULL: null */
void json_put_i64(struct json_out *w, int64_t v);
void json_put_bool(struct json_out *w, bool v);
void json_put_double(struct json_out *w, double v);             /* 0.0, 1.2345678925E8 */
void json_put_source(struct json_out *w, struct slice json);    /* JSON that is already written */

#endif
