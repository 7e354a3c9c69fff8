//! Random worlds with several releases of 1 to 8 applications of each product, and people who react: every application
//! keeps the limits of its strategy in each release that begins when the one before is complete, `releases.csv` agrees
//! with itself and with the run, and a complete run has every target on the content that was published last.
//!
//! Left out: limits while an earlier release is still under way, which each product counts in its own way
//! (`tests/suite/releases`); limits after a release with defects, because products replace a target that
//! becomes unavailable at once; room on nodes, and pre-pulls, as in [`super::applications`].

use std::collections::BTreeMap;
use std::sync::Arc;

use fleetsim::control_plane::Change;
use fleetsim::engine::Streams;
use fleetsim::results::{ReleaseRow, RunOutcome, RunRecord};
use fleetsim::rollout::Revision;
use fleetsim::scenario::{
    ApplicationRollout, OperatorAct, OperatorRule, OperatorSign, PublishedRelease, Scenario,
    TargetAmount, Variant,
};
use fleetsim::sim;
use fleetsim::units::{Share, SimDuration, SimTime};
use fleetsim::world::{
    AgentEvent, ApplyRules, DefectKind, DefectSpec, Event, LaterRelease, LayerSpec, NEW, OLD,
    PullEvent, ReleaseFaults, ReleaseKind, WorldSpec, later_revision,
};
use rayon::prelude::*;

use super::applications::{
    check_sums, has_only_rules_about_passes, put_applications, view, without_room,
};
use super::applies;
use super::luck::Luck;
use super::products::{self, Seen};
use super::strategies::Product;
use super::{check_run, variant};

/// Number of random worlds, each under one product.
const WORLDS: u64 = 300;
/// Additional seeds that once revealed a fault.
const FOUND_FAULTS: [u64; 3] = [
    // The image of a pod for which it was missing came with a release of the same content, and was mounted.
    1516, 2777,
    // No target of the application that was released last could get ready on that release.
    2892,
];

/// Draws a random variant in which applications have several releases, and people may react.
fn variant_with_releases(seed: u64, product: Product) -> Variant {
    let mut luck = Luck(Streams::new(seed, 0).stream("random world", "releases"));
    let mut variant = variant(seed, product);
    let scenario = &mut variant.scenario;
    let number = luck.number(1, 8);
    if number > 1 {
        put_applications(&mut luck, number, product, scenario);
    } else {
        without_room(Arc::make_mut(&mut scenario.world));
    }
    for at in 0..scenario.applications.len() {
        add_releases(&mut luck, product, scenario, at);
    }
    for _ in 0..luck.number(0, 3) {
        let rule = operator_rule(&mut luck, scenario);
        scenario.operator.push(rule);
    }
    if number > 1 {
        for at in 0..scenario.applications.len() {
            let own = Arc::new(view(&scenario.world, at));
            scenario.applications[at].view = Some(own);
        }
    }
    for application in &scenario.applications {
        let taken = application.strategy.takes(&Change::Release(OLD));
        assert_eq!(taken, Ok(()), "every product takes a later release");
    }
    variant
}

/// Adds up to three releases to an application: other contents, the same content again, and rollbacks.
fn add_releases(luck: &mut Luck, product: Product, scenario: &mut Scenario, application: usize) {
    let mut before = match scenario.world.applications[application].release {
        ReleaseKind::Update => vec![OLD],
        ReleaseKind::Initial => Vec::new(),
    };
    let mut current = NEW;
    let mut after = SimDuration::ZERO;
    for _ in 0..luck.number(0, 3) {
        let most_s = [60, 600, 7200][luck.number(0, 2) as usize];
        after += SimDuration::from_secs(u64::from(luck.number(1, most_s)));
        let rollback = before.pop_if(|_| luck.chance(0.3));
        current = match rollback {
            Some(earlier) => earlier,
            None => {
                before.push(current);
                let faults = faults_of_release(luck, product, scenario);
                add_content(luck, scenario, application, faults)
            }
        };
        let rollout = &mut scenario.applications[application];
        rollout.later.push(PublishedRelease {
            after,
            revision: current,
        });
        rollout.changes.push((after, Change::Release(current)));
    }
}

