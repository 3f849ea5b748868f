#include "meta/attributes.h"
#include "meta/meta_fixture.h"
#include "meta/names.h"

#include <stdio.h>

struct name_vector {
    struct slice name, topic_remark, group_remark;
    bool topic_valid, group_valid, system, closed;
};
#define ROW(kind, member, wire, type) {wire, offsetof(struct kind, member), &bean_##type, NULL, false}
static const struct bean_field name_rows[] = {
    ROW(name_vector, name, "name", text),
    ROW(name_vector, topic_valid, "topicValid", bool),
    ROW(name_vector, topic_remark, "topicRemark", text),
    ROW(name_vector, group_valid, "groupValid", bool),
    ROW(name_vector, group_remark, "groupRemark", text),
    ROW(name_vector, system, "system", bool),
    ROW(name_vector, closed, "notAllowedSend", bool),
};
static const struct bean name_bean = BEAN(struct name_vector, name_rows, NULL);

static void expect_remark(err_t e, bool valid, struct slice remark)
{
    EXPECT(valid == !e);
    /* The zero byte ends the text of an error, not that of a remark; the rest is the same. */
    if (e && !memchr(remark.p, 0, remark.n)) EXPECT(slice_eq(slice_text(err_text(e)), remark));
    err_free(e);
}

static void check_name(struct slice line, struct arena *arena)
{
    struct name_vector v;
    EXPECT_OK(bean_decode(&name_bean, line, arena, "vector", &v));
    expect_remark(topic_name_check(v.name), v.topic_valid, v.topic_remark);
    expect_remark(group_name_check(v.name), v.group_valid, v.group_remark);
    EXPECT_EQ(topic_name_is_system(v.name), v.system);
    EXPECT_EQ(topic_name_is_closed(v.name), v.closed);
}

TEST(names, are_judged_and_refused_in_the_words_of_the_original)
{
    meta_fixture_lines("vectors/name_rules.jsonl", check_name);
}

struct attribute_vector {
    struct slice text, change, error;
    bool create;
    BEAN_LIST(struct pair) map;
    BEAN_LIST(struct pair) current;
    BEAN_LIST(struct pair) result;
};
static const struct bean_field attribute_rows[] = {
    ROW(attribute_vector, text, "text", text),
    ROW(attribute_vector, change, "change", text),
    ROW(attribute_vector, error, "error", text),
    ROW(attribute_vector, create, "create", bool),
    ROW(attribute_vector, map, "map", pairs),
    ROW(attribute_vector, current, "current", pairs),
    ROW(attribute_vector, result, "result", pairs),
};
static const struct bean attribute_bean = BEAN(struct attribute_vector, attribute_rows, NULL);

static void expect_pairs(const struct attributes *a, const struct pair *expected, size_t count)
{
    EXPECT_EQ(a->pairs.count, count);
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t k = 0; k < count; k++)
            found |= slice_eq(a->pairs.items[k].key, expected[i].key) && slice_eq(a->pairs.items[k].value, expected[i].value);
        EXPECT(found);
    }
}

/* Vectors give the exception's class too: "RuntimeException: text". */
static void expect_text_of(err_t e, struct slice error)
{
    const uint8_t *colon = memmem(error.p, error.n, ": ", 2);
    EXPECT(e && colon);
    EXPECT(slice_eq(slice_text(err_text(e)), slice_of(colon + 2, error.n - (size_t)(colon + 2 - error.p))));
    err_free(e);
}

static void check_attributes(struct slice line, struct arena *arena)
{
    struct attribute_vector v;
    struct attributes edits, result;
    EXPECT_OK(bean_decode(&attribute_bean, line, arena, "vector", &v));
    bool edit = memmem(line.p, line.n, "\"change\"", 8);
    err_t e = attribute_edits_parse(edit ? v.change : v.text, arena, &edits);
    if (!edit && !v.error.p) {
        EXPECT_OK(e);
        expect_pairs(&edits, v.map.items, v.map.count);
        return;
    }
    if (!edit) {
        expect_text_of(e, v.error);
        return;
    }
    EXPECT_OK(e);
    struct attributes current = {{v.current.items, v.current.count}};
    e = attributes_edit(ATTRIBUTES_OF_TOPIC, v.create ? NULL : &current, &edits, arena, &result);
    if (v.error.p) {
        expect_text_of(e, v.error);
        return;
    }
    EXPECT_OK(e);
    expect_pairs(&result, v.result.items, v.result.count);
}

TEST(attributes, are_parsed_edited_and_refused_as_by_the_original)
{
    meta_fixture_lines("vectors/attributes.jsonl", check_attributes);
}
