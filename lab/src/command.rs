//! Starts programs: commands that end by themselves, and servers that end when the laboratory ends.
//!
//! Every program leads its own process group, so that a signal from the terminal reaches only the laboratory, which
//! then ends all others. A server also ends if the laboratory is killed (`setpriv --pdeathsig`).

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::LabError;

/// Maximum time for a server to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// Runs a program with the given standard input. Returns its output.
pub(crate) fn run(words: &[&str], input: &str) -> Result<String, LabError> {
    let command = words.join(" ");
    let failed = |message: String| LabError::Program {
        command: command.clone(),
        message,
    };
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let mut stdin = child.stdin.take().expect("it is piped");
    // Writing fails if the program ends early; the program reports the reason itself.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child
        .wait_with_output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(last_line(&String::from_utf8_lossy(&output.stderr))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The last line of a text that is not empty.
pub(crate) fn last_line(text: &str) -> String {
    text.lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("it said nothing")
        .trim()
        .to_owned()
}

/// The command prefix that runs a program in a network namespace, and ends it when the laboratory ends.
pub(crate) fn inside(namespace: &str) -> [String; 7] {
    [
        "ip",
        "netns",
        "exec",
        namespace,
        "setpriv",
        "--pdeathsig",
        "KILL",
    ]
    .map(str::to_owned)
}

/// A running server. When it is dropped, the process is ended and waited for.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
}

impl Server {
    /// Starts a server in a network namespace. Its output goes to `log`.
    pub(crate) fn start(namespace: &str, words: &[&str], log: &Path) -> Result<Self, LabError> {
        let file = File::create(log).map_err(LabError::file(log))?;
        let twin = file.try_clone().map_err(LabError::file(log))?;
        let prefix = inside(namespace);
        let child = Command::new(&prefix[0])
            .args(&prefix[1..])
            .args(words)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(twin)
            .spawn()
            .map_err(|error| LabError::Program {
                command: words.join(" "),
                message: error.to_string(),
            })?;
        Ok(Self { child })
    }

    /// The process id of the server.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks the server to end, without waiting.
    pub(crate) fn ask_to_end(&self) {
        signal(self.child.id(), Signal::TERM);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ask_to_end();
        let until = Instant::now() + GRACE;
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        signal(self.child.id(), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Sends a signal to the process group of a program that [`Server`] or a pull started.
pub(crate) fn signal(id: u32, signal: Signal) {
    if let Some(group) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // It is not an error if the process has already ended.
        let _ = kill_process_group(group, signal);
    }
}
