/* scrape.h - how one loop asks another how it is doing: a letter goes there, is filled in as it suits the receiver, and comes back.
 * Threads  scrape_done: the receiver's loop; `done` runs on the asker's
 * Owns     the asker owns the struct, and keeps it until `done` has run or both loops have ended */
#ifndef SKYLARK_OS_SCRAPE_H
#define SKYLARK_OS_SCRAPE_H

#include "base/metric_page.h"
#include "os/tasks.h"

struct scrape {
    struct mail mail;
    struct tasks *asker;
    void (*done)(struct scrape *s);
    struct metric_page page;        /* filled in by the receiver */
};

/* Whether it can serve now; `why` says what is missing when it cannot. */
struct health {
    bool ready;
    char why[256];
};

static inline void scrape_deliver(struct mail *m)
{
    struct scrape *s = LIST_OWNER(m, struct scrape, mail);
    s->done(s);
}

/* The page is complete. The receiver does not touch it any more. */
static inline void scrape_done(struct scrape *s)
{
    s->mail.deliver = scrape_deliver;
    tasks_post(s->asker, &s->mail);
}

#endif
