/* outcome.h - what an operation found: facts and tables, to be printed, written as JSON, or shown by a page. The room's own.
 * Shape    items in the order they were made: a line, a fact, a table. Cells are typed, so that JSON has numbers where numbers are
 * Units    times are ms since 1970
 * Owns     nothing: all lies in the arena, names and columns are static
 * Threads  any */
#ifndef SKYLARK_ADMIN_OUTCOME_H
#define SKYLARK_ADMIN_OUTCOME_H

#include "base/arena.h"
#include "base/json.h"
#include "codec/bean.h"

enum cell_type { CELL_NONE, CELL_TEXT, CELL_NUMBER, CELL_TIME, CELL_RATE, CELL_FLAG };

struct column {
    const char *name;
    enum cell_type type;
};

struct cell {
    enum cell_type type;                /* CELL_NONE: nothing is known; null in JSON */
    struct slice text;
    int64_t number;                     /* also of times and flags */
    double rate;
};

struct table {
    const char *name;
    const struct column *columns;
    size_t width;
    struct arena *arena;
    BEAN_LIST(struct cell) cells;       /* row by row */
};

enum item_type { ITEM_LINE, ITEM_FACT, ITEM_TABLE, ITEM_TEXTS };

struct outcome_item {
    enum item_type type;
    struct slice name;                  /* of a fact, of texts */
    struct cell cell;                   /* a fact's, a line's text */
    struct table *table;                /* ITEM_TABLE; ITEM_TEXTS has one column */
};

struct outcome {
    struct arena *arena;
    BEAN_LIST(struct outcome_item) items;
};

/* How it is printed. */
struct outcome_style {
    int width;                          /* of the terminal in characters; 0: there is none, nothing is coloured */
    bool colour;
};

void outcome_init(struct outcome *r, struct arena *arena);
/* A sentence before what follows; of JSON it is the member "message", of several ones the last. */
void outcome_line(struct outcome *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void outcome_text(struct outcome *r, struct slice name, struct slice value);
void outcome_number(struct outcome *r, const char *name, int64_t value);
void outcome_rate(struct outcome *r, const char *name, double value);
void outcome_time(struct outcome *r, const char *name, int64_t ms);
void outcome_flag(struct outcome *r, const char *name, bool value);
/* The name is an array of objects in JSON, also when it has no rows. */
struct table *outcome_table(struct outcome *r, const char *name, const struct column *columns, size_t width);
#define OUTCOME_TABLE(r, name, columns) outcome_table(r, name, columns, sizeof(columns) / sizeof(*(columns)))
/* One text a line; in JSON an array of texts. */
struct table *outcome_texts(struct outcome *r, const char *name);

/* The next cell, from left to right. */
void row_text(struct table *t, struct slice text);
void row_number(struct table *t, int64_t number);
void row_time(struct table *t, int64_t ms);
void row_rate(struct table *t, double rate);
void row_flag(struct table *t, bool flag);
void row_none(struct table *t);
size_t table_rows(const struct table *t);
/* By the first `columns` columns. */
void table_sort(struct table *t, size_t columns);

void outcome_print(const struct outcome *r, const struct outcome_style *style, struct buf *out);
/* Members of the object that is being written. */
void outcome_write(const struct outcome *r, struct json_out *w);

#endif
