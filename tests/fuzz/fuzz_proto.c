/* Every message of the gRPC interface. What decodes, encodes; and that decodes again. */
#include "fuzz/fuzz.h"

#include "base/buf.h"
#include "codec/proto/rocketmq_v2.h"

static const struct pb_message *const kinds[] = {
    &v2_query_route_request_pb, &v2_send_message_request_pb, &v2_query_assignment_request_pb, &v2_receive_message_request_pb,
    &v2_ack_message_request_pb, &v2_forward_message_to_dead_letter_queue_request_pb, &v2_heartbeat_request_pb,
    &v2_end_transaction_request_pb, &v2_telemetry_command_pb, &v2_notify_client_termination_request_pb,
    &v2_change_invisible_duration_request_pb, &v2_pull_message_request_pb, &v2_update_offset_request_pb, &v2_get_offset_request_pb,
    &v2_query_offset_request_pb, &v2_recall_message_request_pb, &v2_sync_lite_subscription_request_pb, &v2_receive_message_response_pb,
};

static void try_kind(const struct pb_message *kind, struct slice bytes)
{
    struct arena arena = ARENA_EMPTY;
    arena.limit = 4 << 20;
    void *value = arena_take(&arena, kind->size);
    err_t e = pb_decode(kind, bytes, &arena, value);
    if (!e) {
        struct pb_out out = PB_OUT_EMPTY;
        struct buf again = BUF_EMPTY;
        struct arena second = ARENA_EMPTY;
        out.big_bytes = 16;
        pb_encode(kind, value, &out);
        pb_out_copy(&out, &again);
        FUZZ_EXPECT(again.n == pb_out_size(&out));
        e = pb_decode(kind, buf_slice(&again), &second, arena_take(&second, kind->size));
        FUZZ_EXPECT(!e);
        arena_done(&second);
        buf_done(&again);
        pb_out_done(&out);
    }
    err_free(e);
    arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    uint8_t *copy = fuzz_copy(p, n);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) try_kind(kinds[i], slice_of(copy, n));
    free(copy);
    return 0;
}
