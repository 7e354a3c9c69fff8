// Package cache has what Argo CD's settings take from the cache of clusters, which no ApplicationSet controller runs.
package cache

// How a cluster's cache respects what it may not read.
const (
	RespectRbacDisabled = iota
	RespectRbacNormal
	RespectRbacStrict
)

// Settings exclude nothing.
type Settings struct{}

// NewNoopSettings excludes nothing.
func NewNoopSettings() Settings { return Settings{} }

// IsExcludedResource says no.
func (Settings) IsExcludedResource(_, _, _ string) bool { return false }
