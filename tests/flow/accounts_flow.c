/* accounts_flow.c - users and what they may do (3001 to 3010), and requests that must be signed. Texts: docs/protocol/vectors.tsv, group auth. */
#include "flow/flow.h"

#include "auth/auth.h"

#include <stdlib.h>

#define ROOT "initAuthenticationUser={\"username\":\"root\",\"password\":\"12345678\"}"
#define ACL "{\"policies\":[{\"entries\":[{\"actions\":[\"Pub\",\"Sub\"],\"decision\":\"Allow\",\"resource\":\"Topic:t*\",\"sourceIps\":[\"127.0.0.0/8\"]}]," \
            "\"policyType\":\"Custom\"}],\"subject\":\"User:u\"}"

static void expect(struct flow *f, int32_t code, const struct header_kind *kind, const void *header, const char *body, int32_t answer, const char *text)
{
    struct answer *a = caller_call(f->caller, code, kind, header, slice_text(body));
    EXPECT_EQ(a->frame.code, answer);
    EXPECT_TEXT(answer ? a->frame.remark : a->frame.body, text);
    answer_free(a);
}

static void create_user(struct flow *f, const char *name, const char *body, int32_t answer, const char *text)
{
    struct create_user_header h = {.username = slice_text(name)};
    expect(f, REQUEST_AUTH_CREATE_USER, &create_user_kind, &h, body, answer, text);
}

static void get_user(struct flow *f, const char *name, const char *text)
{
    struct get_user_header h = {.username = slice_text(name)};
    expect(f, REQUEST_AUTH_GET_USER, &get_user_kind, &h, "", 0, text);
}

static void get_acl(struct flow *f, const char *subject, const char *text)
{
    struct get_acl_header h = {.subject = slice_text(subject)};
    expect(f, REQUEST_AUTH_GET_ACL, &get_acl_kind, &h, "", 0, text);
}

TEST(accounts, users_are_made_changed_listed_and_deleted_as_with_the_original)
{
    const char *const settings[] = {ROOT, NULL};
    struct flow *f = flow_start(settings);
    create_user(f, "", "{\"password\":\"p\"}", 29, "The username is blank");
    create_user(f, "u", "{\"password\":\"p\",\"userType\":\"Normal\"}", 0, "");
    create_user(f, "u", "{\"password\":\"p\"}", 16, "The user is existed");
    create_user(f, "v", "{\"password\":", 1, "user: a text was expected at byte 12");
    get_user(f, "u", "{\"password\":\"p\",\"userStatus\":\"enable\",\"userType\":\"Normal\",\"username\":\"u\"}");
    get_user(f, "zz", "");
    struct list_users_header all = {.filter = {NULL, 0}};
    expect(f, REQUEST_AUTH_LIST_USER, &list_users_kind, &all, "", 0,
           "[{\"password\":\"12345678\",\"userStatus\":\"enable\",\"userType\":\"Super\",\"username\":\"root\"},"
           "{\"password\":\"p\",\"userStatus\":\"enable\",\"userType\":\"Normal\",\"username\":\"u\"}]");
    struct update_user_header update = {.username = SLICE("u")};
    expect(f, REQUEST_AUTH_UPDATE_USER, &update_user_kind, &update, "{\"userStatus\":\"disable\"}", 0, "");
    flow_cut_power(f);
    get_user(f, "u", "{\"password\":\"p\",\"userStatus\":\"disable\",\"userType\":\"Normal\",\"username\":\"u\"}");
    struct delete_user_header gone = {.username = SLICE("u")};
    expect(f, REQUEST_AUTH_DELETE_USER, &delete_user_kind, &gone, "", 0, "");
    get_user(f, "u", "");
    flow_stop(f);
}

TEST(accounts, what_users_may_do_is_set_listed_and_deleted_as_with_the_original)
{
    struct flow *f = flow_start(NULL);
    struct create_acl_header create = {.subject = SLICE("User:u")};
    expect(f, REQUEST_AUTH_CREATE_ACL, &create_acl_kind, &create, ACL, 16, "The subject of User:u is not exist.");
    create_user(f, "u", "{\"password\":\"p\"}", 0, "");
    expect(f, REQUEST_AUTH_CREATE_ACL, &create_acl_kind, &create, ACL, 0, "");
    get_acl(f, "User:u", ACL);
    struct list_acls_header all = {.subject_filter = SLICE("u")};
    expect(f, REQUEST_AUTH_LIST_ACL, &list_acls_kind, &all, "", 0, "[" ACL "]");
    flow_cut_power(f);
    get_acl(f, "User:u", ACL);
    struct delete_acl_header gone = {.subject = SLICE("User:u"), .resource = SLICE("Topic:t*")};
    expect(f, REQUEST_AUTH_DELETE_ACL, &delete_acl_kind, &gone, "", 0, "");
    get_acl(f, "User:u", "");
    flow_stop(f);
}

/* 28, signed by somebody; name NULL: by nobody. */
static void ask_signed(struct flow *f, const char *name, const char *secret, int32_t code, const char *remark)
{
    struct frame frame = {.code = REQUEST_GET_BROKER_RUNTIME_INFO, .version = VERSION_5_5_0, .opaque = 4711};
    struct frame_head head = {.code = frame.code, .language = LANGUAGE_JAVA, .version = frame.version, .opaque = frame.opaque};
    struct frame_writer w;
    struct buf out = BUF_EMPTY;
    char signature[SIGNATURE_TEXT];
    frame_begin(&w, &out, &head);
    if (name) {
        frame.fields[frame.count++] = (struct frame_field){SLICE("AccessKey"), slice_text(name)};
        auth_sign_frame(&frame, SLICE(""), slice_text(secret), signature);
        frame_put(&w, SLICE("AccessKey"), slice_text(name));
        frame_put(&w, SLICE("Signature"), slice_text(signature));
    }
    frame_end(&w, 0);
    caller_send(f->caller, buf_slice(&out));
    buf_done(&out);
    struct answer *a = caller_reply(f->caller, frame.opaque, 5000);
    EXPECT(a);
    EXPECT_EQ(a->frame.code, code);
    EXPECT_TEXT(a->frame.remark, remark);
    answer_free(a);
}

TEST(accounts, requests_that_nobody_signed_are_refused_when_they_must_be_signed)
{
    const char *const settings[] = {"authenticationEnabled=true", "authenticationWhitelist=3001, 105", ROOT, NULL};
    struct flow *f = flow_start(settings);
    ask_signed(f, NULL, NULL, 16, "username cannot be null.");
    ask_signed(f, "nobody", "12345678", 16, "User:nobody is not found.");
    ask_signed(f, "root", "wrong", 16, "check signature failed.");
    ask_signed(f, "root", "12345678", 0, "");
    create_user(f, "u", "{\"password\":\"p\"}", 0, "");   /* on the white list */
    ask_signed(f, "u", "p", 0, "");
    flow_stop(f);
}
