#include "app/app.h"

#include "tools/tools.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* `skylark store …`: exit status 0 whole, 1 damage found (or, of rebuild, not done), 2 usage or nothing that can be read. */

enum { OPTION_COMMITLOG = 256, OPTION_SET, OPTION_JSON, OPTION_MOST, OPTION_FROM, OPTION_TO, OPTION_TOPIC, OPTION_QUEUE, OPTION_KEY, OPTION_BODY, OPTION_LIMIT };

struct store_command;

struct store_call {
    const struct store_command *command;
    struct config config;
    struct tools_options tools;
    struct dump_options dump;
    int64_t most;
    bool help;
};

struct store_command {
    const char *name;
    const char *summary;
    const char *help;            /* behind the usage line */
    const char *arguments;
    const struct option *options;
    err_t (*run)(struct store_call *c, int *status);
};

/* --- options --- */

#define COMMON_OPTIONS                                                                            \
    {"commitlog", required_argument, NULL, OPTION_COMMITLOG}, {"config", required_argument, NULL, 'c'}, \
    {"set", required_argument, NULL, OPTION_SET}, {"json", no_argument, NULL, OPTION_JSON}, {"help", no_argument, NULL, 'h'}

static const struct option plain_options[] = {COMMON_OPTIONS, {NULL, 0, NULL, 0}};
static const struct option check_options[] = {COMMON_OPTIONS, {"most", required_argument, NULL, OPTION_MOST}, {NULL, 0, NULL, 0}};
static const struct option dump_options[] = {
    COMMON_OPTIONS,
    {"from", required_argument, NULL, OPTION_FROM},
    {"to", required_argument, NULL, OPTION_TO},
    {"topic", required_argument, NULL, OPTION_TOPIC},
    {"queue", required_argument, NULL, OPTION_QUEUE},
    {"key", required_argument, NULL, OPTION_KEY},
    {"body", no_argument, NULL, OPTION_BODY},
    {"limit", required_argument, NULL, OPTION_LIMIT},
    {NULL, 0, NULL, 0},
};

#define COMMON_HELP                                                                                             \
    "      --commitlog DIR   the log, when it is not in the store (storePathCommitLog)\n"                       \
    "  -c, --config FILE     a broker.conf: sizes of files (mappedFileSizeConsumeQueue, maxHashSlotNum, maxIndexNum)\n" \
    "      --set KEY=VALUE   one key of it\n"                                                                   \
    "      --json            for programs\n"                                                                    \
    "  -h, --help            this\n"

static const char check_help[] =
    "Reads everything in a store and says what is wrong with it: commit log, consume queues, index, checkpoint, configuration. DIR is the\n"
    "store (commitlog/ is in it) or a data folder with store/ in it; Skylark's or that of a Java broker. Nothing is written and no lock is\n"
    "taken, so the broker may run; what it writes meanwhile shows as notes. Each finding is a line: file, position, what is wrong, and what\n"
    "the broker does about it when it opens the store.\n\n"
    "      --most N          lines for each level, notes and damage (default 1000); all are counted\n" COMMON_HELP
    "\nExit status: 0 whole, 1 damage found, 2 wrong usage or no store that can be read.\n\nExamples:\n"
    "  skylark store check ./data\n"
    "  skylark store check /home/rocketmq/store -c broker.conf\n"
    "  skylark store check ./data --json | jq '.findings[] | select(.level == \"damage\")'\n";

static const char dump_help[] =
    "Prints what is in a store, a line each: records of the log (the default), entries of queues, keys of the index, or the checkpoint.\n"
    "Nothing is written and no lock is taken.\n\n"
    "      --from N          position in the log (queue: offset; index: number) to begin at\n"
    "      --to N            … and to end before\n"
    "      --topic T         of this topic only\n"
    "      --queue N         of this queue only\n"
    "      --key K           with this unique key, or this word among its keys\n"
    "      --body            bodies too\n"
    "      --limit N         at most so many lines\n" COMMON_HELP
    "\nExit status: 0 done, 2 wrong usage or no store that can be read.\n\nExamples:\n"
    "  skylark store dump ./data --topic Orders --limit 20 --body\n"
    "  skylark store dump ./data log --from 1073741824 --json\n"
    "  skylark store dump ./data queue --topic Orders --queue 0\n"
    "  skylark store dump ./data checkpoint\n";

