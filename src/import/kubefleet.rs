//! KubeFleet: member clusters, a placement, and a strategy for staged update runs.
//!
//! Targets are the joined members that the placement picks; without a placement all of them. Members that have not
//! joined or are leaving are no targets of KubeFleet's scheduler. A property provider reports the number of nodes.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::draft::{ImportedFleet, StrategyDraft};
use super::fleet::{check_objects, offline};
use super::guess::Guess;
use super::kinds::{ExpectedKind, ExportShape, MEMBERS, PLACEMENT, STAGES};
use super::placement::{ClusterTaint, MemberView, NotPicked, Picked, PickingSpec, PickingStatus};
use super::sources::{ImportSources, Texts};
use super::strategy::{self, FoundStrategy};
use super::target::FleetTarget;
use crate::document::problem::{OrProblems, Problem};
use crate::rollout::kubefleet::{ClusterStagedUpdateStrategy, StageTask, parse_duration};
use crate::scenario::import::object::{KubeCondition, KubeObject, OrDefault};
use crate::units::{SimDuration, counted};

/// The property with the number of nodes.
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
/// All that is wrong with them.
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
    let (leaving, staying): (Vec<_>, Vec<_>) = read
        .found
        .iter()
        .partition(|member| member.value.is_leaving());
    let (joined, waiting): (Vec<_>, Vec<_>) = staying
        .into_iter()
        .partition(|member| has_joined(&member.value));
    if waiting.len() + leaving.len() > 0 {
        notes.push(format!(
            "left out: {}, of which {} not joined, {} leaving",
            counted(waiting.len() + leaving.len(), "member"),
            waiting.len(),
            leaving.len()
        ));
    }
    if joined.is_empty() {
        let problem = Problem::of_file(&source.name, "no member cluster has joined the fleet");
        return Err(vec![problem.with_help(
            "a joined member has the condition `Joined` with the status `True`",
        )]);
    }
    let members: Vec<MemberView> = joined.iter().map(|member| view(&member.value)).collect();
    let mut read_lines = vec![format!(
        "{}: {}",
        source.name,
        counted(all, "member cluster")
    )];
    let (placement, staged) = strategies(sources, texts)?;
    let mut picked: Vec<usize> = (0..members.len()).collect();
    if let Some(placement) = &placement {
        let leaving = leaving
            .iter()
            .map(|member| (member.value.name(), "is leaving the fleet"));
        let waiting = waiting
            .iter()
            .map(|member| (member.value.name(), "has not joined the fleet"));
        let found = pick(
            placement,
            &members,
            &leaving.chain(waiting).collect::<Vec<_>>(),
        )?;
        picked = found.members;
        notes.extend(found.notes);
        read_lines.push(format!("{}: a placement", placement.file.origin));
    }
    if let Some(staged) = &staged {
        notes.extend(staged.others.iter().find(|kind| kind.ends_with("StagedUpdateRun")).map(|kind| {
            let file = &staged.file.origin;
            format!(
                "left out: a {kind} in {file}; to simulate it, save it as run.yaml beside experiment.yaml, and write \
                 `runs: [{{file: run.yaml}}]` below the `file` of kubeFleetStaged"
            )
        }));
        read_lines.push(format!("{}: the stages of update runs", staged.file.origin));
    }
    let target = |at: &usize| FleetTarget {
        name: members[*at].name.clone(),
        labels: members[*at].labels.clone(),
        nodes: members[*at].nodes,
        ..FleetTarget::default()
    };
    let targets: Vec<FleetTarget> = picked.iter().map(target).collect();
    let strategy = strategy_of(placement, staged, &mut notes)?;
    let heartbeats = picked.iter().filter_map(|at| {
        // RFC 3339 in UTC sorts by time.
        joined[*at]
            .value
            .status
            .agent_status
            .iter()
            .filter_map(|agent| agent.last_received_heartbeat.as_deref())
            .max()
    });
    let offline = offline(heartbeats, targets.len(), sources.clock, &mut notes);
    Ok(ImportedFleet {
        offline,
        in_words: counted(targets.len(), "member cluster"),
        origin: source.name.clone(),
        targets,
        regions: Vec::new(),
        cluster_groups: None,
        strategy,
        read: read_lines,
        notes,
    })
}

