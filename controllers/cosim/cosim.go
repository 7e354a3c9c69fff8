// Package cosim lets controllers written in Go take part in a fleetsim simulation: it speaks the protocol of
// PROTOCOL.md over standard input and output, and keeps the controllers in a testing/synctest bubble, where time
// passes only while fleetsim waits for the response to a run message.
//
// A program calls Main with a Product. The product builds its controllers on an API server of package virtualapi and
// reports their actions to its Session.
package cosim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fleetsim/controllers/virtualapi"
)

// A Product drives the fleet. Its methods run in the bubble, one at a time.
type Product interface {
	// Start builds the controllers and starts them. It may let time pass until they reach the initial state of the
	// run: time 0 is when it returns, and nothing before that is counted.
	Start(*Session) (Ready, error)
	// News delivers an event, which takes effect after the delay: virtualapi's Later accepts such delays. Fields were
	// checked against the protocol.
	News(news News, delay time.Duration) error
	// Hold explains why nothing of an application is deployed at present.
	Hold(application int) Hold
	// Passes returns the number of passes of each controller so far, in a new map.
	Passes() map[string]int
	// Loop names the controller in this map whose passes decide on the rollout.
	Loop() string
}

// A Session is the run as a product sees it. Its methods may be called from any goroutine of the bubble and never block.
type Session struct {
	// Hello is the first message, with defaults filled in.
	Hello Hello
	// Applications are those of Hello, with the numbers of their clusters. A run without them has one.
	Applications []Application
	// API is the server on which the product's controllers run. A product sets it in Start.
	API *virtualapi.Server

	start     time.Time
	lookahead time.Duration
	// now is the time of the last answer. The bubble's clock may be a few nanoseconds ahead of it: operations that are
	// due by then run one by one, each in its own nanosecond.
	now      time.Duration
	wake     chan struct{}
	mu       sync.Mutex
	reply    Reply
	status   map[int]string // by application
	passes   map[string]int // up to the last answer
	requests int
	before   Bye // counts before time 0
	// seen holds the revisions of the deployments that were noted as ready.
	seen map[deployment]int
}

// deployment is an application on a target.
type deployment struct{ application, target int }

// Several says whether the run has a list of applications.
func (s *Session) Several() bool { return len(s.Hello.Applications) > 0 }

// Now is the time since the start of the run.
func (s *Session) Now() time.Duration { return time.Since(s.start) }

// APILatency returns the latency of this run's API server.
func (s *Session) APILatency() virtualapi.Latency {
	given := s.Hello.Latency
	return virtualapi.Latency{
		Request: *given.Request, Requests: given.Requests, Verbs: given.Verbs, Watch: *given.Watch, Spread: given.Spread,
		Seed: s.Hello.Seed,
	}
}

// Limit returns the limit of this run's client for each kind of object, or the product's own default if the run sets
// none.
func (s *Session) Limit(otherwise virtualapi.Limit) virtualapi.Limit {
	if given := s.Hello.Client; given != nil {
		return virtualapi.Limit{QPS: given.QPS, Burst: given.Burst, PerResource: true}
	}
	return otherwise
}

// Deploy notes that an instruction for an application reaches a target now.
func (s *Session) Deploy(application, target, revision int) {
	s.note(true, func() { s.reply.Deploy = append(s.reply.Deploy, Deploy{application, target, revision}) })
}

// Seen notes that the product now sees an application on a target as ready with a revision, or no longer does, if the
// caller asked for it.
func (s *Session) Seen(application, target, revision int, ready bool) {
	place := deployment{application, target}
	before, was := s.seen[place]
	if !s.Hello.Seen || was == ready && (!ready || before == revision) {
		return
	}
	if ready {
		s.seen[place] = revision
	} else {
		delete(s.seen, place)
	}
	s.note(true, func() { s.reply.Seen = append(s.reply.Seen, Seen{application, target, revision, ready}) })
}

// Completed notes that the product reports the rollout of an application's revision complete.
func (s *Session) Completed(application, revision int) {
	s.outcome(true, Outcome{Application: application, Completed: &revision})
}

// Failed notes that the product reports that the rollout of an application failed.
func (s *Session) Failed(application int, message string) {
	s.outcome(true, Outcome{Application: application, Failed: &message})
}

