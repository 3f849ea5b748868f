#include "app/ops.h"

#include "app/teller.h"
#include "base/log.h"
#include "base/metric_text.h"
#include "http/http.h"
#include "net/loop.h"
#include "os/network.h"
#include "os/notify.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { WAITING_MAX = HTTP_CONNS_MAX, WATCHDOG_LEAST_MS = 100, PIECE_BYTES = 128 << 10, PAGES_MAX = 8 };

/* What is asked of one source, and whether it has answered. */
struct asked {
    struct mail mail;
    struct ops *ops;
    const struct ops_source *source;
    struct scrape scrape;
    struct health health;       /* of the answer that came last */
    bool health_out, scrape_out;/* under way */
    bool answered;              /* this round's */
};

/* Who waits for the end of a round. */
struct round {
    struct http_call *calls[WAITING_MAX];
    size_t count;
    bool running;
    struct timer patience;
};

struct ops {
    struct ops_source sources[OPS_SOURCES_MAX];
    size_t count;
    struct asked asked[OPS_SOURCES_MAX];
    struct loop *loop;
    struct http_server *http;
    pthread_t thread;
    bool runs;
    bool draining;
    struct mail drain;
    struct tasks *drained_at;
    struct mail *drained;
    struct round looks;         /* at health; also the watchdog's */
    struct http_call *live[WAITING_MAX];   /* of looks.calls: those that want /healthz */
    size_t live_count;
    struct round scrapes;
    size_t pages;               /* that somebody reads */
    struct teller *teller;      /* NULL: nothing is told unless somebody asks */
    bool tells;                 /* the next page is for it too */
    bool tells_last;            /* the process stops: one page more is, that has everything */
    struct found *told;         /* the page that it has */
    struct notify notify;
    struct timer watchdog;
};

static struct tasks *tasks_of(struct ops *o) { return &o->loop->tasks; }

/* --- sources that are asked answer sooner or later; once drained, none is out --- */

static bool is_out(const struct ops *o)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->asked[i].health_out || o->asked[i].scrape_out) return true;
    return false;
}

static void tell_drained(struct ops *o)
{
    if (!o->draining || !o->drained || is_out(o) || o->scrapes.running || o->told) return;
    tasks_post(o->drained_at, o->drained);
    o->drained = NULL;
}

/* --- health --- */

static void deliver_health(struct mail *m);

static void answer_all(struct http_call **calls, size_t *count, int status, const char *text)
{
    size_t n = *count;
    *count = 0;
    for (size_t i = 0; i < n; i++) http_reply_text(calls[i], status, text);
}

/* The first reason why not, or NULL. */
static const struct asked *not_ready(const struct ops *o)
{
    for (size_t i = 0; i < o->count; i++)
        if (!o->asked[i].answered || !o->asked[i].health.ready) return &o->asked[i];
    return NULL;
}

static const struct asked *not_alive(const struct ops *o)
{
    for (size_t i = 0; i < o->count; i++)
        if (!o->asked[i].answered) return &o->asked[i];
    return NULL;
}

static void say_not_alive(const struct asked *a, char text[static 320])
{
    snprintf(text, 320, "the loop of the %s has not answered within %d ms\n", a->source->name, OPS_ASK_MS);
}

static void end_look(struct ops *o)
{
    char text[320];
    const struct asked *dead = not_alive(o), *unready = not_ready(o);
    o->looks.running = false;
    timer_stop(tasks_of(o), &o->looks.patience);
    if (dead) say_not_alive(dead, text);
    answer_all(o->live, &o->live_count, dead ? 503 : 200, dead ? text : "alive\n");
    if (unready && unready != dead) snprintf(text, sizeof text, "%s\n", unready->health.why);
    answer_all(o->looks.calls, &o->looks.count, unready ? 503 : 200, unready ? text : "ready\n");
    if (dead) log_warn("process.stalled part=%s text=\"its loop does not answer\"", dead->source->name);
    else notify_say(&o->notify, "WATCHDOG=1");
}

