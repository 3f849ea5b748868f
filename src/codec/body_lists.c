#include "codec/body_lists.h"

#define ROW(kind, member, wire, type) {wire, offsetof(struct kind, member), &bean_##type, NULL, false}

static const struct bean_field topic_rows[] = {
    ROW(topic_list, broker_address, "brokerAddr", text),
    ROW(topic_list, topics, "topicList", texts),
};
const struct bean topic_list_bean = BEAN(struct topic_list, topic_rows, NULL);

static const struct bean_field group_rows[] = {
    ROW(group_list, groups, "groupList", texts),
};
const struct bean group_list_bean = BEAN(struct group_list, group_rows, NULL);

static const struct bean_field kv_rows[] = {
    ROW(kv_table, pairs, "table", pairs),
};
const struct bean kv_table_bean = BEAN(struct kv_table, kv_rows, NULL);
