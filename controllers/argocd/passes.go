package main

import (
	"sync/atomic"

	"github.com/go-logr/logr"
)

// passes counts reconciliations.
type passes struct{ number atomic.Int64 }

func (p *passes) count() int { return int(p.number.Load()) }

// sink counts the passes of a manager's controllers by the line that they log at the start of each.
type sink struct{ passes *passes }

// Init does nothing.
func (sink) Init(logr.RuntimeInfo) {}

// Enabled lets the level of that line through.
func (sink) Enabled(level int) bool { return level == 5 }

// Info counts.
func (s sink) Info(_ int, message string, _ ...any) {
	if message == "Reconciling" {
		s.passes.number.Add(1)
	}
}

// Error does nothing: what matters is in the conditions.
func (sink) Error(error, string, ...any) {}

// WithName keeps the sink.
func (s sink) WithName(string) logr.LogSink { return s }

// WithValues keeps the sink.
func (s sink) WithValues(...any) logr.LogSink { return s }
