/* rocketmq_v2.h - made of rocketmq_v2.proto by tools/proto. Facts: there. Threads: any. */
#ifndef SKYLARK_CODEC_PROTO_ROCKETMQ_V2_H
#define SKYLARK_CODEC_PROTO_ROCKETMQ_V2_H

#include "codec/proto/pb.h"

enum v2_transaction_resolution {
    V2_TRANSACTION_RESOLUTION_UNSPECIFIED = 0,
    V2_TRANSACTION_RESOLUTION_COMMIT = 1,
    V2_TRANSACTION_RESOLUTION_ROLLBACK = 2,
};

enum v2_transaction_source {
    V2_TRANSACTION_SOURCE_SOURCE_UNSPECIFIED = 0,
    V2_TRANSACTION_SOURCE_SOURCE_CLIENT = 1,
    V2_TRANSACTION_SOURCE_SOURCE_SERVER_CHECK = 2,
};

enum v2_permission {
    V2_PERMISSION_UNSPECIFIED = 0,
    V2_PERMISSION_NONE = 1,
    V2_PERMISSION_READ = 2,
    V2_PERMISSION_WRITE = 3,
    V2_PERMISSION_READ_WRITE = 4,
};

enum v2_filter_type {
    V2_FILTER_TYPE_UNSPECIFIED = 0,
    V2_FILTER_TYPE_TAG = 1,
    V2_FILTER_TYPE_SQL = 2,
};

enum v2_address_scheme {
    V2_ADDRESS_SCHEME_UNSPECIFIED = 0,
    V2_ADDRESS_SCHEME_IPV4 = 1,
    V2_ADDRESS_SCHEME_IPV6 = 2,
    V2_ADDRESS_SCHEME_DOMAIN_NAME = 3,
};

enum v2_message_type {
    V2_MESSAGE_TYPE_UNSPECIFIED = 0,
    V2_MESSAGE_TYPE_NORMAL = 1,
    V2_MESSAGE_TYPE_FIFO = 2,
    V2_MESSAGE_TYPE_DELAY = 3,
    V2_MESSAGE_TYPE_TRANSACTION = 4,
    V2_MESSAGE_TYPE_LITE = 5,
    V2_MESSAGE_TYPE_PRIORITY = 6,
};

enum v2_digest_type {
    V2_DIGEST_TYPE_UNSPECIFIED = 0,
    V2_DIGEST_TYPE_CRC32 = 1,
    V2_DIGEST_TYPE_MD5 = 2,
    V2_DIGEST_TYPE_SHA1 = 3,
};

enum v2_client_type {
    V2_CLIENT_TYPE_UNSPECIFIED = 0,
    V2_CLIENT_TYPE_PRODUCER = 1,
    V2_CLIENT_TYPE_PUSH_CONSUMER = 2,
    V2_CLIENT_TYPE_SIMPLE_CONSUMER = 3,
    V2_CLIENT_TYPE_PULL_CONSUMER = 4,
    V2_CLIENT_TYPE_LITE_PUSH_CONSUMER = 5,
    V2_CLIENT_TYPE_LITE_SIMPLE_CONSUMER = 6,
};

enum v2_encoding {
    V2_ENCODING_UNSPECIFIED = 0,
    V2_ENCODING_IDENTITY = 1,
    V2_ENCODING_GZIP = 2,
};

