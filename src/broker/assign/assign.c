#include "broker/handlers.h"

#include "allocate/allocate.h"
#include "broker/assign/topic_queues.h"
#include "codec/body_assignment.h"
#include "codec/lmq.h"
#include "meta/names.h"
#include "rpc/reply.h"

#include "base/log.h"

#include <stdlib.h>

/* A question that waits for the queues of its topic. */
struct question {
    struct broker *broker;
    struct call *call;
    struct arena arena;              /* of the query */
    struct assignment_query query;
};

/* Queues of a topic and who shares them. */
struct sharing {
    const struct message_queue *queues;
    size_t count;
    struct arena *arena;
    struct slice *clients;           /* sorted */
    size_t clients_count;
    int32_t mode;
    struct assignment_list out;
};

/* --- the mode --- */

static struct request_mode mode_of(const struct broker *b, const struct assignment_query *q)
{
    const struct request_mode *said = request_modes_find(b->request_modes, q->topic, q->group);
    if (said) return *said;
    if (topic_name_is_retry(q->topic)) return (struct request_mode){.mode = MODE_PULL};
    return (struct request_mode){.mode = b->cfg->broker.default_request_mode, .share = b->cfg->broker.default_pop_share};
}

/* --- who shares --- */

static int by_bytes(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;
    size_t n = x->n < y->n ? x->n : y->n;
    int order = n ? memcmp(x->p, y->p, n) : 0;
    return order ? order : x->n < y->n ? -1 : x->n > y->n;
}

/* When each member gets what it asked for itself, those who did not ask for the topic have no share in it. */
static bool shares(const struct broker *b, struct member_group *g, const struct member *m, struct slice topic)
{
    return b->cfg->broker.subscription_consistency != CONSISTENCY_ISOLATE || members_own_interest(g, m, topic);
}

static void find_clients(struct broker *b, const struct assignment_query *q, struct sharing *s)
{
    struct member_group *g = members_consumers(&b->members, q->group);
    if (!g) return;
    s->clients = arena_take(s->arena, (g->count + 1) * sizeof *s->clients);
    if (!s->clients) return;
    MEMBERS_EACH(g, node)
        if (shares(b, g, MEMBER_OF(node), q->topic)) s->clients[s->clients_count++] = slice_text(MEMBER_OF(node)->client->id);
    qsort(s->clients, s->clients_count, sizeof *s->clients, by_bytes);
    size_t kept = 0;
    for (size_t i = 0; i < s->clients_count; i++)
        if (!kept || !slice_eq(s->clients[kept - 1], s->clients[i])) s->clients[kept++] = s->clients[i];
    s->clients_count = kept;
}

static bool place_of(const struct sharing *s, struct slice client, size_t *out)
{
    for (*out = 0; *out < s->clients_count; ++*out)
        if (slice_eq(s->clients[*out], client)) return true;
    return false;
}

/* --- the shares --- */

static void give(struct sharing *s, struct message_queue queue)
{
    struct assignment *a = arena_list_add(s->arena, (void **)&s->out.assignments.items, &s->out.assignments.count, sizeof *a);
    if (a) *a = (struct assignment){.queue = queue, .mode = s->mode};
}

static void take(void *ctx, size_t place)
{
    struct sharing *s = ctx;
    give(s, s->queues[place]);
}

static void give_all(struct sharing *s)
{
    for (size_t i = 0; i < s->count; i++) give(s, s->queues[i]);
}

/* Whoever pops gets from all queues of a broker at once. */
static void give_brokers(struct sharing *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct message_queue q = s->queues[i];
        if (i && slice_eq(q.broker, s->queues[i - 1].broker)) continue;
        q.queue_id = -1;
        give(s, q);
    }
}

/* A member pops its own queues, and those of some members behind it. */
static void give_to_popper(struct sharing *s, allocate_strategy *strategy, size_t place, int32_t share)
{
    if (s->clients_count > s->count) {
        take(s, place % s->count);
        return;
    }
    for (int32_t i = 0; i <= share; i++) strategy(s->clients_count, (place + (size_t)i) % s->clients_count, s->count, take, s);
}

