#include "flow/flow.h"

#include "codec/bean.h"
#include "codec/body_lists.h"
#include "codec/properties.h"
#include "codec/record.h"

#include <stdio.h>
#include <stdlib.h>

const char *const flow_host = "10.0.0.1";
static const char *const client_ip = "10.0.0.9";
/* As in the recordings, so that ids and times can be compared with theirs. */
enum { RECORDED_WALL_S = 1795996340 };
/* Jobs that workers still have when a broker is freed give back their memory when they end. */
enum { WORK_ENDS_MS = 50 };
#define RECORDED_ADDRESS "127.0.0.2:10911"

/* --- start and stop --- */

static void set(struct config *c, const char *pair)
{
    const char *mark = strchr(pair, '=');
    EXPECT_OK(config_set(c, slice_of(pair, (size_t)(mark - pair)), slice_text(mark + 1)));
}

struct starting {
    struct flow *flow;
    struct loop *loop;
    err_t e;
};

static void start_broker(void *ctx)
{
    struct starting *s = ctx;
    sim_fs_warm(s->flow->disk);   /* a start may wait for the disk */
    struct broker_options o = {.loop = s->loop, .fs = sim_fs_disk(s->flow->disk), .config = &s->flow->config, .seed = 7};
    EXPECT_OK(addr_parse(SLICE("10.0.0.1:10911"), &o.listen));
    EXPECT_OK(addr_parse(slice_text(s->flow->advertised), &o.advertised));
    s->e = broker_new(&o, &s->flow->broker);
}

/* The index is read by workers alone, which may wait. */
void flow_evict(struct flow *f)
{
    sim_fs_evict(f->disk, "/store/commitlog");
    sim_fs_evict(f->disk, "/store/consumequeue");
    sim_fs_evict(f->disk, "/store/batchconsumequeue");
}

/* The whole suite runs a second time like this (CMakeLists.txt): now and then nothing is in memory any more, and a broker that
 * touches what is not dies of it. Not each turn, or nobody would ever come to an end. */
static void evict(void *flow)
{
    enum { TURNS = 7 };
    struct flow *f = flow;
    if (++f->turns % TURNS == 0 && !f->stays_warm) flow_evict(f);
}

static void evict_from_now_on(struct flow *f)
{
    if (!getenv("FLOW_EVICTS")) return;
    f->evicts = (struct turn_hook){.run = evict, .ctx = f};
    tasks_on_turn_end(rpc_tasks(f->loop), &f->evicts);
}

static void begin(struct flow *f)
{
    f->process = sim_process_new(f->sim, flow_host);
    f->loop = sim_loop_new(f->process);
    struct starting s = {.flow = f, .loop = f->loop};
    sim_call(s.loop, start_broker, &s);
    EXPECT_OK(s.e);
    evict_from_now_on(f);
    f->caller = caller_open(f->sim, f->client_loop, flow_host, FLOW_PORT);
}

struct flow *flow_start(const char *const *settings) { return flow_start_at(RECORDED_ADDRESS, settings); }

struct flow *flow_start_at(const char *advertised, const char *const *settings)
{
    struct flow *f = must_zero(sizeof *f);
    struct sim_options o = sim_options_default(1);
    o.start_wall_ms = (int64_t)RECORDED_WALL_S * 1000;
    if (getenv("FLOW_EVICTS")) o.window_min_bytes = o.window_max_bytes;   /* an answer that waits for its client is not fetched again */
    f->advertised = advertised;
    f->sim = sim_new(&o);
    f->client_loop = sim_loop_new(sim_process_new(f->sim, client_ip));
    f->disk = sim_fs_new(1);
    f->arena = ARENA_EMPTY;
    config_init(&f->config, CONFIG_BROKER);
    static const char *const usual[] = {
        "brokerName=broker-a", "storePathRootDir=/store", "mappedFileSizeCommitLog=1048576", "mappedFileSizeConsumeQueue=2000",
        "flushDiskType=ASYNC_FLUSH", "traceTopicEnable=true",
    };
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) set(&f->config, usual[i]);
    for (; settings && *settings; settings++) set(&f->config, *settings);
    begin(f);
    return f;
}

