#include "codec/body_check_client.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

static const struct bean_field check_client_rows[] = {
    ROW(check_client, client_id, "clientId", text, NULL),
    ROW(check_client, group, "group", text, NULL),
    ROW(check_client, subscription, "subscriptionData", ref, &subscription_bean),
};
const struct bean check_client_bean = BEAN(struct check_client, check_client_rows, NULL);
