/* body_replicas.h - which replicas of brokers are in step, as a controller of the original tells it (1006).
 * Facts    BrokerReplicasInfo of the original: {"replicasInfoTable":{"a":{"inSyncReplicas":[{"alive":true,"brokerAddress":"10.0.0.2:1",
 *          "brokerId":1,"brokerName":"a"}],"masterAddress":…,"masterBrokerId":1,"masterEpoch":2,"notInSyncReplicas":[],"syncStateSetEpoch":3}}}
 * Owns     nothing: texts borrow, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_REPLICAS_H
#define SKYLARK_CODEC_BODY_REPLICAS_H

#include "codec/bean.h"

struct replica {
    bool alive;
    struct slice address;
    int64_t id;
};

struct replica_set {
    struct slice name;              /* of the broker group */
    BEAN_LIST(struct replica) in_sync;
    BEAN_LIST(struct replica) behind;
    int64_t master_id;              /* -1: there is none */
    int32_t master_epoch;
    int32_t epoch;                  /* syncStateSetEpoch */
};

struct replica_sets {
    BEAN_LIST(struct replica_set) list;
};

extern const struct bean replica_sets_bean;

#endif
