#include "kit/test.h"

#include "base/json.h"
#include "codec/header.h"

#include <stdlib.h>

/* One line of frames.jsonl: bytes, and what the official classes decode from them. */
struct vector {
    struct buf bytes;
    enum frame_form form;
    struct slice language;
    int32_t code, version, opaque, flag;
    struct slice remark;
    struct frame_field fields[8];
    size_t count;
    struct buf body;
    bool lossy;            /* something was null after decoding, whatever it was before */
};

static void read_decoded(struct json *j, struct vector *v)
{
    for (json_object(j); json_next(j);) {
        struct slice key = json_key(j);
        if (slice_eq(key, SLICE("code"))) v->code = json_i32(j);
        else if (slice_eq(key, SLICE("language"))) v->language = json_text(j);
        else if (slice_eq(key, SLICE("version"))) v->version = json_i32(j);
        else if (slice_eq(key, SLICE("opaque"))) v->opaque = json_i32(j);
        else if (slice_eq(key, SLICE("flag"))) v->flag = json_i32(j);
        else if (slice_eq(key, SLICE("remark"))) v->remark = json_text(j);
        else if (slice_eq(key, SLICE("extFields"))) {
            for (bool in = json_object(j); in && json_next(j);) {
                struct slice name = json_key(j), value = json_text(j);
                v->lossy |= !value.p;
                if (value.p) v->fields[v->count++] = (struct frame_field){name, value};
            }
        } else if (slice_eq(key, SLICE("body"))) {
            struct slice hex = json_text(j);
            test_unhex(hex, &v->body);
        } else {
            json_skip(j);
        }
    }
}

static void read_vector(struct slice line, struct arena *arena, struct vector *v)
{
    struct json j;
    json_begin(&j, line, arena);
    for (json_object(&j); json_next(&j);) {
        struct slice key = json_key(&j);
        if (slice_eq(key, SLICE("serializeType"))) v->form = slice_eq(json_text(&j), SLICE("JSON")) ? FRAME_JSON : FRAME_BINARY;
        else if (slice_eq(key, SLICE("frame"))) test_unhex(json_text(&j), &v->bytes);
        else if (slice_eq(key, SLICE("decoded"))) read_decoded(&j, v);
        else json_skip(&j);
    }
    EXPECT_OK(json_end(&j, "vector"));
}

static void check_decoding(struct vector *v)
{
    static struct frame f;
    size_t size;
    EXPECT_OK(frame_size(v->bytes.p, v->bytes.n, &size));
    EXPECT_EQ(size, v->bytes.n);
    EXPECT_OK(frame_decode(v->bytes.p, v->bytes.n, &f));
    EXPECT_EQ(f.form, v->form);
    EXPECT_EQ(f.code, v->code);
    EXPECT(slice_eq(slice_text(language_name(f.language)), v->language));
    EXPECT_EQ(f.version, v->version);
    EXPECT_EQ(f.opaque, v->opaque);
    EXPECT_EQ(f.flag, v->flag);
    EXPECT(slice_eq(f.remark, v->remark));
    EXPECT_EQ(f.count, v->count);
    for (size_t i = 0; i < v->count; i++) EXPECT(slice_eq(frame_get(&f, v->fields[i].name), v->fields[i].value));
    EXPECT(slice_eq(f.body, buf_slice(&v->body)));
}

static void check_encoding(const struct vector *v, const struct buf *golden)
{
    struct frame_head head = {
        .form = v->form, .code = v->code, .version = v->version, .opaque = v->opaque, .flag = v->flag, .remark = v->remark,
    };
    while (!slice_eq(slice_text(language_name(head.language)), v->language)) head.language++;
    struct buf out = BUF_EMPTY;
    struct frame_writer w;
    frame_begin(&w, &out, &head);
    for (size_t i = 0; i < v->count; i++) frame_put(&w, v->fields[i].name, v->fields[i].value);
    frame_end(&w, v->body.n);
    buf_put_slice(&out, buf_slice(&v->body));
    EXPECT(slice_eq(buf_slice(&out), buf_slice(golden)));
    buf_done(&out);
}

TEST(frame, agrees_with_the_official_codec_on_every_vector)
{
    struct buf text = test_fixture("vectors/frames.jsonl");
    struct slice rest = buf_slice(&text), line;
    int count = 0;
    while (slice_split(&rest, '\n', &line)) {
        if (!line.n) continue;
        struct arena arena = ARENA_EMPTY;
        struct vector v = {.form = FRAME_JSON};
        read_vector(line, &arena, &v);
        struct buf golden = BUF_EMPTY;
        buf_put_slice(&golden, buf_slice(&v.bytes));
        check_decoding(&v);
        bool cut = v.form == FRAME_BINARY && (v.version == 4464 || v.code == INT16_MIN);   /* more than 16 bits before */
        if (!v.lossy && !cut) check_encoding(&v, &golden);
        buf_done(&golden);
        buf_done(&v.bytes);
        buf_done(&v.body);
        arena_done(&arena);
        count++;
    }
    EXPECT_EQ(count, 28);
    buf_done(&text);
}

