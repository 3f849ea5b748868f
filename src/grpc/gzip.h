/* gzip.h - whole messages packed with gzip. Pure. The room's own. */
#ifndef SKYLARK_GRPC_GZIP_H
#define SKYLARK_GRPC_GZIP_H

#include "base/buf.h"

enum gzip_result { GZIP_FINE, GZIP_TOO_LARGE, GZIP_BROKEN };

/* Appends the unpacked bytes; nothing unless GZIP_FINE. Memory is taken for what the bytes can hold, not for what they promise. */
enum gzip_result gzip_unpack(struct slice packed, size_t most, struct buf *out);
/* Appends the packed bytes. Memory that is too short ends the process, as in base/buf. */
void gzip_pack(struct slice bytes, struct buf *out);

#endif