static void health_came(struct mail *m)
{
    struct asked *a = LIST_OWNER(m, struct asked, mail);
    struct ops *o = a->ops;
    a->health_out = false;
    a->answered = true;
    if (o->looks.running && !not_alive(o)) end_look(o);
    tell_drained(o);
}

/* Thread: the source's loop. */
static void deliver_health(struct mail *m)
{
    struct asked *a = LIST_OWNER(m, struct asked, mail);
    a->health.why[0] = 0;
    a->source->health(a->source->ctx, &a->health);
    m->deliver = health_came;
    tasks_post(tasks_of(a->ops), m);
}

static void look_impatient(void *ctx) { end_look(ctx); }

static void begin_look(struct ops *o)
{
    if (o->looks.running) return;
    o->looks.running = true;
    for (size_t i = 0; i < o->count; i++) {
        struct asked *a = &o->asked[i];
        a->answered = false;
        if (a->health_out) continue;   /* it has not even answered the last time */
        a->health_out = true;
        a->mail.deliver = deliver_health;
        tasks_post(a->source->tasks, &a->mail);
    }
    timer_start(tasks_of(o), &o->looks.patience, OPS_ASK_MS);
}

/* --- metrics --- */

static const char page_type[] = "text/plain; version=0.0.4; charset=utf-8";

/* What one look has found; all who asked meanwhile read it. */
struct found {
    struct ops *ops;
    struct metric_page page;
    size_t readers;
};

struct reader {
    struct found *found;
    struct metric_text text;
};

static void found_leave(struct found *f)
{
    if (--f->readers) return;
    f->ops->pages--;
    metric_page_done(&f->page);
    free(f);
}

static bool next_lines(void *ctx, struct buf *out) { return metric_text_next(&((struct reader *)ctx)->text, PIECE_BYTES, out); }

static void reader_free(void *ctx)
{
    struct reader *r = ctx;
    metric_text_done(&r->text);
    found_leave(r->found);
    free(r);
}

static void give_out(struct found *f, struct http_call *call)
{
    struct reader *r = must_zero(sizeof *r);
    struct http_body body = {next_lines, reader_free, r};
    r->found = f;
    f->readers++;
    metric_text_begin(&r->text, &f->page);
    http_reply_body(call, 200, page_type, &body);
}

static void begin_scrape(struct ops *o);

/* A page that is made already does not do: it may lack what came last. */
static void tell_last(struct ops *o)
{
    if (!o->tells_last || o->told || o->scrapes.running) return;
    o->tells_last = false;
    o->tells = true;
    begin_scrape(o);
}

static void has_told(void *ctx)
{
    struct ops *o = ctx;
    struct found *f = o->told;
    o->told = NULL;
    found_leave(f);
    tell_last(o);
    tell_drained(o);
}

static void give_to_teller(struct ops *o, struct found *f)
{
    if (!o->tells || o->told) return;
    o->tells = false;
    o->told = f;
    f->readers++;
    if (!teller_take(o->teller, &f->page, has_told, o)) has_told(o);
}

static void end_scrape(struct ops *o)
{
    struct found *f = must_zero(sizeof *f);
    size_t n = o->scrapes.count;
    *f = (struct found){.ops = o, .page = METRIC_PAGE_EMPTY, .readers = 1};
    o->pages++;
    o->scrapes.running = false;
    o->scrapes.count = 0;
    timer_stop(tasks_of(o), &o->scrapes.patience);
    for (size_t i = 0; i < o->count; i++)
        if (!o->asked[i].scrape_out) metric_page_take(&f->page, &o->asked[i].scrape.page);
    for (size_t i = 0; i < n; i++) give_out(f, o->scrapes.calls[i]);
    give_to_teller(o, f);
    found_leave(f);
    tell_last(o);
    tell_drained(o);
}

static bool any_scrape_out(const struct ops *o)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->asked[i].scrape_out) return true;
    return false;
}

