/* The entries of a consume queue as they are, for tools. */
#include "broker/handlers.h"
#include "codec/body_queue_data.h"
#include "rpc/reply.h"

enum { ENTRIES_AT_ONCE = 64, ENTRIES_MAX = 1024 };

static void add_entries(struct broker *b, const struct query_consume_queue_header *h, struct arena *arena, struct queue_data_list *list)
{
    struct store_entry found[ENTRIES_AT_ONCE];
    int64_t most = h->count < ENTRIES_MAX ? h->count : ENTRIES_MAX, at = h->index;
    while (at < h->index + most) {
        size_t n = store_entries(b->store, h->topic, h->queue_id, at, ENTRIES_AT_ONCE, found);
        for (size_t i = 0; i < n && found[i].queue_offset < h->index + most; i++) {
            struct queue_data *one = arena_list_add(arena, (void **)&list->entries.items, &list->entries.count, sizeof *one);
            if (one) *one = (struct queue_data){.log_offset = found[i].log_offset, .size = found[i].size, .tag_hash = found[i].tag_hash};
        }
        if (!n) return;
        at = found[n - 1].queue_offset + 1;
    }
}

/* What the group asks for, or that nobody asks. */
static void add_subscription(struct broker *b, const struct query_consume_queue_header *h, struct arena *arena, struct queue_data_list *list)
{
    struct member_group *g = members_consumers(&b->members, h->consumer_group);
    const struct subscription *s = g ? members_subscription(g, h->topic) : NULL;
    struct buf text = BUF_EMPTY;
    if (!s) buf_printf(&text, "%.*s@%.*s is not online!", SLICE_ARG(h->consumer_group), SLICE_ARG(h->topic));
    else list->subscription = arena_take(arena, sizeof *list->subscription);
    if (list->subscription) *list->subscription = *s;
    list->filter_data = arena_copy(arena, s ? s->expression : buf_slice(&text));
    buf_done(&text);
}

/* Facts: docs/protocol/remoting.md 4.2 (321) */
void handle_query_consume_queue(struct broker *b, struct call *call)
{
    struct query_consume_queue_header h;
    struct arena arena = ARENA_EMPTY;
    err_t e = header_decode(&query_consume_queue_kind, call->frame, &h);
    const struct topic *topic = e ? NULL : topics_find(b->topics, h.topic);
    if (!e && (!topic || h.queue_id < 0 || h.queue_id >= topic->config.read_queues))
        e = err_new(ERR_REFUSED, "%d@%.*s is not exist!", h.queue_id, SLICE_ARG(h.topic));
    if (!e && (h.index < 0 || h.count < 0 || h.index > INT64_MAX - ENTRIES_MAX)) e = err_new(ERR_INVALID, "there are no entries from %lld on", (long long)h.index);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct queue_data_list list = {
        .max_offset = store_max_offset(b->store, h.topic, h.queue_id), .min_offset = store_min_offset(b->store, h.topic, h.queue_id),
    };
    add_entries(b, &h, &arena, &list);
    if (h.consumer_group.n) add_subscription(b, &h, &arena, &list);
    if (!disk_again(b, call)) reply_bean(call, NULL, NULL, &queue_data_list_bean, &list);
    arena_done(&arena);
}
