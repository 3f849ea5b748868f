#include "filter/java_number.h"
#include "kit/test.h"

#include <math.h>

static bool reads_double(const char *text, double want)
{
    double v;
    return java_double(slice_text(text), &v) && java_compare(v, want) == 0;
}

static bool refuses_double(const char *text)
{
    double v;
    return !java_double(slice_text(text), &v);
}

TEST(java_number, whole_numbers_are_read_within_their_range_and_without_anything_around_them)
{
    int64_t v;
    EXPECT(java_int(SLICE("+5"), &v) && v == 5);
    EXPECT(java_int(SLICE("-2147483648"), &v) && v == INT32_MIN);
    EXPECT(!java_int(SLICE("2147483648"), &v));
    EXPECT(java_int(SLICE("00000000000000000000000000005"), &v) && v == 5);
    EXPECT(java_long(SLICE("9223372036854775807"), &v) && v == INT64_MAX);
    EXPECT(java_long(SLICE("-9223372036854775808"), &v) && v == INT64_MIN);
    EXPECT(!java_long(SLICE("9223372036854775808"), &v));
    EXPECT(!java_long(SLICE("-9223372036854775809"), &v));
    static const char *const bad[] = {"", "+", "-", " 5", "5 ", "5.", "5L", "0x5", "1e3", "--5", NULL};
    for (int i = 0; bad[i]; i++) EXPECT(!java_long(slice_text(bad[i]), &v));
}

TEST(java_number, floating_point_is_read_as_java_does_and_nothing_else)
{
    EXPECT(reads_double("1.5", 1.5) && reads_double(" \t-1.5e1\n", -15) && reads_double(".5", 0.5) && reads_double("5.", 5));
    EXPECT(reads_double("5d", 5) && reads_double("5F", 5) && reads_double("1e3D", 1000) && reads_double("+5", 5));
    EXPECT(reads_double("NaN", NAN) && reads_double("-Infinity", -INFINITY) && reads_double("0x10p0", 16) && reads_double("0x.8p1f", 1));
    EXPECT(reads_double("-0", -0.0) && reads_double("1e400", INFINITY) && reads_double("1e-400", 0) && reads_double("4.9E-324", 4.9E-324));
    EXPECT(reads_double("1.7976931348623157E308", 1.7976931348623157E308) && reads_double("0.1", 0.1) && reads_double("123456789012345", 123456789012345));
    EXPECT(reads_double("9007199254740993", 9007199254740992) && reads_double("0.000000000000123", 0.000000000000123));
    static const char *const bad[] = {"", " ", ".", "-", "5L", "0x10", "inf", "nan", "infinity", "NAN", "1e", "1e+", "0xp1", "5dd", "1 2", "1_0", NULL};
    for (int i = 0; bad[i]; i++) EXPECT(refuses_double(bad[i]));
    EXPECT(reads_double("5d ", 5));
}

TEST(java_number, doubles_have_the_order_that_java_gives_them)
{
    EXPECT(java_compare(NAN, INFINITY) > 0 && java_compare(INFINITY, NAN) < 0 && java_compare(NAN, NAN) == 0);
    EXPECT(java_compare(-0.0, 0.0) < 0 && java_compare(0.0, -0.0) > 0 && java_compare(0.0, 0.0) == 0 && java_compare(1, 2) < 0);
}

TEST(java_number, only_true_is_true)
{
    EXPECT(java_bool(SLICE("true")) && java_bool(SLICE("TrUe")) && !java_bool(SLICE(" true")) && !java_bool(SLICE("1")) && !java_bool(SLICE("")));
}
