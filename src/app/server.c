#include "app/app.h"

#include <stdio.h>

/* What the three servers have in common: read the options, help or run. */
static int run(int argc, char **argv, const char *name, enum config_owner owner, const char *intro, const char *examples)
{
    struct options broker, namesrv;   /* the same, read twice */
    int status = EXIT_FINE;
    err_t e = options_read(argc, argv, owner, &broker);
    err_t again = e ? NULL : options_read(argc, argv, owner, &namesrv);
    if (e) status = command_failed(name, e);
    else if (broker.help) options_help(name, owner, intro, examples);
    else status = host_run(name, owner & CONFIG_BROKER ? &broker.config : NULL, owner & CONFIG_NAMESRV ? &namesrv.config : NULL);
    err_free(again);
    config_done(&broker.config);
    if (!e) config_done(&namesrv.config);
    return status;
}

int cmd_server(int argc, char **argv)
{
    return run(argc, argv, "server", CONFIG_SERVER,
               "Runs a name server and a broker in one process. Without any option it listens on the ports that clients expect\n"
               "(9876 name server, 10911 broker) and keeps everything below ./data. Messages are on disk before they are answered.",
               "Examples:\n"
               "  skylark server\n"
               "  skylark server --data /var/lib/skylark --set brokerIP1=mq.example.org\n"
               "  skylark server -c broker.conf --set flushDiskType=ASYNC_FLUSH\n");
}

int cmd_namesrv(int argc, char **argv)
{
    return run(argc, argv, "namesrv", CONFIG_NAMESRV,
               "Runs a name server: brokers register here, clients ask it where topics are.",
               "Examples:\n"
               "  skylark namesrv\n"
               "  skylark namesrv --set listenPort=9877 --data /var/lib/skylark-names\n");
}

int cmd_broker(int argc, char **argv)
{
    return run(argc, argv, "broker", CONFIG_BROKER,
               "Runs a broker: it stores messages and hands them out. It registers with the name servers given, Skylark's or Java's,\n"
               "and opens a store directory of the Java broker as it is.",
               "Examples:\n"
               "  skylark broker -n 10.0.0.1:9876\n"
               "  skylark broker -c broker.conf -n '10.0.0.1:9876;10.0.0.2:9876'\n");
}
