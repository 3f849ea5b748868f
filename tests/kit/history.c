#include "kit/history.h"

#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRAIL = 64, HANDOVER_MS = 40000, TEXT_MAX = 300, BODY_MAX = 3000 };

struct sent {
    bool acked;
    bool delivered;
    bool read_back;
    struct place at;             /* where it was acknowledged */
};

/* The committed offset as it was seen, the newest last. */
struct seen {
    int64_t ms;
    int64_t offset;
};

struct queue_history {
    struct buf ids;              /* uint32_t by offset: what the place holds, 0 not known */
    int64_t read_end;            /* offsets below it were read back */
    bool owners[HISTORY_CLIENTS];
    int64_t commit_sent_ms[HISTORY_CLIENTS];
    struct seen trail[TRAIL];    /* since the broker's last restart; what that kept comes first */
    size_t seen;
};

struct history {
    int brokers;
    int32_t queues;
    struct buf sent;             /* struct sent by id */
    uint32_t acked;
    int losses[HISTORY_BROKERS];
    struct queue_history queue[HISTORY_BROKERS][HISTORY_QUEUES];
    char fault[TEXT_MAX];
    char unsettled[TEXT_MAX];
    char body[BODY_MAX];
};

struct history *history_new(int brokers, int32_t queues)
{
    struct history *h = must_zero(sizeof *h);
    h->brokers = brokers;
    h->queues = queues;
    history_new_id(h);           /* 0 means nothing */
    return h;
}

void history_free(struct history *h)
{
    if (!h) return;
    for (int b = 0; b < h->brokers; b++)
        for (int q = 0; q < h->queues; q++) buf_done(&h->queue[b][q].ids);
    buf_done(&h->sent);
    free(h);
}

const char *history_fault(const struct history *h) { return h->fault[0] ? h->fault : NULL; }

void history_blame(struct history *h, const char *fmt, ...)
{
    if (h->fault[0]) return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(h->fault, sizeof h->fault, fmt, args);
    va_end(args);
}

/* --- messages --- */

static struct sent *sent_of(struct history *h, uint32_t id)
{
    struct sent *all = (struct sent *)h->sent.p;
    return id && id < h->sent.n / sizeof *all ? &all[id] : NULL;
}

uint32_t history_new_id(struct history *h)
{
    uint32_t id = (uint32_t)(h->sent.n / sizeof(struct sent));
    memset(buf_take(&h->sent, sizeof(struct sent)), 0, sizeof(struct sent));
    return id;
}

/* The id, and a filling whose length and content depend on it. */
static size_t make_body(uint32_t id, char *out)
{
    size_t n = (size_t)snprintf(out, BODY_MAX, "%08x", id);
    size_t more = id % 7 ? id * 2654435761u % 200 : id * 2654435761u % (BODY_MAX - 100);
    for (size_t i = 0; i < more; i++) out[n++] = (char)('a' + (id + i) % 26);
    return n;
}

struct slice history_body(struct history *h, uint32_t id) { return slice_of(h->body, make_body(id, h->body)); }

static uint32_t id_of(struct history *h, struct place at, struct slice body)
{
    char text[9] = {0};
    if (body.n >= 8) memcpy(text, body.p, 8);
    uint32_t id = (uint32_t)strtoul(text, NULL, 16);
    if (sent_of(h, id) && slice_eq(body, history_body(h, id))) return id;
    history_blame(h, "H1: broker %d queue %d offset %lld holds a body that nobody sent: \"%.*s\"", at.broker, at.queue, (long long)at.offset,
                  (int)(body.n < 40 ? body.n : 40), (const char *)body.p);
    return 0;
}

static struct queue_history *queue_of(struct history *h, int broker, int32_t queue)
{
    if (broker >= 0 && broker < h->brokers && queue >= 0 && queue < h->queues) return &h->queue[broker][queue];
    history_blame(h, "there is no queue %d at broker %d", queue, broker);
    return &h->queue[0][0];
}

static void holds(struct history *h, struct place at, uint32_t id)
{
    struct queue_history *q = queue_of(h, at.broker, at.queue);
    if (at.offset < 0 || at.offset > 10000000) {
        history_blame(h, "offset %lld of broker %d queue %d", (long long)at.offset, at.broker, at.queue);
        return;
    }
    size_t need = ((size_t)at.offset + 1) * sizeof id;
    if (q->ids.n < need) {
        size_t had = q->ids.n;
        buf_take(&q->ids, need - had);
        memset(q->ids.p + had, 0, need - had);
    }
    uint32_t *known = (uint32_t *)q->ids.p + at.offset;
    if (*known && *known != id)
        history_blame(h, "H2: broker %d queue %d offset %lld held message %x, and now %x", at.broker, at.queue, (long long)at.offset, *known, id);
    *known = id;
}

