//! Missing, mixed or damaged shards: each has a specific error, with its fix.

use std::fs;

use super::super::provenance::SCHEMA_VERSION;
use super::super::testing::run_record;
use super::super::{FileDigest, Journal, Publication, to_json};
use super::*;

const COMMAND: &str = "fleetsim run shop";

/// The provenance of shard `number` of `of` in a round.
fn described(number: u32, of: u32, round: u32) -> Provenance {
    let shard = StudyShard { number, of };
    let info = ShardInfo {
        shard,
        round,
        whole_command: COMMAND.to_owned(),
        program_sha256: "0123456789abcdef".to_owned(),
        runs: 0,
    };
    Provenance {
        inputs: vec![FileDigest {
            path: "experiment.yaml".to_owned(),
            sha256: sha256(b"text"),
        }],
        command: format!("{COMMAND} {}", shard.flags(round)),
        shard: Some(info),
        ..Provenance::new("shop", "", 7, 4)
    }
}

/// Writes a shard with one run below `home`, as the program does.
fn write(home: &Path, mut provenance: Provenance, id: RunId) -> PathBuf {
    let info = provenance.shard.as_mut().expect("a shard");
    info.runs = 1;
    let target = home.join(info.shard.folder_name(info.round));
    let journal = Journal::open_in(home, &target, b"key")
        .expect("a journal")
        .limited_to(Some(info.shard));
    journal.keep(id, &run_record(id.1, 5)).expect("kept");
    let publication = Publication::begin(&target, provenance).expect("begun");
    publication
        .write("inputs/experiment.yaml", b"text")
        .expect("written");
    let (runs, bytes) = journal.shard_runs(COMMAND.as_bytes()).expect("readable");
    assert_eq!(runs, 1);
    publication.write(SHARD_RUNS_FILE, &bytes).expect("written");
    publication.publish().expect("published");
    journal.finish().expect("removed");
    target
}

/// A run of shard `number` of three: the shard with index (2 + number) mod 3 simulates it.
const fn own(number: u32) -> RunId {
    (2, number)
}

/// Writes the three shards of one study.
fn three() -> (tempfile::TempDir, Vec<PathBuf>) {
    let home = tempfile::tempdir().expect("a temporary folder");
    let shards = (1..=3)
        .map(|number| write(home.path(), described(number, 3, 1), own(number)))
        .collect();
    (home, shards)
}

fn error(folders: &[PathBuf]) -> String {
    let set = match ShardSet::read(folders) {
        Ok(set) => set,
        Err(error) => return error.to_string(),
    };
    set.runs().expect_err("something is wrong").to_string()
}

#[test]
fn complete_shards_are_read_from_one_or_several_folders() {
    let (home, shards) = three();
    for folders in [vec![home.path().to_owned()], shards.clone()] {
        let set = ShardSet::read(&folders).expect("whole");
        assert_eq!(
            (set.count(), set.run_count(), set.whole_command()),
            (3, 3, COMMAND)
        );
        let mut runs = set.runs().expect("whole");
        runs.sort_by_key(|(id, _)| *id);
        assert_eq!(
            runs,
            [1, 2, 3].map(|number| (own(number), run_record(number, 5)))
        );
        set.check_study(&described(1, 3, 1), "0123456789abcdef")
            .expect("the same study");
    }
    assert!(is_shard_complete(&shards[1], &described(2, 3, 1)));
    assert!(
        !is_shard_complete(&shards[1], &described(3, 3, 1)),
        "another shard"
    );
    assert!(
        !is_shard_complete(&home.path().join("4-of-3"), &described(2, 3, 1)),
        "no folder"
    );
}

