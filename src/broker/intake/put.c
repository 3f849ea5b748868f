#include "broker/intake/put.h"

#include "broker/intake/delay.h"
#include "broker/intake/intake.h"

err_t intake_put(struct broker *b, const struct message *m, append_done *done, void *ctx, struct appended *out)
{
    struct buf text = BUF_EMPTY;
    struct known_properties known;
    struct message stored = *m;
    known_properties_read(m->properties, &known);
    intake_keys(&known, &stored);
    err_t e = intake_delay(b, &stored, &known, &text);
    if (!e) e = store_append(b->store, &stored, 1, true, done, ctx, out);
    buf_done(&text);
    return e;
}
