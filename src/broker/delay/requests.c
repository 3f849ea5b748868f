/* What others want to know of messages that wait. Facts: docs/protocol/remoting-codes.tsv (45, 60, 61) */
#include "broker/handlers.h"

/* 45: the text of delayOffset.json, as of now. */
void handle_all_delay_offsets(struct broker *b, struct call *call)
{
    buf_clear(&b->scratch);
    delay_offsets_encode(b->delay_offsets, JSON_RAW, &b->scratch);
    call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, buf_slice(&b->scratch));
}

static void refuse(struct call *call, const char *why) { call_reply(call, RESPONSE_SYSTEM_ERROR, why, NULL, NULL, (struct slice){NULL, 0}); }

/* 60: the beginning of timercheck. */
void handle_timer_check(struct broker *b, struct call *call)
{
    uint8_t bytes[TIMER_CHECK_BYTES];
    if (!b->timers) {
        refuse(call, "The checkpoint is null");
        return;
    }
    timer_check_encode(&b->timer_check, bytes);
    call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, slice_of(bytes, TIMER_CHECK_SHORT_BYTES));
}

/* 61: the text of timermetrics, as of now. */
void handle_timer_metrics(struct broker *b, struct call *call)
{
    if (!b->timers) {
        refuse(call, "The timer message store is null");
        return;
    }
    buf_clear(&b->scratch);
    timer_metrics_encode(b->timer_metrics, &b->scratch);
    call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, buf_slice(&b->scratch));
}
