#include "client/producer/producer.h"

#include <stdlib.h>

struct sky_receipt {
    enum sky_stored stored;
    char *message_id, *offset_id, *broker, *recall_handle;
    int32_t queue_id;
    int64_t queue_offset;
    int32_t tries;
};

void sky_receipt_free(struct sky_receipt *r)
{
    if (!r) return;
    free(r->message_id);
    free(r->offset_id);
    free(r->broker);
    free(r->recall_handle);
    free(r);
}

enum sky_stored sky_receipt_stored(const struct sky_receipt *r) { return r->stored; }
const char *sky_receipt_message_id(const struct sky_receipt *r) { return r->message_id; }
const char *sky_receipt_offset_id(const struct sky_receipt *r) { return r->offset_id; }
const char *sky_receipt_broker(const struct sky_receipt *r) { return r->broker; }
int32_t sky_receipt_queue_id(const struct sky_receipt *r) { return r->queue_id; }
int64_t sky_receipt_queue_offset(const struct sky_receipt *r) { return r->queue_offset; }
const char *sky_receipt_recall_handle(const struct sky_receipt *r) { return r->recall_handle; }
int32_t sky_receipt_tries(const struct sky_receipt *r) { return r->tries; }

/* False: the message was not stored. */
static bool stored_as(int32_t code, enum sky_stored *out)
{
    switch (code) {
    case RESPONSE_SUCCESS: *out = SKY_STORED; return true;
    case RESPONSE_FLUSH_DISK_TIMEOUT: *out = SKY_STORED_NOT_FLUSHED; return true;
    case RESPONSE_FLUSH_SLAVE_TIMEOUT: *out = SKY_STORED_NOT_COPIED; return true;
    case RESPONSE_SLAVE_NOT_AVAILABLE: *out = SKY_STORED_NO_REPLICA; return true;
    default: return false;
    }
}

struct sky_error *receipt_read(const struct sending *s, const struct frame *f, struct sky_receipt **out)
{
    struct send_reply_header h;
    enum sky_stored stored;
    if (!stored_as(f->code, &stored)) return error_of_reply(f);
    err_t e = header_decode(&send_reply_kind, f, &h);
    if (e) return sky_error_from(err_in(e, "the answer to a send"));
    struct sky_receipt *r = must_zero(sizeof *r);
    *r = (struct sky_receipt){
        .stored = stored, .message_id = must_dup(buf_slice(&s->ids)), .offset_id = must_dup(h.msg_id), .broker = must_strdup(s->broker),
        .recall_handle = h.recall_handle.n ? must_dup(h.recall_handle) : NULL, .queue_id = h.queue_id, .queue_offset = h.queue_offset, .tries = s->tries,
    };
    *out = r;
    return NULL;
}
