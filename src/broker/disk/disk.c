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

/* --- whole requests that begin again --- */

struct again {
    struct disk_wait fetched;       /* for bytes that are not in memory */
    struct saver_waiter saved;      /* for a topic that is not on disk yet */
    struct broker *broker;
    struct call *call;
    struct frame *frame;
};

static struct again *keep_call(struct broker *b, struct call *call)
{
    struct again *a = must_zero(sizeof *a);
    a->broker = b;
    a->call = call;
    a->frame = frame_copy(call->frame);
    call->frame = a->frame;
    call->body = a->frame->body;
    return a;
}

/* At the end of the broker connections close before their callers are told. */
static void begin_again(struct again *a, bool stopping)
{
    if (stopping || !rpc_conn_open(a->call->conn)) call_drop(a->call);
    else broker_dispatch(a->broker, a->call);
    free(a->frame);
    free(a);
}

static void on_in_memory(struct disk_wait *w, bool stopping) { begin_again(LIST_OWNER(w, struct again, fetched), stopping); }

static void on_saved(struct saver_waiter *w, err_t e)
{
    struct again *a = LIST_OWNER(w, struct again, saved);
    if (!e) {
        begin_again(a, false);
        return;
    }
    call_fail(a->call, err_in(e, "save the topic"));
    free(a->frame);
    free(a);
}

bool disk_again(struct broker *b, struct call *call)
{
    if (!store_is_cold(b->store)) return false;
    struct again *a = keep_call(b, call);
    a->fetched.go_on = on_in_memory;
    disk_wait(b, &a->fetched);
    return true;
}

bool disk_unsaved(struct broker *b, struct call *call, const struct topic *topic)
{
    if (topics_is_saved(b->topics, topic)) return false;
    struct again *a = keep_call(b, call);
    a->saved.done = on_saved;
    topics_when_saved(b->topics, &a->saved);
    return true;
}
