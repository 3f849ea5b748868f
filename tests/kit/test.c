#include "kit/test.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TESTS_MAX = 1000 };
static struct CMUnitTest tests[TESTS_MAX];
static size_t count;

void test_register(const char *name, CMUnitTestFunction run)
{
    if (count < TESTS_MAX) tests[count++] = (struct CMUnitTest){.name = name, .test_func = run};
}

void expect_ok(err_t e, const char *what, const char *file, int line)
{
    if (!e) return;
    print_error("%s failed: %s: %s\n", what, err_name(err_code(e)), err_text(e));
    err_free(e);
    _fail(file, line);
}

void expect_err(err_t e, enum err_code code, const char *what, const char *file, int line)
{
    if (err_code(e) != code) {
        print_error("%s: expected %s, got %s: %s\n", what, err_name(code), err_name(err_code(e)), err_text(e));
        err_free(e);
        _fail(file, line);
    }
    err_free(e);
}

void expect_eq(int64_t a, int64_t b, const char *what, const char *file, int line)
{
    if (a == b) return;
    print_error("%s: %lld is not %lld\n", what, (long long)a, (long long)b);
    _fail(file, line);
}

void expect_text(struct slice s, const char *text, const char *what, const char *file, int line)
{
    if (slice_eq(s, slice_text(text))) return;
    print_error("%s: \"%.*s\" is not \"%s\"\n", what, SLICE_ARG(s), text);
    _fail(file, line);
}

char *test_folder(void)
{
    const char *parent = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/skylark-test-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(path)) fail_msg("no temporary folder at %s", path);
    return must_strdup(path);
}

void test_folder_remove(char *folder)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) print_error("could not remove %s\n", folder);
    free(folder);
}

struct buf test_fixture(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", FIXTURES, name);
    struct buf b = BUF_EMPTY;
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("no fixture %s", path);
    char part[65536];
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) buf_put(&b, part, n);
    fclose(f);
    return b;
}

static int digit(uint8_t c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

void test_unhex(struct slice hex, struct buf *out)
{
    for (size_t i = 0; i + 1 < hex.n; i += 2) buf_put_u8(out, (uint8_t)(digit(hex.p[i]) << 4 | digit(hex.p[i + 1])));
}

/* Log lines are made, so that what is wrong with their arguments is found, and thrown away unless TEST_LOG is set. */
static void begin_log(void)
{
    log_set_level(LOG_DEBUG);
    if (!getenv("TEST_LOG")) expect_ok(log_open("/dev/null"), "log_open", __FILE__, __LINE__);
}

int main(int argc, char **argv)
{
    begin_log();
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests("tests", tests, count, NULL, NULL) ? 1 : 0;
}
