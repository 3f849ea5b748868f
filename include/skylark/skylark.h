/* skylark.h - libskylark, a client for Skylark and Apache RocketMQ servers.
 *
 * Shape    opaque handles: a client (connections, routes, heartbeats) carries producers. Options are handles too: made, set, given
 *          to …_open(), which copies them. Nothing is global: a process may have many clients.
 * Threads  a client has one thread of its own for the network, and a pool for your callbacks (sky_client_options_set_callback_threads).
 *          Each function says which of these holds:
 *            any     from every thread, several at the same time
 *            one     one thread at a time for the same handle
 *          Functions that say "waits" block the calling thread, and fail with SKY_STATE in a callback of the same client when they
 *          would wait for that callback.
 * Owns     what …_new() and …_open() return is yours until …_free(), which takes NULL too. Texts and bytes that are given are copied;
 *          those that are returned belong to the handle they come from and live as long as it does.
 * Errors   a function that can fail returns a struct sky_error *: NULL is success, all else is yours to sky_error_free().
 *          Outputs (the last parameters) are untouched after a failure.
 * Units    milliseconds and bytes; times are milliseconds since 1970
 * Texts    UTF-8, NUL-terminated. */
#ifndef SKYLARK_SKYLARK_H
#define SKYLARK_SKYLARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SKY_API __attribute__((visibility("default")))
#define SKY_MUST_CHECK __attribute__((warn_unused_result))
#else
#define SKY_API
#define SKY_MUST_CHECK
#endif

#define SKY_VERSION "0.1.0"
/* Of the library that is loaded. Thread: any. */
SKY_API const char *sky_version(void);

/* --- errors --- */

enum sky_code {
    SKY_OK = 0,
    SKY_INVALID = 1,         /* an argument, option or message that can never be right; the text says which */
    SKY_STATE = 2,           /* not now: a blocking call from a callback that it would wait for */
    SKY_CLOSED = 3,          /* the handle was shut down, or is shutting down */
    SKY_TIMEOUT = 4,         /* no answer in time; what was asked for may have happened */
    SKY_NETWORK = 5,         /* no connection, or it broke; likewise */
    SKY_NO_ROUTE = 6,        /* no name server knows where the topic is */
    SKY_FULL = 7,            /* this producer has as many messages under way as it may */
    SKY_BUSY = 8,            /* the server takes no more at the moment */
    SKY_REFUSED = 9,         /* the server said no: sky_error_response() and the text tell why */
    SKY_PROTOCOL = 10,       /* an answer that cannot be read */
    SKY_MEMORY = 11,
    SKY_INTERNAL = 12
};

struct sky_error;
/* SKY_OK for NULL. Thread: any. */
SKY_API enum sky_code sky_error_code(const struct sky_error *e);
/* What went wrong, for people. Never NULL. */
SKY_API const char *sky_error_text(const struct sky_error *e);
/* The response code of the server's answer (17: no such topic …); 0 when no server answered. */
SKY_API int32_t sky_error_response(const struct sky_error *e);
SKY_API void sky_error_free(struct sky_error *e);
/* "TIMEOUT"; never NULL. */
SKY_API const char *sky_code_name(enum sky_code code);

/* --- clients --- */

enum sky_log_level { SKY_LOG_DEBUG = 0, SKY_LOG_INFO = 1, SKY_LOG_WARN = 2, SKY_LOG_ERROR = 3 };
/* One event, "route.changed topic=\"Orders\" queues=8", without a line's end. Called on the client's own threads; must not block and
 * must not call this library. */
typedef void sky_log_fn(void *user, enum sky_log_level level, const char *line);

struct sky_client;
struct sky_client_options;

