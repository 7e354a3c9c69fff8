//! `controller: upstream`: a product's own controller instead of the native scheduler.
//!
//! The real programs are built by `controllers/build`. Tests that need them look for them in `target/controllers`, and
//! are skipped with a message if the folder has none. If `FLEETSIM_CONTROLLERS` names a folder, the programs must be
//! there.

use std::path::{Path, PathBuf};

use super::common::{canaries_and_stores, contents, fleetsim, folder_with, root, text};

pub(super) const SET: &str = "
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: app, namespace: argocd}
spec:
  generators: [{clusters: {}}]
  strategy:
    type: RollingSync
    rollingSync:
      steps:
        - matchExpressions: [{key: ring, operator: In, values: [canary]}]
        - matchExpressions: [{key: ring, operator: In, values: [rest]}]
          maxUpdate: 25%
  template:
    metadata: {name: '{{name}}', labels: {ring: '{{metadata.labels.ring}}'}}
    spec:
      project: default
      source: {repoURL: https://git.example.com/app.git, path: deploy, targetRevision: v1}
      destination: {server: '{{server}}', namespace: default}
";

pub(super) const BUNDLE: &str = "
defaultNamespace: app
rolloutStrategy:
  maxUnavailable: 25%
  partitions:
    - {name: canary, clusterSelector: {matchLabels: {ring: canary}}}
    - {name: rest, clusterSelector: {matchLabels: {ring: rest}}}
";

/// An experiment with twelve clusters, `strategies` and the products' files.
fn experiment(strategies: &str) -> tempfile::TempDir {
    let experiment = canaries_and_stores(2, strategies, "");
    folder_with(&[
        ("experiment.yaml", &experiment),
        ("applicationset.yaml", SET),
        ("fleet.yaml", BUNDLE),
    ])
}

/// The folder of the products' programs. `None`: they are missing, and the test is skipped.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(super) fn programs() -> Option<PathBuf> {
    let named = std::env::var_os("FLEETSIM_CONTROLLERS").map(PathBuf::from);
    let folder = named
        .clone()
        .unwrap_or_else(|| root().join("target/controllers"));
    if folder.join("argocd").exists() && folder.join("fleet").exists() {
        return Some(folder);
    }
    assert!(
        named.is_none(),
        "FLEETSIM_CONTROLLERS must name a folder with the programs"
    );
    eprintln!(
        "skipped: there are no programs in {}; controllers/build makes them",
        folder.display()
    );
    None
}

/// Runs the program for an experiment, with the controllers from `programs`. Returns the exit code and the standard
/// error.
fn run(experiment: &Path, programs: &Path, more: &[&str]) -> (Option<i32>, String) {
    let mut command = fleetsim(experiment);
    command
        .env("FLEETSIM_CONTROLLERS", programs)
        .args(["run", ".", "--allow-commands"])
        .args(more);
    let output = command.output().expect("it runs");
    (output.status.code(), text(&output.stderr))
}

#[test]
fn the_products_own_controllers_complete_a_rollout_with_the_same_bytes_on_any_number_of_threads() {
    let Some(programs) = programs() else { return };
    let folder = experiment(
        "{argo: {argoCd: {file: applicationset.yaml, controller: upstream}}, \
          fleet: {rancherFleet: {file: fleet.yaml, controller: upstream}}}",
    );
    for (threads, out) in [("1", "one"), ("2", "two")] {
        let (code, messages) = run(
            folder.path(),
            &programs,
            &["--threads", threads, "--out", out],
        );
        assert_eq!(code, Some(0), "{messages}");
    }
    let tables = |out: &str| {
        let files = contents(&folder.path().join(out));
        files
            .into_iter()
            .filter(|(name, _)| name.ends_with(".csv"))
            .collect::<Vec<_>>()
    };
    let one = tables("one");
    assert!(one == tables("two"), "two threads change no byte");
    let runs = one
        .iter()
        .find(|(name, _)| name == "runs.csv")
        .map(|(_, bytes)| text(bytes))
        .expect("the runs");
    assert_eq!(runs.matches(",complete,").count(), 4, "{runs}");
}

