#include "kit/test.h"
#include "namesrv/route_table.h"

#include <stdio.h>
#include <stdlib.h>

struct fixture {
    struct route_table *t;
    struct arena arena;
    int changes;
    int64_t smallest;
    char offline[64];
    size_t members;
};

static void min_changed(void *ctx, const struct min_change *c)
{
    struct fixture *f = ctx;
    f->changes++;
    f->smallest = c->addresses[0].id;
    f->members = c->count;
    snprintf(f->offline, sizeof f->offline, "%.*s", SLICE_ARG(c->offline));
}

static struct fixture *start(void)
{
    struct fixture *f = must_zero(sizeof *f);
    f->arena = ARENA_EMPTY;
    f->t = route_table_new(min_changed, f);
    return f;
}

static void stop(struct fixture *f)
{
    route_table_free(f->t);
    arena_done(&f->arena);
    free(f);
}

enum { TIMEOUT_MS = 120000 };

/* A registration of "b0" in cluster "c" with the topics named, separated by blanks. */
struct visit {
    const char *group, *address, *topics, *zone;
    int64_t id, state_version, counter, now_ms;
    uint64_t conn_id;
    bool acting, delete_missing;
    int32_t perm;
};

static enum registered come(struct fixture *f, struct visit v)
{
    struct arena arena = ARENA_EMPTY;
    struct register_body body = {.table = {.version = arena_take(&arena, sizeof(struct data_version))}};
    struct slice rest = slice_text(v.topics ? v.topics : "T U"), name;
    struct master master;
    *body.table.version = (struct data_version){v.state_version, 0, v.counter};
    while (rest.n && slice_split(&rest, ' ', &name)) {
        struct topic_config *t = arena_list_add(&arena, (void **)&body.table.topics.items, &body.table.topics.count, sizeof *t);
        *t = (struct topic_config){.name = name, .read_queues = 4, .write_queues = 4, .perm = v.perm ? v.perm : 6};
    }
    struct registration r = {.cluster = SLICE("c"), .group = slice_text(v.group ? v.group : "b0"), .address = slice_text(v.address),
                             .ha_address = SLICE("ha"), .zone = slice_text(v.zone), .id = v.id, .timeout_ms = TIMEOUT_MS,
                             .knows_acting_master = true, .enable_acting_master = v.acting, .delete_missing = v.delete_missing,
                             .conn_id = v.conn_id, .body = &body};
    enum registered result = route_table_register(f->t, &r, v.now_ms, &master);
    arena_done(&arena);
    return result;
}

#define COME(f, ...) come(f, (struct visit){__VA_ARGS__})

static bool has_route(struct fixture *f, const char *topic, struct topic_route *out)
{
    struct route_question q = {.topic = slice_text(topic)};
    return route_table_route(f->t, &q, &f->arena, out);
}

static const char *route_text(struct fixture *f, struct route_question q)
{
    struct topic_route route;
    struct buf text = BUF_EMPTY;
    if (!route_table_route(f->t, &q, &f->arena, &route)) return "";
    bean_encode(&topic_route_bean, &route, JSON_RAW, &text);
    buf_put_u8(&text, 0);
    const char *copy = (const char *)arena_copy(&f->arena, buf_slice(&text)).p;
    buf_done(&text);
    return copy;
}

TEST(route_table, a_registered_broker_is_in_the_routes_of_its_topics)
{
    struct fixture *f = start();
    EXPECT_EQ(COME(f, .address = "a:1"), REGISTERED);
    assert_string_equal(route_text(f, (struct route_question){.topic = SLICE("T")}),
                        "{\"brokerDatas\":[{\"brokerAddrs\":{0:\"a:1\"},\"brokerName\":\"b0\",\"cluster\":\"c\",\"enableActingMaster\":false}],"
                        "\"filterServerTable\":{},\"queueDatas\":[{\"brokerName\":\"b0\",\"perm\":6,\"readQueueNums\":4,"
                        "\"topicSysFlag\":0,\"writeQueueNums\":4}]}");
    assert_string_equal(route_text(f, (struct route_question){.topic = SLICE("X")}), "");
    stop(f);
}

