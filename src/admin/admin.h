/* admin.h - what an administrator asks of a cluster and has done in it: one typed function an operation, and the commands that print them.
 * Facts    docs/protocol/why.md, docs/protocol/transactions.md
 * Shape    an operation asks name servers, then brokers, all at once; whoever has not answered by its deadline has failed
 * Threads  loop
 * Owns     results, and the texts in them, are good until admin_free. What an operation is given must stay until `done` runs
 * Errors   USAGE; TIMEOUT, CLOSED, NETWORK, ADDRESS: nobody answered (admin_is_silence); others: the answer is an error */
#ifndef SKYLARK_ADMIN_ADMIN_H
#define SKYLARK_ADMIN_ADMIN_H

#include "base/arena.h"
#include "codec/body_transaction.h"
#include "codec/body_why.h"
#include "codec/header.h"

#include <stdio.h>

struct loop;
struct admin;

struct admin_options {
    struct loop *loop;
    struct slice namesrv;       /* "host:port", several separated by ; - all are asked, the first good answer counts */
    struct slice broker;        /* "host:port": this broker alone is asked, and no name server; p NULL: none */
    int64_t timeout_ms;         /* of an operation as a whole */
};

/* For one operation after the other. */
struct admin *admin_new(const struct admin_options *o);
/* Ends what is under way; its `done` does not run. Not inside of a `done`. NULL is fine. */
void admin_free(struct admin *a);

/* Runs exactly once; e is the receiver's. */
typedef void admin_done(void *ctx, err_t e);

/* Nobody answered, as far as the error tells; false for NULL. */
bool admin_is_silence(err_t e);

/* --- results --- */

struct admin_broker {
    struct slice cluster;       /* p NULL, like the name: not known, as only its address was given */
    struct slice name;
    struct slice address;
};

/* A broker that was asked and did not answer, or refused. */
struct admin_failure {
    struct admin_broker broker;
    struct slice text;
    bool silent;                /* nothing came from it */
};

struct admin_failures {
    BEAN_LIST(struct admin_failure) list;
};

struct admin_reason {
    struct admin_broker broker;
    struct why why;
};

struct admin_reasons {
    BEAN_LIST(struct admin_reason) list;
    struct admin_failures failures;
};

struct admin_transaction {
    struct admin_broker broker;
    struct open_transaction row;
    struct slice message_id;    /* of the half message, as admin_transaction_resume takes it; p NULL: the broker's address is a name */
};

struct admin_transactions {
    int64_t open;               /* on all brokers that answered, also those that were not asked for */
    BEAN_LIST(struct admin_transaction) list;
    struct admin_failures failures;
};

struct admin_resumed {
    struct admin_broker broker;
    struct slice message_id;
};

/* --- operations. An operation of many brokers fails when none of them answered well; those that did not are in `failures` --- */

/* Why does a queue not move for a group? One reason, of the broker that has the queue; broker_name p NULL: there is but one.
 * Errors: INVALID (no broker has the queue, or several), TOPIC_NOT_FOUND, NOT_FOUND (no such broker). */
void admin_why_queue(struct admin *a, const struct why_queue_header *h, struct slice broker_name, struct admin_reasons *out,
                     admin_done *done, void *ctx);
/* Where is a message? Of all masters of the topic, the newest one that knows it, else what the first one says. */
void admin_why_message(struct admin *a, const struct why_message_header *h, struct admin_reasons *out, admin_done *done, void *ctx);
/* Why is a send refused? Of each master of the topic; of all masters when it has no route. */
void admin_why_send(struct admin *a, const struct why_send_header *h, struct admin_reasons *out, admin_done *done, void *ctx);

/* The transactions that are open, of all masters, oldest first within a broker; group and topic p NULL: any. */
void admin_transaction_list(struct admin *a, struct slice topic, struct slice group, struct admin_transactions *out,
                            admin_done *done, void *ctx);
/* Has the producer asked again, from the beginning. `id` is the UNIQ_KEY of an open transaction, or the message id of a half message.
 * Errors: NOT_FOUND (it is neither), REFUSED (it has ended). */
void admin_transaction_resume(struct admin *a, struct slice topic, struct slice id, struct admin_resumed *out, admin_done *done, void *ctx);

/* --- commands --- */

enum admin_status { ADMIN_FINE, ADMIN_FAILED, ADMIN_USAGE, ADMIN_NOBODY };
enum admin_consent { ADMIN_NO, ADMIN_YES, ADMIN_NOT_ASKED };

struct admin_call {
    struct loop *loop;
    const char *namesrv;        /* without -n; NULL: 127.0.0.1:9876 */
    FILE *out, *err;
    int width;                  /* of the terminal that out is; 0: it is none */
    bool colour;                /* of out */
    bool progress;              /* err is a terminal, where long work may say how far it is */
    /* Asks the user before something is destroyed; ADMIN_NOT_ASKED: there is nobody to ask. NULL likewise. */
    enum admin_consent (*consent)(const char *question);
    /* What stands in a file beside the program, as a text that stays: the profiles; p NULL: there are none. NULL likewise. */
    struct slice (*profiles)(void);
    err_t (*read_file)(const char *path, struct slice *out);   /* one that the user named; the text stays; NULL: there are none */
    /* Up to `most` bytes of such a file, from `at` on: *n of them, 0 at its end; NULL: there are none. */
    err_t (*read_part)(const char *path, int64_t at, size_t most, uint8_t *out, size_t *n);
    err_t (*write_file)(const char *path, struct slice text);  /* with the folders that are missing; NULL: there are none */
    uint64_t random;            /* a seed */
    const char *profile;        /* without --profile; NULL: none */
    void (*done)(void *ctx, enum admin_status status);
    void *ctx;
};

/* What stands behind `skylark admin`: argv[0] is "admin". done runs exactly once, maybe before this returns. The call is copied,
 * argv stays until then. */
void admin_command(const struct admin_call *call, int argc, char **argv);

#endif