#[test]
fn the_native_scheduler_instructs_clusters_in_the_order_of_the_products_own_controller() {
    let Some(programs) = programs() else { return };
    for (product, file) in [
        ("argoCd", "applicationset.yaml"),
        ("rancherFleet", "fleet.yaml"),
    ] {
        let order = |choice: &str| {
            let folder = experiment(&format!(
                "{{s: {{{product}: {{file: {file}, controller: {choice}}}}}}}"
            ));
            let (code, messages) = run(
                folder.path(),
                &programs,
                &["--replicates", "1", "--out", "out"],
            );
            assert_eq!(code, Some(0), "{messages}");
            instructed(&folder.path().join("out/clusters.csv"))
        };
        let (upstream, native) = (order("upstream"), order("native"));
        if product == "argoCd" {
            // Within a step, the order depends on how long comparisons take.
            assert!(
                upstream[..2]
                    .iter()
                    .chain(&native[..2])
                    .all(|cluster| cluster.starts_with("canary"))
            );
        } else {
            assert_eq!(upstream, native, "{product}");
        }
    }
}

/// Compares Argo CD's own ApplicationSet controller with the native one for three failures: a permanent one, a
/// temporary one, and a failing hook.
#[test]
fn argo_cds_own_controller_continues_like_the_native_one_after_failed_syncs() {
    let Some(programs) = programs() else { return };
    let times = |choice: &str| {
        let strategies =
            format!("{{s: {{argoCd: {{file: applicationset.yaml, controller: {choice}}}}}}}");
        let faults = "faults: {apply: [{clusters: [canary-1], kind: rejected, attempts: 8},
  {clusters: [store-03], kind: hook, attempts: 2}, {clusters: [store-05], kind: timeout}]}\n";
        let text = canaries_and_stores(2, &strategies, faults);
        let folder = folder_with(&[("experiment.yaml", &text), ("applicationset.yaml", SET)]);
        let (code, messages) = run(
            folder.path(),
            &programs,
            &["--replicates", "1", "--out", "out"],
        );
        assert_eq!(code, Some(0), "{messages}");
        applied(&folder.path().join("out/clusters.csv"))
    };
    let (upstream, native) = (times("upstream"), times("native"));
    assert_eq!(native.len(), 12);
    for ((cluster, theirs), (_, ours)) in upstream.iter().zip(&native) {
        match (theirs, ours) {
            (Some(theirs), Some(ours)) => {
                assert!(
                    (theirs - ours).abs() < 5.0,
                    "{cluster}: {theirs} s and {ours} s"
                );
            }
            (theirs, ours) => {
                let message = format!("{cluster}: {theirs:?} and {ours:?}");
                assert!(
                    theirs.is_none() && ours.is_none() && cluster == "store-05",
                    "{message}"
                );
            }
        }
    }
    // Six attempts of the first sync and two of the second fail, with waits of 310 + 30 s.
    let canary = native.iter().find(|(cluster, _)| cluster == "canary-1");
    let at = canary.expect("it is there").1.expect("it arrives");
    assert!((340.0..370.0).contains(&at), "{at}");
}

/// Returns the time at which each cluster had applied the revision, if it did.
fn applied(table: &Path) -> Vec<(String, Option<f64>)> {
    let mut table = csv::Reader::from_path(table).expect("the table");
    let headers = table.headers().expect("a header").clone();
    let column = |name: &str| {
        headers
            .iter()
            .position(|header| header == name)
            .expect(name)
    };
    let (cluster, at) = (column("cluster"), column("applied_s"));
    let rows = table.records().map(|row| row.expect("a row"));
    rows.map(|row| (row[cluster].to_owned(), row[at].parse().ok()))
        .collect()
}

/// The clusters in the order in which they were instructed.
fn instructed(table: &Path) -> Vec<String> {
    let mut table = csv::Reader::from_path(table).expect("the table");
    let names = table.headers().expect("a heading").clone();
    let at = |name: &str| {
        names
            .iter()
            .position(|column| column == name)
            .expect("a column")
    };
    let (cluster, told) = (at("cluster"), at("instructed_s"));
    let mut rows: Vec<(f64, String)> = table
        .records()
        .map(|row| row.expect("a row"))
        .map(|row| (row[told].parse().expect("a time"), row[cluster].to_owned()))
        .collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows.into_iter().map(|(_, cluster)| cluster).collect()
}

