/* metrics_flow.c - what a broker tells of known traffic to whoever scrapes it. */
#include "flow/pop_kit.h"

#include "base/log.h"
#include "base/metric_text.h"
#include "os/scrape.h"
#include "rpc/watch.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const scraped[] = {"metricsExporterType=PROM", "metricsLabel=dc:d1", NULL};
#define OURS "cluster=\"DefaultCluster\","
#define NODE "node_id=\"broker-a\",node_type=\"broker\",otel_scope_name=\"broker-meter\""

struct look {
    struct flow *flow;
    struct scrape scrape;
    struct buf text;
    bool over;
};

static void page_came(struct scrape *s) { LIST_OWNER(s, struct look, scrape)->over = true; }

static void begin_look(void *ctx)
{
    struct look *l = ctx;
    l->scrape.asker = &l->flow->loop->tasks;
    l->scrape.done = page_came;
    broker_scrape(l->flow->broker, &l->scrape);
}

static bool is_over(void *ctx) { return ((struct look *)ctx)->over; }

/* The whole page, ended by a 0. */
static struct buf look(struct flow *f)
{
    struct look l = {.flow = f, .scrape = {.page = METRIC_PAGE_EMPTY}, .text = BUF_EMPTY};
    sim_call(f->loop, begin_look, &l);
    EXPECT(sim_run_until(f->sim, is_over, &l, 10000));
    metric_page_write(&l.scrape.page, &l.text);
    metric_page_done(&l.scrape.page);
    buf_put_u8(&l.text, 0);
    return l.text;
}

static bool has(const struct buf *page, const char *part) { return strstr((const char *)page->p, part); }

static void expect_in(struct flow *f, const char *part)
{
    struct buf page = look(f);
    if (!has(&page, part)) print_error("not there: %s\n%s\n", part, (const char *)page.p);
    EXPECT(has(&page, part));
    buf_done(&page);
}

static void expect_not_in(struct flow *f, const char *part)
{
    struct buf page = look(f);
    if (has(&page, part)) print_error("there: %s\n%s\n", part, (const char *)page.p);
    EXPECT(!has(&page, part));
    buf_done(&page);
}

/* Of many groups, in few turns. */
static void commit_many(struct flow *f, const char *letter, int count)
{
    struct update_offset_header h = {.topic = SLICE("T"), .commit_offset = 1};
    char group[32];
    for (int i = 0; i < count; i++) {
        snprintf(group, sizeof group, "%s%d", letter, i);
        h.consumer_group = slice_text(group);
        caller_oneway(f->caller, REQUEST_UPDATE_CONSUMER_OFFSET, &update_offset_kind, &h, (struct slice){NULL, 0});
    }
}

static int lines_with(const struct buf *page, const char *part)
{
    int n = 0;
    for (const char *p = (const char *)page->p; (p = strstr(p, part)); p += strlen(part)) n++;
    return n;
}

static void commit(struct flow *f, const char *group, const char *topic, int32_t queue_id, int64_t offset)
{
    struct update_offset_header h = {.consumer_group = slice_text(group), .topic = slice_text(topic), .queue_id = queue_id, .commit_offset = offset};
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_CONSUMER_OFFSET, &update_offset_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
}

TEST(scrape, messages_that_came_are_told_by_topic_and_type)
{
    struct flow *f = flow_start(scraped);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 3; i++) flow_send(f, "T", 0, "", "x");
    flow_send(f, "T", 0, "__SHARDINGKEY=k", "x");
    flow_send(f, "T", 0, "DELAY=3", "x");
    expect_in(f, "# TYPE rocketmq_messages_in_total counter\nrocketmq_messages_in_total{" OURS "dc=\"d1\",is_system=\"false\",message_type=\"normal\"," NODE ",topic=\"T\"} 3\n");
    expect_in(f, "rocketmq_messages_in_total{" OURS "dc=\"d1\",is_system=\"false\",message_type=\"fifo\"," NODE ",topic=\"T\"} 1\n");
    expect_in(f, "rocketmq_messages_in_total{" OURS "dc=\"d1\",is_system=\"false\",message_type=\"delay\"," NODE ",topic=\"T\"} 1\n");
    expect_in(f, "rocketmq_message_size_bucket{" OURS "dc=\"d1\",is_system=\"false\",message_type=\"normal\"," NODE ",topic=\"T\",le=\"1024.0\"} 3\n");
    flow_stop(f);
}

