//! `fleetsim compare`: three changes as in pull requests, revisions of a repository, earlier results, and limits.

use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::process::{Command as Process, Output};

use tempfile::TempDir;

#[cfg(unix)]
use super::common::root;
use super::common::{fleetsim, folder_with, git, has_git, text};

/// Writes an experiment of 40 clusters, with a file of its product and an image manifest.
fn version(folder: &Path, strategy: &str, megabytes: u64) {
    fs::create_dir_all(folder).expect("a folder");
    let experiment = "
name: shop
seed: 3
replicates: 6
fleet: [{name: 'store-{01..40}', labels: {env: prod}, nodes: 2, downlink: 50 Mbit/s, rtt: 40 ms}]
registry: {egress: 1 Gbit/s}
release:
  images: [{name: shop, manifest: shop.json}]
  workloads: [{kind: Deployment, image: shop, replicas: 2}]
strategies: {from-git: {rancherFleet: {file: fleet.yaml}}}
assert: [peak_pulls <= 20]
";
    let manifest = format!(
        "{{\"schemaVersion\": 2, \"layers\": [{}, {}]}}",
        layer('a', 30_000_000),
        layer('b', megabytes * 1_000_000)
    );
    fs::write(folder.join("experiment.yaml"), experiment).expect("written");
    fs::write(
        folder.join("fleet.yaml"),
        format!("rolloutStrategy:\n{strategy}"),
    )
    .expect("written");
    fs::write(folder.join("shop.json"), manifest).expect("written");
}

fn layer(name: char, size: u64) -> String {
    let digest = format!("sha256:{}", name.to_string().repeat(64));
    let kind = "application/vnd.oci.image.layer.v1.tar+gzip";
    format!("{{\"mediaType\": \"{kind}\", \"digest\": \"{digest}\", \"size\": {size}}}")
}

/// The program's output for a change, and its exit code.
fn compared(folder: &Path, arguments: &[&str]) -> (String, i32) {
    let output = fleetsim(folder)
        .arg("compare")
        .args(arguments)
        .output()
        .expect("it starts");
    (
        text(&output.stdout) + &text(&output.stderr),
        output.status.code().expect("it ends"),
    )
}

const TEN: &str = "  maxUnavailable: 10%\n";

#[test]
fn a_change_is_reviewed_with_its_cause_and_its_settings() {
    let home = folder_with(&[]);
    version(&home.path().join("old"), TEN, 20);
    let cases = [
        // This change raises the limit of four clusters to ten, with two nodes each.
        (
            "  maxUnavailable: 25%\n",
            20,
            "fleet.yaml: rolloutStrategy.maxUnavailable: 10% → 25%",
        ),
        (
            "  maxUnavailable: 10%\n  partitions:\n    - {name: a, maxUnavailable: 1, clusterSelector: {matchLabels: {env: prod}}}\n",
            20,
            "fleet.yaml: rolloutStrategy.partitions[0].name: (none) → a",
        ),
        (
            TEN,
            320,
            "shop.json: 50 MB in 2 layers → 350 MB in 2 layers",
        ),
    ];
    for (strategy, megabytes, setting) in cases {
        let new = home.path().join("new");
        version(&new, strategy, megabytes);
        let (printed, code) = compared(home.path(), &["old", "new"]);
        assert_eq!(code, 0, "{printed}");
        assert!(
            printed.starts_with("old → new\n\n`from-git` completes in "),
            "{printed}"
        );
        assert!(
            printed.contains(" instead of ") && printed.contains("On the critical path: "),
            "{printed}"
        );
        assert!(printed.contains(setting), "{printed}");
        let (comment, _) = compared(home.path(), &["old", "new", "--format", "markdown"]);
        assert!(
            comment.starts_with("### fleetsim: `from-git` completes in "),
            "{comment}"
        );
        assert!(
            comment.contains("| completion | ") && comment.contains(&format!("- `{setting}`")),
            "{comment}"
        );
    }
}

#[test]
fn the_same_version_twice_has_no_difference() {
    let home = folder_with(&[]);
    version(&home.path().join("old"), TEN, 20);
    let (printed, code) = compared(home.path(), &["old", "old"]);
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains("Identical: no setting and no measure differs.")
            && printed.contains(" as before."),
        "{printed}"
    );
    let (comment, _) = compared(home.path(), &["old", "old", "--format", "markdown"]);
    assert!(
        comment.starts_with("### fleetsim: the versions are identical\n"),
        "{comment}"
    );
    let (json, _) = compared(home.path(), &["old", "old", "--format", "json"]);
    assert!(
        json.contains("\"schema_version\": 2") && !json.contains("\"is_same\": false"),
        "{json}"
    );
}

#[test]
fn a_limit_that_the_new_version_exceeds_sets_the_exit_code_and_fails_a_test_case() {
    let home = folder_with(&[]);
    version(&home.path().join("old"), TEN, 20);
    version(&home.path().join("new"), "  maxUnavailable: 100%\n", 20);
    let (printed, code) = compared(home.path(), &["old", "new", "--junit", "limits.xml"]);
    assert_eq!(code, 99, "{printed}");
    assert!(
        printed.contains("assert peak_pulls <= 20: FAILS"),
        "{printed}"
    );
    let junit = fs::read_to_string(home.path().join("limits.xml")).expect("written");
    assert!(junit.contains("failures=\"1\""), "{junit}");
}

