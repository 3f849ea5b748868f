/* settings.h - what a client is told about how to behave: its own settings, merged with those of the proxy and of its group.
 * Facts    docs/protocol/grpc.md 5.3; recorded: tests/fixtures/grpc/calls.jsonl
 * Threads  loop */
#ifndef SKYLARK_PROXY_SETTINGS_H
#define SKYLARK_PROXY_SETTINGS_H

#include "proxy/state.h"

/* In the request's arena; `told` is changed. group NULL: nobody knows it. */
struct v2_settings *settings_merged(struct request *r, struct v2_settings *told, const struct group_facts *group);
const char *client_type_name(int32_t type);

#endif
