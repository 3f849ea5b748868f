/* body_topic_config.h - topics as brokers tell them to each other and keep them in topics.json.
 * Facts    docs/protocol/remoting.md 1.5, 4.1 (21, 351), 5.1 (103), store.md 8
 * Owns     nothing: texts borrow, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_TOPIC_CONFIG_H
#define SKYLARK_CODEC_BODY_TOPIC_CONFIG_H

#include "codec/bean.h"

enum { PERM_INHERIT = 1, PERM_WRITE = 2, PERM_READ = 4, PERM_PRIORITY = 8 };
enum { TOPIC_SYS_UNIT = 1, TOPIC_SYS_UNIT_SUB = 2 };
enum topic_filter { TOPIC_FILTER_NONE = -1, TOPIC_FILTER_SINGLE_TAG, TOPIC_FILTER_MULTI_TAG };
extern const char *const topic_filter_names[];

/* Which of two states is the newer one, and whether they are the same. */
struct data_version {
    int64_t state_version;
    int64_t timestamp;          /* ms */
    int64_t counter;
};

struct topic_config {
    struct slice name;
    int32_t read_queues;
    int32_t write_queues;
    int32_t perm;               /* PERM_… */
    int32_t sys_flag;           /* TOPIC_SYS_… */
    int32_t filter;             /* enum topic_filter */
    bool order;
    BEAN_LIST(struct pair) attributes;
};

/* Where the queues of a static topic are (TopicQueueMappingInfo). */
struct queue_mapping {
    struct slice topic;
    struct slice scope;
    struct slice broker;
    int32_t total_queues;
    int64_t epoch;
    bool dirty;
    BEAN_LIST(struct id_number) current;    /* global id -> id on the broker */
};

/* Body of 21 and 45…, and part of 103 (TopicConfigAndMappingSerializeWrapper). */
struct topic_table {
    struct data_version *version;
    struct data_version *mapping_version;
    BEAN_LIST(struct topic_config) topics;
    BEAN_LIST(struct queue_mapping) mappings;
};

/* Body of 103, uncompressed form. */
struct register_body {
    BEAN_LIST(struct slice) filter_servers;
    struct topic_table table;
};

/* Body of 18 UPDATE_AND_CREATE_TOPIC_LIST. */
struct topic_config_list {
    BEAN_LIST(struct topic_config) topics;
};

extern const struct bean data_version_bean;
extern const struct bean topic_config_bean;
extern const struct bean_table_of topic_config_table;   /* for members that are tables of topics */
extern const struct bean queue_mapping_bean;
extern const struct bean topic_table_bean;
extern const struct bean register_body_bean;
extern const struct bean topic_config_list_bean;

bool data_version_eq(const struct data_version *a, const struct data_version *b);
/* The state changed: one further, at that time. */
void data_version_next(struct data_version *v, int64_t now_ms);
err_t data_version_decode(struct slice body, struct data_version *out) MUST_CHECK;
void data_version_encode(const struct data_version *v, struct buf *out);

/* Everything but the name. Attributes in any order. */
bool topic_config_eq(const struct topic_config *a, const struct topic_config *b);
/* All of it in one line, as the original shows it in remarks. */
void topic_config_describe(const struct topic_config *t, struct buf *out);
/* The value, p NULL when there is none. */
struct slice topic_attribute(const struct topic_config *t, struct slice key);

#endif
