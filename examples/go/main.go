// Sends messages, consumes them, and checks that each of them came: exchange [COUNT] [TOPIC] [both|send|receive] [RUN]
// RUN tells the messages of one run from those of others; the name server is NAMESRV_ADDR, by default 127.0.0.1:9876.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

const inFlight, deadline = 1000, 120 * time.Second

func argument(i int, usual string) string {
	if len(os.Args) > i {
		return os.Args[i]
	}
	return usual
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func send(server, topic, run string, count int) {
	p, err := rocketmq.NewProducer(producer.WithNameServer([]string{server}), producer.WithGroupName("exchange_producer"))
	must(err)
	must(p.Start())
	room := make(chan struct{}, inFlight)
	var failed atomic.Int64
	answer := func(ctx context.Context, result *primitive.SendResult, err error) {
		if err != nil && failed.Add(1) == 1 {
			log.Print(err)
		}
		<-room
	}
	for i := 0; i < count; i++ {
		room <- struct{}{}
		must(p.SendAsync(context.Background(), answer, primitive.NewMessage(topic, []byte(fmt.Sprint(run, " ", i)))))
	}
	for i := 0; i < inFlight; i++ {
		room <- struct{}{}
	}
	must(p.Shutdown())
	if failed.Load() > 0 {
		log.Fatalf("%d of %d messages were not sent", failed.Load(), count)
	}
}

// Ends when each of them came, or at the deadline; returns how many are missing.
func receive(server, topic, run string, count int) int {
	var lock sync.Mutex
	missing := make(map[string]bool, count)
	for i := 0; i < count; i++ {
		missing[fmt.Sprint(run, " ", i)] = true
	}
	all := make(chan struct{})
	c, err := rocketmq.NewPushConsumer(consumer.WithNameServer([]string{server}), consumer.WithGroupName(topic+"_go"),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	must(err)
	must(c.Subscribe(topic, consumer.MessageSelector{}, func(ctx context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		lock.Lock()
		defer lock.Unlock()
		before := len(missing)
		for _, m := range messages {
			delete(missing, string(m.Body))
		}
		if before > 0 && len(missing) == 0 {
			close(all)
		}
		return consumer.ConsumeSuccess, nil
	}))
	must(c.Start())
	select {
	case <-all:
	case <-time.After(deadline):
	}
	must(c.Shutdown())
	lock.Lock()
	defer lock.Unlock()
	return len(missing)
}

func main() {
	server := os.Getenv("NAMESRV_ADDR")
	if server == "" {
		server = "127.0.0.1:9876"
	}
	rlog.SetLogLevel("error")
	count, err := strconv.Atoi(argument(1, "100000"))
	must(err)
	topic, part, begun := argument(2, "Hello"), argument(3, "both"), time.Now()
	run := argument(4, fmt.Sprint("run ", begun.UnixMilli()))
	if part != "receive" {
		send(server, topic, run, count)
	}
	fmt.Printf("%d messages, %s: sent after %d ms", count, topic, time.Since(begun).Milliseconds())
	missing := 0
	if part != "send" {
		missing = receive(server, topic, run, count)
	}
	fmt.Printf(", %d missing after %d ms\n", missing, time.Since(begun).Milliseconds())
	if missing > 0 {
		os.Exit(1)
	}
}
