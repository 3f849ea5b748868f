#include "flow/pop_kit.h"

#include "codec/properties.h"
#include "codec/record.h"

#include <stdio.h>

struct pop_header pop_fields(struct flow *f)
{
    return (struct pop_header){
        .consumer_group = SLICE("G"), .topic = SLICE("T"), .queue_id = -1, .max_msg_nums = 32, .invisible_time = 60000,
        .born_time = tasks_wall_ms(rpc_tasks(f->loop)), .exp_type = SLICE("TAG"), .exp = SLICE("*"),
    };
}

/* As clients do it: by the place of a message in its queue, of which the infos tell the pop. */
static int64_t start_of(struct slice info, enum pop_kind kind, int32_t queue_id)
{
    struct pop_info_item item;
    bool broken;
    int64_t start = -1;
    while (pop_info_next(&info, &item, &broken))
        if (item.kind == kind && item.queue_id == queue_id) EXPECT(pop_info_next_offset(&item.value, &start, &broken));
    EXPECT(!broken);
    return start;
}

static bool is_named(struct slice info, enum pop_kind kind, int32_t queue_id, int64_t wanted)
{
    struct pop_info_item item;
    bool broken;
    int64_t offset;
    while (pop_info_next(&info, &item, &broken))
        while (item.kind == kind && item.queue_id == queue_id && pop_info_next_offset(&item.value, &offset, &broken))
            if (offset == wanted) return true;
    return false;
}

static int32_t count_of(struct slice info, int32_t queue_id, int64_t offset)
{
    struct pop_info_item item;
    bool broken;
    int32_t count = 0;
    while (pop_info_next(&info, &item, &broken))
        if (item.offset == offset && item.queue_id == queue_id) EXPECT(slice_to_i32(item.value, &count));
    return count;
}

static void take_handle(struct popped *p, struct slice topic, struct popped_message *m)
{
    struct slice ck = properties_get(m->m.properties, SLICE("POP_CK"));
    struct buf real = BUF_EMPTY;
    if (ck.n) {
        EXPECT(receipt_handle_parse(ck, &m->handle));
    } else {
        m->handle = (struct receipt_handle){
            .start_offset = start_of(p->reply.start_offset_info, pop_kind_of(m->m.topic), m->m.queue_id), .pop_ms = p->reply.pop_time,
            .invisible_ms = p->reply.invisible_time, .revive_queue = p->reply.revive_qid, .kind = pop_kind_of(m->m.topic),
            .broker = SLICE("broker-a"), .queue_id = m->m.queue_id, .offset = m->m.queue_offset, .log_offset = m->m.log_offset,
        };
    }
    EXPECT(m->handle.start_offset >= 0);
    EXPECT(is_named(p->reply.msg_offset_info, m->handle.kind, m->m.queue_id, m->m.queue_offset));
    m->count = count_of(p->reply.order_count_info, m->m.queue_id, m->m.queue_offset);
    if (ck.n || m->handle.kind == POP_NORMAL) pop_topic_name(m->handle.kind, SLICE("G"), topic, &real);
    else buf_put_slice(&real, m->m.topic);
    snprintf(m->topic, sizeof m->topic, "%.*s", SLICE_ARG(buf_slice(&real)));
    buf_done(&real);
}

static struct popped take(struct flow *f, const struct pop_header *h, struct answer *a)
{
    struct popped p = {.code = -1};
    if (!a) return p;
    p.code = a->frame.code;
    snprintf(p.remark, sizeof p.remark, "%.*s", SLICE_ARG(a->frame.remark));
    EXPECT_OK(header_decode(&pop_reply_kind, &a->frame, &p.reply));
    p.reply.start_offset_info = arena_copy(&f->arena, p.reply.start_offset_info);
    p.reply.msg_offset_info = arena_copy(&f->arena, p.reply.msg_offset_info);
    p.reply.order_count_info = arena_copy(&f->arena, p.reply.order_count_info);
    struct slice rest = arena_copy(&f->arena, a->frame.body);
    while (rest.n) {
        struct popped_message *m = &p.messages[p.count++];
        EXPECT(p.count <= POPPED_MAX);
        EXPECT_EQ(record_read(rest, &m->m), RECORD_WHOLE);
        EXPECT(record_body_intact(&m->m));
        rest = slice_skip(rest, record_read_size(&m->m));
        take_handle(&p, h->topic, m);
    }
    EXPECT_EQ(p.code == RESPONSE_SUCCESS, p.count > 0);
    answer_free(a);
    return p;
}

int32_t pop_begin_by(struct flow *f, struct caller *c, const struct pop_header *h)
{
    (void)f;
    return caller_request(c, REQUEST_POP_MESSAGE, &pop_kind, h, SLICE(""));
}

struct popped popped_by(struct flow *f, struct caller *c, const struct pop_header *h, int32_t opaque, int64_t limit_ms)
{
    return take(f, h, caller_reply(c, opaque, limit_ms));
}

struct popped pop_with(struct flow *f, const struct pop_header *h) { return popped_by(f, f->caller, h, pop_begin_by(f, f->caller, h), 30000); }

