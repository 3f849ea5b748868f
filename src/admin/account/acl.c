/* What users may do: createAcl, updateAcl, deleteAcl, getAcl, listAcl, and acl create, update, delete, show, list. */
#include "admin/account/account.h"

static bool is_short(const struct job *j) { return !param_has(j->params, "brokerAddr") && !param_has(j->params, "clusterName"); }

/* p NULL: not given. */
static struct slice subject_of(struct job *j)
{
    struct slice text = job_param(j, "subject");
    if (!text.p) return text;
    return is_short(j) ? account_subject(j, text) : slice_trim(text);
}

/* --- changes --- */

static struct acl_policy_info *policy_of(struct job *j)
{
    struct acl_policy_info *policy = job_take(j, sizeof *policy);
    struct account_texts resources = account_split(j, job_param(j, "resources")), actions = account_split(j, job_param(j, "actions"));
    struct account_texts addresses = account_split(j, job_param(j, "sourceIp"));
    for (size_t i = 0; i < resources.count; i++) {
        struct acl_entry_info *entry = arena_list_add(job_arena(j), (void **)&policy->entries.items, &policy->entries.count, sizeof *entry);
        if (!entry) break;
        *entry = (struct acl_entry_info){.actions = {actions.items, actions.count}, .decision = slice_trim(job_param(j, "decision")),
                                         .resource = resources.items[i], .source_ips = {addresses.items, addresses.count}};
    }
    return policy;
}

static void set_acl(struct job *j, int32_t code, const struct header_kind *kind, const void *header, const char *done)
{
    struct account_change *c = job_take(j, sizeof *c);
    struct acl_info acl = {.policies = {policy_of(j), 1}, .subject = subject_of(j)};
    *c = (struct account_change){code, kind, header, job_encode(j, &acl_info_bean, &acl), done};
    j->state = c;
    if (!acl.policies.items->entries.count) job_fail(j, err_new(ERR_USAGE, "--resources names none: they are like Topic:orders, Group:billing, Topic:order*"));
    else account_change(j);
}

static void create_acl(struct job *j)
{
    struct create_acl_header *h = job_take(j, sizeof *h);
    h->subject = subject_of(j);
    set_acl(j, REQUEST_AUTH_CREATE_ACL, &create_acl_kind, h, "the permissions are there");
}

static void update_acl(struct job *j)
{
    struct update_acl_header *h = job_take(j, sizeof *h);
    h->subject = subject_of(j);
    set_acl(j, REQUEST_AUTH_UPDATE_ACL, &update_acl_kind, h, "the permissions are changed");
}

static void delete_acl(struct job *j)
{
    struct account_change *c = job_take(j, sizeof *c);
    struct delete_acl_header *h = job_take(j, sizeof *h);
    struct slice resource = job_param(j, "resources");
    h->subject = subject_of(j);
    if (resource.p) h->resource = slice_trim(resource);
    *c = (struct account_change){REQUEST_AUTH_DELETE_ACL, &delete_acl_kind, h, .done = "the permissions are gone"};
    j->state = c;
    account_change(j);
}

/* --- what there is --- */

static const struct column acl_columns[] = {{"brokerName", CELL_TEXT}, {"subject", CELL_TEXT}, {"policyType", CELL_TEXT}, {"resource", CELL_TEXT},
                                            {"actions", CELL_TEXT}, {"sourceIps", CELL_TEXT}, {"decision", CELL_TEXT}};

static void put_acl(struct job *j, struct table *t, const struct reply *r, const struct acl_info *acl)
{
    for (size_t i = 0; i < acl->policies.count; i++) {
        const struct acl_policy_info *policy = &acl->policies.items[i];
        for (size_t k = 0; k < policy->entries.count; k++) {
            const struct acl_entry_info *entry = &policy->entries.items[k];
            row_text(t, r->broker.name);
            row_text(t, acl->subject);
            row_text(t, policy->policy_type);
            row_text(t, entry->resource);
            row_text(t, account_join(j, entry->actions.items, entry->actions.count));
            row_text(t, account_join(j, entry->source_ips.items, entry->source_ips.count));
            row_text(t, entry->decision);
        }
    }
}

static void on_acl(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "permissions", acl_columns);
    size_t found = 0;
    for (size_t i = 0; i < all.list.count; i++) {
        const struct reply *r = all.list.items[i];
        struct acl_info acl;
        if (!job_good(j, r) || !r->body.n || !job_read(j, r, &acl_info_bean, &acl)) continue;   /* without a body: there is none */
        put_acl(j, t, r, &acl);
        found++;
    }
    if (found || j->failures.list.count) job_end_with(j, &all);
    else job_fail(j, err_new(ERR_NOT_FOUND, "\"%.*s\" has no permissions; 'skylark admin acl list' shows those there are", SLICE_ARG(subject_of(j))));
}

static void ask_acl(struct job *j)
{
    struct get_acl_header *h = job_take(j, sizeof *h);
    h->subject = subject_of(j);
    struct request r = {.code = REQUEST_AUTH_GET_ACL, .kind = &get_acl_kind, .header = h};
    job_ask_all(j, &r, on_acl);
}

static void get_acl(struct job *j) { job_brokers(j, ask_acl); }

