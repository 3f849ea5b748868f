#include "auth/auth.h"
#include "kit/fake_tasks.h"
#include "kit/sim_fs.h"
#include "kit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct fixture {
    struct sim_fs *disk;
    struct fake_tasks tasks;
    struct auth_options options;
    struct auth *auth;
};

static void open_again(struct fixture *f) { EXPECT_OK(auth_open(&f->options, sim_fs_disk(f->disk), &f->tasks.tasks, &f->auth)); }

static struct fixture *start(void)
{
    struct fixture *f = must_zero(sizeof *f);
    f->disk = sim_fs_new(1);
    fake_tasks_init(&f->tasks, 1700000000000);
    f->options = (struct auth_options){.folder = "/config", .first_user = SLICE("{\"username\":\"root\",\"password\":\"12345678\"}")};
    open_again(f);
    return f;
}

static void restart(struct fixture *f)
{
    EXPECT_OK(auth_close(f->auth));
    open_again(f);
}

static void stop(struct fixture *f)
{
    EXPECT_OK(auth_close(f->auth));
    fake_tasks_settle(&f->tasks);
    fake_tasks_done(&f->tasks);
    sim_fs_free(f->disk);
    free(f);
}

static void add_user(struct fixture *f, const char *name)
{
    struct user_info user = {.username = slice_text(name), .password = SLICE("p")};
    EXPECT_OK(auth_create_user(f->auth, &user));
}

/* Sets what is written as in a request. */
static err_t set_acl(struct fixture *f, const char *subject, const char *json)
{
    struct arena arena = ARENA_EMPTY;
    struct acl_info acl;
    EXPECT_OK(bean_decode(&acl_info_bean, slice_text(json), &arena, "acl", &acl));
    err_t e = auth_set_acl(f->auth, slice_text(subject), &acl);
    arena_done(&arena);
    return e;
}

#define ENTRY(resource, actions, decision, ips) \
    "{\"actions\":[" actions "],\"decision\":\"" decision "\",\"resource\":\"" resource "\",\"sourceIps\":[" ips "]}"
#define POLICY(type, entries) "{\"entries\":[" entries "],\"policyType\":\"" type "\"}"
#define ACL(policies) "{\"policies\":[" policies "]}"

static void expect_acl(struct fixture *f, const char *subject, const char *json)
{
    const struct acl_info *acl;
    struct buf text = BUF_EMPTY;
    EXPECT_OK(auth_get_acl(f->auth, slice_text(subject), &acl));
    if (acl) bean_encode(&acl_info_bean, acl, JSON_RAW, &text);
    EXPECT_TEXT(slice_of(text.p, text.n), json);
    buf_done(&text);
}

static void expect_refusal(err_t e, const char *text)
{
    EXPECT_EQ(err_code(e), ERR_NO_PERMISSION);
    EXPECT_TEXT(slice_text(err_text(e)), text);
    err_free(e);
}

static err_t may(struct fixture *f, enum resource_type type, const char *name, uint32_t actions)
{
    return auth_decide(f->auth, SLICE("u"), type, slice_text(name), actions, SLICE("127.0.0.1"));
}

/* --- users --- */

TEST(users, the_first_one_is_made_once_and_may_do_everything)
{
    struct fixture *f = start();
    const struct account *root = auth_find(f->auth, SLICE("root"));
    EXPECT(root && root->super && !root->disabled);
    EXPECT_OK(auth_decide(f->auth, SLICE("root"), RESOURCE_TOPIC, SLICE("T"), ACTION_DELETE, SLICE("10.0.0.1")));
    struct user_info changed = {.username = SLICE("root"), .password = SLICE("other")};
    EXPECT_OK(auth_update_user(f->auth, &changed));
    restart(f);
    EXPECT_TEXT(auth_find(f->auth, SLICE("root"))->user.password, "other");
    stop(f);
}

