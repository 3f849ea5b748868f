#include "codec/record.h"

#include <assert.h>
#include <isa-l/crc.h>

enum { CRC_MASK = 0x7FFFFFFF, SECTOR = 512, CRC_PROPERTY_BYTES = 20, CRC_DIGITS = 10 };

uint32_t record_crc(struct slice bytes) { return crc32_gzip_refl(0, bytes.p, bytes.n) & CRC_MASK; }

static size_t ip_bytes(bool v6) { return v6 ? 16 : 4; }

size_t record_size(const struct message *m, const struct addr *store_host)
{
    size_t head = RECORD_HEAD_BYTES - 8 + ip_bytes(m->born_host.v6) + ip_bytes(store_host->v6);
    size_t topic_length = m->topic.n > RECORD_TOPIC_MAX_V1 ? 2 : 1;
    return head + m->body.n + topic_length + m->topic.n + 2 + m->properties.n;
}

static uint8_t *put_host(uint8_t *p, const struct addr *host)
{
    size_t n = ip_bytes(host->v6);
    memcpy(p, host->ip, n);
    put_be32(p + n, host->port);
    return p + n + 4;
}

static uint8_t *put_bytes(uint8_t *p, struct slice s)
{
    if (s.n) memcpy(p, s.p, s.n);
    return p + s.n;
}

static uint32_t with_host_bits(const struct message *m, const struct addr *store_host)
{
    uint32_t flag = (uint32_t)m->sys_flag & ~(uint32_t)(SYS_FLAG_BORN_HOST_V6 | SYS_FLAG_STORE_HOST_V6);
    if (m->born_host.v6) flag |= SYS_FLAG_BORN_HOST_V6;
    if (store_host->v6) flag |= SYS_FLAG_STORE_HOST_V6;
    return flag;
}

void record_encode(const struct message *m, const struct record_place *place, size_t size, uint8_t *out)
{
    bool v2 = m->topic.n > RECORD_TOPIC_MAX_V1;
    put_be32(out, (uint32_t)size);
    put_be32(out + 4, v2 ? RECORD_MAGIC_V2 : RECORD_MAGIC_V1);
    put_be32(out + 8, record_crc(m->body));
    put_be32(out + 12, (uint32_t)m->queue_id);
    put_be32(out + 16, (uint32_t)m->flag);
    put_be64(out + 20, (uint64_t)place->queue_offset);
    put_be64(out + 28, (uint64_t)place->log_offset);
    put_be32(out + 36, with_host_bits(m, place->store_host));
    put_be64(out + 40, (uint64_t)m->born_ms);
    uint8_t *p = put_host(out + 48, &m->born_host);
    put_be64(p, (uint64_t)place->store_ms);
    p = put_host(p + 8, place->store_host);
    put_be32(p, (uint32_t)m->reconsume_times);
    put_be64(p + 4, (uint64_t)m->prepared_offset);
    put_be32(p + 12, (uint32_t)m->body.n);
    p = put_bytes(p + 16, m->body);
    if (v2) *p++ = (uint8_t)(m->topic.n >> 8);
    *p++ = (uint8_t)m->topic.n;
    p = put_bytes(p, m->topic);
    put_be16(p, (uint16_t)m->properties.n);
    p = put_bytes(p + 2, m->properties);
    assert(p == out + size);
}

void record_encode_blank(int64_t left, uint8_t out[static RECORD_BLANK_BYTES])
{
    put_be32(out, (uint32_t)left);
    put_be32(out + 4, RECORD_MAGIC_BLANK);
}

/* Takes n bytes off the front of *rest; false when there are fewer. */
static bool take(struct slice *rest, size_t n, struct slice *out)
{
    if (rest->n < n) return false;
    *out = slice_of(rest->p, n);
    *rest = slice_skip(*rest, n);
    return true;
}

static bool take_number(struct slice *rest, size_t n, size_t *out)
{
    struct slice s;
    if (!take(rest, n, &s)) return false;
    *out = n == 1 ? s.p[0] : n == 2 ? get_be16(s.p) : get_be32(s.p);
    return true;
}

static bool take_host(struct slice *rest, bool v6, struct addr *out)
{
    struct slice ip, port;
    if (!take(rest, ip_bytes(v6), &ip) || !take(rest, 4, &port)) return false;
    *out = (struct addr){.v6 = v6, .port = (uint16_t)get_be32(port.p)};
    memcpy(out->ip, ip.p, ip.n);
    return true;
}

static bool take_counted(struct slice *rest, size_t count_bytes, size_t limit, struct slice *out)
{
    size_t n;
    return take_number(rest, count_bytes, &n) && n <= limit && take(rest, n, out);
}

static bool take_topic(struct slice *rest, bool v2, struct slice *out)
{
    return v2 ? take_counted(rest, 2, INT16_MAX, out) : take_counted(rest, 1, RECORD_TOPIC_MAX_V1, out);
}

/* Everything behind sys_flag. */
static bool read_rest(struct slice rest, bool v2, struct message *m)
{
    struct slice s;
    if (!take(&rest, 8, &s)) return false;
    m->born_ms = (int64_t)get_be64(s.p);
    if (!take_host(&rest, m->sys_flag & SYS_FLAG_BORN_HOST_V6, &m->born_host) || !take(&rest, 8, &s)) return false;
    m->store_ms = (int64_t)get_be64(s.p);
    if (!take_host(&rest, m->sys_flag & SYS_FLAG_STORE_HOST_V6, &m->store_host) || !take(&rest, 12, &s)) return false;
    m->reconsume_times = (int32_t)get_be32(s.p);
    m->prepared_offset = (int64_t)get_be64(s.p + 4);
    return take_counted(&rest, 4, INT32_MAX, &m->body) && take_topic(&rest, v2, &m->topic) &&
           take_counted(&rest, 2, RECORD_PROPERTIES_MAX, &m->properties) && rest.n == 0;
}

