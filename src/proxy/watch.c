/* What polls wait for: a question at a broker, one for all of the same key. */
#include "proxy/poll_state.h"

#include "base/log.h"
#include "codec/requests.h"

#include <stdlib.h>

/* A question that was answered yes in vain is put again at once the first time, then later and later; one that was refused a while later. */
enum {
    USELESS_PAUSE_MS = 10, USELESS_PAUSES = 6, REFUSED_PAUSE_MS = 1000,
    SHORTEST_QUESTION_MS = 60,       /* brokers answer what is shorter at once, and questions would follow each other without a pause */
};

static void watch_free(struct watch *w)
{
    timer_stop(w->proxy->tasks, &w->pause);
    map_remove(&w->proxy->polls, slice_text(w->key));
    free(w->key);
    free(w);
}

void watch_leave(struct branch *b)
{
    struct watch *w = b->watch;
    if (!w) return;
    bool ready = b->ready;
    list_remove(&b->node);
    b->watch = NULL;
    b->ready = false;
    if (ready) w->taken = false;
    if (list_empty(&w->waiting) && !w->asked && !w->taken) watch_free(w);
    else if (ready) watch_look(w);
}

/* Polls of one key may take each other's answers. */
static struct buf watch_key(const struct poll *p, const struct branch *b)
{
    const struct poll_question *q = &p->q;
    struct buf key = BUF_EMPTY;
    buf_printf(&key, "%.*s %.*s %s %d %.*s %.*s", SLICE_ARG(q->group), SLICE_ARG(q->topic), b->broker->name, q->fifo, SLICE_ARG(q->filter.type),
               SLICE_ARG(q->filter.text));
    if (q->fifo && q->attempt_id.p) buf_printf(&key, " %.*s", SLICE_ARG(q->attempt_id));   /* it may see what others may not */
    return key;
}

static void look_again(void *watch) { watch_look(watch); }

void watch_wait(struct branch *b)
{
    struct proxy *proxy = b->poll->request->proxy;
    struct buf key = watch_key(b->poll, b);
    struct watch *w = map_get(&proxy->polls, buf_slice(&key));
    if (!w) {
        w = must_zero(sizeof *w);
        w->proxy = proxy;
        w->key = must_dup(buf_slice(&key));
        w->broker = b->broker;
        list_init(&w->waiting);
        timer_init(&w->pause, look_again, w);
        map_put(&proxy->polls, buf_slice(&key), w);
    }
    b->watch = w;
    list_add(&w->waiting, &b->node);
    buf_done(&key);
}

/* The poll of a watch that waits longest from now on; its words are those of all. NULL: nobody waits. */
static struct poll *longest(const struct watch *w)
{
    struct poll *best = NULL;
    LIST_EACH(&w->waiting, node) {
        struct poll *p = LIST_OWNER(node, struct branch, node)->poll;
        if (!best || p->ends_ms > best->ends_ms) best = p;
    }
    return best;
}

static void pause_watch(struct watch *w, int64_t ms) { timer_start(w->proxy->tasks, &w->pause, ms); }

/* Somebody who waits and does not look elsewhere; else anybody. */
static struct branch *next_waiting(struct watch *w)
{
    struct branch *any = NULL;
    LIST_EACH(&w->waiting, node) {
        struct branch *b = LIST_OWNER(node, struct branch, node);
        if (!b->poll->popping) return b;
        if (!any) any = b;
    }
    return any;
}

/* There are messages at the broker: one poll looks. */
static void give(struct watch *w)
{
    struct branch *b = next_waiting(w);
    if (!b) {
        w->taken = false;
        watch_free(w);
        return;
    }
    w->taken = true;
    b->ready = true;
    list_remove(&b->node);
    list_add(&w->waiting, &b->node);   /* the others come first the next time */
    if (!b->poll->popping) poll_look(b->poll);
}

static void refused(struct watch *w, bool full)
{
    w->full = full;
    struct branch *b = list_empty(&w->waiting) ? NULL : LIST_OWNER(list_first(&w->waiting), struct branch, node);
    if (!b) {
        watch_free(w);
    } else if (full && !b->poll->popping && poll_is_full(b->poll)) {
        pause_watch(w, REFUSED_PAUSE_MS);
        poll_end_full(b->poll);
    } else {
        pause_watch(w, REFUSED_PAUSE_MS);
    }
}

static void on_notification(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct watch *w = ctx;
    struct notification_reply_header h = {0};
    w->asked = false;
    if (!e && reply->frame->code != RESPONSE_SUCCESS) e = err_new(ERR_REFUSED, "%.*s", SLICE_ARG(reply->frame->remark));
    if (!e) e = header_decode(&notification_reply_kind, reply->frame, &h);
    if (e) {
        log_debug("notification.failed broker=\"%s\" why=\"%s\"", w->broker->name, err_text(e));
        err_free(e);
        refused(w, false);
    } else if (h.has_msg) {
        w->full = false;
        give(w);
    } else if (h.polling_full) {
        refused(w, true);
    } else if (list_empty(&w->waiting)) {
        watch_free(w);
    } else {
        w->full = false;
        w->useless = 0;
        watch_look(w);
    }
}

static void ask(struct watch *w, struct poll *p)
{
    const struct poll_question *q = &p->q;
    int64_t wait_ms = poll_left_ms(p);
    struct notification_header h = {
        .consumer_group = q->group, .topic = q->topic, .queue_id = ALL_QUEUES, .poll_time = wait_ms, .born_time = 0, .order = q->fifo,
        .attempt_id = q->attempt_id, .exp_type = q->filter.type, .exp = q->filter.text, .bname = slice_text(w->broker->name),
        .group_order = q->fifo && w->proxy->cfg->group_order,
    };
    header_set(&h, notification, order);
    if (h.group_order) header_set(&h, notification, group_order);
    struct rpc_request request = {
        .code = REQUEST_NOTIFICATION, .kind = &notification_kind, .header = &h, .timeout_ms = wait_ms + POLL_SLACK_MS, .done = on_notification, .ctx = w,
    };
    w->asked = true;
    proxy_count(w->proxy, METRIC_POLLS_NOTIFIED, 1);
    broker_request(w->broker, &request);
}

void watch_look(struct watch *w)
{
    struct poll *p = longest(w);
    if (w->asked || w->taken || w->pause.armed || w->proxy->ending) return;
    if (p && poll_left_ms(p) >= SHORTEST_QUESTION_MS) ask(w, p);
}

void watch_in_vain(struct branch *b)
{
    struct watch *w = b->watch;
    if (!w || !b->ready) return;
    b->ready = false;
    w->taken = false;
    proxy_count(w->proxy, METRIC_POLLS_USELESS, 1);
    int64_t pause_ms = w->useless ? USELESS_PAUSE_MS << (w->useless - 1) : 0;
    if (w->useless < USELESS_PAUSES) w->useless++;
    if (pause_ms) pause_watch(w, pause_ms);
    else watch_look(w);
}

void watch_served(struct branch *b, bool more)
{
    struct watch *w = b->watch;
    if (!w) return;
    if (b->ready) w->taken = false;
    w->useless = 0;
    list_remove(&b->node);
    b->watch = NULL;
    b->ready = false;
    if (more && !w->taken && !list_empty(&w->waiting)) give(w);
    else if (list_empty(&w->waiting) && !w->asked && !w->taken) watch_free(w);
    else watch_look(w);
}
