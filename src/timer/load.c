#include "timer/load.h"

#include "base/log.h"

#include <inttypes.h>
#include <stdlib.h>

enum { WHEEL_PAGES_AT_ONCE = 64 };

#define SCAN_BYTES_MAX (256ll << 20)   /* behind a checkpoint: many seconds of messages */

static err_t read_check(struct timer_load *l)
{
    struct buf bytes = BUF_EMPTY;
    err_t e = fs_read_file(l->files->fs, l->files->check, TIMER_CHECK_BYTES, &bytes);
    if (err_code(e) == ERR_NOT_FOUND) {
        err_free(e);   /* a new store */
        e = NULL;
    }
    if (!e) timer_check_decode(buf_slice(&bytes), &l->check);
    buf_done(&bytes);
    return e;
}

static bool is_sound(const struct timer_check *c, int64_t tick_ms)
{
    if (c->read_ms < 0 || c->read_ms >= INT64_MAX / 2 || c->flushed < 0 || c->queue_offset < 0 || c->master_queue_offset < 0) return false;
    return c->tick_ms == 0 || c->tick_ms == tick_ms;
}

/* --- the wheel --- */

static err_t read_pages(struct timer_load *l, struct file *f)
{
    static const uint8_t zeros[WHEEL_PAGE_BYTES];
    uint8_t *bytes = must_alloc(WHEEL_PAGES_AT_ONCE * WHEEL_PAGE_BYTES);
    err_t e = NULL;
    for (size_t page = 0; !e && page < WHEEL_PAGES; page += WHEEL_PAGES_AT_ONCE) {
        size_t n = 0;
        e = file_read_at(f, (int64_t)(page * WHEEL_PAGE_BYTES), bytes, WHEEL_PAGES_AT_ONCE * WHEEL_PAGE_BYTES, &n);
        for (size_t i = 0; !e && i < n / WHEEL_PAGE_BYTES && page + i < WHEEL_PAGES; i++) {
            const uint8_t *p = bytes + i * WHEEL_PAGE_BYTES;
            if (memcmp(p, zeros, WHEEL_PAGE_BYTES)) wheel_page_decode(l->wheel, page + i, p, l->check.read_ms / l->tick_ms);
        }
    }
    free(bytes);
    return e;
}

/* CORRUPT: there is none, and there should be. */
static err_t read_wheel(struct timer_load *l)
{
    struct file *f;
    int64_t size = 0;
    err_t e = fs_open(l->files->fs, l->files->wheel, FILE_READ, &f);
    bool missing = err_code(e) == ERR_NOT_FOUND;
    if (e && !missing) return e;
    err_free(e);
    e = missing ? NULL : file_size(f, &size);
    if (!e && size == WHEEL_FILE_BYTES) e = read_pages(l, f);
    else if (!e && (size || l->check.flushed > 0))
        e = err_new(ERR_CORRUPT, "%s has %" PRId64 " bytes, and should have %" PRId64, l->files->wheel, size, WHEEL_FILE_BYTES);
    if (!missing) file_close(f);
    return e;
}

/* --- the units behind the checkpoint --- */

static void add_known(struct timer_load *l, int64_t log_offset) { buf_put(&l->known, &log_offset, sizeof log_offset); }

