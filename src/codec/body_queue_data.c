#include "codec/body_queue_data.h"

#define ROW(kind, member, wire, type, more, optional) {wire, offsetof(struct kind, member), &bean_##type, more, optional}

static const struct bean_field entry_rows[] = {
    ROW(queue_data, eval, "eval", bool, NULL, false),
    ROW(queue_data, log_offset, "physicOffset", i64, NULL, false),
    ROW(queue_data, size, "physicSize", i32, NULL, false),
    ROW(queue_data, tag_hash, "tagsCode", i64, NULL, false),
};
static const struct bean entry_bean = BEAN(struct queue_data, entry_rows, NULL);

static const struct bean_field list_rows[] = {
    ROW(queue_data_list, filter_data, "filterData", text, NULL, false),
    ROW(queue_data_list, max_offset, "maxQueueIndex", i64, NULL, false),
    ROW(queue_data_list, min_offset, "minQueueIndex", i64, NULL, false),
    ROW(queue_data_list, entries, "queueData", list, &entry_bean, false),
    ROW(queue_data_list, subscription, "subscriptionData", ref, &subscription_bean, false),
};
const struct bean queue_data_list_bean = BEAN(struct queue_data_list, list_rows, NULL);
