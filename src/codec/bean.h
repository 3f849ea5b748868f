/* bean.h - JSON bodies from rows: one row per property, read and written by the same table.
 * Shape    a bean is a struct; its rows stand in the order the official servers write them (alphabetical)
 * Reading  starts from the bean's `blank`; unknown properties are skipped, null leaves the blank value, the last of two wins
 * Writing  leaves out what is absent: a text with p NULL, a choice below 0, an empty list in a row marked OPTIONAL
 * Owns     nothing: texts borrow from the source or lie in the reader's arena, lists in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BEAN_H
#define SKYLARK_CODEC_BEAN_H

#include "base/json.h"

#include <stddef.h>

/* A list member of a bean. */
#define BEAN_LIST(type) struct { type *items; size_t count; }

struct bean_field;

struct bean_type {
    void (*read)(struct json *j, const struct bean_field *f, void *member);
    void (*write)(struct json_out *w, const struct bean_field *f, const void *member);
    bool (*absent)(const struct bean_field *f, const void *member);
};

struct bean_field {
    const char *wire;
    size_t at;                      /* of the member */
    const struct bean_type *type;
    const void *more;               /* what the type needs: element, names … */
    bool optional;                  /* left out when empty */
};

struct bean {
    const struct bean_field *fields;
    size_t count;
    size_t size;
    const void *blank;              /* NULL: all zero */
};

#define BEAN(kind, rows, blank_value) {rows, sizeof(rows) / sizeof(*(rows)), sizeof(kind), blank_value}

/* Types of members: */
extern const struct bean_type bean_text;       /* struct slice */
extern const struct bean_type bean_i32;
extern const struct bean_type bean_i64;
extern const struct bean_type bean_bool;
extern const struct bean_type bean_double;
extern const struct bean_type bean_choice;     /* int32_t: index into `more`, a NULL-terminated const char *[]; -1 none */
extern const struct bean_type bean_part;       /* an embedded struct; more: its bean */
extern const struct bean_type bean_ref;        /* a pointer, NULL when absent; more: the bean pointed to */
extern const struct bean_type bean_list;       /* BEAN_LIST(struct …); more: the element's bean */
extern const struct bean_type bean_texts;      /* BEAN_LIST(struct slice) */
extern const struct bean_type bean_i32s;       /* BEAN_LIST(int32_t) */
extern const struct bean_type bean_pairs;      /* BEAN_LIST(struct pair): an object of texts */
extern const struct bean_type bean_text_lists; /* BEAN_LIST(struct named_list): an object of lists of texts */
extern const struct bean_type bean_ids;        /* BEAN_LIST(struct id_text): {0:"a"} */
extern const struct bean_type bean_numbers;    /* BEAN_LIST(struct id_number): {0:5} */
extern const struct bean_type bean_table;      /* BEAN_LIST(struct …): {"name":{…}}; more: struct bean_table_of */
extern const struct bean_type bean_named;      /* BEAN_LIST(struct …): {"name":…}; more: struct bean_named_of */
extern const struct bean_type bean_by_bean;    /* BEAN_LIST(struct …): {{…}:{…}}; more: struct bean_by_bean_of */

struct pair {
    struct slice key;
    struct slice value;
};

struct named_list {
    struct slice name;
    BEAN_LIST(struct slice) texts;
};

struct id_text {
    int64_t id;
    struct slice text;
};

struct id_number {
    int32_t id;
    int64_t number;
};

struct bean_table_of {
    const struct bean *element;
    size_t key_at;                  /* a struct slice in the element: set from the key, and written as the key */
};

/* The value is one member of the element; `at` of its row counts from the element's beginning. */
struct bean_named_of {
    const struct bean_field *value;
    size_t key_at;                  /* a struct slice in the element */
    size_t size;
};

struct bean_by_bean_of {
    const struct bean *key;         /* its struct lies at the element's beginning */
    const struct bean *value;       /* NULL: an int64_t at value_at */
    size_t value_at;
    size_t size;
};

void bean_read(struct json *j, const struct bean *b, void *out);
void bean_write(struct json_out *w, const struct bean *b, const void *in);

/* A whole body. `what` names it in the error. Errors: BODY. */
err_t bean_decode(const struct bean *b, struct slice body, struct arena *arena, const char *what, void *out) MUST_CHECK;
void bean_encode(const struct bean *b, const void *in, enum json_style style, struct buf *out);
/* A copy that needs nothing but the arena (which must be large enough). */
void bean_copy(const struct bean *b, const void *in, struct arena *arena, void *out);

#endif
