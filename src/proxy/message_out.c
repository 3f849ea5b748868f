#include "proxy/message_out.h"

#include "codec/md5.h"
#include "codec/message_id.h"
#include "codec/properties.h"
#include "meta/names.h"
#include "proxy/checks.h"
#include "proxy/message_in.h"

struct slice message_id_of(struct arena *arena, const struct message *m)
{
    struct slice id = properties_get(m->properties, PROPERTY_UNIQUE_KEY);
    char text[MESSAGE_ID_TEXT];
    return id.n ? id : arena_copy(arena, slice_of(text, offset_id_format(&m->store_host, m->log_offset, text)));
}

/* What the record says may be anything; a client's decoder refuses what is no UTF-8. */
static struct slice clean(struct arena *arena, struct slice s)
{
    if (utf8_valid(s)) return s;
    struct slice copy = arena_copy(arena, s);
    for (size_t i = 0; i < copy.n; i++)
        if (copy.p[i] >= 0x80) ((uint8_t *)(uintptr_t)copy.p)[i] = '?';
    return copy;
}

enum { READ_MAX = 64 };

/* A message's properties, read once. */
struct properties {
    struct arena *arena;
    struct slice text;
    struct slice names[READ_MAX], values[READ_MAX];
    size_t count;                    /* READ_MAX: there are more, perhaps, and the text is looked through */
};

static void read_properties(struct arena *arena, struct slice text, struct properties *out)
{
    struct slice rest = text;
    out->arena = arena;
    out->text = text;
    out->count = 0;
    while (out->count < READ_MAX && properties_next(&rest, &out->names[out->count], &out->values[out->count])) out->count++;
}

static struct slice value_of(const struct properties *p, struct slice name)
{
    if (p->count == READ_MAX) return properties_get(p->text, name);
    for (size_t i = p->count; i-- > 0;)   /* the last one counts */
        if (slice_eq(p->names[i], name)) return p->values[i];
    return (struct slice){NULL, 0};
}

static struct slice text_of(const struct properties *p, struct slice name)
{
    struct slice value = value_of(p, name);
    return value.n ? clean(p->arena, value) : (struct slice){NULL, 0};
}

static int64_t number_of(const struct properties *p, struct slice name)
{
    int64_t v;
    return slice_to_i64(value_of(p, name), &v) ? v : -1;
}

/* --- parts --- */

/* "namespace%name". Facts: NamespaceUtil of the original */
static struct v2_resource *resource(struct arena *arena, struct slice topic)
{
    struct v2_resource *r = arena_take(arena, sizeof *r);
    if (!r) return NULL;
    size_t skip = topic_name_is_retry(topic) ? 7 : topic_name_is_dead_letter(topic) ? 5 : 0;
    struct slice name = slice_skip(topic, skip);
    const uint8_t *mark = name.n ? memchr(name.p, '%', name.n) : NULL;
    r->name = topic;
    if (!mark || mark == name.p) return r;
    r->resource_namespace = slice_of(name.p, (size_t)(mark - name.p));
    r->name = slice_skip(name, r->resource_namespace.n + 1);
    if (!skip) return r;
    uint8_t *text = arena_take(arena, skip + r->name.n);
    if (!text) return NULL;
    memcpy(text, topic.p, skip);
    memcpy(text + skip, r->name.p, r->name.n);
    r->name = slice_of(text, skip + r->name.n);
    return r;
}

/* Of a name that occurs twice the last one counts: where the value of each name is that does. */
static struct map last_values(struct slice properties)
{
    struct map last = MAP_EMPTY;
    struct slice name, value;
    while (properties_next(&properties, &name, &value))
        if (!property_is_reserved(name)) map_put(&last, name, (void *)(uintptr_t)value.p);
    return last;
}

static bool put_user_property(struct arena *arena, struct slice name, struct slice value, struct v2_message *out)
{
    PB_LIST(struct v2_message_user_properties_entry) *list = (void *)&out->user_properties;
    struct v2_message_user_properties_entry *e = arena_list_add(arena, (void **)&list->items, &list->count, sizeof *e);
    if (e) *e = (struct v2_message_user_properties_entry){clean(arena, name), clean(arena, value)};
    return e;
}

static bool put_many_user_properties(struct arena *arena, struct slice rest, struct v2_message *out)
{
    struct slice name, value;
    struct map last = last_values(rest);
    bool fine = true;
    while (fine && properties_next(&rest, &name, &value))
        if (map_get(&last, name) == value.p) fine = put_user_property(arena, name, value, out);
    map_done(&last);
    return fine;
}

static bool put_user_properties(const struct properties *p, struct v2_message *out)
{
    if (p->count == READ_MAX) return put_many_user_properties(p->arena, p->text, out);
    for (size_t i = 0; i < p->count; i++) {
        if (property_is_reserved(p->names[i]) || value_of(p, p->names[i]).p != p->values[i].p) continue;
        if (!put_user_property(p->arena, p->names[i], p->values[i], out)) return false;
    }
    return true;
}

/* Split at spaces; empty ones at the end do not count, as in Java. */
static bool put_keys(struct arena *arena, struct slice keys, struct v2_system_properties *out)
{
    PB_LIST(struct slice) *list = (void *)&out->keys;
    while (keys.n && keys.p[keys.n - 1] == ' ') keys.n--;
    struct slice part;
    while (keys.n && slice_split(&keys, ' ', &part)) {
        struct slice *key = arena_list_add(arena, (void **)&list->items, &list->count, sizeof *key);
        if (!key) return false;
        *key = part;
    }
    return true;
}

