#include "rpc/reply.h"

#include <stdlib.h>

void reply_bean(struct call *call, const struct header_kind *kind, const void *header, const struct bean *bean, const void *value)
{
    struct buf body = BUF_EMPTY;
    bean_encode(bean, value, JSON_RAW, &body);
    call_reply(call, RESPONSE_SUCCESS, NULL, kind, header, buf_slice(&body));
    buf_done(&body);
}

void reply_outcome(struct call *call, err_t e)
{
    if (e) call_fail(call, e);
    else call_reply_ok(call);
}

struct saved_reply {
    struct saver_waiter waiter;
    struct call *call;
};

static void saved(struct saver_waiter *w, err_t e)
{
    struct saved_reply *r = LIST_OWNER(w, struct saved_reply, waiter);
    reply_outcome(r->call, e);
    free(r);
}

struct saver_waiter *reply_when_saved(struct call *call)
{
    struct saved_reply *r = must_zero(sizeof *r);
    r->call = call;
    r->waiter.done = saved;
    return &r->waiter;
}
