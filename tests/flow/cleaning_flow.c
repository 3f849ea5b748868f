#include "flow/flow.h"

#include "os/file.h"

static int32_t ask(struct flow *f, int32_t code) { return flow_code(f, code, NULL, NULL, NULL, NULL); }

static void forget_topics(struct flow *f)
{
    static const char *const names[] = {"/store/config/topics.json", "/store/config/topics.json.bak"};
    for (size_t i = 0; i < 2; i++) {
        err_t e = fs_remove(sim_fs_disk(f->disk), names[i]);
        EXPECT(!e || err_code(e) == ERR_NOT_FOUND);
        err_free(e);
    }
}

TEST(cleaning, files_of_topics_that_do_not_exist_go_when_somebody_asks_and_no_others)
{
    static const char *const settings[] = {"autoCreateTopicEnable=false", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "Gone", 1);
    flow_make_topic(f, "Kept", 1);
    EXPECT_EQ(flow_send(f, "Gone", 0, "", "a").code, RESPONSE_SUCCESS);
    EXPECT_EQ(flow_send(f, "Kept", 0, "", "b").code, RESPONSE_SUCCESS);
    sim_run_for(f->sim, 10000);
    forget_topics(f);
    flow_crash(f);
    flow_make_topic(f, "Kept", 1);
    EXPECT(flow_is_there(f, "/store/consumequeue/Gone"));
    EXPECT_EQ(ask(f, REQUEST_CLEAN_UNUSED_TOPIC), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 1000);
    EXPECT(!flow_is_there(f, "/store/consumequeue/Gone"));
    EXPECT_EQ(flow_pull(f, "Kept", 0, 0, "*").count, 1);
    EXPECT_EQ(flow_send(f, "Kept", 0, "", "c").queue_offset, 1);
    flow_stop(f);
}

TEST(cleaning, old_files_go_when_somebody_asks)
{
    static const char *const settings[] = {"mappedFileSizeCommitLog=65536", "deleteWhen=", "fileReservedTime=1", NULL};
    static char body[4001];
    struct flow *f = flow_start(settings);
    memset(body, 'x', 4000);
    flow_make_topic(f, "T", 1);
    flow_make_topic(f, "Old", 1);
    for (int i = 0; i < 2; i++) EXPECT_EQ(flow_send(f, "Old", 0, "", "o").code, RESPONSE_SUCCESS);
    for (int i = 0; i < 60; i++) EXPECT_EQ(flow_send(f, "T", 0, "", body).code, RESPONSE_SUCCESS);
    sim_run_for(f->sim, 20000);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").min, 0);
    EXPECT_EQ(ask(f, REQUEST_DELETE_EXPIRED_COMMITLOG), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 20000);
    int64_t min = flow_pull(f, "T", 0, 0, "*").min;
    EXPECT(min > 0);   /* the disk of this world writes its files in 1970 */
    EXPECT_EQ(ask(f, REQUEST_CLEAN_EXPIRED_CONSUMEQUEUE), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 20000);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").min, min);
    EXPECT_EQ(flow_pull(f, "T", 0, 59, "*").count, 1);
    EXPECT_EQ(flow_pull(f, "Old", 0, 0, "*").min, 2);
    EXPECT_EQ(flow_send(f, "Old", 0, "", "o").queue_offset, 2);   /* whoever had consumed two goes on with the third */
    flow_stop(f);
}

TEST(cleaning, the_hours_of_the_day_are_followed_when_they_are_changed)
{
    static const char *const settings[] = {"mappedFileSizeCommitLog=65536", "deleteWhen=", "fileReservedTime=1", NULL};
    static char body[4001];
    char remark[512];
    struct flow *f = flow_start(settings);
    memset(body, 'x', 4000);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 60; i++) EXPECT_EQ(flow_send(f, "T", 0, "", body).code, RESPONSE_SUCCESS);
    sim_run_for(f->sim, 20000);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").min, 0);
    EXPECT(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "deleteWhen=24", remark) != RESPONSE_SUCCESS);
    EXPECT(strstr(remark, "deleteWhen must be hours of the day"));
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL,
                        "deleteWhen=0;1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;20;21;22;23", NULL), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 20000);
    EXPECT(flow_pull(f, "T", 0, 0, "*").min > 0);
    flow_stop(f);
}

/* --- a time of its own: the attribute reserve.time, in hours --- */

static void run_minutes(struct flow *f, int minutes)
{
    for (int i = 0; i < minutes; i++) {   /* the connection is not idle */
        sim_run_for(f->sim, 60000);
        flow_metric(f, "skylark_connections");
    }
}

TEST(cleaning, a_topic_with_reserve_time_shows_its_messages_for_so_many_hours)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic_with(f, "T", 1, "+reserve.time=2");
    flow_make_topic(f, "Usual", 1);
    for (int i = 0; i < 3; i++) {
        flow_send(f, "T", 0, "", "x");
        flow_send(f, "Usual", 0, "", "x");
    }
    run_minutes(f, 115);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").count, 3);
    flow_send(f, "T", 0, "", "young");
    run_minutes(f, 7);
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    EXPECT(p.code == RESPONSE_PULL_OFFSET_MOVED && p.next == 3 && p.min == 3 && p.max == 4);
    EXPECT_EQ(flow_pull(f, "T", 0, 3, "*").count, 1);
    EXPECT_EQ(flow_pull(f, "Usual", 0, 0, "*").count, 3);
    flow_restart(f);
    sim_run_for(f->sim, 2000);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").next, 3);
    flow_make_topic_with(f, "T", 1, "-reserve.time");
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").count, 4);   /* the log has them still */
    flow_stop(f);
}
