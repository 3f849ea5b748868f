/* clients.h - the gRPC clients that have told their settings, by their id, and which of them produce for a topic.
 * Facts    docs/protocol/grpc.md 5.5, 6
 * Shape    ten thousand of them are looked through in one scan; none has a timer of its own
 * Threads  loop
 * Owns     a client is valid until it terminates or is silent for channelExpiredTimeout; hold its id, not itself */
#ifndef SKYLARK_PROXY_CLIENTS_H
#define SKYLARK_PROXY_CLIENTS_H

#include "base/list.h"
#include "base/map.h"

struct grpc_call;
struct proxy;

/* A telemetry stream. */
struct stream_of_client {
    int data;                         /* CALL_STREAM */
    struct list_node node;            /* of all streams */
    struct grpc_call *call;
    struct client *client;            /* NULL: it has not told its settings, or is gone */
};

struct client {
    char *id;
    int32_t type;                     /* V2_CLIENT_TYPE_… */
    bool untold;                      /* it has not told its settings here: what is known comes from its heartbeats */
    bool fifo;                        /* what it says itself, for a group nobody knows */
    int32_t attempts;                 /* likewise; 0: nothing */
    int64_t request_timeout_ms;
    char *group;                      /* of a consumer; NULL */
    char *lite_parent;                /* the topic of which it has lite topics; NULL */
    char **topics;                    /* of a producer */
    size_t topic_count, topic_cap;
    struct stream_of_client *stream;  /* NULL: it does not listen */
    int64_t seen_ms;                  /* mono */
    struct list handles;              /* of messages that are renewed for it (handles.h) */
};

/* Those who produce for one topic: whom to ask about its transactions. */
struct producers {
    struct client **items;
    size_t count, cap;
    size_t turn;
};

struct clients {
    struct proxy *proxy;
    struct map by_id;
    struct map producers;             /* topic -> struct producers */
    struct list streams;
};

void clients_init(struct clients *c, struct proxy *p);
void clients_done(struct clients *c);
struct client *clients_find(const struct clients *c, struct slice id);
/* With that id, made when there is none; its former settings are gone. */
struct client *clients_put(struct clients *c, struct slice id);
/* All topics of its settings, one call after the other. */
void client_produces(struct clients *all, struct client *c, struct slice topic);
/* Its messages are given back. */
void clients_remove(struct clients *all, struct client *c);
/* One that listens, in turn; NULL: there is none. */
struct client *clients_producer(struct clients *all, struct slice topic);
bool clients_produce(const struct clients *all, struct slice topic);
void clients_scan(struct clients *c);

#endif
