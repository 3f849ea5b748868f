#include "grpc/internal.h"

#include "base/metrics.h"
#include "grpc/words.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXT_MAX = 256 };

/* --- headers --- */

void grpc_call_add_header(struct grpc_call *k, nghttp2_rcbuf *name, nghttp2_rcbuf *value)
{
    if (!grpc_headers_add(&k->headers, k->conn->server->options.max_header_bytes, name, value)) k->too_long = true;
}

static struct slice known(const struct grpc_call *k, enum known_header which) { return grpc_headers_known(&k->headers, which); }

static struct slice find_attribute(const struct grpc_conn *c, const char *name)
{
    const char *p = (const char *)c->attributes.p, *end = p ? p + c->attributes.n : p;
    while (p < end) {
        const char *value = p + strlen(p) + 1;
        if (!strcmp(p, name)) return slice_text(value);
        p = value + strlen(value) + 1;
    }
    return (struct slice){NULL, 0};
}

struct slice grpc_call_header(const struct grpc_call *k, const char *name)
{
    struct slice found = grpc_headers_find(&k->headers, slice_text(name));
    return found.p ? found : find_attribute(k->conn, name);
}

void grpc_call_forget_headers(struct grpc_call *k) { grpc_headers_keep_path(&k->headers); }

/* --- life --- */

static void on_deadline(void *ctx) { grpc_call_end(ctx, GRPC_DEADLINE_EXCEEDED, "the deadline of the call has passed"); }

struct grpc_call *grpc_call_new(struct grpc_conn *c, int32_t id)
{
    struct grpc_call *k = must_zero(sizeof *k);
    k->conn = c;
    k->id = id;
    k->deadline_ms = INT64_MAX;
    list_init(&k->out);
    list_add(&c->calls, &k->node);
    timer_init(&k->timer, on_deadline, k);
    return k;
}

/* After it the service is told nothing more. False: it did not have the call. */
static bool take_back(struct grpc_call *k)
{
    if (k->over || !k->service) return false;
    k->over = true;
    k->conn->server->calls--;
    timer_stop(&k->conn->server->loop->tasks, &k->timer);
    grpc_call_drop_input(k);
    return true;
}

void grpc_call_free(struct grpc_call *k)
{
    if (take_back(k)) k->service->gone(k->service->ctx, k);
    struct grpc_conn *c = k->conn;
    if (c->opening == k) c->opening = NULL;
    timer_stop(&c->server->loop->tasks, &k->timer);
    grpc_call_drop_output(k);
    c->unfinished -= k->in.n;
    if (k->opened && !--c->open_calls) c->quiet_ms = tasks_mono_ms(&c->server->loop->tasks);
    list_remove(&k->node);
    grpc_headers_done(&k->headers);
    buf_done(&k->in);
    buf_done(&k->status_text);
    free(k);
}

/* The service knows the method: the number of names is bounded. */
static void count(const struct grpc_call *k, enum grpc_status status)
{
    struct metrics *m = k->conn->server->options.metrics;
    struct slice service, method;
    char code[16];
    if (!m || !metrics_are_broken_down(m) || !path_split(known(k, HEADER_PATH), &service, &method)) return;
    snprintf(code, sizeof code, "%d", (int)status);
    metric_observe(m, METRIC_GRPC_LATENCY, (tasks_mono_ms(&k->conn->server->loop->tasks) - k->begun_ms) * 1000, LABELS(method, slice_text(code)));
}

void grpc_finish(struct grpc_call *k, enum grpc_status status, struct slice text)
{
    assert(!k->over);
    take_back(k);
    count(k, status);
    k->finished = true;
    k->status = status;
    status_text_encode(text, &k->status_text);
    grpc_session_served(k->conn);
    grpc_call_submit(k);
}

