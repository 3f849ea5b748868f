/* The head of a request: one line, then fields, then an empty line. */
#include "http/http.h"

#include <strings.h>

err_t http_head_size(const uint8_t *p, size_t n, size_t *out)
{
    const uint8_t *end = !n ? NULL : memmem(p, n < HTTP_HEAD_MAX ? n : HTTP_HEAD_MAX, "\r\n\r\n", 4);
    *out = end ? (size_t)(end - p) + 4 : 0;
    return !end && n >= HTTP_HEAD_MAX ? err_new(ERR_FRAME, "the head of a request is longer than %d bytes", HTTP_HEAD_MAX) : NULL;
}

static bool same_word(struct slice a, const char *word) { return a.n == strlen(word) && !strncasecmp((const char *)a.p, word, a.n); }

/* "close, te" */
static bool names(struct slice list, const char *word)
{
    struct slice one;
    while (list.n && slice_split(&list, ',', &one))
        if (same_word(slice_trim(one), word)) return true;
    return false;
}

static bool has_blank(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == ' ' || s.p[i] == '\t') return true;
    return false;
}

/* The next line of fields; false at the end. A line without a colon, or with blanks in its name, has no name. */
static bool next_field(struct slice *rest, struct slice *name, struct slice *value)
{
    const uint8_t *end = rest->n ? memmem(rest->p, rest->n, "\r\n", 2) : NULL;
    if (!end || end == rest->p) return false;
    struct slice line = slice_of(rest->p, (size_t)(end - rest->p));
    const uint8_t *mark = memchr(line.p, ':', line.n);
    *rest = slice_skip(*rest, line.n + 2);
    *name = mark ? slice_of(line.p, (size_t)(mark - line.p)) : (struct slice){NULL, 0};
    *value = mark ? slice_trim(slice_skip(line, name->n + 1)) : (struct slice){NULL, 0};
    if (has_blank(*name)) *name = (struct slice){NULL, 0};
    return true;
}

/* What says how the request goes on behind its head. */
static int read_fields(struct slice rest, struct http_head *out)
{
    struct slice name, value;
    int hosts = 0;
    while (next_field(&rest, &name, &value)) {
        if (!name.n) return 400;
        if (same_word(name, "Host")) hosts++;
        if (same_word(name, "Transfer-Encoding")) return 501;
        if (same_word(name, "Content-Length") && !slice_eq(value, SLICE("0"))) return 413;
        if (same_word(name, "Connection") && names(value, "close")) out->keep_alive = false;
        if (same_word(name, "Connection") && names(value, "keep-alive")) out->keep_alive = true;
    }
    return hosts > 1 ? 400 : 0;
}

static bool is_target(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] >= 0x7f) return false;
    return s.n && s.p[0] == '/';
}

int http_head_parse(struct slice head, struct http_head *out)
{
    const uint8_t *end = memmem(head.p, head.n, "\r\n", 2);
    struct slice line = slice_of(head.p, end ? (size_t)(end - head.p) : 0), target, version;
    *out = (struct http_head){.keep_alive = false};
    if (!end || !slice_split(&line, ' ', &out->method) || !slice_split(&line, ' ', &target) || !slice_split(&line, ' ', &version)) return 400;
    if (line.n || !is_target(target)) return 400;
    if (!slice_eq(version, SLICE("HTTP/1.1")) && !slice_eq(version, SLICE("HTTP/1.0"))) return slice_starts(version, SLICE("HTTP/")) ? 505 : 400;
    out->chunks = out->keep_alive = slice_eq(version, SLICE("HTTP/1.1"));
    slice_split(&target, '?', &out->path);
    int status = read_fields(slice_of(end + 2, head.n - (size_t)(end + 2 - head.p)), out);
    if (status) return status;
    return slice_eq(out->method, SLICE("GET")) || slice_eq(out->method, SLICE("HEAD")) ? 0 : 405;
}
