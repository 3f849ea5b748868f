#include "broker/handlers.h"
#include "rpc/reply.h"

#include "base/log.h"

void handle_create_group(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct group_config wanted;
    err_t e = bean_decode(&group_config_bean, call->body, &arena, "subscription group", &wanted);
    if (!e) e = groups_set(b->groups, &wanted);
    if (e) call_fail(call, e);
    else groups_when_saved(b->groups, reply_when_saved(call));
    arena_done(&arena);
}

void handle_create_groups(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct group_config_list list;
    err_t e = bean_decode(&group_config_list_bean, call->body, &arena, "subscription group list", &list);
    for (size_t i = 0; !e && i < list.groups.count; i++) e = groups_set(b->groups, &list.groups.items[i]);
    if (e) call_fail(call, e);
    else groups_when_saved(b->groups, reply_when_saved(call));
    arena_done(&arena);
}

void handle_delete_group(struct broker *b, struct call *call)
{
    struct delete_group_header h;
    err_t e = header_decode(&delete_group_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    const struct group *group = groups_find(b->groups, h.group_name);
    bool lite = group && group_config_attribute(&group->config, SLICE("lite.bind.topic")).n;
    broker_group_deleted(b, h.group_name);
    if (groups_delete(b->groups, h.group_name)) log_info("group.deleted group=\"%.*s\"", SLICE_ARG(h.group_name));
    stats_forget_group(&b->stats, h.group_name);
    if (h.clean_offset || lite) offsets_remove_group(b->offsets, h.group_name);
    groups_when_saved(b->groups, reply_when_saved(call));
}

void handle_get_group(struct broker *b, struct call *call)
{
    struct get_group_config_header h;
    err_t e = header_decode(&get_group_config_kind, call->frame, &h);
    const struct group *g = e ? NULL : groups_find_or_create(b->groups, h.group);   /* asking makes it, as with the original */
    if (!e && !g) e = err_new(ERR_GROUP_NOT_FOUND, "No group in this broker");
    if (e) {
        call_fail(call, e);
        return;
    }
    reply_bean(call, NULL, NULL, &group_config_bean, &g->config);
}

/* Whether a group may read a topic; told and, when `readable` is given, changed. */
void handle_group_forbidden(struct broker *b, struct call *call)
{
    struct group_forbidden_header h;
    err_t e = header_decode(&group_forbidden_kind, call->frame, &h);
    if (!e && !groups_find_or_create(b->groups, h.group)) e = err_new(ERR_GROUP_NOT_FOUND, "No group in this broker");
    if (!e && !topics_find(b->topics, h.topic)) e = err_new(ERR_TOPIC_NOT_FOUND, "No topic in this broker. topic: %.*s", SLICE_ARG(h.topic));
    if (e) {
        call_fail(call, e);
        return;
    }
    if (header_has(&h, group_forbidden, readable)) groups_set_read_forbidden(b->groups, h.group, h.topic, !h.readable);
    struct group_readable reply = {h.group, h.topic, !groups_is_read_forbidden(b->groups, h.group, h.topic)};
    reply_bean(call, NULL, NULL, &group_readable_bean, &reply);
}

void handle_all_groups(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct group_table table;
    struct all_groups_reply_header reply = {.total_group_num = (int32_t)groups_count(b->groups)};
    groups_table(b->groups, &arena, &table);
    reply_bean(call, &all_groups_reply_kind, &reply, &group_table_bean, &table);
    arena_done(&arena);
}
