/* A producer against servers that answer as the test says: where it sends, how often, what it tells its user. */
#include "client/odd.h"

#include "codec/compress.h"
#include "codec/java_hash.h"
#include "codec/message_id.h"
#include "codec/properties.h"
#include "codec/record.h"

#include <stdlib.h>

/* --- what goes out --- */

TEST(producer, a_message_arrives_with_all_that_was_set_and_the_receipt_tells_where)
{
    struct odd *o = odd_start(1);
    odd_producer(o);
    struct sky_message *m = sky_message_new("Orders", "hello", 5);
    SKY_OKAY(sky_message_set_tag(m, "paid"));
    SKY_OKAY(sky_message_set_keys(m, "k1 k2"));
    SKY_OKAY(sky_message_set_property(m, "colour", "green"));
    SKY_OKAY(sky_message_set_delay_level(m, 3));
    sky_message_set_flag(m, 42);
    struct odd_outcome out = odd_send_message(o, m, NULL);
    const struct odd_send *s = &o->broker[0].sends[0];
    EXPECT_EQ(out.error, SKY_OK);
    EXPECT_EQ(out.stored, SKY_STORED);
    EXPECT_EQ(out.tries, 1);
    EXPECT_EQ(s->code, REQUEST_SEND_MESSAGE_V2);
    EXPECT_TEXT(buf_slice(&s->body), "hello");
    EXPECT_TEXT(s->h.topic, "Orders");
    EXPECT_TEXT(s->h.producer_group, "makers");
    EXPECT_TEXT(s->h.default_topic, "TBW102");
    EXPECT_TEXT(s->h.bname, "a");
    EXPECT_EQ(s->h.default_topic_queue_nums, 4);
    EXPECT_EQ(s->h.flag, 42);
    EXPECT_EQ(s->h.sys_flag, 0);
    EXPECT_EQ(s->h.queue_id, out.queue_id);
    EXPECT_TEXT(properties_get(s->h.properties, SLICE("TAGS")), "paid");
    EXPECT_TEXT(properties_get(s->h.properties, SLICE("KEYS")), "k1 k2");
    EXPECT_TEXT(properties_get(s->h.properties, SLICE("colour")), "green");
    EXPECT_TEXT(properties_get(s->h.properties, SLICE("DELAY")), "3");
    EXPECT_TEXT(properties_get(s->h.properties, SLICE("WAIT")), "true");
    EXPECT_TEXT(properties_get(s->h.properties, SLICE("UNIQ_KEY")), out.message_id);
    EXPECT(strcmp(out.offset_id, "0A00000100002A9F0000000000000000") == 0);
    odd_stop(o);
}

TEST(producer, ids_name_the_client_and_the_time_and_differ)
{
    struct odd *o = odd_start(1);
    odd_producer(o);
    struct odd_outcome first = odd_send(o), second = odd_send(o);
    struct unique_id a, b;
    EXPECT_OK(unique_id_parse(slice_text(first.message_id), &a));
    EXPECT_OK(unique_id_parse(slice_text(second.message_id), &b));
    EXPECT_EQ(a.client.ip[0], 10);
    EXPECT_EQ(a.client.ip[3], 9);
    EXPECT_EQ(b.loader, a.loader);
    EXPECT_EQ(b.counter, a.counter + 1);
    int64_t began = o->broker[0].sends[0].h.born_timestamp - (int64_t)a.month_ms;
    EXPECT(began <= month_start_ms(o->broker[0].sends[0].h.born_timestamp) + 1);
    EXPECT(began > month_start_ms(o->broker[0].sends[0].h.born_timestamp) - 1000);
    odd_stop(o);
}

TEST(producer, sends_go_around_all_queues_of_all_brokers)
{
    struct odd *o = odd_start(2);
    int seen[2][2] = {{0}};
    odd_producer(o);
    for (int i = 0; i < 8; i++) {
        struct odd_outcome out = odd_send(o);
        seen[out.broker[0] - 'a'][out.queue_id]++;
    }
    for (int i = 0; i < 4; i++) EXPECT_EQ(seen[i / 2][i % 2], 2);
    odd_stop(o);
}

