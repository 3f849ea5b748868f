/* How long sends take: checkMsgSendRT, sendMsgStatus, clusterRT. One after the other, as mqadmin sends them. */
#include "admin/message/message.h"

enum { ROUND_MOST = 100000, BODY_MOST = 4 << 20 };

/* What is sent to, in turn. */
struct target {
    struct admin_broker broker;
    int32_t queue_id;
    int64_t good, bad, sum_ms;
};

struct round_trip {
    struct slice topic;                 /* p NULL: each broker's own, which has its name */
    struct slice body;
    int64_t amount, sent, sum_ms;
    BEAN_LIST(struct target) targets;
    int64_t sent_at_ms;
    bool averages;                      /* one row a target, not one a send; the first send does not count */
    struct table *rows;
};

static const struct column send_columns[] = {{"brokerName", CELL_TEXT}, {"queueId", CELL_NUMBER}, {"sendResult", CELL_TEXT},
                                             {"rt", CELL_NUMBER}};
static const struct column mean_columns[] = {
    {"clusterName", CELL_TEXT}, {"brokerName", CELL_TEXT}, {"rt", CELL_RATE}, {"successCount", CELL_NUMBER}, {"failCount", CELL_NUMBER},
};

static struct target *target_of(const struct round_trip *x, int64_t send) { return &x->targets.items[(size_t)(x->averages ? send / x->amount : send) % x->targets.count]; }

static int64_t all_sends(const struct round_trip *x) { return x->averages ? x->amount * (int64_t)x->targets.count : x->amount; }

static void report_means(struct job *j, const struct round_trip *x)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "brokers", mean_columns);
    for (size_t i = 0; i < x->targets.count; i++) {
        const struct target *one = &x->targets.items[i];
        int64_t counted = one->good > 1 ? one->good - 1 : one->good;
        row_text(t, one->broker.cluster);
        row_text(t, one->broker.name);
        row_rate(t, counted ? (double)one->sum_ms / (double)counted : 0);
        row_number(t, one->good);
        row_number(t, one->bad);
    }
    job_end(j);
}

static void end_round_trip(struct job *j)
{
    const struct round_trip *x = j->state;
    if (x->averages) {
        report_means(j, x);
        return;
    }
    outcome_rate(&j->outcome, "avgRT", x->amount ? (double)x->sum_ms / (double)x->amount : 0);
    job_end(j);
}

static void send_next(struct job *j);

static void on_sent(struct job *j)
{
    struct round_trip *x = j->state;
    const struct reply *r = j->replies.list.items[0];
    const struct send_reply_header *h = r->heard.header;
    struct target *t = target_of(x, x->sent);
    int64_t took = job_mono_ms(j) - x->sent_at_ms;
    if (r->code) t->bad++;
    else t->good++;
    if (!r->code && (!x->averages || t->good > 1)) t->sum_ms += took;
    x->sum_ms += took;
    if (!x->averages) {
        row_text(x->rows, t->broker.name);
        row_number(x->rows, h ? h->queue_id : t->queue_id);
        row_text(x->rows, r->code ? r->text : SLICE("SEND_OK"));
        row_number(x->rows, took);
        j->bad |= r->code != ERR_NONE;
    }
    x->sent++;
    if (j->progress && !(x->sent % 10)) j->progress(j->progress_ctx, x->sent, all_sends(x));
    send_next(j);
}

static void send_next(struct job *j)
{
    struct round_trip *x = j->state;
    if (x->sent >= all_sends(x)) {
        end_round_trip(j);
        return;
    }
    struct target *t = target_of(x, x->sent);
    struct sending s = {.topic = x->topic.p ? x->topic : t->broker.name, .body = x->body, .queue_id = t->queue_id};
    x->sent_at_ms = job_mono_ms(j);
    message_ask_send(j, &t->broker, &s, NULL);
    job_wait(j, on_sent);
}

static void begin_sends(struct job *j)
{
    struct round_trip *x = j->state;
    if (!x->averages) x->rows = OUTCOME_TABLE(&j->outcome, "sends", send_columns);
    if (x->targets.count) send_next(j);
    else job_fail(j, err_new(ERR_NOT_FOUND, "there is nowhere to send to"));
}

static void add_target(struct job *j, struct round_trip *x, const struct admin_broker *b, int32_t queue_id)
{
    struct target *t = arena_list_add(job_arena(j), (void **)&x->targets.items, &x->targets.count, sizeof *t);
    if (t) *t = (struct target){.broker = *b, .queue_id = queue_id};
}

