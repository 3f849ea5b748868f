/* A broker that cannot start says why, and leaves nothing behind: no port, no lock, no memory. */
#include "flow/flow.h"

struct attempt {
    struct broker_options options;
    struct broker *broker;
    err_t e;
};

static void begin(void *ctx)
{
    struct attempt *a = ctx;
    a->e = broker_new(&a->options, &a->broker);
}

static void end(void *ctx)
{
    struct attempt *a = ctx;
    EXPECT_OK(broker_free(a->broker));
}

/* A second broker on the machine of the first, with a store of its own. */
struct second {
    struct config config;
    struct attempt attempt;
    struct loop *loop;
};

static void second_init(struct flow *f, struct second *s, const char *port)
{
    config_init(&s->config, CONFIG_BROKER);
    EXPECT_OK(config_set(&s->config, SLICE("brokerName"), SLICE("broker-b")));
    EXPECT_OK(config_set(&s->config, SLICE("storePathRootDir"), SLICE("/second")));
    EXPECT_OK(config_set(&s->config, SLICE("mappedFileSizeCommitLog"), SLICE("1048576")));
    s->loop = sim_loop_new(f->process);
    s->attempt = (struct attempt){.options = {.loop = s->loop, .fs = sim_fs_disk(f->disk), .config = &s->config}};
    EXPECT_OK(addr_parse(slice_text(port), &s->attempt.options.listen));
    s->attempt.options.advertised = s->attempt.options.listen;
}

static void expect_refused(struct second *s, enum err_code code, const char *text)
{
    sim_call(s->loop, begin, &s->attempt);
    EXPECT(strstr(err_text(s->attempt.e), text));
    EXPECT_ERR(s->attempt.e, code);
}

static void expect_started(struct second *s)
{
    sim_call(s->loop, begin, &s->attempt);
    EXPECT_OK(s->attempt.e);
    sim_call(s->loop, end, &s->attempt);
    config_done(&s->config);
}

TEST(start, a_port_that_is_taken_is_told_and_nothing_is_left_behind)
{
    struct flow *f = flow_start(NULL);
    struct second s;
    second_init(f, &s, "127.0.0.2:10911");
    expect_refused(&s, ERR_NETWORK, "10911");
    s.attempt.options.listen.port = 10913;   /* its fast port is the main one of the first */
    expect_refused(&s, ERR_NETWORK, "10911");
    s.attempt.options.listen.port = 10915;
    expect_started(&s);
    flow_stop(f);
}

TEST(start, files_that_cannot_be_read_are_told_and_nothing_is_left_behind)
{
    static const char *const names[] = {"/second/config/topics.json", "/second/config/subscriptionGroup.json", "/second/config/consumerOffset.json",
                                        "/second/config/delayOffset.json", "/second/config/timermetrics"};
    struct flow *f = flow_start(NULL);
    struct second s;
    second_init(f, &s, "127.0.0.2:10915");
    EXPECT_OK(fs_make_durable_folder(sim_fs_disk(f->disk), "/second/config"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        EXPECT_OK(fs_replace_file(sim_fs_disk(f->disk), names[i], SLICE("{\"half\":")));
        expect_refused(&s, ERR_BODY, names[i]);
        EXPECT_OK(fs_remove(sim_fs_disk(f->disk), names[i]));
    }
    expect_started(&s);
    flow_stop(f);
}

TEST(start, delay_levels_that_cannot_be_are_named_and_the_start_is_refused)
{
    struct flow *f = flow_start(NULL);
    struct second s;
    second_init(f, &s, "127.0.0.2:10915");
    EXPECT_OK(config_set(&s.config, SLICE("messageDelayLevel"), SLICE("1s 5 10s")));
    expect_refused(&s, ERR_CONFIG, "messageDelayLevel: '5' is no time such as 1s, 5m, 2h or 1d");
    EXPECT_OK(config_set(&s.config, SLICE("messageDelayLevel"), SLICE("1s 5s")));
    expect_started(&s);
    flow_stop(f);
}

TEST(start, a_folder_in_use_is_told)
{
    struct flow *f = flow_start(NULL);
    struct second s;
    second_init(f, &s, "127.0.0.2:10915");
    EXPECT_OK(config_set(&s.config, SLICE("storePathRootDir"), SLICE("/store")));
    expect_refused(&s, ERR_LOCKED, "/store");
    EXPECT_OK(config_set(&s.config, SLICE("storePathRootDir"), SLICE("/second")));
    expect_started(&s);
    EXPECT_EQ(flow_code(f, 12345, NULL, NULL, NULL, NULL), RESPONSE_REQUEST_CODE_NOT_SUPPORTED);   /* the first one lives */
    flow_stop(f);
}
