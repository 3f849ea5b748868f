#include "kit/test.h"
#include "base/config.h"
#include "base/properties_file.h"

#include <stdlib.h>

static void expect_property(struct properties *p, struct arena *arena, const char *key, const char *value, int line)
{
    struct slice k, v;
    EXPECT(properties_file_next(p, arena, &k, &v));
    EXPECT_TEXT(k, key);
    EXPECT_TEXT(v, value);
    EXPECT_EQ(p->line, line);
}

TEST(properties_file, reads_what_java_reads)
{
    static const char text[] = "# comment\n"
                               "! another\r\n"
                               "a=1\n"
                               "  b : two words \n"
                               "c d\n"
                               "\n"
                               "e=x\\\n"
                               "    y\\\r\n"
                               "  z\n"
                               "f\\=g=h\\ti\\u4e2d\\\\\n"
                               "only\n"
                               "=no key\n"
                               "last=\\";
    struct arena arena = ARENA_EMPTY;
    struct properties p;
    struct slice k, v;
    properties_file_begin(&p, slice_text(text));
    expect_property(&p, &arena, "a", "1", 3);
    expect_property(&p, &arena, "b", "two words ", 4);
    expect_property(&p, &arena, "c", "d", 5);
    expect_property(&p, &arena, "e", "xyz", 7);
    expect_property(&p, &arena, "f=g", "h\ti\xE4\xB8\xAD\\", 10);
    expect_property(&p, &arena, "only", "", 11);
    expect_property(&p, &arena, "", "no key", 12);
    expect_property(&p, &arena, "last", "\\", 13);
    EXPECT(!properties_file_next(&p, &arena, &k, &v));
    arena_done(&arena);
}

TEST(properties_file, every_cut_and_random_bytes_are_read_without_reading_past_them)
{
    static const char alphabet[] = "ab=: \\\n\r#!u0\t";
    uint64_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        struct arena arena = ARENA_EMPTY;
        struct properties p;
        struct slice k, v;
        size_t n = (size_t)round % 40;
        uint8_t *text = must_alloc(n);
        for (size_t i = 0; i < n; i++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            text[i] = (uint8_t)alphabet[(seed >> 33) % (sizeof alphabet - 1)];
        }
        properties_file_begin(&p, slice_of(text, n));
        while (properties_file_next(&p, &arena, &k, &v)) continue;
        arena_done(&arena);
        free(text);
    }
}

TEST(config, defaults_are_those_of_the_original_but_for_flushing_and_expressions)
{
    struct config c;
    config_init(&c, CONFIG_SERVER);
    EXPECT_EQ(c.broker.listen_port, 10911);
    EXPECT_EQ(c.namesrv.listen_port, 9876);
    EXPECT_EQ(c.store.flush_disk_type, SYNC_FLUSH);
    EXPECT(c.broker.auto_create_topic);
    EXPECT(c.broker.property_filter);
    EXPECT(!c.broker.name);
    assert_string_equal(c.broker.cluster, "DefaultCluster");
    config_done(&c);
}

TEST(config, a_broker_conf_of_the_original_is_accepted_as_it_is)
{
    static const char text[] = "brokerClusterName = DefaultCluster\nbrokerName = broker-a\nbrokerId = 0\ndeleteWhen = 04\n"
                               "fileReservedTime = 48\nbrokerRole = ASYNC_MASTER\nflushDiskType = ASYNC_FLUSH\n";
    struct config c;
    config_init(&c, CONFIG_BROKER);
    EXPECT_OK(config_load(&c, slice_text(text), "broker.conf"));
    assert_string_equal(c.broker.name, "broker-a");
    EXPECT_EQ(c.store.flush_disk_type, ASYNC_FLUSH);
    EXPECT_EQ(c.store.clean_reserved_hours, 48);
    EXPECT_EQ(c.ignored.count, 0);
    config_done(&c);
}

static void expect_error(const char *text, const char *message)
{
    struct config c;
    config_init(&c, CONFIG_BROKER);
    err_t e = config_load(&c, slice_text(text), "x.conf");
    EXPECT(e);
    assert_string_equal(err_text(e), message);
    EXPECT_ERR(e, ERR_CONFIG);
    config_done(&c);
}

TEST(config, mistakes_are_told_with_file_line_and_what_was_meant)
{
    expect_error("a=b\n", "x.conf, line 1: unknown key a");
    expect_error("\nbrokerNmae=b\n", "x.conf, line 2: unknown key brokerNmae; did you mean brokerName?");
    expect_error("listenport=1\n", "x.conf, line 1: unknown key listenport; did you mean listenPort?");
    expect_error("listenPort=70000\n", "x.conf, line 1: listenPort must be between 0 and 65535, not 70000");
    expect_error("listenPort=abc\n", "x.conf, line 1: listenPort must be a number, not \"abc\"");
    expect_error("flushDiskType=MAYBE\n", "x.conf, line 1: flushDiskType must be ASYNC_FLUSH or SYNC_FLUSH, not \"MAYBE\"");
    expect_error("longPollingEnable=yes\n", "x.conf, line 1: longPollingEnable must be true or false, not \"yes\"");
}

