#include "admin/command.h"

#include "base/addr.h"
#include "os/tasks.h"
#include "rpc/rpc.h"

#include <assert.h>
#include <stdlib.h>
#include <strings.h>

#define NAMESRV_DEFAULT "127.0.0.1:9876"

enum { TIMEOUT_DEFAULT_MS = 3000, TIMEOUT_MOST_MS = 3600000 };

const struct param common_params[COMMON_PARAMS + 1] = {
    [COMMON_NAMESRV] = {"namesrv", "n", PARAM_VALUE, "ADDR[;ADDR...]", "name servers (default: the variable NAMESRV_ADDR, else " NAMESRV_DEFAULT ")"},
    [COMMON_NAMESRV_ADDR] = {"namesrvAddr", NULL, PARAM_VALUE, "ADDR[;ADDR...]", NULL},
    [COMMON_NAMESERVER_ADDR] = {"nameserverAddr", NULL, PARAM_VALUE, "ADDR[;ADDR...]", NULL},
    [COMMON_BROKER] = {"broker", "b", PARAM_VALUE, "ADDR", "asks this broker alone, and no name server"},
    [COMMON_JSON] = {"json", NULL, PARAM_SWITCH, NULL, "the answer as one JSON document"},
    [COMMON_TIMEOUT] = {"timeout", NULL, PARAM_VALUE, "MS", "for all of it together (default 3000)"},
    [COMMON_PROFILE] = {"profile", NULL, PARAM_VALUE, "NAME", "name servers and time limit of this section of ~/.config/skylark/profiles"},
    [COMMON_YES] = {"yes", NULL, PARAM_SWITCH, NULL, "does what destroys something without asking"},
    [COMMON_HELP] = {"help", "h", PARAM_SWITCH, NULL, "this"},
    [COMMON_PARAMS] = {.name = NULL},
};

struct slice command_param(const struct invocation *in, const char *name) { return param_get(&in->params, name); }

err_t command_number(const char *what, struct slice text, int32_t *out)
{
    if (slice_to_i32(text, out) && *out >= 0) return NULL;
    return err_new(ERR_USAGE, "%s is a number from 0 on, not \"%.*s\"", what, SLICE_ARG(text));
}

/* --- its end --- */

static enum admin_status status_of(err_t e)
{
    if (err_code(e) == ERR_USAGE) return ADMIN_USAGE;
    return admin_is_silence(e) ? ADMIN_NOBODY : ADMIN_FAILED;
}

static const char *general_hint(enum err_code code)
{
    switch (code) {
    case ERR_TOPIC_NOT_FOUND: return "'skylark admin topic list' shows those there are, 'skylark admin topic create' makes one";
    case ERR_GROUP_NOT_FOUND: return "'skylark admin group list' shows those there are";
    default: return NULL;
    }
}

static const char *hint_for(const struct invocation *in, err_t e)
{
    for (const struct command_hint *h = in->command->hints; h && h->text; h++)
        if (h->code == err_code(e)) return h->text;
    if (!admin_is_silence(e)) return in->command->start ? general_hint(err_code(e)) : NULL;
    if (in->options.broker.p) return "is a broker there? 'skylark server' starts one";
    return "'skylark server' starts one; -n HOST:PORT names another, -b HOST:PORT a broker";
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
    command_complain(in, NULL, err_text(e), NULL);
    err_free(e);
    end(in, status);
}

static void begin_round(struct invocation *in);

/* What an operation used is let go in a turn of its own, as it may stand below command_done. */
static void say_farewell(struct mail *m)
{
    struct invocation *in = (struct invocation *)((char *)m - offsetof(struct invocation, farewell));
    admin_free(in->admin);
    in->admin = NULL;
    in->job = NULL;
    if (!command_repeat(in, begin_round)) end(in, in->status);
}

void command_done(void *ctx, err_t e)
{
    struct invocation *in = ctx;
    in->farewell.deliver = say_farewell;
    if (e) {
        in->status = status_of(e);
        command_complain(in, NULL, err_text(e), hint_for(in, e));
        err_free(e);
    } else {
        in->status = command_print(in);
    }
    tasks_post(rpc_tasks(in->call.loop), &in->farewell);
}

/* --- its beginning --- */

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

