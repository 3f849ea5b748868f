#include "client/producer/producer.h"

#include "codec/java_hash.h"
#include "codec/requests.h"

#include <stdlib.h>

void sending_free(struct sending *s)
{
    if (!s) return;
    sky_message_free(s->shown);
    sky_error_free(s->error);
    sky_receipt_free(s->receipt);
    send_options_done(&s->how);
    buf_done(&s->body);
    buf_done(&s->properties);
    buf_done(&s->ids);
    free(s->id_places);
    free(s->broker);
    free(s->topic_name);
    free(s);
}

static struct sky_client *client_of(const struct sending *s) { return s->producer->member.client; }
static int64_t now_ms(const struct sending *s) { return tasks_mono_ms(client_of(s)->tasks); }

/* --- the end --- */

static void count_end(struct sending *s)
{
    struct sky_producer *p = s->producer;
    lock_take(&p->pending.lock);
    p->pending_messages--;
    p->pending_bytes -= s->bytes;
    if (!s->oneway) *(s->receipt ? &p->sent : &p->failed) += 1;
    if (s->tries > 1) p->retried += s->tries - 1;
    monitor_wake(&p->pending);
    lock_give(&p->pending.lock);
}

static void settle(struct sky_producer *p)
{
    p->under_way--;
    member_settle(&p->member);
}

static void call_back(struct work *w)
{
    struct sending *s = LIST_OWNER(w, struct sending, work);
    s->sent(s->user, s->error, s->receipt);
}

static void called_back(struct work *w)
{
    struct sending *s = LIST_OWNER(w, struct sending, work);
    struct sky_producer *p = s->producer;
    sending_free(s);
    settle(p);
}

/* s->error or s->receipt is the outcome. */
static void finish(struct sending *s)
{
    struct sky_producer *p = s->producer;
    if (s->receipt) {   /* of an earlier try that stored it, though not as durable as wanted */
        sky_error_free(s->error);
        s->error = NULL;
    }
    count_end(s);
    if (s->sent) {
        s->work = (struct work){.run = call_back, .done = called_back};
        pool_run(client_of(s)->callbacks, &s->work);
        return;
    }
    if (s->waited_for) event_set(s->waited_for);   /* s is gone after it */
    else sending_free(s);
    settle(p);
}

/* Takes e: how a try ended, the last one for now. */
static void set_error(struct sending *s, struct sky_error *e)
{
    sky_error_free(s->error);
    const char *text = sky_error_text(e);
    if (!s->broker) s->error = error_new(sky_error_code(e), sky_error_response(e), "message for topic %s: %s", s->topic_name, text);
    else s->error = error_new(sky_error_code(e), sky_error_response(e), "message for topic %s, try %d, broker %s: %s", s->topic_name, s->tries, s->broker, text);
    sky_error_free(e);
}

static void fail(struct sending *s, struct sky_error *e)
{
    set_error(s, e);
    finish(s);
}

/* --- choosing a queue --- */

static bool is_other(const struct sending *s, const struct sky_queue *q) { return !s->broker || strcmp(s->broker, q->broker) != 0; }

/* How much a queue's broker is wished for: 2 is not the last one and not to be avoided, 1 is not the last one and answers, 0 the rest. */
static int rank(const struct sending *s, const struct sky_queue *q, int64_t now)
{
    const struct sky_producer *p = s->producer;
    struct slice broker = slice_text(q->broker);
    if (!is_other(s, q)) return 0;
    if (!p->options.avoid_slow || faults_is_available(&p->faults, broker, now)) return 2;
    return faults_is_reachable(&p->faults, broker) ? 1 : 0;
}

/* The next one in turn of those that are wished for most. */
static const struct sky_queue *next_in_turn(struct sending *s)
{
    struct topic_state *t = s->topic;
    int64_t now = now_ms(s);
    uint32_t best_at = 0;
    int best = -1;
    for (uint32_t i = 0; i < t->count && best < 2; i++) {
        int r = rank(s, &t->queues[(t->next + i) % t->count], now);
        if (r <= best) continue;
        best = r;
        best_at = t->next + i;
    }
    t->next = best_at + 1;
    return &t->queues[best_at % t->count];
}

