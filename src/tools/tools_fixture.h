/* tools_fixture.h - for the tests of this room: a store on a simulated disk, filled by the store itself, and what the tools say of it. */
#ifndef SKYLARK_TOOLS_TOOLS_FIXTURE_H
#define SKYLARK_TOOLS_TOOLS_FIXTURE_H

#include "store/store_fixture.h"
#include "tools/tools.h"

enum { FIXTURE_LOG_BYTES = 3 << 10, FIXTURE_MESSAGES = 40 };

struct tools_fixture {
    struct store_fixture *s;
    struct tools_options options;
    struct appended places[FIXTURE_MESSAGES];   /* of topic A queue 0, topic A queue 1, topic B queue 0, and so on again */
    char *text;                                 /* what the last call printed */
    size_t bytes;
    bool whole;
};

/* FIXTURE_MESSAGES messages with tags and keys in three queues, closed well. `v6`: both hosts of each record. */
struct tools_fixture *tools_fixture_new(bool v6);
void tools_fixture_free(struct tools_fixture *t);
const char *tools_fixture_topic(int i, int32_t *queue_id);
int64_t tools_fixture_offset(int i);
/* Each prints into t->text. */
err_t tools_fixture_check(struct tools_fixture *t) MUST_CHECK;
err_t tools_fixture_dump(struct tools_fixture *t, const struct dump_options *d) MUST_CHECK;
err_t tools_fixture_stats(struct tools_fixture *t) MUST_CHECK;
err_t tools_fixture_rebuild(struct tools_fixture *t) MUST_CHECK;
/* Whether message i is served, whole and as it was sent. The store is open. */
bool tools_fixture_serves(struct tools_fixture *t, int i);
/* Every file below a folder: name, then content. buf_done() by the caller. */
struct buf tools_fixture_files(struct tools_fixture *t, const char *folder, bool names);

#endif
