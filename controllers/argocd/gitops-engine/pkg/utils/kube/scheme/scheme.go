// Package scheme names the parts of the published package that Argo CD uses.
package scheme

import published "github.com/argoproj/gitops-engine/pkg/utils/kube/scheme"

// Published names.
var (
	ResolveParseableType = published.ResolveParseableType
)
