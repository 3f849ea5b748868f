package interop;

import static org.junit.jupiter.api.Assertions.*;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What the gRPC suite sent with each SDK (SDKS), as a plain consumer of this client gets it, property by property. The expected values are
 * those of the original's proxy and broker. Runs after tests/interop/grpc.
 */
class SdkMessagesTest extends Suite {
    static final String ANY = "*";
    static final Map<String, String> EVERY = Map.of("BORN_TIMESTAMP", ANY, "CLUSTER", "DefaultCluster", "MSG_REGION", "DefaultRegion", "PGROUP", ANY,
        "RECONSUME_TIME", "0", "TRACE_ON", "true", "UNIQ_KEY", ANY, "__BORNHOST", ANY);

    static class Case {
        final String sdk, scenario;
        final Map<String, String> properties;

        Case(String sdk, String scenario, Map<String, String> properties) {
            this.sdk = sdk;
            this.scenario = scenario;
            this.properties = properties;
        }

        @Override public String toString() { return sdk + " " + scenario; }
    }

    static Stream<Case> cases() {
        List<Case> all = new ArrayList<>();
        for (String sdk : System.getenv().getOrDefault("SDKS", "").split(" ")) {
            if (sdk.isEmpty()) continue;
            Map<String, String> send = new TreeMap<>(Map.of("TAGS", "Tag-ü", "KEYS", sdk.equals("py") ? "k1" : "k1 schlüssel", "ünï", "wérte 漢字"));
            if (!sdk.equals("rust")) send.put("a", "1");
            all.add(new Case(sdk, "send", send));
            all.add(new Case(sdk, "fifo", Map.of("__SHARDINGKEY", ANY)));
            if (sdk.equals("rust")) continue;
            all.add(new Case(sdk, "prio", Map.of("_SYS_MSG_PRIORITY_", ANY)));
            all.add(new Case(sdk, "tx", Map.of("TRAN_MSG", "true", "__transactionId__", ANY)));
        }
        return all.stream();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void isWhatItsSdkSent(Case c) throws Exception {
        String topic = "gr_" + c.sdk + "_" + c.scenario;
        DefaultMQPullConsumer consumer = pull(name("g"));
        int seen = 0;
        for (MessageQueue mq : consumer.fetchSubscribeMessageQueues(topic))
            for (MessageExt m : drain(consumer, mq, "*", consumer.minOffset(mq))) {
                if (c.scenario.equals("send") && !new String(m.getBody(), "UTF-8").startsWith("Füße 漢字 🚀 ")) continue;
                check(c, topic, m);
                seen++;
            }
        assertTrue(seen > 0, "nothing in " + topic);
    }

    static void check(Case c, String topic, MessageExt m) {
        Map<String, String> wanted = new TreeMap<>(EVERY), got = new TreeMap<>(m.getProperties());
        wanted.putAll(c.properties);
        got.keySet().removeAll(CLIENT);
        if (!c.properties.containsKey("TAGS")) got.remove("TAGS");
        assertEquals(new TreeSet<>(wanted.keySet()), new TreeSet<>(got.keySet()), c.toString());
        wanted.forEach((name, value) -> { if (!value.equals(ANY)) assertEquals(value, got.get(name), name); });
        assertEquals(topic, got.get("PGROUP"));
        assertEquals(got.get("UNIQ_KEY"), m.getMsgId());
        assertTrue(got.get("UNIQ_KEY").matches("[0-9A-Fa-f]{34}"), got.get("UNIQ_KEY"));
        assertEquals(Long.parseLong(got.get("BORN_TIMESTAMP")), m.getBornTimestamp());
        assertEquals(0, m.getReconsumeTimes());
    }

    /** Set by the pulling client itself. */
    static final Set<String> CLIENT = Set.of("MIN_OFFSET", "MAX_OFFSET");
}
