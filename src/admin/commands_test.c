/* Every command against two brokers and a name server: whom it asks what, and what is read from the answers. */
#include "admin/command.h"
#include "admin/commands_fixture.h"

#include <stdlib.h>
#include <string.h>

static const char running_other[] = "{\"mqTable\":{},\"properties\":{},\"statusTable\":{},\"subscriptionSet\":[{\"expressionType\":\"TAG\",\"subString\":\"x\",\"topic\":\"T\"}]}";
static const char status_from_0[] =
    "{\"offsetTable\":{{\"brokerName\":\"a\",\"queueId\":0,\"topic\":\"T\"}:{\"lastUpdateTimestamp\":1,\"maxOffset\":501,\"minOffset\":0}},\"topicPutTps\":0.5}";

/* --- each command --- */

enum { NAMES, BROKER };

struct row {
    const char *line;
    int server;                 /* -1: nobody was asked */
    int32_t code;               /* that this one was asked */
    const char *field, *value;  /* with this field (V2 of sends: its letter); NULL: any */
    const char *part;           /* of what was printed */
};

static const struct row rows[] = {
    /* topics */
    {"topic list", BROKER, REQUEST_GET_ALL_TOPIC_CONFIG, NULL, NULL, "T      FIFO  1        4"},
    {"topic describe T", BROKER, REQUEST_QUERY_TOPIC_CONSUME_BY_WHO, "topic", "T", "message.type  FIFO"},
    {"topic create N --queues 3 --type FIFO -b 10.0.0.2:1", BROKER, REQUEST_UPDATE_AND_CREATE_TOPIC, "attributes", "+message.type=FIFO", "readQueueNums   3"},
    {"topic update T --queues 9", BROKER, REQUEST_UPDATE_AND_CREATE_TOPIC, "writeQueueNums", "9", "the topic is changed"},
    {"topic update T --perm RW", BROKER, REQUEST_UPDATE_AND_CREATE_TOPIC, "readQueueNums", "3", "writeQueueNums  5"},
    {"topic delete T --yes", NAMES, REQUEST_DELETE_TOPIC_IN_NAMESRV, "topic", "T", "the topic is gone"},
    {"updateTopic -c C -t T -r 2 -w 3 -p 4 -o true -u true -a +x=y", BROKER, REQUEST_UPDATE_AND_CREATE_TOPIC, "topicSysFlag", "1", "perm            R--"},
    {"updateTopic -c C -t T -w 3 -o true", NAMES, REQUEST_PUT_KV_CONFIG, "value", "a:3", "order           true"},
    {"updateTopicList -b 10.0.0.2:1 -f topics.json", BROKER, REQUEST_UPDATE_AND_CREATE_TOPIC_LIST, NULL, NULL, "the topics are there"},
    {"deleteTopic -t T -c C", BROKER, REQUEST_DELETE_TOPIC_IN_BROKER, "topic", "T", "the topic is gone"},
    {"updateTopicPerm -t T -c C -p 4", BROKER, REQUEST_UPDATE_AND_CREATE_TOPIC, "perm", "4", "RW-   R--"},
    {"updateTopicPerm -t T -c C -p 6", NAMES, REQUEST_GET_ROUTEINFO_BY_TOPIC, "topic", "T", "nothing to do: the permission is RW- already"},
    {"updateOrderConf -t T -m get", NAMES, REQUEST_GET_KV_CONFIG, "namespace", "ORDER_TOPIC_CONFIG", "orderConf  a:4"},
    {"updateOrderConf -t T -m put -v a:4", NAMES, REQUEST_PUT_KV_CONFIG, "key", "T", "the name servers know it"},
    {"updateOrderConf -t T -m delete", NAMES, REQUEST_DELETE_KV_CONFIG, "key", "T", "topic  T"},
    {"topicList", NAMES, REQUEST_GET_ALL_TOPIC_LIST_FROM_NAMESERVER, NULL, NULL, "%RETRY%G\nA\nT\n"},
    {"topicList -c", BROKER, REQUEST_QUERY_TOPIC_CONSUME_BY_WHO, "topic", "A", "C            T      G"},
    {"topicClusterList -t T", NAMES, REQUEST_GET_ROUTEINFO_BY_TOPIC, "topic", "T", "C\n"},
    {"topicRoute -t T -l", NAMES, REQUEST_GET_ROUTEINFO_BY_TOPIC, NULL, NULL, "readQueues   4"},
    {"topicStatus -t T", BROKER, REQUEST_GET_TOPIC_STATS_INFO, "topic", "T", "a           0        8          10         2026-11-30T12:40:45.070Z"},
    {"allocateMQ -t T -i x,y,z", NAMES, REQUEST_GET_ROUTEINFO_BY_TOPIC, NULL, NULL, "x   a           0\nx   a           1\ny   a           2\nz   a           3\n"},
    {"statsAll -t T", BROKER, REQUEST_VIEW_BROKER_STATS_DATA, "statsKey", "T@G", "T      G              6             2.50   2.50    100          100"},
    {"getBrokerLiteInfo -b 10.0.0.2:1 -d", BROKER, REQUEST_GET_BROKER_LITE_INFO, NULL, NULL, "T      G,H"},
    {"getBrokerLiteInfo -c C", BROKER, REQUEST_GET_BROKER_LITE_INFO, NULL, NULL, "default    90         3              2"},
    {"getParentTopicInfo -p T", BROKER, REQUEST_GET_PARENT_TOPIC_INFO, "topic", "T", "a           60   2               3       G,H"},
    {"getLiteTopicInfo -p T -l l1 -s", BROKER, REQUEST_GET_LITE_TOPIC_INFO, "liteTopic", "l1", "lmqName  %LMQ%$T$l1\n"},
    {"getLiteTopicInfo -p T -l l1 -s", BROKER, REQUEST_GET_LITE_TOPIC_INFO, "parentTopic", "T", "a           c1        G"},
    {"getLiteTopicInfo -p T -l l1", BROKER, REQUEST_GET_LITE_TOPIC_INFO, NULL, NULL, "a           2          7          2026-11-30T12:40:45.070Z  true              1\n"},
    {"getLiteClientInfo -p T -g G -c c1 -s", BROKER, REQUEST_GET_LITE_CLIENT_INFO, "clientId", "c1", "a           1               2026-11-30T12:40:45.070Z  -\n"},
    {"getLiteGroupInfo -p T -g G -k 3", BROKER, REQUEST_GET_LITE_GROUP_INFO, "topK", "3", "l2         5         -\nl1         2         2026-11-30T12:40:45.070Z\n"},
    {"getLiteGroupInfo -p T -g G -l l1", BROKER, REQUEST_GET_LITE_GROUP_INFO, "liteTopic", "l1", "a           7             5               2         -\n"},
    {"triggerLiteDispatch -p T -g G -c c1 -b a", BROKER, REQUEST_TRIGGER_LITE_DISPATCH, "clientId", "c1", "dispatched"},
    /* groups */
    {"group list", BROKER, REQUEST_GET_CONSUMER_CONNECTION_LIST, "consumerGroup", "G", "G      2      V5_3_3   PUSH  CLUSTERING  1.50  6"},
    {"group describe G", BROKER, REQUEST_GET_CONSUME_STATS, "consumerGroup", "G", "retryMaxTimes                   3"},
    {"group create G --retryMaxTimes 5", BROKER, REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, NULL, NULL, "the group is there"},
    {"group delete G --yes", BROKER, REQUEST_DELETE_SUBSCRIPTIONGROUP, "cleanOffset", "true", "the group is gone"},
    {"group reset-offset G T --to beginning --dry-run", BROKER, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, "dryRun", "true", "nothing was changed"},
    {"group reset-offset G T --queue 0 --offset 7", BROKER, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, "offset", "7", "a           0        7"},
    {"group clone G N T", BROKER, REQUEST_UPDATE_CONSUMER_OFFSET, "consumerGroup", "N", "T      a           0        4"},
    {"updateSubGroup -c C -g G -s false -r 2 --attributes +k=v,-x", BROKER, REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, NULL, NULL, "the group is there"},
    {"updateSubGroupList -c C -f groups.json", BROKER, REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, NULL, NULL, "the groups are there"},
    {"deleteSubGroup -c C -g G -r true", BROKER, REQUEST_DELETE_TOPIC_IN_BROKER, "topic", "%DLQ%G", "the group is gone"},
    {"setConsumeMode -c C -t T -g G -m POP -q 1", BROKER, REQUEST_SET_MESSAGE_REQUEST_MODE, NULL, NULL, "the mode is set"},
    {"consumerProgress", BROKER, REQUEST_GET_CONSUME_STATS, "consumerGroup", "G", "G      2"},
    {"consumerProgress -g G -t T", BROKER, REQUEST_GET_CONSUME_STATS, "topic", "T", "T      a           0        10            4               -         6     2         2026"},
    {"consumerProgress -g G -s true", BROKER, REQUEST_GET_CONSUMER_RUNNING_INFO, "clientId", "10.0.1.2@7", "10.0.1.2"},
    {"consumerConnection -g G", BROKER, REQUEST_GET_CONSUMER_CONNECTION_LIST, "consumerGroup", "G", "10.0.1.1@7  10.0.1.1:5  JAVA      V5_3_3"},
    {"producerConnection -g P -t T", BROKER, REQUEST_GET_PRODUCER_CONNECTION_LIST, "producerGroup", "P", "p@1       10.0.1.3:5  JAVA      V5_5_0"},
    {"producer -b 10.0.0.2:1", BROKER, REQUEST_GET_ALL_PRODUCER_INFO, NULL, NULL, "P              p@1"},
    {"getConsumerConfig -g G", BROKER, REQUEST_GET_SUBSCRIPTIONGROUP_CONFIG, "group", "G", "retryMaxTimes                   3"},
    {"resetOffsetByTime -g G -t T -s -1", BROKER, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, "timestamp", "-1", "the group goes on there"},
    {"resetOffsetByTime -g G -t T -s 5 -b 10.0.0.2:1 -q 0 -o 7", BROKER, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, "queueId", "0", "the group goes on there"},
    {"skipAccumulatedMessage -g G -t T", BROKER, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, "isForce", "true", "a           0        7"},
    {"cloneGroupOffset -s G -d N -t T", BROKER, REQUEST_UPDATE_CONSUMER_OFFSET, "commitOffset", "4", "T      a           0        4"},
    {"consumerStatus -g G", BROKER, REQUEST_GET_CONSUMER_RUNNING_INFO, "consumerGroup", "G", "subscriptionsAgree  true"},
    {"consumerStatus -g G -i 10.0.1.1@7", BROKER, REQUEST_GET_CONSUMER_RUNNING_INFO, "clientId", "10.0.1.1@7", "T      3.00    4.00     2.00       1.00          0.50              2"},
    {"subscription check G", BROKER, REQUEST_GET_CONSUMER_RUNNING_INFO, NULL, NULL, "no disagreements"},
    {"startMonitoring --rounds 1", BROKER, REQUEST_GET_TOPIC_STATS_INFO, "topic", "T", "G              T      2        6                6                   0\n"},
    /* messages */
    {"message show T KEY1", BROKER, REQUEST_QUERY_MESSAGE, "_UNIQUE_KEY_QUERY", "true", "body             hello"},
    {"message find T --key k1", BROKER, REQUEST_QUERY_MESSAGE, "key", "k1", "KEY1   a           0        9            red   k1    2026-11-30T12:40:45.070Z  5"},
    {"message send T hello --tags red", BROKER, REQUEST_SEND_MESSAGE_V2, "b", "T", "a           2        SEND_OK"},
    {"message resend T KEY1", BROKER, REQUEST_SEND_MESSAGE_V2, "b", "T", "SEND_OK"},
    {"queryMsgById -t T -i 0A0000020000000100000000000000FF", BROKER, REQUEST_VIEW_MESSAGE_BY_ID, "offset", "255", "offsetId         0A0000020000000100000000000000FF"},
    {"queryMsgByKey -t T -k k1 -m 3", BROKER, REQUEST_QUERY_MESSAGE, "maxNum", "3", "KEY1"},
    {"queryMsgByUniqueKey -t T -i KEY1", BROKER, REQUEST_QUERY_TOPIC_CONSUME_BY_WHO, "topic", "T", "NOT_CONSUME_YET"},
    {"queryMsgByUniqueKey -t T -i KEY1 -a", BROKER, REQUEST_QUERY_MESSAGE, "key", "KEY1", "hello"},
    {"queryMsgByKey -t T -k red -p T", BROKER, REQUEST_QUERY_MESSAGE, "indexType", "T", "KEY1"},
    {"queryMsgByUniqueKey -t T -i KEY1 -s 5 -e 6", BROKER, REQUEST_QUERY_MESSAGE, "endTimestamp", "6", "hello"},
    {"queryMsgByUniqueKey -t T -i KEY1 -g G -d 10.0.1.1@7", BROKER, REQUEST_CONSUME_MESSAGE_DIRECTLY, "clientId", "10.0.1.1@7", "CR_SUCCESS"},
    {"queryMsgById -t T -i 0A0000020000000100000000000000FF -g G -d 10.0.1.1@7", BROKER, REQUEST_CONSUME_MESSAGE_DIRECTLY, "msgId", "0A0000020000000100000000000000FF",
     "KEY1   10.0.1.1@7  CR_SUCCESS     false  true        12              -\n"},
    {"queryMsgById -t T -i KEY1 -s true", BROKER, REQUEST_SEND_MESSAGE_V2, "b", "T", "KEY1           a           2        SEND_OK"},
    {"queryMsgByOffset -t X -r T -b a -i 0 -o 9", BROKER, REQUEST_PULL_MESSAGE, "topic", "X", "queueOffset      9"},
    {"queryMsgByOffset -t T -b a -i 0 -o 9", BROKER, REQUEST_PULL_MESSAGE, "queueOffset", "9", "queueOffset      9"},
    {"queryMsgTraceById -i KEY1", BROKER, REQUEST_QUERY_MESSAGE, "topic", "RMQ_SYS_TRACE_TOPIC", "no pub"},
    {"printMsg -t T", BROKER, REQUEST_PULL_MESSAGE, "queueOffset", "8", "hello"},
    {"printMsg -t T -s blue", BROKER, REQUEST_PULL_MESSAGE, "subscription", "blue", "no messages"},
    {"printMsg -t T -b -2h -d false", BROKER, REQUEST_SEARCH_OFFSET_BY_TIMESTAMP, "queueId", "0", "more  false"},
    {"printMsgByQueue -t T -a a -i 0 -f true", BROKER, REQUEST_PULL_MESSAGE, "queueId", "0", "red  1"},
    {"consumeMessage -t T -b a -i 0 -o 9 -c 1", BROKER, REQUEST_PULL_MESSAGE, "queueOffset", "9", "hello"},
    {"message tail T --timeout 1000 --limit 1", BROKER, REQUEST_PULL_MESSAGE, "sysFlag", "6", "hello"},
    {"sendMessage -t T -p hello -k k1 -b a -i 2", BROKER, REQUEST_SEND_MESSAGE_V2, "e", "2", "SEND_OK"},
    {"checkMsgSendRT -t T -a 2 -s 10", BROKER, REQUEST_SEND_MESSAGE_V2, "e", "1", "avgRT"},
    {"sendMsgStatus -b a -c 2", BROKER, REQUEST_SEND_MESSAGE_V2, "b", "a", "SEND_OK"},
    {"clusterRT -a 3", BROKER, REQUEST_SEND_MESSAGE_V2, "b", "a", "C            a           "},
    {"queryCq -t T -q 0 -i 8", BROKER, REQUEST_QUERY_CONSUME_QUEUE, "count", "10", "8      255           120         7"},
    {"timer list", BROKER, REQUEST_GET_TIMER_METRICS, NULL, NULL, "T      a           4"},
    {"timer cancel T djEgVCBhIDE3OTYwNDI0NDUwNzAgS0VZMQ==", BROKER, REQUEST_RECALL_MESSAGE, "topic", "T", "it will not be delivered"},
    {"dumpCompactionLog -f compacted", -1, 0, NULL, NULL, "messageCount  2\n"},
    {"dlq list", BROKER, REQUEST_GET_TOPIC_STATS_INFO, "topic", "%DLQ%G", "G      a           2"},
    /* accounts */
    {"user list", BROKER, REQUEST_AUTH_LIST_USER, NULL, NULL, "a           alice     Normal    enable\n"},
    {"user show alice", BROKER, REQUEST_AUTH_GET_USER, "username", "alice", "a           alice     Normal    enable\n"},
    {"user create bob --password x", BROKER, REQUEST_AUTH_CREATE_USER, "username", "bob", "the user is there"},
    {"user update bob --userStatus disable", BROKER, REQUEST_AUTH_UPDATE_USER, "username", "bob", "the user is changed"},
    {"user delete bob --yes", BROKER, REQUEST_AUTH_DELETE_USER, "username", "bob", "the user is gone"},
    {"createUser -c C -u bob -p x -t Super", BROKER, REQUEST_AUTH_CREATE_USER, "username", "bob", "a           10.0.0.2:1\n"},
    {"updateUser -b 10.0.0.2:1 -u bob -p y", BROKER, REQUEST_AUTH_UPDATE_USER, "username", "bob", "the user is changed"},
    {"deleteUser -c C -u bob", BROKER, REQUEST_AUTH_DELETE_USER, "username", "bob", "the user is gone"},
    {"getUser -c C -u alice", BROKER, REQUEST_AUTH_GET_USER, "username", "alice", "a           alice     Normal    enable\n"},
    {"listUser -c C -f al", BROKER, REQUEST_AUTH_LIST_USER, "filter", "al", "alice"},
    {"copyUser -f 10.0.0.2:1 -t 10.0.0.2:1 -u alice", BROKER, REQUEST_AUTH_UPDATE_USER, "username", "alice", "username\nalice\n"},
    {"copyUser -f 10.0.0.2:1 -t 10.0.0.2:1", BROKER, REQUEST_AUTH_LIST_USER, NULL, NULL, "username\nalice\n"},
    {"acl list", BROKER, REQUEST_AUTH_LIST_ACL, NULL, NULL, "a           User:alice  Custom      Topic:T   Pub,Sub  10.0.0.7   Allow\n"},
    {"acl show alice", BROKER, REQUEST_AUTH_GET_ACL, "subject", "User:alice", "Topic:T   Pub,Sub  10.0.0.7   Allow\n"},
    {"acl create alice --resources Topic:T --actions Pub --decision Allow", BROKER, REQUEST_AUTH_CREATE_ACL, "subject", "User:alice", "the permissions are there"},
    {"acl update alice --resources Topic:T --actions Pub --decision Deny", BROKER, REQUEST_AUTH_UPDATE_ACL, "subject", "User:alice", "the permissions are changed"},
    {"acl delete alice --yes", BROKER, REQUEST_AUTH_DELETE_ACL, "subject", "User:alice", "the permissions are gone"},
    {"createAcl -c C -s User:alice -r Topic:T -a Pub -d Allow", BROKER, REQUEST_AUTH_CREATE_ACL, "subject", "User:alice", "the permissions are there"},
    {"updateAcl -c C -s User:alice -r Topic:T -a Pub -d Deny", BROKER, REQUEST_AUTH_UPDATE_ACL, "subject", "User:alice", "the permissions are changed"},
    {"deleteAcl -c C -s User:alice -r Topic:T", BROKER, REQUEST_AUTH_DELETE_ACL, "resource", "Topic:T", "the permissions are gone"},
    {"getAcl -c C -s User:alice", BROKER, REQUEST_AUTH_GET_ACL, "subject", "User:alice", "Topic:T   Pub,Sub  10.0.0.7   Allow\n"},
    {"listAcl -c C -r T", BROKER, REQUEST_AUTH_LIST_ACL, "resourceFilter", "T", "User:alice"},
    {"copyAcl -f 10.0.0.2:1 -t 10.0.0.2:1", BROKER, REQUEST_AUTH_UPDATE_ACL, "subject", "User:alice", "subject\nUser:alice\n"},
    /* brokers */
    {"cluster status", BROKER, REQUEST_GET_BROKER_RUNTIME_INFO, NULL, NULL, "12.50  7.25"},
    {"clusterList -m", BROKER, REQUEST_GET_BROKER_RUNTIME_INFO, NULL, NULL, "C            a           15"},
    {"brokerStatus -b 10.0.0.2:1", BROKER, REQUEST_GET_BROKER_RUNTIME_INFO, NULL, NULL, "10.0.0.2:1  putTps"},
    {"brokerConsumeStats -b 10.0.0.2:1 -l 6", BROKER, REQUEST_GET_BROKER_CONSUME_STATS, "isOrder", "false", "T      G      a           0        10            4               6"},
    {"brokerConsumeStats -b 10.0.0.2:1 -l 7", BROKER, REQUEST_GET_BROKER_CONSUME_STATS, NULL, NULL, "no queues"},
    {"haStatus -c C", BROKER, REQUEST_GET_BROKER_HA_STATUS, NULL, NULL, "10.0.0.9:4"},
    {"broker config get fileReservedTime", BROKER, REQUEST_GET_BROKER_CONFIG, NULL, NULL, "fileReservedTime  72"},
    {"broker config set fileReservedTime 48", BROKER, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "it is set"},
    {"broker config diff", BROKER, REQUEST_GET_BROKER_CONFIG, NULL, NULL, "have the same settings"},
    {"getBrokerConfig -c C", BROKER, REQUEST_GET_BROKER_CONFIG, NULL, NULL, "fileReservedTime"},
    {"updateBrokerConfig -c C -k a -v b", BROKER, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "it is set"},
    {"getControllerMetaData -a 10.0.0.2:1", BROKER, REQUEST_CONTROLLER_GET_METADATA_INFO, NULL, NULL, "controllerLeaderAddress  10.0.0.2:1\n"},
    {"getControllerMetaData -a 10.0.0.2:1", BROKER, REQUEST_CONTROLLER_GET_METADATA_INFO, NULL, NULL, "n1:10.0.0.4:1\n"},
    {"getControllerConfig -a 10.0.0.2:1", BROKER, REQUEST_GET_CONTROLLER_CONFIG, NULL, NULL, "10.0.0.2:1      controllerType  DLedger\n"},
    {"updateControllerConfig -a '10.0.0.2:1;' -k a -v b", BROKER, REQUEST_UPDATE_CONTROLLER_CONFIG, NULL, NULL, "10.0.0.2:1\n"},
    {"getSyncStateSet -a 10.0.0.2:1 -c C", BROKER, REQUEST_CONTROLLER_GET_SYNC_STATE_DATA, NULL, NULL, "a           2         10.0.0.5:1  true    true   true    4            6\n"},
    {"getSyncStateSet -a 10.0.0.2:1 -b a", BROKER, REQUEST_CONTROLLER_GET_SYNC_STATE_DATA, NULL, NULL, "a           1         10.0.0.6:1  false   false  false   4            6\n"},
    {"electMaster -a 10.0.0.2:1 -b 2 -bn a -c C", BROKER, REQUEST_CONTROLLER_ELECT_MASTER, "brokerId", "2", "masterEpoch        4\n"},
    {"electMaster -a 10.0.0.2:1 -b 2 -bn a -c C", BROKER, REQUEST_CONTROLLER_ELECT_MASTER, "designateElect", "true", "2         10.0.0.5:1\n"},
    {"cleanBrokerMetadata -a 10.0.0.2:1 -b 1;2 -bn a -c C", BROKER, REQUEST_CLEAN_BROKER_DATA, "brokerControllerIdsToClean", "1;2", "brokerName  a\n"},
    {"cleanBrokerMetadata -a 10.0.0.2:1 -bn a -l", BROKER, REQUEST_CLEAN_BROKER_DATA, "isCleanLivingBroker", "true", "forgotten"},
    {"addBroker -c 10.0.0.2:1 -b /x.conf", BROKER, REQUEST_ADD_BROKER, "configPath", "/x.conf", "the broker is started"},
    {"removeBroker -c 10.0.0.2:1 -b C:a:0", BROKER, REQUEST_REMOVE_BROKER, "brokerClusterName", "C", "the broker is stopped"},
    {"getNamesrvConfig", NAMES, REQUEST_GET_NAMESRV_CONFIG, NULL, NULL, "listenPort"},
    {"updateNamesrvConfig -k a -v b", NAMES, REQUEST_UPDATE_NAMESRV_CONFIG, NULL, NULL, "10.0.0.1:1"},
    {"updateKvConfig -s N -k K -v V", NAMES, REQUEST_PUT_KV_CONFIG, "value", "V", "10.0.0.1:1"},
    {"deleteKvConfig -s N -k K", NAMES, REQUEST_DELETE_KV_CONFIG, "namespace", "N", "10.0.0.1:1"},
    {"wipeWritePerm -b a", NAMES, REQUEST_WIPE_WRITE_PERM_OF_BROKER, "brokerName", "a", "10.0.0.1:1   7"},
    {"addWritePerm -b a", NAMES, REQUEST_ADD_WRITE_PERM_OF_BROKER, "brokerName", "a", "10.0.0.1:1   8"},
    {"cleanExpiredCQ", BROKER, REQUEST_CLEAN_EXPIRED_CONSUMEQUEUE, NULL, NULL, "done"},
    {"cleanUnusedTopic -c C", BROKER, REQUEST_CLEAN_UNUSED_TOPIC, NULL, NULL, "done"},
    {"deleteExpiredCommitLog -b 10.0.0.2:1", BROKER, REQUEST_DELETE_EXPIRED_COMMITLOG, NULL, NULL, "done"},
    {"resetMasterFlushOffset -b 10.0.0.2:1 -o 5", BROKER, REQUEST_RESET_MASTER_FLUSH_OFFSET, "masterFlushOffset", "5", "done"},
    {"getColdDataFlowCtrInfo -c C", BROKER, REQUEST_GET_COLD_DATA_FLOW_CTR_INFO, NULL, NULL, "runtimeTable"},
    {"updateColdDataFlowCtrGroupConfig -c C -g G -v 100", BROKER, REQUEST_UPDATE_COLD_DATA_FLOW_CTR_CONFIG, NULL, NULL, "done"},
    {"removeColdDataFlowCtrGroupConfig -c C -g G", BROKER, REQUEST_REMOVE_COLD_DATA_FLOW_CTR_CONFIG, NULL, NULL, "done"},
    {"setCommitLogReadAheadMode -c C -m 1", BROKER, REQUEST_SET_COMMITLOG_READ_MODE, "READ_AHEAD_MODE", "1", "done"},
    {"switchTimerEngine -b 10.0.0.2:1 -e F", BROKER, REQUEST_SWITCH_TIMER_ENGINE, "E_T", "F", "the timer engine is switched"},
    {"checkRocksdbCqWriteProgress -c C -t T -cf 5", BROKER, REQUEST_CHECK_ROCKSDB_CQ_WRITE_PROGRESS, "checkStoreTime", "5", "under way"},
    {"rocksDBConfigToJson -c C -t topics", BROKER, REQUEST_EXPORT_ROCKSDB_CONFIG_TO_JSON, "configType", "topics", "config/*.json"},
    {"exportMetrics -c C -f d", BROKER, REQUEST_VIEW_BROKER_STATS_DATA, "statsKey", "SCHEDULE_TOPIC_XXXX", "d/metrics.json"},
    {"exportPopRecord -c C", BROKER, REQUEST_POP_ROLLBACK, NULL, NULL, "in the log"},
    {"exportConfigs -c C -f d", BROKER, REQUEST_GET_BROKER_CONFIG, NULL, NULL, "d/configs.json"},
    {"exportMetadata -c C -f d", BROKER, REQUEST_GET_ALL_SUBSCRIPTIONGROUP_CONFIG, NULL, NULL, "d/metadata.json"},
    {"bundle f.json", BROKER, REQUEST_GET_OPEN_TRANSACTIONS, NULL, NULL, "f.json"},
    {"client list", BROKER, REQUEST_GET_CONSUMER_CONNECTION_LIST, NULL, NULL, "producer  P               p@1"},
    {"route diff", NAMES, REQUEST_GET_ROUTEINFO_BY_TOPIC, NULL, NULL, "topics  3"},
    {"doctor", BROKER, REQUEST_GET_TOPIC_STATS_INFO, "topic", "%DLQ%G", "look     disk             a           80 % full"},
};

