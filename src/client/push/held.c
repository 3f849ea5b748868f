#include "client/push/held.h"

#include <assert.h>
#include <stdlib.h>

void held_init(struct held_list *l) { *l = (struct held_list){.next_offset = -1}; }

struct held *held_ref(struct held *h)
{
    h->refs++;
    return h;
}

void held_unref(struct held *h)
{
    assert(h->refs);
    if (--h->refs) return;
    sky_message_free(h->message);
    free(h);
}

void held_free_all(struct held_list *l)
{
    for (size_t i = 0; i < l->count; i++) held_unref(l->items[l->first + i]);
    free(l->items);
    held_init(l);
}

static void make_room(struct held_list *l)
{
    if (l->first + l->count < l->cap) return;
    size_t cap = l->count * 2 < 64 ? 64 : l->count * 2;
    struct held **items = must_alloc(cap * sizeof(struct held *));
    if (l->count) memcpy(items, l->items + l->first, l->count * sizeof(struct held *));
    free(l->items);
    l->items = items;
    l->first = 0;
    l->cap = cap;
}

struct held *held_add(struct held_list *l, struct sky_message *m, int64_t offset, int64_t bytes)
{
    if (offset < l->next_offset) {
        sky_message_free(m);
        return NULL;
    }
    struct held *h = must_zero(sizeof *h);
    *h = (struct held){.message = m, .offset = offset, .bytes = bytes, .refs = 1};
    make_room(l);
    l->items[l->first + l->count++] = h;
    l->messages++;
    l->bytes += bytes;
    l->next_offset = offset + 1;
    return h;
}

void held_done(struct held_list *l, struct held *h)
{
    if (h->done) return;
    h->done = true;
    l->messages--;
    l->bytes -= h->bytes;
    while (l->count && l->items[l->first]->done) {
        held_unref(l->items[l->first++]);
        l->count--;
    }
    if (!l->count) l->first = 0;
}

struct held *held_at(const struct held_list *l, size_t i)
{
    for (size_t at = 0; at < l->count; at++)
        if (!l->items[l->first + at]->done && i-- == 0) return l->items[l->first + at];
    return NULL;
}

int64_t held_committable(const struct held_list *l) { return l->count ? l->items[l->first]->offset : l->next_offset; }
int64_t held_span(const struct held_list *l) { return l->count ? l->items[l->first + l->count - 1]->offset - l->items[l->first]->offset : 0; }
