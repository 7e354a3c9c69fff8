// Package text names the parts of the published package that Argo CD uses.
package text

import published "github.com/argoproj/gitops-engine/pkg/utils/text"

// Published names.
var (
	FirstNonEmpty = published.FirstNonEmpty
)
