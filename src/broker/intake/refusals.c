#include "broker/intake/refusals.h"

#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

void refusals_done(struct refusals *r)
{
    free(r->ring);
    *r = (struct refusals){NULL, 0};
}

void refusals_add(struct refusals *r, int64_t at_ms, struct slice topic, const char *client, int32_t code, const char *text)
{
    if (!r->ring) r->ring = must_zero(REFUSALS_MAX * sizeof *r->ring);
    struct refusal *one = &r->ring[r->next++ % REFUSALS_MAX];
    one->at_ms = at_ms;
    one->code = code;
    snprintf(one->topic, sizeof one->topic, "%.*s", SLICE_ARG(topic));
    snprintf(one->client, sizeof one->client, "%s", client);
    snprintf(one->text, sizeof one->text, "%s", text);
}

const struct refusal *refusals_find(const struct refusals *r, struct slice topic)
{
    if (!r->ring) return NULL;
    for (size_t back = 1; back <= REFUSALS_MAX && back <= r->next; back++) {
        const struct refusal *one = &r->ring[(r->next - back) % REFUSALS_MAX];
        if (slice_eq(slice_text(one->topic), topic)) return one;
    }
    return NULL;
}
