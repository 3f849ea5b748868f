/* config.h - typed configuration: one struct per section, one field per row of catalog/config.def.
 * Files    Java properties (base/properties_file), as the original's broker.conf and namesrv.conf
 * Keys     that the original knows and we have no use for are accepted and reported once; a key nobody knows is an error that
 *          names the nearest known one
 * Threads  its owner
 * Owns     its texts: char * fields are valid until they are set again, or config_done() */
#ifndef SKYLARK_BASE_CONFIG_H
#define SKYLARK_BASE_CONFIG_H

#include "base/buf.h"
#include "base/map.h"

enum flush_disk_type { ASYNC_FLUSH, SYNC_FLUSH };
enum request_mode_default { REQUEST_MODE_PULL, REQUEST_MODE_POP };
enum broker_role { ASYNC_MASTER, SYNC_MASTER, SLAVE };
enum subscription_consistency { CONSISTENCY_WARN, CONSISTENCY_REJECT, CONSISTENCY_ISOLATE };
enum metrics_exporter { METRICS_DISABLE, METRICS_OTLP_GRPC, METRICS_PROM, METRICS_LOG };
enum tls_mode { TLS_DISABLED, TLS_PERMISSIVE, TLS_ENFORCING };

typedef bool config_bool;   /* what KEY()'s type column expands to */
typedef int32_t config_i32;
typedef int64_t config_i64;
typedef char *config_text;
typedef int32_t config_flush;
typedef int32_t config_role;
typedef int32_t config_consistency;
typedef int32_t config_tls;
typedef int32_t config_mode;
typedef int32_t config_exporter;
typedef int32_t config_hours;   /* bit h: hour h of the day, in local time */

#define SECTION(s) struct config_##s {
#define KEY(s, field, name, type, default_value, least, most, when, meaning) config_##type field;
#define END(s) };
#include "catalog/config.def"
#undef SECTION
#undef KEY
#undef END

/* Whose configuration it is: which sections count. */
enum config_owner { CONFIG_BROKER = 1, CONFIG_NAMESRV = 2, CONFIG_PROXY = 4, CONFIG_SERVER = CONFIG_BROKER | CONFIG_NAMESRV | CONFIG_PROXY };

struct config {
    struct config_broker broker;
    struct config_store store;
    struct config_netty netty;
    struct config_edge edge;
    struct config_metrics metrics;
    struct config_namesrv namesrv;
    struct config_proxy proxy;
    struct config_skylark skylark;
    enum config_owner owner;
    struct map ignored;     /* keys without effect that were given -> char * value */
};

/* Every key at its default. */
void config_init(struct config *c, enum config_owner owner);
void config_done(struct config *c);

/* Sets what a properties text says. `from` names it in errors (a path). Errors: CONFIG. */
err_t config_load(struct config *c, struct slice text, const char *from) MUST_CHECK;
/* One key; the broker's when both sides of a server have it, unless it is written namesrv.KEY. Errors: CONFIG. */
err_t config_set(struct config *c, struct slice key, struct slice value) MUST_CHECK;
/* Logs the given keys that have no effect, in one line. */
void config_report_ignored(const struct config *c);

/* A request to change keys while running (25, 318), all or nothing. Unknown keys are skipped, as the original does.
 * Errors: NO_PERMISSION (a key of the black list), CONFIG (a bad value, or a key that is read at start only). */
err_t config_update(struct config *c, struct slice text, enum config_owner whose) MUST_CHECK;
/* All keys of one side that have an effect, and those given without one, sorted, as a properties text (26, 319). */
void config_write(const struct config *c, enum config_owner whose, struct buf *out);

/* --- the list of all keys --- */

/* One key, as people are told of it. */
struct config_key {
    const char *name;
    const char *type;               /* "bool", "number", "text", "one of A, B" in `choices` */
    const char *unit;               /* "ms", "s", "bytes", "percent", "hours"; "" when it has none, or counts things */
    const char *meaning;
    int64_t least, most;            /* of numbers */
    bool is_number;
    bool live;                      /* may change while running */
    bool ignored;                   /* the original knows it, and it has no effect here: name and owner alone are set */
    enum config_owner owner;        /* whom it concerns */
    char default_text[128];         /* "" when nothing is given */
    char choices[128];              /* of a key that is one of several; else "" */
};
/* Walks: those with an effect first, sorted as in the list, then those without. */
bool config_next_key(size_t *at, struct config_key *out);
/* The nearest name that is known; NULL: none is near. */
const char *config_nearest(struct slice key, enum config_owner owner);

/* Help: each key of one side, its default and meaning. */
void config_describe(enum config_owner whose, struct buf *out);

#endif
