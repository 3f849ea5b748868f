/* A push consumer at a broker that answers as the test says: where it begins, what it fetches, whom it gives back to. */
#include "client/odd.h"

#include "codec/properties.h"

/* What the broker was asked for: the first pull of the queue of that topic. */
static int64_t first_pull(const struct odd_broker *b, const char *topic)
{
    for (size_t i = 0; i < b->pull_count; i++)
        if (slice_eq(b->pulls[i].topic, slice_text(topic)) && b->pulls[i].queue_id == 0) return b->pulls[i].queue_offset;
    return -1;
}

/* What the callback does: fails messages from an offset on, with a level. */
struct manner {
    int64_t fails_from, fails_to;
    int32_t level;
    size_t calls;
    int64_t last;
    size_t ends_at;              /* the call in which the client is shut down */
    struct sky_client *client;
};

static enum sky_consumed consume(void *user, struct sky_consume_context *x, const struct sky_message *const *messages, size_t count)
{
    struct manner *m = user;
    if (++m->calls == m->ends_at) client_shutdown_begin(m->client, NULL, NULL);
    m->last = sky_message_queue_offset(messages[count - 1]);
    sky_consume_context_set_delay_level(x, m->level);
    bool fails = sky_message_queue_offset(messages[0]) >= m->fails_from && sky_message_queue_offset(messages[0]) < m->fails_to;
    return fails ? SKY_CONSUME_LATER : SKY_CONSUMED;
}

/* A broker, a consumer of it, and how both behave. */
struct scene {
    struct odd *o;
    struct odd_broker *b;
    struct sky_push_consumer_options *how;
    struct sky_push_consumer *p;
    struct manner manner;
};

static struct scene scene(void)
{
    struct scene s = {.o = odd_start(1), .how = sky_push_consumer_options_new("takers")};
    s.b = &s.o->broker[0];
    SKY_OKAY(sky_push_consumer_options_set_pull_batch(s.how, 4));
    SKY_OKAY(sky_push_consumer_options_set_start(s.how, SKY_START_FIRST, 0));
    return s;
}

static void begin(struct scene *s, int64_t ms)
{
    SKY_OKAY(sky_push_consumer_open(s->o->client, s->how, consume, &s->manner, &s->p));
    SKY_OKAY(sky_push_consumer_subscribe(s->p, "Orders", NULL));
    sim_run_for(s->o->sim, ms);
}

static void end(struct scene *s)
{
    odd_shutdown(s->o);
    sky_push_consumer_free(s->p);
    sky_push_consumer_options_free(s->how);
    odd_stop(s->o);
}

static struct sky_push_consumer_statistics numbers(const struct scene *s)
{
    struct sky_push_consumer_statistics n = {.size = sizeof n};
    SKY_OKAY(sky_push_consumer_get_statistics(s->p, &n));
    return n;
}

/* --- where a group begins --- */

TEST(push, a_group_begins_where_it_committed_or_else_where_it_is_told_and_its_retries_at_the_first)
{
    static const struct {
        enum sky_start start;
        int64_t committed, orders, retries;
    } rows[] = {{SKY_START_FIRST, -1, 0, 0}, {SKY_START_LAST, -1, 77, 0}, {SKY_START_AT_TIME, -1, 55, 77}, {SKY_START_LAST, 33, 33, 33}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene s = scene();
        s.b->committed = rows[i].committed;
        s.b->max_offset = 77;
        s.b->offset_of_time = 55;
        SKY_OKAY(sky_push_consumer_options_set_start(s.how, rows[i].start, 1700000000000));
        begin(&s, 5000);
        EXPECT_EQ(first_pull(s.b, "Orders"), rows[i].orders);
        EXPECT_EQ(first_pull(s.b, "%RETRY%takers"), rows[i].retries);
        EXPECT_EQ(s.b->pulls[0].sys_flag, rows[i].committed > 0 ? 3 : 2);   /* may be held; and commits, when there is something */
        EXPECT_EQ(s.b->pulls[0].commit_offset, rows[i].committed > 0 ? rows[i].committed : 0);
        if (rows[i].start == SKY_START_AT_TIME) EXPECT_EQ(s.b->asked_time, 1700000000000);
        end(&s);
    }
}

