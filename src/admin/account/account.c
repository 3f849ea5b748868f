#include "admin/account/account.h"

#include "admin/broker/broker.h"

static void on_changed(struct job *j)
{
    const struct account_change *c = j->state;
    broker_end_changes(j, c->done);
}

static void ask_change(struct job *j)
{
    const struct account_change *c = j->state;
    struct request r = {.code = c->code, .kind = c->kind, .header = c->header, .body = c->body};
    job_ask_all(j, &r, on_changed);
}

void account_change(struct job *j) { job_all_brokers(j, ask_change); }

struct account_texts account_split(struct job *j, struct slice text)
{
    struct account_texts t = {NULL, 0};
    struct slice one;
    while (text.n && slice_split(&text, ',', &one)) {
        one = slice_trim(one);
        struct slice *slot = one.n ? arena_list_add(job_arena(j), (void **)&t.items, &t.count, sizeof *slot) : NULL;
        if (slot) *slot = one;
    }
    return t;
}

struct slice account_join(struct job *j, const struct slice *items, size_t count)
{
    struct buf text = BUF_EMPTY;
    for (size_t i = 0; i < count; i++) {
        if (i) buf_put_u8(&text, ',');
        buf_put_slice(&text, items[i]);
    }
    struct slice kept = job_copy(j, buf_slice(&text));
    buf_done(&text);
    return kept;
}

struct slice account_subject(struct job *j, struct slice text)
{
    text = slice_trim(text);
    return text.n && !memchr(text.p, ':', text.n) ? job_text(j, "User:%.*s", SLICE_ARG(text)) : text;
}
