// Package scheme names what Argo CD takes from the published package of this name.
package scheme

import published "github.com/argoproj/gitops-engine/pkg/utils/kube/scheme"

// Published names.
var (
	ResolveParseableType = published.ResolveParseableType
)