/* --- limits --- */

/* Nobody takes back what fails, so it stays here. */
static int64_t pulled_with(int32_t messages, int32_t mib, int32_t span, int32_t of_topic, size_t body_bytes, int64_t fails_to)
{
    struct scene s = scene();
    s.b->stored = 1000;
    s.b->body_bytes = body_bytes;
    s.b->back_script = ODD_SILENT;
    s.manner.fails_to = fails_to;
    SKY_OKAY(sky_push_consumer_options_set_queue_limits(s.how, messages, mib, span));
    SKY_OKAY(sky_push_consumer_options_set_topic_limits(s.how, of_topic, 0));
    begin(&s, 3000);
    int64_t pulled = numbers(&s).pulled;
    end(&s);
    return pulled;
}

TEST(push, no_more_is_fetched_than_messages_bytes_and_span_allow)
{
    EXPECT_EQ(pulled_with(10, 100, 2000, 0, 1, 1000), 12);             /* more than 10 after the third answer of four */
    EXPECT_EQ(pulled_with(1000, 1, 2000, 0, 300 << 10, 1000), 4);
    EXPECT_EQ(pulled_with(1000, 100, 5, 0, 1, 1), 8);                  /* the first one alone is not done */
    EXPECT_EQ(pulled_with(1000, 100, 2000, 8, 1, 1000), 8);            /* half of it for each of two queues */
}

TEST(push, a_queue_that_was_full_goes_on_when_there_is_room)
{
    struct scene s = scene();
    s.b->stored = 40;
    s.b->back_script = ODD_SILENT;
    s.manner.fails_to = 1000;
    SKY_OKAY(sky_push_consumer_options_set_queue_limits(s.how, 4, 100, 2000));
    begin(&s, 3000);
    EXPECT_EQ(numbers(&s).pulled, 8);
    s.b->back_script = 0;
    s.manner.fails_to = 0;
    sim_run_for(s.o->sim, 20000);
    EXPECT_EQ(numbers(&s).pulled, 40);
    EXPECT_EQ(numbers(&s).waiting_messages, 0);
    EXPECT_EQ(s.b->told_offset, 40);
    end(&s);
}

TEST(push, a_message_whose_callback_takes_too_long_is_given_back)
{
    struct scene s = scene();
    s.b->stored = 1;
    s.b->back_script = ODD_SILENT;
    s.manner = (struct manner){.fails_to = 1, .level = 7};
    SKY_OKAY(sky_push_consumer_options_set_consume_timeout_ms(s.how, 1000));
    begin(&s, 3500);
    EXPECT_EQ(s.b->backs, 2);
    EXPECT_EQ(s.b->back_levels[0], 7);
    EXPECT_EQ(s.b->back_levels[1], 3);
    end(&s);
}

TEST(push, an_answer_that_leads_nowhere_is_asked_for_again_after_a_while)
{
    struct scene s = scene();
    s.b->stored = 4;
    s.b->wrong_next = -5;
    begin(&s, 3500);
    EXPECT_EQ(s.manner.calls, 0);
    EXPECT(s.b->pull_count >= 4 && s.b->pull_count <= 9);   /* once a second; and the other queues once each */
    s.b->wrong_next = 0;
    sim_run_for(s.o->sim, 2000);
    EXPECT_EQ(s.manner.calls, 4);
    end(&s);
}

/* --- giving back --- */

