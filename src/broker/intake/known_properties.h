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
    struct slice timer_delay_sec;
    struct slice timer_delay_ms;
    struct slice timer_deliver_ms;
    struct slice timer_out_ms;      /* it has been a timer message already */
    struct slice timer_delete_key;  /* TIMER_DEL_UNIQKEY: takes another timer message back */
    struct slice transaction;       /* TRAN_MSG */
    struct slice pop_check_point;   /* POP_CK: never stored as the client sent it */
    struct slice inner_count;       /* INNER_NUM: the broker's to say */
    struct slice priority;          /* _SYS_MSG_PRIORITY_ */
    struct slice sharding_key;      /* __SHARDINGKEY: it is one of those in order */
    struct slice lite_topic;        /* __LITE_TOPIC: of its topic's lite topics the one it is for */
    struct slice further_queues;    /* INNER_MULTI_DISPATCH */
    struct slice further_offsets;   /* INNER_MULTI_QUEUE_OFFSET: never stored as the client sent it */
};

void known_properties_read(struct slice text, struct known_properties *out);

/* A time is asked for. */
static inline bool known_has_timer(const struct known_properties *p)
{
    return p->timer_delay_sec.n || p->timer_delay_ms.n || p->timer_deliver_ms.n;
}

#endif
