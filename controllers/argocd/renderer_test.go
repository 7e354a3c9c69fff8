package main

import (
	"reflect"
	"testing"

	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

func template(revision string) *argo.Application {
	template := &argo.Application{}
	template.Name, template.Labels = "{{name}}", map[string]string{"ring": "{{metadata.labels.ring}}"}
	template.Spec.Source = &argo.ApplicationSource{RepoURL: "https://git.example.com/app.git", TargetRevision: revision}
	return template
}

func parameters(name, ring string) map[string]any {
	return map[string]any{"name": name, "metadata.labels.ring": ring}
}

func TestTheRendererRendersWhatArgoCDRenders(t *testing.T) {
	mine, own := newRenderer(), &utils.Render{}
	preserves := &argo.ApplicationSetSyncPolicy{PreserveResourcesOnDeletion: true}
	old := template("v1")
	cases := []struct {
		template   *argo.Application
		policy     *argo.ApplicationSetSyncPolicy
		parameters map[string]any
	}{
		{old, nil, parameters("a", "early")}, {old, nil, parameters("b", "early")}, {old, nil, parameters("a", "early")},
		{old, nil, parameters("a", "rest")}, {template("v2"), nil, parameters("a", "rest")},
		{template("v2"), nil, parameters("a", "rest")}, {template("v2"), preserves, parameters("a", "rest")},
		{old, nil, nil}, {nil, nil, parameters("a", "rest")},
	}
	for i, c := range cases {
		found, err := mine.RenderTemplateParams(c.template, c.policy, c.parameters, false, nil)
		wanted, wrong := own.RenderTemplateParams(c.template, c.policy, c.parameters, false, nil)
		if !reflect.DeepEqual(found, wanted) || (err == nil) != (wrong == nil) {
			t.Errorf("case %d: %v, %v instead of %v, %v", i, found, err, wanted, wrong)
		}
		if found != nil && found != c.template {
			// Changes that the controller makes to its copy must not affect the next pass.
			found.Labels["ring"], found.Spec.Source.TargetRevision = "changed", "changed"
		}
	}
}