TEST(push, what_its_broker_does_not_take_back_is_sent_as_a_new_message_of_the_retry_topic)
{
    struct scene s = scene();
    s.b->stored = 1;
    s.b->back_script = RESPONSE_SYSTEM_ERROR;
    s.manner.fails_to = 1;
    begin(&s, 5000);
    EXPECT_EQ(s.b->count, 1);
    const struct send_header *h = &s.b->sends[0].h;
    EXPECT_TEXT(h->topic, "%RETRY%takers");
    EXPECT_EQ(h->reconsume_times, 1);
    EXPECT_EQ(h->max_reconsume_times, 16);
    EXPECT_TEXT(properties_get(h->properties, SLICE("RETRY_TOPIC")), "Orders");
    EXPECT_TEXT(properties_get(h->properties, SLICE("DELAY")), "3");
    EXPECT_TEXT(properties_get(h->properties, SLICE("UNIQ_KEY")), "id");
    EXPECT_TEXT(properties_get(h->properties, SLICE("TAGS")), "red");
    EXPECT_EQ(numbers(&s).waiting_messages, 0);
    end(&s);
}

TEST(push, what_nobody_takes_is_tried_again_here)
{
    struct scene s = scene();
    s.b->stored = 1;
    s.b->back_script = RESPONSE_SYSTEM_ERROR;
    odd_script(s.b, 1, 1, 1, 1, -1000);
    s.manner.fails_to = 1;
    begin(&s, 4000);
    EXPECT_EQ(s.manner.calls, 1);
    EXPECT_EQ(numbers(&s).waiting_messages, 1);
    s.manner.fails_to = 0;
    sim_run_for(s.o->sim, 6000);
    EXPECT_EQ(s.manner.calls, 2);
    EXPECT_EQ(numbers(&s).waiting_messages, 0);
    end(&s);
}

TEST(push, what_a_broadcast_consumer_fails_is_passed)
{
    struct scene s = scene();
    s.b->stored = 3;
    s.manner.fails_to = 2;
    sky_push_consumer_options_set_broadcast(s.how, true);
    begin(&s, 5000);
    EXPECT_EQ(s.manner.calls, 3);
    EXPECT_EQ(s.b->backs, 0);
    EXPECT_EQ(numbers(&s).waiting_messages, 0);
    EXPECT_EQ(s.b->told_offset, -1);
    end(&s);
}

TEST(push, queues_without_permission_to_read_are_left_alone)
{
    struct scene s = scene();
    s.b->perm = 2;
    begin(&s, 5000);
    EXPECT_EQ(s.b->pull_count, 0);
    end(&s);
}

TEST(push, a_broadcast_consumer_begins_where_its_file_says_and_keeps_what_the_file_says_of_other_queues)
{
    static const char *const path = "/home/o/10.0.9.9@test/takers/offsets.json";
    struct scene s = scene();
    struct fs *fs = sim_fs_disk(s.o->disk);
    struct buf text = BUF_EMPTY;
    EXPECT_OK(fs_make_folder(fs, "/home/o/10.0.9.9@test/takers"));
    EXPECT_OK(fs_replace_file(fs, path, SLICE("{\n\t\"offsetTable\":{{\n\t\t\"brokerName\":\"a\",\n\t\t\"queueId\":0,\n\t\t\"topic\":\"Orders\"\n\t}:2,"
                                              "{\"brokerName\":\"z\",\"queueId\":9,\"topic\":\"Other\"}:7}}")));
    s.b->stored = 6;
    sky_push_consumer_options_set_broadcast(s.how, true);
    SKY_OKAY(sky_push_consumer_options_set_offset_folder(s.how, "/home/o"));
    begin(&s, 20000);
    EXPECT_EQ(s.manner.calls, 4);
    EXPECT_OK(fs_read_file(fs, path, 10000, &text));
    buf_put_u8(&text, 0);
    EXPECT(strstr((char *)text.p, "{\"brokerName\":\"a\",\"queueId\":0,\"topic\":\"Orders\"}:6"));
    EXPECT(strstr((char *)text.p, "{\"brokerName\":\"z\",\"queueId\":9,\"topic\":\"Other\"}:7"));
    buf_done(&text);
    end(&s);
}

