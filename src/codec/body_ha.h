/* body_ha.h - who follows a broker's log (907).
 * Facts    docs/protocol/remoting.md 4.2
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_HA_H
#define SKYLARK_CODEC_BODY_HA_H

#include "codec/bean.h"

/* How a follower is doing. */
struct ha_client {
    int64_t last_read_ms;
    int64_t last_write_ms;
    struct slice master;            /* p NULL: none */
    int64_t master_flush_offset;
    int64_t max_offset;
    int64_t bytes_per_second;
};

/* One follower, as its master sees it. */
struct ha_connection {
    struct slice address;
    int64_t diff;                   /* bytes that it has not acknowledged */
    bool in_sync;
    int64_t ack_offset;
    int64_t from_offset;
    int64_t bytes_per_second;
};

struct ha_status {
    struct ha_client client;
    BEAN_LIST(struct ha_connection) connections;
    int32_t in_sync;                /* followers that keep up */
    bool master;
    int64_t log_max_offset;
};

extern const struct bean ha_status_bean;

#endif
