#include "codec/body_register.h"
#include "codec/frame.h"

#include <libdeflate.h>
#include <stdlib.h>

enum { VERSION_WITH_FILTER_SERVERS = 37, LEVEL = 9 };

uint32_t register_crc(struct slice body) { return libdeflate_crc32(0, body.p, body.n) & 0x7FFFFFFF; }

/* --- reading the compressed form: a stream of lengths and texts --- */

struct stream {
    struct slice rest;
    bool broken;
};

static uint32_t take_count(struct stream *s)
{
    if (s->rest.n < 4) s->broken = true;
    if (s->broken) return 0;
    uint32_t v = get_be32(s->rest.p);
    s->rest = slice_of(s->rest.p + 4, s->rest.n - 4);
    return v;
}

static struct slice take_text(struct stream *s)
{
    uint32_t n = take_count(s);
    if (n > s->rest.n) s->broken = true;
    if (s->broken) return (struct slice){NULL, 0};
    struct slice text = slice_of(s->rest.p, n);
    s->rest = slice_of(s->rest.p + n, s->rest.n - n);
    return text;
}

/* name read write perm filterType attributes */
static err_t topic_from_text(struct slice text, struct arena *arena, struct topic_config *out)
{
    struct slice rest = text, part[5];
    struct topic_config t = {.filter = TOPIC_FILTER_NONE};
    for (int i = 0; i < 5; i++)
        if (!slice_split(&rest, ' ', &part[i])) return err_new(ERR_BODY, "topic \"%.*s\" is incomplete", SLICE_ARG(text));
    t.name = part[0];
    if (!slice_to_i32(part[1], &t.read_queues) || !slice_to_i32(part[2], &t.write_queues) || !slice_to_i32(part[3], &t.perm))
        return err_new(ERR_BODY, "topic \"%.*s\": numbers were expected", SLICE_ARG(text));
    for (int32_t i = 0; topic_filter_names[i]; i++)
        if (slice_eq(part[4], slice_text(topic_filter_names[i]))) t.filter = i;
    if (rest.n) {
        struct json j;
        struct bean_field field = {.type = &bean_pairs};
        json_begin(&j, rest, arena);
        bean_pairs.read(&j, &field, &t.attributes);
        err_t e = json_end(&j, "topic attributes");
        if (e) return e;
    }
    *out = t;
    return NULL;
}

static err_t read_topics(struct stream *s, struct arena *arena, struct register_body *out)
{
    uint32_t count = take_count(s);
    for (uint32_t i = 0; i < count && !s->broken; i++) {
        struct slice text = take_text(s);
        if (s->broken) break;
        struct topic_config *t = arena_list_add(arena, (void **)&out->table.topics.items, &out->table.topics.count, sizeof *t);
        if (!t) return err_new(ERR_BODY, "registration: too large");
        err_t e = topic_from_text(text, arena, t);
        if (e) return e;
    }
    return NULL;
}

static err_t read_mappings(struct stream *s, struct arena *arena, struct register_body *out)
{
    uint32_t count = take_count(s);
    for (uint32_t i = 0; i < count && !s->broken; i++) {
        struct slice text = take_text(s);
        if (s->broken) break;
        struct topic_table *table = &out->table;
        struct queue_mapping *m = arena_list_add(arena, (void **)&table->mappings.items, &table->mappings.count, sizeof *m);
        if (!m) return err_new(ERR_BODY, "registration: too large");
        err_t e = bean_decode(&queue_mapping_bean, text, arena, "queue mapping", m);
        if (e) return e;
    }
    return NULL;
}

static err_t read_filter_servers(struct slice text, struct arena *arena, struct register_body *out)
{
    struct json j;
    struct bean_field field = {.type = &bean_texts};
    json_begin(&j, text, arena);
    bean_texts.read(&j, &field, &out->filter_servers);
    return json_end(&j, "filter servers");
}

static err_t read_stream(struct slice bytes, int32_t version, struct arena *arena, struct register_body *out)
{
    struct stream s = {bytes, false};
    *out = (struct register_body){.table = {.version = arena_take(arena, sizeof *out->table.version)}};
    struct slice version_text = take_text(&s);
    err_t e = s.broken ? NULL : bean_decode(&data_version_bean, version_text, arena, "data version", out->table.version);
    if (!e) e = read_topics(&s, arena, out);
    if (!e && !s.broken) {
        struct slice servers = take_text(&s);
        if (!s.broken) e = read_filter_servers(servers, arena, out);
    }
    if (!e && version >= VERSION_5_0_0) e = read_mappings(&s, arena, out);
    if (!e && s.broken) e = err_new(ERR_BODY, "registration: it ends too early");
    return e;
}

