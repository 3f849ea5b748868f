/* notify.h - tells the service manager how the process is doing, by the protocol of sd_notify(3): a datagram to the socket that NOTIFY_SOCKET names.
 * Threads  notify_open: start of the process; notify_say: any, does not block
 * Errors   nobody is told when the manager does not listen */
#ifndef SKYLARK_OS_NOTIFY_H
#define SKYLARK_OS_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct notify {
    int fd;                 /* -1: nobody wants to hear */
    int64_t watchdog_ms;    /* within which a sign of life is expected, again and again; 0: none is */
};

/* From the environment. */
void notify_open(struct notify *n);
static inline bool notify_is_wanted(const struct notify *n) { return n->fd >= 0; }
/* "READY=1" */
void notify_say(const struct notify *n, const char *state);
void notify_close(struct notify *n);

#endif
