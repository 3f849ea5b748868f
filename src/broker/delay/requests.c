/* What others want to know of messages that wait. Facts: docs/protocol/remoting-codes.tsv (45) */
#include "broker/handlers.h"

/* 45: the text of delayOffset.json, as of now. */
void handle_all_delay_offsets(struct broker *b, struct call *call)
{
    buf_clear(&b->scratch);
    delay_offsets_encode(b->delay_offsets, JSON_RAW, &b->scratch);
    call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, buf_slice(&b->scratch));
}