static int by_offset(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* What the wheel was told of the unit before the process ended it knows already. */
static void apply(struct timer_load *l, int64_t position, const struct timer_unit *u)
{
    int64_t time = timer_unit_time_ms(u) / l->tick_ms;
    if (timer_unit_time_ms(u) < l->check.read_ms || time <= 0) return;
    const struct timer_slot *s = wheel_slot(l->wheel, time);
    if (wheel_holds(s, time) && s->last >= position) return;
    wheel_add(l->wheel, time, position, u->flags);
}

static err_t scan(struct timer_load *l, int64_t files_end)
{
    struct timer_reader r;
    struct timer_unit u;
    err_t e = NULL;
    timer_reader_init(&r, l->files, false);
    l->end = l->check.flushed > l->first ? l->check.flushed : l->first;
    for (int64_t at = l->end; !e && at < files_end && (e = timer_reader_next(&r, &at, &u)) == NULL; l->end = at) {
        apply(l, at, &u);
        add_known(l, u.log_offset);
        at += TIMER_UNIT_BYTES;
    }
    timer_reader_done(&r);
    if (err_code(e) == ERR_CORRUPT || err_code(e) == ERR_NOT_FOUND) {
        err_free(e);   /* the log ends there */
        e = NULL;
    }
    if (l->known.n) qsort(l->known.p, l->known.n / sizeof(int64_t), sizeof(int64_t), by_offset);
    return e;
}

/* --- slots that name what the log does not have --- */

/* The lowest position to look at again; INT64_MAX: none. Marks the slots. */
static int64_t mark_ahead(struct timer_load *l)
{
    int64_t lowest = INT64_MAX;
    for (size_t i = 0; i < TIMER_SLOTS; i++) {
        if (!l->wheel->pages[i / WHEEL_PAGE_SLOTS]) {
            i += WHEEL_PAGE_SLOTS - 1;
            continue;
        }
        struct timer_slot *s = wheel_slot(l->wheel, (int64_t)i);
        if (s->last < l->end) continue;
        if (s->first < lowest) lowest = s->first;
        s = wheel_change(l->wheel, (int64_t)i);
        l->wheel->count -= s->count;
        s->count = 0;
        s->first = s->last = -1;
        *wheel_mark(l->wheel, (int64_t)i) = true;
    }
    return lowest < l->end ? lowest : INT64_MAX;
}

static void find_again(struct timer_load *l, int64_t position, const struct timer_unit *u)
{
    int64_t time = timer_unit_time_ms(u) / l->tick_ms;
    struct timer_slot *s = time > 0 ? wheel_slot(l->wheel, time) : NULL;
    if (!s || !*wheel_mark(l->wheel, time) || s->time != time) return;
    wheel_add(l->wheel, time, position, u->flags);
    *wheel_mark(l->wheel, time) = true;
}

static void forget_marks(struct wheel *w)
{
    for (size_t i = 0; i < WHEEL_PAGES; i++)
        if (w->pages[i]) memset(w->pages[i]->marked, 0, sizeof w->pages[i]->marked);
}

static err_t mend(struct timer_load *l)
{
    struct timer_reader r;
    struct timer_unit u;
    err_t e = NULL;
    int64_t at = mark_ahead(l);
    if (at < l->first) at = l->first;
    timer_reader_init(&r, l->files, false);
    for (; !e && at < l->end; at += TIMER_UNIT_BYTES) {
        e = timer_reader_next(&r, &at, &u);
        if (!e && at < l->end) find_again(l, at, &u);
    }
    timer_reader_done(&r);
    forget_marks(l->wheel);
    return e;
}

/* --- all of it --- */

static err_t load(struct timer_load *l)
{
    int64_t files_end = 0;
    err_t e = read_check(l);
    if (!e && !is_sound(&l->check, l->tick_ms)) e = err_new(ERR_CORRUPT, "the checkpoint of timers cannot be, or timerPrecisionMs was changed");
    if (!e) e = timer_files_look(l->files, &l->first, &files_end);
    if (e) return e;
    int64_t flushed = l->check.flushed, from = flushed > l->first ? flushed : l->first;
    if (flushed > files_end || (flushed && flushed < l->first) || files_end - from > SCAN_BYTES_MAX + l->files->file_bytes)
        return err_new(ERR_CORRUPT, "the timer log has %" PRId64 " to %" PRId64 ", and was written up to %" PRId64, l->first, files_end, flushed);
    e = read_wheel(l);
    if (!e) e = scan(l, files_end);
    if (!e) e = mend(l);
    return e ? e : timer_files_cut(l->files, l->end, files_end);
}

err_t timer_load(struct timer_load *l)
{
    int64_t file_bytes = l->files->file_bytes;
    err_t e = load(l);
    if (err_code(e) != ERR_CORRUPT) return e;
    log_warn("timer.files_put_aside root=\"%s\" error=\"%s\" text=\"messages are read again from the timer topic\"", l->files->root, err_text(e));
    err_free(e);
    wheel_done(l->wheel);
    buf_clear(&l->known);
    l->first = l->end = 0;
    l->lost = true;
    l->files->file_bytes = file_bytes;
    if (l->check.read_ms < 0 || l->check.read_ms >= INT64_MAX / 2) l->check.read_ms = 0;
    l->check.flushed = l->check.queue_offset = l->check.master_queue_offset = 0;
    return timer_files_put_aside(l->files);
}