static err_t decode_json(const char *header, struct frame *f, struct buf *keep)
{
    buf_clear(keep);
    size_t n = strlen(header);
    buf_put_be32(keep, (uint32_t)n + 4);
    buf_put_be32(keep, (uint32_t)n);
    buf_put(keep, header, n);
    return frame_decode(keep->p, keep->n, f);
}

TEST(frame, reads_what_the_original_tolerates_and_refuses_what_it_refuses)
{
    static struct frame f;
    struct buf keep = BUF_EMPTY;
    EXPECT_OK(decode_json("{'code':106,'extFields':{'a':'x\\'y','n':5,'t':true,'z':null,'o':{\"q\":[1,{}]}},'opaque':7}", &f, &keep));
    EXPECT_EQ(f.code, 106);
    EXPECT_EQ(f.opaque, 7);
    EXPECT_EQ(f.language, LANGUAGE_UNKNOWN);
    EXPECT_TEXT(frame_get(&f, SLICE("a")), "x'y");
    EXPECT_TEXT(frame_get(&f, SLICE("n")), "5");
    EXPECT_TEXT(frame_get(&f, SLICE("t")), "true");
    EXPECT_TEXT(frame_get(&f, SLICE("o")), "{\"q\":[1,{}]}");
    EXPECT_EQ(f.count, 4);
    EXPECT_OK(decode_json(" { \"code\" : \"17\" , \"language\" : \"KLINGON\", \"unknown\":[[],{}] } ", &f, &keep));
    EXPECT_EQ(f.code, 17);
    EXPECT_OK(decode_json("{\"remark\":\"\\u4f60\\ud83d\\ude00 \\ud83d!\"}", &f, &keep));
    EXPECT_TEXT(f.remark, "你😀 ?!");
    static const char *const broken[] = {
        "", "{", "{\"code\":}", "{\"code\":1", "{\"code\":1}x", "{\"code\":99999999999}", "{\"a\":\"\\q\"}", "{\"a\":\"\\u12\"}",
        "{code:1}", "[]", "{\"code\":1,,\"flag\":0}", "{\"extFields\":[]}", "{\"x\":]}", "nonsense", "{\"extFields\":{\"a\":}}",
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) EXPECT_ERR(decode_json(broken[i], &f, &keep), ERR_FRAME);
    buf_done(&keep);
}

/* The header {"extFields":{NAME:TEXT}TAIL in memory of just its size; the escape stands for one byte at `at` (none: at == n). */
static void expect_read(size_t n, size_t at, const char *escape, uint8_t byte, bool as_name, const char *tail)
{
    static struct frame f;
    struct buf text = BUF_EMPTY, header = BUF_EMPTY;
    uint8_t expected[64];
    for (size_t i = 0; i < n; i++) {
        expected[i] = i == at ? byte : (uint8_t)('a' + i % 26);
        if (i == at) buf_put_text(&text, escape);
        else buf_put_u8(&text, expected[i]);
    }
    buf_printf(&header, as_name ? "{\"extFields\":{\"%.*s\":\"v\"}%s" : "{\"extFields\":{\"v\":\"%.*s\"}%s", SLICE_ARG(buf_slice(&text)), tail);
    uint8_t *exact = must_alloc(8 + header.n);
    put_be32(exact, (uint32_t)header.n + 4);
    put_be32(exact + 4, (uint32_t)header.n);
    memcpy(exact + 8, header.p, header.n);
    EXPECT_OK(frame_decode(exact, 8 + header.n, &f));
    EXPECT_EQ(f.count, 1);
    EXPECT(slice_eq(as_name ? f.fields[0].name : f.fields[0].value, slice_of(expected, n)));
    EXPECT_TEXT(as_name ? f.fields[0].value : f.fields[0].name, "v");
    free(exact);
    buf_done(&text);
    buf_done(&header);
}

/* They are looked through in pieces: of every size, at every place, up to the end of the memory. */
TEST(frame, texts_of_any_length_with_an_escape_anywhere_are_read)
{
    static const struct { const char *text; uint8_t byte; } escapes[] = {{"\\u0001", 1}, {"\\u0041", 'A'}, {"\\\"", '"'}, {"\\\\", '\\'}};
    static const char *const tails[] = {"}", ",\"flag\":0,\"language\":\"JAVA\"}"};
    for (size_t n = 1; n <= 50; n++)
        for (size_t at = 0; at <= n; at++)
            for (size_t e = 0; e < sizeof escapes / sizeof *escapes; e++)
                for (int t = 0; t < 4; t++) expect_read(n, at, escapes[e].text, escapes[e].byte, t & 1, tails[t >> 1]);
}