// Status is one line about an application in the product's own words. It is sent when it differs from the last line.
func (s *Session) Status(application int, line string) {
	s.mu.Lock()
	same := line == s.status[application]
	s.status[application] = line
	s.mu.Unlock()
	if !same {
		s.outcome(false, Outcome{Application: application, Status: &line})
	}
}

func (s *Session) outcome(ends bool, outcome Outcome) {
	s.note(ends, func() {
		switch {
		case s.Several():
			s.reply.Outcomes = append(s.reply.Outcomes, outcome)
		case outcome.Status != nil:
			s.reply.Status = outcome.Status
		case outcome.Completed != nil:
			s.reply.Completed = outcome.Completed
		default:
			s.reply.Failed = outcome.Failed
		}
	})
}

// Condition notes a changed condition.
func (s *Session) Condition(condition Condition) {
	condition.At = s.Now()
	s.note(false, func() { s.reply.Conditions = append(s.reply.Conditions, condition) })
}

func (s *Session) note(ends bool, change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	if ends {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// Main speaks the protocol over standard input and output and ends the process. All other writes to standard output go
// to standard error.
func Main(product func() Product) {
	// One processor: more would not speed up controllers in a bubble, and would allow more orders of goroutines.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(1600)
	debug.SetMemoryLimit(2 << 30) // above that, save memory at the cost of time
	protocol, err := syscall.Dup(1)
	if err == nil {
		err = syscall.Dup3(2, 1, 0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "standard output cannot be set aside:", err)
		os.Exit(1)
	}
	os.Args = os.Args[:1]
	out := os.NewFile(uintptr(protocol), "protocol")
	body := func(t *testing.T) {
		synctest.Test(t, func(*testing.T) {
			// The bubble's goroutines need not end, because the process does.
			if err := Serve(os.Stdin, out, product()); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		})
	}
	testing.Main(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "Run", F: body}}, nil, nil)
}

// Serve speaks the protocol until bye. It must be called in a bubble. A returned error has also been sent as an
// answer.
func Serve(in io.Reader, out io.Writer, product Product) error {
	c := &conversation{product: product}
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("the input ended before bye: %w", err)
		}
		answer, err := c.answer(line)
		if err != nil {
			answer = struct {
				Error Failure `json:"error"`
			}{Failure{err.Error()}}
		}
		written, wrong := json.Marshal(answer)
		if wrong != nil {
			return wrong
		}
		if _, wrong := out.Write(append(written, '\n')); wrong != nil {
			return wrong
		}
		if err != nil || c.over {
			return err
		}
	}
}

type conversation struct {
	product Product
	session *Session
	over    bool
}

func (c *conversation) answer(line []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	var question Question
	if err := decoder.Decode(&question); err != nil {
		return nil, fmt.Errorf("a line must be one JSON object of the protocol: %w", err)
	}
	switch {
	case question.Hello != nil && c.session != nil:
		return nil, errors.New("hello must come once")
	case question.Hello != nil:
		ready, err := c.start(*question.Hello)
		return map[string]any{"ready": ready}, err
	case c.session == nil:
		return nil, errors.New("hello must come first")
	case question.Run != nil:
		return c.run(*question.Run)
	case question.Hold != nil:
		application := question.Hold.Application
		if application < 0 || application >= len(c.session.Applications) {
			return nil, fmt.Errorf("application must be below %d; it is %d", len(c.session.Applications), application)
		}
		return map[string]any{"hold": c.product.Hold(application)}, nil
	case question.Bye != nil:
		c.over = true
		bye := c.session.counts(c.product)
		bye.Passes = less(bye.Passes, c.session.before.Passes)
		bye.Requests = less(bye.Requests, c.session.before.Requests)
		return map[string]any{"bye": bye}, nil
	}
	return nil, errors.New("a line must have one of hello, run, hold and bye")
}

