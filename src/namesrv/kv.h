/* kv.h - named texts in namespaces, as kvConfig.json holds them. Pure but for memory.
 * Facts    docs/protocol/remoting.md 4.3 (100, 101, 102, 219), store.md 8
 * Threads  its owner
 * Owns     copies; what it returns is valid until the next change */
#ifndef SKYLARK_NAMESRV_KV_H
#define SKYLARK_NAMESRV_KV_H

#include "base/map.h"
#include "codec/body_lists.h"

struct kv {
    struct map spaces;      /* namespace -> struct map of key -> char * */
};

void kv_done(struct kv *kv);
void kv_put(struct kv *kv, struct slice space, struct slice key, struct slice value);
/* False when it was not there. */
bool kv_remove(struct kv *kv, struct slice space, struct slice key);
/* NULL when there is none. */
const char *kv_get(const struct kv *kv, struct slice space, struct slice key);
/* False: no such namespace. The list lies in the arena. */
bool kv_list(const struct kv *kv, struct slice space, struct arena *arena, struct kv_table *out);

void kv_encode(const struct kv *kv, struct buf *out);
/* Replaces what is there. Errors: BODY. */
err_t kv_decode(struct kv *kv, struct slice text) MUST_CHECK;

#endif
