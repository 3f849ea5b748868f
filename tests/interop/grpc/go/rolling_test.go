// What a program sees while the brokers behind its proxy are restarted one after the other. See tests/interop/rolling.
package interop

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	mq "github.com/apache/rocketmq-clients/golang/v5"
)

func TestRolling(t *testing.T) {
	folder := os.Getenv("ROLLING_DIR")
	if folder == "" {
		t.Skip("run by tests/interop/rolling")
	}
	var lock sync.Mutex
	got := map[string]bool{}
	c, err := mq.NewPushConsumer(conf("rolling_push"), mq.WithPushAwaitDuration(5*time.Second), mq.WithPushConsumptionThreadCount(4),
		mq.WithPushSubscriptionExpressions(map[string]*mq.FilterExpression{"Rolling": mq.SUB_ALL}),
		mq.WithPushMessageListener(&mq.FuncMessageListener{Consume: func(m *mq.MessageView) mq.ConsumerResult {
			lock.Lock()
			defer lock.Unlock()
			got[string(m.GetBody())] = true
			return mq.SUCCESS
		}}))
	must(t, err)
	must(t, c.Start())
	defer c.GracefulStop()
	p := producer(t, "Rolling")
	sent := 0
	for ; ; sent++ {
		if _, err := os.Stat(filepath.Join(folder, "end")); err == nil {
			break
		}
		if _, err := p.Send(ctx, msg("Rolling", strconv.Itoa(sent))); err != nil {
			t.Fatalf("message %d: %v", sent, err)
		}
		if sent%20 == 0 {
			must(t, os.WriteFile(filepath.Join(folder, "sent"), []byte(strconv.Itoa(sent)), 0o644))
		}
		time.Sleep(time.Millisecond)
	}
	for all := 0; all < sent; time.Sleep(20 * time.Millisecond) {
		lock.Lock()
		all = len(got)
		lock.Unlock()
	}
}