func (c *conversation) start(hello Hello) (Ready, error) {
	if hello.Protocol != 1 {
		return Ready{}, fmt.Errorf("protocol is %d; this controller speaks 1", hello.Protocol)
	}
	milliseconds := 5 * time.Millisecond
	if hello.Latency.Request == nil {
		hello.Latency.Request = &milliseconds
	}
	if hello.Latency.Watch == nil {
		hello.Latency.Watch = &milliseconds
	}
	if hello.Release.Name == "" && len(hello.Applications) == 0 {
		hello.Release.Name = "app"
	}
	list, err := applications(&hello)
	if err != nil {
		return Ready{}, err
	}
	names := map[string]bool{}
	for i := range hello.Targets {
		target := &hello.Targets[i]
		if target.Name == "" || names[target.Name] {
			return Ready{}, fmt.Errorf("names of targets must be unique and not empty; target %d is %q", i, target.Name)
		}
		names[target.Name] = true
		if target.Registered == nil {
			target.Registered = new(true)
		}
		if target.Revision == nil {
			target.Revision = &hello.Release.Installed
		}
	}
	seed(hello.Seed)
	session := &Session{
		Hello: hello, Applications: list, start: time.Now(), wake: make(chan struct{}, 1), status: map[int]string{},
		seen: map[deployment]int{},
	}
	ready, err := c.product.Start(session)
	if err != nil {
		return Ready{}, err
	}
	if session.API == nil {
		return Ready{}, errors.New("the product must set Session.API")
	}
	session.API.Pass(time.Now().Add(time.Nanosecond), nil)
	session.start = time.Now()
	session.lookahead = ready.Lookahead
	session.reply, session.status = Reply{}, map[int]string{}
	ready.Sees = hello.Seen
	select {
	case <-session.wake:
	default:
	}
	session.before = session.counts(c.product)
	session.passes = session.before.Passes
	session.requests = session.API.Total()
	c.session = session
	return ready, nil
}

// seed makes math/rand reproducible, which client-go and the products use for jitter.
func seed(seed uint64) {
	settings := os.Getenv("GODEBUG")
	os.Setenv("GODEBUG", settings+",randseednop=0")
	rand.Seed(int64(seed)) //nolint:staticcheck // the only way to seed draws in libraries
	os.Setenv("GODEBUG", settings)
}

// counts returns the counts of everything so far.
func (s *Session) counts(product Product) Bye {
	return Bye{Passes: product.Passes(), Requests: s.API.Counts()}
}

// less subtracts earlier counts. Watches that began before time 0 continue and do not count.
func less(counts, before map[string]int) map[string]int {
	left := map[string]int{}
	for name, count := range counts {
		if count > before[name] && !strings.HasPrefix(name, "watch ") {
			left[name] = count - before[name]
		}
	}
	return left
}

func (c *conversation) run(run Run) (*Reply, error) {
	s := c.session
	now := s.now
	if run.Until < now {
		return nil, fmt.Errorf("until must not be before the present time: %d < %d", run.Until, now)
	}
	for _, news := range run.News {
		at := now
		if news.At != nil {
			at = *news.At
		}
		if at > now || at < now-s.lookahead {
			return nil, fmt.Errorf("at must lie in [now - lookahead, now] = [%d, %d]; it is %d", now-s.lookahead, now, at)
		}
		if news.Target != nil && (*news.Target < 0 || *news.Target >= len(s.Hello.Targets)) {
			return nil, fmt.Errorf("target must be below %d; it is %d", len(s.Hello.Targets), *news.Target)
		}
		if news.Application != nil && (*news.Application < 0 || *news.Application >= len(s.Applications)) {
			return nil, fmt.Errorf("application must be below %d; it is %d", len(s.Applications), *news.Application)
		}
		if err := c.product.News(news, max(0, at+s.lookahead-s.Now())); err != nil {
			return nil, err
		}
	}
	s.API.Pass(s.start.Add(run.Until), s.wake)
	select {
	case <-s.wake:
	default:
	}
	passes := c.product.Passes()
	s.mu.Lock()
	defer s.mu.Unlock()
	reply := s.reply
	s.reply = Reply{}
	reply.Now = min(s.Now(), run.Until)
	for i := range reply.Conditions {
		reply.Conditions[i].At = min(reply.Conditions[i].At, reply.Now)
	}
	s.now = reply.Now
	reply.Passes = passes[c.product.Loop()] - s.passes[c.product.Loop()]
	s.passes = passes
	total := s.API.Total()
	reply.Requests, s.requests = total-s.requests, total
	return &reply, nil
}
