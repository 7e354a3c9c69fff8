//! Tests of `folder.rs`.

use super::*;
use crate::results::staging::swap;

fn publish(target: &Path, experiment: &str, runs: &str) -> Result<Published, ResultsError> {
    let publication = Publication::begin(target, Provenance::new(experiment, "", 1, 1))?;
    publication.write("runs.csv", runs.as_bytes())?;
    publication.write("charts/pulls.svg", b"<svg/>")?;
    publication.publish()
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("readable")
        .map(|entry| {
            entry
                .expect("readable")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn results_are_first_new_then_reproduced_then_replaced() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let target = home.path().join("results/waves");
    assert_eq!(
        publish(&target, "waves", "a").expect("published"),
        Published::New
    );
    assert_eq!(
        publish(&target, "waves", "a").expect("published"),
        Published::Reproduced
    );
    let differs = publish(&target, "waves", "b").expect("published");
    assert_eq!(
        differs,
        Published::Differs {
            files: vec!["provenance.json".to_owned(), "runs.csv".to_owned()]
        }
    );
    assert_eq!(
        fs::read_to_string(target.join("runs.csv")).expect("readable"),
        "b"
    );
    assert_eq!(
        names_in(&home.path().join("results")),
        ["waves"],
        "nothing is left beside the results"
    );
    let listed: Vec<String> = Provenance::read(&target)
        .expect("readable")
        .expect("ours")
        .files
        .into_iter()
        .map(|file| file.path)
        .collect();
    assert_eq!(listed, ["charts/pulls.svg", "runs.csv"]);
}

#[test]
fn missing_files_are_added_if_all_existing_files_are_reproduced() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let target = home.path().join("waves");
    let fill_in = |runs: &str| {
        let publication =
            Publication::begin(&target, Provenance::new("waves", "", 1, 1)).expect("begun");
        publication
            .write("runs.csv", runs.as_bytes())
            .expect("written");
        publication
            .write("charts/pulls.svg", b"<svg/>")
            .expect("written");
        publication.publish_study(true, None).expect("compared")
    };
    let chart = target.join("charts/pulls.svg");
    assert_eq!(fill_in("a"), Published::New);
    assert!(
        !target.exists(),
        "nothing is made where there were no results"
    );
    publish(&target, "waves", "a").expect("published");
    fs::remove_file(&chart).expect("removed");
    let differs = vec!["provenance.json".to_owned(), "runs.csv".to_owned()];
    assert_eq!(fill_in("b"), Published::Differs { files: differs });
    assert!(
        !chart.exists() && fs::read(target.join("runs.csv")).expect("readable") == b"a",
        "nothing was touched"
    );
    assert_eq!(fill_in("a"), Published::Reproduced);
    assert_eq!(fs::read(&chart).expect("it is back"), b"<svg/>");
    fs::write(&chart, "mine").expect("written");
    assert_eq!(
        fill_in("a"),
        Published::Differs {
            files: vec!["charts/pulls.svg".to_owned()]
        },
        "an edited file"
    );
}

#[test]
fn results_are_renewed_only_with_unmodified_tables() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let target = home.path().join("waves");
    let publication =
        Publication::begin(&target, Provenance::new("waves", "", 1, 1)).expect("begun");
    for (name, bytes) in [
        ("runs.csv", "a"),
        ("series.parquet", "PAR1"),
        ("charts/pulls.svg", "<svg/>"),
    ] {
        publication.write(name, bytes.as_bytes()).expect("written");
    }
    publication.publish().expect("published");
    let redraw = || {
        let publication = Publication::renew(&target)?;
        publication.write("charts/pulls.svg", b"<svg>new</svg>")?;
        publication.publish()
    };
    let differs = vec!["charts/pulls.svg".to_owned(), "provenance.json".to_owned()];
    assert_eq!(
        redraw().expect("renewed"),
        Published::Differs { files: differs }
    );
    for (name, written) in [("runs.csv", "a"), ("series.parquet", "PAR1")] {
        let table = target.join(name);
        assert_eq!(
            fs::read_to_string(&table).expect("readable"),
            written,
            "the tables stay"
        );
        fs::write(&table, "mine").expect("written");
        let error = redraw().expect_err("a table that was edited").to_string();
        assert!(
            error.contains(&format!("{name} was modified after fleetsim wrote it")),
            "{error}"
        );
        assert_eq!(
            fs::read_to_string(&table).expect("readable"),
            "mine",
            "and is left alone"
        );
        fs::remove_file(&table).expect("removed");
        let error = redraw().expect_err("a table that is missing").to_string();
        assert!(
            error.contains("`fleetsim reproduce") && error.contains(name),
            "{error}"
        );
        fs::write(&table, written).expect("put back");
    }
    assert_eq!(names_in(home.path()), ["waves"]);
}

#[test]
fn renewed_results_keep_copies_of_inputs_that_the_provenance_does_not_name() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let target = home.path().join("waves");
    let mut provenance = Provenance::new("waves", "", 1, 1);
    provenance.inputs.push(FileDigest {
        path: "../experiment.yaml".to_owned(),
        sha256: String::new(),
    });
    let publication = Publication::begin(&target, provenance).expect("begun");
    publication
        .write("inputs/experiment.yaml", b"name: waves")
        .expect("written");
    publication.publish().expect("published");
    Publication::renew(&target)
        .and_then(Publication::publish)
        .expect("renewed");
    assert_eq!(
        fs::read(target.join("inputs/experiment.yaml")).expect("it is there"),
        b"name: waves"
    );

    // A copy that is left out of shared results keeps its checksum.
    let files = || Provenance::of_results(&target).expect("results").files;
    let listed = files();
    fs::remove_file(target.join("inputs/experiment.yaml")).expect("removed");
    Publication::renew(&target)
        .and_then(Publication::publish)
        .expect("renewed");
    assert_eq!((files(), listed.len()), (listed, 1));
}

