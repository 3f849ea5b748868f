#include "codec/bean.h"

#include <assert.h>
#include <strings.h>

struct any_list {
    void *items;
    size_t count;
};

static const struct bean_field *find(const struct bean *b, struct slice key, size_t *hint)
{
    for (size_t i = 0; i < b->count; i++) {
        size_t at = (*hint + i) % b->count;
        if (!slice_eq(key, slice_text(b->fields[at].wire))) continue;
        *hint = at + 1;
        return &b->fields[at];
    }
    return NULL;
}

static void set_blank(const struct bean *b, void *out)
{
    if (b->blank) memcpy(out, b->blank, b->size);
    else memset(out, 0, b->size);
}

static void read_members(struct json *j, const struct bean *b, void *out)
{
    size_t hint = 0;
    if (!json_object(j)) return;
    while (json_next(j)) {
        const struct bean_field *f = NULL;
        if (json_peek(j) == JSON_OBJECT) {
            json_skip(j);
            json_colon(j);
        } else {
            f = find(b, json_key(j), &hint);
        }
        if (f && json_peek(j) != JSON_NULL) f->type->read(j, f, (uint8_t *)out + f->at);
        else json_skip(j);
    }
}

void bean_read(struct json *j, const struct bean *b, void *out)
{
    set_blank(b, out);
    read_members(j, b, out);
}

void bean_write(struct json_out *w, const struct bean *b, const void *in)
{
    json_put_object(w);
    for (size_t i = 0; i < b->count; i++) {
        const struct bean_field *f = &b->fields[i];
        const void *member = (const uint8_t *)in + f->at;
        if (f->type->absent && f->type->absent(f, member)) continue;
        json_put_key(w, slice_text(f->wire));
        f->type->write(w, f, member);
    }
    json_put_object_end(w);
}

err_t bean_decode(const struct bean *b, struct slice body, struct arena *arena, const char *what, void *out)
{
    struct json j;
    json_begin(&j, body, arena);
    bean_read(&j, b, out);
    return json_end(&j, what);
}

void bean_encode(const struct bean *b, const void *in, enum json_style style, struct buf *out)
{
    struct json_out w;
    json_out_init(&w, out, style);
    bean_write(&w, b, in);
}

void bean_copy(const struct bean *b, const void *in, struct arena *arena, void *out)
{
    struct buf text = BUF_EMPTY;
    bean_encode(b, in, JSON_RAW, &text);
    err_t e = bean_decode(b, arena_copy(arena, buf_slice(&text)), arena, "copy", out);
    assert(!e);   /* what we wrote we can read */
    buf_done(&text);
}

/* A new element of a list, or NULL with the reading failed. */
static void *add(struct json *j, void *member, size_t size)
{
    struct any_list *list = member;
    void *element = arena_list_add(j->arena, &list->items, &list->count, size);
    if (!element) json_fail(j, "too large");
    return element;
}

static bool list_absent(const struct bean_field *f, const void *member)
{
    return f->optional && !((const struct any_list *)member)->count;
}

/* Lists begin anew when a property comes twice. */
static bool begin_list(struct json *j, void *member)
{
    *(struct any_list *)member = (struct any_list){NULL, 0};
    return json_array(j);
}

static bool begin_map(struct json *j, void *member)
{
    *(struct any_list *)member = (struct any_list){NULL, 0};
    return json_object(j);
}

#define UNUSED __attribute__((unused))
#define FIELD  const struct bean_field *f UNUSED   /* types that need nothing from their row */

static void text_read(struct json *j, FIELD, void *m) { *(struct slice *)m = json_text(j); }
static void text_write(struct json_out *w, FIELD, const void *m) { json_put_text(w, *(const struct slice *)m); }
static bool text_absent(FIELD, const void *m) { return !((const struct slice *)m)->p; }
const struct bean_type bean_text = {text_read, text_write, text_absent};

static void i32_read(struct json *j, FIELD, void *m) { *(int32_t *)m = json_i32(j); }
static void i32_write(struct json_out *w, FIELD, const void *m) { json_put_i64(w, *(const int32_t *)m); }
const struct bean_type bean_i32 = {i32_read, i32_write, NULL};

static void i64_read(struct json *j, FIELD, void *m) { *(int64_t *)m = json_i64(j); }
static void i64_write(struct json_out *w, FIELD, const void *m) { json_put_i64(w, *(const int64_t *)m); }
const struct bean_type bean_i64 = {i64_read, i64_write, NULL};

static void bool_read(struct json *j, FIELD, void *m) { *(bool *)m = json_bool(j); }
static void bool_write(struct json_out *w, FIELD, const void *m) { json_put_bool(w, *(const bool *)m); }
const struct bean_type bean_bool = {bool_read, bool_write, NULL};

static void double_read(struct json *j, FIELD, void *m) { *(double *)m = json_double(j); }
static void double_write(struct json_out *w, FIELD, const void *m) { json_put_double(w, *(const double *)m); }
const struct bean_type bean_double = {double_read, double_write, NULL};

