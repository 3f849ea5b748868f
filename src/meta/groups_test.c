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

static struct group_config with_attribute(const char *key, const char *value)
{
    static struct pair pair;
    struct group_config g = group_config_default;
    pair = (struct pair){slice_text(key), slice_text(value)};
    g.name = SLICE("lite");
    g.attributes.items = &pair;
    g.attributes.count = 1;
    return g;
}

TEST(groups, attributes_are_edited_by_the_rules_of_the_original)
{
    static const struct {
        const char *key, *value, *error;
    } rows[] = {
        {"+lite.bind.topic", "P", NULL},
        {"+lite.sub.client.quota", "5", NULL},
        {"+lite.sub.client.quota", "-2", "value is not in range(-1, 9223372036854775807)"},
        {"+priority.factor", "101", "value is not in range(0, 100)"},
        {"+lite.sub.model", "Both", "value is not in set: [Shared, Exclusive]"},
        {"+lite.sub.reset.offset.exclusive", "maybe", "boolean attribute format is wrong."},
        {"+lite.sub.reset.offset.exclusive", "TRUE", NULL},
        {"+message.type", "LITE", "unsupported key: message.type"},
        {"lite.bind.topic", "P", "wrong format key: ite.bind.topic"},
        {"-lite.sub.client.quota", "", NULL},
    };
    struct meta_fixture *f = start();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct group_config wanted = with_attribute(rows[i].key, rows[i].value);
        err_t e = groups_set(f->groups, &wanted);
        EXPECT_EQ(!e, !rows[i].error);
        if (e) EXPECT_TEXT(slice_text(err_text(e)), rows[i].error);
        err_free(e);
    }
    const struct group *g = groups_find(f->groups, SLICE("lite"));
    EXPECT_TEXT(group_config_attribute(&g->config, SLICE("lite.bind.topic")), "P");
    EXPECT(!group_config_attribute(&g->config, SLICE("lite.sub.client.quota")).p);
    EXPECT_EQ(g->config.attributes.count, 2);
    meta_fixture_free(f);
}
