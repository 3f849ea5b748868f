/* Recorded conversations of the official clients with the official broker, played to ours. What a recording needs to find
 * (topics, messages) is made first, by playing the earlier recordings that made it. */
#include "flow/flow.h"

#include "kit/wire_replay.h"

/* What no two runs have in common. Places in the log are compared by `records` and the queue offsets. */
#define USUAL "msgId"
#define WITH_TIMES USUAL " timestamp lastUpdateTimestamp"

/* The server makes unique keys for senders that have none. */
#define SERVER_KEYS " transactionId UNIQ_KEY"

static struct wire_replay rules(struct flow *f, const char *file, const char *volatile_names)
{
    return (struct wire_replay){
        .file = file, .role = "broker", .sim = f->sim, .loop = f->client_loop, .host = flow_host, .port = FLOW_PORT,
        .volatile_names = volatile_names, .records = true, .sets = true,
    };
}

static size_t play(struct flow *f, const char *file, const char *volatile_names)
{
    struct wire_replay r = rules(f, file, volatile_names);
    return wire_replay(&r);
}

/* Delayed messages wait for "Consumption and message kinds". */
#define DELAYED_SENDS "send_java_client:22 send_java_client:23 send_java_client:24 send_java_client:25"

/* WireTopic with the messages that the recordings find there: 5 in queue 1, 3 in queue 0. */
static struct flow *start_with_messages(void)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "WireTopic", 2);
    struct wire_replay r = rules(f, "send_java_client send_raw", USUAL SERVER_KEYS);
    r.skip_lines = DELAYED_SENDS;
    EXPECT_EQ(wire_replay(&r), 16);
    return f;
}

TEST(wire, sends_of_the_java_client_are_answered_as_recorded)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "WireTopic", 2);
    struct wire_replay r = rules(f, "send_java_client send_errors", NULL);   /* message ids too: records have the same lengths */
    r.skip_lines = DELAYED_SENDS;
    EXPECT_EQ(wire_replay(&r), 8);
    flow_stop(f);
}

TEST(wire, sends_with_wrong_fields_are_answered_as_recorded)
{
    flow_stop(start_with_messages());
}

/* The original lets everything pass where an expression is wrong; here it is refused. */
#define WRONG_SQL_PULL "pull:27 pull:28"

TEST(wire, pulls_and_long_polls_are_answered_as_recorded)
{
    struct flow *f = start_with_messages();
    flow_make_topic(f, "WireEmpty", 1);
    struct wire_replay r = rules(f, "pull long_poll long_poll_timeout", USUAL);
    r.skip_lines = WRONG_SQL_PULL;
    EXPECT_EQ(wire_replay(&r), 26);
    flow_stop(f);
}

TEST(wire, offsets_are_answered_as_recorded)
{
    struct flow *f = start_with_messages();
    EXPECT_EQ(play(f, "offsets", WITH_TIMES), 12);
    flow_stop(f);
}

TEST(wire, members_of_a_group_come_are_told_of_each_other_and_go_as_recorded)
{
    struct flow *f = start_with_messages();
    EXPECT_EQ(play(f, "heartbeat_v1 notify_consumer_ids_changed unregister", USUAL SERVER_KEYS), 23);
    flow_stop(f);
}

TEST(wire, heartbeats_of_the_second_kind_are_answered_as_recorded)
{
    struct flow *f = start_with_messages();
    EXPECT_EQ(play(f, "heartbeat_v2", USUAL SERVER_KEYS), 16);
    flow_stop(f);
}

TEST(wire, members_that_filter_by_sql_are_members_as_recorded)
{
    struct flow *f = start_with_messages();
    EXPECT_EQ(play(f, "heartbeat_sql", USUAL), 14);
    flow_stop(f);
}

TEST(wire, a_client_that_leaves_it_to_the_broker_is_told_its_queues_as_recorded)
{
    struct flow *f = start_with_messages();
    EXPECT_EQ(play(f, "query_assignment", USUAL SERVER_KEYS), 24);
    flow_stop(f);
}

TEST(wire, queue_locks_are_given_and_kept_as_recorded)
{
    struct flow *f = start_with_messages();
    EXPECT_EQ(play(f, "consumer_list_lock", USUAL SERVER_KEYS), 19);
    flow_stop(f);
}

/* Messages that recordings of later issues left in WireTopic. */
static void send_as_recorded(struct flow *f, int32_t queue_id, int64_t born_ms, const char *properties, const char *body)
{
    struct send_header h = flow_send_fields("WireTopic", queue_id);
    h.born_timestamp = born_ms;
    h.properties = flow_properties(properties);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, slice_text(body)).code, RESPONSE_SUCCESS);
}

