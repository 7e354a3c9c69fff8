// Package health has the health states that Argo CD's ApplicationSet controller compares.
package health

// HealthStatusCode is a health state.
type HealthStatusCode string

// The health states.
const (
	HealthStatusUnknown     HealthStatusCode = "Unknown"
	HealthStatusProgressing HealthStatusCode = "Progressing"
	HealthStatusHealthy     HealthStatusCode = "Healthy"
	HealthStatusDegraded    HealthStatusCode = "Degraded"
)
