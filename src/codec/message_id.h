/* message_id.h - the two kinds of message id, as upper-case hexadecimal text.
 * Shape    offset id: store ip 4 or 16 | port i32 | log_offset i64                                          32 or 56 digits
 *          unique id: client ip 4 or 16 | process i16 | loader i32 | ms since the month began i32 | counter i16    the same
 * Facts    docs/protocol/store.md 2.2; the month begins in UTC here, whatever the time zone
 * Threads  any */
#ifndef SKYLARK_CODEC_MESSAGE_ID_H
#define SKYLARK_CODEC_MESSAGE_ID_H

#include "base/addr.h"

enum { MESSAGE_ID_V4 = 32, MESSAGE_ID_V6 = 56, MESSAGE_ID_TEXT = MESSAGE_ID_V6 + 1 };

/* NUL-terminated; returns the number of digits. */
size_t offset_id_format(const struct addr *store_host, int64_t log_offset, char out[static MESSAGE_ID_TEXT]);
/* Digits of either case. Errors: INVALID. */
err_t offset_id_parse(struct slice text, struct addr *store_host, int64_t *log_offset) MUST_CHECK;

struct unique_id {
    struct addr client;     /* its port is not part of the id */
    uint16_t process;
    uint32_t loader;
    uint32_t month_ms;
    uint16_t counter;
};

size_t unique_id_format(const struct unique_id *id, char out[static MESSAGE_ID_TEXT]);
err_t unique_id_parse(struct slice text, struct unique_id *out) MUST_CHECK;
/* Start of the month of that time, both in ms since 1970. */
int64_t month_start_ms(int64_t now_ms);

#endif
