/* properties_file.h - Java's .properties text: broker.conf, and bodies of configuration requests.
 * Shape    key=value, key:value or "key value" per line; # and ! begin comments; a backslash at the end joins the next line;
 *          \t \n \r \f \uXXXX and \any are escapes. Bytes are taken as UTF-8
 * Owns     nothing: keys and values lie in the arena
 * Threads  any */
#ifndef SKYLARK_BASE_PROPERTIES_FILE_H
#define SKYLARK_BASE_PROPERTIES_FILE_H

#include "base/arena.h"
#include "base/buf.h"

struct properties {
    struct slice rest;
    int line;           /* of what properties_file_next() gave last, from 1 */
    int next_line;
};

void properties_file_begin(struct properties *p, struct slice text);
/* False at the end (also past the arena's limit). */
bool properties_file_next(struct properties *p, struct arena *arena, struct slice *key, struct slice *value);
/* One line, as the original writes them: nothing is escaped. */
void properties_file_put(struct buf *out, struct slice key, struct slice value);

#endif
