// Package cache has the parts of the cluster cache that Argo CD's settings use. The ApplicationSet controller runs no
// such cache.
package cache

// How a cluster's cache handles resources that it may not read.
const (
	RespectRbacDisabled = iota
	RespectRbacNormal
	RespectRbacStrict
)

// Settings exclude nothing.
type Settings struct{}

// NewNoopSettings excludes nothing.
func NewNoopSettings() Settings { return Settings{} }

// IsExcludedResource returns false.
func (Settings) IsExcludedResource(_, _, _ string) bool { return false }
