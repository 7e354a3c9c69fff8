//! Input files that are read as a whole: plain or compressed with gzip, or standard input. Each file is read once and
//! hashed.
//!
//! Errors show their line. Sizes are limited, also after decompression. Events and metrics are read as streams
//! ([`super::json_stream`]).

use std::cell::RefCell;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use itertools::Itertools;
use sha2::{Digest, Sha256};

use crate::document::files::hex;
use crate::document::problem::{OrProblem, Problem, Source};
use crate::io::{MOST_BYTES, in_words, is_stdin, open_input, text_of, unpacked};
use crate::results::FileDigest;

/// An open input file.
pub(super) struct OpenInput {
    /// The path given on the command line.
    pub(super) name: String,
    pub(super) bytes: Box<dyn Read>,
    hash: Rc<RefCell<Sha256>>,
}

/// A reader that hashes all bytes that pass through it.
struct HashedBytes<R> {
    bytes: R,
    hash: Rc<RefCell<Sha256>>,
}

impl<R: Read> Read for HashedBytes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.hash.borrow_mut().update(&buffer[..count]);
        Ok(count)
    }
}

impl OpenInput {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// Returns an error if the file is not regular, or cannot be opened.
    pub(super) fn open(path: &Path) -> OrProblem<Self> {
        let opened = open_input(path).and_then(|bytes| Self::of_bytes(&name_of(path), bytes));
        opened.map_err(|error| unreadable(&name_of(path), &error))
    }

    /// Creates an input from these bytes.
    ///
    /// # Errors
    /// Returns an error if the first bytes cannot be read.
    pub(super) fn of_bytes(name: &str, bytes: impl Read + 'static) -> io::Result<Self> {
        let hash = Rc::new(RefCell::new(Sha256::new()));
        let hashed = HashedBytes {
            bytes,
            hash: Rc::clone(&hash),
        };
        let bytes = unpacked(hashed)?;
        Ok(Self {
            name: name.to_owned(),
            bytes,
            hash,
        })
    }

    /// Returns the name of the file, and the hash of its bytes as stored. Must be called at the end of the file.
    pub(super) fn digest(&self) -> FileDigest {
        FileDigest {
            path: self.name.clone(),
            sha256: hex(&self.hash.borrow().clone().finalize()),
        }
    }

    /// Returns a problem with the file as a whole.
    pub(super) fn whole(
        &self,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Box<Problem> {
        Box::new(Problem::of_file(&self.name, message).with_help(help.into()))
    }

    /// Returns the problem with an input whose bytes cannot be read.
    pub(super) fn unreadable(&self, error: &io::Error) -> Box<Problem> {
        unreadable(&self.name, error)
    }
}

fn unreadable(name: &str, error: &io::Error) -> Box<Problem> {
    let is_damaged = error.kind() == io::ErrorKind::InvalidData;
    let help = if is_damaged {
        "the file is cut off or damaged; copy it again"
    } else {
        "check the path"
    };
    Box::new(Problem::of_file(name, in_words(error)).with_help(help))
}

/// An input file that has been read.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) source: Arc<Source>,
    pub(super) digest: FileDigest,
}

impl Input {
    /// Creates an input from a text without reading a file.
    #[cfg(test)]
    pub(super) fn of(source: Arc<Source>) -> Self {
        Self {
            source,
            digest: FileDigest {
                path: String::new(),
                sha256: String::new(),
            },
        }
    }

    /// Reads a file; `-` is standard input.
    pub(super) fn read(path: &Path) -> OrProblem<Self> {
        let mut open = OpenInput::open(path)?;
        let mut bytes = Vec::new();
        let mut limited = open.bytes.by_ref().take(MOST_BYTES + 1);
        let read = limited.read_to_end(&mut bytes);
        read.map_err(|error| open.unreadable(&error))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(open.whole(
                format!("it has more than {MOST_BYTES} bytes"),
                "name a part of it",
            ));
        }
        let Some(text) = text_of(bytes) else {
            return Err(open.whole(
                "it is not UTF-8 text",
                "name a JSON or CSV file, plain or gzip",
            ));
        };
        if text.trim().is_empty() {
            return Err(open.whole("the file is empty", "rerun the command that wrote it"));
        }
        Ok(Self {
            digest: open.digest(),
            source: Arc::new(Source::new(open.name, text)),
        })
    }

    /// Returns a problem at a byte range of the text.
    pub(super) fn at(
        &self,
        byte: usize,
        field: &str,
        message: impl Into<String>,
        help: &str,
    ) -> Box<Problem> {
        let byte = self.source.text.floor_char_boundary(byte);
        let problem = self.source.at(byte..byte, field, message.into());
        Box::new(problem.with_help(help.to_owned()))
    }
}

/// Returns the name of a file for errors.
fn name_of(path: &Path) -> String {
    if is_stdin(path) {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// Returns the names of several files as one text.
pub(super) fn names(paths: &[PathBuf]) -> String {
    let names = paths.iter().map(|path| short(&name_of(path)));
    names.format(", ").to_string()
}

/// Returns the last component of a path, because results should not contain a file's folder.
pub(super) fn short(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}
