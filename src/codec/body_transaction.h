/* body_transaction.h - the transactions that are open (90001, a request of our own).
 * Facts    docs/protocol/transactions.md
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_TRANSACTION_H
#define SKYLARK_CODEC_BODY_TRANSACTION_H

#include "codec/bean.h"

struct open_transaction {
    int64_t born_ms;
    int32_t checks;             /* how often its producer was asked */
    int64_t log_offset;         /* of the newest copy of the half message */
    int64_t queue_offset;       /* likewise, in the half queue */
    int32_t queue_id;           /* where it goes when it is committed */
    struct slice topic;
    struct slice group;         /* of the producer */
    struct slice key;           /* UNIQ_KEY */
};

struct open_transactions {
    int64_t open;               /* all there are */
    int64_t next_offset;        /* fromOffset of the next request; -1: that was all */
    BEAN_LIST(struct open_transaction) rows;
};

extern const struct bean open_transactions_bean;

#endif
