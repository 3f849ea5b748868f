#include "broker/handlers.h"
#include "rpc/reply.h"

#include "codec/body_connection.h"
#include "codec/body_lists.h"
#include "codec/body_progress.h"
#include "codec/body_stats.h"
#include "meta/names.h"

static struct slice broker_name(const struct broker *b) { return slice_text(b->cfg->broker.name); }

static int32_t queues_of(const struct topic_config *t) { return t->read_queues > t->write_queues ? t->read_queues : t->write_queues; }

static err_t find_topic(struct broker *b, struct slice name, const struct topic **out)
{
    *out = topics_find(b->topics, name);
    return *out ? NULL : err_new(ERR_TOPIC_NOT_FOUND, "topic[%.*s] not exist", SLICE_ARG(name));
}

/* --- how far topics are (202) --- */

static void put_topic_offsets(struct broker *b, const struct topic *t, int32_t queue_id, struct arena *arena, struct topic_stats *stats)
{
    struct topic_offsets *row = arena_list_add(arena, (void **)&stats->queues.items, &stats->queues.count, sizeof *row);
    if (!row) return;
    row->queue = (struct message_queue){.topic = t->config.name, .broker = broker_name(b), .queue_id = queue_id};
    row->min_offset = store_min_offset(b->store, t->config.name, queue_id);
    row->max_offset = store_max_offset(b->store, t->config.name, queue_id);
    if (row->max_offset > 0) row->last_update_ms = store_time_of(b->store, t->config.name, queue_id, row->max_offset - 1);
}

void handle_topic_stats(struct broker *b, struct call *call)
{
    struct topic_stats_header h;
    const struct topic *t;
    err_t e = header_decode(&topic_stats_kind, call->frame, &h);
    if (!e) e = find_topic(b, h.topic, &t);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct arena arena = ARENA_EMPTY;
    struct stats_sum puts;
    stats_of(&b->stats, TOPIC_PUT_NUMS, h.topic, SPAN_MINUTE, &puts);
    struct topic_stats stats = {.put_tps = puts.per_second};
    for (int32_t i = 0; i < queues_of(&t->config); i++) put_topic_offsets(b, t, i, &arena, &stats);
    if (!disk_again(b, call)) reply_bean(call, NULL, NULL, &topic_stats_bean, &stats);
    arena_done(&arena);
}

/* --- how far groups are (208) --- */

static void put_consume_offsets(struct broker *b, struct slice topic, struct slice group, int32_t queue_id, struct arena *arena,
                                struct consume_stats *stats)
{
    struct consume_offsets *row = arena_list_add(arena, (void **)&stats->queues.items, &stats->queues.count, sizeof *row);
    if (!row) return;
    int64_t committed = offsets_query(b->offsets, topic, group, queue_id);
    int64_t pulled = offsets_query_pulled(b->offsets, topic, group, queue_id);
    row->queue = (struct message_queue){.topic = topic, .broker = broker_name(b), .queue_id = queue_id};
    row->broker_offset = store_max_offset(b->store, topic, queue_id);
    row->consumer_offset = committed > 0 ? committed : 0;
    row->pull_offset = pulled > row->consumer_offset ? pulled : row->consumer_offset;
    if (row->consumer_offset > 0) row->last_ms = store_time_of(b->store, topic, queue_id, row->consumer_offset - 1);
    if (row->last_ms < 0) row->last_ms = 0;
}

/* A topic that the group's live consumers do not subscribe to any more is not its business, whatever it once committed. */
static bool is_consumed(struct broker *b, struct slice group, struct slice topic)
{
    struct member_group *g = members_consumers(&b->members, group);
    return !g || members_subscription(g, topic);
}

static void put_topic_progress(struct broker *b, struct slice group, struct slice topic, struct arena *arena, struct consume_stats *stats)
{
    const struct topic *t = topics_find(b->topics, topic);
    if (!t || !is_consumed(b, group, topic)) return;
    stats->tps += stats_group_rate(&b->stats, topic, group);
    for (int32_t i = 0; i < t->config.read_queues; i++) put_consume_offsets(b, topic, group, i, arena, stats);
}

