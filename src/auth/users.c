/* The table of accounts, its file, and its users. */
#include "auth/internal.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { NAME_MAX_BYTES = 255, SECRET_MAX_BYTES = 1024 };

static const char SUPER[] = "Super", NORMAL[] = "Normal", ENABLE[] = "enable", DISABLE[] = "disable";

bool same_word(struct slice a, const char *b) { return a.n == strlen(b) && strncasecmp((const char *)a.p, b, a.n) == 0; }
bool auth_type_is_super(struct slice user_type) { return same_word(user_type, SUPER); }
void auth_changed(struct auth *a) { saver_mark(&a->saver); }
struct account *account_get(const struct auth *a, struct slice name) { return map_get(&a->accounts, name); }
const struct account *auth_find(const struct auth *a, struct slice name) { return account_get(a, name); }
void auth_when_saved(struct auth *a, struct saver_waiter *w) { saver_wait(&a->saver, w); }

const struct account *auth_next(const struct auth *a, size_t *at)
{
    struct map_entry *e = map_next(&a->accounts, at);
    return e ? e->value : NULL;
}

static void account_free(void *p)
{
    struct account *account = p;
    arena_done(&account->user_memory);
    arena_done(&account->acl_memory);
    free(account);
}

/* `user` has all four. */
static struct account *put(struct auth *a, const struct user_info *user)
{
    struct account *account = account_get(a, user->username);
    struct arena fresh = ARENA_EMPTY;
    struct user_info copy;
    bean_copy(&user_info_bean, user, &fresh, &copy);
    if (!account) {
        account = must_zero(sizeof *account);
        account->user_memory = account->acl_memory = ARENA_EMPTY;
        map_put(&a->accounts, copy.username, account);
    }
    arena_done(&account->user_memory);
    account->user_memory = fresh;
    account->user = copy;
    account->super = auth_type_is_super(copy.user_type);
    account->disabled = same_word(copy.user_status, DISABLE);
    return account;
}

void account_set_acl(struct account *account, const struct acl_info *acl)
{
    struct arena fresh = ARENA_EMPTY;
    struct acl_info *copy = NULL;
    fresh.limit = SIZE_MAX;   /* what was checked; a copy that lacks something would permit something else */
    if (acl && acl->policies.count) {
        copy = arena_take(&fresh, sizeof *copy);
        bean_copy(&acl_info_bean, acl, &fresh, copy);
    }
    arena_done(&account->acl_memory);
    account->acl_memory = fresh;
    account->acl = copy;
}

/* --- the file --- */

struct accounts_file {
    BEAN_LIST(struct acl_info) acls;
    BEAN_LIST(struct user_info) users;
};
static const struct bean_field file_rows[] = {
    {"acls", offsetof(struct accounts_file, acls), &bean_list, &acl_info_bean, false},
    {"users", offsetof(struct accounts_file, users), &bean_list, &user_info_bean, false},
};
static const struct bean file_bean = BEAN(struct accounts_file, file_rows, NULL);

static void encode_file(void *ctx, struct buf *out)
{
    struct auth *a = ctx;
    struct arena arena = ARENA_EMPTY;
    struct accounts_file file = {.acls = {NULL, 0}};
    const struct account *account;
    arena.limit = SIZE_MAX;   /* our own data */
    file.users.items = arena_take(&arena, (a->accounts.count + 1) * sizeof *file.users.items);
    file.acls.items = arena_take(&arena, (a->accounts.count + 1) * sizeof *file.acls.items);
    for (size_t at = 0; (account = auth_next(a, &at));) {
        file.users.items[file.users.count++] = account->user;
        if (account->acl) file.acls.items[file.acls.count++] = *account->acl;
    }
    bean_encode(&file_bean, &file, JSON_PRETTY, out);
    arena_done(&arena);
}

static bool is_whole(const struct user_info *u) { return u->username.n && u->password.n && u->user_type.n && u->user_status.n; }

static err_t take_acl(struct auth *a, const struct acl_info *acl)
{
    struct account *account = account_get(a, subject_user(acl->subject));
    err_t e = acl_check(acl);
    if (e) return err_in(e, "accounts");
    if (account) account_set_acl(account, acl);
    return NULL;
}

/* Nothing stays of a file that was wrong: the one before it is read then. */
static err_t decode_file(void *ctx, struct slice text)
{
    struct auth *a = ctx;
    map_done_with(&a->accounts, account_free);
    a->accounts = MAP_EMPTY;
    struct arena arena = ARENA_EMPTY;
    struct accounts_file file;
    arena.limit = (size_t)1 << 30;   /* our own file */
    err_t e = bean_decode(&file_bean, text, &arena, "accounts", &file);
    for (size_t i = 0; !e && i < file.users.count; i++) {
        if (is_whole(&file.users.items[i])) put(a, &file.users.items[i]);
        else e = err_new(ERR_BODY, "accounts: user %zu lacks its name, password, type or status", i);
    }
    for (size_t i = 0; !e && i < file.acls.count; i++) e = take_acl(a, &file.acls.items[i]);
    arena_done(&arena);
    return e;
}

/* --- life --- */

