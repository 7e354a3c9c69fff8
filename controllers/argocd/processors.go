package main

import (
	"time"

	"golang.org/x/time/rate"

	"fleetsim/controllers/virtualapi"
)

// processors are workers of the application controller; they serve requests in arrival order.
type processors struct {
	limit, busy int // 0: no limit
	waiting     []func(virtualapi.World)
}

// take calls a function as soon as a processor is free; the function's work ends with a call of free.
func (p *processors) take(w virtualapi.World, work func(virtualapi.World)) {
	if p.limit > 0 && p.busy == p.limit {
		p.waiting = append(p.waiting, work)
		return
	}
	p.busy++
	work(w)
}

func (p *processors) free(w virtualapi.World) {
	p.busy--
	if len(p.waiting) > 0 {
		next := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.take(w, next)
	}
}

// process takes an operation processor for an Application, which keeps it until release.
func (p *product) process(w virtualapi.World, a *application, work func(virtualapi.World)) {
	p.syncers.take(w, func(w virtualapi.World) {
		a.processing = true
		work(w)
	})
}

func (p *product) done(w virtualapi.World, a *application) {
	if a.processing {
		a.processing = false
		p.syncers.free(w)
	}
}

// costs is the cost of syncs: all share one CPU and one client.
type costs struct {
	requests int
	client   *rate.Limiter // nil: no limit
	second   float64       // syncs in it; 0: no limit
	cpu      time.Time     // when it is free
}

// sync returns how long the requests and the computation of an attempt take that begins now.
func (c *costs) sync() time.Duration {
	begin := time.Now()
	end := begin
	if c.second > 0 {
		if c.cpu.Before(begin) {
			c.cpu = begin
		}
		c.cpu = c.cpu.Add(time.Duration(float64(time.Second) / c.second))
		end = c.cpu
	}
	for range c.requests {
		if c.client == nil {
			break
		}
		if sent := begin.Add(c.client.ReserveN(begin, 1).DelayFrom(begin)); sent.After(end) {
			end = sent
		}
	}
	return end.Sub(begin)
}
