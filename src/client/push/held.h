/* held.h - messages of one queue that came and are not done, in the order of their offsets. The room's own.
 * Shape    some in the middle may be done before those in front of them: what may be committed is the offset of the first that is not
 * Threads  loop
 * Owns     its messages; a struct held is shared with whoever is at work on it (held_ref) */
#ifndef SKYLARK_CLIENT_HELD_H
#define SKYLARK_CLIENT_HELD_H

#include "client/message.h"

struct held {
    struct sky_message *message;
    int64_t offset;
    int64_t bytes;               /* of its body as it came */
    int64_t begun_ms;            /* mono_ms when a callback got it; 0: none has */
    unsigned refs;
    bool done;
};

struct held_list {
    struct held **items;         /* items[first … first + count), in the order of offsets */
    size_t first, count, cap;
    int64_t messages, bytes;     /* that are not done */
    int64_t next_offset;         /* behind the last one that came; -1: none ever did */
};

void held_init(struct held_list *l);
void held_free_all(struct held_list *l);
/* Takes the message; NULL and dropped when it is no newer than the last one. */
struct held *held_add(struct held_list *l, struct sky_message *m, int64_t offset, int64_t bytes);
/* Nothing happens to one that is done already. */
void held_done(struct held_list *l, struct held *h);
struct held *held_ref(struct held *h);
void held_unref(struct held *h);
/* The first one that is not done, counted from 0; NULL: there are no more. */
struct held *held_at(const struct held_list *l, size_t i);
/* The offset up to which all is done; -1: nothing came yet. */
int64_t held_committable(const struct held_list *l);
/* Distance between the oldest that is not done and the newest. */
int64_t held_span(const struct held_list *l);

#endif