/* Whether a JSON document stands there, and nothing else. */
static void expect_json(const char *line, const char *text)
{
    struct arena arena = ARENA_EMPTY;
    struct json j;
    json_begin(&j, slice_text(text), &arena);
    if (json_peek(&j) != JSON_OBJECT) print_error("%s: %s\n", line, text);
    json_skip(&j);
    err_t e = json_end(&j, line);
    if (e) print_error("%s: %s: %s\n", line, err_text(e), text);
    EXPECT(!e);
    arena_done(&arena);
}

static void expect_row(struct cluster *c, const struct row *r)
{
    struct line_run s;
    char json[256];
    cluster_forget(c);
    line_run(&s, c, r->line);
    const struct frame *asked = r->server < 0 ? NULL : cluster_asked(c, r->server, r->code);
    bool as_wanted = r->server < 0 ? !c->servers[NAMES].seen_count && !c->servers[BROKER].seen_count : asked != NULL;
    if (s.status || !strstr(s.out_text, r->part) || !as_wanted) print_error("%s\n%d\n%s\n%s\n", r->line, s.status, s.out_text, s.err_text);
    EXPECT_EQ(s.status, ADMIN_FINE);
    EXPECT(as_wanted && strstr(s.out_text, r->part));
    if (r->field && !slice_eq(frame_get(asked, slice_text(r->field)), slice_text(r->value))) print_error("%s\n", r->line);
    if (r->field) EXPECT_TEXT(frame_get(asked, slice_text(r->field)), r->value);
    line_done(&s);
    snprintf(json, sizeof json, "%s --json", r->line);
    line_run(&s, c, json);
    EXPECT_EQ(s.status, ADMIN_FINE);
    expect_json(r->line, r->server < 0 ? strrchr(s.out_text, '{') : s.out_text);   /* what is not asked comes in lots */
    line_done(&s);
}

