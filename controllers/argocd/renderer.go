package main

import (
	"maps"
	"reflect"
	"sync"

	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// renderer is Argo CD's own renderer with a cache: each pass asks for the same Applications again, and the result
// depends only on template, sync policy and parameters. Templates of two sets have different names.
type renderer struct {
	utils.Render
	mu    sync.Mutex
	known map[string]*memory // by the template's name
}

func newRenderer() *renderer { return &renderer{known: map[string]*memory{}} }

// memory is what has been rendered of one template.
type memory struct {
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
	r.mu.Lock()
	defer r.mu.Unlock()
	memory := r.recall(template, policy, isGo, options)
	if known, ok := memory.rendered[name]; ok && reflect.DeepEqual(known.parameters, parameters) {
		return known.application.DeepCopy(), nil
	}
	application, err := r.Render.RenderTemplateParams(template, policy, parameters, isGo, options)
	if err == nil {
		memory.rendered[name] = rendered{parameters: maps.Clone(parameters), application: application.DeepCopy()}
	}
	return application, err
}

// recall drops the results of an earlier template of the same name. All Applications of a pass have one template.
func (r *renderer) recall(template *argo.Application, policy *argo.ApplicationSetSyncPolicy, isGo bool,
	options []string) *memory {
	m := r.known[template.Name]
	if m == nil {
		m = &memory{}
		r.known[template.Name] = m
	}
	if template == m.last {
		return m
	}
	m.last = template
	if m.template == nil || isGo != m.isGo || !reflect.DeepEqual(template, m.template) ||
		!reflect.DeepEqual(policy, m.policy) || !reflect.DeepEqual(options, m.options) {
		m.template, m.policy, m.isGo, m.options = template.DeepCopy(), policy.DeepCopy(), isGo, options
		m.rendered = map[string]rendered{}
	}
	return m
}
