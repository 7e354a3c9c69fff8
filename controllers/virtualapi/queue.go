package virtualapi

import (
	"container/heap"
	"testing/synctest"
	"time"
)

// class orders operations that are due at the same instant; their keys break ties.
type class int

const (
	classWorld   class = iota // the world writes
	classEvent                // a watch receives an event
	classRequest              // a client's request is carried out
	classClock                // Pass returns; takes no time
)

// An operation waits in the server's queue for its time. Operations run one by one, and a nanosecond of virtual time
// passes between two of them, so that everything one operation wakes is idle again before the next one runs.
type operation struct {
	due   time.Time
	class class
	order uint64 // of events: their resource version
	key   string // orders operations of one class and instant, independently of goroutines
	seq   uint64
	run   func()
}

type operations []*operation

func (q operations) Len() int      { return len(q) }
func (q operations) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *operations) Push(x any)   { *q = append(*q, x.(*operation)) }
func (q *operations) Pop() any {
	last := len(*q) - 1
	op := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return op
}
func (q operations) Less(i, j int) bool {
	a, b := q[i], q[j]
	if !a.due.Equal(b.due) {
		return a.due.Before(b.due)
	}
	if a.class != b.class {
		return a.class < b.class
	}
	if a.order != b.order {
		return a.order < b.order
	}
	if a.key != b.key {
		return a.key < b.key
	}
	return a.seq < b.seq
}

// push queues an operation; the caller holds s.mu. No operation runs in the instant of its request: it runs at least a
// nanosecond later, so the other goroutines of that instant can send requests too.
func (s *Server) push(op *operation) {
	if earliest := time.Now().Add(time.Nanosecond); op.due.Before(earliest) {
		op.due = earliest
	}
	s.seq++
	op.seq = s.seq
	heap.Push(&s.queue, op)
	if s.queue[0] == op {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// serve runs operations in order until the server is closed.
func (s *Server) serve() {
	defer close(s.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait := s.untilNext()
		if wait <= 0 {
			// Everything else that wakes in this instant, such as a timer of a controller, goes first.
			synctest.Wait()
			if s.next() != classClock {
				time.Sleep(time.Nanosecond)
			}
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-s.wake:
		case <-s.closed:
			return
		}
	}
}

// untilNext returns the time until the next operation.
func (s *Server) untilNext() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return time.Hour
	}
	return time.Until(s.queue[0].due)
}

// next runs the next operation.
func (s *Server) next() class {
	s.mu.Lock()
	defer s.mu.Unlock()
	op := heap.Pop(&s.queue).(*operation)
	op.run()
	return op.class
}

// Pass lets time pass until an instant, or until wake receives a value. When it returns, all operations due by then
// have run, and the other goroutines of the bubble are idle.
func (s *Server) Pass(to time.Time, wake <-chan struct{}) {
	if !to.After(time.Now()) {
		return
	}
	select {
	case <-s.clock(to):
	case <-wake:
		<-s.clock(time.Now())
	}
}

func (s *Server) clock(due time.Time) <-chan struct{} {
	reached := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(&operation{due: due, class: classClock, run: func() { close(reached) }})
	return reached
}