TEST(users, are_made_changed_and_deleted_with_what_they_may_do)
{
    struct fixture *f = start();
    add_user(f, "u");
    struct user_info again = {.username = SLICE("u"), .password = SLICE("q")}, nobody = {.username = SLICE("zz")};
    expect_refusal(auth_create_user(f->auth, &again), "The user is existed");
    expect_refusal(auth_create_user(f->auth, &nobody), "password can not be blank");
    expect_refusal(auth_update_user(f->auth, &nobody), "The user is not exist");
    struct user_info off = {.username = SLICE("u"), .user_status = SLICE("DISABLE")};
    EXPECT_OK(auth_update_user(f->auth, &off));
    EXPECT_OK(set_acl(f, "User:u", ACL(POLICY("Custom", ENTRY("Topic:t", "\"Pub\"", "Allow", "")))));
    restart(f);
    const struct account *u = auth_find(f->auth, SLICE("u"));
    EXPECT(u && u->disabled && !u->super && u->acl);
    EXPECT_TEXT(u->user.password, "p");
    EXPECT_TEXT(u->user.user_status, "disable");
    auth_delete_user(f->auth, SLICE("u"));
    auth_delete_user(f->auth, SLICE("u"));
    restart(f);
    EXPECT(!auth_find(f->auth, SLICE("u")));
    add_user(f, "u");
    EXPECT(!auth_find(f->auth, SLICE("u"))->acl);
    stop(f);
}

TEST(users, a_first_one_without_a_secret_keeps_the_server_from_starting)
{
    struct fixture *f = start();
    EXPECT_OK(auth_close(f->auth));
    f->options.inner_user = SLICE("{\"accessKey\":\"inner\"}");
    EXPECT_ERR(auth_open(&f->options, sim_fs_disk(f->disk), &f->tasks.tasks, &f->auth), ERR_CONFIG);
    f->options.inner_user = SLICE("{\"accessKey\":\"inner\",\"secretKey\":\"s\"}");
    open_again(f);
    EXPECT(auth_find(f->auth, SLICE("inner"))->super);
    stop(f);
}

/* --- permissions --- */

TEST(users, stand_in_a_file_that_its_owner_alone_can_read)
{
    struct fake_tasks tasks;
    struct auth *a;
    struct stat now;
    char *folder = test_folder(), path[600];
    struct auth_options o = {.folder = folder, .first_user = SLICE("{\"username\":\"root\",\"password\":\"12345678\"}")};
    fake_tasks_init(&tasks, 1700000000000);
    EXPECT_OK(auth_open(&o, fs_real(), &tasks.tasks, &a));
    fake_tasks_settle(&tasks);   /* by a worker */
    snprintf(path, sizeof path, "%s/accounts.json", folder);
    EXPECT(stat(path, &now) == 0 && (now.st_mode & 0777) == 0600);
    struct user_info user = {.username = SLICE("u"), .password = SLICE("p")};
    EXPECT_OK(auth_create_user(a, &user));
    EXPECT_OK(auth_close(a));    /* at the end */
    EXPECT(stat(path, &now) == 0 && (now.st_mode & 0777) == 0600);
    snprintf(path, sizeof path, "%s/accounts.json.bak", folder);
    EXPECT(stat(path, &now) == 0 && (now.st_mode & 0777) == 0600);
    fake_tasks_settle(&tasks);
    fake_tasks_done(&tasks);
    test_folder_remove(folder);
}

static void write_file(struct fixture *f, const char *path, const char *text)
{
    EXPECT_OK(fs_replace_file(sim_fs_disk(f->disk), path, slice_text(text)));
}

TEST(users, of_a_file_that_is_wrong_do_not_join_those_of_the_one_before)
{
#define USER(name) "{\"password\":\"p\",\"userStatus\":\"enable\",\"userType\":\"Normal\",\"username\":\"" name "\"}"
    struct fixture *f = start();
    EXPECT_OK(auth_close(f->auth));
    fake_tasks_settle(&f->tasks);
    write_file(f, "/config/accounts.json", "{\"users\":[" USER("before") "]}");
    write_file(f, "/config/accounts.json", "{\"users\":[" USER("after") ",{}]}");   /* the other is its backup now */
    open_again(f);
    EXPECT(auth_find(f->auth, SLICE("before")) && !auth_find(f->auth, SLICE("after")));
    EXPECT_OK(auth_close(f->auth));
    fake_tasks_settle(&f->tasks);
    const char *odd = "{\"acls\":[{\"policies\":[{\"entries\":[{\"actions\":[\"Pub\"],\"decision\":\"Allow\"}]}],\"subject\":\"User:u\"}],\"users\":[" USER("u") "]}";
    write_file(f, "/config/accounts.json", odd);
    write_file(f, "/config/accounts.json", odd);
    err_t e = auth_open(&f->options, sim_fs_disk(f->disk), &f->tasks.tasks, &f->auth);
    EXPECT(e && strstr(err_text(e), "accounts: The resource is null."));
    err_free(e);
    f->auth = NULL;
    stop(f);
}

