//! The releases after the first one, and the rules of people who react, in words.
//!
//! The bytes of a release are those of a node that runs what was released before it. Left out: nodes that have earlier
//! layers, or that have missed the release before.

use std::collections::BTreeSet;

use fleetsim::rollout::Revision;
use fleetsim::scenario::{
    ApplicationRollout, OperatorAct, OperatorRule, OperatorSign, PublishedRelease, Scenario,
    TargetAmount,
};
use fleetsim::units::Bytes;
use fleetsim::world::{ImageSpec, LayerSpec, NEW, OLD, WorldSpec, later_release};
use itertools::Itertools;

/// Returns one line for each later release and each rule. Empty if there are none.
pub(super) fn lines(scenario: &Scenario) -> Vec<String> {
    let mut lines = Vec::new();
    let mut first = 0;
    for alike in scenario.applications.chunk_by(is_released_alike) {
        let names = match alike {
            [one] if one.name.is_empty() => String::new(),
            [one] => format!(" of {}", one.name),
            [one, .., last] => format!(" of each of {} to {}", one.name, last.name),
            [] => String::new(),
        };
        lines.extend(later_releases(scenario, first, &names));
        first += alike.len();
    }
    for rule in &scenario.operator {
        lines.push(rule_in_words(scenario, rule));
    }
    lines
}

/// Returns whether two applications are released at the same times with the same sizes.
fn is_released_alike(one: &ApplicationRollout, other: &ApplicationRollout) -> bool {
    one.released == other.released
        && one.later == other.later
        && super::has_images_alike(one, other)
}

/// Returns a line for each release after the first one of an application. `names`: whose releases they are.
fn later_releases(scenario: &Scenario, application: usize, names: &str) -> Vec<String> {
    let rollout = &scenario.applications[application];
    let mut lines = Vec::new();
    let mut before = NEW;
    for (number, PublishedRelease { after, revision }) in (2..).zip(&rollout.later) {
        let at = rollout.released + *after;
        let new = new_to_node(&scenario.world, application, before, *revision);
        lines.push(format!(
            "release {number}{names} at {at}: {}; {new} of it new to a node that runs {}",
            content(*revision),
            content(before)
        ));
        before = *revision;
    }
    lines
}

/// Returns the name of a content, as in `releases.csv`.
fn content(revision: Revision) -> String {
    match later_release(revision) {
        Some(release) => format!("content {}", release + 2),
        None if revision == OLD => "the installed content".to_owned(),
        None => "content 1".to_owned(),
    }
}

/// Returns the bytes of an application's images that a node downloads if it has those of the content before.
fn new_to_node(world: &WorldSpec, application: usize, before: Revision, to: Revision) -> Bytes {
    let workloads = &world.applications[application].workloads;
    let mut held = BTreeSet::new();
    for workload in workloads {
        for layer in layers(&world.images[workload.image], before) {
            held.insert(&layer.digest);
        }
    }
    let mut new = Bytes::ZERO;
    for at in workloads.iter().map(|workload| workload.image).unique() {
        for layer in layers(&world.images[at], to) {
            if held.insert(&layer.digest) {
                new += layer.compressed.typical();
            }
        }
    }
    new
}

/// Returns the layers of an image in a revision.
fn layers(image: &ImageSpec, revision: Revision) -> &[LayerSpec] {
    match later_release(revision) {
        Some(release) => image.later.get(release).unwrap_or(&image.layers),
        None if revision == OLD => &image.previous,
        None => &image.layers,
    }
}

/// Returns a rule of the operator in words.
fn rule_in_words(scenario: &Scenario, rule: &OperatorRule) -> String {
    let sign = match rule.sign {
        OperatorSign::Failed(most) => format!("more than {} fail", amount(most)),
        OperatorSign::Exposed(most) => {
            format!("more than {} have a defective revision", amount(most))
        }
        OperatorSign::Stalled(longest) => format!("no target gets ready for {longest}"),
    };
    let mut watched = Vec::new();
    for (at, application) in scenario.applications.iter().enumerate() {
        if rule.watches(at) {
            watched.push(application.name.as_str());
        }
    }
    let whose = match watched[..] {
        _ if !scenario.has_several_applications() => String::new(),
        _ if watched.len() == scenario.applications.len() => " of an application".to_owned(),
        [one] => format!(" of {one}"),
        [one, .., last] => format!(" of an application from {one} to {last}"),
        [] => String::new(),
    };
    let act = match rule.act {
        OperatorAct::Pause => "pause its rollout".to_owned(),
        OperatorAct::Rollback => "release the content before it again".to_owned(),
        OperatorAct::FixForward => {
            let repairs = rule.repairs.iter().flatten().map(|repair| content(*repair));
            format!("release {}", repairs.unique().join(" or "))
        }
    };
    format!(
        "people: when {sign}{whose}, they {act}, {} later",
        rule.within
    )
}

/// Returns a number or a share of targets in words.
fn amount(amount: TargetAmount) -> String {
    match amount {
        TargetAmount::Number(1) => "1 target".to_owned(),
        TargetAmount::Number(number) => format!("{number} targets"),
        TargetAmount::Share(share) => {
            format!("{:.4}% of the targets", share * 100.0).replace(".0000%", "%")
        }
    }
}
