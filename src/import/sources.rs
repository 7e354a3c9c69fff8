//! The files that an import is made from, each read once; `-` is standard input.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::document::problem::{Problem, Source};

/// Larger exports are refused. 100,000 clusters have about 200 MB.
const MOST_BYTES: u64 = 2_000_000_000;

/// Exports and settings of one import. Every file may be `-`, standard input.
#[derive(Clone, Debug, Default)]
pub struct ImportSources {
    /// Rancher Fleet's clusters.
    pub fleet: Option<PathBuf>,
    /// Rancher Fleet's cluster groups.
    pub cluster_groups: Option<PathBuf>,
    /// A GitRepo, whose targets are the fleet.
    pub git_repo: Option<PathBuf>,
    /// Fleet's workspace, or the namespace of Argo CD's applications.
    pub namespace: Option<String>,
    /// KubeFleet's member clusters.
    pub members: Option<PathBuf>,
    /// KubeFleet's placement.
    pub placement: Option<PathBuf>,
    /// Argo CD's applications.
    pub applications: Option<PathBuf>,
    /// Argo CD's clusters.
    pub clusters: Option<PathBuf>,
    /// Processes of an app of Cloud Foundry.
    pub process: Option<PathBuf>,
    /// A deployment of Cloud Foundry.
    pub deployment: Option<PathBuf>,
    /// An app manifest of Cloud Foundry.
    pub manifest: Option<PathBuf>,
    /// The app of a manifest that has several.
    pub app: Option<String>,
    /// The nodes of a typical cluster.
    pub nodes: Option<PathBuf>,
    /// The product's strategy.
    pub strategy: Option<PathBuf>,
    /// Manifests of the new images.
    pub images: Vec<PathBuf>,
    /// Manifests of the images that run now, in the same order.
    pub previous: Vec<PathBuf>,
    /// The platform to choose from an index.
    pub platform: String,
}

/// The texts of the files of an import.
#[derive(Default)]
pub(super) struct Texts {
    read: BTreeMap<PathBuf, Arc<Source>>,
}

/// The name of standard input on the command line.
pub(super) const STANDARD_INPUT: &str = "-";

impl Texts {
    /// Texts that need no file.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let source = |(name, text): &(&str, &str)| {
            (PathBuf::from(name), Arc::new(Source { name: (*name).to_owned(), text: (*text).to_owned() }))
        };
        Self { read: files.iter().map(source).collect() }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// When it cannot be read, is too large, is not text or is empty.
    pub(super) fn read(&mut self, path: &Path, command: &str) -> Result<Arc<Source>, Vec<Problem>> {
        let is_stdin = path == Path::new(STANDARD_INPUT);
        let name = if is_stdin { "<standard input>".to_owned() } else { path.display().to_string() };
        let fail = |message: String, help: String| vec![Problem::of_file(&name, message).with_help(help)];
        if let Some(known) = self.read.get(path) {
            if is_stdin {
                let help = "save the others as files, and name these".to_owned();
                return Err(fail("standard input can be read only once".to_owned(), help));
            }
            return Ok(Arc::clone(known));
        }
        // What is no command is the name of a file that people write.
        let written = || match command.contains(' ') {
            true => format!("write it with `{command}`"),
            false => format!("name your {command}"),
        };
        let bytes = if is_stdin { of_stdin() } else { of_file(path) };
        let bytes = bytes.map_err(|error| {
            let message = match error.kind() {
                io::ErrorKind::NotFound => "there is no such file".to_owned(),
                _ => error.to_string(),
            };
            fail(message, written())
        })?;
        if bytes.len() as u64 > MOST_BYTES {
            let message = format!("the file has more than {MOST_BYTES} bytes");
            return Err(fail(message, "export fewer objects, e.g. by label with `-l`".to_owned()));
        }
        let text = text_of(bytes).ok_or_else(|| fail("the file is not UTF-8 text".to_owned(), written()))?;
        if text.trim().is_empty() {
            return Err(fail("the file is empty".to_owned(), written()));
        }
        let source = Arc::new(Source { name, text });
        self.read.insert(path.to_owned(), Arc::clone(&source));
        Ok(source)
    }
}

fn of_stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn of_file(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_dir() {
        return Err(io::Error::other("it is a folder, not a file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// UTF-8 with or without a mark, or UTF-16 as PowerShell redirects it.
fn text_of(mut bytes: Vec<u8>) -> Option<String> {
    let utf16 = |bytes: &[u8], of: fn([u8; 2]) -> u16| {
        let units = bytes.as_chunks::<2>().0.iter().map(|pair| of(*pair));
        char::decode_utf16(units).collect::<Result<String, _>>().ok()
    };
    match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => return utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => return utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, ..] => drop(bytes.drain(..3)),
        _ => {}
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_in_the_encodings_that_shells_write() {
        assert_eq!(text_of(b"\xef\xbb\xbfabc".to_vec()).as_deref(), Some("abc"));
        assert_eq!(text_of(b"\xff\xfea\0\xe9\0".to_vec()).as_deref(), Some("aé"));
        assert_eq!(text_of(b"\xfe\xff\0a".to_vec()).as_deref(), Some("a"));
        assert_eq!(text_of(vec![0xff, 0x00, 0x80]), None);
    }
}