SKY_API struct sky_client_options *sky_client_options_new(void);
SKY_API void sky_client_options_free(struct sky_client_options *o);
/* "10.0.0.1:9876;10.0.0.2:9876"; names, addresses, IPv6 in brackets. Needed. Thread of all setters: one. */
SKY_API struct sky_error *sky_client_options_set_name_servers(struct sky_client_options *o, const char *addresses) SKY_MUST_CHECK;
/* The client is known as IP@instance. Clients of one group need different ones; by default it is made of the process and a random number. */
SKY_API struct sky_error *sky_client_options_set_instance(struct sky_client_options *o, const char *name) SKY_MUST_CHECK;
/* The address in the client's name and message ids; by default this machine's first one that is not loopback. */
SKY_API struct sky_error *sky_client_options_set_address(struct sky_client_options *o, const char *ip) SKY_MUST_CHECK;
/* Of requests that are not sends: 100 to 600,000; default 3,000. */
SKY_API struct sky_error *sky_client_options_set_request_timeout_ms(struct sky_client_options *o, int64_t ms) SKY_MUST_CHECK;
/* 1,000 to 3,600,000; default 30,000 both. */
SKY_API struct sky_error *sky_client_options_set_route_refresh_ms(struct sky_client_options *o, int64_t ms) SKY_MUST_CHECK;
SKY_API struct sky_error *sky_client_options_set_heartbeat_ms(struct sky_client_options *o, int64_t ms) SKY_MUST_CHECK;
/* Threads that run your callbacks of this client: 1 to 1,000; default 4. */
SKY_API struct sky_error *sky_client_options_set_callback_threads(struct sky_client_options *o, int32_t threads) SKY_MUST_CHECK;
/* Where lines of at least that level go; by default nowhere. `user` is given to each call. */
SKY_API void sky_client_options_set_log(struct sky_client_options *o, enum sky_log_level level, sky_log_fn *log, void *user);

/* Starts the client's threads. Connects nowhere yet. Errors: SKY_INVALID, SKY_INTERNAL (no threads). Thread: any. */
SKY_API struct sky_error *sky_client_open(const struct sky_client_options *o, struct sky_client **out) SKY_MUST_CHECK;
/* "10.0.0.7@4711#…": how servers name it. Thread: any. */
SKY_API const char *sky_client_id(const struct sky_client *c);
/* Shuts down all that uses the client, says good-bye to the servers, ends its threads; callbacks that run end first. Waits: at
 * most as long as what is under way may take. Calls after it fail with SKY_CLOSED; a second call returns at once after the first.
 * Errors: SKY_STATE. Thread: any. */
SKY_API struct sky_error *sky_client_shutdown(struct sky_client *c) SKY_MUST_CHECK;
/* Shuts down first, if that was not done. Producers of it are freed before or after. Not in a callback. Thread: one. */
SKY_API void sky_client_free(struct sky_client *c);

/* --- messages --- */

struct sky_message;

/* A body of at least one byte. NULL topic or body make a message that every send refuses. Thread of all functions of messages: one;
 * a message that nobody changes may be read and sent by several threads. */
SKY_API struct sky_message *sky_message_new(const char *topic, const void *body, size_t bytes);
SKY_API void sky_message_free(struct sky_message *m);
SKY_API struct sky_error *sky_message_set_tag(struct sky_message *m, const char *tag) SKY_MUST_CHECK;
/* Blank-separated keys that the message is found by. */
SKY_API struct sky_error *sky_message_set_keys(struct sky_message *m, const char *keys) SKY_MUST_CHECK;
/* A property of yours. Names that the system uses are refused, and characters 1 and 2 in either. An empty or NULL value removes it. */
SKY_API struct sky_error *sky_message_set_property(struct sky_message *m, const char *name, const char *value) SKY_MUST_CHECK;
/* Delivered later, by a level of the server: 1 (1 s) to 18 (2 h) unless it is configured otherwise; 0 at once. */
SKY_API struct sky_error *sky_message_set_delay_level(struct sky_message *m, int32_t level) SKY_MUST_CHECK;
/* Delivered after so long, or at that time. The last one of these three that was set counts. */
SKY_API struct sky_error *sky_message_set_delay_ms(struct sky_message *m, int64_t ms) SKY_MUST_CHECK;
SKY_API struct sky_error *sky_message_set_deliver_at_ms(struct sky_message *m, int64_t time_ms) SKY_MUST_CHECK;
/* Any number of yours. */
SKY_API void sky_message_set_flag(struct sky_message *m, int32_t flag);
/* false: answered before the server's disk or replica has it, where the server is told to wait for them. Default true. */
SKY_API void sky_message_set_wait_stored(struct sky_message *m, bool wait);

