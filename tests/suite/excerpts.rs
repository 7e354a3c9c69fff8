//! Errors in files that an untrusted experiment names: the position and the reason are printed, but no content of a
//! file that does not belong to the experiment, because errors end up in a log that others can read.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::common::{fleetsim, folder_with, git, has_git, text};
use super::compare::{repository, run_workflow};

const SECRET: &str = "s3cr3t";

/// An experiment with `PARTS`, each of which may name a file.
const EXPERIMENT: &str = "
name: small
replicates: 2
horizon: 2h
";

/// Parts of an experiment that name a file: `FILE`, or `TABLE` if its name ends in `.csv`.
const USES: [&str; 14] = [
    "inventory: {file: FILE}",
    "inventory: {file: clusters.csv, clusterGroups: FILE}",
    "inventory: {file: clusters.csv, gitRepo: FILE}",
    "release: {images: [{name: a, manifest: FILE}], workloads: [{kind: Deployment, image: a}]}",
    "registry: {egress: 1 Gbit/s, otherLoad: {series: {file: FILE, column: rate}}}",
    "agent: {apply: {file: FILE}}",
    "agent: {apply: {file: FILE, column: pull_s}}",
    "strategies: {a: {rancherFleet: {file: FILE}}}",
    "strategies: {a: {argoCd: {file: FILE}}}",
    "strategies: {a: {kubeFleetRolling: {file: FILE}}}",
    "strategies: {a: {kubeFleetStaged: {file: FILE}}}",
    "strategies: {a: {cloudFoundry: {file: FILE}}}",
    "strategies: {a: {rancherFleet: {file: FILE}}}\nsweep: {'strategies.a.rancherFleet.partitions[0].maxUnavailable': [1, 2]}",
    "inventory: {file: TABLE}",
];

/// Parts that an experiment needs, used unless a case replaces them.
const OTHERS: [(&str, &str); 3] = [
    ("inventory", "inventory: {file: clusters.csv}"),
    (
        "release",
        "release: {images: [{name: a, manifest: {layers: [{size: 10 MB}]}}], workloads: [{kind: Deployment, image: a}]}",
    ),
    ("strategies", "strategies: {b: {allAtOnce: {}}}"),
];

/// Files that pipelines or users have: they contain a secret as a value, a key or a number, or just have invalid
/// syntax.
const CREDENTIALS: [&str; 18] = [
    "{\"auths\": {\"registry.example\": {\"auth\": \"s3cr3t\"}}}\n",
    "{\"type\": \"service_account\", \"s3cr3t\": \"s3cr3t\"}\n",
    "{\"layers\": \"s3cr3t\", \"kind\": \"s3cr3t\", \"spec\": \"s3cr3t\", \"metadata\": \"s3cr3t\"}\n",
    "{\"layers\": [{\"digest\": \"s3cr3t\", \"size\": \"s3cr3t\"}]}\n",
    "{\"kind\": \"s3cr3t\", \"apiVersion\": \"s3cr3t\", \"items\": [{\"kind\": \"s3cr3t\"}]}\n",
    "{\"strategy\": \"s3cr3t\", \"options\": {\"s3cr3t\": \"s3cr3t\"}}\n",
    "{\"s3cr3t\": s3cr3t}\n",
    "machine github.com login x password s3cr3t\n",
    "[default]\naws_secret_access_key = s3cr3t\n",
    "s3cr3t: 1\ns3cr3t: 2\n",
    "kind: s3cr3t\nspec: s3cr3t\n",
    "rolloutStrategy: s3cr3t\ns3cr3t: s3cr3t\n",
    "rolloutStrategy: {partitions: s3cr3t}\n",
    "rolloutStrategy: {maxUnavailable: s3cr3t, s3cr3t: s3cr3t, partitions: [{s3cr3t: s3cr3t}]}\n",
    "spec: {stages: [{name: s3cr3t, maxConcurrency: s3cr3t, s3cr3t: 1}], strategy: {type: s3cr3t}}\n",
    "a: *s3cr3t\n",
    "name,s3cr3t\na,\"s3cr3t\n",
    "pull_s,rate\ns3cr3t,s3cr3t\n",
];

/// Writes an experiment in `rollouts/shop` with one part that names `file`.
fn experiment(home: &Path, part: &str, file: &str) {
    let own = |(key, text): &(&str, &'static str)| {
        (!part.starts_with(&format!("{key}:"))).then_some(*text)
    };
    let others: Vec<&str> = OTHERS.iter().filter_map(own).collect();
    let part = part.replace("FILE", file);
    let text = format!("{EXPERIMENT}{part}\n{}\n", others.join("\n"));
    let folder = home.join("rollouts/shop");
    fs::create_dir_all(&folder).expect("made");
    fs::write(folder.join("experiment.yaml"), text).expect("written");
    fs::write(folder.join("clusters.csv"), "name,labels\na,ring=1\n").expect("written");
}

