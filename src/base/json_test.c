#include "kit/test.h"
#include "base/json.h"

#include <stdlib.h>

/* Reads any value and writes it again. */
static void copy_value(struct json *j, struct json_out *w);

static void copy_object(struct json *j, struct json_out *w)
{
    json_put_object(w);
    while (json_next(j)) {
        if (json_peek(j) == JSON_OBJECT) {
            copy_value(j, w);
            json_colon(j);
            json_put_key_done(w);
        } else if (json_peek(j) == JSON_NUMBER) {
            int64_t key = 0;
            if (!slice_to_i64(json_key(j), &key)) EXPECT(!json_ok(j));
            json_put_key_i64(w, key);
        } else {
            json_put_key(w, json_key(j));
        }
        copy_value(j, w);
    }
    json_put_object_end(w);
}

static void copy_value(struct json *j, struct json_out *w)
{
    switch (json_peek(j)) {
    case JSON_OBJECT:
        json_object(j);
        copy_object(j, w);
        return;
    case JSON_ARRAY:
        json_array(j);
        json_put_array(w);
        while (json_next(j)) copy_value(j, w);
        json_put_array_end(w);
        return;
    case JSON_BOOL: json_put_bool(w, json_bool(j)); return;
    case JSON_NUMBER: {
        struct slice source = json_skip(j);
        int64_t v;
        if (slice_to_i64(source, &v)) json_put_i64(w, v);
        else json_put_double(w, strtod((const char *)source.p, NULL));
        return;
    }
    default: json_put_text(w, json_text(j)); return;
    }
}

static err_t copy_json(struct slice text, enum json_style style, struct buf *out)
{
    struct arena arena = ARENA_EMPTY;
    struct json j;
    struct json_out w;
    json_begin(&j, text, &arena);
    json_out_init(&w, out, style);
    copy_value(&j, &w);
    err_t e = json_end(&j, "test");
    arena_done(&arena);
    return e;
}

static void expect_copy(const char *text, enum json_style style, const char *expected)
{
    struct buf out = BUF_EMPTY;
    EXPECT_OK(copy_json(slice_text(text), style, &out));
    EXPECT_TEXT(buf_slice(&out), expected);
    buf_done(&out);
}

static err_t skip_all(struct slice text)
{
    struct arena arena = ARENA_EMPTY;
    struct json j;
    json_begin(&j, text, &arena);
    json_skip(&j);
    err_t e = json_end(&j, "test");
    arena_done(&arena);
    return e;
}

struct vector {
    struct slice op, name, json;
    bool accepted;
};

static struct vector vector_read(struct slice line, struct arena *arena)
{
    struct vector v = {.accepted = false};
    struct json j;
    json_begin(&j, line, arena);
    if (json_object(&j))
        while (json_next(&j)) {
            struct slice key = json_key(&j);
            if (slice_eq(key, SLICE("op"))) v.op = json_text(&j);
            else if (slice_eq(key, SLICE("case"))) v.name = json_text(&j);
            else if (slice_eq(key, SLICE("json"))) v.json = json_text(&j);
            else if (slice_eq(key, SLICE("accepted"))) v.accepted = json_bool(&j);
            else json_skip(&j);
        }
    EXPECT_OK(json_end(&j, "vector"));
    return v;
}

static void for_each_vector(void (*each)(const struct vector *v))
{
    struct buf file = test_fixture("vectors/json_dialect.jsonl");
    struct arena arena = ARENA_EMPTY;
    struct slice rest = buf_slice(&file), line;
    int n = 0;
    while (slice_split(&rest, '\n', &line)) {
        if (!line.n) continue;
        struct vector v = vector_read(line, &arena);
        each(&v);
        n++;
    }
    EXPECT(n > 40);
    arena_done(&arena);
    buf_done(&file);
}

static void rewrite(const struct vector *v)
{
    if (!slice_eq(v->op, SLICE("write"))) return;
    struct buf out = BUF_EMPTY;
    EXPECT_OK(copy_json(v->json, JSON_RAW, &out));
    EXPECT(slice_eq(buf_slice(&out), v->json));
    buf_done(&out);
}

TEST(json, writes_what_it_read_byte_for_byte_as_the_original)
{
    for_each_vector(rewrite);
}

