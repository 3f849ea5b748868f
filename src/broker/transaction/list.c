/* What tools ask about transactions, and do to them. */
#include "broker/handlers.h"
#include "broker/transaction/transaction.h"
#include "rpc/reply.h"

#include "base/log.h"
#include "codec/body_transaction.h"
#include "codec/message_id.h"
#include "codec/record.h"

#include <stdlib.h>

enum { LIST_MAX = 64 };   /* in one answer: each costs a look at a record */

/* --- those that are open (90001; docs/protocol/transactions.md) --- */

static bool is_wanted(const struct open_transactions_header *h, const struct half_facts *facts)
{
    return (!h->producer_group.n || slice_eq(h->producer_group, facts->group)) && (!h->topic.n || slice_eq(h->topic, facts->topic));
}

static void add_row(const struct half *half, const struct half_facts *facts, struct arena *arena, struct open_transactions *list)
{
    struct open_transaction *row = arena_list_add(arena, (void **)&list->rows.items, &list->rows.count, sizeof *row);
    if (!row) return;
    *row = (struct open_transaction){
        .born_ms = half->born_ms, .checks = half->checks, .log_offset = half->log_offset, .queue_offset = half->queue_offset,
        .queue_id = facts->queue_id, .group = arena_copy(arena, facts->group), .topic = arena_copy(arena, facts->topic),
        .key = arena_copy(arena, facts->unique_key),
    };
}

/* False: not in memory. */
static bool show(struct broker *b, const struct half *half, const struct open_transactions_header *h, struct arena *arena,
                 struct open_transactions *list)
{
    struct pinned record;
    struct message m;
    struct half_facts facts;
    err_t e = store_record_at(b->store, half->log_offset, &record);
    if (e) {
        err_free(e);   /* gone or damaged: the next round says so */
        return !store_is_cold(b->store);
    }
    if (record_read(record.bytes, &m) == RECORD_WHOLE && half_facts_read(&m, &facts) && is_wanted(h, &facts)) add_row(half, &facts, arena, list);
    pin_release(&record);
    return true;
}

static void list_open(struct broker *b, const struct open_transactions_header *h, struct arena *arena, struct open_transactions *list)
{
    int32_t most = header_has(h, open_transactions, max_num) && h->max_num > 0 && h->max_num < LIST_MAX ? h->max_num : LIST_MAX;
    int32_t looked = 0;
    list->open = (int64_t)b->transactions->halves.count;
    list->next_offset = -1;
    LIST_EACH(&b->transactions->halves.open, node) {
        const struct half *half = LIST_OWNER(node, struct half, node);
        if (half->queue_offset < h->from_offset) continue;
        list->next_offset = half->queue_offset;
        if (looked++ == most || !show(b, half, h, arena, list)) return;
        list->next_offset = -1;
    }
}

void handle_open_transactions(struct broker *b, struct call *call)
{
    struct open_transactions_header h;
    struct arena arena = ARENA_EMPTY;
    struct open_transactions list = {.open = 0};
    err_t e = header_decode(&open_transactions_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    if (!b->transactions->ready) {
        transactions_later(b->transactions, NULL, call);
        return;
    }
    list_open(b, &h, &arena, &list);
    if (!disk_again(b, call)) reply_bean(call, NULL, NULL, &open_transactions_bean, &list);
    arena_done(&arena);
}

/* --- asking from the beginning (323) --- */

static err_t check_resumed(const struct message *m, const struct half *half)
{
    bool given_up = slice_eq(m->topic, GIVEN_UP_TOPIC);
    if (!given_up && !slice_eq(m->topic, HALF_TOPIC)) return err_new(ERR_REFUSED, "the message is no half message");
    if (!given_up && !half) return err_new(ERR_REFUSED, "the transaction has ended already");
    if (half && half->busy) return err_new(ERR_BUSY, "the transaction is just being asked after or ended");
    return NULL;
}

struct resuming {
    struct transactions *t;
    struct call *call;
    int64_t name;           /* -1: it was given up */
    struct appended at;
};

static void on_resumed(void *ctx, err_t e)
{
    struct resuming *r = ctx;
    struct half *half = r->name >= 0 ? halves_find(&r->t->halves, r->name) : NULL;
    if (half) transactions_release(r->t, half);
    reply_outcome(r->call, e);
    free(r);
}

/* An open one is put back; one that was given up begins anew, and what it was put back for before does not count. */
static void resume(struct broker *b, struct call *call, const struct message *m, struct half *half)
{
    struct buf text = BUF_EMPTY;
    struct message out;
    struct resuming *r = must_zero(sizeof *r);
    r->t = b->transactions;
    r->call = call;
    r->name = half ? half->first_offset : -1;
    half_put_back(m, r->name, 0, &text, &out);
    out.topic = HALF_TOPIC;
    out.queue_id = 0;
    if (half) half->busy = true;
    err_t e = transactions_put(r->t, &out, on_resumed, r, &r->at);
    if (e) on_resumed(r, e);
    buf_done(&text);
}

void handle_resume_check_half(struct broker *b, struct call *call)
{
    struct resume_check_half_header h;
    struct addr host;
    struct pinned record;
    struct message m;
    int64_t log_offset;
    err_t e = header_decode(&resume_check_half_kind, call->frame, &h);
    if (!e) e = offset_id_parse(h.msg_id, &host, &log_offset);
    if (!e && !b->transactions->ready) {
        transactions_later(b->transactions, NULL, call);
        return;
    }
    if (!e) e = store_record_at(b->store, log_offset, &record);
    if (e) {
        if (store_is_cold(b->store)) disk_again(b, call), err_free(e);
        else call_fail(call, e);
        return;
    }
    struct half_facts facts;
    bool is_half = record_read(record.bytes, &m) == RECORD_WHOLE && half_facts_read(&m, &facts);
    struct half *half = is_half ? halves_find(&b->transactions->halves, facts.first_offset) : NULL;
    e = check_resumed(&m, half);
    if (e) call_fail(call, e);
    else resume(b, call, &m, half);
    pin_release(&record);
}
