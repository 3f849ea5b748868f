/* Whether somebody may do something. The rules are the original's: the entries of the policy Custom that match the request, and when there is none
 * those of Default; of them the most exact one decides. */
#include "auth/internal.h"

static const char *const type_words[] = {"*", "Cluster", "Namespace", "Topic", "Group"};

static bool covers(const struct resource *entry, enum resource_type type, struct slice name)
{
    if (entry->type == RESOURCE_ANY) return true;
    if (entry->type != type) return false;
    if (entry->pattern == PATTERN_ANY) return true;
    return entry->pattern == PATTERN_LITERAL ? slice_eq(entry->name, name) : slice_starts(name, entry->name);
}

static bool allows_one_of(const struct acl_entry_info *entry, uint32_t actions)
{
    uint32_t has = 0;
    for (size_t i = 0; i < entry->actions.count; i++) has |= action_parse(entry->actions.items[i]);
    return actions & ACTION_ANY || has & (actions | ACTION_ALL);
}

static bool comes_from(const struct acl_entry_info *entry, struct slice ip)
{
    if (!entry->source_ips.count) return true;
    for (size_t i = 0; i < entry->source_ips.count; i++)
        if (source_matches(entry->source_ips.items[i], ip)) return true;
    return false;
}

/* How exact an entry is, as a number: a type before any, one name before a prefix before all names, the longer prefix first. */
static size_t exactness(const struct resource *r)
{
    enum { PREFIX_BASE = 2, LITERAL_BASE = 1 << 20 };
    if (r->type == RESOURCE_ANY) return 0;
    return r->pattern == PATTERN_LITERAL ? LITERAL_BASE : r->pattern == PATTERN_PREFIXED ? PREFIX_BASE + r->name.n : 1;
}

struct question {
    enum resource_type type;
    struct slice name;
    uint32_t actions;
    struct slice ip;
};

/* The entry that decides; among those alike the first that allows. NULL: none matches. */
static const struct acl_entry_info *best(const struct acl_policy_info *policy, const struct question *q)
{
    const struct acl_entry_info *found = NULL;
    size_t exact = 0;
    for (size_t i = 0; i < policy->entries.count; i++) {
        const struct acl_entry_info *entry = &policy->entries.items[i];
        struct resource r;
        if (!resource_parse(entry->resource, &r) || !covers(&r, q->type, q->name)) continue;
        if (!allows_one_of(entry, q->actions) || !comes_from(entry, q->ip)) continue;
        bool wins = !found || exactness(&r) > exact || (exactness(&r) == exact && same_word(found->decision, "Deny") && same_word(entry->decision, "Allow"));
        if (!wins) continue;
        found = entry;
        exact = exactness(&r);
    }
    return found;
}

static const struct acl_entry_info *decisive(const struct acl_info *acl, const struct question *q)
{
    const struct acl_entry_info *found = NULL;
    for (int custom = 1; !found && custom >= 0; custom--)
        for (size_t i = 0; !found && i < acl->policies.count; i++)
            if (same_word(acl->policies.items[i].policy_type, "Custom") == custom) found = best(&acl->policies.items[i], q);
    return found;
}

/* Topics that belong to a group stand for it. */
static void follow_group(struct question *q)
{
    static const char *const marks[] = {"%RETRY%", "%DLQ%"};
    for (size_t i = 0; i < 2; i++) {
        if (!slice_starts(q->name, slice_text(marks[i]))) continue;
        q->type = RESOURCE_GROUP;
        q->name = slice_skip(q->name, strlen(marks[i]));
        return;
    }
}

err_t auth_decide(const struct auth *a, struct slice user, enum resource_type type, struct slice name, uint32_t actions, struct slice source_ip)
{
    struct question q = {type, name, actions, source_ip};
    if (type == RESOURCE_TOPIC || type == RESOURCE_GROUP) follow_group(&q);
    const struct account *account = auth_find(a, user);
    if (!account) return err_new(ERR_NO_PERMISSION, "User:%.*s not found.", SLICE_ARG(user));
    if (account->disabled) return err_new(ERR_NO_PERMISSION, "User:%.*s is disabled.", SLICE_ARG(user));
    if (account->super) return NULL;
    const struct acl_entry_info *entry = account->acl ? decisive(account->acl, &q) : NULL;
    if (entry && same_word(entry->decision, "Allow")) return NULL;
    return err_new(ERR_NO_PERMISSION, "User:%.*s has no permission to access %s:%.*s from %.*s, %s", SLICE_ARG(user), type_words[q.type],
                   SLICE_ARG(q.name), SLICE_ARG(source_ip), entry ? "the decision is deny." : "no matched policies.");
}
