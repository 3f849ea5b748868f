/* answer.h - an explanation that is being put together. The folder's own.
 * Threads  loop */
#ifndef SKYLARK_BROKER_WHY_ANSWER_H
#define SKYLARK_BROKER_WHY_ANSWER_H

#include "base/arena.h"
#include "codec/body_why.h"

struct answer_text {
    struct arena arena;
    struct why why;
};

#define ANSWER_EMPTY ((struct answer_text){.arena = ARENA_EMPTY})

/* The first sentence counts: what is asked first explains most. True: it is this one. */
bool answer_say(struct answer_text *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void answer_fact(struct answer_text *a, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
void answer_done(struct answer_text *a);

#endif
