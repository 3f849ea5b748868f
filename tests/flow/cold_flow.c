/* What is not in memory: requests that read it wait for a worker, all others go on. Who touches such bytes on the loop dies of it here. */
#include "flow/flow.h"

#include "codec/body_stats.h"
#include "codec/record.h"

#include <stdio.h>

enum { MESSAGES = 60 };

static struct flow *filled(void)
{
    struct flow *f = flow_start(NULL);
    char body[1001], key[40];
    memset(body, 'x', 1000);
    body[1000] = 0;
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < MESSAGES; i++) {
        snprintf(key, sizeof key, "KEYS=key%d;TAGS=%s", i, i % 2 ? "odd" : "even");
        EXPECT_EQ(flow_send(f, "T", 0, key, body).queue_offset, i);
    }
    sim_run_for(f->sim, 5000);   /* all of it is synced, and in the index */
    return f;
}

TEST(cold, a_consumer_of_the_past_gets_every_message)
{
    struct flow *f = filled();
    int64_t at = 0;
    for (int pulls = 0; at < MESSAGES; pulls++) {
        EXPECT(pulls < MESSAGES);
        flow_evict(f);
        struct pulled p = flow_pull(f, "T", 0, at, "*");
        EXPECT_EQ(p.code, RESPONSE_SUCCESS);
        EXPECT(p.count > 0);
        for (size_t i = 0; i < p.count; i++, at++) EXPECT_EQ(p.messages[i].queue_offset, at);
        EXPECT_EQ(p.next, at);
    }
    flow_evict(f);
    struct pulled p = flow_pull(f, "T", 0, 0, "odd");
    EXPECT(p.count > 0 && p.messages[0].queue_offset == 1);
    flow_stop(f);
}

static struct answer *ask(struct flow *f, int32_t code, const struct header_kind *kind, const void *header)
{
    flow_evict(f);
    struct answer *a = caller_call(f->caller, code, kind, header, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    return a;
}

static bool says(const struct answer *a, const char *text) { return memmem(a->frame.body.p, a->frame.body.n, text, strlen(text)); }

static int64_t number_of(struct answer *a)
{
    struct offset_reply_header reply;
    EXPECT_OK(header_decode(&offset_reply_kind, &a->frame, &reply));
    answer_free(a);
    return reply.offset;
}

TEST(cold, places_times_and_single_messages_are_told_as_if_all_were_in_memory)
{
    struct flow *f = filled();
    struct pulled p = flow_pull(f, "T", 0, 40, "*");
    int64_t ms = p.messages[0].store_ms;
    struct min_offset_header min = {.topic = SLICE("T"), .queue_id = 0};
    EXPECT_EQ(number_of(ask(f, REQUEST_GET_MIN_OFFSET, &min_offset_kind, &min)), 0);
    struct search_offset_header search = {.topic = SLICE("T"), .queue_id = 0, .timestamp = ms, .boundary_type = SLICE("lower")};
    EXPECT_EQ(p.messages[0].queue_offset, 40);
    int64_t found = number_of(ask(f, REQUEST_SEARCH_OFFSET_BY_TIMESTAMP, &search_offset_kind, &search));
    EXPECT(found <= 40 && found > 0);
    struct earliest_time_header earliest = {.topic = SLICE("T"), .queue_id = 0};
    struct earliest_time_reply_header first;
    struct answer *a = ask(f, REQUEST_GET_EARLIEST_MSG_STORETIME, &earliest_time_kind, &earliest);
    EXPECT_OK(header_decode(&earliest_time_reply_kind, &a->frame, &first));
    EXPECT(first.timestamp > 0 && first.timestamp <= ms);
    answer_free(a);
    struct view_message_header view = {.offset = p.messages[0].log_offset};
    struct message m;
    a = ask(f, REQUEST_VIEW_MESSAGE_BY_ID, &view_message_kind, &view);
    EXPECT_EQ(record_read(a->frame.body, &m), RECORD_WHOLE);
    EXPECT_EQ(m.queue_offset, 40);
    answer_free(a);
    flow_stop(f);
}

TEST(cold, tables_of_tools_are_complete)
{
    struct flow *f = filled();
    struct update_offset_header commit = {.consumer_group = SLICE("G"), .topic = SLICE("T"), .queue_id = 0, .commit_offset = 10};
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_CONSUMER_OFFSET, &update_offset_kind, &commit, NULL, NULL), RESPONSE_SUCCESS);
    struct topic_stats_header topic = {.topic = SLICE("T")};
    struct answer *a = ask(f, REQUEST_GET_TOPIC_STATS_INFO, &topic_stats_kind, &topic);
    EXPECT(says(a, "\"maxOffset\":60"));
    EXPECT(!says(a, "\"lastUpdateTimestamp\":0"));
    answer_free(a);
    struct consume_stats_header group = {.consumer_group = SLICE("G")};
    a = ask(f, REQUEST_GET_CONSUME_STATS, &consume_stats_kind, &group);
    EXPECT(says(a, "\"consumerOffset\":10"));
    EXPECT(!says(a, "\"lastTimestamp\":0"));
    answer_free(a);
    struct reset_offset_header reset = {.topic = SLICE("T"), .group = SLICE("G"), .timestamp = 1, .is_force = true};
    answer_free(ask(f, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, &reset_offset_kind, &reset));
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 0);
    flow_stop(f);
}