SKY_API const char *sky_message_topic(const struct sky_message *m);
SKY_API const void *sky_message_body(const struct sky_message *m, size_t *bytes);
/* NULL when it has none. */
SKY_API const char *sky_message_tag(const struct sky_message *m);
SKY_API const char *sky_message_keys(const struct sky_message *m);
/* Of any name, the system's too; NULL when it has none. */
SKY_API const char *sky_message_property(const struct sky_message *m, const char *name);
SKY_API int32_t sky_message_flag(const struct sky_message *m);

/* Of a message that was received; of one of your own NULL, 0, or -1. */
SKY_API const char *sky_message_id(const struct sky_message *m);          /* the one its sender was told */
SKY_API const char *sky_message_broker(const struct sky_message *m);
SKY_API int32_t sky_message_queue_id(const struct sky_message *m);
SKY_API int64_t sky_message_queue_offset(const struct sky_message *m);
SKY_API int64_t sky_message_born_ms(const struct sky_message *m);
SKY_API int64_t sky_message_stored_ms(const struct sky_message *m);
SKY_API const char *sky_message_born_host(const struct sky_message *m);   /* "10.0.0.7:51234" */
/* How many times it was consumed before without success. */
SKY_API int32_t sky_message_reconsume_times(const struct sky_message *m);

/* --- producers --- */

struct sky_producer;
struct sky_producer_options;

enum sky_compression { SKY_LZ4 = 1, SKY_ZSTD = 2, SKY_ZLIB = 3 };

/* The producer group, by which servers know who asks and answers for transactions. NULL or a wrong name: refused by sky_producer_open(). */
SKY_API struct sky_producer_options *sky_producer_options_new(const char *group);
SKY_API void sky_producer_options_free(struct sky_producer_options *o);
/* All tries of one send together: 1 to 600,000; default 3,000. Thread of all setters: one. */
SKY_API struct sky_error *sky_producer_options_set_send_timeout_ms(struct sky_producer_options *o, int64_t ms) SKY_MUST_CHECK;
/* One try, so that another broker gets a turn when the first is silent: 1 to 600,000; by default a try takes what is left of the whole. */
SKY_API struct sky_error *sky_producer_options_set_try_timeout_ms(struct sky_producer_options *o, int64_t ms) SKY_MUST_CHECK;
/* Further tries after the first one, at other brokers where there are any: 0 to 100; default 2. */
SKY_API struct sky_error *sky_producer_options_set_retries(struct sky_producer_options *o, int32_t retries) SKY_MUST_CHECK;
/* true: tries again when a server has the message but not yet on its disk or replica. Default false. */
SKY_API void sky_producer_options_set_retry_when_not_stored(struct sky_producer_options *o, bool retry);
/* Bodies of so many bytes and more are compressed: 1 to 4,194,304, 0 never; default 4,096. */
SKY_API struct sky_error *sky_producer_options_set_compress_from_bytes(struct sky_producer_options *o, int64_t bytes) SKY_MUST_CHECK;
/* Level 1 to 12 for zlib (default, 5), 0 to 12 for lz4, 1 to 19 for zstd. */
SKY_API struct sky_error *sky_producer_options_set_compression(struct sky_producer_options *o, enum sky_compression kind, int32_t level) SKY_MUST_CHECK;
/* The largest body: 1 to 16,000,000; default 4,194,304. */
SKY_API struct sky_error *sky_producer_options_set_max_message_bytes(struct sky_producer_options *o, int64_t bytes) SKY_MUST_CHECK;
/* What may be under way at once: messages 1 to 1,000,000, default 10,000; bytes of bodies 1 to 2^40, default 104,857,600. One message
 * may always be. */