TEST(producer, a_body_of_the_limit_and_more_is_compressed_as_wished_and_one_that_would_grow_is_not)
{
    static const enum sky_compression kinds[] = {SKY_LZ4, SKY_ZSTD, SKY_ZLIB};
    for (size_t k = 0; k < 3; k++) {
        struct odd *o = odd_start(1);
        char text[4096];
        memset(text, 'x', sizeof text);
        SKY_OKAY(sky_producer_options_set_compression(o->options, kinds[k], 3));
        odd_producer(o);
        odd_send_message(o, sky_message_new("Orders", text, 4096), NULL);
        odd_send_message(o, sky_message_new("Orders", text, 4095), NULL);
        for (size_t i = 0; i < sizeof text; i++) text[i] = (char)random_u64(sim_random(o->sim));
        odd_send_message(o, sky_message_new("Orders", text, 4096), NULL);
        struct odd_send *s = o->broker[0].sends;
        struct buf opened = BUF_EMPTY;
        EXPECT_EQ(s[0].h.sys_flag, 1 | kinds[k] << 8);
        EXPECT(s[0].body.n < 200);
        EXPECT_OK(decompress_body(s[0].h.sys_flag, buf_slice(&s[0].body), 5000, &opened));
        EXPECT_EQ(opened.n, 4096);
        EXPECT_EQ(s[1].h.sys_flag, 0);
        EXPECT_EQ(s[1].body.n, 4095);
        EXPECT_EQ(s[2].h.sys_flag, 0);
        EXPECT_EQ(s[2].body.n, 4096);
        buf_done(&opened);
        odd_stop(o);
    }
}

static size_t choose_last(void *user, const struct sky_queue *queues, size_t count, const struct sky_message *m)
{
    EXPECT_TEXT(slice_text(sky_message_topic(m)), "Orders");
    EXPECT_TEXT(slice_text(queues[0].broker), "a");
    *(size_t *)user = count;
    return count - 1;
}

static size_t choose_none(void *user, const struct sky_queue *queues, size_t count, const struct sky_message *m)
{
    (void)user, (void)queues, (void)m;
    return count;
}

TEST(producer, a_queue_is_named_or_chosen_by_a_function_or_by_the_hash_of_a_key_as_the_originals_selector_does)
{
    struct odd *o = odd_start(2);
    odd_producer(o);
    struct sky_send_options *named = sky_send_options_new(), *chosen = sky_send_options_new(), *wrong = sky_send_options_new(), *keyed = sky_send_options_new();
    size_t count = 0;
    SKY_OKAY(sky_send_options_set_queue(named, "b", 7));
    sky_send_options_set_selector(chosen, choose_last, &count);
    sky_send_options_set_selector(wrong, choose_none, NULL);
    SKY_OKAY(sky_send_options_set_order_key(keyed, "order-4711"));
    struct odd_outcome a = odd_send_message(o, sky_message_new("Orders", "x", 1), named);
    struct odd_outcome b = odd_send_message(o, sky_message_new("Orders", "x", 1), chosen);
    struct odd_outcome c = odd_send_message(o, sky_message_new("Orders", "x", 1), keyed);
    struct odd_outcome d = odd_send_message(o, sky_message_new("Orders", "x", 1), keyed);
    struct odd_outcome e = odd_send_message(o, sky_message_new("Orders", "x", 1), wrong);
    int32_t at = abs(java_hash(SLICE("order-4711")) % 4);
    EXPECT(strcmp(a.broker, "b") == 0 && a.queue_id == 7);
    EXPECT(strcmp(b.broker, "b") == 0 && b.queue_id == 1 && count == 4);
    EXPECT(c.broker[0] == 'a' + at / 2 && c.queue_id == at % 2);
    EXPECT(d.broker[0] == c.broker[0] && d.queue_id == c.queue_id);
    EXPECT_EQ(e.error, SKY_INVALID);
    struct odd_broker *keyed_at = &o->broker[at / 2];
    EXPECT_TEXT(properties_get(keyed_at->sends[keyed_at->count - 1].h.properties, SLICE("__SHARDINGKEY")), "order-4711");
    sky_send_options_free(named);
    sky_send_options_free(chosen);
    sky_send_options_free(wrong);
    sky_send_options_free(keyed);
    odd_stop(o);
}