/* Sections "[name]" of lines "key = value". */
static err_t take_profile(struct invocation *in, struct slice wanted)
{
    struct slice rest = in->call.profiles ? in->call.profiles() : (struct slice){NULL, 0}, line, key;
    bool inside = false, found = false;
    err_t e = NULL;
    while (!e && slice_split(&rest, '\n', &line)) {
        line = slice_trim(line);
        if (!line.n || line.p[0] == '#') continue;
        if (line.p[0] == '[') {
            inside = line.n == wanted.n + 2 && !memcmp(line.p + 1, wanted.p, wanted.n);
            found |= inside;
            continue;
        }
        if (!inside || !slice_split(&line, '=', &key)) continue;
        key = slice_trim(key);
        if (slice_eq(key, SLICE("namesrv"))) in->options.namesrv = slice_trim(line);
        else if (slice_eq(key, SLICE("broker"))) in->options.broker = slice_trim(line);
        else if (slice_eq(key, SLICE("timeout"))) e = take_timeout(in, slice_trim(line));
        else e = err_new(ERR_USAGE, "profile \"%.*s\" has a key \"%.*s\"; there are namesrv, broker, timeout", SLICE_ARG(wanted),
                         SLICE_ARG(key));
    }
    if (!e && !found) e = err_new(ERR_USAGE, "there is no profile \"%.*s\" in ~/.config/skylark/profiles", SLICE_ARG(wanted));
    return e;
}

static err_t take_common(struct invocation *in)
{
    struct slice profile = in->common[COMMON_PROFILE];
    err_t e = NULL;
    if (!profile.p && in->call.profile) profile = slice_text(in->call.profile);
    in->json = in->common[COMMON_JSON].p != NULL;
    if (profile.p) e = take_profile(in, profile);
    if (in->common[COMMON_NAMESERVER_ADDR].p) in->options.namesrv = in->common[COMMON_NAMESERVER_ADDR];
    if (in->common[COMMON_NAMESRV_ADDR].p) in->options.namesrv = in->common[COMMON_NAMESRV_ADDR];
    if (in->common[COMMON_NAMESRV].p) in->options.namesrv = in->common[COMMON_NAMESRV];
    if (in->common[COMMON_BROKER].p) in->options.broker = slice_trim(in->common[COMMON_BROKER]);
    if (!e && in->options.broker.p) e = check_addresses("--broker", in->options.broker, true);
    if (!e && in->common[COMMON_TIMEOUT].p) e = take_timeout(in, in->common[COMMON_TIMEOUT]);
    return e ? e : check_addresses("--namesrv", in->options.namesrv, false);
}

/* Exactly one of two. */
static err_t check_one_of(const struct invocation *in)
{
    struct slice rest, name;
    size_t given = 0;
    if (!in->command->one_of) return NULL;
    rest = slice_text(in->command->one_of);
    while (slice_split(&rest, '|', &name))
        for (const struct param *p = in->command->params; p->name; p++)
            given += slice_eq(slice_text(p->name), name) && in->params.given[p - in->command->params].p;
    if (given == 1) return NULL;
    return err_new(ERR_USAGE, "it needs one of %s%s; see 'skylark admin %s --help'", in->command->one_of, given ? ", not several" : "",
                   in->command->name);
}

static err_t check_broker_address(const struct invocation *in)
{
    struct slice address = command_param(in, "brokerAddr");
    return slice_trim(address).n ? check_addresses("--brokerAddr", address, true) : NULL;
}

static err_t read_line(struct invocation *in, int argc, char **argv, bool *help)
{
    struct command_line l = {.command = in->command->name, .common = common_params, .own = &in->params, .common_given = in->common};
    in->params.table = in->command->params;
    err_t e = line_read(&l, argc, argv);
    *help = l.help;
    if (e || l.help) return e;
    e = take_common(in);
    if (!e) e = check_one_of(in);
    return e ? e : check_broker_address(in);
}

static err_t ask_consent(const struct invocation *in)
{
    struct buf question = BUF_EMPTY;
    err_t e = NULL;
    if (!in->command->asks || in->common[COMMON_YES].p || command_is_mqadmin(in->command)) return NULL;
    buf_printf(&question, "%s", in->command->asks);
    for (const struct param *p = in->command->params; p && p->name; p++)
        if (p->kind == PARAM_WORD) buf_printf(&question, " %.*s", SLICE_ARG(in->params.given[p - in->command->params]));
    buf_put(&question, "", 1);
    enum admin_consent c = in->call.consent ? in->call.consent((const char *)question.p) : ADMIN_NOT_ASKED;
    if (c == ADMIN_NO) e = err_new(ERR_REFUSED, "nothing was done");
    if (c == ADMIN_NOT_ASKED) e = err_new(ERR_USAGE, "it %s; with --yes it does so without asking", question.p);
    buf_done(&question);
    return e;
}

static void begin_job(struct invocation *in)
{
    in->emitted = false;
    in->job = job_new(in->admin, &in->params);
    in->job->progress = in->call.progress ? command_progress : NULL;
    in->job->progress_ctx = in;
    in->job->read_file = in->call.read_file;
    in->job->read_part = in->call.read_part;
    in->job->write_file = in->call.write_file;
    in->job->emit = command_emit;
    random_init(&in->job->random, in->call.random);
    job_run(in->job, in->command->start, command_done, in);
}

static void begin_round(struct invocation *in)
{
    in->admin = admin_new(&in->options);
    begin_job(in);
}