TEST(commands, each_asks_what_it_should_and_reads_the_answer)
{
    struct cluster *c = world_start();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) expect_row(c, &rows[i]);
    cluster_stop(c);
}

static bool has_row(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strncmp(rows[i].line, name, n) && (rows[i].line[n] == ' ' || !rows[i].line[n])) return true;
    return false;
}

/* Those with tests of their own. */
static bool is_tested_elsewhere(const char *name)
{
    static const char *const others[] = {"why queue", "why message", "why send", "transaction list", "transaction resume", "getBrokerEpoch", "decodeMessageId", "dlq show",
                                         "dlq resend"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(others[i], name)) return true;
    return false;
}

TEST(commands, none_is_without_a_row)
{
    const struct command *c;
    for (size_t i = 0; (c = command_at(i)); i++) {
        if (c->absent || is_tested_elsewhere(c->name)) continue;
        if (!has_row(c->name)) print_error("%s has no row\n", c->name);
        EXPECT(has_row(c->name));
    }
}

TEST(commands, those_that_are_not_there_say_why_and_fail)
{
    struct cluster *c = cluster_start();
    const struct command *one;
    size_t n = 0;
    for (size_t i = 0; (one = command_at(i)); i++) {
        struct line_run s;
        if (!one->absent) continue;
        line_run(&s, c, one->name);
        EXPECT_EQ(s.status, ADMIN_FAILED);
        EXPECT(strstr(s.err_text, one->absent) && !s.out_bytes);
        line_done(&s);
        n++;
    }
    EXPECT_EQ(n, 3);
    cluster_stop(c);
}

