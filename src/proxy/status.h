/* status.h - how the outcome of an RPC is told: codes of rocketmq_v2.proto, their names, what an error or a broker's code is.
 * Facts    docs/protocol/grpc.md 4
 * Threads  any */
#ifndef SKYLARK_PROXY_STATUS_H
#define SKYLARK_PROXY_STATUS_H

#include "base/err.h"
#include "base/slice.h"
#include "codec/proto/rocketmq_v2.h"

/* "OK"; "INTERNAL_SERVER_ERROR" for what has no name. */
struct slice code_name(int32_t code);
int32_t code_of_response(int32_t response_code);
int32_t code_of_error(enum err_code code);

#endif