TEST(permissions, entries_are_added_replaced_and_deleted_by_their_resource)
{
    struct fixture *f = start();
    add_user(f, "u");
    expect_acl(f, "User:u", "");
    EXPECT_OK(set_acl(f, "User:u", ACL(POLICY("Custom", ENTRY("Topic:t*", "\"pub\",\"SUB\",\"fly\"", "allow", "\"127.0.0.0/8\"")))));
    expect_acl(f, "User:u", "{\"policies\":[{\"entries\":[{\"actions\":[\"Pub\",\"Sub\"],\"decision\":\"Allow\",\"resource\":\"Topic:t*\","
                            "\"sourceIps\":[\"127.0.0.0/8\"]}],\"policyType\":\"Custom\"}],\"subject\":\"User:u\"}");
    EXPECT_OK(set_acl(f, "User:u", ACL(POLICY("Custom", ENTRY("Topic:t*", "\"Get\"", "Deny", "") "," ENTRY("Group:g", "\"Sub\"", "Allow", "")))));
    restart(f);
    const struct acl_info *acl;
    EXPECT_OK(auth_get_acl(f->auth, SLICE("User:u"), &acl));
    EXPECT_EQ(acl->policies.items[0].entries.count, 2);
    EXPECT_OK(auth_delete_acl(f->auth, SLICE("User:u"), SLICE(""), SLICE("Topic:t*")));
    EXPECT_OK(auth_get_acl(f->auth, SLICE("User:u"), &acl));
    EXPECT_EQ(acl->policies.items[0].entries.count, 1);
    EXPECT_OK(auth_delete_acl(f->auth, SLICE("User:u"), SLICE(""), SLICE("Group:g")));
    expect_acl(f, "User:u", "");
    expect_refusal(auth_delete_acl(f->auth, SLICE("User:u"), SLICE(""), SLICE("")), "The acl is not exist.");
    stop(f);
}

TEST(permissions, what_means_nothing_is_refused)
{
    struct fixture *f = start();
    add_user(f, "u");
    expect_refusal(set_acl(f, "User:zz", ACL(POLICY("Custom", ENTRY("*", "\"All\"", "Allow", "")))), "The subject of User:zz is not exist.");
    expect_refusal(set_acl(f, "u", ACL(POLICY("Custom", ENTRY("*", "\"All\"", "Allow", "")))), "The subject is null.");
    expect_refusal(set_acl(f, "User:u", ACL("")), "The policies is empty.");
    expect_refusal(set_acl(f, "User:u", ACL(POLICY("Custom", ""))), "The policy entries is empty.");
    expect_refusal(set_acl(f, "User:u", ACL(POLICY("Custom", ENTRY("Queue:q", "\"All\"", "Allow", "")))), "The resource is null.");
    expect_refusal(set_acl(f, "User:u", ACL(POLICY("Custom", ENTRY("*", "\"fly\"", "Allow", "")))), "The actions is empty.");
    expect_refusal(set_acl(f, "User:u", ACL(POLICY("Custom", ENTRY("*", "\"Any\"", "Allow", "")))), "The actions can not be Any.");
    expect_refusal(set_acl(f, "User:u", ACL(POLICY("Custom", ENTRY("*", "\"All\"", "Maybe", "")))), "The decision is null or illegal.");
    const char *wrong[] = {"host", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "1.2.3.4:5", "fd00::/129", "/8"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char json[256];
        snprintf(json, sizeof json, ACL(POLICY("Custom", ENTRY("*", "\"All\"", "Allow", "\"%s\""))), wrong[i]);
        expect_refusal(set_acl(f, "User:u", json), "The source ip is invalid.");
    }
    stop(f);
}

TEST(permissions, an_entry_with_too_many_sources_is_refused_and_one_at_the_limit_is_kept_whole)
{
    enum { MOST = 256 };
    struct fixture *f = start();
    add_user(f, "u");
    for (int n = MOST; n <= MOST + 1; n++) {
        struct buf json = BUF_EMPTY;
        buf_put_text(&json, "{\"policies\":[{\"entries\":[{\"resource\":\"Topic:t\",\"actions\":[\"Pub\"],\"decision\":\"Allow\",\"sourceIps\":[");
        for (int i = 0; i < n; i++) buf_printf(&json, "%s\"10.0.%d.%d\"", i ? "," : "", i / 256, i % 256);
        buf_put_text(&json, "]}]}]}");
        buf_put_u8(&json, 0);
        if (n == MOST) EXPECT_OK(set_acl(f, "User:u", (char *)json.p));
        else expect_refusal(set_acl(f, "User:u", (char *)json.p), "an entry has at most 64 actions and 256 source ips");
        buf_done(&json);
    }
    EXPECT_OK(auth_decide(f->auth, SLICE("u"), RESOURCE_TOPIC, SLICE("t"), ACTION_PUB, SLICE("10.0.0.255")));
    expect_refusal(auth_decide(f->auth, SLICE("u"), RESOURCE_TOPIC, SLICE("t"), ACTION_PUB, SLICE("10.0.1.0")),
                   "User:u has no permission to access Topic:t from 10.0.1.0, no matched policies.");
    stop(f);
}

