//! The readings of the page: what is read off a run, an explanation or a status, as a short text.

use super::shown::ShownSetup;
use crate::common::peak_in_flight;
use crate::documented_examples::told_blindly;

/// How the run ended.
pub(super) fn outcome(shown: &ShownSetup) -> String {
    shown.outcome()
}

/// That the experiment is accepted. A refused one is not read.
pub(super) fn accepted(_: &ShownSetup) -> String {
    "accepted".to_owned()
}

/// Sizes of the partitions.
pub(super) fn partition_sizes(shown: &ShownSetup) -> String {
    shown.column("partition", 1).join(", ")
}

/// The limits of the partitions.
pub(super) fn partition_limits(shown: &ShownSetup) -> String {
    shown.column("partition", 2).join(", ")
}

/// Clusters instructed before any was ready.
pub(super) fn first_wave(shown: &ShownSetup) -> String {
    told_blindly(shown.run()).to_string()
}

/// Most clusters that were updating at the same time.
pub(super) fn at_once(shown: &ShownSetup) -> String {
    peak_in_flight(&shown.run().clusters).to_string()
}

/// The value of `maxUnavailablePartitions` in the explanation.
pub(super) fn partitions_allowed(shown: &ShownSetup) -> String {
    let line = &shown.explanation.lines[0];
    let (_, rest) = line
        .split_once("maxUnavailablePartitions ")
        .unwrap_or_default();
    rest.split(';').next().unwrap_or_default().to_owned()
}

/// The smallest share of a partition that was ready when the next one began; partitions are p1 to p5.
pub(super) fn ready_before_next(shown: &ShownSetup) -> String {
    let mut least = 100;
    for (before, next) in [("p1", "p2"), ("p2", "p3"), ("p3", "p4"), ("p4", "p5")] {
        let begins = shown.told(next)[0];
        let all = shown.told(before).len();
        let ready = shown
            .ready(before)
            .iter()
            .filter(|at| **at <= begins)
            .count();
        least = least.min(100 * ready / all);
    }
    if least >= 90 {
        "at least 90 %".to_owned()
    } else {
        format!("{least} %")
    }
}

/// Clusters told before any is ready, and how much of a partition is ready when the next begins.
pub(super) fn waves_of_partitions(shown: &ShownSetup) -> String {
    format!("{}, {}", first_wave(shown), ready_before_next(shown))
}

/// Whether the second partition begins when a cluster of the first is ready that was away for two hours.
pub(super) fn after_return(shown: &ShownSetup) -> String {
    // Of ten clusters two are away, and one may be NotReady.
    let back = shown.ready("p1")[8];
    if back >= 7_200.0 && shown.told("p2")[0] >= back {
        "after it is ready again".to_owned()
    } else {
        "before".to_owned()
    }
}

/// Whether the second partition begins after all clusters of the first are ready, and how the run ends.
pub(super) fn strict_order(shown: &ShownSetup) -> String {
    let last = shown.ready("a").last().copied().unwrap_or(f64::INFINITY);
    match shown.told("b").first() {
        Some(at) if *at >= last => format!("after the last, {}", shown.outcome()),
        Some(_) => "before the last".to_owned(),
        None => shown.outcome(),
    }
}

/// Whether the second partition begins before the clusters of the first are back, which are away for two hours.
pub(super) fn second_partition(shown: &ShownSetup) -> String {
    match shown.told("p2").first() {
        Some(at) if *at >= 7_200.0 => "held until they are back".to_owned(),
        Some(at) if *at < 600.0 => "goes on".to_owned(),
        other => format!("{other:?}"),
    }
}

/// The words that the GitRepo shows while clusters are NotReady, at a time when no cluster is about to apply if there is
/// one.
pub(super) fn words_of_git_repo(shown: &ShownSetup) -> String {
    let mut messages = shown.statuses("GitRepo/", "Ready");
    messages.retain(|message| message.contains("NotReady("));
    let is_settled =
        |message: &&String| !message.contains("WaitApplied(") && message.contains("; ");
    let settled = messages.iter().find(is_settled);
    let Some(message) = settled.or(messages.first()) else {
        return "never NotReady".to_owned();
    };
    let parts = message
        .split([' ', ';'])
        .filter_map(|part| part.split_once('('));
    let mut words: Vec<&str> = parts.map(|(word, _)| word).collect();
    words.sort_unstable();
    words.join(", ")
}

