/* output.h - facts and lists as aligned text. The room's own.
 * Shape    columns as wide as their widest cell, two spaces between them, the last one not padded; what others wrote is made printable
 * Threads  any */
#ifndef SKYLARK_ADMIN_OUTPUT_H
#define SKYLARK_ADMIN_OUTPUT_H

#include "base/buf.h"

enum { GRID_COLUMNS_MAX = 24 };

/* Rows of cells, kept as they are to be printed. */
struct grid {
    size_t columns;
    struct buf text;        /* all cells */
    struct buf ends;        /* size_t: where each of them ends in text */
};

/* 1 to GRID_COLUMNS_MAX columns. */
void grid_init(struct grid *g, size_t columns);
void grid_done(struct grid *g);
/* The next cell, from left to right. */
void grid_text(struct grid *g, struct slice text);
void grid_i64(struct grid *g, int64_t number);
/* ms since 1970; "-" for 0. */
void grid_time(struct grid *g, int64_t ms);
/* What all columns and the blanks between them take, in characters. */
size_t grid_width(const struct grid *g);
/* Whole rows only. */
void grid_print(const struct grid *g, struct buf *out);

/* One line: printable, with its newline. */
void put_line(struct buf *out, struct slice text);

#endif