/* False: nothing can be said, and the client goes on with what it has. */
static bool allocate(const struct assignment_query *q, struct sharing *s, int32_t share)
{
    allocate_strategy *strategy = allocate_named(q->strategy);
    size_t place;
    if (!s->clients || !s->count || !strategy) return false;
    bool everything = share <= 0 || (size_t)share + 1 >= s->clients_count;
    if (s->mode == MODE_POP && everything) {
        give_brokers(s);
        return true;
    }
    if (!q->client_id.n) return false;
    if (!place_of(s, q->client_id, &place)) return true;   /* no member, no queue */
    if (s->mode == MODE_POP) give_to_popper(s, strategy, place, share);
    else strategy(s->clients_count, place, s->count, take, s);
    return true;
}

static bool divide(struct broker *b, const struct assignment_query *q, struct sharing *s)
{
    struct request_mode mode = mode_of(b, q);
    s->mode = mode.mode;
    if (q->model != MODEL_BROADCASTING && q->model != MODEL_CLUSTERING) return false;
    if (q->model == MODEL_BROADCASTING || !b->cfg->broker.server_balances) {
        give_all(s);
        return true;
    }
    find_clients(b, q, s);
    return allocate(q, s, mode.share);
}

/* --- requests --- */

static void answer(void *ctx, bool known, const struct message_queue *queues, size_t count)
{
    struct question *q = ctx;
    struct sharing s = {.queues = queues, .count = count, .arena = &q->arena};
    if (known && divide(q->broker, &q->query, &s)) reply_bean(q->call, NULL, NULL, &assignment_list_bean, &s.out);
    else call_reply(q->call, RESPONSE_SUCCESS, NULL, NULL, NULL, SLICE("{}"));
    arena_done(&q->arena);
    free(q);
}

/* A consumer that leaves it to the broker asks what to read. */
void handle_query_assignment(struct broker *b, struct call *call)
{
    struct question *q = must_zero(sizeof *q);
    struct arena arena = ARENA_EMPTY;
    struct assignment_query query;
    err_t e = bean_decode(&assignment_query_bean, call->body, &arena, "assignment query", &query);
    if (e) {
        free(q);
        arena_done(&arena);
        call_fail(call, e);
        return;
    }
    q->broker = b;
    q->arena = ARENA_EMPTY;
    q->call = call;
    bean_copy(&assignment_query_bean, &query, &q->arena, &q->query);
    arena_done(&arena);
    if (name_is_lmq(q->query.topic)) {
        struct message_queue only = {.topic = q->query.topic, .broker = slice_text(b->cfg->broker.name)};
        answer(q, true, &only, 1);
        return;
    }
    topic_queues_get(b->topic_queues, q->query.topic, answer, q);
}

static err_t check_mode(const struct broker *b, const struct request_mode *m)
{
    if (m->mode < 0) return err_new(ERR_INVALID, "mode must be PULL or POP");
    if (topic_name_is_retry(m->topic)) return err_new(ERR_NO_PERMISSION, "retry topic is not allowed to set mode");
    if (!topics_find(b->topics, m->topic)) return err_new(ERR_TOPIC_NOT_FOUND, "topic[%.*s] not exist", SLICE_ARG(m->topic));
    if (!groups_find(b->groups, m->group)) return err_new(ERR_GROUP_NOT_FOUND, "subscription group does not exist");
    return NULL;
}

void handle_set_request_mode(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct request_mode mode;
    err_t e = bean_decode(&request_mode_bean, call->body, &arena, "request mode", &mode);
    if (!e) e = check_mode(b, &mode);
    if (e) {
        call_fail(call, e);
    } else {
        log_info("group.request_mode group=\"%.*s\" topic=\"%.*s\" mode=%s share=%d", SLICE_ARG(mode.group), SLICE_ARG(mode.topic),
                 mode.mode == MODE_POP ? "POP" : "PULL", mode.share);
        request_modes_set(b->request_modes, &mode);
        request_modes_when_saved(b->request_modes, reply_when_saved(call));
    }
    arena_done(&arena);
}

void handle_all_request_modes(struct broker *b, struct call *call)
{
    struct buf body = BUF_EMPTY;
    request_modes_encode(b->request_modes, JSON_RAW, &body);
    call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, buf_slice(&body));
    buf_done(&body);
}
