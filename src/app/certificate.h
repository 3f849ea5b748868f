/* certificate.h - where the certificate of TLS comes from: files that are configured, or one that is made and kept. The room's own.
 * Files    tlsCertPath and tlsKeyPath; else tls/skylark.crt and tls/skylark.key below dataFolder
 * Threads  loop; certificate_new blocks (start only); changed files are read by workers */
#ifndef SKYLARK_APP_CERTIFICATE_H
#define SKYLARK_APP_CERTIFICATE_H

#include "base/config.h"
#include "net/tls.h"
#include "os/tasks.h"

struct certificate;

/* Errors: CONFIG (one line that says which file), IO. */
err_t certificate_new(const struct config *c, struct tasks *tasks, struct certificate **out) MUST_CHECK;
const struct tls *certificate_tls(const struct certificate *c);
/* Looks for changed files from now on. */
void certificate_watch(struct certificate *c);
/* Stops looking; `done` runs when no worker is busy with it any more, perhaps at once. */
void certificate_stop(struct certificate *c, void (*done)(void *ctx), void *ctx);
/* NULL is fine. */
void certificate_free(struct certificate *c);
/* "the certificate tls/…, made at the first start", for the start line. */
const char *certificate_path(const struct certificate *c);

#endif
