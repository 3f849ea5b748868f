#include "meta/attributes.h"

#include <strings.h>

enum { MONTH_MINUTES = 30 * 24 * 60 };

/* What a value has to be: one of a set, a number within limits, "true" or "false", or any text. */
enum value_kind { ONE_OF, NUMBER, TRUTH, TEXT };

struct rule {
    const char *key;
    bool changeable;             /* later, too */
    enum value_kind kind;
    const char *values;          /* ONE_OF: in the original's order */
    int64_t least, most;         /* NUMBER */
};

static const struct rule topic_rules[] = {
    {"queue.type", false, ONE_OF, "BatchCQ, SimpleCQ", 0, 0},
    {"cleanup.policy", false, ONE_OF, "COMPACTION, DELETE", 0, 0},
    {"lite.topic.expiration", true, NUMBER, NULL, -1, MONTH_MINUTES},
    {"message.type", true, ONE_OF, "UNSPECIFIED, MIXED, TRANSACTION, PRIORITY, FIFO, DELAY, LITE, NORMAL", 0, 0},
    {"reserve.time", true, NUMBER, NULL, -1, INT64_MAX},
};

static const struct rule group_rules[] = {
    {"lite.bind.topic", true, TEXT, NULL, 0, 0},
    {"lite.sub.client.max.event.cnt", true, NUMBER, NULL, 10, INT64_MAX},
    {"lite.sub.client.quota", true, NUMBER, NULL, -1, INT64_MAX},
    {"lite.sub.model", true, ONE_OF, "Shared, Exclusive", 0, 0},
    {"lite.sub.reset.offset.exclusive", true, TRUTH, NULL, 0, 0},
    {"lite.sub.reset.offset.unsubscribe", true, TRUTH, NULL, 0, 0},
    {"lite.sub.wildcard", true, TEXT, NULL, 0, 0},
    {"priority.factor", true, NUMBER, NULL, 0, 100},
};

static const struct rule_set {
    const struct rule *rules;
    size_t count;
} rule_sets[] = {
    [ATTRIBUTES_OF_TOPIC] = {topic_rules, sizeof topic_rules / sizeof *topic_rules},
    [ATTRIBUTES_OF_GROUP] = {group_rules, sizeof group_rules / sizeof *group_rules},
};

static struct pair *find(const struct attributes *a, struct slice key)
{
    for (size_t i = 0; a && i < a->pairs.count; i++)
        if (slice_eq(a->pairs.items[i].key, key)) return &a->pairs.items[i];
    return NULL;
}

static err_t add(struct attributes *a, struct slice key, struct slice value, struct arena *arena)
{
    struct pair *p = arena_list_add(arena, (void **)&a->pairs.items, &a->pairs.count, sizeof *p);
    if (!p) return err_new(ERR_REFUSED, "too many attributes");
    *p = (struct pair){key, value};
    return NULL;
}

static bool contains(struct slice s, char mark) { return s.n && memchr(s.p, mark, s.n); }

static err_t parse_one(struct slice part, struct arena *arena, struct attributes *out)
{
    struct slice rest = part, key = part, value = SLICE("");
    if (contains(part, '=')) {
        slice_split(&rest, '=', &key);
        slice_split(&rest, '=', &value);
        if (!contains(key, '+')) return err_new(ERR_REFUSED, "add/alter attribute format is wrong: %.*s", SLICE_ARG(key));
        if (!value.n) return err_new(ERR_REFUSED, "add/alter attribute without a value: %.*s", SLICE_ARG(key));
    } else if (!contains(part, '-')) {
        return err_new(ERR_REFUSED, "delete attribute format is wrong: %.*s", SLICE_ARG(part));
    }
    if (find(out, key)) return err_new(ERR_REFUSED, "key duplication: %.*s", SLICE_ARG(key));
    return add(out, key, value, arena);
}

err_t attribute_edits_parse(struct slice text, struct arena *arena, struct attributes *out)
{
    struct attributes edits = {{NULL, 0}};
    struct slice rest = text, part;
    while (rest.n && rest.p[rest.n - 1] == ',') rest.n--;   /* Java's split drops empty ends */
    while (rest.n && slice_split(&rest, ',', &part)) {
        err_t e = parse_one(part, arena, &edits);
        if (e) return e;
    }
    *out = edits;
    return NULL;
}

/* Whatever the case of its letters. */
static bool slice_is_word(struct slice s, const char *word) { return s.n == strlen(word) && !strncasecmp((const char *)s.p, word, s.n); }

