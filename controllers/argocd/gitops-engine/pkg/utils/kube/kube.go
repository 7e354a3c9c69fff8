// Package kube names the parts of the published package that Argo CD uses, without access to clusters: the
// ApplicationSet controller has none.
package kube

import (
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	published "github.com/argoproj/gitops-engine/pkg/utils/kube"
)

// Published names.
type (
	APIResourceInfo  = published.APIResourceInfo
	Kubectl          = published.Kubectl
	OnKubectlRunFunc = published.OnKubectlRunFunc
	ResourceKey      = published.ResourceKey
)

// Published names.
const (
	DaemonSetKind   = published.DaemonSetKind
	DeploymentKind  = published.DeploymentKind
	JobKind         = published.JobKind
	ReplicaSetKind  = published.ReplicaSetKind
	StatefulSetKind = published.StatefulSetKind
)

// Published names.
var (
	GetResourceKey  = published.GetResourceKey
	IsCRD           = published.IsCRD
	NewResourceKey  = published.NewResourceKey
	WriteKubeConfig = published.WriteKubeConfig
)

// KubectlCmd would access a cluster. It is never called here and does not implement Kubectl.
type KubectlCmd struct {
	Kubectl
	Log          logr.Logger
	Tracer       tracing.Tracer
	OnKubectlRun OnKubectlRunFunc
}

// ManageServerSideDiffDryRuns is not available here.
func (*KubectlCmd) ManageServerSideDiffDryRuns(*rest.Config) (diff.KubeApplier, func(), error) {
	return nil, nil, errors.New("there are no clusters to compare with")
}
