#include "rpc/reply.h"

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
