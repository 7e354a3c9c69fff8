// Package common names what Argo CD takes from the published package of this name.
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
