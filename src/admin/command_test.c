/* Commands: what is read from the line, and how answers read. */
#include "admin/session_fixture.h"
#include "admin/output.h"

#include <stdlib.h>
#include <string.h>

#define END {0, 0, NULL}

/* --- output --- */

TEST(output, columns_are_as_wide_as_their_widest_cell_in_characters_and_the_last_is_not_padded)
{
    struct grid g;
    struct buf out = BUF_EMPTY;
    grid_init(&g, 3);
    grid_text(&g, SLICE("näme"));
    grid_text(&g, SLICE("x"));
    grid_text(&g, SLICE("last"));
    grid_text(&g, SLICE("abcdef"));
    grid_text(&g, SLICE(""));
    grid_i64(&g, -12);
    grid_text(&g, SLICE("a\x1B[1m\n"));
    grid_time(&g, 0);
    grid_time(&g, 1796042445070);
    grid_print(&g, &out);
    EXPECT_TEXT(buf_slice(&out), "näme          x  last\n"
                                 "abcdef        -  -12\n"
                                 "a\\x1B[1m\\x0A  -  2026-11-30T12:40:45.070Z\n");
    buf_done(&out);
    grid_done(&g);
}

/* --- answers --- */

static struct cluster *one_broker(const struct line *lines)
{
    struct cluster *c = cluster_start();
    cluster_serve(c, 0, (struct line[]){{REQUEST_GET_ROUTEINFO_BY_TOPIC, 0, two_route}, {REQUEST_GET_BROKER_CLUSTER_INFO, 0, two_cluster}, END});
    cluster_serve(c, 1, lines);
    return c;
}

static const char queue_answer[] = "{\"facts\":{\"minOffset\":\"0\",\"committedOffset\":\"17\",\"lastPullBy\":\"c@1\"},\"sentence\":\"everything is consumed\"}";

TEST(command, the_sentence_comes_first_then_the_facts)
{
    struct cluster *c = one_broker((struct line[]){{REQUEST_WHY_QUEUE, 0, queue_answer}, END});
    line_expect(c, "why queue G T 0 --broker-name a", ADMIN_FINE,
           "everything is consumed\n\n"
           "broker           a 10.0.0.2:1\n"
           "minOffset        0\n"
           "committedOffset  17\n"
           "lastPullBy       c@1\n", "");
    line_expect(c, "why queue --json -b 10.0.0.2:1 G T 0", ADMIN_FINE,
           "{\"sentence\":\"everything is consumed\",\"brokerAddr\":\"10.0.0.2:1\",\"facts\":{\"minOffset\":\"0\",\"committedOffset\":\"17\",\"lastPullBy\":\"c@1\"}}\n", "");
    cluster_stop(c);
}

TEST(command, copies_of_a_message_are_a_table)
{
    struct cluster *c = one_broker((struct line[]){
        {REQUEST_WHY_MESSAGE, 0, "{\"copies\":[{\"commitLogOffset\":4711,\"dueTimestamp\":1796042445070,\"place\":\"waiting for its time\",\"queueId\":3,"
                                 "\"queueOffset\":12,\"reconsumeTimes\":1,\"storeTimestamp\":1796042445069,\"topic\":\"T\"}],\"facts\":{},\"sentence\":\"it waits\"}"}, END});
    line_expect(c, "why message T K -b 10.0.0.2:1", ADMIN_FINE,
           "it waits\n\n"
           "broker  10.0.0.2:1\n\n"
           "place                 topic  queueId  queueOffset  commitLogOffset  storeTimestamp            dueTimestamp              reconsumeTimes\n"
           "waiting for its time  T      3        12           4711             2026-11-30T12:40:45.069Z  2026-11-30T12:40:45.070Z  1\n", "");
    line_expect(c, "why message T K G -b 10.0.0.2:1 --json", ADMIN_FINE,
           "{\"sentence\":\"it waits\",\"brokerAddr\":\"10.0.0.2:1\",\"facts\":{},\"copies\":[{\"commitLogOffset\":4711,\"dueTimestamp\":1796042445070,"
           "\"place\":\"waiting for its time\",\"queueId\":3,\"queueOffset\":12,\"reconsumeTimes\":1,\"storeTimestamp\":1796042445069,\"topic\":\"T\"}]}\n", "");
    EXPECT_TEXT(cluster_field(c, 1, "consumerGroup"), "G");
    cluster_stop(c);
}

TEST(command, a_broker_that_fails_beside_others_is_one_line_and_status_1)
{
    struct cluster *c = one_broker((struct line[]){{REQUEST_WHY_SEND, 0, "{\"facts\":{\"perm\":\"6\"},\"sentence\":\"it would be taken\"}"}, END});
    cluster_serve(c, 2, (struct line[]){{REQUEST_WHY_SEND, RESPONSE_NO_PERMISSION, "not\tyou"}, END});
    line_expect(c, "why send T", ADMIN_FAILED, "it would be taken\n\nbroker  a 10.0.0.2:1\nperm    6\n", "skylark admin why send: broker b: not\\x09you (code 16)\n");
    line_expect(c, "why send T --json", ADMIN_FAILED,
           "{\"brokers\":[{\"sentence\":\"it would be taken\",\"brokerName\":\"a\",\"brokerAddr\":\"10.0.0.2:1\",\"facts\":{\"perm\":\"6\"}}],"
           "\"failures\":[{\"brokerName\":\"b\",\"brokerAddr\":\"10.0.0.3:1\",\"error\":\"not\\tyou (code 16)\"}]}\n",
           "skylark admin why send: broker b: not\\x09you (code 16)\n");
    cluster_stop(c);
}

