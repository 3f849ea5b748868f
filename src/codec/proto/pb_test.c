#include "codec/proto/rocketmq_v2.h"

#include "codec/stored_kit.h"

#include <stdlib.h>

static const struct pb_message *const kinds[] = {
    &v2_query_route_request_pb, &v2_query_route_response_pb, &v2_send_message_request_pb, &v2_send_message_response_pb,
    &v2_query_assignment_request_pb, &v2_query_assignment_response_pb, &v2_receive_message_request_pb, &v2_receive_message_response_pb,
    &v2_ack_message_request_pb, &v2_ack_message_response_pb, &v2_forward_message_to_dead_letter_queue_request_pb,
    &v2_forward_message_to_dead_letter_queue_response_pb, &v2_heartbeat_request_pb, &v2_heartbeat_response_pb,
    &v2_end_transaction_request_pb, &v2_end_transaction_response_pb, &v2_telemetry_command_pb, &v2_notify_client_termination_request_pb,
    &v2_notify_client_termination_response_pb, &v2_change_invisible_duration_request_pb, &v2_change_invisible_duration_response_pb,
    &v2_pull_message_request_pb, &v2_pull_message_response_pb, &v2_update_offset_request_pb, &v2_update_offset_response_pb,
    &v2_get_offset_request_pb, &v2_get_offset_response_pb, &v2_query_offset_request_pb, &v2_query_offset_response_pb,
    &v2_recall_message_request_pb, &v2_recall_message_response_pb, &v2_sync_lite_subscription_request_pb,
    &v2_sync_lite_subscription_response_pb,
};

static const struct pb_message *kind_named(struct slice name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (slice_eq(slice_text(kinds[i]->name), name)) return kinds[i];
    fail_msg("no message %.*s", SLICE_ARG(name));
    return NULL;
}

static void *decoded(const struct pb_message *kind, struct slice bytes, struct arena *arena)
{
    void *value = arena_take(arena, kind->size);
    EXPECT_OK(pb_decode(kind, bytes, arena, value));
    return value;
}

static err_t try_decode(const struct pb_message *kind, struct slice bytes)
{
    struct arena arena = ARENA_EMPTY;
    err_t e = pb_decode(kind, bytes, &arena, arena_take(&arena, kind->size));
    arena_done(&arena);
    return e;
}

static void check_round_trip(const struct pb_message *kind, struct slice bytes, size_t big_bytes)
{
    struct arena arena = ARENA_EMPTY;
    struct pb_out out = PB_OUT_EMPTY;
    struct buf again = BUF_EMPTY;
    out.big_bytes = big_bytes;
    pb_encode(kind, decoded(kind, bytes, &arena), &out);
    pb_out_copy(&out, &again);
    EXPECT_EQ(pb_out_size(&out), bytes.n);
    EXPECT(slice_eq(buf_slice(&again), bytes));
    buf_done(&again);
    pb_out_done(&out);
    arena_done(&arena);
}

static void check_message(json_t *holder, const char *rpc, const char *suffix)
{
    char name[80];
    struct slice type = row_text(holder, "type");
    if (type.n) snprintf(name, sizeof name, "%.*s", SLICE_ARG(type));
    else snprintf(name, sizeof name, "%s%s", strcmp(rpc, "Telemetry") == 0 ? "" : rpc, strcmp(rpc, "Telemetry") == 0 ? "TelemetryCommand" : suffix);
    struct buf bytes = row_bytes(holder, "hex");
    if (json_object_get(holder, "size") && bytes.n != (size_t)row_number(holder, "size")) {   /* of a body of 4 MiB only the beginning is kept */
        buf_done(&bytes);
        return;
    }
    check_round_trip(kind_named(slice_text(name)), buf_slice(&bytes), 0);
    check_round_trip(kind_named(slice_text(name)), buf_slice(&bytes), 1);
    buf_done(&bytes);
}

static void check_call(json_t *row)
{
    const char *rpc = json_string_value(json_object_get(row, "rpc"));
    json_t *answers = json_object_get(row, "responses"), *request = json_object_get(row, "request");
    if (request) check_message(request, rpc, "Request");
    else check_message(row, rpc, "");
    for (size_t i = 0; i < json_array_size(answers); i++) check_message(json_array_get(answers, i), rpc, "Response");
}

TEST(protobuf, reads_and_writes_recorded_calls_byte_for_byte) { each_vector("../grpc/calls.jsonl", 118, check_call); }

