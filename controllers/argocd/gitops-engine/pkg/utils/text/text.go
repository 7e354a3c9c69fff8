// Package text names what Argo CD takes from the published package of this name.
package text

import published "github.com/argoproj/gitops-engine/pkg/utils/text"

// Published names.
var (
	FirstNonEmpty = published.FirstNonEmpty
)