enum v2_code {
    V2_CODE_UNSPECIFIED = 0,
    V2_CODE_OK = 20000,
    V2_CODE_MULTIPLE_RESULTS = 30000,
    V2_CODE_BAD_REQUEST = 40000,
    V2_CODE_ILLEGAL_ACCESS_POINT = 40001,
    V2_CODE_ILLEGAL_TOPIC = 40002,
    V2_CODE_ILLEGAL_CONSUMER_GROUP = 40003,
    V2_CODE_ILLEGAL_MESSAGE_TAG = 40004,
    V2_CODE_ILLEGAL_MESSAGE_KEY = 40005,
    V2_CODE_ILLEGAL_MESSAGE_GROUP = 40006,
    V2_CODE_ILLEGAL_MESSAGE_PROPERTY_KEY = 40007,
    V2_CODE_INVALID_TRANSACTION_ID = 40008,
    V2_CODE_ILLEGAL_MESSAGE_ID = 40009,
    V2_CODE_ILLEGAL_FILTER_EXPRESSION = 40010,
    V2_CODE_ILLEGAL_INVISIBLE_TIME = 40011,
    V2_CODE_ILLEGAL_DELIVERY_TIME = 40012,
    V2_CODE_INVALID_RECEIPT_HANDLE = 40013,
    V2_CODE_MESSAGE_PROPERTY_CONFLICT_WITH_TYPE = 40014,
    V2_CODE_UNRECOGNIZED_CLIENT_TYPE = 40015,
    V2_CODE_MESSAGE_CORRUPTED = 40016,
    V2_CODE_CLIENT_ID_REQUIRED = 40017,
    V2_CODE_ILLEGAL_POLLING_TIME = 40018,
    V2_CODE_ILLEGAL_OFFSET = 40019,
    V2_CODE_ILLEGAL_LITE_TOPIC = 40020,
    V2_CODE_INVALID_CLIENT_PROPERTIES = 40021,
    V2_CODE_UNAUTHORIZED = 40100,
    V2_CODE_PAYMENT_REQUIRED = 40200,
    V2_CODE_FORBIDDEN = 40300,
    V2_CODE_NOT_FOUND = 40400,
    V2_CODE_MESSAGE_NOT_FOUND = 40401,
    V2_CODE_TOPIC_NOT_FOUND = 40402,
    V2_CODE_CONSUMER_GROUP_NOT_FOUND = 40403,
    V2_CODE_OFFSET_NOT_FOUND = 40404,
    V2_CODE_REQUEST_TIMEOUT = 40800,
    V2_CODE_PAYLOAD_TOO_LARGE = 41300,
    V2_CODE_MESSAGE_BODY_TOO_LARGE = 41301,
    V2_CODE_MESSAGE_BODY_EMPTY = 41302,
    V2_CODE_PRECONDITION_FAILED = 42800,
    V2_CODE_TOO_MANY_REQUESTS = 42900,
    V2_CODE_LITE_TOPIC_QUOTA_EXCEEDED = 42901,
    V2_CODE_LITE_SUBSCRIPTION_QUOTA_EXCEEDED = 42902,
    V2_CODE_REQUEST_HEADER_FIELDS_TOO_LARGE = 43100,
    V2_CODE_MESSAGE_PROPERTIES_TOO_LARGE = 43101,
    V2_CODE_INTERNAL_ERROR = 50000,
    V2_CODE_INTERNAL_SERVER_ERROR = 50001,
    V2_CODE_HA_NOT_AVAILABLE = 50002,
    V2_CODE_NOT_IMPLEMENTED = 50100,
    V2_CODE_PROXY_TIMEOUT = 50400,
    V2_CODE_MASTER_PERSISTENCE_TIMEOUT = 50401,
    V2_CODE_SLAVE_PERSISTENCE_TIMEOUT = 50402,
    V2_CODE_UNSUPPORTED = 50500,
    V2_CODE_VERSION_UNSUPPORTED = 50501,
    V2_CODE_VERIFY_FIFO_MESSAGE_UNSUPPORTED = 50502,
    V2_CODE_FAILED_TO_CONSUME_MESSAGE = 60000,
};

enum v2_language {
    V2_LANGUAGE_UNSPECIFIED = 0,
    V2_LANGUAGE_JAVA = 1,
    V2_LANGUAGE_CPP = 2,
    V2_LANGUAGE_DOT_NET = 3,
    V2_LANGUAGE_GOLANG = 4,
    V2_LANGUAGE_RUST = 5,
    V2_LANGUAGE_PYTHON = 6,
    V2_LANGUAGE_PHP = 7,
    V2_LANGUAGE_NODE_JS = 8,
    V2_LANGUAGE_RUBY = 9,
    V2_LANGUAGE_OBJECTIVE_C = 10,
    V2_LANGUAGE_DART = 11,
    V2_LANGUAGE_KOTLIN = 12,
};