static void page_came(struct scrape *s)
{
    struct asked *a = LIST_OWNER(s, struct asked, scrape);
    struct ops *o = a->ops;
    a->scrape_out = false;
    if (!o->scrapes.running) metric_page_done(&s->page);   /* too late for the one who asked */
    else if (!any_scrape_out(o)) end_scrape(o);
    tell_drained(o);
}

/* Thread: the source's loop. */
static void deliver_scrape(struct mail *m)
{
    struct asked *a = LIST_OWNER(m, struct asked, scrape.mail);
    a->source->scrape(a->source->ctx, &a->scrape);
}

static void scrape_impatient(void *ctx)
{
    log_warn("metrics.incomplete text=\"a loop of the process has not told its metrics within %d ms\"", OPS_SCRAPE_MS);
    end_scrape(ctx);
}

static void begin_scrape(struct ops *o)
{
    if (o->scrapes.running) return;
    o->scrapes.running = true;
    for (size_t i = 0; i < o->count; i++) {
        struct asked *a = &o->asked[i];
        if (a->scrape_out) continue;
        a->scrape_out = true;
        a->scrape.asker = tasks_of(o);
        a->scrape.done = page_came;
        a->scrape.mail.deliver = deliver_scrape;
        tasks_post(a->source->tasks, &a->scrape.mail);
    }
    timer_start(tasks_of(o), &o->scrapes.patience, OPS_SCRAPE_MS);
}

static void look_for_teller(void *ctx)
{
    struct ops *o = ctx;
    if (o->draining || o->told) return;
    o->tells = true;
    begin_scrape(o);
}

/* --- pages --- */

static const char front_page[] = "<!DOCTYPE html><title>Skylark</title><h1>Skylark</h1><ul><li><a href=/metrics>metrics</a>, for Prometheus"
                                 "<li><a href=/healthz>healthz</a>: is it alive?<li><a href=/readyz>readyz</a>: does it serve?</ul>\n";

static void keep(struct http_call **calls, size_t *count, struct http_call *call)
{
    if (*count == WAITING_MAX) http_reply_text(call, 503, "too many ask at a time\n");
    else calls[(*count)++] = call;
}

static void get_health(struct ops *o, struct http_call *call, bool ready)
{
    if (o->draining) {
        http_reply_text(call, ready ? 503 : 200, ready ? "the process is stopping\n" : "alive\n");
        return;
    }
    if (ready) keep(o->looks.calls, &o->looks.count, call);
    else keep(o->live, &o->live_count, call);
    begin_look(o);
}

static void get_metrics(struct ops *o, struct http_call *call)
{
    if (o->draining) {
        http_reply_text(call, 503, "the process is stopping\n");
        return;
    }
    if (o->pages >= PAGES_MAX) {   /* by who does not read them */
        http_reply_text(call, 503, "too many pages are being read\n");
        return;
    }
    keep(o->scrapes.calls, &o->scrapes.count, call);
    begin_scrape(o);
}

static void get(void *ctx, struct http_call *call, struct slice path)
{
    struct ops *o = ctx;
    if (slice_eq(path, SLICE("/metrics"))) get_metrics(o, call);
    else if (slice_eq(path, SLICE("/healthz")) || slice_eq(path, SLICE("/livez")) || slice_eq(path, SLICE("/-/healthy"))) get_health(o, call, false);
    else if (slice_eq(path, SLICE("/readyz")) || slice_eq(path, SLICE("/-/ready"))) get_health(o, call, true);
    else if (slice_eq(path, SLICE("/"))) http_reply(call, 200, "text/html; charset=utf-8", slice_text(front_page));
    else http_reply_text(call, 404, "there are /metrics, /healthz and /readyz\n");
}

/* --- the service manager --- */

/* Twice in the time that it waits for a sign of life. While the process stops, this loop alone is asked. */
static void feed_watchdog(void *ctx)
{
    struct ops *o = ctx;
    int64_t every_ms = o->notify.watchdog_ms / 2;
    if (o->draining) notify_say(&o->notify, "WATCHDOG=1");
    else begin_look(o);
    timer_start(tasks_of(o), &o->watchdog, every_ms < WATCHDOG_LEAST_MS ? WATCHDOG_LEAST_MS : every_ms);
}

