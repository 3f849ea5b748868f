/* uv_internal.h - what uv_loop.c and uv_stream.c share. The room's own. */
#ifndef SKYLARK_NET_UV_INTERNAL_H
#define SKYLARK_NET_UV_INTERNAL_H

#include "net/loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

enum { READ_BUFFER_BYTES = 128 * 1024 };

struct uv_loop {
    struct loop loop;
    uv_loop_t uv;
    pthread_t thread;
    uv_async_t wake;              /* mail has come, or stop */
    uv_idle_t own_mail;           /* mail that the loop wrote itself: it goes on without waiting, and no kernel call is needed for that */
    uv_prepare_t before_poll;
    uv_check_t after_poll;
    uv_timer_t next_timer;
    _Atomic(struct mail *) mail;  /* newest first */
    atomic_bool stopping;
    struct list hooks;
    struct timer **heap;          /* by due_ms, then sequence */
    size_t timers;
    size_t timers_cap;
    uint64_t timer_sequence;
    bool arm_later;               /* timers have fired: the next one is armed before the loop polls */
    int64_t wall_ms;              /* 0: not asked yet in this turn */
    char *read_buffer;            /* shared by all streams: bytes are used before the callback returns */
};

extern const struct loop_ops uv_loop_ops;

static inline struct uv_loop *uv_of(struct loop *l) { return (struct uv_loop *)l; }

/* An error from a libuv number, with what was being done. */
err_t uv_error(int number, const char *what);
struct addr addr_of_sockaddr(const struct sockaddr_storage *s);
void sockaddr_of_addr(const struct addr *a, struct sockaddr_storage *out);

#endif
