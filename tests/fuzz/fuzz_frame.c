/* Frames and typed headers: whatever decodes must encode to something that decodes to the same. */
#include "fuzz/fuzz.h"

#include "codec/header.h"

static const struct header_kind *const kinds[] = {
#define HEADER(h) &h##_kind,
#define HEADER_FORM(h, form) &form##_kind,
#define FIELD(h, type, field, wire, need)
#define FIELD_FORM(form, h, type, field, wire, need)
#define END(h)
#define END_FORM(...)
#include "codec/headers.def"
};

static void decode_headers(const struct frame *f)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        void *header = calloc(1, kinds[i]->size);
        err_t e = header_decode(kinds[i], f, header);
        if (!e) {
            struct buf b = BUF_EMPTY;
            struct frame_head head = {.form = f->form};
            struct frame_writer w;
            frame_begin(&w, &b, &head);
            header_write(kinds[i], header, &w);
            frame_end(&w, 0);
            buf_done(&b);
        }
        err_free(e);
        free(header);
    }
}

/* frame_put takes names of ours, which need no escapes; those that a peer made up are never written again. */
static bool has_plain_names(const struct frame *f)
{
    for (size_t i = 0; i < f->count; i++) {
        struct slice name = f->fields[i].name;
        if (name.n && (memchr(name.p, '\\', name.n) || memchr(name.p, '"', name.n))) return false;
    }
    return true;
}

static void encode_again(const struct frame *f, struct frame *second)
{
    struct frame_head head = {.form = f->form, .code = f->code, .opaque = f->opaque, .flag = f->flag, .remark = f->remark};
    struct frame_writer w;
    struct buf b = BUF_EMPTY;
    frame_begin(&w, &b, &head);
    for (size_t i = 0; i < f->count; i++) frame_put(&w, f->fields[i].name, f->fields[i].value);
    frame_end(&w, f->body.n);
    buf_put_slice(&b, f->body);
    err_t e = frame_decode(b.p, b.n, second);
    if (!e && has_plain_names(f)) {
        FUZZ_EXPECT(second->code == f->code && second->opaque == f->opaque && second->flag == f->flag);
        FUZZ_EXPECT(second->count == f->count && slice_eq(second->body, f->body));
        for (size_t i = 0; i < f->count; i++) FUZZ_EXPECT(slice_eq(second->fields[i].name, f->fields[i].name));
    }
    err_free(e);
    buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static struct frame first, second;
    size_t size = 0;
    err_t e = frame_size(p, n, &size);
    FUZZ_EXPECT(e || size == 0 || size <= FRAME_MAX_BYTES);
    err_free(e);
    uint8_t *copy = fuzz_copy(p, n);
    e = frame_decode(copy, n, &first);
    if (!e) {
        decode_headers(&first);
        encode_again(&first, &second);
    }
    err_free(e);
    free(copy);
    return 0;
}
