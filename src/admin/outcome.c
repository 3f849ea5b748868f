#include "admin/outcome.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct column texts_column = {"", CELL_TEXT};

void outcome_init(struct outcome *r, struct arena *arena) { *r = (struct outcome){.arena = arena}; }

/* What does not fit into the arena any more is left out: an answer so large was refused before. */
static struct outcome_item *add_item(struct outcome *r, enum item_type type, struct slice name)
{
    static struct outcome_item lost;
    struct outcome_item *i = arena_list_add(r->arena, (void **)&r->items.items, &r->items.count, sizeof *i);
    if (!i) return &lost;
    *i = (struct outcome_item){.type = type, .name = name};
    return i;
}

void outcome_line(struct outcome *r, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n < 0) return;
    if ((size_t)n >= sizeof text) n = sizeof text - 1;
    add_item(r, ITEM_LINE, SLICE("message"))->cell = (struct cell){.type = CELL_TEXT,
                                                                   .text = arena_copy(r->arena, slice_of(text, (size_t)n))};
}

void outcome_text(struct outcome *r, struct slice name, struct slice value)
{
    add_item(r, ITEM_FACT, name)->cell = (struct cell){.type = value.p ? CELL_TEXT : CELL_NONE, .text = value};
}

void outcome_number(struct outcome *r, const char *name, int64_t value)
{
    add_item(r, ITEM_FACT, slice_text(name))->cell = (struct cell){.type = CELL_NUMBER, .number = value};
}

void outcome_rate(struct outcome *r, const char *name, double value)
{
    add_item(r, ITEM_FACT, slice_text(name))->cell = (struct cell){.type = CELL_RATE, .rate = value};
}

void outcome_time(struct outcome *r, const char *name, int64_t ms)
{
    add_item(r, ITEM_FACT, slice_text(name))->cell = (struct cell){.type = CELL_TIME, .number = ms};
}

void outcome_flag(struct outcome *r, const char *name, bool value)
{
    add_item(r, ITEM_FACT, slice_text(name))->cell = (struct cell){.type = CELL_FLAG, .number = value};
}

static struct table *add_table(struct outcome *r, enum item_type type, const char *name, const struct column *columns, size_t width)
{
    static struct table lost;
    struct table *t = arena_take(r->arena, sizeof *t);
    if (!t) t = &lost;
    *t = (struct table){.name = name, .columns = columns, .width = width, .arena = r->arena};
    add_item(r, type, slice_text(name))->table = t;
    return t;
}

struct table *outcome_table(struct outcome *r, const char *name, const struct column *columns, size_t width)
{
    return add_table(r, ITEM_TABLE, name, columns, width);
}

struct table *outcome_texts(struct outcome *r, const char *name) { return add_table(r, ITEM_TEXTS, name, &texts_column, 1); }

/* --- rows --- */

static void add_cell(struct table *t, struct cell cell)
{
    struct cell *c = arena_list_add(t->arena, (void **)&t->cells.items, &t->cells.count, sizeof *c);
    if (!c) {
        t->cells.count -= t->cells.count % t->width;   /* whole rows remain */
        return;
    }
    *c = cell;
}

void row_text(struct table *t, struct slice text) { add_cell(t, (struct cell){.type = text.p ? CELL_TEXT : CELL_NONE, .text = text}); }
void row_number(struct table *t, int64_t number) { add_cell(t, (struct cell){.type = CELL_NUMBER, .number = number}); }
void row_time(struct table *t, int64_t ms) { add_cell(t, (struct cell){.type = CELL_TIME, .number = ms}); }
void row_rate(struct table *t, double rate) { add_cell(t, (struct cell){.type = CELL_RATE, .rate = rate}); }
void row_flag(struct table *t, bool flag) { add_cell(t, (struct cell){.type = CELL_FLAG, .number = flag}); }
void row_none(struct table *t) { add_cell(t, (struct cell){.type = CELL_NONE}); }
size_t table_rows(const struct table *t) { return t->cells.count / t->width; }

static int compare_cells(const struct cell *a, const struct cell *b)
{
    if (a->type == CELL_TEXT && b->type == CELL_TEXT) return slice_compare(a->text, b->text);
    if (a->type == CELL_RATE && b->type == CELL_RATE) return (a->rate > b->rate) - (a->rate < b->rate);
    if (a->type != b->type) return (int)a->type - (int)b->type;
    return (a->number > b->number) - (a->number < b->number);
}

static int by_columns(const void *a, const void *b, void *columns)
{
    const struct cell *x = a, *y = b;
    int order = 0;
    for (size_t i = 0; !order && i < *(const size_t *)columns; i++) order = compare_cells(&x[i], &y[i]);
    return order;
}

void table_sort(struct table *t, size_t columns)
{
    assert(columns <= t->width);
    if (table_rows(t) > 1) qsort_r(t->cells.items, table_rows(t), t->width * sizeof *t->cells.items, by_columns, &columns);
}
