/* Push consumers and a producer with the real name server and brokers, all in one simulated world. */
#include "client/world.h"

#include <stdlib.h>

TEST(push, each_message_comes_once_with_what_its_sender_set)
{
    struct world *w = world_start(1);
    world_send(w, 0, 200, "red");
    struct member_of_group *m = world_join(w, 0, NULL);
    world_await(w, 200);
    sim_run_for(w->sim, 40000);
    world_each(w, 0, 200, 1);
    EXPECT(strcmp(w->got[0].topic, "Orders") == 0 && !strncmp(w->got[0].broker, "broker-", 7));
    struct sky_push_consumer_statistics s = world_statistics(m);
    EXPECT_EQ(s.consumed, 200);
    EXPECT_EQ(s.pulled, 200);
    EXPECT_EQ(s.queues, 2 * CLUSTER_QUEUES + 2);   /* those of the group's retry topic too */
    EXPECT_EQ(s.waiting_messages + s.waiting_bytes + s.failed, 0);
    world_send(w, 200, 10, NULL);                  /* what comes later wakes the pulls that wait */
    int64_t sent_at = sim_now_ms(w->sim);
    world_await(w, 210);
    EXPECT(sim_now_ms(w->sim) - sent_at < 500);
    world_stop(w);
}

TEST(push, only_messages_with_a_wanted_tag_come_and_others_are_passed)
{
    struct world *w = world_start(2);
    world_send(w, 0, 50, "red");
    world_send(w, 100, 50, "AaTag");
    world_send(w, 200, 50, "BBTag");              /* the same hash as AaTag: the server lets it pass (B1) */
    world_join(w, 0, "red || AaTag");
    world_await(w, 100);
    sim_run_for(w->sim, 20000);
    world_each(w, 0, 50, 1);
    world_each(w, 100, 50, 1);
    world_each(w, 200, 50, 0);
    world_stop(w);
}

TEST(push, an_sql_expression_chooses_by_properties)
{
    struct world *w = world_start(3);
    struct member_of_group *m = world_join(w, 0, NULL);
    SKY_OKAY(sky_push_consumer_subscribe_sql(m->consumer, "Orders", "number >= 90"));
    sim_run_for(w->sim, 25000);
    world_send(w, 0, 100, NULL);
    world_await(w, 10);
    sim_run_for(w->sim, 5000);
    world_each(w, 0, 90, 0);
    world_each(w, 90, 10, 1);
    SKY_FAILS(sky_push_consumer_subscribe_sql(m->consumer, "Orders", ""), SKY_INVALID, NULL);
    SKY_FAILS(sky_push_consumer_subscribe(m->consumer, "Orders", "||"), SKY_INVALID, NULL);
    SKY_FAILS(sky_push_consumer_subscribe(m->consumer, "no topic", NULL), SKY_INVALID, "illegal");
    world_stop(w);
}

/* --- members --- */

TEST(push, members_share_the_queues_and_a_queue_goes_on_where_another_left_it)
{
    struct world *w = world_start(4);
    struct member_of_group *a = world_join(w, 0, NULL), *b = world_join(w, 1, NULL);
    sim_run_for(w->sim, 70000);                    /* the retry topic is heard of, too */
    EXPECT_EQ(world_statistics(a).queues + world_statistics(b).queues, 2 * CLUSTER_QUEUES + 2);
    world_send(w, 0, 160, NULL);
    world_await(w, 160);
    EXPECT(a->count >= 60 && b->count >= 60);
    int64_t left_at = sim_now_ms(w->sim);
    world_leave(b);                                /* says how far it is, and is heard of at once */
    world_send(w, 160, 160, NULL);
    world_await(w, 320);
    EXPECT(sim_now_ms(w->sim) - left_at < 5000);
    world_join(w, 1, NULL);
    sim_run_for(w->sim, 30000);
    world_send(w, 320, 80, NULL);
    world_await(w, 400);
    sim_run_for(w->sim, 30000);
    world_each(w, 0, 400, 1);
    world_stop(w);
}

TEST(push, of_broadcast_members_each_gets_everything)
{
    struct world *w = world_start(5);
    sky_push_consumer_options_set_broadcast(w->options, true);
    world_join(w, 0, NULL);
    world_join(w, 1, NULL);
    world_send(w, 0, 50, NULL);
    world_await(w, 100);
    sim_run_for(w->sim, 20000);
    world_each(w, 0, 50, 2);
    EXPECT_EQ(w->members[0].count, 50);
    world_stop(w);
}

