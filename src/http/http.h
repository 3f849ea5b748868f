/* http.h - a small HTTP/1.1 server for people and their tools: GET and HEAD of pages that are made when somebody asks.
 * Facts    RFC 9110, RFC 9112
 * Limits   a request's head of HTTP_HEAD_MAX bytes, HTTP_CONNS_MAX connections, HTTP_IDLE_MS without a byte; no request bodies: a request that
 *          announces one is refused, and its connection ends. One request of a connection is answered at a time; those that come behind it wait
 * Threads  loop
 * Owns     a struct http_call is its handler's until http_reply(), which uses it up */
#ifndef SKYLARK_HTTP_HTTP_H
#define SKYLARK_HTTP_HTTP_H

#include "base/buf.h"
#include "net/loop.h"

enum { HTTP_HEAD_MAX = 8192, HTTP_CONNS_MAX = 64, HTTP_IDLE_MS = 60000 };

struct http_server;
struct http_call;

struct http_service {
    /* `path` is without a query, as it was sent, and valid during the call. Answers now or later. */
    void (*get)(void *ctx, struct http_call *call, struct slice path);
    void *ctx;
};

/* Errors: NETWORK. */
err_t http_listen(struct loop *loop, const struct addr *at, const struct http_service *service, struct http_server **out) MUST_CHECK;
struct addr http_addr(const struct http_server *s);
/* Calls that are not answered are gone without their answers: their handlers must not answer any more. NULL is fine. */
void http_close(struct http_server *s);

/* The body is copied. A client that has gone hears nothing. */
void http_reply(struct http_call *call, int status, const char *type, struct slice body);
/* A body that is made while it is sent: a piece at a time, and the next one when the client has taken it, so that large pages cost little memory. */
struct http_body {
    bool (*next)(void *ctx, struct buf *out);   /* appends a piece; false: it was the last one */
    void (*done)(void *ctx);                    /* the end, also when the client has gone; once */
    void *ctx;
};
/* Takes the body; it is over before http_close() returns. */
void http_reply_body(struct http_call *call, int status, const char *type, const struct http_body *body);
void http_reply_text(struct http_call *call, int status, const char *text);

/* --- for tests: the head of a request, pure --- */

struct http_head {
    struct slice method, path;
    bool keep_alive;
    bool chunks;                /* HTTP/1.1: the answer may come in chunks */
};
/* How many bytes the head that begins here has; 0: more are needed. Errors: FRAME (too long). */
err_t http_head_size(const uint8_t *p, size_t n, size_t *out) MUST_CHECK;
/* One whole head. Returns the status that a request of this kind is refused with; 0: it is fine. */
int http_head_parse(struct slice head, struct http_head *out);

#endif
