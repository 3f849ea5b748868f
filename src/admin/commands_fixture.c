#include "admin/commands_fixture.h"

#include "codec/record.h"

#include <string.h>

static const char topics_a[] =
    "{\"dataVersion\":{\"counter\":1,\"stateVersion\":0,\"timestamp\":1},\"topicConfigTable\":{"
    "\"T\":{\"attributes\":{\"message.type\":\"FIFO\"},\"order\":false,\"perm\":6,\"readQueueNums\":4,\"topicFilterType\":\"SINGLE_TAG\",\"topicName\":\"T\",\"topicSysFlag\":0,\"writeQueueNums\":4},"
    "\"%DLQ%G\":{\"perm\":6,\"readQueueNums\":1,\"topicName\":\"%DLQ%G\",\"writeQueueNums\":1},"
    "\"TBW102\":{\"perm\":7,\"readQueueNums\":8,\"topicName\":\"TBW102\",\"writeQueueNums\":8}}}";
static const char groups_a[] =
    "{\"dataVersion\":{\"counter\":1,\"stateVersion\":0,\"timestamp\":1},\"subscriptionGroupTable\":{\"G\":{\"groupName\":\"G\",\"retryMaxTimes\":3},"
    "\"TOOLS_CONSUMER\":{\"groupName\":\"TOOLS_CONSUMER\"}}}";
const char world_members[] =
    "{\"connectionSet\":[{\"clientAddr\":\"10.0.1.1:5\",\"clientId\":\"10.0.1.1@7\",\"language\":\"JAVA\",\"version\":479},"
    "{\"clientAddr\":\"10.0.1.2:5\",\"clientId\":\"10.0.1.2@7\",\"language\":\"GO\",\"version\":63}],\"consumeFromWhere\":\"CONSUME_FROM_LAST_OFFSET\","
    "\"consumeType\":\"CONSUME_PASSIVELY\",\"messageModel\":\"CLUSTERING\",\"subscriptionTable\":{\"T\":{\"expressionType\":\"TAG\",\"subString\":\"*\",\"topic\":\"T\"}}}";
static const char progress_a[] =
    "{\"consumeTps\":1.5,\"offsetTable\":{{\"brokerName\":\"a\",\"queueId\":0,\"topic\":\"T\"}:{\"brokerOffset\":10,\"consumerOffset\":4,\"lastTimestamp\":1796042445070,\"pullOffset\":6}}}";
static const char status_a[] =
    "{\"offsetTable\":{{\"brokerName\":\"a\",\"queueId\":0,\"topic\":\"T\"}:{\"lastUpdateTimestamp\":1796042445070,\"maxOffset\":10,\"minOffset\":8}},\"topicPutTps\":0.5}";
static const char runtime_a[] =
    "{\"table\":{\"brokerVersionDesc\":\"V5_5_0\",\"putTps\":\"12.5 3.0 1.0\",\"getTransferredTps\":\"7.25 0.0 0.0\",\"commitLogDiskRatio\":\"0.80\",\"brokerActive\":\"true\","
    "\"msgPutTotalTodayNow\":\"30\",\"msgPutTotalTodayMorning\":\"20\",\"msgPutTotalYesterdayMorning\":\"5\"}}";
const char world_running[] =
    "{\"mqTable\":{{\"brokerName\":\"a\",\"queueId\":0,\"topic\":\"T\"}:{\"cachedMsgCount\":3,\"commitOffset\":4,\"droped\":false,\"lastConsumeTimestamp\":0,\"lastPullTimestamp\":1796042445070,"
    "\"locked\":true}},\"properties\":{\"PROP_CLIENT_VERSION\":\"V5_3_3\",\"PROP_CONSUME_TYPE\":\"CONSUME_PASSIVELY\"},"
    "\"statusTable\":{\"T\":{\"consumeFailedMsgs\":2,\"consumeFailedTPS\":0.5,\"consumeOKTPS\":1.0,\"consumeRT\":2.0,\"pullRT\":3.0,\"pullTPS\":4.0}},"
    "\"subscriptionSet\":[{\"expressionType\":\"TAG\",\"subString\":\"*\",\"topic\":\"T\"}]}";
static const char producers_a[] =
    "{\"data\":{\"P\":[{\"clientId\":\"p@1\",\"language\":\"JAVA\",\"lastUpdateTimestamp\":1796042445070,\"remoteIP\":\"10.0.1.3:5\",\"version\":513}]}}";

