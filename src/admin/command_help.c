/* What commands say about themselves: help, the page of all of them, completion for shells. */
#include "admin/command.h"

#include "base/printable.h"

#include <string.h>
#include <strings.h>

static const char exit_help[] =
    "Exit status: 0 fine, 1 the answer is an error (or one of several brokers gave none), 2 wrong usage, 3 nobody answered.\n";

bool command_belongs(const struct command *c, struct slice noun)
{
    struct slice name = slice_text(c->name);
    return !noun.n || (slice_starts(name, noun) && name.n > noun.n && name.p[noun.n] == ' ');
}

/* --- options --- */

static void put_option(struct buf *out, const struct param *p)
{
    struct buf left = BUF_EMPTY;
    if (p->letter) buf_printf(&left, "  -%s, --%s", p->letter, p->name);
    else buf_printf(&left, "      --%s", p->name);
    if (p->kind != PARAM_SWITCH) buf_printf(&left, " %s", p->argument);
    buf_printf(out, "%-30.*s  %s%s\n", SLICE_ARG(buf_slice(&left)), p->help ? p->help : "", p->kind == PARAM_NEEDED ? " (needed)" : "");
    buf_done(&left);
}

static bool is_option(const struct param *p) { return p->kind != PARAM_WORD && p->kind != PARAM_MORE; }

static bool own_letter(const struct command *c, const struct param *common)
{
    for (const struct param *p = c->params; p && p->name; p++)
        if ((p->letter && common->letter && !strcmp(p->letter, common->letter)) || !strcmp(p->name, common->name)) return true;
    return false;
}

static void put_common(struct buf *out, const struct command *c)
{
    for (const struct param *p = common_params; p->name; p++) {
        struct param shown = *p;
        if (!p->help || (!strcmp(p->name, "yes") && c && (!c->asks || command_is_mqadmin(c)))) continue;
        if (c && own_letter(c, p)) shown.letter = NULL;
        put_option(out, &shown);
    }
}

/* --- help --- */

static void put_words(struct buf *out, const struct command *c)
{
    char words[128];
    params_words(c->params, words);
    buf_printf(out, "%s%s%s", c->name, *words ? " " : "", words);
}

static void put_list(struct buf *out, struct slice noun, bool mqadmin)
{
    const struct command *c;
    struct grid g;
    grid_init(&g, 2);
    for (size_t i = 0; (c = command_at(i)); i++) {
        if (!command_belongs(c, noun) || command_is_mqadmin(c) != mqadmin || c->absent) continue;
        struct buf usage = BUF_EMPTY;
        buf_put_text(&usage, "  ");
        put_words(&usage, c);
        grid_text(&g, buf_slice(&usage));
        grid_text(&g, slice_text(c->summary));
        buf_done(&usage);
    }
    grid_print(&g, out);
    grid_done(&g);
}

void help_commands(struct buf *out, struct slice noun)
{
    buf_put_text(out, "usage: skylark admin COMMAND [options]\n\nAsks a running cluster, and has things done in it.\n\n");
    put_list(out, noun, false);
    if (!noun.n) {
        buf_put_text(out, "\nCommands of mqadmin, with its options:\n");
        put_list(out, noun, true);
    }
    buf_put_text(out, "\nOptions of each:\n");
    put_common(out, NULL);
    buf_printf(out, "\n%s\n", exit_help);
    buf_put_text(out, "'skylark admin COMMAND --help' explains one, 'skylark admin completion bash|zsh|fish' has the shell complete them.\n"
                      "To begin: skylark admin cluster status\n");
}

void help_command(struct buf *out, const struct command *c)
{
    buf_put_text(out, "usage: skylark admin ");
    put_words(out, c);
    buf_put_text(out, " [options]\n\n");
    if (c->help) buf_printf(out, "%s\n", c->help);
    else buf_printf(out, "%c%s.\n\n", c->summary[0] - ('a' <= c->summary[0] && c->summary[0] <= 'z' ? 32 : 0), c->summary + 1);
    for (const struct param *p = c->params; p && p->name; p++)
        if (is_option(p)) put_option(out, p);
    put_common(out, c);
    buf_printf(out, "\n%s", exit_help);
}

/* --- what there is instead --- */

/* How many letters two words have in common at their beginning, in any case. */
static size_t common_letters(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && b[n] && !strncasecmp(a + n, b + n, 1)) n++;
    return n;
}

static void put_nouns(struct buf *out)
{
    const struct command *c;
    struct slice before = {NULL, 0};
    for (size_t i = 0, n = 0; (c = command_at(i)); i++) {
        struct slice rest = slice_text(c->name), noun;
        if (command_is_mqadmin(c) || !slice_split(&rest, ' ', &noun) || slice_eq(noun, before)) continue;
        buf_printf(out, "%s%.*s", n++ ? ", " : "", SLICE_ARG(noun));
        before = noun;
    }
}

/* Commands that begin alike; false: there are none. */
static bool put_near(struct buf *out, const char *word)
{
    const struct command *c;
    size_t best = 3, n = 0;
    for (size_t i = 0; (c = command_at(i)); i++)
        if (common_letters(c->name, word) > best) best = common_letters(c->name, word);
    for (size_t i = 0; (c = command_at(i)); i++)
        if (!c->absent && common_letters(c->name, word) == best && n < 8) buf_printf(out, "%s%s", n++ ? ", " : "", c->name);
    return n > 0;
}

