/* What users may do: entries for resources, in two policies. */
#include "auth/internal.h"

#include "base/log.h"

enum { ENTRIES_MAX = 4096, TEXT_MAX = 1024 };   /* of one user; each request that he signs may look at all of them */
enum { ACTIONS_MAX = 64, SOURCES_MAX = 256 };   /* of an entry */

static const char *const type_names[] = {"*", "Cluster", "Namespace", "Topic", "Group"};
static const char *const action_names[] = {"Unknown", "All", "Any", "Pub", "Sub", "Create", "Update", "Delete", "Get", "List"};

uint32_t action_parse(struct slice name)
{
    for (unsigned i = 0; i < sizeof action_names / sizeof *action_names; i++)
        if (same_word(name, action_names[i])) return 1u << i;
    return 0;
}

const char *action_name(uint32_t bit) { return action_names[__builtin_ctz(bit)]; }

bool resource_parse(struct slice text, struct resource *out)
{
    struct slice name = text, type;
    if (slice_eq(text, SLICE("*"))) {
        *out = (struct resource){RESOURCE_ANY, PATTERN_ANY, {NULL, 0}};
        return true;
    }
    if (!slice_split(&name, ':', &type)) return false;
    for (int i = RESOURCE_CLUSTER; i <= RESOURCE_GROUP; i++) {
        if (!same_word(type, type_names[i])) continue;
        *out = (struct resource){i, PATTERN_LITERAL, name};
        if (name.n && name.p[name.n - 1] == '*') {
            out->pattern = name.n == 1 ? PATTERN_ANY : PATTERN_PREFIXED;
            out->name.n--;
        }
        return true;
    }
    return false;
}

bool resource_eq(const struct resource *a, const struct resource *b)
{
    return a->type == b->type && a->pattern == b->pattern && slice_eq(a->name, b->name);
}

struct slice subject_user(struct slice subject)
{
    struct slice name = subject, type;
    if (!slice_split(&name, ':', &type) || !same_word(type, "User")) return (struct slice){NULL, 0};
    return name;
}

/* --- what may be asked for --- */

static err_t refuse(const char *why) { return err_new(ERR_NO_PERMISSION, "%s", why); }

static err_t check_entry(const struct acl_entry_info *entry)
{
    struct resource r;
    uint32_t actions = 0;
    if (!entry->resource.n || entry->resource.n > TEXT_MAX || !resource_parse(entry->resource, &r)) return refuse("The resource is null.");
    if (entry->actions.count > ACTIONS_MAX || entry->source_ips.count > SOURCES_MAX)
        return err_new(ERR_NO_PERMISSION, "an entry has at most %d actions and %d source ips", ACTIONS_MAX, SOURCES_MAX);
    for (size_t i = 0; i < entry->actions.count; i++) actions |= action_parse(entry->actions.items[i]);
    if (!actions) return refuse("The actions is empty.");
    if (actions & ACTION_ANY) return refuse("The actions can not be Any.");
    for (size_t i = 0; i < entry->source_ips.count; i++) {
        if (!slice_trim(entry->source_ips.items[i]).n) return refuse("The source ip is empty.");
        if (!source_is_valid(entry->source_ips.items[i])) return refuse("The source ip is invalid.");
    }
    if (!same_word(entry->decision, "Allow") && !same_word(entry->decision, "Deny")) return refuse("The decision is null or illegal.");
    return NULL;
}

err_t acl_check(const struct acl_info *acl)
{
    if (!acl->policies.count) return refuse("The policies is empty.");
    for (size_t p = 0; p < acl->policies.count; p++) {
        const struct acl_policy_info *policy = &acl->policies.items[p];
        if (!policy->entries.count) return refuse("The policy entries is empty.");
        for (size_t i = 0; i < policy->entries.count; i++) {
            err_t e = check_entry(&policy->entries.items[i]);
            if (e) return e;
        }
    }
    return NULL;
}

