#include "codec/body_ha.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

static const struct bean_field client_rows[] = {
    ROW(ha_client, last_read_ms, "lastReadTimestamp", i64, NULL),
    ROW(ha_client, last_write_ms, "lastWriteTimestamp", i64, NULL),
    ROW(ha_client, master, "masterAddr", text, NULL),
    ROW(ha_client, master_flush_offset, "masterFlushOffset", i64, NULL),
    ROW(ha_client, max_offset, "maxOffset", i64, NULL),
    ROW(ha_client, bytes_per_second, "transferredByteInSecond", i64, NULL),
};
static const struct bean client_bean = BEAN(struct ha_client, client_rows, NULL);

static const struct bean_field connection_rows[] = {
    ROW(ha_connection, address, "addr", text, NULL),
    ROW(ha_connection, diff, "diff", i64, NULL),
    ROW(ha_connection, in_sync, "inSync", bool, NULL),
    ROW(ha_connection, ack_offset, "slaveAckOffset", i64, NULL),
    ROW(ha_connection, from_offset, "transferFromWhere", i64, NULL),
    ROW(ha_connection, bytes_per_second, "transferredByteInSecond", i64, NULL),
};
static const struct bean connection_bean = BEAN(struct ha_connection, connection_rows, NULL);

static const struct bean_field status_rows[] = {
    ROW(ha_status, client, "haClientRuntimeInfo", part, &client_bean),
    ROW(ha_status, connections, "haConnectionInfo", list, &connection_bean),
    ROW(ha_status, in_sync, "inSyncSlaveNums", i32, NULL),
    ROW(ha_status, master, "master", bool, NULL),
    ROW(ha_status, log_max_offset, "masterCommitLogMaxOffset", i64, NULL),
};
const struct bean ha_status_bean = BEAN(struct ha_status, status_rows, NULL);