/* By name in any case, or by number; what is neither is no choice. */
static void choice_read(struct json *j, const struct bean_field *f, void *m)
{
    const char *const *names = f->more;
    struct slice s = json_text(j);
    int32_t number = -1, count = 0;
    slice_to_i32(s, &number);
    *(int32_t *)m = -1;
    for (; names[count]; count++)
        if (strlen(names[count]) == s.n && !strncasecmp(names[count], (const char *)s.p, s.n)) number = count;
    if (number >= 0 && number < count) *(int32_t *)m = number;
}
static void choice_write(struct json_out *w, const struct bean_field *f, const void *m)
{
    json_put_text(w, slice_text(((const char *const *)f->more)[*(const int32_t *)m]));
}
static bool choice_absent(FIELD, const void *m) { return *(const int32_t *)m < 0; }
const struct bean_type bean_choice = {choice_read, choice_write, choice_absent};

static void part_read(struct json *j, const struct bean_field *f, void *m) { bean_read(j, f->more, m); }
static void part_write(struct json_out *w, const struct bean_field *f, const void *m) { bean_write(w, f->more, m); }
const struct bean_type bean_part = {part_read, part_write, NULL};

static void ref_read(struct json *j, const struct bean_field *f, void *m)
{
    const struct bean *b = f->more;
    void *target = arena_take(j->arena, b->size);
    if (!target) {
        json_fail(j, "too large");
        return;
    }
    bean_read(j, b, target);
    *(void **)m = target;
}
static void ref_write(struct json_out *w, const struct bean_field *f, const void *m)
{
    bean_write(w, f->more, *(void *const *)m);
}
static bool ref_absent(FIELD, const void *m) { return !*(void *const *)m; }
const struct bean_type bean_ref = {ref_read, ref_write, ref_absent};

static void list_read(struct json *j, const struct bean_field *f, void *m)
{
    const struct bean *b = f->more;
    if (!begin_list(j, m)) return;
    while (json_next(j)) {
        void *element = add(j, m, b->size);
        if (element) bean_read(j, b, element);
    }
}
static void list_write(struct json_out *w, const struct bean_field *f, const void *m)
{
    const struct any_list *list = m;
    const struct bean *b = f->more;
    json_put_array(w);
    for (size_t i = 0; i < list->count; i++) bean_write(w, b, (const uint8_t *)list->items + i * b->size);
    json_put_array_end(w);
}
const struct bean_type bean_list = {list_read, list_write, list_absent};

static void texts_read(struct json *j, FIELD, void *m)
{
    if (!begin_list(j, m)) return;
    while (json_next(j)) {
        struct slice *text = add(j, m, sizeof *text);
        if (text) *text = json_text(j);
    }
}
static void texts_write(struct json_out *w, FIELD, const void *m)
{
    const BEAN_LIST(struct slice) *list = m;
    json_put_array(w);
    for (size_t i = 0; i < list->count; i++) json_put_text(w, list->items[i]);
    json_put_array_end(w);
}
const struct bean_type bean_texts = {texts_read, texts_write, list_absent};

static void i32s_read(struct json *j, FIELD, void *m)
{
    if (!begin_list(j, m)) return;
    while (json_next(j)) {
        int32_t *v = add(j, m, sizeof *v);
        if (v) *v = json_i32(j);
    }
}
static void i32s_write(struct json_out *w, FIELD, const void *m)
{
    const BEAN_LIST(int32_t) *list = m;
    json_put_array(w);
    for (size_t i = 0; i < list->count; i++) json_put_i64(w, list->items[i]);
    json_put_array_end(w);
}
const struct bean_type bean_i32s = {i32s_read, i32s_write, list_absent};

static void pairs_read(struct json *j, FIELD, void *m)
{
    if (!begin_map(j, m)) return;
    while (json_next(j)) {
        struct pair *p = add(j, m, sizeof *p);
        if (!p) return;
        p->key = json_key(j);
        p->value = json_text(j);
    }
}
static void pairs_write(struct json_out *w, FIELD, const void *m)
{
    const BEAN_LIST(struct pair) *list = m;
    json_put_object(w);
    for (size_t i = 0; i < list->count; i++) {
        json_put_key(w, list->items[i].key);
        json_put_text(w, list->items[i].value);
    }
    json_put_object_end(w);
}
const struct bean_type bean_pairs = {pairs_read, pairs_write, list_absent};

static void text_lists_read(struct json *j, const struct bean_field *f, void *m)
{
    if (!begin_map(j, m)) return;
    while (json_next(j)) {
        struct named_list *named = add(j, m, sizeof *named);
        if (!named) return;
        named->name = json_key(j);
        texts_read(j, f, &named->texts);
    }
}
static void text_lists_write(struct json_out *w, const struct bean_field *f, const void *m)
{
    const BEAN_LIST(struct named_list) *list = m;
    json_put_object(w);
    for (size_t i = 0; i < list->count; i++) {
        json_put_key(w, list->items[i].name);
        texts_write(w, f, &list->items[i].texts);
    }
    json_put_object_end(w);
}
const struct bean_type bean_text_lists = {text_lists_read, text_lists_write, list_absent};

