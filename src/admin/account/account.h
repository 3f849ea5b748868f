/* account.h - what commands on users and permissions share. The room's own. Threads: loop */
#ifndef SKYLARK_ADMIN_ACCOUNT_ACCOUNT_H
#define SKYLARK_ADMIN_ACCOUNT_ACCOUNT_H

#include "admin/command.h"
#include "codec/body_accounts.h"

/* The params "brokerAddr" and "clusterName" under the letters of mqadmin: accounts are kept by slaves, too. */
#define ACCOUNT_BROKERS \
    {"brokerAddr", "b", PARAM_VALUE, "ADDR", "at this broker"}, \
    {"clusterName", "c", PARAM_VALUE, "CLUSTER", "at all brokers of this cluster"}
#define ACCOUNT_MASTERS \
    {"brokerAddr", "b", PARAM_VALUE, "ADDR", "of this broker"}, \
    {"clusterName", "c", PARAM_VALUE, "CLUSTER", "of all masters of this cluster"}
/* The same for short forms: --broker is an option of all commands. */
#define ACCOUNT_CLUSTER {"cluster", NULL, PARAM_VALUE, "CLUSTER", "of this cluster alone (else all brokers there are)"}

/* One that changes something at all brokers, the same at each. */
struct account_change {
    int32_t code;
    const struct header_kind *kind;
    const void *header;
    struct slice body;
    const char *done;
};

/* Asks j->state, a struct account_change, of all brokers, slaves too; ends the job. */
void account_change(struct job *j);

/* "a,b" as texts without blanks around them; empty ones do not count. */
struct account_texts { struct slice *items; size_t count; };
struct account_texts account_split(struct job *j, struct slice text);
/* "a,b" of them. */
struct slice account_join(struct job *j, const struct slice *items, size_t count);

/* "alice" is "User:alice" in short forms. */
struct slice account_subject(struct job *j, struct slice text);

#endif
