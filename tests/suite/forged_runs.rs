//! Forged saved runs: next to cloned results, in the user's own folder, and in files that expand to more than the
//! memory. Only the user's own saved runs are resumed, and `reproduce` does not trust even these.
#![cfg(unix)]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crc::{CRC_32_ISCSI, Crc};
use fleetsim::results::{RunId, RunRecord};
use tempfile::TempDir;

use super::common::{contents, text};

const EXPERIMENT: &str = r#"
name: small
replicates: 40
seed: 7
horizon: 12h
fleet:
  - {name: "store-{01..40}", nodes: 2, downlink: 100 Mbit/s, rtt: 30 ms}
release:
  kind: update
  images: [{name: shop, manifest: {layers: [{digest: base, size: 60 MB}, {size: 20 MB}]}}]
  workloads: [{kind: Deployment, image: shop, replicas: 2, readiness: {period: 10 s}}]
faults: {pullFailure: 5%}
strategies:
  careful: {rancherFleet: {maxUnavailable: 10%}}
"#;

/// The length of the header of a file with runs.
const HEAD: usize = 48;
static CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// A user with an own machine, whose saved runs other users cannot see.
struct User {
    home: TempDir,
}

impl User {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(home.path().join("work")).expect("created");
        Self { home }
    }

    /// Creates a user who has the experiment in the folder `small`.
    fn with_experiment() -> Self {
        let user = Self::new();
        fs::create_dir(user.work().join("small")).expect("created");
        fs::write(user.work().join("small/experiment.yaml"), EXPERIMENT).expect("written");
        user
    }

    fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    fn state(&self) -> PathBuf {
        self.home.path().join("state")
    }

    /// The only journal of the user.
    fn journal(&self) -> PathBuf {
        let mut entries = fs::read_dir(self.state().join("fleetsim")).expect("a folder");
        let journal = entries.next().expect("a journal").expect("readable");
        assert!(entries.next().is_none(), "there is one journal");
        journal.path()
    }

    /// Runs the program in a shell, after the given shell commands.
    fn fleetsim_behind(&self, shell: &str, args: &[&str]) -> Output {
        Command::new("sh")
            .args(["-c", &format!("{shell} exec \"$0\" \"$@\"")])
            .arg(env!("CARGO_BIN_EXE_fleetsim"))
            .args(args)
            .current_dir(self.work())
            .env("XDG_STATE_HOME", self.state())
            .output()
            .expect("the program is run")
    }

    fn fleetsim(&self, args: &[&str]) -> Output {
        self.fleetsim_behind("", args)
    }

    /// Runs the study with a limited file size, so that only some of its runs are saved.
    fn interrupt_a_study(&self) {
        let full = "trap '' XFSZ; ulimit -f 200;";
        let output = self.fleetsim_behind(full, &["run", "small", "--out", "out"]);
        let stderr = text(&output.stderr);
        assert!(
            stderr.contains(" of 40 finished runs were saved"),
            "{stderr}"
        );
    }

    /// Changes the saved runs of the interrupted study.
    fn forge(&self, change: impl Fn(&mut Vec<(RunId, RunRecord)>)) {
        let bytes = fs::read(self.journal()).expect("readable");
        let (head, mut rest) = bytes.split_at(HEAD);
        let mut runs = Vec::new();
        while let Some((length, entry)) = rest.split_first_chunk::<4>()
            && let Some((entry, after)) =
                entry.split_at_checked(u32::from_le_bytes(*length) as usize)
        {
            let run = postcard::from_bytes_crc32(entry, CHECKSUM.digest());
            runs.push(run.expect("the program wrote it"));
            rest = after;
        }
        assert!(runs.len() >= 2, "{} saved runs", runs.len());
        change(&mut runs);
        let mut forged = head.to_vec();
        for run in &runs {
            let entry = postcard::to_stdvec_crc32(run, CHECKSUM.digest()).expect("encoded");
            forged.extend((entry.len() as u32).to_le_bytes());
            forged.extend(entry);
        }
        fs::write(self.journal(), forged).expect("written");
    }
}

#[track_caller]
fn succeeds(output: &Output) -> String {
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    stderr
}