static void take_none_but_the_last(void *user, const char *topic, const char *const *clients, size_t client_count, size_t self,
                                   const struct sky_queue *queues, size_t count, bool *mine)
{
    (void)topic, (void)clients, (void)client_count, (void)queues;
    *(int *)user += self == 0;
    if (count) mine[count - 1] = true;
}

TEST(push, an_allocation_of_the_users_own_decides)
{
    struct world *w = world_start(6);
    int asked = 0;
    sky_push_consumer_options_set_allocator(w->options, take_none_but_the_last, &asked);
    world_send(w, 0, 80, NULL);
    world_join(w, 0, NULL);
    sim_run_for(w->sim, 30000);
    EXPECT(asked >= 2);
    EXPECT_EQ(w->count, 10);
    for (size_t i = 0; i < w->count; i++) EXPECT(w->got[i].queue_id == CLUSTER_QUEUES - 1 && strcmp(w->got[i].broker, "broker-b") == 0);
    world_stop(w);
}

/* --- where a group begins --- */

/* What the broker was asked for: the first pull of the queue of that topic. */
static int64_t first_pull(const struct odd_broker *b, const char *topic)
{
    for (size_t i = 0; i < b->pull_count; i++)
        if (slice_eq(b->pulls[i].topic, slice_text(topic)) && b->pulls[i].queue_id == 0) return b->pulls[i].queue_offset;
    return -1;
}

static enum sky_consumed take_nothing(void *user, struct sky_consume_context *x, const struct sky_message *const *messages, size_t count)
{
    (void)user, (void)x, (void)messages, (void)count;
    return SKY_CONSUMED;
}

static struct sky_push_consumer *odd_consumer(struct odd *o, struct sky_push_consumer_options *how)
{
    struct sky_push_consumer *p;
    SKY_OKAY(sky_push_consumer_open(o->client, how, take_nothing, NULL, &p));
    SKY_OKAY(sky_push_consumer_subscribe(p, "Orders", NULL));
    sim_run_for(o->sim, 5000);
    return p;
}

TEST(push, a_group_begins_where_it_committed_or_else_where_it_is_told_and_its_retries_at_the_first)
{
    static const struct {
        enum sky_start start;
        int64_t committed, orders, retries;
    } rows[] = {{SKY_START_FIRST, -1, 0, 0}, {SKY_START_LAST, -1, 77, 0}, {SKY_START_AT_TIME, -1, 55, 77}, {SKY_START_LAST, 33, 33, 33}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct odd *o = odd_start(1);
        o->broker[0].committed = rows[i].committed;
        o->broker[0].max_offset = 77;
        o->broker[0].offset_of_time = 55;
        struct sky_push_consumer_options *how = sky_push_consumer_options_new("takers");
        SKY_OKAY(sky_push_consumer_options_set_start(how, rows[i].start, 1700000000000));
        struct sky_push_consumer *p = odd_consumer(o, how);
        EXPECT_EQ(first_pull(&o->broker[0], "Orders"), rows[i].orders);
        EXPECT_EQ(first_pull(&o->broker[0], "%RETRY%takers"), rows[i].retries);
        if (rows[i].start == SKY_START_AT_TIME) EXPECT_EQ(o->broker[0].asked_time, 1700000000000);
        odd_shutdown(o);
        sky_push_consumer_free(p);
        sky_push_consumer_options_free(how);
        odd_stop(o);
    }
}

/* --- failures --- */

static enum sky_consumed fail_twice(struct member_of_group *m, struct sky_consume_context *x, const struct sky_message *const *messages, size_t count)
{
    (void)m, (void)x;
    EXPECT_EQ(count, 1);
    return sky_message_reconsume_times(messages[0]) < 2 ? SKY_CONSUME_LATER : SKY_CONSUMED;
}

