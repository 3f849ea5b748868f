#include "kit/test.h"
#include "codec/body_register.h"
#include "codec/frame.h"

#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>

/* Topics with and without attributes, a static one, and filter servers. */
static void make_body(struct arena *arena, int topics, struct register_body *out)
{
    static struct data_version version = {1, 1700000000000, 7};
    *out = (struct register_body){.table = {.version = &version, .mapping_version = &version}};
    for (int i = 0; i < topics; i++) {
        struct topic_config *t = arena_list_add(arena, (void **)&out->table.topics.items, &out->table.topics.count, sizeof *t);
        char name[32];
        snprintf(name, sizeof name, "topic%d", i);
        *t = (struct topic_config){.name = arena_copy(arena, slice_text(name)), .read_queues = i, .write_queues = i + 1, .perm = 6};
        if (i % 2) continue;
        *(struct pair *)arena_list_add(arena, (void **)&t->attributes.items, &t->attributes.count, sizeof(struct pair)) =
            (struct pair){SLICE("message.type"), SLICE("FIFO")};
    }
    struct queue_mapping *m = arena_list_add(arena, (void **)&out->table.mappings.items, &out->table.mappings.count, sizeof *m);
    *m = (struct queue_mapping){.topic = SLICE("topic0"), .broker = SLICE("b"), .scope = SLICE("__global__"), .total_queues = 4, .epoch = 9};
    *(struct id_number *)arena_list_add(arena, (void **)&m->current.items, &m->current.count, sizeof(struct id_number)) = (struct id_number){3, 1};
    *(struct slice *)arena_list_add(arena, (void **)&out->filter_servers.items, &out->filter_servers.count, sizeof(struct slice)) = SLICE("f:1");
}

static void expect_same(const struct register_body *a, const struct register_body *b)
{
    EXPECT(data_version_eq(a->table.version, b->table.version));
    EXPECT_EQ(a->table.topics.count, b->table.topics.count);
    for (size_t i = 0; i < a->table.topics.count; i++) {
        EXPECT(slice_eq(a->table.topics.items[i].name, b->table.topics.items[i].name));
        EXPECT(topic_config_eq(&a->table.topics.items[i], &b->table.topics.items[i]));
    }
    EXPECT_EQ(b->table.mappings.count, 1);
    EXPECT_EQ(b->table.mappings.items[0].epoch, 9);
    EXPECT_EQ(b->table.mappings.items[0].current.items[0].id, 3);
    EXPECT_EQ(b->filter_servers.count, 1);
    EXPECT_TEXT(b->filter_servers.items[0], "f:1");
}

TEST(register, both_forms_carry_the_same)
{
    for (int compressed = 0; compressed < 2; compressed++) {
        struct arena arena = ARENA_EMPTY, other = ARENA_EMPTY;
        struct register_body body, again;
        struct buf text = BUF_EMPTY;
        make_body(&arena, 100, &body);
        register_body_encode(&body, compressed, &text);
        EXPECT_OK(register_body_decode(buf_slice(&text), compressed, VERSION_5_5_0, &other, &again));
        expect_same(&body, &again);
        buf_done(&text);
        arena_done(&arena);
        arena_done(&other);
    }
}

TEST(register, older_brokers_send_no_mappings_and_the_oldest_topics_alone)
{
    struct arena arena = ARENA_EMPTY;
    struct register_body out;
    struct slice old = SLICE("{\"dataVersion\":{\"counter\":3,\"timestamp\":1},\"topicConfigTable\":{\"T\":{\"topicName\":\"T\",\"perm\":6}}}");
    EXPECT_OK(register_body_decode(old, false, 30, &arena, &out));
    EXPECT_EQ(out.table.topics.count, 1);
    EXPECT_EQ(out.table.version->counter, 3);
    EXPECT_OK(register_body_decode(slice_of(NULL, 0), false, VERSION_5_5_0, &arena, &out));
    EXPECT_EQ(out.table.topics.count, 0);
    EXPECT_EQ(out.table.version->counter, 0);
    arena_done(&arena);
}

/* A zlib stream of these bytes. */
static struct buf deflated(struct slice plain)
{
    struct buf out = BUF_EMPTY;
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);
    size_t bound = libdeflate_zlib_compress_bound(c, plain.n);
    buf_reserve(&out, bound);
    out.n = libdeflate_zlib_compress(c, plain.p, plain.n, out.p, bound);
    libdeflate_free_compressor(c);
    return out;
}

static struct buf inflated(struct slice packed, size_t room)
{
    struct buf out = BUF_EMPTY;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    buf_reserve(&out, room);
    EXPECT_EQ(libdeflate_zlib_decompress(d, packed.p, packed.n, out.p, room, &out.n), LIBDEFLATE_SUCCESS);
    libdeflate_free_decompressor(d);
    return out;
}

