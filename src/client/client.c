#include "client/options.h"
#include "client/state.h"

#include "codec/requests.h"
#include "os/network.h"
#include "os/process.h"

#include <assert.h>
#include <stdlib.h>

const char *sky_version(void) { return SKY_VERSION; }
const char *sky_client_id(const struct sky_client *c) { return c->id; }

/* --- who it is --- */

err_t client_address_parse(const char *ip, struct addr *out)
{
    struct buf text = BUF_EMPTY;
    buf_printf(&text, strchr(ip, ':') ? "[%s]:0" : "%s:0", ip);
    err_t e = addr_parse(buf_slice(&text), out);
    buf_done(&text);
    return e;
}

static void name_it(struct sky_client *c)
{
    struct addr own = network_local_address(0);
    if (c->options.address) err_drop(client_address_parse(c->options.address, &own), "its setter has parsed it");
    char ip[ADDR_TEXT_MAX];
    struct buf id = BUF_EMPTY;
    buf_printf(&id, "%s@", addr_format_ip(&own, ip));
    if (c->options.instance) buf_put_text(&id, c->options.instance);
    else buf_printf(&id, "%lld#%llu", (long long)process_id(), (unsigned long long)random_u64(&c->random));
    buf_put_u8(&id, 0);
    c->id = (char *)id.p;
    c->next_id = (struct unique_id){.client = own, .process = (uint16_t)process_id(), .loader = (uint32_t)random_u64(&c->random)};
}

/* Ids count milliseconds of their month, as the original's do; its months begin in local time, ours in UTC. */
size_t client_message_id(struct sky_client *c, char out[static MESSAGE_ID_TEXT])
{
    int64_t now = tasks_wall_ms(c->tasks);
    if (now < c->month_ms || now - c->month_ms >= (int64_t)28 * 86400000) c->month_ms = month_start_ms(now);
    c->next_id.month_ms = (uint32_t)(now - c->month_ms);
    size_t n = unique_id_format(&c->next_id, out);
    c->next_id.counter++;
    return n;
}

/* --- letters --- */

bool client_post(struct sky_client *c, const struct member *m, struct mail *mail)
{
    lock_take(&c->gate);
    bool open = !c->closing && !(m && m->closing);
    if (open) tasks_post(c->tasks, mail);
    lock_give(&c->gate);
    return open;
}

bool client_is_callback(const struct sky_client *c) { return pool_is_mine(c->callbacks); }

/* --- end --- */

static void teardown(struct mail *mail)
{
    struct sky_client *c = LIST_OWNER(mail, struct sky_client, teardown);
    void (*done)(void *) = c->over_done;
    void *ctx = c->over_ctx;
    struct loop *own = c->thread ? c->loop : NULL;
    timer_stop(c->tasks, &c->heartbeat);
    names_done(c);
    routes_done(c);
    log_info("client.ended id=\"%s\"", c->id);
    if (own) real_loop_stop(own);
    event_set(&c->over);
    if (done) done(ctx);
}

/* In a turn of its own: connections are not freed while one of them hands over what it read. */
void client_settle(struct sky_client *c)
{
    if (!c->leaving || c->ending || !list_empty(&c->members)) return;
    c->ending = true;
    tasks_post(c->tasks, &c->teardown);
}

static void end(struct mail *mail)
{
    struct sky_client *c = LIST_OWNER(mail, struct sky_client, end);
    c->leaving = true;
    LIST_EACH(&c->members, node) member_leave(LIST_OWNER(node, struct member, node));
    client_settle(c);
}

void client_shutdown_begin(struct sky_client *c, void (*done)(void *), void *ctx)
{
    lock_take(&c->gate);
    if (!c->closing) {
        c->closing = true;
        c->over_done = done;
        c->over_ctx = ctx;
        tasks_post(c->tasks, &c->end);
    }
    lock_give(&c->gate);
}

bool client_is_over(const struct sky_client *c) { return event_has_happened(&c->over); }

struct sky_error *sky_client_shutdown(struct sky_client *c)
{
    if (client_is_callback(c)) return error_new(SKY_STATE, 0, "a callback cannot wait for the end of itself");
    client_shutdown_begin(c, NULL, NULL);
    event_wait(&c->over);
    return NULL;
}

void sky_client_free(struct sky_client *c)
{
    if (!c) return;
    assert(!client_is_callback(c) && "a client is not freed by a callback of it");
    sky_error_free(sky_client_shutdown(c));
    client_unref(c);
}

/* --- begin --- */

static void begin(struct mail *mail)
{
    struct sky_client *c = LIST_OWNER(mail, struct sky_client, begin);
    names_begin(c, c->options.name_servers);
    routes_begin(c);
    heartbeat_begin(c);
    log_info("client.started id=\"%s\" version=" SKY_VERSION, c->id);
}

