package main

import (
	"sync/atomic"

	"github.com/go-logr/logr"
)

// passes counts reconciliations.
type passes struct{ number atomic.Int64 }

func (p *passes) count() int { return int(p.number.Load()) }

// sink counts the passes of a manager's controllers by the line that each pass logs at its start.
type sink struct{ passes *passes }

// Init does nothing.
func (sink) Init(logr.RuntimeInfo) {}

// Enabled enables the level of that line.
func (sink) Enabled(level int) bool { return level == 5 }

// Info counts passes.
func (s sink) Info(_ int, message string, _ ...any) {
	if message == "Reconciling" {
		s.passes.number.Add(1)
	}
}

// Error does nothing: the conditions contain the relevant errors.
func (sink) Error(error, string, ...any) {}

// WithName keeps the sink.
func (s sink) WithName(string) logr.LogSink { return s }

// WithValues keeps the sink.
func (s sink) WithValues(...any) logr.LogSink { return s }
