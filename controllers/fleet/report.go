package main

import (
	"encoding/json"
	"fmt"

	"fleetsim/controllers/cosim"
	"fleetsim/controllers/virtualapi"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// observe handles every write.
func (p *product) observe(w virtualapi.World, change virtualapi.Change) {
	switch change.Resource.Plural {
	case "bundledeployments":
		place, ok := p.places[textOf(change.Object, "metadata", "namespace")]
		if b := p.named(textOf(change.Object, "metadata", "name")); ok && b != nil {
			p.clusters[place].agents[b.number].sees(w, change)
		}
	case "namespaces":
		// Kubernetes deletes the objects in a deleted namespace.
		place, ok := p.places[textOf(change.Object, "metadata", "name")]
		if ok && change.Type == "DELETED" {
			for _, a := range p.clusters[place].agents {
				w.Later(0, a.key, func(w virtualapi.World) {
					if a.stored(w) != nil {
						must(w.Delete(group, "bundledeployments", a.namespace(), a.bundle.object.Name))
					}
				})
			}
		}
	case "bundles":
		if p.started && change.Type == "MODIFIED" && change.Client != "" {
			p.named(textOf(change.Object, "metadata", "name")).tell(change.Object)
		}
	}
}

// named finds a bundle.
func (p *product) named(name string) *bundle {
	for _, b := range p.bundles {
		if b.object.Name == name {
			return b
		}
	}
	return nil
}

// tell reports the bundle's status: its Ready condition, and the fields that Rancher shows.
func (b *bundle) tell(object virtualapi.Object) {
	session := b.product.session
	bundle := decode(object)
	note := func(name, status, reason, message string) {
		value := fmt.Sprint(status, "\x00", reason, "\x00", message)
		if b.seen[name] != value {
			b.seen[name] = value
			session.Condition(cosim.Condition{
				Object: "Bundle/" + bundle.Name, Condition: name, Status: status, Reason: reason, Message: message,
			})
		}
	}
	status := bundle.Status
	ready, message := false, ""
	for _, c := range status.Conditions {
		note(c.Type, string(c.Status), c.Reason, c.Message)
		if c.Type == string(fleet.Ready) {
			ready, message = c.Status == "True", c.Message
		}
	}
	note("display.state", status.Display.State, "", "")
	note("unavailablePartitions", fmt.Sprint(status.UnavailablePartitions), "", "")
	line := status.Display.ReadyClusters
	if status.Display.State != "" {
		line += " " + status.Display.State
	}
	if message != "" {
		line += ": " + message
	}
	session.Status(b.number, line)
	revision := b.product.revisions[b.wanted]
	if ready && status.ObservedGeneration == bundle.Generation && status.Summary.DesiredReady > 0 &&
		b.completed != revision {
		b.completed = revision
		session.Completed(b.number, revision)
	}
}

func decode(object virtualapi.Object) *fleet.Bundle {
	bundle := &fleet.Bundle{}
	raw, err := json.Marshal(object)
	must(err)
	must(json.Unmarshal(raw, bundle))
	return bundle
}

// Hold explains by the bundle's status, since Fleet itself names no rule. It includes the Ready condition.
func (p *product) Hold(application int) (hold cosim.Hold) {
	b := p.bundles[application]
	p.api.Do(func(w virtualapi.World) {
		object := w.Get(group, "bundles", workspace, b.object.Name)
		if object == nil {
			return
		}
		bundle := decode(object)
		message := ""
		for _, c := range bundle.Status.Conditions {
			if c.Type == string(fleet.Ready) && c.Status != "True" {
				message = c.Message
				if c.Reason == "Error" {
					hold = cosim.Hold{Rule: "rolloutStrategy", Explanation: message}
					return
				}
			}
		}
		waiting, missing := b.waiting(w)
		switch {
		case waiting+missing > 0:
			hold = p.rule(bundle, waiting, missing)
		case message != "":
			hold.Rule = "ready"
		}
		if hold.Explanation != "" && message != "" {
			hold.Explanation += "; "
		}
		hold.Explanation += message
	})
	return hold
}

// waiting counts the clusters whose BundleDeployment has other content, and the clusters without a BundleDeployment.
func (b *bundle) waiting(w virtualapi.World) (waiting, missing int) {
	p := b.product
	revision := p.revisions[b.wanted]
	for _, cluster := range b.application.Clusters {
		if w.Get(group, "clusters", workspace, p.session.Hello.Targets[cluster].Name) == nil {
			continue
		}
		if object := p.clusters[cluster].agents[b.number].stored(w); object == nil {
			missing++
		} else if p.revisionOf(textOf(object, "spec", "deploymentID")) != revision {
			waiting++
		}
	}
	return waiting, missing
}

func (p *product) rule(bundle *fleet.Bundle, waiting, missing int) cosim.Hold {
	status := bundle.Status
	clusters := fmt.Sprintf("%d clusters wait", waiting+missing)
	if waiting+missing == 1 {
		clusters = "1 cluster waits"
	}
	switch {
	case bundle.Spec.Paused:
		return cosim.Hold{Rule: "paused", Explanation: "the bundle is paused; " + clusters}
	case waiting > 0 && status.Unavailable >= status.MaxUnavailable:
		return cosim.Hold{Rule: "maxUnavailable", Explanation: fmt.Sprintf(
			"%d of at most %d clusters are unavailable; %s", status.Unavailable, status.MaxUnavailable, clusters)}
	}
	for _, partition := range status.PartitionStatus {
		if waiting > 0 && partition.Count > 0 && partition.Unavailable >= partition.MaxUnavailable &&
			partition.Summary.WaitApplied+partition.Summary.ErrApplied > 0 {
			return cosim.Hold{Rule: "maxUnavailable", Explanation: fmt.Sprintf(
				"%d of at most %d clusters of the partition %s are unavailable; %s", partition.Unavailable,
				partition.MaxUnavailable, partition.Name, clusters)}
		}
	}
	if status.UnavailablePartitions > status.MaxUnavailablePartitions {
		return cosim.Hold{Rule: "maxUnavailablePartitions", Explanation: fmt.Sprintf(
			"%d partitions are unavailable and at most %d may be; %s", status.UnavailablePartitions,
			status.MaxUnavailablePartitions, clusters)}
	}
	if most := bundle.Spec.RolloutStrategy; missing > 0 && most != nil && most.MaxNew != nil && *most.MaxNew <= 0 {
		return cosim.Hold{Rule: "maxNew", Explanation: fmt.Sprintf("maxNew is %d; %s", *most.MaxNew, clusters)}
	}
	paused, strangers := 0, 0
	for _, target := range p.session.Hello.Targets {
		if !*target.Registered {
			strangers++
		} else if target.Paused {
			paused++
		}
	}
	if paused+strangers > 0 && waiting+missing <= paused+strangers {
		hold := cosim.Hold{Rule: "paused", Explanation: fmt.Sprintf(
			"%s: %d are paused and %d not registered", clusters, paused, strangers)}
		if paused == 0 {
			hold.Rule = "status.namespace"
		}
		return hold
	}
	if bundle.Spec.RolloutStrategy != nil && len(bundle.Spec.RolloutStrategy.Partitions) > 0 {
		return cosim.Hold{Rule: "partitions", Explanation: "no partition matches; " + clusters}
	}
	return cosim.Hold{}
}
