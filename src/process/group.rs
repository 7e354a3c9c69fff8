//! The group of a run's process: the process and its descendants, which end with the run or with fleetsim.
//!
//! A shell leads the group. Its input is a pipe that the system closes however fleetsim ends; the shell then kills the
//! group. The group exists before the process and until the shell is reaped, so no unrelated process can have its
//! number.
//!
//! On Linux, the shell also kills processes that have left the group (`setsid`, job control): they inherit a variable
//! that names it.
//!
//! Left out: processes that leave the group and clear their environment; on other systems, all processes that leave
//! it; on Windows, all but the process itself.

use std::io;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(unix)]
use rustix::process::Signal;

/// Real time that a process has to end after `bye`, or to write its last lines.
pub(super) const FAREWELL: Duration = Duration::from_secs(5);

/// The variable's value is the number of the group and a full stop.
const VARIABLE: &str = "FLEETSIM_GROUP";

/// Waits for the end of its input, and ignores signals to the group meanwhile.
const LEADER: &str = "trap '' HUP INT QUIT TERM USR1 USR2 PIPE ALRM; read line
for file in $(grep -lsF \"FLEETSIM_GROUP=$$.\" /proc/[0-9]*/environ); do
    file=${file#/proc/}; kill -s KILL ${file%/environ}
done
kill -s KILL 0";

/// A group of processes. It is killed when this value is dropped.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    /// `None`: the system has no groups.
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

    /// Makes the command's process join the group.
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
        // A process may have stopped its group.
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

/// Polls for a value that is expected soon. `None`: it did not come.
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
