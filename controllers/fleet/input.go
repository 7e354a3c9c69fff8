package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fleetsim/controllers/cosim"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// input holds the user's files: a fleet.yaml or a Bundle, and optionally a GitRepo and ClusterGroups.
type input struct {
	bundle *fleet.Bundle
	groups []*fleet.ClusterGroup
}

func intOrString(number int) intstr.IntOrString { return intstr.FromInt32(int32(number)) }

// read parses the strategy's files. A document without a kind is a fleet.yaml. The clusters are where the bundle goes
// unless the files say so.
func read(files map[string]string, name string, clusters []fleet.GitTarget) (input, error) {
	in := input{bundle: &fleet.Bundle{}}
	var repo *fleet.GitRepo
	var custom []fleet.BundleTarget
	var overrides []fleet.GitTarget
	main, whole := "", false
	for _, path := range slices.Sorted(maps.Keys(files)) {
		for _, document := range strings.Split("\n"+files[path], "\n---") {
			if strings.TrimSpace(document) == "" {
				continue
			}
			raw := []byte(document)
			var head metav1.TypeMeta
			if err := yaml.Unmarshal(raw, &head); err != nil {
				return in, fmt.Errorf("%s: %w", path, err)
			}
			if head.Kind == "" || head.Kind == "Bundle" {
				if main != "" {
					return in, fmt.Errorf("%s: there must be one fleet.yaml or Bundle; %s is one too", path, main)
				}
				main = path
			}
			var err error
			switch head.Kind {
			case "":
				var own fleet.FleetYAML
				err = yaml.UnmarshalStrict(raw, &own)
				in.bundle.Spec, in.bundle.Labels = own.BundleSpec, own.Labels
				custom, overrides = own.TargetCustomizations, own.OverrideTargets
			case "Bundle":
				err = yaml.UnmarshalStrict(raw, in.bundle)
				whole = true
			case "GitRepo":
				repo = &fleet.GitRepo{}
				err = yaml.UnmarshalStrict(raw, repo)
			case "ClusterGroup":
				clusters := &fleet.ClusterGroup{}
				err = yaml.UnmarshalStrict(raw, clusters)
				clusters.Namespace = workspace
				in.groups = append(in.groups, clusters)
			default:
				err = fmt.Errorf("the kind must be Bundle, GitRepo or ClusterGroup, or absent in a fleet.yaml; it is %q", head.Kind)
			}
			if err != nil {
				return in, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	in.bundle.Name, in.bundle.Namespace, in.bundle.Status = name, workspace, fleet.BundleStatus{}
	in.bundle.ResourceVersion, in.bundle.UID = "", ""
	if repo != nil {
		in.bundle.Spec.Paused = in.bundle.Spec.Paused || repo.Spec.Paused
	}
	switch {
	case whole && len(in.bundle.Spec.Targets) > 0:
	case overrides != nil:
		in.targets(custom, overrides)
	case repo != nil && len(repo.Spec.Targets) > 0:
		in.targets(custom, repo.Spec.Targets)
	default:
		in.targets(custom, clusters)
	}
	return in, nil
}

// clustersOf returns where an application's bundle goes: to the clusters of its list, of its selector, or to all.
func clustersOf(application cosim.Application, targets []cosim.Target) ([]fleet.GitTarget, error) {
	if application.Listed {
		var list []fleet.GitTarget
		for _, cluster := range application.Clusters {
			list = append(list, fleet.GitTarget{Name: targets[cluster].Name, ClusterName: targets[cluster].Name})
		}
		return list, nil
	}
	selector := &metav1.LabelSelector{}
	if application.Selector != nil {
		if err := json.Unmarshal(application.Selector, selector); err != nil {
			return nil, err
		}
	}
	return []fleet.GitTarget{{Name: "default", ClusterSelector: selector}}, nil
}

// targets joins the targets of fleet.yaml and GitRepo as `fleet apply` does: customizations first, then targets, which
// are also the restrictions.
func (in *input) targets(custom []fleet.BundleTarget, given []fleet.GitTarget) {
	spec := &in.bundle.Spec
	spec.Targets = append(spec.Targets, custom...)
	for i := range spec.Targets {
		if spec.Targets[i].Name == "" {
			spec.Targets[i].Name = fmt.Sprintf("target%03d", i)
		}
	}
	for _, target := range given {
		spec.Targets = append(spec.Targets, fleet.BundleTarget{
			Name: target.Name, ClusterName: target.ClusterName, ClusterSelector: target.ClusterSelector,
			ClusterGroup: target.ClusterGroup, ClusterGroupSelector: target.ClusterGroupSelector,
		})
		spec.TargetRestrictions = append(spec.TargetRestrictions, fleet.BundleTargetRestriction(target))
	}
}
