//! JSON values that follow each other in a stream: a single document, one in each line, or `kubectl get --watch`.
//!
//! A stream may have any length, and is never held whole: values are read one by one, and so are the elements of one
//! array inside of a value (the `items` of a list), after which the value itself follows with an empty array. One value
//! or element has a limit of size.
//!
//! Lines between values that are no JSON are counted: exporters print log lines of their own, and a log that was cut at
//! its start begins inside of a line. Left out: JSON in other encodings than UTF-8.

use std::cell::RefCell;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::input::{GZIP, in_words, is_stdin, name_of};
use crate::document::files::hex;
use crate::document::problem::{OrProblem, Problem, Source};
use crate::io::open_file;
use crate::results::FileDigest;

/// Most bytes of a value or an element.
const MOST_BYTES: usize = 16_000_000;

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 16;

/// Bytes of the start that are kept for errors.
const HEAD: usize = 64;

/// A value, or an element of the array of one.
#[derive(Debug)]
pub(super) struct Piece {
    text: String,
    start: StreamPosition,
    /// Where the text goes on in the file after the elements that it lacks: the byte in the text.
    resumed: Option<(usize, StreamPosition)>,
    pub(super) is_element: bool,
}

/// A place in a stream.
#[derive(Clone, Copy, Debug, Default)]
struct StreamPosition {
    /// Lines before it.
    lines: usize,
    /// Characters before it in its line.
    characters: usize,
}

impl StreamPosition {
    fn advance(&mut self, bytes: &[u8]) {
        let characters = |bytes: &[u8]| bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => {
                self.lines += bytes.iter().filter(|byte| **byte == b'\n').count();
                self.characters = characters(&bytes[last + 1..]);
            }
            None => self.characters += characters(bytes),
        }
    }
}

/// Brackets and strings.
#[derive(Debug, Default)]
struct Scanner {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Scanner {
    fn step(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.in_string => self.is_escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// A value whose end is not read yet.
#[derive(Debug)]
struct OpenValue {
    text: Vec<u8>,
    start: StreamPosition,
    resumed: Option<(usize, StreamPosition)>,
    scanner: Scanner,
    /// The scanner is inside of the values of so many keys of the path.
    matched: usize,
    /// The start of the last string in the object that these keys lead to.
    key: Vec<u8>,
    /// The next value is that of a key of the path.
    is_value: bool,
}

impl OpenValue {
    fn new(start: StreamPosition) -> Self {
        let (text, key) = (Vec::new(), Vec::new());
        Self { text, start, resumed: None, scanner: Scanner::default(), matched: 0, key, is_value: false }
    }

    /// Takes a byte. Returns true if the elements begin after it.
    fn step(&mut self, byte: u8, path: &[&str]) -> bool {
        let (was_string, depth) = (self.scanner.in_string, self.scanner.depth);
        self.scanner.step(byte);
        let is_here = depth == self.matched + 1;
        if was_string {
            if is_here && self.scanner.in_string && self.key.len() < HEAD {
                self.key.push(byte);
            }
            return false;
        }
        match byte {
            b'"' if is_here => self.key.clear(),
            b':' if is_here => {
                self.is_value = path.get(self.matched).is_some_and(|wanted| wanted.as_bytes() == self.key);
                return false;
            }
            b'}' if self.matched > 0 && self.scanner.depth == self.matched => self.matched -= 1,
            _ => {}
        }
        if !self.is_value || byte.is_ascii_whitespace() {
            return false;
        }
        self.is_value = false;
        let is_last = self.matched + 1 == path.len();
        self.matched += usize::from(byte == b'{' && !is_last);
        byte == b'[' && is_last
    }
}

/// A stream of JSON values.
pub(super) struct JsonStream {
    name: String,
    bytes: Box<dyn Read>,
    hash: Rc<RefCell<Sha256>>,
    /// The keys that lead to the array whose elements come one by one.
    path: &'static [&'static str],
    /// Bytes that were read. Those before `at` have been handed out.
    window: Vec<u8>,
    at: usize,
    position: StreamPosition,
    open: Option<OpenValue>,
    in_elements: bool,
    /// An element must follow.
    after_comma: bool,
    head: Vec<u8>,
    /// Lines between values.
    pub(super) other_lines: usize,
}

/// Counts what is read into a hash.
struct Hashed<R>(R, Rc<RefCell<Sha256>>);

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1.borrow_mut().update(&buffer[..count]);
        Ok(count)
    }
}

