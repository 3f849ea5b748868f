#include "client/names.h"

#include "client/state.h"

#include <stdlib.h>

/* A question that goes from one server to the next. */
struct question {
    struct sky_client *client;
    struct rpc_request request;    /* as asked; header and body are copies */
    void *header;
    struct buf body;
    size_t asked;
    size_t at;                     /* the server that is being asked */
};

err_t names_check(struct slice addresses)
{
    struct slice one;
    size_t count = 0;
    while (slice_split(&addresses, ';', &one)) {
        struct slice host;
        uint16_t port;
        one = slice_trim(one);
        if (!one.n) continue;
        err_t e = addr_split(one, &host, &port);
        if (e) return err_in(e, "name server \"%.*s\"", SLICE_ARG(one));
        count++;
    }
    return count ? NULL : err_new(ERR_CONFIG, "no name server is given");
}

void names_begin(struct sky_client *c, const char *addresses)
{
    struct names *n = &c->names;
    struct slice rest = slice_text(addresses), one;
    struct rpc_options options = rpc_options_default();
    n->peers = must_zero((rest.n + 1) * sizeof(struct rpc_peer *));
    while (slice_split(&rest, ';', &one))
        if (slice_trim(one).n) n->peers[n->count++] = rpc_peer_new(c->loop, one, NULL, &options);
    n->current = random_below(&c->random, (uint32_t)n->count);
}

static void ask(struct question *q);

static void question_free(struct question *q)
{
    free(q->header);
    buf_done(&q->body);
    free(q);
}

static void on_answer(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct question *q = ctx;
    struct names *n = &q->client->names;
    bool next = e && err_code(e) != ERR_CLOSED && q->asked < n->count && !q->client->ending;
    if (e && n->count && n->current == q->at) n->current = (q->at + 1) % n->count;
    if (next) {
        err_drop(e, "the next name server is asked");
        ask(q);
        return;
    }
    struct rpc_request r = q->request;
    question_free(q);
    r.done(r.ctx, e, reply);
}

static void ask(struct question *q)
{
    struct rpc_request r = q->request;
    r.done = on_answer;
    r.ctx = q;
    q->asked++;
    q->at = q->client->names.current;
    rpc_peer_request(q->client->names.peers[q->at], &r);
}

void names_request(struct sky_client *c, const struct rpc_request *r)
{
    struct question *q = must_zero(sizeof *q);
    q->client = c;
    q->request = *r;
    q->request.header = q->header = header_copy(r->kind, r->header);
    buf_put_slice(&q->body, r->body);
    q->request.body = buf_slice(&q->body);
    ask(q);
}

void names_done(struct sky_client *c)
{
    for (size_t i = 0; i < c->names.count; i++) rpc_peer_free(c->names.peers[i]);
    free(c->names.peers);
    c->names = (struct names){.peers = NULL};
}
