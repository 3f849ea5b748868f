#include "app/app.h"

#include <stdio.h>
#include <string.h>

static const struct command commands[] = {
    {"server", "name server, broker and proxy in one process; needs no configuration", cmd_server},
    {"namesrv", "a name server alone", cmd_namesrv},
    {"broker", "a broker alone, with a broker.conf and name servers", cmd_broker},
    {"proxy", "a proxy alone: serves gRPC clients in front of name servers and brokers", cmd_proxy},
    {"config", "every key: list, explain, check a file", cmd_config},
    {"store", "looks into the folder of a broker: check, dump, rebuild, stats", cmd_store},
    {"admin", "asks a running cluster: why something is as it is, transactions", cmd_admin},
    {"version", "what this is", cmd_version},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *to)
{
    fputs("Skylark: messaging that speaks Apache RocketMQ's protocols and disk formats.\n\n"
          "usage: skylark COMMAND [options]\n\n", to);
    for (int i = 0; i < COMMANDS; i++) fprintf(to, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fputs("\n'skylark COMMAND --help' explains one. To begin: skylark server\n", to);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(name, commands[i].name)) return commands[i].run(argc - 1, argv + 1);
    if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h")) {
        usage(stdout);
        return EXIT_FINE;
    }
    if (!strcmp(name, "--version") || !strcmp(name, "-V")) return cmd_version(argc, argv);
    if (*name) fprintf(stderr, "skylark: there is no command \"%s\"\n\n", name);
    usage(stderr);
    return EXIT_USAGE;
}
