/* wire_compare.h - whether a frame of ours says the same as the recorded one. Inside of tests/kit only.
 * Bodies    equal bytes, or equal JSON but for the named keys; keys that are bare numbers are read too
 * Remarks   equal, but for the client's address. Where the original shows an exception of its own, ours only has to say something;
 *           its "not set any response code" beside a success says nothing, and nothing need be said (docs/differences.md)
 * Threads   owner */
#ifndef SKYLARK_TESTS_KIT_WIRE_COMPARE_H
#define SKYLARK_TESTS_KIT_WIRE_COMPARE_H

#include "codec/frame.h"
#include "kit/wire_replay.h"

/* Where we are, for messages. */
struct wire_place {
    const struct wire_replay *how;
    const char *file;
    int line;
};

/* `form` is the one the frame should have. Fails the test when something differs. */
void wire_compare(const struct wire_place *at, const struct frame *ours, const struct frame *theirs, enum frame_form form);
/* Whether one of the names, separated by blanks, is this one. */
bool wire_named(const char *names, const char *name);

#endif
