package cosim

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// applications returns the applications of a run. A run without a list of them has one, on all clusters.
func applications(hello *Hello) ([]Application, error) {
	if len(hello.Applications) == 0 {
		return []Application{{
			Name: hello.Release.Name, Clusters: everything(hello), Files: hello.Files, Release: hello.Release,
		}}, nil
	}
	if hello.Release != (Release{}) || len(hello.Files) > 0 {
		return nil, errors.New("with applications, release and files belong to each application and not to hello")
	}
	for _, target := range hello.Targets {
		if target.Revision != nil {
			return nil, fmt.Errorf("with applications, revisions belong to release.installed of each; target %s has one",
				target.Name)
		}
	}
	list := slices.Clone(hello.Applications)
	names := map[string]bool{}
	for i := range list {
		application := &list[i]
		if application.Name == "" || names[application.Name] {
			return nil, fmt.Errorf("names of applications must be unique and not empty; application %d is %q", i,
				application.Name)
		}
		names[application.Name] = true
		if err := application.complete(hello); err != nil {
			return nil, fmt.Errorf("application %s: %w", application.Name, err)
		}
	}
	return list, nil
}

func everything(hello *Hello) []int {
	clusters := make([]int, len(hello.Targets))
	for i := range clusters {
		clusters[i] = i
	}
	return clusters
}

// complete checks an application and finds its clusters.
func (a *Application) complete(hello *Hello) error {
	a.Release.Name = a.Name
	if a.Release.Revision < 1 || a.Release.Installed < 0 || a.Release.At < 0 {
		return errors.New("release must have a revision of at least 1, and neither installed nor at may be negative")
	}
	switch {
	case a.Selector != nil && a.Clusters != nil:
		return errors.New("clusters and selector exclude each other")
	case a.Selector != nil:
		return a.selectClusters(hello)
	case a.Clusters == nil:
		a.Clusters = everything(hello)
		return nil
	}
	a.Listed = true
	for i, cluster := range a.Clusters {
		if cluster < 0 || cluster >= len(hello.Targets) || i > 0 && cluster <= a.Clusters[i-1] {
			return fmt.Errorf("clusters must be numbers below %d, in ascending order; here is %d", len(hello.Targets), cluster)
		}
	}
	return nil
}

func (a *Application) selectClusters(hello *Hello) error {
	var given metav1.LabelSelector
	if err := json.Unmarshal(a.Selector, &given); err != nil {
		return fmt.Errorf("selector: %w", err)
	}
	selector, err := metav1.LabelSelectorAsSelector(&given)
	if err != nil {
		return fmt.Errorf("selector: %w", err)
	}
	for i, target := range hello.Targets {
		if selector.Matches(labels.Set(target.Labels)) {
			a.Clusters = append(a.Clusters, i)
		}
	}
	if len(a.Clusters) == 0 {
		return errors.New("selector matches no target")
	}
	return nil
}