/// Two rings of `each` clusters over links of different rates.
fn rings(each: u32) -> String {
    let ring = |name: &str, label: &str| {
        format!(
            "  - {{name: '{name}-{{01..{each:02}}}', nodes: 1, labels: {{ring: {label}}}, \
             downlink: {{median: 40 Mbit/s, sigma: 0.8}}, rtt: {{median: 30 ms, sigma: 0.4}}}}\n"
        )
    };
    ring("a", "canary") + &ring("b", "rest")
}

/// An experiment with `fleet` that has a strategy of `product` twice: with the native scheduler, and with the
/// product's own controller.
fn both(product: &str, strategy: &str, fleet: &str, others: &str) -> String {
    format!(
        "
name: both
replicates: 1
horizon: 2h
fleet:
{fleet}
registry: {{egress: 2 Gbit/s}}
release:
  images:
    - name: app
      manifest: {{layers: [{{size: 60 MB}}, {{size: 20 MB}}]}}
      previous: {{layers: [{{size: 60 MB}}, {{size: 19 MB}}]}}
  workloads:
    - {{kind: Deployment, image: app, replicas: 2, start: {{median: 6 s, sigma: 0.7}}, readiness: {{period: 5 s}}}}
strategies:
  native: {{{product}: {{{strategy}}}}}
  upstream: {{{product}: {{{strategy}, controller: upstream}}}}
{others}
"
    )
}

/// The results of a run on which both controllers must agree.
#[derive(Debug)]
struct Shown {
    outcome: String,
    held_by: String,
    told: usize,
    done: u64,
    exposed: u64,
    peak_pulls: u64,
    completion_s: Option<f64>,
    reported_s: Option<f64>,
}

/// Runs an experiment natively and with the product's own controller. Returns both results, and the program's standard
/// error.
fn run_both(programs: &Path, experiment: &str, files: &[(&str, &str)]) -> (Shown, Shown, String) {
    let mut all = vec![("experiment.yaml", experiment)];
    all.extend(files);
    let folder = folder_with(&all);
    let (code, messages) = run(folder.path(), programs, &["--out", "out"]);
    assert_eq!(code, Some(0), "{messages}");
    let rows = |name: &str| -> Vec<std::collections::HashMap<String, String>> {
        let mut table = csv::Reader::from_path(folder.path().join("out").join(name)).expect(name);
        table.deserialize().map(|row| row.expect("a row")).collect()
    };
    let (runs, clusters) = (rows("runs.csv"), rows("clusters.csv"));
    let shown = |variant: &str| {
        let row = runs
            .iter()
            .find(|row| row["variant"] == variant)
            .expect("a run");
        let number = |name: &str| row[name].parse::<u64>().expect("a count");
        let time = |name: &str| row[name].parse::<f64>().ok();
        Shown {
            outcome: row["outcome"].clone(),
            held_by: row["held_by"].clone(),
            told: clusters
                .iter()
                .filter(|row| row["variant"] == variant && !row["instructed_s"].is_empty())
                .count(),
            done: number("targets_done"),
            exposed: number("exposed_targets"),
            peak_pulls: number("peak_pulls"),
            completion_s: time("completion_s"),
            reported_s: time("reported_s"),
        }
    };
    (shown("native"), shown("upstream"), messages)
}

/// Asserts that both runs have equal results, with times within 1 % and a second.
fn agree(native: &Shown, upstream: &Shown) {
    let counts = |shown: &Shown| {
        (
            shown.outcome.clone(),
            shown.told,
            shown.done,
            shown.exposed,
            shown.peak_pulls,
        )
    };
    assert_eq!(counts(native), counts(upstream), "{native:?} {upstream:?}");
    for (ours, theirs) in [
        (native.completion_s, upstream.completion_s),
        (native.reported_s, upstream.reported_s),
    ] {
        assert_eq!(ours.is_some(), theirs.is_some(), "{native:?} {upstream:?}");
        let (ours, theirs) = (ours.unwrap_or_default(), theirs.unwrap_or_default());
        assert!(
            (ours - theirs).abs() <= 1.0 + 0.01 * ours,
            "{native:?} {upstream:?}"
        );
    }
}

