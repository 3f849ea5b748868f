/* poll_state.h - inside of poll.c and watch.c: polls, and what they wait for at brokers.
 * Threads  loop */
#ifndef SKYLARK_PROXY_POLL_STATE_H
#define SKYLARK_PROXY_POLL_STATE_H

#include "proxy/poll.h"

enum { ALL_QUEUES = -1 };
/* A broker that does not answer in time is taken for one without messages. */
enum { POLL_SLACK_MS = 5000 };

/* One question at one broker, for all polls that wait for the same there. In proxy.polls by its key. */
struct watch {
    struct proxy *proxy;
    char *key;
    struct broker_peer *broker;
    struct list waiting;             /* branches of polls */
    struct timer pause;
    bool asked;                      /* the question is at the broker */
    bool taken;                      /* it said yes, and a poll looks what there is */
    bool full;                       /* it takes no more questions */
    int useless;                     /* answers in a row that brought nothing */
};

/* What a poll has with one broker. */
struct branch {
    struct list_node node;           /* of the watch's waiting ones */
    struct poll *poll;
    struct broker_peer *broker;
    struct watch *watch;             /* NULL: it does not wait there */
    bool ready;                      /* the broker said yes: the poll's to look */
};

struct poll {
    struct request *request;
    struct poll_question q;
    struct branch *branches;
    size_t count;
    size_t tried;                    /* brokers that were popped without waiting */
    struct branch *popping;          /* NULL: none is popped */
    int64_t ends_ms;                 /* mono */
    struct timer end;
    bool plain;                      /* waits at one broker */
    bool answered_once;              /* some broker did answer */
    bool late, gone;
    err_t failure;                   /* the first broker's that failed */
    int32_t failure_code;            /* a response code; 0: see failure */
    struct slice failure_text;
};

/* --- watch.c --- */
/* The branch's poll waits at its broker from now on; watch_look() puts the question. */
void watch_wait(struct branch *b);
/* Puts the question, if somebody waits and it is not put already. */
void watch_look(struct watch *w);
/* The branch waits no more; what its broker said is for the others. */
void watch_leave(struct branch *b);
/* The broker said yes, and the poll that looked has found nothing: somebody else was faster. */
void watch_in_vain(struct branch *b);
/* The branch's poll is served there. more: messages are left, for the next one. */
void watch_served(struct branch *b, bool more);

/* --- poll.c --- */
/* One of its brokers has said yes. */
void poll_look(struct poll *p);
/* None of its brokers lets it wait. */
void poll_end_full(struct poll *p);
bool poll_is_full(const struct poll *p);
int64_t poll_left_ms(const struct poll *p);

#endif