#[test]
fn missing_shards_are_named_with_the_command_that_simulates_them() {
    let (home, shards) = three();
    let at = [home.path().to_owned()];
    fs::remove_dir_all(&shards[1]).expect("removed");
    let command =
        |flags: &str| format!("fleetsim run shop {flags} --out {}", home.path().display());
    assert_eq!(
        error(&at),
        format!(
            "all 3 shards are needed, but 2-of-3 is missing; run `{}`",
            command("--shard 2/3")
        )
    );
    fs::remove_dir_all(&shards[0]).expect("removed");
    assert_eq!(
        error(&at),
        format!(
            "all 3 shards are needed, but 1-of-3, 2-of-3 are missing; run `{}`",
            command("--shard 1/3")
        )
    );
    fs::remove_dir_all(&shards[2]).expect("removed");
    assert!(
        error(&at).contains("has no shards; run `fleetsim run EXPERIMENT --shard I/N`"),
        "{}",
        error(&at)
    );
    assert!(
        error(&[home.path().join("nowhere")]).contains("has no shards"),
        "a folder that is not there"
    );
}

#[test]
fn a_started_round_must_be_complete_and_its_runs_take_precedence() {
    let (home, _) = three();
    let at = [home.path().to_owned()];
    write(home.path(), described(2, 3, 2), own(2));
    let text = error(&at);
    assert!(
        text.contains("1-of-3.round-2, 3-of-3.round-2 are missing; run"),
        "{text}"
    );
    let command = format!(
        "`fleetsim run shop --shard 1/3 --round 2 --out {}`",
        home.path().display()
    );
    assert!(text.ends_with(&command), "{text}");
    assert_eq!(
        ShardSet::read_rounds(&at, 1)
            .expect("the first round is whole")
            .run_count(),
        3
    );
    for number in [1, 3] {
        write(home.path(), described(number, 3, 2), own(number));
    }
    let runs = ShardSet::read(&at).expect("whole").runs().expect("whole");
    let places: Vec<usize> = (0..runs.len()).filter(|&at| runs[at].0 == own(2)).collect();
    assert_eq!((runs.len(), places.len()), (6, 2));
    assert!(places[0] < 3, "of the second round: {places:?}");
    let text = ShardSet::read_rounds(&at, 3)
        .expect_err("there is no third round")
        .to_string();
    assert!(
        text.contains("1-of-3.round-3, 2-of-3.round-3, 3-of-3.round-3 are missing"),
        "{text}"
    );
}

