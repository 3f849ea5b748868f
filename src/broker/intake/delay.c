#include "broker/intake/delay.h"

err_t intake_delay(struct broker *b, struct message *m, const struct known_properties *p, struct buf *text)
{
    (void)b;
    (void)m;
    (void)text;
    if ((p->delay_level.n && !slice_eq(p->delay_level, SLICE("0"))) || p->timer.n)
        return err_new(ERR_MESSAGE_ILLEGAL, "delayed messages are not supported by this version of the broker");
    return NULL;
}
