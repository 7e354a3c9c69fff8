//! One external process and its pipes. Sending a message and receiving an answer each have a limit of real time.
//!
//! Three threads write and read the process's streams, so a process that neither reads nor writes cannot block the
//! run, and a process with much output cannot block itself. The process has its own process group ([`ProcessGroup`]),
//! so an interrupt from the keyboard reaches only fleetsim, which ends the process.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use super::group::{FAREWELL, ProcessGroup, soon};
use super::protocol::{Answer, ProcessMessage, Refusal};
use super::{ProcessCommand, ProcessError};

/// Maximum length of an answer, in bytes. An instruction for each of three million clusters fits.
const LONGEST_LINE: u64 = 1 << 27;
/// Maximum number of lines of standard error shown in an error.
const LAST_WORDS: usize = 12;
/// Maximum number of characters shown of each line in an error.
const SHOWN: usize = 300;

type Words = Arc<Mutex<VecDeque<String>>>;

/// A running process. It is killed when this value is dropped.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    child: Child,
    group: ProcessGroup,
    input: Option<Sender<String>>,
    written: Receiver<io::Result<()>>,
    output: Receiver<io::Result<Vec<u8>>>,
    last_words: Words,
    timeout: Duration,
    run: String,
    command: String,
}

impl ChildProcess {
    pub(crate) fn start(start: &ProcessCommand, run: &str) -> Result<Self, ProcessError> {
        let mut command = Command::new(start.program());
        command.args(&start.words[1..]).current_dir(&start.folder);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let group = ProcessGroup::start().map_err(|error| {
            let problem = format!(
                "`sh`, which ends the process and its children, cannot be started: {error}"
            );
            not_started(start, run, problem)
        })?;
        group.takes(&mut command);
        let mut child = command.spawn().map_err(|error| {
            let problem = match error.kind() {
                io::ErrorKind::NotFound => start.not_found(),
                _ => format!("the program cannot be started: {error}"),
            };
            not_started(start, run, problem)
        })?;
        let (input, written) = writer(child.stdin.take().expect("it is piped"));
        let output = lines(child.stdout.take().expect("it is piped"));
        let last_words = tail(child.stderr.take().expect("it is piped"));
        Ok(Self {
            child,
            group,
            input: Some(input),
            written,
            output,
            last_words,
            timeout: Duration::from_nanos(start.timeout_ns),
            run: run.to_owned(),
            command: start.shown(),
        })
    }

    /// Sends a message and returns field `part` of the answer, or the whole answer.
    pub(crate) fn ask<T: DeserializeOwned>(
        &mut self,
        question: &ProcessMessage<'_>,
        part: Option<&str>,
    ) -> Result<T, ProcessError> {
        let line = serde_json::to_string(question).expect("messages are JSON") + "\n";
        let until = Instant::now() + self.timeout;
        // The channel is closed only if an earlier message failed.
        let _ = self
            .input
            .as_ref()
            .expect("nothing is asked after the end")
            .send(line);
        let line = match receive(&self.output, until) {
            Ok(Ok(line)) if line.last() == Some(&b'\n') => line,
            Ok(Ok(line)) if line.len() as u64 >= LONGEST_LINE => {
                return Err(self.error(
                    format!("an answer must be shorter than {LONGEST_LINE} bytes"),
                    &line,
                ));
            }
            Ok(Ok(line)) if !line.is_empty() => {
                return Err(self.error(
                    "an answer must end with a newline, but the output ended".to_owned(),
                    &line,
                ));
            }
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return Err(self.ended(question.name())),
            Err(RecvTimeoutError::Timeout) => return Err(self.late(question.name())),
        };
        // A process that has ended may have answered before, and its answer is more informative than the broken pipe.
        let answer = self.read(question, part, &line)?;
        match receive(&self.written, until) {
            Ok(Ok(())) => Ok(answer),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(self.ended(question.name())),
            Err(RecvTimeoutError::Timeout) => Err(self.error(
                format!("`{}` must be read before it is answered", question.name()),
                &line,
            )),
        }
    }

    /// Returns the error for a message that was not answered in time.
    fn late(&mut self, question: &str) -> ProcessError {
        let limit = self.timeout.as_secs_f64();
        let problem = match self.written.try_recv() {
            Ok(_) => format!(
                "`{question}` must be answered within {limit} s of real time; print one line and flush it, or raise \
                 `timeout`"
            ),
            Err(_) => format!(
                "`{question}` must be read and answered within {limit} s of real time; read standard input to the end \
                 of the line, or raise `timeout`"
            ),
        };
        self.error(problem, b"")
    }