/// Adds another content to an application, and returns its revision. Some images keep their layers.
fn add_content(
    luck: &mut Luck,
    scenario: &mut Scenario,
    application: usize,
    faults: ReleaseFaults,
) -> Revision {
    let world = Arc::make_mut(&mut scenario.world);
    let number = world.applications[application].later.len();
    world.applications[application]
        .later
        .push(LaterRelease { faults });
    for image in images_of(world, application) {
        let image = &mut world.images[image];
        let last = image.later.last().unwrap_or(&image.layers).clone();
        let name = format!("{}@{number}", image.name);
        image.later.push(other_layers(luck, last, &name));
    }
    later_revision(number)
}

/// Returns the layers of an image in the next release, which often has a layer of its own.
fn other_layers(luck: &mut Luck, mut layers: Vec<LayerSpec>, name: &str) -> Vec<LayerSpec> {
    if luck.chance(0.3) {
        return layers;
    }
    layers.retain(|_| luck.chance(0.7));
    layers.extend(luck.layers(&[name]));
    layers
}

/// Returns the indices of the images of an application. Only an application alone has images that it does not use.
fn images_of(world: &WorldSpec, application: usize) -> Vec<usize> {
    if world.applications.len() == 1 {
        return (0..world.images.len()).collect();
    }
    let prefix = format!("{}/", world.applications[application].name);
    let mut images = Vec::new();
    for (at, image) in world.images.iter().enumerate() {
        if image.name.starts_with(&prefix) {
            images.push(at);
        }
    }
    images
}

/// Draws what fails in a later release.
fn faults_of_release(luck: &mut Luck, product: Product, scenario: &Scenario) -> ReleaseFaults {
    let mut faults = ReleaseFaults {
        not_found: luck.share(0.2, 0.3),
        ..ReleaseFaults::default()
    };
    if luck.chance(0.4) {
        let kinds = [DefectKind::Crashes, DefectKind::Unready];
        faults.defect = DefectSpec {
            share: luck.share(1.0, 0.8),
            kind: kinds[luck.number(0, 1) as usize],
            crash_after: luck.duration(20.0),
            detected_after: luck.chance(0.3).then(|| luck.duration(300.0)),
        };
    }
    if scenario.platform.agent.applies != ApplyRules::NONE {
        faults.apply = applies::faults(luck, product);
    }
    faults
}

/// Draws a rule of the operator for one application or for all.
fn operator_rule(luck: &mut Luck, scenario: &mut Scenario) -> OperatorRule {
    let amount = if luck.chance(0.7) {
        TargetAmount::Number(u64::from(luck.number(0, 3)))
    } else {
        TargetAmount::Share(luck.share(1.0, 0.5).get())
    };
    let sign = match luck.number(0, 2) {
        0 => OperatorSign::Failed(amount),
        1 => OperatorSign::Exposed(amount),
        _ => OperatorSign::Stalled(SimDuration::from_secs(u64::from(luck.number(1, 1800)))),
    };
    let act = match luck.number(0, 3) {
        0 if scenario.applications.iter().all(can_pause) => OperatorAct::Pause,
        0 | 1 => OperatorAct::Rollback,
        _ => OperatorAct::FixForward,
    };
    let only = luck
        .chance(0.3)
        .then(|| luck.number(0, scenario.applications.len() as u32 - 1) as usize);
    let mut repairs = Vec::new();
    for application in 0..scenario.applications.len() {
        let is_watched = only.is_none_or(|only| only == application);
        let repairing = is_watched && act == OperatorAct::FixForward;
        if repairing {
            let repair = add_content(luck, scenario, application, ReleaseFaults::default());
            repairs.push(Some(repair));
        } else {
            repairs.push(is_watched.then_some(NEW));
        }
    }
    OperatorRule {
        text: format!("{sign:?}"),
        sign,
        within: luck.duration(900.0),
        act,
        repairs,
    }
}

/// Returns whether people can pause the rollout of an application.
fn can_pause(application: &ApplicationRollout) -> bool {
    application.strategy.can_pause().is_ok()
}