static void send_signed(struct flow *f)
{
    send_as_recorded(f, 1, 1795996453893, "UNIQ_KEY=7F00000126315FFD2B2795532405001D;TAGS=Acl;KEYS=acl-key;WAIT=true", "signed body");
    send_as_recorded(f, 0, 1795996458465, "UNIQ_KEY=7F00000126315FFD2B27955335E1001E;TAGS=Acl;KEYS=acl-key2;WAIT=true", "signed with token");
}

static void send_traced(struct flow *f)
{
    send_as_recorded(f, 0, 1795996608905, "UNIQ_KEY=7F00000141835FFD2B27955581870000;TAGS=Traced;KEYS=trace-1;WAIT=true", "traced");
}

TEST(wire, broadcasting_and_lite_consumers_are_served_as_recorded)
{
    struct flow *f = start_with_messages();
    send_signed(f);
    EXPECT_EQ(play(f, "broadcast_and_lite", USUAL SERVER_KEYS), 14);
    flow_stop(f);
}

TEST(wire, topics_are_managed_as_recorded)
{
    struct flow *f = start_with_messages();
    EXPECT_EQ(play(f, "admin_topic", WITH_TIMES), 11);
    flow_stop(f);
}

TEST(wire, groups_are_managed_as_recorded)
{
    struct flow *f = start_with_messages();
    struct wire_replay r = rules(f, "admin_group", WITH_TIMES " counter subscriptionGroupTable totalGroupNum");
    r.skip_lines = "admin_group:1 admin_group:2 admin_group:13 admin_group:14";   /* without a body: docs/differences.md */
    EXPECT_EQ(wire_replay(&r), 8);
    flow_stop(f);
}

/* One consumer that tools look at, move and ask. */
TEST(wire, a_consumer_is_watched_and_moved_as_recorded)
{
    struct flow *f = start_with_messages();
    struct wire_replay r = rules(f, "client_relay consumer_status reset_offset admin_consumer",
                                 WITH_TIMES SERVER_KEYS " clientAddr groupList consumeTimeStamp consumeTimeStampStr delayTime maxTimeStamp maxTimeStampStr"
                                 " minTimeStamp minTimeStampStr");
    r.skip_lines = "admin_consumer:17";   /* progress of all groups: there were others */
    EXPECT_EQ(wire_replay(&r), 30);
    flow_stop(f);
}

TEST(wire, unknown_requests_and_missing_fields_are_answered_as_recorded)
{
    struct flow *f = start_with_messages();
    EXPECT_EQ(play(f, "unknown_code", USUAL), 7);
    flow_stop(f);
}

TEST(wire, a_client_with_binary_headers_is_served_as_recorded)
{
    struct flow *f = start_with_messages();
    send_signed(f);
    send_traced(f);
    EXPECT_EQ(play(f, "binary_send binary_pull binary_consumer binary_offsets binary_pop_truncated_code", USUAL SERVER_KEYS), 22);
    flow_stop(f);
}

TEST(wire, the_go_client_is_served_as_recorded)
{
    struct flow *f = flow_start(NULL);
    flow_send(f, "BenchmarkTest", 0, "DELAY=18", "x");
    struct wire_replay r = rules(f, "go_admin go_send go_consumer go_consumer_orderly go_topic_delete", USUAL);
    r.skip_requests = "GET_ALL_SUBSCRIPTIONGROUP_CONFIG CONSUMER_SEND_MSG_BACK";   /* the second names a place in the recorded broker's log */
    r.skip_lines = "go_consumer_orderly:28 go_consumer_orderly:33";   /* by SQL92 */
    EXPECT_EQ(wire_replay(&r), 38);
    flow_stop(f);
}

/* Odd but right JSON, and two requests in one write: they ask how far the delay levels are. */
TEST(wire, odd_headers_are_read_as_recorded)
{
    struct flow *f = flow_start(NULL);
    flow_send(f, "BenchmarkTest", 0, "DELAY=3", "x");   /* what the recorded broker was told before */
    flow_send(f, "BenchmarkTest", 0, "DELAY=5", "x");
    flow_send(f, "BenchmarkTest", 0, "DELAY=18", "x");
    sim_run_for(f->sim, 61000);
    struct wire_replay r = rules(f, "json_no_language json_single_quotes two_requests_in_one_write", USUAL " dataVersion");
    EXPECT_EQ(wire_replay(&r), 4);
    flow_stop(f);
}

TEST(wire, what_is_no_frame_is_closed_as_recorded)
{
    static const char *const files[] = {
        "bad_16m_exact", "bad_16m_plus", "bad_binary_header", "bad_header_longer_than_frame", "bad_json", "bad_negative_length",
        "bad_oversized_length", "bad_serialize_type", "bad_zero_length", "half_frame_then_idle", "http_get", "response_without_request",
    };
    struct flow *f = flow_start(NULL);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) EXPECT_EQ(play(f, files[i], NULL), 0);
    flow_stop(f);
}
