/* body_check_client.h - a consumer asks before it starts whether its expression will be understood (46 CHECK_CLIENT_CONFIG).
 * Facts    docs/protocol/remoting.md A4
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_CHECK_CLIENT_H
#define SKYLARK_CODEC_BODY_CHECK_CLIENT_H

#include "codec/body_subscription.h"

struct check_client {
    struct slice client_id;
    struct slice group;
    struct subscription *subscription;   /* NULL: none given */
};

extern const struct bean check_client_bean;

#endif