TEST(frame, impossible_lengths_are_refused_before_anything_is_allocated)
{
    size_t size = 9;
    const uint8_t three[] = {0, 0, 0, 3}, huge[] = {0xE2, 0x7F, 0, 0}, just[] = {0, 0xFF, 0xFF, 0xFC}, over[] = {0, 0xFF, 0xFF, 0xFD};
    EXPECT_ERR(frame_size(three, 4, &size), ERR_FRAME);
    EXPECT_ERR(frame_size(huge, 4, &size), ERR_FRAME);
    EXPECT_ERR(frame_size(over, 4, &size), ERR_FRAME);
    EXPECT_OK(frame_size(just, 4, &size));
    EXPECT_EQ(size, FRAME_MAX_BYTES);
    EXPECT_OK(frame_size(just, 3, &size));
    EXPECT_EQ(size, 0);
    static struct frame f;
    uint8_t long_header[] = {0, 0, 0, 4, 0, 0, 0, 1}, unknown_form[] = {0, 0, 0, 6, 2, 0, 0, 2, '{', '}'};
    EXPECT_ERR(frame_decode(long_header, sizeof long_header, &f), ERR_FRAME);
    EXPECT_ERR(frame_decode(unknown_form, sizeof unknown_form, &f), ERR_FRAME);
}

typedef const char *text_pair[2];
static void fields_of(struct frame *f, const text_pair *pairs, size_t n)
{
    f->count = n;
    for (size_t i = 0; i < n; i++) f->fields[i] = (struct frame_field){slice_text(pairs[i][0]), slice_text(pairs[i][1])};
}

TEST(header, short_and_long_names_give_the_same_header_in_any_order)
{
    static struct frame f;
    static const text_pair longs[] = {
        {"topic", "T"}, {"queueId", "-1"}, {"producerGroup", "P"}, {"defaultTopic", "TBW102"}, {"defaultTopicQueueNums", "4"},
        {"sysFlag", "0"}, {"bornTimestamp", "1795996348596"}, {"flag", "5"}, {"batch", "True"}, {"later", "unknown"},
    };
    static const text_pair shorts[] = {
        {"a", "P"}, {"b", "T"}, {"c", "TBW102"}, {"d", "4"}, {"e", "-1"}, {"f", "0"}, {"g", "1795996348596"}, {"h", "5"}, {"m", "true"},
    };
    struct send_header x, y;
    fields_of(&f, longs, 10);
    EXPECT_OK(header_decode(&send_kind, &f, &x));
    fields_of(&f, shorts, 9);
    EXPECT_OK(header_decode(&send_v2_kind, &f, &y));
    EXPECT_EQ(x.present, y.present);
    EXPECT_EQ(x.queue_id, -1);
    EXPECT_EQ(y.born_timestamp, 1795996348596);
    EXPECT(x.batch && y.batch);
    EXPECT(header_has(&x, send, batch) && !header_has(&x, send, properties));
    EXPECT_TEXT(y.topic, "T");
    EXPECT_TEXT(x.producer_group, "P");
}

TEST(header, missing_and_unreadable_fields_are_named)
{
    static struct frame f;
    struct max_offset_header h;
    static const text_pair missing[] = {{"topic", "T"}}, wrong[] = {{"topic", "T"}, {"queueId", "2147483648"}};
    fields_of(&f, missing, 1);
    err_t e = header_decode(&max_offset_kind, &f, &h);
    assert_string_equal(err_text(e), "the custom field <queueId> is null");
    EXPECT_EQ(err_response(e), RESPONSE_SYSTEM_ERROR);
    EXPECT_ERR(e, ERR_FIELD);
    fields_of(&f, wrong, 2);
    EXPECT_ERR(header_decode(&max_offset_kind, &f, &h), ERR_FIELD);
}

TEST(header, a_copy_owns_its_texts)
{
    char topic[] = "orders", group[] = "g";
    struct query_offset_header h = {.topic = slice_text(topic), .consumer_group = slice_text(group), .queue_id = 3};
    struct query_offset_header *copy = header_copy(&query_offset_kind, &h);
    topic[0] = group[0] = '!';
    EXPECT_TEXT(copy->topic, "orders");
    EXPECT_TEXT(copy->consumer_group, "g");
    EXPECT_EQ(copy->queue_id, 3);
    free(copy);
}

/* Right behind the last row, where a guess of the next field finds the end of the rows. */
TEST(header, a_field_without_a_name_is_none)
{
    static struct frame f = {.count = 1, .fields = {{.name = {(const uint8_t *)"", 0}, .value = {(const uint8_t *)"y", 1}}}};
    struct {
        struct producer_info_header header;   /* which has no fields */
        uint8_t behind[16];
    } place = {.behind = {7, 7, 7}};
    EXPECT_OK(header_decode(&producer_info_kind, &f, &place.header));
    EXPECT_EQ(place.behind[0], 7);
    EXPECT_EQ(place.header.present, 0);
}