static void free_broker(void *ctx)
{
    struct flow *f = ctx;
    EXPECT_OK(broker_free(f->broker));
    f->broker = NULL;
}

void flow_free_broker(struct flow *f)
{
    if (f->broker) sim_call(f->loop, free_broker, f);
}

static void end(struct flow *f)
{
    flow_free_broker(f);
    caller_close(f->caller);
    sim_run_for(f->sim, WORK_ENDS_MS);
}

void flow_stop(struct flow *f)
{
    end(f);
    sim_free(f->sim);
    sim_fs_free(f->disk);
    config_done(&f->config);
    arena_done(&f->arena);
    free(f);
}

void flow_restart(struct flow *f)
{
    end(f);
    sim_process_kill(f->process);
    begin(f);
}

static void crash(struct flow *f)
{
    sim_process_kill(f->process);
    err_t e = broker_free(f->broker);   /* releases memory; the disk does not hear of it */
    err_free(e);
    caller_close(f->caller);
    sim_fs_restart(f->disk);
    begin(f);
}

void flow_crash(struct flow *f)
{
    sim_fs_stop(f->disk);
    crash(f);
}

void flow_cut_power(struct flow *f)
{
    sim_fs_cut_power(f->disk);
    crash(f);
}

struct caller *flow_caller(struct flow *f) { return caller_open(f->sim, f->client_loop, flow_host, FLOW_PORT); }

/* --- requests --- */

static void copy_text(char *out, size_t size, struct slice s) { snprintf(out, size, "%.*s", SLICE_ARG(s)); }

int32_t flow_code(struct flow *f, int32_t code, const struct header_kind *kind, const void *header, const char *body, char *remark)
{
    struct answer *a = caller_call(f->caller, code, kind, header, slice_text(body));
    int32_t got = a->frame.code;
    if (remark) copy_text(remark, 512, a->frame.remark);
    answer_free(a);
    return got;
}

bool flow_is_there(struct flow *f, const char *path)
{
    struct file_info info;
    err_t e = fs_info(sim_fs_disk(f->disk), path, &info);
    bool there = !e;
    err_free(e);
    return there;
}

void flow_make_topic(struct flow *f, const char *topic, int32_t queues) { flow_make_topic_with(f, topic, queues, ""); }

void flow_make_topic_with(struct flow *f, const char *topic, int32_t queues, const char *attributes)
{
    struct create_topic_header h = {
        .topic = slice_text(topic), .default_topic = SLICE("TBW102"), .read_queue_nums = queues, .write_queue_nums = queues, .perm = 6,
        .topic_filter_type = SLICE("SINGLE_TAG"), .attributes = slice_text(attributes),
    };
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_AND_CREATE_TOPIC, &create_topic_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
}

struct slice flow_properties(const char *pairs)
{
    static char text[70000];
    size_t n = strlen(pairs);
    memcpy(text, pairs, n);
    for (size_t i = 0; i < n; i++) text[i] = pairs[i] == '=' ? PROPERTY_NAME_END : pairs[i] == ';' ? PROPERTY_END : pairs[i];
    if (n) text[n++] = PROPERTY_END;
    return slice_of(text, n);
}

struct send_header flow_send_fields(const char *topic, int32_t queue_id)
{
    return (struct send_header){
        .topic = slice_text(topic), .queue_id = queue_id, .producer_group = SLICE("P"), .default_topic = SLICE("TBW102"),
        .default_topic_queue_nums = 4, .born_timestamp = 1795996348596,
    };
}

