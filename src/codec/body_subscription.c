#include "codec/body_subscription.h"
#include "codec/java_hash.h"

#define ROW(member, wire, type) {wire, offsetof(struct subscription, member), &bean_##type, NULL, false}
static const struct bean_field rows[] = {
    ROW(class_filter, "classFilterMode", bool),
    ROW(codes, "codeSet", i32s),
    ROW(type, "expressionType", text),
    ROW(expression, "subString", text),
    ROW(version, "subVersion", i64),
    ROW(tags, "tagsSet", texts),
    ROW(topic, "topic", text),
};
static const struct subscription blank = {.type = {(const uint8_t *)"TAG", 3}};
const struct bean subscription_bean = BEAN(struct subscription, rows, &blank);

bool subscription_is_tag(struct slice type) { return !type.p || !type.n || slice_eq(type, SLICE("TAG")); }

bool subscription_is_all(const struct subscription *s)
{
    return subscription_is_tag(s->type) && (!s->expression.n || slice_eq(s->expression, SLICE("*")));
}

static bool add_code(struct arena *arena, struct subscription *s, int32_t code)
{
    for (size_t i = 0; i < s->codes.count; i++)
        if (s->codes.items[i] == code) return true;
    int32_t *slot = arena_list_add(arena, (void **)&s->codes.items, &s->codes.count, sizeof *slot);
    if (slot) *slot = code;
    return slot;
}

static err_t too_many(void) { return err_new(ERR_SUBSCRIPTION_PARSE, "an expression of more than %d tags", SUBSCRIPTION_TAGS_MAX); }

static err_t add_tag(struct arena *arena, struct subscription *s, struct slice tag)
{
    for (size_t i = 0; i < s->tags.count; i++)
        if (slice_eq(s->tags.items[i], tag)) return NULL;
    if (s->tags.count == SUBSCRIPTION_TAGS_MAX) return too_many();
    struct slice *slot = arena_list_add(arena, (void **)&s->tags.items, &s->tags.count, sizeof *slot);
    if (slot) *slot = tag;
    return slot && add_code(arena, s, java_hash(tag)) ? NULL : err_new(ERR_OUT_OF_MEMORY, "the subscription is too large");
}

/* Java's trim: everything up to the blank goes. */
static struct slice trim(struct slice s)
{
    while (s.n && s.p[0] <= ' ') s = slice_skip(s, 1);
    while (s.n && s.p[s.n - 1] <= ' ') s.n--;
    return s;
}

/* Cuts the part before "||" off; false when *rest is used up. */
static bool split_bars(struct slice *rest, struct slice *part)
{
    if (!rest->p) return false;
    const uint8_t *at = rest->n ? memmem(rest->p, rest->n, "||", 2) : NULL;
    *part = at ? slice_of(rest->p, (size_t)(at - rest->p)) : *rest;
    *rest = at ? slice_of(at + 2, rest->n - part->n - 2) : (struct slice){NULL, 0};
    return true;
}

err_t subscription_parse(struct slice topic, struct slice expression, struct arena *arena, struct subscription *out)
{
    struct subscription s = blank;
    s.topic = topic;
    s.expression = expression.n ? expression : SLICE("*");
    bool something = slice_eq(s.expression, SLICE("*"));
    struct slice rest = something ? (struct slice){NULL, 0} : s.expression, part;
    while (split_bars(&rest, &part)) {
        if (part.n) something = true;
        part = trim(part);
        err_t e = part.n ? add_tag(arena, &s, part) : NULL;
        if (e) return e;
    }
    if (!something) return err_new(ERR_SUBSCRIPTION_PARSE, "subString split error");
    *out = s;
    return NULL;
}

err_t subscription_copy(const struct subscription *s, struct arena *arena, struct subscription *out)
{
    if (s->tags.count > SUBSCRIPTION_TAGS_MAX || s->codes.count > SUBSCRIPTION_TAGS_MAX) return too_many();
    struct subscription copy = *s;
    copy.topic = arena_copy(arena, s->topic);
    copy.expression = arena_copy(arena, s->expression);
    copy.type = arena_copy(arena, s->type);
    copy.tags.items = arena_take(arena, s->tags.count * sizeof *s->tags.items);
    copy.codes.items = arena_take(arena, s->codes.count * sizeof *s->codes.items);
    if (!copy.tags.items || !copy.codes.items) return err_new(ERR_OUT_OF_MEMORY, "the subscription is too large");
    for (size_t i = 0; i < s->tags.count; i++) copy.tags.items[i] = arena_copy(arena, s->tags.items[i]);
    if (s->codes.count) memcpy(copy.codes.items, s->codes.items, s->codes.count * sizeof *s->codes.items);
    *out = copy;
    return NULL;
}
