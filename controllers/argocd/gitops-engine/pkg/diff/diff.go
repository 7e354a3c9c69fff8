// Package diff names the parts of the published package that Argo CD uses.
package diff

import published "github.com/argoproj/gitops-engine/pkg/diff"

// Published names.
type (
	DiffResult          = published.DiffResult
	DiffResultList      = published.DiffResultList
	KubeApplier         = published.KubeApplier
	Normalizer          = published.Normalizer
	Option              = published.Option
	ServerSideDryRunner = published.ServerSideDryRunner
)

// Published names.
var (
	Diff                      = published.Diff
	DiffArray                 = published.DiffArray
	IgnoreAggregatedRoles     = published.IgnoreAggregatedRoles
	WithGVKParser             = published.WithGVKParser
	WithIgnoreMutationWebhook = published.WithIgnoreMutationWebhook
	WithLogr                  = published.WithLogr
	WithManager               = published.WithManager
	WithNormalizer            = published.WithNormalizer
	WithServerSideDiff        = published.WithServerSideDiff
	WithServerSideDryRunner   = published.WithServerSideDryRunner
	WithStructuredMergeDiff   = published.WithStructuredMergeDiff
)