TEST(producer, a_batch_is_one_send_in_which_each_message_has_its_id)
{
    struct odd *o = odd_start(1);
    odd_producer(o);
    struct sky_message *m[3];
    struct odd_outcome out = {.odd = o};
    for (int i = 0; i < 3; i++) m[i] = sky_message_new("Orders", "abc" + i, 1);
    SKY_OKAY(sky_producer_send_batch_async(o->producer, (const struct sky_message *const *)m, 3, NULL, odd_sent, &out));
    odd_wait(o, &out);
    struct odd_send *s = &o->broker[0].sends[0];
    EXPECT_EQ(s->code, REQUEST_SEND_BATCH_MESSAGE);
    EXPECT(s->h.batch);
    struct slice rest = buf_slice(&s->body), ids = slice_text(out.message_id), id;
    struct message one;
    bool broken = false;
    for (int i = 0; i < 3; i++) {
        EXPECT(batch_next(&rest, &one, &broken));
        EXPECT(slice_split(&ids, ',', &id));
        EXPECT_EQ(one.body.p[0], "abc"[i]);
        EXPECT(slice_eq(properties_get(one.properties, SLICE("UNIQ_KEY")), id));
    }
    EXPECT(!rest.n && !ids.n && !broken);
    EXPECT_EQ(properties_get(s->h.properties, SLICE("UNIQ_KEY")).n, 32);
    SKY_OKAY(sky_message_set_delay_ms(m[1], 5));
    SKY_FAILS(sky_producer_send_batch_async(o->producer, (const struct sky_message *const *)m, 3, NULL, odd_sent, &out), SKY_INVALID, "message 1");
    SKY_FAILS(sky_producer_send_batch_async(o->producer, (const struct sky_message *const *)m, 0, NULL, odd_sent, &out), SKY_INVALID, "needs messages");
    for (int i = 0; i < 3; i++) sky_message_free(m[i]);
    odd_stop(o);
}