TEST(scrape, messages_that_went_are_told_by_topic_and_group)
{
    struct flow *f = flow_start(scraped);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 5; i++) flow_send(f, "T", 0, "", "x");
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").count, 5);
    EXPECT_EQ(flow_pull(f, "T", 0, 3, "*").count, 2);
    expect_in(f, "rocketmq_messages_out_total{" OURS "consumer_group=\"G\",dc=\"d1\",is_system=\"false\"," NODE ",topic=\"T\"} 7\n");
    expect_in(f, "rocketmq_throughput_out_total{" OURS "consumer_group=\"G\",dc=\"d1\",is_system=\"false\"," NODE ",topic=\"T\"} ");
    flow_stop(f);
}

TEST(scrape, requests_are_told_by_code_answer_and_whether_they_waited)
{
    struct flow *f = flow_start(scraped);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "", "x");
    int32_t waits = flow_pull_waiting(f, "T", 0, 1, "*", 50);
    flow_pulled(f, waits, 1000);
#define LATENCY "rocketmq_rpc_latency_milliseconds_count{" OURS "dc=\"d1\",is_long_polling="
    expect_in(f, LATENCY "\"false\"," NODE ",protocol_type=\"remoting\",request_code=\"send_message_v2\",response_code=\"success\",result=\"success\"} 1\n");
    expect_in(f, LATENCY "\"true\"," NODE ",protocol_type=\"remoting\",request_code=\"pull_message\",response_code=\"pull_not_found\",result=\"success\"} 1\n");
    expect_in(f, "request_code=\"pull_message\",response_code=\"pull_not_found\",result=\"success\",le=\"10.0\"} 0\n");
    expect_in(f, "request_code=\"pull_message\",response_code=\"pull_not_found\",result=\"success\",le=\"100.0\"} 1\n");
    expect_in(f, "rocketmq_topic_create_execution_time_milliseconds_count{" OURS "dc=\"d1\",invocation_status=\"success\",is_system=\"false\"," NODE "} 1\n");
    flow_stop(f);
}

#define OF_G "{" OURS "consumer_group=\"G\",dc=\"d1\",is_retry=\"false\",is_system=\"false\"," NODE ",topic=\"T\"} "

TEST(scrape, how_far_a_group_is_behind_is_told_in_messages_and_in_time)
{
    struct flow *f = flow_start(scraped);
    flow_make_topic(f, "T", 2);
    for (int i = 0; i < 4; i++) flow_send(f, "T", 0, "", "x");
    flow_send(f, "T", 1, "", "x");
    expect_not_in(f, "rocketmq_consumer_lag_messages");   /* nobody has committed: not known, and not 0 */
    commit(f, "G", "T", 0, 1);
    commit(f, "G", "T", 1, 1);
    sim_run_for(f->sim, 5000);
    expect_in(f, "rocketmq_consumer_lag_messages" OF_G "3\n");
    expect_in(f, "rocketmq_consumer_lag_latency_milliseconds" OF_G "5");
    expect_not_in(f, "rocketmq_consumer_inflight_messages");   /* nothing was pulled since the start */
    EXPECT_EQ(flow_pull(f, "T", 0, 1, "*").count, 3);
    expect_in(f, "rocketmq_consumer_inflight_messages" OF_G "3\n");
    expect_in(f, "rocketmq_consumer_ready_messages" OF_G "0\n");
    expect_in(f, "rocketmq_consumer_queueing_latency_milliseconds" OF_G "0\n");
    commit(f, "G", "T", 0, 4);
    expect_in(f, "rocketmq_consumer_lag_messages" OF_G "0\n");
    expect_in(f, "rocketmq_consumer_lag_latency_milliseconds" OF_G "0\n");
    flow_stop(f);
}

