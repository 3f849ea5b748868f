/* options.h - what setters of options share. The room's own.
 * Threads  the owner of the options
 * Errors   INVALID, naming the option and what it may be; the field stays as it was */
#ifndef SKYLARK_CLIENT_OPTIONS_H
#define SKYLARK_CLIENT_OPTIONS_H

#include "base/addr.h"

#include <skylark/skylark.h>

struct sky_error *option_range(const char *name, int64_t value, int64_t least, int64_t most) SKY_MUST_CHECK;
struct sky_error *option_i64(const char *name, int64_t value, int64_t least, int64_t most, int64_t *field) SKY_MUST_CHECK;
struct sky_error *option_i32(const char *name, int32_t value, int32_t least, int32_t most, int32_t *field) SKY_MUST_CHECK;
/* A copy in place of the one that is there. */
void option_text(const char *value, char **field);

void client_options_copy(const struct sky_client_options *from, struct sky_client_options *to);
void client_options_done(struct sky_client_options *o);
/* A literal address without a port. Errors: ADDRESS. */
err_t client_address_parse(const char *ip, struct addr *out) MUST_CHECK;

#endif
