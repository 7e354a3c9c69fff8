//! Fields of a strategy's file that affect the rollout but are not simulated: `import` writes them, and the user
//! decides.

use std::fs;

use super::super::common::{fleetsim, text};
use super::exports::fleet_clusters;
use super::{folder, json, printed, refused};

const FLEET_YAML: &str = "helm: {waitForJobs: true}\nrolloutStrategy: {maxUnavailable: 010}\n";

#[test]
fn an_unsimulated_field_is_an_error_until_the_user_accepts_it() {
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(10))),
        ("fleet.yaml", FLEET_YAML.to_owned()),
    ]);
    let output = fleetsim(folder.path())
        .args([
            "import",
            "--fleet",
            "clusters.json",
            "--strategy",
            "fleet.yaml",
            "-o",
            "out",
        ])
        .output()
        .expect("run");
    assert_eq!(output.status.code(), Some(2));
    let problem = text(&output.stderr);
    assert!(
        problem.contains("error: `helm.waitForJobs` is not simulated and can change the answer"),
        "{problem}"
    );
    assert!(problem.contains(" --> fleet.yaml:1:21"), "{problem}");
    let said = text(&output.stdout);
    assert!(
        !said.contains("is accepted"),
        "nobody has accepted it: {said}"
    );
    assert!(
        said.contains("next: decide on what is not simulated"),
        "{said}"
    );

    let (code, problem) = refused(folder.path(), "check out", b"");
    assert_eq!(code, 2);
    assert!(
        problem.contains("`helm.waitForJobs` is not simulated and can change the answer"),
        "{problem}"
    );

    let experiment = folder.path().join("out/experiment.yaml");
    let written = fs::read_to_string(&experiment).expect("written");
    let accepting = written.replace("# accept: [helm.waitForJobs]", "accept: [helm.waitForJobs]");
    assert_ne!(written, accepting);
    fs::write(&experiment, accepting).expect("writable");
    printed(folder.path(), "check out");
}

const MANIFEST: &str =
    "applications:\n- name: shop\n  instances: 4\n  timeout: 90\n  health-check-interval: 5\n";

#[test]
fn an_unsimulated_field_of_an_app_is_an_error_until_the_user_accepts_it() {
    let folder = folder(&[("manifest.yml", MANIFEST.to_owned())]);
    let (code, problem) = refused(folder.path(), "import --manifest manifest.yml -o out", b"");
    assert_eq!(code, 2);
    assert!(
        problem.contains("`applications[0].health-check-interval` is not simulated"),
        "{problem}"
    );
    assert!(problem.contains(" --> manifest.yml:5:"), "{problem}");
    let experiment = folder.path().join("out/experiment.yaml");
    let written = fs::read_to_string(&experiment).expect("written");
    assert!(written.contains("startTimeout: 90 s"), "{written}");
    let (code, problem) = refused(folder.path(), "check out", b"");
    assert_eq!(code, 2);
    assert!(
        problem.contains("`applications.health-check-interval` of the app is not simulated"),
        "{problem}"
    );

    let line = "# accept: [applications.health-check-interval]";
    let accepting = written.replace(line, line.trim_start_matches("# "));
    assert_ne!(written, accepting);
    fs::write(&experiment, accepting).expect("writable");
    let checked = printed(folder.path(), "check out").replace("\n  ", " ");
    assert!(
        checked.contains(
            "the app: `applications.health-check-interval` is accepted and not simulated"
        ),
        "{checked}"
    );
}