TEST(permissions, lists_hold_what_was_asked_for)
{
    struct fixture *f = start();
    struct arena arena = ARENA_EMPTY;
    struct acl_info_list list;
    add_user(f, "u");
    add_user(f, "v");
    EXPECT_OK(set_acl(f, "User:u", ACL(POLICY("Custom", ENTRY("Topic:a", "\"Pub\"", "Allow", "") "," ENTRY("Topic:b", "\"Pub\"", "Allow", "")))));
    EXPECT_OK(set_acl(f, "User:v", ACL(POLICY("Default", ENTRY("Topic:b", "\"Pub\"", "Allow", "")))));
    auth_list_acls(f->auth, SLICE(""), SLICE(""), &arena, &list);
    EXPECT_EQ(list.count, 2);
    auth_list_acls(f->auth, SLICE("v"), SLICE(""), &arena, &list);
    EXPECT_EQ(list.count, 1);
    auth_list_acls(f->auth, SLICE(""), SLICE("Topic:a"), &arena, &list);
    EXPECT_EQ(list.count, 1);
    EXPECT_EQ(list.items[0].policies.items[0].entries.count, 1);
    auth_list_acls(f->auth, SLICE(""), SLICE("Topic:c"), &arena, &list);
    EXPECT_EQ(list.count, 0);
    arena_done(&arena);
    stop(f);
}

/* --- decisions --- */

TEST(decisions, without_a_matching_entry_the_answer_is_no)
{
    struct fixture *f = start();
    add_user(f, "u");
    expect_refusal(may(f, RESOURCE_TOPIC, "t", ACTION_PUB), "User:u has no permission to access Topic:t from 127.0.0.1, no matched policies.");
    expect_refusal(auth_decide(f->auth, SLICE("zz"), RESOURCE_TOPIC, SLICE("t"), ACTION_PUB, SLICE("127.0.0.1")), "User:zz not found.");
    EXPECT_OK(set_acl(f, "User:u", ACL(POLICY("Custom", ENTRY("Topic:t*", "\"Pub\",\"Sub\"", "Allow", "\"127.0.0.0/8\"")))));
    EXPECT_OK(may(f, RESOURCE_TOPIC, "tt", ACTION_PUB));
    EXPECT_OK(may(f, RESOURCE_TOPIC, "tt", ACTION_SUB | ACTION_GET));
    expect_refusal(may(f, RESOURCE_TOPIC, "tz", ACTION_CREATE), "User:u has no permission to access Topic:tz from 127.0.0.1, no matched policies.");
    expect_refusal(may(f, RESOURCE_TOPIC, "other", ACTION_PUB), "User:u has no permission to access Topic:other from 127.0.0.1, no matched policies.");
    expect_refusal(may(f, RESOURCE_GROUP, "tt", ACTION_SUB), "User:u has no permission to access Group:tt from 127.0.0.1, no matched policies.");
    expect_refusal(auth_decide(f->auth, SLICE("u"), RESOURCE_TOPIC, SLICE("tt"), ACTION_PUB, SLICE("10.0.0.1")),
                   "User:u has no permission to access Topic:tt from 10.0.0.1, no matched policies.");
    stop(f);
}

TEST(decisions, the_most_exact_entry_decides)
{
    struct fixture *f = start();
    add_user(f, "u");
    EXPECT_OK(set_acl(f, "User:u", ACL(POLICY("Custom", ENTRY("*", "\"All\"", "Allow", "") "," ENTRY("Topic:*", "\"All\"", "Deny", "") ","
                                              ENTRY("Topic:a*", "\"All\"", "Allow", "") "," ENTRY("Topic:ab*", "\"All\"", "Deny", "") ","
                                              ENTRY("Topic:abc", "\"All\"", "Allow", "")))));
    EXPECT_OK(may(f, RESOURCE_GROUP, "g", ACTION_SUB));
    expect_refusal(may(f, RESOURCE_TOPIC, "z", ACTION_SUB), "User:u has no permission to access Topic:z from 127.0.0.1, the decision is deny.");
    EXPECT_OK(may(f, RESOURCE_TOPIC, "ax", ACTION_SUB));
    EXPECT_ERR(may(f, RESOURCE_TOPIC, "abx", ACTION_SUB), ERR_NO_PERMISSION);
    EXPECT_OK(may(f, RESOURCE_TOPIC, "abc", ACTION_SUB));
    stop(f);
}