/* --- merging --- */

static struct slice policy_type(struct slice given) { return same_word(given, "Default") ? SLICE("Default") : SLICE("Custom"); }

static struct acl_policy_info *policy_of(struct acl_info *acl, struct slice type)
{
    for (size_t i = 0; i < acl->policies.count; i++)
        if (slice_eq(acl->policies.items[i].policy_type, type)) return &acl->policies.items[i];
    return NULL;
}

static struct acl_entry_info *entry_of(struct acl_policy_info *policy, struct slice resource)
{
    struct resource wanted, has;
    if (!policy || !resource_parse(resource, &wanted)) return NULL;
    for (size_t i = 0; i < policy->entries.count; i++)
        if (resource_parse(policy->entries.items[i].resource, &has) && resource_eq(&has, &wanted)) return &policy->entries.items[i];
    return NULL;
}

/* Its words as they are written, whatever their case was; words that mean nothing are left out. */
static struct acl_entry_info normal(const struct acl_entry_info *entry, struct arena *arena)
{
    struct acl_entry_info out = *entry;
    out.actions.items = NULL;
    out.actions.count = 0;
    for (size_t i = 0; i < entry->actions.count; i++) {
        uint32_t bit = action_parse(entry->actions.items[i]);
        struct slice *name = bit ? arena_list_add(arena, (void **)&out.actions.items, &out.actions.count, sizeof *name) : NULL;
        if (name) *name = slice_text(action_name(bit));
    }
    out.decision = same_word(entry->decision, "Deny") ? SLICE("Deny") : SLICE("Allow");
    return out;
}

/* False: it would be too much. */
static bool merge(struct acl_info *into, const struct acl_policy_info *policy, struct arena *arena)
{
    struct slice type = policy_type(policy->policy_type);
    struct acl_policy_info *to = policy_of(into, type);
    if (!to) {
        to = arena_list_add(arena, (void **)&into->policies.items, &into->policies.count, sizeof *to);
        if (!to) return false;
        to->policy_type = type;
    }
    for (size_t i = 0; i < policy->entries.count; i++) {
        struct acl_entry_info *entry = entry_of(to, policy->entries.items[i].resource);
        if (!entry) entry = arena_list_add(arena, (void **)&to->entries.items, &to->entries.count, sizeof *entry);
        if (!entry || to->entries.count > ENTRIES_MAX) return false;
        *entry = normal(&policy->entries.items[i], arena);
    }
    return true;
}

static err_t find_user(const struct auth *a, struct slice subject, struct account **out, const char *unless)
{
    struct slice name = subject_user(subject);
    if (!name.p) return refuse("The subject is null.");
    struct account *account = account_get(a, name);
    if (!account) return unless ? refuse(unless) : err_new(ERR_NO_PERMISSION, "The subject of User:%.*s is not exist.", SLICE_ARG(name));
    *out = account;
    return NULL;
}

/* A copy to change, which account_set_acl() takes from the arena. */
static void begin_change(const struct account *account, struct arena *arena, struct acl_info *out)
{
    *out = (struct acl_info){.policies = {NULL, 0}};
    arena->limit = SIZE_MAX;   /* our own data, and what was checked */
    if (account->acl) bean_copy(&acl_info_bean, account->acl, arena, out);
}

err_t auth_set_acl(struct auth *a, struct slice subject, const struct acl_info *wanted)
{
    struct arena arena = ARENA_EMPTY;
    struct account *account;
    struct acl_info acl;
    err_t e = acl_check(wanted);
    if (!e) e = find_user(a, subject, &account, NULL);
    if (e) return e;
    begin_change(account, &arena, &acl);
    acl.subject = subject;
    bool fits = true;
    for (size_t i = 0; fits && i < wanted->policies.count; i++) fits = merge(&acl, &wanted->policies.items[i], &arena);
    if (fits) {
        account_set_acl(account, &acl);
        log_info("acl.set subject=\"%.*s\"", SLICE_ARG(subject));
        auth_changed(a);
    }
    arena_done(&arena);
    return fits ? NULL : err_new(ERR_NO_PERMISSION, "a subject has at most %d entries in a policy", ENTRIES_MAX);
}