enum v2_lite_subscription_action {
    V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_ADD = 0,
    V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_REMOVE = 1,
    V2_LITE_SUBSCRIPTION_ACTION_COMPLETE_ADD = 2,
    V2_LITE_SUBSCRIPTION_ACTION_COMPLETE_REMOVE = 3,
};

enum v2_query_offset_policy {
    V2_QUERY_OFFSET_POLICY_BEGINNING = 0,
    V2_QUERY_OFFSET_POLICY_END = 1,
    V2_QUERY_OFFSET_POLICY_TIMESTAMP = 2,
};

enum v2_offset_option_policy {
    V2_OFFSET_OPTION_POLICY_LAST = 0,
    V2_OFFSET_OPTION_POLICY_MIN = 1,
    V2_OFFSET_OPTION_POLICY_MAX = 2,
};

struct v2_duration;
struct v2_timestamp;
struct v2_filter_expression;
struct v2_retry_policy;
struct v2_exponential_backoff;
struct v2_customized_backoff;
struct v2_resource;
struct v2_subscription_entry;
struct v2_address;
struct v2_endpoints;
struct v2_broker;
struct v2_message_queue;
struct v2_digest;
struct v2_system_properties;
struct v2_dead_letter_queue;
struct v2_message_user_properties_entry;
struct v2_message;
struct v2_assignment;
struct v2_status;
struct v2_ua;
struct v2_settings_client_properties_entry;
struct v2_settings;
struct v2_publishing;
struct v2_subscription;
struct v2_metric;
struct v2_offset_option;
struct v2_query_route_request;
struct v2_query_route_response;
struct v2_send_message_request;
struct v2_send_result_entry;
struct v2_send_message_response;
struct v2_query_assignment_request;
struct v2_query_assignment_response;
struct v2_receive_message_request;
struct v2_receive_message_response;
struct v2_ack_message_entry;
struct v2_ack_message_request;
struct v2_ack_message_result_entry;
struct v2_ack_message_response;
struct v2_forward_message_to_dead_letter_queue_request;
struct v2_forward_message_to_dead_letter_queue_response;
struct v2_heartbeat_request;
struct v2_heartbeat_response;
struct v2_end_transaction_request;
struct v2_end_transaction_response;
struct v2_print_thread_stack_trace_command;
struct v2_reconnect_endpoints_command;
struct v2_thread_stack_trace;
struct v2_verify_message_command;
struct v2_verify_message_result;
struct v2_recover_orphaned_transaction_command;
struct v2_notify_unsubscribe_lite_command;
struct v2_telemetry_command;
struct v2_notify_client_termination_request;
struct v2_notify_client_termination_response;
struct v2_change_invisible_duration_request;
struct v2_change_invisible_duration_response;
struct v2_pull_message_request;
struct v2_pull_message_response;
struct v2_update_offset_request;
struct v2_update_offset_response;
struct v2_get_offset_request;
struct v2_get_offset_response;
struct v2_query_offset_request;
struct v2_query_offset_response;
struct v2_recall_message_request;
struct v2_recall_message_response;
struct v2_sync_lite_subscription_request;
struct v2_sync_lite_subscription_response;

struct v2_duration {
    int64_t seconds;
    int32_t nanos;
};
extern const struct pb_message v2_duration_pb;

struct v2_timestamp {
    int64_t seconds;
    int32_t nanos;
};
extern const struct pb_message v2_timestamp_pb;

struct v2_filter_expression {
    int32_t type;
    struct slice expression;
};
extern const struct pb_message v2_filter_expression_pb;