static const char rebuild_help[] =
    "Makes consume queues and index anew from the commit log, as the broker itself writes them. The broker must be stopped. The old ones stay\n"
    "until the new ones are on disk and then trade places with them: an interruption leaves either. There must be room for both. Queues do not\n"
    "count less far than before. A torn end of the log is cut, as at a start. Queues of topics that were deleted come back as long as their\n"
    "records are in the log.\n\n" COMMON_HELP
    "\nExit status: 0 done, 1 not done (the store is as it was), 2 wrong usage or no store that can be read.\n\nExamples:\n"
    "  skylark store rebuild ./data\n"
    "  skylark store rebuild /home/rocketmq/store -c broker.conf\n";

static const char stats_help[] =
    "Counts what is in a store: files and the room they take, messages and bytes of each queue, from when to when. Reads the whole log;\n"
    "nothing is written and no lock is taken.\n\n" COMMON_HELP
    "\nExit status: 0 done, 2 wrong usage or no store that can be read.\n\nExamples:\n"
    "  skylark store stats ./data\n"
    "  skylark store stats ./data --json | jq '.queues[] | select(.messages > 1000)'\n";

static err_t take_number(const char *what, const char *text, int64_t *out)
{
    if (slice_to_i64(slice_text(text), out) && *out >= 0) return NULL;
    return err_new(ERR_USAGE, "--%s wants a number from 0 on, not \"%s\"", what, text);
}

static err_t take_queue(struct store_call *c, const char *text)
{
    if (slice_to_i32(slice_text(text), &c->dump.queue_id) && c->dump.queue_id >= 0) return NULL;
    return err_new(ERR_USAGE, "--queue wants the number of a queue, not \"%s\"", text);
}

static err_t take(struct store_call *c, int option, const char *value)
{
    switch (option) {
    case 'c': return options_load(&c->config, value);
    case OPTION_SET: return options_set(&c->config, value);
    case OPTION_COMMITLOG: c->tools.log_folder = value; return NULL;
    case OPTION_JSON: c->tools.json = true; return NULL;
    case OPTION_MOST: return take_number("most", value, &c->most);
    case OPTION_FROM: return take_number("from", value, &c->dump.from);
    case OPTION_TO: return take_number("to", value, &c->dump.to);
    case OPTION_TOPIC: c->dump.topic = value; return NULL;
    case OPTION_QUEUE: return take_queue(c, value);
    case OPTION_KEY: c->dump.key = value; return NULL;
    case OPTION_BODY: c->dump.body = true; return NULL;
    case OPTION_LIMIT: return take_number("limit", value, &c->dump.limit);
    case 'h': c->help = true; return NULL;
    }
    return err_new(ERR_USAGE, "see 'skylark store %s --help'", c->command->name);   /* getopt has said which option it does not know */
}

static err_t take_what(struct store_call *c, const char *word)
{
    static const char *const words[] = {[DUMP_LOG] = "log", [DUMP_QUEUE] = "queue", [DUMP_INDEX] = "index", [DUMP_CHECKPOINT] = "checkpoint"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i])) continue;
        c->dump.what = (enum dump_what)i;
        return NULL;
    }
    return err_new(ERR_USAGE, "log, queue, index or checkpoint can be dumped, not \"%s\"", word);
}

static err_t take_arguments(struct store_call *c, int argc, char **argv)
{
    bool dumps = c->command->options == dump_options;
    if (c->help) return NULL;
    if (optind >= argc) return err_new(ERR_USAGE, "say which store: skylark store %s %s", c->command->name, c->command->arguments);
    c->tools.folder = argv[optind++];
    if (dumps && optind < argc) {
        err_t e = take_what(c, argv[optind++]);
        if (e) return e;
    }
    return optind < argc ? err_new(ERR_USAGE, "\"%s\" is not expected here; see --help", argv[optind]) : NULL;
}

/* --- the progress --- */

struct progress {
    int percent;
    const char *what;
    bool shown;
};

/* One line that is written over; for people alone. */
static void show_progress(void *ctx, const char *what, int64_t done, int64_t total)
{
    struct progress *p = ctx;
    int percent = total > 0 ? (int)(100.0 * (double)done / (double)total) : 0;
    if (p->shown && p->what == what && p->percent == percent) return;
    *p = (struct progress){percent, what, true};
    fprintf(stderr, "\r%-14s %3d %%", what, percent);
    fflush(stderr);
}

