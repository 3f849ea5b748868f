#include "broker/handlers.h"
#include "rpc/reply.h"

#include "codec/body_queue.h"

/* An orderly consumer asks for its queues; it gets those that nobody else holds. Facts: docs/protocol/remoting.md A10 */
void handle_lock(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct lock_request r;
    err_t e = lock_request_decode(call->body, &arena, &r);
    if (e) {
        call_fail(call, e);
        arena_done(&arena);
        return;
    }
    struct lock_reply reply = {.queues = {NULL, 0}};
    for (size_t i = 0; i < r.queues.count; i++) {
        if (!locks_take(&b->locks, r.group, &r.queues.items[i], r.client_id)) continue;
        struct message_queue *q = arena_list_add(&arena, (void **)&reply.queues.items, &reply.queues.count, sizeof *q);
        if (q) *q = r.queues.items[i];
    }
    reply_bean(call, NULL, NULL, &lock_reply_bean, &reply);
    arena_done(&arena);
}

void handle_unlock(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct lock_request r;
    err_t e = lock_request_decode(call->body, &arena, &r);
    for (size_t i = 0; !e && i < r.queues.count; i++) locks_release(&b->locks, r.group, &r.queues.items[i], r.client_id);
    reply_outcome(call, e);
    arena_done(&arena);
}