/// What an observer sees of all targets, by their numbers in the world.
struct SeenRun {
    last: SimTime,
    /// The number of completed pulls.
    pulled: u64,
    /// The times at which instructions reached each target's agent, in seconds.
    instructed: Vec<Vec<f64>>,
    /// The revisions on which each target was reported ready, with the times in seconds.
    ready: Vec<Vec<SeenReadiness>>,
    /// The last report on each target: the revision that it is ready on, if it is ready.
    reported: Vec<Option<Revision>>,
}

/// A report of a target that is ready.
#[derive(Clone, Copy)]
struct SeenReadiness {
    revision: Revision,
    at: f64,
}

impl SeenRun {
    fn new(targets: usize) -> Self {
        Self {
            last: SimTime::ZERO,
            pulled: 0,
            instructed: vec![Vec::new(); targets],
            ready: vec![Vec::new(); targets],
            reported: vec![None; targets],
        }
    }

    fn see(&mut self, now: SimTime, event: &Event) {
        assert!(now >= self.last, "time runs forward");
        self.last = now;
        match event {
            Event::Pull(_, PullEvent::Completed) => self.pulled += 1,
            Event::Agent(AgentEvent::InstructionArrives(target)) => {
                self.instructed[target.index()].push(now.as_secs_f64());
            }
            Event::Agent(AgentEvent::ReportArrives(report)) => {
                let target = report.target.index();
                self.reported[target] = report.ready.then_some(report.applied);
                if report.ready {
                    self.ready[target].push(SeenReadiness {
                        revision: report.applied,
                        at: now.as_secs_f64(),
                    });
                }
            }
            _ => {}
        }
    }
}

/// A run that satisfies all invariants.
struct CheckedRun {
    outcome: RunOutcome,
    releases: usize,
    reactions: u64,
    /// The number of releases of which the limits were checked, except first ones.
    limited: usize,
}

/// Runs a random world with several releases, and checks it.
fn check(seed: u64, product: Product) -> CheckedRun {
    let variant = variant_with_releases(seed, product);
    let scenario = &variant.scenario;
    let clusters = scenario.world.clusters.len();
    let mut seen = SeenRun::new(clusters * scenario.applications.len());
    let mut watch = |now: SimTime, event: &Event| seen.see(now, event);
    let record =
        sim::run_observed(&variant, seed, 0, &mut watch).expect("the strategy starts no process");
    check_run(&variant, &record, seen.pulled);
    if scenario.has_several_applications() {
        check_sums(&record);
    }
    let mut limited = 0;
    for at in 0..scenario.applications.len() {
        let rows = rows_of(scenario, &record, at);
        check_rows(scenario, &record, at, &rows);
        if record.run.outcome == RunOutcome::Complete {
            check_all_on_last(scenario, &seen, at, &rows);
        }
        limited += check_limits(scenario, &record, &seen, at);
    }
    check_totals(scenario, &record);
    CheckedRun {
        outcome: record.run.outcome,
        releases: record.releases.len(),
        reactions: record.run.reactions.unwrap_or_default(),
        limited,
    }
}

/// Returns whether an experiment with this scenario has several releases.
fn has_later_releases(scenario: &Scenario) -> bool {
    let mut later = scenario.applications.iter();
    !scenario.operator.is_empty() || later.any(|application| !application.later.is_empty())
}

/// Returns the rows of one application.
fn rows_of(scenario: &Scenario, record: &RunRecord, application: usize) -> Vec<ReleaseRow> {
    let name = &scenario.applications[application].name;
    let mut rows = Vec::new();
    for row in &record.releases {
        if row.application == *name {
            rows.push(row.clone());
        }
    }
    rows
}

