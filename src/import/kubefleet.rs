//! KubeFleet: member clusters, a placement, and a strategy for staged update runs.
//!
//! Targets are the joined members that the placement picks, or all joined members without a placement. KubeFleet's
//! scheduler does not consider members that have not joined or are leaving. The number of nodes comes from a property
//! provider.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::draft::{ImportedFleet, StrategyDraft, WorkloadDraft};
use super::fleet::check_objects;
use super::guess::Guess;
use super::kinds::{ExpectedKind, ExportShape, MEMBERS, PLACEMENT, STAGES, UPDATE_RUN};
use super::left_out::LeftOut;
use super::offline;
use super::placement::{self, AwayMember, Unpickable};
use super::sources::{ImportSources, Texts};
use super::strategy::{self, FoundStrategy};
use super::target::FleetTarget;
use crate::document::problem::{OrProblems, Problem};
use crate::document::yaml::quoted;
use crate::rollout::kubefleet::{
    ClusterStagedUpdateRun, ClusterStagedUpdateStrategy, ClusterTaint, PickedMembers, PickingSpec,
    PickingStatus, RunState, SchedulableMember, StageTask, parse_duration,
};
use crate::scenario::import::object::{KubeCondition, KubeObject, OrDefault};
use crate::scenario::import::objects::ReadObject;
use crate::units::counted;

/// The property that contains the number of nodes.
const NODE_COUNT: &str = "kubernetes-fleet.io/node-count";

type MemberObject = KubeObject<MemberSpec, MemberStatus>;
type PlacementObject = KubeObject<PickingSpec, PickingStatus>;

#[derive(Default, Deserialize)]
struct MemberSpec {
    taints: OrDefault<Vec<ClusterTaint>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MemberStatus {
    conditions: OrDefault<Vec<KubeCondition>>,
    agent_status: OrDefault<Vec<MemberAgentStatus>>,
    properties: OrDefault<BTreeMap<String, PropertyValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MemberAgentStatus {
    last_received_heartbeat: Option<String>,
}

#[derive(Deserialize)]
struct PropertyValue {
    #[serde(default)]
    value: String,
}

/// Reads KubeFleet's exports.
///
/// # Errors
/// Returns all problems of the exports.
pub(super) fn import(sources: &ImportSources, texts: &mut Texts) -> OrProblems<ImportedFleet> {
    let Some(path) = &sources.members else {
        return Err(Vec::new());
    };
    let source = texts.read(path, MEMBERS.command)?;
    let read = MEMBERS.read::<MemberObject>(&source)?;
    check_objects(&read.found)?;
    let all = read.found.len();
    let mut notes = Vec::new();
    notes.extend(read.note_on_others(&source.name));
    let sorted = SortedMembers::of(&read.found);
    notes.extend(sorted.note_on_others());
    if sorted.joined.is_empty() {
        let problem = Problem::of_file(&source.name, "no member cluster has joined the fleet");
        return Err(vec![problem.with_help(
            "a joined member has the condition `Joined` with the status `True`",
        )]);
    }
    let mut members = Vec::new();
    for member in &sorted.joined {
        members.push(schedulable(member));
    }
    let mut read_lines = vec![format!(
        "{}: {}",
        source.name,
        counted(all, "member cluster")
    )];
    let FoundStrategies {
        placement,
        staged,
        run,
    } = strategies(sources, texts)?;
    let mut picked: Vec<usize> = (0..members.len()).collect();
    let mut left_out = Vec::new();
    if let Some(placement) = &placement {
        let found = pick(placement, &members, &sorted.away())?;
        notes.extend(placement::note_on(&found));
        left_out = placement::left_out(&found, &members);
        notes.extend(left_out.iter().map(LeftOut::note));
        picked = found.members;
        read_lines.push(format!("{}: a placement", placement.file.origin));
    }
    if let Some(staged) = &staged {
        notes.extend(note_on_runs(staged));
        read_lines.push(format!("{}: the stages of update runs", staged.file.origin));
    }
    if let Some(run) = &run {
        read_lines.push(format!("{}: an update run", run.file.origin));
    }
    let mut targets = Vec::new();
    let mut heartbeats = Vec::new();
    for at in picked {
        targets.push(target(sorted.joined[at]));
        heartbeats.push(last_heartbeat(sorted.joined[at]));
    }
    let mut strategy = strategy_of(placement, staged, &mut notes)?;
    if let Some(run) = &run {
        strategy.shown = run_lines(run, &mut notes)?;
    }
    offline::mark_silent(&mut targets, &heartbeats, sources.clock, &mut notes);
    Ok(ImportedFleet {
        in_words: counted(targets.len(), "member cluster"),
        origin: source.name.clone(),
        targets,
        left_out,
        regions: Vec::new(),
        cluster_groups: None,
        strategy,
        workload: WorkloadDraft::default(),
        read: read_lines,
        notes,
    })
}

/// Members, grouped by whether a placement can pick them.
#[derive(Default)]
struct SortedMembers<'m> {
    joined: Vec<&'m MemberObject>,
    /// Members that have not joined yet.
    waiting: Vec<&'m MemberObject>,
    leaving: Vec<&'m MemberObject>,
}

impl<'m> SortedMembers<'m> {
    fn of(found: &'m [ReadObject<'_, MemberObject>]) -> Self {
        let mut sorted = Self::default();
        for read in found {
            let member = &read.value;
            if member.is_leaving() {
                sorted.leaving.push(member);
            } else if has_joined(member) {
                sorted.joined.push(member);
            } else {
                sorted.waiting.push(member);
            }
        }
        sorted
    }

