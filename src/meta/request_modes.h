/* request_modes.h - which groups pop a topic instead of pulling it, as an operator said (401).
 * Files    <folder>/messageRequestMode.json in the original's format, written by a worker after each change
 * Facts    docs/protocol/remoting.md, requests 400 to 402
 * Threads  loop, but request_modes_open and request_modes_close, which block */
#ifndef SKYLARK_META_REQUEST_MODES_H
#define SKYLARK_META_REQUEST_MODES_H

#include "codec/body_assignment.h"
#include "os/saver.h"

struct request_modes;

/* Errors: IO, BODY. */
err_t request_modes_open(const char *folder, struct fs *fs, struct tasks *tasks, struct request_modes **out) MUST_CHECK;
/* Writes what is not written. Frees m in any case; NULL is fine. */
err_t request_modes_close(struct request_modes *m) MUST_CHECK;

/* Valid until the next change; NULL: nothing was said. */
const struct request_mode *request_modes_find(const struct request_modes *m, struct slice topic, struct slice group);
/* Copies the texts. */
void request_modes_set(struct request_modes *m, const struct request_mode *mode);
/* The file's text. */
void request_modes_encode(const struct request_modes *m, enum json_style style, struct buf *out);
void request_modes_when_saved(struct request_modes *m, struct saver_waiter *w);

#endif