/* --- those whose bodies or failures are looked at more closely --- */

static void expect_body(struct cluster *c, const char *line, int32_t code, const char *body)
{
    struct line_run s;
    line_run(&s, c, line);
    EXPECT_EQ(s.status, ADMIN_FINE);
    EXPECT_TEXT(cluster_asked(c, BROKER, code)->body, body);
    line_done(&s);
}

TEST(commands, bodies_are_those_of_mqadmin)
{
    struct cluster *c = world_start();
    expect_body(c, "updateSubGroup -c C -g G -s false -r 2 --attributes +k=v,-x", REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
                "{\"attributes\":{\"+k\":\"v\",\"-x\":\"\"},\"brokerId\":0,\"consumeBroadcastEnable\":false,\"consumeEnable\":false,\"consumeFromMinEnable\":false,"
                "\"consumeMessageOrderly\":false,\"consumeTimeoutMinute\":15,\"groupName\":\"G\",\"groupRetryPolicy\":{\"type\":\"CUSTOMIZED\"},\"groupSysFlag\":0,"
                "\"notifyConsumerIdsChangedEnable\":true,\"retryMaxTimes\":2,\"retryQueueNums\":1,\"whichBrokerWhenConsumeSlowly\":1}");
    expect_body(c, "setConsumeMode -c C -t T -g G -m POP -q 1", REQUEST_SET_MESSAGE_REQUEST_MODE,
                "{\"consumerGroup\":\"G\",\"mode\":\"POP\",\"popShareQueueNum\":1,\"topic\":\"T\"}");
    expect_body(c, "updateBrokerConfig -c C -k path -v C:\\x", REQUEST_UPDATE_BROKER_CONFIG, "path=C:\\\\x\n");
    expect_body(c, "updateColdDataFlowCtrGroupConfig -c C -g G -v 100", REQUEST_UPDATE_COLD_DATA_FLOW_CTR_CONFIG, "G=100\n");
    expect_body(c, "removeColdDataFlowCtrGroupConfig -c C -g G", REQUEST_REMOVE_COLD_DATA_FLOW_CTR_CONFIG, "G");
    expect_body(c, "updateTopicList -c C -f topics.json", REQUEST_UPDATE_AND_CREATE_TOPIC_LIST,
                "{\"topicConfigList\":[{\"topicName\":\"A\",\"readQueueNums\":4,\"writeQueueNums\":4,\"perm\":6}]}");
    expect_body(c, "createUser -c C -u bob -p x -t Super", REQUEST_AUTH_CREATE_USER, "{\"password\":\"x\",\"userType\":\"Super\",\"username\":\"bob\"}");
    expect_body(c, "user update bob --passwordFile secret.txt", REQUEST_AUTH_UPDATE_USER, "{\"password\":\"pass word\",\"username\":\"bob\"}");
    expect_body(c, "createAcl -c C -s User:bob -r 'Topic:T, Group:G' -a Pub,Sub -i 10.0.0.7 -d Allow", REQUEST_AUTH_CREATE_ACL,
                "{\"policies\":[{\"entries\":[{\"actions\":[\"Pub\",\"Sub\"],\"decision\":\"Allow\",\"resource\":\"Topic:T\",\"sourceIps\":[\"10.0.0.7\"]},"
                "{\"actions\":[\"Pub\",\"Sub\"],\"decision\":\"Allow\",\"resource\":\"Group:G\",\"sourceIps\":[\"10.0.0.7\"]}]}],\"subject\":\"User:bob\"}");
    expect_body(c, "copyUser -f 10.0.0.2:1 -t 10.0.0.2:1", REQUEST_AUTH_UPDATE_USER,
                "{\"password\":\"hidden\",\"userStatus\":\"enable\",\"userType\":\"Normal\",\"username\":\"alice\"}");
    cluster_stop(c);
}