/* Of a request as the official Java client wrote it. */
static void check_route_request(json_t *row)
{
    if (row_number(row, "n") != 1) return;
    struct arena arena = ARENA_EMPTY;
    json_t *request = json_object_get(row, "request");
    struct buf bytes = row_bytes(request, "hex");
    struct v2_query_route_request *q = decoded(&v2_query_route_request_pb, buf_slice(&bytes), &arena);
    EXPECT_TEXT(q->topic->name, "GrpcNormal");
    EXPECT_EQ(q->endpoints->scheme, V2_ADDRESS_SCHEME_IPV4);
    EXPECT_EQ(q->endpoints->addresses.count, 1);
    EXPECT_EQ(q->endpoints->addresses.items[0].port, 8081);
    EXPECT(!q->topic->resource_namespace.p);
    buf_done(&bytes);
    arena_done(&arena);
}

TEST(protobuf, fields_are_where_their_names_say) { each_vector("../grpc/calls.jsonl", 118, check_route_request); }

TEST(protobuf, a_message_cut_anywhere_is_read_or_refused)
{
    struct slice whole = SLICE("\x0a\x09\x12\x07topic-a\x12\x05\x0a\x01k\x12\x00\x1a\x06\x0a\x01t\x12\x01k");
    for (size_t n = 0; n <= whole.n; n++) {
        uint8_t *copy = must_alloc(n ? n : 1);
        memcpy(copy, whole.p, n);
        err_free(try_decode(&v2_message_pb, slice_of(copy, n)));
        free(copy);
    }
}

TEST(protobuf, unknown_fields_of_every_kind_are_skipped)
{
    struct arena arena = ARENA_EMPTY;
    struct slice bytes = SLICE("\xf8\x3f\x05" "\xf9\x3f" "12345678" "\xfa\x3f\x03" "abc" "\xfd\x3f" "1234" "\xfb\x3f\x0b\x10\x01\x0c\xfc\x3f" "\x12\x01n");
    struct v2_resource *r = decoded(&v2_resource_pb, bytes, &arena);
    EXPECT_TEXT(r->name, "n");
    arena_done(&arena);
}

TEST(protobuf, what_cannot_be_is_refused)
{
    EXPECT_ERR(try_decode(&v2_resource_pb, SLICE("\x12\x05" "abc")), ERR_BODY);                              /* longer than there is */
    EXPECT_ERR(try_decode(&v2_resource_pb, SLICE("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")), ERR_BODY);   /* a length of 2^64 - 1 */
    EXPECT_ERR(try_decode(&v2_resource_pb, SLICE("\x00")), ERR_BODY);                                        /* no field has number 0 */
    EXPECT_ERR(try_decode(&v2_address_pb, SLICE("\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")), ERR_BODY);   /* 11 bytes */
    EXPECT_ERR(try_decode(&v2_resource_pb, SLICE("\x0b")), ERR_BODY);                                        /* a group without end */
    EXPECT_ERR(try_decode(&v2_resource_pb, SLICE("\xfc\x3f")), ERR_BODY);                                    /* an end without group */
    EXPECT_ERR(try_decode(&v2_resource_pb, SLICE("\x0e")), ERR_BODY);                                        /* wire type 6 */
}

TEST(protobuf, groups_in_each_other_have_a_limit)
{
    struct buf b = BUF_EMPTY;
    for (int i = 0; i < 100; i++) buf_put_u8(&b, 0xFB), buf_put_u8(&b, 0x3F);
    for (int i = 0; i < 100; i++) buf_put_u8(&b, 0xFC), buf_put_u8(&b, 0x3F);
    EXPECT_OK(try_decode(&v2_resource_pb, buf_slice(&b)));
    buf_clear(&b);
    for (int i = 0; i < 101; i++) buf_put_u8(&b, 0xFB), buf_put_u8(&b, 0x3F);
    for (int i = 0; i < 101; i++) buf_put_u8(&b, 0xFC), buf_put_u8(&b, 0x3F);
    EXPECT_ERR(try_decode(&v2_resource_pb, buf_slice(&b)), ERR_BODY);
    buf_done(&b);
}

TEST(protobuf, texts_must_be_utf8)
{
    EXPECT_OK(try_decode(&v2_resource_pb, SLICE("\x12\x07" "\xc3\xa4\xf0\x9f\x98\x80" "z")));
    EXPECT_ERR(try_decode(&v2_resource_pb, SLICE("\x12\x02\xc3\x28")), ERR_BODY);
    EXPECT(utf8_valid(SLICE("plain text that is longer than eight")));
    EXPECT(utf8_valid(SLICE("\xef\xbf\xbf" "\xed\x9f\xbf" "\xf4\x8f\xbf\xbf" "\xc2\x80")));
    EXPECT(!utf8_valid(SLICE("\xc0\x80")));               /* overlong */
    EXPECT(!utf8_valid(SLICE("\xe0\x9f\x80")));
    EXPECT(!utf8_valid(SLICE("\xf0\x8f\x80\x80")));
    EXPECT(!utf8_valid(SLICE("\xed\xa0\x80")));           /* a surrogate */
    EXPECT(!utf8_valid(SLICE("\xf4\x90\x80\x80")));       /* above U+10FFFF */
    EXPECT(!utf8_valid(SLICE("12345678\xff")));
    EXPECT(!utf8_valid(SLICE("\xe2\x82")));               /* cut */
}

