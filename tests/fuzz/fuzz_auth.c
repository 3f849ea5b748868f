/* Accounts: what a request permits, what a caller says of himself, what the file holds.
 * Shape    u8 (0 the body of request 3006, 1 the header authorization, 2 a signed request, 3 accounts.json) | bytes
 * Whoever knows no secret gets in with none of it; what was permitted is decided by the rules, and is the same after a restart. */
#include "fuzz/fuzz.h"

#include "auth/auth.h"
#include "base/log.h"
#include "kit/fake_tasks.h"
#include "kit/sim_fs.h"

#include <stdlib.h>
#include <string.h>

static const struct auth_options options = {.folder = "/config", .first_user = SLICE("{\"username\":\"root\",\"password\":\"a secret\"}")};

static void permit(struct auth *a, struct slice body)
{
    struct arena arena = ARENA_EMPTY;
    struct acl_info acl;
    struct user_info user = {.username = SLICE("u"), .password = SLICE("another")};
    FUZZ_EXPECT(!auth_create_user(a, &user));
    err_t e = bean_decode(&acl_info_bean, body, &arena, "permissions", &acl);
    if (!e) e = auth_set_acl(a, SLICE("User:u"), &acl);
    err_free(e);
    arena_done(&arena);
}

static bool may(const struct auth *a, const char *topic, const char *ip)
{
    err_t e = auth_decide(a, SLICE("u"), RESOURCE_TOPIC, slice_text(topic), ACTION_PUB, slice_text(ip));
    bool yes = !e;
    err_free(e);
    return yes;
}

static uint32_t verdicts(const struct auth *a)
{
    static const char *const topics[] = {"orders", "o", "%RETRY%g", ""}, *const ips[] = {"10.0.0.1", "fd00::1", "x"};
    uint32_t all = 0;
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < 3; i++) all = all << 1 | may(a, topics[t], ips[i]);
    return all;
}

static void show(const struct auth *a)
{
    struct arena arena = ARENA_EMPTY;
    struct acl_info_list list;
    struct buf text = BUF_EMPTY;
    auth_list_acls(a, SLICE(""), SLICE("o"), &arena, &list);
    acl_infos_encode(&list, &text);
    buf_done(&text);
    arena_done(&arena);
}

static void nobody_gets_in(err_t e)
{
    FUZZ_EXPECT(e && *err_text(e));
    err_free(e);
}

static void say_who(const struct auth *a, struct slice text)
{
    struct slice user;
    nobody_gets_in(auth_check_metadata(a, text, SLICE("20231114T221320Z"), &user));
}

static void ask(const struct auth *a, struct slice bytes)
{
    struct frame f;
    struct slice user;
    uint8_t *own = malloc(bytes.n + 1);
    memcpy(own, bytes.p, bytes.n);
    err_t e = frame_decode(own, bytes.n, &f);
    if (!e) nobody_gets_in(auth_check_frame(a, &f, f.body, &user));
    err_free(e);
    free(own);
}

static void lay_out(struct fs *fs, struct slice text)
{
    struct file *f;
    FUZZ_EXPECT(!fs_make_folder(fs, "/config") && !fs_open(fs, "/config/accounts.json", FILE_CREATE, &f));
    if (text.n) FUZZ_EXPECT(!file_write_at(f, 0, text.p, text.n));
    file_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    enum { PERMIT, SAY_WHO, ASK, A_FILE };
    if (!n) return 0;
    log_set_level(LOG_SILENT);
    struct slice rest = slice_of(p + 1, n - 1);
    struct sim_fs *disk = sim_fs_new(1);
    struct fake_tasks tasks;
    struct auth *a;
    fake_tasks_init(&tasks, 1700000000000);
    if (p[0] % 4 == A_FILE) lay_out(sim_fs_disk(disk), rest);
    err_t e = auth_open(&options, sim_fs_disk(disk), &tasks.tasks, &a);
    FUZZ_EXPECT(!e || p[0] % 4 == A_FILE);
    if (!e) {
        if (p[0] % 4 == PERMIT) permit(a, rest);
        if (p[0] % 4 == SAY_WHO) say_who(a, rest);
        if (p[0] % 4 == ASK) ask(a, rest);
        show(a);
        uint32_t before = verdicts(a);
        FUZZ_EXPECT(!auth_close(a));
        fake_tasks_settle(&tasks);
        e = auth_open(&options, sim_fs_disk(disk), &tasks.tasks, &a);
        FUZZ_EXPECT(!e && verdicts(a) == before);
        FUZZ_EXPECT(!auth_close(a));
    }
    err_free(e);
    fake_tasks_settle(&tasks);
    fake_tasks_done(&tasks);
    sim_fs_free(disk);
    return 0;
}
