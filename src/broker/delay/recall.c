/* A message that waits for a time is taken back: another one, due at the same time, says so. Facts: docs/protocol/remoting.md 4 (370) */
#include "broker/handlers.h"
#include "broker/intake/put.h"

#include "base/log.h"
#include "codec/properties.h"
#include "codec/recall_handle.h"

#include <stdio.h>
#include <stdlib.h>

enum { KEY_MAX = 255 };

#define NOT_AVAILABLE "recall failed, broker service not available"

/* One that waits for the disk. */
struct pending_recall {
    struct broker *broker;
    struct call *call;
    size_t key_bytes;
    char key[KEY_MAX];
};

static void put_region(void *ctx, struct frame_writer *w) { frame_put(w, SLICE("MSG_REGION"), ((const struct broker *)ctx)->region); }

static void answer(struct broker *b, struct call *call, int32_t code, const char *remark)
{
    call_reply_more(call, code, remark, NULL, NULL, put_region, b, (struct slice){NULL, 0});
}

static void recalled(void *ctx, err_t e)
{
    struct pending_recall *p = ctx;
    struct recall_reply_header reply = {.msg_id = slice_of(p->key, p->key_bytes)};
    bool stored = !e || err_code(e) == ERR_FLUSH_DISK_TIMEOUT;
    if (stored) call_reply_more(p->call, RESPONSE_SUCCESS, NULL, &recall_reply_kind, &reply, put_region, p->broker, (struct slice){NULL, 0});
    else answer(p->broker, p->call, RESPONSE_SYSTEM_ERROR, "recall failed, execute error");
    err_free(e);
    free(p);
}

/* It becomes a property, and must not become several. */
static bool is_printable(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < ' ') return false;
    return true;
}

static void put_properties(struct broker *b, const struct recall_header *h, const struct recall_handle *handle, int64_t now_ms, struct buf *text)
{
    struct buf key = BUF_EMPTY;
    if (b->cfg->store.timer_delete_by_topic) {
        buf_put_slice(&key, handle->topic);
        buf_put_u8(&key, '+');
    }
    buf_put_slice(&key, handle->unique_key);
    properties_put(text, SLICE("TAGS"), SLICE("_RECALL_TAG_"));
    properties_put(text, SLICE("TIMER_DEL_UNIQKEY"), buf_slice(&key));
    properties_put(text, SLICE("UNIQ_KEY"), handle->unique_key);
    properties_put(text, SLICE("TIMER_DELIVER_MS"), handle->time_ms);
    buf_clear(&key);
    buf_put_i64_text(&key, now_ms);
    properties_put(text, SLICE("BORN_TIMESTAMP"), buf_slice(&key));
    if (is_printable(h->producer_group)) properties_put(text, SLICE("PGROUP"), h->producer_group);
    buf_done(&key);
}

static err_t put(struct broker *b, struct call *call, const struct recall_header *h, const struct recall_handle *handle)
{
    struct buf text = BUF_EMPTY;
    struct appended appended;
    int64_t now = tasks_wall_ms(b->tasks);
    put_properties(b, h, handle, now, &text);
    struct message m = {
        .topic = handle->topic, .born_ms = now, .born_host = *rpc_conn_remote(call->conn), .body = SLICE("0"), .properties = buf_slice(&text),
    };
    struct pending_recall *p = must_zero(sizeof *p);
    p->broker = b;
    p->call = call;
    p->key_bytes = handle->unique_key.n;
    memcpy(p->key, handle->unique_key.p, p->key_bytes);
    err_t e = intake_put(b, &m, recalled, p, &appended);
    if (e) free(p);   /* refused: recalled() will not run */
    buf_done(&text);
    return e;
}

/* What keeps the broker from it, as the original says it; NULL: nothing does. */
static const char *hindrance(struct broker *b, struct slice topic, int32_t *code, char text[static 400])
{
    const struct config_broker *cfg = &b->cfg->broker;
    *code = RESPONSE_NO_PERMISSION;
    if (!cfg->recall) return "recall failed, operation is forbidden";
    *code = RESPONSE_SERVICE_NOT_AVAILABLE;
    if (cfg->start_accept_send_ms > tasks_wall_ms(b->tasks)) return NOT_AVAILABLE;
    if (!(cfg->permission & PERM_WRITE) && !cfg->allow_recall) return NOT_AVAILABLE;
    *code = RESPONSE_TOPIC_NOT_EXIST;
    if (topics_find(b->topics, topic)) return NULL;
    snprintf(text, 400, "recall failed, the topic[%.*s] not exist", topic.n < 256 ? (int)topic.n : 256, (const char *)topic.p);
    return text;
}

/* What is wrong with the handle; NULL: nothing. */
static const char *check_handle(struct broker *b, struct slice topic, const struct recall_handle *handle)
{
    int64_t due_ms, left_ms;
    if (!slice_eq(handle->topic, topic)) return "recall failed, topic not match";
    if (!slice_eq(handle->broker, slice_text(b->cfg->broker.name))) return NOT_AVAILABLE;
    bool in_time = slice_to_i64(handle->time_ms, &due_ms) && !__builtin_sub_overflow(due_ms, tasks_wall_ms(b->tasks), &left_ms) && left_ms > 0
                && left_ms < b->cfg->store.timer_max_delay_s * 1000;
    return in_time ? NULL : "recall failed, timestamp invalid";
}

void handle_recall(struct broker *b, struct call *call)
{
    struct recall_header h;
    struct recall_handle handle;
    struct buf plain = BUF_EMPTY;
    char text[400];
    int32_t code;
    err_t e = header_decode(&recall_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    const char *why = hindrance(b, h.topic, &code, text);
    if (!why) {
        code = RESPONSE_ILLEGAL_OPERATION;
        bool good = recall_handle_decode(h.recall_handle, &plain, &handle) && handle.unique_key.n <= KEY_MAX;
        why = good ? check_handle(b, h.topic, &handle) : "recall handle is invalid";
    }
    if (!why && (e = put(b, call, &h, &handle))) {
        log_debug("recall.failed error=%s text=\"%s\"", err_name(err_code(e)), err_text(e));
        code = RESPONSE_SYSTEM_ERROR;
        why = "recall failed, execute error";
    }
    if (why) answer(b, call, code, why);
    err_free(e);
    buf_done(&plain);
}