enum {
    V2_RETRY_POLICY_EXPONENTIAL_BACKOFF = 2,
    V2_RETRY_POLICY_CUSTOMIZED_BACKOFF = 3,
};
struct v2_retry_policy {
    int32_t strategy_case;
    int32_t max_attempts;
    struct v2_exponential_backoff *exponential_backoff;
    struct v2_customized_backoff *customized_backoff;
};
extern const struct pb_message v2_retry_policy_pb;

struct v2_exponential_backoff {
    struct v2_duration *initial;
    struct v2_duration *max;
    float multiplier;
};
extern const struct pb_message v2_exponential_backoff_pb;

struct v2_customized_backoff {
    PB_LIST(struct v2_duration) next;
};
extern const struct pb_message v2_customized_backoff_pb;

struct v2_resource {
    struct slice resource_namespace;
    struct slice name;
};
extern const struct pb_message v2_resource_pb;

struct v2_subscription_entry {
    struct v2_resource *topic;
    struct v2_filter_expression *expression;
};
extern const struct pb_message v2_subscription_entry_pb;

struct v2_address {
    struct slice host;
    int32_t port;
};
extern const struct pb_message v2_address_pb;

struct v2_endpoints {
    int32_t scheme;
    PB_LIST(struct v2_address) addresses;
};
extern const struct pb_message v2_endpoints_pb;

struct v2_broker {
    struct slice name;
    int32_t id;
    struct v2_endpoints *endpoints;
};
extern const struct pb_message v2_broker_pb;

struct v2_message_queue {
    struct v2_resource *topic;
    int32_t id;
    int32_t permission;
    struct v2_broker *broker;
    PB_LIST(int32_t) accept_message_types;
};
extern const struct pb_message v2_message_queue_pb;

struct v2_digest {
    int32_t type;
    struct slice checksum;
};
extern const struct pb_message v2_digest_pb;

struct v2_system_properties {
    struct slice tag;
    PB_LIST(struct slice) keys;
    struct slice message_id;
    struct v2_digest *body_digest;
    int32_t body_encoding;
    int32_t message_type;
    struct v2_timestamp *born_timestamp;
    struct slice born_host;
    struct v2_timestamp *store_timestamp;
    struct slice store_host;
    struct v2_timestamp *delivery_timestamp;
    struct slice receipt_handle;
    int32_t queue_id;
    bool has_queue_offset;
    int64_t queue_offset;
    struct v2_duration *invisible_duration;
    bool has_delivery_attempt;
    int32_t delivery_attempt;
    struct slice message_group;
    struct slice trace_context;
    struct v2_duration *orphaned_transaction_recovery_duration;
    struct v2_dead_letter_queue *dead_letter_queue;
    struct slice lite_topic;
    bool has_priority;
    int32_t priority;
};
extern const struct pb_message v2_system_properties_pb;

struct v2_dead_letter_queue {
    struct slice topic;
    struct slice message_id;
};
extern const struct pb_message v2_dead_letter_queue_pb;

struct v2_message_user_properties_entry {
    struct slice key;
    struct slice value;
};
extern const struct pb_message v2_message_user_properties_entry_pb;

struct v2_message {
    struct v2_resource *topic;
    PB_LIST(struct v2_message_user_properties_entry) user_properties;
    struct v2_system_properties *system_properties;
    struct slice body;
};
extern const struct pb_message v2_message_pb;

struct v2_assignment {
    struct v2_message_queue *message_queue;
};
extern const struct pb_message v2_assignment_pb;

struct v2_status {
    int32_t code;
    struct slice message;
};
extern const struct pb_message v2_status_pb;

struct v2_ua {
    int32_t language;
    struct slice version;
    struct slice platform;
    struct slice hostname;
};
extern const struct pb_message v2_ua_pb;

struct v2_settings_client_properties_entry {
    struct slice key;
    struct slice value;
};
extern const struct pb_message v2_settings_client_properties_entry_pb;