#[test]
fn a_violation_that_the_old_version_has_is_named_and_does_not_fail_the_check() {
    let home = folder_with(&[]);
    version(&home.path().join("old"), "  maxUnavailable: 75%\n", 20);
    version(&home.path().join("new"), "  maxUnavailable: 100%\n", 20);
    let (printed, code) = compared(home.path(), &["old", "new"]);
    assert_eq!(code, 0, "{printed}");
    let words = "as before: `from-git` exceeds `peak_pulls <= 20`: ";
    assert!(
        printed.contains(words) && printed.replace('\n', " ").contains("(before: "),
        "{printed}"
    );
    let (comment, code) = compared(home.path(), &["old", "new", "--format", "markdown"]);
    assert!(
        code == 0 && comment.contains("- as before: `from-git` exceeds `peak_pulls <= 20`: "),
        "{comment}"
    );
    version(&home.path().join("good"), TEN, 20);
    let (comment, code) = compared(home.path(), &["good", "new", "--format", "markdown"]);
    assert!(
        code == 99
            && comment.starts_with(
                "### fleetsim: `from-git` now exceeds `peak_pulls <= 20`\n\n- **new:** `from-git` exceeds "
            ),
        "{comment}"
    );
}

/// Writes an experiment with twenty clusters, some of which stay offline. `max_unavailable` of them may be
/// unavailable.
fn with_offline(folder: &Path, name: &str, max_unavailable: u32) {
    let experiment = format!(
        "
name: cmp
seed: 3
replicates: 10
horizon: 2h
fleet: [{{name: 'edge-{{01..20}}', nodes: 1, site: store}}]
registry: {{egress: 1 Gbit/s}}
faults: {{offline: {{share: 5%}}}}
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 125 MB}}]}}}}]
  workloads: [{{kind: DaemonSet, image: shop}}]
strategies: {{a: {{rancherFleet: {{maxUnavailable: {max_unavailable}}}}}}}
"
    );
    fs::write(folder.join(name), experiment).expect("written");
}

#[test]
fn unfinished_runs_of_both_versions_are_reported() {
    let home = folder_with(&[]);
    with_offline(home.path(), "before.yaml", 1);
    with_offline(home.path(), "after.yaml", 2);
    let (printed, code) = compared(home.path(), &["before.yaml", "after.yaml"]);
    assert_eq!(code, 0, "{printed}");
    let words = "`a` finishes in 8 of 10 runs (before: 6 of 10); the median run completes in ";
    assert!(
        printed.contains(words) && printed.contains("One unfinished run is blocked"),
        "{printed}"
    );
}

#[test]
fn results_are_only_compared_with_an_experiment_with_the_same_seed() {
    let home = folder_with(&[]);
    version(&home.path().join("old"), TEN, 20);
    version(&home.path().join("new"), "  maxUnavailable: 25%\n", 20);
    fleetsim(home.path())
        .args(["run", "old", "--out", "results"])
        .assert()
        .success();
    let (printed, code) = compared(home.path(), &["results", "new"]);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("maxUnavailable: 10% → 25%"), "{printed}");
    // The results have six runs; the comparison covers the two runs that both versions have.
    let (printed, code) = compared(home.path(), &["results", "new", "--replicates", "2"]);
    let (fewer, _) = compared(home.path(), &["old", "new", "--replicates", "2"]);
    let after_names = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!((code, after_names(&printed)), (0, after_names(&fewer)));
    let (printed, code) = compared(home.path(), &["results", "new", "--seed", "4"]);
    assert_eq!(code, 2, "{printed}");
    assert!(
        printed.contains("results has seed 3, new has seed 4"),
        "{printed}"
    );
}

#[test]
fn values_without_effect_are_not_shown() {
    let home = folder_with(&[]);
    for (name, secret) in [("old", "hunter2"), ("new", "hunter3")] {
        version(
            &home.path().join(name),
            &format!("{TEN}helm:\n  values: {{password: {secret}}}\n"),
            20,
        );
    }
    let (printed, code) = compared(home.path(), &["old", "new"]);
    assert_eq!(code, 0, "{printed}");
    assert!(!printed.contains("hunter"), "{printed}");
}

/// A repository whose branch `main` has one version, with a change in the work tree. `None` without git.
pub(super) fn repository() -> Option<TempDir> {
    if !has_git() {
        return None;
    }
    let home = folder_with(&[]);
    version(&home.path().join("rollouts/shop"), TEN, 20);
    git(home.path(), &["init", "--quiet"]);
    git(home.path(), &["add", "."]);
    git(home.path(), &["commit", "--quiet", "--message", "x"]);
    git(
        home.path(),
        &["update-ref", "refs/remotes/origin/main", "HEAD"],
    );
    version(
        &home.path().join("rollouts/shop"),
        "  maxUnavailable: 25%\n",
        20,
    );
    Some(home)
}

