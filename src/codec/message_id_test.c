#include "codec/message_id.h"

#include "codec/stored_kit.h"

#include <arpa/inet.h>
#include <stdio.h>

/* Java reads a wrong digit as -1 and goes on; an id that nobody can have made is refused here. */
static bool is_hexadecimal(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("0123456789abcdefABCDEF", s.p[i])) return false;
    return true;
}

static void check_offset_id(json_t *row)
{
    char text[MESSAGE_ID_TEXT];
    struct addr a;
    int64_t offset;
    struct slice id = row_text(row, "msgId");
    if (json_object_get(row, "error") || !is_hexadecimal(id)) {
        EXPECT_ERR(offset_id_parse(id, &a, &offset), ERR_INVALID);
        return;
    }
    EXPECT_OK(offset_id_parse(id, &a, &offset));
    EXPECT_EQ(a.port, row_number(row, "decodedPort"));
    EXPECT_EQ(offset, row_number(row, "decodedOffset"));
    if (!json_object_get(row, "ip")) return;
    EXPECT_EQ(offset_id_format(&a, offset, text), id.n);
    EXPECT_TEXT(id, text);
}

static void check_unique_id(json_t *row)
{
    char text[MESSAGE_ID_TEXT];
    struct unique_id id;
    EXPECT_OK(unique_id_parse(row_text(row, "id"), &id));
    EXPECT_EQ(id.process, row_number(row, "pid"));
    EXPECT_EQ(id.loader, row_number(row, "loader"));
    EXPECT_EQ(id.month_ms, row_number(row, "msInMonth"));
    EXPECT_EQ(id.counter, row_number(row, "counter"));
    unique_id_format(&id, text);
    EXPECT_TEXT(row_text(row, "id"), text);
}

TEST(message_id, offset_ids_of_both_address_families_and_malformed_ones)
{
    each_vector("offset_message_id.jsonl", 30, check_offset_id);
}

TEST(message_id, unique_ids_come_apart_and_together_again) { each_vector("unique_id.jsonl", 3, check_unique_id); }

TEST(message_id, a_month_begins_at_midnight_utc_of_its_first_day)
{
    EXPECT_EQ(month_start_ms(0), 0);
    EXPECT_EQ(month_start_ms(1796000000123), 1793491200000);          /* 2026-11-30 -> 2026-11-01 */
    EXPECT_EQ(month_start_ms(1709164800000), 1706745600000);          /* 2024-02-29 -> 2024-02-01 */
    EXPECT_EQ(month_start_ms(1706745600000), 1706745600000);
    EXPECT_EQ(month_start_ms(1706745599999), 1704067200000);
    EXPECT_EQ(month_start_ms(-1), -2678400000);                       /* 1969-12-31 -> 1969-12-01 */
}