#[test]
fn mixed_shards_are_refused_with_the_difference() {
    type Change = fn(&mut Provenance);
    let cases: [(&str, Change); 7] = [
        ("same number of shards, but it is 4 in ", |one| {
            one.shard.as_mut().expect("a shard").shard.of = 4;
        }),
        ("same seed, but it is 8 in ", |one| one.seed = 8),
        ("same number of replicates, but it is 5 in ", |one| {
            one.replicates = 5;
        }),
        ("same model version, but it is 1 in ", |one| {
            one.model_version = 1;
        }),
        ("same program, but it is another in ", |one| {
            one.shard.as_mut().expect("a shard").program_sha256 = "another".to_owned();
        }),
        ("same command, but it is fleetsim plan shop in ", |one| {
            one.shard.as_mut().expect("a shard").whole_command = "fleetsim plan shop".to_owned();
        }),
        ("same inputs, but it is experiment.yaml (ffff) in ", |one| {
            one.inputs[0].sha256 = "ffff".to_owned();
        }),
    ];
    for (expected, change) in cases {
        let (home, shards) = three();
        fs::remove_dir_all(&shards[2]).expect("removed");
        let mut other = described(3, 3, 1);
        change(&mut other);
        write(home.path(), other.clone(), (0, 3));
        let text = error(&[home.path().to_owned()]);
        assert!(
            text.contains(expected) && text.contains("; simulate the shards again"),
            "{expected}: {text}"
        );
        let set = ShardSet::read(&[shards[0].clone(), shards[1].clone()]);
        assert!(matches!(set, Err(ShardError::Missing { .. })), "{set:?}");
    }
    let (home, shards) = three();
    let set = ShardSet::read(&[home.path().to_owned()]).expect("whole");
    let text = set
        .check_study(&described(1, 3, 1), "another")
        .expect_err("another program")
        .to_string();
    assert!(
        text.contains("same program") && text.contains("in this experiment and program"),
        "{text}"
    );
    let text = error(&[home.path().to_owned(), shards[0].clone()]);
    assert!(
        text.ends_with("are the same shard; pass it only once"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn links_next_to_shards_are_not_followed() {
    let (home, shards) = three();
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let moved = elsewhere.path().join("moved");
    fs::rename(&shards[1], &moved).expect("moved");
    std::os::unix::fs::symlink(&moved, &shards[1]).expect("linked");
    let text = error(&[home.path().to_owned()]);
    assert!(
        text.contains("2-of-3: links next to shards are not followed"),
        "{text}"
    );
    assert!(ShardSet::read(&shards).is_ok(), "the user names the link");
}

#[test]
fn damaged_shards_are_refused_with_the_command_that_simulates_them_again() {
    type Damage = fn(&Path);
    let cases: [(&str, Damage); 6] = [
        (
            "2-of-3/runs.bin was modified after it was written",
            |shard| {
                let mut bytes = fs::read(shard.join(SHARD_RUNS_FILE)).expect("readable");
                *bytes.last_mut().expect("not empty") ^= 1;
                fs::write(shard.join(SHARD_RUNS_FILE), bytes).expect("written");
            },
        ),
        (
            "2-of-3/runs.bin was modified after it was written",
            |shard| {
                fs::File::options()
                    .write(true)
                    .open(shard.join(SHARD_RUNS_FILE))
                    .expect("there")
                    .set_len(60)
                    .expect("cut");
            },
        ),
        (
            "2-of-3/runs.bin does not contain the runs that its provenance lists",
            |shard| {
                // The file contains the runs of another shard, with a forged hash.
                let bytes = fs::read(shard.with_file_name("1-of-3").join(SHARD_RUNS_FILE))
                    .expect("readable");
                let mut provenance = Provenance::read(shard).expect("readable").expect("there");
                let runs = provenance
                    .files
                    .iter_mut()
                    .find(|file| file.path == SHARD_RUNS_FILE)
                    .expect("listed");
                runs.sha256 = sha256(&bytes);
                fs::write(shard.join(SHARD_RUNS_FILE), bytes).expect("written");
                fs::write(shard.join(PROVENANCE_FILE), to_json(&provenance)).expect("written");
            },
        ),
        ("2-of-3/runs.bin is missing or unreadable", |shard| {
            fs::remove_file(shard.join(SHARD_RUNS_FILE)).expect("removed");
        }),
        (
            "2-of-3/inputs/experiment.yaml was modified after it was written",
            |shard| {
                fs::write(shard.join("inputs/experiment.yaml"), "other").expect("written");
            },
        ),
        (
            "2-of-3/runs.bin does not contain the runs that its provenance lists",
            |shard| {
                let mut provenance = Provenance::read(shard).expect("readable").expect("there");
                provenance.shard.as_mut().expect("a shard").runs = 2;
                fs::write(shard.join(PROVENANCE_FILE), to_json(&provenance)).expect("written");
            },
        ),
    ];
    for (expected, damage) in cases {
        let (home, shards) = three();
        damage(&shards[1]);
        let text = error(&[home.path().to_owned()]);
        assert!(text.contains(expected), "{expected}: {text}");
        let command = format!(
            "`fleetsim run shop --shard 2/3 --out {}`",
            home.path().display()
        );
        assert!(
            text.ends_with(&format!("; remove the folder and run {command} again")),
            "{text}"
        );
        assert!(
            !is_shard_complete(&shards[1], &described(2, 3, 1)),
            "{expected}"
        );
    }
    let (home, shards) = three();
    fs::write(
        shards[1].join(PROVENANCE_FILE),
        format!(r#"{{"program": "fleetsim", "schema_version": {SCHEMA_VERSION}}}"#),
    )
    .expect("written");
    let text = error(&[home.path().to_owned()]);
    assert!(
        text.contains("2-of-3/provenance.json is not a valid provenance file"),
        "{text}"
    );
}
