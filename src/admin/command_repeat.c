/* Rounds of a command that watches: each with connections of its own, so that nothing grows and a server may come back. A round that fails
 * is told, and the next one comes all the same. */
#include "admin/command.h"

#include "rpc/rpc.h"

enum { INTERVAL_MOST_S = 86400 };

static void on_time(void *ctx)
{
    struct invocation *in = ctx;
    void (*begin)(struct invocation *in) = in->next_round;
    if (!in->json) fputc('\n', in->call.out);
    begin(in);
}

err_t command_repeat_read(struct invocation *in)
{
    int64_t seconds = 0;
    if (!in->params.table || !in->command->start) return NULL;
    err_t e = param_i64(&in->params, "interval", in->command->interval_s, &seconds);
    if (!e) e = param_i64(&in->params, "rounds", INT64_MAX, &in->rounds);
    if (e) return e;
    if (param_has(&in->params, "interval") && (seconds < 1 || seconds > INTERVAL_MOST_S))
        return err_new(ERR_USAGE, "--interval is 1 to %d seconds", INTERVAL_MOST_S);
    if (in->rounds < 1) return err_new(ERR_USAGE, "--rounds is 1 at least");
    if (!seconds && param_has(&in->params, "rounds")) return err_new(ERR_USAGE, "--rounds is of no use without --interval SECONDS");
    in->interval_ms = seconds * 1000;
    return NULL;
}

bool command_repeat(struct invocation *in, void (*begin)(struct invocation *in))
{
    if (!in->interval_ms || in->status == ADMIN_USAGE || --in->rounds <= 0) return false;
    in->next_round = begin;
    timer_init(&in->again, on_time, in);
    timer_start(rpc_tasks(in->call.loop), &in->again, in->interval_ms);
    return true;
}
