/* delay_offsets.h - how far the messages of each delay level have been delivered.
 * Files    <folder>/delayOffset.json in the original's format, written by a worker when delay_offsets_save() was called
 * Facts    docs/protocol/store.md 8
 * Units    queue_offset: entries of the level's queue; -1: nothing is known of the level
 * Threads  loop, but delay_offsets_open and delay_offsets_close, which block */
#ifndef SKYLARK_META_DELAY_OFFSETS_H
#define SKYLARK_META_DELAY_OFFSETS_H

#include "base/json.h"
#include "codec/delay_levels.h"
#include "os/saver.h"

struct delay_offsets;

/* version_step: delayOffsetUpdateVersionStep, changes from one data version to the next. Errors: IO, BODY. */
err_t delay_offsets_open(const char *folder, int64_t version_step, struct fs *fs, struct tasks *tasks, struct delay_offsets **out) MUST_CHECK;
/* Writes what was saved. Frees d in any case; NULL is fine. */
err_t delay_offsets_close(struct delay_offsets *d) MUST_CHECK;

/* Levels from 1 to DELAY_LEVELS_MAX. */
int64_t delay_offsets_get(const struct delay_offsets *d, int32_t level);
void delay_offsets_set(struct delay_offsets *d, int32_t level, int64_t queue_offset);
/* What lies before these offsets is delivered for good: the file may say so. `safe` has a value for each level from 1 on. Whatever else is
 * delivered lies behind log_offset in the commit log. */
void delay_offsets_save(struct delay_offsets *d, const int64_t safe[static DELAY_LEVELS_MAX + 1], int64_t log_offset);
/* The place of the log that was saved last, or loaded; -1: none was. */
int64_t delay_offsets_log(const struct delay_offsets *d);
/* The file's text, with what has been set so far. */
void delay_offsets_encode(const struct delay_offsets *d, enum json_style style, struct buf *out);

#endif
