/* job.h - an operation in phases: a phase asks servers, and the next one runs when all of them have answered or failed. The room's own.
 * Shape    job_ask() any number of times, then job_wait(j, next): `next` finds the answers in j->replies, in the order of asking
 * Units    ms
 * Owns     all that belongs to a job lies in the admin's arenas; good until admin_free
 * Threads  loop */
#ifndef SKYLARK_ADMIN_JOB_H
#define SKYLARK_ADMIN_JOB_H

#include "admin/params.h"
#include "admin/outcome.h"
#include "admin/session.h"
#include "codec/requests.h"
#include "os/random.h"

struct job;
typedef void job_phase(struct job *j);

struct reply {
    struct admin_broker broker;     /* who was asked; a name server has its address alone */
    enum err_code code;             /* ERR_NONE: it answered SUCCESS */
    struct slice text;              /* the error's */
    bool silent;
    struct slice body;
    struct heard heard;             /* when asked for */
    const void *tag;                /* the asker's */
};

struct replies {
    BEAN_LIST(struct reply *) list;
};

/* A broker and its id: 0 is a master. */
struct member {
    struct admin_broker broker;
    int64_t id;
};

struct members {
    BEAN_LIST(struct member) list;
};

struct job {
    struct admin *admin;
    const struct params *params;
    int64_t now_ms;
    struct outcome outcome;
    struct admin_failures failures;
    bool bad;                       /* what was looked for is wrong: the exit status says so */
    struct replies replies;         /* of the phase before */
    struct replies asked;           /* of this one */
    struct cluster_info cluster;    /* after job_cluster */
    struct topic_route route;       /* after job_route; no brokers: there is no such topic */
    struct members brokers;         /* after job_brokers */
    void *state;                    /* the operation's own */
    struct slice topic;             /* of job_route */
    job_phase *next, *found, *chosen;
    bool slaves;                    /* of job_all_brokers */
    size_t waiting;
    struct random random;
    void (*emit)(struct job *j);    /* what was found so far is printed, and forgotten; NULL: all at the end */
    err_t (*read_file)(const char *path, struct slice *out);    /* the text stays; NULL: there are no files */
    err_t (*read_part)(const char *path, int64_t at, size_t most, uint8_t *out, size_t *n);
    err_t (*write_file)(const char *path, struct slice text);
    void (*progress)(void *ctx, int64_t done, int64_t total);   /* NULL: nobody looks */
    void *progress_ctx;
};

/* Begins: `first` ends with job_end or job_fail, now or later, and then done runs. */
struct job *job_new(struct admin *a, const struct params *params);
void job_run(struct job *j, job_phase *first, admin_done *done, void *ctx);
/* Takes e. */
void job_fail(struct job *j, err_t e);
void job_end(struct job *j);

/* A clock that is never set, as of now. */
int64_t job_mono_ms(const struct job *j);
struct arena *job_arena(struct job *j);
/* Zeroed, never NULL. */
void *job_take(struct job *j, size_t n);
struct slice job_param(const struct job *j, const char *name);
struct slice job_copy(struct job *j, struct slice text);
/* A bean as JSON, in the arena. */
struct slice job_encode(struct job *j, const struct bean *bean, const void *value);
/* printf into the arena. */
struct slice job_text(struct job *j, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A file that the user named, as far as there are files. Errors: IO. */
err_t job_read_file(struct job *j, struct slice path, struct slice *out) MUST_CHECK;
/* Writes one, likewise, says so, and ends the job; or fails it. */
void job_write_and_end(struct job *j, struct slice path, struct slice text);

/* The request's header must stay until the answer is there; its body is copied. */
void job_ask(struct job *j, const struct admin_broker *who, const struct request *r, const void *tag);
void job_wait(struct job *j, job_phase *next);
/* A failed answer joins j->failures; true: it was good. */
bool job_good(struct job *j, const struct reply *r);
/* Decodes the body of a good answer; false: it failed, which is in j->failures. */
bool job_read(struct job *j, const struct reply *r, const struct bean *bean, void *out);
/* For the end: fine if one of those that were asked answered well, else the error of one of them, rather an answer than silence. */
void job_end_with(struct job *j, const struct replies *r);

/* --- job_find.c: which servers --- */

/* All name servers; the first good answer is j->replies' only one. Its failure ends the job unless `code` is one that `next` wants. */
void job_ask_a_name(struct job *j, const struct request *r, enum err_code wanted, job_phase *next);
/* Every name server, in j->asked: job_wait follows. */
void job_ask_names(struct job *j, const struct request *r);
/* j->cluster. */
void job_cluster(struct job *j, job_phase *next);
/* j->route; without brokers when no name server knows the topic, unless `must`: then the job fails. */
void job_route(struct job *j, struct slice topic, bool must, job_phase *next);
/* j->brokers by what was given: brokerAddr (or the broker of all commands' options): that one; clusterName: its masters, else all masters.
 * Fails when there are none. */
void job_brokers(struct job *j, job_phase *next);
/* The same with slaves. */
void job_all_brokers(struct job *j, job_phase *next);
/* The masters of a topic into j->brokers, and its route; with the broker option that broker alone, and no route. Fails when there are none. */
void job_topic_masters(struct job *j, struct slice topic, job_phase *next);
/* The masters of j->route into j->brokers. Fails when there are none. */
void job_masters(struct job *j, job_phase *next);
/* One request to each of j->brokers, and waits. */
void job_ask_all(struct job *j, const struct request *r, job_phase *next);
/* A broker of j->route or j->cluster by its name: the master's address; p NULL: there is none. */
struct slice job_address_of(const struct job *j, struct slice broker_name);

#endif
