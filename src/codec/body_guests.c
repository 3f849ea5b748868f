#include "codec/body_guests.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

static const struct bean_field row_rows[] = {
    ROW(guest_row, address, "clientAddr", text, NULL),
    ROW(guest_row, client_id, "clientId", text, NULL),
    ROW(guest_row, group, "group", text, NULL),
    ROW(guest_row, language, "language", text, NULL),
    ROW(guest_row, version, "version", i32, NULL),
};
static const struct bean row_bean = BEAN(struct guest_row, row_rows, NULL);

static const struct bean_field list_rows[] = {ROW(guest_list, rows, "consumers", list, &row_bean)};
const struct bean guest_list_bean = BEAN(struct guest_list, list_rows, NULL);

static const struct bean_field running_rows[] = {ROW(running_info, stack, "jstack", text, NULL)};
const struct bean running_info_bean = BEAN(struct running_info, running_rows, NULL);

static const char *const outcomes[] = {"CR_SUCCESS", "CR_LATER", "CR_ROLLBACK", "CR_COMMIT", "CR_THROW_EXCEPTION", "CR_RETURN_NULL", NULL};
static const struct bean_field result_rows[] = {
    ROW(consume_result, auto_commit, "autoCommit", bool, NULL),
    ROW(consume_result, outcome, "consumeResult", choice, outcomes),
    ROW(consume_result, order, "order", bool, NULL),
    ROW(consume_result, remark, "remark", text, NULL),
    ROW(consume_result, spent_ms, "spentTimeMills", i64, NULL),
};
static const struct consume_result no_result = {.auto_commit = true, .outcome = -1};
const struct bean consume_result_bean = BEAN(struct consume_result, result_rows, &no_result);
