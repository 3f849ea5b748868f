package remoting

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// One more group of MixedTest's normal messages, until the file "end" is there; see tests/interop/mixed.
func TestMixed(t *testing.T) {
	folder := os.Getenv("MIXED_DIR")
	if folder == "" {
		t.Skip("run by tests/interop/mixed")
	}
	file, err := os.Create(filepath.Join(folder, "go.log"))
	check(t, err)
	defer file.Close()
	var lock sync.Mutex
	log := bufio.NewWriter(file)
	c := newPush(t, "mixed_push_go")
	check(t, c.Subscribe("mixed_normal", tag("*"), func(_ context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		lock.Lock()
		defer lock.Unlock()
		for _, m := range msgs {
			fmt.Fprintf(log, "got mixed_push_go %s %s %d\n", m.Topic, m.GetKeys(), m.ReconsumeTimes)
		}
		return consumer.ConsumeSuccess, log.Flush()
	}))
	check(t, c.Start())
	for {
		if _, err := os.Stat(filepath.Join(folder, "end")); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}
