#include "app/app.h"

#include "base/json.h"
#include "os/file.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_FILE_MAX = 1 << 20 };
enum { OPTION_DATA = 256, OPTION_LOG, OPTION_LOG_LEVEL, OPTION_SET, OPTION_JSON };

static const struct option options[] = {
    {"config", required_argument, NULL, 'c'},
    {"configFile", required_argument, NULL, 'c'},
    {"pc", required_argument, NULL, OPTION_JSON},
    {"proxyConfigPath", required_argument, NULL, OPTION_JSON},
    {"namesrvAddr", required_argument, NULL, 'n'},
    {"data", required_argument, NULL, OPTION_DATA},
    {"log", required_argument, NULL, OPTION_LOG},
    {"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
    {"set", required_argument, NULL, OPTION_SET},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static err_t set(struct config *c, const char *key, const char *value)
{
    return config_set(c, slice_text(key), slice_text(value));
}

err_t options_load(struct config *c, const char *path)
{
    struct buf text = BUF_EMPTY;
    err_t e = fs_read_file(fs_real(), path, CONFIG_FILE_MAX, &text);
    if (!e) e = config_load(c, buf_slice(&text), path);
    buf_done(&text);
    return e;
}

/* Numbers, truth values and texts; null is a key that is not given. */
static err_t set_pair(struct config *c, struct json *j)
{
    struct slice key = json_key(j), value;
    enum json_type type = json_peek(j);
    if (type == JSON_OBJECT || type == JSON_ARRAY) json_fail(j, "a key of the configuration is an object or a list");
    value = type == JSON_BOOL ? json_skip(j) : json_text(j);
    if (!json_ok(j) || type == JSON_NULL) return NULL;
    return config_set(c, key, value);
}

err_t options_load_json(struct config *c, const char *path)
{
    struct buf text = BUF_EMPTY;
    struct arena arena = ARENA_EMPTY;
    struct json j;
    err_t e = fs_read_file(fs_real(), path, CONFIG_FILE_MAX, &text);
    if (e) return e;
    json_begin(&j, buf_slice(&text), &arena);
    if (json_object(&j))
        while (!e && json_next(&j)) e = err_in(set_pair(c, &j), "%s", path);
    err_t wrong = e ? NULL : json_end(&j, path);
    arena_done(&arena);
    buf_done(&text);
    return e ? e : wrong ? err_in(wrong, "not a configuration") : NULL;
}

err_t options_set(struct config *c, const char *pair)
{
    const char *mark = strchr(pair, '=');
    if (!mark) return err_new(ERR_USAGE, "--set wants KEY=VALUE, not \"%s\"", pair);
    return config_set(c, slice_of(pair, (size_t)(mark - pair)), slice_text(mark + 1));
}

static err_t take(struct options *o, int option, const char *value)
{
    struct config *c = &o->config;
    switch (option) {
    case 'c': case OPTION_JSON: return NULL;   /* was read first */
    case 'n': return set(c, "namesrvAddr", value);
    case OPTION_DATA: return set(c, "dataFolder", value);
    case OPTION_LOG: return set(c, "logFile", value);
    case OPTION_LOG_LEVEL: return set(c, "logLevel", value);
    case OPTION_SET: return options_set(c, value);
    case 'h': o->help = true; return NULL;
    }
    return err_new(ERR_USAGE, "see --help");   /* getopt has said which option it does not know */
}

/* What is changed while running is kept in the file that was given, as with the original; a file for several sides belongs to none of them. */
static err_t keep_in(struct config *c, enum config_owner owner, const char *path)
{
    if (owner == CONFIG_BROKER && !c->broker.config_path) return set(c, "brokerConfigPath", path);
    if (owner == CONFIG_NAMESRV && !c->namesrv.config_path) return set(c, "configStorePath", path);
    return NULL;
}

/* Files are read before the other options, which win over them. */
static err_t load_files(int argc, char **argv, enum config_owner owner, struct config *c)
{
    err_t e = NULL;
    opterr = 0;
    optind = 0;
    for (int o; !e && (o = getopt_long(argc, argv, "c:n:h", options, NULL)) != -1;) {
        if (o == 'c') e = options_load(c, optarg);
        if (o == 'c' && !e) e = keep_in(c, owner, optarg);
        if (o == OPTION_JSON) e = options_load_json(c, optarg);
    }
    opterr = 1;
    optind = 0;   /* getopt begins anew */
    return e;
}

/* The original's short option of two letters. */
static void read_double_letters(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-pc")) argv[i] = "--pc";
}

/* The variable of the original, for who needs name servers and was given none. */
static err_t take_environment(struct config *c, enum config_owner owner)
{
    const char *addr = getenv("NAMESRV_ADDR");
    bool wanted = (owner == CONFIG_BROKER && !c->broker.namesrv_addr) || (owner == CONFIG_PROXY && !c->edge.namesrv_addr);
    return wanted && addr && *addr ? set(c, "namesrvAddr", addr) : NULL;
}

err_t options_read(int argc, char **argv, enum config_owner owner, struct options *out)
{
    memset(out, 0, sizeof *out);
    config_init(&out->config, owner);
    read_double_letters(argc, argv);
    err_t e = load_files(argc, argv, owner, &out->config);
    for (int c; !e && (c = getopt_long(argc, argv, "c:n:h", options, NULL)) != -1;) e = take(out, c, optarg);
    if (!e && optind < argc) e = err_new(ERR_USAGE, "\"%s\" is not expected here; see --help", argv[optind]);
    return e ? e : take_environment(&out->config, owner);
}

void options_help(const char *name, enum config_owner owner, const char *intro, const char *examples)
{
    struct buf keys = BUF_EMPTY;
    printf("usage: skylark %s [options]\n\n%s\n\n", name, intro);
    puts("  -c, --config FILE     keys from a properties file; a broker.conf or namesrv.conf of the original is fine");
    if (owner == CONFIG_PROXY) puts("  -pc, --pc FILE        keys from a JSON file; a rmq-proxy.json of the original is fine");
    if (owner == CONFIG_BROKER || owner == CONFIG_PROXY)
        puts("  -n, --namesrvAddr A   name servers, host:port separated by ; (or the variable NAMESRV_ADDR)");
    puts("      --data DIR        folder for everything that is kept (default ./data)\n"
         "      --set KEY=VALUE   one key; may be repeated, and wins over the file\n"
         "      --log FILE        log to a file instead of standard error; HUP opens it anew\n"
         "      --log-level L     debug, info, warn or error\n"
         "  -h, --help            this");
    printf("\n%s\nKeys, their defaults and meaning:\n\n", examples);
    config_describe(owner, &keys);
    fwrite(keys.p, 1, keys.n, stdout);
    buf_done(&keys);
}

int command_failed(const char *name, err_t e)
{
    int status = err_code(e) == ERR_USAGE ? EXIT_USAGE : EXIT_FAILED;
    fprintf(stderr, "skylark %s: %s\n", name, err_text(e));
    err_free(e);
    return status;
}
