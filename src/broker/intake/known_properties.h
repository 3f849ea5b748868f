/* known_properties.h - the properties of a message that a broker acts on, found in one walk over its text.
 * Facts    docs/protocol/semantics.md 2, 3, 5
 * Threads  any
 * Owns     nothing: the values borrow from the text; p NULL when there is none */
#ifndef SKYLARK_BROKER_KNOWN_PROPERTIES_H
#define SKYLARK_BROKER_KNOWN_PROPERTIES_H

#include "base/slice.h"

struct known_properties {
    struct slice unique_key;
    struct slice key_words;         /* KEYS */
    struct slice tags;
    struct slice wait;
    struct slice delay_level;
    struct slice timer;             /* TIMER_DELAY_SEC, TIMER_DELAY_MS or TIMER_DELIVER_MS: any of them */
    struct slice transaction;       /* TRAN_MSG */
    struct slice pop_check_point;   /* POP_CK: never stored as the client sent it */
    struct slice inner_count;       /* INNER_NUM: the broker's to say */
};

void known_properties_read(struct slice text, struct known_properties *out);

#endif
