// Command argocd runs a simulated fleet with Argo CD's own ApplicationSet controller.
//
// # What it models
//
// The ApplicationSetReconciler of Argo CD, unmodified, with its manager, predicates, queue, progressive syncs and
// client limits, in virtual time over an API server in memory. A file of each application of the run holds its
// ApplicationSet; each target is a cluster secret and, through the set's generator, one Application of each set. A
// release is a change of the template's targetRevision. Sets share the controller and the application controller.
//
// The application controller is not Argo CD's: applications.go models what happens to an Application between the set's
// write and its status. The simulator models the clusters.
//
// # What it leaves out
//
// Missing sources, projects that refuse, hooks and waves, periodic refreshes, webhooks. Events are not written:
// nothing depends on them, they have their own client limit, and the number of merged events is not reproducible.
//
// # How we know
//
// The module's version is in go.mod. Argo CD needs its gitops-engine, which is not published as a separate module: the
// folder gitops-engine names the parts of the engine's last published version that the ApplicationSet controller uses.
package main

import (
	"fleetsim/controllers/cosim"
	"fleetsim/controllers/types"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// version of the module in go.mod.
const version = "v3.5.7"

// kinds lists the objects that Argo CD reads.
var kinds = []types.Kind{
	{Name: "ApplicationSet", Type: argo.ApplicationSet{}},
	{Name: "Application", Type: argo.Application{}},
	{Name: "AppProject", Type: argo.AppProject{}},
}

func main() {
	if !types.Main(kinds) {
		cosim.Main(func() cosim.Product { return &product{} })
	}
}
