#include "codec/body_connection.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

static const struct bean_field connection_rows[] = {
    ROW(connection_row, address, "clientAddr", text, NULL),
    ROW(connection_row, client_id, "clientId", text, NULL),
    ROW(connection_row, language, "language", text, NULL),
    ROW(connection_row, version, "version", i32, NULL),
};
static const struct bean connection_bean = BEAN(struct connection_row, connection_rows, NULL);

static const struct bean_field producer_rows[] = {
    ROW(producer_connections, connections, "connectionSet", list, &connection_bean),
};
const struct bean producer_connections_bean = BEAN(struct producer_connections, producer_rows, NULL);

static const struct bean_table_of subscription_table = {&subscription_bean, offsetof(struct subscription, topic)};
static const struct bean_field consumer_rows[] = {
    ROW(consumer_connections, connections, "connectionSet", list, &connection_bean),
    ROW(consumer_connections, from, "consumeFromWhere", choice, consume_from_names),
    ROW(consumer_connections, type, "consumeType", choice, consume_type_names),
    ROW(consumer_connections, model, "messageModel", choice, message_model_names),
    ROW(consumer_connections, subscriptions, "subscriptionTable", table, &subscription_table),
};
static const struct consumer_connections blank = {.type = CONSUME_NONE, .model = MODEL_NONE, .from = FROM_NONE};
const struct bean consumer_connections_bean = BEAN(struct consumer_connections, consumer_rows, &blank);
