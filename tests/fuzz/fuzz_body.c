/* Every JSON body and configuration file that is read by rows. What decodes, encodes; and that decodes again. */
#include "fuzz/fuzz.h"

#include "codec/body_batch_ack.h"
#include "codec/body_connection.h"
#include "codec/body_group_config.h"
#include "codec/body_guests.h"
#include "codec/body_heartbeat.h"
#include "codec/body_lists.h"
#include "codec/body_lite.h"
#include "codec/body_progress.h"
#include "codec/body_queue.h"
#include "codec/body_register.h"
#include "codec/body_route.h"
#include "codec/body_running.h"
#include "codec/body_stats.h"
#include "codec/body_subscription.h"
#include "codec/body_topic_config.h"
#include "codec/body_transaction.h"
#include "codec/body_why.h"

static const struct bean *const beans[] = {
    &cluster_info_bean, &consume_stats_bean, &consumer_connections_bean, &consumer_list_bean, &data_version_bean,
    &group_config_bean, &group_config_list_bean, &group_list_bean, &group_table_bean, &heartbeat_bean, &kv_table_bean,
    &lock_reply_bean, &lock_request_bean, &member_group_reply_bean, &offset_list_bean, &offset_table_bean,
    &producer_connections_bean, &queue_mapping_bean, &register_body_bean, &route_broker_bean, &subscription_bean,
    &topic_config_bean, &topic_config_list_bean, &topic_list_bean, &topic_route_bean, &topic_stats_bean,
    &topic_table_bean, &consumer_status_bean, &time_spans_bean, &broker_progress_bean, &corrections_bean, &group_subscription_bean,
    &producer_table_bean, &open_transactions_bean, &why_bean, &batch_ack_bean,
    &client_running_bean, &guest_list_bean, &running_info_bean, &consume_result_bean, &lite_subscriptions_bean, &lite_overview_bean, &lite_parent_bean, &lite_topic_info_bean, &lite_client_info_bean, &lite_group_info_bean,
};

static void try_bean(const struct bean *b, struct slice text)
{
    struct arena arena = ARENA_EMPTY, second = ARENA_EMPTY;
    arena.limit = 4 << 20;
    void *value = calloc(1, b->size);
    err_t e = bean_decode(b, text, &arena, "fuzz", value);
    if (!e) {
        struct buf out = BUF_EMPTY;
        bean_encode(b, value, JSON_RAW, &out);
        e = bean_decode(b, buf_slice(&out), &second, "what was written", value);
        FUZZ_EXPECT(!e);
        buf_done(&out);
    }
    err_free(e);
    free(value);
    arena_done(&arena);
    arena_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    uint8_t *copy = fuzz_copy(p, n);
    for (size_t i = 0; i < sizeof beans / sizeof *beans; i++) try_bean(beans[i], slice_of(copy, n));
    free(copy);
    return 0;
}