/* --- what brokers ask --- */

void client_route_changed(struct sky_client *c, struct slice topic)
{
    LIST_EACH(&c->members, node) {
        struct member *m = LIST_OWNER(node, struct member, node);
        if (m->ops->route_changed) m->ops->route_changed(m, topic);
    }
}

static void handle_members_changed(struct sky_client *c, struct call *call)
{
    struct notify_consumer_ids_header h;
    err_t e = header_decode(&notify_consumer_ids_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    LIST_EACH(&c->members, node) {
        struct member *m = LIST_OWNER(node, struct member, node);
        if (m->ops->members_changed && slice_eq(slice_text(m->group), h.consumer_group)) m->ops->members_changed(m);
    }
    call_reply_ok(call);
}

static void handle(void *ctx, struct call *call)
{
    switch (call->code) {
    case REQUEST_NOTIFY_CONSUMER_IDS_CHANGED: handle_members_changed(ctx, call); return;
    default: call_fail(call, err_new(ERR_NOT_SUPPORTED, " request type %d not supported", call->code));
    }
}

static void pass_line(void *ctx, enum log_level level, const char *line)
{
    const struct sky_client *c = ctx;
    c->options.log(c->options.log_user, (enum sky_log_level)level, line);
}

static struct sky_client *make(const struct sky_client_options *o, struct loop *loop, uint64_t seed)
{
    struct sky_client *c = must_zero(sizeof *c);
    atomic_init(&c->refs, 1);
    client_options_copy(o, &c->options);
    c->loop = loop;
    c->tasks = rpc_tasks(loop);
    c->sink = (struct log_sink){o->log ? (enum log_level)o->log_level : LOG_SILENT, pass_line, c};
    c->service = (struct rpc_service){.handle = handle, .ctx = c};
    c->begin.deliver = begin;
    c->end.deliver = end;
    c->teardown.deliver = teardown;
    lock_init(&c->gate);
    event_init(&c->over);
    list_init(&c->members);
    random_init(&c->random, seed);
    name_it(c);
    return c;
}

struct sky_client *client_ref(struct sky_client *c)
{
    atomic_fetch_add(&c->refs, 1);
    return c;
}

void client_unref(struct sky_client *c)
{
    if (atomic_fetch_sub(&c->refs, 1) != 1) return;
    bool own_loop = c->thread;
    thread_join(c->thread);
    pool_free(c->callbacks);
    if (own_loop) {
        real_loop_adopt(c->loop);
        real_loop_free(c->loop);
    }
    event_done(&c->over);
    lock_done(&c->gate);
    client_options_done(&c->options);
    free(c->id);
    free(c);
}

static struct sky_error *check(const struct sky_client_options *o)
{
    return o->name_servers ? NULL : error_new(SKY_INVALID, 0, "a client needs the addresses of name servers");
}

struct sky_error *client_open_on(const struct sky_client_options *o, struct loop *loop, uint64_t seed, struct sky_client **out)
{
    struct sky_error *e = check(o);
    if (e) return e;
    struct sky_client *c = make(o, loop, seed);
    e = sky_error_from(pool_new(c->tasks, "skylark-call", 0, NULL, NULL, &c->callbacks));
    if (e) {
        client_unref(c);
        return e;
    }
    tasks_post(c->tasks, &c->begin);
    *out = c;
    return NULL;
}

static void use_sink(void *ctx)
{
    const struct sky_client *c = ctx;
    log_set_sink(&c->sink);
}

static void run(void *ctx)
{
    struct sky_client *c = ctx;
    use_sink(c);
    real_loop_run(c->loop);
}

err_t client_pool(struct sky_client *c, const char *name, int threads, struct pool **out)
{
    return pool_new(c->tasks, name, c->thread ? threads : 0, use_sink, c, out);
}

static err_t start_threads(struct sky_client *c)
{
    err_t e = pool_new(c->tasks, "skylark-call", c->options.callback_threads, use_sink, c, &c->callbacks);
    return e ? e : thread_start("skylark-net", run, c, &c->thread);
}

struct sky_error *sky_client_open(const struct sky_client_options *o, struct sky_client **out)
{
    struct loop *loop;
    struct sky_error *e = check(o);
    if (e) return e;
    e = sky_error_from(real_loop_new_quiet(&loop));
    if (e) return e;
    struct sky_client *c = make(o, loop, random_seed());
    e = sky_error_from(start_threads(c));
    if (e) {
        client_unref(c);
        real_loop_free(loop);   /* no thread of ours had it */
        return e;
    }
    tasks_post(c->tasks, &c->begin);
    *out = c;
    return NULL;
}