/* Refused by the original for the type of a field, or because it reads less inside unknown fields: not a matter of syntax. */
static bool is_syntax(struct slice name)
{
    static const char *const others[] = {"unknown field with integer keys", "unknown field with nested integer keys",
                                         "unknown field with bean keys", "array", "int overflow", "bean keys as text",
                                         "offsets with pull table", "bit set array"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (slice_eq(name, slice_text(others[i]))) return false;
    return true;
}

static void read_alike(const struct vector *v)
{
    if (!slice_eq(v->op, SLICE("read"))) return;
    err_t e = skip_all(v->json);
    if (v->accepted || !is_syntax(v->name)) EXPECT_OK(e);
    else EXPECT_ERR(e, ERR_BODY);
}

TEST(json, accepts_and_refuses_the_deviations_that_the_original_does)
{
    for_each_vector(read_alike);
}

TEST(json, numbers_are_exact_to_the_last_of_64_bits)
{
    expect_copy("[9223372036854775807,-9223372036854775808,0]", JSON_RAW, "[9223372036854775807,-9223372036854775808,0]");
    struct arena arena = ARENA_EMPTY;
    struct json j;
    json_begin(&j, SLICE("9223372036854775808"), &arena);
    EXPECT_EQ(json_i64(&j), 0);
    EXPECT_ERR(json_end(&j, "n"), ERR_BODY);
    json_begin(&j, SLICE("2147483648"), &arena);
    json_i32(&j);
    EXPECT_ERR(json_end(&j, "n"), ERR_BODY);
    json_begin(&j, SLICE("[7.9,\"12\",-3e2,null]"), &arena);
    EXPECT(json_array(&j));
    EXPECT(json_next(&j));
    EXPECT_EQ(json_i32(&j), 7);
    EXPECT(json_next(&j));
    EXPECT_EQ(json_i32(&j), 12);
    EXPECT(json_next(&j));
    EXPECT_EQ(json_i32(&j), -300);
    EXPECT(json_next(&j));
    EXPECT_EQ(json_i64(&j), 0);
    EXPECT(!json_next(&j));
    EXPECT_OK(json_end(&j, "n"));
    arena_done(&arena);
}

TEST(json, doubles_look_as_java_writes_them)
{
    expect_copy("[0.0,1.0,12.5,1.2345678925E8,1e7,0.001,1e-4]", JSON_RAW, "[0.0,1.0,12.5,1.2345678925E8,1.0E7,0.001,1.0E-4]");
}

TEST(json, escapes_surrogates_and_halves_of_them)
{
    expect_copy("\"\\ud83d\\ude00 \\ud83d \\u4e2d\\x41\\n\"", JSON_RAW, "\"\xF0\x9F\x98\x80 ? \xE4\xB8\xAD" "A\\n\"");
    expect_copy("\"\xF0\x9F\x98\x80\xE4\xB8\xAD\"", JSON_STRICT, "\"\\ud83d\\ude00\\u4e2d\"");
    EXPECT_ERR(skip_all(SLICE("\"\\u12\"")), ERR_BODY);
    EXPECT_ERR(skip_all(SLICE("\"\\q\"")), ERR_BODY);
    EXPECT_ERR(skip_all(SLICE("\"abc\\")), ERR_BODY);
}

TEST(json, integer_keys_in_all_three_styles)
{
    expect_copy("{0:1,'1':[],2:{}}", JSON_RAW, "{0:1,\"1\":[],2:{}}");
    expect_copy("{0:1}", JSON_STRICT, "{\"0\":1}");
    expect_copy("{\"t\":{0:1,1:2},\"e\":{},\"l\":[\"a\",\"b\"]}", JSON_PRETTY,
                "{\n\t\"t\":{\n\t\t0:1,\n\t\t1:2\n\t},\n\t\"e\":{},\n\t\"l\":[\n\t\t\"a\",\n\t\t\"b\"\n\t]\n}");
}

TEST(json, depth_is_limited_and_costs_no_stack)
{
    struct buf deep = BUF_EMPTY;
    for (int i = 0; i < 100000; i++) buf_put_text(&deep, i % 2 ? "[" : "{\"a\":");
    EXPECT_ERR(skip_all(buf_slice(&deep)), ERR_BODY);
    buf_clear(&deep);
    for (int i = 0; i < 100000; i++) buf_put_text(&deep, "{");
    EXPECT_ERR(skip_all(buf_slice(&deep)), ERR_BODY);
    buf_done(&deep);
}

TEST(json, every_cut_of_a_text_is_refused_or_read_without_reading_past_it)
{
    static const char text[] = "{\"a\":[1,-2.5e3,true,null,'x\\n\\u00e9\\ud83d\\ude00'],/*c*/{\"b\":0}:{3:{}},\"z\":\"\\\"\"}";
    for (size_t n = 0; n < sizeof text - 1; n++) {
        uint8_t *exact = must_alloc(n ? n : 1);   /* so that the sanitizer sees each byte too many */
        memcpy(exact, text, n);
        EXPECT_ERR(skip_all(slice_of(exact, n)), ERR_BODY);
        free(exact);
    }
    EXPECT_OK(skip_all(slice_text(text)));
}

TEST(json, random_bytes_never_break_the_reader)
{
    static const char alphabet[] = "{}[]:,\"'\\/u0129ae-.tfnx* \n";
    uint64_t seed = 42;
    for (int round = 0; round < 20000; round++) {
        uint8_t text[48];
        size_t n = 0;
        for (; n < sizeof text; n++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            if ((seed >> 33) % 37 == 0) break;
            text[n] = (uint8_t)alphabet[(seed >> 33) % (sizeof alphabet - 1)];
        }
        err_free(skip_all(slice_of(text, n)));
        struct buf out = BUF_EMPTY;
        err_free(copy_json(slice_of(text, n), JSON_PRETTY, &out));
        buf_done(&out);
    }
}

TEST(arena, stops_at_its_limit)
{
    struct arena a = ARENA_EMPTY;
    a.limit = 10000;
    EXPECT(arena_take(&a, 9000));
    EXPECT(!arena_take(&a, 9000));
    EXPECT(arena_take(&a, 16));
    EXPECT(!arena_take(&a, SIZE_MAX));
    EXPECT(a.total <= 10000);
    arena_done(&a);
}

TEST(arena, lists_keep_their_elements_while_they_grow)
{
    struct arena a = ARENA_EMPTY;
    int *items = NULL;
    size_t count = 0;
    for (int i = 0; i < 1000; i++) *(int *)arena_list_add(&a, (void **)&items, &count, sizeof *items) = i;
    EXPECT_EQ(count, 1000);
    for (int i = 0; i < 1000; i++) EXPECT_EQ(items[i], i);
    arena_done(&a);
}