TEST(route_table, a_reconnected_broker_stays_when_its_old_connection_closes)
{
    struct fixture *f = start();
    struct topic_route route;
    COME(f, .address = "a:1", .conn_id = 1);
    COME(f, .address = "a:1", .conn_id = 2);
    EXPECT_EQ(route_table_conn_closed(f->t, 1), 0);
    EXPECT(has_route(f, "T", &route));
    EXPECT_EQ(route_table_conn_closed(f->t, 2), 1);
    EXPECT(!has_route(f, "T", &route));
    stop(f);
}

TEST(route_table, a_late_goodbye_of_an_older_self_takes_nobody_out)
{
    struct fixture *f = start();
    COME(f, .address = "a:1", .id = 1);
    COME(f, .address = "a:1", .id = 0);
    EXPECT(!route_table_unregister(f->t, SLICE("b0"), SLICE("a:1"), 1));     /* the id is another now */
    EXPECT(!route_table_unregister(f->t, SLICE("b0"), SLICE("b:1"), 0));
    EXPECT(!route_table_unregister(f->t, SLICE("b9"), SLICE("a:1"), 0));
    EXPECT(route_table_unregister(f->t, SLICE("b0"), SLICE("a:1"), 0));
    stop(f);
}

TEST(route_table, the_silent_are_dropped_and_a_sign_of_life_counts)
{
    struct fixture *f = start();
    struct topic_route route;
    COME(f, .address = "a:1", .now_ms = 1000);
    EXPECT_EQ(route_table_expire(f->t, 1000 + TIMEOUT_MS), 0);
    route_table_touch(f->t, SLICE("b0"), SLICE("a:1"), 2000);
    EXPECT_EQ(route_table_expire(f->t, 1001 + TIMEOUT_MS), 0);
    EXPECT_EQ(route_table_expire(f->t, 2001 + TIMEOUT_MS), 1);
    EXPECT(!has_route(f, "T", &route));
    EXPECT(!route_table_version(f->t, SLICE("b0"), SLICE("a:1")));
    stop(f);
}

TEST(route_table, an_address_has_one_id_and_an_id_one_address)
{
    struct fixture *f = start();
    struct topic_route route;
    COME(f, .address = "a:1", .id = 1);
    COME(f, .address = "a:1", .id = 0);
    EXPECT(has_route(f, "T", &route));
    EXPECT_EQ(route.brokers.items[0].addresses.count, 1);
    EXPECT_EQ(route.brokers.items[0].addresses.items[0].id, 0);
    COME(f, .address = "b:1", .id = 0);   /* took over the place of the master */
    EXPECT(has_route(f, "T", &route));
    EXPECT_EQ(route.brokers.items[0].addresses.count, 1);
    EXPECT_TEXT(route.brokers.items[0].addresses.items[0].text, "b:1");
    stop(f);
}

TEST(route_table, a_broker_of_an_older_state_cannot_take_the_id)
{
    struct fixture *f = start();
    struct topic_route route;
    COME(f, .address = "a:1", .state_version = 2);
    EXPECT_EQ(COME(f, .address = "b:1", .state_version = 1), REGISTERED_STALE);
    EXPECT(has_route(f, "T", &route));
    EXPECT_TEXT(route.brokers.items[0].addresses.items[0].text, "a:1");
    EXPECT_EQ(COME(f, .address = "b:1", .state_version = 3), REGISTERED);
    stop(f);
}

TEST(route_table, an_unknown_broker_with_a_single_topic_is_refused)
{
    struct fixture *f = start();
    struct cluster_info info;
    EXPECT_EQ(COME(f, .address = "a:1", .topics = "T"), REGISTERED_REFUSED);
    route_table_clusters(f->t, &f->arena, &info);
    EXPECT_EQ(info.brokers.count, 0);
    EXPECT_EQ(COME(f, .address = "a:1", .topics = "T U"), REGISTERED);
    EXPECT_EQ(COME(f, .address = "a:1", .topics = "V", .counter = 1), REGISTERED);
    stop(f);
}

