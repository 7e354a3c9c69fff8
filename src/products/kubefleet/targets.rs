//! The member clusters that a placement's file picks from the fleet.
//!
//! The rules are in `rollout::kubefleet`. An entry of the fleet is a joined member without taints and with the label
//! that KubeFleet adds. A policy field that uses properties or the scheduler's ranking affects the rollout and is not
//! simulated, unless the placement's status lists its clusters.

use super::super::words::first_names;
use super::member_clusters;
use crate::document::context::{Context, Document};
use crate::document::path::Path;
use crate::products::fields::{FileChoice, ObjectKind};
use crate::products::{ChosenTarget, Fleet, ProductFile, Targets};
use crate::rollout::kubefleet::{
    NotPicked, NotPickedReason, PickedBy, PickingPlacement, SchedulableMember,
};
use crate::units::counted;

pub(super) const PLACEMENTS: [ObjectKind; 2] = [
    ObjectKind::of("ClusterResourcePlacement"),
    ObjectKind::as_in("ResourcePlacement", "ClusterResourcePlacement"),
];

pub(super) const REFUSED: &str = "KubeFleet refuses this too";

/// Returns the strategy's targets in the fleet. `None`: a problem was reported.
pub(super) fn of(
    choice: FileChoice<'_>,
    fleet: Fleet<'_>,
    context: &mut Context<'_>,
) -> Option<Targets> {
    let Some(name) = choice.name else {
        return Some(Targets::All);
    };
    // Problems and notes about the file are reported when the strategy is checked.
    let file = context.unreported(|context| {
        ProductFile::<PickingPlacement>::object(choice, &PLACEMENTS, &[], context)
    });
    let Some(ProductFile {
        document: Some(document),
        value: placement,
    }) = file
    else {
        return Some(Targets::All);
    };
    // An external placement is rejected as a rolling update, but update runs support it.
    let is_refused = placement.spec.validate().is_err() || placement.spec.is_external();
    if is_refused || fleet.is_empty() {
        return Some(Targets::All);
    }
    let picked = match placement.spec.pick(&placement.status, &schedulable(fleet)) {
        Ok(picked) => picked,
        Err(errors) => {
            for error in errors {
                report(&error, &document, context);
            }
            return None;
        }
    };
    let all = fleet.len();
    if picked.members.len() == all {
        return Some(Targets::All);
    }
    let mut targets = Vec::new();
    let mut others = Vec::new();
    for (index, cluster) in fleet.world.clusters.iter().enumerate() {
        if picked.members.contains(&index) {
            targets.push(ChosenTarget {
                index,
                labels: None,
            });
        } else {
            others.push(cluster.name.clone());
        }
    }
    let by = match picked.by {
        PickedBy::Status => "the status of the placement names",
        PickedBy::Names | PickedBy::Policy => "the placement picks",
    };
    context.notes.push(format!(
        "{name}: {by} {} of {}; not picked: {}",
        targets.len(),
        counted(all, "cluster"),
        first_names(&others)
    ));
    Some(Targets::Chosen(targets))
}

/// Returns the entries of the fleet as the scheduler sees them.
fn schedulable(fleet: Fleet<'_>) -> Vec<SchedulableMember> {
    let mut members = Vec::new();
    for member in member_clusters(&fleet.world.clusters) {
        members.push(SchedulableMember {
            name: member.name,
            labels: member.labels,
            taints: Vec::new(),
        });
    }
    members
}

/// Reports the reason why the picked clusters are not known.
fn report(error: &NotPicked, document: &Document, context: &mut Context<'_>) {
    let help = match error.reason {
        NotPickedReason::UnknownName(_) | NotPickedReason::UnknownStatus => {
            "compare the names with those of the fleet"
        }
        NotPickedReason::SomeOf { .. } => {
            "fleetsim does not simulate which clusters KubeFleet picks: name the placement with its status, or reduce \
             the fleet to those clusters"
        }
        NotPickedReason::Selector(_) => REFUSED,
        NotPickedReason::Nobody => "compare its affinity with the labels of the fleet",
    };
    let at = Path::parse(&error.at).unwrap_or_default();
    let problem = document.at(&at, error.to_string());
    context.problems.push(problem.with_help(help));
}
