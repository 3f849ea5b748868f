/* pin.h - bytes that may not go away while somebody uses them, say a slice of a mapped file on its way to a socket.
 * Owns     whoever holds a struct pinned gives it up exactly once with pin_release()
 * Threads  loop (of the owner of the bytes) */
#ifndef SKYLARK_BASE_PIN_H
#define SKYLARK_BASE_PIN_H

#include "base/slice.h"

struct pinned {
    struct slice bytes;
    void (*release)(void *owner);   /* NULL: nothing to release */
    void *owner;
};

static inline void pin_release(struct pinned *p)
{
    if (p->release) p->release(p->owner);
    *p = (struct pinned){{NULL, 0}, NULL, NULL};
}

#endif
