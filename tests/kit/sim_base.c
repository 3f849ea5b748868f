#include "kit/sim_base.h"

#include "codec/body_route.h"
#include "codec/record.h"
#include "codec/requests.h"

#include <stdio.h>
#include <stdlib.h>

enum { REFRESH_MS = 3000, ROUTE_TIMEOUT_MS = 3000 };

static void take_broker(struct sim_base *b, const struct topic_route *route, const struct route_queues *q)
{
    for (int i = 0; i < b->o.broker_count; i++) {
        if (!slice_eq(q->broker, slice_text(b->o.brokers[i]))) continue;
        b->queues[i] = q->write_queues;
        for (size_t k = 0; k < route->brokers.count && !b->broker[i]; k++) {
            const struct route_broker *r = &route->brokers.items[k];
            if (!slice_eq(r->name, q->broker) || !r->addresses.count) continue;
            struct rpc_options options = rpc_options_default();
            b->broker[i] = rpc_peer_new(b->loop, r->addresses.items[0].text, &b->service, &options);
        }
        return;
    }
    history_blame(b->o.history, "the route names a broker \"%.*s\"", SLICE_ARG(q->broker));
}

static void on_route(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct sim_base *b = ctx;
    if (!e && !b->gone && reply->frame->code == RESPONSE_SUCCESS) {
        struct arena arena = ARENA_EMPTY;
        struct topic_route route;
        err_t wrong = topic_route_decode(reply->frame->body, &arena, &route);
        if (wrong) history_blame(b->o.history, "the route cannot be read: %s", err_text(wrong));
        for (size_t i = 0; !wrong && i < route.queues.count; i++) take_broker(b, &route, &route.queues.items[i]);
        err_free(wrong);
        arena_done(&arena);
    }
    err_free(e);
}

static void refresh(void *ctx)
{
    struct sim_base *b = ctx;
    struct route_header h = {.topic = slice_text(b->o.topic)};
    struct rpc_request r = {.code = REQUEST_GET_ROUTEINFO_BY_TOPIC, .kind = &route_kind, .header = &h, .timeout_ms = ROUTE_TIMEOUT_MS,
                            .done = on_route, .ctx = b};
    rpc_peer_request(b->namesrv, &r);
    timer_start(b->tasks, &b->refresh, b->broker[0] ? REFRESH_MS : REFRESH_MS / 10);
}

void sim_base_init(struct sim_base *b, const struct sim_client_options *o, const struct rpc_service *service)
{
    *b = (struct sim_base){.o = *o};
    b->process = sim_process_new(o->sim, o->ip);
    b->loop = sim_loop_new(b->process);
    b->tasks = &b->loop->tasks;
    if (service) b->service = *service;
    snprintf(b->id, sizeof b->id, "%s@%d", o->ip, o->number);
    struct rpc_options options = rpc_options_default();
    b->namesrv = rpc_peer_new(b->loop, slice_text(o->namesrv), NULL, &options);
    timer_init(&b->refresh, refresh, b);
    timer_start(b->tasks, &b->refresh, 0);
}

void sim_base_done(struct sim_base *b)
{
    b->gone = true;
    timer_stop(b->tasks, &b->refresh);
    rpc_peer_free(b->namesrv);
    for (int i = 0; i < b->o.broker_count; i++) rpc_peer_free(b->broker[i]);
}

int sim_base_any_broker(struct sim_base *b)
{
    int known[HISTORY_BROKERS], count = 0;
    for (int i = 0; i < b->o.broker_count; i++)
        if (b->broker[i] && b->queues[i] > 0) known[count++] = i;
    return count ? known[random_below(sim_random(b->o.sim), (uint32_t)count)] : -1;
}

int64_t sim_base_now_ms(const struct sim_base *b) { return sim_now_ms(b->o.sim); }

void sim_each_record(struct sim_base *b, int broker, struct slice body, void (*each)(void *, struct place, struct slice), void *ctx)
{
    while (body.n) {
        struct message m;
        if (record_read(body, &m) != RECORD_WHOLE || !record_body_intact(&m)) {
            history_blame(b->o.history, "broker %d sent %zu bytes that begin with no whole record", broker, body.n);
            return;
        }
        struct place at = {broker, m.queue_id, m.queue_offset};
        each(ctx, at, m.body);
        body = slice_skip(body, record_read_size(&m));
    }
}
