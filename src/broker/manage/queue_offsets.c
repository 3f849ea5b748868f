#include "broker/handlers.h"
#include "codec/lite_topic.h"

static void reply_offset(struct call *call, int64_t offset)
{
    struct offset_reply_header reply = {.offset = offset};
    call_reply(call, RESPONSE_SUCCESS, NULL, &offset_reply_kind, &reply, (struct slice){NULL, 0});
}

/* How far a group is. A group that never committed begins at 0 while the first message is still young, whatever its
 * consumers would choose; otherwise they choose (code 22). Facts: docs/protocol/remoting.md A8 */
void handle_query_offset(struct broker *b, struct call *call)
{
    struct query_offset_header h;
    err_t e = header_decode(&query_offset_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    int64_t offset = offsets_query(b->offsets, h.topic, h.consumer_group, h.queue_id);
    if (offset >= 0) {
        reply_offset(call, offset);
    } else if (header_has(&h, query_offset, set_zero_if_not_found) && !h.set_zero_if_not_found) {
        call_fail(call, err_new(ERR_NOT_FOUND, "Not found, do not set to zero, maybe this group boot first"));
    } else {
        bool young = store_min_offset(b->store, h.topic, h.queue_id) <= 0 && store_is_recent(b->store, h.topic, h.queue_id, 0);
        if (disk_again(b, call)) return;
        if (young) reply_offset(call, 0);
        else call_fail(call, err_new(ERR_NOT_FOUND, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"));
    }
}

static err_t check_update(struct broker *b, const struct update_offset_header *h)
{
    if (!groups_find_or_create(b->groups, h->consumer_group))
        return err_new(ERR_GROUP_NOT_FOUND, "Group %.*s not exist!", SLICE_ARG(h->consumer_group));
    if (!topics_find(b->topics, h->topic)) return err_new(ERR_TOPIC_NOT_FOUND, "Topic %.*s not exist!", SLICE_ARG(h->topic));
    if (h->queue_id < 0 || h->queue_id >= TOPIC_QUEUES_MAX) return err_new(ERR_INVALID, "there can be no queue %d", h->queue_id);
    return NULL;
}

void handle_update_offset(struct broker *b, struct call *call)
{
    struct update_offset_header h;
    err_t e = header_decode(&update_offset_kind, call->frame, &h);
    if (!e) e = check_update(b, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    if (b->cfg->broker.reset_on_server && offsets_reset_pending(b->offsets, h.topic, h.consumer_group, h.queue_id)) {
        call_reply(call, RESPONSE_SUCCESS, "Offset has been previously reset", NULL, NULL, (struct slice){NULL, 0});
        return;
    }
    char client[ADDR_TEXT_MAX];
    offsets_commit(b->offsets, slice_text(addr_format(rpc_conn_remote(call->conn), client)), h.topic, h.consumer_group, h.queue_id,
                   h.commit_offset);
    call_reply_ok(call);
}

void handle_max_offset(struct broker *b, struct call *call)
{
    struct max_offset_header h;
    err_t e = header_decode(&max_offset_kind, call->frame, &h);
    if (e) call_fail(call, e);
    else reply_offset(call, store_max_offset(b->store, h.topic, h.queue_id));
}

void handle_min_offset(struct broker *b, struct call *call)
{
    struct min_offset_header h;
    err_t e = header_decode(&min_offset_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    int64_t offset = store_min_offset(b->store, h.topic, h.queue_id);
    if (!disk_again(b, call)) reply_offset(call, offset);
}

/* Facts: docs/protocol/store.md 3.1 */
void handle_search_offset(struct broker *b, struct call *call)
{
    struct search_offset_header h;
    err_t e = header_decode(&search_offset_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    bool upper = h.boundary_type.n == 5 && strncasecmp((const char *)h.boundary_type.p, "upper", 5) == 0;
    struct buf lite = BUF_EMPTY;
    if (slice_trim(h.lite_topic).n) {
        lite_queue_name(h.topic, h.lite_topic, &lite);
        h.topic = buf_slice(&lite);
    }
    int64_t offset = store_offset_by_time(b->store, h.topic, h.queue_id, h.timestamp, upper ? BOUNDARY_UPPER : BOUNDARY_LOWER);
    if (lite.n && store_max_offset(b->store, h.topic, h.queue_id) <= 0) offset = 0;
    buf_done(&lite);
    if (!disk_again(b, call)) reply_offset(call, offset);
}

void handle_earliest_time(struct broker *b, struct call *call)
{
    struct earliest_time_header h;
    err_t e = header_decode(&earliest_time_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct earliest_time_reply_header reply = {
        .timestamp = store_time_of(b->store, h.topic, h.queue_id, store_min_offset(b->store, h.topic, h.queue_id)),
    };
    if (disk_again(b, call)) return;
    call_reply(call, RESPONSE_SUCCESS, NULL, &earliest_time_reply_kind, &reply, (struct slice){NULL, 0});
}

void handle_view_message(struct broker *b, struct call *call)
{
    struct view_message_header h;
    err_t e = header_decode(&view_message_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct pinned record;
    e = store_record_at(b->store, h.offset, &record);
    if (disk_again(b, call)) {
        err_free(e);
        return;
    }
    if (e) {
        err_drop(e, "clients know one wording for it");
        call_fail(call, err_new(ERR_REFUSED, "can not find message by the offset, %lld", (long long)h.offset));
        return;
    }
    call_reply_pinned(call, RESPONSE_SUCCESS, NULL, NULL, NULL, &record, 1);
}
