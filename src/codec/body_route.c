#include "codec/body_route.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}
#define ROW_OPTIONAL(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, true}

static const struct bean_field broker_rows[] = {
    ROW(route_broker, addresses, "brokerAddrs", ids, NULL),
    ROW(route_broker, name, "brokerName", text, NULL),
    ROW(route_broker, cluster, "cluster", text, NULL),
    ROW(route_broker, enable_acting_master, "enableActingMaster", bool, NULL),
    ROW(route_broker, zone, "zoneName", text, NULL),
};
const struct bean route_broker_bean = BEAN(struct route_broker, broker_rows, NULL);
static const struct bean_table_of broker_table = {&route_broker_bean, offsetof(struct route_broker, name)};

static const struct bean_field queues_rows[] = {
    ROW(route_queues, broker, "brokerName", text, NULL),
    ROW(route_queues, perm, "perm", i32, NULL),
    ROW(route_queues, read_queues, "readQueueNums", i32, NULL),
    ROW(route_queues, sys_flag, "topicSysFlag", i32, NULL),
    ROW(route_queues, write_queues, "writeQueueNums", i32, NULL),
};
static const struct bean queues_bean = BEAN(struct route_queues, queues_rows, NULL);

static const struct bean_table_of mapping_by_broker = {&queue_mapping_bean, offsetof(struct queue_mapping, broker)};

static const struct bean_field route_rows[] = {
    ROW(topic_route, brokers, "brokerDatas", list, &route_broker_bean),
    ROW(topic_route, filter_servers, "filterServerTable", text_lists, NULL),
    ROW(topic_route, order, "orderTopicConf", text, NULL),
    ROW(topic_route, queues, "queueDatas", list, &queues_bean),
    ROW_OPTIONAL(topic_route, mappings, "topicQueueMappingByBroker", table, &mapping_by_broker),
};
const struct bean topic_route_bean = BEAN(struct topic_route, route_rows, NULL);

static const struct bean_field cluster_rows[] = {
    ROW(cluster_info, brokers, "brokerAddrTable", table, &broker_table),
    ROW(cluster_info, clusters, "clusterAddrTable", text_lists, NULL),
};
const struct bean cluster_info_bean = BEAN(struct cluster_info, cluster_rows, NULL);

static const struct bean_field member_rows[] = {
    ROW(broker_group, addresses, "brokerAddrs", ids, NULL),
    ROW(broker_group, name, "brokerName", text, NULL),
    ROW(broker_group, cluster, "cluster", text, NULL),
};
static const struct bean member_bean = BEAN(struct broker_group, member_rows, NULL);
static const struct bean_field member_reply_rows[] = {
    {"brokerMemberGroup", 0, &bean_part, &member_bean, false},
};
const struct bean member_group_reply_bean = BEAN(struct broker_group, member_reply_rows, NULL);

err_t topic_route_decode(struct slice body, struct arena *arena, struct topic_route *out)
{
    return bean_decode(&topic_route_bean, body, arena, "route", out);
}
