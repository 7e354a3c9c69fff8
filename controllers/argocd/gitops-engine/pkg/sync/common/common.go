// Package common names the parts of the published package that Argo CD uses.
package common

import published "github.com/argoproj/gitops-engine/pkg/sync/common"

// Published names.
type (
	HookType           = published.HookType
	OperationPhase     = published.OperationPhase
	ResourceSyncResult = published.ResourceSyncResult
	ResultCode         = published.ResultCode
	SyncPhase          = published.SyncPhase
)

// Published names.
const (
	AnnotationDeletionApproved = published.AnnotationDeletionApproved
	ResultCodePruneSkipped     = published.ResultCodePruneSkipped
)