static err_t decode_plain(struct slice plain)
{
    struct arena arena = ARENA_EMPTY;
    struct register_body out;
    struct buf packed = deflated(plain);
    err_t e = register_body_decode(buf_slice(&packed), true, VERSION_5_5_0, &arena, &out);
    buf_done(&packed);
    arena_done(&arena);
    return e;
}

TEST(register, every_cut_and_every_changed_byte_of_the_stream_is_survived)
{
    struct arena arena = ARENA_EMPTY;
    struct register_body body;
    struct buf text = BUF_EMPTY;
    make_body(&arena, 3, &body);
    register_body_encode(&body, true, &text);
    struct buf plain = inflated(buf_slice(&text), 4096);
    EXPECT_OK(decode_plain(buf_slice(&plain)));
    for (size_t n = 0; n < plain.n; n++) EXPECT_ERR(decode_plain(slice_of(plain.p, n)), ERR_BODY);
    for (size_t i = 0; i < plain.n; i++) {
        plain.p[i] ^= 0xFF;
        err_free(decode_plain(buf_slice(&plain)));
        plain.p[i] ^= 0xFF;
    }
    for (size_t n = 0; n < text.n; n++) {   /* the packed form itself, cut */
        struct register_body out;
        struct arena other = ARENA_EMPTY;
        if (n) EXPECT_ERR(register_body_decode(slice_of(text.p, n), true, VERSION_5_5_0, &other, &out), ERR_BODY);
        arena_done(&other);
    }
    buf_done(&plain);
    buf_done(&text);
    arena_done(&arena);
}

TEST(register, a_count_that_lies_costs_nothing)
{
    struct buf plain = BUF_EMPTY;
    buf_put_be32(&plain, 2);
    buf_put_text(&plain, "{}");
    buf_put_be32(&plain, 0x7FFFFFFF);
    EXPECT_ERR(decode_plain(buf_slice(&plain)), ERR_BODY);
    buf_done(&plain);
}


/* docs/protocol/vectors.tsv, register_body_plain and register_body_compressed_inflated: one topic, as the original wrote it. */
static const char golden_plain[] =
    "{\"filterServerList\":[],\"topicConfigSerializeWrapper\":{\"dataVersion\":{\"counter\":3,\"stateVersion\":1,\"timestamp\":1700000000000},"
    "\"mappingDataVersion\":{\"$ref\":\"$.topicConfigSerializeWrapper.dataVersion\"},\"topicConfigTable\":{\"TopicTest\":{\"attributes\":"
    "{\"message.type\":\"FIFO\"},\"order\":false,\"perm\":6,\"readQueueNums\":8,\"topicFilterType\":\"SINGLE_TAG\",\"topicName\":\"TopicTest\","
    "\"topicSysFlag\":0,\"writeQueueNums\":8}},\"topicQueueMappingDetailMap\":{},\"topicQueueMappingInfoMap\":{}}}";
static const char golden_stream[] =
    "000000387b22636f756e746572223a332c22737461746556657273696f6e223a312c2274696d657374616d70223a313730303030303030303030307d0000000100000032"
    "546f706963546573742038203820362053494e474c455f544147207b226d6573736167652e74797065223a224649464f227d000000025b5d00000000";

TEST(register, the_original_s_own_bytes_are_read_and_written)
{
    struct arena arena = ARENA_EMPTY;
    struct register_body plain, streamed;
    struct buf stream = BUF_EMPTY, text = BUF_EMPTY;
    test_unhex(slice_text(golden_stream), &stream);
    struct buf packed = deflated(buf_slice(&stream));
    EXPECT_OK(register_body_decode(slice_text(golden_plain), false, VERSION_5_5_0, &arena, &plain));
    EXPECT_OK(register_body_decode(buf_slice(&packed), true, VERSION_5_5_0, &arena, &streamed));
    EXPECT(data_version_eq(plain.table.version, streamed.table.version));
    EXPECT_EQ(streamed.table.topics.count, 1);
    EXPECT_TEXT(streamed.table.topics.items[0].name, "TopicTest");
    EXPECT(topic_config_eq(&plain.table.topics.items[0], &streamed.table.topics.items[0]));
    register_body_encode(&plain, true, &text);
    struct buf again = inflated(buf_slice(&text), 4096);
    EXPECT(slice_eq(buf_slice(&again), buf_slice(&stream)));
    buf_done(&again);
    buf_done(&packed);
    buf_done(&stream);
    buf_done(&text);
    arena_done(&arena);
}
