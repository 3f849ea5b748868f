/* Transactions that are open, and having their producers asked again (docs/protocol/transactions.md). */
#include "admin/session.h"

#include "codec/message_id.h"
#include "codec/requests.h"

#include <stdlib.h>

/* All pages of all masters. */
struct listing {
    struct admin *admin;
    struct open_transactions_header header;
    struct admin_transactions *out;
    const struct masters *masters;
    int64_t *from;                       /* by master: where its last page began; 0: the first one */
    void (*end)(void *ctx, err_t e);
    void *ctx;
};

static int by_broker_and_age(const void *a, const void *b)
{
    const struct admin_transaction *x = a, *y = b;
    int names = slice_compare(x->broker.name, y->broker.name);
    if (names) return names;
    return (x->row.queue_offset > y->row.queue_offset) - (x->row.queue_offset < y->row.queue_offset);
}

/* p NULL: the broker's address is a name. */
static struct slice half_id(struct arena *arena, struct slice address, int64_t log_offset)
{
    struct addr host;
    char text[MESSAGE_ID_TEXT];
    err_t e = addr_parse(address, &host);
    if (e) {
        err_free(e);
        return (struct slice){NULL, 0};
    }
    return arena_copy(arena, slice_of(text, offset_id_format(&host, log_offset, text)));
}

static err_t on_page(void *ctx, struct sweep *s, const struct master *m, struct slice body)
{
    struct listing *l = ctx;
    struct open_transactions page;
    struct arena *arena = admin_arena(l->admin);
    int64_t *from = &l->from[m - l->masters->list.items];
    err_t e = bean_decode(&open_transactions_bean, body, arena, "open transactions", &page);
    if (e) return e;
    if (!*from) l->out->open += page.open;
    for (size_t i = 0; i < page.rows.count; i++) {
        struct admin_transaction *t = arena_list_add(arena, (void **)&l->out->list.items, &l->out->list.count, sizeof *t);
        if (!t) return err_new(ERR_BODY, "the answers are too large");
        *t = (struct admin_transaction){m->broker, page.rows.items[i], half_id(arena, m->broker.address, page.rows.items[i].log_offset)};
    }
    if (page.next_offset < 0) return NULL;
    if (page.next_offset <= *from)
        return err_new(ERR_BODY, "the page after offset %lld begins at %lld", (long long)*from, (long long)page.next_offset);
    struct open_transactions_header next = l->header;
    next.from_offset = *from = page.next_offset;
    header_set(&next, open_transactions, from_offset);
    struct request r = {REQUEST_GET_OPEN_TRANSACTIONS, &open_transactions_kind, &next};
    sweep_ask_again(s, m, &r);
    return NULL;
}

static void on_all_pages(void *ctx, err_t e)
{
    struct listing *l = ctx;
    if (l->out->list.count) qsort(l->out->list.items, l->out->list.count, sizeof *l->out->list.items, by_broker_and_age);
    l->end(l->ctx, e);
}

static void list_open(struct admin *a, const struct masters *m, struct slice topic, struct slice group, struct admin_transactions *out,
                      void (*end)(void *ctx, err_t e), void *ctx)
{
    struct listing *l = admin_take(a, sizeof *l);
    *l = (struct listing){.admin = a, .header = {.topic = topic, .producer_group = group}, .out = out, .masters = m,
                          .end = end, .ctx = ctx};
    l->from = admin_take(a, m->list.count * sizeof *l->from);
    struct request r = {REQUEST_GET_OPEN_TRANSACTIONS, &open_transactions_kind, &l->header};
    sweep_begin(a, m, &r, &out->failures, on_page, on_all_pages, l);
}

/* --- the list --- */

struct list_job {
    struct admin *admin;
    struct slice topic, group;
    struct admin_transactions *out;
};

static void on_list(void *ctx, err_t e) { admin_end(((struct list_job *)ctx)->admin, e); }

static void list_of_masters(void *ctx, err_t e, const struct masters *m)
{
    struct list_job *j = ctx;
    if (e) admin_end(j->admin, e);
    else list_open(j->admin, m, j->topic, j->group, j->out, on_list, j);
}

