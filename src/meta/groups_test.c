#include "meta/meta_fixture.h"

static struct meta_fixture *start(void)
{
    struct meta_fixture *f = meta_fixture_new(2);
    meta_fixture_open(f);
    return f;
}

TEST(groups, the_known_ones_are_there_from_the_start)
{
    struct meta_fixture *f = start();
    EXPECT_EQ(groups_count(f->groups), 8);
    EXPECT(groups_find(f->groups, SLICE("TOOLS_CONSUMER"))->system);
    EXPECT(groups_find(f->groups, SLICE("CID_RMQ_SYS_TRANS")));
    meta_fixture_free(f);
}

TEST(groups, the_first_use_makes_a_group_with_defaults)
{
    struct meta_fixture *f = start();
    const struct group *g = groups_find_or_create(f->groups, SLICE("G"));
    EXPECT(g && g->config.consume_enable && g->config.notify_ids_changed);
    EXPECT_EQ(g->config.retry_max_times, 16);
    EXPECT_EQ(g->config.retry_queues, 1);
    EXPECT_EQ(g->config.slow_broker_id, 1);
    EXPECT(groups_find_or_create(f->groups, SLICE("G")) == g);
    EXPECT_EQ(groups_version(f->groups).counter, 1);
    EXPECT(!groups_find_or_create(f->groups, SLICE("bad name")));
    EXPECT(!groups_find_or_create(f->groups, SLICE("")));
    groups_set_auto_create(f->groups, false);
    EXPECT(!groups_find_or_create(f->groups, SLICE("H")));
    EXPECT(groups_find_or_create(f->groups, SLICE("CID_RMQ_SYS_X")));
    meta_fixture_free(f);
}

TEST(groups, what_is_set_survives_a_stop)
{
    struct meta_fixture *f = start();
    struct group_config c = group_config_default;
    struct exponential_retry policy = {1000, 60000, 3};
    c.name = SLICE("G");
    c.retry_max_times = 3;
    c.consume_enable = false;
    c.retry = (struct retry_policy){.type = RETRY_POLICY_EXPONENTIAL, .exponential = &policy};
    EXPECT_OK(groups_set(f->groups, &c));
    groups_set_read_forbidden(f->groups, SLICE("G"), SLICE("T"), true);
    groups_set_read_forbidden(f->groups, SLICE("G"), SLICE("U"), true);
    groups_set_read_forbidden(f->groups, SLICE("G"), SLICE("U"), false);
    c.name = SLICE("a b");
    EXPECT_ERR(groups_set(f->groups, &c), ERR_INVALID);
    c.name = SLICE("absurd");
    c.retry_queues = 1000000000;   /* the retry topic would have so many */
    EXPECT_ERR(groups_set(f->groups, &c), ERR_INVALID);
    c.retry_queues = -1;
    EXPECT_ERR(groups_set(f->groups, &c), ERR_INVALID);
    meta_fixture_close(f);
    meta_fixture_open(f);
    const struct group *g = groups_find(f->groups, SLICE("G"));
    EXPECT(g && !g->config.consume_enable);
    EXPECT_EQ(g->config.retry_max_times, 3);
    EXPECT_EQ(g->config.retry.type, RETRY_POLICY_EXPONENTIAL);
    EXPECT_EQ(g->config.retry.exponential->multiplier, 3);
    EXPECT(groups_is_read_forbidden(f->groups, SLICE("G"), SLICE("T")));
    EXPECT(!groups_is_read_forbidden(f->groups, SLICE("G"), SLICE("U")));
    EXPECT(groups_delete(f->groups, SLICE("G")));
    EXPECT(!groups_delete(f->groups, SLICE("G")));
    EXPECT(!groups_is_read_forbidden(f->groups, SLICE("G"), SLICE("T")));
    meta_fixture_free(f);
}
