/* compress.h - bodies that clients compress: which way stands in bits 8 to 10 of the message's sys_flag.
 * Facts    docs/protocol/store.md 2: 1 lz4 (frame format), 2 zstd, 3 zlib; 0 is zlib too, of older clients
 * Threads  any
 * Errors   BODY, when what is to be opened is no such body, or grows beyond the limit; nothing larger than that is allocated */
#ifndef SKYLARK_CODEC_COMPRESS_H
#define SKYLARK_CODEC_COMPRESS_H

#include "base/buf.h"

enum compression { COMPRESSION_ZLIB_OLD, COMPRESSION_LZ4, COMPRESSION_ZSTD, COMPRESSION_ZLIB };
enum { SYS_FLAG_COMPRESSION_SHIFT = 8, SYS_FLAG_COMPRESSION_MASK = 0x700 };

/* The highest level of a kind; 0 when it cannot be written. */
int compress_level_max(enum compression kind);
/* Appends. level: 1 up to the highest; lz4 has 0 too. */
err_t compress_body(enum compression kind, int level, struct slice body, struct buf *out) MUST_CHECK;
/* Appends the body that was compressed as sys_flag says. */
err_t decompress_body(int32_t sys_flag, struct slice body, size_t limit_bytes, struct buf *out) MUST_CHECK;

#endif