TEST(scrape, the_age_of_a_message_that_is_not_in_memory_is_read)
{
    struct flow *f = flow_start(scraped);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 3; i++) flow_send(f, "T", 0, "", "x");
    commit(f, "G", "T", 0, 1);
    sim_run_for(f->sim, 5000);
    flow_evict(f);
    expect_in(f, "rocketmq_consumer_lag_latency_milliseconds" OF_G "5");
    expect_in(f, "rocketmq_storage_message_reserve_time_milliseconds{" OURS "dc=\"d1\"," NODE ",storage_medium=\"disk\",storage_type=\"local\"} 5");
    flow_stop(f);
}

TEST(scrape, members_are_told_by_group_language_and_version)
{
    struct flow *f = flow_start(scraped);
    flow_make_topic(f, "T", 1);
    flow_subscribe(f, f->caller, "c1", "G", "T", "*", 1);
    struct caller *second = flow_caller(f);
    flow_subscribe(f, second, "c2", "G", "T", "*", 1);
    expect_in(f, "rocketmq_consumer_connections{" OURS "consume_mode=\"push\",consumer_group=\"G\",dc=\"d1\",is_system=\"false\",language=\"other\"," NODE
                 ",protocol_type=\"remoting\",version=\"v5_5_0\"} 2\n");
    caller_close(second);
    flow_stop(f);
}

TEST(scrape, messages_with_a_time_are_told_when_they_go_in_and_come_out)
{
    struct flow *f = flow_start(scraped);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "TIMER_DELAY_SEC=3", "x");
    sim_run_for(f->sim, 1000);
#define ON_DISK ",storage_medium=\"disk\",storage_type=\"local\",topic=\"T\"} "
    expect_in(f, "rocketmq_timing_messages{" OURS "dc=\"d1\"," NODE ON_DISK "1\n");
    expect_in(f, "rocketmq_timer_enqueue_total{" OURS "dc=\"d1\"," NODE ON_DISK "1\n");
    sim_run_for(f->sim, 5000);
    expect_in(f, "rocketmq_timer_dequeue_total{" OURS "dc=\"d1\"," NODE ON_DISK "1\n");
    expect_in(f, "rocketmq_timing_messages{" OURS "dc=\"d1\"," NODE ON_DISK "0\n");
    flow_stop(f);
}

#define WHEEL "{" OURS "dc=\"d1\"," NODE ",storage_medium=\"disk\",storage_type=\"local\""

TEST(scrape, the_wheel_is_told_by_when_its_messages_come)
{
    struct flow *f = flow_start(scraped);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "TIMER_DELAY_SEC=30", "x");
    flow_send(f, "T", 0, "TIMER_DELAY_SEC=40", "x");
    flow_send(f, "T", 0, "TIMER_DELAY_SEC=7000", "x");
    sim_run_for(f->sim, 1000);
    struct buf page = look(f);
    EXPECT(has(&page, "rocketmq_timer_message_snapshot" WHEEL ",timer_bound_s=\"5\"} 0\n"));
    EXPECT(has(&page, "rocketmq_timer_message_snapshot" WHEEL ",timer_bound_s=\"60\"} 2\n"));
    EXPECT(has(&page, "rocketmq_timer_message_snapshot" WHEEL ",timer_bound_s=\"300\"} 0\n"));
    EXPECT(has(&page, "rocketmq_timer_message_snapshot" WHEEL ",timer_bound_s=\"14400\"} 1\n"));
    EXPECT(has(&page, "rocketmq_timer_dequeue_lag" WHEEL "} 3\n"));
    EXPECT(has(&page, "rocketmq_timer_dequeue_latency_milliseconds" WHEEL "} 0\n"));
    EXPECT(has(&page, "rocketmq_timer_enqueue_lag" WHEEL "} 0\n"));
    EXPECT(has(&page, "rocketmq_timer_enqueue_latency_milliseconds" WHEEL "} 0\n"));
    EXPECT(has(&page, "rocketmq_delay_message_latency_seconds_bucket" WHEEL ",topic=\"T\",le=\"60.0\"} 2\n"));
    EXPECT(has(&page, "rocketmq_delay_message_latency_seconds_bucket" WHEEL ",topic=\"T\",le=\"43200.0\"} 3\n"));
    buf_done(&page);
    sim_run_for(f->sim, 60000);
    page = look(f);
    EXPECT(has(&page, "rocketmq_timer_message_snapshot" WHEEL ",timer_bound_s=\"60\"} 0\n"));
    EXPECT(has(&page, "rocketmq_timer_dequeue_lag" WHEEL "} 1\n"));
    buf_done(&page);
    flow_stop(f);
}

