#include "codec/properties.h"

/* One part between two ends. */
static bool split(struct slice part, struct slice *name, struct slice *value)
{
    const uint8_t *mark = part.n ? memchr(part.p, PROPERTY_NAME_END, part.n) : NULL;
    if (!mark || mark == part.p || mark + 1 == part.p + part.n) return false;
    *name = slice_of(part.p, (size_t)(mark - part.p));
    *value = slice_skip(part, name->n + 1);
    return true;
}

bool properties_next(struct slice *rest, struct slice *name, struct slice *value)
{
    struct slice part;
    while (slice_split(rest, PROPERTY_END, &part))
        if (split(part, name, value)) return true;
    return false;
}

/* From the back: the last one counts, and then the search is over. */
bool properties_find(struct slice text, struct slice name, struct slice *value)
{
    size_t end = text.n;
    while (end >= name.n + 2) {   /* a name, the mark and one byte of value */
        const uint8_t *before = memrchr(text.p, PROPERTY_END, end);
        const uint8_t *p = before ? before + 1 : text.p;
        size_t n = (size_t)(text.p + end - p);
        if (n >= name.n + 2 && p[name.n] == PROPERTY_NAME_END && memcmp(p, name.p, name.n) == 0 && name.n) {
            *value = slice_of(p + name.n + 1, n - name.n - 1);
            return true;
        }
        if (!before) return false;
        end = (size_t)(before - text.p);
    }
    return false;
}

static void close_last(struct buf *text)
{
    if (text->n && text->p[text->n - 1] != PROPERTY_END) buf_put_u8(text, PROPERTY_END);
}

void properties_put(struct buf *text, struct slice name, struct slice value)
{
    if (!value.n) return;
    close_last(text);
    buf_reserve(text, name.n + value.n + 2);
    buf_put_slice(text, name);
    buf_put_u8(text, PROPERTY_NAME_END);
    buf_put_slice(text, value);
    buf_put_u8(text, PROPERTY_END);
}

void properties_put_without(struct buf *out, struct slice text, struct slice name)
{
    struct slice n, v;
    while (properties_next(&text, &n, &v))
        if (!slice_eq(n, name)) properties_put(out, n, v);
}
