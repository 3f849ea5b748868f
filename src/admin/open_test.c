/* Messages whose bodies are compressed, or are batches, as commands show them. */
#include "admin/commands_fixture.h"

#include "codec/compress.h"
#include "codec/properties.h"
#include "codec/record.h"

#include <stdlib.h>
#include <string.h>

static struct slice make_record(struct slice body, int32_t sys_flag, struct buf *out)
{
    struct message m = {.topic = SLICE("T"), .sys_flag = sys_flag, .body = body, .properties = SLICE("UNIQ_KEY\1KEY1\2INNER_NUM\0012\2")};
    struct addr host = {.ip = {10, 0, 0, 2}, .port = 1};
    struct record_place place = {.log_offset = 255, .queue_offset = 8, .store_ms = 1796042445070, .store_host = &host};
    m.born_host = host;
    size_t n = record_size(&m, &host);
    buf_clear(out);
    buf_reserve(out, n);
    record_encode(&m, &place, n, out->p);
    out->n = n;
    return buf_slice(out);
}

/* What a command prints when the one message of the topic is this one. */
static struct line_run shown(const char *line, struct slice body, int32_t sys_flag)
{
    struct buf bytes = BUF_EMPTY;
    struct slice record = make_record(body, sys_flag, &bytes);
    struct cluster *c = cluster_start();
    struct line broker[LINES_MAX];
    struct line_run s;
    size_t n = 0;
    for (size_t k = 0; world_broker[k].request; k++) {
        broker[n] = world_broker[k];
        if (broker[n].bytes) broker[n].bytes = &record;
        n++;
    }
    broker[n] = (struct line){0};
    cluster_serve(c, 0, (struct line[]){{REQUEST_GET_ROUTEINFO_BY_TOPIC, 0, world_route}, {0}});
    cluster_serve(c, 1, broker);
    line_run(&s, c, line);
    EXPECT_EQ(s.status, ADMIN_FINE);
    cluster_stop(c);
    buf_done(&bytes);
    return s;
}

static void expect_shown(const char *line, struct slice body, int32_t sys_flag, const char *part)
{
    struct line_run s = shown(line, body, sys_flag);
    if (!strstr(s.out_text, part)) print_error("%s: %s is not in\n%s\n", line, part, s.out_text);
    EXPECT(strstr(s.out_text, part));
    line_done(&s);
}

static const char *const lines[] = {"printMsg -t T", "printMsgByQueue -t T -a a -i 0 -p true -d true", "consumeMessage -t T -b a -i 0 -o 8", "message show T KEY1",
                                    "queryMsgByUniqueKey -t T -i KEY1 -a", "queryMsgByOffset -t T -b a -i 0 -o 8", "dlq show G", "queryMsgById -t T -i 0A0000020000000100000000000000FF"};
enum { LINES = sizeof lines / sizeof *lines };

static struct slice compressed(int kind, struct slice plain, struct buf *out)
{
    buf_clear(out);
    EXPECT_OK(compress_body(kind, 1, plain, out));
    return buf_slice(out);
}

TEST(opened, bodies_of_every_compression_are_shown_as_they_were_sent)
{
    struct buf packed = BUF_EMPTY;
    static const struct { enum compression kind; int32_t flag; } ways[] = {
        {COMPRESSION_ZLIB, 0x001}, {COMPRESSION_LZ4, 0x101}, {COMPRESSION_ZSTD, 0x201}, {COMPRESSION_ZLIB, 0x301},
    };
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        struct slice body = compressed(ways[w].kind, SLICE("what the producer said, the producer said"), &packed);
        for (size_t i = 0; i < LINES; i++) expect_shown(lines[i], body, ways[w].flag, "what the producer said, the producer said");
    }
    expect_shown("message show T KEY1", compressed(COMPRESSION_LZ4, SLICE("twelve bytes"), &packed), 0x101, "bodySize         12\n");
    buf_done(&packed);
}

