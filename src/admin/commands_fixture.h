/* commands_fixture.h - one broker and a name server that have an answer to every request that commands make. */
#ifndef SKYLARK_ADMIN_COMMANDS_FIXTURE_H
#define SKYLARK_ADMIN_COMMANDS_FIXTURE_H

#include "admin/session_fixture.h"

/* What is there: topic T of one queue on broker a (10.0.0.2), with the message KEY1; group G with two members; dead letters of G. */
struct cluster *world_start(void);

/* Parts of it: what the broker says, up to request 0; the record of the message, and of a dead letter. Filled by world_start. */
extern const struct line world_broker[];
extern const char world_route[], world_cluster[], world_members[], world_running[];
extern struct slice world_record, world_letter;

#endif
