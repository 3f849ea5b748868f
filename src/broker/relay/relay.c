/* Questions of tools that only a client can answer: they are passed on, and its answer comes back. Facts: docs/protocol/remoting.md A15, A16,
 * 4.2 (307, 309), 4.3 (223)
 * Time     a client has so long; then, or when its connection ends, the tool hears that. A tool that goes meanwhile is no concern of the client's */
#include "broker/handlers.h"
#include "rpc/reply.h"

#include "codec/body_progress.h"
#include "codec/message_id.h"

#include <stdlib.h>

enum { CLIENT_MS = 10000, STATUS_MS = 5000, OLDEST_THAT_TELLS = 62, OLDEST_WITH_STATUS = 28 };   /* V3_1_8_SNAPSHOT, V3_0_7_SNAPSHOT */

/* --- one question, one client (307, 309) --- */

struct relayed {
    struct call *call;
    char *group;
    char *client_id;
};

static void answer(struct call *call, const struct frame *f)
{
    char *remark = f->remark.p ? must_dup(f->remark) : NULL;
    call_reply(call, f->code, remark, NULL, NULL, f->body);
    free(remark);
}

static void no_answer(const struct relayed *r, err_t e)
{
    struct buf remark = BUF_EMPTY;
    bool late = err_code(e) == ERR_TIMEOUT;
    if (late) buf_printf(&remark, "consumer <%s> <%s> Timeout: %s", r->group, r->client_id, err_text(e));
    else buf_printf(&remark, "invoke consumer <%s> <%s> Exception: %s", r->group, r->client_id, err_text(e));
    buf_put_u8(&remark, 0);
    call_reply(r->call, late ? RESPONSE_CONSUME_MSG_TIMEOUT : RESPONSE_SYSTEM_ERROR, (const char *)remark.p, NULL, NULL, (struct slice){NULL, 0});
    buf_done(&remark);
    err_free(e);
}

static void on_answer(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct relayed *r = ctx;
    if (e) no_answer(r, e);
    else answer(r->call, reply->frame);
    free(r->group);
    free(r->client_id);
    free(r);
}

/* Its own connection, or that of its proxy. */
static err_t find_consumer(struct broker *b, struct slice group, struct slice client_id, struct rpc_conn **out)
{
    const struct client *c = members_consumer_by_id(&b->members, group, client_id);
    const struct guest *guest = c ? NULL : guests_find(&b->guests, group, client_id);
    if (!c && !guest) return err_new(ERR_REFUSED, "The Consumer <%.*s> <%.*s> not online", SLICE_ARG(group), SLICE_ARG(client_id));
    *out = c ? c->conn : guest->conn;
    if (guest || c->version >= OLDEST_THAT_TELLS) return NULL;
    return err_new(ERR_REFUSED, "The Consumer <%.*s> Version <%d> too low to finish, please upgrade it to V3_1_8_SNAPSHOT", SLICE_ARG(client_id),
                   c->version);
}

static void relay(struct call *call, struct rpc_conn *conn, struct slice group, struct slice client_id, const struct header_kind *kind,
                  const void *header, struct slice body)
{
    struct relayed *r = must_zero(sizeof *r);
    r->call = call;
    r->group = must_dup(group);
    r->client_id = must_dup(client_id);
    struct rpc_request request = {
        .code = call->code, .kind = kind, .header = header, .body = body, .timeout_ms = CLIENT_MS, .done = on_answer, .ctx = r,
    };
    rpc_conn_request(conn, &request);
}

void handle_running_info(struct broker *b, struct call *call)
{
    struct running_info_header h;
    struct rpc_conn *conn;
    err_t e = header_decode(&running_info_kind, call->frame, &h);
    if (!e) e = find_consumer(b, h.consumer_group, h.client_id, &conn);
    if (e) call_fail(call, e);
    else relay(call, conn, h.consumer_group, h.client_id, &running_info_kind, &h, call->body);
}

/* What the client is told besides what the tool said. */
static void add_facts(struct broker *b, struct consume_directly_header *h)
{
    const struct topic *t = topics_find(b->topics, h->topic);
    const struct group *g = groups_find(b->groups, h->consumer_group);
    h->broker_name = slice_text(b->cfg->broker.name);
    if (t) {
        h->topic_sys_flag = t->config.sys_flag;
        header_set(h, consume_directly, topic_sys_flag);
    }
    if (g) {
        h->group_sys_flag = g->config.sys_flag;
        header_set(h, consume_directly, group_sys_flag);
    }
}

static err_t find_record(struct broker *b, struct slice id, struct pinned *out)
{
    struct addr host;
    int64_t log_offset;
    err_t e = offset_id_parse(id, &host, &log_offset);
    if (!e) e = store_record_at(b->store, log_offset, out);
    return e;
}

