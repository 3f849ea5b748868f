/* allocate.h - how queues are shared among the members of a group, by place in their sorted lists.
 * Facts    docs/protocol/semantics.md 6 and 10; vectors: tests/fixtures/vectors/allocate.jsonl
 * Shape    each strategy calls take(ctx, place) for each queue of one member, by the queue's place in the list
 * Threads  any */
#ifndef SKYLARK_ALLOCATE_ALLOCATE_H
#define SKYLARK_ALLOCATE_ALLOCATE_H

#include "codec/body_queue.h"

#include <stddef.h>

typedef void allocate_take(void *ctx, size_t place);

/* Which of `queues` the member at `member` of `members` has. */
typedef void allocate_strategy(size_t members, size_t member, size_t queues, allocate_take *take, void *ctx);

/* By its name on the wire: AVG, AVG_BY_CIRCLE; NULL: another one, which needs to know more than numbers. */
allocate_strategy *allocate_named(struct slice name);

/* Who shares what: both lists are sorted. */
struct sharers {
    const struct slice *clients;
    size_t count;
    size_t self;
    const struct message_queue *queues;
    size_t queue_count;
};

/* CONSISTENT_HASH: ten places of each client on a ring of hashes; who comes or goes moves few queues. */
void allocate_by_hash(const struct sharers *s, allocate_take *take, void *ctx);
/* MACHINE_ROOM: of brokers named "room@broker" those whose room is in the list; others' queues are nobody's. */
void allocate_of_rooms(const struct sharers *s, const struct slice *rooms, size_t room_count, allocate_take *take, void *ctx);
/* MACHINE_ROOM_NEARBY: queues of a room are shared by the clients in it, those of rooms without clients by all. rooms are those of the
 * clients and of the queues, by place. */
void allocate_nearby(const struct sharers *s, allocate_strategy *inner, const struct slice *client_rooms, const struct slice *queue_rooms,
                     allocate_take *take, void *ctx);

#endif