TEST(push, how_far_a_consumer_is_has_been_taken_note_of_before_it_says_good_bye)
{
    struct scene s = scene();
    s.b->stored = 6;
    begin(&s, 3000);
    EXPECT_EQ(s.b->told_offset, -1);
    odd_shutdown(s.o);
    EXPECT_EQ(s.b->told_offset, 6);
    EXPECT(!s.b->told_oneway);
    EXPECT(s.b->told_before_goodbye > 0 && s.b->goodbyes == 1);
    end(&s);
}

TEST(push, the_end_of_a_consumer_while_a_message_waits_to_be_tried_again_here)
{
    struct scene s = scene();
    s.b->stored = 1;
    s.b->back_script = RESPONSE_SYSTEM_ERROR;
    odd_script(s.b, 1, -1000);
    s.manner.fails_to = 1;
    begin(&s, 4000);
    int64_t begun = sim_now_ms(s.o->sim);
    odd_shutdown(s.o);
    EXPECT(sim_now_ms(s.o->sim) - begun < 1000);
    EXPECT_EQ(s.manner.calls, 1);
    EXPECT_EQ(s.b->told_offset, 0);                /* it is the next member's */
    end(&s);
}

/* --- changes --- */

TEST(push, queues_of_a_new_broker_are_taken_as_soon_as_the_route_tells_of_them)
{
    struct scene s = scene();
    odd_stop(s.o);
    s.o = odd_start(2);
    s.b = &s.o->broker[0];
    s.o->broker[1].registered = false;
    begin(&s, 25000);
    s.o->broker[1].registered = true;
    EXPECT_EQ(s.o->broker[1].pull_count, 0);
    sim_run_for(s.o->sim, 6500);                   /* the route is asked for every 30 s, queues are shared every 20 */
    EXPECT(s.o->broker[1].pull_count > 0);
    end(&s);
}

TEST(push, brokers_hear_at_once_of_what_is_subscribed_to_and_no_longer)
{
    struct scene s = scene();
    begin(&s, 5000);
    size_t beats = s.b->heartbeats;
    SKY_OKAY(sky_push_consumer_subscribe(s.p, "Orders", "red || blue"));
    sim_run_for(s.o->sim, 100);
    EXPECT_EQ(s.b->heartbeats, beats + 1);
    buf_put_u8(&s.b->last_heartbeat, 0);
    EXPECT(strstr((char *)s.b->last_heartbeat.p, "\"subString\":\"red || blue\""));
    SKY_OKAY(sky_push_consumer_unsubscribe(s.p, "Orders"));
    sim_run_for(s.o->sim, 100);
    buf_put_u8(&s.b->last_heartbeat, 0);
    EXPECT(!strstr((char *)s.b->last_heartbeat.p, "Orders"));
    EXPECT(strstr((char *)s.b->last_heartbeat.p, "%RETRY%takers"));
    EXPECT_EQ(numbers(&s).queues, 2);              /* those of the retry topic */
    end(&s);
}

TEST(push, calls_that_did_not_begin_before_the_end_never_begin)
{
    struct scene s = scene();
    s.b->stored = 32;
    SKY_OKAY(sky_push_consumer_options_set_pull_batch(s.how, 32));
    s.manner.ends_at = 3;
    s.manner.client = s.o->client;
    begin(&s, 5000);
    EXPECT(client_is_over(s.o->client));
    EXPECT(s.manner.calls >= 3 && s.manner.calls < 32);
    end(&s);
}

/* --- administrators --- */

static void on_reset(void *ctx, err_t e, const struct rpc_reply *reply)
{
    EXPECT_OK(e);
    EXPECT_EQ(reply->frame->code, RESPONSE_SUCCESS);
    *(bool *)ctx = true;
}

struct reset_call {
    struct scene *s;
    bool done;
    const char *body;
};