void handle_consume_directly(struct broker *b, struct call *call)
{
    struct consume_directly_header h;
    struct rpc_conn *conn;
    struct pinned record;
    err_t e = header_decode(&consume_directly_kind, call->frame, &h);
    if (!e) e = find_consumer(b, h.consumer_group, h.client_id, &conn);
    if (!e) e = find_record(b, h.msg_id, &record);
    if (!e) {
        add_facts(b, &h);
        relay(call, conn, h.consumer_group, h.client_id, &consume_directly_kind, &h, record.bytes);
        pin_release(&record);
    } else if (err_code(e) == ERR_NOT_IN_MEMORY && disk_again(b, call)) {
        err_free(e);
    } else {
        call_fail(call, e);
    }
}

/* --- consumers of proxies (90021, ours) --- */

void handle_proxy_consumers(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct guest_list list;
    err_t e = bean_decode(&guest_list_bean, call->body, &arena, "consumers of a proxy", &list);
    if (!e) guests_told(&b->guests, call->conn, &list);
    arena_done(&arena);
    if (e) call_fail(call, e);
    else call_reply_ok(call);
}

/* --- one question, all clients of a group (223) --- */

/* Those that did not answer are left out. */
struct status {
    struct call *call;
    int waits;
    struct arena arena;
    struct consumer_status found;
};

struct status_part {
    struct status *status;
    char *client_id;
};

static void one_is_over(struct status *s)
{
    if (--s->waits) return;
    reply_bean(s->call, NULL, NULL, &consumer_status_bean, &s->found);
    arena_done(&s->arena);
    free(s);
}

static void take_status(struct status *s, struct slice client_id, struct slice body)
{
    struct consumer_status told;
    err_t e = bean_decode(&consumer_status_bean, arena_copy(&s->arena, body), &s->arena, "consumer status", &told);
    struct client_offsets *row = e ? NULL : arena_list_add(&s->arena, (void **)&s->found.clients.items, &s->found.clients.count, sizeof *row);
    if (row) {
        row->client = arena_copy(&s->arena, client_id);
        row->queues.items = told.queues.items;
        row->queues.count = told.queues.count;
    }
    err_drop(e, "what this client says is left out");
}

static void on_status(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct status_part *p = ctx;
    if (!e && reply->frame->code == RESPONSE_SUCCESS && reply->frame->body.n) take_status(p->status, slice_text(p->client_id), reply->frame->body);
    err_drop(e, "a client that does not answer is left out");
    one_is_over(p->status);
    free(p->client_id);
    free(p);
}

static void ask_status(struct status *s, struct client *c, const struct consumer_status_header *h)
{
    struct status_part *p = must_zero(sizeof *p);
    struct consumer_status_header out = {.topic = h->topic, .group = h->group};
    p->status = s;
    p->client_id = must_strdup(c->id);
    s->waits++;
    struct rpc_request r = {
        .code = REQUEST_GET_CONSUMER_STATUS_FROM_CLIENT, .kind = &consumer_status_kind, .header = &out, .timeout_ms = STATUS_MS,
        .done = on_status, .ctx = p,
    };
    rpc_conn_request(c->conn, &r);
}

static err_t check_group(const struct consumer_status_header *h, struct member_group *g)
{
    if (!g) return err_new(ERR_REFUSED, "No Any Consumer online in the consumer group: [%.*s]", SLICE_ARG(h->group));
    MEMBERS_EACH(g, node)
        if (MEMBER_OF(node)->client->version < OLDEST_WITH_STATUS)
            return err_new(ERR_REFUSED, "the client does not support this feature. version=%d", MEMBER_OF(node)->client->version);
    return NULL;
}

/* Only one client of the group, when the tool names it. */
static bool is_wanted(const struct consumer_status_header *h, const struct client *c)
{
    return !slice_trim(h->client_addr).n || slice_eq(h->client_addr, slice_text(c->id));
}

void handle_consumer_status(struct broker *b, struct call *call)
{
    struct consumer_status_header h;
    err_t e = header_decode(&consumer_status_kind, call->frame, &h);
    struct member_group *g = e ? NULL : members_consumers(&b->members, h.group);
    if (!e) e = check_group(&h, g);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct status *s = must_zero(sizeof *s);
    s->call = call;
    s->arena = ARENA_EMPTY;
    s->waits = 1;   /* this function */
    MEMBERS_EACH(g, node)
        if (is_wanted(&h, MEMBER_OF(node)->client)) ask_status(s, MEMBER_OF(node)->client, &h);
    one_is_over(s);
}
