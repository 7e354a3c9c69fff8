//! The process group of a run's process and its descendants, which end with the run or with fleetsim.
//!
//! A shell leads the group. Its input is a pipe, which the system closes when fleetsim ends for any reason; the shell
//! then kills the group. The group exists from before the process starts until the shell is reaped, so its number
//! cannot belong to an unrelated process.
//!
//! On Linux, the shell also kills processes that have left the group (`setsid`, job control): they inherit an
//! environment variable that identifies the group.
//!
//! Not killed: on Linux, processes that leave the group and clear their environment; on other systems, all processes
//! that leave the group; on Windows, all except the process itself.

use std::io;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(unix)]
use rustix::process::Signal;

/// Real time that a process has for ending after `bye`, or for writing its last lines.
pub(super) const FAREWELL: Duration = Duration::from_secs(5);

/// The environment variable that identifies the group. Its value is the group's number and a full stop.
const VARIABLE: &str = "FLEETSIM_GROUP";

/// The shell script of the group's leader. It waits for the end of its input, and ignores signals to the group until
/// then.
const LEADER: &str = "trap '' HUP INT QUIT TERM USR1 USR2 PIPE ALRM; read line
for file in $(grep -lsF \"FLEETSIM_GROUP=$$.\" /proc/[0-9]*/environ); do
    file=${file#/proc/}; kill -s KILL ${file%/environ}
done
kill -s KILL 0";

/// A process group. It is killed when this value is dropped.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    /// The shell that leads the group. `None`: the system has no process groups.
    leader: Option<Child>,
}

impl ProcessGroup {
    /// Starts a group with only its leader.
    pub(super) fn start() -> io::Result<Self> {
        if cfg!(not(unix)) {
            return Ok(Self { leader: None });
        }
        let mut leader = Command::new("sh");
        leader
            .args(["-c", LEADER])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut leader, 0);
        Ok(Self {
            leader: Some(leader.spawn()?),
        })
    }

    /// Makes the process of a command join the group.
    pub(super) fn takes(&self, command: &mut Command) {
        let Some(leader) = &self.leader else { return };
        command.env(VARIABLE, format!("{}.", leader.id()));
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, leader.id().cast_signed());
    }

    /// Ends all processes of the group immediately.
    pub(super) fn kill(&mut self) {
        let Some(mut leader) = self.leader.take() else {
            return;
        };
        // A process may have stopped the group with a signal.
        #[cfg(unix)]
        signal(&leader, Signal::CONT);
        drop(leader.stdin.take());
        if soon(|| leader.try_wait().ok().flatten()).is_none() {
            #[cfg(unix)]
            signal(&leader, Signal::KILL);
            let _ = leader.wait();
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Polls for a value that is expected soon. `None`: it did not appear in time.
pub(super) fn soon<T>(mut poll: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        let found = poll();
        if found.is_some() || began.elapsed() > FAREWELL {
            return found;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Sends a signal to the leader's group.
#[cfg(unix)]
fn signal(leader: &Child, signal: Signal) {
    let _ = rustix::process::kill_process_group(rustix::process::Pid::from_child(leader), signal);
}
