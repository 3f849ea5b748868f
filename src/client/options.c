#include "client/options.h"

#include "client/state.h"

#include <stdlib.h>

struct sky_error *option_range(const char *name, int64_t value, int64_t least, int64_t most)
{
    if (value >= least && value <= most) return NULL;
    return error_new(SKY_INVALID, 0, "%s is %lld, and must be from %lld to %lld", name, (long long)value, (long long)least, (long long)most);
}

struct sky_error *option_i64(const char *name, int64_t value, int64_t least, int64_t most, int64_t *field)
{
    struct sky_error *e = option_range(name, value, least, most);
    if (!e) *field = value;
    return e;
}

struct sky_error *option_i32(const char *name, int32_t value, int32_t least, int32_t most, int32_t *field)
{
    struct sky_error *e = option_range(name, value, least, most);
    if (!e) *field = value;
    return e;
}

void option_text(const char *value, char **field)
{
    free(*field);
    *field = must_strdup(value);
}

struct sky_client_options *sky_client_options_new(void)
{
    struct sky_client_options *o = must_zero(sizeof *o);
    *o = (struct sky_client_options){.request_timeout_ms = 3000, .route_refresh_ms = 30000, .heartbeat_ms = 30000, .callback_threads = 4};
    return o;
}

void sky_client_options_free(struct sky_client_options *o)
{
    if (!o) return;
    client_options_done(o);
    free(o);
}

void client_options_copy(const struct sky_client_options *from, struct sky_client_options *to)
{
    *to = *from;
    to->name_servers = from->name_servers ? must_strdup(from->name_servers) : NULL;
    to->instance = from->instance ? must_strdup(from->instance) : NULL;
    to->address = from->address ? must_strdup(from->address) : NULL;
}

void client_options_done(struct sky_client_options *o)
{
    free(o->name_servers);
    free(o->instance);
    free(o->address);
}

struct sky_error *sky_client_options_set_name_servers(struct sky_client_options *o, const char *addresses)
{
    err_t e = names_check(slice_text(addresses));
    if (e) return sky_error_from(e);
    option_text(addresses, &o->name_servers);
    return NULL;
}

struct sky_error *sky_client_options_set_instance(struct sky_client_options *o, const char *name)
{
    if (!name || !*name || strlen(name) > 200) return error_new(SKY_INVALID, 0, "the name of an instance has 1 to 200 bytes");
    option_text(name, &o->instance);
    return NULL;
}

struct sky_error *sky_client_options_set_address(struct sky_client_options *o, const char *ip)
{
    struct addr a;
    err_t e = client_address_parse(ip ? ip : "", &a);
    if (e) return sky_error_from(e);
    option_text(ip, &o->address);
    return NULL;
}

struct sky_error *sky_client_options_set_request_timeout_ms(struct sky_client_options *o, int64_t ms)
{
    return option_i64("request_timeout_ms", ms, 100, 600000, &o->request_timeout_ms);
}

struct sky_error *sky_client_options_set_route_refresh_ms(struct sky_client_options *o, int64_t ms)
{
    return option_i64("route_refresh_ms", ms, 1000, 3600000, &o->route_refresh_ms);
}

struct sky_error *sky_client_options_set_heartbeat_ms(struct sky_client_options *o, int64_t ms)
{
    return option_i64("heartbeat_ms", ms, 1000, 3600000, &o->heartbeat_ms);
}

struct sky_error *sky_client_options_set_callback_threads(struct sky_client_options *o, int32_t threads)
{
    return option_i32("callback_threads", threads, 1, 1000, &o->callback_threads);
}

void sky_client_options_set_log(struct sky_client_options *o, enum sky_log_level level, sky_log_fn *log, void *user)
{
    o->log_level = level;
    o->log = log;
    o->log_user = user;
}
