/* PEEK_MESSAGE: what a pop would find, left where it is. Facts: docs/protocol/pop.md 2 (the same order of topics and queues), 200052 */
#include "broker/handlers.h"
#include "broker/pop/pop_state.h"

enum { SCAN_ENTRIES = 4096, OF_HUNDRED = 100, RETRY_FIRST_ONE_IN = 5, PEEK_MAX = 1024 };

struct peek {
    struct broker *broker;
    const struct peek_header *header;
    struct buf body;
    int32_t messages;
    int64_t rest;
    bool cold;                       /* something was not in memory */
};

/* --- may it be --- */

static err_t check(struct broker *b, const struct call *call, const struct peek_header *h, char *text)
{
    const char *host = addr_format_ip(&b->advertised, text);
    if (!(b->cfg->broker.permission & PERM_READ)) return err_new(ERR_NO_PERMISSION, "the broker[%s] peeking message is forbidden", host);
    if (h->max_msg_nums < 0) return err_new(ERR_INVALID, "the broker[%s] peeking message's num is negative", host);
    return pop_check_names(b, call, h->topic, h->queue_id, h->consumer_group);
}

/* --- looking --- */

static bool is_full(const struct peek *p)
{
    int32_t most = p->header->max_msg_nums < PEEK_MAX ? p->header->max_msg_nums : PEEK_MAX;
    return p->messages >= most || (int64_t)p->body.n >= p->broker->cfg->store.transfer_memory_bytes;
}

static bool read_some(struct peek *p, struct slice topic, int32_t queue_id, int64_t *offset)
{
    struct read_result r;
    struct read_request q = {
        .topic = topic, .queue_id = queue_id, .offset = *offset, .max_messages = p->header->max_msg_nums - p->messages,
        .max_bytes = p->broker->cfg->store.transfer_memory_bytes, .max_scan = SCAN_ENTRIES,
    };
    store_read(p->broker->store, &q, &r);
    p->cold = store_is_cold(p->broker->store);
    for (size_t i = 0; !p->cold && i < r.slices; i++) buf_put_slice(&p->body, r.slice[i].bytes);
    if (!p->cold) p->messages += r.messages;
    read_result_release(&r);
    bool again = !p->cold && (r.status == READ_OFFSET_TOO_SMALL || r.status == READ_OFFSET_PAST_END);
    *offset = r.next_offset;
    return again;
}

static void peek_queue(struct peek *p, struct slice topic, int32_t queue_id)
{
    struct broker *b = p->broker;
    int64_t offset = pop_next_offset(b->pop, topic, p->header->consumer_group, queue_id);
    if (p->cold) return;
    if (offset < 0) offset = store_min_offset(b->store, topic, queue_id);
    p->cold = store_is_cold(b->store);
    if (p->cold) return;
    p->rest += store_max_offset(b->store, topic, queue_id) - offset;
    if (!is_full(p) && read_some(p, topic, queue_id, &offset)) read_some(p, topic, queue_id, &offset);
}

static void peek_topic(struct peek *p, struct slice name, uint32_t shift)
{
    const struct topic *topic = topics_find(p->broker->topics, name);
    uint32_t n = topic ? (uint32_t)topic->config.read_queues : 0;
    for (uint32_t i = 0; i < n; i++) peek_queue(p, name, (int32_t)((shift + i) % n));
}

static void peek_retries(struct peek *p, uint32_t shift)
{
    struct buf name = BUF_EMPTY;
    pop_topic_name(p->broker->cfg->broker.pop_retry_v2 ? POP_RETRY_V2 : POP_RETRY_V1, p->header->consumer_group, p->header->topic, &name);
    peek_topic(p, buf_slice(&name), shift);
    buf_done(&name);
}

static void look(struct peek *p)
{
    uint32_t drawn = random_below(&p->broker->random, OF_HUNDRED);
    bool retries_first = drawn % RETRY_FIRST_ONE_IN == 0;
    if (retries_first) peek_retries(p, drawn);
    if (p->header->queue_id < 0) peek_topic(p, p->header->topic, drawn);
    else peek_queue(p, p->header->topic, p->header->queue_id);
    if (!retries_first && !is_full(p)) peek_retries(p, drawn);
}

/* --- the request --- */

static void refuse(struct call *call, err_t e)
{
    struct pop_reply_header none = {.pop_time = 0};
    call_reply(call, err_response(e), err_text(e), &pop_reply_kind, &none, (struct slice){NULL, 0});
    err_free(e);
}

static void answer(struct peek *p, struct call *call)
{
    struct pop_reply_header reply = {.rest_num = p->rest};
    metric_add(&p->broker->metrics, METRIC_MESSAGES_OUT, p->messages);
    metric_add(&p->broker->metrics, METRIC_THROUGHPUT_OUT, (int64_t)p->body.n);
    call_reply(call, p->messages ? RESPONSE_SUCCESS : RESPONSE_PULL_NOT_FOUND, p->messages ? "FOUND" : "NO_MESSAGE_IN_QUEUE", &pop_reply_kind, &reply,
               buf_slice(&p->body));
}

void handle_peek(struct broker *b, struct call *call)
{
    struct peek_header h;
    char text[ADDR_TEXT_MAX];
    err_t e = header_decode(&peek_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    if (!b->pop->ready) {
        pop_later(b->pop, call);
        return;
    }
    e = check(b, call, &h, text);
    if (e) {
        refuse(call, e);
        return;
    }
    struct peek p = {.broker = b, .header = &h, .body = BUF_EMPTY};
    look(&p);
    if (p.messages) store_forget_cold(b->store);   /* what there is in memory is enough */
    if (!disk_again(b, call)) answer(&p, call);
    buf_done(&p.body);
}
