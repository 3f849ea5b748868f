/* EndTransaction: a prepared message is committed or rolled back. Facts: docs/protocol/grpc.md 9.4 */
#include "proxy/checks.h"

#include "codec/message.h"
#include "codec/requests.h"

static int32_t commit_or_rollback(int32_t resolution)
{
    switch (resolution) {
    case V2_TRANSACTION_RESOLUTION_COMMIT: return SYS_FLAG_TRANSACTION_COMMIT;
    case V2_TRANSACTION_RESOLUTION_ROLLBACK: return SYS_FLAG_TRANSACTION_ROLLBACK;
    default: return SYS_FLAG_TRANSACTION_NONE;
    }
}

static void send(const struct v2_end_transaction_request *q, const struct transaction_end *end)
{
    struct end_transaction_header h = {
        .topic = q->topic->name, .producer_group = q->topic->name, .commit_or_rollback = commit_or_rollback(q->resolution),
        .from_transaction_check = q->source == V2_TRANSACTION_SOURCE_SOURCE_SERVER_CHECK, .msg_id = q->message_id,
        .transaction_id = q->transaction_id, .tran_state_table_offset = end->queue_offset, .commit_log_offset = end->log_offset,
        .bname = slice_text(end->broker->name),
    };
    header_set(&h, end_transaction, from_transaction_check);
    struct rpc_request r = {.code = REQUEST_END_TRANSACTION, .kind = &end_transaction_kind, .header = &h};
    broker_request(end->broker, &r);
}

void serve_end_transaction(struct request *r)
{
    const struct v2_end_transaction_request *q = r->in;
    struct transaction_end end;
    if (!check_topic(r, q->topic)) return;
    if (is_blank(q->transaction_id)) {
        request_refuse(r, V2_CODE_INVALID_TRANSACTION_ID, "transaction id cannot be empty");
    } else if (!transactions_take(&r->proxy->transactions, q->topic->name, q->transaction_id, &end)) {
        request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "cannot found transaction data");
    } else {
        send(q, &end);
        request_ok(r);
    }
}
