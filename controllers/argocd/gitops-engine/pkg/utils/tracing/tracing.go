// Package tracing names the parts of the published package that Argo CD uses.
package tracing

import published "github.com/argoproj/gitops-engine/pkg/utils/tracing"

// Published names.
type (
	NopTracer = published.NopTracer
	Tracer    = published.Tracer
)

// Published names.
var (
	NewLoggingTracer = published.NewLoggingTracer
)