#define USER_A "{\"password\":\"hidden\",\"userStatus\":\"enable\",\"userType\":\"Normal\",\"username\":\"alice\"}"
#define ACL_A "{\"policies\":[{\"entries\":[{\"actions\":[\"Pub\",\"Sub\"],\"decision\":\"Allow\",\"resource\":\"Topic:T\",\"sourceIps\":[\"10.0.0.7\"]}]," \
              "\"policyType\":\"Custom\"}],\"subject\":\"User:alice\"}"
static const char user_a[] = USER_A, users_a[] = "[" USER_A "]", acl_a[] = ACL_A, acls_a[] = "[" ACL_A "]";

static const struct get_kv_reply_header kv_value_a = {.value = SLICE("a:4")};
static const struct wipe_perm_reply_header wiped = {.wipe_topic_count = 7};
static const struct add_perm_reply_header added = {.add_topic_count = 8};
static const struct send_reply_header sent = {.msg_id = SLICE("0A0000020000000100000000000000FF"), .queue_id = 2, .queue_offset = 5};
static const struct offset_reply_header begins = {.offset = 9};
static const struct pull_reply_header pulled = {.next_begin_offset = 10, .min_offset = 8, .max_offset = 10};
static const struct controller_metadata_header leads = {.group = SLICE("group1"), .leader_id = SLICE("n0"), .leader_address = SLICE("10.0.0.2:1"),
                                                         .peers = SLICE("n0:10.0.0.2:1;n1:10.0.0.4:1")};
static const struct elect_master_reply_header elected = {.master_address = SLICE("10.0.0.5:1"), .master_epoch = 4, .sync_state_set_epoch = 6};
static const struct recall_reply_header recalled = {.msg_id = SLICE("KEY1")};

static uint8_t record_bytes[512], letter_bytes[512];
struct slice world_record, world_letter;

static struct slice make_record(uint8_t *bytes, const char *topic, const char *properties)
{
    struct message m = {.topic = slice_text(topic), .queue_id = 0, .born_ms = 1796042445000, .body = SLICE("hello"), .properties = slice_text(properties)};
    struct addr host = {.ip = {10, 0, 0, 2}, .port = 1};
    struct record_place place = {.log_offset = 255, .queue_offset = 9, .store_ms = 1796042445070, .store_host = &host};
    m.born_host = host;
    size_t n = record_size(&m, &host);
    EXPECT(n <= 512);
    record_encode(&m, &place, n, bytes);
    return slice_of(bytes, n);
}

static const struct line name_lines[] = {
    {REQUEST_GET_ROUTEINFO_BY_TOPIC, 0, "*route"},
    {REQUEST_GET_BROKER_CLUSTER_INFO, 0, "*cluster"},
    {REQUEST_GET_ALL_TOPIC_LIST_FROM_NAMESERVER, 0, "{\"topicList\":[\"T\",\"%RETRY%G\",\"A\"]}"},
    {REQUEST_GET_KV_CONFIG, 0, "", &get_kv_reply_kind, &kv_value_a},
    {REQUEST_PUT_KV_CONFIG, 0, ""},
    {REQUEST_DELETE_KV_CONFIG, 0, ""},
    {REQUEST_DELETE_TOPIC_IN_NAMESRV, 0, ""},
    {REQUEST_GET_NAMESRV_CONFIG, 0, "listenPort=9876\nkvConfigPath=/x\n"},
    {REQUEST_UPDATE_NAMESRV_CONFIG, 0, ""},
    {REQUEST_WIPE_WRITE_PERM_OF_BROKER, 0, "", &wipe_perm_reply_kind, &wiped},
    {REQUEST_ADD_WRITE_PERM_OF_BROKER, 0, "", &add_perm_reply_kind, &added},
    {0},
};

