package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"fleetsim/controllers/cosim"
	"fleetsim/controllers/virtualapi"
)

// readFiles finds the ApplicationSet. Without one, all clusters sync by themselves immediately.
func (s *set) readFiles() error {
	files := s.given.Files
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, document := range strings.Split("\n"+files[name], "\n---") {
			var head metav1.TypeMeta
			if strings.TrimSpace(document) == "" {
				continue
			}
			if err := yaml.Unmarshal([]byte(document), &head); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if head.Kind != "ApplicationSet" || s.object != nil {
				return fmt.Errorf("%s: the files must hold one ApplicationSet and nothing else; here is a second or a %q", name,
					head.Kind)
			}
			s.object = &argo.ApplicationSet{}
			if err := yaml.UnmarshalStrict([]byte(document), s.object); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if s.object == nil {
		s.object = &argo.ApplicationSet{}
		yes := true
		s.object.Spec.Template.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{Enabled: &yes}}
	}
	return s.complete()
}

// complete fills in the parts that depend on the fleet: one Application for each cluster, with the cluster's labels.
func (s *set) complete() error {
	set := s.object
	set.Namespace = namespace
	if set.Name == "" || s.product.s.Several() {
		set.Name = s.given.Name
	}
	if len(set.Spec.Generators) == 0 {
		set.Spec.Generators = []argo.ApplicationSetGenerator{{Clusters: &argo.ClusterGenerator{}}}
	}
	if err := s.selects(); err != nil {
		return err
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
	return s.completeTemplate()
}

// selects puts the clusters of one of several applications into the set's only generator: its selector, or a list of
// elements that have what a cluster has.
func (s *set) selects() error {
	if s.given.Selector == nil && !s.given.Listed {
		return nil
	}
	spec := &s.object.Spec
	if len(spec.Generators) != 1 || spec.Generators[0].Clusters == nil {
		return errors.New("clusters and selector need a set with one generator of clusters, or without generators")
	}
	if !s.given.Listed {
		return json.Unmarshal(s.given.Selector, &spec.Generators[0].Clusters.Selector)
	}
	if spec.GoTemplate {
		return errors.New("a list of clusters needs a template without goTemplate")
	}
	list := &argo.ListGenerator{}
	for _, cluster := range s.given.Clusters {
		target := s.product.s.Hello.Targets[cluster]
		element := map[string]string{"name": target.Name, "server": "https://" + target.Name}
		for label, value := range target.Labels {
			element["metadata.labels."+label] = value
		}
		raw, err := json.Marshal(element)
		must(err)
		list.Elements = append(list.Elements, apiextensions.JSON{Raw: raw})
	}
	spec.Generators[0] = argo.ApplicationSetGenerator{List: list}
	return nil
}

func (s *set) completeTemplate() error {
	template, dot := &s.object.Spec.Template, ""
	if s.object.Spec.GoTemplate {
		dot = "."
	}
	fill := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	if s.product.s.Several() {
		fill(&template.Name, s.given.Name+"-{{"+dot+"name}}")
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
	targets := s.product.s.Hello.Targets
	if s.product.options.templateLabels {
		targets = nil
	}
	for _, target := range targets {
		for _, label := range slices.Sorted(maps.Keys(target.Labels)) {
			// A cluster without the label keeps the text, or gets "": In fails and NotIn passes, as they do without
			// the label.
			value := "{{metadata.labels." + label + "}}"
			if s.object.Spec.GoTemplate {
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
	for _, set := range p.sets {
		project := set.object.Spec.Template.Spec.Project
		if w.Get(group, "appprojects", namespace, project) == nil {
			must(w.Create(group, "appprojects", &argo.AppProject{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: project},
			}))
		}
	}
	for i, target := range p.s.Hello.Targets {
		if p.isThere(target) && *target.Registered {
			p.register(w, i)
		}
	}
	if first := p.sets[0]; !p.s.Several() && first.latest > 0 {
		first.create(w, first.latest)
	}
}

// isThere says whether Argo CD knows a target before time 0. Beside a list of applications, it knows all.
func (p *product) isThere(target cosim.Target) bool {
	return p.s.Several() || *target.Revision == p.sets[0].latest
}

// createSets creates the sets of a list of applications when the caches have started: these hand over the objects of
// their first list in any order.
func (p *product) createSets() {
	time.Sleep(time.Minute)
	for _, set := range p.sets {
		if set.latest > 0 {
			p.api.Later(0, "installed", func(w virtualapi.World) { set.create(w, set.latest) })
		}
	}
	time.Sleep(time.Minute)
}

// begins starts the run: clusters join, and a person writes each release at its time.
func (p *product) begins() {
	p.api.Later(p.sets[0].given.Release.At, "time 0", func(w virtualapi.World) {
		for i, target := range p.s.Hello.Targets {
			if !p.isThere(target) && *target.Registered {
				p.register(w, i)
			}
		}
		p.sets[0].begins(w)
	})
	for _, set := range p.sets[1:] {
		p.api.Later(set.given.Release.At, "time 0", set.begins)
	}
}

func (s *set) begins(w virtualapi.World) {
	if revision := s.given.Release.Revision; revision != s.latest || s.latest == 0 {
		s.release(w, revision)
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

func (s *set) create(w virtualapi.World, revision int) {
	s.object.Spec.Template.Spec.Source.TargetRevision = targetRevision(revision)
	must(w.Create(group, "applicationsets", s.object))
}

// release lets a person write the template's targetRevision. A held set stays held.
func (s *set) release(w virtualapi.World, revision int) {
	s.latest = revision
	if w.Get(group, "applicationsets", namespace, s.object.Name) == nil {
		s.create(w, revision)
		return
	}
	s.object.Spec.Template.Spec.Source.TargetRevision = targetRevision(revision)
	s.writeSpec(w)
}

// stop lets a person hold a RollingSync by maxUpdate 0 in all steps, or undo that.
func (s *set) stop(w virtualapi.World, stop bool) {
	if s.object.Spec.Strategy != nil && s.object.Spec.Strategy.RollingSync != nil {
		s.held = stop
		s.writeSpec(w)
	}
}

func (s *set) writeSpec(w virtualapi.World) {
	spec := s.object.DeepCopy().Spec
	if s.held {
		for i := range spec.Strategy.RollingSync.Steps {
			none := intstr.FromInt32(0)
			spec.Strategy.RollingSync.Steps[i].MaxUpdate = &none
		}
	}
	must(w.Update(group, "applicationsets", namespace, s.object.Name, false, func(o virtualapi.Object) { o["spec"] = spec }))
}