struct popped pop_once(struct flow *f)
{
    struct pop_header h = pop_fields(f);
    return pop_with(f, &h);
}

int32_t pop_ack_remark(struct flow *f, const char *group, const struct popped_message *m, char *remark)
{
    struct buf handle = BUF_EMPTY;
    receipt_handle_write_short(&m->handle, &handle);
    struct ack_header h = {
        .consumer_group = slice_text(group), .topic = slice_text(m->topic), .queue_id = m->handle.queue_id, .extra_info = buf_slice(&handle),
        .offset = m->handle.offset,
    };
    int32_t code = flow_code(f, REQUEST_ACK_MESSAGE, &ack_kind, &h, "", remark);
    buf_done(&handle);
    return code;
}

int32_t pop_ack(struct flow *f, const char *group, const struct popped_message *m) { return pop_ack_remark(f, group, m, NULL); }

/* One entry for each check point, as clients send them. */
int32_t pop_ack_batch(struct flow *f, const char *group, const struct popped_message *messages, size_t count)
{
    struct batch_ack acks[POPPED_MAX];
    struct buf texts[POPPED_MAX];
    bool taken[POPPED_MAX] = {false};
    struct batch_ack_body body = {.broker = SLICE("broker-a")};
    struct buf out = BUF_EMPTY;
    static const char *const kinds[] = {"0", "1", "2"};
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const struct receipt_handle *h = &messages[i].handle;
        struct ack_bits bits = {{0}};
        if (taken[i]) continue;
        for (size_t k = i; k < count; k++) {
            const struct receipt_handle *other = &messages[k].handle;
            bool same = other->queue_id == h->queue_id && other->start_offset == h->start_offset && other->pop_ms == h->pop_ms;
            if (!same || strcmp(messages[k].topic, messages[i].topic)) continue;
            ack_bits_add(&bits, (size_t)(other->offset - h->start_offset));
            taken[k] = true;
        }
        texts[n] = BUF_EMPTY;
        batch_ack_bits_write(&bits, &texts[n]);
        acks[n] = (struct batch_ack){
            .bits = buf_slice(&texts[n]), .group = slice_text(group), .retry = slice_text(kinds[h->kind]), .topic = SLICE("T"),
            .start_offset = h->start_offset, .pop_ms = h->pop_ms, .invisible_ms = h->invisible_ms, .queue_id = h->queue_id,
            .revive_queue = h->revive_queue,
        };
        n++;
    }
    body.acks.items = acks;
    body.acks.count = n;
    bean_encode(&batch_ack_bean, &body, JSON_RAW, &out);
    struct answer *a = caller_call(f->caller, REQUEST_BATCH_ACK_MESSAGE, NULL, NULL, buf_slice(&out));
    int32_t code = a->frame.code;
    answer_free(a);
    buf_done(&out);
    for (size_t i = 0; i < n; i++) buf_done(&texts[i]);
    return code;
}

int32_t pop_change(struct flow *f, const char *group, struct popped_message *m, int64_t invisible_ms)
{
    struct buf handle = BUF_EMPTY;
    struct change_invisible_reply_header reply;
    receipt_handle_write_short(&m->handle, &handle);
    struct change_invisible_header h = {
        .consumer_group = slice_text(group), .topic = slice_text(m->topic), .queue_id = m->handle.queue_id, .extra_info = buf_slice(&handle),
        .offset = m->handle.offset, .invisible_time = invisible_ms,
    };
    struct answer *a = caller_call(f->caller, REQUEST_CHANGE_MESSAGE_INVISIBLETIME, &change_invisible_kind, &h, SLICE(""));
    int32_t code = a->frame.code;
    EXPECT_OK(header_decode(&change_invisible_reply_kind, &a->frame, &reply));
    if (code == RESPONSE_SUCCESS && reply.pop_time) {
        m->handle.pop_ms = reply.pop_time;
        m->handle.invisible_ms = reply.invisible_time;
        m->handle.revive_queue = reply.revive_qid;
        if (reply.revive_qid != ORDERED_REVIVE_QUEUE) m->handle.start_offset = m->handle.offset;
    }
    answer_free(a);
    buf_done(&handle);
    return code;
}

struct notification_header note_fields(struct flow *f)
{
    return (struct notification_header){
        .consumer_group = SLICE("G"), .topic = SLICE("T"), .queue_id = -1, .born_time = tasks_wall_ms(rpc_tasks(f->loop)),
    };
}

struct noted noted_by(struct caller *c, int32_t opaque, int64_t limit_ms)
{
    struct noted n = {.code = -1};
    struct notification_reply_header reply;
    struct answer *a = caller_reply(c, opaque, limit_ms);
    if (!a) return n;
    n.code = a->frame.code;
    EXPECT_OK(header_decode(&notification_reply_kind, &a->frame, &reply));
    n.has_msg = reply.has_msg;
    n.full = reply.polling_full;
    answer_free(a);
    return n;
}

struct noted note_with(struct flow *f, const struct notification_header *h)
{
    return noted_by(f->caller, caller_request(f->caller, REQUEST_NOTIFICATION, &notification_kind, h, SLICE("")), 30000);
}