static bool in_values(const char *values, struct slice value)
{
    struct slice rest = slice_text(values), part;
    while (slice_split(&rest, ',', &part))
        if (slice_eq(slice_trim(part), value)) return true;
    return false;
}

static err_t check_number(const struct rule *rule, struct slice value)
{
    int64_t number;
    if (!slice_to_i64(value, &number)) return err_new(ERR_REFUSED, "For input string: \"%.*s\"", SLICE_ARG(value));
    if (number >= rule->least && number <= rule->most) return NULL;
    return err_new(ERR_REFUSED, "value is not in range(%lld, %lld)", (long long)rule->least, (long long)rule->most);
}

static err_t check_value(const struct rule *rule, struct slice value)
{
    switch (rule->kind) {
    case ONE_OF:
        if (in_values(rule->values, value)) return NULL;
        return err_new(ERR_REFUSED, "value is not in set: [%s]", rule->values);
    case NUMBER: return check_number(rule, value);
    case TRUTH:
        if (slice_is_word(value, "true") || slice_is_word(value, "false")) return NULL;
        return err_new(ERR_REFUSED, "boolean attribute format is wrong.");
    case TEXT: break;
    }
    return NULL;
}

static const struct rule *find_rule(const struct rule_set *set, struct slice key)
{
    for (size_t i = 0; i < set->count; i++)
        if (slice_eq(key, slice_text(set->rules[i].key))) return &set->rules[i];
    return NULL;
}

/* One edit against the topic or group as it is. */
static err_t check_edit(const struct rule_set *set, const struct attributes *now, struct slice key, bool removes, struct slice value)
{
    bool there = find(now, key);
    if (!now && removes)
        return err_new(ERR_REFUSED, "only add attribute is supported while creating topic. key: %.*s", SLICE_ARG(key));
    if (removes && !there) return err_new(ERR_REFUSED, "attempt to delete a nonexistent key: %.*s", SLICE_ARG(key));
    const struct rule *rule = find_rule(set, key);
    if (!rule) return err_new(ERR_REFUSED, "unsupported key: %.*s", SLICE_ARG(key));
    if (there && !rule->changeable)
        return err_new(ERR_REFUSED, "attempt to update an unchangeable attribute. key: %.*s", SLICE_ARG(key));
    return removes ? NULL : check_value(rule, value);
}

static struct slice real_key(struct slice signed_key) { return slice_skip(signed_key, 1); }

static err_t check_edits(const struct rule_set *set, const struct attributes *now, const struct attributes *edits)
{
    for (size_t i = 0; i < edits->pairs.count; i++) {
        struct slice sign = edits->pairs.items[i].key, key = real_key(sign);
        if (!key.n || contains(key, '+') || contains(key, '-')) return err_new(ERR_REFUSED, "kv string format wrong.");
        for (size_t k = 0; k < i; k++)
            if (slice_eq(real_key(edits->pairs.items[k].key), key))
                return err_new(ERR_REFUSED, "alter duplication key. key: %.*s", SLICE_ARG(key));
        if (sign.p[0] != '+' && sign.p[0] != '-') return err_new(ERR_REFUSED, "wrong format key: %.*s", SLICE_ARG(key));
        err_t e = check_edit(set, now, key, sign.p[0] == '-', edits->pairs.items[i].value);
        if (e) return e;
    }
    return NULL;
}

static bool edited(const struct attributes *edits, struct slice key)
{
    for (size_t i = 0; i < edits->pairs.count; i++)
        if (slice_eq(real_key(edits->pairs.items[i].key), key)) return true;
    return false;
}

err_t attributes_edit(enum attributes_of of, const struct attributes *now, const struct attributes *edits, struct arena *arena,
                      struct attributes *out)
{
    struct attributes result = {{NULL, 0}};
    err_t e = check_edits(&rule_sets[of], now, edits);
    for (size_t i = 0; !e && now && i < now->pairs.count; i++) {
        struct pair *p = &now->pairs.items[i];
        if (!edited(edits, p->key)) e = add(&result, p->key, p->value, arena);
    }
    for (size_t i = 0; !e && i < edits->pairs.count; i++) {
        struct pair *p = &edits->pairs.items[i];
        if (p->key.p[0] == '+') e = add(&result, real_key(p->key), p->value, arena);
    }
    if (!e) *out = result;
    return e;
}