static const struct sky_queue *by_hash(struct sending *s)
{
    int64_t hash = java_hash(slice_text(s->how.order_key));
    int64_t at = hash % (int64_t)s->topic->count;
    return &s->topic->queues[at < 0 ? -at : at];
}

/* Sets broker and queue of this try. */
static struct sky_error *choose(struct sending *s)
{
    struct topic_state *t = s->topic;
    const struct sky_queue *q = NULL;
    struct sky_queue wanted = {s->how.broker, s->how.queue_id};
    if (s->how.broker) q = &wanted;
    else if (!t->count) return error_new(SKY_NO_ROUTE, 0, "the topic has no queue that may be written to");
    else if (s->how.selector) {
        size_t at = s->how.selector(s->how.selector_user, t->queues, t->count, s->shown);
        if (at >= t->count) return error_new(SKY_INVALID, 0, "the selector chose queue %zu of %zu", at, t->count);
        q = &t->queues[at];
    } else q = s->how.order_key ? by_hash(s) : next_in_turn(s);
    char *broker = must_strdup(q->broker);
    free(s->broker);
    s->broker = broker;
    s->queue_id = q->id;
    return NULL;
}

static bool is_bound(const struct sending *s) { return s->how.broker || s->how.selector || s->how.order_key; }

/* --- ids --- */

/* Into the places that were left for them: each message's own, and that of the batch. */
static void put_ids(struct sending *s)
{
    char id[MESSAGE_ID_TEXT];
    size_t n = client_message_id(client_of(s), id);
    memcpy(s->properties.p + s->id_at, id, n);
    if (!s->batch) buf_put(&s->ids, id, n);
    for (size_t i = 0; i < s->batch; i++) {
        client_message_id(client_of(s), id);
        memcpy(s->body.p + s->id_places[i], id, n);
        if (i) buf_put_u8(&s->ids, ',');
        buf_put(&s->ids, id, n);
    }
}

/* --- one try --- */

static void try_next(struct sending *s);

/* Codes after which another broker may take it. Facts: docs/protocol/semantics.md 2 */
static bool may_retry_code(int32_t code)
{
    switch (code) {
    case RESPONSE_TOPIC_NOT_EXIST:
    case RESPONSE_SERVICE_NOT_AVAILABLE:
    case RESPONSE_SYSTEM_ERROR:
    case RESPONSE_SYSTEM_BUSY:
    case RESPONSE_NO_PERMISSION:
    case RESPONSE_NO_BUYER_ID:
    case RESPONSE_NOT_IN_CURRENT_UNIT:
    case RESPONSE_GO_AWAY: return true;
    default: return false;
    }
}

static bool may_try_again(const struct sending *s) { return !is_bound(s) && s->tries <= s->producer->options.retries && now_ms(s) < s->deadline_ms; }

static void note_fault(struct sending *s, bool failed, bool refused)
{
    struct sky_producer *p = s->producer;
    if (p->options.avoid_slow) faults_note(&p->faults, slice_text(s->broker), now_ms(s), now_ms(s) - s->begun_ms, failed, refused);
}

static void on_no_answer(struct sending *s, struct sky_error *e)
{
    note_fault(s, true, false);
    log_info("send.failed topic=\"%s\" broker=\"%s\" try=%d error=%s", s->topic_name, s->broker, s->tries, sky_code_name(sky_error_code(e)));
    set_error(s, e);
    if (may_try_again(s)) try_next(s);
    else finish(s);
}

static void on_refused(struct sending *s, struct sky_error *e)
{
    int32_t code = sky_error_response(e);
    note_fault(s, true, true);
    log_info("send.refused topic=\"%s\" broker=\"%s\" try=%d code=%d", s->topic_name, s->broker, s->tries, code);
    set_error(s, e);
    if (code == RESPONSE_TOPIC_NOT_EXIST || code == RESPONSE_NO_PERMISSION) routes_ask(s->topic);
    if (may_retry_code(code) && may_try_again(s)) try_next(s);
    else finish(s);
}

