/* printable.h - sizes, times and bytes of others as people read them.
 * Threads  any */
#ifndef SKYLARK_BASE_PRINTABLE_H
#define SKYLARK_BASE_PRINTABLE_H

#include "base/buf.h"

enum { SIZE_TEXT_MAX = 32, TIME_TEXT_MAX = 32 };

/* "1.5 GiB" */
const char *size_text(int64_t bytes, char out[static SIZE_TEXT_MAX]);
/* ms since 1970 as "2026-11-30T06:44:06.123Z"; "-" for 0 */
const char *time_text(int64_t ms, char out[static TIME_TEXT_MAX]);
/* Bytes as they may be printed: others than printable ASCII and UTF-8 as \xHH. */
void put_printable(struct buf *out, struct slice s);

#endif
