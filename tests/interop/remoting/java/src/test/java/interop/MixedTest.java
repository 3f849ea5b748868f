package interop;

import static org.junit.jupiter.api.Assumptions.*;

import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Clients of all kinds at work for MIXED_SECONDS while somebody kills the broker now and then (tests/interop/mixed). What happened goes to
 * MIXED_DIR/java.log, one event a line: "sent TOPIC KEY", "maybe TOPIC KEY" (the send failed, the message may be there), "rolled TOPIC KEY",
 * "got GROUP TOPIC KEY TIMES_TRIED", "early TOPIC KEY MS". It ends when everything sent has been got, or MIXED_DRAIN seconds after the last send.
 */
class MixedTest extends Suite {
    private static final int SHARDS = 8;
    private final Map<String, String> decided = new ConcurrentHashMap<>();
    private final Map<String, Integer> missing = new ConcurrentHashMap<>();   // 1: sent; what came before its sender knew is -1 until then
    private final Set<String> had = ConcurrentHashMap.newKeySet();
    private final AtomicLong sent = new AtomicLong();
    private PrintStream log;
    private volatile boolean over;

    private void event(String text) {
        synchronized (log) {
            log.println(text);
        }
    }

    private void mustCome(String topic, String key) {
        event("sent " + topic + " " + key);
        sent.incrementAndGet();
        missing.merge(topic + " " + key, 1, Integer::sum);
    }

    private interface Sending {
        SendStatus send() throws Exception;
    }

    /** Whether the broker said that it has the message. */
    private boolean send(String topic, String key, Sending s) throws InterruptedException {
        try {
            if (s.send() == SendStatus.SEND_OK) {
                return true;
            }
        } catch (InterruptedException e) {
            throw e;
        } catch (Exception e) {
            pause(50);
        }
        event("maybe " + topic + " " + key);
        return false;
    }

    private interface Work {
        void run() throws Exception;
    }

    private Thread go(Work w) {
        Thread t = new Thread(() -> {
            try {
                w.run();
            } catch (Exception e) {
                event("broken " + e);
            }
        });
        t.start();
        return t;
    }

    private void got(String group, MessageExt m) {
        String topic = m.getTopic();
        String key = m.getKeys();
        event("got " + group + " " + topic + " " + key + " " + m.getReconsumeTimes());
        if (had.add(topic + " " + key)) {
            missing.merge(topic + " " + key, -1, Integer::sum);
        }
        String due = m.getProperty("due");
        if (due != null && System.currentTimeMillis() < Long.parseLong(due)) {
            event("early " + topic + " " + key + " " + (Long.parseLong(due) - System.currentTimeMillis()));
        }
    }

    private Message message(String topic, String key) {
        Message m = msg(topic, key);
        m.setKeys(key);
        return m;
    }

