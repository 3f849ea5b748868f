#include "codec/body_why.h"

#define ROW(kind, member, wire, type, more, optional) {wire, offsetof(struct kind, member), &bean_##type, more, optional}

static const struct bean_field copy_rows[] = {
    ROW(why_copy, log_offset, "commitLogOffset", i64, NULL, false),
    ROW(why_copy, due_ms, "dueTimestamp", i64, NULL, false),
    ROW(why_copy, place, "place", text, NULL, false),
    ROW(why_copy, queue_id, "queueId", i32, NULL, false),
    ROW(why_copy, queue_offset, "queueOffset", i64, NULL, false),
    ROW(why_copy, reconsume_times, "reconsumeTimes", i32, NULL, false),
    ROW(why_copy, store_ms, "storeTimestamp", i64, NULL, false),
    ROW(why_copy, topic, "topic", text, NULL, false),
};
const struct bean why_copy_bean = BEAN(struct why_copy, copy_rows, NULL);

static const struct bean_field why_rows[] = {
    ROW(why, copies, "copies", list, &why_copy_bean, true),
    ROW(why, facts, "facts", pairs, NULL, false),
    ROW(why, sentence, "sentence", text, NULL, false),
};
const struct bean why_bean = BEAN(struct why, why_rows, NULL);
