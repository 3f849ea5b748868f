#include "codec/body_transaction.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

static const struct bean_field row_rows[] = {
    ROW(open_transaction, born_ms, "bornTimestamp", i64, NULL),
    ROW(open_transaction, checks, "checkTimes", i32, NULL),
    ROW(open_transaction, log_offset, "commitLogOffset", i64, NULL),
    ROW(open_transaction, group, "producerGroup", text, NULL),
    ROW(open_transaction, queue_id, "queueId", i32, NULL),
    ROW(open_transaction, queue_offset, "queueOffset", i64, NULL),
    ROW(open_transaction, topic, "topic", text, NULL),
    ROW(open_transaction, key, "uniqKey", text, NULL),
};
static const struct bean row_bean = BEAN(struct open_transaction, row_rows, NULL);

static const struct bean_field list_rows[] = {
    ROW(open_transactions, next_offset, "nextOffset", i64, NULL),
    ROW(open_transactions, open, "open", i64, NULL),
    ROW(open_transactions, rows, "transactions", list, &row_bean),
};
const struct bean open_transactions_bean = BEAN(struct open_transactions, list_rows, NULL);
