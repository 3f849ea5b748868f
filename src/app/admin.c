#include "app/app.h"

#include "admin/admin.h"
#include "base/log.h"
#include "net/loop.h"

#include <assert.h>
#include <stdlib.h>

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

int cmd_admin(int argc, char **argv)
{
    struct errand r = {.over = false};
    log_set_level(LOG_ERROR);   /* what happens is told by the command */
    err_t e = real_loop_new(&r.loop);
    if (e) return command_failed("admin", e);
    struct admin_call call = {.loop = r.loop, .namesrv = getenv("NAMESRV_ADDR"), .out = stdout, .err = stderr, .done = on_done, .ctx = &r};
    if (call.namesrv && !*call.namesrv) call.namesrv = NULL;
    admin_command(&call, argc, argv);
    if (!r.over) real_loop_run(r.loop);
    assert(r.over);
    real_loop_free(r.loop);
    return (int)r.status;
}