const struct line world_broker[] = {
    {REQUEST_UPDATE_AND_CREATE_TOPIC, 0, ""},
    {REQUEST_UPDATE_AND_CREATE_TOPIC_LIST, 0, ""},
    {REQUEST_DELETE_TOPIC_IN_BROKER, 0, ""},
    {REQUEST_GET_ALL_TOPIC_CONFIG, 0, topics_a},
    {REQUEST_GET_TOPIC_CONFIG, 0, "{\"attributes\":{\"message.type\":\"FIFO\"},\"order\":true,\"perm\":4,\"readQueueNums\":3,\"topicName\":\"T\",\"topicSysFlag\":2,\"writeQueueNums\":5}"},
    {REQUEST_GET_TOPIC_STATS_INFO, 0, status_a},
    {REQUEST_QUERY_TOPIC_CONSUME_BY_WHO, 0, "{\"groupList\":[\"G\"]}"},
    {REQUEST_VIEW_BROKER_STATS_DATA, 0, "{\"statsDay\":{\"avgpt\":0.0,\"sum\":100,\"tps\":0.0},\"statsHour\":{\"avgpt\":0.0,\"sum\":9,\"tps\":0.0},\"statsMinute\":{\"avgpt\":0.0,\"sum\":1,\"tps\":2.5}}"},
    {REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, 0, ""},
    {REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, 0, ""},
    {REQUEST_DELETE_SUBSCRIPTIONGROUP, 0, ""},
    {REQUEST_GET_ALL_SUBSCRIPTIONGROUP_CONFIG, 0, groups_a},
    {REQUEST_GET_SUBSCRIPTIONGROUP_CONFIG, 0, "{\"groupName\":\"G\",\"retryMaxTimes\":3}"},
    {REQUEST_GET_CONSUMER_CONNECTION_LIST, 0, world_members},
    {REQUEST_GET_CONSUME_STATS, 0, progress_a},
    {REQUEST_GET_PRODUCER_CONNECTION_LIST, 0, "{\"connectionSet\":[{\"clientAddr\":\"10.0.1.3:5\",\"clientId\":\"p@1\",\"language\":\"JAVA\",\"version\":513}]}"},
    {REQUEST_GET_ALL_PRODUCER_INFO, 0, producers_a},
    {REQUEST_GET_CONSUMER_RUNNING_INFO, 0, world_running},
    {REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, 0, "{\"offsetTable\":{{\"brokerName\":\"a\",\"queueId\":0,\"topic\":\"T\"}:7}}"},
    {REQUEST_UPDATE_CONSUMER_OFFSET, 0, ""},
    {REQUEST_SET_MESSAGE_REQUEST_MODE, 0, ""},
    {REQUEST_GET_BROKER_RUNTIME_INFO, 0, runtime_a},
    {REQUEST_GET_BROKER_CONFIG, 0, "fileReservedTime=72\ninitAuthenticationUser={\"username\":\"u\",\"password\":\"hidden\"}\n"
                                 "innerClientAuthenticationCredentials={\"secretKey\":\"hidden\"}\nsecretKey=hidden\n"},
    {REQUEST_UPDATE_BROKER_CONFIG, 0, ""},
    {REQUEST_GET_BROKER_CONSUME_STATS, 0, "{\"brokerAddr\":\"10.0.0.2:1\",\"consumeStatsList\":[{\"G\":[{\"consumeTps\":0.0,\"offsetTable\":{{\"brokerName\":\"a\",\"queueId\":0,\"topic\":\"T\"}:"
                                          "{\"brokerOffset\":10,\"consumerOffset\":4,\"lastTimestamp\":1796042445070,\"pullOffset\":6}}}]}],\"totalDiff\":6,\"totalInflightDiff\":2}"},
    {REQUEST_GET_BROKER_HA_STATUS, 0, "{\"haConnectionInfo\":[{\"addr\":\"10.0.0.9:4\",\"diff\":5,\"inSync\":true,\"slaveAckOffset\":95,\"transferFromWhere\":0,\"transferredByteInSecond\":1}],"
                                      "\"inSyncSlaveNums\":1,\"master\":true,\"masterCommitLogMaxOffset\":100}"},
    {REQUEST_CLEAN_EXPIRED_CONSUMEQUEUE, 0, ""},
    {REQUEST_CLEAN_UNUSED_TOPIC, 0, ""},
    {REQUEST_DELETE_EXPIRED_COMMITLOG, 0, ""},
    {REQUEST_RESET_MASTER_FLUSH_OFFSET, 0, ""},
    {REQUEST_GET_BROKER_EPOCH_CACHE, RESPONSE_SYSTEM_ERROR, "this request only for controllerMode "},
    {REQUEST_GET_COLD_DATA_FLOW_CTR_INFO, 0, "{\"runtimeTable\":{}}"},
    {REQUEST_UPDATE_COLD_DATA_FLOW_CTR_CONFIG, 0, ""},
    {REQUEST_REMOVE_COLD_DATA_FLOW_CTR_CONFIG, 0, ""},
    {REQUEST_SET_COMMITLOG_READ_MODE, 0, ""},
    {REQUEST_POP_ROLLBACK, 0, ""},
    {REQUEST_GET_ALL_CONSUMER_OFFSET, 0, "{}"},
    {REQUEST_GET_ALL_DELAY_OFFSET, 0, "{}"},
    {REQUEST_GET_TIMER_METRICS, 0, "{\"dataVersion\":{\"counter\":1},\"timingCount\":{\"T\":{\"count\":4,\"timeStamp\":1796042445070}}}"},
    {REQUEST_GET_OPEN_TRANSACTIONS, 0, "{\"nextOffset\":-1,\"open\":0,\"transactions\":[]}"},
    {REQUEST_QUERY_MESSAGE, 0, "", NULL, NULL, &world_record},
    {REQUEST_VIEW_MESSAGE_BY_ID, 0, "", NULL, NULL, &world_record},
    {REQUEST_PULL_MESSAGE, 0, "", &pull_reply_kind, &pulled, &world_record},
    {REQUEST_SEARCH_OFFSET_BY_TIMESTAMP, 0, "", &offset_reply_kind, &begins},
    {REQUEST_SEND_MESSAGE_V2, 0, "", &send_reply_kind, &sent},
    {REQUEST_QUERY_CONSUME_QUEUE, 0, "{\"maxQueueIndex\":10,\"minQueueIndex\":8,\"queueData\":[{\"eval\":false,\"physicOffset\":255,\"physicSize\":120,\"tagsCode\":7}]}"},
    {REQUEST_RECALL_MESSAGE, 0, "", &recall_reply_kind, &recalled},
    {REQUEST_GET_BROKER_LITE_INFO, 0, "{\"cqTableSize\":5,\"currentLmqNum\":3,\"eventMapSize\":1,\"groupMeta\":{\"T\":[\"G\",\"H\"]},\"liteSubscriptionCount\":2,\"maxLmqNum\":90,"
                                      "\"offsetTableSize\":4,\"orderInfoCount\":0,\"storeType\":\"default\",\"topicMeta\":{\"T\":60}}"},
    {REQUEST_GET_PARENT_TOPIC_INFO, 0, "{\"groups\":[\"G\",\"H\"],\"liteTopicCount\":2,\"lmqNum\":3,\"topic\":\"T\",\"ttl\":60}"},
    {REQUEST_GET_LITE_TOPIC_INFO, 0, "{\"liteTopic\":\"l1\",\"parentTopic\":\"T\",\"shardingToBroker\":true,\"subscriber\":[{\"clientId\":\"c1\",\"group\":\"G\"}],"
                                     "\"topicOffset\":{\"lastUpdateTimestamp\":1796042445070,\"maxOffset\":7,\"minOffset\":2}}"},
    {REQUEST_GET_LITE_CLIENT_INFO, 0, "{\"clientId\":\"c1\",\"group\":\"G\",\"lastAccessTime\":1796042445070,\"lastConsumeTime\":-1,\"liteTopicCount\":1,"
                                      "\"liteTopicSet\":[\"%LMQ%$T$l1\"],\"parentTopic\":\"T\"}"},
    {REQUEST_GET_LITE_GROUP_INFO, 0, "{\"earliestUnconsumedTimestamp\":1796042445070,\"group\":\"G\",\"lagCountTopK\":[{\"earliestUnconsumedTimestamp\":1796042445070,"
                                     "\"lagCount\":2,\"liteTopic\":\"l1\"},{\"earliestUnconsumedTimestamp\":-1,\"lagCount\":5,\"liteTopic\":\"l2\"}],\"lagTimestampTopK\":[],"
                                     "\"liteTopicOffsetWrapper\":{\"brokerOffset\":7,\"consumerOffset\":5,\"lastTimestamp\":0,\"pullOffset\":0},\"parentTopic\":\"T\",\"totalLagCount\":7}"},
    {REQUEST_TRIGGER_LITE_DISPATCH, 0, ""},
    {REQUEST_SWITCH_TIMER_ENGINE, 0, ""},
    {REQUEST_CHECK_ROCKSDB_CQ_WRITE_PROGRESS, 0, "{\"checkStatus\":2}"},
    {REQUEST_EXPORT_ROCKSDB_CONFIG_TO_JSON, 0, ""},
    {REQUEST_GET_SYSTEM_TOPIC_LIST_FROM_BROKER, 0, "{\"topicList\":[\"a\",\"C\"]}"},
    {REQUEST_CONTROLLER_GET_METADATA_INFO, 0, "", &controller_metadata_kind, &leads},
    {REQUEST_GET_CONTROLLER_CONFIG, 0, "controllerType=DLedger\n"},
    {REQUEST_UPDATE_CONTROLLER_CONFIG, 0, ""},
    {REQUEST_CONTROLLER_GET_SYNC_STATE_DATA, 0, "{\"replicasInfoTable\":{\"a\":{\"inSyncReplicas\":[{\"alive\":true,\"brokerAddress\":\"10.0.0.5:1\",\"brokerId\":2,"
                                                "\"brokerName\":\"a\"}],\"masterAddress\":\"10.0.0.5:1\",\"masterBrokerId\":2,\"masterEpoch\":4,\"notInSyncReplicas\":[{"
                                                "\"alive\":false,\"brokerAddress\":\"10.0.0.6:1\",\"brokerId\":1,\"brokerName\":\"a\"}],\"syncStateSetEpoch\":6}}}"},
    {REQUEST_CONTROLLER_ELECT_MASTER, 0, "{\"brokerMemberGroup\":{\"brokerAddrs\":{1:\"10.0.0.6:1\",2:\"10.0.0.5:1\"},\"brokerName\":\"a\",\"cluster\":\"C\"},\"syncStateSet\":[2]}",
     &elect_master_reply_kind, &elected},
    {REQUEST_CLEAN_BROKER_DATA, 0, ""},
    {REQUEST_AUTH_CREATE_USER, 0, ""},
    {REQUEST_AUTH_UPDATE_USER, 0, ""},
    {REQUEST_AUTH_DELETE_USER, 0, ""},
    {REQUEST_AUTH_GET_USER, 0, user_a},
    {REQUEST_AUTH_LIST_USER, 0, users_a},
    {REQUEST_AUTH_CREATE_ACL, 0, ""},
    {REQUEST_AUTH_UPDATE_ACL, 0, ""},
    {REQUEST_AUTH_DELETE_ACL, 0, ""},
    {REQUEST_AUTH_GET_ACL, 0, acl_a},
    {REQUEST_AUTH_LIST_ACL, 0, acls_a},
    {REQUEST_ADD_BROKER, 0, ""},
    {REQUEST_REMOVE_BROKER, 0, ""},
    {REQUEST_CONSUME_MESSAGE_DIRECTLY, 0, "{\"autoCommit\":true,\"consumeResult\":\"CR_SUCCESS\",\"order\":false,\"spentTimeMills\":12}"},
    {0},
};

