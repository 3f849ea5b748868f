/* Commands that go on by themselves: rounds, monitoring, several ids, files. */
#include "admin/command.h"
#include "admin/commands_fixture.h"

#include <string.h>

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, part)); p += strlen(part)) n++;
    return n;
}

TEST(rounds, come_again_after_the_interval_until_there_were_enough)
{
    static const char *const lines[] = {"clusterList -i 2 --rounds 3", "haStatus -c C -i 2 --rounds 3", "clusterRT -a 2 -i 2 --rounds 3", "startMonitoring --interval 2 --rounds 3"};
    static const int32_t codes[] = {REQUEST_GET_BROKER_RUNTIME_INFO, REQUEST_GET_BROKER_HA_STATUS, REQUEST_SEND_MESSAGE_V2, REQUEST_GET_CONSUME_STATS};
    struct cluster *c = world_start();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct line_run s;
        int64_t before = sim_now_ms(c->sim);
        size_t asked = 0;
        cluster_forget(c);
        line_run(&s, c, lines[i]);
        EXPECT_EQ(s.status, ADMIN_FINE);
        for (size_t k = 0; k < c->servers[1].seen_count; k++) asked += c->servers[1].seen[k]->code == codes[i];
        EXPECT_EQ(asked, codes[i] == REQUEST_SEND_MESSAGE_V2 ? 6 : 3);
        EXPECT(sim_now_ms(c->sim) - before >= 4000 && sim_now_ms(c->sim) - before < 6000);
        line_done(&s);
    }
    cluster_stop(c);
}

TEST(rounds, go_on_after_one_that_failed_and_each_is_a_document_of_its_own)
{
    struct cluster *c = cluster_start();
    struct line names[] = {{REQUEST_GET_BROKER_CLUSTER_INFO, SILENT, NULL}, {REQUEST_GET_BROKER_CLUSTER_INFO, 0, world_cluster}, {0}};
    struct line_run s;
    cluster_serve(c, 0, names);
    cluster_serve(c, 1, world_broker);
    line_run(&s, c, "clusterList -i 1 --rounds 3 --timeout 500 --json");
    EXPECT_EQ(s.status, ADMIN_FINE);
    EXPECT(strstr(s.err_text, "no name server answers"));
    EXPECT_EQ(count_of(s.out_text, "\n"), 2);
    EXPECT_EQ(count_of(s.out_text, "{\"brokers\":["), 2);
    line_done(&s);
    cluster_stop(c);
}

TEST(rounds, of_no_use_are_refused_before_anybody_is_asked)
{
    static const char *const lines[] = {"clusterList -i 0", "clusterList -i x", "clusterList --rounds 2", "startMonitoring --rounds 0", "haStatus -i 99999999"};
    struct cluster *c = world_start();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct line_run s;
        line_run(&s, c, lines[i]);
        EXPECT_EQ(s.status, ADMIN_USAGE);
        EXPECT_EQ(count_of(s.err_text, "\n"), 1);
        EXPECT(!c->servers[0].asked && !s.out_bytes);
        line_done(&s);
    }
    cluster_stop(c);
}

/* --- monitoring --- */

#define QUEUE_STATE(queue, more) "{\"brokerName\":\"a\",\"queueId\":" queue ",\"topic\":\"T\"}:{\"commitOffset\":4,\"lastPullTimestamp\":1" more "}"
#define MEMBER(orderly, queues, expression) \
    "{\"mqTable\":{" queues "},\"properties\":{\"PROP_CONSUMEORDERLY\":\"" orderly "\",\"PROP_CONSUME_TYPE\":\"CONSUME_PASSIVELY\",\"PROP_CONSUMER_START_TIMESTAMP\":\"1\"}," \
    "\"statusTable\":{},\"subscriptionSet\":[{\"expressionType\":\"TAG\",\"subString\":\"" expression "\",\"topic\":\"T\"}]}"

/* The round of one group whose two members say these. */
static void monitor(struct line_run *s, const char *one, const char *other)
{
    struct cluster *c = cluster_start();
    struct line names[] = {{REQUEST_GET_ALL_TOPIC_LIST_FROM_NAMESERVER, 0, "{\"topicList\":[\"T\",\"%RETRY%G\"]}"}, {REQUEST_GET_BROKER_CLUSTER_INFO, 0, world_cluster}, {0}};
    struct line broker[LINES_MAX];
    size_t n = 0, k = 0;
    broker[n++] = (struct line){REQUEST_GET_CONSUMER_RUNNING_INFO, 0, one};
    broker[n++] = (struct line){REQUEST_GET_CONSUMER_RUNNING_INFO, other ? 0 : RESPONSE_SYSTEM_ERROR, other ? other : "it does not say"};
    for (; world_broker[k].request; k++)
        if (world_broker[k].request != REQUEST_GET_CONSUMER_RUNNING_INFO) broker[n++] = world_broker[k];
    broker[n] = (struct line){0};
    cluster_serve(c, 0, names);
    cluster_serve(c, 1, broker);
    line_run(s, c, "startMonitoring --rounds 1");
    EXPECT_EQ(s->status, ADMIN_FINE);
    cluster_stop(c);
}

static void expect_finding(const char *one, const char *other, const char *finding)
{
    struct line_run s;
    monitor(&s, one, other);
    if (!strstr(s.out_text, finding)) print_error("%s\n%s\n", finding, s.out_text);
    EXPECT(strstr(s.out_text, finding));
    line_done(&s);
}

