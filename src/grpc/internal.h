/* internal.h - what server.c, session.c, call.c, inbound.c and outbound.c share. The room's own. Threads: loop */
#ifndef SKYLARK_GRPC_INTERNAL_H
#define SKYLARK_GRPC_INTERNAL_H

#include "base/log.h"
#include "grpc/grpc.h"
#include "grpc/headers.h"
#include "net/conn.h"
#include "net/sniff.h"

#include <nghttp2/nghttp2.h>

enum { GRPC_STREAM_WINDOW = 65535 };     /* of a call; wider while a large message comes */

struct grpc_server {
    struct loop *loop;
    struct listener *listener;           /* NULL when draining, or without a port of its own */
    struct sniffer sniffer;
    struct addr at;
    const struct grpc_service *const *services;
    size_t service_count;
    struct grpc_options options;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *http_options;
    struct turn_hook hook;               /* before that of the group: sessions put their frames into connections */
    struct conn_group group;
    struct list conns;
    struct list dirty;                   /* sessions that have something to send, or to end */
    struct timer scan;
    size_t calls;                        /* that a service has */
    bool draining;
    void (*drained)(void *ctx);          /* NULL: nobody cares, or it has been told */
    void *drained_ctx;
    struct log_limit refused;            /* lines about who was refused */
};

/* Frames that bring nothing are allowed now and then; each takes one, time gives back, and so does each call that is served: clients
 * measure the way with a PING a round trip while they call, and cancel streams that have been answered. */
struct patience {
    int64_t left;
    int64_t at_ms;
};

struct grpc_conn {
    struct list_node node;               /* in the server's conns */
    struct list_node dirty;
    struct grpc_server *server;
    struct conn *conn;
    nghttp2_session *session;
    uint64_t id;
    struct addr remote, local;
    struct buf attributes;               /* of the PROXY header: "name\0value\0" each */
    struct list calls;
    struct grpc_call *opening;           /* whose headers are coming; NULL: nobody's that we keep */
    size_t open_calls;                   /* whose headers are in and that are not closed */
    size_t unsent;                       /* bytes in the calls' queues */
    size_t promised;                     /* bytes of large messages, for which windows are open */
    size_t unfinished;                   /* bytes of request messages that have not come whole, or are held back */
    struct patience patience;
    int64_t quiet_ms;                    /* when the last call ended */
    int64_t heard_ms;                    /* when something was read last */
    int64_t moved_ms;                    /* when output was taken last, or there was none */
    bool holds;                          /* some calls are held */
    bool starves;                        /* some calls wait for their windows */
    struct timer again;                  /* a turn of its own for what one turn does not take */
    bool asked;                          /* a PING of ours is under way */
    bool broken;                         /* thrown out: nothing more is told of it */
    bool over;                           /* nothing is left but to send what the connection has, until over_ms */
    int64_t over_ms;
    bool ending;                         /* GOAWAY was said: closed when the calls are over */
};

/* A message on its way out; parts that a connection still sends hold references. */
struct outgoing {
    struct list_node node;
    unsigned refs;
    size_t left;                         /* bytes not yet given to the connection */
    size_t part, at;                     /* where they begin */
    size_t count;
    uint8_t prefix[5];
    struct pinned parts[];
};

struct grpc_call {
    struct list_node node;               /* in the connection's calls, in the order of their beginning */
    struct grpc_conn *conn;
    int32_t id;
    const struct grpc_service *service;  /* NULL: none has it, nor will */
    void *data;
    int64_t deadline_ms;
    int64_t begun_ms;                    /* mono_ms of its headers */
    struct timer timer;
    struct grpc_headers headers;
    bool too_long;                       /* more headers than allowed; the rest is not kept */
    bool opened;                         /* the headers are in */
    bool over;                           /* the service does not have it any more */
    bool zipped;                         /* the client packs its messages */
    bool packs;                          /* ... and gets packed ones */

    struct buf in;                       /* of a message that has not come whole, or is held back */
    size_t promised;                     /* the size of that message, when the window is open for all of it */
    size_t owed;                         /* bytes that came and were not given back to the stream's window */
    bool held;                           /* `in` waits until less is unsent */
    bool closing;                        /* the client sends no more */

    struct list out;                     /* struct outgoing */
    size_t unsent;
    bool answered;                       /* response headers are on their way */
    bool waits;                          /* the session waits until there is more to send */
    bool finished;                       /* a status has been given */
    enum grpc_status status;
    struct buf status_text;              /* encoded */
    int64_t moved_ms;                    /* when the client took something last */
};

/* --- session.c: a connection --- */
void grpc_session_new(struct grpc_server *s, const struct sniffed *what);
/* Gives each call back to its service, then frees all. */
void grpc_session_close(struct grpc_conn *c, const char *why);
/* Its frames go out at the end of the turn. */
void grpc_session_touch(struct grpc_conn *c);
/* Puts what the session has to send into the connection; closes it when it is over. */
void grpc_session_flush(struct grpc_conn *c);
/* A call was served to its end. */
void grpc_session_served(struct grpc_conn *c);
/* GOAWAY, and the end when the calls are over. */
void grpc_session_drain(struct grpc_conn *c);
/* Ends what is idle, stalled or dead. */
void grpc_session_look_after(struct grpc_conn *c);
/* True: more is unsent than may be, and messages wait. */
bool grpc_session_is_full(const struct grpc_conn *c);
size_t grpc_session_unsent(const struct grpc_conn *c);
nghttp2_session_callbacks *grpc_session_callbacks(void);
nghttp2_option *grpc_session_options(void);

/* --- call.c: the life of a call --- */
struct grpc_call *grpc_call_new(struct grpc_conn *c, int32_t id);
void grpc_call_add_header(struct grpc_call *k, nghttp2_rcbuf *name, nghttp2_rcbuf *value);
/* The headers are in: gives the call to its service, or refuses it. */
void grpc_call_open(struct grpc_call *k);
/* Takes the call from its service, if that has it, and ends it with a status. */
void grpc_call_end(struct grpc_call *k, enum grpc_status status, const char *text);
/* The stream is gone. */
void grpc_call_free(struct grpc_call *k);

/* --- inbound.c: messages coming in --- */
/* Hands over the messages that are whole; a call that breaks a limit or the format is ended. */
void grpc_call_take(struct grpc_call *k, struct slice bytes);
/* The client sends no more. */
void grpc_call_half_close(struct grpc_call *k);
/* Messages that were held back because too much was unsent. */
void grpc_call_go_on(struct grpc_call *k);
/* Gives windows back as far as the memory for unfinished messages allows. */
void grpc_call_settle(struct grpc_call *k);
/* Forgets what has come, and gives its window back. */
void grpc_call_drop_input(struct grpc_call *k);

/* --- outbound.c: messages and statuses going out --- */
void grpc_call_submit(struct grpc_call *k);
/* Forgets what is unsent. True: the client has the beginning of a message. */
bool grpc_call_drop_output(struct grpc_call *k);
/* RST_STREAM. */
void grpc_call_reset(struct grpc_call *k, uint32_t code);
/* A refusal with an HTTP status, for what is no gRPC call. */
void grpc_call_refuse(struct grpc_call *k, const char *http_status, enum grpc_status status, const char *text);
ssize_t grpc_call_read(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length, uint32_t *flags, nghttp2_data_source *source, void *ctx);
int grpc_call_write(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t length, nghttp2_data_source *source, void *ctx);

#endif
