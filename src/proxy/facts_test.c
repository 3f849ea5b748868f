#include "proxy/facts.h"

#include "kit/test.h"

/* Facts: docs/protocol/grpc.md 5.3 */
TEST(facts, a_group_says_how_often_and_how_long)
{
    static const int64_t steps[] = {1000, 2000, 3000, 9000};
    struct customized_retry customized = {.next_ms = {(int64_t *)(uintptr_t)steps, 4}};
    struct exponential_retry exponential = {5000, 60000, 2};
    struct group_facts g = {.config = group_config_default};
    EXPECT_EQ(group_attempts(NULL), 17);
    g.config.retry_max_times = 3;
    EXPECT_EQ(group_attempts(&g), 4);
    EXPECT_EQ(group_backoff_ms(NULL, 0), 10000);               /* the first two steps are not waited for */
    EXPECT_EQ(group_backoff_ms(NULL, 1), 30000);
    EXPECT_EQ(group_backoff_ms(NULL, 1000), 7200000);
    g.config.retry.customized = &customized;
    EXPECT_EQ(group_backoff_ms(&g, 0), 3000);
    EXPECT_EQ(group_backoff_ms(&g, 1), 9000);
    EXPECT_EQ(group_backoff_ms(&g, 50), 9000);
    g.config.retry = (struct retry_policy){.type = RETRY_POLICY_EXPONENTIAL, .exponential = &exponential};
    EXPECT_EQ(group_backoff_ms(&g, 0), 5000);
    EXPECT_EQ(group_backoff_ms(&g, 2), 20000);
    EXPECT_EQ(group_backoff_ms(&g, INT32_MAX), 60000);
}
