/* topic.h - what commands on topics share. The room's own. Threads: loop */
#ifndef SKYLARK_ADMIN_TOPIC_TOPIC_H
#define SKYLARK_ADMIN_TOPIC_TOPIC_H

#include "admin/command.h"

#define KV_ORDER_TOPICS SLICE("ORDER_TOPIC_CONFIG")

/* "RW-" of PERM_… bits. */
struct slice topic_perm_text(struct job *j, int32_t perm);
/* "6", "RW". Errors: USAGE. */
err_t topic_perm_read(const struct params *p, int32_t unless, int32_t *out) MUST_CHECK;
/* Retry topics and dead letters of groups. */
bool topic_is_of_group(struct slice topic);
/* Also what the server made for itself. */
bool topic_is_internal(struct slice topic);

/* Rows of j->replies: broker and "fine"; failures as everywhere. For operations that change something. */
void topic_report_changes(struct job *j, const char *what);

#endif
