/* group.h - what commands on consumer groups share. The room's own. Threads: loop */
#ifndef SKYLARK_ADMIN_GROUP_GROUP_H
#define SKYLARK_ADMIN_GROUP_GROUP_H

#include "admin/command.h"
#include "codec/body_connection.h"
#include "codec/body_group_config.h"
#include "codec/body_progress.h"

/* "V5_3_3" of the ordinal that clients tell; the number itself for those before 4.0.0. */
struct slice client_version_text(struct job *j, int32_t version);
/* The group that was given, under any of the names that mqadmin has for it. */
struct slice group_name(const struct job *j);
/* What the server made for itself. */
bool group_is_internal(struct slice group);
/* The brokers of a group's retry topic, else all masters, into j->brokers. */
void group_brokers(struct job *j, struct slice group, job_phase *next);
/* 208 to each of j->brokers. topic p NULL: all. */
void group_ask_progress(struct job *j, struct slice group, struct slice topic, job_phase *next);
/* 203 to each of j->brokers. */
void group_ask_connections(struct job *j, struct slice group, job_phase *next);
/* The members over all answers, each client once. Those that say that nobody is online are no failures. */
struct consumer_connections group_merge_connections(struct job *j);
/* Table "members", and the group's way of consuming. */
void group_outcome_connections(struct job *j, const struct consumer_connections *c);
/* Table "queues" and sums of j->replies to 208. */
void group_outcome_progress(struct job *j);

/* list.c: how all groups with a retry topic are doing, as a job's first phase. */
void group_all_progress(struct job *j);

#endif
