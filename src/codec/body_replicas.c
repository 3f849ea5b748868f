#include "codec/body_replicas.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

static const struct bean_field replica_rows[] = {
    ROW(replica, alive, "alive", bool, NULL),
    ROW(replica, address, "brokerAddress", text, NULL),
    ROW(replica, id, "brokerId", i64, NULL),
};
static const struct bean replica_bean = BEAN(struct replica, replica_rows, NULL);

static const struct bean_field set_rows[] = {
    ROW(replica_set, in_sync, "inSyncReplicas", list, &replica_bean),
    ROW(replica_set, master_id, "masterBrokerId", i64, NULL),
    ROW(replica_set, master_epoch, "masterEpoch", i32, NULL),
    ROW(replica_set, behind, "notInSyncReplicas", list, &replica_bean),
    ROW(replica_set, epoch, "syncStateSetEpoch", i32, NULL),
};
static const struct replica_set blank_set = {.master_id = -1};
static const struct bean set_bean = BEAN(struct replica_set, set_rows, &blank_set);

static const struct bean_table_of sets_by_name = {&set_bean, offsetof(struct replica_set, name)};
static const struct bean_field sets_rows[] = {ROW(replica_sets, list, "replicasInfoTable", table, &sets_by_name)};
const struct bean replica_sets_bean = BEAN(struct replica_sets, sets_rows, NULL);
