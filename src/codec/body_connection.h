/* body_connection.h - who is connected: consumers of a group (203), producers of a group (204).
 * Facts    docs/protocol/remoting.md 4.2
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_CONNECTION_H
#define SKYLARK_CODEC_BODY_CONNECTION_H

#include "codec/body_heartbeat.h"

struct connection_row {
    struct slice client_id;
    struct slice address;               /* "ip:port" */
    struct slice language;              /* "JAVA" */
    int32_t version;
};

struct producer_connections {
    BEAN_LIST(struct connection_row) connections;
};

struct consumer_connections {
    BEAN_LIST(struct connection_row) connections;
    BEAN_LIST(struct subscription) subscriptions;   /* by topic */
    int32_t type;                       /* enum consume_type */
    int32_t model;                      /* enum message_model */
    int32_t from;                       /* enum consume_from */
};

extern const struct bean producer_connections_bean;
extern const struct bean consumer_connections_bean;

#endif