#[test]
fn only_earlier_results_of_the_same_experiment_are_replaced() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| home.path().join(name);
    fs::create_dir(at("photos")).expect("made");
    fs::write(at("photos/cat.jpg"), "cat").expect("written");
    fs::write(at("file"), "text").expect("written");
    publish(&at("other"), "other", "a").expect("published");
    publish(&at("annotated"), "waves", "a").expect("published");
    fs::write(at("annotated/notes.md"), "mine").expect("written");
    std::os::unix::fs::symlink(at("nowhere"), at("dangling")).expect("linked");
    let cases = [
        (
            "photos",
            "does not contain fleetsim results",
            "a foreign folder",
        ),
        ("file", "is not a folder", "a file"),
        (
            "other",
            "results of the experiment `other`, not of `waves`",
            "another experiment's results",
        ),
        (
            "annotated",
            "notes.md was not written by fleetsim",
            "a file that someone added",
        ),
        ("dangling", "is not a folder", "a link to nowhere"),
        ("file/below", "cannot", "a path below a file"),
    ];
    let before = names_in(home.path());
    for (name, expected, why) in cases {
        let error = publish(&at(name), "waves", "b").expect_err(why).to_string();
        assert!(error.contains(expected), "{why}: {error}");
    }
    assert_eq!(names_in(home.path()), before);
    assert_eq!(
        fs::read_to_string(at("photos/cat.jpg")).expect("untouched"),
        "cat"
    );
    assert_eq!(
        fs::read_to_string(at("annotated/runs.csv")).expect("untouched"),
        "a"
    );
    assert_eq!(
        fs::read_to_string(at("annotated/notes.md")).expect("untouched"),
        "mine"
    );
}

#[cfg(unix)]
#[test]
fn the_root_of_the_file_system_is_not_replaced() {
    let error = publish(Path::new("/"), "waves", "a")
        .expect_err("it has no name")
        .to_string();
    assert!(
        error.starts_with("cannot replace the folder /: ") && error.ends_with("e.g. `/results`"),
        "{error}"
    );
}

#[test]
fn an_empty_folder_may_become_the_results() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let target = home.path().join("empty");
    fs::create_dir(&target).expect("made");
    assert_eq!(
        publish(&target, "waves", "a").expect("published"),
        Published::New
    );
    assert_eq!(names_in(&target), ["charts", "provenance.json", "runs.csv"]);
    assert_eq!(names_in(home.path()), ["empty"]);
}

#[test]
fn an_abandoned_run_leaves_no_files_and_keeps_earlier_results() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let target = home.path().join("waves");
    publish(&target, "waves", "a").expect("published");
    let given_up = Publication::begin(&target, Provenance::new("waves", "", 1, 1)).expect("begun");
    given_up.write("runs.csv", b"b").expect("written");
    drop(given_up);
    assert_eq!(names_in(home.path()), ["waves"]);
    assert_eq!(
        fs::read_to_string(target.join("runs.csv")).expect("readable"),
        "a"
    );
}

#[test]
fn a_target_replaced_by_foreign_content_meanwhile_is_left_untouched() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let target = home.path().join("waves");
    let publication =
        Publication::begin(&target, Provenance::new("waves", "", 1, 1)).expect("begun");
    publication.write("runs.csv", b"b").expect("written");
    fs::create_dir(&target).expect("made");
    fs::write(target.join("mine"), "mine").expect("written");
    publication.publish().expect_err("it is not ours any more");
    assert_eq!(names_in(home.path()), ["waves"]);
    assert_eq!(names_in(&target), ["mine"]);
}

#[test]
fn earlier_results_are_restored_when_the_new_ones_cannot_replace_them() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let target = home.path().join("waves");
    publish(&target, "waves", "a").expect("published");
    // The new results are missing here; this represents any reason why a rename fails.
    let error = swap(&target, &home.path().join("gone"))
        .expect_err("nothing to publish")
        .to_string();
    assert!(error.contains("cannot publish"), "{error}");
    assert_eq!(names_in(home.path()), ["waves"]);
    assert_eq!(
        fs::read_to_string(target.join("runs.csv")).expect("readable"),
        "a"
    );
}

#[test]
fn leftovers_of_killed_runs_are_removed_but_files_of_active_runs_are_kept() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let target = home.path().join("waves");
    let running = Publication::begin(&target, Provenance::new("waves", "", 1, 1)).expect("begun");
    for killed in [".waves.fleetsim-new-1-0", ".waves.fleetsim-new-2-0"] {
        fs::create_dir_all(home.path().join(killed).join("charts")).expect("made");
    }
    fs::write(home.path().join(".waves.fleetsim-new-2-0.lock"), "")
        .expect("the lock went with the process");
    publish(&target, "waves", "a").expect("published");
    assert!(running.folder().is_dir(), "its process still runs");
    drop(running);
    assert_eq!(names_in(home.path()), ["waves"]);
    // The process was killed after the second rename: the earlier results are still aside.
    fs::create_dir(home.path().join(".waves.fleetsim-old")).expect("made");
    assert_eq!(
        publish(&target, "waves", "a").expect("published"),
        Published::Reproduced
    );
    // The process was killed between the two renames: the earlier results are restored first.
    fs::rename(&target, home.path().join(".waves.fleetsim-old")).expect("moved");
    assert_eq!(
        publish(&target, "waves", "a").expect("published"),
        Published::Reproduced
    );
}
