/* message.h - a message as its user sees it. The room's own.
 * Shape    properties by name, in the order they were set; their text on the wire is made when it is sent
 * Threads  one, or several that only read
 * Owns     its bytes */
#ifndef SKYLARK_CLIENT_MESSAGE_H
#define SKYLARK_CLIENT_MESSAGE_H

#include "base/buf.h"
#include "base/map.h"

#include "codec/message.h"

#include <skylark/skylark.h>

/* What only a message has that was received. */
struct arrival {
    char *id;                    /* UNIQ_KEY, else its offset id */
    char *broker;
    char *born_host;
    int32_t queue_id;
    int64_t queue_offset, log_offset;
    int64_t born_ms, stored_ms;
    int32_t reconsume_times;
    int32_t sys_flag;            /* of its body: how it is compressed, while it is */
};

struct sky_message {
    struct arrival *arrival;     /* NULL: it was made here */
    char *topic;                 /* NULL: none was given */
    struct buf body;
    struct map properties;       /* char * */
    int32_t flag;
    bool dont_wait;              /* for disk and replica */
};

/* Errors: INVALID: topic, body or properties that no server takes. */
err_t message_check(const struct sky_message *m, int64_t max_body_bytes) MUST_CHECK;
/* Appends the properties as they travel, WAIT included. */
void message_properties(const struct sky_message *m, struct buf *out);
/* Of any name and value; NULL removes. */
void message_put(struct sky_message *m, struct slice name, const char *value);
/* A message that a broker sent. What was to be tried again has its first topic. */
struct sky_message *message_received(const struct message *m, const char *broker);
/* Opens a compressed body, once; one that cannot be opened stays as it came. */
void message_open(struct sky_message *m);
bool message_is_delayed(const struct sky_message *m);
struct sky_message *message_copy(const struct sky_message *m);

#endif
