#include "store/state.h"

#include "codec/lmq.h"
#include "codec/properties.h"
#include "store/redispatch.h"

#include <assert.h>

/* A message that names light queues has an entry in each of them, besides the one in the queue of its topic. Its offsets there are a property
 * of the record, so that a start finds all entries from the log alone (redispatch.c), and are taken when the record is appended: the names
 * that come first in the property come first here and there. A name that occurs twice, or that of the message's own queue, has one entry. */

enum { NAMES_MAX = 256 };   /* of one message; each is a write of its own */

static err_t illegal(struct slice name)
{
    return err_new(ERR_MESSAGE_ILLEGAL, "the message is illegal: INNER_MULTI_DISPATCH names \"%.*s\", which is no light message queue",
                   name.n < 300 ? (int)name.n : 300, (const char *)name.p);
}

static err_t check_count(const struct store *s, size_t more)
{
    if (s->queues.light + more <= (size_t)s->options.lmq_max) return NULL;
    return err_new(ERR_LMQ_QUOTA, "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]lmq consume queue num exceeded.");
}

/* The offsets that the message gets, and how many queues are to be made for it. */
static err_t list_offsets(struct store *s, struct slice names, struct buf *offsets, size_t *made)
{
    struct slice name;
    for (size_t count = 0; slice_split(&names, ',', &name);) {
        if (!name_is_lmq(name) || !queue_topic_is_legal(name)) return illegal(name);
        if (++count > NAMES_MAX) return err_new(ERR_MESSAGE_ILLEGAL, "the message is illegal: it is for more than %d light message queues", NAMES_MAX);
        const struct consume_queue *q = queues_find(&s->queues, name, LMQ_QUEUE_ID);
        if (!q) ++*made;
        if (count > 1) buf_put_u8(offsets, ',');
        buf_put_i64_text(offsets, q ? q->next : 0);
    }
    return NULL;
}

static void put_properties(struct slice properties, struct slice offsets, struct buf *out)
{
    struct slice name, value;
    buf_clear(out);
    while (properties_next(&properties, &name, &value))
        if (!slice_eq(name, LMQ_OFFSETS)) properties_put(out, name, value);
    properties_put(out, LMQ_OFFSETS, offsets);
}

err_t lmq_prepare(struct store *s, struct message *m)
{
    struct buf offsets = BUF_EMPTY;
    size_t made = name_is_lmq(m->topic) && !queues_find(&s->queues, m->topic, m->queue_id);
    if (!m->keys_known) m->further_queues = properties_get(m->properties, LMQ_NAMES);
    if (!redispatch_has_lmq(m)) m->further_queues = (struct slice){NULL, 0};
    err_t e = m->further_queues.n ? list_offsets(s, m->further_queues, &offsets, &made) : NULL;
    if (!e && made) e = check_count(s, made);
    if (!e && m->further_queues.n) {
        put_properties(m->properties, buf_slice(&offsets), &s->scratch);
        m->properties = buf_slice(&s->scratch);
    }
    buf_done(&offsets);
    return e;
}

static bool is_among(const struct buf *queues, const struct consume_queue *q)
{
    for (size_t at = 0; at < queues->n; at += sizeof q)
        if (memcmp(queues->p + at, &q, sizeof q) == 0) return true;
    return false;
}

void lmq_append(struct store *s, struct slice names, const struct waiting_record *own)
{
    struct waiting_record more = *own;
    struct buf queues = BUF_EMPTY;
    struct slice name;
    assert(own->count == 1);
    buf_put(&queues, &more.queue, sizeof more.queue);
    while (slice_split(&names, ',', &name)) {
        more.queue = queues_get(&s->queues, name, LMQ_QUEUE_ID, QUEUE_OF_SINGLES);
        if (is_among(&queues, more.queue)) continue;
        buf_put(&queues, &more.queue, sizeof more.queue);
        more.queue_offset = more.queue->next++;
        *(struct waiting_record *)fifo_push(&s->records, sizeof more) = more;
    }
    buf_done(&queues);
}
