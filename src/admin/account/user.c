/* Users: createUser, updateUser, deleteUser, getUser, listUser, and user create, update, delete, show, list. Passwords are never printed. */
#include "admin/account/account.h"

/* --- changes --- */

/* Of the option, or the first line of the file that is named instead. */
static err_t read_password(struct job *j, struct slice *out)
{
    struct slice text = job_param(j, "password"), path = job_param(j, "passwordFile");
    if (text.p && path.p) return err_new(ERR_USAGE, "--password and --passwordFile cannot both be given");
    *out = slice_trim(text);
    if (!path.p) return NULL;
    struct slice line;
    err_t e = job_read_file(j, path, &text);
    if (e) return e;
    if (!text.n || !slice_split(&text, '\n', &line) || !slice_trim(line).n) return err_new(ERR_USAGE, "%.*s: its first line is empty", SLICE_ARG(path));
    *out = job_copy(j, slice_trim(line));
    return NULL;
}

/* p NULL: not given. */
static struct slice given(const struct job *j, const char *name)
{
    struct slice text = job_param(j, name);
    return text.p ? slice_trim(text) : text;
}

static err_t read_user(struct job *j, struct user_info *u)
{
    *u = (struct user_info){.username = given(j, "username"), .user_type = given(j, "userType"), .user_status = given(j, "userStatus")};
    return read_password(j, &u->password);
}

static void begin_change(struct job *j, err_t e, const struct account_change *change)
{
    struct account_change *c = job_take(j, sizeof *c);
    *c = *change;
    j->state = c;
    if (e) job_fail(j, e);
    else account_change(j);
}

static void create_user(struct job *j)
{
    struct user_info user;
    struct create_user_header *h = job_take(j, sizeof *h);
    err_t e = read_user(j, &user);
    if (!e && !user.password.n) e = err_new(ERR_USAGE, "a new user wants a password: --password or --passwordFile");
    h->username = user.username;
    begin_change(j, e, &(struct account_change){REQUEST_AUTH_CREATE_USER, &create_user_kind, h, job_encode(j, &user_info_bean, &user), "the user is there"});
}

static void update_user(struct job *j)
{
    struct user_info user;
    struct update_user_header *h = job_take(j, sizeof *h);
    err_t e = read_user(j, &user);
    if (!e && !user.password.n && !user.user_type.n && !user.user_status.n)
        e = err_new(ERR_USAGE, "nothing is to be changed: --password, --userType or --userStatus");
    h->username = user.username;
    begin_change(j, e, &(struct account_change){REQUEST_AUTH_UPDATE_USER, &update_user_kind, h, job_encode(j, &user_info_bean, &user), "the user is changed"});
}

static void delete_user(struct job *j)
{
    struct delete_user_header *h = job_take(j, sizeof *h);
    h->username = given(j, "username");
    begin_change(j, NULL, &(struct account_change){REQUEST_AUTH_DELETE_USER, &delete_user_kind, h, .done = "the user is gone"});
}

/* --- what there is --- */

static const struct column user_columns[] = {{"brokerName", CELL_TEXT}, {"username", CELL_TEXT}, {"userType", CELL_TEXT}, {"userStatus", CELL_TEXT}};

static void put_user(struct table *t, const struct reply *r, const struct user_info *u)
{
    row_text(t, r->broker.name);
    row_text(t, u->username);
    row_text(t, u->user_type);
    row_text(t, u->user_status);
}

static void on_user(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "users", user_columns);
    size_t asked = 0;
    for (size_t i = 0; i < all.list.count; i++) {
        const struct reply *r = all.list.items[i];
        struct user_info user;
        if (!job_good(j, r)) continue;
        asked++;
        if (r->body.n && job_read(j, r, &user_info_bean, &user)) put_user(t, r, &user);   /* without a body: there is none */
    }
    if (asked && !table_rows(t) && !j->failures.list.count)
        job_fail(j, err_new(ERR_NOT_FOUND, "there is no user \"%.*s\"; 'skylark admin user list' shows those there are", SLICE_ARG(given(j, "username"))));
    else job_end_with(j, &all);
}

static void ask_user(struct job *j)
{
    struct get_user_header *h = job_take(j, sizeof *h);
    h->username = given(j, "username");
    struct request r = {.code = REQUEST_AUTH_GET_USER, .kind = &get_user_kind, .header = h};
    job_ask_all(j, &r, on_user);
}

static void get_user(struct job *j) { job_brokers(j, ask_user); }

static void on_users(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "users", user_columns);
    for (size_t i = 0; i < all.list.count; i++) {
        const struct reply *r = all.list.items[i];
        struct user_info_list list;
        if (!job_good(j, r)) continue;
        err_t e = user_infos_decode(r->body, job_arena(j), &list);
        if (e) {
            job_fail(j, e);
            return;
        }
        for (size_t k = 0; k < list.count; k++) put_user(t, r, &list.items[k]);
    }
    table_sort(t, 2);
    job_end_with(j, &all);
}

