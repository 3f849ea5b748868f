#include "telemetry/pusher.h"

#include "base/log.h"
#include "net/tls.h"
#include "telemetry/otlp.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { HEADERS_MAX = 24, HTTP_PORT = 80, HTTPS_PORT = 443, TEXT_MAX = 300, SKIPS_MAX_BITS = 6 };

struct pusher {
    struct pusher_options options;
    struct pusher_target target;
    struct tls *tls;
    char *header_text;
    const char *headers[2 * HEADERS_MAX + 1];
    int64_t start_ms;               /* wall_ms */
    struct last_values last;        /* with delta */

    const struct metric_page *page; /* NULL: idle */
    struct otlp_times times;
    struct otlp_place place, sent;  /* of the page: made; and taken by the collector */
    struct unary_client *client;
    void (*done)(void *ctx);
    void *ctx;

    unsigned failures;              /* since the last page that was taken whole */
    int64_t rest_until_ms;          /* mono_ms */
    bool warned, rejects;           /* the state that the log has told */
};

static struct tasks *tasks_of(const struct pusher *p) { return &p->options.loop->tasks; }

/* --- what is configured --- */

static bool take_scheme(struct slice *rest, const char *scheme)
{
    size_t n = strlen(scheme);
    if (rest->n < n || strncasecmp((const char *)rest->p, scheme, n)) return false;
    *rest = slice_skip(*rest, n);
    return true;
}

/* "host", "host:port", "[::1]", "[::1]:port" */
static bool read_host(struct slice s, struct pusher_target *out)
{
    bool literal = s.n && s.p[0] == '[';
    const uint8_t *end = !s.n ? NULL : literal ? memchr(s.p, ']', s.n) : memchr(s.p, ':', s.n);
    if (literal && !end) return false;
    struct slice host = literal ? slice_of(s.p + 1, (size_t)(end - s.p) - 1) : slice_of(s.p, end ? (size_t)(end - s.p) : s.n);
    struct slice rest = slice_skip(s, (literal ? 2 : 0) + host.n);
    int32_t port = out->port;
    if (!host.n || host.n >= sizeof out->host) return false;
    if (rest.n && (rest.p[0] != ':' || !slice_to_i32(slice_skip(rest, 1), &port) || port <= 0 || port > 65535)) return false;
    memcpy(out->host, host.p, host.n);
    out->host[host.n] = 0;
    out->port = (uint16_t)port;
    return true;
}

err_t pusher_target_read(const char *text, struct pusher_target *out)
{
    struct slice rest = slice_trim(slice_text(text)), host;
    struct pusher_target t = {.port = HTTPS_PORT, .tls = true};
    if (take_scheme(&rest, "http://")) t.tls = false, t.port = HTTP_PORT;
    else take_scheme(&rest, "https://");
    bool fine = slice_split(&rest, '/', &host) && read_host(host, &t);
    if (!fine) return err_new(ERR_CONFIG, "metricsGrpcExporterTarget must be http://HOST:PORT or https://HOST:PORT, not \"%s\"", text);
    *out = t;
    return NULL;
}

static bool is_header_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-_.");
    return n && !s[n];
}

/* Names are made small, as HTTP/2 wants them. */
static void read_headers(struct pusher *p)
{
    size_t n = 0;
    char *rest = p->header_text = must_strdup(p->options.headers ? p->options.headers : "");
    for (char *pair; (pair = strsep(&rest, ","));) {
        char *mark = strchr(pair, ':');
        if (!*pair) continue;
        if (mark) *mark++ = 0;
        for (char *c = pair; *c; c++) *c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c;
        bool fine = mark && !strchr(mark, ':') && is_header_name(pair) && n < HEADERS_MAX;
        if (!fine) log_warn("metrics.header_left_out name=\"%s\" text=\"metricsGrpcExporterHeader must be name:value,name:value\"", pair);
        if (!fine) continue;
        p->headers[2 * n] = pair;
        p->headers[2 * n++ + 1] = mark;
    }
}

/* --- the log: changes of state alone --- */

static void tell_failed(struct pusher *p, const char *why)
{
    if (p->warned) return;
    p->warned = true;
    log_warn("metrics.not_sent target=\"%s\" why=\"%s\" text=\"the collector is asked again, less and less often\"", p->options.target, why);
}

static void tell_sent(struct pusher *p)
{
    if (p->warned) log_info("metrics.sent_again target=\"%s\" failures=%u", p->options.target, p->failures);
    p->warned = false;
}