enum {
    V2_SETTINGS_PUBLISHING = 5,
    V2_SETTINGS_SUBSCRIPTION = 6,
};
struct v2_settings {
    int32_t pub_sub_case;
    bool has_client_type;
    int32_t client_type;
    struct v2_endpoints *access_point;
    struct v2_retry_policy *backoff_policy;
    struct v2_duration *request_timeout;
    struct v2_publishing *publishing;
    struct v2_subscription *subscription;
    struct v2_ua *user_agent;
    struct v2_metric *metric;
    PB_LIST(struct v2_settings_client_properties_entry) client_properties;
};
extern const struct pb_message v2_settings_pb;

struct v2_publishing {
    PB_LIST(struct v2_resource) topics;
    int32_t max_body_size;
    bool validate_message_type;
};
extern const struct pb_message v2_publishing_pb;

struct v2_subscription {
    struct v2_resource *group;
    PB_LIST(struct v2_subscription_entry) subscriptions;
    bool has_fifo;
    bool fifo;
    bool has_receive_batch_size;
    int32_t receive_batch_size;
    struct v2_duration *long_polling_timeout;
    bool has_lite_subscription_quota;
    int32_t lite_subscription_quota;
    bool has_max_lite_topic_size;
    int32_t max_lite_topic_size;
};
extern const struct pb_message v2_subscription_pb;

struct v2_metric {
    bool on;
    struct v2_endpoints *endpoints;
};
extern const struct pb_message v2_metric_pb;

enum {
    V2_OFFSET_OPTION_POLICY = 1,
    V2_OFFSET_OPTION_OFFSET = 2,
    V2_OFFSET_OPTION_TAIL_N = 3,
    V2_OFFSET_OPTION_TIMESTAMP = 4,
};
struct v2_offset_option {
    int32_t offset_type_case;
    int32_t policy;
    int64_t offset;
    int64_t tail_n;
    int64_t timestamp;
};
extern const struct pb_message v2_offset_option_pb;

struct v2_query_route_request {
    struct v2_resource *topic;
    struct v2_endpoints *endpoints;
};
extern const struct pb_message v2_query_route_request_pb;

struct v2_query_route_response {
    struct v2_status *status;
    PB_LIST(struct v2_message_queue) message_queues;
};
extern const struct pb_message v2_query_route_response_pb;

struct v2_send_message_request {
    PB_LIST(struct v2_message) messages;
};
extern const struct pb_message v2_send_message_request_pb;

struct v2_send_result_entry {
    struct v2_status *status;
    struct slice message_id;
    struct slice transaction_id;
    int64_t offset;
    struct slice recall_handle;
};
extern const struct pb_message v2_send_result_entry_pb;

struct v2_send_message_response {
    struct v2_status *status;
    PB_LIST(struct v2_send_result_entry) entries;
};
extern const struct pb_message v2_send_message_response_pb;

struct v2_query_assignment_request {
    struct v2_resource *topic;
    struct v2_resource *group;
    struct v2_endpoints *endpoints;
};
extern const struct pb_message v2_query_assignment_request_pb;

struct v2_query_assignment_response {
    struct v2_status *status;
    PB_LIST(struct v2_assignment) assignments;
};
extern const struct pb_message v2_query_assignment_response_pb;

struct v2_receive_message_request {
    struct v2_resource *group;
    struct v2_message_queue *message_queue;
    struct v2_filter_expression *filter_expression;
    int32_t batch_size;
    struct v2_duration *invisible_duration;
    bool auto_renew;
    struct v2_duration *long_polling_timeout;
    struct slice attempt_id;
};
extern const struct pb_message v2_receive_message_request_pb;

enum {
    V2_RECEIVE_MESSAGE_RESPONSE_STATUS = 1,
    V2_RECEIVE_MESSAGE_RESPONSE_MESSAGE = 2,
    V2_RECEIVE_MESSAGE_RESPONSE_DELIVERY_TIMESTAMP = 3,
};
struct v2_receive_message_response {
    int32_t content_case;
    struct v2_status *status;
    struct v2_message *message;
    struct v2_timestamp *delivery_timestamp;
};
extern const struct pb_message v2_receive_message_response_pb;

