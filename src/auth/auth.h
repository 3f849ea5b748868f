/* auth.h - who may use a server: users with their secrets, and what each may do to which topics, groups and clusters.
 * Files    <folder>/accounts.json: {"acls":[…],"users":[…]}, as in requests 3004 and 3009, for its owner alone; written by a worker after each change
 * Facts    docs/protocol/remoting.md 6, grpc.md 3
 * Threads  loop, but auth_open and auth_close, which block
 * Errors   NO_PERMISSION with the words of the original: clients and tools show them
 * Owns     what it shows is valid until the account is changed, so within the turn */
#ifndef SKYLARK_AUTH_AUTH_H
#define SKYLARK_AUTH_AUTH_H

#include "codec/body_accounts.h"
#include "codec/frame.h"
#include "os/saver.h"

struct auth;

struct auth_options {
    const char *folder;             /* of accounts.json */
    struct slice first_user;        /* initAuthenticationUser: {"username":…,"password":…}; n 0: none */
    struct slice inner_user;        /* innerClientAuthenticationCredentials: {"accessKey":…,"secretKey":…} */
};

struct account {
    struct user_info user;          /* all four are there */
    bool super;                     /* may do everything */
    bool disabled;
    struct acl_info *acl;           /* NULL: none */
    struct arena user_memory;
    struct arena acl_memory;
};

/* Makes the two users of the options if they are not there; both may do everything. Errors: IO, BODY, CONFIG. */
err_t auth_open(const struct auth_options *options, struct fs *fs, struct tasks *tasks, struct auth **out) MUST_CHECK;
err_t auth_close(struct auth *a) MUST_CHECK;
/* Done when all changes so far are on disk. */
void auth_when_saved(struct auth *a, struct saver_waiter *w);

/* --- users --- */
/* NULL: there is none. */
const struct account *auth_find(const struct auth *a, struct slice name);
/* In the order of their making: `for (size_t at = 0; (account = auth_next(a, &at));)`. */
const struct account *auth_next(const struct auth *a, size_t *at);
/* What is not given is "Normal", "enable". Errors: NO_PERMISSION (exists, no password, a name that cannot be). */
err_t auth_create_user(struct auth *a, const struct user_info *wanted) MUST_CHECK;
/* What is not given stays. Errors: NO_PERMISSION (there is none). */
err_t auth_update_user(struct auth *a, const struct user_info *wanted) MUST_CHECK;
/* With what he may do. Nothing happens when there is none. */
void auth_delete_user(struct auth *a, struct slice name);
/* Whether a user type, as in a request, means one who may do everything. */
bool auth_type_is_super(struct slice user_type);

/* --- what they may do --- */
/* Adds entries to those of the subject ("User:NAME"); one for the same resource is replaced. Errors: NO_PERMISSION. */
err_t auth_set_acl(struct auth *a, struct slice subject, const struct acl_info *wanted) MUST_CHECK;
/* The entry of a resource in a policy ("Custom" when n is 0), or all there are when resource.n is 0. Errors: NO_PERMISSION. */
err_t auth_delete_acl(struct auth *a, struct slice subject, struct slice policy_type, struct slice resource) MUST_CHECK;
/* *out is NULL when the user has none. Errors: NO_PERMISSION (no such user). */
err_t auth_get_acl(const struct auth *a, struct slice subject, const struct acl_info **out) MUST_CHECK;
/* Those whose subject, and whose entries' resources, hold these texts (n 0: all). Lists lie in the arena, texts are a's. */
void auth_list_acls(const struct auth *a, struct slice subject, struct slice resource, struct arena *arena, struct acl_info_list *out);

/* --- decisions --- */
enum resource_type { RESOURCE_NONE = -1, RESOURCE_ANY, RESOURCE_CLUSTER, RESOURCE_NAMESPACE, RESOURCE_TOPIC, RESOURCE_GROUP };
enum action {
    ACTION_ALL = 1 << 1, ACTION_ANY = 1 << 2, ACTION_PUB = 1 << 3, ACTION_SUB = 1 << 4, ACTION_CREATE = 1 << 5, ACTION_UPDATE = 1 << 6,
    ACTION_DELETE = 1 << 7, ACTION_GET = 1 << 8, ACTION_LIST = 1 << 9,
};

/* Whether the user may do one of these to the resource, from that address ("10.0.0.1"). A retry or dead letter topic is its group.
 * Errors: NO_PERMISSION. */
err_t auth_decide(const struct auth *a, struct slice user, enum resource_type type, struct slice name, uint32_t actions, struct slice source_ip) MUST_CHECK;

/* Whether a request is signed by who it says: AccessKey and Signature among its fields. *out_user borrows from the frame. Errors: NO_PERMISSION. */
err_t auth_check_frame(const struct auth *a, const struct frame *frame, struct slice body, struct slice *out_user) MUST_CHECK;
/* The same of a gRPC call: what its headers `authorization` and `x-mq-date-time` say, p NULL when they are not there. *out_user borrows. */
err_t auth_check_metadata(const struct auth *a, struct slice authorization, struct slice date_time, struct slice *out_user) MUST_CHECK;

enum { SIGNATURE_TEXT = 29 };
/* Base64 of the HMAC-SHA1 of the frame's fields, in the order of their names and without Signature, and the body. */
void auth_sign_frame(const struct frame *frame, struct slice body, struct slice secret, char out[static SIGNATURE_TEXT]);

#endif
