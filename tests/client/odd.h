/* odd.h - a name server and brokers that answer as a test tells them, on the simulated network; and a client of them.
 * Threads  owner
 * Owns     a world is freed by odd_stop, the client and its producer too */
#ifndef SKYLARK_TESTS_CLIENT_ODD_H
#define SKYLARK_TESTS_CLIENT_ODD_H

#include "client/client.h"
#include "codec/header.h"
#include "codec/requests.h"
#include "kit/sim_loop.h"
#include "kit/test.h"
#include "rpc/rpc.h"

enum { ODD_BROKERS = 3, ODD_SENDS_MAX = 64, ODD_SCRIPT_MAX = 16, ODD_PULLS_MAX = 64 };

/* What a broker does with a send besides storing it. Any other value is the code of its answer. */
enum odd_answer { ODD_SILENT = -1, ODD_CLOSE = -2 };

/* One send that came in. */
struct odd_send {
    int32_t code;
    struct frame *frame;         /* a copy */
    struct send_header h;        /* borrows from it */
    struct buf body;
    int64_t at_ms;
};

/* One pull that came in; it is held for ever. */
struct odd_pull {
    struct slice topic;          /* borrows from the frame */
    int32_t queue_id;
    int64_t queue_offset;
    struct frame *frame;
};

struct odd_broker {
    struct odd *odd;
    char name[16], ip[16];
    bool registered;             /* the route names it */
    int32_t queues;
    int32_t perm;
    struct loop *loop;
    struct rpc_listener *listener;
    int script[ODD_SCRIPT_MAX];  /* for the next sends; then all are stored */
    size_t script_count, script_at;
    struct odd_send sends[ODD_SENDS_MAX];
    size_t count;
    size_t heartbeats, goodbyes;
    struct buf last_heartbeat;
    int64_t delay_ms;            /* of the answer to a send */
    /* for consumers */
    int64_t committed;           /* -1: the group never did */
    int64_t max_offset, offset_of_time, asked_time;
    struct odd_pull pulls[ODD_PULLS_MAX];
    size_t pull_count;
};

struct odd {
    struct sim *sim;
    struct loop *loop;           /* of the servers */
    struct loop *client_loop;
    struct rpc_listener *names, *other_names;
    bool topic_known, default_known;
    int names_script;            /* ODD_SILENT: says nothing */
    size_t route_requests, other_requests;
    struct odd_broker broker[ODD_BROKERS];
    struct sky_client *client;
    struct sky_producer *producer;
    struct sky_producer_options *options;   /* of the producer, before odd_producer() */
};

/* Brokers "a", "b", … of two queues each, which know the topic "Orders". */
struct odd *odd_start(int brokers);
/* Ends what was not ended, and frees. */
void odd_stop(struct odd *o);
/* Opens the producer. */
void odd_producer(struct odd *o);
/* The next sends to the broker are answered so; -1000 ends the list. */
void odd_script(struct odd_broker *b, ...);
/* All brokers' sends. */
size_t odd_sends(const struct odd *o);

/* How a send ended. */
struct odd_outcome {
    bool over;
    enum sky_code error;
    int32_t response;
    char text[512];
    enum sky_stored stored;
    char message_id[256], offset_id[256], broker[16];
    int32_t queue_id, tries;
    int64_t queue_offset;
    int64_t at_ms;
    struct odd *odd;
};
/* Fails the test when it is refused at once. */
void odd_send_begin(struct odd *o, struct odd_outcome *out, const struct sky_message *m, const struct sky_send_options *how);
/* Sends "hello" to "Orders", and runs the world until it is over. */
struct odd_outcome odd_send(struct odd *o);
struct odd_outcome odd_send_message(struct odd *o, struct sky_message *m, const struct sky_send_options *how);
void odd_wait(struct odd *o, struct odd_outcome *out);
/* Shuts the client down, and runs the world until that is over. */
void odd_shutdown(struct odd *o);
void odd_sent(void *user, const struct sky_error *error, const struct sky_receipt *receipt);

/* Fails unless NULL, or unless of that code. */
void expect_sky_ok(struct sky_error *e, const char *what, int line);
void expect_sky(struct sky_error *e, enum sky_code code, const char *part, const char *what, int line);
#define SKY_OKAY(call) expect_sky_ok((call), #call, __LINE__)
#define SKY_FAILS(call, code, part) expect_sky((call), (code), (part), #call, __LINE__)

#endif