    /// Returns the note about members that are not targets.
    fn note_on_others(&self) -> Option<String> {
        let waiting = self.waiting.len();
        let leaving = self.leaving.len();
        if waiting + leaving == 0 {
            return None;
        }
        Some(format!(
            "left out: {}, of which {waiting} not joined, {leaving} leaving",
            counted(waiting + leaving, "member")
        ))
    }

    /// Returns the names of members that cannot be picked, each with the reason.
    fn away(&self) -> Vec<AwayMember<'m>> {
        let mut away = Vec::new();
        for member in &self.leaving {
            away.push(AwayMember {
                name: member.name(),
                reason: "is leaving the fleet",
            });
        }
        for member in &self.waiting {
            away.push(AwayMember {
                name: member.name(),
                reason: "has not joined the fleet",
            });
        }
        away
    }
}

/// Returns the number of update runs in the file that contains the stages.
fn runs_beside(staged: &FoundStrategy) -> usize {
    let kinds = staged.others.iter();
    kinds
        .filter(|kind| UPDATE_RUN.kinds.contains(&kind.as_str()))
        .count()
}

/// Returns the note about several update runs in the file that contains the stages, because the import cannot tell
/// which one to roll out.
fn note_on_runs(staged: &FoundStrategy) -> Option<String> {
    let runs = runs_beside(staged);
    if runs < 2 {
        return None;
    }
    Some(format!(
        "left out: {runs} update runs in {}; to simulate them, save each as a file next to experiment.yaml, and write \
         `runs: [{{file: run.yaml}}, …]` below the `file` of kubeFleetStaged",
        staged.file.origin
    ))
}

/// Returns the settings of `kubeFleetStaged` according to an exported update run.
fn run_lines(found: &FoundStrategy, notes: &mut Vec<String>) -> OrProblems<Vec<String>> {
    let ClusterStagedUpdateRun { metadata, spec } = found.read()?;
    let state = spec.state.unwrap_or_default();
    if state != RunState::Run {
        notes.push(format!(
            "the update run `{}` is in the state {state:?}, in which it updates nothing; the experiment sets `Run` at the \
             release",
            metadata.name
        ));
    }
    let mut fields = vec![format!("name: {}", quoted(&metadata.name))];
    if !spec.placement_name.is_empty() {
        fields.push(format!("placementName: {}", quoted(&spec.placement_name)));
    }
    let mut lines = Vec::new();
    if let Ok(release) = spec.resource_snapshot_index.parse::<u32>() {
        fields.push(format!("resourceSnapshotIndex: \"{release}\""));
        let installed = release.saturating_sub(1);
        lines.push(format!(
            "resourceSnapshots: {{installed: {installed}, release: {release}}}"
        ));
    }
    fields.push("state: Run".to_owned());
    lines.push(format!("runs: [{{{}}}]", fields.join(", ")));
    Ok(lines)
}

/// Returns a target for a member.
fn target(member: &MemberObject) -> FleetTarget {
    FleetTarget {
        name: member.name().to_owned(),
        labels: member.labels(),
        nodes: nodes_of(member),
        ..FleetTarget::default()
    }
}

/// Returns the time of the last report by a member's agents. RFC 3339 times in UTC sort chronologically.
fn last_heartbeat(member: &MemberObject) -> Option<&str> {
    let agents = member.status.agent_status.iter();
    agents
        .filter_map(|agent| agent.last_received_heartbeat.as_deref())
        .max()
}

/// Returns whether a member has joined the fleet.
fn has_joined(member: &MemberObject) -> bool {
    member
        .status
        .conditions
        .iter()
        .any(|condition| condition.kind == "Joined" && condition.status == "True")
}

/// Returns a member in the form that the scheduler uses.
fn schedulable(member: &MemberObject) -> SchedulableMember {
    SchedulableMember {
        name: member.name().to_owned(),
        labels: member.labels(),
        taints: (*member.spec.taints).clone(),
    }
}

/// Returns the number of nodes in a member, as reported by a property provider.
fn nodes_of(member: &MemberObject) -> Option<u32> {
    let count = member.status.properties.get(NODE_COUNT)?;
    count.value.parse().ok().filter(|nodes| *nodes > 0)
}

/// The files that define the rollout.
struct FoundStrategies {
    placement: Option<FoundStrategy>,
    /// The stages of the update runs.
    staged: Option<FoundStrategy>,
    /// The update run in the file that contains the stages, if there is exactly one.
    run: Option<FoundStrategy>,
}

