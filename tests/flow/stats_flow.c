/* stats_flow.c - what topics took and groups got, as tools are told (315, 202, 208). */
#include "flow/flow.h"

#include "codec/body_stats.h"

#include <stdio.h>

static struct broker_stats view(struct flow *f, const char *name, const char *key)
{
    struct view_stats_header h = {.stats_name = slice_text(name), .stats_key = slice_text(key)};
    struct arena arena = ARENA_EMPTY;
    struct broker_stats stats;
    struct answer *a = caller_call(f->caller, REQUEST_VIEW_BROKER_STATS_DATA, &view_stats_kind, &h, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    EXPECT_OK(bean_decode(&broker_stats_bean, a->frame.body, &arena, "stats", &stats));
    arena_done(&arena);
    answer_free(a);
    return stats;
}

TEST(stats, what_was_sent_and_pulled_is_told_by_topic_and_group)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    sim_run_for(f->sim, 10000);
    for (int i = 0; i < 20; i++) flow_send(f, "T", 0, "", "x");
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").count, 20);
    sim_run_for(f->sim, 10000);
    struct broker_stats puts = view(f, "TOPIC_PUT_NUMS", "T"), gets = view(f, "GROUP_GET_NUMS", "T@G");
    EXPECT_EQ(puts.minute.sum, 20);
    EXPECT(puts.minute.tps > 0 && puts.minute.average == 1);
    EXPECT(view(f, "TOPIC_PUT_SIZE", "T").minute.sum > 20 * 90);
    EXPECT_EQ(gets.minute.sum, 20);
    EXPECT(gets.minute.average == 20);
    EXPECT_EQ(view(f, "BROKER_PUT_NUMS", "DefaultCluster").minute.sum, 20);
    flow_stop(f);
}

TEST(stats, rates_are_told_with_offsets)
{
    struct flow *f = flow_start(NULL);
    struct topic_stats_header h = {.topic = SLICE("T")};
    struct arena arena = ARENA_EMPTY;
    struct topic_stats stats;
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 20; i++) flow_send(f, "T", 0, "", "x");
    sim_run_for(f->sim, 11000);
    struct answer *a = caller_call(f->caller, REQUEST_GET_TOPIC_STATS_INFO, &topic_stats_kind, &h, (struct slice){NULL, 0});
    EXPECT_OK(bean_decode(&topic_stats_bean, a->frame.body, &arena, "stats", &stats));
    EXPECT(stats.put_tps > 0.5 && stats.put_tps < 3);
    arena_done(&arena);
    answer_free(a);
    flow_stop(f);
}

TEST(stats, what_was_never_counted_or_is_gone_is_told_so)
{
    struct flow *f = flow_start(NULL);
    char remark[256];
    struct view_stats_header h = {.stats_name = SLICE("TOPIC_PUT_NUMS"), .stats_key = SLICE("T")};
    struct delete_topic_header del = {.topic = SLICE("T")};
    EXPECT_EQ(flow_code(f, REQUEST_VIEW_BROKER_STATS_DATA, &view_stats_kind, &h, NULL, remark), RESPONSE_SYSTEM_ERROR);
    assert_string_equal(remark, "The stats <TOPIC_PUT_NUMS> <T> not exist");
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "", "x");
    EXPECT_EQ(flow_code(f, REQUEST_VIEW_BROKER_STATS_DATA, &view_stats_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_code(f, REQUEST_DELETE_TOPIC_IN_BROKER, &delete_topic_kind, &del, NULL, NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_code(f, REQUEST_VIEW_BROKER_STATS_DATA, &view_stats_kind, &h, NULL, NULL), RESPONSE_SYSTEM_ERROR);
    flow_stop(f);
}

static void expect_reply(struct flow *f, int32_t code, const char *part)
{
    struct answer *a = caller_call(f->caller, code, NULL, NULL, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    if (!memmem(a->frame.body.p, a->frame.body.n, part, strlen(part))) print_error("%.*s\n", SLICE_ARG(a->frame.body));
    EXPECT(memmem(a->frame.body.p, a->frame.body.n, part, strlen(part)));
    answer_free(a);
}

TEST(overview, tools_are_told_offsets_system_topics_and_that_nobody_follows)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "", "x");
    struct update_offset_header h = {.consumer_group = SLICE("G"), .topic = SLICE("T"), .commit_offset = 1};
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_CONSUMER_OFFSET, &update_offset_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
    expect_reply(f, REQUEST_GET_ALL_CONSUMER_OFFSET, "\"T@G\":{0:1}");
    expect_reply(f, REQUEST_GET_SYSTEM_TOPIC_LIST_FROM_BROKER, "\"SCHEDULE_TOPIC_XXXX\"");
    expect_reply(f, REQUEST_GET_BROKER_HA_STATUS, "\"haConnectionInfo\":[],\"inSyncSlaveNums\":0,\"master\":true,\"masterCommitLogMaxOffset\":");
    flow_stop(f);
}

static const char *remark_of(struct flow *f, int32_t code, const struct header_kind *kind, const void *h, int32_t expected)
{
    static char remark[512];
    EXPECT_EQ(flow_code(f, code, kind, h, NULL, remark), expected);
    return remark;
}

