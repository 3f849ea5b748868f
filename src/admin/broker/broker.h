/* broker.h - what commands on brokers and clusters share. The room's own. Threads: loop */
#ifndef SKYLARK_ADMIN_BROKER_BROKER_H
#define SKYLARK_ADMIN_BROKER_BROKER_H

#include "admin/command.h"

/* The params "brokerAddr" and "clusterName" under the letters of mqadmin. */
#define BROKER_OR_CLUSTER \
    {"brokerAddr", "b", PARAM_VALUE, "ADDR", "this broker"}, \
    {"clusterName", "c", PARAM_VALUE, "CLUSTER", "all masters of this cluster"}

/* Table "brokers" of those that did it; ends the job. */
void broker_end_changes(struct job *j, const char *done);
/* "key=value" lines into rows (name, key, value). */
void broker_put_properties(struct job *j, struct table *t, struct slice name, struct slice text);
/* The params "key" and "value" as a line of properties. */
struct slice broker_property_line(struct job *j);
/* The value of a runtime key, p NULL when it is not there. */
struct slice kv_value(const struct kv_table *t, const char *key);
/* The first of several numbers, "12.5 3.0 1.0"; a whole number. 0 when it is not there, or none. */
double kv_rate(const struct kv_table *t, const char *key);
int64_t kv_number(const struct kv_table *t, const char *key);

#endif