static void expect_complaint(struct cluster *c, const char *line, enum admin_status status, const char *part)
{
    struct line_run s;
    line_run(&s, c, line);
    EXPECT_EQ(s.status, status);
    EXPECT(strstr(s.err_text, part));
    line_done(&s);
}

TEST(commands, users_and_permissions_are_used_rightly_and_passwords_never_shown)
{
    struct cluster *c = world_start();
    static const char *const shown[] = {"user list", "user show alice", "getUser -c C -u alice", "listUser -c C", "user list --json", "copyUser -f 10.0.0.2:1 -t 10.0.0.2:1"};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        struct line_run s;
        line_run(&s, c, shown[i]);
        EXPECT_EQ(s.status, ADMIN_FINE);
        EXPECT(strstr(s.out_text, "alice") && !strstr(s.out_text, "hidden"));
        line_done(&s);
    }
    expect_complaint(c, "user create bob", ADMIN_USAGE, "a new user wants a password");
    expect_complaint(c, "user create bob --password x --passwordFile secret.txt", ADMIN_USAGE, "cannot both be given");
    expect_complaint(c, "user update bob", ADMIN_USAGE, "nothing is to be changed");
    expect_complaint(c, "acl create bob --resources , --actions Pub --decision Allow", ADMIN_USAGE, "--resources names none");
    cluster_stop(c);
}