/// The output of `check` for the experiment.
fn checked(home: &Path) -> String {
    let output = fleetsim(home)
        .args(["check", "rollouts/shop"])
        .output()
        .expect("run");
    text(&output.stdout) + &text(&output.stderr)
}

/// A separate folder with a file of credentials.
fn outside(content: &str) -> (TempDir, PathBuf) {
    let folder = folder_with(&[("creds.json", content), ("creds.csv", content)]);
    let file = folder.path().join("creds.json");
    (folder, file)
}

#[test]
fn no_error_quotes_a_file_outside_the_experiment() {
    let home = folder_with(&[]);
    let mut withheld = 0;
    for content in CREDENTIALS {
        let (folder, file) = outside(content);
        let table = folder.path().join("creds.csv").display().to_string();
        for part in USES {
            let part = part.replace("TABLE", &table);
            experiment(home.path(), &part, &file.display().to_string());
            let printed = checked(home.path());
            assert!(
                !printed.contains(SECRET),
                "{part} with {content}: {printed}"
            );
            withheld += usize::from(printed.contains(
                "the file's text is not shown, because it is outside the experiment's folder",
            ));
        }
    }
    assert!(withheld > 200, "{withheld} errors were in the file");
}

#[test]
fn errors_in_unquoted_files_still_have_position_and_reason() {
    let home = folder_with(&[]);
    for (part, content, reason, line) in [
        (USES[3], "{\n\"auths\": s3cr3t}\n", "not JSON", 2),
        (
            USES[3],
            "{\"auths\": {}}\n",
            "this is not an image manifest: it has no `layers`",
            1,
        ),
        (USES[7], "a: 1\ns3cr3t: [\n", "not YAML", 2),
        (
            USES[7],
            "rolloutStrategy:\n  maxNew: s3cr3t\n",
            "the value has a type that the product refuses",
            2,
        ),
        (
            USES[10],
            "kind: s3cr3t\n",
            "the content is not valid here",
            1,
        ),
    ] {
        let (_folder, file) = outside(content);
        experiment(home.path(), part, &file.display().to_string());
        let printed = checked(home.path());
        let place = format!("{}:{line}:", file.display());
        assert!(
            printed.contains(&format!("error: {reason}\n")) && printed.contains(&place),
            "{content}: {printed}"
        );
        assert!(!printed.contains(SECRET), "{content}: {printed}");
    }
}

#[test]
fn a_link_is_treated_like_its_target() {
    let home = folder_with(&[]);
    let (folder, file) = outside("{\"auths\": \"s3cr3t\"}\n");
    experiment(home.path(), USES[3], "m.json");
    let shop = home.path().join("rollouts/shop");
    symlink(&file, shop.join("m.json")).expect("linked");
    let printed = checked(home.path());
    assert!(printed.contains("rollouts/shop/m.json:1:1"), "{printed}");
    assert!(!printed.contains(SECRET), "{printed}");

    // The folder, or the experiment itself, may also be a link.
    symlink(folder.path(), shop.join("linked")).expect("linked");
    experiment(home.path(), USES[3], "linked/creds.json");
    assert!(!checked(home.path()).contains(SECRET));
    fs::remove_file(shop.join("experiment.yaml")).expect("removed");
    symlink(&file, shop.join("experiment.yaml")).expect("linked");
    let printed = checked(home.path());
    assert!(printed.contains("experiment.yaml:1:"), "{printed}");
    assert!(!printed.contains(SECRET), "{printed}");

    // The errors quote a file that belongs to the experiment.
    fs::remove_file(shop.join("experiment.yaml")).expect("removed");
    experiment(home.path(), USES[3], "own.json");
    fs::write(shop.join("own.json"), "{\"auths\": \"mine\"}\n").expect("written");
    let printed = checked(home.path());
    assert!(printed.contains("1 | {\"auths\": \"mine\"}"), "{printed}");
}

