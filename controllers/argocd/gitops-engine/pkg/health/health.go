// Package health has the states of health that Argo CD's ApplicationSet controller compares.
package health

// HealthStatusCode is a state of health.
type HealthStatusCode string

// The states of health.
const (
	HealthStatusUnknown     HealthStatusCode = "Unknown"
	HealthStatusProgressing HealthStatusCode = "Progressing"
	HealthStatusHealthy     HealthStatusCode = "Healthy"
	HealthStatusDegraded    HealthStatusCode = "Degraded"
)