TEST(decisions, default_entries_count_only_when_no_custom_one_matches)
{
    struct fixture *f = start();
    add_user(f, "u");
    EXPECT_OK(set_acl(f, "User:u", ACL(POLICY("Default", ENTRY("Topic:t", "\"Pub\"", "Deny", "") "," ENTRY("Topic:d", "\"Pub\"", "Allow", "")) ","
                                       POLICY("Custom", ENTRY("Topic:*", "\"Pub\"", "Allow", "")))));
    EXPECT_OK(may(f, RESOURCE_TOPIC, "t", ACTION_PUB));
    EXPECT_OK(auth_delete_acl(f->auth, SLICE("User:u"), SLICE("Custom"), SLICE("Topic:*")));
    EXPECT_ERR(may(f, RESOURCE_TOPIC, "t", ACTION_PUB), ERR_NO_PERMISSION);
    EXPECT_OK(may(f, RESOURCE_TOPIC, "d", ACTION_PUB));
    stop(f);
}

TEST(decisions, topics_of_a_group_are_the_group)
{
    struct fixture *f = start();
    add_user(f, "u");
    EXPECT_OK(set_acl(f, "User:u", ACL(POLICY("Custom", ENTRY("Group:g", "\"Sub\"", "Allow", "")))));
    EXPECT_OK(may(f, RESOURCE_TOPIC, "%RETRY%g", ACTION_SUB));
    EXPECT_OK(may(f, RESOURCE_TOPIC, "%DLQ%g", ACTION_SUB));
    EXPECT_ERR(may(f, RESOURCE_TOPIC, "%RETRY%h", ACTION_SUB), ERR_NO_PERMISSION);
    stop(f);
}

