#include "tools/report.h"

void print_buf(FILE *out, struct buf *text)
{
    if (text->n) fwrite(text->p, 1, text->n, out);
    buf_clear(text);
}