static void on_acls(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "permissions", acl_columns);
    for (size_t i = 0; i < all.list.count; i++) {
        const struct reply *r = all.list.items[i];
        struct acl_info_list list;
        if (!job_good(j, r)) continue;
        err_t e = acl_infos_decode(r->body, job_arena(j), &list);
        if (e) {
            job_fail(j, e);
            return;
        }
        for (size_t k = 0; k < list.count; k++) put_acl(j, t, r, &list.items[k]);
    }
    table_sort(t, 4);
    job_end_with(j, &all);
}

static void ask_acls(struct job *j)
{
    struct list_acls_header *h = job_take(j, sizeof *h);
    h->subject_filter = job_param(j, "subject");
    h->resource_filter = job_param(j, "resource");
    struct request r = {.code = REQUEST_AUTH_LIST_ACL, .kind = &list_acls_kind, .header = h};
    job_ask_all(j, &r, on_acls);
}

static void list_acls(struct job *j) { job_brokers(j, ask_acls); }

/* --- commands --- */

#define ACL_SUBJECT {"subject", "s", PARAM_NEEDED, "User:NAME", "who"}
#define ACL_WORD {"subject", NULL, PARAM_WORD, "USER", NULL}
#define ACL_CHANGE(letter_r, letter_a, letter_i, letter_d) \
    {"resources", letter_r, PARAM_NEEDED, "LIST", "of what: Topic:orders,Group:billing,Topic:order*,Cluster:DefaultCluster,*"}, \
    {"actions", letter_a, PARAM_NEEDED, "LIST", "what: Pub,Sub,Create,Update,Delete,Get,List,All"}, \
    {"sourceIp", letter_i, PARAM_VALUE, "LIST", "from where: 10.0.0.7,10.1.0.0/16 (default anywhere)"}, \
    {"decision", letter_d, PARAM_NEEDED, "Allow|Deny", "whether it is allowed or forbidden"}

static const struct param set_params[] = {ACCOUNT_BROKERS, ACL_SUBJECT, ACL_CHANGE("r", "a", "i", "d"), {.name = NULL}};
static const struct param delete_params[] = {ACCOUNT_BROKERS, ACL_SUBJECT, {"resources", "r", PARAM_VALUE, "RESOURCE", "of this one alone"}, {.name = NULL}};
static const struct param get_params[] = {ACCOUNT_MASTERS, {"subject", "s", PARAM_VALUE, "User:NAME", "who"}, {.name = NULL}};
static const struct param list_params[] = {
    ACCOUNT_MASTERS,
    {"subject", "s", PARAM_VALUE, "TEXT", "of those whose name has it in it"},
    {"resource", "r", PARAM_VALUE, "TEXT", "of resources that have it in their name"},
    {.name = NULL},
};

static const struct param short_set_params[] = {ACL_WORD, ACL_CHANGE(NULL, NULL, NULL, NULL), ACCOUNT_CLUSTER, {.name = NULL}};
static const struct param short_delete_params[] = {ACL_WORD, {"resources", NULL, PARAM_VALUE, "RESOURCE", "of this one alone"}, ACCOUNT_CLUSTER, {.name = NULL}};
static const struct param short_word_params[] = {ACL_WORD, ACCOUNT_CLUSTER, {.name = NULL}};
static const struct param short_list_params[] = {
    {"subject", NULL, PARAM_VALUE, "TEXT", "of those whose name has it in it"},
    {"resource", NULL, PARAM_VALUE, "TEXT", "of resources that have it in their name"},
    ACCOUNT_CLUSTER,
    {.name = NULL},
};

const struct command acl_commands[] = {
    {.name = "acl list", .params = short_list_params, .start = list_acls, .summary = "what users may do"},
    {.name = "acl show", .params = short_word_params, .start = get_acl, .summary = "what one user may do"},
    {.name = "acl create", .params = short_set_params, .start = create_acl, .summary = "lets a user do something, or forbids it",
     .help = "A user of type Normal may do what is allowed and not forbidden.\n"
             "  skylark admin acl create alice --resources Topic:orders,Group:billing --actions Pub,Sub --decision Allow"},
    {.name = "acl update", .params = short_set_params, .start = update_acl, .summary = "changes what a user may do with these resources"},
    {.name = "acl delete", .params = short_delete_params, .start = delete_acl, .asks = "deletes the permissions of", .summary = "deletes permissions of a user"},
    {.name = "createAcl", .params = set_params, .one_of = "brokerAddr|clusterName", .start = create_acl, .summary = "lets a user do something, or forbids it"},
    {.name = "updateAcl", .params = set_params, .one_of = "brokerAddr|clusterName", .start = update_acl,
     .summary = "changes what a user may do with these resources"},
    {.name = "deleteAcl", .params = delete_params, .one_of = "brokerAddr|clusterName", .start = delete_acl, .summary = "deletes permissions of a user"},
    {.name = "getAcl", .params = get_params, .one_of = "brokerAddr|clusterName", .start = get_acl, .summary = "what one user may do"},
    {.name = "listAcl", .params = list_params, .one_of = "brokerAddr|clusterName", .start = list_acls, .summary = "what users may do"},
    {.name = NULL},
};
