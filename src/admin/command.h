/* command.h - what a command of `skylark admin` is, and what it finds when it runs. The room's own.
 * Shape    a command is a row in the table of command.c: its words, its help, how it begins its operation, how it prints the result
 * Threads  loop */
#ifndef SKYLARK_ADMIN_COMMAND_H
#define SKYLARK_ADMIN_COMMAND_H

#include "admin/output.h"
#include "admin/session.h"
#include "os/tasks.h"

enum { COMMAND_OPTIONS_MAX = 16 };

/* An option that takes a value, besides the common ones. A table of them ends with name NULL. */
struct command_option {
    const char *name;
    const char *argument;
    const char *help;
};

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

/* A command that runs. */
struct invocation {
    const struct command *command;
    struct admin_call call;
    struct slice words[8];                        /* arguments, in order; those that were left out have p NULL */
    struct slice given[COMMAND_OPTIONS_MAX];      /* by the command's own options; p NULL: not given */
    struct admin_options options;
    bool json;
    struct admin *admin;
    union {
        struct why_queue_header why_queue;
        struct why_message_header why_message;
        struct why_send_header why_send;
    } header;
    union results results;
    struct mail farewell;
    enum admin_status status;
};

struct command {
    const char *name;                             /* its words: "why queue" */
    const char *arguments;                        /* "TOPIC KEY [GROUP]" */
    size_t least, most;                           /* of arguments */
    const char *summary;
    const char *help;                             /* what it does, with examples */
    const struct command_option *options;         /* NULL: none of its own */
    const struct command_hint *hints;             /* NULL: none of its own */
    /* Begins the operation, with command_done and the invocation; an error: wrong arguments, nothing has begun. */
    err_t (*begin)(struct invocation *in);
    /* What the operation found. */
    void (*print)(const struct invocation *in, struct buf *out);
    void (*print_json)(const struct invocation *in, struct json_out *w);
    /* Those that did not answer; NULL: one broker is asked. */
    const struct admin_failures *(*failures)(const union results *r);
};

/* For operations: ctx is the invocation. Prints, and ends the command. */
void command_done(void *ctx, err_t e);
/* Errors: USAGE. */
err_t command_number(const char *what, struct slice text, int32_t *out) MUST_CHECK;
/* "b-1 127.0.0.1:10911" into a cell. */
void grid_broker(struct grid *g, const struct admin_broker *b);

/* Members of the object that is being written: brokerName, brokerAddr; failures, when there are any. */
void json_put_broker(struct json_out *w, const struct admin_broker *b);
void json_put_failures(struct json_out *w, const struct admin_failures *f);
void json_put_member(struct json_out *w, const char *name, struct slice text);
void json_put_number(struct json_out *w, const char *name, int64_t number);

/* --- the commands --- */
extern const struct command command_why_queue, command_why_message, command_why_send;
extern const struct command command_transaction_list, command_transaction_resume;

#endif