fn git(at: &Path, args: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
        .args(args)
        .current_dir(at)
        .output()
        .expect("there is git");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn ten_times_faster(runs: &mut Vec<(RunId, RunRecord)>) {
    for (_, record) in runs {
        let run = &mut record.run;
        for time in [&mut run.completion_s, &mut run.reachable_ready_s] {
            *time = time.map(|time| time / 10.0);
        }
    }
}

#[test]
fn results_are_not_reproduced_from_a_forged_journal_that_was_cloned_with_them() {
    let stranger = User::with_experiment();
    stranger.interrupt_a_study();
    stranger.forge(ten_times_faster);
    let (place, forged) = (
        stranger.journal(),
        fs::read(stranger.journal()).expect("readable"),
    );
    let stderr = succeeds(&stranger.fleetsim(&["run", "small", "--out", "out"]));
    assert!(
        stderr.starts_with("resuming an unfinished study"),
        "{stderr}"
    );

    // Earlier versions had their journals at the first path, and a working copy could contain journals at the others.
    let work = stranger.work();
    fs::write(work.join(".out.fleetsim-runs"), &forged).expect("written");
    for folder in ["state/fleetsim", ".local/state/fleetsim", "fleetsim"] {
        fs::create_dir_all(work.join(folder)).expect("created");
        let name = place.file_name().expect("a name");
        fs::write(work.join(folder).join(name), &forged).expect("written");
    }
    git(&work, &["init", "--quiet"]);
    git(&work, &["add", "--all"]);
    git(&work, &["commit", "--quiet", "--message", "results"]);

    let victim = User::new();
    fs::remove_dir(victim.work()).expect("empty");
    let from = work.display().to_string();
    git(victim.home.path(), &["clone", "--quiet", &from, "work"]);
    let output = victim.fleetsim(&["reproduce", "out"]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("out: not reproduced; differs in "),
        "{stderr}"
    );
    assert!(!stderr.contains("resuming"), "{stderr}");
    let notes = stderr.matches(".out.fleetsim-runs is not used").count();
    assert_eq!(notes, 1, "{stderr}");

    // The saved runs of the stranger are not trusted either, and stay unchanged.
    fs::write(&place, &forged).expect("written");
    let output = stranger.fleetsim(&["reproduce", "out"]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("not reproduced"), "{stderr}");
    assert!(
        fs::read(&place).expect("there") == forged,
        "they are left alone"
    );
}

/// A function that changes saved runs.
type Forgery = fn(&mut Vec<(RunId, RunRecord)>);

#[test]
fn an_impossible_or_misplaced_saved_run_is_simulated_again() {
    let user = User::with_experiment();
    succeeds(&user.fleetsim(&["run", "small", "--out", "never-interrupted"]));
    let honest = contents(&user.work().join("never-interrupted"));
    let forgeries: [Forgery; 4] = [
        |runs| runs.last_mut().expect("some").1.run.completion_s = Some(f64::NAN),
        |runs| runs.last_mut().expect("some").1.run.t50_s = Some(-1e9),
        // This forgery has a run under the number of another run, with a valid checksum.
        |runs| {
            runs.truncate(2);
            let first = runs[0].0;
            runs[0].0 = runs[1].0;
            runs[1].0 = first;
            ten_times_faster(runs);
        },
        // The run of this forgery is longer than the horizon.
        |runs| {
            runs.truncate(1);
            runs[0].1.run.end_s = 1e9;
        },
    ];
    for forgery in forgeries {
        user.interrupt_a_study();
        user.forge(forgery);
        let stderr = succeeds(&user.fleetsim(&["run", "small", "--out", "out"]));
        assert!(
            stderr.starts_with("resuming an unfinished study"),
            "{stderr}"
        );
        assert!(
            contents(&user.work().join("out")) == honest,
            "the same bytes"
        );
        fs::remove_dir_all(user.work().join("out")).expect("removed");
    }
}

/// An archive of 139 bytes can unpack to such a file: it has a length, but no bytes. Four gigabytes of address space
/// are enough for the program.
#[test]
fn run_files_that_would_expand_beyond_memory_allocate_no_memory() {
    const TERABYTE: u64 = 1 << 40;
    let user = User::with_experiment();
    let little_memory = "ulimit -v 4000000;";
    user.interrupt_a_study();
    let sparse = |path: &Path| {
        let file = File::options().create(true).append(true).open(path);
        file.and_then(|file| file.set_len(TERABYTE))
            .expect("a sparse file");
    };
    sparse(&user.journal());
    let run = &["run", "small", "--out", "out"];
    let stderr = succeeds(&user.fleetsim_behind(little_memory, run));
    assert!(
        stderr.starts_with("resuming an unfinished study"),
        "{stderr}"
    );
    sparse(&user.work().join(".out.fleetsim-runs"));
    let reproduce = &["reproduce", "out"];
    let stderr = succeeds(&user.fleetsim_behind(little_memory, reproduce));
    assert!(stderr.contains("out: reproduced byte for byte"), "{stderr}");
}

/// Asserts that the study is simulated, and that one line says that its runs are not saved, and why.
#[track_caller]
fn goes_on_without_saving(user: &User, reason: &str, expected: &[(String, Vec<u8>)]) {
    let stderr = succeeds(&user.fleetsim(&["run", "small", "--out", "out"]));
    let notes = stderr.matches("note: finished runs are not saved").count();
    assert_eq!(notes, 1, "{stderr}");
    assert!(stderr.contains(reason), "{stderr}");
    assert!(contents(&user.work().join("out")) == expected, "{reason}");
    fs::remove_dir_all(user.work().join("out")).expect("removed");
}

#[test]
fn without_a_private_folder_a_study_is_simulated_and_reports_that_nothing_is_saved() {
    let user = User::with_experiment();
    succeeds(&user.fleetsim(&["run", "small", "--out", "saved"]));
    let saved = contents(&user.work().join("saved"));
    let folder = user.state().join("fleetsim");
    let mode = fs::metadata(&folder).expect("created").permissions();
    assert_eq!(mode.mode() & 0o777, 0o700, "for the user alone");

    fs::set_permissions(&folder, Permissions::from_mode(0o777)).expect("own folder");
    goes_on_without_saving(&user, "others can access it", &saved);

    fs::set_permissions(&folder, Permissions::from_mode(0o700)).expect("own folder");
    let elsewhere = user.home.path().join("elsewhere");
    fs::rename(&folder, &elsewhere).expect("moved");
    symlink(&elsewhere, &folder).expect("linked");
    goes_on_without_saving(&user, "must be a folder, and not a link", &saved);

    fs::remove_dir_all(user.state()).expect("removed");
    fs::write(user.state(), "").expect("written");
    goes_on_without_saving(&user, "no folder for saved runs is available", &saved);

    // The runs of a shard are in its file nevertheless.
    for shard in ["1/2", "2/2"] {
        succeeds(&user.fleetsim(&["run", "small", "--shard", shard, "--out", "shards"]));
    }
    succeeds(&user.fleetsim(&["merge", "shards", "--experiment", "small", "--out", "out"]));
    assert!(contents(&user.work().join("out")) == saved, "shards");
}
