/* reply.h - answers whose body is a bean. Threads: loop. */
#ifndef SKYLARK_RPC_REPLY_H
#define SKYLARK_RPC_REPLY_H

#include "codec/bean.h"
#include "os/saver.h"
#include "rpc/rpc.h"

/* SUCCESS with the bean as body; kind and header may be NULL. Uses the call up. */
void reply_bean(struct call *call, const struct header_kind *kind, const void *header, const struct bean *bean, const void *value);
/* SUCCESS, or the error's code; takes both. */
void reply_outcome(struct call *call, err_t e);
/* For saver_wait(): answers when what the request changed is on disk, or with the error why it is not. Uses the call up. */
struct saver_waiter *reply_when_saved(struct call *call);

#endif
