#include "os/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* "/run/…", or "@…" in the abstract namespace. */
static socklen_t address_of(const char *path, struct sockaddr_un *out)
{
    size_t n = strlen(path);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (n < 2 || n >= sizeof out->sun_path || (path[0] != '/' && path[0] != '@')) return 0;
    memcpy(out->sun_path, path, n);
    if (path[0] == '@') out->sun_path[0] = 0;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

/* The manager means this process and none that was started by it. */
static int64_t watchdog_ms(void)
{
    const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (!us || (pid && strtoll(pid, NULL, 10) != getpid())) return 0;
    long long value = strtoll(us, NULL, 10);
    return value > 0 ? value / 1000 : 0;
}

void notify_open(struct notify *n)
{
    struct sockaddr_un at;
    const char *path = getenv("NOTIFY_SOCKET");
    socklen_t size = path ? address_of(path, &at) : 0;
    *n = (struct notify){.fd = -1};
    if (!size) return;
    n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (n->fd < 0) return;
    if (connect(n->fd, (const struct sockaddr *)&at, size)) notify_close(n);
    else n->watchdog_ms = watchdog_ms();
}

void notify_say(const struct notify *n, const char *state)
{
    if (n->fd < 0) return;
    ssize_t done = send(n->fd, state, strlen(state), MSG_NOSIGNAL);
    (void)done;   /* a manager that does not listen is not our concern */
}

void notify_close(struct notify *n)
{
    if (n->fd >= 0) close(n->fd);
    n->fd = -1;
}
