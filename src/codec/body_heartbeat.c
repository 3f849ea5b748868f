#include "codec/body_heartbeat.h"

const char *const consume_type_names[] = {"CONSUME_ACTIVELY", "CONSUME_PASSIVELY", "CONSUME_POP", NULL};
const char *const message_model_names[] = {"BROADCASTING", "CLUSTERING", NULL};
const char *const consume_from_names[] = {
    "CONSUME_FROM_LAST_OFFSET", "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
    "CONSUME_FROM_MIN_OFFSET",  "CONSUME_FROM_MAX_OFFSET",
    "CONSUME_FROM_FIRST_OFFSET", "CONSUME_FROM_TIMESTAMP", NULL,
};

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

static const struct bean_field consumer_rows[] = {
    ROW(heartbeat_consumer, from, "consumeFromWhere", choice, consume_from_names),
    ROW(heartbeat_consumer, type, "consumeType", choice, consume_type_names),
    ROW(heartbeat_consumer, group, "groupName", text, NULL),
    ROW(heartbeat_consumer, model, "messageModel", choice, message_model_names),
    ROW(heartbeat_consumer, subscriptions, "subscriptionDataSet", list, &subscription_bean),
    ROW(heartbeat_consumer, unit_mode, "unitMode", bool, NULL),
};
static const struct heartbeat_consumer blank_consumer = {.type = CONSUME_NONE, .model = MODEL_NONE, .from = FROM_NONE};
static const struct bean consumer_bean = BEAN(struct heartbeat_consumer, consumer_rows, &blank_consumer);

static const struct bean_field producer_rows[] = {
    ROW(heartbeat_producer, group, "groupName", text, NULL),
};
static const struct bean producer_bean = BEAN(struct heartbeat_producer, producer_rows, NULL);

static const struct bean_field rows[] = {
    ROW(heartbeat, client_id, "clientID", text, NULL),
    ROW(heartbeat, consumers, "consumerDataSet", list, &consumer_bean),
    ROW(heartbeat, fingerprint, "heartbeatFingerprint", i32, NULL),
    ROW(heartbeat, producers, "producerDataSet", list, &producer_bean),
    ROW(heartbeat, without_sub, "withoutSub", bool, NULL),
};
const struct bean heartbeat_bean = BEAN(struct heartbeat, rows, NULL);

err_t heartbeat_decode(struct slice body, struct arena *arena, struct heartbeat *out)
{
    return bean_decode(&heartbeat_bean, body, arena, "heartbeat", out);
}
