// Package tracing names what Argo CD takes from the published package of this name.
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
