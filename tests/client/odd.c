#include "client/odd.h"

#include "codec/body_route.h"
#include "os/tasks.h"

#include <stdio.h>
#include <stdlib.h>

enum { LIMIT_MS = 60000 };

/* --- servers --- */

static void add_broker(struct topic_route *r, struct arena *arena, const struct odd_broker *b, bool queues_too)
{
    struct route_broker *rb = arena_list_add(arena, (void **)&r->brokers.items, &r->brokers.count, sizeof *rb);
    *rb = (struct route_broker){.cluster = SLICE("c"), .name = slice_text(b->name)};
    struct id_text *id = arena_list_add(arena, (void **)&rb->addresses.items, &rb->addresses.count, sizeof *id);
    struct buf address = BUF_EMPTY;
    buf_printf(&address, "%s:10911", b->ip);
    id->text = arena_copy(arena, buf_slice(&address));
    buf_done(&address);
    if (!queues_too) return;
    struct route_queues *q = arena_list_add(arena, (void **)&r->queues.items, &r->queues.count, sizeof *q);
    *q = (struct route_queues){.broker = slice_text(b->name), .read_queues = b->queues, .write_queues = b->queues, .perm = b->perm};
}

/* Brokers stand in the answer in the order that `turn` begins, as real ones change it. */
static void answer_route(struct odd *o, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct topic_route r = {.order = {NULL, 0}};
    struct buf body = BUF_EMPTY;
    for (size_t i = 0; i < ODD_BROKERS; i++) {
        const struct odd_broker *b = &o->broker[(i + o->route_requests) % ODD_BROKERS];
        if (b->registered) add_broker(&r, &arena, b, true);
    }
    bean_encode(&topic_route_bean, &r, JSON_STRICT, &body);
    call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, buf_slice(&body));
    buf_done(&body);
    arena_done(&arena);
}

static void handle_names(struct odd *o, struct call *call)
{
    struct route_header h;
    err_t e = header_decode(&route_kind, call->frame, &h);
    if (e || o->names_script == ODD_SILENT) {
        err_free(e);
        call_drop(call);
        return;
    }
    if (slice_eq(h.topic, SLICE("TBW102")) ? o->default_known : o->topic_known) answer_route(o, call);
    else call_fail(call, err_new(ERR_TOPIC_NOT_FOUND, "No topic route info"));
}

static void on_names(void *ctx, struct call *call)
{
    struct odd *o = ctx;
    o->route_requests++;
    handle_names(o, call);
}

static void on_other_names(void *ctx, struct call *call)
{
    struct odd *o = ctx;
    o->other_requests++;
    handle_names(o, call);
}

struct late {
    struct timer timer;
    struct call *call;
    struct odd_broker *broker;
    int code;
    int64_t offset;
};

static void answer_send(void *ctx)
{
    struct late *l = ctx;
    struct send_reply_header h = {.msg_id = SLICE("0A00000100002A9F0000000000000000"), .queue_id = l->broker->sends[l->offset].h.queue_id, .queue_offset = l->offset};
    if (l->code == 0 || (l->code >= 10 && l->code <= 12)) call_reply(l->call, l->code, NULL, &send_reply_kind, &h, (struct slice){NULL, 0});
    else call_reply(l->call, l->code, "as the test says", NULL, NULL, (struct slice){NULL, 0});
    free(l);
}

static void take_send(struct odd_broker *b, struct call *call)
{
    assert_true(b->count < ODD_SENDS_MAX);
    struct odd_send *s = &b->sends[b->count++];
    *s = (struct odd_send){.code = call->code, .frame = frame_copy(call->frame), .at_ms = sim_now_ms(b->odd->sim)};
    EXPECT_OK(header_decode(&send_v2_kind, s->frame, &s->h));
    buf_put_slice(&s->body, call->body);
    int answer = b->script_at < b->script_count ? b->script[b->script_at++] : 0;
    if (answer == ODD_SILENT) call_drop(call);
    else if (answer == ODD_CLOSE) {
        struct rpc_conn *c = rpc_conn_ref(call->conn);
        call_drop(call);
        rpc_conn_close(c, "as the test says");
        rpc_conn_unref(c);
    } else {
        struct late *l = must_zero(sizeof *l);
        *l = (struct late){.call = call, .broker = b, .code = answer, .offset = (int64_t)b->count - 1};
        timer_init(&l->timer, answer_send, l);
        timer_start(rpc_tasks(b->loop), &l->timer, b->delay_ms);
    }
}

