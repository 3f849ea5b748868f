#include "client/world.h"

#include "kit/history.h"

#include <stdio.h>
#include <stdlib.h>

enum { LIMIT_MS = 300000 };

static struct sky_client *open_client(struct world *w, const char *ip, int number)
{
    struct sky_client_options *o = sky_client_options_new();
    struct sky_client *c;
    char instance[16];
    snprintf(instance, sizeof instance, "i%d", number);
    SKY_OKAY(sky_client_options_set_name_servers(o, CLUSTER_NAMESRV));
    SKY_OKAY(sky_client_options_set_address(o, ip));
    SKY_OKAY(sky_client_options_set_instance(o, instance));
    SKY_OKAY(client_open_on(o, sim_loop_new(sim_process_new(w->sim, ip)), (uint64_t)number + 1, &c));
    sky_client_options_free(o);
    return c;
}

struct world *world_start(uint64_t seed)
{
    struct world *w = must_zero(sizeof *w);
    struct sim_options options = sim_options_default(seed);
    w->sim = sim_new(&options);
    w->history = history_new(CLUSTER_BROKERS, CLUSTER_QUEUES);
    w->cluster = cluster_new(w->sim, w->history, seed, false);
    EXPECT(cluster_make_topic(w->cluster));
    w->client = open_client(w, "10.0.8.1", 100);
    struct sky_producer_options *o = sky_producer_options_new("makers");
    SKY_OKAY(sky_producer_open(w->client, o, &w->producer));
    sky_producer_options_free(o);
    w->options = sky_push_consumer_options_new("takers");
    SKY_OKAY(sky_push_consumer_options_set_start(w->options, SKY_START_FIRST, 0));
    return w;
}

/* --- ends --- */

static bool is_over(void *client) { return client_is_over(client); }

static void end_client(struct world *w, struct sky_client *c)
{
    client_shutdown_begin(c, NULL, NULL);
    EXPECT(sim_run_until(w->sim, is_over, c, LIMIT_MS));
}

void world_leave(struct member_of_group *m)
{
    end_client(m->world, m->client);
    sky_push_consumer_free(m->consumer);
    sky_client_free(m->client);
    *m = (struct member_of_group){.world = m->world, .count = m->count};
}

void world_stop(struct world *w)
{
    for (int i = 0; i < WORLD_CONSUMERS; i++)
        if (w->members[i].client) world_leave(&w->members[i]);
    end_client(w, w->client);
    sky_producer_free(w->producer);
    sky_client_free(w->client);
    sky_push_consumer_options_free(w->options);
    EXPECT(!history_fault(w->history));
    cluster_free(w->cluster);
    history_free(w->history);
    sim_free(w->sim);
    free(w);
}

/* --- sending --- */

static void on_sent(void *user, const struct sky_error *e, const struct sky_receipt *r)
{
    struct world *w = user;
    (void)r;
    *(e ? &w->failed : &w->sent) += 1;
    if (e) fail_msg("a send failed: %s", sky_error_text(e));
}

void world_send(struct world *w, int first, int count, const char *tag)
{
    for (int i = first; i < first + count; i++) {
        char body[32];
        int n = snprintf(body, sizeof body, "%d", i);
        struct sky_message *m = sky_message_new("Orders", body, (size_t)n);
        SKY_OKAY(sky_message_set_tag(m, tag));
        SKY_OKAY(sky_message_set_property(m, "number", body));
        SKY_OKAY(sky_producer_send_async(w->producer, m, NULL, on_sent, w));
        sky_message_free(m);
    }
}

/* --- receiving --- */

static enum sky_consumed consume(void *user, struct sky_consume_context *x, const struct sky_message *const *messages, size_t count)
{
    struct member_of_group *m = user;
    struct world *w = m->world;
    for (size_t i = 0; i < count; i++) {
        EXPECT(w->count < WORLD_MESSAGES);
        size_t bytes;
        const char *body = sky_message_body(messages[i], &bytes);
        struct got *g = &w->got[w->count++];
        int64_t number = -1;
        slice_to_i64(slice_of(body, bytes), &number);
        *g = (struct got){.consumer = m->number, .number = (int)number, .queue_id = sky_message_queue_id(messages[i]), .offset = sky_message_queue_offset(messages[i]),
                          .reconsume_times = sky_message_reconsume_times(messages[i]), .at_ms = sim_now_ms(w->sim)};
        snprintf(g->topic, sizeof g->topic, "%s", sky_message_topic(messages[i]));
        snprintf(g->broker, sizeof g->broker, "%s", sky_message_broker(messages[i]));
        m->count++;
    }
    return m->behave ? m->behave(m, x, messages, count) : SKY_CONSUMED;
}

struct member_of_group *world_join(struct world *w, int number, const char *tags)
{
    struct member_of_group *m = &w->members[number];
    char ip[16];
    snprintf(ip, sizeof ip, "10.0.9.%c", '1' + number);
    *m = (struct member_of_group){.world = w, .number = number, .behave = m->behave, .more = m->more, .client = open_client(w, ip, number)};
    SKY_OKAY(sky_push_consumer_open(m->client, w->options, consume, m, &m->consumer));
    SKY_OKAY(sky_push_consumer_subscribe(m->consumer, "Orders", tags));
    return m;
}

struct awaited {
    struct world *world;
    size_t count;
};

static bool have_come(void *ctx)
{
    const struct awaited *a = ctx;
    return a->world->count >= a->count;
}

void world_await(struct world *w, size_t count)
{
    struct awaited a = {w, count};
    if (!sim_run_until(w->sim, have_come, &a, LIMIT_MS)) fail_msg("%zu messages of %zu came", w->count, count);
}

int world_times(const struct world *w, int number)
{
    int times = 0;
    for (size_t i = 0; i < w->count; i++) times += w->got[i].number == number;
    return times;
}

void world_each(const struct world *w, int first, int count, int times)
{
    for (int i = first; i < first + count; i++)
        if (world_times(w, i) != times) fail_msg("message %d came %d times, not %d", i, world_times(w, i), times);
}

struct sky_push_consumer_statistics world_statistics(const struct member_of_group *m)
{
    struct sky_push_consumer_statistics s = {.size = sizeof s};
    SKY_OKAY(sky_push_consumer_get_statistics(m->consumer, &s));
    return s;
}