TEST(command, open_transactions_are_a_table)
{
    struct cluster *c = one_broker((struct line[]){
        {REQUEST_GET_OPEN_TRANSACTIONS, 0, "{\"nextOffset\":-1,\"open\":2,\"transactions\":[{\"bornTimestamp\":1796042445070,\"checkTimes\":1,\"commitLogOffset\":255,"
                                           "\"producerGroup\":\"P\",\"queueId\":0,\"queueOffset\":12,\"topic\":\"Orders\",\"uniqKey\":\"K1\"}]}"},
        {REQUEST_RESUME_CHECK_HALF_MESSAGE, 0, ""}, END});
    line_expect(c, "transaction list -b 10.0.0.2:1 --topic Orders", ADMIN_FINE,
           "1 of 2 open transactions\n\n"
           "broker      topic   queueId  producerGroup  bornTimestamp             checkTimes  uniqKey  msgId\n"
           "10.0.0.2:1  Orders  0        P              2026-11-30T12:40:45.070Z  1           K1       0A0000020000000100000000000000FF\n", "");
    line_expect(c, "transaction list -b 10.0.0.2:1 --json", ADMIN_FINE,
           "{\"open\":2,\"transactions\":[{\"brokerAddr\":\"10.0.0.2:1\",\"topic\":\"Orders\",\"queueId\":0,\"producerGroup\":\"P\",\"bornTimestamp\":1796042445070,"
           "\"checkTimes\":1,\"uniqKey\":\"K1\",\"msgId\":\"0A0000020000000100000000000000FF\",\"queueOffset\":12,\"commitLogOffset\":255}]}\n", "");
    line_expect(c, "transaction resume Orders K1 -b 10.0.0.2:1", ADMIN_FINE,
           "its producer is asked for the outcome again, from the first time on\n\n"
           "broker  10.0.0.2:1\nmsgId   0A0000020000000100000000000000FF\n", "");
    line_expect(c, "transaction resume Orders K1 -b 10.0.0.2:1 --json", ADMIN_FINE,
           "{\"brokerAddr\":\"10.0.0.2:1\",\"msgId\":\"0A0000020000000100000000000000FF\"}\n", "");
    cluster_stop(c);
}

/* --- errors --- */

TEST(command, errors_are_one_line_that_says_what_helps)
{
    struct cluster *c = cluster_start();
    cluster_serve(c, 0, (struct line[]){{REQUEST_GET_ROUTEINFO_BY_TOPIC, RESPONSE_TOPIC_NOT_EXIST, "no"}, {REQUEST_GET_ROUTEINFO_BY_TOPIC, 0, two_route}, END});
    line_expect(c, "why queue G T 0", ADMIN_FAILED, "",
           "skylark admin why queue: no broker has a topic \"T\" ('skylark admin why send TOPIC' says whether a send would make it)\n");
    line_expect(c, "why queue G T 0", ADMIN_USAGE, "",
           "skylark admin why queue: topic \"T\" has a queue 0 on several brokers: a, b (choose one with --broker-name)\n");
    struct line_run s;
    line_run(&s, c, "why send T --timeout 200 --broker 10.0.0.7:1");
    EXPECT_EQ(s.status, ADMIN_NOBODY);
    EXPECT(strstr(s.err_text, "10.0.0.7:1") && strstr(s.err_text, "is a broker there?") && !s.out_bytes);
    line_done(&s);
    cluster_stop(c);
}

