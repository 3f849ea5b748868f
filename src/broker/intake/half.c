#include "broker/intake/half.h"

#include "broker/intake/delay.h"
#include "codec/properties.h"

bool intake_is_half(const struct send_header *h, const struct known_properties *p)
{
    bool delayed = p->delay_level.n && !slice_eq(p->delay_level, SLICE("0"));
    if (h->reconsume_times > 0 && delayed) return false;
    bool marked = p->transaction.n == 4 && strncasecmp((const char *)p->transaction.p, "true", 4) == 0;
    return marked || (h->sys_flag & SYS_FLAG_TRANSACTION_MASK) == SYS_FLAG_TRANSACTION_PREPARED;
}

/* A delay counts from the commit on. One that cannot be is refused while its sender is there to hear of it. */
static err_t check_delay(struct broker *b, const struct known_properties *p, const struct message *m)
{
    struct message probe = *m;
    struct buf text = BUF_EMPTY;
    err_t e = intake_delay(b, &probe, p, &text);
    buf_done(&text);
    return e;
}

/* Only the broker says where a half message belongs, and how often it was asked after. */
static bool is_reserved(struct slice name)
{
    return slice_eq(name, HALF_TRANSACTION_ID) || slice_eq(name, HALF_REAL_TOPIC) || slice_eq(name, HALF_REAL_QUEUE) ||
           slice_eq(name, HALF_CHECKS) || slice_eq(name, HALF_FIRST_OFFSET);
}

static void put_properties(const struct send_header *h, const struct message *m, struct buf *text)
{
    struct slice rest = m->properties, name, value;
    struct buf queue = BUF_EMPTY;
    while (properties_next(&rest, &name, &value))
        if (!is_reserved(name)) properties_put(text, name, value);
    if (!properties_get(m->properties, HALF_PRODUCER_GROUP).n) properties_put(text, HALF_PRODUCER_GROUP, h->producer_group);
    properties_put(text, HALF_TRANSACTION_ID, m->unique_key);
    properties_put(text, HALF_REAL_TOPIC, m->topic);
    buf_put_i64_text(&queue, m->queue_id);
    properties_put(text, HALF_REAL_QUEUE, buf_slice(&queue));
    buf_done(&queue);
}

err_t intake_half(struct broker *b, const struct send_header *h, const struct known_properties *p, struct message *m, struct buf *text)
{
    if (b->cfg->broker.reject_transactions) {
        char address[ADDR_TEXT_MAX];
        return err_new(ERR_NO_PERMISSION, "the broker[%s] sending transaction message is forbidden", addr_format_ip(&b->advertised, address));
    }
    err_t e = check_delay(b, p, m);
    if (e) return e;
    put_properties(h, m, text);
    m->properties = buf_slice(text);
    m->sys_flag &= ~SYS_FLAG_TRANSACTION_MASK;
    m->topic = HALF_TOPIC;
    m->queue_id = 0;
    m->batch_topic = false;
    return NULL;
}
