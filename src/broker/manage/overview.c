/* What tools and other brokers ask of a broker as a whole (43, 305, 907, 2004). */
#include "broker/handlers.h"
#include "rpc/reply.h"

#include "base/log.h"
#include "codec/body_ha.h"
#include "codec/body_lists.h"

#include <stdio.h>

void handle_all_offsets(struct broker *b, struct call *call)
{
    struct buf body = BUF_EMPTY;
    offsets_encode(b->offsets, JSON_RAW, true, &body);
    call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, buf_slice(&body));
    buf_done(&body);
}

void handle_system_topics(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct topic_list list = {.topics = {NULL, 0}};
    const struct topic *t;
    for (size_t at = 0; (t = topics_next(b->topics, &at));) {
        if (!topics_is_system(b->topics, t->config.name)) continue;
        struct slice *name = arena_list_add(&arena, (void **)&list.topics.items, &list.topics.count, sizeof *name);
        if (name) *name = t->config.name;
    }
    reply_bean(call, NULL, NULL, &topic_list_bean, &list);
    arena_done(&arena);
}

/* A broker without replicas: nobody is connected. */
void handle_ha_status(struct broker *b, struct call *call)
{
    struct ha_status status = {.master = b->cfg->broker.id == 0, .log_max_offset = store_log_max(b->store)};
    reply_bean(call, NULL, NULL, &ha_status_bean, &status);
}

/* How the original has its kernel read ahead; files are read by need here. */
void handle_set_read_mode(struct broker *b, struct call *call)
{
    struct read_mode_header h;
    char remark[96];
    (void)b;
    err_t e = header_decode(&read_mode_kind, call->frame, &h);
    if (!e && h.mode != 0 && h.mode != 1) e = err_new(ERR_INVALID, "set commitlog readahead mode param value error");
    if (e) {
        call_fail(call, e);
        return;
    }
    log_info("store.read_mode mode=%d effect=none", h.mode);
    snprintf(remark, sizeof remark, "set commitlog readahead mode success, mode: %d", h.mode);
    call_reply(call, RESPONSE_SUCCESS, remark, NULL, NULL, (struct slice){NULL, 0});
}