TEST(commands, who_is_not_there_is_said_and_what_is_not_there_is_made)
{
    struct cluster *c = cluster_start();
    struct line_run s;
    cluster_serve(c, 0, (struct line[]){{REQUEST_GET_BROKER_CLUSTER_INFO, 0, world_cluster}, {0}});
    cluster_serve(c, 1, (struct line[]){{REQUEST_AUTH_GET_USER, 0, "{\"password\":\"p\",\"username\":\"alice\"}"}, {REQUEST_AUTH_GET_USER, 0, ""},
                                        {REQUEST_AUTH_GET_ACL, 0, ""}, {REQUEST_AUTH_CREATE_USER, 0, ""}, {0}});
    line_run(&s, c, "copyUser -f 10.0.0.2:1 -t 10.0.0.2:1 -u alice,bob");
    EXPECT_EQ(s.status, ADMIN_FINE);
    EXPECT(strstr(s.out_text, "bob is not there\n") && strstr(s.out_text, "username\nalice\n"));
    EXPECT_TEXT(cluster_asked(c, BROKER, REQUEST_AUTH_CREATE_USER)->body, "{\"password\":\"p\",\"username\":\"alice\"}");
    line_done(&s);
    expect_complaint(c, "user show bob", ADMIN_FAILED, "there is no user \"bob\"");
    expect_complaint(c, "acl show bob", ADMIN_FAILED, "\"User:bob\" has no permissions");
    line_expect(c, "copyAcl -f 10.0.0.2:1 -t 10.0.0.2:1 -s User:bob", ADMIN_FINE, "User:bob is not there\nnothing to copy\n", "");
    cluster_stop(c);
}