    private void consume(String group, String topic, int failOneOf) throws Exception {
        DefaultMQPushConsumer c = newPush(group);
        c.subscribe(topic, "*");
        Random random = new Random(1);
        c.registerMessageListener((MessageListenerConcurrently) (msgs, ctx) -> {
            ctx.setDelayLevelWhenNextConsume(1);
            if (failOneOf > 0 && msgs.get(0).getReconsumeTimes() < 3 && random.nextInt(failOneOf) == 0) {
                return ConsumeConcurrentlyStatus.RECONSUME_LATER;
            }
            msgs.forEach(m -> got(group, m));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        c.start();
    }

    private void consumeInOrder(String group, String topic) throws Exception {
        DefaultMQPushConsumer c = newPush(group);
        c.subscribe(topic, "*");
        c.registerMessageListener((MessageListenerOrderly) (msgs, ctx) -> {
            msgs.forEach(m -> got(group, m));
            return ConsumeOrderlyStatus.SUCCESS;
        });
        c.start();
    }

    private DefaultMQProducer impatient() throws Exception {
        DefaultMQProducer p = configure(new DefaultMQProducer(name("pg")));
        p.setSendMsgTimeout(2_000);
        closing(p::shutdown);
        p.start();
        return p;
    }

    private void sendNormal(String topic) throws Exception {
        DefaultMQProducer p = impatient();
        for (int i = 0; !over; i++) {
            String key = "n" + i;
            if (send(topic, key, () -> p.send(message(topic, key)).getSendStatus())) {
                mustCome(topic, key);
            }
            pause(2);
        }
    }

    /** Each shard in its own queue, one after the other; what may not have arrived is sent again before the next. */
    private void sendInOrder(String topic, int queues) throws Exception {
        DefaultMQProducer p = impatient();
        for (int i = 0; !over; i++) {
            for (int shard = 0; shard < SHARDS; shard++) {
                String key = "o" + shard + "-" + i;
                int queue = shard % queues;
                while (!send(topic, key, () -> p.send(message(topic, key), queues(topic, queues).get(queue)).getSendStatus())) {
                    pause(100);
                }
                mustCome(topic, key);
            }
            pause(20);
        }
    }

    private void sendDelayed(String topic) throws Exception {
        DefaultMQProducer p = impatient();
        int[] seconds = {1, 5, 10};
        for (int i = 0; !over; i++) {
            String key = "d" + i;
            Message m = message(topic, key);
            int delay = i % 2 == 0 ? seconds[i / 2 % 3] * 1000 : 1_000 + i % 9_000;
            m.putUserProperty("due", "" + (System.currentTimeMillis() + delay));
            MessageAccessor.putProperty(m, i % 2 == 0 ? "DELAY" : "TIMER_DELAY_MS", "" + (i % 2 == 0 ? i / 2 % 3 + 1 : delay));
            if (send(topic, key, () -> p.send(m).getSendStatus())) {
                mustCome(topic, key);
            }
            pause(10);
        }
    }

    private void sendTransactions(String topic) throws Exception {
        TransactionMQProducer p = configure(new TransactionMQProducer(name("pg")));
        p.setSendMsgTimeout(2_000);
        p.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message m, Object arg) {
                String key = m.getKeys();
                int kind = Integer.parseInt(key.substring(1)) % 4;
                decided.put(key, kind == 1 ? "rolled" : "sent");
                if (kind == 1) {
                    event("rolled " + m.getTopic() + " " + key);
                } else {
                    mustCome(m.getTopic(), key);
                }
                return kind == 0 ? LocalTransactionState.COMMIT_MESSAGE : kind == 1 ? LocalTransactionState.ROLLBACK_MESSAGE : LocalTransactionState.UNKNOW;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt m) {
                return "sent".equals(decided.get(m.getKeys())) ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.ROLLBACK_MESSAGE;
            }
        });
        closing(p::shutdown);
        p.start();
        for (int i = 0; !over; i++) {
            String key = "t" + i;
            try {
                p.sendMessageInTransaction(message(topic, key), null);
            } catch (Exception e) {
                pause(50);
            }
            if (!decided.containsKey(key)) {
                event("rolled " + topic + " " + key); // the half message may be there; a check rolls it back
            }
            pause(10);
        }
        await("what is checked", drainSeconds(), this::isComplete); // somebody must be there to answer
    }

    private List<String> missing() {
        return missing.entrySet().stream().filter(e -> e.getValue() > 0).map(Map.Entry::getKey).collect(Collectors.toList());
    }

    private boolean isComplete() {
        return missing().isEmpty();
    }

    private static double drainSeconds() {
        return Double.parseDouble(System.getenv().getOrDefault("MIXED_DRAIN", "120"));
    }

    @Test
    @Timeout(3600)
    void everythingSentIsConsumedByEveryGroup() throws Exception {
        String folder = System.getenv("MIXED_DIR");
        assumeTrue(folder != null, "run by tests/interop/mixed");
        log = new PrintStream(Files.newOutputStream(Path.of(folder, "java.log"), StandardOpenOption.CREATE), true);
        String normal = "mixed_normal";
        String order = "mixed_order";
        String delay = "mixed_delay";
        String tx = "mixed_tx";
        for (String t : new String[] {normal, order, delay, tx}) {
            createTopic(t, 4, 6);
        }
        event("ready");
        consume("mixed_push", normal, 50);
        consume("mixed_push", normal, 50);
        consumeInOrder("mixed_orderly", order);
        consumeInOrder("mixed_orderly", order);
        consume("mixed_later", delay, 0);
        consume("mixed_tx", tx, 0);
        Thread[] senders = {go(() -> sendNormal(normal)), go(() -> sendInOrder(order, 4)), go(() -> sendDelayed(delay)), go(() -> sendTransactions(tx))};
        Thread.sleep((long) (Double.parseDouble(System.getenv("MIXED_SECONDS")) * 1000));
        over = true;
        event("over");
        for (Thread t : senders) {
            t.join();
        }
        await("everything", drainSeconds(), this::isComplete, () -> "of " + sent + " there are missing: " + missing().stream().limit(20).collect(Collectors.toList()));
        pause(5_000); // for what should not come
        event("end");
    }
}
