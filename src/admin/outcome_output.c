/* A report as text and as JSON. On a terminal a table that is wider than it is printed row by row, so that nothing is cut. */
#include "admin/output.h"
#include "admin/outcome.h"

#include "base/printable.h"

#include <stdio.h>

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

static void put_cell(struct buf *out, const struct cell *c)
{
    char time[TIME_TEXT_MAX];
    switch (c->type) {
    case CELL_NONE: buf_put_u8(out, '-'); return;
    case CELL_TEXT: buf_put_slice(out, c->text.n ? c->text : SLICE("-")); return;
    case CELL_NUMBER: buf_put_i64_text(out, c->number); return;
    case CELL_TIME: buf_put_text(out, time_text(c->number > 0 ? c->number : 0, time)); return;
    case CELL_RATE: buf_printf(out, "%.2f", c->rate); return;
    case CELL_FLAG: buf_put_text(out, c->number ? "true" : "false"); return;
    }
}

static void grid_cell(struct grid *g, const struct cell *c)
{
    struct buf text = BUF_EMPTY;
    put_cell(&text, c);
    grid_text(g, buf_slice(&text));
    buf_done(&text);
}

/* --- tables --- */

static void fill_grid(const struct table *t, struct grid *g)
{
    grid_init(g, t->width);
    for (size_t i = 0; i < t->width; i++) grid_text(g, slice_text(t->columns[i].name));
    for (size_t i = 0; i < t->cells.count; i++) grid_cell(g, &t->cells.items[i]);
}

/* One row below the other, each as names and values. */
static void put_rows(const struct table *t, struct buf *out)
{
    for (size_t row = 0; row < table_rows(t); row++) {
        struct grid g;
        if (row) buf_put_u8(out, '\n');
        grid_init(&g, 2);
        for (size_t i = 0; i < t->width; i++) {
            grid_text(&g, slice_text(t->columns[i].name));
            grid_cell(&g, &t->cells.items[row * t->width + i]);
        }
        grid_print(&g, out);
        grid_done(&g);
    }
}

/* Its first line is bold. */
static void put_grid(const struct grid *g, const struct outcome_style *style, struct buf *out)
{
    struct buf text = BUF_EMPTY;
    struct slice rest, head;
    grid_print(g, &text);
    rest = buf_slice(&text);
    if (style->colour && slice_split(&rest, '\n', &head)) buf_printf(out, BOLD "%.*s" PLAIN "\n", SLICE_ARG(head));
    buf_put_slice(out, rest);
    buf_done(&text);
}

static void put_table(const struct table *t, const struct outcome_style *style, struct buf *out)
{
    struct grid g;
    if (!table_rows(t)) {
        buf_printf(out, "no %s\n", t->name);
        return;
    }
    fill_grid(t, &g);
    if (style->width > 0 && grid_width(&g) > (size_t)style->width) put_rows(t, out);
    else put_grid(&g, style, out);
    grid_done(&g);
}

static void put_texts(const struct table *t, struct buf *out)
{
    for (size_t i = 0; i < t->cells.count; i++) put_line(out, t->cells.items[i].text);
}

/* --- items --- */

/* Facts that stand one after the other; returns how many. */
static size_t put_facts(const struct outcome *r, size_t from, struct buf *out)
{
    struct grid g;
    size_t n = 0;
    grid_init(&g, 2);
    for (; from + n < r->items.count && r->items.items[from + n].type == ITEM_FACT; n++) {
        grid_text(&g, r->items.items[from + n].name);
        grid_cell(&g, &r->items.items[from + n].cell);
    }
    grid_print(&g, out);
    grid_done(&g);
    return n;
}

void outcome_print(const struct outcome *r, const struct outcome_style *style, struct buf *out)
{
    enum item_type before = ITEM_LINE;
    for (size_t i = 0; i < r->items.count;) {
        const struct outcome_item *item = &r->items.items[i];
        if (i && !(item->type == ITEM_LINE && before == ITEM_LINE)) buf_put_u8(out, '\n');
        before = item->type;
        switch (item->type) {
        case ITEM_FACT: i += put_facts(r, i, out); continue;
        case ITEM_LINE: put_line(out, item->cell.text); break;
        case ITEM_TABLE: put_table(item->table, style, out); break;
        case ITEM_TEXTS: put_texts(item->table, out); break;
        }
        i++;
    }
}

/* --- JSON --- */

static void write_cell(const struct cell *c, struct json_out *w)
{
    switch (c->type) {
    case CELL_NONE: json_put_text(w, (struct slice){NULL, 0}); return;
    case CELL_TEXT: json_put_text(w, c->text); return;
    case CELL_NUMBER:
    case CELL_TIME: json_put_i64(w, c->number); return;
    case CELL_RATE: json_put_double(w, c->rate); return;
    case CELL_FLAG: json_put_bool(w, c->number != 0); return;
    }
}

static void write_rows(const struct table *t, struct json_out *w)
{
    json_put_array(w);
    for (size_t i = 0; i < t->cells.count; i++) {
        if (i % t->width == 0) json_put_object(w);
        json_put_key(w, slice_text(t->columns[i % t->width].name));
        write_cell(&t->cells.items[i], w);
        if (i % t->width + 1 == t->width) json_put_object_end(w);
    }
    json_put_array_end(w);
}

static void write_texts(const struct table *t, struct json_out *w)
{
    json_put_array(w);
    for (size_t i = 0; i < t->cells.count; i++) write_cell(&t->cells.items[i], w);
    json_put_array_end(w);
}

/* An object has each member once. */
static bool is_last_of_its_name(const struct outcome *r, size_t i)
{
    for (size_t k = i + 1; k < r->items.count; k++)
        if (slice_eq(r->items.items[k].name, r->items.items[i].name)) return false;
    return true;
}

void outcome_write(const struct outcome *r, struct json_out *w)
{
    for (size_t i = 0; i < r->items.count; i++) {
        const struct outcome_item *item = &r->items.items[i];
        if (!is_last_of_its_name(r, i)) continue;
        json_put_key(w, item->name);
        if (item->type == ITEM_TABLE) write_rows(item->table, w);
        else if (item->type == ITEM_TEXTS) write_texts(item->table, w);
        else write_cell(&item->cell, w);
    }
}
