/* message.h - what commands on messages share. The room's own. Threads: loop */
#ifndef SKYLARK_ADMIN_MESSAGE_MESSAGE_H
#define SKYLARK_ADMIN_MESSAGE_MESSAGE_H

#include "admin/command.h"
#include "codec/record.h"

/* A message and the broker that has it. */
struct found {
    struct admin_broker broker;
    struct message message;         /* borrows from the answer's body */
    int64_t body_bytes;             /* of the whole body, of which `message` may have the beginning alone */
    struct slice wrong;             /* why it could not be opened; p NULL: nothing is */
};

struct founds {
    BEAN_LIST(struct found) list;
};

/* The records of a body, as far as they are whole. */
void messages_add(struct job *j, const struct admin_broker *b, struct slice body, struct founds *out);
/* UNIQ_KEY, else the offset id. */
struct slice message_key_of(struct job *j, const struct message *m);
struct slice message_offset_id(struct job *j, const struct message *m);
struct slice message_property(const struct message *m, const char *name);
struct slice addr_text_of(struct job *j, const struct addr *a);
/* As text where it is text, else as hexadecimal digits; of what is not open how large it is, and why. */
struct slice message_body_text(struct job *j, const struct found *f);

/* --- open.c --- */

/* How much a command may still open. */
struct opening {
    int64_t left_bytes;
};
void opening_begin(struct opening *o);
/* Appends the message with its body decompressed, or, of a batch, each message in it. Errors: `wrong` of one that is appended. */
void message_open(struct job *j, struct opening *o, const struct found *f, struct founds *out);

/* Table "messages", one a row. */
struct table *message_table(struct job *j, bool bodies);
void message_row(struct job *j, struct table *t, const struct found *f, bool body);
/* All of one: facts, and the table "properties"; of a batch the table "messages" too. */
void message_outcome(struct job *j, const struct found *f, bool body);

/* --- send.c --- */

struct sending {
    struct slice topic;
    struct slice body;
    struct slice properties;        /* UNIQ_KEY is added */
    int32_t queue_id;               /* -1: the broker's choice */
    int32_t reconsume_times;
    int32_t sys_flag;               /* how the body is compressed */
};

/* Asks, with a tag of the caller's; the answer's header is a send_reply. Returns the UNIQ_KEY. */
struct slice message_ask_send(struct job *j, const struct admin_broker *b, const struct sending *s, const void *tag);

/* A copy of a message, without what belongs to one delivery of it. Returns the UNIQ_KEY. */
struct slice message_ask_resend(struct job *j, const struct admin_broker *b, const struct found *f, struct slice topic, const void *tag);

/* --- direct.c: what is done with a message that was found. The answer is a row of *t, which is made when there is none; then `next` --- */

/* Has the member --clientId of --consumerGroup consume it now. */
void message_consume_directly(struct job *j, const struct found *f, struct table **t, job_phase *next);
/* To its topic once more. */
void message_send_again(struct job *j, const struct found *f, struct table **t, job_phase *next);

#endif
