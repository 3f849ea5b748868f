package interop;

import static org.junit.jupiter.api.Assertions.*;
import static org.junit.jupiter.api.Assumptions.*;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a program sees while its brokers are restarted one after the other: it sends in both ways, and consumes. See tests/interop/rolling. */
class RollingTest extends Suite {
    private final AtomicReference<Throwable> error = new AtomicReference<>();
    private final Set<String> got = ConcurrentHashMap.newKeySet();
    private final AtomicInteger answered = new AtomicInteger();

    private SendCallback callback() {
        return new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                if (result.getSendStatus() != SendStatus.SEND_OK) {
                    error.compareAndSet(null, new AssertionError(result.toString()));
                }
                answered.incrementAndGet();
            }

            @Override
            public void onException(Throwable e) {
                error.compareAndSet(null, e);
            }
        };
    }

    @Test
    @Timeout(240)
    void aProgramSeesNoErrorWhileItsBrokersAreRestartedInTurn() throws Exception {
        String folder = System.getenv("ROLLING_DIR");
        assumeTrue(folder != null, "run by tests/interop/rolling");
        String names = System.getenv("NAMESRV_ADDR");
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("rolling_push");
        consumer.setNamesrvAddr(names);
        consumer.subscribe("Rolling", "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt m : messages) {
                got.add(new String(m.getBody()));
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        DefaultMQProducer producer = new DefaultMQProducer("rolling_producer");
        producer.setNamesrvAddr(names);
        producer.setRetryTimesWhenSendFailed(5);
        producer.setRetryTimesWhenSendAsyncFailed(5);
        producer.start();
        int sent = 0;
        for (; !Files.exists(Path.of(folder, "end")) && error.get() == null; sent++) {
            Message m = new Message("Rolling", Integer.toString(sent).getBytes());
            if (sent % 2 == 0) {
                assertEquals(SendStatus.SEND_OK, producer.send(m).getSendStatus());
                answered.incrementAndGet();
            } else {
                producer.send(m, callback());
            }
            if (sent % 50 == 0) {
                Files.writeString(Path.of(folder, "sent"), Integer.toString(sent));
            }
            pause(1);
        }
        while (answered.get() < sent && error.get() == null) {
            pause(20);
        }
        assertNull(error.get());
        while (got.size() < sent) {
            pause(20);
        }
        producer.shutdown();
        consumer.shutdown();
    }
}