/* What is still unsent would come too late: the status comes at once, or an end without one when a message is half sent. */
void grpc_call_end(struct grpc_call *k, enum grpc_status status, const char *text)
{
    if (!take_back(k)) return;
    count(k, status);
    k->service->gone(k->service->ctx, k);
    k->finished = true;
    bool half_sent = grpc_call_drop_output(k);
    if (half_sent) {
        grpc_call_reset(k, NGHTTP2_CANCEL);
        return;
    }
    k->status = status;
    status_text_encode(slice_text(text), &k->status_text);
    grpc_call_submit(k);
}

/* --- opening --- */

static const struct grpc_service *find_service(const struct grpc_server *s, struct slice name)
{
    for (size_t i = 0; i < s->service_count; i++)
        if (slice_eq(name, slice_text(s->services[i]->name))) return s->services[i];
    return NULL;
}

static void set_deadline(struct grpc_call *k, int64_t timeout_ms)
{
    struct tasks *tasks = &k->conn->server->loop->tasks;
    k->deadline_ms = tasks_mono_ms(tasks) + timeout_ms;
    timer_start(tasks, &k->timer, timeout_ms);
}

/* True: it is no call that a service could have, and has been answered. */
static bool refuse(struct grpc_call *k)
{
    struct slice encoding = known(k, HEADER_ENCODING);
    if (k->too_long) grpc_call_refuse(k, "431", GRPC_RESOURCE_EXHAUSTED, "the headers are too long");
    else if (!slice_eq(known(k, HEADER_METHOD), SLICE("POST"))) grpc_call_refuse(k, "405", GRPC_INTERNAL, "only POST is a call");
    else if (!is_grpc_content(known(k, HEADER_CONTENT_TYPE)))
        grpc_call_refuse(k, "415", GRPC_INTERNAL, "the content-type is not application/grpc");
    else if (encoding.p && !slice_eq(encoding, SLICE("identity")) && !slice_eq(encoding, SLICE("gzip")))
        grpc_call_refuse(k, "200", GRPC_UNIMPLEMENTED, "messages may be packed with gzip only");
    return k->over;
}

static void refuse_method(struct grpc_call *k)
{
    char text[TEXT_MAX];
    struct slice path = known(k, HEADER_PATH);
    snprintf(text, sizeof text, "there is no method %.*s", path.n < TEXT_MAX / 2 ? (int)path.n : TEXT_MAX / 2, (const char *)path.p);
    grpc_call_refuse(k, "200", GRPC_UNIMPLEMENTED, text);
}

void grpc_call_open(struct grpc_call *k)
{
    struct slice name, method, timeout = known(k, HEADER_TIMEOUT);
    int64_t timeout_ms = 0;
    k->opened = true;
    k->begun_ms = tasks_mono_ms(&k->conn->server->loop->tasks);
    k->conn->open_calls++;
    if (refuse(k)) return;
    if (timeout.p && !timeout_parse(timeout, &timeout_ms)) {
        grpc_call_refuse(k, "200", GRPC_INTERNAL, "grpc-timeout cannot be read");
        return;
    }
    k->zipped = slice_eq(known(k, HEADER_ENCODING), SLICE("gzip"));
    k->packs = k->zipped && list_has(known(k, HEADER_ACCEPTS), SLICE("gzip"));
    const struct grpc_service *service = path_split(known(k, HEADER_PATH), &name, &method) ? find_service(k->conn->server, name) : NULL;
    if (!service) {
        refuse_method(k);
        return;
    }
    if (timeout.p) set_deadline(k, timeout_ms);
    k->service = service;
    k->conn->server->calls++;
    if (service->begin(service->ctx, k, method)) return;
    assert(!k->over);
    take_back(k);
    refuse_method(k);
}

/* --- what services ask --- */

void grpc_call_set_data(struct grpc_call *k, void *data) { k->data = data; }
void *grpc_call_data(const struct grpc_call *k) { return k->data; }
int64_t grpc_call_deadline_ms(const struct grpc_call *k) { return k->deadline_ms; }
const struct addr *grpc_call_remote(const struct grpc_call *k) { return &k->conn->remote; }
const struct addr *grpc_call_local(const struct grpc_call *k) { return &k->conn->local; }
uint64_t grpc_call_conn_id(const struct grpc_call *k) { return k->conn->id; }
