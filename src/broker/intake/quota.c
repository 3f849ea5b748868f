#include "broker/intake/quota.h"

#include "broker/state.h"

#include <stdlib.h>

enum { SECOND_US = 1000000 };

/* When all that was sent would be paid for, at the allowed rate: µs of the monotonic clock. */
struct quota_use {
    int64_t messages_us;
    int64_t bytes_us;
};

void quotas_done(struct quotas *q)
{
    map_done_with(&q->topics, free);
    map_done_with(&q->clients, free);
}

static void expire(struct map *uses, int64_t now_us)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(uses, &at));) {
        struct quota_use *u = e->value;
        if (u->messages_us > now_us || u->bytes_us > now_us) continue;
        map_remove(uses, e->key);
        free(u);
    }
}

void quotas_expire(struct quotas *q, int64_t mono_ms)
{
    expire(&q->topics, mono_ms * 1000);
    expire(&q->clients, mono_ms * 1000);
}

static struct quota_use *use_of(struct map *uses, struct slice who)
{
    struct quota_use *u = map_get(uses, who);
    if (!u) map_put(uses, who, u = must_zero(sizeof *u));
    return u;
}

/* One second's worth may be ahead. */
static bool is_over(int64_t paid_us, int64_t per_second, int64_t now_us) { return per_second && paid_us - now_us >= SECOND_US; }

bool quota_topic_is_over(const struct broker *b, struct slice topic)
{
    const struct quota_use *u = map_get(&b->quotas.topics, topic);
    int64_t now_us = tasks_mono_ms(b->tasks) * 1000;
    return u && (is_over(u->messages_us, b->cfg->broker.topic_messages_quota, now_us) || is_over(u->bytes_us, b->cfg->broker.topic_bytes_quota, now_us));
}

static void pay(int64_t *paid_us, int64_t per_second, size_t amount, int64_t now_us)
{
    if (!per_second) return;
    double us = (double)amount * SECOND_US / (double)per_second;
    *paid_us = (*paid_us > now_us ? *paid_us : now_us) + (int64_t)us;
}

static err_t refuse(const char *who, struct slice name, int64_t limit, const char *what, const char *key)
{
    return err_new(ERR_BUSY, "[QUOTA]%s %.*s sends more than %lld %s a second, as %s allows; try again later", who, SLICE_ARG(name), (long long)limit,
                   what, key);
}

err_t quota_take(struct broker *b, const struct call *call, struct slice topic, size_t messages, size_t bytes)
{
    int64_t topic_messages = b->cfg->broker.topic_messages_quota, topic_bytes = b->cfg->broker.topic_bytes_quota;
    int64_t client_messages = b->cfg->broker.client_messages_quota, client_bytes = b->cfg->broker.client_bytes_quota;
    if (!(topic_messages | topic_bytes | client_messages | client_bytes)) return NULL;
    int64_t now_us = tasks_mono_ms(b->tasks) * 1000;
    uint64_t id = rpc_conn_id(call->conn);
    char address[ADDR_TEXT_MAX];
    struct slice client = slice_text(addr_format(rpc_conn_remote(call->conn), address));
    struct quota_use *t = use_of(&b->quotas.topics, topic), *c = use_of(&b->quotas.clients, slice_of(&id, sizeof id));
    err_t e = NULL;
    if (is_over(t->messages_us, topic_messages, now_us)) e = refuse("topic", topic, topic_messages, "messages", "sendQuotaMessagesPerTopic");
    else if (is_over(t->bytes_us, topic_bytes, now_us)) e = refuse("topic", topic, topic_bytes, "bytes", "sendQuotaBytesPerTopic");
    else if (is_over(c->messages_us, client_messages, now_us)) e = refuse("client", client, client_messages, "messages", "sendQuotaMessagesPerClient");
    else if (is_over(c->bytes_us, client_bytes, now_us)) e = refuse("client", client, client_bytes, "bytes", "sendQuotaBytesPerClient");
    if (e) {
        metric_add(&b->metrics, METRIC_SENDS_OVER_QUOTA, 1);
        return e;
    }
    pay(&t->messages_us, topic_messages, messages, now_us);
    pay(&t->bytes_us, topic_bytes, bytes, now_us);
    pay(&c->messages_us, client_messages, messages, now_us);
    pay(&c->bytes_us, client_bytes, bytes, now_us);
    return NULL;
}
