/* What an operator has removed before its time. Facts: docs/protocol/remoting-codes.tsv (306, 316, 329). */
#include "broker/handlers.h"
#include "rpc/reply.h"

#include "base/log.h"
#include "codec/lmq.h"

/* 329 */
void handle_delete_expired_log(struct broker *b, struct call *call)
{
    store_clean_now(b->store);
    call_reply_ok(call);
}

/* 306. Files of queues follow the log by themselves; a queue without messages keeps its last file, and with it its offset. */
void handle_clean_expired_queues(struct broker *b, struct call *call)
{
    store_clean_now(b->store);
    call_reply_ok(call);
}

struct unused {
    struct broker *broker;
    struct buf names;        /* each with a zero byte */
};

static void note_unused(void *ctx, struct slice topic)
{
    struct unused *u = ctx;
    const struct topics *topics = u->broker->topics;
    if (topics_find(topics, topic) || topics_is_system(topics, topic) || name_is_lmq(topic)) return;
    buf_put_slice(&u->names, topic);
    buf_put_u8(&u->names, 0);
}

/* 316: files of topics that do not exist any more. */
void handle_clean_unused_topics(struct broker *b, struct call *call)
{
    struct unused u = {b, BUF_EMPTY};
    store_each_topic(b->store, note_unused, &u);
    for (struct slice rest = buf_slice(&u.names); rest.n;) {
        struct slice name = slice_text((const char *)rest.p);
        log_info("topic.files_removed topic=\"%.*s\" text=\"there is no such topic\"", SLICE_ARG(name));
        store_delete_topic(b->store, name);
        rest = slice_skip(rest, name.n + 1);
    }
    buf_done(&u.names);
    call_reply_ok(call);
}
