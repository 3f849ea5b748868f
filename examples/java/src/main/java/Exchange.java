import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/**
 * Sends messages, consumes them, and checks that each of them came: Exchange [COUNT] [TOPIC] [both|send|receive] [RUN]
 * RUN tells the messages of one run from those of others; the name server is NAMESRV_ADDR, by default 127.0.0.1:9876.
 */
public class Exchange {
    static final String SERVER = System.getenv().getOrDefault("NAMESRV_ADDR", "127.0.0.1:9876");
    static final int IN_FLIGHT = 1000;
    static final long DEADLINE_MS = 120_000;

    static void send(String topic, String run, int count) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("exchange_producer");
        producer.setNamesrvAddr(SERVER);
        producer.start();
        Semaphore room = new Semaphore(IN_FLIGHT);
        AtomicInteger failed = new AtomicInteger();
        SendCallback answer = new SendCallback() {
            @Override public void onSuccess(SendResult result) {
                room.release();
            }

            @Override public void onException(Throwable e) {
                if (failed.getAndIncrement() == 0) e.printStackTrace();
                room.release();
            }
        };
        for (int i = 0; i < count; i++) {
            room.acquire();
            producer.send(new Message(topic, "Hello", (run + " " + i).getBytes(StandardCharsets.UTF_8)), answer, 10_000);
        }
        room.acquire(IN_FLIGHT);
        producer.shutdown();
        if (failed.get() > 0) throw new Exception(failed + " of " + count + " messages were not sent");
    }

    /** Ends when each of them came, or at the deadline; returns how many are missing. */
    static int receive(String topic, String run, int count) throws Exception {
        Set<String> missing = ConcurrentHashMap.newKeySet();
        for (int i = 0; i < count; i++) missing.add(run + " " + i);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(topic + "_java");
        consumer.setNamesrvAddr(SERVER);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(m -> missing.remove(new String(m.getBody(), StandardCharsets.UTF_8)));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        long end = System.currentTimeMillis() + DEADLINE_MS;
        while (!missing.isEmpty() && System.currentTimeMillis() < end) Thread.sleep(10);
        consumer.shutdown();
        return missing.size();
    }

    public static void main(String[] args) throws Exception {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 100_000;
        String topic = args.length > 1 ? args[1] : "Hello";
        String part = args.length > 2 ? args[2] : "both";
        long begun = System.currentTimeMillis();
        String run = args.length > 3 ? args[3] : "run " + begun;
        if (!part.equals("receive")) send(topic, run, count);
        System.out.printf("%d messages, %s: sent after %d ms", count, topic, System.currentTimeMillis() - begun);
        int missing = part.equals("send") ? 0 : receive(topic, run, count);
        System.out.printf(", %d missing after %d ms%n", missing, System.currentTimeMillis() - begun);
        System.exit(missing == 0 ? 0 : 1);
    }
}
