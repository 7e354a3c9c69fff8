//! One process and its pipes: messages go in, answers come out, each within a limit of real time.
//!
//! Two threads read its output, so that a silent process cannot block the run and a talkative one cannot block itself.
//! The process has a group of its own: an interrupt from the keyboard reaches fleetsim alone, which ends its
//! processes.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use super::protocol::{ProcessMessage, Refusal};
use super::{ProcessCommand, ProcessError};

/// Longest answer, in bytes. An instruction for each of ten million clusters fits.
const LONGEST_LINE: u64 = 1 << 29;
/// Lines of standard error that an error shows.
const LAST_WORDS: usize = 12;
/// Characters of a line that an error shows.
const SHOWN: usize = 300;
/// Real time that a process has to end after `bye`, or to say its last words.
const FAREWELL: Duration = Duration::from_secs(5);

type Words = Arc<Mutex<VecDeque<String>>>;

/// A running process. It is killed when this value is dropped.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<std::io::Result<Vec<u8>>>,
    last_words: Words,
    timeout: Duration,
    run: String,
    command: String,
}

impl ChildProcess {
    pub(crate) fn start(start: &ProcessCommand, run: &str) -> Result<Self, ProcessError> {
        let mut command = Command::new(start.program());
        command.args(&start.words[1..]).current_dir(&start.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let shown = start.shown();
        let mut child = command.spawn().map_err(|error| ProcessError {
            run: run.to_owned(),
            command: shown.clone(),
            problem: match error.kind() {
                std::io::ErrorKind::NotFound => start.not_found(),
                _ => format!("the program cannot be started: {error}"),
            },
            line: String::new(),
            last_words: Vec::new(),
        })?;
        let input = child.stdin.take();
        let output = lines(child.stdout.take().expect("it is piped"));
        let last_words = tail(child.stderr.take().expect("it is piped"));
        let timeout = Duration::from_nanos(start.timeout_ns);
        Ok(Self { child, input, output, last_words, timeout, run: run.to_owned(), command: shown })
    }

    /// Sends a message and reads its answer, of which `part` is wanted; `None`: the answer as a whole.
    pub(crate) fn ask<T: DeserializeOwned>(
        &mut self,
        question: &ProcessMessage<'_>,
        part: Option<&str>,
    ) -> Result<T, ProcessError> {
        let line = serde_json::to_string(question).expect("messages are JSON") + "\n";
        let input = self.input.as_mut().expect("nothing is asked after the end");
        let sent = input.write_all(line.as_bytes()).and_then(|()| input.flush());
        // A process that has ended may have answered before: its answer tells more than the broken pipe.
        let answer = self.output.recv_timeout(self.timeout);
        let line = match answer {
            Ok(Ok(line)) if line.last() == Some(&b'\n') => line,
            Ok(Ok(line)) if line.len() as u64 >= LONGEST_LINE => {
                return Err(self.error(format!("an answer must be shorter than {LONGEST_LINE} bytes"), &line));
            }
            Ok(Ok(line)) if !line.is_empty() => {
                return Err(self.error("an answer must end with a newline, but the output ended".to_owned(), &line));
            }
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return Err(self.ended(question.name())),
            Err(RecvTimeoutError::Timeout) => {
                let limit = self.timeout.as_secs_f64();
                let problem = format!(
                    "`{}` must be answered within {limit} s of real time; print one line and flush it, or raise `timeout`",
                    question.name()
                );
                return Err(self.error(problem, b""));
            }
        };
        if sent.is_err() {
            return Err(self.ended(question.name()));
        }
        self.read(question, part, &line)
    }

    fn read<T: DeserializeOwned>(
        &mut self,
        question: &ProcessMessage<'_>,
        part: Option<&str>,
        line: &[u8],
    ) -> Result<T, ProcessError> {
        let mut answer: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(line)
            .map_err(|error| self.error(format!("an answer must be one JSON object on one line: {error}"), line))?;
        if let Some(refusal) = answer.remove("error") {
            let message =
                serde_json::from_value(refusal).map_or_else(|_| "no message".to_owned(), |Refusal { message }| message);
            return Err(self.error(format!("the process reports an error: {message}"), b""));
        }
        let wanted = match part {
            None => serde_json::Value::Object(answer),
            Some(part) => answer.remove(part).ok_or_else(|| {
                self.error(format!("the answer to `{}` must have a field `{part}`", question.name()), line)
            })?,
        };
        serde_json::from_value(wanted)
            .map_err(|error| self.error(format!("the answer to `{}` is not valid: {error}", question.name()), line))
    }

    /// Lets the process end.
    pub(crate) fn finish(&mut self) -> Result<(), ProcessError> {
        let _: serde_json::Value = self.ask(&ProcessMessage::Bye {}, Some("bye"))?;
        self.input = None;
        match self.wait() {
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                Err(self.error(format!("the process must end with exit code 0 after `bye`, not {status}"), b""))
            }
            None => Err(self.error(format!("the process must end within {} s after `bye`", FAREWELL.as_secs()), b"")),
        }
    }

    /// How the process ended; `None`: it runs on.
    fn wait(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + FAREWELL;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(2)),
                _ => return None,
            }
        }
    }

    fn ended(&mut self, question: &str) -> ProcessError {
        let how =
            self.wait().map_or_else(|| "it closed its output".to_owned(), |status| format!("it ended with {status}"));
        self.error(format!("the process must run until `bye`, but {how} before it answered `{question}`"), b"")
    }

    /// An error of this process. It is killed, so that its standard error is complete.
    pub(crate) fn error(&mut self, problem: String, line: &[u8]) -> ProcessError {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        let mut shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        // The thread that reads standard error may still be at it.
        let until = Instant::now() + FAREWELL;
        while Arc::strong_count(&self.last_words) > 1 && Instant::now() < until {
            thread::sleep(Duration::from_millis(2));
        }
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
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
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program: a path is relative to the experiment's folder, a plain name is looked up in `PATH`.
/// The lines of a stream, each with its newline, read on a thread of their own.
fn lines(stream: impl Read + Send + 'static) -> Receiver<std::io::Result<Vec<u8>>> {
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        loop {
            let mut line = Vec::new();
            let read = (&mut stream).take(LONGEST_LINE).read_until(b'\n', &mut line);
            let is_over = !matches!(read, Ok(1..)) || line.last() != Some(&b'\n');
            if sender.send(read.map(|_| line)).is_err() || is_over {
                return;
            }
        }
    });
    receiver
}

/// The last lines of a stream, read on a thread of their own.
fn tail(stream: impl Read + Send + 'static) -> Words {
    let words = Words::default();
    let kept = Arc::clone(&words);
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while matches!((&mut stream).take(1 << 16).read_until(b'\n', &mut line), Ok(1..)) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() == LAST_WORDS {
                kept.pop_front();
            }
            kept.push_back(String::from_utf8_lossy(&line).trim_end().chars().take(SHOWN).collect());
            line.clear();
        }
    });
    words
}