static void take_pull(struct odd_broker *b, struct call *call)
{
    struct pull_header h;
    struct odd_pull *x = &b->pulls[b->pull_count++];
    assert_true(b->pull_count <= ODD_PULLS_MAX);
    x->frame = frame_copy(call->frame);
    EXPECT_OK(header_decode(&pull_kind, x->frame, &h));
    x->topic = h.topic;
    x->queue_id = h.queue_id;
    x->queue_offset = h.queue_offset;
    call_drop(call);
}

static void answer_offset(struct call *call, int64_t offset)
{
    struct offset_reply_header h = {.offset = offset};
    if (offset < 0) call_reply(call, RESPONSE_QUERY_NOT_FOUND, NULL, NULL, NULL, (struct slice){NULL, 0});
    else call_reply(call, RESPONSE_SUCCESS, NULL, &offset_reply_kind, &h, (struct slice){NULL, 0});
}

static void answer_time(struct odd_broker *b, struct call *call)
{
    struct search_offset_header h;
    EXPECT_OK(header_decode(&search_offset_kind, call->frame, &h));
    b->asked_time = h.timestamp;
    answer_offset(call, b->offset_of_time);
}

/* What a consumer asks; false: something else. */
static bool handle_consumer(struct odd_broker *b, struct call *call)
{
    switch (call->code) {
    case REQUEST_GET_CONSUMER_LIST_BY_GROUP:
        call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, SLICE("{\"consumerIdList\":[\"10.0.9.9@test\"]}"));
        return true;
    case REQUEST_QUERY_CONSUMER_OFFSET: answer_offset(call, b->committed); return true;
    case REQUEST_GET_MAX_OFFSET: answer_offset(call, b->max_offset); return true;
    case REQUEST_SEARCH_OFFSET_BY_TIMESTAMP: answer_time(b, call); return true;
    case REQUEST_PULL_MESSAGE: take_pull(b, call); return true;
    case REQUEST_UPDATE_CONSUMER_OFFSET: call_reply_ok(call); return true;
    default: return false;
    }
}

static void on_broker(void *ctx, struct call *call)
{
    struct odd_broker *b = ctx;
    if (handle_consumer(b, call)) return;
    switch (call->code) {
    case REQUEST_SEND_MESSAGE_V2:
    case REQUEST_SEND_BATCH_MESSAGE: take_send(b, call); return;
    case REQUEST_HEART_BEAT:
        b->heartbeats++;
        buf_clear(&b->last_heartbeat);
        buf_put_slice(&b->last_heartbeat, call->body);
        break;
    case REQUEST_UNREGISTER_CLIENT: b->goodbyes++; break;
    default: fail_msg("request %d", call->code);
    }
    call_reply_ok(call);
}

static struct rpc_listener *listen_on(struct loop *loop, uint16_t port, void (*handle)(void *, struct call *), void *ctx)
{
    struct rpc_service service = {.handle = handle, .ctx = ctx};
    struct rpc_options options = rpc_options_default();
    struct addr any = {.port = port};
    struct rpc_listener *l;
    EXPECT_OK(rpc_listen(loop, &any, 0, &service, &options, &l));
    return l;
}

static void start_broker(struct odd *o, int i)
{
    struct odd_broker *b = &o->broker[i];
    snprintf(b->name, sizeof b->name, "%c", 'a' + i);
    snprintf(b->ip, sizeof b->ip, "10.0.1.%c", '1' + i);
    b->odd = o;
    b->registered = true;
    b->queues = 2;
    b->perm = 6;
    b->loop = sim_loop_new(sim_process_new(o->sim, b->ip));
    b->listener = listen_on(b->loop, 10911, on_broker, b);
}

struct odd *odd_start(int brokers)
{
    struct odd *o = must_zero(sizeof *o);
    struct sim_options options = sim_options_default(7);
    o->sim = sim_new(&options);
    o->loop = sim_loop_new(sim_process_new(o->sim, "10.0.0.1"));
    o->names = listen_on(o->loop, 9876, on_names, o);
    o->other_names = listen_on(sim_loop_new(sim_process_new(o->sim, "10.0.0.2")), 9876, on_other_names, o);
    o->topic_known = o->default_known = true;
    for (int i = 0; i < brokers; i++) start_broker(o, i);
    o->client_loop = sim_loop_new(sim_process_new(o->sim, "10.0.9.9"));
    struct sky_client_options *c = sky_client_options_new();
    SKY_OKAY(sky_client_options_set_name_servers(c, "10.0.0.1:9876"));
    SKY_OKAY(sky_client_options_set_address(c, "10.0.9.9"));
    SKY_OKAY(sky_client_options_set_instance(c, "test"));
    SKY_OKAY(client_open_on(c, o->client_loop, 1, &o->client));
    sky_client_options_free(c);
    o->options = sky_producer_options_new("makers");
    return o;
}

