#include "codec/body_assignment.h"

#include "codec/body_heartbeat.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

static const char *const mode_names[] = {"PULL", "POP", NULL};

static const struct bean_field query_rows[] = {
    ROW(assignment_query, client_id, "clientId", text, NULL),
    ROW(assignment_query, group, "consumerGroup", text, NULL),
    ROW(assignment_query, model, "messageModel", choice, message_model_names),
    ROW(assignment_query, strategy, "strategyName", text, NULL),
    ROW(assignment_query, topic, "topic", text, NULL),
};
static const struct assignment_query blank_query = {.model = MODEL_NONE};
const struct bean assignment_query_bean = BEAN(struct assignment_query, query_rows, &blank_query);

static const struct bean_field assignment_rows[] = {
    ROW(assignment, queue, "messageQueue", part, &message_queue_bean),
    ROW(assignment, mode, "mode", choice, mode_names),
};
static const struct bean assignment_bean = BEAN(struct assignment, assignment_rows, NULL);

static const struct bean_field list_rows[] = {
    ROW(assignment_list, assignments, "messageQueueAssignments", list, &assignment_bean),
};
const struct bean assignment_list_bean = BEAN(struct assignment_list, list_rows, NULL);

static const struct bean_field mode_rows[] = {
    ROW(request_mode, group, "consumerGroup", text, NULL),
    ROW(request_mode, mode, "mode", choice, mode_names),
    ROW(request_mode, share, "popShareQueueNum", i32, NULL),
    ROW(request_mode, topic, "topic", text, NULL),
};
const struct bean request_mode_bean = BEAN(struct request_mode, mode_rows, NULL);

static const struct bean_table_of groups_of_topic = {&request_mode_bean, offsetof(struct request_mode, group)};
static const struct bean_field groups_row = ROW(topic_modes, groups, "", table, &groups_of_topic);
static const struct bean_named_of topics_of_table = {&groups_row, offsetof(struct topic_modes, topic), sizeof(struct topic_modes)};
static const struct bean_field table_rows[] = {
    ROW(request_mode_table, topics, "messageRequestModeMap", named, &topics_of_table),
};
const struct bean request_mode_table_bean = BEAN(struct request_mode_table, table_rows, NULL);