impl JsonStream {
    /// Opens a file, plain or compressed with gzip; `-` is standard input. `path` leads to the array whose elements
    /// come one by one.
    ///
    /// # Errors
    /// When it is not a regular file, or cannot be opened.
    pub(super) fn open(file: &Path, path: &'static [&'static str]) -> OrProblem<Self> {
        let name = name_of(file);
        let opened = match is_stdin(file) {
            true => Self::of_bytes(&name, io::stdin(), path),
            false => open_file(file).and_then(|file| Self::of_bytes(&name, file, path)),
        };
        opened.map_err(|error| Box::new(Problem::of_file(&name, in_words(&error)).with_help("check the path")))
    }

    /// A stream of these bytes.
    ///
    /// # Errors
    /// When the first of them cannot be read.
    pub(super) fn of_bytes(name: &str, bytes: impl Read + 'static, path: &'static [&'static str]) -> io::Result<Self> {
        let hash = Rc::new(RefCell::new(Sha256::new()));
        let mut bytes = Hashed(bytes, Rc::clone(&hash));
        let mut first = Vec::new();
        bytes.by_ref().take(GZIP.len() as u64).read_to_end(&mut first)?;
        let is_packed = first == GZIP;
        let bytes = Cursor::new(first).chain(bytes);
        Ok(Self {
            name: name.to_owned(),
            bytes: if is_packed { Box::new(MultiGzDecoder::new(bytes)) } else { Box::new(bytes) },
            hash,
            path,
            window: Vec::new(),
            at: 0,
            position: StreamPosition::default(),
            open: None,
            in_elements: false,
            after_comma: false,
            head: Vec::new(),
            other_lines: 0,
        })
    }

    /// The path as named on the command line.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The first characters that are no space.
    pub(super) fn head(&self) -> String {
        String::from_utf8_lossy(&self.head).trim_start().to_owned()
    }

    /// Its name, and the hash of its bytes as stored. To be called at its end.
    pub(super) fn digest(&self) -> FileDigest {
        FileDigest { path: self.name.clone(), sha256: hex(&self.hash.borrow().clone().finalize()) }
    }

    /// The next element or value. `None`: the stream has ended.
    ///
    /// # Errors
    /// When the stream cannot be read, is empty, or has something too large.
    pub(super) fn next(&mut self) -> OrProblem<Option<Piece>> {
        loop {
            if self.in_elements
                && let Some(element) = self.element()?
            {
                return Ok(Some(element));
            }
            if self.open.is_none() {
                let first = self.first_byte(0)?;
                self.consume(first.map_or(0, |(at, _)| at));
                match first {
                    None if self.head.trim_ascii().is_empty() => {
                        return Err(self.whole("the file is empty", "run the command that writes it again"));
                    }
                    None => return Ok(None),
                    Some((_, b'{')) => {}
                    Some((_, b'[')) if self.first_byte(1)?.is_some_and(|(_, byte)| byte == b'{') => {}
                    Some(_) => {
                        self.skip_line()?;
                        continue;
                    }
                }
                self.open = Some(OpenValue::new(self.position));
            }
            if let Some(value) = self.value()? {
                return Ok(Some(value));
            }
        }
    }

    /// The value of a piece.
    ///
    /// # Errors
    /// When it is not JSON, or has another form.
    pub(super) fn parse<T: DeserializeOwned>(piece: &Piece) -> Result<T, serde_json::Error> {
        serde_json::from_str(&piece.text)
    }

    /// A problem at the start of a piece.
    pub(super) fn at(&self, piece: &Piece, field: &str, message: impl Into<String>, help: &str) -> Box<Problem> {
        Box::new(self.at_byte(piece, 0, field, message).with_help(help))
    }

    /// A problem with the file as a whole.
    pub(super) fn whole(&self, message: impl Into<String>, help: impl Into<String>) -> Box<Problem> {
        Box::new(Problem::of_file(&self.name, message).with_help(help))
    }

    /// Why a piece has no value, at its place. `serde_json` counts columns in bytes.
    pub(super) fn refused(&self, piece: &Piece, error: &serde_json::Error) -> Box<Problem> {
        let lines = piece.text.split_inclusive('\n').take(error.line().saturating_sub(1));
        let byte = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        if error.is_eof() {
            let help = "the file is cut off; write it again, or remove its last line";
            return Box::new(
                self.at_byte(piece, byte, "", format!("the JSON ends too early: {message}")).with_help(help),
            );
        }
        let what = if error.is_data() { "a field has another type than expected" } else { "not JSON" };
        let help = "write the file again with the command it came from";
        Box::new(self.at_byte(piece, byte, "", format!("{what}: {message}")).with_help(help))
    }

    fn at_byte(&self, piece: &Piece, byte: usize, field: &str, message: impl Into<String>) -> Problem {
        let (text, start, byte) = match piece.resumed {
            Some((at, position)) if byte >= at => (&piece.text[at..], position, byte - at),
            _ => (&piece.text[..], piece.start, byte),
        };
        let mut byte = byte.min(text.len());
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        let source = Arc::new(Source { name: self.name.clone(), text: text.to_owned() });
        source.at(byte..byte, field, message).in_part_after(start.lines, start.characters)
    }

    /// The next element. `None`: the array has ended.
    fn element(&mut self) -> OrProblem<Option<Piece>> {
        let mut ends = false;
        if let Some((at, byte)) = self.first_byte(0)? {
            self.consume(at);
            ends = byte == b']';
        }
        if ends && !self.after_comma {
            self.in_elements = false;
            return Ok(None);
        }
        let (mut scanner, mut length, start) = (Scanner::default(), 0, self.position);
        'end: loop {
            for &byte in &self.window[self.at + length..] {
                if scanner.depth == 0 && !scanner.in_string && matches!(byte, b',' | b']') {
                    break 'end;
                }
                scanner.step(byte);
                length += 1;
            }
            if length > MOST_BYTES {
                return Err(self.too_large(start));
            }
            if !self.fill()? {
                // The value that is cut off follows, and then nothing.
                self.in_elements = false;
                break;
            }
        }
        // A comma without an element after it is an error of JSON, as `]` is for the parser.
        let shown = if ends { 1 } else { length };
        let text = self.text(self.window[self.at..self.at + shown].to_vec())?;
        self.in_elements &= !ends;
        self.consume(length);
        self.after_comma = self.window.get(self.at) == Some(&b',');
        self.consume(usize::from(self.after_comma));
        Ok(Some(Piece { text, start, resumed: None, is_element: true }))
    }

    /// The rest of the open value. `None`: its elements come first, or it was an array of them.
    fn value(&mut self) -> OrProblem<Option<Piece>> {
        let mut open = self.open.take().expect("a value is open");
        if open.text.last() == Some(&b'[') {
            open.resumed = Some((open.text.len(), self.position));
        }
        loop {
            let mut length = 0;
            for &byte in &self.window[self.at..] {
                let is_array = open.text.is_empty() && length == 0 && byte == b'[';
                self.in_elements = open.step(byte, self.path) || is_array;
                length += 1;
                if self.in_elements || open.scanner.depth == 0 {
                    break;
                }
            }
            open.text.extend_from_slice(&self.window[self.at..self.at + length]);
            self.consume(length);
            if self.in_elements {
                self.after_comma = false;
                self.open = Some(open);
                return Ok(None);
            }
            let has_ended = length > 0 && open.scanner.depth == 0;
            if !has_ended && open.text.len() > MOST_BYTES {
                return Err(self.too_large(open.start));
            }
            if has_ended || !self.fill()? {
                let OpenValue { text, start, resumed, .. } = open;
                let text = self.text(text)?;
                let piece = Piece { text, start, resumed, is_element: false };
                return Ok((piece.text != "[]").then_some(piece));
            }
        }
    }

    fn too_large(&self, start: StreamPosition) -> Box<Problem> {
        let problem = Source { name: self.name.clone(), text: String::new() };
        let message = format!("a JSON value must have at most {MOST_BYTES} bytes");
        let problem = Arc::new(problem).at(0..0, "", message).in_part_after(start.lines, start.characters);
        Box::new(problem.with_help("write the file again with the command it came from"))
    }

    fn text(&self, bytes: Vec<u8>) -> OrProblem<String> {
        String::from_utf8(bytes)
            .map_err(|_| self.whole("it is not UTF-8 text", "name a JSON file in UTF-8, plain or gzip"))
    }

    /// The first byte that is no space, and its distance; `from` bytes are skipped.
    fn first_byte(&mut self, from: usize) -> OrProblem<Option<(usize, u8)>> {
        let mut from = from;
        loop {
            let rest = self.window.get(self.at + from..).unwrap_or_default();
            if let Some(at) = rest.iter().position(|byte| !byte.is_ascii_whitespace()) {
                return Ok(Some((from + at, rest[at])));
            }
            from += rest.len();
            if from > MOST_BYTES {
                return Err(self.too_large(self.position));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    fn skip_line(&mut self) -> OrProblem<()> {
        self.other_lines += 1;
        loop {
            let rest = &self.window[self.at..];
            let end = rest.iter().position(|byte| *byte == b'\n');
            self.consume(end.map_or(rest.len(), |end| end + 1));
            if end.is_some() || !self.fill()? {
                return Ok(());
            }
        }
    }

    fn consume(&mut self, length: usize) {
        self.position.advance(&self.window[self.at..self.at + length]);
        self.at += length;
    }

    /// Reads more. Returns whether there was more.
    fn fill(&mut self) -> OrProblem<bool> {
        self.window.drain(..self.at);
        self.at = 0;
        let before = self.window.len();
        let read = self.bytes.by_ref().take(CHUNK as u64).read_to_end(&mut self.window);
        if let Err(error) = read {
            let is_packed = matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof);
            return Err(match is_packed || error.kind() == io::ErrorKind::InvalidData {
                true => self.whole(
                    format!("it cannot be decompressed: {error}"),
                    "the file is cut off or damaged; copy it again",
                ),
                false => self.whole(in_words(&error), "check the path"),
            });
        }
        if self.head.is_empty() {
            if self.window.starts_with(b"\xef\xbb\xbf") {
                self.window.drain(..3);
            }
            let more = &self.window[..];
            let start = more.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(more.len());
            self.head = more[start..].iter().take(HEAD).copied().collect();
            if std::str::from_utf8(&self.head).is_err_and(|error| error.error_len().is_some()) {
                return Err(self.whole("it is not UTF-8 text", "name a JSON file in UTF-8, plain or gzip"));
            }
        }
        Ok(self.window.len() > before)
    }
}
