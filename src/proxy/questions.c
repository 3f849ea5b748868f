#include "proxy/questions.h"

#include "proxy/state.h"

#include "base/log.h"
#include "codec/body_guests.h"
#include "codec/record.h"
#include "codec/requests.h"
#include "proxy/message_out.h"

#include <stdio.h>
#include <stdlib.h>

enum { TELL_SOON_MS = 200, TELL_AGAIN_SCANS = 6, TELL_MS = 3000, ANSWER_MS = 9000 };

/* One that waits for its client. */
struct question {
    struct questions *all;
    struct call *call;
    bool verifies;                   /* 309; else 307 */
    char *client_id;
    char nonce[32];
    struct timer late;
};

/* --- who can be asked --- */

static bool can_be_asked(const struct client *c)
{
    bool consumes = c->type == V2_CLIENT_TYPE_PUSH_CONSUMER || c->type == V2_CLIENT_TYPE_SIMPLE_CONSUMER || c->type == V2_CLIENT_TYPE_LITE_PUSH_CONSUMER;
    return consumes && c->group && c->stream;
}

static void list_consumers(const struct proxy *p, struct arena *arena, struct guest_list *list)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&p->clients.by_id, &at));) {
        const struct client *c = e->value;
        struct guest_row *row = can_be_asked(c) ? arena_list_add(arena, (void **)&list->rows.items, &list->rows.count, sizeof *row) : NULL;
        if (!row) continue;
        struct slice language = grpc_call_header(c->stream->call, "x-mq-language");
        char address[ADDR_TEXT_MAX];
        addr_format(grpc_call_remote(c->stream->call), address);
        *row = (struct guest_row){
            .address = arena_copy(arena, slice_text(address)), .client_id = slice_text(c->id), .group = slice_text(c->group),
            .language = utf8_valid(language) ? language : SLICE(""), .version = RPC_VERSION,
        };
    }
}

static void on_told(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct broker_peer *b = ctx;
    if (!e && reply->frame->code == RESPONSE_REQUEST_CODE_NOT_SUPPORTED) b->knows_no_guests = true;   /* the original's */
    err_drop(e, "it is told again");
}

static void tell(void *ctx)
{
    struct questions *q = ctx;
    struct proxy *p = q->proxy;
    struct arena arena = ARENA_EMPTY;
    struct guest_list list = {.rows = {NULL, 0}};
    struct buf text = BUF_EMPTY;
    struct map_entry *e;
    arena.limit = SIZE_MAX / 2;
    list_consumers(p, &arena, &list);
    bean_encode(&guest_list_bean, &list, JSON_STRICT, &text);
    bool any = list.rows.count || q->told_some;
    q->told_some = list.rows.count;
    for (size_t at = 0; any && (e = map_next(&p->brokers.by_name, &at));) {
        struct broker_peer *b = e->value;
        struct rpc_request r = {.code = REQUEST_PROXY_CONSUMERS, .body = buf_slice(&text), .timeout_ms = TELL_MS, .done = on_told, .ctx = b};
        if (!b->knows_no_guests) broker_request(b, &r);
    }
    buf_done(&text);
    arena_done(&arena);
}

void questions_changed(struct questions *q)
{
    if (!q->proxy->ending && !q->tell.armed) timer_start(q->proxy->tasks, &q->tell, TELL_SOON_MS);
}

void questions_scan(struct questions *q)
{
    if (q->proxy->scans % TELL_AGAIN_SCANS == 0) questions_changed(q);
}

/* --- questions --- */

static void question_free(struct question *w)
{
    map_remove(&w->all->open, slice_text(w->nonce));
    timer_stop(w->all->proxy->tasks, &w->late);
    free(w->client_id);
    free(w);
}

static void on_late(void *ctx)
{
    struct question *w = ctx;
    call_fail(w->call, err_new(ERR_TIMEOUT, "the client %s did not answer in %d ms", w->client_id, ANSWER_MS));
    question_free(w);
}

static struct question *keep(struct broker_peer *from, struct call *call, const struct client *c, bool verifies)
{
    struct questions *all = &from->proxy->questions;
    struct question *w = must_zero(sizeof *w);
    w->all = all;
    w->call = call;
    w->verifies = verifies;
    w->client_id = must_strdup(c->id);
    snprintf(w->nonce, sizeof w->nonce, "%llx-%llx", (unsigned long long)random_u64(&all->proxy->random), (unsigned long long)++all->count);
    timer_init(&w->late, on_late, w);
    timer_start(all->proxy->tasks, &w->late, ANSWER_MS);
    map_put(&all->open, slice_text(w->nonce), w);
    return w;
}

/* NULL: it is not here, and the broker was told so. */
static struct client *find_client(struct broker_peer *from, struct call *call, struct slice group, struct slice client_id)
{
    struct client *c = clients_find(&from->proxy->clients, client_id);
    if (c && can_be_asked(c) && slice_eq(slice_text(c->group), group)) return c;
    call_fail(call, err_new(ERR_NOT_ONLINE, "the consumer %.*s of the group %.*s is not connected to this proxy", SLICE_ARG(client_id), SLICE_ARG(group)));
    return NULL;
}