struct v2_ack_message_entry {
    struct slice message_id;
    struct slice receipt_handle;
    struct slice lite_topic;
};
extern const struct pb_message v2_ack_message_entry_pb;

struct v2_ack_message_request {
    struct v2_resource *group;
    struct v2_resource *topic;
    PB_LIST(struct v2_ack_message_entry) entries;
};
extern const struct pb_message v2_ack_message_request_pb;

struct v2_ack_message_result_entry {
    struct slice message_id;
    struct slice receipt_handle;
    struct v2_status *status;
};
extern const struct pb_message v2_ack_message_result_entry_pb;

struct v2_ack_message_response {
    struct v2_status *status;
    PB_LIST(struct v2_ack_message_result_entry) entries;
};
extern const struct pb_message v2_ack_message_response_pb;

struct v2_forward_message_to_dead_letter_queue_request {
    struct v2_resource *group;
    struct v2_resource *topic;
    struct slice receipt_handle;
    struct slice message_id;
    int32_t delivery_attempt;
    int32_t max_delivery_attempts;
    struct slice lite_topic;
};
extern const struct pb_message v2_forward_message_to_dead_letter_queue_request_pb;

struct v2_forward_message_to_dead_letter_queue_response {
    struct v2_status *status;
};
extern const struct pb_message v2_forward_message_to_dead_letter_queue_response_pb;

struct v2_heartbeat_request {
    struct v2_resource *group;
    int32_t client_type;
};
extern const struct pb_message v2_heartbeat_request_pb;

struct v2_heartbeat_response {
    struct v2_status *status;
};
extern const struct pb_message v2_heartbeat_response_pb;

struct v2_end_transaction_request {
    struct v2_resource *topic;
    struct slice message_id;
    struct slice transaction_id;
    int32_t resolution;
    int32_t source;
    struct slice trace_context;
};
extern const struct pb_message v2_end_transaction_request_pb;

struct v2_end_transaction_response {
    struct v2_status *status;
};
extern const struct pb_message v2_end_transaction_response_pb;

struct v2_print_thread_stack_trace_command {
    struct slice nonce;
};
extern const struct pb_message v2_print_thread_stack_trace_command_pb;

struct v2_reconnect_endpoints_command {
    struct slice nonce;
};
extern const struct pb_message v2_reconnect_endpoints_command_pb;

struct v2_thread_stack_trace {
    struct slice nonce;
    struct slice thread_stack_trace;
};
extern const struct pb_message v2_thread_stack_trace_pb;

struct v2_verify_message_command {
    struct slice nonce;
    struct v2_message *message;
};
extern const struct pb_message v2_verify_message_command_pb;

struct v2_verify_message_result {
    struct slice nonce;
};
extern const struct pb_message v2_verify_message_result_pb;

struct v2_recover_orphaned_transaction_command {
    struct v2_message *message;
    struct slice transaction_id;
};
extern const struct pb_message v2_recover_orphaned_transaction_command_pb;

struct v2_notify_unsubscribe_lite_command {
    struct slice lite_topic;
};
extern const struct pb_message v2_notify_unsubscribe_lite_command_pb;

enum {
    V2_TELEMETRY_COMMAND_SETTINGS = 2,
    V2_TELEMETRY_COMMAND_THREAD_STACK_TRACE = 3,
    V2_TELEMETRY_COMMAND_VERIFY_MESSAGE_RESULT = 4,
    V2_TELEMETRY_COMMAND_RECOVER_ORPHANED_TRANSACTION_COMMAND = 5,
    V2_TELEMETRY_COMMAND_PRINT_THREAD_STACK_TRACE_COMMAND = 6,
    V2_TELEMETRY_COMMAND_VERIFY_MESSAGE_COMMAND = 7,
    V2_TELEMETRY_COMMAND_RECONNECT_ENDPOINTS_COMMAND = 8,
    V2_TELEMETRY_COMMAND_NOTIFY_UNSUBSCRIBE_LITE_COMMAND = 9,
};
struct v2_telemetry_command {
    int32_t command_case;
    struct v2_status *status;
    struct v2_settings *settings;
    struct v2_thread_stack_trace *thread_stack_trace;
    struct v2_verify_message_result *verify_message_result;
    struct v2_recover_orphaned_transaction_command *recover_orphaned_transaction_command;
    struct v2_print_thread_stack_trace_command *print_thread_stack_trace_command;
    struct v2_verify_message_command *verify_message_command;
    struct v2_reconnect_endpoints_command *reconnect_endpoints_command;
    struct v2_notify_unsubscribe_lite_command *notify_unsubscribe_lite_command;
};
extern const struct pb_message v2_telemetry_command_pb;