void odd_producer(struct odd *o) { SKY_OKAY(sky_producer_open(o->client, o->options, &o->producer)); }

void odd_script(struct odd_broker *b, ...)
{
    va_list args;
    va_start(args, b);
    b->script_count = b->script_at = 0;
    for (int answer; (answer = va_arg(args, int)) != -1000;) b->script[b->script_count++] = answer;
    va_end(args);
}

size_t odd_sends(const struct odd *o)
{
    size_t n = 0;
    for (size_t i = 0; i < ODD_BROKERS; i++) n += o->broker[i].count;
    return n;
}

static bool is_over(void *ctx) { return client_is_over(((struct odd *)ctx)->client); }

void odd_shutdown(struct odd *o)
{
    client_shutdown_begin(o->client, NULL, NULL);
    EXPECT(sim_run_until(o->sim, is_over, o, LIMIT_MS));
}

static void free_broker(struct odd_broker *b)
{
    if (b->listener) rpc_listener_close(b->listener);
    for (size_t i = 0; i < b->count; i++) {
        free(b->sends[i].frame);
        buf_done(&b->sends[i].body);
    }
    for (size_t i = 0; i < b->pull_count; i++) free(b->pulls[i].frame);
    buf_done(&b->last_heartbeat);
}

void odd_stop(struct odd *o)
{
    if (!client_is_over(o->client)) odd_shutdown(o);
    sky_producer_free(o->producer);
    sky_client_free(o->client);
    sky_producer_options_free(o->options);
    sim_run_for(o->sim, LIMIT_MS);   /* answers that are late */
    rpc_listener_close(o->names);
    rpc_listener_close(o->other_names);
    for (size_t i = 0; i < ODD_BROKERS; i++) free_broker(&o->broker[i]);
    sim_free(o->sim);
    free(o);
}

/* --- sending --- */

void odd_sent(void *user, const struct sky_error *error, const struct sky_receipt *receipt)
{
    struct odd_outcome *out = user;
    EXPECT(!out->over);
    EXPECT(!error != !receipt);
    out->over = true;
    out->at_ms = sim_now_ms(out->odd->sim);
    out->error = sky_error_code(error);
    out->response = sky_error_response(error);
    snprintf(out->text, sizeof out->text, "%s", sky_error_text(error));
    if (!receipt) return;
    out->stored = sky_receipt_stored(receipt);
    snprintf(out->message_id, sizeof out->message_id, "%s", sky_receipt_message_id(receipt));
    snprintf(out->offset_id, sizeof out->offset_id, "%s", sky_receipt_offset_id(receipt));
    snprintf(out->broker, sizeof out->broker, "%s", sky_receipt_broker(receipt));
    out->queue_id = sky_receipt_queue_id(receipt);
    out->queue_offset = sky_receipt_queue_offset(receipt);
    out->tries = sky_receipt_tries(receipt);
}

static bool outcome_over(void *ctx) { return ((struct odd_outcome *)ctx)->over; }

void odd_send_begin(struct odd *o, struct odd_outcome *out, const struct sky_message *m, const struct sky_send_options *how)
{
    *out = (struct odd_outcome){.odd = o};
    SKY_OKAY(sky_producer_send_async(o->producer, m, how, odd_sent, out));
}

void odd_wait(struct odd *o, struct odd_outcome *out) { EXPECT(sim_run_until(o->sim, outcome_over, out, LIMIT_MS)); }

struct odd_outcome odd_send_message(struct odd *o, struct sky_message *m, const struct sky_send_options *how)
{
    struct odd_outcome out;
    odd_send_begin(o, &out, m, how);
    sky_message_free(m);
    odd_wait(o, &out);
    return out;
}

struct odd_outcome odd_send(struct odd *o) { return odd_send_message(o, sky_message_new("Orders", "hello", 5), NULL); }

/* --- errors --- */

void expect_sky_ok(struct sky_error *e, const char *what, int line)
{
    if (e) fail_msg("line %d: %s: %s: %s", line, what, sky_code_name(sky_error_code(e)), sky_error_text(e));
}

void expect_sky(struct sky_error *e, enum sky_code code, const char *part, const char *what, int line)
{
    if (sky_error_code(e) != code || (part && !strstr(sky_error_text(e), part)))
        fail_msg("line %d: %s: %s: %s", line, what, sky_code_name(sky_error_code(e)), sky_error_text(e));
    sky_error_free(e);
}