TEST(commands, members_that_disagree_are_named_and_the_status_says_so)
{
    struct cluster *c = cluster_start();
    cluster_serve(c, 0, (struct line[]){{REQUEST_GET_ROUTEINFO_BY_TOPIC, 0, world_route}, {0}});
    cluster_serve(c, 1, (struct line[]){{REQUEST_GET_CONSUMER_CONNECTION_LIST, 0, world_members}, {REQUEST_GET_CONSUMER_RUNNING_INFO, 0, world_running},
                                        {REQUEST_GET_CONSUMER_RUNNING_INFO, 0, running_other}, {0}});
    struct line_run s;
    line_run(&s, c, "subscription check G");
    EXPECT_EQ(s.status, ADMIN_FAILED);
    EXPECT(strstr(s.out_text, "T      10.0.1.1@7  *              10.0.1.2@7     x\n") && strstr(s.out_text, "subscriptionsAgree  false"));
    line_done(&s);
    cluster_stop(c);
}

TEST(commands, dead_letters_are_shown_and_sent_again)
{
    struct cluster *c = world_start();
    struct line_run s;
    struct line lines[LINES_MAX];
    size_t n = 0;
    do {
        lines[n] = world_broker[n];
        if (lines[n].request == REQUEST_PULL_MESSAGE) lines[n].bytes = &world_letter;
    } while (lines[n++].request);
    cluster_stop(c);
    c = cluster_start();
    cluster_serve(c, 0, (struct line[]){{REQUEST_GET_ROUTEINFO_BY_TOPIC, 0, world_route}, {0}});
    cluster_serve(c, 1, lines);
    line_run(&s, c, "dlq show G");
    EXPECT_EQ(s.status, ADMIN_FINE);
    EXPECT(strstr(s.out_text, "KEY2   T            ORIGIN"));
    line_done(&s);
    line_run(&s, c, "dlq resend G ORIGIN");
    EXPECT_EQ(s.status, ADMIN_FINE);
    EXPECT_TEXT(frame_get(cluster_asked(c, BROKER, REQUEST_SEND_MESSAGE_V2), SLICE("b")), "T");
    EXPECT(!memmem(frame_get(cluster_asked(c, BROKER, REQUEST_SEND_MESSAGE_V2), SLICE("i")).p, frame_get(cluster_asked(c, BROKER, REQUEST_SEND_MESSAGE_V2), SLICE("i")).n, "DLQ", 3));
    line_done(&s);
    line_run(&s, c, "dlq resend G NOTHING");
    EXPECT_EQ(s.status, ADMIN_FAILED);
    line_done(&s);
    line_run(&s, c, "dlq resend G");
    EXPECT_EQ(s.status, ADMIN_USAGE);
    line_done(&s);
    cluster_stop(c);
}

static struct cluster *moving_broker(const struct pull_reply_header *first, const struct pull_reply_header *second)
{
    cluster_stop(world_start());   /* makes the record */
    struct cluster *c = cluster_start();
    cluster_serve(c, 0, (struct line[]){{REQUEST_GET_ROUTEINFO_BY_TOPIC, 0, world_route}, {0}});
    cluster_serve(c, 1, (struct line[]){{REQUEST_GET_TOPIC_STATS_INFO, 0, status_from_0}, {REQUEST_PULL_MESSAGE, RESPONSE_PULL_OFFSET_MOVED, "", &pull_reply_kind, first},
                                        {REQUEST_PULL_MESSAGE, second == first ? RESPONSE_PULL_OFFSET_MOVED : 0, "", &pull_reply_kind, second, &world_record}, {0}});
    return c;
}