static struct v2_timestamp *timestamp(struct arena *arena, int64_t ms)
{
    struct v2_timestamp *t = arena_take(arena, sizeof *t);
    int64_t rest = ms % 1000;
    if (!t) return NULL;
    t->seconds = ms / 1000 - (rest < 0);
    t->nanos = (int32_t)(rest < 0 ? rest + 1000 : rest) * 1000000;
    return t;
}

static struct v2_digest *digest(struct arena *arena, struct slice body)
{
    struct v2_digest *d = arena_take(arena, sizeof *d);
    char text[MD5_TEXT];
    if (!d) return NULL;
    md5_text(body, text);
    d->type = V2_DIGEST_TYPE_MD5;
    d->checksum = arena_copy(arena, slice_text(text));
    return d;
}

static int32_t grpc_type(enum topic_type type)
{
    switch (type) {
    case TOPIC_TRANSACTION: return V2_MESSAGE_TYPE_TRANSACTION;
    case TOPIC_DELAY: return V2_MESSAGE_TYPE_DELAY;
    case TOPIC_FIFO: return V2_MESSAGE_TYPE_FIFO;
    case TOPIC_PRIORITY: return V2_MESSAGE_TYPE_PRIORITY;
    case TOPIC_LITE: return V2_MESSAGE_TYPE_LITE;
    default: return V2_MESSAGE_TYPE_NORMAL;
    }
}

static void put_hosts(const struct properties *p, const struct message *m, struct v2_system_properties *s)
{
    struct arena *arena = p->arena;
    char text[ADDR_TEXT_MAX];
    s->born_host = text_of(p, SLICE("__BORNHOST"));
    if (is_blank(s->born_host)) s->born_host = arena_copy(arena, slice_text(addr_format_ip(&m->born_host, text)));
    s->store_host = arena_copy(arena, slice_text(addr_format(&m->store_host, text)));
}

static void put_delivery(const struct properties *p, int64_t now_ms, struct v2_system_properties *s)
{
    enum { SECONDS_MAX = 1000000000 };
    int64_t seconds = number_of(p, SLICE("TIMER_DELAY_SEC")), ms = number_of(p, SLICE("TIMER_DELIVER_MS"));
    if (seconds >= 0 && seconds < SECONDS_MAX) s->delivery_timestamp = timestamp(p->arena, now_ms + seconds * 1000);
    else if (ms >= 0) s->delivery_timestamp = timestamp(p->arena, ms);
}

static void put_dead_letter(const struct properties *p, struct v2_system_properties *s)
{
    struct slice topic = text_of(p, SLICE("DLQ_ORIGIN_TOPIC")), id = text_of(p, SLICE("DLQ_ORIGIN_MESSAGE_ID"));
    struct v2_dead_letter_queue *d = topic.p && id.p ? arena_take(p->arena, sizeof *d) : NULL;
    if (!d) return;
    d->topic = topic;
    d->message_id = id;
    s->dead_letter_queue = d;
}

static struct v2_system_properties *system_properties(const struct properties *p, const struct message *m, const struct popped *popped, int64_t now_ms)
{
    struct arena *arena = p->arena;
    struct v2_system_properties *s = arena_take(arena, sizeof *s);
    if (!s || !put_keys(arena, text_of(p, SLICE("KEYS")), s)) return NULL;
    s->tag = text_of(p, SLICE("TAGS"));
    s->message_id = clean(arena, message_id_of(arena, m));
    s->body_digest = digest(arena, m->body);
    s->body_encoding = m->sys_flag & SYS_FLAG_COMPRESSED ? V2_ENCODING_GZIP : V2_ENCODING_IDENTITY;
    s->message_type = grpc_type(message_type_of(m->properties));
    s->born_timestamp = timestamp(arena, m->born_ms);
    s->store_timestamp = timestamp(arena, m->store_ms);
    put_hosts(p, m, s);
    put_delivery(p, now_ms, s);
    s->priority = (int32_t)number_of(p, SLICE("_SYS_MSG_PRIORITY_"));
    s->has_priority = s->priority >= 0;
    s->message_group = text_of(p, PROPERTY_SHARDING);
    s->lite_topic = text_of(p, SLICE("__LITE_TOPIC"));
    s->receipt_handle = popped->handle;
    s->queue_id = m->queue_id;
    s->has_queue_offset = s->has_delivery_attempt = true;
    s->queue_offset = m->queue_offset;
    s->delivery_attempt = popped->reconsume_times + 1;
    s->trace_context = text_of(p, SLICE("TRACE_CONTEXT"));
    put_dead_letter(p, s);
    return s;
}

struct v2_message *message_out(struct arena *arena, const struct message *m, const struct popped *popped, int64_t now_ms)
{
    struct properties p;
    struct v2_message *out = arena_take(arena, sizeof *out);
    read_properties(arena, m->properties, &p);
    if (!out || !put_user_properties(&p, out)) return NULL;
    out->topic = resource(arena, clean(arena, popped->topic));
    out->system_properties = system_properties(&p, m, popped, now_ms);
    out->body = m->body;
    return out->topic && out->system_properties ? out : NULL;
}
