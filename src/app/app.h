/* app.h - the subcommands of the executable, and what they share. The room's own. */
#ifndef SKYLARK_APP_APP_H
#define SKYLARK_APP_APP_H

#include "base/config.h"
#include "base/err.h"

#define SKYLARK_VERSION "0.1.0"
/* The release of the original whose protocols and formats we answer for. */
#define COMPATIBLE_VERSION "5.5.0"

/* EXIT_NOBODY: of `admin`, nobody answered. */
enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NOBODY = 3 };

struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

int cmd_server(int argc, char **argv);
int cmd_namesrv(int argc, char **argv);
int cmd_broker(int argc, char **argv);
int cmd_proxy(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_store(int argc, char **argv);
int cmd_admin(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* --- options.c: the options that all servers take --- */

struct options {
    struct config config;
    bool help;
};

/* Reads the command line and the file that -c names into *out (config_done by the caller, also after an error).
 * Errors: USAGE, CONFIG, IO. */
err_t options_read(int argc, char **argv, enum config_owner owner, struct options *out) MUST_CHECK;
/* One file of keys; one KEY=VALUE. */
err_t options_load(struct config *c, const char *path) MUST_CHECK;
/* The same of a JSON object, as rmq-proxy.json is one. */
err_t options_load_json(struct config *c, const char *path) MUST_CHECK;
err_t options_set(struct config *c, const char *pair) MUST_CHECK;
void options_help(const char *name, enum config_owner owner, const char *intro, const char *examples);
/* Prints "skylark NAME: text" to standard error; takes e. Returns the exit status. */
int command_failed(const char *name, err_t e);

/* --- host.c: a process that runs a name server, a broker, a proxy for gRPC clients, or several of them --- */

/* Runs until TERM or INT; returns the exit status. All sides change their keys on their own threads, so each has a
 * configuration of its own; NULL: that side does not run here. */
int host_run(const char *name, struct config *broker, struct config *namesrv, struct config *proxy);

#endif
