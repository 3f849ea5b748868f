#include "broker/accounts/accounts.h"
#include "broker/handlers.h"
#include "rpc/reply.h"

#include "base/log.h"

static bool is_on(struct slice list, int32_t code)
{
    struct slice item;
    int32_t listed;
    while (slice_split(&list, ',', &item))
        if (slice_to_i32(slice_trim(item), &listed) && listed == code) return true;
    return false;
}

err_t accounts_check(const struct broker *b, const struct call *call)
{
    struct slice user;
    if (!b->cfg->broker.authentication || is_on(slice_text(b->cfg->broker.authentication_whitelist), call->code)) return NULL;
    err_t e = auth_check_frame(b->auth, call->frame, call->body, &user);
    if (e) log_debug("auth.refused code=%d why=\"%s\"", call->code, err_text(e));
    return e;
}

/* Who may do everything asks, or nobody says who he is: then nothing is checked at all. */
static bool asks_as_super(const struct broker *b, const struct call *call)
{
    struct slice name = frame_get(call->frame, SLICE("AccessKey"));
    const struct account *account = name.n ? auth_find(b->auth, name) : NULL;
    return !name.n || (account && account->super);
}

/* Those whose way through everybody else is barred. */
static err_t spare_super(const struct broker *b, const struct call *call, struct slice name, enum err_code code)
{
    const struct account *account = auth_find(b->auth, name);
    if (!account || !account->super || asks_as_super(b, call)) return NULL;
    return err_new(code, "The super user can only be update by super user");
}

static void answer_change(struct broker *b, struct call *call, err_t e)
{
    if (e) call_fail(call, e);
    else auth_when_saved(b->auth, reply_when_saved(call));
}

/* --- users: 3001 to 3005 --- */

static err_t read_user(const struct broker *b, struct call *call, struct slice name, struct arena *arena, const char *verb, struct user_info *out)
{
    if (!name.n) return err_new(ERR_INVALID, "The username is blank");
    err_t e = bean_decode(&user_info_bean, call->body, arena, "user", out);
    if (e) return e;
    out->username = name;
    if (auth_type_is_super(out->user_type) && !asks_as_super(b, call)) return err_new(ERR_REFUSED, "The super user can only be %s by super user", verb);
    return NULL;
}

void handle_create_user(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct create_user_header h;
    struct user_info user;
    err_t e = header_decode(&create_user_kind, call->frame, &h);
    if (!e) e = read_user(b, call, h.username, &arena, "create", &user);
    if (!e) e = auth_create_user(b->auth, &user);
    answer_change(b, call, e);
    arena_done(&arena);
}

void handle_update_user(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct update_user_header h;
    struct user_info user;
    err_t e = header_decode(&update_user_kind, call->frame, &h);
    if (!e) e = read_user(b, call, h.username, &arena, "update", &user);
    if (!e) e = spare_super(b, call, h.username, ERR_NO_PERMISSION);
    if (!e) e = auth_update_user(b->auth, &user);
    answer_change(b, call, e);
    arena_done(&arena);
}

void handle_delete_user(struct broker *b, struct call *call)
{
    struct delete_user_header h;
    err_t e = header_decode(&delete_user_kind, call->frame, &h);
    if (!e && !slice_trim(h.username).n) e = err_new(ERR_NO_PERMISSION, "username can not be blank");
    if (!e) e = spare_super(b, call, h.username, ERR_NO_PERMISSION);
    if (!e) auth_delete_user(b->auth, h.username);
    answer_change(b, call, e);
}

void handle_get_user(struct broker *b, struct call *call)
{
    struct get_user_header h;
    err_t e = header_decode(&get_user_kind, call->frame, &h);
    if (!e && !slice_trim(h.username).n) e = err_new(ERR_INVALID, "The username is blank");
    if (e) {
        call_fail(call, e);
        return;
    }
    const struct account *account = auth_find(b->auth, h.username);
    if (account) reply_bean(call, NULL, NULL, &user_info_bean, &account->user);
    else call_reply_ok(call);   /* without a body: there is none */
}

static bool holds(struct slice text, struct slice part) { return !slice_trim(part).n || memmem(text.p, text.n, part.p, part.n); }

/* Nothing found is no body. */
static void reply_text(struct call *call, struct buf *text, bool found)
{
    if (found) call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, slice_of(text->p, text->n));
    else call_reply_ok(call);
    buf_done(text);
}

void handle_list_users(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct list_users_header h;
    struct user_info_list list = {NULL, 0};
    struct buf text = BUF_EMPTY;
    const struct account *account;
    err_t e = header_decode(&list_users_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    arena.limit = SIZE_MAX;   /* our own data */
    for (size_t at = 0; (account = auth_next(b->auth, &at));) {
        if (!holds(account->user.username, h.filter)) continue;
        struct user_info *user = arena_list_add(&arena, (void **)&list.items, &list.count, sizeof *user);
        if (user) *user = account->user;
    }
    user_infos_encode(&list, &text);
    reply_text(call, &text, list.count);
    arena_done(&arena);
}

/* --- what they may do: 3006 to 3010 --- */

/* The subject of the body, or that of the header. */
static void set_acl(struct broker *b, struct call *call, struct slice subject)
{
    struct arena arena = ARENA_EMPTY;
    struct acl_info acl;
    err_t e = bean_decode(&acl_info_bean, call->body, &arena, "permissions", &acl);
    if (!e) e = auth_set_acl(b->auth, acl.subject.n ? acl.subject : subject, &acl);
    answer_change(b, call, e);
    arena_done(&arena);
}

void handle_create_acl(struct broker *b, struct call *call)
{
    struct create_acl_header h;
    err_t e = header_decode(&create_acl_kind, call->frame, &h);
    if (e) call_fail(call, e);
    else set_acl(b, call, h.subject);
}

void handle_update_acl(struct broker *b, struct call *call)
{
    struct update_acl_header h;
    err_t e = header_decode(&update_acl_kind, call->frame, &h);
    if (e) call_fail(call, e);
    else set_acl(b, call, h.subject);
}

void handle_delete_acl(struct broker *b, struct call *call)
{
    struct delete_acl_header h;
    err_t e = header_decode(&delete_acl_kind, call->frame, &h);
    if (!e) e = auth_delete_acl(b->auth, h.subject, h.policy_type, h.resource);
    answer_change(b, call, e);
}

void handle_get_acl(struct broker *b, struct call *call)
{
    struct get_acl_header h;
    const struct acl_info *acl = NULL;
    err_t e = header_decode(&get_acl_kind, call->frame, &h);
    if (!e) e = auth_get_acl(b->auth, h.subject, &acl);
    if (e) call_fail(call, e);
    else if (acl) reply_bean(call, NULL, NULL, &acl_info_bean, acl);
    else call_reply_ok(call);
}

void handle_list_acls(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct list_acls_header h;
    struct acl_info_list list;
    struct buf text = BUF_EMPTY;
    err_t e = header_decode(&list_acls_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    auth_list_acls(b->auth, h.subject_filter, h.resource_filter, &arena, &list);
    acl_infos_encode(&list, &text);
    reply_text(call, &text, list.count);
    arena_done(&arena);
}