struct sent flow_send_header(struct flow *f, int32_t code, const struct send_header *h, struct slice body)
{
    const struct header_kind *kind = code == REQUEST_SEND_MESSAGE ? &send_kind : &send_v2_kind;
    struct answer *a = caller_call(f->caller, code, kind, h, body);
    struct sent s = {.code = a->frame.code};
    struct send_reply_header reply;
    copy_text(s.remark, sizeof s.remark, a->frame.remark);
    if (s.code == RESPONSE_SUCCESS) {
        EXPECT_OK(header_decode(&send_reply_kind, &a->frame, &reply));
        s.queue_offset = reply.queue_offset;
        s.queue_id = reply.queue_id;
        copy_text(s.msg_id, sizeof s.msg_id, reply.msg_id);
        copy_text(s.transaction_id, sizeof s.transaction_id, reply.transaction_id);
        copy_text(s.batch_id, sizeof s.batch_id, reply.batch_uniq_id);
        copy_text(s.recall_handle, sizeof s.recall_handle, reply.recall_handle);
    }
    answer_free(a);
    return s;
}

struct sent flow_send(struct flow *f, const char *topic, int32_t queue_id, const char *properties, const char *body)
{
    struct send_header h = flow_send_fields(topic, queue_id);
    h.properties = flow_properties(properties);
    return flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, slice_text(body));
}

void flow_batch_add(struct buf *batch, struct slice properties, const char *body)
{
    size_t n = strlen(body);
    buf_put_be32(batch, (uint32_t)(4 + 4 + 4 + 4 + 4 + n + 2 + properties.n));
    buf_put_be32(batch, 0);
    buf_put_be32(batch, 0);
    buf_put_be32(batch, 0);
    buf_put_be32(batch, (uint32_t)n);
    buf_put(batch, body, n);
    buf_put_be16(batch, (uint16_t)properties.n);
    buf_put_slice(batch, properties);
}

int32_t flow_send_begin(struct flow *f, struct caller *c, const char *topic, const char *body)
{
    (void)f;
    struct send_header h = flow_send_fields(topic, 0);
    return caller_request(c, REQUEST_SEND_MESSAGE_V2, &send_v2_kind, &h, slice_text(body));
}

/* --- pulls --- */

static struct pull_header pull_fields(const char *topic, int32_t queue_id, int64_t offset, const char *tags)
{
    struct pull_header h = {
        .topic = slice_text(topic), .consumer_group = SLICE("G"), .queue_id = queue_id, .queue_offset = offset, .max_msg_nums = 32,
        .sys_flag = 4, .subscription = slice_text(tags), .expression_type = SLICE("TAG"),
    };
    return h;
}

static void take_messages(struct flow *f, struct slice body, struct pulled *out)
{
    struct slice rest = arena_copy(&f->arena, body);
    while (rest.n) {
        struct message *m = &out->messages[out->count++];
        EXPECT_EQ(record_read(rest, m), RECORD_WHOLE);
        EXPECT(record_body_intact(m));
        rest = slice_skip(rest, record_read_size(m));
    }
}

static struct pulled take_pulled(struct flow *f, struct answer *a)
{
    struct pulled p = {.code = -1};
    struct pull_reply_header reply;
    if (!a) return p;
    p.code = a->frame.code;
    copy_text(p.remark, sizeof p.remark, a->frame.remark);
    err_t e = header_decode(&pull_reply_kind, &a->frame, &reply);
    if (e) {
        err_free(e);   /* a refusal carries no offsets */
    } else {
        p.next = reply.next_begin_offset;
        p.min = reply.min_offset;
        p.max = reply.max_offset;
    }
    if (p.code == RESPONSE_SUCCESS) take_messages(f, a->frame.body, &p);
    answer_free(a);
    return p;
}

struct pulled flow_pull_header(struct flow *f, const struct pull_header *h)
{
    return take_pulled(f, caller_call(f->caller, REQUEST_PULL_MESSAGE, &pull_kind, h, (struct slice){NULL, 0}));
}

