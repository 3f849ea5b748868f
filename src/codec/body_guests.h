/* body_guests.h - consumers that a proxy has, told to brokers (90021, a request of our own), and what clients answer to tools (307, 309).
 * Facts    docs/protocol/proxy.md; docs/protocol/remoting.md A15, A16
 * Owns     nothing: texts borrow, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_GUESTS_H
#define SKYLARK_CODEC_BODY_GUESTS_H

#include "codec/bean.h"

struct guest_row {
    struct slice address;               /* "ip:port" */
    struct slice client_id, group, language;
    int32_t version;
};

/* All consumers of one proxy that can be asked something. */
struct guest_list {
    BEAN_LIST(struct guest_row) rows;
};
extern const struct bean guest_list_bean;

/* Of a client's answer to 307 what a gRPC client tells. */
struct running_info {
    struct slice stack;                 /* p NULL: none */
};
extern const struct bean running_info_bean;

enum consume_outcome { CONSUMED, CONSUME_LATER, CONSUME_ROLLBACK, CONSUME_COMMIT, CONSUME_EXCEPTION, CONSUME_NULL };
struct consume_result {
    bool auto_commit;
    int32_t outcome;                    /* enum consume_outcome; -1: none */
    bool order;
    struct slice remark;
    int64_t spent_ms;
};
extern const struct bean consume_result_bean;

#endif
