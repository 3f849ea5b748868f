/* body_route.h - where the queues of a topic are (105), and the brokers of a cluster (106, 901).
 * Facts    docs/protocol/remoting.md A1, 4.2 (106); golden bytes: tests/fixtures/wire/route.jsonl
 * Forms    JSON_STRICT for clients from 4.9.4 on and those that ask for it, JSON_RAW for older ones
 * Owns     nothing: texts borrow, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_ROUTE_H
#define SKYLARK_CODEC_BODY_ROUTE_H

#include "codec/body_topic_config.h"

struct route_broker {
    struct slice cluster;
    struct slice name;
    struct slice zone;                              /* p NULL: none */
    bool enable_acting_master;
    BEAN_LIST(struct id_text) addresses;            /* broker id -> "host:port"; 0 is the master */
};

struct route_queues {
    struct slice broker;
    int32_t read_queues;
    int32_t write_queues;
    int32_t perm;
    int32_t sys_flag;
};

struct topic_route {
    struct slice order;                             /* orderTopicConf, "b0:4;b1:4"; p NULL: none */
    BEAN_LIST(struct route_broker) brokers;
    BEAN_LIST(struct route_queues) queues;
    BEAN_LIST(struct named_list) filter_servers;
    BEAN_LIST(struct queue_mapping) mappings;       /* by broker name */
};

/* Reply of GET_BROKER_CLUSTER_INFO. */
struct cluster_info {
    BEAN_LIST(struct route_broker) brokers;
    BEAN_LIST(struct named_list) clusters;          /* cluster -> names of brokers */
};

/* Reply of GET_BROKER_MEMBER_GROUP. */
struct broker_group {
    struct slice cluster;
    struct slice name;
    BEAN_LIST(struct id_text) addresses;
};

extern const struct bean route_broker_bean;
extern const struct bean topic_route_bean;
extern const struct bean cluster_info_bean;
extern const struct bean member_group_reply_bean;   /* of struct broker_group, within {"brokerMemberGroup":…} */

err_t topic_route_decode(struct slice body, struct arena *arena, struct topic_route *out) MUST_CHECK;

#endif
