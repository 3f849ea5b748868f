#include "kit/sim_base.h"

#include "codec/requests.h"

#include <stdlib.h>

enum { SEND_TIMEOUT_MS = 3000, TRIES = 3 };

struct sim_producer {
    struct sim_base base;
    struct timer next;
    uint32_t pause_min_ms, pause_max_ms;
    bool stopped;
    int under_way;
};

/* One message until it is acknowledged or given up. */
struct sending {
    struct sim_producer *producer;
    uint32_t id;
    int tries;
    int broker;
};

static void try_send(struct sending *s);

static void over(struct sending *s)
{
    s->producer->under_way--;
    free(s);
}

static void acknowledged(struct sending *s, const struct frame *f)
{
    struct send_reply_header h;
    struct history *history = s->producer->base.o.history;
    err_t e = header_decode(&send_reply_kind, f, &h);
    if (e) history_blame(history, "the reply to a send cannot be read: %s", err_text(e));
    else history_acked(history, s->id, (struct place){s->broker, h.queue_id, h.queue_offset});
    err_free(e);
    over(s);
}

static void on_sent(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct sending *s = ctx;
    bool again = e || reply->frame->code != RESPONSE_SUCCESS;
    err_free(e);
    if (!again) acknowledged(s, reply->frame);
    else if (s->producer->base.gone || ++s->tries == TRIES) over(s);
    else try_send(s);
}

static void try_send(struct sending *s)
{
    struct sim_base *b = &s->producer->base;
    s->broker = sim_base_any_broker(b);
    if (s->broker < 0) {
        over(s);
        return;
    }
    struct send_header h = {
        .producer_group = SLICE("producers"), .topic = slice_text(b->o.topic), .default_topic = SLICE("TBW102"), .default_topic_queue_nums = 4,
        .queue_id = (int32_t)random_below(sim_random(b->o.sim), (uint32_t)b->queues[s->broker]),
        .born_timestamp = tasks_wall_ms(b->tasks), .properties = SLICE("TAGS\1TagA\2"),
    };
    struct rpc_request r = {.code = REQUEST_SEND_MESSAGE_V2, .kind = &send_v2_kind, .header = &h, .body = history_body(b->o.history, s->id),
                            .timeout_ms = SEND_TIMEOUT_MS, .done = on_sent, .ctx = s};
    rpc_peer_request(b->broker[s->broker], &r);
}

static void send_next(void *ctx)
{
    struct sim_producer *p = ctx;
    if (p->stopped) return;
    struct sim *sim = p->base.o.sim;
    if (sim_base_any_broker(&p->base) >= 0) {
        struct sending *s = must_zero(sizeof *s);
        s->producer = p;
        s->id = history_new_id(p->base.o.history);
        p->under_way++;
        try_send(s);
    }
    timer_start(p->base.tasks, &p->next, p->pause_min_ms + random_below(sim_random(sim), p->pause_max_ms - p->pause_min_ms + 1));
}

struct sim_producer *sim_producer_new(const struct sim_client_options *o, uint32_t pause_min_ms, uint32_t pause_max_ms)
{
    struct sim_producer *p = must_zero(sizeof *p);
    sim_base_init(&p->base, o, NULL);
    p->pause_min_ms = pause_min_ms;
    p->pause_max_ms = pause_max_ms;
    timer_init(&p->next, send_next, p);
    timer_start(p->base.tasks, &p->next, 1);
    return p;
}

void sim_producer_stop(struct sim_producer *p) { p->stopped = true; }
bool sim_producer_idle(const struct sim_producer *p) { return !p->under_way; }

void sim_producer_free(struct sim_producer *p)
{
    if (!p) return;
    timer_stop(p->base.tasks, &p->next);
    sim_base_done(&p->base);
    free(p);
}