static void on_stored(struct sending *s, struct sky_receipt *r)
{
    note_fault(s, false, false);
    sky_receipt_free(s->receipt);
    s->receipt = r;
    if (sky_receipt_stored(r) != SKY_STORED && s->producer->options.retry_when_not_stored && may_try_again(s)) try_next(s);
    else finish(s);
}

static void on_reply(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct sending *s = ctx;
    struct sky_receipt *r = NULL;
    struct sky_error *refused = e ? NULL : receipt_read(s, reply->frame, &r);
    if (e) on_no_answer(s, sky_error_from(e));
    else if (refused) on_refused(s, refused);
    else on_stored(s, r);
}

static int64_t try_time_ms(const struct sending *s)
{
    int64_t left = s->deadline_ms - s->begun_ms, limit = s->producer->options.try_timeout_ms;
    bool last = is_bound(s) || s->tries > s->producer->options.retries;
    return limit && !last && limit < left ? limit : left;
}

static void request(struct sending *s, struct slice address)
{
    const struct sky_producer *p = s->producer;
    struct send_header h = {
        .producer_group = slice_text(p->options.group), .topic = slice_text(s->topic_name), .default_topic = SLICE("TBW102"),
        .default_topic_queue_nums = p->options.new_topic_queues, .queue_id = s->queue_id, .sys_flag = s->sys_flag, .flag = s->flag,
        .born_timestamp = tasks_wall_ms(client_of(s)->tasks), .properties = buf_slice(&s->properties), .batch = s->batch > 0,
        .bname = slice_text(s->broker),
    };
    header_set(&h, send, batch);
    header_set(&h, send, reconsume_times);
    header_set(&h, send, unit_mode);
    struct rpc_request r = {.code = s->batch ? REQUEST_SEND_BATCH_MESSAGE : REQUEST_SEND_MESSAGE_V2, .kind = &send_v2_kind, .header = &h,
                            .body = buf_slice(&s->body), .timeout_ms = try_time_ms(s), .done = s->oneway ? NULL : on_reply, .ctx = s};
    rpc_peer_request(routes_link(client_of(s), address)->peer, &r);
}

/* Tries until one is on its way or none is left. */
static void try_next(struct sending *s)
{
    struct slice address = {NULL, 0};
    while (!address.p) {
        s->tries++;
        s->begun_ms = now_ms(s);
        struct sky_error *e = choose(s);
        if (e) {
            fail(s, e);
            return;
        }
        address = routes_address(client_of(s), slice_text(s->broker), 0);
        if (address.p) break;
        set_error(s, error_new(SKY_NO_ROUTE, 0, "the broker has no master"));
        if (may_try_again(s)) continue;
        finish(s);
        return;
    }
    request(s, address);
    if (s->oneway) finish(s);
}

/* --- the beginning --- */

static void on_route(struct route_wait *w, struct sky_error *e)
{
    struct sending *s = LIST_OWNER(w, struct sending, route_wait);
    timer_stop(client_of(s)->tasks, &s->timeout);
    if (e) fail(s, e);
    else try_next(s);
}

static void on_timeout(void *ctx)
{
    struct sending *s = ctx;
    routes_forget(&s->route_wait);
    fail(s, error_new(SKY_TIMEOUT, 0, "no name server told its route within %lld ms", (long long)s->timeout_ms));
}

void sending_begin(struct mail *mail)
{
    struct sending *s = LIST_OWNER(mail, struct sending, mail);
    s->producer->under_way++;
    s->deadline_ms = now_ms(s) + s->timeout_ms;
    put_ids(s);
    s->topic = routes_topic(client_of(s), slice_text(s->topic_name));
    s->route_wait.done = on_route;
    timer_init(&s->timeout, on_timeout, s);
    timer_start(client_of(s)->tasks, &s->timeout, s->timeout_ms);
    routes_need(s->topic, s->producer->options.new_topic_queues, &s->route_wait);
}