TEST(protobuf, numbers_of_a_list_come_packed_and_one_by_one)
{
    struct arena arena = ARENA_EMPTY;
    struct v2_message_queue *q = decoded(&v2_message_queue_pb, SLICE("\x2a\x02\x01\x02" "\x28\x03" "\x28\xe7\x07"), &arena);
    EXPECT_EQ(q->accept_message_types.count, 4);
    EXPECT_EQ(q->accept_message_types.items[2], V2_MESSAGE_TYPE_DELAY);
    EXPECT_EQ(q->accept_message_types.items[3], 999);     /* unknown, and kept */
    arena_done(&arena);
}

TEST(protobuf, of_a_oneof_the_last_counts)
{
    struct arena arena = ARENA_EMPTY;
    struct v2_settings *s = decoded(&v2_settings_pb, SLICE("\x2a\x02\x10\x05" "\x32\x00"), &arena);
    EXPECT_EQ(s->pub_sub_case, V2_SETTINGS_SUBSCRIPTION);
    s = decoded(&v2_settings_pb, SLICE("\x2a\x02\x10\x05" "\x32\x00" "\x2a\x02\x18\x01"), &arena);
    EXPECT_EQ(s->pub_sub_case, V2_SETTINGS_PUBLISHING);
    EXPECT_EQ(s->publishing->max_body_size, 0);           /* that of the first is gone */
    EXPECT(s->publishing->validate_message_type);
    arena_done(&arena);
}

TEST(protobuf, a_part_that_comes_twice_is_merged)
{
    struct arena arena = ARENA_EMPTY;
    struct v2_message *m = decoded(&v2_message_pb, SLICE("\x0a\x03\x0a\x01n" "\x0a\x03\x12\x01t"), &arena);
    EXPECT_TEXT(m->topic->resource_namespace, "n");
    EXPECT_TEXT(m->topic->name, "t");
    arena_done(&arena);
}

TEST(protobuf, an_empty_optional_text_is_there)
{
    struct arena arena = ARENA_EMPTY;
    struct v2_system_properties *s = decoded(&v2_system_properties_pb, SLICE("\x0a\x00"), &arena);
    EXPECT(s->tag.p && !s->tag.n);
    EXPECT(!s->trace_context.p);
    EXPECT(!s->has_priority);
    check_round_trip(&v2_system_properties_pb, SLICE("\x0a\x00" "\xb0\x01\x00"), 0);
    arena_done(&arena);
}

TEST(protobuf, negative_numbers_and_floats_come_back)
{
    check_round_trip(&v2_message_queue_pb, SLICE("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0);
    check_round_trip(&v2_exponential_backoff_pb, SLICE("\x1d\x00\x00\x00\x40"), 0);
}

TEST(protobuf, a_small_message_cannot_ask_for_much_memory)
{
    struct buf b = BUF_EMPTY;
    for (int i = 0; i < 100000; i++) buf_put(&b, "\x0a\x00", 2);   /* messages, each of nothing */
    struct arena arena = ARENA_EMPTY;
    arena.limit = 1 << 20;
    struct v2_send_message_request q = {0};
    EXPECT_ERR(pb_decode(&v2_send_message_request_pb, buf_slice(&b), &arena, &q), ERR_OUT_OF_MEMORY);
    arena_done(&arena);
    buf_done(&b);
}

TEST(protobuf, big_bytes_are_parts_of_their_own)
{
    char body[5000];
    memset(body, 'x', sizeof body);
    struct v2_message m = {.body = slice_of(body, sizeof body)};
    struct v2_receive_message_response r = {.content_case = V2_RECEIVE_MESSAGE_RESPONSE_MESSAGE, .message = &m};
    struct pb_out out = PB_OUT_EMPTY;
    out.big_bytes = 4096;
    pb_encode(&v2_receive_message_response_pb, &r, &out);
    struct slice parts[3];
    EXPECT_EQ(pb_out_parts(&out, parts, 3), 2);
    EXPECT(parts[1].p == (uint8_t *)body && parts[1].n == sizeof body);
    EXPECT_EQ(parts[0].n, 6);
    EXPECT_EQ(pb_out_size(&out), sizeof body + 6);
    pb_out_done(&out);
}
