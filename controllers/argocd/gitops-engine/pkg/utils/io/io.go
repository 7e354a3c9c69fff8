// Package io names the parts of the published package that Argo CD uses.
package io

import published "github.com/argoproj/gitops-engine/pkg/utils/io"

// Published names.
var (
	TempDir = published.TempDir
)