TEST(push, what_failed_comes_again_later_each_time_with_its_first_topic)
{
    struct world *w = world_start(8);
    w->members[0].behave = fail_twice;
    world_join(w, 0, NULL);
    world_send(w, 7, 1, "red");
    world_await(w, 3);
    sim_run_for(w->sim, 60000);
    EXPECT_EQ(w->count, 3);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(w->got[i].number, 7);
        EXPECT_EQ(w->got[i].reconsume_times, i);
        EXPECT(strcmp(w->got[i].topic, "Orders") == 0);
    }
    EXPECT(w->got[1].at_ms - w->got[0].at_ms >= 10000);   /* levels 3 and 4 */
    EXPECT(w->got[2].at_ms - w->got[1].at_ms >= 30000);
    EXPECT_EQ(world_statistics(&w->members[0]).failed, 2);
    world_stop(w);
}

static enum sky_consumed first_two_of_each(struct member_of_group *m, struct sky_consume_context *x, const struct sky_message *const *messages, size_t count)
{
    (void)m;
    bool again = sky_message_reconsume_times(messages[0]) > 0;
    sky_consume_context_set_consumed(x, again ? count : 2);
    sky_consume_context_set_delay_level(x, 1);
    return SKY_CONSUMED;
}

TEST(push, of_a_call_with_several_messages_only_some_may_succeed)
{
    struct world *w = world_start(9);
    SKY_OKAY(sky_push_consumer_options_set_batch(w->options, 8));
    world_send(w, 0, 40, NULL);                    /* five to each queue */
    sim_run_for(w->sim, 2000);
    w->members[0].behave = first_two_of_each;
    world_join(w, 0, NULL);
    world_await(w, 64);
    sim_run_for(w->sim, 60000);
    EXPECT_EQ(w->count, 40 + 8 * 3);
    world_stop(w);
}

static enum sky_consumed always_fail(struct member_of_group *m, struct sky_consume_context *x, const struct sky_message *const *messages, size_t count)
{
    (void)m, (void)messages, (void)count;
    sky_consume_context_set_delay_level(x, 1);
    return SKY_CONSUME_LATER;
}

TEST(push, after_the_last_failure_a_message_is_a_dead_letter_and_comes_no_more)
{
    struct world *w = world_start(10);
    SKY_OKAY(sky_push_consumer_options_set_max_reconsume_times(w->options, 2));
    w->members[0].behave = always_fail;
    world_join(w, 0, NULL);
    world_send(w, 1, 1, NULL);
    world_await(w, 3);
    sim_run_for(w->sim, 120000);
    EXPECT_EQ(w->count, 3);
    world_stop(w);
}

TEST(push, a_broker_that_restarts_costs_no_message)
{
    struct world *w = world_start(11);
    world_join(w, 0, NULL);
    world_send(w, 0, 100, NULL);
    world_await(w, 100);
    sim_run_for(w->sim, 20000);                    /* committed, and on disk */
    cluster_restart_broker(w->cluster, 0, 3000);
    sim_run_for(w->sim, 40000);
    world_send(w, 100, 100, NULL);
    world_await(w, 200);
    for (int i = 0; i < 200; i++) EXPECT(world_times(w, i) >= 1);
    world_each(w, 100, 100, 1);
    world_stop(w);
}

/* --- limits --- */

TEST(push, a_suspended_consumer_fetches_nothing_until_it_goes_on)
{
    struct world *w = world_start(12);
    struct member_of_group *m = world_join(w, 0, NULL);
    sim_run_for(w->sim, 20000);
    SKY_OKAY(sky_push_consumer_suspend(m->consumer, true));
    sim_run_for(w->sim, 40000);                    /* pulls under way end */
    world_send(w, 0, 20, NULL);
    sim_run_for(w->sim, 30000);
    EXPECT_EQ(w->count, 0);
    SKY_OKAY(sky_push_consumer_suspend(m->consumer, false));
    world_await(w, 20);
    world_stop(w);
}

/* --- in order --- */

static void expect_order(const struct world *w)
{
    int64_t last[2][CLUSTER_QUEUES];
    memset(last, 0xff, sizeof last);
    for (size_t i = 0; i < w->count; i++) {
        const struct got *g = &w->got[i];
        int64_t *before = &last[g->broker[7] - 'a'][g->queue_id];
        EXPECT(g->offset == *before || g->offset == *before + 1);   /* the same again, or the next one */
        *before = g->offset;
    }
}

TEST(order, messages_of_a_queue_come_one_after_the_other)
{
    struct world *w = world_start(13);
    sky_push_consumer_options_set_ordered(w->options, true);
    world_send(w, 0, 160, NULL);
    world_join(w, 0, NULL);
    world_await(w, 160);
    sim_run_for(w->sim, 30000);
    world_each(w, 0, 160, 1);
    expect_order(w);
    world_stop(w);
}

