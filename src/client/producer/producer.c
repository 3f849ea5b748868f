#include "client/producer/producer.h"

#include "client/producer/prepare.h"
#include "meta/names.h"
#include "os/process.h"

#include <assert.h>
#include <stdlib.h>

/* --- life --- */

static void describe(const struct member *m, struct arena *arena, struct heartbeat *h)
{
    for (size_t i = 0; i < h->producers.count; i++)
        if (slice_eq(h->producers.items[i].group, slice_text(m->group))) return;
    struct heartbeat_producer *p = arena_list_add(arena, (void **)&h->producers.items, &h->producers.count, sizeof *p);
    if (p) p->group = slice_text(m->group);
}

static bool is_idle(const struct member *m)
{
    const struct sky_producer *p = LIST_OWNER(m, struct sky_producer, member);
    return !p->under_way && !p->preloading;
}

static const struct member_ops ops = {.describe = describe, .is_idle = is_idle, .produces = true};

static void producer_free(struct sky_producer *p)
{
    member_done(&p->member);
    monitor_done(&p->pending);
    faults_done(&p->faults);
    free(p->options.group);
    free(p);
}

struct sky_error *sky_producer_open(struct sky_client *c, const struct sky_producer_options *o, struct sky_producer **out)
{
    err_t e = group_name_check(slice_text(o->group));
    if (e) return sky_error_from(e);
    struct sky_producer *p = must_zero(sizeof *p);
    p->options = *o;
    p->options.group = must_strdup(o->group);
    monitor_init(&p->pending);
    member_init(&p->member, c, &ops, o->group);
    e = member_open(&p->member);
    if (e) {
        err_free(e);
        producer_free(p);
        return error_new(SKY_CLOSED, 0, "the client is shut down");
    }
    *out = p;
    return NULL;
}

void producer_shutdown_begin(struct sky_producer *p, void (*done)(void *), void *ctx) { member_close(&p->member, done, ctx); }
bool producer_is_over(const struct sky_producer *p) { return event_has_happened(&p->member.over); }
struct sky_error *sky_producer_shutdown(struct sky_producer *p) { return member_shutdown(&p->member); }

void sky_producer_free(struct sky_producer *p)
{
    if (!p) return;
    assert(!client_is_callback(p->member.client) && "a producer is not freed by a callback of its client");
    sky_error_free(sky_producer_shutdown(p));
    producer_free(p);
}

/* --- room --- */

static bool has_room(const struct sky_producer *p, int64_t bytes)
{
    if (!p->pending_messages) return true;   /* one may always be under way */
    return p->pending_messages < p->options.max_pending_messages && p->pending_bytes + bytes <= p->options.max_pending_bytes;
}

/* Waits for room until then, of process_mono_us() / 1000; 0: not at all. */
static struct sky_error *reserve(struct sky_producer *p, int64_t bytes, int64_t until_ms)
{
    lock_take(&p->pending.lock);
    bool room = has_room(p, bytes);
    while (!room && until_ms && monitor_wait(&p->pending, until_ms)) room = has_room(p, bytes);
    if (room) {
        p->pending_messages++;
        p->pending_bytes += bytes;
    }
    lock_give(&p->pending.lock);
    if (room) return NULL;
    return error_new(SKY_FULL, 0, "%lld messages or %lld bytes are under way already", (long long)p->options.max_pending_messages,
                     (long long)p->options.max_pending_bytes);
}

static void give_back(struct sky_producer *p, int64_t bytes)
{
    lock_take(&p->pending.lock);
    p->pending_messages--;
    p->pending_bytes -= bytes;
    monitor_wake(&p->pending);
    lock_give(&p->pending.lock);
}

/* Frees s when it fails. */
static struct sky_error *launch(struct sending *s, int64_t until_ms)
{
    struct sky_producer *p = s->producer;
    struct sky_error *e = reserve(p, s->bytes, until_ms);
    if (!e && !client_post(p->member.client, &p->member, &s->mail)) {
        give_back(p, s->bytes);
        e = error_new(SKY_CLOSED, 0, "the producer is shut down");
    }
    if (e) sending_free(s);
    return e;
}

/* --- sending --- */

