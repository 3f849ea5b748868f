/* words.h - the small texts of the gRPC wire format: time limits, status texts, content types. Pure. The room's own.
 * Facts    the gRPC wire format over HTTP/2 (PROTOCOL-HTTP2) */
#ifndef SKYLARK_GRPC_WORDS_H
#define SKYLARK_GRPC_WORDS_H

#include "base/buf.h"

#include <stdint.h>

enum { STATUS_TEXT_MAX = 4096 };

/* "20S", "100m": at most 8 digits and a unit (H M S m u n). Rounded up to whole ms. False: it is not one. */
bool timeout_parse(struct slice text, int64_t *out_ms);
/* Appends a status text as it may stand in a header; what would be longer than STATUS_TEXT_MAX there is cut: clients take 8 KiB of headers. */
void status_text_encode(struct slice text, struct buf *out);
/* "application/grpc", "application/grpc+proto", "application/grpc;charset=utf-8" */
bool is_grpc_content(struct slice type);
/* Whether a list like "identity, gzip" has the word. */
bool list_has(struct slice list, struct slice word);
/* Cuts "/package.Service/Method" in two. False: it is not of that form. */
bool path_split(struct slice path, struct slice *out_service, struct slice *out_method);

#endif