TEST(monitoring, names_members_that_do_not_get_on_and_nobody_else)
{
    static const char well[] = MEMBER("false", QUEUE_STATE("0", ",\"cachedMsgCount\":0,\"lastConsumeTimestamp\":5"), "*");
    expect_finding(well, well, "no findings\n");
    expect_finding(well, MEMBER("false", QUEUE_STATE("1", ",\"cachedMsgCount\":3,\"lastConsumeTimestamp\":5"), "*"), "has 3 messages and consumes none for");
    expect_finding(well, MEMBER("true", QUEUE_STATE("1", ",\"locked\":false,\"lastLockTimestamp\":5"), "*"), "has not got the queue's lock for");
    expect_finding(well, MEMBER("true", QUEUE_STATE("1", ",\"locked\":true,\"droped\":true,\"tryUnlockTimes\":4"), "*"), "did not give the queue's lock back, 4 tries");
    expect_finding(well, MEMBER("false", "", "x"), "10.0.1.2@7  -      -           -        subscribes to other things than 10.0.1.1@7");
    expect_finding(well, NULL, "no findings\n");
}

/* --- several ids --- */

TEST(ids, of_several_messages_are_looked_for_one_after_the_other)
{
    struct cluster *c = world_start();
    struct line_run s;
    line_run(&s, c, "queryMsgById -t T -i KEY1,,KEY1, --json");
    EXPECT_EQ(s.status, ADMIN_FINE);
    EXPECT_EQ(count_of(s.out_text, "\n"), 2);
    EXPECT_EQ(count_of(s.out_text, "\"msgId\":\"KEY1\""), 2);
    line_done(&s);
    line_run(&s, c, "queryMsgById -t T -i KEY1,KEY1 -g G -d 10.0.1.1@7");
    EXPECT_EQ(count_of(s.out_text, "CR_SUCCESS"), 2);
    EXPECT_EQ(count_of(s.out_text, "consumeResult"), 1);
    line_done(&s);
    line_run(&s, c, "queryMsgById -t T -i ,");
    EXPECT_EQ(s.status, ADMIN_USAGE);
    line_done(&s);
    cluster_stop(c);
}

static struct line_run consumed(const char *running, int32_t code, const char *result)
{
    struct cluster *c = cluster_start();
    struct line broker[LINES_MAX];
    struct line_run s;
    size_t n = 0;
    broker[n++] = (struct line){REQUEST_GET_CONSUMER_RUNNING_INFO, 0, running};
    broker[n++] = (struct line){REQUEST_CONSUME_MESSAGE_DIRECTLY, code, result};
    broker[n++] = (struct line){REQUEST_QUERY_MESSAGE, 0, "", NULL, NULL, &world_record};
    broker[n] = (struct line){0};
    cluster_serve(c, 0, (struct line[]){{REQUEST_GET_ROUTEINFO_BY_TOPIC, 0, world_route}, {0}});
    cluster_serve(c, 1, broker);
    line_run(&s, c, "queryMsgByUniqueKey -t T -i KEY1 -g G -d x");
    cluster_stop(c);
    return s;
}

TEST(ids, a_member_that_fails_or_pulls_for_itself_is_told_and_the_status_says_so)
{
    cluster_stop(world_start());   /* makes the record */
    struct line_run s = consumed(world_running, 0, "{\"consumeResult\":\"CR_THROW_EXCEPTION\",\"remark\":\"why\"}");
    EXPECT_EQ(s.status, ADMIN_FAILED);
    EXPECT(strstr(s.out_text, "CR_THROW_EXCEPTION") && strstr(s.out_text, "why"));
    line_done(&s);
    s = consumed("{\"properties\":{\"PROP_CONSUME_TYPE\":\"CONSUME_ACTIVELY\"}}", 0, "");
    EXPECT_EQ(s.status, ADMIN_FAILED);
    EXPECT(strstr(s.err_text, "x is no push consumer"));
    line_done(&s);
    s = consumed(world_running, RESPONSE_SYSTEM_ERROR, "it is gone");
    EXPECT_EQ(s.status, ADMIN_FAILED);
    EXPECT(strstr(s.err_text, "it is gone"));
    line_done(&s);
}

/* --- files --- */

TEST(files, of_compacted_topics_are_read_to_their_end_and_damage_is_told)
{
    struct cluster *c = world_start();
    struct line_run s;
    line_run(&s, c, "dumpCompactionLog -f compacted");
    EXPECT_EQ(count_of(s.out_text, "KEY1"), 2);
    line_done(&s);
    line_run(&s, c, "dumpCompactionLog -f compacted --limit 1");
    EXPECT_EQ(count_of(s.out_text, "KEY1"), 1);
    line_done(&s);
    line_run(&s, c, "dumpCompactionLog -f cut");
    EXPECT_EQ(s.status, ADMIN_FAILED);
    EXPECT(count_of(s.out_text, "KEY1") == 1 && strstr(s.err_text, "cut: at 1") && strstr(s.err_text, "is no whole record"));
    line_done(&s);
    EXPECT(!c->servers[0].asked && !c->servers[1].asked);
    cluster_stop(c);
}

TEST(files, of_metrics_have_what_mqadmin_writes)
{
    static const char expected[] =
        "\"commitLogDiskRatio\":\"0.80\"";
    struct cluster *c = world_start();
    struct line_run s;
    line_run(&s, c, "exportMetrics -c C -f d");
    EXPECT_EQ(s.status, ADMIN_FINE);
    EXPECT(strstr(line_written(), expected));
    EXPECT(strstr(line_written(), "\"groupSize\":1") && strstr(line_written(), "\"topicSize\":1") && strstr(line_written(), "\"JAVA%V5_3_3\""));
    EXPECT(strstr(line_written(), "\"normalInTps\":12.5") && strstr(line_written(), "\"normalOneDayInNum\":15") && strstr(line_written(), "\"totalTransInTps\":2.5"));
    line_done(&s);
    cluster_stop(c);
}
