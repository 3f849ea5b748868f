/* body_heartbeat.h - what a client tells a broker about itself: its groups and their subscriptions (34 HEART_BEAT).
 * Facts    docs/protocol/remoting.md A2; vectors: json_dialect, heartbeat_fingerprint
 * Owns     nothing: texts borrow from the body, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_HEARTBEAT_H
#define SKYLARK_CODEC_BODY_HEARTBEAT_H

#include "codec/body_subscription.h"

/* -1: not given, or not known here. */
enum consume_type { CONSUME_NONE = -1, CONSUME_ACTIVELY, CONSUME_PASSIVELY, CONSUME_POP };
enum message_model { MODEL_NONE = -1, MODEL_BROADCASTING, MODEL_CLUSTERING };
enum consume_from {
    FROM_NONE = -1,
    FROM_LAST_OFFSET,
    FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST,
    FROM_MIN_OFFSET,
    FROM_MAX_OFFSET,
    FROM_FIRST_OFFSET,
    FROM_TIMESTAMP,
};
extern const char *const consume_type_names[];     /* NULL-terminated, for bean_choice */
extern const char *const message_model_names[];
extern const char *const consume_from_names[];

struct heartbeat_consumer {
    struct slice group;
    int32_t type;                       /* enum consume_type */
    int32_t model;                      /* enum message_model */
    int32_t from;                       /* enum consume_from */
    bool unit_mode;
    BEAN_LIST(struct subscription) subscriptions;
};

struct heartbeat_producer {
    struct slice group;
};

struct heartbeat {
    struct slice client_id;
    BEAN_LIST(struct heartbeat_consumer) consumers;
    BEAN_LIST(struct heartbeat_producer) producers;
    int32_t fingerprint;                /* 0: heartbeat of the first kind */
    bool without_sub;                   /* of the second kind: nothing changed, the subscriptions are left out */
};

extern const struct bean heartbeat_bean;

err_t heartbeat_decode(struct slice body, struct arena *arena, struct heartbeat *out) MUST_CHECK;

#endif