TEST(scrape, a_wheel_that_stands_still_is_told_by_the_age_of_what_waits)
{
    const char *const stopped[] = {"metricsExporterType=PROM", "metricsLabel=dc:d1", "timerStopEnqueue=true", NULL};
    struct flow *f = flow_start(stopped);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "TIMER_DELAY_SEC=30", "x");
    sim_run_for(f->sim, 20000);
    expect_in(f, "rocketmq_timer_enqueue_lag" WHEEL "} 1\n");
    expect_in(f, "rocketmq_timer_enqueue_latency_milliseconds" WHEEL "} 20");
    flow_stop(f);
}

TEST(scrape, pops_are_told_by_group_with_what_is_out)
{
    struct flow *f = flow_start(scraped);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 4; i++) flow_send(f, "T", 0, "", "x");
    struct pop_header h = pop_fields(f);
    h.max_msg_nums = 3;
    struct popped p = pop_with(f, &h);
    EXPECT_EQ(p.count, 3);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[0]), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 1000);
    expect_in(f, "rocketmq_messages_out_total{" OURS "consumer_group=\"G\",dc=\"d1\",is_retry=\"false\",is_system=\"false\"," NODE ",topic=\"T\"} 3\n");
    expect_in(f, "rocketmq_consumer_inflight_messages" OF_G "2\n");
    expect_in(f, "rocketmq_consumer_ready_messages" OF_G "1\n");
    expect_in(f, "rocketmq_consumer_lag_messages" OF_G "3\n");
    expect_in(f, "rocketmq_pop_revive_in_message_total{" OURS "consumer_group=\"G\",dc=\"d1\"," NODE ",put_status=\"PUT_OK\",revive_message_type=\"CK\",topic=\"T\"} 1\n");
    flow_stop(f);
}

static int64_t of_queue(const struct buf *page, const char *name, int queue_id)
{
    char id[32];
    snprintf(id, sizeof id, "queue_id=\"%d\"} ", queue_id);
    const char *line = strstr((const char *)page->p, name), *value = line ? strstr(line, id) : NULL;
    EXPECT(value);
    return strtoll(value + strlen(id), NULL, 10);
}

TEST(scrape, what_waits_in_the_revive_topic_is_told_with_its_age)
{
    struct flow *f = flow_start(scraped);
    char body[300];
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 3; i++) flow_send(f, "T", 0, "", "x");
    struct pop_header h = pop_fields(f);
    h.max_msg_nums = 1;
    EXPECT_EQ(pop_with(f, &h).count, 1);   /* the group is known */
    struct send_header s = flow_send_fields("rmq_sys_REVIVE_LOG_DefaultCluster", 3);
    s.properties = flow_properties("TAGS=ck;UNIQ_KEY=k1");   /* as an original leaves it, and not over for a minute */
    snprintf(body, sizeof body, "{\"bm\":0,\"bn\":\"broker-a\",\"c\":\"G\",\"d\":[0,1],\"it\":60000,\"n\":2,\"pt\":%lld,\"q\":0,\"ro\":0,\"so\":1,\"t\":\"T\"}",
             (long long)tasks_wall_ms(rpc_tasks(f->loop)));
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &s, slice_text(body)).code, RESPONSE_SUCCESS);
    sim_run_for(f->sim, 5000);
    struct buf page = look(f);
    for (int i = 0; i < 8; i++) {
        int64_t lag = of_queue(&page, "\nrocketmq_pop_revive_lag_milliseconds{", i), ms = of_queue(&page, "\nrocketmq_pop_revive_latency_milliseconds{", i);
        EXPECT_EQ(lag, i == 3);
        EXPECT(i == 3 ? ms >= 5000 && ms < 6000 : ms == 0);
    }
    buf_done(&page);
    flow_stop(f);
}