TEST(command, wrong_usage_is_one_line_and_asks_nobody)
{
    struct cluster *c = cluster_start();
    static const char *const lines[][2] = {
        {"why queue G T", "why queue: it takes GROUP TOPIC QUEUE; see 'skylark admin why queue --help'"},
        {"why queue G T x", "why queue: QUEUE is a number from 0 on, not \"x\""},
        {"why queue G T -- -1", "why queue: QUEUE is a number from 0 on, not \"-1\""},
        {"why send a b", "why send: \"b\" is not expected behind TOPIC; see 'skylark admin why send --help'"},
        {"why send ", "why send: it takes TOPIC; see 'skylark admin why send --help'"},
        {"deleteTopic -t T", "deleteTopic: it needs -c CLUSTER; see 'skylark admin deleteTopic --help'"},
        {"updateTopic -t T", "updateTopic: it needs one of brokerAddr|clusterName; see 'skylark admin updateTopic --help'"},
        {"updateTopic -t T -b h:1 -c C", "updateTopic: it needs one of brokerAddr|clusterName, not several; see 'skylark admin updateTopic --help'"},
        {"updateTopic -t T -b h", "updateTopic: --brokerAddr wants HOST:PORT, not \"h\""},
        {"updateTopic -t T -c C -r x", "updateTopic: --readQueueNums wants a number, not \"x\""},
        {"updateTopic -t T -c C -p 7", "updateTopic: --perm wants 2 (W), 4 (R) or 6 (RW), not \"7\""},
        {"topic delete T", "topic delete: it deletes the topic and all of its messages: T; with --yes it does so without asking"},
        {"why send T --profile nowhere", "why send: there is no profile \"nowhere\" in ~/.config/skylark/profiles"},
        {"transaction list all", "transaction list: \"all\" is not expected; see 'skylark admin transaction list --help'"},
        {"why send T -q", "why send: there is no option -q; see 'skylark admin why send --help'"},
        {"why send T --group G", "why send: there is no option --group; see 'skylark admin why send --help'"},
        {"why send T --timeout", "why send: --timeout wants a value; see 'skylark admin why send --help'"},
        {"why send T --timeout 0", "why send: --timeout wants a number of milliseconds from 1 to 3600000, not \"0\""},
        {"why send T -n host", "why send: --namesrv wants HOST:PORT[;HOST:PORT...], not \"host\""},
        {"why send T -n ;", "why send: --namesrv names no address"},
        {"why send T -b h:1;h:2", "why send: --broker wants HOST:PORT, not \"h:1;h:2\""},
        {"why sned T", "there is no command \"why sned\"; there are: why queue, why message, why send ('skylark admin --help' explains them)"},
        {"wyh send", "there is no command \"wyh\"; there are: topic, group, message, dlq, timer, transaction, cluster, broker, user, acl, client, route, subscription, why, doctor, "
                     "bundle ('skylark admin --help' explains them)"},
        {"updateTopik", "there is no command \"updateTopik\"; there are: updateTopic, updateTopicList, updateTopicPerm ('skylark admin --help' explains them)"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct buf text = BUF_EMPTY;
        buf_printf(&text, "skylark admin%s%s\n", strncmp(lines[i][1], "there is no c", 13) ? " " : ": ", lines[i][1]);
        buf_put_u8(&text, 0);
        line_expect(c, lines[i][0], ADMIN_USAGE, "", (const char *)text.p);
        buf_done(&text);
    }
    cluster_stop(c);
}

TEST(command, each_level_explains_itself)
{
    struct cluster *c = cluster_start();
    struct line_run s;
    static const char *const nouns[] = {"--help", "help", "-h", "transaction --help", "transaction help"};
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++) {
        line_run(&s, c, nouns[i]);
        EXPECT_EQ(s.status, ADMIN_FINE);
        EXPECT(strstr(s.out_text, "  transaction list   ") && strstr(s.out_text, "  transactions that are open"));
        EXPECT(!strstr(s.out_text, "why queue") == (i >= 3));
        EXPECT(strstr(s.out_text, "--namesrv ADDR") && strstr(s.out_text, "3 nobody answered"));
        line_done(&s);
    }
    static const char *const commands[] = {"why queue", "why message", "why send", "transaction list", "transaction resume"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char line[64];
        snprintf(line, sizeof line, "%s --help", commands[i]);
        line_run(&s, c, line);
        EXPECT_EQ(s.status, ADMIN_FINE);
        EXPECT(strstr(s.out_text, "usage: skylark admin ") == s.out_text && strstr(s.out_text, "\n  skylark admin ") && strstr(s.out_text, "--json"));
        EXPECT(!s.err_bytes);
        line_done(&s);
    }
    line_expect(c, "transaction resume --help", ADMIN_FINE,
           "usage: skylark admin transaction resume TOPIC MSGID [options]\n\n"
           "Has the producer of a half message asked for the outcome again, as if it had never been asked; also of one that was given up after too many\n"
           "times. MSGID is its unique key or its message id, as 'skylark admin transaction list' shows them; of one that was given up, its message\n"
           "id in topic TRANS_CHECK_MAX_TIME_TOPIC.\n\n"
           "Example:\n  skylark admin transaction resume Orders 7F0000010A1B2C3D4E5F000000000001\n\n"
           "  -n, --namesrv ADDR[;ADDR...]  name servers (default: the variable NAMESRV_ADDR, else 127.0.0.1:9876)\n"
           "  -b, --broker ADDR             asks this broker alone, and no name server\n"
           "      --json                    the answer as one JSON document\n"
           "      --timeout MS              for all of it together (default 3000)\n"
           "      --profile NAME            name servers and time limit of this section of ~/.config/skylark/profiles\n"
           "  -h, --help                    this\n\n"
           "Exit status: 0 fine, 1 the answer is an error (or one of several brokers gave none), 2 wrong usage, 3 nobody answered.\n", "");
    line_run(&s, c, "");
    EXPECT_EQ(s.status, ADMIN_USAGE);
    EXPECT(strstr(s.err_text, "why queue GROUP TOPIC QUEUE") && !s.out_bytes);
    line_done(&s);
    cluster_stop(c);
}