TEST(decisions, networks_hold_addresses_of_their_kind)
{
    struct fixture *f = start();
    add_user(f, "u");
    EXPECT_OK(set_acl(f, "User:u", ACL(POLICY("Custom", ENTRY("*", "\"All\"", "Allow", "\"10.1.0.0/15\",\"fd00::/8\",\"192.168.0.7\"")))));
    struct { const char *ip; bool fine; } cases[] = {{"9.255.255.255", false}, {"10.1.0.0", true}, {"10.0.0.0", true}, {"10.1.255.255", true},
        {"10.2.0.0", false}, {"fd12::1", true}, {"fe80::1", false}, {"192.168.0.7", true}, {"192.168.0.8", false}, {"nonsense", false}, {"", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_t e = auth_decide(f->auth, SLICE("u"), RESOURCE_TOPIC, SLICE("t"), ACTION_PUB, slice_text(cases[i].ip));
        EXPECT_EQ(!e, cases[i].fine);
        err_free(e);
    }
    stop(f);
}

/* --- signatures: docs/protocol/vectors.tsv, acl_sign_… --- */

static struct frame signed_frame(const struct frame_field *fields, size_t count)
{
    struct frame f = {.version = VERSION_5_5_0, .count = count};
    memcpy(f.fields, fields, count * sizeof *fields);
    return f;
}

static void expect_signature(const struct frame_field *fields, size_t count, struct slice body, const char *right)
{
    struct frame f = signed_frame(fields, count);
    char text[SIGNATURE_TEXT];
    auth_sign_frame(&f, body, SLICE("12345678"), text);
    EXPECT_TEXT(slice_text(text), right);
}

#define F(name, value) {SLICE(name), SLICE(value)}

TEST(signatures, are_those_of_the_original)
{
    const struct frame_field route[] = {F("topic", "TopicTest"), F("AccessKey", "rocketmq2"), F("Signature", "ignored")};
    expect_signature(route, 3, SLICE(""), "GeeGoP9mRvDhoVp4PD5omX0prgE=");
    expect_signature(route, 2, SLICE("hello"), "VCoakk8D+zaEPRCyxQHvWUF4988=");
    const struct frame_field send[] = {F("m", "false"), F("a", "PG"), F("b", "TopicTest"), F("c", "TBW102"), F("d", "4"), F("e", "2"), F("f", "0"),
        F("g", "1700000000000"), F("h", "0"), F("i", "TAGS\1TagA\2"), F("j", "0"), F("k", "false"), F("AccessKey", "rocketmq2")};
    expect_signature(send, sizeof send / sizeof *send, SLICE("hello"), "OUZc9mxSRsfvoiOp/wOdzd/AFSo=");
}

TEST(signatures, of_a_request_are_checked)
{
    struct fixture *f = start();
    struct slice user;
    struct frame_field fields[] = {F("topic", "TopicTest"), F("AccessKey", "root"), {SLICE("Signature"), {NULL, 0}}};
    struct frame frame = signed_frame(fields, 3);
    char text[SIGNATURE_TEXT];
    auth_sign_frame(&frame, SLICE("hello"), SLICE("12345678"), text);
    frame.fields[2].value = slice_text(text);
    EXPECT_OK(auth_check_frame(f->auth, &frame, SLICE("hello"), &user));
    EXPECT_TEXT(user, "root");
    expect_refusal(auth_check_frame(f->auth, &frame, SLICE("hullo"), &user), "check signature failed.");
    frame.fields[0].value = SLICE("Other");
    expect_refusal(auth_check_frame(f->auth, &frame, SLICE("hello"), &user), "check signature failed.");
    frame.fields[2].value = SLICE("short");
    expect_refusal(auth_check_frame(f->auth, &frame, SLICE("hello"), &user), "check signature failed.");
    frame.fields[1].value = SLICE("nobody");
    expect_refusal(auth_check_frame(f->auth, &frame, SLICE(""), &user), "User:nobody is not found.");
    frame.count = 1;
    expect_refusal(auth_check_frame(f->auth, &frame, SLICE(""), &user), "username cannot be null.");
    struct user_info off = {.username = SLICE("root"), .user_status = SLICE("disable")};
    EXPECT_OK(auth_update_user(f->auth, &off));
    frame = signed_frame(fields, 3);
    expect_refusal(auth_check_frame(f->auth, &frame, SLICE("hello"), &user), "User:root is disabled.");
    stop(f);
}

/* The code was made with: printf 20231114T221320Z | openssl dgst -sha1 -hmac 12345678 */
#define DATE "20231114T221320Z"
#define DATE_CODE "df86b53c65643cdd611e839243981a33e6a26027"
#define DATE_CODE_UPPER "DF86B53C65643CDD611E839243981A33E6A26027"

TEST(signatures, of_a_call_are_checked)
{
    struct fixture *f = start();
    struct slice user;
    char good[256], upper[256];
    snprintf(good, sizeof good, "MQv2-HMAC-SHA1 Credential=root/cn-hangzhou/RocketMQ, SignedHeaders=x-mq-date-time, Signature=%s", DATE_CODE);
    snprintf(upper, sizeof upper, "MQv2-HMAC-SHA1 Credential=root, SignedHeaders=x-mq-date-time, Signature=%s", DATE_CODE_UPPER);
    EXPECT_OK(auth_check_metadata(f->auth, slice_text(good), SLICE(DATE), &user));
    EXPECT_TEXT(user, "root");
    EXPECT_OK(auth_check_metadata(f->auth, slice_text(upper), SLICE(DATE), &user));
    expect_refusal(auth_check_metadata(f->auth, slice_text(good), SLICE("20231114T221321Z"), &user), "check signature failed.");
    expect_refusal(auth_check_metadata(f->auth, slice_text(good), (struct slice){NULL, 0}, &user), "datetime is null.");
    expect_refusal(auth_check_metadata(f->auth, (struct slice){NULL, 0}, SLICE(DATE), &user), "username cannot be null.");
    expect_refusal(auth_check_metadata(f->auth, SLICE("nonsense"), SLICE(DATE), &user), "authentication header is incorrect.");
    expect_refusal(auth_check_metadata(f->auth, SLICE("A b"), SLICE(DATE), &user), "authentication keyValues length is incorrect, actual length=1.");
    expect_refusal(auth_check_metadata(f->auth, SLICE("A Credential=root, Signature=00"), SLICE(DATE), &user), "check signature failed.");
    expect_refusal(auth_check_metadata(f->auth, SLICE("A Credential=, Signature="), SLICE(DATE), &user), "username cannot be null.");
    stop(f);
}