TEST(overview, what_replicas_and_tools_of_rocksdb_ask_is_answered_as_by_one_that_has_neither)
{
    struct flow *f = flow_start(NULL);
    struct exchange_ha_header ask = {.present = 0}, told = {.master_address = SLICE("10.0.0.7:1"), .master_ha_address = SLICE("10.0.0.7:2")};
    struct reset_flush_offset_header reset = {.master_flush_offset = 0};
    struct export_config_header export = {.config_type = SLICE("topics;subscriptionGroups")};
    struct check_queues_header check = {.topic = SLICE("T")};
    struct answer *a = caller_call(f->caller, REQUEST_EXCHANGE_BROKER_HA_INFO, &exchange_ha_kind, &ask, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    EXPECT_TEXT(frame_get(&a->frame, SLICE("masterFlushOffset")), "0");
    EXPECT(frame_get(&a->frame, SLICE("masterAddress")).n && frame_get(&a->frame, SLICE("masterHaAddress")).n);
    answer_free(a);
    a = caller_call(f->caller, REQUEST_EXCHANGE_BROKER_HA_INFO, &exchange_ha_kind, &told, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    EXPECT(!frame_get(&a->frame, SLICE("masterAddress")).p);
    answer_free(a);
    assert_string_equal(remark_of(f, REQUEST_GET_BROKER_EPOCH_CACHE, NULL, NULL, RESPONSE_SYSTEM_ERROR), "this request only for controllerMode ");
    remark_of(f, REQUEST_RESET_MASTER_FLUSH_OFFSET, &reset_flush_offset_kind, &reset, RESPONSE_SUCCESS);
    remark_of(f, REQUEST_POP_ROLLBACK, NULL, NULL, RESPONSE_SUCCESS);
    assert_string_equal(remark_of(f, REQUEST_EXPORT_ROCKSDB_CONFIG_TO_JSON, &export_config_kind, &export, RESPONSE_SUCCESS), "export done.");
    a = caller_call(f->caller, REQUEST_CHECK_ROCKSDB_CQ_WRITE_PROGRESS, &check_queues_kind, &check, (struct slice){NULL, 0});
    EXPECT_TEXT(a->frame.body, "{\"checkStatus\":2}");
    answer_free(a);
    flow_stop(f);
}

TEST(overview, the_engine_of_timers_is_that_of_files_and_no_other)
{
    struct flow *f = flow_start(NULL);
    struct switch_timer_header files = {.engine = SLICE("F")}, rocks = {.engine = SLICE("R")}, other = {.engine = SLICE("x")}, none = {.engine = {NULL, 0}};
    assert_string_equal(remark_of(f, REQUEST_SWITCH_TIMER_ENGINE, &switch_timer_kind, &files, RESPONSE_SUCCESS), "switch timer engine success");
    EXPECT(strstr(remark_of(f, REQUEST_SWITCH_TIMER_ENGINE, &switch_timer_kind, &rocks, RESPONSE_INVALID_PARAMETER), "no RocksDB"));
    EXPECT(strstr(remark_of(f, REQUEST_SWITCH_TIMER_ENGINE, &switch_timer_kind, &other, RESPONSE_INVALID_PARAMETER), "\"x\""));
    remark_of(f, REQUEST_SWITCH_TIMER_ENGINE, &switch_timer_kind, &none, RESPONSE_INVALID_PARAMETER);
    flow_stop(f);
}

TEST(overview, a_broker_tells_its_rates_and_how_long_sends_take)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    sim_run_for(f->sim, 20000);
    for (int i = 0; i < 50; i++) flow_send(f, "T", 0, "", "x");
    flow_pull(f, "T", 0, 0, "*");
    flow_pull(f, "T", 0, 50, "*");
    sim_run_for(f->sim, 61000);
    expect_reply(f, REQUEST_GET_BROKER_RUNTIME_INFO, "\"putTps\":\"0.0000 0.");
    expect_reply(f, REQUEST_GET_BROKER_RUNTIME_INFO, "\"getMissTps\":\"0.0000 0.0");
    expect_reply(f, REQUEST_GET_BROKER_RUNTIME_INFO, "\"msgPutTotalTodayMorning\":\"0\"");
    expect_reply(f, REQUEST_GET_BROKER_RUNTIME_INFO, "\"putMessageDistributeTime\":\"[<=0ms]:");
    expect_reply(f, REQUEST_GET_BROKER_RUNTIME_INFO, "\"earliestMessageTimeStamp\":\"1");
    sim_run_for(f->sim, 25 * 3600 * 1000);
    caller_close(f->caller);   /* it has been silent for too long */
    f->caller = flow_caller(f);
    expect_reply(f, REQUEST_GET_BROKER_RUNTIME_INFO, "\"msgPutTotalTodayMorning\":\"50\"");
    flow_stop(f);
}

TEST(overview, a_read_mode_is_taken_and_changes_nothing)
{
    struct flow *f = flow_start(NULL);
    char remark[256];
    struct read_mode_header h = {.mode = 1};
    EXPECT_EQ(flow_code(f, REQUEST_SET_COMMITLOG_READ_MODE, &read_mode_kind, &h, NULL, remark), RESPONSE_SUCCESS);
    assert_string_equal(remark, "set commitlog readahead mode success, mode: 1");
    h.mode = 7;
    EXPECT_EQ(flow_code(f, REQUEST_SET_COMMITLOG_READ_MODE, &read_mode_kind, &h, NULL, remark), RESPONSE_INVALID_PARAMETER);
    flow_stop(f);
}