static err_t read_size(struct job *j, struct round_trip *x, const char *amount, int64_t amount_unless, const char *size,
                       int64_t size_unless)
{
    int64_t bytes = 0;
    err_t e = param_i64(j->params, amount, amount_unless, &x->amount);
    if (!e) e = param_i64(j->params, size, size_unless, &bytes);
    if (!e && (x->amount < 1 || x->amount > ROUND_MOST)) e = err_new(ERR_USAGE, "--%s is 1 to %d", amount, ROUND_MOST);
    if (!e && (bytes < 1 || bytes > BODY_MOST)) e = err_new(ERR_USAGE, "--%s is 1 to %d", size, BODY_MOST);
    if (e) return e;
    uint8_t *body = job_take(j, (size_t)bytes);
    memset(body, 'a', (size_t)bytes);
    x->body = slice_of(body, (size_t)bytes);
    return NULL;
}

/* --- to all queues of a topic --- */

static void on_route(struct job *j)
{
    struct round_trip *x = j->state;
    for (size_t i = 0; i < j->route.queues.count; i++) {
        const struct route_queues *q = &j->route.queues.items[i];
        struct admin_broker b = {.name = q->broker, .address = job_address_of(j, q->broker)};
        for (int32_t id = 0; b.address.p && (q->perm & PERM_WRITE) && id < q->write_queues; id++) add_target(j, x, &b, id);
    }
    begin_sends(j);
}

static void check_rt(struct job *j)
{
    struct round_trip *x = job_take(j, sizeof *x);
    err_t e = read_size(j, x, "amount", 100, "size", 128);
    x->topic = slice_trim(job_param(j, "topic"));
    j->state = x;
    if (e) job_fail(j, e);
    else job_route(j, x->topic, true, on_route);
}

/* --- to one broker, and to all, each by the topic of its name --- */

static void on_own_route(struct job *j)
{
    struct round_trip *x = j->state;
    struct slice address = job_address_of(j, x->topic);
    struct admin_broker b = {.name = x->topic, .address = address};
    if (address.p) add_target(j, x, &b, 0);
    begin_sends(j);
}

static void send_status(struct job *j)
{
    struct round_trip *x = job_take(j, sizeof *x);
    err_t e = read_size(j, x, "count", 50, "messageSize", 128);
    x->topic = slice_trim(job_param(j, "brokerName"));
    j->state = x;
    if (e) job_fail(j, e);
    else job_route(j, x->topic, true, on_own_route);
}

static void on_brokers(struct job *j)
{
    struct round_trip *x = j->state;
    for (size_t i = 0; i < j->brokers.list.count; i++) add_target(j, x, &j->brokers.list.items[i].broker, 0);
    begin_sends(j);
}

static void cluster_rt(struct job *j)
{
    struct round_trip *x = job_take(j, sizeof *x);
    err_t e = read_size(j, x, "amount", 100, "size", 128);
    x->averages = true;
    j->state = x;
    if (e) job_fail(j, e);
    else job_brokers(j, on_brokers);
}

static const struct param check_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "the topic"},
    {"amount", "a", PARAM_VALUE, "N", "messages (default 100)"},
    {"size", "s", PARAM_VALUE, "BYTES", "of each (default 128)"},
    {.name = NULL},
};
static const struct param status_params[] = {
    {"brokerName", "b", PARAM_NEEDED, "NAME", "the broker's name; messages go to its topic of that name"},
    {"messageSize", "s", PARAM_VALUE, "BYTES", "of each (default 128)"},
    {"count", "c", PARAM_VALUE, "N", "messages (default 50)"},
    {.name = NULL},
};
static const struct param cluster_params[] = {
    {"amount", "a", PARAM_VALUE, "N", "messages to each broker; the first does not count (default 100)"},
    {"size", "s", PARAM_VALUE, "BYTES", "of each (default 128)"},
    {"cluster", "c", PARAM_VALUE, "CLUSTER", "its masters alone"},
    {"print log", "p", PARAM_VALUE, "BOOL", "is taken"},
    {"machine room", "m", PARAM_VALUE, "NAME", "is taken"},
    PARAM_INTERVAL("i", "again after so many seconds, until it is interrupted"),
    PARAM_ROUNDS,
    {.name = NULL},
};

const struct command message_rt_commands[] = {
    {.name = "checkMsgSendRT", .params = check_params, .start = check_rt, .timeout_ms = 600000,
     .summary = "how long sends to a topic take, queue by queue"},
    {.name = "sendMsgStatus", .params = status_params, .start = send_status, .timeout_ms = 600000,
     .summary = "how long sends to a broker take"},
    {.name = "clusterRT", .params = cluster_params, .start = cluster_rt, .timeout_ms = 600000,
     .summary = "how long sends to each broker take"},
    {.name = NULL},
};