static void tell_rejected(struct pusher *p, int64_t rejected, struct slice text)
{
    if (rejected > 0 && !p->rejects)
        log_warn("metrics.rejected target=\"%s\" points=%lld why=\"%.*s\"", p->options.target, (long long)rejected, SLICE_ARG(text));
    p->rejects = rejected > 0;
}

/* --- a page --- */

static void end_page(struct pusher *p)
{
    void (*done)(void *ctx) = p->done;
    unary_client_close(p->client);
    p->client = NULL;
    p->page = NULL;
    done(p->ctx);
}

/* The next page is wanted after one interval, then two, four, … */
static void page_failed(struct pusher *p, const char *why)
{
    unsigned bits = p->failures < SKIPS_MAX_BITS ? p->failures : SKIPS_MAX_BITS;
    int64_t rest_ms = p->options.interval_ms << bits, most_ms = p->options.interval_ms > PUSHER_REST_MS ? p->options.interval_ms : PUSHER_REST_MS;
    p->failures++;
    p->rest_until_ms = tasks_mono_ms(tasks_of(p)) + (rest_ms < most_ms ? rest_ms : most_ms) - p->options.interval_ms / 2;
    tell_failed(p, why);
    end_page(p);
}

static void next_request(struct pusher *p);

static void on_answer(void *ctx, const struct grpc_answer *a)
{
    struct pusher *p = ctx;
    char why[TEXT_MAX + 40];
    int64_t rejected;
    struct slice text;
    if (a->status != GRPC_OK) {
        snprintf(why, sizeof why, "status %d: %.*s", (int)a->status, SLICE_ARG(a->text));
        page_failed(p, why);
        return;
    }
    err_t e = otlp_read_answer(a->message, &rejected, &text);
    if (e) {
        snprintf(why, sizeof why, "%.*s", TEXT_MAX, err_text(e));
        err_free(e);
        page_failed(p, why);
        return;
    }
    tell_rejected(p, rejected, text);
    if (p->options.delta) otlp_told(p->page, p->sent, &p->place, p->times.now_ms, &p->last);
    p->sent = p->place;
    next_request(p);
}

static void next_request(struct pusher *p)
{
    struct buf request = BUF_EMPTY;
    size_t n = otlp_encode(p->page, &p->place, p->options.batch_points, &p->times, p->options.delta ? &p->last : NULL, &request);
    if (n) {
        unary_client_call(p->client, OTLP_EXPORT_PATH, buf_slice(&request), p->options.timeout_ms, on_answer, p);
    } else {
        tell_sent(p);
        p->failures = 0;
        end_page(p);
    }
    buf_done(&request);
}

bool pusher_is_busy(const struct pusher *p) { return p->page; }
bool pusher_wants(const struct pusher *p) { return !p->page && (!p->failures || tasks_mono_ms(tasks_of(p)) >= p->rest_until_ms); }

void pusher_send(struct pusher *p, const struct metric_page *page, void (*done)(void *ctx), void *ctx)
{
    const struct unary_client_options o = {.host = p->target.host, .port = p->target.port, .tls = p->tls, .headers = p->headers, .pack = true};
    assert(!p->page);
    p->page = page;
    p->done = done;
    p->ctx = ctx;
    p->times = (struct otlp_times){p->start_ms, tasks_wall_ms(tasks_of(p))};
    p->place = p->sent = (struct otlp_place){.which = 0};
    p->client = unary_client_new(p->options.loop, &o);
    next_request(p);
}

/* --- life --- */

err_t pusher_new(const struct pusher_options *options, struct pusher **out)
{
    struct pusher_target target;
    struct tls *tls = NULL;
    err_t e = pusher_target_read(options->target, &target);
    if (!e && target.tls) e = tls_client_new(options->trusted, &tls);
    if (e) return e;
    struct pusher *p = must_zero(sizeof *p);
    p->options = *options;
    p->options.target = must_strdup(options->target);
    p->target = target;
    p->tls = tls;
    p->start_ms = tasks_wall_ms(tasks_of(p));
    read_headers(p);
    *out = p;
    return NULL;
}

void pusher_free(struct pusher *p)
{
    if (!p) return;
    unary_client_close(p->client);
    last_values_done(&p->last);
    tls_free(p->tls);
    free((char *)p->options.target);
    free(p->header_text);
    free(p);
}
