/* Limits of what groups have the disk read. Facts: docs/protocol/remoting.md (2001, 2002, 2003). */
#include "broker/handlers.h"

void handle_set_cold_limits(struct broker *b, struct call *call)
{
    err_t e = cold_control_set_limits(b, call->body);
    if (e) call_fail(call, e);
    else call_reply_ok(call);
}

void handle_remove_cold_limit(struct broker *b, struct call *call)
{
    cold_control_remove_limit(b, call->body);
    call_reply_ok(call);
}

void handle_cold_info(struct broker *b, struct call *call)
{
    struct buf body = BUF_EMPTY;
    cold_control_describe(b, &body);
    call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, buf_slice(&body));
    buf_done(&body);
}
