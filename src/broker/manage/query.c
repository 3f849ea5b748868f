#include "broker/handlers.h"

enum { UNIQUE_KEY_MAX = 32 };   /* defaultQueryMaxNum: of a query by unique key, whatever is asked for */

static void on_found(void *ctx, struct store_found *found)
{
    struct call *call = ctx;
    struct query_message_reply_header reply = {.index_last_update_timestamp = 0};
    if (!found->count) {
        call_reply(call, RESPONSE_QUERY_NOT_FOUND, "can not find message, maybe time range not correct", &query_message_reply_kind, &reply,
                   (struct slice){NULL, 0});
        return;
    }
    reply.index_last_update_timestamp = found->index_ms;
    reply.index_last_update_phyoffset = found->index_offset;
    call_reply_pinned(call, RESPONSE_SUCCESS, NULL, &query_message_reply_kind, &reply, found->record, found->count);
}

/* Messages of a topic by a key: UNIQ_KEY, a word of KEYS, or the tags. Facts: docs/protocol/remoting.md A18 */
void handle_query_message(struct broker *b, struct call *call)
{
    struct query_message_header h;
    err_t e = header_decode(&query_message_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct store_find f = {
        .topic = h.topic, .key = h.key, .by_tags = slice_eq(h.index_type, SLICE("T")), .begin_ms = h.begin_timestamp,
        .end_ms = h.end_timestamp, .max = slice_eq(h.unique_key_query, SLICE("true")) ? UNIQUE_KEY_MAX : h.max_num,
    };
    store_find(b->store, &f, on_found, call);
}
