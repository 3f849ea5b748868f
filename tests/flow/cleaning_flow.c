#include "flow/flow.h"

#include "os/file.h"

static int32_t ask(struct flow *f, int32_t code) { return flow_code(f, code, NULL, NULL, NULL, NULL); }

static bool is_there(struct flow *f, const char *path)
{
    struct file_info info;
    err_t e = fs_info(sim_fs_disk(f->disk), path, &info);
    bool there = !e;
    err_free(e);
    return there;
}

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
    EXPECT(is_there(f, "/store/consumequeue/Gone"));
    EXPECT_EQ(ask(f, REQUEST_CLEAN_UNUSED_TOPIC), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 1000);
    EXPECT(!is_there(f, "/store/consumequeue/Gone"));
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
