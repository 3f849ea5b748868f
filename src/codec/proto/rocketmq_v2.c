/* Made of rocketmq_v2.proto by tools/proto. */
#include "codec/proto/rocketmq_v2.h"

#include <stddef.h>

#define OF(member) offsetof(struct v2_duration, member)
static const struct pb_field v2_duration_fields[] = {
    {1, PB_I64, false, false, OF(seconds), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_I32, false, false, OF(nanos), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_duration_pb = {
    "Duration", v2_duration_fields, 2,
    sizeof(struct v2_duration),
};

#define OF(member) offsetof(struct v2_timestamp, member)
static const struct pb_field v2_timestamp_fields[] = {
    {1, PB_I64, false, false, OF(seconds), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_I32, false, false, OF(nanos), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_timestamp_pb = {
    "Timestamp", v2_timestamp_fields, 2,
    sizeof(struct v2_timestamp),
};

#define OF(member) offsetof(struct v2_filter_expression, member)
static const struct pb_field v2_filter_expression_fields[] = {
    {1, PB_ENUM, false, false, OF(type), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_TEXT, false, false, OF(expression), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_filter_expression_pb = {
    "FilterExpression", v2_filter_expression_fields, 2,
    sizeof(struct v2_filter_expression),
};

#define OF(member) offsetof(struct v2_retry_policy, member)
static const struct pb_field v2_retry_policy_fields[] = {
    {1, PB_I32, false, false, OF(max_attempts), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_PART, false, false, OF(exponential_backoff), PB_NOWHERE, OF(strategy_case), &v2_exponential_backoff_pb},
    {3, PB_PART, false, false, OF(customized_backoff), PB_NOWHERE, OF(strategy_case), &v2_customized_backoff_pb},
};
#undef OF
const struct pb_message v2_retry_policy_pb = {
    "RetryPolicy", v2_retry_policy_fields, 3,
    sizeof(struct v2_retry_policy),
};

#define OF(member) offsetof(struct v2_exponential_backoff, member)
static const struct pb_field v2_exponential_backoff_fields[] = {
    {1, PB_PART, false, false, OF(initial), PB_NOWHERE, PB_NOWHERE, &v2_duration_pb},
    {2, PB_PART, false, false, OF(max), PB_NOWHERE, PB_NOWHERE, &v2_duration_pb},
    {3, PB_FLOAT, false, false, OF(multiplier), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_exponential_backoff_pb = {
    "ExponentialBackoff", v2_exponential_backoff_fields, 3,
    sizeof(struct v2_exponential_backoff),
};

#define OF(member) offsetof(struct v2_customized_backoff, member)
static const struct pb_field v2_customized_backoff_fields[] = {
    {1, PB_PART, true, false, OF(next), PB_NOWHERE, PB_NOWHERE, &v2_duration_pb},
};
#undef OF
const struct pb_message v2_customized_backoff_pb = {
    "CustomizedBackoff", v2_customized_backoff_fields, 1,
    sizeof(struct v2_customized_backoff),
};

#define OF(member) offsetof(struct v2_resource, member)
static const struct pb_field v2_resource_fields[] = {
    {1, PB_TEXT, false, false, OF(resource_namespace), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_TEXT, false, false, OF(name), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_resource_pb = {
    "Resource", v2_resource_fields, 2,
    sizeof(struct v2_resource),
};

#define OF(member) offsetof(struct v2_subscription_entry, member)
static const struct pb_field v2_subscription_entry_fields[] = {
    {1, PB_PART, false, false, OF(topic), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_PART, false, false, OF(expression), PB_NOWHERE, PB_NOWHERE, &v2_filter_expression_pb},
};
#undef OF
const struct pb_message v2_subscription_entry_pb = {
    "SubscriptionEntry", v2_subscription_entry_fields, 2,
    sizeof(struct v2_subscription_entry),
};

#define OF(member) offsetof(struct v2_address, member)
static const struct pb_field v2_address_fields[] = {
    {1, PB_TEXT, false, false, OF(host), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_I32, false, false, OF(port), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_address_pb = {
    "Address", v2_address_fields, 2,
    sizeof(struct v2_address),
};

#define OF(member) offsetof(struct v2_endpoints, member)
static const struct pb_field v2_endpoints_fields[] = {
    {1, PB_ENUM, false, false, OF(scheme), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_PART, true, false, OF(addresses), PB_NOWHERE, PB_NOWHERE, &v2_address_pb},
};
#undef OF
const struct pb_message v2_endpoints_pb = {
    "Endpoints", v2_endpoints_fields, 2,
    sizeof(struct v2_endpoints),
};

#define OF(member) offsetof(struct v2_broker, member)
static const struct pb_field v2_broker_fields[] = {
    {1, PB_TEXT, false, false, OF(name), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_I32, false, false, OF(id), PB_NOWHERE, PB_NOWHERE, NULL},
    {3, PB_PART, false, false, OF(endpoints), PB_NOWHERE, PB_NOWHERE, &v2_endpoints_pb},
};
#undef OF
const struct pb_message v2_broker_pb = {
    "Broker", v2_broker_fields, 3,
    sizeof(struct v2_broker),
};

#define OF(member) offsetof(struct v2_message_queue, member)
static const struct pb_field v2_message_queue_fields[] = {
    {1, PB_PART, false, false, OF(topic), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_I32, false, false, OF(id), PB_NOWHERE, PB_NOWHERE, NULL},
    {3, PB_ENUM, false, false, OF(permission), PB_NOWHERE, PB_NOWHERE, NULL},
    {4, PB_PART, false, false, OF(broker), PB_NOWHERE, PB_NOWHERE, &v2_broker_pb},
    {5, PB_ENUM, true, false, OF(accept_message_types), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_message_queue_pb = {
    "MessageQueue", v2_message_queue_fields, 5,
    sizeof(struct v2_message_queue),
};

#define OF(member) offsetof(struct v2_digest, member)
static const struct pb_field v2_digest_fields[] = {
    {1, PB_ENUM, false, false, OF(type), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_TEXT, false, false, OF(checksum), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_digest_pb = {
    "Digest", v2_digest_fields, 2,
    sizeof(struct v2_digest),
};

#define OF(member) offsetof(struct v2_system_properties, member)
static const struct pb_field v2_system_properties_fields[] = {
    {1, PB_TEXT, false, true, OF(tag), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_TEXT, true, false, OF(keys), PB_NOWHERE, PB_NOWHERE, NULL},
    {3, PB_TEXT, false, false, OF(message_id), PB_NOWHERE, PB_NOWHERE, NULL},
    {4, PB_PART, false, false, OF(body_digest), PB_NOWHERE, PB_NOWHERE, &v2_digest_pb},
    {5, PB_ENUM, false, false, OF(body_encoding), PB_NOWHERE, PB_NOWHERE, NULL},
    {6, PB_ENUM, false, false, OF(message_type), PB_NOWHERE, PB_NOWHERE, NULL},
    {7, PB_PART, false, false, OF(born_timestamp), PB_NOWHERE, PB_NOWHERE, &v2_timestamp_pb},
    {8, PB_TEXT, false, false, OF(born_host), PB_NOWHERE, PB_NOWHERE, NULL},
    {9, PB_PART, false, false, OF(store_timestamp), PB_NOWHERE, PB_NOWHERE, &v2_timestamp_pb},
    {10, PB_TEXT, false, false, OF(store_host), PB_NOWHERE, PB_NOWHERE, NULL},
    {11, PB_PART, false, false, OF(delivery_timestamp), PB_NOWHERE, PB_NOWHERE, &v2_timestamp_pb},
    {12, PB_TEXT, false, true, OF(receipt_handle), PB_NOWHERE, PB_NOWHERE, NULL},
    {13, PB_I32, false, false, OF(queue_id), PB_NOWHERE, PB_NOWHERE, NULL},
    {14, PB_I64, false, false, OF(queue_offset), OF(has_queue_offset), PB_NOWHERE, NULL},
    {15, PB_PART, false, false, OF(invisible_duration), PB_NOWHERE, PB_NOWHERE, &v2_duration_pb},
    {16, PB_I32, false, false, OF(delivery_attempt), OF(has_delivery_attempt), PB_NOWHERE, NULL},
    {17, PB_TEXT, false, true, OF(message_group), PB_NOWHERE, PB_NOWHERE, NULL},
    {18, PB_TEXT, false, true, OF(trace_context), PB_NOWHERE, PB_NOWHERE, NULL},
    {19, PB_PART, false, false, OF(orphaned_transaction_recovery_duration), PB_NOWHERE, PB_NOWHERE, &v2_duration_pb},
    {20, PB_PART, false, false, OF(dead_letter_queue), PB_NOWHERE, PB_NOWHERE, &v2_dead_letter_queue_pb},
    {21, PB_TEXT, false, true, OF(lite_topic), PB_NOWHERE, PB_NOWHERE, NULL},
    {22, PB_I32, false, false, OF(priority), OF(has_priority), PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_system_properties_pb = {
    "SystemProperties", v2_system_properties_fields, 22,
    sizeof(struct v2_system_properties),
};

#define OF(member) offsetof(struct v2_dead_letter_queue, member)
static const struct pb_field v2_dead_letter_queue_fields[] = {
    {1, PB_TEXT, false, false, OF(topic), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_TEXT, false, false, OF(message_id), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_dead_letter_queue_pb = {
    "DeadLetterQueue", v2_dead_letter_queue_fields, 2,
    sizeof(struct v2_dead_letter_queue),
};

#define OF(member) offsetof(struct v2_message_user_properties_entry, member)
static const struct pb_field v2_message_user_properties_entry_fields[] = {
    {1, PB_TEXT, false, false, OF(key), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_TEXT, false, false, OF(value), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_message_user_properties_entry_pb = {
    "UserPropertiesEntry", v2_message_user_properties_entry_fields, 2,
    sizeof(struct v2_message_user_properties_entry),
};

#define OF(member) offsetof(struct v2_message, member)
static const struct pb_field v2_message_fields[] = {
    {1, PB_PART, false, false, OF(topic), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_PART, true, false, OF(user_properties), PB_NOWHERE, PB_NOWHERE, &v2_message_user_properties_entry_pb},
    {3, PB_PART, false, false, OF(system_properties), PB_NOWHERE, PB_NOWHERE, &v2_system_properties_pb},
    {4, PB_BYTES, false, false, OF(body), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_message_pb = {
    "Message", v2_message_fields, 4,
    sizeof(struct v2_message),
};

#define OF(member) offsetof(struct v2_assignment, member)
static const struct pb_field v2_assignment_fields[] = {
    {1, PB_PART, false, false, OF(message_queue), PB_NOWHERE, PB_NOWHERE, &v2_message_queue_pb},
};
#undef OF
const struct pb_message v2_assignment_pb = {
    "Assignment", v2_assignment_fields, 1,
    sizeof(struct v2_assignment),
};

#define OF(member) offsetof(struct v2_status, member)
static const struct pb_field v2_status_fields[] = {
    {1, PB_ENUM, false, false, OF(code), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_TEXT, false, false, OF(message), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_status_pb = {
    "Status", v2_status_fields, 2,
    sizeof(struct v2_status),
};

#define OF(member) offsetof(struct v2_ua, member)
static const struct pb_field v2_ua_fields[] = {
    {1, PB_ENUM, false, false, OF(language), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_TEXT, false, false, OF(version), PB_NOWHERE, PB_NOWHERE, NULL},
    {3, PB_TEXT, false, false, OF(platform), PB_NOWHERE, PB_NOWHERE, NULL},
    {4, PB_TEXT, false, false, OF(hostname), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_ua_pb = {
    "UA", v2_ua_fields, 4,
    sizeof(struct v2_ua),
};

#define OF(member) offsetof(struct v2_settings_client_properties_entry, member)
static const struct pb_field v2_settings_client_properties_entry_fields[] = {
    {1, PB_TEXT, false, false, OF(key), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_TEXT, false, false, OF(value), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_settings_client_properties_entry_pb = {
    "ClientPropertiesEntry", v2_settings_client_properties_entry_fields, 2,
    sizeof(struct v2_settings_client_properties_entry),
};

#define OF(member) offsetof(struct v2_settings, member)
static const struct pb_field v2_settings_fields[] = {
    {1, PB_ENUM, false, false, OF(client_type), OF(has_client_type), PB_NOWHERE, NULL},
    {2, PB_PART, false, false, OF(access_point), PB_NOWHERE, PB_NOWHERE, &v2_endpoints_pb},
    {3, PB_PART, false, false, OF(backoff_policy), PB_NOWHERE, PB_NOWHERE, &v2_retry_policy_pb},
    {4, PB_PART, false, false, OF(request_timeout), PB_NOWHERE, PB_NOWHERE, &v2_duration_pb},
    {5, PB_PART, false, false, OF(publishing), PB_NOWHERE, OF(pub_sub_case), &v2_publishing_pb},
    {6, PB_PART, false, false, OF(subscription), PB_NOWHERE, OF(pub_sub_case), &v2_subscription_pb},
    {7, PB_PART, false, false, OF(user_agent), PB_NOWHERE, PB_NOWHERE, &v2_ua_pb},
    {8, PB_PART, false, false, OF(metric), PB_NOWHERE, PB_NOWHERE, &v2_metric_pb},
    {9, PB_PART, true, false, OF(client_properties), PB_NOWHERE, PB_NOWHERE, &v2_settings_client_properties_entry_pb},
};
#undef OF
const struct pb_message v2_settings_pb = {
    "Settings", v2_settings_fields, 9,
    sizeof(struct v2_settings),
};

#define OF(member) offsetof(struct v2_publishing, member)
static const struct pb_field v2_publishing_fields[] = {
    {1, PB_PART, true, false, OF(topics), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_I32, false, false, OF(max_body_size), PB_NOWHERE, PB_NOWHERE, NULL},
    {3, PB_BOOL, false, false, OF(validate_message_type), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_publishing_pb = {
    "Publishing", v2_publishing_fields, 3,
    sizeof(struct v2_publishing),
};

#define OF(member) offsetof(struct v2_subscription, member)
static const struct pb_field v2_subscription_fields[] = {
    {1, PB_PART, false, false, OF(group), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_PART, true, false, OF(subscriptions), PB_NOWHERE, PB_NOWHERE, &v2_subscription_entry_pb},
    {3, PB_BOOL, false, false, OF(fifo), OF(has_fifo), PB_NOWHERE, NULL},
    {4, PB_I32, false, false, OF(receive_batch_size), OF(has_receive_batch_size), PB_NOWHERE, NULL},
    {5, PB_PART, false, false, OF(long_polling_timeout), PB_NOWHERE, PB_NOWHERE, &v2_duration_pb},
    {6, PB_I32, false, false, OF(lite_subscription_quota), OF(has_lite_subscription_quota), PB_NOWHERE, NULL},
    {7, PB_I32, false, false, OF(max_lite_topic_size), OF(has_max_lite_topic_size), PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_subscription_pb = {
    "Subscription", v2_subscription_fields, 7,
    sizeof(struct v2_subscription),
};

#define OF(member) offsetof(struct v2_metric, member)
static const struct pb_field v2_metric_fields[] = {
    {1, PB_BOOL, false, false, OF(on), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_PART, false, false, OF(endpoints), PB_NOWHERE, PB_NOWHERE, &v2_endpoints_pb},
};
#undef OF
const struct pb_message v2_metric_pb = {
    "Metric", v2_metric_fields, 2,
    sizeof(struct v2_metric),
};

#define OF(member) offsetof(struct v2_offset_option, member)
static const struct pb_field v2_offset_option_fields[] = {
    {1, PB_ENUM, false, false, OF(policy), PB_NOWHERE, OF(offset_type_case), NULL},
    {2, PB_I64, false, false, OF(offset), PB_NOWHERE, OF(offset_type_case), NULL},
    {3, PB_I64, false, false, OF(tail_n), PB_NOWHERE, OF(offset_type_case), NULL},
    {4, PB_I64, false, false, OF(timestamp), PB_NOWHERE, OF(offset_type_case), NULL},
};
#undef OF
const struct pb_message v2_offset_option_pb = {
    "OffsetOption", v2_offset_option_fields, 4,
    sizeof(struct v2_offset_option),
};

#define OF(member) offsetof(struct v2_query_route_request, member)
static const struct pb_field v2_query_route_request_fields[] = {
    {1, PB_PART, false, false, OF(topic), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_PART, false, false, OF(endpoints), PB_NOWHERE, PB_NOWHERE, &v2_endpoints_pb},
};
#undef OF
const struct pb_message v2_query_route_request_pb = {
    "QueryRouteRequest", v2_query_route_request_fields, 2,
    sizeof(struct v2_query_route_request),
};

#define OF(member) offsetof(struct v2_query_route_response, member)
static const struct pb_field v2_query_route_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
    {2, PB_PART, true, false, OF(message_queues), PB_NOWHERE, PB_NOWHERE, &v2_message_queue_pb},
};
#undef OF
const struct pb_message v2_query_route_response_pb = {
    "QueryRouteResponse", v2_query_route_response_fields, 2,
    sizeof(struct v2_query_route_response),
};

#define OF(member) offsetof(struct v2_send_message_request, member)
static const struct pb_field v2_send_message_request_fields[] = {
    {1, PB_PART, true, false, OF(messages), PB_NOWHERE, PB_NOWHERE, &v2_message_pb},
};
#undef OF
const struct pb_message v2_send_message_request_pb = {
    "SendMessageRequest", v2_send_message_request_fields, 1,
    sizeof(struct v2_send_message_request),
};

#define OF(member) offsetof(struct v2_send_result_entry, member)
static const struct pb_field v2_send_result_entry_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
    {2, PB_TEXT, false, false, OF(message_id), PB_NOWHERE, PB_NOWHERE, NULL},
    {3, PB_TEXT, false, false, OF(transaction_id), PB_NOWHERE, PB_NOWHERE, NULL},
    {4, PB_I64, false, false, OF(offset), PB_NOWHERE, PB_NOWHERE, NULL},
    {5, PB_TEXT, false, false, OF(recall_handle), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_send_result_entry_pb = {
    "SendResultEntry", v2_send_result_entry_fields, 5,
    sizeof(struct v2_send_result_entry),
};

#define OF(member) offsetof(struct v2_send_message_response, member)
static const struct pb_field v2_send_message_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
    {2, PB_PART, true, false, OF(entries), PB_NOWHERE, PB_NOWHERE, &v2_send_result_entry_pb},
};
#undef OF
const struct pb_message v2_send_message_response_pb = {
    "SendMessageResponse", v2_send_message_response_fields, 2,
    sizeof(struct v2_send_message_response),
};

#define OF(member) offsetof(struct v2_query_assignment_request, member)
static const struct pb_field v2_query_assignment_request_fields[] = {
    {1, PB_PART, false, false, OF(topic), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_PART, false, false, OF(group), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {3, PB_PART, false, false, OF(endpoints), PB_NOWHERE, PB_NOWHERE, &v2_endpoints_pb},
};
#undef OF
const struct pb_message v2_query_assignment_request_pb = {
    "QueryAssignmentRequest", v2_query_assignment_request_fields, 3,
    sizeof(struct v2_query_assignment_request),
};

#define OF(member) offsetof(struct v2_query_assignment_response, member)
static const struct pb_field v2_query_assignment_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
    {2, PB_PART, true, false, OF(assignments), PB_NOWHERE, PB_NOWHERE, &v2_assignment_pb},
};
#undef OF
const struct pb_message v2_query_assignment_response_pb = {
    "QueryAssignmentResponse", v2_query_assignment_response_fields, 2,
    sizeof(struct v2_query_assignment_response),
};

#define OF(member) offsetof(struct v2_receive_message_request, member)
static const struct pb_field v2_receive_message_request_fields[] = {
    {1, PB_PART, false, false, OF(group), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_PART, false, false, OF(message_queue), PB_NOWHERE, PB_NOWHERE, &v2_message_queue_pb},
    {3, PB_PART, false, false, OF(filter_expression), PB_NOWHERE, PB_NOWHERE, &v2_filter_expression_pb},
    {4, PB_I32, false, false, OF(batch_size), PB_NOWHERE, PB_NOWHERE, NULL},
    {5, PB_PART, false, false, OF(invisible_duration), PB_NOWHERE, PB_NOWHERE, &v2_duration_pb},
    {6, PB_BOOL, false, false, OF(auto_renew), PB_NOWHERE, PB_NOWHERE, NULL},
    {7, PB_PART, false, false, OF(long_polling_timeout), PB_NOWHERE, PB_NOWHERE, &v2_duration_pb},
    {8, PB_TEXT, false, true, OF(attempt_id), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_receive_message_request_pb = {
    "ReceiveMessageRequest", v2_receive_message_request_fields, 8,
    sizeof(struct v2_receive_message_request),
};

#define OF(member) offsetof(struct v2_receive_message_response, member)
static const struct pb_field v2_receive_message_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, OF(content_case), &v2_status_pb},
    {2, PB_PART, false, false, OF(message), PB_NOWHERE, OF(content_case), &v2_message_pb},
    {3, PB_PART, false, false, OF(delivery_timestamp), PB_NOWHERE, OF(content_case), &v2_timestamp_pb},
};
#undef OF
const struct pb_message v2_receive_message_response_pb = {
    "ReceiveMessageResponse", v2_receive_message_response_fields, 3,
    sizeof(struct v2_receive_message_response),
};

#define OF(member) offsetof(struct v2_ack_message_entry, member)
static const struct pb_field v2_ack_message_entry_fields[] = {
    {1, PB_TEXT, false, false, OF(message_id), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_TEXT, false, false, OF(receipt_handle), PB_NOWHERE, PB_NOWHERE, NULL},
    {3, PB_TEXT, false, true, OF(lite_topic), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_ack_message_entry_pb = {
    "AckMessageEntry", v2_ack_message_entry_fields, 3,
    sizeof(struct v2_ack_message_entry),
};

#define OF(member) offsetof(struct v2_ack_message_request, member)
static const struct pb_field v2_ack_message_request_fields[] = {
    {1, PB_PART, false, false, OF(group), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_PART, false, false, OF(topic), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {3, PB_PART, true, false, OF(entries), PB_NOWHERE, PB_NOWHERE, &v2_ack_message_entry_pb},
};
#undef OF
const struct pb_message v2_ack_message_request_pb = {
    "AckMessageRequest", v2_ack_message_request_fields, 3,
    sizeof(struct v2_ack_message_request),
};

#define OF(member) offsetof(struct v2_ack_message_result_entry, member)
static const struct pb_field v2_ack_message_result_entry_fields[] = {
    {1, PB_TEXT, false, false, OF(message_id), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_TEXT, false, false, OF(receipt_handle), PB_NOWHERE, PB_NOWHERE, NULL},
    {3, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
};
#undef OF
const struct pb_message v2_ack_message_result_entry_pb = {
    "AckMessageResultEntry", v2_ack_message_result_entry_fields, 3,
    sizeof(struct v2_ack_message_result_entry),
};

#define OF(member) offsetof(struct v2_ack_message_response, member)
static const struct pb_field v2_ack_message_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
    {2, PB_PART, true, false, OF(entries), PB_NOWHERE, PB_NOWHERE, &v2_ack_message_result_entry_pb},
};
#undef OF
const struct pb_message v2_ack_message_response_pb = {
    "AckMessageResponse", v2_ack_message_response_fields, 2,
    sizeof(struct v2_ack_message_response),
};

#define OF(member) offsetof(struct v2_forward_message_to_dead_letter_queue_request, member)
static const struct pb_field v2_forward_message_to_dead_letter_queue_request_fields[] = {
    {1, PB_PART, false, false, OF(group), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_PART, false, false, OF(topic), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {3, PB_TEXT, false, false, OF(receipt_handle), PB_NOWHERE, PB_NOWHERE, NULL},
    {4, PB_TEXT, false, false, OF(message_id), PB_NOWHERE, PB_NOWHERE, NULL},
    {5, PB_I32, false, false, OF(delivery_attempt), PB_NOWHERE, PB_NOWHERE, NULL},
    {6, PB_I32, false, false, OF(max_delivery_attempts), PB_NOWHERE, PB_NOWHERE, NULL},
    {7, PB_TEXT, false, true, OF(lite_topic), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_forward_message_to_dead_letter_queue_request_pb = {
    "ForwardMessageToDeadLetterQueueRequest", v2_forward_message_to_dead_letter_queue_request_fields, 7,
    sizeof(struct v2_forward_message_to_dead_letter_queue_request),
};

#define OF(member) offsetof(struct v2_forward_message_to_dead_letter_queue_response, member)
static const struct pb_field v2_forward_message_to_dead_letter_queue_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
};
#undef OF
const struct pb_message v2_forward_message_to_dead_letter_queue_response_pb = {
    "ForwardMessageToDeadLetterQueueResponse", v2_forward_message_to_dead_letter_queue_response_fields, 1,
    sizeof(struct v2_forward_message_to_dead_letter_queue_response),
};

#define OF(member) offsetof(struct v2_heartbeat_request, member)
static const struct pb_field v2_heartbeat_request_fields[] = {
    {1, PB_PART, false, false, OF(group), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_ENUM, false, false, OF(client_type), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_heartbeat_request_pb = {
    "HeartbeatRequest", v2_heartbeat_request_fields, 2,
    sizeof(struct v2_heartbeat_request),
};

#define OF(member) offsetof(struct v2_heartbeat_response, member)
static const struct pb_field v2_heartbeat_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
};
#undef OF
const struct pb_message v2_heartbeat_response_pb = {
    "HeartbeatResponse", v2_heartbeat_response_fields, 1,
    sizeof(struct v2_heartbeat_response),
};

#define OF(member) offsetof(struct v2_end_transaction_request, member)
static const struct pb_field v2_end_transaction_request_fields[] = {
    {1, PB_PART, false, false, OF(topic), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_TEXT, false, false, OF(message_id), PB_NOWHERE, PB_NOWHERE, NULL},
    {3, PB_TEXT, false, false, OF(transaction_id), PB_NOWHERE, PB_NOWHERE, NULL},
    {4, PB_ENUM, false, false, OF(resolution), PB_NOWHERE, PB_NOWHERE, NULL},
    {5, PB_ENUM, false, false, OF(source), PB_NOWHERE, PB_NOWHERE, NULL},
    {6, PB_TEXT, false, false, OF(trace_context), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_end_transaction_request_pb = {
    "EndTransactionRequest", v2_end_transaction_request_fields, 6,
    sizeof(struct v2_end_transaction_request),
};

#define OF(member) offsetof(struct v2_end_transaction_response, member)
static const struct pb_field v2_end_transaction_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
};
#undef OF
const struct pb_message v2_end_transaction_response_pb = {
    "EndTransactionResponse", v2_end_transaction_response_fields, 1,
    sizeof(struct v2_end_transaction_response),
};

#define OF(member) offsetof(struct v2_print_thread_stack_trace_command, member)
static const struct pb_field v2_print_thread_stack_trace_command_fields[] = {
    {1, PB_TEXT, false, false, OF(nonce), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_print_thread_stack_trace_command_pb = {
    "PrintThreadStackTraceCommand", v2_print_thread_stack_trace_command_fields, 1,
    sizeof(struct v2_print_thread_stack_trace_command),
};

#define OF(member) offsetof(struct v2_reconnect_endpoints_command, member)
static const struct pb_field v2_reconnect_endpoints_command_fields[] = {
    {1, PB_TEXT, false, false, OF(nonce), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_reconnect_endpoints_command_pb = {
    "ReconnectEndpointsCommand", v2_reconnect_endpoints_command_fields, 1,
    sizeof(struct v2_reconnect_endpoints_command),
};

#define OF(member) offsetof(struct v2_thread_stack_trace, member)
static const struct pb_field v2_thread_stack_trace_fields[] = {
    {1, PB_TEXT, false, false, OF(nonce), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_TEXT, false, true, OF(thread_stack_trace), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_thread_stack_trace_pb = {
    "ThreadStackTrace", v2_thread_stack_trace_fields, 2,
    sizeof(struct v2_thread_stack_trace),
};

#define OF(member) offsetof(struct v2_verify_message_command, member)
static const struct pb_field v2_verify_message_command_fields[] = {
    {1, PB_TEXT, false, false, OF(nonce), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_PART, false, false, OF(message), PB_NOWHERE, PB_NOWHERE, &v2_message_pb},
};
#undef OF
const struct pb_message v2_verify_message_command_pb = {
    "VerifyMessageCommand", v2_verify_message_command_fields, 2,
    sizeof(struct v2_verify_message_command),
};

#define OF(member) offsetof(struct v2_verify_message_result, member)
static const struct pb_field v2_verify_message_result_fields[] = {
    {1, PB_TEXT, false, false, OF(nonce), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_verify_message_result_pb = {
    "VerifyMessageResult", v2_verify_message_result_fields, 1,
    sizeof(struct v2_verify_message_result),
};

#define OF(member) offsetof(struct v2_recover_orphaned_transaction_command, member)
static const struct pb_field v2_recover_orphaned_transaction_command_fields[] = {
    {1, PB_PART, false, false, OF(message), PB_NOWHERE, PB_NOWHERE, &v2_message_pb},
    {2, PB_TEXT, false, false, OF(transaction_id), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_recover_orphaned_transaction_command_pb = {
    "RecoverOrphanedTransactionCommand", v2_recover_orphaned_transaction_command_fields, 2,
    sizeof(struct v2_recover_orphaned_transaction_command),
};

#define OF(member) offsetof(struct v2_notify_unsubscribe_lite_command, member)
static const struct pb_field v2_notify_unsubscribe_lite_command_fields[] = {
    {1, PB_TEXT, false, false, OF(lite_topic), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_notify_unsubscribe_lite_command_pb = {
    "NotifyUnsubscribeLiteCommand", v2_notify_unsubscribe_lite_command_fields, 1,
    sizeof(struct v2_notify_unsubscribe_lite_command),
};

#define OF(member) offsetof(struct v2_telemetry_command, member)
static const struct pb_field v2_telemetry_command_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
    {2, PB_PART, false, false, OF(settings), PB_NOWHERE, OF(command_case), &v2_settings_pb},
    {3, PB_PART, false, false, OF(thread_stack_trace), PB_NOWHERE, OF(command_case), &v2_thread_stack_trace_pb},
    {4, PB_PART, false, false, OF(verify_message_result), PB_NOWHERE, OF(command_case), &v2_verify_message_result_pb},
    {5, PB_PART, false, false, OF(recover_orphaned_transaction_command), PB_NOWHERE, OF(command_case),
     &v2_recover_orphaned_transaction_command_pb},
    {6, PB_PART, false, false, OF(print_thread_stack_trace_command), PB_NOWHERE, OF(command_case), &v2_print_thread_stack_trace_command_pb},
    {7, PB_PART, false, false, OF(verify_message_command), PB_NOWHERE, OF(command_case), &v2_verify_message_command_pb},
    {8, PB_PART, false, false, OF(reconnect_endpoints_command), PB_NOWHERE, OF(command_case), &v2_reconnect_endpoints_command_pb},
    {9, PB_PART, false, false, OF(notify_unsubscribe_lite_command), PB_NOWHERE, OF(command_case), &v2_notify_unsubscribe_lite_command_pb},
};
#undef OF
const struct pb_message v2_telemetry_command_pb = {
    "TelemetryCommand", v2_telemetry_command_fields, 9,
    sizeof(struct v2_telemetry_command),
};

#define OF(member) offsetof(struct v2_notify_client_termination_request, member)
static const struct pb_field v2_notify_client_termination_request_fields[] = {
    {1, PB_PART, false, false, OF(group), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
};
#undef OF
const struct pb_message v2_notify_client_termination_request_pb = {
    "NotifyClientTerminationRequest", v2_notify_client_termination_request_fields, 1,
    sizeof(struct v2_notify_client_termination_request),
};

#define OF(member) offsetof(struct v2_notify_client_termination_response, member)
static const struct pb_field v2_notify_client_termination_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
};
#undef OF
const struct pb_message v2_notify_client_termination_response_pb = {
    "NotifyClientTerminationResponse", v2_notify_client_termination_response_fields, 1,
    sizeof(struct v2_notify_client_termination_response),
};

#define OF(member) offsetof(struct v2_change_invisible_duration_request, member)
static const struct pb_field v2_change_invisible_duration_request_fields[] = {
    {1, PB_PART, false, false, OF(group), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_PART, false, false, OF(topic), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {3, PB_TEXT, false, false, OF(receipt_handle), PB_NOWHERE, PB_NOWHERE, NULL},
    {4, PB_PART, false, false, OF(invisible_duration), PB_NOWHERE, PB_NOWHERE, &v2_duration_pb},
    {5, PB_TEXT, false, false, OF(message_id), PB_NOWHERE, PB_NOWHERE, NULL},
    {6, PB_TEXT, false, true, OF(lite_topic), PB_NOWHERE, PB_NOWHERE, NULL},
    {7, PB_BOOL, false, false, OF(suspend), OF(has_suspend), PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_change_invisible_duration_request_pb = {
    "ChangeInvisibleDurationRequest", v2_change_invisible_duration_request_fields, 7,
    sizeof(struct v2_change_invisible_duration_request),
};

#define OF(member) offsetof(struct v2_change_invisible_duration_response, member)
static const struct pb_field v2_change_invisible_duration_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
    {2, PB_TEXT, false, false, OF(receipt_handle), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_change_invisible_duration_response_pb = {
    "ChangeInvisibleDurationResponse", v2_change_invisible_duration_response_fields, 2,
    sizeof(struct v2_change_invisible_duration_response),
};

#define OF(member) offsetof(struct v2_pull_message_request, member)
static const struct pb_field v2_pull_message_request_fields[] = {
    {1, PB_PART, false, false, OF(group), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_PART, false, false, OF(message_queue), PB_NOWHERE, PB_NOWHERE, &v2_message_queue_pb},
    {3, PB_I64, false, false, OF(offset), PB_NOWHERE, PB_NOWHERE, NULL},
    {4, PB_I32, false, false, OF(batch_size), PB_NOWHERE, PB_NOWHERE, NULL},
    {5, PB_PART, false, false, OF(filter_expression), PB_NOWHERE, PB_NOWHERE, &v2_filter_expression_pb},
    {6, PB_PART, false, false, OF(long_polling_timeout), PB_NOWHERE, PB_NOWHERE, &v2_duration_pb},
};
#undef OF
const struct pb_message v2_pull_message_request_pb = {
    "PullMessageRequest", v2_pull_message_request_fields, 6,
    sizeof(struct v2_pull_message_request),
};

#define OF(member) offsetof(struct v2_pull_message_response, member)
static const struct pb_field v2_pull_message_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, OF(content_case), &v2_status_pb},
    {2, PB_PART, false, false, OF(message), PB_NOWHERE, OF(content_case), &v2_message_pb},
    {3, PB_I64, false, false, OF(next_offset), PB_NOWHERE, OF(content_case), NULL},
};
#undef OF
const struct pb_message v2_pull_message_response_pb = {
    "PullMessageResponse", v2_pull_message_response_fields, 3,
    sizeof(struct v2_pull_message_response),
};

#define OF(member) offsetof(struct v2_update_offset_request, member)
static const struct pb_field v2_update_offset_request_fields[] = {
    {1, PB_PART, false, false, OF(group), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_PART, false, false, OF(message_queue), PB_NOWHERE, PB_NOWHERE, &v2_message_queue_pb},
    {3, PB_I64, false, false, OF(offset), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_update_offset_request_pb = {
    "UpdateOffsetRequest", v2_update_offset_request_fields, 3,
    sizeof(struct v2_update_offset_request),
};

#define OF(member) offsetof(struct v2_update_offset_response, member)
static const struct pb_field v2_update_offset_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
};
#undef OF
const struct pb_message v2_update_offset_response_pb = {
    "UpdateOffsetResponse", v2_update_offset_response_fields, 1,
    sizeof(struct v2_update_offset_response),
};

#define OF(member) offsetof(struct v2_get_offset_request, member)
static const struct pb_field v2_get_offset_request_fields[] = {
    {1, PB_PART, false, false, OF(group), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_PART, false, false, OF(message_queue), PB_NOWHERE, PB_NOWHERE, &v2_message_queue_pb},
};
#undef OF
const struct pb_message v2_get_offset_request_pb = {
    "GetOffsetRequest", v2_get_offset_request_fields, 2,
    sizeof(struct v2_get_offset_request),
};

#define OF(member) offsetof(struct v2_get_offset_response, member)
static const struct pb_field v2_get_offset_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
    {2, PB_I64, false, false, OF(offset), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_get_offset_response_pb = {
    "GetOffsetResponse", v2_get_offset_response_fields, 2,
    sizeof(struct v2_get_offset_response),
};

#define OF(member) offsetof(struct v2_query_offset_request, member)
static const struct pb_field v2_query_offset_request_fields[] = {
    {1, PB_PART, false, false, OF(message_queue), PB_NOWHERE, PB_NOWHERE, &v2_message_queue_pb},
    {2, PB_ENUM, false, false, OF(query_offset_policy), PB_NOWHERE, PB_NOWHERE, NULL},
    {3, PB_PART, false, false, OF(timestamp), PB_NOWHERE, PB_NOWHERE, &v2_timestamp_pb},
};
#undef OF
const struct pb_message v2_query_offset_request_pb = {
    "QueryOffsetRequest", v2_query_offset_request_fields, 3,
    sizeof(struct v2_query_offset_request),
};

#define OF(member) offsetof(struct v2_query_offset_response, member)
static const struct pb_field v2_query_offset_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
    {2, PB_I64, false, false, OF(offset), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_query_offset_response_pb = {
    "QueryOffsetResponse", v2_query_offset_response_fields, 2,
    sizeof(struct v2_query_offset_response),
};

#define OF(member) offsetof(struct v2_recall_message_request, member)
static const struct pb_field v2_recall_message_request_fields[] = {
    {1, PB_PART, false, false, OF(topic), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {2, PB_TEXT, false, false, OF(recall_handle), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_recall_message_request_pb = {
    "RecallMessageRequest", v2_recall_message_request_fields, 2,
    sizeof(struct v2_recall_message_request),
};

#define OF(member) offsetof(struct v2_recall_message_response, member)
static const struct pb_field v2_recall_message_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
    {2, PB_TEXT, false, false, OF(message_id), PB_NOWHERE, PB_NOWHERE, NULL},
};
#undef OF
const struct pb_message v2_recall_message_response_pb = {
    "RecallMessageResponse", v2_recall_message_response_fields, 2,
    sizeof(struct v2_recall_message_response),
};

#define OF(member) offsetof(struct v2_sync_lite_subscription_request, member)
static const struct pb_field v2_sync_lite_subscription_request_fields[] = {
    {1, PB_ENUM, false, false, OF(action), PB_NOWHERE, PB_NOWHERE, NULL},
    {2, PB_PART, false, false, OF(topic), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {3, PB_PART, false, false, OF(group), PB_NOWHERE, PB_NOWHERE, &v2_resource_pb},
    {4, PB_TEXT, true, false, OF(lite_topic_set), PB_NOWHERE, PB_NOWHERE, NULL},
    {5, PB_I64, false, false, OF(version), OF(has_version), PB_NOWHERE, NULL},
    {6, PB_PART, false, false, OF(offset_option), PB_NOWHERE, PB_NOWHERE, &v2_offset_option_pb},
};
#undef OF
const struct pb_message v2_sync_lite_subscription_request_pb = {
    "SyncLiteSubscriptionRequest", v2_sync_lite_subscription_request_fields, 6,
    sizeof(struct v2_sync_lite_subscription_request),
};

#define OF(member) offsetof(struct v2_sync_lite_subscription_response, member)
static const struct pb_field v2_sync_lite_subscription_response_fields[] = {
    {1, PB_PART, false, false, OF(status), PB_NOWHERE, PB_NOWHERE, &v2_status_pb},
};
#undef OF
const struct pb_message v2_sync_lite_subscription_response_pb = {
    "SyncLiteSubscriptionResponse", v2_sync_lite_subscription_response_fields, 1,
    sizeof(struct v2_sync_lite_subscription_response),
};