void admin_transaction_list(struct admin *a, struct slice topic, struct slice group, struct admin_transactions *out,
                            admin_done *done, void *ctx)
{
    struct list_job *j = admin_take(a, sizeof *j);
    *j = (struct list_job){a, topic, group, out};
    *out = (struct admin_transactions){.open = 0};
    admin_begin(a, done, ctx);
    find_masters(a, (struct slice){NULL, 0}, list_of_masters, j);
}

/* --- asking again --- */

struct resume_job {
    struct admin *admin;
    struct slice topic, id;
    struct admin_resumed *out;
    const struct masters *masters;
    struct admin_transactions open;
};

static void on_resumed(void *ctx, err_t e, struct slice body)
{
    (void)body;
    admin_end(((struct resume_job *)ctx)->admin, e);
}

static void resume(struct resume_job *j, const struct admin_broker *broker, struct slice message_id)
{
    struct resume_check_half_header h = {.topic = j->topic, .msg_id = message_id};
    struct request r = {REQUEST_RESUME_CHECK_HALF_MESSAGE, &resume_check_half_kind, &h};
    *j->out = (struct admin_resumed){*broker, message_id};
    admin_ask(j->admin, broker->address, &r, on_resumed, j);
}

/* The broker that the id names, which must be one of ours: an id is not to make us call anybody. */
static const struct admin_broker *broker_of(const struct resume_job *j, const struct addr *host)
{
    for (size_t i = 0; i < j->masters->list.count; i++) {
        const struct admin_broker *b = &j->masters->list.items[i].broker;
        struct addr at = {.port = 0};
        err_t e = addr_parse(b->address, &at);
        bool same = !e && addr_eq(&at, host);
        err_free(e);
        if (same || !b->name.p) return b;
    }
    return NULL;
}

/* Half messages that were given up are not listed; their ids are in the log of the broker, and in its queues. */
static void resume_by_id(struct resume_job *j)
{
    struct addr host;
    int64_t log_offset;
    err_t e = offset_id_parse(j->id, &host, &log_offset);
    const struct admin_broker *b = e ? NULL : broker_of(j, &host);
    err_free(e);
    if (b) {
        resume(j, b, j->id);
        return;
    }
    e = err_new(ERR_NOT_FOUND, "no transaction of topic \"%.*s\" with the unique key \"%.*s\" is open, and no broker of the cluster has it as a message id",
                SLICE_ARG(j->topic), SLICE_ARG(j->id));
    admin_end(j->admin, e);
}

static void on_open(void *ctx, err_t e)
{
    struct resume_job *j = ctx;
    if (admin_is_silence(e)) {
        admin_end(j->admin, e);
        return;
    }
    err_drop(e, "who cannot list its transactions may still resume one");
    for (size_t i = 0; i < j->open.list.count; i++) {
        const struct admin_transaction *t = &j->open.list.items[i];
        if (!slice_eq(t->row.key, j->id)) continue;
        struct slice any = t->message_id.p ? t->message_id : half_id(admin_arena(j->admin), SLICE("0.0.0.0:0"), t->row.log_offset);
        resume(j, &t->broker, any);   /* the broker looks at the offset alone */
        return;
    }
    resume_by_id(j);
}

static void resume_of_masters(void *ctx, err_t e, const struct masters *m)
{
    struct resume_job *j = ctx;
    j->masters = m;
    if (e) admin_end(j->admin, e);
    else list_open(j->admin, m, j->topic, (struct slice){NULL, 0}, &j->open, on_open, j);
}

void admin_transaction_resume(struct admin *a, struct slice topic, struct slice id, struct admin_resumed *out, admin_done *done, void *ctx)
{
    struct resume_job *j = admin_take(a, sizeof *j);
    *j = (struct resume_job){.admin = a, .topic = topic, .id = id, .out = out};
    admin_begin(a, done, ctx);
    find_masters(a, (struct slice){NULL, 0}, resume_of_masters, j);
}
