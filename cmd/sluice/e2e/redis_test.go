//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

func TestRedisThroughSluice(t *testing.T) {
	t.Parallel()
	redis := parts.StartRedis(t)
	s, addr := start(t, fastCheck, redis.Addr)
	s.AwaitUp(t, "b1")
	for name, test := range map[string]func(*testing.T, string){
		"commands":              redisCommands,
		"pipeline of 10000":     redisPipeline,
		"pushes to subscribers": redisPush,
		"value of 50 MB":        redisBigValue,
		"CLIENT KILL":           redisClientKill,
		"long blocking command": redisBlocks,
	} {
		t.Run(name, func(t *testing.T) { test(t, addr) })
	}
}

// redisDo fails the test unless the reply of a command is want.
func redisDo(t *testing.T, c *parts.RESP, want any, args ...string) {
	t.Helper()
	if got, err := c.Do(args...); err != nil || got != want {
		t.Errorf("%s: got %v (%v), want %v", strings.Join(args, " "), got, err, want)
	}
}

func redisCommands(t *testing.T, addr string) {
	c := parts.DialRESP(t, addr)
	redisDo(t, c, "PONG", "PING")
	redisDo(t, c, "OK", "SET", "key", "value")
	redisDo(t, c, "value", "GET", "key")
	redisDo(t, c, int64(1), "DEL", "key")
	redisDo(t, c, nil, "GET", "key")
	var refused parts.RESPError
	if _, err := c.Do("NOSUCH"); !errors.As(err, &refused) {
		t.Errorf("unknown command: %v, want the server's error reply", err)
	}
}

func redisPipeline(t *testing.T, addr string) {
	const n = 10_000
	c := parts.DialRESP(t, addr)
	sent := make(chan error, 1)
	go func() {
		for range n {
			_ = c.Send("INCR", "counter")
		}
		sent <- c.Flush()
	}()
	for i := range n {
		if got, err := c.Receive(); err != nil || got != int64(i+1) {
			t.Fatalf("reply %d: %v (%v)", i+1, got, err)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func redisPush(t *testing.T, addr string) {
	sub, pub := parts.DialRESP(t, addr), parts.DialRESP(t, addr)
	if _, err := sub.Do("SUBSCRIBE", "news"); err != nil {
		t.Fatal(err)
	}
	parts.Pause(time.Second) // the subscriber says nothing from here on
	for i := range 100 {
		redisDo(t, pub, int64(1), "PUBLISH", "news", strconv.Itoa(i))
	}
	for i := range 100 {
		got, err := sub.Receive()
		if want := fmt.Sprintf("[message news %d]", i); err != nil || fmt.Sprint(got) != want {
			t.Fatalf("subscriber got %v (%v), want %s", got, err, want)
		}
	}
}

func redisBigValue(t *testing.T, addr string) {
	value := strings.Repeat("0123456789abcdefghijklmno", 2<<20) // 50 MB
	c := parts.DialRESP(t, addr)
	redisDo(t, c, "OK", "SET", "big", value)
	got, err := c.Do("GET", "big")
	if text, _ := got.(string); err != nil || text != value {
		t.Errorf("GET returned %d bytes (%v), want the %d that were SET", len(text), err, len(value))
	}
	redisDo(t, c, int64(1), "DEL", "big")
}

func redisClientKill(t *testing.T, addr string) {
	victim, killer := parts.DialRESP(t, addr), parts.DialRESP(t, addr)
	id, err := victim.Do("CLIENT", "ID")
	if err != nil {
		t.Fatal(err)
	}
	redisDo(t, killer, int64(1), "CLIENT", "KILL", "ID", fmt.Sprint(id))
	parts.Ends(t, victim.Conn, time.Second)
	redisDo(t, killer, "PONG", "PING")
}

func redisBlocks(t *testing.T, addr string) {
	waiter, pusher := parts.DialRESP(t, addr), parts.DialRESP(t, addr)
	if err := errors.Join(waiter.Send("BLPOP", "queue", "10"), waiter.Flush()); err != nil {
		t.Fatal(err)
	}
	parts.Pause(500 * time.Millisecond)
	redisDo(t, pusher, int64(1), "LPUSH", "queue", "job")
	if got, err := waiter.Receive(); fmt.Sprint(got) != "[queue job]" {
		t.Errorf("BLPOP returned %v (%v)", got, err)
	}
}

// C04
func TestKilledRedisEndsItsClientsAtOnce(t *testing.T) {
	t.Parallel()
	redis := parts.StartRedis(t)
	_, addr := start(t, fastCheck, redis.Addr)
	clients := make([]*parts.RESP, 20)
	for i := range clients {
		clients[i] = parts.DialRESP(t, addr)
		redisDo(t, clients[i], "PONG", "PING")
	}
	redis.Kill()
	killed := time.Now()
	for _, c := range clients {
		parts.Ends(t, c.Conn, time.Second)
	}
	elapsed(t, "telling 20 clients", killed, 0, time.Second)
}