#[test]
fn fleets_own_controller_runs_to_its_end_despite_crashing_clusters() {
    let Some(programs) = programs() else { return };
    let faults = "faults: {defect: {share: 25%, kind: crashes}}";
    let text = both("rancherFleet", "file: fleet.yaml", &rings(4), faults);
    let bundle = "{defaultNamespace: app, rolloutStrategy: {maxUnavailable: 2}}";
    let (native, upstream, _) = run_both(&programs, &text, &[("fleet.yaml", bundle)]);
    agree(&native, &upstream);
    assert_eq!(native.held_by, upstream.held_by);
    assert!(
        native.exposed > 0 && native.outcome == "stalled",
        "{native:?}"
    );
}

#[test]
fn fleets_own_controller_receives_partitions_by_cluster_group() {
    let Some(programs) = programs() else { return };
    let groups = "clusterGroups:
  - {name: first, selector: {matchLabels: {ring: canary}}, labels: {tier: '1'}}
  - {name: second, selector: {matchLabels: {ring: rest}}}";
    let text = both("rancherFleet", "file: fleet.yaml", &rings(6), groups);
    let bundle = "{defaultNamespace: app, rolloutStrategy: {maxUnavailable: 25%, partitions: [
        {name: one, clusterGroup: second},
        {name: two, clusterGroupSelector: {matchLabels: {tier: '1'}}}]}}";
    let (native, upstream, _) = run_both(&programs, &text, &[("fleet.yaml", bundle)]);
    agree(&native, &upstream);
    assert_eq!(
        (native.outcome.as_str(), native.done),
        ("complete", 12),
        "{native:?}"
    );
}

#[test]
fn a_ring_that_returns_after_all_retries_is_updated_natively_and_by_argo_cds_own_controller() {
    let Some(programs) = programs() else { return };
    let faults = "faults: {regional: [{selector: {matchLabels: {ring: canary}}, \
                  windows: [{from: 0 s, for: 15 min}], cuts: management}]}";
    let strategy = "file: applicationset.yaml";
    let text = both("argoCd", strategy, &rings(5), faults);
    let (native, upstream, _) = run_both(&programs, &text, &[("applicationset.yaml", SET)]);
    agree(&native, &upstream);
    assert_eq!(
        (native.outcome.as_str(), native.done),
        ("complete", 10),
        "{native:?}"
    );
}

#[test]
fn a_note_says_that_a_peak_of_argo_cd_depends_on_milliseconds() {
    let Some(programs) = programs() else { return };
    // The clusters of the first step are last by name, and ten Applications are written at a time.
    let fleet = rings(8)
        .replace("name: 'a-", "name: 'z-")
        .replace("name: 'b-", "name: 'a-");
    let strategy = "file: applicationset.yaml, concurrentApplicationUpdates: 10";
    let text = both("argoCd", strategy, &fleet, "");
    let (native, upstream, messages) = run_both(&programs, &text, &[("applicationset.yaml", SET)]);
    assert!(
        messages.contains(
            "note: native, upstream: the peak and the start of steps depend on milliseconds"
        ),
        "{messages}"
    );
    assert_eq!(
        (native.done, upstream.done),
        (16, 16),
        "{native:?} {upstream:?}"
    );
}