TEST(producer, what_no_server_would_take_is_refused_at_once)
{
    struct odd *o = odd_start(1);
    SKY_OKAY(sky_producer_options_set_max_message_bytes(o->options, 10));
    odd_producer(o);
    struct odd_outcome out = {.odd = o};
    static const struct {
        const char *topic, *body, *part;
    } rows[] = {{NULL, "x", "blank"}, {"no blank", "x", "illegal"}, {"Orders", "", "no body"}, {"Orders", "01234567890", "may have 10"},
                {"SCHEDULE_TOPIC_XXXX", "x", "forbidden"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sky_message *m = sky_message_new(rows[i].topic, rows[i].body, strlen(rows[i].body));
        SKY_FAILS(sky_producer_send_async(o->producer, m, NULL, odd_sent, &out), SKY_INVALID, rows[i].part);
        sky_message_free(m);
    }
    struct sky_message *m = sky_message_new("Orders", "x", 1);
    char *long_value = must_zero(40000);
    memset(long_value, 'v', 39999);
    SKY_OKAY(sky_message_set_property(m, "long", long_value));
    SKY_FAILS(sky_producer_send_async(o->producer, m, NULL, odd_sent, &out), SKY_INVALID, "properties");
    free(long_value);
    SKY_FAILS(sky_message_set_property(m, "UNIQ_KEY", "x"), SKY_INVALID, "system's");
    SKY_FAILS(sky_message_set_property(m, "a\1b", "x"), SKY_INVALID, "1 or 2");
    SKY_FAILS(sky_message_set_tag(m, "a\2b"), SKY_INVALID, "TAGS");
    SKY_FAILS(sky_message_set_delay_ms(m, -1), SKY_INVALID, "-1");
    sky_message_free(m);
    EXPECT_EQ(odd_sends(o), 0);
    EXPECT(!out.over);
    odd_stop(o);
}

TEST(producer, the_last_delay_that_was_set_counts)
{
    struct odd *o = odd_start(1);
    odd_producer(o);
    struct sky_message *m = sky_message_new("Orders", "x", 1);
    SKY_OKAY(sky_message_set_delay_level(m, 3));
    SKY_OKAY(sky_message_set_delay_ms(m, 1500));
    odd_send_message(o, m, NULL);
    struct slice p = o->broker[0].sends[0].h.properties;
    EXPECT_TEXT(properties_get(p, SLICE("TIMER_DELAY_MS")), "1500");
    EXPECT(!properties_get(p, SLICE("DELAY")).n);
    odd_stop(o);
}

/* --- tries --- */

TEST(producer, a_broker_that_says_busy_once_costs_a_try_and_another_broker_gets_the_message)
{
    struct odd *o = odd_start(2);
    odd_producer(o);
    odd_script(&o->broker[0], RESPONSE_SYSTEM_BUSY, -1000);
    odd_script(&o->broker[1], RESPONSE_SYSTEM_BUSY, -1000);
    struct odd_outcome out = odd_send(o);   /* J11: each says busy once, so the third try succeeds at the first broker again */
    EXPECT_EQ(out.error, SKY_OK);
    EXPECT_EQ(out.tries, 3);
    EXPECT_EQ(o->broker[0].count + o->broker[1].count, 3);
    EXPECT_EQ(o->broker[0].count == 2 ? o->broker[1].count : o->broker[0].count, 1);
    struct slice first = properties_get(o->broker[0].sends[0].h.properties, SLICE("UNIQ_KEY"));
    EXPECT(slice_eq(first, properties_get(o->broker[1].sends[0].h.properties, SLICE("UNIQ_KEY"))));
    odd_stop(o);
}

TEST(producer, the_tries_end_and_the_last_error_tells_where_and_why)
{
    struct odd *o = odd_start(1);
    odd_producer(o);
    odd_script(&o->broker[0], 2, 2, 14, -1000);
    struct odd_outcome out = odd_send(o);
    EXPECT_EQ(out.error, SKY_REFUSED);
    EXPECT_EQ(out.response, 14);
    EXPECT(strstr(out.text, "topic Orders, try 3, broker a: the server answered 14: as the test says"));
    EXPECT_EQ(o->broker[0].count, 3);
    odd_stop(o);
}

TEST(producer, what_is_wrong_with_a_message_is_not_tried_again)
{
    struct odd *o = odd_start(2);
    odd_producer(o);
    for (int i = 0; i < 2; i++) odd_script(&o->broker[i], RESPONSE_MESSAGE_ILLEGAL, -1000);
    struct odd_outcome out = odd_send(o);
    EXPECT_EQ(out.error, SKY_REFUSED);
    EXPECT_EQ(out.response, 13);
    EXPECT_EQ(odd_sends(o), 1);
    odd_stop(o);
}

TEST(producer, a_connection_that_breaks_costs_a_try)
{
    struct odd *o = odd_start(2);
    odd_producer(o);
    for (int i = 0; i < 2; i++) odd_script(&o->broker[i], ODD_CLOSE, -1000);
    struct odd_outcome out = odd_send(o);
    EXPECT_EQ(out.error, SKY_OK);
    EXPECT_EQ(out.tries, 3);
    odd_stop(o);
}

TEST(producer, a_silent_broker_costs_the_whole_time_unless_a_try_has_a_limit)
{
    for (int limited = 0; limited < 2; limited++) {
        struct odd *o = odd_start(2);
        if (limited) SKY_OKAY(sky_producer_options_set_try_timeout_ms(o->options, 500));
        odd_producer(o);
        for (int i = 0; i < 2; i++) odd_script(&o->broker[i], ODD_SILENT, -1000);
        int64_t begun = sim_now_ms(o->sim);
        struct odd_outcome out = odd_send(o);
        EXPECT_EQ(out.error, limited ? SKY_OK : SKY_TIMEOUT);
        EXPECT_EQ(odd_sends(o), limited ? 3 : 1);
        int64_t took = out.at_ms - begun;
        EXPECT(limited ? took >= 1000 && took < 1500 : took >= 3000 && took < 3200);
        odd_stop(o);
    }
}

TEST(producer, a_named_queue_is_tried_once)
{
    struct odd *o = odd_start(2);
    odd_producer(o);
    struct sky_send_options *how = sky_send_options_new();
    SKY_OKAY(sky_send_options_set_queue(how, "a", 0));
    odd_script(&o->broker[0], RESPONSE_SYSTEM_BUSY, -1000);
    struct odd_outcome out = odd_send_message(o, sky_message_new("Orders", "x", 1), how);
    EXPECT_EQ(out.error, SKY_BUSY);
    EXPECT_EQ(odd_sends(o), 1);
    sky_send_options_free(how);
    odd_stop(o);
}

TEST(producer, a_message_that_is_not_on_disk_yet_is_sent_again_only_when_that_is_wished)
{
    static const struct {
        int code;
        enum sky_stored stored;
    } rows[] = {{10, SKY_STORED_NOT_FLUSHED}, {11, SKY_STORED_NO_REPLICA}, {12, SKY_STORED_NOT_COPIED}};
    for (size_t i = 0; i < 6; i++) {
        bool again = i >= 3;
        struct odd *o = odd_start(1);
        sky_producer_options_set_retry_when_not_stored(o->options, again);
        odd_producer(o);
        odd_script(&o->broker[0], rows[i % 3].code, rows[i % 3].code, rows[i % 3].code, -1000);
        struct odd_outcome out = odd_send(o);
        EXPECT_EQ(out.error, SKY_OK);
        EXPECT_EQ(out.stored, rows[i % 3].stored);
        EXPECT_EQ(odd_sends(o), again ? 3 : 1);
        odd_stop(o);
    }
}

TEST(producer, a_slow_broker_is_avoided_for_a_while_when_that_is_wished)
{
    struct odd *o = odd_start(2);
    sky_producer_options_set_avoid_slow(o->options, true);
    odd_producer(o);
    o->broker[0].delay_ms = 700;   /* costs 2 s */
    while (!o->broker[0].count) odd_send(o);
    int64_t until = sim_now_ms(o->sim) + 1900;
    size_t slow = o->broker[0].count;
    for (int i = 0; i < 6; i++) odd_send(o);
    EXPECT(sim_now_ms(o->sim) < until);
    EXPECT_EQ(o->broker[0].count, slow);
    sim_run_for(o->sim, 2000);
    o->broker[0].delay_ms = 0;
    for (int i = 0; i < 4; i++) odd_send(o);
    EXPECT_EQ(o->broker[0].count, slow + 2);
    odd_stop(o);
}

/* --- routes --- */

TEST(route, changes_are_seen_at_the_next_refresh_and_the_order_of_the_answer_is_none)
{
    struct odd *o = odd_start(3);
    o->broker[2].registered = false;
    odd_producer(o);
    for (int i = 0; i < 4; i++) odd_send(o);
    EXPECT_EQ(o->broker[2].count, 0);
    EXPECT_EQ(o->route_requests, 1);
    o->broker[2].registered = true;
    o->broker[0].registered = false;
    size_t before = o->broker[0].count;
    sim_run_for(o->sim, 31000);
    for (int i = 0; i < 4; i++) odd_send(o);
    EXPECT_EQ(o->broker[2].count, 2);
    EXPECT_EQ(o->broker[0].count, before);
    EXPECT(o->broker[2].heartbeats >= 1);
    size_t beats = o->broker[0].heartbeats;
    sim_run_for(o->sim, 120000);   /* who has gone is not spoken to any more */
    EXPECT(o->broker[0].heartbeats <= beats + 1);
    EXPECT(o->broker[2].heartbeats >= 4);
    odd_stop(o);
}

TEST(route, a_topic_that_is_not_there_is_sent_to_where_the_default_one_is_with_as_many_queues_as_wished)
{
    struct odd *o = odd_start(1);
    o->topic_known = false;
    o->broker[0].queues = 8;
    SKY_OKAY(sky_producer_options_set_new_topic_queues(o->options, 3));
    odd_producer(o);
    int seen[8] = {0};
    for (int i = 0; i < 6; i++) seen[odd_send(o).queue_id]++;
    for (int i = 0; i < 8; i++) EXPECT_EQ(seen[i], i < 3 ? 2 : 0);
    EXPECT_EQ(o->broker[0].sends[0].h.default_topic_queue_nums, 3);
    o->topic_known = true;         /* the server has made it, with what it thinks right */
    sim_run_for(o->sim, 31000);
    for (int i = 0; i < 8; i++) seen[odd_send(o).queue_id]++;
    EXPECT_EQ(seen[7], 1);
    odd_stop(o);
}

TEST(route, a_topic_that_nobody_knows_is_said)
{
    struct odd *o = odd_start(1);
    o->topic_known = o->default_known = false;
    odd_producer(o);
    struct odd_outcome out = odd_send(o);
    EXPECT_EQ(out.error, SKY_NO_ROUTE);
    EXPECT_EQ(out.response, 17);
    EXPECT(strstr(out.text, "Orders"));
    odd_stop(o);
}

TEST(route, queues_without_permission_to_write_are_not_sent_to)
{
    struct odd *o = odd_start(2);
    o->broker[0].perm = 4;
    odd_producer(o);
    for (int i = 0; i < 4; i++) odd_send(o);
    EXPECT_EQ(o->broker[1].count, 4);
    odd_stop(o);
    o = odd_start(1);
    o->broker[0].perm = 4;
    odd_producer(o);
    struct odd_outcome out = odd_send(o);
    EXPECT_EQ(out.error, SKY_NO_ROUTE);
    EXPECT(strstr(out.text, "no queue"));
    odd_stop(o);
}

TEST(route, a_silent_name_server_costs_a_send_no_more_than_its_time)
{
    struct odd *o = odd_start(1);
    o->names_script = ODD_SILENT;
    odd_producer(o);
    struct sky_send_options *how = sky_send_options_new();
    SKY_OKAY(sky_send_options_set_timeout_ms(how, 800));
    int64_t begun = sim_now_ms(o->sim);
    struct odd_outcome out = odd_send_message(o, sky_message_new("Orders", "x", 1), how);
    EXPECT_EQ(out.error, SKY_TIMEOUT);
    EXPECT(out.at_ms - begun >= 800 && out.at_ms - begun < 900);
    o->names_script = 0;
    sim_run_for(o->sim, 3000);
    EXPECT_EQ(odd_send(o).error, SKY_OK);
    sky_send_options_free(how);
    odd_stop(o);
}

/* --- heartbeats --- */

TEST(heartbeat, brokers_hear_of_a_producer_at_once_and_then_every_thirty_seconds_and_of_its_end)
{
    struct odd *o = odd_start(2);
    odd_producer(o);
    odd_send(o);
    sim_run_for(o->sim, 100);
    for (int i = 0; i < 2; i++) {
        EXPECT_EQ(o->broker[i].heartbeats, 1);
        EXPECT_TEXT(buf_slice(&o->broker[i].last_heartbeat), "{\"clientID\":\"10.0.9.9@test\",\"consumerDataSet\":[],\"heartbeatFingerprint\":0,"
                                                             "\"producerDataSet\":[{\"groupName\":\"makers\"}],\"withoutSub\":false}");
    }
    sim_run_for(o->sim, 91000);
    EXPECT_EQ(o->broker[0].heartbeats, 4);
    EXPECT_EQ(o->broker[0].goodbyes, 0);
    producer_shutdown_begin(o->producer, NULL, NULL);
    sim_run_for(o->sim, 100);
    EXPECT(producer_is_over(o->producer));
    EXPECT_EQ(o->broker[0].goodbyes, 1);
    EXPECT_EQ(o->broker[1].goodbyes, 1);
    odd_stop(o);
}

TEST(heartbeat, a_group_leaves_the_brokers_with_its_last_producer)
{
    struct odd *o = odd_start(1);
    struct sky_producer *second;
    odd_producer(o);
    SKY_OKAY(sky_producer_open(o->client, o->options, &second));
    odd_send(o);
    sim_run_for(o->sim, 100);
    producer_shutdown_begin(second, NULL, NULL);
    sim_run_for(o->sim, 100);
    EXPECT_EQ(o->broker[0].goodbyes, 0);
    sky_producer_free(second);
    odd_stop(o);
}

/* --- limits and ends --- */

TEST(producer, more_than_may_be_under_way_is_refused_until_one_has_ended)
{
    struct odd *o = odd_start(1);
    SKY_OKAY(sky_producer_options_set_max_pending(o->options, 2, 1000));
    odd_producer(o);
    o->broker[0].delay_ms = 100;
    struct odd_outcome a, b, c;
    struct sky_message *m = sky_message_new("Orders", "x", 1);
    odd_send_begin(o, &a, m, NULL);
    odd_send_begin(o, &b, m, NULL);
    c = (struct odd_outcome){.odd = o};
    SKY_FAILS(sky_producer_send_async(o->producer, m, NULL, odd_sent, &c), SKY_FULL, "2 messages");
    struct sky_producer_statistics now = {.size = sizeof now};
    SKY_OKAY(sky_producer_get_statistics(o->producer, &now));
    EXPECT_EQ(now.pending_messages, 2);
    EXPECT_EQ(now.pending_bytes, 2);
    odd_wait(o, &a);
    odd_send_begin(o, &c, m, NULL);
    odd_wait(o, &c);
    SKY_OKAY(sky_producer_get_statistics(o->producer, &now));
    EXPECT_EQ(now.sent, 3);
    EXPECT_EQ(now.pending_bytes, 0);
    sky_message_free(m);
    char large[1001] = "x";
    m = sky_message_new("Orders", large, sizeof large);   /* alone it may */
    odd_send_begin(o, &a, m, NULL);
    SKY_FAILS(sky_producer_send_async(o->producer, m, NULL, odd_sent, &c), SKY_FULL, "1000 bytes");
    odd_wait(o, &a);
    sky_message_free(m);
    odd_stop(o);
}

TEST(producer, a_shutdown_waits_for_what_is_under_way_and_nothing_new_is_taken)
{
    struct odd *o = odd_start(1);
    odd_producer(o);
    o->broker[0].delay_ms = 900;
    struct odd_outcome a, b;
    struct sky_message *m = sky_message_new("Orders", "x", 1);
    odd_send_begin(o, &a, m, NULL);
    client_shutdown_begin(o->client, NULL, NULL);
    client_shutdown_begin(o->client, NULL, NULL);   /* J9: twice */
    SKY_FAILS(sky_producer_send_async(o->producer, m, NULL, odd_sent, &b), SKY_CLOSED, NULL);
    SKY_FAILS(sky_producer_open(o->client, o->options, &o->producer), SKY_CLOSED, NULL);
    EXPECT(!client_is_over(o->client));
    odd_shutdown(o);
    EXPECT(a.over && a.error == SKY_OK);
    sky_message_free(m);
    odd_stop(o);
}

TEST(producer, a_shutdown_while_nobody_can_be_reached_ends_with_the_times_of_the_sends)
{
    struct odd *o = odd_start(1);
    odd_producer(o);
    struct odd_outcome out[8];
    struct sky_message *m = sky_message_new("Orders", "x", 1);
    odd_send(o);
    sim_partition(o->sim, "10.0.9.9", "10.0.1.1", 1000000);
    for (int i = 0; i < 8; i++) odd_send_begin(o, &out[i], m, NULL);
    sky_message_free(m);
    int64_t begun = sim_now_ms(o->sim);
    odd_shutdown(o);
    for (int i = 0; i < 8; i++) EXPECT_EQ(out[i].error, SKY_TIMEOUT);
    EXPECT(sim_now_ms(o->sim) - begun < 6500);   /* 3 s for the sends, and then 3 s for good-byes */
    odd_stop(o);
}

TEST(producer, a_oneway_message_is_sent_once_and_counts_as_nothing)
{
    struct odd *o = odd_start(1);
    odd_producer(o);
    odd_script(&o->broker[0], RESPONSE_SYSTEM_BUSY, -1000);
    struct sky_message *m = sky_message_new("Orders", "x", 1);
    SKY_OKAY(sky_producer_send_oneway(o->producer, m, NULL));
    sky_message_free(m);
    sim_run_for(o->sim, 5000);
    EXPECT_EQ(odd_sends(o), 1);
    struct sky_producer_statistics now = {.size = sizeof now};
    SKY_OKAY(sky_producer_get_statistics(o->producer, &now));
    EXPECT_EQ(now.sent + now.failed + now.pending_messages, 0);
    odd_stop(o);
}