void help_unknown(struct buf *out, struct slice noun, const char *first, const char *last)
{
    const struct command *c;
    buf_put_text(out, "skylark admin: there is no command \"");
    put_printable(out, slice_text(first));
    if (noun.n && *last && *last != '-') {
        buf_put_u8(out, ' ');
        put_printable(out, slice_text(last));
    }
    buf_put_text(out, "\"; there are: ");
    for (size_t i = 0, n = 0; noun.n && (c = command_at(i)); i++)
        if (command_belongs(c, noun)) buf_printf(out, "%s%s", n++ ? ", " : "", c->name);
    if (!noun.n && !put_near(out, first)) put_nouns(out);
    buf_put_text(out, " ('skylark admin --help' explains them)\n");
}

/* --- the page of all commands --- */

static void put_reference(struct buf *out, bool mqadmin)
{
    const struct command *c;
    for (size_t i = 0; (c = command_at(i)); i++) {
        if (command_is_mqadmin(c) != mqadmin || c->absent) continue;
        buf_printf(out, "\n### %s\n\n```\n", c->name);
        help_command(out, c);
        out->n -= strlen(exit_help) + 1;   /* stands at the top, once */
        buf_put_text(out, "```\n");
    }
}

void help_reference(struct buf *out)
{
    const struct command *c;
    buf_put_text(out, "# Commands of skylark admin\n\nPrinted by `skylark admin reference`.\n\n");
    buf_put_text(out, exit_help);
    buf_put_text(out, "\n## Short forms\n");
    put_reference(out, false);
    buf_put_text(out, "\n## Commands of mqadmin\n\nUnder their own names, in any case of letters, with their own options.\n");
    put_reference(out, true);
    buf_put_text(out, "\n## Commands of mqadmin that are not there\n\n| command | why |\n| --- | --- |\n");
    for (size_t i = 0; (c = command_at(i)); i++)
        if (c->absent) buf_printf(out, "| %s | %s |\n", c->name, c->absent);
}

/* --- completion --- */

static void put_all_words(struct buf *out, const char *between)
{
    const struct command *c;
    for (size_t i = 0, n = 0; (c = command_at(i)); i++)
        if (!c->absent) buf_printf(out, "%s%s", n++ ? between : "", c->name);
}

static void put_options_case(struct buf *out)
{
    const struct command *c;
    for (size_t i = 0; (c = command_at(i)); i++) {
        if (c->absent) continue;
        buf_printf(out, "    \"%s\") options=\"", c->name);
        for (const struct param *p = c->params; p && p->name; p++)
            if (is_option(p)) buf_printf(out, "--%s ", p->name);
        buf_put_text(out, "\" ;;\n");
    }
}

static void put_bash(struct buf *out)
{
    buf_put_text(out, "_skylark_admin() {\n"
                      "  local word=${COMP_WORDS[COMP_CWORD]} line options= common=\"--namesrv --broker --json --timeout --profile --yes --help\"\n"
                      "  [ \"${COMP_WORDS[1]}\" = admin ] || { [ $COMP_CWORD = 1 ] && COMPREPLY=($(compgen -W 'server namesrv broker proxy store admin version' -- \"$word\")); return; }\n"
                      "  local all='");
    put_all_words(out, "\n");
    buf_put_text(out, "'\n  line=\"${COMP_WORDS[2]}\"; [ $COMP_CWORD -gt 3 ] && line=\"$line ${COMP_WORDS[3]}\"\n"
                      "  case $line in\n");
    put_options_case(out);
    buf_put_text(out, "  esac\n"
                      "  case $word in -*) COMPREPLY=($(compgen -W \"$options $common\" -- \"$word\")); return ;; esac\n"
                      "  if [ $COMP_CWORD = 2 ]; then COMPREPLY=($(compgen -W \"$(cut -d' ' -f1 <<< \"$all\" | sort -u)\" -- \"$word\"))\n"
                      "  elif [ $COMP_CWORD = 3 ]; then COMPREPLY=($(compgen -W \"$(sed -n \"s/^${COMP_WORDS[2]} //p\" <<< \"$all\")\" -- \"$word\")); fi\n"
                      "}\ncomplete -F _skylark_admin skylark\n");
}

static void put_fish(struct buf *out)
{
    const struct command *c;
    for (size_t i = 0; (c = command_at(i)); i++) {
        struct slice rest = slice_text(c->name), noun;
        if (c->absent || !slice_split(&rest, ' ', &noun)) continue;
        buf_printf(out, "complete -c skylark -n '__fish_seen_subcommand_from admin; and not __fish_seen_subcommand_from %.*s' -a %.*s -d \"%s\"\n",
                   SLICE_ARG(noun), SLICE_ARG(noun), rest.n ? "" : c->summary);
        if (rest.n)
            buf_printf(out, "complete -c skylark -n '__fish_seen_subcommand_from %.*s' -a %.*s -d \"%s\"\n", SLICE_ARG(noun), SLICE_ARG(rest), c->summary);
        for (const struct param *p = c->params; p && p->name; p++)
            if (is_option(p)) buf_printf(out, "complete -c skylark -n '__fish_seen_subcommand_from %.*s' -l %s\n", SLICE_ARG(noun), p->name);
    }
}

err_t help_completion(struct buf *out, struct slice shell)
{
    if (slice_eq(shell, SLICE("zsh"))) buf_put_text(out, "autoload -U +X bashcompinit && bashcompinit\n");
    if (slice_eq(shell, SLICE("bash")) || slice_eq(shell, SLICE("zsh"))) put_bash(out);
    else if (slice_eq(shell, SLICE("fish"))) put_fish(out);
    else return err_new(ERR_USAGE, "it knows bash, zsh, fish, not \"%.*s\"", SLICE_ARG(shell));
    return NULL;
}
