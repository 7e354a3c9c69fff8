//! Input files that are read whole: plain or compressed with gzip, or standard input; each once, with its hash.
//!
//! Errors are shown with their line. Sizes are limited, also after decompression. Events and metrics are read as
//! streams ([`super::json_stream`]).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use crate::document::files::sha256;
use crate::document::problem::{OrProblem, Problem, Source};
use crate::io::{MOST_BYTES, read_file};

/// The first bytes of a gzip file (RFC 1952).
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A file that was read.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) source: Arc<Source>,
    /// SHA-256 of the bytes as stored, in hexadecimal.
    pub(super) sha256: String,
}

impl Input {
    /// Reads a file; `-` is standard input.
    pub(super) fn read(path: &Path) -> OrProblem<Self> {
        let name = name_of(path);
        let refused = |message: String, help: &str| Box::new(Problem::of_file(&name, message).with_help(help));
        let mut bytes = Vec::new();
        let read = match is_stdin(path) {
            true => std::io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes).map(|_| ()),
            false => read_file(path, MOST_BYTES).map(|whole| bytes = whole),
        };
        read.map_err(|error| refused(in_words(&error), "check the path"))?;
        let sha256 = sha256(&bytes);
        if bytes.starts_with(&GZIP) {
            let mut plain = Vec::new();
            MultiGzDecoder::new(bytes.as_slice()).take(MOST_BYTES + 1).read_to_end(&mut plain).map_err(|error| {
                refused(format!("it cannot be decompressed: {error}"), "the file is cut off or damaged; copy it again")
            })?;
            bytes = plain;
        }
        if bytes.len() as u64 > MOST_BYTES {
            return Err(refused(format!("it has more than {MOST_BYTES} bytes"), "name a part of it"));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| refused("it is not UTF-8 text".to_owned(), "name a JSON or CSV file, plain or gzip"))?;
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        if text.trim().is_empty() {
            return Err(refused("the file is empty".to_owned(), "run the command that writes it again"));
        }
        Ok(Self { source: Arc::new(Source { name, text }), sha256 })
    }

    /// The path as named on the command line.
    pub(super) fn name(&self) -> &str {
        &self.source.name
    }

    /// A problem at bytes of the text.
    pub(super) fn at(&self, byte: usize, field: &str, message: impl Into<String>, help: &str) -> Box<Problem> {
        let mut byte = byte.min(self.source.text.len());
        while !self.source.text.is_char_boundary(byte) {
            byte -= 1;
        }
        Box::new(self.source.at(byte..byte, field, message).with_help(help))
    }

    /// The problem with a table that cannot be read, and is `not` what it should be.
    pub(super) fn broken(&self, not: &str, help: &str) -> impl Fn(csv::Error) -> Box<Problem> {
        move |error| self.at(byte_of(error.position()), "", format!("not {not}: {error}"), help)
    }

    /// A problem with the file as a whole.
    pub(super) fn whole(&self, message: impl Into<String>, help: impl Into<String>) -> Box<Problem> {
        Box::new(Problem::of_file(self.name(), message).with_help(help))
    }
}

/// The byte of a table's text at a position.
pub(super) fn byte_of(position: Option<&csv::Position>) -> usize {
    position.map_or(0, |position| position.byte() as usize)
}

/// Returns true if the path is `-`, which is standard input.
pub(super) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The name of a file in errors.
pub(super) fn name_of(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

pub(super) fn in_words(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    }
}

/// The names of files, in one text.
pub(super) fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| short(&name_of(path))).collect::<Vec<_>>().join(", ")
}

/// The last part of a path: where a file lies does not belong into results.
pub(super) fn short(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}
