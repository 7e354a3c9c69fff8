package main

import (
	"maps"
	"reflect"

	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// renderer is Argo CD's own renderer with a cache: each pass asks for the same Applications again, and the result
// depends only on template, sync policy and parameters.
type renderer struct {
	utils.Render
	template *argo.Application
	policy   *argo.ApplicationSetSyncPolicy
	isGo     bool
	options  []string
	rendered map[string]rendered // by the parameter `name`
	// last is the template of the last call, as the controller holds it.
	last *argo.Application
}

type rendered struct {
	parameters  map[string]any
	application *argo.Application
}

// RenderTemplateParams renders, or copies a cached result.
func (r *renderer) RenderTemplateParams(template *argo.Application, policy *argo.ApplicationSetSyncPolicy,
	parameters map[string]any, isGo bool, options []string) (*argo.Application, error) {
	name, ok := parameters["name"].(string)
	if template == nil || !ok {
		return r.Render.RenderTemplateParams(template, policy, parameters, isGo, options)
	}
	r.begin(template, policy, isGo, options)
	if known, ok := r.rendered[name]; ok && reflect.DeepEqual(known.parameters, parameters) {
		return known.application.DeepCopy(), nil
	}
	application, err := r.Render.RenderTemplateParams(template, policy, parameters, isGo, options)
	if err == nil {
		r.rendered[name] = rendered{parameters: maps.Clone(parameters), application: application.DeepCopy()}
	}
	return application, err
}

// begin drops the results of another template. All Applications of a pass have one template.
func (r *renderer) begin(template *argo.Application, policy *argo.ApplicationSetSyncPolicy, isGo bool, options []string) {
	if template == r.last {
		return
	}
	r.last = template
	if r.template == nil || isGo != r.isGo || !reflect.DeepEqual(template, r.template) ||
		!reflect.DeepEqual(policy, r.policy) || !reflect.DeepEqual(options, r.options) {
		r.template, r.policy, r.isGo, r.options = template.DeepCopy(), policy.DeepCopy(), isGo, options
		r.rendered = map[string]rendered{}
	}
}
