//! The conformance test's own rules: which cases it runs, what it rejects, and how it reports disagreements.

#![allow(
    unreachable_pub,
    reason = "a test program has no one outside to reach its items"
)]

#[path = "conformance/rancher_fleet.rs"]
mod rancher_fleet;
#[path = "conformance/runner.rs"]
mod runner;
#[path = "conformance/suite.rs"]
mod suite;

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use runner::Product;
use suite::Suite;
use tempfile::TempDir;

const LIMIT: &str = r#"{"cases":[{"count":10,"value":"25%","result":2},{"count":10,"value":"x%","error":"bad-percent"}]}"#;
const TRACE: &str = r#"{"cases":[{"id":"two-clusters","strategy":{"maxUnavailable":1},"clusters":{"n":2},
    "init":{"version":1,"bds":[{"c":"*","staged":1,"deployed":1,"applied":1,"ready":true,"nonModified":true}]},
    "steps":[{"ops":[["version","*",2]],"staged":"0,1","promoted":"0","parts":[["All",2,1]],"un":[0],
    "bundle":[1,1,1,0,0],"summary":[0,0,2,0,0,0,0],"display":"WaitApplied","repo":[0,0,1,0,1,0,0],
    "repoState":"WaitApplied"}]}]}"#;

/// Returns the suites of a second product. All of its cases agree.
fn other(_: &Path) -> Vec<Suite> {
    vec![Suite {
        name: "other/things".to_owned(),
        cases: 3,
        disagreements: Vec::new(),
    }]
}

const PRODUCTS: [Product; 2] = [
    Product {
        folder: "rancher-fleet",
        suites: rancher_fleet::suites,
    },
    Product {
        folder: "other",
        suites: other,
    },
];

/// Runs a folder with these files. Returns the result and the report.
fn run(files: &[(&str, &str)], args: &[&str]) -> (bool, String) {
    run_at_least(0, files, args)
}

/// Like [`run`], but with a minimum number of cases.
fn run_at_least(fewest: usize, files: &[(&str, &str)], args: &[&str]) -> (bool, String) {
    let folder = TempDir::new().expect("a folder for the test");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("it can be made");
        let mut file = fs::File::create(&path).expect("it can be written");
        if path.extension().is_some_and(|extension| extension == "gz") {
            let mut packed = GzEncoder::new(file, Compression::fast());
            packed
                .write_all(text.as_bytes())
                .expect("it can be written");
        } else {
            file.write_all(text.as_bytes()).expect("it can be written");
        }
    }
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let mut out = Vec::new();
    let agrees = runner::run(&PRODUCTS, folder.path(), fewest, &args, &mut out);
    let agrees = agrees.expect("memory takes all");
    (agrees, String::from_utf8(out).expect("it writes text"))
}

#[test]
fn a_folder_without_a_suite_is_an_error() {
    for files in [
        &[][..],
        &[("rancher-fleet/README.md", "no data")],
        &[("elsewhere/limit.json", LIMIT)],
    ] {
        let (agrees, text) = run(files, &[]);
        assert!(!agrees, "{files:?}");
        assert!(text.starts_with("error: no suite in "), "{text}");
        assert!(
            text.contains("at least one of the folders rancher-fleet, other with recorded"),
            "{text}"
        );
        assert!(text.ends_with("\n0 passed, 0 failed\n"), "{text}");
    }
}

#[test]
fn too_few_cases_are_an_error_unless_arguments_filter_them() {
    let files = [("other/any.json", "{}")];
    assert!(run_at_least(3, &files, &[]).0);
    let (agrees, text) = run_at_least(4, &files, &[]);
    assert!(!agrees);
    assert!(
        text.contains("error: fewer than 4 cases were compared\n"),
        "{text}"
    );
    assert!(run_at_least(4, &files, &["things"]).0);
}

#[test]
fn existing_cases_run_whether_compressed_or_not() {
    let expected = "rancher-fleet/limit: 2 of 2 agree\nrancher-fleet/traces: 1 of 1 agree\n3 passed, 0 failed\n";
    let files = [
        ("rancher-fleet/limit.json", LIMIT),
        ("rancher-fleet/traces-x.json.gz", TRACE),
    ];
    assert_eq!(run(&files, &[]), (true, expected.to_owned()));
    let files = [("other/any.json", "{}")];
    assert_eq!(
        run(&files, &[]),
        (
            true,
            "other/things: 3 of 3 agree\n3 passed, 0 failed\n".to_owned()
        )
    );
}