TEST(cold, many_who_read_the_past_and_one_who_sends_are_all_served)
{
    enum { READERS = 20 };
    struct flow *f = filled();
    struct caller *other = flow_caller(f), *mine = f->caller, *reader[READERS];
    int32_t past[READERS];
    for (int i = 0; i < READERS; i++) reader[i] = flow_caller(f);
    flow_evict(f);
    for (int i = 0; i < READERS; i++) {
        f->caller = reader[i];
        past[i] = flow_pull_waiting(f, "T", 0, 2 * i, "*", 0);
    }
    int32_t send = flow_send_begin(f, other, "T", "new");
    struct answer *a = caller_reply(other, send, 1000);
    EXPECT(a && a->frame.code == RESPONSE_SUCCESS);
    answer_free(a);
    for (int i = 0; i < READERS; i++) {
        f->caller = reader[i];
        struct pulled p = flow_pulled(f, past[i], 1000);
        EXPECT_EQ(p.code, RESPONSE_SUCCESS);
        EXPECT(p.count > 0 && p.messages[0].queue_offset == 2 * i);
        caller_close(reader[i]);
    }
    f->caller = mine;
    caller_close(other);
    flow_stop(f);
}

TEST(cold, who_waits_for_the_disk_goes_with_its_connection_and_with_the_broker)
{
    struct flow *f = filled();
    struct caller *other = flow_caller(f);
    struct view_message_header view = {.offset = 0};
    flow_evict(f);
    caller_request(other, REQUEST_VIEW_MESSAGE_BY_ID, &view_message_kind, &view, (struct slice){NULL, 0});
    sim_run_for(f->sim, 1);
    caller_close(other);
    sim_run_for(f->sim, 1000);
    flow_evict(f);
    flow_pull_waiting(f, "T", 0, 0, "*", 0);
    sim_run_for(f->sim, 1);
    flow_stop(f);   /* with nothing left behind: it would be a leak */
}

/* The beginning of the queue has to be looked up anew, because the log begins elsewhere since. */
TEST(cold, a_pull_that_waits_for_messages_is_woken_by_the_end_of_the_broker_though_its_queue_is_not_in_memory)
{
    static const char *const settings[] = {"mappedFileSizeCommitLog=65536", "deleteWhen=", "fileReservedTime=1", NULL};
    static char body[4001];
    struct flow *f = flow_start(settings);
    memset(body, 'x', 4000);
    flow_make_topic(f, "Old", 1);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 2; i++) EXPECT_EQ(flow_send(f, "Old", 0, "", "o").code, RESPONSE_SUCCESS);
    for (int i = 0; i < 60; i++) EXPECT_EQ(flow_send(f, "T", 0, "", body).code, RESPONSE_SUCCESS);
    sim_run_for(f->sim, 20000);
    flow_pull_waiting(f, "Old", 0, 2, "*", 600000);
    sim_run_for(f->sim, 100);
    EXPECT_EQ(flow_metric(f, "skylark_held_pulls"), 1);
    EXPECT_EQ(flow_code(f, REQUEST_DELETE_EXPIRED_COMMITLOG, NULL, NULL, NULL, NULL), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 20000);
    EXPECT(flow_pull(f, "T", 0, 0, "*").min > 0);
    flow_evict(f);
    flow_free_broker(f);
    flow_stop(f);
}
