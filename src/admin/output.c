#include "admin/output.h"

#include "base/printable.h"

#include <assert.h>

void grid_init(struct grid *g, size_t columns)
{
    assert(columns > 0 && columns <= GRID_COLUMNS_MAX);
    *g = (struct grid){.columns = columns};
}

void grid_done(struct grid *g)
{
    buf_done(&g->text);
    buf_done(&g->ends);
}

static void end_cell(struct grid *g) { buf_put(&g->ends, &g->text.n, sizeof g->text.n); }

void grid_text(struct grid *g, struct slice text)
{
    if (text.n) put_printable(&g->text, text);
    else buf_put_text(&g->text, "-");
    end_cell(g);
}

void grid_i64(struct grid *g, int64_t number)
{
    buf_put_i64_text(&g->text, number);
    end_cell(g);
}

void grid_time(struct grid *g, int64_t ms)
{
    char text[TIME_TEXT_MAX];
    buf_put_text(&g->text, time_text(ms, text));
    end_cell(g);
}

static size_t count_cells(const struct grid *g) { return g->ends.n / sizeof(size_t); }

static size_t end_of(const struct grid *g, size_t cell)
{
    size_t end;
    memcpy(&end, g->ends.p + cell * sizeof end, sizeof end);
    return end;
}

static struct slice cell_at(const struct grid *g, size_t cell)
{
    size_t begin = cell ? end_of(g, cell - 1) : 0;
    return slice_of(g->text.p + begin, end_of(g, cell) - begin);
}

/* In characters: bytes that go on with a character of UTF-8 take no room. */
static size_t width(struct slice s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) n += (s.p[i] & 0xC0) != 0x80;
    return n;
}

/* Of each column. */
static void find_widest(const struct grid *g, size_t widest[static GRID_COLUMNS_MAX])
{
    memset(widest, 0, GRID_COLUMNS_MAX * sizeof *widest);
    for (size_t i = 0; i < count_cells(g); i++) {
        size_t w = width(cell_at(g, i));
        if (w > widest[i % g->columns]) widest[i % g->columns] = w;
    }
}

size_t grid_width(const struct grid *g)
{
    size_t widest[GRID_COLUMNS_MAX], sum = 2 * (g->columns - 1);
    find_widest(g, widest);
    for (size_t i = 0; i < g->columns; i++) sum += widest[i];
    return sum;
}

void grid_print(const struct grid *g, struct buf *out)
{
    size_t widest[GRID_COLUMNS_MAX], cells = count_cells(g);
    assert(cells % g->columns == 0);
    find_widest(g, widest);
    for (size_t i = 0; i < cells; i++) {
        struct slice cell = cell_at(g, i);
        size_t column = i % g->columns, pad = widest[column] + 2 - width(cell);
        buf_put_slice(out, cell);
        if (column + 1 == g->columns) buf_put_u8(out, '\n');
        else memset(buf_take(out, pad), ' ', pad);
    }
}

void put_line(struct buf *out, struct slice text)
{
    put_printable(out, text);
    buf_put_u8(out, '\n');
}