/// Finds the placement and the strategy for staged update runs. The file of `--strategy` may contain stages, a
/// placement and an update run.
fn strategies(sources: &ImportSources, texts: &mut Texts) -> OrProblems<FoundStrategies> {
    let mut placement = read_placement(sources.placement.as_deref(), texts)?;
    let path = sources.strategy.as_deref();
    let staged = match read_of_kind(path, &STAGES, "strategy.yaml", texts) {
        Ok(staged) => staged,
        Err(problems) if placement.is_none() => {
            let Ok(placement) = read_placement(path, texts) else {
                return Err(problems);
            };
            return Ok(FoundStrategies {
                placement,
                staged: None,
                run: None,
            });
        }
        Err(problems) => return Err(problems),
    };
    let mut run = None;
    if let Some(staged) = &staged {
        let mut kinds = staged.others.iter();
        let has_placement = kinds.any(|kind| PLACEMENT.kinds.contains(&kind.as_str()));
        if placement.is_none() && has_placement {
            placement = read_placement(path, texts)?;
        }
        if runs_beside(staged) == 1 {
            run = read_of_kind(path, &UPDATE_RUN, "run.yaml", texts)?;
        }
    }
    Ok(FoundStrategies {
        placement,
        staged,
        run,
    })
}

/// Reads the placement in a file, if a file is named.
fn read_placement(path: Option<&Path>, texts: &mut Texts) -> OrProblems<Option<FoundStrategy>> {
    read_of_kind(path, &PLACEMENT, "placement.yaml", texts)
}

/// Reads the object of this kind in a file, if a file is named.
fn read_of_kind(
    path: Option<&Path>,
    expected: &ExpectedKind,
    default_name: &str,
    texts: &mut Texts,
) -> OrProblems<Option<FoundStrategy>> {
    strategy::read(
        path,
        expected,
        |shape| is_kind(shape, expected),
        default_name,
        texts,
    )
}

/// Returns whether an object is of an expected kind.
fn is_kind(shape: &ExportShape, expected: &ExpectedKind) -> bool {
    match shape {
        ExportShape::Kubernetes(kind, _) => expected.kinds.contains(&kind.as_str()),
        _ => false,
    }
}

/// Returns the members that a placement picks. `away`: members that cannot be picked, with the reasons.
fn pick(
    found: &FoundStrategy,
    members: &[SchedulableMember],
    away: &[AwayMember<'_>],
) -> OrProblems<PickedMembers> {
    let read = found.read::<PlacementObject>()?;
    let picked = placement::pick(&read.spec, &read.status, members, away);
    picked.map_err(|reasons| {
        reasons
            .into_iter()
            .map(|reason| refused(found, reason))
            .collect()
    })
}

/// Returns the problem with a placement that picks no members.
fn refused(placement: &FoundStrategy, why: Unpickable) -> Problem {
    placement
        .problem(&why.field, why.reason)
        .with_help(why.help)
}

/// Returns the draft of the strategy from the files that were found.
fn strategy_of(
    placement: Option<FoundStrategy>,
    staged: Option<FoundStrategy>,
    notes: &mut Vec<String>,
) -> OrProblems<StrategyDraft> {
    let mut draft = StrategyDraft::of("kubeFleetRolling");
    if let Some(staged) = staged {
        draft.product = "kubeFleetStaged";
        let spec = staged.read::<ClusterStagedUpdateStrategy>()?.spec;
        let mut tasks = Vec::new();
        for stage in &spec.stages {
            tasks.extend(stage.before_stage_tasks.iter());
            tasks.extend(stage.after_stage_tasks.iter());
        }
        if tasks.iter().any(|task| task.kind == "Approval") {
            draft.guesses.push(Guess::approvals());
        }
        draft.horizon = horizon(&tasks);
        draft.file = Some(staged.file);
        return Ok(draft);
    }
    let Some(placement) = placement else {
        notes.push(
            "no --strategy and no --placement: the strategy is KubeFleet's default rolling update"
                .to_owned(),
        );
        return Ok(draft);
    };
    let spec = placement.read::<PlacementObject>()?.spec;
    if spec.is_external() {
        let reason = "the placement's strategy is `External`: staged update runs roll it out";
        let help = format!("add --strategy with `{}`", STAGES.command);
        let problem = placement.problem("spec.strategy.type", reason);
        return Err(vec![problem.with_help(help)]);
    }
    draft.file = Some(placement.file);
    Ok(draft)
}

/// Returns a horizon of twice the stages' timed waits plus a day. `None`: the waits fit into one day.
fn horizon(tasks: &[&StageTask]) -> Option<String> {
    let mut hours = 0;
    for task in tasks {
        if let Some(wait) = task.wait_time.as_deref().and_then(parse_duration) {
            hours += wait.as_nanos() / 3_600_000_000_000;
        }
    }
    (hours >= 6).then(|| format!("{}h", 24 + 2 * hours))
}