#[test]
fn a_changed_expectation_is_reported_with_its_case() {
    let changes = [
        // the changed part of a case, its new value, and how the report shows the disagreement
        (
            r#""promoted":"0""#,
            r#""promoted":"0-1""#,
            r#""promoted":"0-1""#,
        ),
        (
            r#""staged":"0,1","#,
            "",
            r#""repoState":"WaitApplied","summary""#,
        ),
        (
            r#""bundle":[1,"#,
            r#""bundle":[2,"#,
            r#""bundle":[2,1,1,0,0]"#,
        ),
        (
            r#""parts":[["All",2,1]]"#,
            r#""parts":[["All",2,2]]"#,
            r#""parts":[["All",2,2]]"#,
        ),
        (r#""un":[0]"#, r#""un":[1]"#, r#""un":[1]"#),
        (
            r#""summary":[0,0,2"#,
            r#""summary":[0,0,1"#,
            r#""summary":[0,0,1,0,0,0,0]"#,
        ),
        (
            r#""display":"WaitApplied""#,
            r#""display":"Pending""#,
            r#""display":"Pending""#,
        ),
        (
            r#""repo":[0,0,1"#,
            r#""repo":[1,0,1"#,
            r#""repo":[1,0,1,0,1,0,0]"#,
        ),
        (
            r#""repoState":"WaitApplied""#,
            r#""repoState":"OutOfSync""#,
            r#""repoState":"OutOfSync""#,
        ),
        (
            r#""un":[0]"#,
            r#""un":[0],"error":"bad-percent""#,
            r#""error":"bad-percent""#,
        ),
        (
            r#""un":[0]"#,
            r#""un":[0],"created":"0""#,
            r#""created":"0""#,
        ),
        (
            r#""un":[0]"#,
            r#""un":[0],"deleted":"1""#,
            r#""deleted":"1""#,
        ),
    ];
    for (from, to, shown) in changes {
        let changed = TRACE.replacen(from, to, 1);
        assert_ne!(changed, TRACE, "{from} is in the case");
        let (agrees, text) = run(&[("rancher-fleet/traces.json", &changed)], &[]);
        assert!(!agrees, "{to}: {text}");
        assert!(
            text.starts_with(
                "rancher-fleet/traces: 0 of 1 agree\n  traces.json two-clusters: step 0"
            ),
            "{text}"
        );
        let expected = text
            .lines()
            .find(|line| line.trim_start().starts_with("expected"))
            .expect("what was expected");
        assert!(expected.contains(shown), "{to}: {text}");
        assert!(text.contains("\n    got "), "{text}");
        assert!(text.ends_with("\n0 passed, 1 failed\n"), "{text}");
    }
}

#[test]
fn the_arguments_of_cargo_test_are_understood() {
    let files = [
        ("rancher-fleet/limit.json", LIMIT),
        ("other/any.json", "{}"),
    ];
    let both =
        "rancher-fleet/limit: 2 of 2 agree\nother/things: 3 of 3 agree\n5 passed, 0 failed\n";
    let cases: [(&[&str], &str, &str); 9] = [
        (&[], both, "everything"),
        (
            &["--nocapture", "-q", "--test-threads", "1", "--color=always"],
            both,
            "options without a meaning here",
        ),
        (
            &["limit"],
            "rancher-fleet/limit: 2 of 2 agree\n2 passed, 0 failed\n",
            "a filter",
        ),
        (
            &["--skip", "limit"],
            "other/things: 3 of 3 agree\n3 passed, 0 failed\n",
            "its opposite",
        ),
        (
            &["--skip=limit"],
            "other/things: 3 of 3 agree\n3 passed, 0 failed\n",
            "written in one",
        ),
        (
            &["--exact", "other/things"],
            "other/things: 3 of 3 agree\n3 passed, 0 failed\n",
            "a whole name",
        ),
        (
            &["a_test_elsewhere"],
            "0 passed, 0 failed\n",
            "a filter for other tests",
        ),
        (
            &["--list", "--format", "terse"],
            "rancher-fleet: test\nother: test\n",
            "a list runs nothing",
        ),
        (
            &["--ignored"],
            "0 passed, 0 failed\n",
            "nothing is ignored here",
        ),
    ];
    for (args, expected, why) in cases {
        assert_eq!(
            run(&files, args),
            (true, expected.to_owned()),
            "{args:?}: {why}"
        );
    }
}

#[test]
#[should_panic(expected = "limit.json.gz: ")]
fn a_damaged_case_file_is_not_counted_as_passed() {
    let folder = TempDir::new().expect("a folder for the test");
    fs::write(folder.path().join("limit.json.gz"), "not packed").expect("it can be written");
    let _ = rancher_fleet::suites(folder.path());
}