SKY_API struct sky_error *sky_producer_options_set_max_pending(struct sky_producer_options *o, int64_t messages, int64_t bytes) SKY_MUST_CHECK;
/* true: avoids brokers that were slow or failed for a while (2 to 30 s). Default false. */
SKY_API void sky_producer_options_set_avoid_slow(struct sky_producer_options *o, bool avoid);
/* Of a topic that the server makes when it is not there: 1 to 65,536 queues; default 4. */
SKY_API struct sky_error *sky_producer_options_set_new_topic_queues(struct sky_producer_options *o, int32_t queues) SKY_MUST_CHECK;

/* Announces the producer to brokers as they become known. Errors: SKY_INVALID, SKY_CLOSED. Thread: any. */
SKY_API struct sky_error *sky_producer_open(struct sky_client *c, const struct sky_producer_options *o, struct sky_producer **out) SKY_MUST_CHECK;
/* Asks for the route of a topic, and connects, so that the first send does not wait for it. Waits at most the client's request timeout
 * for each name server. Errors: SKY_INVALID, SKY_NO_ROUTE, SKY_NETWORK, SKY_TIMEOUT, SKY_CLOSED. Thread: any. */
SKY_API struct sky_error *sky_producer_preload(struct sky_producer *p, const char *topic) SKY_MUST_CHECK;
/* Takes no more sends; those under way end as they would, and their callbacks. Waits for them. Errors: SKY_STATE. Thread: any. */
SKY_API struct sky_error *sky_producer_shutdown(struct sky_producer *p) SKY_MUST_CHECK;
/* Shuts down first, if that was not done. Not in a callback. Thread: one. */
SKY_API void sky_producer_free(struct sky_producer *p);

/* One queue of a topic. */
struct sky_queue {
    const char *broker;      /* its name */
    int32_t id;
};
/* Chooses the queue for a message: an index below `count`. Runs on the client's network thread: must not block. The queues are sorted
 * by broker and id, and are those of the topic's route now. */
typedef size_t sky_selector(void *user, const struct sky_queue *queues, size_t count, const struct sky_message *m);

/* How one send is done; NULL stands for the defaults. May be used for many sends. */
struct sky_send_options;
SKY_API struct sky_send_options *sky_send_options_new(void);
SKY_API void sky_send_options_free(struct sky_send_options *o);
/* Instead of the producer's: 1 to 600,000. */
SKY_API struct sky_error *sky_send_options_set_timeout_ms(struct sky_send_options *o, int64_t ms) SKY_MUST_CHECK;
/* To this queue and no other: it is tried once. */
SKY_API struct sky_error *sky_send_options_set_queue(struct sky_send_options *o, const char *broker, int32_t id) SKY_MUST_CHECK;
/* To the queue that the function chooses: it is tried once. */
SKY_API void sky_send_options_set_selector(struct sky_send_options *o, sky_selector *selector, void *user);
/* To the queue that the hash of the text chooses, the same one as long as the number of queues stays: messages of one text keep
 * their order. The text travels as the property __SHARDINGKEY. */
SKY_API struct sky_error *sky_send_options_set_order_key(struct sky_send_options *o, const char *key) SKY_MUST_CHECK;

enum sky_stored {
    SKY_STORED = 0,                /* as durable as the server is told to make it */
    SKY_STORED_NOT_FLUSHED = 1,    /* the server has it; its disk did not say so in time */
    SKY_STORED_NOT_COPIED = 2,     /* the server has it; its replica did not say so in time */
    SKY_STORED_NO_REPLICA = 3      /* the server has it; there is no replica to wait for */
};

