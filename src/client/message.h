/* message.h - a message as its user sees it. The room's own.
 * Shape    properties by name, in the order they were set; their text on the wire is made when it is sent
 * Threads  one, or several that only read
 * Owns     its bytes */
#ifndef SKYLARK_CLIENT_MESSAGE_H
#define SKYLARK_CLIENT_MESSAGE_H

#include "base/buf.h"
#include "base/map.h"

#include <skylark/skylark.h>

struct sky_message {
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
bool message_is_delayed(const struct sky_message *m);
struct sky_message *message_copy(const struct sky_message *m);

#endif
