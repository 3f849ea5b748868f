/* properties.h - the property text of a message: name 0x01 value 0x02, repeated.
 * Facts    docs/protocol/store.md 2: the last 0x02 may be missing; a part without 0x01, without name or without value does not
 *          count; of a name that occurs twice the last one counts
 * Threads  any */
#ifndef SKYLARK_CODEC_PROPERTIES_H
#define SKYLARK_CODEC_PROPERTIES_H

#include "base/buf.h"

enum { PROPERTY_NAME_END = 1, PROPERTY_END = 2 };

/* Takes the next property off the front of *rest; false when there is none left. */
bool properties_next(struct slice *rest, struct slice *name, struct slice *value);
/* The value that counts; false when there is none. `value` stays untouched then. */
bool properties_find(struct slice text, struct slice name, struct slice *value);
/* The same, as a slice that is empty when there is none. */
static inline struct slice properties_get(struct slice text, struct slice name)
{
    struct slice value = {NULL, 0};
    properties_find(text, name, &value);
    return value;
}
/* Appends a property; closes an open last one first. An empty value is left out: readers would drop it. */
void properties_put(struct buf *text, struct slice name, struct slice value);
/* Appends `text` without any property of that name. */
void properties_put_without(struct buf *out, struct slice text, struct slice name);

#endif
