#include "codec/md5.h"

#include "kit/test.h"

static void expect_sum(const char *text, const char *sum)
{
    char got[MD5_TEXT];
    md5_text(slice_text(text), got);
    EXPECT_TEXT(slice_text(got), sum);
}

/* Facts: RFC 1321, A.5; the body of a recorded message. */
TEST(md5, is_that_of_the_standard)
{
    expect_sum("", "D41D8CD98F00B204E9800998ECF8427E");
    expect_sum("abc", "900150983CD24FB0D6963F7D28E17F72");
    expect_sum("message digest", "F96B697D7CB7938D525A2F31AAF161D0");
    expect_sum("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "D174AB98D277D9F5A5611C2C9F419D9F");
    expect_sum("12345678901234567890123456789012345678901234567890123456789012345678901234567890", "57EDF4A22BE3C955AC49DA2E2107B67A");
    expect_sum("plain", "AC7938D40CFC2307E2BF325D28E7884E");
}

TEST(md5, every_length_around_a_block_ends_right)
{
    static const struct {
        size_t n;
        const char *sum;
    } rows[] = {
        {55, "EF1772B6DFF9A122358552954AD0DF65"}, {56, "3B0C8AC703F828B04C6C197006D17218"}, {63, "B06521F39153D618550606BE297466D5"},
        {64, "014842D480B571495A4A0363793F7367"}, {65, "C743A45E0D2E6A95CB859ADAE0248435"}, {119, "8A7BD0732ED6A28CE75F6DABC90E1613"},
        {128, "E510683B3F5FFE4093D021808BC6FF70"},
    };
    char text[129] = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(text, 'a', sizeof text - 1);
        text[rows[i].n] = 0;
        expect_sum(text, rows[i].sum);
    }
}
