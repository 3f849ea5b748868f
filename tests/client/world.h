/* world.h - a simulated cluster of the real name server and two real brokers, a producer, and push consumers of a group.
 * Threads  owner
 * Owns     everything; world_stop frees what was not */
#ifndef SKYLARK_TESTS_CLIENT_WORLD_H
#define SKYLARK_TESTS_CLIENT_WORLD_H

#include "client/odd.h"
#include "sim/cluster.h"

enum { WORLD_CONSUMERS = 3, WORLD_MESSAGES = 4096 };

struct world;

/* One message that came to a callback. */
struct got {
    int consumer;
    int number;                  /* of the message; -1: not one of world_send() */
    char topic[32], broker[16];
    int32_t queue_id, reconsume_times;
    int64_t offset, at_ms;
};

struct member_of_group {
    struct world *world;
    int number;
    struct sky_client *client;
    struct sky_push_consumer *consumer;
    size_t count;
    /* What the callback does; NULL: succeeds. */
    enum sky_consumed (*behave)(struct member_of_group *m, struct sky_consume_context *x, const struct sky_message *const *messages, size_t count);
    void *more;
};

struct world {
    struct sim *sim;
    struct history *history;
    struct cluster *cluster;
    struct sky_client *client;   /* of the producer */
    struct sky_producer *producer;
    int sent, failed;
    struct sky_push_consumer_options *options;   /* of members that join from now on */
    struct member_of_group members[WORLD_CONSUMERS];
    struct got got[WORLD_MESSAGES];
    size_t count;
};

struct world *world_start(uint64_t seed);
void world_stop(struct world *w);
/* Begins to send so many messages to "Orders", with numbers from `first`; tag may be NULL. */
void world_send(struct world *w, int first, int count, const char *tag);
/* A member of the group that subscribes to "Orders"; it is members[number]. */
struct member_of_group *world_join(struct world *w, int number, const char *tags);
/* Shuts the member down, and waits for it. */
void world_leave(struct member_of_group *m);
/* Waits until so many were received, or fails. */
void world_await(struct world *w, size_t count);
/* How often a message was received. */
int world_times(const struct world *w, int number);
/* Each of these was received, and so often. */
void world_each(const struct world *w, int first, int count, int times);
struct sky_push_consumer_statistics world_statistics(const struct member_of_group *m);

#endif