#[test]
fn only_files_that_git_tracks_and_does_not_ignore_are_quoted() {
    if !has_git() {
        return;
    }
    let home = folder_with(&[(".gitignore", "*.secret\n")]);
    let at = home.path();
    let content = "{\"auths\": \"s3cr3t\"}\n";
    fs::create_dir_all(at.join("outside")).expect("made");
    experiment(at, USES[3], "own.json");
    let shop = at.join("rollouts/shop");
    let files = [
        shop.join("own.json"),
        shop.join("new.json"),
        shop.join("a.secret"),
        at.join("outside/tracked.json"),
        at.join("outside/forced.secret"),
        at.join("outside/new.json"),
        at.join("outside/b.secret"),
    ];
    for file in &files {
        fs::write(file, content).expect("written");
    }
    git(at, &["init", "--quiet"]);
    git(
        at,
        &[
            "add",
            ".gitignore",
            "rollouts/shop/own.json",
            "rollouts/shop/experiment.yaml",
        ],
    );
    git(at, &["add", "outside/tracked.json"]);
    git(at, &["add", "--force", "outside/forced.secret"]);
    // This is the file in which `actions/checkout` stores the token of a job.
    git(
        at,
        &["config", "http.extraheader", "AUTHORIZATION: basic s3cr3t"],
    );
    fs::create_dir(shop.join("nested")).expect("made");
    git(&shop.join("nested"), &["init", "--quiet"]);
    fs::write(shop.join("nested/.gitignore"), "*.hidden\n").expect("written");
    for name in ["nested/c.hidden", "nested/seen.json"] {
        fs::write(shop.join(name), content).expect("written");
    }
    let outside_folder = "it is outside the experiment's folder and git does not track it";
    for (name, why) in [
        ("own.json", None),
        ("new.json", None),
        ("nested/seen.json", None),
        ("../../outside/tracked.json", None),
        ("../../outside/forced.secret", None),
        ("a.secret", Some("git ignores it")),
        ("nested/c.hidden", Some("git ignores it")),
        ("../../outside/new.json", Some(outside_folder)),
        ("../../outside/b.secret", Some(outside_folder)),
        ("../../.git/config", Some("it belongs to git")),
        ("nested/.git/config", Some("it belongs to git")),
    ] {
        experiment(at, USES[3], name);
        let printed = checked(at);
        assert!(printed.contains("error: "), "{name}: {printed}");
        assert_eq!(printed.contains(SECRET), why.is_none(), "{name}: {printed}");
        let note = why.map(|why| format!("the file's text is not shown, because {why}"));
        assert!(
            note.is_none_or(|note| printed.contains(&note)),
            "{name}: {printed}"
        );
    }
    // If git does not answer, the errors quote nothing.
    experiment(at, USES[3], "own.json");
    let output = fleetsim(at)
        .args(["check", "rollouts/shop"])
        .env("PATH", "")
        .output()
        .expect("run");
    let printed = text(&output.stderr);
    assert!(
        printed.contains("git did not report whether it ignores it") && !printed.contains(SECRET),
        "{printed}"
    );
}

/// An untrusted pull request names files of the machine that checks it.
#[test]
fn the_workflows_print_no_credential() {
    for name in ["github.yml", "gitlab.yml"] {
        let Some(home) = repository() else { return };
        let at = home.path();
        let (_folder, file) = outside("{\"auths\": \"s3cr3t\"}\n");
        fs::write(at.join(".git/info/exclude"), "gha-creds-*.json\n").expect("written");
        for own in ["gha-creds-1.json", "rollouts/shop/gha-creds-2.json"] {
            fs::write(at.join(own), "{\"auths\": \"s3cr3t\"}\n").expect("written");
        }
        git(
            at,
            &["config", "http.extraheader", "AUTHORIZATION: basic s3cr3t"],
        );
        let shop = at.join("rollouts/shop");
        symlink(&file, shop.join("linked.json")).expect("linked");
        let experiment = fs::read_to_string(shop.join("experiment.yaml")).expect("readable");
        for named in [
            file.to_str().expect("text"),
            "linked.json",
            "../../gha-creds-1.json",
            "gha-creds-2.json",
            "../../.git/config",
        ] {
            for from in ["manifest: shop.json", "file: fleet.yaml"] {
                let key = from.split(' ').next().expect("a key");
                let changed = experiment.replace(from, &format!("{key} '{named}'"));
                assert_ne!(changed, experiment);
                fs::write(shop.join("experiment.yaml"), changed).expect("written");
                let output = run_workflow(name, at);
                let mut printed = text(&output.stdout) + &text(&output.stderr);
                assert!(
                    printed.contains("the file's text is not shown"),
                    "{name}, {named}: {printed}"
                );
                for written in ["review.md", "summary.md", "limits.xml", "output"] {
                    printed += &fs::read_to_string(at.join(written)).unwrap_or_default();
                }
                assert!(!printed.contains(SECRET), "{name}, {named}: {printed}");
            }
        }
    }
}