enum record_kind record_read(struct slice bytes, struct message *out)
{
    if (bytes.n < RECORD_BLANK_BYTES) return RECORD_END;
    uint32_t size = record_total_size(bytes.p);
    uint32_t magic = record_magic(bytes.p);
    if (magic == RECORD_MAGIC_BLANK) return RECORD_BLANK;
    if (magic == 0 && size == 0) return RECORD_END;
    if (magic != RECORD_MAGIC_V1 && magic != RECORD_MAGIC_V2) return RECORD_DAMAGED;
    if (size < RECORD_SMALLEST || size > bytes.n) return RECORD_DAMAGED;
    const uint8_t *p = bytes.p;
    struct message m = {
        .body_crc = get_be32(p + 8),
        .queue_id = (int32_t)get_be32(p + 12),
        .flag = (int32_t)get_be32(p + 16),
        .queue_offset = (int64_t)get_be64(p + 20),
        .log_offset = record_log_offset(p),
        .sys_flag = (int32_t)get_be32(p + 36),
        .record_bytes = size,
    };
    if (!read_rest(slice_of(p + 40, size - 40), magic == RECORD_MAGIC_V2, &m)) return RECORD_DAMAGED;
    *out = m;
    return RECORD_WHOLE;
}

struct slice record_properties(struct slice record)
{
    enum { SYS_FLAG_AT = 36, BODY_LENGTH_AT = RECORD_HEAD_BYTES - 4, MORE_V6 = 12 };
    struct slice none = {NULL, 0}, part;
    if (record.n < RECORD_SMALLEST) return none;
    uint32_t sys_flag = get_be32(record.p + SYS_FLAG_AT);
    size_t at = BODY_LENGTH_AT + (sys_flag & SYS_FLAG_BORN_HOST_V6 ? MORE_V6 : 0) + (sys_flag & SYS_FLAG_STORE_HOST_V6 ? MORE_V6 : 0);
    struct slice rest = slice_skip(record, at);
    bool v2 = record_magic(record.p) == RECORD_MAGIC_V2;
    bool good = take_counted(&rest, 4, INT32_MAX, &part) && take_topic(&rest, v2, &part) &&
                take_counted(&rest, 2, RECORD_PROPERTIES_MAX, &part);
    return good ? part : none;
}

size_t record_search(struct slice bytes, size_t from, int64_t at)
{
    for (size_t i = from; i + RECORD_SMALLEST <= bytes.n; i++) {
        const uint8_t *magic = memchr(bytes.p + i + 4, (int)(RECORD_MAGIC_V1 >> 24), bytes.n - i - 4);
        if (!magic) break;
        i = (size_t)(magic - bytes.p) - 4;
        if (i + RECORD_SMALLEST <= bytes.n && record_log_offset(bytes.p + i) == at + (int64_t)i) return i;
    }
    return bytes.n;
}

size_t record_read_size(const struct message *m) { return m->record_bytes; }

bool record_body_intact(const struct message *m) { return record_crc(m->body) == m->body_crc; }

static bool all_zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i]) return false;
    return true;
}

bool record_looks_written(const struct message *m)
{
    if (m->topic.n && memchr(m->topic.p, 0, m->topic.n)) return false;
    const uint8_t *end = m->properties.p + m->properties.n;
    size_t before = (size_t)(m->properties.p - m->body.p);   /* body, topic and lengths lie between */
    /* Without a sign: a damaged record may state any place. */
    uint64_t at = (uint64_t)m->log_offset + RECORD_HEAD_BYTES - 8 + ip_bytes(m->born_host.v6) + ip_bytes(m->store_host.v6) + before;
    for (const uint8_t *p = m->properties.p; p < end;) {
        size_t share = (size_t)(SECTOR - at % SECTOR);
        if (share > (size_t)(end - p)) share = (size_t)(end - p);
        if (all_zero(p, share)) return false;
        p += share;
        at += share;
    }
    return m->properties.n == 0 || end[-1] != 0;
}

int record_check_crc_property(struct slice record, const struct message *m)
{
    static const char name[] = "__CRC32#\x01";
    struct slice text = m->properties;
    if (text.n < CRC_PROPERTY_BYTES) return -1;
    const uint8_t *p = text.p + text.n - CRC_PROPERTY_BYTES;
    if (memcmp(p, name, sizeof name - 1) || p[CRC_PROPERTY_BYTES - 1] != 2) return -1;
    uint64_t stored = 0;
    for (int i = CRC_DIGITS - 1; i >= 0; i--) stored = stored * 10 + (uint64_t)(p[sizeof name - 1 + (size_t)i] - '0');
    return record_crc(slice_of(record.p, record.n - CRC_PROPERTY_BYTES)) == stored;
}

bool batch_next(struct slice *rest, struct message *out, bool *broken)
{
    *broken = rest->n > 0;
    if (rest->n < 4 + 4 + 4) return false;
    size_t total = get_be32(rest->p);
    if (total < 4 || total > rest->n) return false;
    struct slice one = slice_of(rest->p + 12, total >= 12 ? total - 12 : 0), flag;
    struct message m = {.flag = 0};
    if (!take(&one, 4, &flag) || !take_counted(&one, 4, INT32_MAX, &m.body)) return false;
    if (!take_counted(&one, 2, RECORD_PROPERTIES_MAX, &m.properties)) return false;
    m.flag = (int32_t)get_be32(flag.p);
    *out = m;
    *rest = slice_skip(*rest, total);
    *broken = false;
    return true;
}
