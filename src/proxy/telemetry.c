/* Telemetry: a stream on which a client tells its settings, and hears what it shall do. Facts: docs/protocol/grpc.md 5 */
#include "proxy/checks.h"
#include "proxy/lite_subscription.h"
#include "proxy/settings.h"
#include "proxy/status.h"

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* --- the stream --- */

void telemetry_begin(struct proxy *p, struct grpc_call *call)
{
    if (p->leaving) {
        grpc_finish(call, GRPC_OK, (struct slice){NULL, 0});
        return;
    }
    struct stream_of_client *s = must_zero(sizeof *s);
    s->data = CALL_STREAM;
    s->call = call;
    list_add(&p->clients.streams, &s->node);
    grpc_call_set_data(call, s);
}

static void stream_free(struct stream_of_client *s)
{
    if (s->client && s->client->stream == s) s->client->stream = NULL;
    list_remove(&s->node);
    free(s);
}

static void end(struct stream_of_client *s, enum grpc_status status, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void end(struct stream_of_client *s, enum grpc_status status, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    struct grpc_call *call = s->call;
    stream_free(s);
    grpc_finish(call, status, slice_of(text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1));
}

void telemetry_half_closed(struct proxy *p, struct grpc_call *call)
{
    (void)p;
    stream_free(grpc_call_data(call));
    grpc_finish(call, GRPC_OK, (struct slice){NULL, 0});
}

void telemetry_gone(struct proxy *p, struct grpc_call *call)
{
    (void)p;
    stream_free(grpc_call_data(call));
}

static void send(struct proxy *p, struct stream_of_client *s, const struct v2_telemetry_command *command)
{
    pb_out_clear(&p->out);
    pb_encode(&v2_telemetry_command_pb, command, &p->out);
    grpc_send_copy(s->call, pb_out_slice(&p->out));
}

void telemetry_send(struct proxy *p, struct client *c, const struct v2_telemetry_command *command)
{
    if (c->stream) send(p, c->stream, command);
}

/* --- settings --- */

/* A telling of settings under way: the group is looked up before it is answered. */
struct telling {
    struct v2_settings *settings;
};

static bool is_consumer(int32_t type)
{
    return type == V2_CLIENT_TYPE_PUSH_CONSUMER || type == V2_CLIENT_TYPE_SIMPLE_CONSUMER || type == V2_CLIENT_TYPE_LITE_PUSH_CONSUMER;
}

/* False: the stream was ended. */
static bool check_producer(struct stream_of_client *s, const struct v2_publishing *publishing)
{
    for (size_t i = 0; i < publishing->topics.count; i++) {
        err_t e = topic_check(publishing->topics.items[i].name);
        if (!e) continue;
        end(s, GRPC_INVALID_ARGUMENT, "process client telemetryCommand failed. %s", err_text(e));
        err_free(e);
        return false;
    }
    return true;
}

static bool check_consumer(struct stream_of_client *s, const struct v2_settings *settings)
{
    err_t e = group_check(resource_name(settings->subscription->group));
    if (e) {
        end(s, GRPC_INVALID_ARGUMENT, "process client telemetryCommand failed. %s", err_text(e));
        err_free(e);
        return false;
    }
    if (is_consumer(settings->client_type)) return true;
    end(s, GRPC_INTERNAL, "process client telemetryCommand failed. Client type is not consumer, type: %s", client_type_name(settings->client_type));
    return false;
}

static bool check_settings(struct stream_of_client *s, const struct v2_settings *settings)
{
    switch (settings->pub_sub_case) {
    case V2_SETTINGS_PUBLISHING: return check_producer(s, settings->publishing);
    case V2_SETTINGS_SUBSCRIPTION: return check_consumer(s, settings);
    default: end(s, GRPC_INVALID_ARGUMENT, "there is no publishing or subscription data in settings"); return false;
    }
}

static struct slice first_topic(const struct v2_subscription *s)
{
    return s->subscriptions.count ? resource_name(s->subscriptions.items[0].topic) : (struct slice){NULL, 0};
}

/* The client is known from now on, and this is its stream. */
static void keep(struct proxy *p, struct stream_of_client *s, struct slice id, const struct v2_settings *settings)
{
    struct client *c = clients_put(&p->clients, id);
    int64_t timeout_ms;
    if (c->stream && c->stream != s) c->stream->client = NULL;
    if (s->client && s->client != c) s->client->stream = NULL;
    c->stream = s;
    s->client = c;
    c->type = settings->client_type;
    c->request_timeout_ms = duration_ms(settings->request_timeout, &timeout_ms) ? timeout_ms : 0;
    c->attempts = settings->backoff_policy ? settings->backoff_policy->max_attempts : 0;
    c->fifo = c->untold = false;
    if (settings->pub_sub_case == V2_SETTINGS_PUBLISHING) {
        for (size_t i = 0; i < settings->publishing->topics.count; i++) {
            struct slice topic = settings->publishing->topics.items[i].name;
            client_produces(&p->clients, c, topic);
            transactions_watch(&p->transactions, topic);
        }
    } else {
        c->group = must_dup(resource_name(settings->subscription->group));
        c->fifo = settings->subscription->fifo;
        questions_changed(&p->questions);
        struct slice parent = first_topic(settings->subscription);
        if (settings->client_type == V2_CLIENT_TYPE_LITE_PUSH_CONSUMER && parent.n) c->lite_parent = must_dup(parent);
    }
}

/* A lite group is for lite consumers, and they are for it. False: the client is not known any more. */
static bool may_consume(struct request *r, struct client *c, const struct v2_settings *settings)
{
    int32_t code;
    const struct v2_subscription *s = settings->subscription;
    struct slice misuse = lite_misuse(r, settings->client_type, resource_name(s->group), first_topic(s), &code);
    if (!misuse.p) return true;
    if (c->stream) end(c->stream, GRPC_INVALID_ARGUMENT, "process client telemetryCommand failed. %.*s", SLICE_ARG(misuse));
    clients_remove(&r->proxy->clients, c);
    return false;
}

/* The client may have gone meanwhile, or told other settings: whoever listens under its id gets the answer. */
static void answer(struct request *r)
{
    struct telling *t = r->state;
    struct client *c = clients_find(&r->proxy->clients, r->client_id);
    if (c && t->settings->pub_sub_case == V2_SETTINGS_SUBSCRIPTION && !may_consume(r, c, t->settings)) {
        request_free(r);
        return;
    }
    if (c && c->stream) {
        struct v2_telemetry_command command = {.command_case = V2_TELEMETRY_COMMAND_SETTINGS};
        command.status = status_ok(r);
        command.settings = settings_merged(r, t->settings, r->wanted.group);
        send(r->proxy, c->stream, &command);
    }
    request_free(r);
}

static void take_settings(struct request *r, struct stream_of_client *s, const struct v2_settings *settings)
{
    struct telling *t = request_take(r, sizeof *t);
    if (!check_settings(s, settings)) {
        request_free(r);
        return;
    }
    keep(r->proxy, s, r->client_id, settings);
    t->settings = request_take(r, sizeof *t->settings);
    *t->settings = *settings;
    r->state = t;
    if (settings->pub_sub_case == V2_SETTINGS_PUBLISHING) answer(r);
    else request_want(r, WANT_GROUP, (struct slice){NULL, 0}, resource_name(settings->subscription->group), answer);
}

/* --- what comes in --- */

static void without_id(struct proxy *p, struct stream_of_client *s)
{
    struct v2_status status = {V2_CODE_CLIENT_ID_REQUIRED, SLICE("client id cannot be empty")};
    struct v2_telemetry_command command = {.status = &status};
    send(p, s, &command);
    end(s, GRPC_OK, "%s", "");
}

void telemetry_message(struct proxy *p, struct grpc_call *call, struct slice bytes)
{
    struct stream_of_client *s = grpc_call_data(call);
    struct slice id = grpc_call_header(call, "x-mq-client-id");
    if (is_blank(id)) {
        without_id(p, s);
        return;
    }
    struct request *r = request_new(p, NULL, NULL, id);
    struct v2_telemetry_command *command = request_take(r, sizeof *command);
    err_t e = request_keep(r, bytes, &v2_telemetry_command_pb, command);
    if (e) {
        log_debug("telemetry.broken client=\"%.*s\" why=\"%s\"", SLICE_ARG(id), err_text(e));
        err_free(e);
        request_free(r);
        end(s, GRPC_UNKNOWN, "Application error processing RPC");
    } else if (command->command_case == V2_TELEMETRY_COMMAND_SETTINGS) {
        take_settings(r, s, command->settings);
    } else {
        questions_answer(&p->questions, s->client, command);
        request_free(r);
    }
}

void telemetry_leave(struct proxy *p)
{
    struct v2_reconnect_endpoints_command reconnect = {.nonce = SLICE("0")};
    struct v2_telemetry_command command = {
        .command_case = V2_TELEMETRY_COMMAND_RECONNECT_ENDPOINTS_COMMAND, .reconnect_endpoints_command = &reconnect,
    };
    LIST_EACH(&p->clients.streams, node) {
        struct stream_of_client *s = LIST_OWNER(node, struct stream_of_client, node);
        send(p, s, &command);
        end(s, GRPC_OK, "%s", "");   /* the Node.js SDK has stopped listening for errors by now: one would end its process */
    }
}
