#include "broker/disk/disk.h"

#include "broker/handlers.h"

#include <stdlib.h>

static void on_fetched(struct store_fetch *f)
{
    struct disk_wait *w = LIST_OWNER(f, struct disk_wait, fetch);
    struct broker *b = w->broker;
    list_remove(&w->node);
    b->fetched_bytes = f->bytes;
    b->may_read_cold = true;
    w->go_on(w, false);
    b->fetched_bytes = 0;
    b->may_read_cold = false;
}

void disk_wait(struct broker *b, struct disk_wait *w)
{
    w->fetch = (struct store_fetch){.done = on_fetched};
    w->broker = b;
    list_add(&b->disk_waits, &w->node);
    store_fetch(b->store, &w->fetch);
}

void disk_end(struct broker *b)
{
    while (!list_empty(&b->disk_waits)) {
        struct disk_wait *w = LIST_OWNER(list_first(&b->disk_waits), struct disk_wait, node);
        store_fetch_cancel(&w->fetch);
        list_remove(&w->node);
        w->go_on(w, true);
    }
}

/* A whole request that begins again. */
struct again {
    struct disk_wait wait;
    struct broker *broker;
    struct call *call;
    struct frame *frame;
};

static void begin_again(struct disk_wait *w, bool stopping)
{
    struct again *a = LIST_OWNER(w, struct again, wait);
    if (stopping || !rpc_conn_open(a->call->conn)) call_drop(a->call);
    else broker_dispatch(a->broker, a->call);
    free(a->frame);
    free(a);
}

/* --- a topic that is not on disk yet --- */

struct unsaved {
    struct saver_waiter waiter;
    struct broker *broker;
    struct call *call;
    struct frame *frame;
};

static void on_saved(struct saver_waiter *w, err_t e)
{
    struct unsaved *u = LIST_OWNER(w, struct unsaved, waiter);
    if (e) call_fail(u->call, err_in(e, "save the topic"));
    else if (!rpc_conn_open(u->call->conn)) call_drop(u->call);   /* also at the end of the broker: its connections close first */
    else broker_dispatch(u->broker, u->call);
    free(u->frame);
    free(u);
}

bool disk_unsaved(struct broker *b, struct call *call, const struct topic *topic)
{
    if (topics_is_saved(b->topics, topic)) return false;
    struct unsaved *u = must_zero(sizeof *u);
    u->waiter.done = on_saved;
    u->broker = b;
    u->call = call;
    u->frame = frame_copy(call->frame);
    call->frame = u->frame;
    call->body = u->frame->body;
    topics_when_saved(b->topics, &u->waiter);
    return true;
}

/* --- bytes that are not in memory --- */

bool disk_again(struct broker *b, struct call *call)
{
    if (!store_is_cold(b->store)) return false;
    struct again *a = must_zero(sizeof *a);
    a->wait.go_on = begin_again;
    a->broker = b;
    a->call = call;
    a->frame = frame_copy(call->frame);
    call->frame = a->frame;
    call->body = a->frame->body;
    disk_wait(b, &a->wait);
    return true;
}