/* Case D11: messages went away after the offsets were asked for. */
TEST(commands, reading_from_an_offset_that_is_gone_goes_on_at_the_first_one_and_never_asks_for_ever)
{
    static const struct pull_reply_header moved = {.next_begin_offset = 500, .min_offset = 500, .max_offset = 501}, last = {.next_begin_offset = 501},
                                          stuck = {.next_begin_offset = 0, .min_offset = 500, .max_offset = 501};
    struct cluster *c = moving_broker(&moved, &last);
    struct line_run s;
    line_run(&s, c, "consumeMessage -t T -b a -i 0 -o 0");
    EXPECT_EQ(s.status, ADMIN_FINE);
    EXPECT(strstr(s.out_text, "KEY1"));
    EXPECT_TEXT(frame_get(cluster_asked(c, BROKER, REQUEST_PULL_MESSAGE), SLICE("queueOffset")), "500");
    line_done(&s);
    cluster_stop(c);
    c = moving_broker(&stuck, &stuck);
    line_run(&s, c, "consumeMessage -t T -b a -i 0 -o 0");
    EXPECT_EQ(s.status, ADMIN_FINE);
    EXPECT_EQ(c->servers[1].asked, 2);   /* offsets, one pull */
    line_done(&s);
    cluster_stop(c);
}

TEST(commands, what_is_destroyed_is_asked_for_first)
{
    struct cluster *c = world_start();
    struct line_run s;
    line_run_on_terminal(&s, c, "topic delete T", 80, ADMIN_NO);
    EXPECT_EQ(s.status, ADMIN_FAILED);
    EXPECT(!cluster_asked(c, BROKER, REQUEST_DELETE_TOPIC_IN_BROKER) && strstr(s.err_text, "nothing was done"));
    line_done(&s);
    line_run_on_terminal(&s, c, "topic delete T", 80, ADMIN_YES);
    EXPECT_EQ(s.status, ADMIN_FINE);
    EXPECT(cluster_asked(c, BROKER, REQUEST_DELETE_TOPIC_IN_BROKER));
    line_done(&s);
    cluster_stop(c);
}

TEST(commands, profiles_name_servers_and_the_line_wins)
{
    struct cluster *c = world_start();
    struct line_run s;
    line_run(&s, c, "topicList --profile test");
    EXPECT_EQ(s.status, ADMIN_FINE);
    line_done(&s);
    line_run(&s, c, "topicList --profile other -n 10.0.0.1:1");
    EXPECT_EQ(s.status, ADMIN_FINE);
    line_done(&s);
    line_run(&s, c, "topicList --profile other --timeout 100");
    EXPECT_EQ(s.status, ADMIN_NOBODY);
    line_done(&s);
    cluster_stop(c);
}

TEST(commands, settings_in_a_bundle_are_without_secrets)
{
    struct cluster *c = world_start();
    struct line_run s;
    line_run(&s, c, "bundle f.json");
    EXPECT_EQ(s.status, ADMIN_FINE);
    EXPECT(strstr(line_written(), "initAuthenticationUser=***") && strstr(line_written(), "innerClientAuthenticationCredentials=***"));
    EXPECT(strstr(line_written(), "secretKey=***") && !strstr(line_written(), "hidden") && strstr(line_written(), "fileReservedTime=72"));
    line_done(&s);
    cluster_stop(c);
}

TEST(commands, an_id_is_taken_apart_without_asking_and_a_broker_without_epochs_is_an_error)
{
    struct cluster *c = world_start();
    line_expect(c, "decodeMessageId -i nothing", ADMIN_FAILED, "", "skylark admin decodeMessageId: a message id has 32 or 56 digits, not 7\n");
    struct line_run s;
    line_run(&s, c, "decodeMessageId -i 0A0000020000000100000000000000FF");
    EXPECT(strstr(s.out_text, "storeHost        10.0.0.2:1\ncommitLogOffset  255\n"));
    line_done(&s);
    line_expect(c, "getBrokerEpoch -b a", ADMIN_FAILED, "", "skylark admin getBrokerEpoch: broker a: this request only for controllerMode (code 1)\n");
    cluster_stop(c);
}

TEST(commands, controllers_and_containers_are_asked_with_what_makes_sense_only)
{
    struct cluster *c = world_start();
    line_expect(c, "cleanBrokerMetadata -a 10.0.0.2:1 -bn a", ADMIN_USAGE, "",
                "skylark admin cleanBrokerMetadata: it needs -c CLUSTER, or -l for brokers that live\n");
    line_expect(c, "cleanBrokerMetadata -a 10.0.0.2:1 -bn a -c C -b 1;x", ADMIN_USAGE, "",
                "skylark admin cleanBrokerMetadata: -b is numbers with ';' between them, not \"x\"\n");
    line_expect(c, "getControllerConfig -a ;", ADMIN_USAGE, "", "skylark admin getControllerConfig: -a names no controller\n");
    line_expect(c, "getControllerMetaData -a ;", ADMIN_USAGE, "", "skylark admin getControllerMetaData: -a names no controller\n");
    line_expect(c, "removeBroker -c 10.0.0.2:1 -b C:a", ADMIN_USAGE, "", "skylark admin removeBroker: -b is CLUSTER:NAME:ID, not \"C:a\"\n");
    line_expect(c, "removeBroker -c 10.0.0.2:1 -b C:a:-1", ADMIN_USAGE, "", "skylark admin removeBroker: -b is CLUSTER:NAME:ID, not \"C:a:-1\"\n");
    line_expect(c, "getSyncStateSet -a 10.0.0.2:1 -c X", ADMIN_FAILED, "",
                "skylark admin getSyncStateSet: there is no cluster \"X\"; 'skylark admin cluster status' shows those there are\n");
    cluster_stop(c);
}

TEST(commands, a_controller_group_without_a_leader_elects_nobody)
{
    static const struct controller_metadata_header nobody_leads = {.group = SLICE("group1")};
    static const struct line lines[] = {{REQUEST_CONTROLLER_GET_METADATA_INFO, 0, "", &controller_metadata_kind, &nobody_leads}, {0}};
    struct cluster *c = cluster_start();
    cluster_serve(c, 1, lines);
    line_expect(c, "electMaster -a 10.0.0.2:1 -b 2 -bn a -c C", ADMIN_FAILED, "",
                "skylark admin electMaster: no controller leads at this moment; 'skylark admin getControllerMetaData' shows when one does\n");
    EXPECT(!cluster_asked(c, 1, REQUEST_CONTROLLER_ELECT_MASTER));
    cluster_stop(c);
}
