#include "client/options.h"
#include "client/push/push.h"

#include <stdlib.h>

struct sky_push_consumer_options *sky_push_consumer_options_new(const char *group)
{
    struct sky_push_consumer_options *o = must_zero(sizeof *o);
    *o = (struct sky_push_consumer_options){
        .group = group ? must_strdup(group) : NULL, .threads = 20, .batch = 1, .pull_batch = 32, .queue_messages = 1000, .queue_mib = 100,
        .queue_span = 2000, .max_reconsume_times = -1, .consume_timeout_ms = 900000,
    };
    return o;
}

void sky_push_consumer_options_free(struct sky_push_consumer_options *o)
{
    if (!o) return;
    free(o->group);
    free(o);
}

void sky_push_consumer_options_set_broadcast(struct sky_push_consumer_options *o, bool broadcast) { o->broadcast = broadcast; }
void sky_push_consumer_options_set_ordered(struct sky_push_consumer_options *o, bool ordered) { o->ordered = ordered; }

struct sky_error *sky_push_consumer_options_set_start(struct sky_push_consumer_options *o, enum sky_start start, int64_t time_ms)
{
    struct sky_error *e = option_range("where to start", start, SKY_START_LAST, SKY_START_AT_TIME);
    if (!e && start == SKY_START_AT_TIME) e = option_range("the time to start at", time_ms, 0, INT64_MAX);
    if (e) return e;
    o->start = start;
    o->start_ms = time_ms;
    return NULL;
}

struct sky_error *sky_push_consumer_options_set_threads(struct sky_push_consumer_options *o, int32_t threads)
{
    return option_i32("threads", threads, 1, 1000, &o->threads);
}

struct sky_error *sky_push_consumer_options_set_batch(struct sky_push_consumer_options *o, int32_t messages)
{
    return option_i32("batch", messages, 1, 1024, &o->batch);
}

struct sky_error *sky_push_consumer_options_set_pull_batch(struct sky_push_consumer_options *o, int32_t messages)
{
    return option_i32("pull_batch", messages, 1, 1024, &o->pull_batch);
}

struct sky_error *sky_push_consumer_options_set_queue_limits(struct sky_push_consumer_options *o, int32_t messages, int32_t mib, int32_t span)
{
    struct sky_error *e = option_range("messages of a queue", messages, 1, 65535);
    if (!e) e = option_range("MiB of a queue", mib, 1, 1024);
    if (!e) e = option_i32("span of a queue", span, 1, 65535, &o->queue_span);
    if (e) return e;
    o->queue_messages = messages;
    o->queue_mib = mib;
    return NULL;
}

struct sky_error *sky_push_consumer_options_set_topic_limits(struct sky_push_consumer_options *o, int32_t messages, int32_t mib)
{
    struct sky_error *e = option_range("messages of a topic", messages, 0, 6553500);
    if (!e) e = option_i32("MiB of a topic", mib, 0, 102400, &o->topic_mib);
    if (!e) o->topic_messages = messages;
    return e;
}

struct sky_error *sky_push_consumer_options_set_max_reconsume_times(struct sky_push_consumer_options *o, int32_t times)
{
    return option_i32("max_reconsume_times", times, -1, INT32_MAX, &o->max_reconsume_times);
}

struct sky_error *sky_push_consumer_options_set_consume_timeout_ms(struct sky_push_consumer_options *o, int64_t ms)
{
    return option_i64("consume_timeout_ms", ms, 1000, 86400000, &o->consume_timeout_ms);
}

struct sky_error *sky_push_consumer_options_set_allocation(struct sky_push_consumer_options *o, enum sky_allocation how)
{
    struct sky_error *e = option_range("allocation", how, SKY_ALLOCATE_AVERAGE, SKY_ALLOCATE_HASH);
    if (!e) o->allocation = how;
    return e;
}

void sky_push_consumer_options_set_allocator(struct sky_push_consumer_options *o, sky_allocate_fn *allocate, void *user)
{
    o->allocate = allocate;
    o->allocate_user = user;
}
