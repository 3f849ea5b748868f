/* namesrv.h - the name server: brokers register here, clients ask it for routes.
 * Facts    docs/protocol/remoting.md A1, 4.3, 5.1, 5.2; requests: catalog/requests.def, room namesrv
 * Files    kvConfigPath (kvConfig.json), configStorePath (when given)
 * Threads  loop; namesrv_new and namesrv_free block for their files
 * Owns     nothing of what it is given: config, fs and loop outlive it */
#ifndef SKYLARK_NAMESRV_NAMESRV_H
#define SKYLARK_NAMESRV_NAMESRV_H

#include "base/config.h"
#include "os/file.h"
#include "rpc/rpc.h"

struct namesrv;
struct health;
struct metrics;
struct scrape;

/* config is the name server's alone until namesrv_free(): requests change it. Errors: IO, BODY (the file cannot be read). */
err_t namesrv_new(struct config *config, struct fs *fs, struct loop *loop, struct namesrv **out) MUST_CHECK;
/* For rpc_listen(). */
struct rpc_service namesrv_service(struct namesrv *ns);
/* Where its listeners count; as long as the name server. */
struct metrics *namesrv_metrics(struct namesrv *ns);
/* Fills in the page and sends it back. Thread: loop */
void namesrv_scrape(struct namesrv *ns, struct scrape *s);
/* Ready: it has not been told to wait for brokers (needWaitForService), or has. Thread: loop */
void namesrv_health(struct namesrv *ns, struct health *out);
/* After its listeners are closed. Writes what is not written; NULL is fine. */
err_t namesrv_free(struct namesrv *ns) MUST_CHECK;

#endif