    fn read<T: DeserializeOwned>(
        &mut self,
        question: &ProcessMessage<'_>,
        part: Option<&str>,
        line: &[u8],
    ) -> Result<T, ProcessError> {
        let answer = match parsed_answer(line) {
            Ok(answer) => answer,
            Err(error) => {
                let problem = format!("an answer must be one JSON object on one line: {error}");
                return Err(self.error(problem, line));
            }
        };
        if let Some(refusal) = answer.error {
            let message = match serde_json::from_str(refusal.get()) {
                Ok(Refusal { message }) => message,
                Err(_) => "no message".to_owned(),
            };
            return Err(self.error(format!("the process reports an error: {message}"), b""));
        }
        let wanted = match part {
            None => serde_json::from_slice(line),
            Some(part) => {
                let Some(part) = answer.part(part) else {
                    let problem = format!(
                        "the answer to `{}` must have a field `{part}`",
                        question.name()
                    );
                    return Err(self.error(problem, line));
                };
                serde_json::from_str(part.get())
            }
        };
        wanted.map_err(|error| {
            let problem = format!("the answer to `{}` is not valid: {error}", question.name());
            self.error(problem, line)
        })
    }

    /// Asks the process to end, and waits a limited time until it does.
    pub(crate) fn finish(&mut self) -> Result<(), ProcessError> {
        let _: serde_json::Value = self.ask(&ProcessMessage::Bye {}, Some("bye"))?;
        self.input = None;
        match self.wait() {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(self.error(
                format!("the process must end with exit code 0 after `bye`, not {status}"),
                b"",
            )),
            None => Err(self.error(
                format!(
                    "the process must end within {} s after `bye`",
                    FAREWELL.as_secs()
                ),
                b"",
            )),
        }
    }

    /// Waits a limited time for the process to exit. `None`: it is still running.
    fn wait(&mut self) -> Option<ExitStatus> {
        soon(|| self.child.try_wait().ok().flatten())
    }

    fn ended(&mut self, question: &str) -> ProcessError {
        let how = match self.wait() {
            Some(status) => format!("it ended with {status}"),
            None => "it closed its input or output".to_owned(),
        };
        self.error(
            format!("the process must run until `bye`, but {how} before it answered `{question}`"),
            b"",
        )
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        self.group.kill();
        self.wait();
    }

    /// Returns an error about this process. The process is killed first, so that its standard error is complete.
    pub(crate) fn error(&mut self, problem: String, line: &[u8]) -> ProcessError {
        self.kill();
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        let mut shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        // The thread that reads standard error may still be running.
        soon(|| (Arc::strong_count(&self.last_words) == 1).then_some(()));
        let words = self
            .last_words
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        ProcessError {
            run: self.run.clone(),
            command: self.command.clone(),
            problem,
            line: shown,
            last_words: words.iter().cloned().collect(),
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the error for a process that cannot be started.
fn not_started(start: &ProcessCommand, run: &str, problem: String) -> ProcessError {
    ProcessError {
        run: run.to_owned(),
        command: start.shown(),
        problem,
        line: String::new(),
        last_words: Vec::new(),
    }
}

fn parsed_answer(line: &[u8]) -> Result<Answer<'_>, serde_json::Error> {
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err(serde::de::Error::custom("no object"));
    }
    serde_json::from_slice(line)
}

/// Receives the next value from a thread, waiting at most until `until`.
fn receive<T>(from: &Receiver<T>, until: Instant) -> Result<T, RecvTimeoutError> {
    from.recv_timeout(until.saturating_duration_since(Instant::now()))
}

/// Writes lines to a stream on a separate thread, which confirms each written line.
fn writer(mut stream: impl Write + Send + 'static) -> (Sender<String>, Receiver<io::Result<()>>) {
    let (lines, queue) = channel::<String>();
    let (done, written) = channel();
    thread::spawn(move || {
        for line in queue {
            if done.send(stream.write_all(line.as_bytes())).is_err() {
                return;
            }
        }
    });
    (lines, written)
}

/// Returns the lines of a stream, each with its newline, read on a separate thread.
fn lines(stream: impl Read + Send + 'static) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        loop {
            let mut line = Vec::new();
            let read = (&mut stream)
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut line);
            let is_over = !matches!(read, Ok(1..)) || line.last() != Some(&b'\n');
            if sender.send(read.map(|_| line)).is_err() || is_over {
                return;
            }
        }
    });
    receiver
}

/// Returns the last lines of a stream, read on a separate thread.
fn tail(stream: impl Read + Send + 'static) -> Words {
    let words = Words::default();
    let shared = Arc::clone(&words);
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while matches!(
            (&mut stream).take(1 << 16).read_until(b'\n', &mut line),
            Ok(1..)
        ) {
            let mut last = shared.lock().unwrap_or_else(PoisonError::into_inner);
            if last.len() == LAST_WORDS {
                last.pop_front();
            }
            let text = String::from_utf8_lossy(&line);
            last.push_back(text.trim_end().chars().take(SHOWN).collect());
            line.clear();
        }
    });
    words
}