/* What the server said of a message that it stored. */
struct sky_receipt;
SKY_API void sky_receipt_free(struct sky_receipt *r);
SKY_API enum sky_stored sky_receipt_stored(const struct sky_receipt *r);
/* The id that the message was given here (its UNIQ_KEY); of a batch, those of its messages, joined by commas. */
SKY_API const char *sky_receipt_message_id(const struct sky_receipt *r);
/* The id that says where it lies; likewise. */
SKY_API const char *sky_receipt_offset_id(const struct sky_receipt *r);
SKY_API const char *sky_receipt_broker(const struct sky_receipt *r);
SKY_API int32_t sky_receipt_queue_id(const struct sky_receipt *r);
/* Of the first message of a batch. */
SKY_API int64_t sky_receipt_queue_offset(const struct sky_receipt *r);
/* For taking back a delayed message; NULL when the server gave none. */
SKY_API const char *sky_receipt_recall_handle(const struct sky_receipt *r);
/* How many times it was sent: 1 unless a try failed. */
SKY_API int32_t sky_receipt_tries(const struct sky_receipt *r);

/* How a send ended: `error` or `receipt` is not NULL; both belong to the library and live until it returns. Runs once on a callback
 * thread, whatever happens to the producer. */
typedef void sky_sent_fn(void *user, const struct sky_error *error, const struct sky_receipt *receipt);

/* Sends and waits. out may be NULL. A failure with SKY_TIMEOUT or SKY_NETWORK does not tell that the message was not stored.
 * Errors: SKY_INVALID, SKY_CLOSED, SKY_FULL (when there was no room within the timeout), and how the last try ended. Thread: any. */
SKY_API struct sky_error *sky_producer_send(struct sky_producer *p, const struct sky_message *m, const struct sky_send_options *o,
                                            struct sky_receipt **out) SKY_MUST_CHECK;
/* Sends and returns at once; the message is copied. When it fails here (SKY_INVALID, SKY_CLOSED, SKY_FULL), `sent` does not run. Thread: any. */
SKY_API struct sky_error *sky_producer_send_async(struct sky_producer *p, const struct sky_message *m, const struct sky_send_options *o,
                                                  sky_sent_fn *sent, void *user) SKY_MUST_CHECK;
/* Sends once, and nobody learns whether it arrived. Errors: SKY_INVALID, SKY_CLOSED, SKY_FULL. Thread: any. */
SKY_API struct sky_error *sky_producer_send_oneway(struct sky_producer *p, const struct sky_message *m, const struct sky_send_options *o) SKY_MUST_CHECK;
/* Messages of one topic, stored together or not at all. None may be delayed, and their bodies together have the limit of one. */
SKY_API struct sky_error *sky_producer_send_batch(struct sky_producer *p, const struct sky_message *const *messages, size_t count,
                                                  const struct sky_send_options *o, struct sky_receipt **out) SKY_MUST_CHECK;
SKY_API struct sky_error *sky_producer_send_batch_async(struct sky_producer *p, const struct sky_message *const *messages, size_t count,
                                                        const struct sky_send_options *o, sky_sent_fn *sent, void *user) SKY_MUST_CHECK;

/* What a producer did since it was opened. */
struct sky_producer_statistics {
    size_t size;                 /* set it to sizeof(struct sky_producer_statistics) */
    int64_t sent;                /* sends that a server confirmed; a batch is one */
    int64_t failed;              /* sends that ended with an error */
    int64_t retried;             /* tries after the first */
    int64_t pending_messages;    /* under way now */
    int64_t pending_bytes;
};
/* Errors: SKY_INVALID (size). Thread: any. */
SKY_API struct sky_error *sky_producer_get_statistics(const struct sky_producer *p, struct sky_producer_statistics *out) SKY_MUST_CHECK;

/* --- push consumers: messages come to a callback --- */

struct sky_push_consumer;
struct sky_push_consumer_options;

enum sky_start {
    SKY_START_LAST = 0,          /* with what comes from now on */
    SKY_START_FIRST = 1,         /* with the oldest message there is */
    SKY_START_AT_TIME = 2        /* with what was stored at a time or later */
};

