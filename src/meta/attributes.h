/* attributes.h - the attributes of topics and groups, and changes to them as administrators write them: "+key=value,-key".
 * Facts    docs/protocol/semantics.md 1.3; vectors: tests/fixtures/vectors/attributes.jsonl
 * Errors   REFUSED, with the wording of the original
 * Threads  any */
#ifndef SKYLARK_META_ATTRIBUTES_H
#define SKYLARK_META_ATTRIBUTES_H

#include "codec/bean.h"

enum attributes_of { ATTRIBUTES_OF_TOPIC, ATTRIBUTES_OF_GROUP };

struct attributes {
    BEAN_LIST(struct pair) pairs;
};

/* Text to edits: the keys keep their sign. Texts borrow, the list lies in the arena. */
err_t attribute_edits_parse(struct slice text, struct arena *arena, struct attributes *out) MUST_CHECK;
/* What becomes of `now` (NULL: a topic or group that is being created) after the edits. Texts borrow from both. */
err_t attributes_edit(enum attributes_of of, const struct attributes *now, const struct attributes *edits, struct arena *arena,
                      struct attributes *out) MUST_CHECK;

#endif
