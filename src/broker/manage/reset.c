#include "broker/handlers.h"
#include "rpc/reply.h"

#include "base/log.h"
#include "codec/body_stats.h"

enum { ALL_QUEUES = -1, TO_THE_END = -1 };

static err_t check_reset(struct broker *b, const struct reset_offset_header *h, const struct topic **topic)
{
    *topic = topics_find(b->topics, h->topic);
    if (!*topic) return err_new(ERR_TOPIC_NOT_FOUND, "Topic %.*s does not exist", SLICE_ARG(h->topic));
    if (!groups_find(b->groups, h->group)) return err_new(ERR_GROUP_NOT_FOUND, "Group %.*s does not exist", SLICE_ARG(h->group));
    if (header_has(h, reset_offset, queue_id) && (h->queue_id < ALL_QUEUES || h->queue_id >= TOPIC_QUEUES_MAX))
        return err_new(ERR_INVALID, "there can be no queue %d", h->queue_id);
    return NULL;
}

/* Where the group shall go on in one queue. */
static err_t target_offset(struct broker *b, const struct reset_offset_header *h, int32_t queue_id, int64_t *out)
{
    int64_t min = store_min_offset(b->store, h->topic, queue_id), max = store_max_offset(b->store, h->topic, queue_id);
    if (header_has(h, reset_offset, offset) && h->offset >= 0 && queue_id == h->queue_id) {
        if (h->offset < min || h->offset > max)
            return err_new(ERR_REFUSED, "Target offset %lld not in consume queue range [%lld-%lld]", (long long)h->offset, (long long)min, (long long)max);
        *out = h->offset;
    } else {
        *out = h->timestamp == TO_THE_END ? max : store_offset_by_time(b->store, h->topic, queue_id, h->timestamp, BOUNDARY_LOWER);
    }
    return NULL;
}

static err_t reset_queue(struct broker *b, const struct reset_offset_header *h, int32_t queue_id, struct arena *arena, struct offset_table *table)
{
    int64_t to;
    err_t e = target_offset(b, h, queue_id, &to);
    if (e) return e;
    struct queue_offset_row *row = arena_list_add(arena, (void **)&table->queues.items, &table->queues.count, sizeof *row);
    if (!row) return err_new(ERR_OUT_OF_MEMORY, NULL);
    row->queue = (struct message_queue){.topic = h->topic, .broker = slice_text(b->cfg->broker.name), .queue_id = queue_id};
    row->offset = to;
    return NULL;
}

/* All queues are settled before any is reset, so that a wrong offset changes nothing. */
static err_t settle(struct broker *b, const struct reset_offset_header *h, const struct topic *topic, struct arena *arena, struct offset_table *table)
{
    int32_t one = header_has(h, reset_offset, queue_id) ? h->queue_id : ALL_QUEUES;
    if (one != ALL_QUEUES) return reset_queue(b, h, one, arena, table);
    err_t e = NULL;
    for (int32_t i = 0; !e && i < topic->config.read_queues; i++) e = reset_queue(b, h, i, arena, table);
    return e;
}

static void reset_here(struct broker *b, const struct reset_offset_header *h, const struct offset_table *table)
{
    for (size_t i = 0; i < table->queues.count; i++) {
        const struct queue_offset_row *row = &table->queues.items[i];
        offsets_reset(b->offsets, h->topic, h->group, row->queue.queue_id, row->offset);
        broker_offset_reset(b, h->topic, h->group, row->queue.queue_id, row->offset);
        log_info("offset.reset group=\"%.*s\" topic=\"%.*s\" queue=%d offset=%lld", SLICE_ARG(h->group), SLICE_ARG(h->topic), row->queue.queue_id,
                 (long long)row->offset);
    }
    offsets_flush(b->offsets);
}

/* --- useServerSideResetOffset=false: the consumers do it themselves --- */

enum { OLDEST_THAT_RESETS = 28 };   /* V3_0_7_SNAPSHOT */