enum sky_allocation {
    SKY_ALLOCATE_AVERAGE = 0,    /* runs of neighbouring queues */
    SKY_ALLOCATE_CIRCLE = 1,     /* one in turn */
    SKY_ALLOCATE_HASH = 2        /* who comes or goes moves few queues */
};
/* Chooses which queues of a topic this client has: sets mine[i]. All lists are sorted; self is the place of this client. All members of a
 * group must choose alike. Runs on the client's network thread: must not block. */
typedef void sky_allocate_fn(void *user, const char *topic, const char *const *clients, size_t client_count, size_t self,
                             const struct sky_queue *queues, size_t count, bool *mine);

/* The consumer group: its members share the work, of whatever language they are. NULL or a wrong name: refused by …_open(). */
SKY_API struct sky_push_consumer_options *sky_push_consumer_options_new(const char *group);
SKY_API void sky_push_consumer_options_free(struct sky_push_consumer_options *o);
/* true: each member gets every message, none is tried again, and how far it is stays in a file of this machine. Default false. */
SKY_API void sky_push_consumer_options_set_broadcast(struct sky_push_consumer_options *o, bool broadcast);
/* true: messages of a queue come one after the other, each only when the one before it succeeded. Default false. Thread of all setters: one. */
SKY_API void sky_push_consumer_options_set_ordered(struct sky_push_consumer_options *o, bool ordered);
/* Where a group begins that never consumed the topic; time_ms for SKY_START_AT_TIME. Default SKY_START_LAST. */
SKY_API struct sky_error *sky_push_consumer_options_set_start(struct sky_push_consumer_options *o, enum sky_start start, int64_t time_ms) SKY_MUST_CHECK;
/* Threads that run the callback: 1 to 1,000; default 20. */
SKY_API struct sky_error *sky_push_consumer_options_set_threads(struct sky_push_consumer_options *o, int32_t threads) SKY_MUST_CHECK;
/* At most so many messages in one call of the callback: 1 to 1,024; default 1. */
SKY_API struct sky_error *sky_push_consumer_options_set_batch(struct sky_push_consumer_options *o, int32_t messages) SKY_MUST_CHECK;
/* At most so many in one answer of a broker: 1 to 1,024; default 32. */
SKY_API struct sky_error *sky_push_consumer_options_set_pull_batch(struct sky_push_consumer_options *o, int32_t messages) SKY_MUST_CHECK;
/* What of one queue may wait here before no more is fetched: messages (1 to 65,535; 1,000), MiB (1 to 1,024; 100), distance of the oldest
 * and the newest (1 to 65,535; 2,000; not for ordered ones). */
SKY_API struct sky_error *sky_push_consumer_options_set_queue_limits(struct sky_push_consumer_options *o, int32_t messages, int32_t mib, int32_t span) SKY_MUST_CHECK;
/* The same for all queues of a topic that this member has: messages, MiB; 0: no such limit, the default. */
SKY_API struct sky_error *sky_push_consumer_options_set_topic_limits(struct sky_push_consumer_options *o, int32_t messages, int32_t mib) SKY_MUST_CHECK;
/* Failures after which a message becomes a dead letter: 0 to 2^31-1, -1 the default: 16, and no limit for ordered ones. */
SKY_API struct sky_error *sky_push_consumer_options_set_max_reconsume_times(struct sky_push_consumer_options *o, int32_t times) SKY_MUST_CHECK;
/* A message whose callback runs longer counts as failed: 1,000 to 86,400,000; default 900,000. */
SKY_API struct sky_error *sky_push_consumer_options_set_consume_timeout_ms(struct sky_push_consumer_options *o, int64_t ms) SKY_MUST_CHECK;
/* Default SKY_ALLOCATE_AVERAGE. */
SKY_API struct sky_error *sky_push_consumer_options_set_allocation(struct sky_push_consumer_options *o, enum sky_allocation how) SKY_MUST_CHECK;
SKY_API void sky_push_consumer_options_set_allocator(struct sky_push_consumer_options *o, sky_allocate_fn *allocate, void *user);