/* One broker, a: what b would say is the same. */
const char world_route[] =
    "{\"brokerDatas\":[{\"brokerAddrs\":{\"0\":\"10.0.0.2:1\"},\"brokerName\":\"a\",\"cluster\":\"C\"}],\"filterServerTable\":{},"
    "\"queueDatas\":[{\"brokerName\":\"a\",\"perm\":6,\"readQueueNums\":4,\"topicSysFlag\":0,\"writeQueueNums\":4}]}";
const char world_cluster[] =
    "{\"brokerAddrTable\":{\"a\":{\"brokerAddrs\":{0:\"10.0.0.2:1\"},\"brokerName\":\"a\",\"cluster\":\"C\"}},\"clusterAddrTable\":{\"C\":[\"a\"]}}";

struct cluster *world_start(void)
{
    struct cluster *c = cluster_start();
    struct line names[LINES_MAX];
    size_t n = 0;
    world_record = make_record(record_bytes, "T", "UNIQ_KEY\1KEY1\2TAGS\1red\2KEYS\1k1\2");
    world_letter = make_record(letter_bytes, "%DLQ%G", "UNIQ_KEY\1KEY2\2DLQ_ORIGIN_TOPIC\1T\2DLQ_ORIGIN_MESSAGE_ID\1ORIGIN\2RETRY_TOPIC\1T\2");
    do {
        names[n] = name_lines[n];
        if (names[n].text && !strcmp(names[n].text, "*route")) names[n].text = world_route;
        if (names[n].text && !strcmp(names[n].text, "*cluster")) names[n].text = world_cluster;
    } while (names[n++].request);
    cluster_serve(c, 0, names);
    cluster_serve(c, 1, world_broker);
    return c;
}
