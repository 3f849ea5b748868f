/* handlers.h - one function a request: handle_x(b, call) answers the call, now or later. The room's own.
 * Threads  loop. The call is the handler's until it is answered. */
#ifndef SKYLARK_BROKER_HANDLERS_H
#define SKYLARK_BROKER_HANDLERS_H

#include "broker/state.h"
#include "codec/requests.h"

#define HANDLER_broker(handler) void handle_##handler(struct broker *b, struct call *call);
#define HANDLER_namesrv(handler)
#define REQUEST(room, name, code, handler, rights, port) HANDLER_##room(handler)
#define CALL(name, code)
#include "catalog/requests.def"
#undef REQUEST
#undef CALL

#endif