static int64_t integer_key(struct json *j)
{
    int64_t id = 0;
    if (!slice_to_i64(json_key(j), &id)) json_fail(j, "an integer key was expected");
    return id;
}

static void ids_read(struct json *j, FIELD, void *m)
{
    if (!begin_map(j, m)) return;
    while (json_next(j)) {
        struct id_text *e = add(j, m, sizeof *e);
        if (!e) return;
        e->id = integer_key(j);
        e->text = json_text(j);
    }
}
static void ids_write(struct json_out *w, FIELD, const void *m)
{
    const BEAN_LIST(struct id_text) *list = m;
    json_put_object(w);
    for (size_t i = 0; i < list->count; i++) {
        json_put_key_i64(w, list->items[i].id);
        json_put_text(w, list->items[i].text);
    }
    json_put_object_end(w);
}
const struct bean_type bean_ids = {ids_read, ids_write, list_absent};

static void numbers_read(struct json *j, FIELD, void *m)
{
    if (!begin_map(j, m)) return;
    while (json_next(j)) {
        struct id_number *e = add(j, m, sizeof *e);
        if (!e) return;
        int64_t id = integer_key(j);
        if (id < INT32_MIN || id > INT32_MAX) json_fail(j, "an integer key out of range");
        e->id = (int32_t)id;
        e->number = json_i64(j);
    }
}
static void numbers_write(struct json_out *w, FIELD, const void *m)
{
    const BEAN_LIST(struct id_number) *list = m;
    json_put_object(w);
    for (size_t i = 0; i < list->count; i++) {
        json_put_key_i64(w, list->items[i].id);
        json_put_i64(w, list->items[i].number);
    }
    json_put_object_end(w);
}
const struct bean_type bean_numbers = {numbers_read, numbers_write, list_absent};

static void table_read(struct json *j, const struct bean_field *f, void *m)
{
    const struct bean_table_of *of = f->more;
    if (!begin_map(j, m)) return;
    while (json_next(j)) {
        uint8_t *element = add(j, m, of->element->size);
        if (!element) return;
        set_blank(of->element, element);
        *(struct slice *)(void *)(element + of->key_at) = json_key(j);
        read_members(j, of->element, element);
    }
}
static void table_write(struct json_out *w, const struct bean_field *f, const void *m)
{
    const struct bean_table_of *of = f->more;
    const struct any_list *list = m;
    json_put_object(w);
    for (size_t i = 0; i < list->count; i++) {
        const uint8_t *element = (const uint8_t *)list->items + i * of->element->size;
        json_put_key(w, *(const struct slice *)(const void *)(element + of->key_at));
        bean_write(w, of->element, element);
    }
    json_put_object_end(w);
}
const struct bean_type bean_table = {table_read, table_write, list_absent};

static void named_read(struct json *j, const struct bean_field *f, void *m)
{
    const struct bean_named_of *of = f->more;
    if (!begin_map(j, m)) return;
    while (json_next(j)) {
        uint8_t *element = add(j, m, of->size);
        if (!element) return;
        *(struct slice *)(void *)(element + of->key_at) = json_key(j);
        of->value->type->read(j, of->value, element + of->value->at);
    }
}
static void named_write(struct json_out *w, const struct bean_field *f, const void *m)
{
    const struct bean_named_of *of = f->more;
    const struct any_list *list = m;
    json_put_object(w);
    for (size_t i = 0; i < list->count; i++) {
        const uint8_t *element = (const uint8_t *)list->items + i * of->size;
        json_put_key(w, *(const struct slice *)(const void *)(element + of->key_at));
        of->value->type->write(w, of->value, element + of->value->at);
    }
    json_put_object_end(w);
}
const struct bean_type bean_named = {named_read, named_write, list_absent};

static void by_bean_read(struct json *j, const struct bean_field *f, void *m)
{
    const struct bean_by_bean_of *of = f->more;
    if (!begin_map(j, m)) return;
    while (json_next(j)) {
        uint8_t *element = add(j, m, of->size);
        if (!element) return;
        bean_read(j, of->key, element);
        json_colon(j);
        if (of->value) bean_read(j, of->value, element + of->value_at);
        else *(int64_t *)(void *)(element + of->value_at) = json_i64(j);
    }
}
static void by_bean_write(struct json_out *w, const struct bean_field *f, const void *m)
{
    const struct bean_by_bean_of *of = f->more;
    const struct any_list *list = m;
    json_put_object(w);
    for (size_t i = 0; i < list->count; i++) {
        const uint8_t *element = (const uint8_t *)list->items + i * of->size;
        bean_write(w, of->key, element);
        json_put_key_done(w);
        if (of->value) bean_write(w, of->value, element + of->value_at);
        else json_put_i64(w, *(const int64_t *)(const void *)(element + of->value_at));
    }
    json_put_object_end(w);
}
const struct bean_type bean_by_bean = {by_bean_read, by_bean_write, list_absent};
