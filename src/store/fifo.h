/* fifo.h - a queue of equal small structs in one piece of memory. Threads: its owner.
 * Pointers into it are valid until the next push or pop. */
#ifndef SKYLARK_STORE_FIFO_H
#define SKYLARK_STORE_FIFO_H

#include "base/buf.h"

struct fifo {
    struct buf items;
    size_t head;        /* bytes already taken */
};

static inline bool fifo_empty(const struct fifo *f) { return f->head == f->items.n; }
static inline void *fifo_push(struct fifo *f, size_t size) { return buf_take(&f->items, size); }
/* NULL when empty. */
static inline void *fifo_front(const struct fifo *f) { return fifo_empty(f) ? NULL : f->items.p + f->head; }
static inline void *fifo_back(const struct fifo *f, size_t size) { return fifo_empty(f) ? NULL : f->items.p + f->items.n - size; }
static inline void fifo_pop_back(struct fifo *f, size_t size) { f->items.n -= size; }
static inline void fifo_pop(struct fifo *f, size_t size)
{
    f->head += size;
    if (f->head == f->items.n) {
        f->head = f->items.n = 0;
    } else if (f->head > 65536 && f->head > f->items.n / 2) {
        memmove(f->items.p, f->items.p + f->head, f->items.n - f->head);
        f->items.n -= f->head;
        f->head = 0;
    }
}
static inline void fifo_done(struct fifo *f)
{
    buf_done(&f->items);
    f->head = 0;
}

#endif