static struct sky_error *send_and_wait(struct sending *s, struct sky_receipt **out)
{
    struct event event;
    int64_t begun_ms = process_mono_us() / 1000, until_ms = begun_ms + s->timeout_ms;
    assert(s->producer->member.client->thread && "who runs the loop cannot wait for it");
    event_init(&event);
    s->waited_for = &event;
    struct sky_error *e = launch(s, until_ms);
    if (!e) {
        event_wait(&event);
        e = s->error;
        s->error = NULL;
        if (!e && out) {
            *out = s->receipt;
            s->receipt = NULL;
        }
        sending_free(s);
    }
    event_done(&event);
    return e;
}

struct sky_error *sky_producer_send(struct sky_producer *p, const struct sky_message *m, const struct sky_send_options *o, struct sky_receipt **out)
{
    struct sending *s;
    struct sky_error *e = sending_of(p, m, o, &s);
    return e ? e : send_and_wait(s, out);
}

struct sky_error *sky_producer_send_batch(struct sky_producer *p, const struct sky_message *const *messages, size_t count,
                                          const struct sky_send_options *o, struct sky_receipt **out)
{
    struct sending *s;
    struct sky_error *e = sending_of_batch(p, messages, count, o, &s);
    return e ? e : send_and_wait(s, out);
}

static struct sky_error *send_later(struct sending *s, sky_sent_fn *sent, void *user)
{
    s->sent = sent;
    s->user = user;
    return launch(s, 0);
}

struct sky_error *sky_producer_send_async(struct sky_producer *p, const struct sky_message *m, const struct sky_send_options *o, sky_sent_fn *sent,
                                          void *user)
{
    struct sending *s;
    struct sky_error *e = sending_of(p, m, o, &s);
    return e ? e : send_later(s, sent, user);
}

struct sky_error *sky_producer_send_batch_async(struct sky_producer *p, const struct sky_message *const *messages, size_t count,
                                                const struct sky_send_options *o, sky_sent_fn *sent, void *user)
{
    struct sending *s;
    struct sky_error *e = sending_of_batch(p, messages, count, o, &s);
    return e ? e : send_later(s, sent, user);
}

struct sky_error *sky_producer_send_oneway(struct sky_producer *p, const struct sky_message *m, const struct sky_send_options *o)
{
    struct sending *s;
    struct sky_error *e = sending_of(p, m, o, &s);
    if (e) return e;
    s->oneway = true;
    return launch(s, 0);
}

struct sky_error *sky_producer_get_statistics(const struct sky_producer *p, struct sky_producer_statistics *out)
{
    if (out->size != sizeof *out) return error_new(SKY_INVALID, 0, "statistics of %zu bytes, not %zu", out->size, sizeof *out);
    struct sky_producer *locked = (struct sky_producer *)p;
    lock_take(&locked->pending.lock);
    *out = (struct sky_producer_statistics){.size = sizeof *out, .sent = p->sent, .failed = p->failed, .retried = p->retried,
                                            .pending_messages = p->pending_messages, .pending_bytes = p->pending_bytes};
    lock_give(&locked->pending.lock);
    return NULL;
}

/* --- routes ahead of time --- */

struct preload {
    struct mail mail;
    struct route_wait wait;
    struct sky_producer *producer;
    const char *topic;
    struct event done;
    struct sky_error *error;
};

static void preloaded(struct route_wait *w, struct sky_error *e)
{
    struct preload *l = LIST_OWNER(w, struct preload, wait);
    struct sky_producer *p = l->producer;
    l->error = e;
    event_set(&l->done);
    p->preloading--;
    member_settle(&p->member);
}

static void begin_preload(struct mail *mail)
{
    struct preload *l = LIST_OWNER(mail, struct preload, mail);
    struct sky_producer *p = l->producer;
    p->preloading++;
    routes_need(routes_topic(p->member.client, slice_text(l->topic)), p->options.new_topic_queues, &l->wait);
}

struct sky_error *sky_producer_preload(struct sky_producer *p, const char *topic)
{
    struct sky_error *e = sky_error_from(topic_name_check(slice_text(topic)));
    if (e) return e;
    struct preload l = {.mail.deliver = begin_preload, .wait.done = preloaded, .producer = p, .topic = topic};
    event_init(&l.done);
    list_node_init(&l.wait.node);
    if (client_post(p->member.client, &p->member, &l.mail)) event_wait(&l.done);
    else l.error = error_new(SKY_CLOSED, 0, "the producer is shut down");
    event_done(&l.done);
    return l.error;
}