#[test]
fn versions_are_read_from_a_repository_without_checking_them_out() {
    let Some(home) = repository() else { return };
    let (printed, code) = compared(home.path(), &["main:rollouts/shop", "rollouts/shop"]);
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.starts_with("main:rollouts/shop → rollouts/shop\n"),
        "{printed}"
    );
    assert!(printed.contains("maxUnavailable: 10% → 25%"), "{printed}");
    let (below, code) = compared(
        &home.path().join("rollouts"),
        &["HEAD:./shop/../shop", "shop"],
    );
    assert_eq!(
        (code, below.lines().skip(1).collect::<Vec<_>>()),
        (0, printed.lines().skip(1).collect::<Vec<_>>())
    );
    let (missing, code) = compared(home.path(), &["main:rollouts/shp", "rollouts/shop"]);
    assert_eq!(code, 2, "{missing}");
    let no_file = "there is no file or folder `rollouts/shp` in the revision `main`";
    assert!(missing.contains(no_file), "{missing}");
    let (missing, code) = compared(home.path(), &["mian:rollouts/shop", "rollouts/shop"]);
    assert_eq!(code, 2, "{missing}");
    assert!(missing.contains("no such revision: `mian`"), "{missing}");
    let outside = folder_with(&[]);
    let (missing, code) = compared(
        outside.path(),
        &["main:rollouts/shop", "main:rollouts/shop"],
    );
    assert_eq!(code, 2, "{missing}");
    assert!(missing.contains("needs a git repository"), "{missing}");
}

/// Runs the script of a shipped workflow as the pipeline would.
#[cfg(unix)]
pub(super) fn run_workflow(name: &str, home: &Path) -> Output {
    let program = assert_cmd::cargo::cargo_bin("fleetsim");
    let path = format!(
        "{}:{}",
        program.parent().expect("a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let page = fs::read_to_string(root().join("examples/review").join(name)).expect("readable");
    let workflow: serde_json::Value = serde_saphyr::from_str(&page).expect("valid YAML");
    let script = match workflow["jobs"]["review"]["steps"].as_array() {
        Some(steps) => steps
            .iter()
            .find(|step| step["name"] == "Compare")
            .expect("a step")["run"]
            .clone(),
        None => workflow["rollout review"]["script"][0].clone(),
    };
    let script = script.as_str().expect("a script");
    Process::new("sh")
        .args(["-e", "-c", script])
        .current_dir(home)
        .env("PATH", &path)
        .envs([
            ("ROLLOUT", "rollouts/shop"),
            ("GITHUB_BASE_REF", "main"),
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "HEAD"),
        ])
        .envs([
            ("GITHUB_STEP_SUMMARY", "summary.md"),
            ("GITHUB_OUTPUT", "output"),
        ])
        .output()
        .expect("a shell")
}

#[cfg(unix)]
#[test]
fn the_workflows_compare_and_write_a_comment() {
    for name in ["github.yml", "gitlab.yml"] {
        let Some(home) = repository() else { return };
        let output = run_workflow(name, home.path());
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        let comment = fs::read_to_string(home.path().join("review.md")).expect("written");
        assert!(
            comment.starts_with("### fleetsim: `from-git` completes in "),
            "{comment}"
        );
        assert!(home.path().join("limits.xml").exists());
    }
}

#[test]
fn people_who_react_are_compared_by_the_exposed_hours_also_if_one_version_has_none() {
    let plain = "name: shop
replicates: 2
horizon: 4h
fleet: [{name: 'c-{1..4}', nodes: 1}]
release:
  images: [{name: shop, manifest: {layers: [{size: 20 MB}]}}]
  workloads: [{kind: Deployment, image: shop, readiness: {period: 5 s}}]
faults: {defect: {share: 100%, kind: unready}}
strategies: {quick: {rancherFleet: {maxUnavailable: 50%}}}
";
    let rule = "operator: [{when: failed > 0, within: 5 min, then: rollback}]\n";
    let quick = format!("{plain}{rule}");
    let slow = quick.replace("5 min", "40 min");
    let folder = folder_with(&[
        ("plain.yaml", plain),
        ("quick.yaml", &quick),
        ("slow.yaml", &slow),
    ]);
    // Two of four clusters have the defect until people act, so 35 min more are 1.2 hours.
    let (later, _) = compared(folder.path(), &["quick.yaml", "slow.yaml", "--no-causes"]);
    let row = later.lines().find(|line| line.contains("exposed hours"));
    assert!(row.is_some_and(|row| row.contains("+1.17")), "{later}");
    let (alone, code) = compared(folder.path(), &["plain.yaml", "quick.yaml", "--no-causes"]);
    assert_eq!(code, 0, "{alone}");
    let mut rows = alone.lines();
    let row = rows.find(|line| line.trim_start().starts_with("exposed hours"));
    assert!(row.is_some_and(|row| row.contains(" – ")), "{alone}");
    let unchanged = alone.split("Unchanged:").nth(1).unwrap_or_default();
    assert!(!unchanged.contains("exposed hours"), "{alone}");
}