static void answer_running(struct call *call, struct slice stack)
{
    struct running_info info = {stack};
    struct buf text = BUF_EMPTY;
    bean_encode(&running_info_bean, &info, JSON_STRICT, &text);
    call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, buf_slice(&text));
    buf_done(&text);
}

/* gRPC clients tell of nothing but their threads. */
void questions_ask_stack(struct broker_peer *from, struct call *call)
{
    struct running_info_header h;
    err_t e = header_decode(&running_info_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct client *c = find_client(from, call, h.consumer_group, h.client_id);
    if (!c) return;
    if (!h.jstack_enable) {
        answer_running(call, (struct slice){NULL, 0});
        return;
    }
    struct v2_print_thread_stack_trace_command print = {slice_text(keep(from, call, c, false)->nonce)};
    struct v2_telemetry_command command = {
        .command_case = V2_TELEMETRY_COMMAND_PRINT_THREAD_STACK_TRACE_COMMAND, .print_thread_stack_trace_command = &print,
    };
    telemetry_send(from->proxy, c, &command);
}

static bool send_message(struct broker_peer *from, struct client *c, struct call *call, const struct message *m)
{
    struct arena arena = ARENA_EMPTY;
    struct popped place = {.topic = m->topic, .reconsume_times = m->reconsume_times};
    struct v2_message *message = message_out(&arena, m, &place, now_ms(from->proxy));
    if (message) {
        struct v2_verify_message_command verify = {slice_text(keep(from, call, c, true)->nonce), message};
        struct v2_telemetry_command command = {.command_case = V2_TELEMETRY_COMMAND_VERIFY_MESSAGE_COMMAND, .verify_message_command = &verify};
        telemetry_send(from->proxy, c, &command);
    }
    arena_done(&arena);
    return message;
}

void questions_ask_verify(struct broker_peer *from, struct call *call)
{
    struct consume_directly_header h;
    struct message m;
    err_t e = header_decode(&consume_directly_kind, call->frame, &h);
    if (!e && (record_read(call->body, &m) != RECORD_WHOLE || !utf8_valid(m.topic))) e = err_new(ERR_BODY, "there is no message to consume");
    if (e) {
        call_fail(call, e);
        return;
    }
    struct client *c = find_client(from, call, h.consumer_group, h.client_id);
    if (c && !send_message(from, c, call, &m)) call_fail(call, err_new(ERR_OUT_OF_MEMORY, NULL));
}

/* --- answers --- */

static void answer_stack(struct question *w, const struct v2_status *status, struct slice stack)
{
    if (status && status->code == V2_CODE_OK) answer_running(w->call, stack);
    else if (status && status->code == V2_CODE_VERIFY_FIFO_MESSAGE_UNSUPPORTED) call_fail(w->call, err_new(ERR_NO_PERMISSION, "forbidden to verify message"));
    else call_fail(w->call, err_new(ERR_REFUSED, "verify message failed"));
}

static void answer_verified(struct question *w, const struct v2_status *status)
{
    struct consume_result result = {.auto_commit = true, .outcome = -1, .remark = SLICE("from gRPC client")};
    struct buf text = BUF_EMPTY;
    switch (status ? status->code : 0) {
    case V2_CODE_OK: result.outcome = CONSUMED; break;
    case V2_CODE_FAILED_TO_CONSUME_MESSAGE: result.outcome = CONSUME_LATER; break;
    case V2_CODE_MESSAGE_CORRUPTED: result.outcome = CONSUME_NULL; break;
    default: break;
    }
    bean_encode(&consume_result_bean, &result, JSON_STRICT, &text);
    call_reply(w->call, RESPONSE_SUCCESS, NULL, NULL, NULL, buf_slice(&text));
    buf_done(&text);
}

/* Only the one who was asked answers. */
void questions_answer(struct questions *q, const struct client *c, const struct v2_telemetry_command *command)
{
    const struct v2_thread_stack_trace *stack = command->command_case == V2_TELEMETRY_COMMAND_THREAD_STACK_TRACE ? command->thread_stack_trace : NULL;
    const struct v2_verify_message_result *result =
        command->command_case == V2_TELEMETRY_COMMAND_VERIFY_MESSAGE_RESULT ? command->verify_message_result : NULL;
    struct question *w = stack || result ? map_get(&q->open, stack ? stack->nonce : result->nonce) : NULL;
    if (!w || !c || strcmp(w->client_id, c->id) || w->verifies != (result != NULL)) return;
    if (stack) answer_stack(w, command->status, stack->thread_stack_trace);
    else answer_verified(w, command->status);
    question_free(w);
}

/* --- life --- */

void questions_init(struct questions *q, struct proxy *p)
{
    *q = (struct questions){.proxy = p, .open = MAP_EMPTY};
    timer_init(&q->tell, tell, q);
}

void questions_done(struct questions *q)
{
    struct map_entry *e;
    timer_stop(q->proxy->tasks, &q->tell);
    for (size_t at = 0; (e = map_next(&q->open, &at));) {
        struct question *w = e->value;
        call_drop(w->call);
        question_free(w);
    }
    map_done(&q->open);
}