/// Checks that the rows of one application follow each other, and that each is possible.
fn check_rows(scenario: &Scenario, record: &RunRecord, application: usize, rows: &[ReleaseRow]) {
    if !has_later_releases(scenario) {
        assert!(rows.is_empty(), "one release has no rows");
        return;
    }
    let targets = scenario.world.clusters.len() as u64;
    let mut planned = 0;
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(row.release, at as u64 + 1, "{rows:#?}");
        let published = row.published_s.expect("what has a row is published");
        let next = rows.get(at + 1);
        let superseded = next.and_then(|next| next.published_s);
        assert_eq!(row.superseded_s, superseded, "{rows:#?}");
        let end = superseded.unwrap_or(f64::INFINITY);
        assert!(end >= published, "{rows:#?}");
        assert!(row.targets_done <= targets, "{row:?}");
        assert_eq!(
            row.completion_s.is_some(),
            row.targets_done == targets,
            "{row:?}"
        );
        if let Some(completion) = row.completion_s {
            let done = published + completion;
            assert!(completion >= 0.0 && done <= end + 1e-6, "{row:?}");
        }
        assert!(row.exposed_target_hours >= 0.0, "{row:?}");
        if let Some(noticed) = row.noticed_s {
            assert!(noticed <= published, "{row:?}");
        }
        planned += usize::from(row.noticed_s.is_none());
    }
    let plan = &scenario.applications[application].later;
    if record.run.outcome == RunOutcome::Horizon {
        assert!(planned <= plan.len() + 1);
    } else {
        assert_eq!(planned, plan.len() + 1, "a run waits for all releases");
    }
}

/// Checks that the rows of all applications add up to the run.
fn check_totals(scenario: &Scenario, record: &RunRecord) {
    let run = &record.run;
    if !has_later_releases(scenario) {
        assert_eq!(run.releases, None);
        return;
    }
    let mut hours = 0.0;
    let mut bytes = 0;
    let mut reactions = 0;
    for row in &record.releases {
        hours += row.exposed_target_hours;
        bytes += row.egress_bytes;
        reactions += u64::from(row.noticed_s.is_some());
    }
    assert_eq!(run.releases, Some(record.releases.len() as u64));
    assert_eq!(run.reactions, Some(reactions));
    let all_hours = run
        .exposed_target_hours
        .expect("there are several releases");
    assert!((hours - all_hours).abs() < 1e-6, "{hours} of {all_hours}");
    if scenario.applications.len() == 1 && !record.releases.is_empty() {
        // Each row is rounded to a whole byte. The bytes of a transfer that is cancelled, see `check_run`, or still in
        // progress at the end are rounded down.
        let slots = u64::from(scenario.world.node.runtime.download_slots);
        let rounding =
            record.releases.len() as u64 + run.failed_pulls * (slots + 1) + run.peak_downloads;
        assert!(
            bytes.abs_diff(run.egress_bytes) <= rounding,
            "{bytes} of {}",
            run.egress_bytes
        );
    }
}

/// Returns the revision that a row published.
fn revision_of(row: &ReleaseRow) -> Revision {
    let Some(number) = row.content.strip_prefix("content ") else {
        return OLD;
    };
    match number.parse().expect("it is the number of a content") {
        1 => NEW,
        number => later_revision(number - 2_usize),
    }
}

/// Checks that every target of an application was last reported ready on the last content.
fn check_all_on_last(scenario: &Scenario, seen: &SeenRun, application: usize, rows: &[ReleaseRow]) {
    let wanted = rows.last().map_or(NEW, revision_of);
    let clusters = scenario.world.clusters.len();
    for (at, cluster) in scenario.world.clusters.iter().enumerate() {
        let target = application * clusters + at;
        let never_reported = seen.ready[target].is_empty() && wanted == OLD;
        assert!(
            never_reported || seen.reported[target] == Some(wanted),
            "{} is on {:?}, not on {wanted:?}: {rows:#?}",
            cluster.name,
            seen.reported[target]
        );
    }
}

/// Checks the limits of an application's strategy in each release that begins when the one before is complete. Returns
/// the number of such releases after the first.
fn check_limits(
    scenario: &Scenario,
    record: &RunRecord,
    seen: &SeenRun,
    application: usize,
) -> usize {
    let rows = rows_of(scenario, record, application);
    let mut own = scenario.clone();
    let rollout = &scenario.applications[application];
    own.applications = vec![rollout.clone()];
    own.world = match &rollout.view {
        Some(view) => Arc::clone(view),
        None => Arc::clone(&scenario.world),
    };
    let mut checked = 0;
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            Arc::make_mut(&mut own.world).applications[0].release = ReleaseKind::Update;
        }
        if !has_only_rules_about_passes(&own) {
            let is_last = at + 1 == rows.len();
            let outcome = if is_last {
                record.run.outcome
            } else {
                RunOutcome::Horizon
            };
            products::check(&Seen {
                scenario: &own,
                outcome,
                told: told(seen, application, row, own.world.clusters.len()),
                ready: ready(seen, application, row, own.world.clusters.len()),
                release: 0.0,
                passes: &[],
            });
            checked += usize::from(at > 0);
        }
        if row.completion_s.is_none() || has_defects(&own.world, revision_of(row)) {
            break;
        }
    }
    checked
}