struct v2_notify_client_termination_request {
    struct v2_resource *group;
};
extern const struct pb_message v2_notify_client_termination_request_pb;

struct v2_notify_client_termination_response {
    struct v2_status *status;
};
extern const struct pb_message v2_notify_client_termination_response_pb;

struct v2_change_invisible_duration_request {
    struct v2_resource *group;
    struct v2_resource *topic;
    struct slice receipt_handle;
    struct v2_duration *invisible_duration;
    struct slice message_id;
    struct slice lite_topic;
    bool has_suspend;
    bool suspend;
};
extern const struct pb_message v2_change_invisible_duration_request_pb;

struct v2_change_invisible_duration_response {
    struct v2_status *status;
    struct slice receipt_handle;
};
extern const struct pb_message v2_change_invisible_duration_response_pb;

struct v2_pull_message_request {
    struct v2_resource *group;
    struct v2_message_queue *message_queue;
    int64_t offset;
    int32_t batch_size;
    struct v2_filter_expression *filter_expression;
    struct v2_duration *long_polling_timeout;
};
extern const struct pb_message v2_pull_message_request_pb;

enum {
    V2_PULL_MESSAGE_RESPONSE_STATUS = 1,
    V2_PULL_MESSAGE_RESPONSE_MESSAGE = 2,
    V2_PULL_MESSAGE_RESPONSE_NEXT_OFFSET = 3,
};
struct v2_pull_message_response {
    int32_t content_case;
    struct v2_status *status;
    struct v2_message *message;
    int64_t next_offset;
};
extern const struct pb_message v2_pull_message_response_pb;

struct v2_update_offset_request {
    struct v2_resource *group;
    struct v2_message_queue *message_queue;
    int64_t offset;
};
extern const struct pb_message v2_update_offset_request_pb;

struct v2_update_offset_response {
    struct v2_status *status;
};
extern const struct pb_message v2_update_offset_response_pb;

struct v2_get_offset_request {
    struct v2_resource *group;
    struct v2_message_queue *message_queue;
};
extern const struct pb_message v2_get_offset_request_pb;

struct v2_get_offset_response {
    struct v2_status *status;
    int64_t offset;
};
extern const struct pb_message v2_get_offset_response_pb;

struct v2_query_offset_request {
    struct v2_message_queue *message_queue;
    int32_t query_offset_policy;
    struct v2_timestamp *timestamp;
};
extern const struct pb_message v2_query_offset_request_pb;

struct v2_query_offset_response {
    struct v2_status *status;
    int64_t offset;
};
extern const struct pb_message v2_query_offset_response_pb;

struct v2_recall_message_request {
    struct v2_resource *topic;
    struct slice recall_handle;
};
extern const struct pb_message v2_recall_message_request_pb;

struct v2_recall_message_response {
    struct v2_status *status;
    struct slice message_id;
};
extern const struct pb_message v2_recall_message_response_pb;

struct v2_sync_lite_subscription_request {
    int32_t action;
    struct v2_resource *topic;
    struct v2_resource *group;
    PB_LIST(struct slice) lite_topic_set;
    bool has_version;
    int64_t version;
    struct v2_offset_option *offset_option;
};
extern const struct pb_message v2_sync_lite_subscription_request_pb;

struct v2_sync_lite_subscription_response {
    struct v2_status *status;
};
extern const struct pb_message v2_sync_lite_subscription_response_pb;

#endif