static enum sky_consumed fail_every_third_once(struct member_of_group *m, struct sky_consume_context *x, const struct sky_message *const *messages, size_t count)
{
    (void)m;
    EXPECT_EQ(count, 1);
    SKY_OKAY(sky_consume_context_set_suspend_ms(x, 50));
    SKY_FAILS(sky_consume_context_set_suspend_ms(x, 5), SKY_INVALID, "10 to 30000");
    return sky_message_queue_offset(messages[0]) % 3 == 0 && !sky_message_reconsume_times(messages[0]) ? SKY_CONSUME_LATER : SKY_CONSUMED;
}

TEST(order, a_message_that_fails_comes_again_before_the_next_one)
{
    struct world *w = world_start(14);               /* J6 */
    sky_push_consumer_options_set_ordered(w->options, true);
    w->members[0].behave = fail_every_third_once;
    world_send(w, 0, 80, NULL);                    /* ten to each queue: offsets 0, 3, 6 and 9 fail once */
    world_join(w, 0, NULL);
    world_await(w, 80 + 8 * 4);
    sim_run_for(w->sim, 30000);
    EXPECT_EQ(w->count, 80 + 8 * 4);
    expect_order(w);
    for (size_t i = 0; i < w->count; i++) EXPECT(w->got[i].reconsume_times <= 1);
    world_stop(w);
}

TEST(order, a_queue_changes_hands_without_a_message_out_of_order)
{
    struct world *w = world_start(15);
    sky_push_consumer_options_set_ordered(w->options, true);
    world_join(w, 0, NULL);
    sim_run_for(w->sim, 25000);
    for (int round = 0; round < 4; round++) {
        world_send(w, round * 80, 80, NULL);
        sim_run_for(w->sim, 300);
        if (round % 2) world_leave(&w->members[1]);
        else world_join(w, 1, NULL);
        sim_run_for(w->sim, 25000);
    }
    world_await(w, 320);
    sim_run_for(w->sim, 30000);
    world_each(w, 0, 320, 1);
    expect_order(w);
    EXPECT(w->members[1].count > 0 && w->members[0].count > 0);
    world_stop(w);
}

TEST(order, a_message_that_failed_too_often_is_a_dead_letter_and_the_queue_goes_on)
{
    struct world *w = world_start(16);
    sky_push_consumer_options_set_ordered(w->options, true);
    SKY_OKAY(sky_push_consumer_options_set_max_reconsume_times(w->options, 1));
    w->members[0].behave = always_fail;
    world_join(w, 0, NULL);
    world_send(w, 0, 8, NULL);
    world_await(w, 16);
    sim_run_for(w->sim, 60000);
    world_each(w, 0, 8, 2);
    world_send(w, 8, 8, NULL);
    world_await(w, 32);
    expect_order(w);
    world_stop(w);
}

/* --- ends --- */

static enum sky_consumed end_from_inside(struct member_of_group *m, struct sky_consume_context *x, const struct sky_message *const *messages, size_t count)
{
    (void)x, (void)messages, (void)count;
    if (m->count == 5) client_shutdown_begin(m->client, NULL, NULL);   /* in the middle of its work (J9) */
    return SKY_CONSUMED;
}

TEST(push, a_consumer_that_ends_amid_its_work_leaves_the_rest_to_the_next_one)
{
    struct world *w = world_start(17);
    w->members[0].behave = end_from_inside;
    world_send(w, 0, 100, NULL);
    sim_run_for(w->sim, 3000);
    world_join(w, 0, NULL);
    sim_run_for(w->sim, 30000);
    EXPECT(client_is_over(w->members[0].client));
    EXPECT(w->count >= 5 && w->count < 100);
    SKY_FAILS(sky_push_consumer_subscribe(w->members[0].consumer, "Orders", NULL), SKY_CLOSED, NULL);
    size_t before = w->count;
    world_join(w, 1, NULL);
    while (w->members[1].count < 100 - before) world_await(w, w->count + 1);
    sim_run_for(w->sim, 20000);
    for (int i = 0; i < 100; i++) EXPECT(world_times(w, i) >= 1);
    EXPECT(w->count <= 100 + before);              /* what was done behind one that was not comes again */
    world_stop(w);
}