TEST(route_table, topics_change_with_the_data_version_only)
{
    struct fixture *f = start();
    struct topic_route route;
    COME(f, .address = "a:1", .counter = 1, .perm = 6);
    COME(f, .address = "a:1", .counter = 1, .perm = 4);
    EXPECT(has_route(f, "T", &route) && route.queues.items[0].perm == 6);
    COME(f, .address = "a:1", .counter = 2, .perm = 4, .topics = "T V");
    EXPECT(has_route(f, "T", &route) && route.queues.items[0].perm == 4);
    EXPECT(has_route(f, "U", &route) && has_route(f, "V", &route));
    COME(f, .address = "a:1", .counter = 3, .topics = "T V", .delete_missing = true);
    EXPECT(!has_route(f, "U", &route));
    EXPECT(has_route(f, "V", &route));
    stop(f);
}

TEST(route_table, slaves_are_listed_but_their_topics_do_not_count)
{
    struct fixture *f = start();
    struct topic_route route;
    COME(f, .address = "a:1", .id = 0);
    COME(f, .address = "s:1", .id = 1, .topics = "T U W");
    EXPECT(has_route(f, "T", &route));
    EXPECT_EQ(route.brokers.items[0].addresses.count, 2);
    EXPECT(!has_route(f, "W", &route));
    stop(f);
}

TEST(route_table, the_smallest_slave_acts_as_master_for_reading)
{
    struct fixture *f = start();
    struct route_question q = {.topic = SLICE("T"), .acting_master = true};
    struct topic_route route;
    COME(f, .address = "a:1", .id = 0, .acting = true);
    COME(f, .address = "s:2", .id = 2, .acting = true);
    COME(f, .address = "s:1", .id = 1, .acting = true);
    EXPECT(route_table_unregister(f->t, SLICE("b0"), SLICE("a:1"), 0));
    EXPECT(route_table_route(f->t, &q, &f->arena, &route));
    EXPECT_EQ(route.queues.items[0].perm, 4);
    EXPECT_EQ(route.brokers.items[0].addresses.items[0].id, 0);
    EXPECT_TEXT(route.brokers.items[0].addresses.items[0].text, "s:1");
    q.acting_master = false;
    EXPECT(route_table_route(f->t, &q, &f->arena, &route));
    EXPECT_EQ(route.brokers.items[0].addresses.items[0].id, 1);
    COME(f, .address = "a:1", .id = 0, .acting = true);   /* the master is back, and may be written to */
    EXPECT(has_route(f, "T", &route));
    EXPECT_EQ(route.queues.items[0].perm, 6);
    stop(f);
}

TEST(route_table, changes_of_the_smallest_id_are_told)
{
    struct fixture *f = start();
    COME(f, .address = "s:1", .id = 2);
    EXPECT_EQ(f->changes, 0);
    COME(f, .address = "s:2", .id = 3);
    EXPECT_EQ(f->changes, 0);
    COME(f, .address = "a:1", .id = 0);
    EXPECT_EQ(f->changes, 1);
    EXPECT_EQ(f->smallest, 0);
    assert_string_equal(f->offline, "");
    route_table_unregister(f->t, SLICE("b0"), SLICE("s:2"), 3);
    EXPECT_EQ(f->changes, 1);
    route_table_unregister(f->t, SLICE("b0"), SLICE("a:1"), 0);
    EXPECT_EQ(f->changes, 2);
    EXPECT_EQ(f->smallest, 2);
    assert_string_equal(f->offline, "a:1");
    route_table_unregister(f->t, SLICE("b0"), SLICE("s:1"), 2);
    EXPECT_EQ(f->changes, 2);   /* nobody is left to be told */
    stop(f);
}

TEST(route_table, brokers_of_other_zones_are_left_out_if_they_have_a_master)
{
    struct fixture *f = start();
    struct route_question q = {.topic = SLICE("T"), .zone = SLICE("Z1")};
    struct topic_route route;
    COME(f, .group = "b0", .address = "a:1", .zone = "z1");
    COME(f, .group = "b1", .address = "b:1", .zone = "z2");
    EXPECT(route_table_route(f->t, &q, &f->arena, &route));
    EXPECT_EQ(route.queues.count, 1);
    EXPECT_TEXT(route.queues.items[0].broker, "b0");
    EXPECT_TEXT(route.brokers.items[0].zone, "z1");
    stop(f);
}

