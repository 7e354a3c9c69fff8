package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"fleetsim/controllers/virtualapi"
)

// readFiles finds the ApplicationSet. Without one, all clusters sync by themselves immediately.
func (p *product) readFiles() error {
	files := p.s.Hello.Files
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, document := range strings.Split("\n"+files[name], "\n---") {
			var head metav1.TypeMeta
			if strings.TrimSpace(document) == "" {
				continue
			}
			if err := yaml.Unmarshal([]byte(document), &head); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if head.Kind != "ApplicationSet" || p.set != nil {
				return fmt.Errorf("%s: the files must hold one ApplicationSet and nothing else; here is a second or a %q", name,
					head.Kind)
			}
			p.set = &argo.ApplicationSet{}
			if err := yaml.UnmarshalStrict([]byte(document), p.set); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if p.set == nil {
		p.set = &argo.ApplicationSet{}
		yes := true
		p.set.Spec.Template.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{Enabled: &yes}}
	}
	return p.complete()
}

// complete fills in the parts that depend on the fleet: one Application for each cluster, with the cluster's labels.
func (p *product) complete() error {
	set := p.set
	set.Namespace = namespace
	if set.Name == "" {
		set.Name = p.s.Hello.Release.Name
	}
	if len(set.Spec.Generators) == 0 {
		set.Spec.Generators = []argo.ApplicationSetGenerator{{Clusters: &argo.ClusterGenerator{}}}
	}
	for i := range set.Spec.Generators {
		generator := &set.Spec.Generators[i]
		if generator.Clusters == nil && generator.List == nil {
			return errors.New("spec.generators: only clusters and list work on a simulated fleet")
		}
		if generator.Clusters == nil {
			continue
		}
		if selector := &generator.Clusters.Selector; len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
			// Argo CD's own cluster, which an empty selector would add, is not a target.
			selector.MatchLabels = map[string]string{common.LabelKeySecretType: common.LabelValueSecretTypeCluster}
		}
	}
	return p.completeTemplate()
}

func (p *product) completeTemplate() error {
	template, dot := &p.set.Spec.Template, ""
	if p.set.Spec.GoTemplate {
		dot = "."
	}
	fill := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	fill(&template.Name, "{{"+dot+"name}}")
	fill(&template.Spec.Project, "default")
	if len(template.Spec.Sources) > 0 {
		return errors.New("spec.template.spec.sources: a simulated release is one source; use source")
	}
	if template.Spec.Source == nil {
		template.Spec.Source = &argo.ApplicationSource{RepoURL: "https://git.example.com/app.git", Path: "deploy"}
	}
	if template.Spec.Destination.Name == "" {
		fill(&template.Spec.Destination.Server, "{{"+dot+"server}}")
	}
	fill(&template.Spec.Destination.Namespace, "default")
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	targets := p.s.Hello.Targets
	if p.options.templateLabels {
		targets = nil
	}
	for _, target := range targets {
		for _, label := range slices.Sorted(maps.Keys(target.Labels)) {
			// A cluster without the label keeps the text, or gets "": In fails and NotIn passes, as they do without
			// the label.
			value := "{{metadata.labels." + label + "}}"
			if p.set.Spec.GoTemplate {
				value = fmt.Sprintf("{{index .metadata.labels %q}}", label)
			}
			if _, given := template.Labels[label]; !given {
				template.Labels[label] = value
			}
		}
	}
	return nil
}

// targetRevision names a revision in the template.
func targetRevision(revision int) string { return fmt.Sprintf("v%d", revision) }

// commit is the hash to which the source resolves.
func commit(revision int) string { return fmt.Sprintf("%040x", revision) }

// before sets up the world before the controller starts.
func (p *product) before(w virtualapi.World) {
	part := map[string]string{"app.kubernetes.io/part-of": "argocd"}
	must(w.Create("", "configmaps", &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: common.ArgoCDConfigMapName, Labels: part},
	}))
	must(w.Create("", "secrets", &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: common.ArgoCDSecretName, Labels: part},
	}))
	must(w.Create(group, "appprojects", &argo.AppProject{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.set.Spec.Template.Spec.Project},
	}))
	for i, target := range p.s.Hello.Targets {
		if *target.Revision == p.latest && *target.Registered {
			p.register(w, i)
		}
	}
	if p.latest > 0 {
		p.createSet(w, p.latest)
	}
}

// timeZero starts the run: clusters join, and a person writes the release.
func (p *product) timeZero(w virtualapi.World) {
	for i, target := range p.s.Hello.Targets {
		if *target.Revision != p.latest && *target.Registered {
			p.register(w, i)
		}
	}
	if revision := p.s.Hello.Release.Revision; revision != p.latest || p.latest == 0 {
		p.release(w, revision)
	}
}

func (p *product) secret(target int) string { return "cluster-" + p.s.Hello.Targets[target].Name }

func (p *product) secretLabels(target int) map[string]string {
	labels := map[string]string{common.LabelKeySecretType: common.LabelValueSecretTypeCluster}
	maps.Copy(labels, p.s.Hello.Targets[target].Labels)
	return labels
}

// register makes a cluster known to Argo CD.
func (p *product) register(w virtualapi.World, target int) {
	name := p.s.Hello.Targets[target].Name
	must(w.Create("", "secrets", &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.secret(target), Labels: p.secretLabels(target)},
		Data:       map[string][]byte{"name": []byte(name), "server": []byte("https://" + name), "config": []byte("{}")},
	}))
}

func (p *product) createSet(w virtualapi.World, revision int) {
	p.set.Spec.Template.Spec.Source.TargetRevision = targetRevision(revision)
	must(w.Create(group, "applicationsets", p.set))
}

// release lets a person write the template's targetRevision. A held set stays held.
func (p *product) release(w virtualapi.World, revision int) {
	p.latest = revision
	if w.Get(group, "applicationsets", namespace, p.set.Name) == nil {
		p.createSet(w, revision)
		return
	}
	p.set.Spec.Template.Spec.Source.TargetRevision = targetRevision(revision)
	p.writeSpec(w)
}

// stop lets a person hold a RollingSync by maxUpdate 0 in all steps, or undo that.
func (p *product) stop(w virtualapi.World, stop bool) {
	if p.set.Spec.Strategy != nil && p.set.Spec.Strategy.RollingSync != nil {
		p.held = stop
		p.writeSpec(w)
	}
}

func (p *product) writeSpec(w virtualapi.World) {
	spec := p.set.DeepCopy().Spec
	if p.held {
		for i := range spec.Strategy.RollingSync.Steps {
			none := intstr.FromInt32(0)
			spec.Strategy.RollingSync.Steps[i].MaxUpdate = &none
		}
	}
	must(w.Update(group, "applicationsets", namespace, p.set.Name, false, func(o virtualapi.Object) { o["spec"] = spec }))
}