/// Clusters that were instructed and not ready when the 51st was instructed.
pub(super) fn not_ready_at_51(shown: &ShownSetup) -> String {
    let told = shown.told("");
    let ready = shown.ready("").iter().filter(|at| **at <= told[50]).count();
    if 50 - ready.min(50) <= 10 {
        "at most 10".to_owned()
    } else {
        format!("{}", 50 - ready)
    }
}

/// Time from the ninth ready cluster of the first partition, of ten, to the first of the second.
pub(super) fn pause_between(shown: &ShownSetup) -> String {
    let pause = shown.told("p2")[0] - shown.ready("p1")[8];
    if (0.0..1.0).contains(&pause) {
        "less than a second".to_owned()
    } else {
        format!("{pause:.1} s")
    }
}

/// How the rollout ended, and whether the clusters in no partition are named before it.
pub(super) fn left_out(shown: &ShownSetup) -> String {
    let is_listed = shown.words().contains("in no partition") && shown.words().contains("b-01");
    let listed = if is_listed { "listed" } else { "not listed" };
    format!("{}, {listed}", shown.outcome())
}

/// The most applications of each group that were updating at the same time, in the order of the groups' begins.
pub(super) fn waves(shown: &ShownSetup) -> String {
    let mut groups = Vec::new();
    for prefix in ["dev", "qa", "region"] {
        let rows = &shown.run().clusters;
        let of_group = rows.iter().filter(|row| row.cluster.starts_with(prefix));
        let begins = shown.told(prefix).first().copied().unwrap_or(f64::INFINITY);
        groups.push((begins, format!("{prefix} {}", peak_in_flight(of_group))));
    }
    groups.sort_by(|a, b| a.0.total_cmp(&b.0));
    let texts: Vec<String> = groups.into_iter().map(|(_, text)| text).collect();
    texts.join(", ")
}

/// Whether the second step begins after the last application of the first is Healthy.
pub(super) fn second_step(shown: &ShownSetup) -> String {
    let done = shown.ready("dev").last().copied().unwrap_or(f64::INFINITY);
    match shown.told("qa").first() {
        Some(at) if *at >= done => "after the first".to_owned(),
        Some(_) => "before the first is complete".to_owned(),
        None => "never".to_owned(),
    }
}

/// Whether the second step begins while an application of the first fails, for 23 hours.
pub(super) fn step_after_failure(shown: &ShownSetup) -> String {
    match shown.told("qa").first() {
        Some(at) if *at < 82_800.0 => "begins".to_owned(),
        _ => "waits".to_owned(),
    }
}

/// Applications of the first step that are complete within five minutes.
pub(super) fn ready_soon(shown: &ShownSetup) -> String {
    let soon = shown.ready("dev").iter().filter(|at| **at < 300.0).count();
    format!("{soon} of 5")
}

/// The status of the condition `ApplicationSetUpToDate` after half an hour.
pub(super) fn up_to_date(shown: &ShownSetup) -> String {
    let mut rows = shown.run().statuses.iter().filter(|row| row.t_s < 1_800.0);
    let last = rows.rfind(|row| row.condition == "ApplicationSetUpToDate");
    last.map_or("no such condition".to_owned(), |row| {
        format!("condition {}", row.status)
    })
}

/// Applications that got the new version, and how the run ended after the set was changed back.
pub(super) fn changed_back(shown: &ShownSetup) -> String {
    let told = shown.told("");
    let late = told.iter().filter(|at| **at > 12.0).count();
    format!("{late} after the change, {}", shown.outcome())
}

/// The step of each of the three clusters of the proposal's example.
pub(super) fn steps_of_elements(shown: &ShownSetup) -> String {
    let mut steps = Vec::new();
    for row in &shown.run().clusters {
        steps.push(format!("{}: {}", row.cluster, row.stage));
    }
    steps.sort_unstable();
    steps.join(", ")
}

/// Applications that were changed, and whether the others are named before a run.
pub(super) fn unselected(shown: &ShownSetup) -> String {
    let warned = shown.explanation.warnings.join(" ");
    let is_listed = warned.contains("qa-1");
    let listed = if is_listed { "warned" } else { "not warned" };
    format!("{} of 14, {listed}", shown.told("").len())
}

/// Pauses of a canary deployment, and the new instances at each of them.
pub(super) fn pauses(shown: &ShownSetup) -> String {
    let paused = reasons(shown)
        .iter()
        .filter(|text| text.starts_with("PAUSED"))
        .count();
    if paused == 1 {
        "1 pause".to_owned()
    } else {
        format!("{paused} pauses")
    }
}