TEST(scrape, a_broker_that_is_not_scraped_counts_totals_alone)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "", "x");
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").count, 1);
    EXPECT_EQ(flow_metric(f, "rocketmq_messages_out_total"), 1);
    expect_not_in(f, "rocketmq_messages_in_total");
    flow_stop(f);
}

enum { MANY = 3000 };

TEST(scrape, many_groups_are_told_over_many_turns_and_requests_are_served_between_them)
{
    struct flow *f = flow_start(scraped);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "", "x");
    commit_many(f, "G", MANY);
    commit(f, "G0", "T", 0, 1);   /* behind them */
    struct look l = {.flow = f, .scrape = {.page = METRIC_PAGE_EMPTY}, .text = BUF_EMPTY};
    sim_call(f->loop, begin_look, &l);
    EXPECT(!l.over);
    int served = 0;
    for (; !l.over; served++) EXPECT_EQ(flow_send(f, "T", 0, "", "y").code, RESPONSE_SUCCESS);
    EXPECT(served > 0);
    metric_page_write(&l.scrape.page, &l.text);
    buf_put_u8(&l.text, 0);
    EXPECT_EQ(lines_with(&l.text, "\nrocketmq_consumer_lag_messages{"), MANY);
    metric_page_done(&l.scrape.page);
    buf_done(&l.text);
    flow_stop(f);
}

/* What a look has found so far; how much of it came in one event of the world at most. */
struct growth {
    struct look *look;
    struct metric_walk walks[METRICS_COUNT];
    size_t samples, most, events;
};

static size_t new_samples(struct growth *g)
{
    size_t n = 0;
    for (size_t i = 0; i < METRICS_COUNT; i++)
        for (struct metric_sample s; metric_page_next(&g->look->scrape.page, (enum metric)i, &g->walks[i], &s);) n++;
    return n;
}

static bool grown(void *ctx)
{
    struct growth *g = ctx;
    size_t n = new_samples(g);
    if (n > g->most) g->most = n;
    if (n) g->events++;
    g->samples += n;
    return g->look->over;
}

/* Of each of COLLECT_AT_ONCE things a turn tells at most five samples, and a few that are always there. */
enum { SAMPLES_IN_TURN = 256 * 5 + 100, TOPICS = 600 };

TEST(scrape, no_turn_tells_more_than_its_part_however_much_there_is)
{
    struct flow *f = flow_start(scraped);
    char name[32];
    for (int i = 0; i < TOPICS; i++) {
        snprintf(name, sizeof name, "T%d", i);
        flow_make_topic(f, name, 1);
        flow_send(f, name, 0, i % 2 ? "TIMER_DELAY_SEC=300" : "", "x");
        commit(f, "G", name, 0, 0);
    }
    sim_run_for(f->sim, 2000);
    struct look l = {.flow = f, .scrape = {.page = METRIC_PAGE_EMPTY}, .text = BUF_EMPTY};
    struct growth g = {.look = &l};
    sim_call(f->loop, begin_look, &l);
    EXPECT(sim_run_until(f->sim, grown, &g, 10000));
    EXPECT(g.samples > 5 * TOPICS);   /* the counters of each topic, its lag, what waits */
    EXPECT(g.events > 10);
    if (g.most > SAMPLES_IN_TURN) print_error("%zu samples in a turn, of %zu\n", g.most, g.samples);
    EXPECT(g.most <= SAMPLES_IN_TURN);
    metric_page_done(&l.scrape.page);
    flow_stop(f);
}