#[test]
fn generators_that_argo_cds_own_controller_cannot_use_on_the_fleet_are_refused() {
    let refused = |set: &str, fleet: &str| {
        let text = both("argoCd", "file: applicationset.yaml", fleet, "");
        let folder = folder_with(&[("experiment.yaml", &text), ("applicationset.yaml", set)]);
        let check = fleetsim(folder.path())
            .args(["check", "."])
            .assert()
            .code(2);
        super::common::text(&check.get_output().stderr)
    };
    let set = |generators: &str| SET.replace("[{clusters: {}}]", generators);
    let messages = refused(&set("[{git: {repoURL: x}}]"), &rings(2));
    assert!(
        messages.contains("the fleet has no data for the generator `git`"),
        "{messages}"
    );
    let behind = set("[{clusters: {}, selector: {matchLabels: {metadata.labels.ring: rest}}}]");
    let messages = refused(&behind, &rings(2));
    assert!(
        messages.contains(
            "the generator `clusters`, `selector` cannot be used with `controller: upstream`"
        ),
        "{messages}"
    );
    let agentless = rings(2) + "  - {name: new, registered: false}\n";
    let messages = refused(SET, &agentless);
    assert!(
        messages.contains("`registered: false` of new"),
        "{messages}"
    );
    // A set whose generators select the whole fleet is accepted.
    let all = set("[{clusters: {selector: {matchExpressions: [
        {key: ring, operator: In, values: [canary, rest]},
        {key: argocd.argoproj.io/secret-type, operator: Exists}]}}}]");
    let text = both("argoCd", "file: applicationset.yaml", &rings(2), "");
    let folder = folder_with(&[("experiment.yaml", &text), ("applicationset.yaml", &all)]);
    fleetsim(folder.path())
        .args(["check", "."])
        .assert()
        .success();
}

#[test]
fn a_missing_controller_is_named_with_the_command_that_builds_it() {
    let folder = experiment("{s: {rancherFleet: {file: fleet.yaml, controller: upstream}}}");
    let (code, messages) = run(
        folder.path(),
        &folder.path().join("nowhere"),
        &["--out", "out"],
    );
    assert_eq!(code, Some(1), "{messages}");
    assert!(
        messages.contains("nowhere/fleet` must exist; build it with `controllers/build`"),
        "{messages}"
    );
    assert!(!folder.path().join("out").exists(), "nothing is written");
    let check = fleetsim(folder.path())
        .env("FLEETSIM_CONTROLLERS", "/nowhere")
        .args(["check", "."])
        .assert()
        .success();
    let warnings = text(&check.get_output().stdout).replace("\n  ", " ");
    assert!(
        warnings.contains("warning: s: the program `/nowhere/fleet` must exist"),
        "{warnings}"
    );
}

#[test]
fn a_missing_controller_is_found_before_the_runs_of_other_strategies() {
    let folder = experiment(
        "{native: {rancherFleet: {file: fleet.yaml}}, s: {rancherFleet: {file: fleet.yaml, controller: upstream}}}",
    );
    let (code, messages) = run(
        folder.path(),
        &folder.path().join("nowhere"),
        &["--out", "out"],
    );
    assert_eq!(code, Some(1), "{messages}");
    assert!(
        messages.contains("s: the program") && !messages.contains("saved"),
        "{messages}"
    );
}

#[test]
fn settings_that_the_products_controller_cannot_read_are_refused() {
    let refused = |strategy: &str| {
        let folder = experiment(&format!("{{s: {strategy}}}"));
        let output = fleetsim(folder.path())
            .args(["check", "."])
            .assert()
            .code(2)
            .get_output()
            .clone();
        text(&output.stderr)
    };
    let messages = refused("{rancherFleet: {maxUnavailable: 1, controller: upstream}}");
    assert!(
        messages.contains("needs the strategy in the product's own file"),
        "{messages}"
    );
    let messages =
        refused("{rancherFleet: {file: fleet.yaml, maxUnavailable: 1, controller: upstream}}");
    assert!(
        messages.contains("`maxUnavailable` has no effect with `controller: upstream`, which reads only `fleet.yaml`"),
        "{messages}"
    );
}

#[test]
fn check_and_explain_start_no_process() {
    let folder = experiment("{s: {argoCd: {file: applicationset.yaml, controller: upstream}}}");
    for command in ["check", "explain"] {
        fleetsim(folder.path())
            .env("FLEETSIM_CONTROLLERS", "/nowhere")
            .args([command, "."])
            .assert()
            .success();
    }
    let output = fleetsim(folder.path())
        .args(["run", "."])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("add --allow-commands"),
        "{}",
        text(&output.stderr)
    );
}
