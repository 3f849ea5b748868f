/* accounts.h - who may ask the broker: requests of clients are checked before they are handled. The room's own.
 * Facts    docs/protocol/remoting.md 6
 * Threads  loop */
#ifndef SKYLARK_BROKER_ACCOUNTS_ACCOUNTS_H
#define SKYLARK_BROKER_ACCOUNTS_ACCOUNTS_H

#include "broker/state.h"

/* With authenticationEnabled: that the request is signed by who it says, unless its code is on the white list. Errors: NO_PERMISSION. */
err_t accounts_check(const struct broker *b, const struct call *call) MUST_CHECK;

#endif
