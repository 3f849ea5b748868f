/* body_accounts.h - bodies about accounts: users (3001 to 3005) and what they may do (3006 to 3010).
 * Facts    docs/protocol/remoting.md 6.3; vectors.tsv, group auth
 * Shape    texts as on the wire; who means something by them (auth) reads them: "Super", "enable", "Topic:orders*", "Pub", "Allow", "Custom"
 * Owns     what is decoded borrows from the body and the arena */
#ifndef SKYLARK_CODEC_BODY_ACCOUNTS_H
#define SKYLARK_CODEC_BODY_ACCOUNTS_H

#include "codec/bean.h"

/* p NULL: not given. */
struct user_info {
    struct slice password;
    struct slice user_status;
    struct slice user_type;
    struct slice username;
};

struct acl_entry_info {
    BEAN_LIST(struct slice) actions;
    struct slice decision;
    struct slice resource;
    BEAN_LIST(struct slice) source_ips;     /* empty: from anywhere */
};

struct acl_policy_info {
    BEAN_LIST(struct acl_entry_info) entries;
    struct slice policy_type;
};

struct acl_info {
    BEAN_LIST(struct acl_policy_info) policies;
    struct slice subject;                   /* "User:NAME" */
};

extern const struct bean user_info_bean;
extern const struct bean acl_info_bean;

/* Lists of them, which are bodies without an object around. */
struct user_info_list { struct user_info *items; size_t count; };
struct acl_info_list { struct acl_info *items; size_t count; };

void user_infos_encode(const struct user_info_list *list, struct buf *out);
void acl_infos_encode(const struct acl_info_list *list, struct buf *out);
/* No body at all is an empty list. Errors: BODY. */
err_t user_infos_decode(struct slice body, struct arena *arena, struct user_info_list *out) MUST_CHECK;
err_t acl_infos_decode(struct slice body, struct arena *arena, struct acl_info_list *out) MUST_CHECK;

#endif
