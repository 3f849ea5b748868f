/* copyUser, copyAcl: from one broker to another, whatever is there already. */
#include "admin/account/account.h"

/* What users and permissions differ in. */
struct kind {
    const struct bean *bean;
    int32_t list, get, create, update;
    const struct header_kind *list_kind, *get_kind, *create_kind, *update_kind;
    const char *names;                                       /* the param that lists some of them */
    const char *column;
    err_t (*decode)(struct slice body, struct arena *arena, void **items, size_t *count);
    struct slice (*name)(const void *one);
};

static err_t decode_users(struct slice body, struct arena *arena, void **items, size_t *count)
{
    struct user_info_list list;
    err_t e = user_infos_decode(body, arena, &list);
    *items = list.items;
    *count = list.count;
    return e;
}

static err_t decode_acls(struct slice body, struct arena *arena, void **items, size_t *count)
{
    struct acl_info_list list;
    err_t e = acl_infos_decode(body, arena, &list);
    *items = list.items;
    *count = list.count;
    return e;
}

static struct slice user_name(const void *one) { return ((const struct user_info *)one)->username; }
static struct slice acl_name(const void *one) { return ((const struct acl_info *)one)->subject; }

/* All headers here have one text that names somebody, and are laid out alike. */
#define NAMES_ONE(header, member) \
    _Static_assert(sizeof(struct header##_header) == sizeof(struct get_user_header) && \
                   offsetof(struct header##_header, member) == offsetof(struct get_user_header, username), "they are alike")
NAMES_ONE(create_user, username);
NAMES_ONE(update_user, username);
NAMES_ONE(get_acl, subject);
NAMES_ONE(create_acl, subject);
NAMES_ONE(update_acl, subject);

static const struct kind users = {
    .bean = &user_info_bean, .list = REQUEST_AUTH_LIST_USER, .get = REQUEST_AUTH_GET_USER, .create = REQUEST_AUTH_CREATE_USER,
    .update = REQUEST_AUTH_UPDATE_USER, .list_kind = &list_users_kind, .get_kind = &get_user_kind, .create_kind = &create_user_kind,
    .update_kind = &update_user_kind, .names = "usernames", .column = "username", .decode = decode_users, .name = user_name,
};
static const struct kind acls = {
    .bean = &acl_info_bean, .list = REQUEST_AUTH_LIST_ACL, .get = REQUEST_AUTH_GET_ACL, .create = REQUEST_AUTH_CREATE_ACL,
    .update = REQUEST_AUTH_UPDATE_ACL, .list_kind = &list_acls_kind, .get_kind = &get_acl_kind, .create_kind = &create_acl_kind,
    .update_kind = &update_acl_kind, .names = "subjects", .column = "subject", .decode = decode_acls, .name = acl_name,
};

struct copy {
    const struct kind *kind;
    struct admin_broker from, to;
    BEAN_LIST(const void *) found;      /* what is copied, in the order of asking */
};

static void ask_of(struct job *j, const struct admin_broker *who, int32_t code, const struct header_kind *kind, struct slice name, struct slice body,
                   const void *tag)
{
    struct get_user_header *h = job_take(j, sizeof *h);
    h->username = name;
    struct request r = {.code = code, .kind = kind, .header = h, .body = body};
    job_ask(j, who, &r, tag);
}

static void on_copied(struct job *j)
{
    static const struct column user_columns[] = {{"username", CELL_TEXT}}, acl_columns[] = {{"subject", CELL_TEXT}};
    const struct copy *c = j->state;
    struct replies all = j->replies;
    struct table *t = outcome_table(&j->outcome, "copied", c->kind == &users ? user_columns : acl_columns, 1);
    for (size_t i = 0; i < all.list.count; i++)
        if (job_good(j, all.list.items[i])) row_text(t, c->kind->name(all.list.items[i]->tag));
    table_sort(t, 1);
    job_end_with(j, &all);
}

/* What the other broker has is changed, the rest is made. */
static void on_there(struct job *j)
{
    struct copy *c = j->state;
    struct replies all = j->replies;
    size_t asked = 0;
    for (size_t i = 0; i < all.list.count; i++) {
        const struct reply *r = all.list.items[i];
        if (!job_good(j, r)) continue;
        bool there = r->body.n;
        ask_of(j, &c->to, there ? c->kind->update : c->kind->create, there ? c->kind->update_kind : c->kind->create_kind, c->kind->name(r->tag),
               job_encode(j, c->kind->bean, r->tag), r->tag);
        asked++;
    }
    if (asked) job_wait(j, on_copied);
    else job_end_with(j, &all);
}

static void look_there(struct job *j)
{
    struct copy *c = j->state;
    for (size_t i = 0; i < c->found.count; i++)
        ask_of(j, &c->to, c->kind->get, c->kind->get_kind, c->kind->name(c->found.items[i]), (struct slice){NULL, 0}, c->found.items[i]);
    if (c->found.count) {
        job_wait(j, on_there);
        return;
    }
    outcome_line(&j->outcome, "nothing to copy");
    job_end(j);
}

static void add_found(struct job *j, struct copy *c, const void *one)
{
    const void **slot = arena_list_add(job_arena(j), (void **)&c->found.items, &c->found.count, sizeof *slot);
    if (slot) *slot = one;
}

static void on_all(struct job *j)
{
    struct copy *c = j->state;
    struct replies all = j->replies;
    void *items;
    size_t count;
    if (all.list.items[0]->code) {
        job_end_with(j, &all);
        return;
    }
    err_t e = c->kind->decode(all.list.items[0]->body, job_arena(j), &items, &count);
    if (e) {
        job_fail(j, e);
        return;
    }
    for (size_t i = 0; i < count; i++) add_found(j, c, (const char *)items + i * c->kind->bean->size);
    look_there(j);
}

/* Names that the broker does not know are left out, as mqadmin does, and said. */
static void on_some(struct job *j)
{
    struct copy *c = j->state;
    struct replies all = j->replies;
    for (size_t i = 0; i < all.list.count; i++) {
        const struct reply *r = all.list.items[i];
        void *one = job_take(j, c->kind->bean->size);
        if (!job_good(j, r)) continue;
        if (!r->body.n) outcome_line(&j->outcome, "%.*s is not there", SLICE_ARG(*(const struct slice *)r->tag));
        else if (job_read(j, r, c->kind->bean, one)) add_found(j, c, one);
    }
    if (j->failures.list.count == all.list.count) job_end_with(j, &all);
    else look_there(j);
}

static void copy(struct job *j, const struct kind *kind)
{
    struct copy *c = job_take(j, sizeof *c);
    struct account_texts names = account_split(j, job_param(j, kind->names));
    *c = (struct copy){.kind = kind, .from = {.address = slice_trim(job_param(j, "fromBroker"))}, .to = {.address = slice_trim(job_param(j, "toBroker"))}};
    j->state = c;
    for (size_t i = 0; i < names.count; i++) ask_of(j, &c->from, kind->get, kind->get_kind, names.items[i], (struct slice){NULL, 0}, &names.items[i]);
    if (names.count) {
        job_wait(j, on_some);
        return;
    }
    struct request r = {.code = kind->list, .kind = kind->list_kind, .header = job_take(j, sizeof(struct list_acls_header))};
    job_ask(j, &c->from, &r, NULL);
    job_wait(j, on_all);
}

static void copy_users(struct job *j) { copy(j, &users); }
static void copy_acls(struct job *j) { copy(j, &acls); }

#define COPY_BROKERS \
    {"fromBroker", "f", PARAM_NEEDED, "ADDR", "the broker that has them"}, \
    {"toBroker", "t", PARAM_NEEDED, "ADDR", "the broker that gets them"}

static const struct param user_params[] = {COPY_BROKERS, {"usernames", "u", PARAM_VALUE, "LIST", "these alone"}, {.name = NULL}};
static const struct param acl_params[] = {COPY_BROKERS, {"subjects", "s", PARAM_VALUE, "LIST", "of these alone: User:alice,User:bob"}, {.name = NULL}};

const struct command account_copy_commands[] = {
    {.name = "copyUser", .params = user_params, .start = copy_users, .summary = "copies users from one broker to another, with their passwords"},
    {.name = "copyAcl", .params = acl_params, .start = copy_acls, .summary = "copies what users may do from one broker to another"},
    {.name = NULL},
};
