/* command.h - what a command of `skylark admin` is, and what it finds when it runs. The room's own.
 * Shape    a command is a row of its noun's list: its words, what it takes, its help, the operation; commands.c lists the lists
 * Threads  loop */
#ifndef SKYLARK_ADMIN_COMMAND_H
#define SKYLARK_ADMIN_COMMAND_H

#include "admin/job.h"
#include "admin/output.h"
#include "admin/session.h"
#include "codec/body_lists.h"
#include "codec/body_stats.h"
#include "os/tasks.h"


/* What the user can do about an error, behind the error's own words. A table of them ends with text NULL. */
struct command_hint {
    enum err_code code;
    const char *text;
};

union results {
    struct admin_reasons reasons;
    struct admin_transactions transactions;
    struct admin_resumed resumed;
};

/* Options of all commands. */
enum { COMMON_NAMESRV, COMMON_NAMESRV_ADDR, COMMON_NAMESERVER_ADDR, COMMON_BROKER, COMMON_JSON, COMMON_TIMEOUT, COMMON_PROFILE, COMMON_YES, COMMON_HELP, COMMON_PARAMS };
extern const struct param common_params[COMMON_PARAMS + 1];

/* A command that runs. */
struct invocation {
    const struct command *command;
    struct admin_call call;
    struct params params;
    struct slice common[COMMON_PARAMS];           /* by place in common_params; p NULL: not given */
    struct admin_options options;
    bool json;
    struct admin *admin;
    struct job *job;                              /* of a command that has `start` */
    bool emitted;                                 /* the job printed before its end */
    bool progress;                                /* a line of progress stands on the terminal */
    union {
        struct why_queue_header why_queue;
        struct why_message_header why_message;
        struct why_send_header why_send;
    } header;
    union results results;
    struct mail farewell;
    enum admin_status status;
    struct timer again;                           /* of a command that repeats */
    void (*next_round)(struct invocation *in);
    int64_t interval_ms;                          /* between two rounds; 0: there is one */
    int64_t rounds;                               /* to go, this one included */
};

struct command {
    const char *name;                             /* its words: "why queue"; a command of mqadmin has one, in any case of letters */
    const struct param *params;                   /* NULL: none of its own */
    const char *one_of;                           /* two params, "brokerAddr|clusterName", of which exactly one is given; NULL: any */
    const char *summary;
    const char *help;                             /* what it does, with an example; NULL: the summary says it */
    const struct command_hint *hints;             /* NULL: none of its own */
    const char *asks;                             /* what it destroys: is asked before, "deletes the topic"; NULL: nothing */
    const char *absent;                           /* why it is not there; all below is NULL then */
    int64_t timeout_ms;                           /* without --timeout; 0: 3 s. Of each round */
    int32_t interval_s;                           /* of one with the params "interval" and "rounds": without --interval; 0: one round */
    /* An operation in phases (job.h), whose outcome is printed. Or NULL, then: */
    job_phase *start;
    /* Begins the operation, with command_done and the invocation; an error: wrong arguments, nothing has begun. */
    err_t (*begin)(struct invocation *in);
    /* What the operation found. */
    void (*print)(const struct invocation *in, struct buf *out);
    void (*print_json)(const struct invocation *in, struct json_out *w);
    /* Those that did not answer; NULL: one broker is asked. */
    const struct admin_failures *(*failures)(const union results *r);
};

/* --- commands.c: the table --- */

/* All of them, as they are to be read in help. */
const struct command *command_at(size_t i);      /* NULL: there are no more */
bool command_is_mqadmin(const struct command *c);

/* --- command_help.c --- */

/* noun empty: all commands. */
void help_commands(struct buf *out, struct slice noun);
void help_command(struct buf *out, const struct command *c);
/* "there is no command …", with those that are near. */
void help_unknown(struct buf *out, struct slice noun, const char *first, const char *last);
/* All of it as one page of Markdown. */
void help_reference(struct buf *out);
/* "bash", "zsh", "fish". Errors: USAGE. */
err_t help_completion(struct buf *out, struct slice shell) MUST_CHECK;
bool command_belongs(const struct command *c, struct slice noun);

/* --- command_print.c --- */

/* What was found, to standard output; then who failed, to standard error. */
enum admin_status command_print(struct invocation *in);
/* For struct job: prints what it has, as a document of its own with --json, and empties it. */
void command_emit(struct job *j);
/* One line on standard error. */
void command_complain(const struct invocation *in, const char *who, const char *text, const char *hint);
void command_write(FILE *to, struct buf *text);
/* For struct job: ctx is the invocation. */
void command_progress(void *ctx, int64_t done, int64_t total);

/* --- command_repeat.c: commands that run again until the user interrupts them --- */

#define PARAM_INTERVAL(letter, help) {"interval", letter, PARAM_VALUE, "S", help}
#define PARAM_ROUNDS {"rounds", NULL, PARAM_VALUE, "N", "ends after so many (default: when it is interrupted)"}

/* Errors: USAGE. */
err_t command_repeat_read(struct invocation *in) MUST_CHECK;
/* After a round, when nothing of it is left: `begin` will run for the next one; false: that was the last one. */
bool command_repeat(struct invocation *in, void (*begin)(struct invocation *in));

/* --- command.c --- */

/* For operations: ctx is the invocation. Prints, and ends the command. */
void command_done(void *ctx, err_t e);
/* A number of the line, from 0 on; `what` is how the error calls it. Errors: USAGE. */
err_t command_number(const char *what, struct slice text, int32_t *out) MUST_CHECK;
struct slice command_param(const struct invocation *in, const char *name);

/* "b-1 127.0.0.1:10911" into a cell. */
void grid_broker(struct grid *g, const struct admin_broker *b);

/* Members of the object that is being written: brokerName, brokerAddr; failures, when there are any. */
void json_put_broker(struct json_out *w, const struct admin_broker *b);
void json_put_failures(struct json_out *w, const struct admin_failures *f);
void json_put_member(struct json_out *w, const char *name, struct slice text);
void json_put_number(struct json_out *w, const char *name, int64_t number);

/* --- the commands --- */
extern const struct command why_commands[], transaction_commands[];
extern const struct command topic_change_commands[], topic_perm_commands[], topic_delete_commands[], topic_list_commands[], topic_view_commands[],
    topic_stats_commands[], lite_commands[];
extern const struct command broker_status_commands[], broker_config_commands[], broker_care_commands[], broker_engine_commands[];
extern const struct command controller_commands[], container_commands[];
extern const struct command user_commands[], acl_commands[], account_copy_commands[];
extern const struct command message_find_commands[], message_read_commands[], message_send_commands[], message_rt_commands[], message_trace_commands[],
    message_queue_commands[], message_dump_commands[], dlq_commands[];
extern const struct command client_commands[], route_commands[], doctor_commands[], export_commands[], export_metrics_commands[], absent_commands[];
extern const struct command group_list_commands[], group_view_commands[], group_change_commands[], group_reset_commands[], group_status_commands[], monitor_commands[];

#endif