TEST(config, keys_of_the_name_server_are_none_of_the_broker)
{
    struct config c;
    config_init(&c, CONFIG_NAMESRV);
    EXPECT_OK(config_set(&c, SLICE("listenPort"), SLICE("19876")));
    EXPECT_EQ(c.namesrv.listen_port, 19876);
    EXPECT_EQ(c.broker.listen_port, 10911);
    EXPECT_ERR(config_set(&c, SLICE("brokerName"), SLICE("x")), ERR_CONFIG);
    config_done(&c);
}

TEST(config, an_update_is_all_or_nothing)
{
    struct config c;
    config_init(&c, CONFIG_BROKER);
    EXPECT_OK(config_update(&c, SLICE("autoCreateTopicEnable=false\nnoSuchKey=1\ndeleteCommitLogFilesInterval=50\n"), CONFIG_BROKER));
    EXPECT(!c.broker.auto_create_topic);
    EXPECT_ERR(config_update(&c, SLICE("autoCreateTopicEnable=true\nbrokerConfigPath=x\n"), CONFIG_BROKER), ERR_NO_PERMISSION);
    EXPECT_ERR(config_update(&c, SLICE("autoCreateTopicEnable=true\nshortPollingTimeMills=x\n"), CONFIG_BROKER), ERR_CONFIG);
    EXPECT_ERR(config_update(&c, SLICE("autoCreateTopicEnable=true\nlistenPort=1\n"), CONFIG_BROKER), ERR_CONFIG);
    EXPECT_OK(config_update(&c, SLICE("listenPort=10911\n"), CONFIG_BROKER));   /* as it is: fine */
    EXPECT(!c.broker.auto_create_topic);
    EXPECT_ERR(config_update(&c, SLICE("kvConfigPath=x\n"), CONFIG_NAMESRV), ERR_NO_PERMISSION);
    config_done(&c);
}

TEST(config, hours_of_the_day_are_read_and_written_like_the_original)
{
    struct config c;
    struct buf out = BUF_EMPTY;
    config_init(&c, CONFIG_BROKER);
    EXPECT_EQ(c.store.clean_hours, 1 << 4);
    EXPECT_OK(config_set(&c, SLICE("deleteWhen"), SLICE("23;4; 16;")));
    EXPECT_EQ(c.store.clean_hours, 1 << 23 | 1 << 4 | 1 << 16);
    config_write(&c, CONFIG_BROKER, &out);
    EXPECT(memmem(out.p, out.n, "\ndeleteWhen=04;16;23\n", 21));
    EXPECT_ERR(config_set(&c, SLICE("deleteWhen"), SLICE("24")), ERR_CONFIG);
    EXPECT_ERR(config_set(&c, SLICE("deleteWhen"), SLICE("4am")), ERR_CONFIG);
    EXPECT_ERR(config_set(&c, SLICE("deleteWhen"), SLICE("4;;5")), ERR_CONFIG);
    EXPECT_EQ(c.store.clean_hours, 1 << 23 | 1 << 4 | 1 << 16);
    buf_done(&out);
    config_done(&c);
}

TEST(config, written_text_reads_back_to_the_same)
{
    struct config c, again;
    struct buf one = BUF_EMPTY, two = BUF_EMPTY;
    config_init(&c, CONFIG_BROKER);
    config_init(&again, CONFIG_BROKER);
    EXPECT_OK(config_load(&c, SLICE("brokerName=x\nlistenPort=1\nflushDiskType=ASYNC_FLUSH\ndeleteWhen=05\nuseTLS=true\n"), "t"));
    config_write(&c, CONFIG_BROKER, &one);
    EXPECT_OK(config_load(&again, buf_slice(&one), "t"));
    config_write(&again, CONFIG_BROKER, &two);
    EXPECT(slice_eq(buf_slice(&one), buf_slice(&two)));
    EXPECT(memmem(one.p, one.n, "\ndeleteWhen=05\n", 15));
    EXPECT(memmem(one.p, one.n, "\nlistenPort=1\n", 14));
    config_done(&c);
    config_done(&again);
    buf_done(&one);
    buf_done(&two);
}

TEST(config, no_key_is_both_used_and_ignored)
{
    static const char *const ignored[] = {
#define IGNORED(whose, name) #whose name,
#include "catalog/config_ignored.def"
#undef IGNORED
    };
    struct buf text = BUF_EMPTY;
    config_describe(CONFIG_BROKER, &text);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        struct buf line = BUF_EMPTY;
        if (strncmp(ignored[i], "BROKER", 6)) continue;
        buf_printf(&line, "\n  %s = ", ignored[i] + 6);
        EXPECT(!memmem(text.p, text.n, line.p, line.n));
        buf_done(&line);
    }
    buf_done(&text);
}