fn has_joined(member: &MemberObject) -> bool {
    member
        .status
        .conditions
        .iter()
        .any(|condition| condition.kind == "Joined" && condition.status == "True")
}

/// A member as the scheduler sees it.
fn view(member: &MemberObject) -> MemberView {
    let nodes = member
        .status
        .properties
        .get(NODE_COUNT)
        .and_then(|count| count.value.parse().ok());
    MemberView {
        name: member.name().to_owned(),
        labels: member.labels(),
        taints: member.spec.taints.0.clone(),
        nodes: nodes.filter(|nodes| *nodes > 0),
    }
}

type FoundStrategies = (Option<FoundStrategy>, Option<FoundStrategy>);

/// The placement and the strategy of staged update runs; a placement may be named with `--strategy` too.
fn strategies(sources: &ImportSources, texts: &mut Texts) -> OrProblems<FoundStrategies> {
    let is_kind = |expected: &'static ExpectedKind| move |shape: &ExportShape| matches!(shape, ExportShape::Kubernetes(kind, _) if expected.kinds.contains(&kind.as_str()));
    let is_placement = is_kind(&PLACEMENT);
    let placement = |path: Option<&Path>, texts: &mut Texts| {
        strategy::read(path, &PLACEMENT, is_placement, "placement.yaml", texts)
    };
    let placed = placement(sources.placement.as_deref(), texts)?;
    let path = sources.strategy.as_deref();
    match strategy::read(path, &STAGES, is_kind(&STAGES), "strategy.yaml", texts) {
        Ok(staged) => Ok((placed, staged)),
        Err(problems) if placed.is_none() => placement(path, texts)
            .map(|placed| (placed, None))
            .map_err(|_| problems),
        Err(problems) => Err(problems),
    }
}

fn pick(
    placement: &FoundStrategy,
    members: &[MemberView],
    away: &[(&str, &str)],
) -> OrProblems<Picked> {
    let read = placement.read::<PlacementObject>()?;
    let refused =
        |(field, reason, help): NotPicked| placement.problem(&field, reason).with_help(help);
    read.spec
        .pick(&read.status, members, away)
        .map_err(|reasons| reasons.into_iter().map(refused).collect())
}

fn strategy_of(
    placement: Option<FoundStrategy>,
    staged: Option<FoundStrategy>,
    notes: &mut Vec<String>,
) -> OrProblems<StrategyDraft> {
    let mut draft = StrategyDraft::of("kubeFleetRolling");
    if let Some(staged) = staged {
        draft.product = "kubeFleetStaged";
        let spec = staged.read::<ClusterStagedUpdateStrategy>()?.spec;
        let tasks = || {
            spec.stages.iter().flat_map(|stage| {
                stage
                    .before_stage_tasks
                    .iter()
                    .chain(&stage.after_stage_tasks)
            })
        };
        if tasks().any(|task| task.kind == "Approval") {
            draft.guesses.push(Guess::approvals());
        }
        draft.horizon = horizon(tasks());
        draft.file = Some(staged.file);
        return Ok(draft);
    }
    match placement {
        Some(placement) => {
            let spec = placement.read::<PlacementObject>()?.spec;
            if spec.is_external() {
                let reason =
                    "the placement's strategy is `External`: staged update runs roll it out";
                let help = format!("add --strategy with `{}`", STAGES.command);
                return Err(vec![
                    placement
                        .problem("spec.strategy.type", reason)
                        .with_help(help),
                ]);
            }
            draft.file = Some(placement.file);
        }
        None => notes.push(
            "no --strategy and no --placement: the strategy is KubeFleet's default rolling update"
                .to_owned(),
        ),
    }
    Ok(draft)
}

/// Twice the waits of the stages, and a day; `None` where the waits fit into a day.
fn horizon<'t>(tasks: impl Iterator<Item = &'t StageTask>) -> Option<String> {
    let waits = tasks
        .filter_map(|task| task.wait_time.as_deref())
        .filter_map(parse_duration);
    let hours: u64 = waits
        .map(|wait: SimDuration| wait.as_nanos() / 3_600_000_000_000)
        .sum();
    (hours >= 6).then(|| format!("{}h", 24 + 2 * hours))
}