static void ask_reset(void *ctx)
{
    struct reset_call *x = ctx;
    struct reset_offset_header h = {.topic = SLICE("Orders"), .group = SLICE("takers"), .timestamp = 5, .is_force = true};
    struct rpc_request r = {.code = REQUEST_RESET_CONSUMER_CLIENT_OFFSET, .kind = &reset_offset_kind, .header = &h, .body = slice_text(x->body),
                            .timeout_ms = 1000, .done = on_reset, .ctx = &x->done};
    rpc_conn_request(x->s->b->conn, &r);
}

TEST(push, offsets_that_an_administrator_sets_are_begun_from_at_once)
{
    static const char *const forms[] = {"{\"offsetTable\":{{\"brokerName\":\"a\",\"queueId\":0,\"topic\":\"Orders\"}:2}}",
                                        "{\"offsetTable\":[{\"brokerName\":\"a\",\"queueId\":0,\"topic\":\"Orders\",\"offset\":2}]}"};
    for (size_t i = 0; i < 2; i++) {
        struct scene s = scene();
        struct reset_call x = {.s = &s, .body = forms[i]};
        s.b->stored = 6;
        begin(&s, 5000);
        EXPECT_EQ(s.manner.calls, 6);
        s.b->committed = 2;
        sim_call(s.b->loop, ask_reset, &x);
        sim_run_for(s.o->sim, 2000);
        EXPECT(x.done);
        EXPECT_EQ(s.b->told_offset, 2);
        EXPECT_EQ(s.manner.calls, 10);
        end(&s);
    }
}

/* --- in order --- */

TEST(order, without_its_lock_a_queue_is_not_begun_and_asked_for_again)
{
    struct scene s = scene();
    s.b->stored = 4;
    s.b->grants = false;
    sky_push_consumer_options_set_ordered(s.how, true);
    begin(&s, 10000);
    EXPECT_EQ(s.manner.calls, 0);
    EXPECT(s.b->locks >= 3);
    s.b->grants = true;
    sim_run_for(s.o->sim, 2000);
    EXPECT_EQ(s.manner.calls, 4);
    end(&s);
}

TEST(order, a_queue_that_lost_its_lock_stands_still_and_waits_three_seconds_before_it_fetches_again)
{
    struct scene s = scene();
    sky_push_consumer_options_set_ordered(s.how, true);
    s.b->stored = 4;
    begin(&s, 5000);
    EXPECT_EQ(s.manner.calls, 4);
    s.b->grants = false;
    s.b->stored = 8;
    size_t pulls = s.b->pull_count;
    sim_run_for(s.o->sim, 40000);                  /* the locks are asked for every 20 s; the pull under way ends after 30 s */
    EXPECT_EQ(s.b->pull_count, pulls);
    EXPECT_EQ(s.manner.calls, 4);
    s.b->grants = true;
    sim_run_for(s.o->sim, 24000);
    EXPECT_EQ(s.manner.calls, 8);
    end(&s);
}

TEST(order, what_came_before_the_lock_was_lost_is_not_consumed_after_it)
{
    struct scene s = scene();
    sky_push_consumer_options_set_ordered(s.how, true);
    s.b->stored = 4;
    s.manner.fails_to = 1;
    begin(&s, 5000);
    s.b->grants = false;
    sim_run_for(s.o->sim, 25000);
    size_t calls = s.manner.calls;
    EXPECT(calls >= 5);
    s.manner.fails_to = 0;
    sim_run_for(s.o->sim, 10000);
    EXPECT_EQ(s.manner.calls, calls);
    end(&s);
}

TEST(order, a_queue_waits_as_long_as_its_user_says_after_a_failure)
{
    struct scene s = scene();
    sky_push_consumer_options_set_ordered(s.how, true);
    s.b->stored = 40;                              /* what comes meanwhile does not shorten it */
    s.manner.fails_to = 1;
    begin(&s, 10500);
    EXPECT(s.manner.calls >= 9 && s.manner.calls <= 11);   /* once a second */
    EXPECT_EQ(s.manner.last, 0);
    s.manner.fails_to = 0;
    sim_run_for(s.o->sim, 1500);
    EXPECT_EQ(s.manner.last, 39);
    end(&s);
}
