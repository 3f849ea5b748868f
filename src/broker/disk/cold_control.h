/* cold_control.h - how much of what is not in memory each group may have read from the disk, in rounds of a few seconds; who wants more is told
 * to come later. Off by default (coldDataFlowControlEnable).
 * Facts    docs/protocol/remoting.md, 2001 to 2003; the original's rounds last 5 s, whatever its limits are called
 * Units    bytes read from the disk, those read ahead included
 * Threads  loop
 * Owns     names; requests that wait for their turn */
#ifndef SKYLARK_BROKER_COLD_CONTROL_H
#define SKYLARK_BROKER_COLD_CONTROL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "base/map.h"

struct broker;
struct call;

struct cold_control {
    struct map groups;          /* name -> struct cold_group: who had the disk read lately */
    struct map limits;          /* name -> int64_t: set by request 2001, kept in memory alone */
    int64_t total;              /* of all groups, in this round */
    int64_t round_ms;           /* mono_ms of its beginning */
    struct list held;           /* requests that wait for their turn */
};

void cold_control_init(struct cold_control *c);
/* Drops who waits. */
void cold_control_end(struct broker *b);
void cold_control_done(struct cold_control *c);

/* The disk was read for a pull of the group. Nothing while it is off, and for groups of the system. */
void cold_control_note(struct broker *b, struct slice group, int64_t bytes);
/* Whether the disk has been read enough for the group in this round, or for all. */
bool cold_control_is_over(struct broker *b, struct slice group);
/* The request begins anew after a while, and is not held back then; it is no longer the handler's. */
void cold_control_hold(struct broker *b, struct call *call);

/* Lines "group=bytes". INVALID: none of them counts. */
err_t cold_control_set_limits(struct broker *b, struct slice lines) MUST_CHECK;
void cold_control_remove_limit(struct broker *b, struct slice group);
/* What was read and may be, as the JSON of request 2003. */
void cold_control_describe(struct broker *b, struct buf *out);

#endif