/// Returns whether a revision may be defective. A defective target can be ready for a while before it fails.
fn has_defects(world: &WorldSpec, revision: Revision) -> bool {
    let later = revision.0.checked_sub(later_revision(0).0);
    let defect = match later {
        Some(number) => &world.applications[0].later[number as usize].faults.defect,
        None => &world.faults.defect,
    };
    revision != OLD && defect.share != Share::NONE
}

/// Returns whether a time is one at which a release was the latest.
fn is_of(row: &ReleaseRow, at: f64) -> bool {
    let published = row.published_s.unwrap_or(f64::INFINITY);
    at >= published && at < row.superseded_s.unwrap_or(f64::INFINITY)
}

/// Returns the times from a release until the first instruction reached each cluster's agent.
fn told(seen: &SeenRun, application: usize, row: &ReleaseRow, clusters: usize) -> Vec<Option<f64>> {
    let mut told = Vec::new();
    for times in &seen.instructed[application * clusters..][..clusters] {
        let mut times = times.iter().filter(|at| is_of(row, **at));
        told.push(times.next().map(|at| at - row.published_s.unwrap_or(0.0)));
    }
    told
}

/// Returns the times from a release until each cluster was first reported ready on it.
fn ready(
    seen: &SeenRun,
    application: usize,
    row: &ReleaseRow,
    clusters: usize,
) -> Vec<Option<f64>> {
    let revision = revision_of(row);
    let mut ready = Vec::new();
    for reports in &seen.ready[application * clusters..][..clusters] {
        let mut times = Vec::new();
        for report in reports {
            if report.revision == revision && is_of(row, report.at) {
                times.push(report.at - row.published_s.unwrap_or(0.0));
            }
        }
        ready.push(times.first().copied());
    }
    ready
}

#[test]
fn every_release_keeps_the_limits_of_its_application() {
    let only: Option<u64> = std::env::var("FLEETSIM_SEED")
        .ok()
        .map(|seed| seed.parse().expect("FLEETSIM_SEED is a number"));
    let worlds: Vec<u64> = match only {
        Some(seed) => vec![seed],
        None => (0..WORLDS).chain(FOUND_FAULTS).collect(),
    };
    let checked: Vec<_> = worlds
        .par_iter()
        .map(|seed| {
            let product = Product::ALL[(*seed % 6) as usize];
            std::panic::catch_unwind(|| check(*seed, product))
        })
        .collect();
    let mut failed = Vec::new();
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    let mut releases = 0;
    let mut reactions = 0;
    let mut limited = 0;
    for (seed, result) in worlds.iter().zip(checked) {
        let Ok(run) = result else {
            let product = Product::ALL[(*seed % 6) as usize];
            failed.push(format!("{product:?} with FLEETSIM_SEED={seed}"));
            continue;
        };
        *outcomes.entry(format!("{:?}", run.outcome)).or_default() += 1;
        releases += run.releases;
        reactions += run.reactions;
        limited += run.limited;
    }
    assert!(failed.is_empty(), "{failed:#?}");
    if only.is_none() {
        // The worlds would be useless if nothing was superseded, nobody acted, or all were stuck.
        assert!(
            releases > 2000 && reactions > 300 && limited > 100,
            "{releases} releases, {reactions} of people, {limited} with limits"
        );
        for outcome in ["Complete", "Stalled"] {
            let seen = outcomes.get(outcome).copied().unwrap_or_default();
            assert!(seen >= 20, "{outcome}: {outcomes:?}");
        }
    }
}