static err_t check_members(const struct reset_offset_header *h, struct member_group *g)
{
    if (!g)
        return err_new(ERR_NOT_ONLINE, "Consumer not online, so can not reset offset, Group: %.*s Topic: %.*s Timestamp: %lld", SLICE_ARG(h->group),
                       SLICE_ARG(h->topic), (long long)h->timestamp);
    MEMBERS_EACH(g, node)
        if (MEMBER_OF(node)->client->version < OLDEST_THAT_RESETS)
            return err_new(ERR_REFUSED, "the client does not support this feature. version=%d", MEMBER_OF(node)->client->version);
    return NULL;
}

/* Without force a group is moved back only. */
static err_t settle_for_members(struct broker *b, const struct reset_offset_header *h, const struct topic *topic, struct arena *arena,
                                struct offset_table *table)
{
    struct reset_offset_header by_time = *h;
    by_time.offset = -1;
    for (int32_t i = 0; i < topic->config.write_queues; i++) {
        int64_t committed = offsets_query(b->offsets, h->topic, h->group, i);
        if (committed < 0) return err_new(ERR_REFUSED, "THe consumer group <%.*s> not exist", SLICE_ARG(h->group));
        err_t e = reset_queue(b, &by_time, i, arena, table);
        if (e) return e;
        struct queue_offset_row *row = &table->queues.items[table->queues.count - 1];
        if (!h->is_force && row->offset > committed) row->offset = committed;
    }
    return NULL;
}

static void tell_members(struct broker *b, const struct call *call, const struct reset_offset_header *h, const struct offset_table *table)
{
    struct buf body = BUF_EMPTY;
    struct reset_offset_header out = {.topic = h->topic, .group = h->group, .timestamp = h->timestamp};
    bean_encode(call->language == LANGUAGE_CPP ? &offset_list_bean : &offset_table_bean, table, JSON_RAW, &body);
    struct rpc_request r = {.code = REQUEST_RESET_CONSUMER_CLIENT_OFFSET, .kind = &reset_offset_kind, .header = &out, .body = buf_slice(&body)};
    MEMBERS_EACH(members_consumers(&b->members, h->group), node) {
        rpc_conn_request(MEMBER_OF(node)->client->conn, &r);
        log_info("offset.reset_by_client group=\"%.*s\" topic=\"%.*s\" client=\"%s\"", SLICE_ARG(h->group), SLICE_ARG(h->topic),
                 MEMBER_OF(node)->client->id);
    }
    buf_done(&body);
}

/* --- the handler --- */

static err_t find_offsets(struct broker *b, const struct reset_offset_header *h, struct arena *arena, struct offset_table *table)
{
    const struct topic *topic = topics_find(b->topics, h->topic);
    if (b->cfg->broker.reset_on_server) {
        err_t e = check_reset(b, h, &topic);
        return e ? e : settle(b, h, topic, arena, table);
    }
    if (!topic)
        return err_new(ERR_TOPIC_NOT_FOUND, "[reset-offset] reset offset failed, no topic in this broker. topic=%.*s", SLICE_ARG(h->topic));
    err_t e = settle_for_members(b, h, topic, arena, table);
    return e ? e : check_members(h, members_consumers(&b->members, h->group));
}

/* An administrator moves a group to a time or an offset. Its consumers are told at their next pull, or do it when they are told. With dryRun
 * the answer is all that happens. Facts: docs/protocol/remoting.md 4.3 (222), A14 */
void handle_reset_offset(struct broker *b, struct call *call)
{
    struct reset_offset_header h;
    struct arena arena = ARENA_EMPTY;
    struct offset_table table = {.queues = {NULL, 0}};
    err_t e = header_decode(&reset_offset_kind, call->frame, &h);
    if (!e) e = find_offsets(b, &h, &arena, &table);
    if (disk_again(b, call)) {
        err_free(e);
        arena_done(&arena);
        return;
    }
    if (!e && !h.dry_run && b->cfg->broker.reset_on_server) reset_here(b, &h, &table);
    else if (!e && !h.dry_run) tell_members(b, call, &h, &table);
    if (e) call_fail(call, e);
    else reply_bean(call, NULL, NULL, &offset_table_bean, &table);
    arena_done(&arena);
}