TEST(route_table, write_permission_is_wiped_and_given)
{
    struct fixture *f = start();
    struct topic_route route;
    COME(f, .address = "a:1");
    EXPECT_EQ(route_table_set_writable(f->t, SLICE("b0"), false), 2);
    EXPECT(has_route(f, "T", &route) && route.queues.items[0].perm == 4);
    EXPECT_EQ(route_table_set_writable(f->t, SLICE("b0"), true), 2);
    EXPECT(has_route(f, "T", &route) && route.queues.items[0].perm == 6);
    EXPECT_EQ(route_table_set_writable(f->t, SLICE("none"), true), 0);
    stop(f);
}

TEST(route_table, topics_are_deleted_from_one_cluster_or_from_all)
{
    struct fixture *f = start();
    struct topic_route route;
    COME(f, .group = "b0", .address = "a:1");
    COME(f, .group = "b1", .address = "b:1");
    route_table_delete_topic(f->t, SLICE("T"), SLICE("other"));
    EXPECT(has_route(f, "T", &route) && route.queues.count == 2);
    route_table_delete_topic(f->t, SLICE("T"), SLICE("c"));
    EXPECT(!has_route(f, "T", &route));
    route_table_delete_topic(f->t, SLICE("U"), slice_of(NULL, 0));
    EXPECT(!has_route(f, "U", &route));
    route_table_delete_topic(f->t, SLICE("U"), slice_of(NULL, 0));
    stop(f);
}

/* Each way in and out, at random, against what must hold whatever happens: no topic without queues, no group without
 * brokers, ids and addresses unique within a group. */
static void expect_sound(struct fixture *f)
{
    struct cluster_info info;
    struct topic_list topics;
    struct topic_route route;
    struct arena arena = ARENA_EMPTY;
    route_table_clusters(f->t, &arena, &info);
    for (size_t i = 0; i < info.brokers.count; i++) {
        const struct route_broker *b = &info.brokers.items[i];
        EXPECT(b->addresses.count > 0);
        for (size_t k = 1; k < b->addresses.count; k++) {
            EXPECT(b->addresses.items[k - 1].id < b->addresses.items[k].id);
            for (size_t m = 0; m < k; m++) EXPECT(!slice_eq(b->addresses.items[m].text, b->addresses.items[k].text));
        }
    }
    route_table_topics(f->t, TOPICS_ALL, slice_of(NULL, 0), &arena, &topics);
    for (size_t i = 0; i < topics.topics.count; i++) {
        struct route_question q = {.topic = topics.topics.items[i]};
        EXPECT(route_table_route(f->t, &q, &arena, &route));
        EXPECT(route.queues.count > 0 && route.brokers.count == route.queues.count);
    }
    arena_done(&arena);
}

TEST(route_table, random_comings_and_goings_keep_it_sound)
{
    static const char *const groups[] = {"b0", "b1", "b2"}, *const addresses[] = {"a:1", "b:1", "c:1", "d:1"};
    static const char *const topics[] = {"T U", "T V W", "X", "T"};
    uint64_t seed = 5;
    struct fixture *f = start();
    for (int round = 0; round < 5000; round++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        uint32_t r = (uint32_t)(seed >> 33);
        const char *group = groups[r % 3], *address = addresses[r / 3 % 4];
        int64_t id = r / 12 % 4;
        switch (r / 100 % 8) {
        case 0: route_table_unregister(f->t, slice_text(group), slice_text(address), id); break;
        case 1: route_table_conn_closed(f->t, r / 1000 % 5); break;
        case 2: route_table_expire(f->t, round * 100); break;
        case 3: route_table_delete_topic(f->t, SLICE("T"), slice_of(NULL, 0)); break;
        default:
            COME(f, .group = group, .address = address, .id = id, .topics = topics[r / 48 % 4], .counter = r / 7 % 3,
                 .state_version = r / 11 % 2, .conn_id = r / 1000 % 5, .acting = r / 13 % 2, .delete_missing = r / 17 % 2, .now_ms = round * 100);
        }
        expect_sound(f);
    }
    stop(f);
}
