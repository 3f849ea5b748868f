/* faults.h - brokers that a producer avoids for a while, because they were slow or failed.
 * Facts    docs/protocol/semantics.md 2: a latency of 550 ms and more costs 2 s, 1,800 5 s, 3,000 6 s, 5,000 10 s, 15,000 30 s; an
 *          error counts as 10 s of latency. A shorter time does not take back a longer one.
 * Threads  loop
 * Units    ms; now_ms never goes back */
#ifndef SKYLARK_CLIENT_FAULTS_H
#define SKYLARK_CLIENT_FAULTS_H

#include "base/map.h"

struct faults {
    struct map brokers;
};

void faults_done(struct faults *f);
/* How a try ended. failed: with an error; refused: the broker itself answered so. */
void faults_note(struct faults *f, struct slice broker, int64_t now_ms, int64_t latency_ms, bool failed, bool refused);
/* Not to be avoided now. */
bool faults_is_available(const struct faults *f, struct slice broker, int64_t now_ms);
/* Its last answer was no refusal. */
bool faults_is_reachable(const struct faults *f, struct slice broker);

#endif