struct credentials { struct slice access_key, secret_key; };
static const struct bean_field credentials_rows[] = {
    {"accessKey", offsetof(struct credentials, access_key), &bean_text, NULL, false},
    {"secretKey", offsetof(struct credentials, secret_key), &bean_text, NULL, false},
};
static const struct bean credentials_bean = BEAN(struct credentials, credentials_rows, NULL);

/* One who may do everything, unless he is there. */
static err_t make_super(struct auth *a, struct slice name, struct slice password, const char *key)
{
    struct user_info user = {.username = name, .password = password, .user_type = slice_text(SUPER)};
    if (!name.n || !password.n) return err_new(ERR_CONFIG, "%s gives no name or no secret", key);
    return auth_find(a, name) ? NULL : auth_create_user(a, &user);
}

static err_t make_users(struct auth *a, const struct auth_options *o)
{
    struct arena arena = ARENA_EMPTY;
    struct user_info first;
    struct credentials inner;
    err_t e = NULL;
    if (o->first_user.n) {
        e = bean_decode(&user_info_bean, o->first_user, &arena, "initAuthenticationUser", &first);
        if (!e) e = make_super(a, first.username, first.password, "initAuthenticationUser");
    }
    if (!e && o->inner_user.n) {
        e = bean_decode(&credentials_bean, o->inner_user, &arena, "innerClientAuthenticationCredentials", &inner);
        if (!e) e = make_super(a, inner.access_key, inner.secret_key, "innerClientAuthenticationCredentials");
    }
    arena_done(&arena);
    return e;
}

static void auth_free(struct auth *a)
{
    map_done_with(&a->accounts, account_free);
    free(a);
}

err_t auth_open(const struct auth_options *options, struct fs *fs, struct tasks *tasks, struct auth **out)
{
    struct auth *a = must_zero(sizeof *a);
    a->tasks = tasks;
    char path[4096];
    bool found;
    snprintf(path, sizeof path, "%s/accounts.json", options->folder);
    err_t e = fs_make_durable_folder(fs, options->folder);
    if (!e) e = saver_load(fs, path, decode_file, a, &found);
    if (e) {
        auth_free(a);
        return err_in(e, "load the accounts");
    }
    saver_init(&a->saver, fs, tasks, path, encode_file, a);
    a->saver.secret = true;   /* secrets stand there as users gave them: signatures cannot be checked without */
    e = make_users(a, options);
    if (e) {
        err_drop(auth_close(a), "the first error is told");
        return e;
    }
    *out = a;
    return NULL;
}

err_t auth_close(struct auth *a)
{
    if (!a) return NULL;
    err_t e = saver_done(&a->saver);
    auth_free(a);
    return e;
}

/* --- changes --- */

static err_t check_lengths(const struct user_info *u)
{
    if (!slice_trim(u->username).n) return err_new(ERR_NO_PERMISSION, "username can not be blank");
    if (u->username.n > NAME_MAX_BYTES) return err_new(ERR_NO_PERMISSION, "username is longer than %d bytes", NAME_MAX_BYTES);
    if (u->password.n > SECRET_MAX_BYTES) return err_new(ERR_NO_PERMISSION, "password is longer than %d bytes", SECRET_MAX_BYTES);
    return NULL;
}

/* What was given and means something, spelled as it is written; else what it was. */
static struct slice type_or(struct slice given, struct slice was)
{
    return same_word(given, SUPER) ? slice_text(SUPER) : same_word(given, NORMAL) ? slice_text(NORMAL) : was;
}
static struct slice status_or(struct slice given, struct slice was)
{
    return same_word(given, ENABLE) ? slice_text(ENABLE) : same_word(given, DISABLE) ? slice_text(DISABLE) : was;
}

err_t auth_create_user(struct auth *a, const struct user_info *wanted)
{
    err_t e = check_lengths(wanted);
    if (e) return e;
    if (!slice_trim(wanted->password).n) return err_new(ERR_NO_PERMISSION, "password can not be blank");
    if (auth_find(a, wanted->username)) return err_new(ERR_NO_PERMISSION, "The user is existed");
    struct user_info user = *wanted;
    user.user_type = type_or(wanted->user_type, slice_text(NORMAL));
    user.user_status = status_or(wanted->user_status, slice_text(ENABLE));
    put(a, &user);
    log_info("user.created user=\"%.*s\" type=%.*s", SLICE_ARG(user.username), SLICE_ARG(user.user_type));
    auth_changed(a);
    return NULL;
}

err_t auth_update_user(struct auth *a, const struct user_info *wanted)
{
    err_t e = check_lengths(wanted);
    if (e) return e;
    const struct account *account = auth_find(a, wanted->username);
    if (!account) return err_new(ERR_NO_PERMISSION, "The user is not exist");
    struct user_info user = account->user;
    if (slice_trim(wanted->password).n) user.password = wanted->password;
    user.user_type = type_or(wanted->user_type, user.user_type);
    user.user_status = status_or(wanted->user_status, user.user_status);
    put(a, &user);
    log_info("user.updated user=\"%.*s\"", SLICE_ARG(wanted->username));
    auth_changed(a);
    return NULL;
}

void auth_delete_user(struct auth *a, struct slice name)
{
    struct account *account = map_remove(&a->accounts, name);
    if (!account) return;
    log_info("user.deleted user=\"%.*s\"", SLICE_ARG(account->user.username));
    account_free(account);
    auth_changed(a);
}
