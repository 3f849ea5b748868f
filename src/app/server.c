#include "app/app.h"

#include <stdio.h>

enum { SIDES = 3 };

static const enum config_owner sides[SIDES] = {CONFIG_BROKER, CONFIG_NAMESRV, CONFIG_PROXY};

/* The options are read once for each side that runs here: each has a configuration of its own. */
static int host(const char *name, enum config_owner owner, int argc, char **argv)
{
    struct options o[SIDES] = {0};
    struct config *c[SIDES] = {NULL};
    err_t e = NULL;
    for (int i = 0; i < SIDES && !e; i++) {
        if (!(owner & sides[i])) continue;
        e = options_read(argc, argv, owner, &o[i]);
        c[i] = &o[i].config;
    }
    if (!e && c[2] && owner != CONFIG_PROXY && !c[2]->edge.enabled) {
        if (c[2]->edge.one_port) e = err_new(ERR_CONFIG, "onePort and proxyEnable=false contradict each other: the proxy has that port");
        config_done(c[2]);
        c[2] = NULL;
    }
    if (!e && c[1] && c[2] && c[1]->broker.authentication)
        e = err_new(ERR_CONFIG, "authenticationEnabled=true needs proxyEnable=false: the proxy does not check who its clients are");
    int status = e ? command_failed(name, e) : host_run(name, c[0], c[1], c[2]);
    for (int i = 0; i < SIDES; i++)
        if (c[i]) config_done(c[i]);
    return status;
}

/* What the servers have in common: help, or run. */
static int run(int argc, char **argv, const char *name, enum config_owner owner, const char *intro, const char *examples)
{
    struct options o;
    err_t e = options_read(argc, argv, owner, &o);
    bool help = o.help;
    config_done(&o.config);
    if (e) return command_failed(name, e);
    if (!help) return host(name, owner, argc, argv);
    options_help(name, owner, intro, examples);
    return EXIT_FINE;
}

int cmd_server(int argc, char **argv)
{
    return run(argc, argv, "server", CONFIG_SERVER,
               "Runs a name server, a broker and a proxy for gRPC clients in one process. Without any option it listens on the ports that\n"
               "clients expect (9876 name server, 10911 broker, 8081 gRPC, 8080 for those that are to see the proxy alone) and keeps\n"
               "everything below ./data. Messages are on disk before they are answered.",
               "Examples:\n"
               "  skylark server\n"
               "  skylark server --data /var/lib/skylark --set brokerIP1=mq.example.org\n"
               "  skylark server -c broker.conf --set flushDiskType=ASYNC_FLUSH\n"
               "  skylark server --set onePort=9876\n");
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

int cmd_proxy(int argc, char **argv)
{
    return run(argc, argv, "proxy", CONFIG_PROXY,
               "Runs a proxy: it serves gRPC clients (the 5.x SDKs), and reaches brokers by the name servers given, Skylark's or Java's.",
               "Examples:\n"
               "  skylark proxy -n 10.0.0.1:9876\n"
               "  skylark proxy -pc rmq-proxy.json -n '10.0.0.1:9876;10.0.0.2:9876'\n"
               "  skylark proxy -n 10.0.0.1:9876 --set tlsCertPath=server.crt --set tlsKeyPath=server.key --set tls.server.mode=enforcing\n");
}
