/* locks_state.h - what locks.c and locks_file.c share. The feature's own. Threads: loop */
#ifndef SKYLARK_BROKER_LOCKS_STATE_H
#define SKYLARK_BROKER_LOCKS_STATE_H

#include "broker/locks/locks.h"

struct queue_lock {
    char *client_id;
    int64_t taken_ms;    /* mono_ms of the last time it was asked for */
};

/* The owner has said nothing for so long. */
void locks_age(struct locks *l, struct slice group, const struct message_queue *q, int64_t silent_ms);

#endif
