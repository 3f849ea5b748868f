/* The table of commands: one row a noun, one a family of mqadmin's. */
#include "admin/command.h"

#include <string.h>

/* Short forms first: they are what --help begins with. */
static const struct command *const lists[] = {
    topic_list_commands, topic_view_commands, topic_change_commands, topic_delete_commands, topic_perm_commands, topic_stats_commands, lite_commands,
    group_list_commands, group_view_commands, group_change_commands, group_reset_commands,
    message_find_commands, message_read_commands, message_send_commands, message_trace_commands, message_rt_commands,
    dlq_commands, message_queue_commands, message_dump_commands, transaction_commands,
    broker_status_commands, broker_config_commands, broker_care_commands, broker_engine_commands,
    controller_commands, container_commands,
    user_commands, acl_commands, account_copy_commands,
    client_commands, route_commands, group_status_commands, monitor_commands, why_commands, doctor_commands, export_commands, export_metrics_commands,
    absent_commands,
};

const struct command *command_at(size_t i)
{
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (const struct command *c = lists[l]; c->name; c++)
            if (!i--) return c;
    return NULL;
}

bool command_is_mqadmin(const struct command *c)
{
    const char *upper = strpbrk(c->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return !strchr(c->name, ' ') && (upper || !strcmp(c->name, "producer"));
}
