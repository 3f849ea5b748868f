#include "codec/body_accounts.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}
#define ROW_OPTIONAL(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, true}

static const struct bean_field user_rows[] = {
    ROW_OPTIONAL(user_info, password, "password", text, NULL),
    ROW_OPTIONAL(user_info, user_status, "userStatus", text, NULL),
    ROW_OPTIONAL(user_info, user_type, "userType", text, NULL),
    ROW_OPTIONAL(user_info, username, "username", text, NULL),
};
const struct bean user_info_bean = BEAN(struct user_info, user_rows, NULL);

static const struct bean_field entry_rows[] = {
    ROW(acl_entry_info, actions, "actions", texts, NULL),
    ROW_OPTIONAL(acl_entry_info, decision, "decision", text, NULL),
    ROW_OPTIONAL(acl_entry_info, resource, "resource", text, NULL),
    ROW_OPTIONAL(acl_entry_info, source_ips, "sourceIps", texts, NULL),
};
static const struct bean entry_bean = BEAN(struct acl_entry_info, entry_rows, NULL);

static const struct bean_field policy_rows[] = {
    ROW(acl_policy_info, entries, "entries", list, &entry_bean),
    ROW_OPTIONAL(acl_policy_info, policy_type, "policyType", text, NULL),
};
static const struct bean policy_bean = BEAN(struct acl_policy_info, policy_rows, NULL);

static const struct bean_field acl_rows[] = {
    ROW(acl_info, policies, "policies", list, &policy_bean),
    ROW_OPTIONAL(acl_info, subject, "subject", text, NULL),
};
const struct bean acl_info_bean = BEAN(struct acl_info, acl_rows, NULL);

static void encode_all(const struct bean *b, const void *items, size_t count, struct buf *out)
{
    struct json_out w;
    json_out_init(&w, out, JSON_RAW);
    json_put_array(&w);
    for (size_t i = 0; i < count; i++) bean_write(&w, b, (const char *)items + i * b->size);
    json_put_array_end(&w);
}

static err_t decode_all(const struct bean *b, struct slice body, struct arena *arena, const char *what, void **items, size_t *count)
{
    struct json j;
    *items = NULL;
    *count = 0;
    if (!body.n) return NULL;
    json_begin(&j, body, arena);
    if (!json_array(&j)) return json_end(&j, what);
    while (json_next(&j)) {
        void *one = arena_list_add(arena, items, count, b->size);
        if (one) bean_read(&j, b, one);
        else json_fail(&j, "too large");
    }
    return json_end(&j, what);
}

void user_infos_encode(const struct user_info_list *list, struct buf *out) { encode_all(&user_info_bean, list->items, list->count, out); }
void acl_infos_encode(const struct acl_info_list *list, struct buf *out) { encode_all(&acl_info_bean, list->items, list->count, out); }

err_t user_infos_decode(struct slice body, struct arena *arena, struct user_info_list *out)
{
    return decode_all(&user_info_bean, body, arena, "users", (void **)&out->items, &out->count);
}

err_t acl_infos_decode(struct slice body, struct arena *arena, struct acl_info_list *out)
{
    return decode_all(&acl_info_bean, body, arena, "permissions", (void **)&out->items, &out->count);
}