static void remove_entry(struct acl_info *acl, struct slice type, struct slice resource)
{
    struct acl_policy_info *policy = policy_of(acl, type);
    struct acl_entry_info *entry = entry_of(policy, resource);
    if (!entry) return;
    size_t behind = policy->entries.count-- - (size_t)(entry - policy->entries.items) - 1;
    memmove(entry, entry + 1, behind * sizeof *entry);
    if (policy->entries.count) return;
    size_t after = acl->policies.count-- - (size_t)(policy - acl->policies.items) - 1;
    memmove(policy, policy + 1, after * sizeof *policy);
}

err_t auth_delete_acl(struct auth *a, struct slice subject, struct slice type, struct slice resource)
{
    struct arena arena = ARENA_EMPTY;
    struct account *account;
    struct acl_info acl;
    err_t e = find_user(a, subject, &account, "The subject is not exist.");
    if (!e && !account->acl) e = refuse("The acl is not exist.");
    if (e) return e;
    begin_change(account, &arena, &acl);
    if (resource.n) remove_entry(&acl, policy_type(type), resource);
    account_set_acl(account, resource.n ? &acl : NULL);
    log_info("acl.deleted subject=\"%.*s\" resource=\"%.*s\"", SLICE_ARG(subject), SLICE_ARG(resource));
    auth_changed(a);
    arena_done(&arena);
    return NULL;
}

err_t auth_get_acl(const struct auth *a, struct slice subject, const struct acl_info **out)
{
    struct account *account;
    err_t e = find_user(a, subject, &account, "The subject is not exist.");
    if (!e) *out = account->acl;
    return e;
}

static bool holds(struct slice text, struct slice part) { return !part.n || memmem(text.p, text.n, part.p, part.n); }

/* The policies with the entries whose resources hold the text; false: none is left. */
static bool filter(const struct acl_info *acl, struct slice resource, struct arena *arena, struct acl_info *out)
{
    *out = (struct acl_info){.subject = acl->subject};
    for (size_t p = 0; p < acl->policies.count; p++) {
        const struct acl_policy_info *policy = &acl->policies.items[p];
        struct acl_policy_info kept = {.policy_type = policy->policy_type};
        for (size_t i = 0; i < policy->entries.count; i++) {
            if (!holds(policy->entries.items[i].resource, resource)) continue;
            struct acl_entry_info *entry = arena_list_add(arena, (void **)&kept.entries.items, &kept.entries.count, sizeof *entry);
            if (entry) *entry = policy->entries.items[i];
        }
        struct acl_policy_info *to = kept.entries.count ? arena_list_add(arena, (void **)&out->policies.items, &out->policies.count, sizeof *to) : NULL;
        if (to) *to = kept;
    }
    return out->policies.count > 0;
}

void auth_list_acls(const struct auth *a, struct slice subject, struct slice resource, struct arena *arena, struct acl_info_list *out)
{
    const struct account *account;
    struct acl_info acl;
    *out = (struct acl_info_list){NULL, 0};
    arena->limit = SIZE_MAX;   /* our own data */
    for (size_t at = 0; (account = auth_next(a, &at));) {
        if (!account->acl || !holds(account->acl->subject, subject)) continue;
        bool all = resource.n && holds(account->acl->subject, resource);   /* as the original: then the name is what was meant */
        if (!filter(account->acl, all ? (struct slice){NULL, 0} : resource, arena, &acl)) continue;
        struct acl_info *one = arena_list_add(arena, (void **)&out->items, &out->count, sizeof *one);
        if (one) *one = acl;
    }
}
