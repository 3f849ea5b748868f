/* Recorded conversations of the official clients with the official broker, played to ours. */
#include "flow/flow.h"

#include "kit/wire_replay.h"

/* What no two runs have in common: ids, times, ports; and words in which the original shows its own code. */
#define USUAL "msgId transactionId queueOffset language opaque lastUpdateTimestamp timestamp"

static size_t replay(struct flow *f, const char *file, const char *volatile_names, const char *skip)
{
    struct wire_replay r = {
        .file = file, .role = "broker", .sim = f->sim, .loop = f->client_loop, .host = flow_host, .port = FLOW_PORT,
        .volatile_names = volatile_names, .skip_requests = skip, .any_body = true,
    };
    return wire_replay(&r);
}

TEST(wire, heartbeats_of_both_kinds_are_answered_as_recorded)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "WireTopic", 2);
    EXPECT(replay(f, "heartbeat_v1", USUAL, NULL) > 0);
    EXPECT(replay(f, "heartbeat_v2", USUAL " nextBeginOffset minOffset maxOffset remark", "PULL_MESSAGE") > 0);
    flow_stop(f);
}

TEST(wire, sends_of_the_official_client_are_answered_as_recorded)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "WireTopic", 2);
    EXPECT(replay(f, "send_java_client", USUAL, NULL) > 0);
    flow_stop(f);
}