TEST(opened, what_cannot_be_opened_says_why_and_the_others_are_shown)
{
    struct buf packed = BUF_EMPTY, large = BUF_EMPTY;
    for (size_t i = 0; i < LINES; i++) expect_shown(lines[i], SLICE("no such thing"), 0x001, "(13 bytes, not opened: ");
    expect_shown("printMsg -t T", SLICE("no such thing"), 0x401, "not known here)");
    compressed(COMPRESSION_ZSTD, SLICE("cut off in the middle of it all"), &packed);
    expect_shown("printMsg -t T", slice_of(packed.p, packed.n / 2), 0x201, "not opened: ");
    for (int i = 0; i < 5; i++) {   /* 80 MB of zeros in a few kilobytes */
        static uint8_t zeros[16 << 20];
        buf_put(&large, zeros, sizeof zeros);
    }
    struct slice bomb = compressed(COMPRESSION_ZSTD, buf_slice(&large), &packed);
    EXPECT(bomb.n < 64 << 10);
    buf_done(&large);
    expect_shown("printMsg -t T", bomb, 0x201, "not opened: ");
    buf_done(&packed);
}

static void put_inner(struct buf *out, const char *body, const char *tag)
{
    struct buf properties = BUF_EMPTY;
    uint8_t *head;
    properties_put(&properties, SLICE("TAGS"), slice_text(tag));
    properties_put(&properties, SLICE("UNIQ_KEY"), slice_text(body));
    size_t total = 20 + strlen(body) + 2 + properties.n;
    buf_reserve(out, total);
    head = out->p + out->n;
    memset(head, 0, total);
    put_be32(head, (uint32_t)total);
    put_be32(head + 16, (uint32_t)strlen(body));
    memcpy(head + 20, body, strlen(body));
    put_be16(head + 20 + strlen(body), (uint16_t)properties.n);
    memcpy(head + 22 + strlen(body), properties.p, properties.n);
    out->n += total;
    buf_done(&properties);
}

TEST(opened, a_batch_is_shown_as_the_messages_in_it)
{
    struct buf batch = BUF_EMPTY, packed = BUF_EMPTY;
    put_inner(&batch, "first", "red");
    put_inner(&batch, "second", "blue");
    for (size_t i = 0; i < LINES; i++) {
        expect_shown(lines[i], buf_slice(&batch), SYS_FLAG_INNER_BATCH | SYS_FLAG_NEED_UNWRAP, "first");
        expect_shown(lines[i], buf_slice(&batch), SYS_FLAG_INNER_BATCH | SYS_FLAG_NEED_UNWRAP, "second");
        expect_shown(lines[i], compressed(COMPRESSION_ZSTD, buf_slice(&batch), &packed), 0x201 | SYS_FLAG_INNER_BATCH | SYS_FLAG_NEED_UNWRAP, "second");
    }
    expect_shown("printMsg -t T", buf_slice(&batch), SYS_FLAG_INNER_BATCH, "second  a           0        9            blue  -     2026-11-30T12:40:45.070Z  6         second\n");
    struct line_run s = shown("printMsg -t T -s blue", buf_slice(&batch), SYS_FLAG_INNER_BATCH);
    EXPECT(strstr(s.out_text, "second") && !strstr(s.out_text, "first"));
    line_done(&s);
    expect_shown("printMsgByQueue -t T -a a -i 0 -f true", buf_slice(&batch), SYS_FLAG_INNER_BATCH, "blue  1\nred   1\n");
    buf_done(&batch);
    buf_done(&packed);
}

TEST(opened, what_is_whole_of_a_broken_batch_is_shown_and_the_rest_is_told)
{
    struct buf batch = BUF_EMPTY;
    put_inner(&batch, "first", "red");
    put_inner(&batch, "second", "blue");
    batch.n -= 3;
    for (size_t i = 0; i < LINES; i++) {
        expect_shown(lines[i], buf_slice(&batch), SYS_FLAG_INNER_BATCH, "first");
        expect_shown(lines[i], buf_slice(&batch), SYS_FLAG_INNER_BATCH, "the rest of the batch is broken");
    }
    expect_shown("printMsg -t T", SLICE(""), SYS_FLAG_INNER_BATCH, "the batch is broken");
    expect_shown("printMsg -t T", SLICE("xyz"), SYS_FLAG_INNER_BATCH, "the batch is broken");
    buf_done(&batch);
}