/* How much comes out is not written anywhere: the room is doubled until it fits. */
static err_t inflate(struct slice body, struct arena *arena, struct slice *out)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    size_t room = body.n * 4 + 4096, got = 0;
    enum libdeflate_result result = LIBDEFLATE_INSUFFICIENT_SPACE;
    uint8_t *bytes = NULL;
    while (d && result == LIBDEFLATE_INSUFFICIENT_SPACE && room <= REGISTER_MAX_BYTES) {
        free(bytes);
        bytes = must_alloc(room);
        result = libdeflate_zlib_decompress(d, body.p, body.n, bytes, room, &got);
        room *= 2;
    }
    libdeflate_free_decompressor(d);
    struct slice copy = result == LIBDEFLATE_SUCCESS ? arena_copy(arena, slice_of(bytes, got)) : (struct slice){NULL, 0};
    free(bytes);
    if (!copy.p) return err_new(ERR_BODY, "registration: cannot be decompressed");
    *out = copy;
    return NULL;
}

err_t register_body_decode(struct slice body, bool compressed, int32_t version, struct arena *arena, struct register_body *out)
{
    struct slice plain;
    err_t e = NULL;
    arena->limit = REGISTER_MAX_BYTES;
    memset(out, 0, sizeof *out);
    if (!body.n) {
        out->table.version = arena_take(arena, sizeof *out->table.version);
    } else if (version < VERSION_WITH_FILTER_SERVERS) {
        e = bean_decode(&topic_table_bean, body, arena, "registration", &out->table);
    } else if (compressed) {
        e = inflate(body, arena, &plain);
        if (!e) e = read_stream(plain, version, arena, out);
    } else {
        e = bean_decode(&register_body_bean, body, arena, "registration", out);
    }
    if (!e && !out->table.version) e = err_new(ERR_BODY, "registration: no data version");
    return e;
}

/* --- writing --- */

/* Puts the length of what was written since into the four bytes kept free at `at`. */
static void put_length(struct buf *out, size_t at) { put_be32(out->p + at, (uint32_t)(out->n - at - 4)); }

static size_t keep_length(struct buf *out)
{
    buf_take(out, 4);
    return out->n - 4;
}

static void put_list(struct buf *out, const struct bean_type *type, const void *list)
{
    struct json_out w;
    struct bean_field field = {.type = type};
    json_out_init(&w, out, JSON_RAW);
    type->write(&w, &field, list);
}

static void put_topic(struct buf *out, const struct topic_config *t)
{
    size_t at = keep_length(out);
    buf_printf(out, "%.*s %d %d %d %s ", SLICE_ARG(t->name), t->read_queues, t->write_queues, t->perm,
               t->filter < 0 ? "SINGLE_TAG" : topic_filter_names[t->filter]);
    put_list(out, &bean_pairs, &t->attributes);
    put_length(out, at);
}

static void put_stream(struct buf *out, const struct register_body *body)
{
    size_t at = keep_length(out);
    bean_encode(&data_version_bean, body->table.version, JSON_RAW, out);
    put_length(out, at);
    buf_put_be32(out, (uint32_t)body->table.topics.count);
    for (size_t i = 0; i < body->table.topics.count; i++) put_topic(out, &body->table.topics.items[i]);
    at = keep_length(out);
    put_list(out, &bean_texts, &body->filter_servers);
    put_length(out, at);
    buf_put_be32(out, (uint32_t)body->table.mappings.count);
    for (size_t i = 0; i < body->table.mappings.count; i++) {
        at = keep_length(out);
        bean_encode(&queue_mapping_bean, &body->table.mappings.items[i], JSON_RAW, out);
        put_length(out, at);
    }
}

void register_body_encode(const struct register_body *body, bool compressed, struct buf *out)
{
    if (!compressed) {
        bean_encode(&register_body_bean, body, JSON_RAW, out);
        return;
    }
    struct buf plain = BUF_EMPTY;
    put_stream(&plain, body);
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(LEVEL);
    size_t bound = libdeflate_zlib_compress_bound(c, plain.n);
    buf_reserve(out, bound);
    out->n += libdeflate_zlib_compress(c, plain.p, plain.n, out->p + out->n, bound);
    libdeflate_free_compressor(c);
    buf_done(&plain);
}
