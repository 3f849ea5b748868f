#include "broker/transaction/halves.h"

#include <assert.h>
#include <stdlib.h>

void halves_init(struct halves *h)
{
    *h = (struct halves){.by_name = MAP_EMPTY};
    list_init(&h->open);
    h->walk = &h->open.head;
}

void halves_done(struct halves *h)
{
    map_done_with(&h->by_name, free);
    buf_done(&h->ended);
    buf_done(&h->notes);
}

/* --- what an earlier run left --- */

void halves_add_ended(struct halves *h, int64_t offset) { buf_put(&h->ended, &offset, sizeof offset); }

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

void halves_sort_ended(struct halves *h)
{
    if (h->ended.n) qsort(h->ended.p, h->ended.n / sizeof(int64_t), sizeof(int64_t), by_value);
}

void halves_forget_ended(struct halves *h) { buf_done(&h->ended); }

static bool is_ended(const struct halves *h, int64_t offset)
{
    return h->ended.n && bsearch(&offset, h->ended.p, h->ended.n / sizeof offset, sizeof offset, by_value);
}

/* --- half messages --- */

static struct slice name_of(const int64_t *first_offset) { return slice_of(first_offset, sizeof *first_offset); }

struct half *halves_find(const struct halves *h, int64_t first_offset) { return map_get(&h->by_name, name_of(&first_offset)); }

/* Whoever walks goes on behind it. */
static void leave(struct halves *h, struct half *half)
{
    if (h->walk == &half->node) h->walk = half->node.next;
    list_remove(&half->node);
}

struct half *halves_see(struct halves *h, const struct half *copy)
{
    if (copy->queue_offset < h->next) return halves_find(h, copy->first_offset);   /* seen already */
    h->next = copy->queue_offset + 1;
    if (is_ended(h, copy->queue_offset) || is_ended(h, copy->first_offset)) return NULL;
    struct half *half = halves_find(h, copy->first_offset);
    if (half) {
        leave(h, half);
        half->queue_offset = copy->queue_offset;
        half->log_offset = copy->log_offset;
        half->checks = copy->checks;
    } else {
        half = must_alloc(sizeof *half);
        *half = *copy;
        list_init(&half->late);
        map_put(&h->by_name, name_of(&half->first_offset), half);
        h->count++;
    }
    list_add(&h->open, &half->node);
    return half;
}

void halves_remove(struct halves *h, struct half *half)
{
    assert(list_empty(&half->late));
    leave(h, half);
    map_remove(&h->by_name, name_of(&half->first_offset));
    h->count--;
    free(half);
}

static struct half *half_of(const struct list_node *node) { return LIST_OWNER(node, struct half, node); }

int64_t halves_begin(const struct halves *h)
{
    return list_empty(&h->open) ? h->next : half_of(h->open.head.next)->queue_offset;
}

void halves_walk(struct halves *h)
{
    h->walk = h->open.head.next;
    h->walk_end = h->next;
}

void halves_walk_again(struct halves *h) { h->walk = h->open.head.next; }

struct half *halves_walk_next(struct halves *h)
{
    if (h->walk == &h->open.head) return NULL;
    struct half *half = half_of(h->walk);
    if (half->queue_offset >= h->walk_end) return NULL;   /* came, or was put back, after the walk began */
    h->walk = h->walk->next;
    return half;
}

void halves_walk_back(struct halves *h, struct half *half) { h->walk = &half->node; }

/* --- op records --- */

static const struct op_note *first_note(const struct halves *h)
{
    return h->notes_head < h->notes.n ? (const struct op_note *)(const void *)(h->notes.p + h->notes_head) : NULL;
}

void halves_note_op(struct halves *h, int64_t op_offset, int64_t largest)
{
    struct op_note note = {op_offset, largest};
    buf_put(&h->notes, &note, sizeof note);
}

static void let_go_first(struct halves *h)
{
    enum { WORTH_MOVING = 65536 };
    h->notes_head += sizeof(struct op_note);
    if (h->notes_head < h->notes.n && (h->notes_head < WORTH_MOVING || h->notes_head < h->notes.n / 2)) return;
    memmove(h->notes.p, h->notes.p + h->notes_head, h->notes.n - h->notes_head);
    h->notes.n -= h->notes_head;
    h->notes_head = 0;
}

int64_t halves_op_begin(struct halves *h, int64_t begin, int64_t op_end)
{
    const struct op_note *note;
    while ((note = first_note(h)) && note->largest < begin) let_go_first(h);
    return note ? note->op_offset : op_end;
}