enum sky_consumed {
    SKY_CONSUMED = 0,
    SKY_CONSUME_LATER = 1        /* failed: comes again later; ordered: the queue waits and then begins with it */
};
/* More about one call of the callback; only during it. */
struct sky_consume_context;
/* Of several messages only the first so many succeeded, though the callback returns SKY_CONSUMED. Not for ordered ones. */
SKY_API void sky_consume_context_set_consumed(struct sky_consume_context *x, size_t count);
/* When it comes again: a level of the server; 0, the default: later with each failure; below 0: never, it is a dead letter. */
SKY_API void sky_consume_context_set_delay_level(struct sky_consume_context *x, int32_t level);
/* How long an ordered queue waits after SKY_CONSUME_LATER: 10 to 30,000; default 1,000. */
SKY_API struct sky_error *sky_consume_context_set_suspend_ms(struct sky_consume_context *x, int64_t ms) SKY_MUST_CHECK;

/* Messages of one queue, in its order. They belong to the library and live until it returns. Runs on a thread of the consumer. */
typedef enum sky_consumed sky_consume_fn(void *user, struct sky_consume_context *x, const struct sky_message *const *messages, size_t count);

/* Announces the consumer. Nothing comes before it subscribes. Errors: SKY_INVALID, SKY_CLOSED, SKY_INTERNAL (no threads). Thread: any. */
SKY_API struct sky_error *sky_push_consumer_open(struct sky_client *c, const struct sky_push_consumer_options *o, sky_consume_fn *consume,
                                                 void *user, struct sky_push_consumer **out) SKY_MUST_CHECK;
/* Messages of a topic whose tag is one of "a || b"; NULL or "*": all. A second call for a topic replaces the first. All members of a group
 * must subscribe alike. Errors: SKY_INVALID, SKY_CLOSED. Thread: any. */
SKY_API struct sky_error *sky_push_consumer_subscribe(struct sky_push_consumer *p, const char *topic, const char *tags) SKY_MUST_CHECK;
/* Those whose properties fulfil an SQL92 expression: "colour = 'green' and size > 3". The servers judge it: when it is wrong nothing comes,
 * and the log says why. */
SKY_API struct sky_error *sky_push_consumer_subscribe_sql(struct sky_push_consumer *p, const char *topic, const char *expression) SKY_MUST_CHECK;
SKY_API struct sky_error *sky_push_consumer_unsubscribe(struct sky_push_consumer *p, const char *topic) SKY_MUST_CHECK;
/* Fetches nothing more, until it is resumed. */
SKY_API struct sky_error *sky_push_consumer_suspend(struct sky_push_consumer *p, bool suspended) SKY_MUST_CHECK;
/* Fetches nothing more; callbacks that run end, messages that wait here are left to others; how far it is is told to the servers. Waits for
 * it. Errors: SKY_STATE. Thread: any. */
SKY_API struct sky_error *sky_push_consumer_shutdown(struct sky_push_consumer *p) SKY_MUST_CHECK;
/* Shuts down first, if that was not done. Not in a callback. Thread: one. */
SKY_API void sky_push_consumer_free(struct sky_push_consumer *p);

struct sky_push_consumer_statistics {
    size_t size;                 /* set it to sizeof(struct sky_push_consumer_statistics) */
    int64_t consumed;            /* messages whose callback succeeded */
    int64_t failed;              /* messages whose callback did not */
    int64_t pulled;              /* messages that came */
    int64_t queues;              /* that this member has now */
    int64_t waiting_messages;    /* that came and are not done */
    int64_t waiting_bytes;
};
/* Errors: SKY_INVALID (size). Thread: any. */
SKY_API struct sky_error *sky_push_consumer_get_statistics(const struct sky_push_consumer *p, struct sky_push_consumer_statistics *out) SKY_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