static void ask_users(struct job *j)
{
    struct list_users_header *h = job_take(j, sizeof *h);
    h->filter = given(j, "filter");
    struct request r = {.code = REQUEST_AUTH_LIST_USER, .kind = &list_users_kind, .header = h};
    job_ask_all(j, &r, on_users);
}

static void list_users(struct job *j) { job_brokers(j, ask_users); }

/* --- commands --- */

#define USER_TYPE {"userType", "t", PARAM_VALUE, "Super|Normal", "what the user may do without permissions (default Normal)"}
#define USER_NAME {"username", "u", PARAM_NEEDED, "NAME", "the user"}
#define USER_WORD {"username", NULL, PARAM_WORD, "NAME", NULL}

static const struct param create_params[] = {ACCOUNT_BROKERS, USER_NAME, {"password", "p", PARAM_NEEDED, "TEXT", "the password"}, USER_TYPE, {.name = NULL}};
static const struct param update_params[] = {
    ACCOUNT_BROKERS,
    USER_NAME,
    {"password", "p", PARAM_VALUE, "TEXT", "a new password"},
    USER_TYPE,
    {"userStatus", "s", PARAM_VALUE, "enable|disable", "whether the user may sign in"},
    {.name = NULL},
};
static const struct param delete_params[] = {ACCOUNT_BROKERS, USER_NAME, {.name = NULL}};
static const struct param get_params[] = {ACCOUNT_MASTERS, {"username", "u", PARAM_VALUE, "NAME", "the user"}, {.name = NULL}};
static const struct param list_params[] = {ACCOUNT_MASTERS, {"filter", "f", PARAM_VALUE, "TEXT", "those whose name has it in it"}, {.name = NULL}};

static const struct param short_create_params[] = {
    USER_WORD,
    {"password", NULL, PARAM_VALUE, "TEXT", "the password; others on this machine may see it"},
    {"passwordFile", NULL, PARAM_VALUE, "FILE", "whose first line is the password"},
    {"userType", NULL, PARAM_VALUE, "Super|Normal", "what the user may do without permissions (default Normal)"},
    ACCOUNT_CLUSTER,
    {.name = NULL},
};
static const struct param short_update_params[] = {
    USER_WORD,
    {"password", NULL, PARAM_VALUE, "TEXT", "a new password; others on this machine may see it"},
    {"passwordFile", NULL, PARAM_VALUE, "FILE", "whose first line is the new password"},
    {"userType", NULL, PARAM_VALUE, "Super|Normal", "what the user may do without permissions"},
    {"userStatus", NULL, PARAM_VALUE, "enable|disable", "whether the user may sign in"},
    ACCOUNT_CLUSTER,
    {.name = NULL},
};
static const struct param short_word_params[] = {USER_WORD, ACCOUNT_CLUSTER, {.name = NULL}};
static const struct param short_list_params[] = {{"filter", NULL, PARAM_VALUE, "TEXT", "those whose name has it in it"}, ACCOUNT_CLUSTER, {.name = NULL}};

const struct command user_commands[] = {
    {.name = "user list", .params = short_list_params, .start = list_users, .summary = "the users that brokers know"},
    {.name = "user show", .params = short_word_params, .start = get_user, .summary = "one user; passwords are never shown"},
    {.name = "user create", .params = short_create_params, .start = create_user, .summary = "makes a user",
     .help = "A user of type Super may do everything; what a Normal one may do says 'skylark admin acl create'.\n"
             "  skylark admin user create alice --passwordFile secret.txt"},
    {.name = "user update", .params = short_update_params, .start = update_user, .summary = "changes a user's password, type or status"},
    {.name = "user delete", .params = short_word_params, .start = delete_user, .asks = "deletes the user:", .summary = "deletes a user"},
    {.name = "createUser", .params = create_params, .one_of = "brokerAddr|clusterName", .start = create_user, .summary = "makes a user"},
    {.name = "updateUser", .params = update_params, .one_of = "brokerAddr|clusterName", .start = update_user,
     .summary = "changes a user's password, type or status"},
    {.name = "deleteUser", .params = delete_params, .one_of = "brokerAddr|clusterName", .start = delete_user, .summary = "deletes a user"},
    {.name = "getUser", .params = get_params, .one_of = "brokerAddr|clusterName", .start = get_user, .summary = "one user; passwords are never shown"},
    {.name = "listUser", .params = list_params, .one_of = "brokerAddr|clusterName", .start = list_users, .summary = "the users that brokers know"},
    {.name = NULL},
};