void handle_consume_stats(struct broker *b, struct call *call)
{
    struct consume_stats_header h;
    err_t e = header_decode(&consume_stats_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct arena arena = ARENA_EMPTY;
    struct consume_stats stats = {.tps = 0};
    struct slice rest = h.topic_list.n ? h.topic_list : h.topic, topic;
    const struct group_offsets *g;
    while (rest.n && slice_split(&rest, ';', &topic)) put_topic_progress(b, h.consumer_group, topic, &arena, &stats);
    if (!h.topic.n && !h.topic_list.n)
        for (size_t at = 0; (g = offsets_next(b->offsets, &at));)
            if (slice_eq(g->group, h.consumer_group) && offsets_has_committed(g)) put_topic_progress(b, h.consumer_group, g->topic, &arena, &stats);
    if (!disk_again(b, call)) reply_bean(call, NULL, NULL, &consume_stats_bean, &stats);
    arena_done(&arena);
}

/* --- how far all groups are (317) --- */

static void add_to_lag(struct broker_progress *all, const struct consume_stats *stats)
{
    for (size_t i = 0; i < stats->queues.count; i++) {
        const struct consume_offsets *o = &stats->queues.items[i];
        all->lag += o->broker_offset - o->consumer_offset;
        all->inflight += o->pull_offset - o->consumer_offset;
    }
}

static void put_group_topic(struct broker *b, const struct group_offsets *known, bool ordered_only, struct map *rows, struct arena *arena,
                            struct broker_progress *all)
{
    size_t number = (size_t)map_get(rows, known->group);   /* counted from 1 */
    const struct topic *t = topics_find(b->topics, known->topic);
    if (!number || !t || (ordered_only && !t->config.order) || !is_consumed(b, known->group, known->topic)) return;
    struct group_progress *g = &all->groups.items[number - 1];
    struct consume_stats *stats = arena_list_add(arena, (void **)&g->topics.items, &g->topics.count, sizeof *stats);
    if (!stats) return;
    put_topic_progress(b, known->group, known->topic, arena, stats);
    add_to_lag(all, stats);
}

static void put_groups(struct broker *b, bool ordered_only, struct arena *arena, struct broker_progress *all)
{
    struct map rows = MAP_EMPTY;
    const struct group *group;
    const struct group_offsets *known;
    for (size_t at = 0; (group = groups_next(b->groups, &at));) {
        struct group_progress *g = arena_list_add(arena, (void **)&all->groups.items, &all->groups.count, sizeof *g);
        if (!g) break;
        g->group = group->config.name;
        map_put(&rows, g->group, (void *)all->groups.count);
    }
    for (size_t at = 0; (known = offsets_next(b->offsets, &at));)
        if (offsets_has_committed(known)) put_group_topic(b, known, ordered_only, &rows, arena, all);
    map_done(&rows);
}

void handle_broker_consume_stats(struct broker *b, struct call *call)
{
    struct broker_consume_stats_header h;
    err_t e = header_decode(&broker_consume_stats_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    char address[ADDR_TEXT_MAX];
    struct arena arena = ARENA_EMPTY;
    struct broker_progress all = {.broker_address = slice_text(addr_format(&b->advertised, address))};
    put_groups(b, h.is_order, &arena, &all);
    if (!disk_again(b, call)) reply_bean(call, NULL, NULL, &broker_progress_bean, &all);
    arena_done(&arena);
}

/* --- who is connected (203, 204, 328) --- */

static void put_connection(const struct client *c, struct arena *arena, struct producer_connections *list)
{
    struct connection_row *row = arena_list_add(arena, (void **)&list->connections.items, &list->connections.count, sizeof *row);
    char address[ADDR_TEXT_MAX];
    if (!row) return;
    addr_format(rpc_conn_remote(c->conn), address);
    *row = (struct connection_row){
        .client_id = slice_text(c->id), .address = arena_copy(arena, slice_text(address)),
        .language = slice_text(language_name(c->language)), .version = c->version,
    };
}

static size_t put_guests(const struct broker *b, struct slice group, struct arena *arena, struct producer_connections *list)
{
    const struct guest *guest;
    size_t before = list->connections.count;
    for (size_t at = 0; (guest = guests_next(&b->guests, group, &at));) {
        struct connection_row *row = arena_list_add(arena, (void **)&list->connections.items, &list->connections.count, sizeof *row);
        if (row) *row = (struct connection_row){guest->row.client_id, guest->row.address, guest->row.language, guest->row.version};
    }
    return list->connections.count - before;
}

static void put_subscriptions(const struct member_group *g, struct arena *arena, struct consumer_connections *reply)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&g->view, &at));) {
        struct subscription *s = arena_list_add(arena, (void **)&reply->subscriptions.items, &reply->subscriptions.count, sizeof *s);
        if (s) *s = ((const struct interest *)e->value)->subscription;
    }
}

void handle_consumer_connections(struct broker *b, struct call *call)
{
    struct consumer_connections_header h;
    err_t e = header_decode(&consumer_connections_kind, call->frame, &h);
    struct member_group *g = e ? NULL : members_consumers(&b->members, h.consumer_group);
    struct arena arena = ARENA_EMPTY;
    struct producer_connections clients = {.connections = {NULL, 0}};
    if (!e && !put_guests(b, h.consumer_group, &arena, &clients) && !g)
        e = err_new(ERR_NOT_ONLINE, "the consumer group[%.*s] not online", SLICE_ARG(h.consumer_group));
    if (e) {
        arena_done(&arena);
        call_fail(call, e);
        return;
    }
    struct consumer_connections reply = {.type = CONSUME_PASSIVELY, .model = MODEL_CLUSTERING, .from = FROM_LAST_OFFSET};   /* of guests alone */
    if (g) reply.type = g->type, reply.model = g->model, reply.from = g->from;
    for (struct list_node *n = g ? g->members.head.next : NULL; g && n != &g->members.head; n = n->next) put_connection(MEMBER_OF(n)->client, &arena, &clients);
    reply.connections.items = clients.connections.items;
    reply.connections.count = clients.connections.count;
    if (g) put_subscriptions(g, &arena, &reply);
    reply_bean(call, NULL, NULL, &consumer_connections_bean, &reply);
    arena_done(&arena);
}

