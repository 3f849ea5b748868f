/* A counter, as tools ask for it (315). */
#include "broker/handlers.h"
#include "codec/body_stats.h"
#include "rpc/reply.h"

static struct broker_stats_row row(const struct stats *s, enum stats_kind kind, struct slice key, enum stats_span span)
{
    struct stats_sum sum;
    stats_of(s, kind, key, span, &sum);
    return (struct broker_stats_row){.average = sum.times ? (double)sum.value / (double)sum.times : 0, .sum = sum.value, .tps = sum.per_second};
}

void handle_view_stats(struct broker *b, struct call *call)
{
    struct view_stats_header h;
    struct stats_sum sum;
    enum stats_kind kind;
    err_t e = header_decode(&view_stats_kind, call->frame, &h);
    if (!e && (!stats_kind_named(h.stats_name, &kind) || !stats_of(&b->stats, kind, h.stats_key, SPAN_MINUTE, &sum)))
        e = err_new(ERR_REFUSED, "The stats <%.*s> <%.*s> not exist", SLICE_ARG(h.stats_name), SLICE_ARG(h.stats_key));
    if (e) {
        call_fail(call, e);
        return;
    }
    struct broker_stats reply = {
        .day = row(&b->stats, kind, h.stats_key, SPAN_DAY), .hour = row(&b->stats, kind, h.stats_key, SPAN_HOUR),
        .minute = row(&b->stats, kind, h.stats_key, SPAN_MINUTE),
    };
    reply_bean(call, NULL, NULL, &broker_stats_bean, &reply);
}
