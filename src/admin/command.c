#include "admin/command.h"

#include "base/addr.h"
#include "base/printable.h"
#include "os/tasks.h"
#include "rpc/rpc.h"

#include <assert.h>
#include <getopt.h>
#include <stdlib.h>

#define NAMESRV_DEFAULT "127.0.0.1:9876"

enum { TIMEOUT_DEFAULT_MS = 3000, TIMEOUT_MOST_MS = 3600000, OPTION_FIRST = 256, ADVICE_BYTES = 400 };
enum { OPTION_NAMESRV, OPTION_BROKER, OPTION_JSON, OPTION_TIMEOUT, OPTION_HELP, COMMON_OPTIONS };

/* One row a command: sorted as they are to be read in --help. */
static const struct command *const commands[] = {
    &command_why_queue, &command_why_message, &command_why_send, &command_transaction_list, &command_transaction_resume,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const struct option common_options[COMMON_OPTIONS] = {
    [OPTION_NAMESRV] = {"namesrv", required_argument, NULL, 'n'},
    [OPTION_BROKER] = {"broker", required_argument, NULL, 'b'},
    [OPTION_JSON] = {"json", no_argument, NULL, OPTION_FIRST + OPTION_JSON},
    [OPTION_TIMEOUT] = {"timeout", required_argument, NULL, OPTION_FIRST + OPTION_TIMEOUT},
    [OPTION_HELP] = {"help", no_argument, NULL, 'h'},
};

static const char common_help[] =
    "  -n, --namesrv ADDR[;ADDR...]  name servers (default: the variable NAMESRV_ADDR, else " NAMESRV_DEFAULT ")\n"
    "  -b, --broker ADDR             asks this broker alone, and no name server\n"
    "      --json                    the answer as one JSON document\n"
    "      --timeout MS              for all of it together (default 3000)\n"
    "  -h, --help                    this\n";

static const char exit_help[] =
    "Exit status: 0 fine, 1 the answer is an error (or one of several brokers gave none), 2 wrong usage, 3 nobody answered.\n";

/* --- help --- */

static bool belongs(const struct command *c, struct slice noun)
{
    struct slice name = slice_text(c->name);
    return !noun.n || (slice_starts(name, noun) && name.n > noun.n && name.p[noun.n] == ' ');
}

static void put_words(struct buf *out, const struct command *c)
{
    buf_printf(out, "%s%s%s", c->name, *c->arguments ? " " : "", c->arguments);
}

/* noun empty: all commands. */
static void put_commands(struct buf *out, struct slice noun)
{
    struct grid g;
    grid_init(&g, 2);
    for (size_t i = 0; i < COMMANDS; i++) {
        if (!belongs(commands[i], noun)) continue;
        struct buf usage = BUF_EMPTY;
        buf_put_text(&usage, "  ");
        put_words(&usage, commands[i]);
        grid_text(&g, buf_slice(&usage));
        grid_text(&g, slice_text(commands[i]->summary));
        buf_done(&usage);
    }
    grid_print(&g, out);
    grid_done(&g);
}

static void put_group_help(struct buf *out, struct slice noun)
{
    buf_put_text(out, "usage: skylark admin COMMAND [options]\n\nAsks a running cluster, and has things done in it.\n\n");
    put_commands(out, noun);
    buf_printf(out, "\nOptions of each:\n%s\n%s\n", common_help, exit_help);
    buf_put_text(out, "'skylark admin COMMAND --help' explains one. To begin: skylark admin transaction list\n");
}

static void put_command_help(struct buf *out, const struct command *c)
{
    buf_put_text(out, "usage: skylark admin ");
    put_words(out, c);
    buf_printf(out, " [options]\n\n%s\n", c->help);
    for (const struct command_option *o = c->options; o && o->name; o++) {
        struct buf left = BUF_EMPTY;
        buf_printf(&left, "--%s %s", o->name, o->argument);
        buf_printf(out, "      %-24.*s  %s\n", SLICE_ARG(buf_slice(&left)), o->help);
        buf_done(&left);
    }
    buf_printf(out, "%s\n%s", common_help, exit_help);
}

static void print(FILE *to, struct buf *text)
{
    if (text->n) fwrite(text->p, 1, text->n, to);
    fflush(to);
    buf_clear(text);
}

/* --- errors --- */

static enum admin_status status_of(err_t e)
{
    if (err_code(e) == ERR_USAGE) return ADMIN_USAGE;
    return admin_is_silence(e) ? ADMIN_NOBODY : ADMIN_FAILED;
}

static const char *hint_for(const struct invocation *in, err_t e)
{
    for (const struct command_hint *h = in->command->hints; h && h->text; h++)
        if (h->code == err_code(e)) return h->text;
    if (!admin_is_silence(e)) return NULL;
    if (in->options.broker.p) return "is a broker there? 'skylark server' starts one";
    return "'skylark server' starts one; -n HOST:PORT names another, -b HOST:PORT a broker";
}

/* One line on standard error. */
static void complain(const struct invocation *in, const char *who, const char *text, const char *hint)
{
    struct buf line = BUF_EMPTY;
    buf_printf(&line, "skylark admin %s: ", in->command->name);
    if (who) buf_printf(&line, "%s: ", who);
    put_printable(&line, slice_text(text));
    if (hint) buf_printf(&line, " (%s)", hint);
    buf_put_u8(&line, '\n');
    print(in->call.err, &line);
    buf_done(&line);
}

static void end(struct invocation *in, enum admin_status status)
{
    struct admin_call call = in->call;
    free(in);
    call.done(call.ctx, status);
}

/* Before an operation began. Takes e. */
static void fail(struct invocation *in, err_t e)
{
    enum admin_status status = status_of(e);
    complain(in, NULL, err_text(e), NULL);
    err_free(e);
    end(in, status);
}

/* --- what was found --- */

void grid_broker(struct grid *g, const struct admin_broker *b)
{
    struct buf text = BUF_EMPTY;
    if (b->name.n) buf_printf(&text, "%.*s ", SLICE_ARG(b->name));
    buf_put_slice(&text, b->address);
    grid_text(g, buf_slice(&text));
    buf_done(&text);
}

void json_put_member(struct json_out *w, const char *name, struct slice text)
{
    if (!text.p) return;
    json_put_key(w, slice_text(name));
    json_put_text(w, text);
}

void json_put_number(struct json_out *w, const char *name, int64_t number)
{
    json_put_key(w, slice_text(name));
    json_put_i64(w, number);
}

void json_put_broker(struct json_out *w, const struct admin_broker *b)
{
    json_put_member(w, "brokerName", b->name);
    json_put_member(w, "brokerAddr", b->address);
}

void json_put_failures(struct json_out *w, const struct admin_failures *f)
{
    if (!f->list.count) return;
    json_put_key(w, SLICE("failures"));
    json_put_array(w);
    for (size_t i = 0; i < f->list.count; i++) {
        json_put_object(w);
        json_put_broker(w, &f->list.items[i].broker);
        json_put_member(w, "error", f->list.items[i].text);
        json_put_object_end(w);
    }
    json_put_array_end(w);
}

static void print_result(const struct invocation *in)
{
    struct buf text = BUF_EMPTY;
    struct json_out w;
    if (in->json) {
        json_out_init(&w, &text, JSON_STRICT);
        json_put_object(&w);
        in->command->print_json(in, &w);
        json_put_object_end(&w);
        buf_put_u8(&text, '\n');
    } else {
        in->command->print(in, &text);
    }
    print(in->call.out, &text);
    buf_done(&text);
}

static enum admin_status tell_failures(const struct invocation *in)
{
    const struct admin_failures *f = in->command->failures ? in->command->failures(&in->results) : NULL;
    for (size_t i = 0; f && i < f->list.count; i++) {
        const struct admin_failure *one = &f->list.items[i];
        struct buf who = BUF_EMPTY, text = BUF_EMPTY;
        buf_put_text(&who, "broker ");
        put_printable(&who, one->broker.name.n ? one->broker.name : one->broker.address);
        buf_put_u8(&who, 0);
        buf_put_slice(&text, one->text);
        buf_put_u8(&text, 0);
        complain(in, (const char *)who.p, (const char *)text.p, NULL);
        buf_done(&who);
        buf_done(&text);
    }
    return f && f->list.count ? ADMIN_FAILED : ADMIN_FINE;
}

/* What an operation used is let go in a turn of its own, as it may stand below command_done. */
static void say_farewell(struct mail *m)
{
    struct invocation *in = (struct invocation *)((char *)m - offsetof(struct invocation, farewell));
    admin_free(in->admin);
    end(in, in->status);
}

void command_done(void *ctx, err_t e)
{
    struct invocation *in = ctx;
    in->farewell.deliver = say_farewell;
    if (e) {
        in->status = status_of(e);
        complain(in, NULL, err_text(e), hint_for(in, e));
        err_free(e);
    } else {
        print_result(in);
        in->status = tell_failures(in);
    }
    tasks_post(rpc_tasks(in->call.loop), &in->farewell);
}

/* --- the command line --- */

err_t command_number(const char *what, struct slice text, int32_t *out)
{
    if (slice_to_i32(text, out) && *out >= 0) return NULL;
    return err_new(ERR_USAGE, "%s is a number from 0 on, not \"%.*s\"", what, SLICE_ARG(text));
}

static err_t check_addresses(const char *option, struct slice text, bool one)
{
    struct slice rest = text, address, host;
    uint16_t port;
    size_t count = 0;
    while (slice_split(&rest, ';', &address)) {
        if (!slice_trim(address).n) continue;
        err_t e = addr_split(slice_trim(address), &host, &port);
        err_free(e);
        if (e || (one && count))
            return err_new(ERR_USAGE, "%s wants HOST:PORT%s, not \"%.*s\"", option, one ? "" : "[;HOST:PORT...]", SLICE_ARG(text));
        count++;
    }
    return count ? NULL : err_new(ERR_USAGE, "%s names no address", option);
}

static err_t take_timeout(struct invocation *in, struct slice text)
{
    if (slice_to_i64(text, &in->options.timeout_ms) && in->options.timeout_ms > 0 && in->options.timeout_ms <= TIMEOUT_MOST_MS) return NULL;
    return err_new(ERR_USAGE, "--timeout wants a number of milliseconds from 1 to %d, not \"%.*s\"", TIMEOUT_MOST_MS, SLICE_ARG(text));
}

/* The long options getopt is to know: the common ones, then the command's. */
static void list_options(const struct command *c, struct option out[static COMMON_OPTIONS + COMMAND_OPTIONS_MAX + 1])
{
    size_t n = 0;
    memcpy(out, common_options, sizeof common_options);
    for (; c->options && c->options[n].name; n++) {
        assert(n < COMMAND_OPTIONS_MAX);
        out[COMMON_OPTIONS + n] = (struct option){c->options[n].name, required_argument, NULL, OPTION_FIRST + COMMON_OPTIONS + (int)n};
    }
    out[COMMON_OPTIONS + n] = (struct option){NULL, 0, NULL, 0};
}

static err_t take_option(struct invocation *in, int option, const char *word, bool *help)
{
    struct slice value = slice_text(optarg);
    switch (option) {
    case 'n': in->options.namesrv = value; return NULL;
    case 'b': in->options.broker = slice_trim(value); return check_addresses("--broker", value, true);
    case 'h': *help = true; return NULL;
    case OPTION_FIRST + OPTION_JSON: in->json = true; return NULL;
    case OPTION_FIRST + OPTION_TIMEOUT: return take_timeout(in, value);
    case ':': return err_new(ERR_USAGE, "%s wants a value; see 'skylark admin %s --help'", word, in->command->name);
    case '?':
        if (optopt > 0 && optopt < OPTION_FIRST)
            return err_new(ERR_USAGE, "there is no option -%c; see 'skylark admin %s --help'", optopt, in->command->name);
        return err_new(ERR_USAGE, "there is no option %s; see 'skylark admin %s --help'", word, in->command->name);
    default: in->given[option - OPTION_FIRST - COMMON_OPTIONS] = value; return NULL;
    }
}

static err_t take_words(struct invocation *in, int argc, char **argv)
{
    const struct command *c = in->command;
    size_t count = (size_t)(argc - optind);
    assert(c->most <= sizeof in->words / sizeof *in->words);
    if (count < c->least) return err_new(ERR_USAGE, "it takes %s; see 'skylark admin %s --help'", c->arguments, c->name);
    if (count > c->most)
        return err_new(ERR_USAGE, "\"%s\" is not expected%s%s; see 'skylark admin %s --help'", argv[optind + (int)c->most],
                       c->most ? " behind " : "", c->arguments, c->name);
    for (size_t i = 0; i < count; i++) {
        in->words[i] = slice_text(argv[optind + (int)i]);
        if (!in->words[i].n) return err_new(ERR_USAGE, "an argument is empty; it takes %s", c->arguments);
    }
    return NULL;
}

/* argv[0] is the last word of the command's name. */
static err_t read_line(struct invocation *in, int argc, char **argv, bool *help)
{
    struct option options[COMMON_OPTIONS + COMMAND_OPTIONS_MAX + 1];
    err_t e = NULL;
    list_options(in->command, options);
    opterr = 0;
    optind = 0;   /* getopt begins anew */
    for (int o; !e && (o = getopt_long(argc, argv, ":n:b:h", options, NULL)) != -1;)
        e = take_option(in, o, argv[optind > 1 ? optind - 1 : 1], help);
    if (!e && !*help) e = take_words(in, argc, argv);
    if (!e && !*help) e = check_addresses("--namesrv", in->options.namesrv, false);
    return e;
}

static void run(struct invocation *in, int argc, char **argv)
{
    bool help = false;
    err_t e = read_line(in, argc, argv, &help);
    if (e || help) {
        struct buf text = BUF_EMPTY;
        if (help) put_command_help(&text, in->command);
        print(in->call.out, &text);
        buf_done(&text);
        if (e) fail(in, e);
        else end(in, ADMIN_FINE);
        return;
    }
    in->admin = admin_new(&in->options);
    e = in->command->begin(in);
    if (!e) return;
    admin_free(in->admin);
    in->admin = NULL;
    fail(in, e);
}

/* --- which command --- */

/* How many of the words name the command; 0: they do not. */
static int words_match(const char *name, int argc, char **argv)
{
    struct slice rest = slice_text(name), word;
    int n = 0;
    while (slice_split(&rest, ' ', &word)) {
        if (n >= argc || !slice_eq(word, slice_text(argv[n]))) return 0;
        n++;
    }
    return n;
}

static bool is_help(const char *word) { return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"); }

static struct slice find_noun(const char *word)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (belongs(commands[i], slice_text(word))) return slice_text(word);
    return (struct slice){NULL, 0};
}

/* Nothing that runs: help, or what there is instead. */
static enum admin_status explain(const struct admin_call *call, int argc, char **argv)
{
    const char *first = argc > 0 ? argv[0] : "", *last = argc > 1 ? argv[1] : "";
    struct slice noun = find_noun(first);
    bool asked = argc > 0 && is_help(noun.n ? last : first);
    struct buf text = BUF_EMPTY;
    if (!asked && *first) {
        buf_put_text(&text, "skylark admin: there is no command \"");
        put_printable(&text, slice_text(first));
        if (noun.n && *last && *last != '-') {
            buf_put_u8(&text, ' ');
            put_printable(&text, slice_text(last));
        }
        buf_put_text(&text, "\"; there are: ");
        for (size_t i = 0, n = 0; i < COMMANDS; i++)
            if (belongs(commands[i], noun)) buf_printf(&text, "%s%s", n++ ? ", " : "", commands[i]->name);
        buf_put_text(&text, " ('skylark admin --help' explains them)\n");
    } else {
        put_group_help(&text, noun);
    }
    print(asked ? call->out : call->err, &text);
    buf_done(&text);
    return asked ? ADMIN_FINE : ADMIN_USAGE;
}

void admin_command(const struct admin_call *call, int argc, char **argv)
{
    const char *namesrv = call->namesrv ? call->namesrv : NAMESRV_DEFAULT;
    for (size_t i = 0; i < COMMANDS; i++) {
        int n = words_match(commands[i]->name, argc - 1, argv + 1);
        if (!n) continue;
        struct invocation *in = must_zero(sizeof *in);
        in->command = commands[i];
        in->call = *call;
        in->options = (struct admin_options){.loop = call->loop, .namesrv = slice_text(namesrv), .timeout_ms = TIMEOUT_DEFAULT_MS};
        run(in, argc - n, argv + n);
        return;
    }
    call->done(call->ctx, explain(call, argc - 1, argv + 1));
}