static void end_progress(const struct progress *p)
{
    if (p->shown) fputs("\r                     \r", stderr);
}

/* --- the commands --- */

static err_t run_check(struct store_call *c, int *status)
{
    bool whole = true;
    err_t e = tools_check(&c->tools, (size_t)c->most, &whole);
    *status = whole ? EXIT_FINE : EXIT_FAILED;
    return e;
}

static err_t run_dump(struct store_call *c, int *status)
{
    (void)status;
    return tools_dump(&c->tools, &c->dump);
}

static err_t run_rebuild(struct store_call *c, int *status)
{
    (void)status;
    return tools_rebuild(&c->tools);
}

static err_t run_stats(struct store_call *c, int *status)
{
    (void)status;
    return tools_stats(&c->tools);
}

static const struct store_command commands[] = {
    {"check", "says what is wrong with a store", check_help, "DIR [options]", check_options, run_check},
    {"dump", "prints records, queue entries, index keys or the checkpoint", dump_help, "DIR [log|queue|index|checkpoint] [options]", dump_options, run_dump},
    {"rebuild", "makes consume queues and index anew from the commit log", rebuild_help, "DIR [options]", plain_options, run_rebuild},
    {"stats", "counts files, messages and bytes", stats_help, "DIR [options]", plain_options, run_stats},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *to)
{
    fputs("usage: skylark store COMMAND DIR [options]\n\nLooks into the folder of a broker, Skylark's or Java's.\n\n", to);
    for (int i = 0; i < COMMANDS; i++) fprintf(to, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fputs("\n'skylark store COMMAND --help' explains one. To begin: skylark store check ./data\n", to);
}

/* What cannot be read, or was asked for wrongly, is 2; 1 is for what was looked at. */
static int failed(const struct store_call *c, err_t e)
{
    bool rebuilds = c->command->run == run_rebuild;
    int status = rebuilds && err_code(e) != ERR_USAGE && err_code(e) != ERR_NOT_FOUND ? EXIT_FAILED : EXIT_USAGE;
    fprintf(stderr, "skylark store %s: %s\n", c->command->name, err_text(e));
    err_free(e);
    return status;
}

static err_t read_options(struct store_call *c, int argc, char **argv)
{
    err_t e = NULL;
    optind = 0;
    for (int o; !e && (o = getopt_long(argc, argv, "c:h", c->command->options, NULL)) != -1;) e = take(c, o, optarg);
    if (!e) e = take_arguments(c, argc, argv);
    const struct config *f = &c->config;
    c->tools.now_ms = (int64_t)time(NULL) * 1000;
    if (!c->tools.log_folder) c->tools.log_folder = f->store.log_folder;
    c->tools.queue_file_entries = (f->store.queue_file_bytes + 19) / 20;
    c->tools.batch_file_entries = (f->store.batch_queue_file_bytes + 45) / 46;
    c->tools.index_slots = f->store.index_slots;
    c->tools.index_entries = f->store.index_entries;
    return e;
}

static int run(const struct store_command *command, int argc, char **argv)
{
    struct progress progress = {.percent = -1};
    struct store_call c = {
        .command = command, .most = 1000, .tools = {.fs = fs_real(), .out = stdout},
        .dump = {.to = INT64_MAX, .queue_id = -1, .limit = INT64_MAX},
    };
    config_init(&c.config, CONFIG_BROKER);
    int status = EXIT_FINE;
    err_t e = read_options(&c, argc, argv);
    if (isatty(STDERR_FILENO)) {
        c.tools.progress = show_progress;
        c.tools.progress_ctx = &progress;
    }
    if (!e && c.help) printf("usage: skylark store %s %s\n\n%s", command->name, command->arguments, command->help);
    else if (!e) e = command->run(&c, &status);
    end_progress(&progress);
    if (e) status = failed(&c, e);
    config_done(&c.config);
    return status;
}

int cmd_store(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(name, commands[i].name)) return run(&commands[i], argc - 1, argv + 1);
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        usage(stdout);
        return EXIT_FINE;
    }
    if (*name) fprintf(stderr, "skylark store: there is no command \"%s\"\n\n", name);
    usage(stderr);
    return EXIT_USAGE;
}
