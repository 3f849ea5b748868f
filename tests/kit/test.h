/* test.h - TEST() and EXPECT_…(), on top of cmocka. A test's name is a sentence about what it proves. */
#ifndef SKYLARK_TESTS_KIT_TEST_H
#define SKYLARK_TESTS_KIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"

void test_register(const char *name, CMUnitTestFunction run);

#define TEST(subject, sentence)                                                            \
    static void subject##_##sentence(void **state);                                        \
    __attribute__((constructor)) static void subject##_##sentence##_register(void)         \
    {                                                                                      \
        test_register(#subject "." #sentence, subject##_##sentence);                       \
    }                                                                                      \
    static void subject##_##sentence(void **state __attribute__((unused)))

void expect_ok(err_t e, const char *what, const char *file, int line);
void expect_err(err_t e, enum err_code code, const char *what, const char *file, int line);
void expect_eq(int64_t a, int64_t b, const char *what, const char *file, int line);
void expect_text(struct slice s, const char *text, const char *what, const char *file, int line);

#define EXPECT(condition) _assert_true((condition) ? 1 : 0, #condition, __FILE__, __LINE__)
#define EXPECT_EQ(a, b) expect_eq((int64_t)(a), (int64_t)(b), #a " == " #b, __FILE__, __LINE__)
#define EXPECT_OK(call) expect_ok((call), #call, __FILE__, __LINE__)
#define EXPECT_ERR(call, code) expect_err((call), (code), #call, __FILE__, __LINE__)   /* uses up the error */
#define EXPECT_TEXT(slice, text) expect_text((slice), (text), #slice, __FILE__, __LINE__)

/* A fresh empty folder below $TMPDIR or /tmp; the test removes it with test_folder_remove(). The caller frees the name. */
char *test_folder(void);
void test_folder_remove(char *folder);

/* One file of tests/fixtures, whole; buf_done() by the caller. Fails the test when it is not there. */
struct buf test_fixture(const char *name);
/* Hexadecimal text to bytes, appended. */
void test_unhex(struct slice hex, struct buf *out);

#endif
