#include "kit/test.h"

#include "kit/wire_compare.h"

#include "codec/properties.h"
#include "codec/record.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

bool wire_named(const char *names, const char *name)
{
    struct slice rest = slice_text(names ? names : ""), one;
    while (slice_split(&rest, ' ', &one))
        if (one.n && slice_eq(one, slice_text(name))) return true;
    return false;
}

static bool may_differ(const struct wire_place *at, struct slice name)
{
    char text[128];
    snprintf(text, sizeof text, "%.*s", SLICE_ARG(name));
    return wire_named(at->how->volatile_names, text);
}

static void differ(const struct wire_place *at, const char *what, struct slice ours, struct slice theirs)
{
    fail_msg("%s.jsonl line %d: %s differs\n   ours: %.*s\n theirs: %.*s", at->file, at->line, what, (int)(ours.n > 2000 ? 2000 : ours.n),
             (const char *)ours.p, (int)(theirs.n > 2000 ? 2000 : theirs.n), (const char *)theirs.p);
}

static void compare_number(const struct wire_place *at, const char *what, int64_t ours, int64_t theirs)
{
    if (ours != theirs) fail_msg("%s.jsonl line %d: %s is %lld, was %lld", at->file, at->line, what, (long long)ours, (long long)theirs);
}

/* --- remarks --- */

/* The recorded clients, and those of the simulated network. */
static const char *const client_addresses[] = {"127.0.0.1:", "10.0.0.9:", "10.0.0.2:"};

static size_t client_address_at(struct slice s)
{
    for (size_t i = 0; i < sizeof client_addresses / sizeof *client_addresses; i++) {
        size_t n = strlen(client_addresses[i]);
        if (s.n < n || memcmp(s.p, client_addresses[i], n)) continue;
        while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9') n++;
        return n;
    }
    return 0;
}

static struct buf without_client(struct slice s)
{
    struct buf b = BUF_EMPTY;
    while (s.n) {
        size_t n = client_address_at(s);
        if (!n) buf_put_u8(&b, s.p[0]);
        s = slice_skip(s, n ? n : 1);
    }
    return b;
}

static bool begins_with(struct slice s, const char *text) { return s.n >= strlen(text) && !memcmp(s.p, text, strlen(text)); }

static void compare_remark(const struct wire_place *at, const struct frame *ours, const struct frame *theirs)
{
    if (may_differ(at, SLICE("remark"))) return;
    bool is_exception = begins_with(theirs->remark, "java.") || begins_with(theirs->remark, "com.alibaba.") ||
                        begins_with(theirs->remark, "org.apache.");
    bool says_nothing = theirs->code == RESPONSE_SUCCESS && slice_eq(theirs->remark, SLICE("not set any response code"));
    if ((is_exception && ours->remark.n) || (says_nothing && !ours->remark.n)) return;
    struct buf a = without_client(ours->remark), b = without_client(theirs->remark);
    if (!slice_eq(buf_slice(&a), buf_slice(&b))) differ(at, "the remark", ours->remark, theirs->remark);
    buf_done(&a);
    buf_done(&b);
}

/* --- header fields --- */

static void compare_fields_one_way(const struct wire_place *at, const struct frame *a, const struct frame *b, bool a_is_ours)
{
    for (size_t i = 0; i < a->count; i++) {
        char name[128];
        snprintf(name, sizeof name, "%.*s", SLICE_ARG(a->fields[i].name));
        if (wire_named(at->how->volatile_names, name)) continue;
        struct slice value = frame_get(b, a->fields[i].name);
        if (value.p && slice_eq(value, a->fields[i].value)) continue;
        if (!value.p) value = SLICE("(none)");
        differ(at, name, a_is_ours ? a->fields[i].value : value, a_is_ours ? value : a->fields[i].value);
    }
}

/* --- bodies of JSON --- */

/* Puts quotes around keys that are bare numbers or objects, as the official servers write some maps. */
static struct buf quote_keys(struct slice s)
{
    struct buf b = BUF_EMPTY;
    bool text = false;
    for (size_t i = 0; i < s.n; i++) {
        size_t end = i + 1;
        uint8_t c = s.p[i];
        buf_put_u8(&b, c);
        if (text && c == '\\' && end < s.n) buf_put_u8(&b, s.p[++i]);
        else if (c == '"') text = !text;
        if (text || (c != '{' && c != ',')) continue;
        if (s.p[end] == '{') {
            while (end < s.n && s.p[end] != '}') end++;
            if (++end >= s.n || s.p[end] != ':') continue;
            buf_put_u8(&b, '"');
            for (size_t at = i + 1; at < end; at++) buf_put_u8(&b, s.p[at] == '"' ? '\'' : s.p[at]);
            buf_put_u8(&b, '"');
            i = end - 1;
            continue;
        }
        while (end < s.n && (s.p[end] == '-' || (s.p[end] >= '0' && s.p[end] <= '9'))) end++;
        if (end == i + 1 || end >= s.n || s.p[end] != ':') continue;
        buf_printf(&b, "\"%.*s\"", (int)(end - i - 1), (const char *)s.p + i + 1);
        i = end - 1;
    }
    return b;
}