/// The reasons of the deployment's status, each with the step that it is about.
fn reasons(shown: &ShownSetup) -> Vec<String> {
    let mut step = String::new();
    let mut reason = String::new();
    let mut at = f64::NAN;
    let mut list: Vec<String> = Vec::new();
    for row in &shown.run().statuses {
        // The rows of one time show one state.
        if row.t_s.to_bits() != at.to_bits() && !reason.is_empty() {
            push_new(&mut list, format!("{reason} {step}"));
        }
        at = row.t_s;
        match row.condition.as_str() {
            "status" => reason.clone_from(&row.reason),
            "status.canary.steps.current" => step.clone_from(&row.status),
            _ => {}
        }
    }
    push_new(&mut list, format!("{reason} {step}"));
    list
}

fn push_new(list: &mut Vec<String>, text: String) {
    if list.last() != Some(&text) {
        list.push(text);
    }
}

/// The reasons with their steps, in one line.
pub(super) fn reasons_in_order(shown: &ShownSetup) -> String {
    reasons(shown).join(", ")
}

/// New and old instances at the end of the second step.
pub(super) fn second_canary_step(shown: &ShownSetup) -> String {
    format!(
        "{} new, {} old",
        shown.column("step", 3)[1],
        shown.column("step", 4)[1]
    )
}

/// New instances at the end of each step.
pub(super) fn canary_instances(shown: &ShownSetup) -> String {
    shown.column("step", 3).join(", ")
}

/// Instances of both versions at the end of the last step.
pub(super) fn last_canary_step(shown: &ShownSetup) -> String {
    let new: u32 = shown
        .column("step", 3)
        .last()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let old: u32 = shown
        .column("step", 4)
        .last()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    (new + old).to_string()
}

/// The fields of the step in a canary's status.
pub(super) fn step_fields(shown: &ShownSetup) -> String {
    let field = |name: &str| {
        let values = shown.statuses("Deployment/1", &format!("status.canary.steps.{name}"));
        values
            .first()
            .map(|value| value.trim().to_owned())
            .unwrap_or_default()
    };
    format!("current {}, total {}", field("current"), field("total"))
}

