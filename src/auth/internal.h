/* internal.h - what the parts of the room share. */
#ifndef SKYLARK_AUTH_INTERNAL_H
#define SKYLARK_AUTH_INTERNAL_H

#include "auth/auth.h"
#include "base/map.h"

struct auth {
    struct map accounts;            /* name -> struct account */
    struct saver saver;
    struct tasks *tasks;
};

/* "Topic:orders*": PREFIXED "orders"; "Topic:*": ANY; "*": RESOURCE_ANY. */
enum resource_pattern { PATTERN_ANY, PATTERN_LITERAL, PATTERN_PREFIXED };
struct resource {
    enum resource_type type;
    enum resource_pattern pattern;
    struct slice name;              /* n 0 for PATTERN_ANY */
};

/* False: it is none. */
bool resource_parse(struct slice text, struct resource *out);
bool resource_eq(const struct resource *a, const struct resource *b);
/* The bit of an action by its name, in any case; 0: there is none. */
uint32_t action_parse(struct slice name);
/* The name as it is written; the bit must be one of `enum action`. */
const char *action_name(uint32_t bit);
bool same_word(struct slice a, const char *b);      /* in any case */
/* The user named by "User:NAME"; p NULL: it names none. */
struct slice subject_user(struct slice subject);
/* The account by name, for changing. */
struct account *account_get(const struct auth *a, struct slice name);
/* Whether its entries mean something. Errors: NO_PERMISSION with the words of the original. */
err_t acl_check(const struct acl_info *acl) MUST_CHECK;
/* Makes the arena's list of the account what `acl` says: a copy; NULL or without policies: none. */
void account_set_acl(struct account *account, const struct acl_info *acl);
void auth_changed(struct auth *a);

/* --- source.c --- */
/* An address, or one with the length of a network ("10.0.0.0/8", "fd00::/8"). */
bool source_is_valid(struct slice text);
bool source_matches(struct slice text, struct slice ip);

#endif
