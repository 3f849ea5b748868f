#include "client/options.h"
#include "client/producer/producer.h"

#include "codec/compress.h"

#include <stdlib.h>

enum { TIMEOUT_MAX_MS = 600000 };

struct sky_producer_options *sky_producer_options_new(const char *group)
{
    struct sky_producer_options *o = must_zero(sizeof *o);
    *o = (struct sky_producer_options){
        .group = group ? must_strdup(group) : NULL, .send_timeout_ms = 3000, .retries = 2, .compress_from_bytes = 4096, .compression = SKY_ZLIB,
        .compression_level = 5, .max_message_bytes = 4 << 20, .max_pending_messages = 10000, .max_pending_bytes = 100 << 20, .new_topic_queues = 4,
    };
    return o;
}

void sky_producer_options_free(struct sky_producer_options *o)
{
    if (!o) return;
    free(o->group);
    free(o);
}

struct sky_error *sky_producer_options_set_send_timeout_ms(struct sky_producer_options *o, int64_t ms)
{
    return option_i64("send_timeout_ms", ms, 1, TIMEOUT_MAX_MS, &o->send_timeout_ms);
}

struct sky_error *sky_producer_options_set_try_timeout_ms(struct sky_producer_options *o, int64_t ms)
{
    return option_i64("try_timeout_ms", ms, 1, TIMEOUT_MAX_MS, &o->try_timeout_ms);
}

struct sky_error *sky_producer_options_set_retries(struct sky_producer_options *o, int32_t retries)
{
    return option_i32("retries", retries, 0, 100, &o->retries);
}

void sky_producer_options_set_retry_when_not_stored(struct sky_producer_options *o, bool retry) { o->retry_when_not_stored = retry; }

struct sky_error *sky_producer_options_set_compress_from_bytes(struct sky_producer_options *o, int64_t bytes)
{
    return option_i64("compress_from_bytes", bytes, 0, 4 << 20, &o->compress_from_bytes);
}

struct sky_error *sky_producer_options_set_compression(struct sky_producer_options *o, enum sky_compression kind, int32_t level)
{
    int highest = compress_level_max((enum compression)kind);
    if (!highest) return error_new(SKY_INVALID, 0, "there is no compression %d", (int)kind);
    struct sky_error *e = option_i32("compression level", level, kind == SKY_LZ4 ? 0 : 1, highest, &o->compression_level);
    if (!e) o->compression = kind;
    return e;
}

struct sky_error *sky_producer_options_set_max_message_bytes(struct sky_producer_options *o, int64_t bytes)
{
    return option_i64("max_message_bytes", bytes, 1, 16000000, &o->max_message_bytes);
}

struct sky_error *sky_producer_options_set_max_pending(struct sky_producer_options *o, int64_t messages, int64_t bytes)
{
    struct sky_error *e = option_range("messages under way", messages, 1, 1000000);
    if (!e) e = option_i64("bytes under way", bytes, 1, (int64_t)1 << 40, &o->max_pending_bytes);
    if (!e) o->max_pending_messages = messages;
    return e;
}

void sky_producer_options_set_avoid_slow(struct sky_producer_options *o, bool avoid) { o->avoid_slow = avoid; }

struct sky_error *sky_producer_options_set_new_topic_queues(struct sky_producer_options *o, int32_t queues)
{
    return option_i32("new_topic_queues", queues, 1, 65536, &o->new_topic_queues);
}

/* --- of one send --- */

struct sky_send_options *sky_send_options_new(void) { return must_zero(sizeof(struct sky_send_options)); }

void send_options_copy(const struct sky_send_options *from, struct sky_send_options *to)
{
    *to = *from;
    to->broker = from->broker ? must_strdup(from->broker) : NULL;
    to->order_key = from->order_key ? must_strdup(from->order_key) : NULL;
}

void send_options_done(struct sky_send_options *o)
{
    free(o->broker);
    free(o->order_key);
}

void sky_send_options_free(struct sky_send_options *o)
{
    if (!o) return;
    send_options_done(o);
    free(o);
}

struct sky_error *sky_send_options_set_timeout_ms(struct sky_send_options *o, int64_t ms)
{
    return option_i64("timeout_ms", ms, 1, TIMEOUT_MAX_MS, &o->timeout_ms);
}

struct sky_error *sky_send_options_set_queue(struct sky_send_options *o, const char *broker, int32_t id)
{
    if (!broker || !*broker) return error_new(SKY_INVALID, 0, "a queue needs the name of its broker");
    struct sky_error *e = option_i32("the id of a queue", id, 0, INT32_MAX, &o->queue_id);
    if (!e) option_text(broker, &o->broker);
    return e;
}

void sky_send_options_set_selector(struct sky_send_options *o, sky_selector *selector, void *user)
{
    o->selector = selector;
    o->selector_user = user;
}

struct sky_error *sky_send_options_set_order_key(struct sky_send_options *o, const char *key)
{
    if (!key || !*key || strpbrk(key, "\1\2")) return error_new(SKY_INVALID, 0, "a key of order has at least one character, and none of 1 and 2");
    option_text(key, &o->order_key);
    return NULL;
}
