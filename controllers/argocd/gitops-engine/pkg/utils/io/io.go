// Package io names what Argo CD takes from the published package of this name.
package io

import published "github.com/argoproj/gitops-engine/pkg/utils/io"

// Published names.
var (
	TempDir = published.TempDir
)