TEST(scrape, a_broker_may_stop_while_it_is_looked_at)
{
    struct flow *f = flow_start(scraped);
    flow_make_topic(f, "T", 1);
    commit_many(f, "G", 700);
    commit(f, "G0", "T", 0, 0);
    struct look l = {.flow = f, .scrape = {.page = METRIC_PAGE_EMPTY}, .text = BUF_EMPTY};
    sim_call(f->loop, begin_look, &l);
    EXPECT(!l.over);
    flow_free_broker(f);
    metric_page_done(&l.scrape.page);
    flow_stop(f);
}

struct well {
    struct flow *flow;
    struct health health;
};

static void ask_health(void *ctx)
{
    struct well *w = ctx;
    broker_health(w->flow->broker, &w->health);
}

TEST(health, a_broker_without_name_servers_is_ready_and_one_that_no_name_server_answered_is_not)
{
    struct flow *f = flow_start(NULL);
    struct well w = {.flow = f};
    sim_call(f->loop, ask_health, &w);
    EXPECT(w.health.ready);
    flow_stop(f);
    const char *const alone[] = {"namesrvAddr=10.0.0.77:9876", NULL};
    f = flow_start(alone);
    w = (struct well){.flow = f};
    sim_call(f->loop, ask_health, &w);
    EXPECT(!w.health.ready);
    assert_string_equal(w.health.why, "no name server knows the broker yet");
    flow_stop(f);
}

static const char *log_of(struct flow *f, void (*work)(struct flow *f), struct buf *text)
{
    char *folder = test_folder(), path[512];
    snprintf(path, sizeof path, "%s/log", folder);
    log_set_level(LOG_INFO);
    EXPECT_OK(log_open(path));
    work(f);
    log_close();
    EXPECT_OK(fs_read_file(fs_real(), path, 1 << 20, text));
    buf_put_u8(text, 0);
    test_folder_remove(folder);
    return (const char *)text->p;
}

static void send_slowly(struct flow *f)
{
    sim_tune(f->sim)->work_max_us = 400000;   /* a sync takes its time */
    for (int i = 0; i < 20; i++) EXPECT_EQ(flow_send(f, "T", 0, "", "x").code, RESPONSE_SUCCESS);
}

TEST(watch, a_request_that_takes_long_is_told_in_the_log_and_one_that_waits_for_messages_is_not)
{
    const char *const slow[] = {"slowRequestMillis=20", "flushDiskType=SYNC_FLUSH", NULL};
    struct flow *f = flow_start(slow);
    struct buf text = BUF_EMPTY;
    flow_make_topic(f, "T", 1);
    const char *log = log_of(f, send_slowly, &text);
    EXPECT(strstr(log, "request.slow request=SEND_MESSAGE_V2 response=SUCCESS ms="));
    EXPECT(!strstr(log, "access.request"));
    buf_done(&text);
    flow_stop(f);
}

static void pull_and_send(struct flow *f)
{
    int32_t waits = flow_pull_waiting(f, "T", 0, 0, "*", 5000);
    EXPECT_EQ(flow_pulled(f, waits, 6000).count, 0);
    flow_send(f, "T", 0, "", "hello");
}

TEST(watch, with_an_access_log_each_answer_is_a_line)
{
    const char *const access[] = {"accessLogEnable=true", NULL};
    struct flow *f = flow_start(access);
    struct buf text = BUF_EMPTY;
    flow_make_topic(f, "T", 1);
    const char *log = log_of(f, pull_and_send, &text);
    EXPECT(strstr(log, "access.request request=PULL_MESSAGE response=PULL_NOT_FOUND ms=5000 held=true remote=10.0.0.9:"));
    EXPECT(strstr(log, "access.request request=SEND_MESSAGE_V2 response=SUCCESS ms="));
    EXPECT(!strstr(log, "request.slow"));
    buf_done(&text);
    flow_stop(f);
}

TEST(watch, names_of_codes_are_those_of_the_lists_and_unknown_ones_are_numbers)
{
    char text[16];
    assert_string_equal(request_name(REQUEST_SEND_MESSAGE_V2, text), "SEND_MESSAGE_V2");
    assert_string_equal(request_name(-7, text), "-7");
    assert_string_equal(response_name(RESPONSE_SUCCESS, text), "SUCCESS");
    assert_string_equal(response_name(123456, text), "123456");
}