/// The last words of the deployment's status.
pub(super) fn last_status(shown: &ShownSetup) -> String {
    shown
        .statuses("Deployment/1", "status")
        .last()
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// The line of `cf app` at the first pause, or else the first line.
pub(super) fn line_of_cf_app(shown: &ShownSetup) -> String {
    let lines = shown.statuses("App/app", "cf app");
    let paused = lines.iter().find(|line| line.contains("PAUSED"));
    let line = paused.or(lines.first());
    line.map_or("no such line".to_owned(), |line| line.trim().to_owned())
}

/// Instances that start with the request.
pub(super) fn start_with_request(shown: &ShownSetup) -> String {
    let (before, _) = shown.explanation.lines[0]
        .split_once(" start with the request")
        .unwrap_or_default();
    before.rsplit(' ').next().unwrap_or_default().to_owned()
}

/// Instances at a time, and megabytes that left the registry.
pub(super) fn at_once_without_bytes(shown: &ShownSetup) -> String {
    let megabytes = shown.run().run.egress_bytes / 1_000_000;
    format!("{} at once, {megabytes} MB", at_once(shown))
}

/// Whether the second batch of instances begins after a new instance is routable.
pub(super) fn second_batch(shown: &ShownSetup) -> String {
    let told = shown.told("");
    let first = told.partition_point(|at| *at <= told[0] + 1.0);
    if told[first] >= shown.ready("")[0] {
        "after the first is healthy".to_owned()
    } else {
        "before one is healthy".to_owned()
    }
}

/// Whether the second batch waits until the old instances are gone, which take eight seconds to end.
pub(super) fn waits_for_teardown(shown: &ShownSetup) -> String {
    let told = shown.told("");
    let first = told.partition_point(|at| *at <= told[0] + 1.0);
    if told[first] >= shown.ready("")[0] + 8.0 {
        "after the teardown".to_owned()
    } else {
        "without waiting for the teardown".to_owned()
    }
}

/// The measure `peak_instances`.
pub(super) fn peak_instances(shown: &ShownSetup) -> String {
    shown
        .run()
        .run
        .peak_instances
        .map_or_else(String::new, |most| most.to_string())
}

/// Instances that run the new version at the end.
pub(super) fn replaced(shown: &ShownSetup) -> String {
    let run = &shown.run().run;
    format!("{} of {}", run.targets_done, run.targets)
}

/// Whether an update with an unhealthy instance came to its end.
pub(super) fn held_by_unhealthy(shown: &ShownSetup) -> String {
    if shown.outcome() == "complete" {
        "complete".to_owned()
    } else {
        "held".to_owned()
    }
}

/// The order in which the stages of the example begin.
pub(super) fn stage_order(shown: &ShownSetup) -> String {
    let mut stages = Vec::new();
    for (name, prefix) in [
        ("staging", "stg"),
        ("canary", "can"),
        ("production", "prod"),
    ] {
        let begins = shown.told(prefix).first().copied().unwrap_or(f64::INFINITY);
        stages.push((begins, name));
    }
    stages.sort_by(|a, b| a.0.total_cmp(&b.0));
    let names: Vec<&str> = stages.into_iter().map(|(_, name)| name).collect();
    names.join(", ")
}

/// Clusters in each stage.
pub(super) fn stage_sizes(shown: &ShownSetup) -> String {
    let mut sizes = Vec::new();
    for stage in ["staging", "canary", "production"] {
        let rows = shown.run().clusters.iter();
        sizes.push(rows.filter(|row| row.stage == stage).count().to_string());
    }
    sizes.join(", ")
}

/// The order of the production clusters.
pub(super) fn production_order(shown: &ShownSetup) -> String {
    shown.order("prod").join(", ")
}

/// The first five clusters in their order.
pub(super) fn first_five(shown: &ShownSetup) -> String {
    let mut order = shown.order("");
    order.truncate(5);
    order.join(", ")
}

/// Time from the end of one stage until the next begins.
fn between(shown: &ShownSetup, stage: &str, next: &str) -> f64 {
    let end = shown.ready(stage).last().copied().unwrap_or(f64::NAN);
    shown.told(next).first().copied().unwrap_or(f64::INFINITY) - end
}

/// A time in words that leave out the polls of a run.
fn about(seconds: f64) -> String {
    if seconds < 60.0 {
        "at once".to_owned()
    } else if (3_590.0..3_660.0).contains(&seconds) {
        "1 h".to_owned()
    } else {
        format!("{seconds:.0} s")
    }
}

/// The wait between the stages staging and canary.
pub(super) fn wait_after_staging(shown: &ShownSetup) -> String {
    about(between(shown, "stg", "can"))
}

/// Whether the tasks of a stage begin after its last cluster, which is away for two hours.
pub(super) fn tasks_begin(shown: &ShownSetup) -> String {
    match shown.told("can").first() {
        Some(at) if *at >= 10_800.0 => "after all clusters".to_owned(),
        other => format!("{other:?}"),
    }
}

/// How long the run goes on after the last production cluster.
pub(super) fn end_of_production(shown: &ShownSetup) -> String {
    let last = shown.ready("prod").last().copied().unwrap_or(f64::NAN);
    let ends = shown.run().run.reported_s.unwrap_or(f64::NAN);
    about(ends - last)
}

/// The names of approval requests in the run's status.
pub(super) fn approval_of_canary(shown: &ShownSetup) -> String {
    for row in &shown.run().statuses {
        let text = format!("{} {}", row.object, row.message);
        for word in text.split([' ', '/', '`', ',', ':']) {
            if word.starts_with("example-run-") && word.ends_with("canary") {
                return word.to_owned();
            }
        }
    }
    "no request".to_owned()
}

/// Whether production begins after the approval at two hours.
pub(super) fn production_after_approval(shown: &ShownSetup) -> String {
    match shown.told("prod").first() {
        Some(at) if *at >= 7_200.0 => "after the approval".to_owned(),
        other => format!("{other:?}"),
    }
}

/// When the first cluster is told, of a run that is made after ten minutes.
pub(super) fn begins_with_the_run(shown: &ShownSetup) -> String {
    match shown.told("").first() {
        Some(at) if *at >= 600.0 => "with the run".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Whether any cluster is told.
pub(super) fn begins(shown: &ShownSetup) -> String {
    if shown.told("").is_empty() {
        "never begins".to_owned()
    } else {
        "begins".to_owned()
    }
}

/// Whether the explanation says that nothing begins.
pub(super) fn explained_begin(shown: &ShownSetup) -> String {
    if shown.words().contains("Initialize") {
        "stays in Initialize".to_owned()
    } else {
        "begins".to_owned()
    }
}

/// The delete stage in the run's status.
pub(super) fn delete_stage(shown: &ShownSetup) -> String {
    let rows = shown.run().statuses.iter();
    let mut reasons = Vec::new();
    for row in rows {
        if row.object.to_lowercase().contains("delet") {
            reasons.push(row.reason.clone());
        }
    }
    reasons.pop().unwrap_or_else(|| "not shown".to_owned())
}

/// The reason of the run's last condition.
pub(super) fn run_ends(shown: &ShownSetup) -> String {
    shown
        .statuses("ClusterStagedUpdateRun/", "Succeeded")
        .last()
        .map_or("not ended".to_owned(), |text| text.trim().to_owned())
}

/// Why a run has failed.
pub(super) fn failed(shown: &ShownSetup) -> String {
    let held = shown.run().run.held();
    if held.contains("failed") {
        "failed".to_owned()
    } else {
        format!("{}: {held}", shown.outcome())
    }
}

/// Whether a stage without clusters keeps the next one waiting.
pub(super) fn empty_stage(shown: &ShownSetup) -> String {
    match shown.told("").first() {
        Some(at) if *at >= 3_600.0 => "waits".to_owned(),
        Some(_) => "does not wait".to_owned(),
        None => "never".to_owned(),
    }
}

/// The rule that holds a run whose approval is never given, and the request that it names.
pub(super) fn held_by_approval(shown: &ShownSetup) -> String {
    let run = &shown.run().run;
    let names = run.held_detail.contains("canary");
    format!(
        "{}, {}",
        run.held_by,
        if names { "named" } else { "not named" }
    )
}

/// The size of a batch, in the explanation.
pub(super) fn batch(shown: &ShownSetup) -> String {
    let line = &shown.explanation.lines[0];
    let found = line
        .split_once("batches of up to ")
        .or(line.split_once("maxNew "));
    let (_, rest) = found.unwrap_or_default();
    rest.split(' ').next().unwrap_or_default().to_owned()
}

/// The first cluster that is told.
pub(super) fn first_told(shown: &ShownSetup) -> String {
    shown.order("").swap_remove(0)
}

/// Whether most clusters pull at once.
pub(super) fn storm(shown: &ShownSetup) -> String {
    match shown.run().run.peak_pulls {
        101.. => "more than 100".to_owned(),
        fewer => fewer.to_string(),
    }
}

/// How many applications update at once, and whether they do in the order of their names.
pub(super) fn told_by_name(shown: &ShownSetup) -> String {
    let order = if shown.order("").is_sorted() {
        "by name"
    } else {
        "in another order"
    };
    format!("{}, {order}", at_once(shown))
}

/// The last group of applications that begins, with the most of it at once.
pub(super) fn last_group(shown: &ShownSetup) -> String {
    waves(shown)
        .rsplit(", ")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Whether applications that got the labels of the first step in mid-rollout go with it.
pub(super) fn relabelled(shown: &ShownSetup) -> String {
    let regions = shown
        .told("region")
        .first()
        .copied()
        .unwrap_or(f64::INFINITY);
    let qa = shown.told("qa");
    if qa.len() == 3 && qa.iter().all(|at| *at < regions) {
        "qa with dev".to_owned()
    } else {
        format!("{} of qa, not with dev", qa.len())
    }
}

/// The wait between two stages whose strategy was edited in mid-rollout, and their order.
pub(super) fn snapshot_kept(shown: &ShownSetup) -> String {
    format!(
        "waits {}, {}",
        wait_after_staging(shown),
        stage_order(shown)
    )
}

/// Objects that the first pass creates.
pub(super) fn created_first(shown: &ShownSetup) -> String {
    let mut created = shown.run().passes.iter().map(|pass| pass.created);
    created
        .find(|created| *created > 0)
        .unwrap_or(0)
        .to_string()
}

/// New instances at the steps, and the pauses.
pub(super) fn instances_and_pauses(shown: &ShownSetup) -> String {
    format!("{}; {}", canary_instances(shown), pauses(shown))
}

/// Instances of the only step, and the pauses.
pub(super) fn single_step(shown: &ShownSetup) -> String {
    let [new, old] = [3, 4].map(|column| shown.column("step", column).concat());
    format!("{new} new, {old} old; {}", pauses(shown))
}