void history_acked(struct history *h, uint32_t id, struct place at)
{
    struct sent *s = sent_of(h, id);
    if (!s->acked) h->acked++;
    s->acked = true;
    s->at = at;
    holds(h, at, id);
}

void history_delivered(struct history *h, struct place at, struct slice body)
{
    uint32_t id = id_of(h, at, body);
    if (!id) return;
    sent_of(h, id)->delivered = true;
    holds(h, at, id);
}

void history_read_back(struct history *h, struct place at, struct slice body)
{
    uint32_t id = id_of(h, at, body);
    if (!id) return;
    struct queue_history *q = queue_of(h, at.broker, at.queue);
    if (at.offset != q->read_end)
        history_blame(h, "H3: broker %d queue %d: offset %lld follows %lld", at.broker, at.queue, (long long)at.offset, (long long)q->read_end - 1);
    q->read_end = at.offset + 1;
    sent_of(h, id)->read_back = true;
    holds(h, at, id);
}

/* --- owners and offsets --- */

void history_owns(struct history *h, int client, int broker, int32_t queue, bool owns) { queue_of(h, broker, queue)->owners[client] = owns; }

void history_client_gone(struct history *h, int client)
{
    for (int b = 0; b < h->brokers; b++)
        for (int q = 0; q < h->queues; q++) h->queue[b][q].owners[client] = false;
}

void history_commit_sent(struct history *h, int client, struct place at, int64_t now_ms)
{
    queue_of(h, at.broker, at.queue)->commit_sent_ms[client] = now_ms + 1;
}

static bool handed_over(const struct queue_history *q, int64_t now_ms)
{
    int clients = 0;
    for (int c = 0; c < HISTORY_CLIENTS; c++) clients += q->commit_sent_ms[c] && q->commit_sent_ms[c] > now_ms - HANDOVER_MS;
    return clients > 1;
}

/* The newest offset that was seen before that time. */
static int64_t seen_before(const struct queue_history *q, int64_t ms)
{
    int64_t offset = 0;
    for (size_t i = q->seen > TRAIL ? q->seen - TRAIL : 0; i < q->seen; i++) {
        const struct seen *s = &q->trail[i % TRAIL];
        if (s->ms <= ms) offset = s->offset;
    }
    return offset;
}

void history_commit_seen(struct history *h, struct place at, int64_t now_ms)
{
    struct queue_history *q = queue_of(h, at.broker, at.queue);
    int64_t last = q->seen ? q->trail[(q->seen - 1) % TRAIL].offset : 0;
    if (at.offset < last && !handed_over(q, now_ms))
        history_blame(h, "H6: the committed offset of broker %d queue %d went back from %lld to %lld at %lld ms", at.broker, at.queue, (long long)last,
                      (long long)at.offset, (long long)now_ms);
    q->trail[q->seen++ % TRAIL] = (struct seen){now_ms, at.offset};
}

int history_incarnation(const struct history *h, int broker) { return h->losses[broker]; }

void history_broker_lost(struct history *h, int broker, int64_t now_ms, int64_t forgets_ms)
{
    h->losses[broker]++;
    for (int i = 0; i < h->queues; i++) {
        struct queue_history *q = &h->queue[broker][i];
        q->trail[0] = (struct seen){0, seen_before(q, now_ms - forgets_ms)};
        q->seen = 1;
    }
}

/* --- the end --- */

static const char *unsettled_owners(struct history *h)
{
    for (int b = 0; b < h->brokers; b++) {
        for (int q = 0; q < h->queues; q++) {
            int owners = 0;
            for (int c = 0; c < HISTORY_CLIENTS; c++) owners += h->queue[b][q].owners[c];
            if (owners == 1) continue;
            snprintf(h->unsettled, sizeof h->unsettled, "H5: broker %d queue %d has %d owners", b, q, owners);
            return h->unsettled;
        }
    }
    return NULL;
}

const char *history_unsettled(struct history *h)
{
    uint32_t count = (uint32_t)(h->sent.n / sizeof(struct sent));
    for (uint32_t id = 1; id < count; id++) {
        const struct sent *s = sent_of(h, id);
        if (!s->acked || s->delivered) continue;
        snprintf(h->unsettled, sizeof h->unsettled, "H4: message %x, acknowledged at broker %d queue %d offset %lld, was not delivered", id, s->at.broker,
                 s->at.queue, (long long)s->at.offset);
        return h->unsettled;
    }
    return unsettled_owners(h);
}

void history_check_read_back(struct history *h)
{
    uint32_t count = (uint32_t)(h->sent.n / sizeof(struct sent));
    for (uint32_t id = 1; id < count; id++) {
        const struct sent *s = sent_of(h, id);
        if (s->acked && !s->read_back)
            history_blame(h, "H1: message %x, acknowledged at broker %d queue %d offset %lld, is lost", id, s->at.broker, s->at.queue, (long long)s->at.offset);
    }
}

uint32_t history_acked_count(const struct history *h) { return h->acked; }