struct pulled flow_pull(struct flow *f, const char *topic, int32_t queue_id, int64_t offset, const char *tags)
{
    struct pull_header h = pull_fields(topic, queue_id, offset, tags);
    return flow_pull_header(f, &h);
}

int32_t flow_pull_waiting(struct flow *f, const char *topic, int32_t queue_id, int64_t offset, const char *tags, int64_t wait_ms)
{
    struct pull_header h = pull_fields(topic, queue_id, offset, tags);
    h.sys_flag = 6;
    h.suspend_timeout_millis = wait_ms;
    return caller_request(f->caller, REQUEST_PULL_MESSAGE, &pull_kind, &h, (struct slice){NULL, 0});
}

struct pulled flow_pulled(struct flow *f, int32_t opaque, int64_t limit_ms) { return take_pulled(f, caller_reply(f->caller, opaque, limit_ms)); }

/* --- clients --- */

void flow_subscribe(struct flow *f, struct caller *c, const char *client_id, const char *group, const char *topic, const char *tags, int64_t version)
{
    (void)f;
    struct buf body = BUF_EMPTY;
    struct arena arena = ARENA_EMPTY;
    struct subscription s;
    EXPECT_OK(subscription_parse(slice_text(topic), slice_text(tags), &arena, &s));
    s.version = version;
    struct heartbeat_consumer consumer = {.group = slice_text(group), .type = CONSUME_PASSIVELY, .model = MODEL_CLUSTERING, .from = FROM_LAST_OFFSET};
    consumer.subscriptions.items = &s;
    consumer.subscriptions.count = 1;
    struct heartbeat hb = {.client_id = slice_text(client_id)};
    hb.consumers.items = &consumer;
    hb.consumers.count = 1;
    bean_encode(&heartbeat_bean, &hb, JSON_RAW, &body);
    struct answer *a = caller_call(c, REQUEST_HEART_BEAT, NULL, NULL, buf_slice(&body));
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    answer_free(a);
    buf_done(&body);
    arena_done(&arena);
}

int64_t flow_offset(struct flow *f, const char *group, const char *topic, int32_t queue_id)
{
    struct query_offset_header h = {.consumer_group = slice_text(group), .topic = slice_text(topic), .queue_id = queue_id};
    header_set(&h, query_offset, set_zero_if_not_found);
    struct answer *a = caller_call(f->caller, REQUEST_QUERY_CONSUMER_OFFSET, &query_offset_kind, &h, (struct slice){NULL, 0});
    struct query_offset_reply_header reply = {.offset = -1};
    if (a->frame.code == RESPONSE_SUCCESS) EXPECT_OK(header_decode(&query_offset_reply_kind, &a->frame, &reply));
    answer_free(a);
    return reply.offset;
}

int64_t flow_metric(struct flow *f, const char *name)
{
    struct answer *a = caller_call(f->caller, REQUEST_GET_BROKER_RUNTIME_INFO, NULL, NULL, (struct slice){NULL, 0});
    struct arena arena = ARENA_EMPTY;
    struct kv_table table;
    int64_t value = INT64_MIN;
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    EXPECT_OK(bean_decode(&kv_table_bean, a->frame.body, &arena, "runtime", &table));
    for (size_t i = 0; i < table.pairs.count; i++)
        if (slice_eq(table.pairs.items[i].key, slice_text(name))) EXPECT(slice_to_i64(table.pairs.items[i].value, &value));
    if (value == INT64_MIN) fail_msg("no value %s", name);
    arena_done(&arena);
    answer_free(a);
    return value;
}

struct seeds flow_seeds(uint64_t usual)
{
    const char *first = getenv("SEED"), *many = getenv("SEEDS");
    struct seeds s = {first ? strtoull(first, NULL, 10) : 1, 0};
    s.end = s.first + (many ? strtoull(many, NULL, 10) : first ? 1 : usual);
    return s;
}