static err_t begin(struct invocation *in)
{
    err_t e = ask_consent(in);
    if (!e) e = command_repeat_read(in);
    if (e) return e;
    in->admin = admin_new(&in->options);
    if (!in->command->start) return in->command->begin(in);
    begin_job(in);
    return NULL;
}

static void run(struct invocation *in, int argc, char **argv)
{
    bool help = false;
    err_t e = read_line(in, argc, argv, &help);
    if (help) {
        struct buf text = BUF_EMPTY;
        err_free(e);   /* who asks for help gets it */
        help_command(&text, in->command);
        command_write(in->call.out, &text);
        buf_done(&text);
        end(in, ADMIN_FINE);
        return;
    }
    if (!e) e = begin(in);
    if (!e) return;
    admin_free(in->admin);
    in->admin = NULL;
    fail(in, e);
}

/* --- which command --- */

/* How many of the words name the command; 0: they do not. */
static int words_match(const struct command *c, int argc, char **argv)
{
    struct slice rest = slice_text(c->name), word;
    int n = 0;
    if (argc > 0 && command_is_mqadmin(c)) return !strcasecmp(c->name, argv[0]);
    while (slice_split(&rest, ' ', &word)) {
        if (n >= argc || !slice_eq(word, slice_text(argv[n]))) return 0;
        n++;
    }
    return n;
}

static bool is_help(const char *word) { return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"); }

static struct slice find_noun(const char *word)
{
    for (size_t i = 0; command_at(i); i++)
        if (command_belongs(command_at(i), slice_text(word))) return slice_text(word);
    return (struct slice){NULL, 0};
}

static enum admin_status tell_unknown(const struct admin_call *call, struct slice noun, const char *first, const char *last)
{
    struct buf text = BUF_EMPTY;
    help_unknown(&text, noun, first, last);
    command_write(call->err, &text);
    buf_done(&text);
    return ADMIN_USAGE;
}

/* Nothing that runs: help, or what there is instead. */
static enum admin_status explain(const struct admin_call *call, int argc, char **argv)
{
    const char *first = argc > 0 ? argv[0] : "", *last = argc > 1 ? argv[1] : "";
    struct slice noun = find_noun(first);
    bool asked = argc > 0 && is_help(noun.n ? last : first);
    struct buf text = BUF_EMPTY;
    if (!asked && *first) return tell_unknown(call, noun, first, last);
    if (!noun.n && argc > 1 && is_help(first)) noun = find_noun(last);
    help_commands(&text, noun);
    command_write(asked ? call->out : call->err, &text);
    buf_done(&text);
    return asked ? ADMIN_FINE : ADMIN_USAGE;
}

/* What is printed without asking anybody: completion, reference. */
static bool print_texts(const struct admin_call *call, int argc, char **argv)
{
    struct buf text = BUF_EMPTY;
    err_t e = NULL;
    if (argc > 1 && !strcmp(argv[0], "completion")) e = help_completion(&text, slice_text(argv[1]));
    else if (argc == 1 && !strcmp(argv[0], "reference")) help_reference(&text);
    else return false;
    if (e) buf_printf(&text, "skylark admin completion: %s\n", err_text(e));
    command_write(e ? call->err : call->out, &text);
    buf_done(&text);
    enum admin_status status = e ? ADMIN_USAGE : ADMIN_FINE;
    err_free(e);   /* it was printed */
    call->done(call->ctx, status);
    return true;
}

static const struct command *find_command(int argc, char **argv, int *words)
{
    const struct command *c;
    for (size_t i = 0; (c = command_at(i)); i++)
        if ((*words = words_match(c, argc, argv))) return c;
    return NULL;
}

static void tell_absent(struct invocation *in)
{
    fail(in, err_new(ERR_NOT_SUPPORTED, "%s", in->command->absent));
}

void admin_command(const struct admin_call *call, int argc, char **argv)
{
    const char *namesrv = call->namesrv ? call->namesrv : NAMESRV_DEFAULT;
    int words = 0;
    /* 'help topicList' is 'topicList --help' */
    bool help = argc > 2 && !strcmp(argv[1], "help");
    char *asked[] = {argv[0], "--help"};
    const struct command *c = find_command(argc - 1 - help, argv + 1 + help, &words);
    if (!c && print_texts(call, argc - 1, argv + 1)) return;
    if (!c) {
        call->done(call->ctx, explain(call, argc - 1, argv + 1));
        return;
    }
    struct invocation *in = must_zero(sizeof *in);
    in->command = c;
    in->call = *call;
    in->options = (struct admin_options){.loop = call->loop, .namesrv = slice_text(namesrv), .timeout_ms = TIMEOUT_DEFAULT_MS};
    if (c->timeout_ms) in->options.timeout_ms = c->timeout_ms;
    if (c->absent) tell_absent(in);
    else if (help) run(in, 2, asked);
    else run(in, argc - words, argv + words);
}
