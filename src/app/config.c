#include "app/app.h"

#include "base/properties_file.h"
#include "os/file.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MAX_BYTES = 1 << 20 };
enum { OPTION_FOR = 256, OPTION_ALL, OPTION_MARKDOWN };

static const struct option options[] = {
    {"for", required_argument, NULL, OPTION_FOR},
    {"all", no_argument, NULL, OPTION_ALL},
    {"markdown", no_argument, NULL, OPTION_MARKDOWN},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct wanted {
    enum config_owner owner;
    bool all, markdown, help;
    const char *argument;       /* a key, or a file; NULL: none */
};

static const struct {
    const char *name;
    enum config_owner owner;
} roles[] = {{"server", CONFIG_SERVER}, {"broker", CONFIG_BROKER}, {"namesrv", CONFIG_NAMESRV}, {"proxy", CONFIG_PROXY}};
enum { ROLES = sizeof roles / sizeof *roles };

static err_t read_role(const char *name, enum config_owner *out)
{
    for (int i = 0; i < ROLES; i++)
        if (!strcmp(name, roles[i].name)) {
            *out = roles[i].owner;
            return NULL;
        }
    return err_new(ERR_USAGE, "--for wants server, broker, namesrv or proxy, not \"%s\"", name);
}

static err_t read_options(int argc, char **argv, bool argument, struct wanted *out)
{
    err_t e = NULL;
    *out = (struct wanted){.owner = CONFIG_SERVER};
    optind = 0;
    for (int o; !e && (o = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (o == OPTION_FOR) e = read_role(optarg, &out->owner);
        else if (o == OPTION_ALL) out->all = true;
        else if (o == OPTION_MARKDOWN) out->markdown = true;
        else if (o == 'h') out->help = true;
        else e = err_new(ERR_USAGE, "see --help");
    }
    if (e || out->help) return e;
    out->argument = optind < argc ? argv[optind++] : NULL;
    if (argument && !out->argument) return err_new(ERR_USAGE, "an argument is missing; see --help");
    if (optind < argc || (!argument && out->argument)) return err_new(ERR_USAGE, "\"%s\" is not expected here; see --help", argv[optind < argc ? optind : optind - 1]);
    return NULL;
}

/* --- one key --- */

/* "broker, proxy" */
static const char *owners_text(enum config_owner owner, char out[static 64])
{
    size_t n = 0;
    out[0] = 0;
    for (int i = 1; i < ROLES; i++)
        if (owner & roles[i].owner) n += (size_t)snprintf(out + n, 64 - n, "%s%s", n ? ", " : "", roles[i].name);
    return out;
}

static const char *range_text(const struct config_key *k, char out[static 160])
{
    if (k->is_number) snprintf(out, 160, "%lld to %lld", (long long)k->least, (long long)k->most);
    else snprintf(out, 160, "%s", k->choices[0] ? k->choices : !strcmp(k->type, "bool") ? "true or false" : "");
    return out;
}

static void explain(const struct config_key *k)
{
    char owners[64], range[160];
    printf("%s\n  %s\n  of:       %s\n", k->name, k->meaning, owners_text(k->owner, owners));
    if (k->ignored) return;
    printf("  type:     %s%s%s\n", k->type, k->unit[0] ? ", in " : "", k->unit);
    if (range_text(k, range)[0]) printf("  values:   %s\n", range);
    printf("  default:  %s\n", k->default_text[0] ? k->default_text : "nothing");
    printf("  changes:  %s\n", k->live ? "while running, too (request 25 or 318)" : "at the start alone");
}

/* Name server, broker and proxy may have a key of one name each. */
static int run_explain(const struct wanted *w)
{
    struct config_key k;
    int found = 0;
    for (size_t at = 0; config_next_key(&at, &k);)
        if (k.owner & w->owner && !strcmp(k.name, w->argument)) explain(&k), found++;
    if (found) return EXIT_FINE;
    const char *nearest = config_nearest(slice_text(w->argument), w->owner);
    fprintf(stderr, "skylark config explain: nobody knows %s%s%s%s\n", w->argument, nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    return EXIT_FAILED;
}

/* --- all keys --- */

static void list_row(const struct config_key *k)
{
    if (k->ignored) printf("%-44s (no effect)\n", k->name);
    else printf("%-44s %s%s%s = %s%s\n    %s\n", k->name, k->type, k->unit[0] ? ", " : "", k->unit, k->default_text, k->live ? "  (live)" : "", k->meaning);
}

static void markdown_row(const struct config_key *k)
{
    char range[160];
    printf("| `%s` | %s | %s | %s | %s | %s | %s |\n", k->name, k->choices[0] ? "choice" : k->type, k->unit, range_text(k, range),
           k->default_text[0] ? k->default_text : "", k->live ? "yes" : "no", k->meaning);
}

static const char *const page_head =
    "# Configuration\n\nPrinted by `skylark config list --markdown`; the list is `src/catalog/config.def`. `skylark config explain KEY` says the same of one key,\n"
    "`skylark config check FILE` what is wrong with a file. Files are Java properties, as the original's `broker.conf` and `namesrv.conf`, or JSON, as\n"
    "`rmq-proxy.json`. `--set KEY=VALUE` wins over a file. Where name server, broker and proxy run in one process (`skylark server`) and have a key of one\n"
    "name, `namesrv.KEY`, `broker.KEY` and `proxy.KEY` tell them apart. A key that is *live* may be changed while the server runs, by the tools of the original\n"
    "(`mqadmin updateBrokerConfig`, requests 25 and 318); the change is kept in the file that `skylark broker -c`\n"
    "or `skylark namesrv -c` was started with (`brokerConfigPath`, `configStorePath`); of `skylark server` it lasts until the process ends, unless one of these is set.\n"
    "A key that nobody knows is an error that names the nearest known one; keys of the original that have no effect here are accepted and told once.\n";

static void markdown_section(enum config_owner owner, bool exactly, const char *title)
{
    struct config_key k;
    printf("\n## %s\n| key | type | unit | values | default | live | meaning |\n| --- | --- | --- | --- | --- | --- | --- |\n", title);
    for (size_t at = 0; config_next_key(&at, &k);)
        if (!k.ignored && (exactly ? k.owner == owner : k.owner != owner)) markdown_row(&k);
}

static void markdown_ignored(void)
{
    struct config_key k;
    char owners[64];
    printf("\n## Keys of the original that are accepted and have no effect\n| key | of |\n| --- | --- |\n");
    for (size_t at = 0; config_next_key(&at, &k);)
        if (k.ignored) printf("| `%s` | %s |\n", k.name, owners_text(k.owner, owners));
}

static int run_list(const struct wanted *w)
{
    struct config_key k;
    if (w->markdown) {
        fputs(page_head, stdout);
        markdown_section(CONFIG_BROKER, true, "Broker");
        markdown_section(CONFIG_NAMESRV, true, "Name server");
        markdown_section(CONFIG_PROXY, true, "Proxy");
        markdown_section(CONFIG_SERVER, true, "All of them");
        markdown_ignored();
        return EXIT_FINE;
    }
    for (size_t at = 0; config_next_key(&at, &k);)
        if (k.owner & w->owner && (w->all || !k.ignored)) list_row(&k);
    return EXIT_FINE;
}

/* --- a file --- */

struct verdict {
    int wrong, ignored;
};

static void check_key(struct config *c, struct slice key, struct slice value, const char *where, struct verdict *v)
{
    size_t before = c->ignored.count;
    err_t e = config_set(c, key, value);
    if (e) {
        printf("wrong      %s: %s\n", where, err_text(e));
        v->wrong++;
    } else if (c->ignored.count > before) {
        printf("no effect  %s: %.*s\n", where, SLICE_ARG(key));
        v->ignored++;
    }
    err_free(e);
}

static void check_properties(struct config *c, struct slice text, const char *path, struct verdict *v)
{
    struct arena arena = ARENA_EMPTY;
    struct properties p;
    struct slice key, value;
    char where[512];
    properties_file_begin(&p, text);
    while (properties_file_next(&p, &arena, &key, &value)) {
        snprintf(where, sizeof where, "%.400s, line %d", path, p.line);
        check_key(c, key, value, where, v);
    }
    arena_done(&arena);
}

/* What the file changes: each key that is not what it would be without it. */
static void say_changes(struct config *c, enum config_owner owner)
{
    struct config usual;
    struct buf now = BUF_EMPTY, before = BUF_EMPTY;
    config_init(&usual, owner);
    config_write(c, owner, &now);
    config_write(&usual, owner, &before);
    for (struct slice rest = buf_slice(&now), line; rest.n && slice_split(&rest, '\n', &line);) {
        const uint8_t *mark = memchr(line.p, '=', line.n);
        bool same = !mark || memmem(before.p, before.n, line.p, line.n + 1);
        bool without_effect = mark && map_get(&c->ignored, slice_of(line.p, (size_t)(mark - line.p)));
        if (!same && !without_effect) printf("changes    %.*s\n", SLICE_ARG(line));
    }
    config_done(&usual);
    buf_done(&now);
    buf_done(&before);
}

static err_t check_json(struct config *c, const char *path, struct verdict *v)
{
    err_t e = options_load_json(c, path);
    if (err_code(e) != ERR_CONFIG) return e;
    printf("wrong      %s\n", err_text(e));
    v->wrong++;
    err_free(e);
    return NULL;
}

static int run_check(const struct wanted *w)
{
    struct buf text = BUF_EMPTY;
    struct config c;
    struct verdict v = {0, 0};
    err_t e = fs_read_file(fs_real(), w->argument, FILE_MAX_BYTES, &text);
    config_init(&c, w->owner);
    struct slice trimmed = slice_trim(buf_slice(&text));
    if (!e && trimmed.n && trimmed.p[0] == '{') e = check_json(&c, w->argument, &v);
    else if (!e) check_properties(&c, buf_slice(&text), w->argument, &v);
    if (!e) {
        say_changes(&c, w->owner);
        printf("%s: %d wrong, %d without effect\n", w->argument, v.wrong, v.ignored);
    }
    config_done(&c);
    buf_done(&text);
    return e ? command_failed("config check", e) : v.wrong ? EXIT_FAILED : EXIT_FINE;
}

/* --- the command --- */

static const struct {
    const char *name, *summary, *usage;
    bool argument;
    int (*run)(const struct wanted *w);
} commands[] = {
    {"list", "every key, its type, default and meaning",
     "usage: skylark config list [--for ROLE] [--all] [--markdown]\n\n"
     "Lists every key: type, unit, default, whether it may change while running, meaning.\n\n"
     "  --for ROLE   of server (all keys, the default), broker, namesrv or proxy\n"
     "  --all        also the keys of the original that are accepted and have no effect\n"
     "  --markdown   the page docs/configuration.md\n\n"
     "Examples:\n  skylark config list --for proxy\n", false, run_list},
    {"explain", "what one key means",
     "usage: skylark config explain KEY [--for ROLE]\n\n"
     "Says what a key means, its type, values and default, and whether it may change while running.\n\n"
     "Examples:\n  skylark config explain flushDiskType\n\n"
     "Exit status: 0 there is such a key, 1 there is none.\n", true, run_explain},
    {"check", "what is wrong with a file",
     "usage: skylark config check FILE [--for ROLE]\n\n"
     "Reads a file of keys as a server would, and says all that is wrong with it: unknown keys and what was meant, values that cannot be; which\n"
     "keys have no effect here; and what it changes. Nothing is started.\n\n"
     "  --for ROLE   server (the default), broker, namesrv or proxy: whose file it is\n\n"
     "Examples:\n  skylark config check broker.conf --for broker\n  skylark config check rmq-proxy.json --for proxy\n\n"
     "Exit status: 0 it is fine, 1 something is wrong, 2 this command was not understood.\n", true, run_check},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *to)
{
    fputs("usage: skylark config COMMAND [options]\n\n", to);
    for (int i = 0; i < COMMANDS; i++) fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fputs("\nExamples:\n  skylark config check broker.conf\n", to);
}

int cmd_config(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i].name)) continue;
        struct wanted w;
        err_t e = read_options(argc - 1, argv + 1, commands[i].argument, &w);
        if (e) return command_failed("config", e);
        if (!w.help) return commands[i].run(&w);
        fputs(commands[i].usage, stdout);
        return EXIT_FINE;
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
        usage(stdout);
        return EXIT_FINE;
    }
    if (*name) fprintf(stderr, "skylark config: there is no command \"%s\"\n\n", name);
    usage(stderr);
    return EXIT_USAGE;
}
