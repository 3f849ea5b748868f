#include "app/app.h"

#include "admin/admin.h"
#include "base/log.h"
#include "net/loop.h"
#include "os/random.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert((int)ADMIN_FINE == EXIT_FINE && (int)ADMIN_FAILED == EXIT_FAILED && (int)ADMIN_USAGE == EXIT_USAGE &&
               (int)ADMIN_NOBODY == EXIT_NOBODY,
               "what a command of admin ends with is the exit status");

struct errand {
    struct loop *loop;
    bool over;
    enum admin_status status;
};

static void on_done(void *ctx, enum admin_status status)
{
    struct errand *r = ctx;
    r->over = true;
    r->status = status;
    real_loop_stop(r->loop);
}

/* --- what the command finds around it --- */

enum { FILE_MOST_BYTES = 16 << 20, READ_BYTES = 64 << 10, WIDTH_DEFAULT = 80 };

/* Files that were read: the profiles, and one that the user named. They stay until the command has ended. */
static struct buf texts[2];

static err_t read_into(const char *path, struct buf *text)
{
    FILE *f = fopen(path, "rb");
    if (!f) return err_new(ERR_IO, "%s: %s", path, strerror(errno));
    size_t n = 1;
    while (n && text->n < FILE_MOST_BYTES) {
        buf_reserve(text, READ_BYTES);
        n = fread(text->p + text->n, 1, READ_BYTES, f);
        text->n += n;
    }
    err_t e = ferror(f) ? err_new(ERR_IO, "%s: it cannot be read", path) : n ? err_new(ERR_IO, "%s: it is too large", path) : NULL;
    fclose(f);
    return e;
}

static err_t read_file(const char *path, struct slice *out)
{
    err_t e = read_into(path, &texts[1]);
    if (!e) *out = buf_slice(&texts[1]);
    return e;
}

static err_t read_part(const char *path, int64_t at, size_t most, uint8_t *out, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f) return err_new(ERR_IO, "%s: %s", path, strerror(errno));
    size_t got = fseeko(f, at, SEEK_SET) ? 0 : fread(out, 1, most, f);
    err_t e = ferror(f) ? err_new(ERR_IO, "%s: it cannot be read", path) : NULL;
    fclose(f);
    if (!e) *n = got;
    return e;
}

static err_t make_folders(const char *path)
{
    char part[4096];
    size_t n = strlen(path);
    if (n >= sizeof part) return err_new(ERR_IO, "%s: the name is too long", path);
    for (size_t i = 1; i < n; i++) {
        if (path[i] != '/') continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0777) && errno != EEXIST) return err_new(ERR_IO, "%s: %s", part, strerror(errno));
    }
    return NULL;
}

static err_t write_file(const char *path, struct slice text)
{
    err_t e = make_folders(path);
    FILE *f = e ? NULL : fopen(path, "wb");
    if (e) return e;
    if (!f) return err_new(ERR_IO, "%s: %s", path, strerror(errno));
    size_t n = fwrite(text.p, 1, text.n, f);
    if (fclose(f) || n != text.n) return err_new(ERR_IO, "%s: it cannot be written", path);
    return NULL;
}

/* SKYLARK_PROFILES, else skylark/profiles in the folder of the user's configuration. */
static struct slice profiles(void)
{
    const char *given = getenv("SKYLARK_PROFILES"), *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char path[4096];
    if (given && *given) snprintf(path, sizeof path, "%s", given);
    else if (config && *config) snprintf(path, sizeof path, "%s/skylark/profiles", config);
    else snprintf(path, sizeof path, "%s/.config/skylark/profiles", home ? home : "");
    err_t e = read_into(path, &texts[0]);
    err_free(e);   /* the command says that there is no such profile */
    return buf_slice(&texts[0]);
}

static enum admin_consent ask_user(const char *question)
{
    char answer[16];
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) return ADMIN_NOT_ASKED;
    fprintf(stderr, "It %s\nGo on? [y/N] ", question);
    fflush(stderr);
    if (!fgets(answer, sizeof answer, stdin)) return ADMIN_NO;
    return answer[0] == 'y' || answer[0] == 'Y' ? ADMIN_YES : ADMIN_NO;
}

static void look_at_terminal(struct admin_call *call)
{
    const char *term = getenv("TERM"), *plain = getenv("NO_COLOR");
    struct winsize size;
    if (isatty(STDERR_FILENO)) call->progress = true;
    if (!isatty(STDOUT_FILENO)) return;
    call->width = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : WIDTH_DEFAULT;
    call->colour = !(plain && *plain) && term && strcmp(term, "dumb");
}

int cmd_admin(int argc, char **argv)
{
    struct errand r = {.over = false};
    log_set_level(LOG_ERROR);   /* what happens is told by the command */
    err_t e = real_loop_new(&r.loop);
    if (e) return command_failed("admin", e);
    struct admin_call call = {.loop = r.loop, .namesrv = getenv("NAMESRV_ADDR"), .out = stdout, .err = stderr, .done = on_done, .ctx = &r};
    if (call.namesrv && !*call.namesrv) call.namesrv = NULL;
    call.profile = getenv("SKYLARK_PROFILE");
    if (call.profile && !*call.profile) call.profile = NULL;
    call.random = random_seed();
    call.consent = ask_user;
    call.profiles = profiles;
    call.read_file = read_file;
    call.read_part = read_part;
    call.write_file = write_file;
    look_at_terminal(&call);
    admin_command(&call, argc, argv);
    if (!r.over) real_loop_run(r.loop);
    assert(r.over);
    real_loop_free(r.loop);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) buf_done(&texts[i]);
    return (int)r.status;
}
