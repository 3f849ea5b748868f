#include "rpc/watch.h"

#include "codec/requests.h"

#include <stdio.h>

enum { NAME_MAX_BYTES = 64 };

/* --- names --- */

static const char *request_constant(int32_t code)
{
    switch (code) {
#define REQUEST(room, name, number, handler, rights, port) case number: return #name;
#define CALL(name, number) case number: return #name;
#include "catalog/requests.def"
#undef REQUEST
#undef CALL
    default: return NULL;
    }
}

static const char *response_constant(int32_t code)
{
    switch (code) {
#define RESPONSE(name, number) case number: return #name;
#include "catalog/responses.def"
#undef RESPONSE
    default: return NULL;
    }
}

static const char *number_text(int32_t code, char text[static 16])
{
    snprintf(text, 16, "%d", code);
    return text;
}

const char *request_name(int32_t code, char text[static 16])
{
    const char *name = request_constant(code);
    return name ? name : number_text(code, text);
}

const char *response_name(int32_t code, char text[static 16])
{
    const char *name = response_constant(code);
    return name ? name : number_text(code, text);
}

static struct slice lower(const char *name, char out[static NAME_MAX_BYTES])
{
    size_t n = 0;
    for (; name[n] && n + 1 < NAME_MAX_BYTES; n++) out[n] = name[n] >= 'A' && name[n] <= 'Z' ? (char)(name[n] | 0x20) : name[n];
    return slice_of(out, n);
}

/* --- what is said --- */

static void count(struct rpc_watch *w, const struct call *call, int32_t code, int64_t took_ms)
{
    char number[2][16], request[NAME_MAX_BYTES], response[NAME_MAX_BYTES];
    if (!metrics_are_broken_down(w->metrics)) return;
    metric_observe(w->metrics, METRIC_RPC_LATENCY, took_ms,
                   LABELS(SLICE("remoting"), lower(request_name(call->code, number[0]), request), lower(response_name(code, number[1]), response),
                          metric_bool(call->held), call->oneway ? SLICE("oneway") : SLICE("success")));
}

static void tell(const char *event, const struct call *call, int32_t code, int64_t took_ms)
{
    char number[2][16], remote[ADDR_TEXT_MAX];
    log_info("%s request=%s response=%s ms=%lld held=%s remote=%s conn=%llu opaque=%d bytes=%zu", event, request_name(call->code, number[0]),
             response_name(code, number[1]), (long long)took_ms, call->held ? "true" : "false", addr_format(rpc_conn_remote(call->conn), remote),
             (unsigned long long)rpc_conn_id(call->conn), call->opaque, call->body.n);
}

void rpc_watch_answered(struct rpc_watch *w, const struct call *call, int32_t code)
{
    int64_t now = tasks_mono_ms(w->tasks), took_ms = now - call->begun_ms, slow_ms = w->config->skylark.slow_request_ms;
    count(w, call, code, took_ms);
    if (w->config->skylark.access_log) tell("access.request", call, code, took_ms);
    if (slow_ms && took_ms >= slow_ms && !call->held && log_may(&w->slow, "request.slow", now)) tell("request.slow", call, code, took_ms);
}