void handle_producer_connections(struct broker *b, struct call *call)
{
    struct producer_connections_header h;
    err_t e = header_decode(&producer_connections_kind, call->frame, &h);
    struct member_group *g = e ? NULL : members_producers(&b->members, h.producer_group);
    if (!e && !g) e = err_new(ERR_REFUSED, "the producer group[%.*s] not exist", SLICE_ARG(h.producer_group));
    if (e) {
        call_fail(call, e);
        return;
    }
    struct arena arena = ARENA_EMPTY;
    struct producer_connections reply = {.connections = {NULL, 0}};
    MEMBERS_EACH(g, node) put_connection(MEMBER_OF(node)->client, &arena, &reply);
    reply_bean(call, NULL, NULL, &producer_connections_bean, &reply);
    arena_done(&arena);
}

static void put_producers(struct broker *b, const struct member_group *g, struct arena *arena, struct producer_group *out)
{
    int64_t began_ms = tasks_wall_ms(b->tasks) - tasks_mono_ms(b->tasks);
    out->group = slice_text(g->name);
    MEMBERS_EACH(g, node) {
        const struct client *c = MEMBER_OF(node)->client;
        struct producer_row *row = arena_list_add(arena, (void **)&out->producers.items, &out->producers.count, sizeof *row);
        char address[ADDR_TEXT_MAX + 1] = "/";   /* as Java writes an address */
        if (!row) return;
        addr_format(rpc_conn_remote(c->conn), address + 1);
        *row = (struct producer_row){
            .client_id = slice_text(c->id), .language = slice_text(language_name(c->language)), .seen_ms = began_ms + MEMBER_OF(node)->seen_ms,
            .address = arena_copy(arena, slice_text(address)), .version = c->version,
        };
    }
}

void handle_all_producers(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct producer_table table = {.groups = {NULL, 0}};
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&b->members.producers, &at));) {
        struct producer_group *g = arena_list_add(&arena, (void **)&table.groups.items, &table.groups.count, sizeof *g);
        if (g) put_producers(b, e->value, &arena, g);
    }
    reply_bean(call, NULL, NULL, &producer_table_bean, &table);
    arena_done(&arena);
}

/* --- who consumes what (300, 343) --- */

static void add_name(struct arena *arena, struct slice name, struct map *seen, struct group_list *list)
{
    if (map_put(seen, name, list)) return;
    struct slice *item = arena_list_add(arena, (void **)&list->groups.items, &list->groups.count, sizeof *item);
    if (item) *item = name;
}

void handle_topic_consumers(struct broker *b, struct call *call)
{
    struct topic_consume_by_who_header h;
    err_t e = header_decode(&topic_consume_by_who_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct arena arena = ARENA_EMPTY;
    struct map seen = MAP_EMPTY;
    struct group_list list = {.groups = {NULL, 0}};
    struct map_entry *online;
    const struct group_offsets *known;
    for (size_t at = 0; (online = map_next(&b->members.consumers, &at));)
        if (members_subscription(online->value, h.topic)) add_name(&arena, online->key, &seen, &list);
    for (size_t at = 0; (known = offsets_next(b->offsets, &at));)
        if (slice_eq(known->topic, h.topic) && offsets_has_committed(known)) add_name(&arena, known->group, &seen, &list);
    reply_bean(call, NULL, NULL, &group_list_bean, &list);
    map_done(&seen);
    arena_done(&arena);
}

void handle_consumer_topics(struct broker *b, struct call *call)
{
    struct topics_by_consumer_header h;
    err_t e = header_decode(&topics_by_consumer_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct arena arena = ARENA_EMPTY;
    struct map seen = MAP_EMPTY;
    struct group_list found = {.groups = {NULL, 0}};
    const struct group_offsets *known;
    for (size_t at = 0; (known = offsets_next(b->offsets, &at));)
        if (slice_eq(known->group, h.group) && offsets_has_committed(known)) add_name(&arena, known->topic, &seen, &found);
    char address[ADDR_TEXT_MAX];
    struct topic_list list = {.broker_address = slice_text(addr_format(&b->advertised, address))};
    list.topics.items = found.groups.items;
    list.topics.count = found.groups.count;
    reply_bean(call, NULL, NULL, &topic_list_bean, &list);
    map_done(&seen);
    arena_done(&arena);
}