static json_t *parse(struct slice s)
{
    struct buf b = quote_keys(s);
    json_t *j = json_loadb((const char *)b.p, b.n, JSON_DECODE_ANY, NULL);
    buf_done(&b);
    return j;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Lists in the order of what their elements look like. */
static void sort_list(json_t *list)
{
    size_t n = json_array_size(list);
    char **texts = must_zero((n + 1) * sizeof *texts);
    for (size_t i = 0; i < n; i++) texts[i] = json_dumps(json_array_get(list, i), JSON_ENCODE_ANY | JSON_SORT_KEYS);
    qsort(texts, n, sizeof *texts, by_text);
    json_array_clear(list);
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, json_loads(texts[i], JSON_DECODE_ANY, NULL));
        free(texts[i]);
    }
    free(texts);
}

/* Takes the keys that may differ out, at every depth. */
static void strip(json_t *j, const struct wire_replay *how)
{
    if (json_is_object(j)) {
        const char *key;
        json_t *v;
        void *next;
        json_object_foreach_safe(j, next, key, v) {
            if (wire_named(how->volatile_names, key)) json_object_del(j, key);
            else strip(v, how);
        }
    }
    size_t i;
    json_t *v;
    if (!json_is_array(j)) return;
    json_array_foreach(j, i, v) strip(v, how);
    if (how->sets) sort_list(j);
}

static bool same_json(const struct wire_place *at, struct slice ours, struct slice theirs, bool *out_is_json)
{
    json_t *a = parse(ours), *b = parse(theirs);
    *out_is_json = b != NULL;
    strip(a, at->how);
    strip(b, at->how);
    bool same = a && b && json_equal(a, b);
    json_decref(a);
    json_decref(b);
    return same;
}

/* --- bodies of records --- */

static void compare_properties_one_way(const struct wire_place *at, struct slice a, struct slice b, bool a_is_ours)
{
    struct slice name, value, rest = a;
    while (properties_next(&rest, &name, &value)) {
        struct slice other = properties_get(b, name);
        if (slice_eq(value, other) || may_differ(at, name)) continue;
        char what[160];
        snprintf(what, sizeof what, "the property %.*s", SLICE_ARG(name));
        differ(at, what, a_is_ours ? value : other, a_is_ours ? other : value);
    }
}

static void compare_message(const struct wire_place *at, const struct message *ours, const struct message *theirs)
{
    if (!slice_eq(ours->topic, theirs->topic)) differ(at, "the topic of a message", ours->topic, theirs->topic);
    if (!slice_eq(ours->body, theirs->body)) differ(at, "the body of a message", ours->body, theirs->body);
    compare_number(at, "queue id", ours->queue_id, theirs->queue_id);
    compare_number(at, "queue offset", ours->queue_offset, theirs->queue_offset);
    compare_number(at, "flag", ours->flag, theirs->flag);
    compare_number(at, "sysFlag", ours->sys_flag, theirs->sys_flag);
    compare_number(at, "born time", ours->born_ms, theirs->born_ms);
    compare_number(at, "reconsume times", ours->reconsume_times, theirs->reconsume_times);
    compare_number(at, "checksum", ours->body_crc, theirs->body_crc);
    compare_properties_one_way(at, ours->properties, theirs->properties, true);
    compare_properties_one_way(at, theirs->properties, ours->properties, false);
}

static void compare_records(const struct wire_place *at, struct slice ours, struct slice theirs)
{
    while (ours.n && theirs.n) {
        struct message a, b;
        EXPECT_EQ(record_read(theirs, &b), RECORD_WHOLE);
        EXPECT_EQ(record_read(ours, &a), RECORD_WHOLE);
        compare_message(at, &a, &b);
        ours = slice_skip(ours, record_read_size(&a));
        theirs = slice_skip(theirs, record_read_size(&b));
    }
    compare_number(at, "bytes of messages that the other side has not", (int64_t)ours.n, (int64_t)theirs.n);
}

static void compare_body(const struct wire_place *at, struct slice ours, struct slice theirs)
{
    bool is_json;
    if (slice_eq(ours, theirs) || same_json(at, ours, theirs, &is_json)) return;
    if (!is_json && at->how->records && ours.n && theirs.n) {
        compare_records(at, ours, theirs);
        return;
    }
    if (!is_json && at->how->any_body && !ours.n == !theirs.n) return;
    differ(at, "the body", ours, theirs);
}

void wire_compare(const struct wire_place *at, const struct frame *ours, const struct frame *theirs, enum frame_form form)
{
    compare_number(at, "code", ours->code, theirs->code);
    compare_number(at, "flag", ours->flag, theirs->flag);
    compare_number(at, "serialization", (int)ours->form, (int)form);
    compare_remark(at, ours, theirs);
    compare_fields_one_way(at, ours, theirs, true);
    compare_fields_one_way(at, theirs, ours, false);
    compare_body(at, ours->body, theirs->body);
}