/* --- life --- */

static void begin_drain(struct mail *m)
{
    struct ops *o = LIST_OWNER(m, struct ops, drain);
    o->draining = true;
    notify_say(&o->notify, "STOPPING=1");
    o->tells_last = teller_ends(o->teller);
    tell_last(o);
    tell_drained(o);
}

void ops_drain(struct ops *o, struct tasks *tasks, struct mail *drained)
{
    o->drained_at = tasks;
    o->drained = drained;
    o->drain.deliver = begin_drain;
    tasks_post(tasks_of(o), &o->drain);
}

static err_t open_port(struct ops *o, const struct config *c)
{
    struct http_service service = {.get = get, .ctx = o};
    struct addr at;
    const char *host = c->metrics.host && *c->metrics.host ? c->metrics.host : c->netty.bind_address;
    err_t e = network_resolve(slice_text(host), (uint16_t)c->metrics.port, &at);
    return e ? err_in(e, c->metrics.host ? "metricsPromExporterHost" : "bindAddress") : http_listen(o->loop, &at, &service, &o->http);
}

static void *run(void *arg)
{
    struct ops *o = arg;
    real_loop_run(o->loop);
    return NULL;
}

static err_t start(struct ops *o, const struct ops_options *options)
{
    err_t e = real_loop_new(&o->loop);
    if (!e && options->serve) e = open_port(o, options->config);
    if (e) return e;
    timer_init(&o->looks.patience, look_impatient, o);
    timer_init(&o->scrapes.patience, scrape_impatient, o);
    timer_init(&o->watchdog, feed_watchdog, o);
    notify_open(&o->notify);
    if (o->notify.watchdog_ms) timer_start(tasks_of(o), &o->watchdog, 0);
    struct teller_options teller = {o->loop, options->config, look_for_teller, o};
    return teller_new(&teller, &o->teller);
}

err_t ops_run(struct ops *o)
{
    o->runs = !pthread_create(&o->thread, NULL, run, o);
    if (!o->runs) return err_new(ERR_IO, "cannot start a thread");
    notify_say(&o->notify, "READY=1");
    return NULL;
}

err_t ops_new(const struct ops_options *options, struct ops **out)
{
    struct ops *o = must_zero(sizeof *o);
    assert(options->count <= OPS_SOURCES_MAX);
    o->notify.fd = -1;
    o->count = options->count;
    for (size_t i = 0; i < o->count; i++) {
        o->sources[i] = options->sources[i];
        o->asked[i] = (struct asked){.ops = o, .source = &o->sources[i], .scrape = {.page = METRIC_PAGE_EMPTY}};
    }
    err_t e = start(o, options);
    if (e) ops_free(o);
    else *out = o;
    return e;
}

bool ops_addr(const struct ops *o, struct addr *out)
{
    if (!o || !o->http) return false;
    *out = http_addr(o->http);
    return true;
}

void ops_free(struct ops *o)
{
    if (!o) return;
    if (o->runs) {
        real_loop_stop(o->loop);
        pthread_join(o->thread, NULL);
        real_loop_adopt(o->loop);
    }
    answer_all(o->live, &o->live_count, 503, "the process has stopped\n");
    answer_all(o->looks.calls, &o->looks.count, 503, "the process has stopped\n");
    answer_all(o->scrapes.calls, &o->scrapes.count, 503, "the process has stopped\n");
    http_close(o->http);
    teller_free(o->teller);
    if (o->told) found_leave(o->told);
    if (o->loop) {
        timer_stop(tasks_of(o), &o->looks.patience);
        timer_stop(tasks_of(o), &o->scrapes.patience);
        timer_stop(tasks_of(o), &o->watchdog);
    }
    for (size_t i = 0; i < o->count; i++) metric_page_done(&o->asked[i].scrape.page);
    real_loop_free(o->loop);
    notify_close(&o->notify);
    free(o);
}
