//! Consecutive JSON values in a stream: a single document, one in each line, or `kubectl get --watch`.
//!
//! A stream may have any length, and is never held in memory as a whole. Values are read one by one. The elements of
//! one array inside a value (the `items` of a list) are also read one by one; the value itself follows with an empty
//! array. The size of each value and element is limited.
//!
//! Lines between values that are not JSON are counted, because exporters print log lines, and a truncated log may
//! begin in the middle of a line. Left out: JSON in encodings other than UTF-8.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::input::OpenInput;
use crate::document::problem::{OrProblem, Problem, Source};

/// Maximum size of a value or an element in bytes.
const MOST_BYTES: usize = 16_000_000;

/// The fix for a file that differs from the output of its command.
const WRITE_AGAIN: &str = "rerun the command that wrote the file";

/// Number of bytes of the first line that are kept for errors.
const HEAD: usize = 64;

/// A position in a stream: the number of preceding lines, and of preceding characters in its line.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct StreamPosition {
    lines: usize,
    characters: usize,
}

impl StreamPosition {
    fn after(self, bytes: &[u8]) -> Self {
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => Self {
                lines: self.lines + bytes.iter().filter(|byte| **byte == b'\n').count(),
                characters: characters(&bytes[last + 1..]),
            },
            None => Self {
                characters: self.characters + characters(bytes),
                ..self
            },
        }
    }
}

/// Returns the number of characters, by counting bytes that are not UTF-8 continuation bytes.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// The kind of content at the start of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ValueStart {
    Object,
    /// An array whose first element is an object. Other arrays may be log lines, which can also begin with a bracket.
    ArrayOfObjects,
    /// Text that is not JSON, or a value without objects.
    Other,
    /// The stream has ended.
    End,
}

/// The bytes read since the last value or element. The JSON reader requests them one at a time.
struct Tape {
    bytes: BufReader<Box<dyn Read>>,
    seen: Vec<u8>,
    /// The position in the stream at which the bytes begin.
    begins: StreamPosition,
}

impl Tape {
    /// Returns the next byte without consuming it. `None`: the stream has ended.
    fn next(&mut self) -> io::Result<Option<u8>> {
        Ok(self.bytes.fill_buf()?.first().copied())
    }

    /// Returns the next byte that is neither whitespace nor part of a byte order mark, without consuming it.
    fn next_visible(&mut self) -> io::Result<Option<u8>> {
        while let Some(byte) = self.next()? {
            if !byte.is_ascii_whitespace() && !b"\xef\xbb\xbf".contains(&byte) {
                return Ok(Some(byte));
            }
            self.take()?;
        }
        Ok(None)
    }

    /// Skips whitespace, and returns the kind of value that begins after it.
    fn value_start(&mut self) -> io::Result<ValueStart> {
        let first = self.next_visible()?;
        self.forget();
        match first {
            None => Ok(ValueStart::End),
            Some(b'{') => Ok(ValueStart::Object),
            Some(b'[') => {
                self.take()?;
                match self.next_visible()? {
                    Some(b'{') => Ok(ValueStart::ArrayOfObjects),
                    _ => Ok(ValueStart::Other),
                }
            }
            Some(_) => Ok(ValueStart::Other),
        }
    }

    /// Consumes the next byte.
    fn take(&mut self) -> io::Result<Option<u8>> {
        let next = self.next()?;
        if let Some(byte) = next {
            if self.seen.len() >= MOST_BYTES {
                return Err(ErrorKind::FileTooLarge.into());
            }
            self.seen.push(byte);
            self.bytes.consume(1);
        }
        Ok(next)
    }

    fn forget(&mut self) {
        self.begins = self.begins.after(&self.seen);
        self.seen.clear();
    }

    /// Returns a problem at a byte of the input read so far.
    fn problem(&self, name: &str, byte: usize, field: &str, message: impl Into<String>) -> Problem {
        let text = String::from_utf8_lossy(&self.seen).into_owned();
        let byte = text.floor_char_boundary(byte);
        let source = Arc::new(Source::new(name, text));
        source
            .at(byte..byte, field, message.into())
            .in_part_after(self.begins.lines, self.begins.characters)
    }
}

/// The tape as a reader for the JSON parser. The tape is borrowed only during a read.
struct TapeReader<'t> {
    tape: &'t RefCell<Tape>,
}

impl Read for TapeReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(first) = buffer.first_mut() else {
            return Ok(0);
        };
        let Some(byte) = self.tape.borrow_mut().take()? else {
            return Ok(0);
        };
        *first = byte;
        Ok(1)
    }
}

/// The content of a piece: a value without the elements of its array, or one of these elements.
enum Content {
    Element(Box<RawValue>),
    Rest(Value),
}

/// A value or an element, with its position.
pub(super) struct Piece<'s> {
    content: Content,
    name: &'s str,
    tape: &'s RefCell<Tape>,
    /// The position at which the value starts.
    start: StreamPosition,
}

impl Piece<'_> {
    pub(super) const fn is_element(&self) -> bool {
        matches!(self.content, Content::Element(_))
    }

    /// Returns whether the piece is a value with at least one of these fields.
    pub(super) fn has_any(&self, fields: &[&str]) -> bool {
        matches!(&self.content, Content::Rest(value) if fields.iter().any(|field| value.get(field).is_some()))
    }

    /// Deserializes the value.
    ///
    /// # Errors
    /// Returns an error if the value has a different form.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        match &self.content {
            Content::Element(text) => serde_json::from_str(text.get()),
            Content::Rest(value) => T::deserialize(value),
        }
    }

    /// Returns a problem at the start of the value.
    pub(super) fn at(&self, field: &str, message: impl Into<String>, help: &str) -> Box<Problem> {
        Box::new(self.at_byte(0, field, message).with_help(help.to_owned()))
    }

    /// Returns the problem with an invalid value, at its position. Columns of `serde_json` are in bytes.
    pub(super) fn refused(&self, error: &serde_json::Error) -> Box<Problem> {
        let text = if let Content::Element(text) = &self.content {
            text.get()
        } else {
            ""
        };
        let lines = text
            .split_inclusive('\n')
            .take(error.line().saturating_sub(1));
        let byte = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
        let (message, help) = in_words(error);
        Box::new(self.at_byte(byte, "", message).with_help(help))
    }

    fn at_byte(&self, byte: usize, field: &str, message: impl Into<String>) -> Problem {
        let tape = self.tape.borrow();
        match &self.content {
            Content::Element(text) => tape.problem(
                self.name,
                tape.seen.len() - text.get().len() + byte,
                field,
                message,
            ),
            Content::Rest(_) if tape.begins == self.start => {
                tape.problem(self.name, 0, field, message)
            }
            // The first bytes of the value are no longer in memory.
            Content::Rest(_) => Arc::new(Source::new(self.name, ""))
                .at(0..0, field, message.into())
                .in_part_after(self.start.lines, self.start.characters),
        }
    }
}

/// Returns the message and the fix for an error of the JSON parser.
fn in_words(error: &serde_json::Error) -> (String, &'static str) {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    if error.is_eof() {
        let help = "the file is cut off; write it again, or remove its last line";
        return (format!("the JSON ends too early: {message}"), help);
    }
    let what = if error.is_data() {
        "a field has another type than expected"
    } else {
        "not JSON"
    };
    (format!("{what}: {message}"), WRITE_AGAIN)
}

/// Reads a value, and passes on the elements of the array at a path one by one without storing them.
struct Within<'s> {
    path: &'s [&'static str],
    hand_over: &'s mut dyn FnMut(Box<RawValue>) -> OrProblem<()>,
    /// The problem with the first rejected element.
    refused: &'s mut Option<Box<Problem>>,
}

impl<'de> DeserializeSeed<'de> for Within<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Within<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or an object")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = match self.path.split_first() {
                Some((wanted, path)) if *wanted == key => map.next_value_seed(Within {
                    path,
                    hand_over: &mut *self.hand_over,
                    refused: &mut *self.refused,
                })?,
                _ => map.next_value()?,
            };
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        while let Some(element) = elements.next_element()? {
            if let Err(problem) = (self.hand_over)(element) {
                *self.refused = Some(problem);
                return Err(A::Error::custom("an element was refused"));
            }
        }
        Ok(Value::Array(Vec::new()))
    }
}

/// A stream of JSON values.
pub(super) struct JsonStream {
    pub(super) input: OpenInput,
    tape: RefCell<Tape>,
    /// The path to the array whose elements are read one by one, as a list of keys.
    path: &'static [&'static str],
    /// The start of the first line that is not JSON.
    pub(super) head: String,
    /// Number of lines between values that are not JSON.
    pub(super) other_lines: usize,
}

impl JsonStream {
    /// Opens a file, plain or compressed with gzip; `-` is standard input. `path` leads to the array whose elements
    /// are read one by one.
    ///
    /// # Errors
    /// Returns an error if the file is not regular, or cannot be opened.
    pub(super) fn open(file: &Path, path: &'static [&'static str]) -> OrProblem<Self> {
        OpenInput::open(file).map(|input| Self::of(input, path))
    }

    /// Creates a stream from an open input.
    pub(super) fn of(mut input: OpenInput, path: &'static [&'static str]) -> Self {
        let bytes = BufReader::new(std::mem::replace(&mut input.bytes, Box::new(io::empty())));
        let tape = RefCell::new(Tape {
            bytes,
            seen: Vec::new(),
            begins: StreamPosition::default(),
        });
        Self {
            input,
            tape,
            path,
            head: String::new(),
            other_lines: 0,
        }
    }

    /// Passes each element and each value to `each`.
    ///
    /// # Errors
    /// Returns an error if the stream cannot be read, is empty, is not JSON, or contains a value that is too large.
    /// Also returns the errors of `each`.
    pub(super) fn each(
        &mut self,
        mut each: impl FnMut(&Piece<'_>) -> OrProblem<()>,
    ) -> OrProblem<()> {
        let mut is_empty = true;
        while let Some(path) = self.begin()? {
            is_empty = false;
            let name = &*self.input.name;
            let tape = &self.tape;
            let start = tape.borrow().begins;
            let mut hand_over = |content| {
                let given = each(&Piece {
                    content,
                    name,
                    tape,
                    start,
                });
                if given.is_ok() {
                    tape.borrow_mut().forget();
                }
                given
            };
            let mut refused = None;
            let within = Within {
                path,
                hand_over: &mut |text| hand_over(Content::Element(text)),
                refused: &mut refused,
            };
            // The bytes that were already read to inspect the first element of an array.
            let taken = Cursor::new(tape.borrow().seen.clone());
            let read = within.deserialize(&mut serde_json::Deserializer::from_reader(
                taken.chain(TapeReader { tape }),
            ));
            match (read, refused) {
                (Ok(Value::Array(_)), _) => tape.borrow_mut().forget(),
                (Ok(value), _) => hand_over(Content::Rest(value))?,
                (Err(_), Some(problem)) => return Err(problem),
                (Err(error), None) => return Err(self.broken(error)),
            }
        }
        if is_empty && self.other_lines == 0 {
            return Err(self
                .input
                .whole("the file is empty", "rerun the command that wrote it"));
        }
        Ok(())
    }

    /// Advances to the next value, skipping lines that are not JSON. Returns the path to the elements within the
    /// value.
    fn begin(&mut self) -> OrProblem<Option<&'static [&'static str]>> {
        loop {
            let mut tape = self.tape.borrow_mut();
            let start = tape.value_start();
            match start.map_err(|error| self.unread(&tape, &error))? {
                ValueStart::End => return Ok(None),
                ValueStart::Object => return Ok(Some(self.path)),
                ValueStart::ArrayOfObjects => return Ok(Some(&[])),
                ValueStart::Other => {}
            }
            drop(tape);
            self.skip_line()?;
        }
    }

    fn skip_line(&mut self) -> OrProblem<()> {
        let mut tape = self.tape.borrow_mut();
        loop {
            match tape.take().map_err(|error| self.unread(&tape, &error))? {
                None | Some(b'\n') => break,
                Some(_) => {}
            }
        }
        if self.other_lines == 0 {
            let head = &tape.seen[..tape.seen.len().min(HEAD)];
            if std::str::from_utf8(head).is_err_and(|error| error.error_len().is_some()) {
                return Err(self.input.whole(
                    "it is not UTF-8 text",
                    "name a JSON file in UTF-8, plain or gzip",
                ));
            }
            self.head = String::from_utf8_lossy(head).into_owned();
        }
        self.other_lines += 1;
        tape.forget();
        Ok(())
    }

    /// Returns the problem that ends reading of the stream.
    fn broken(&self, error: serde_json::Error) -> Box<Problem> {
        let tape = self.tape.borrow();
        let (message, help) = in_words(&error);
        if !error.is_io() {
            return Box::new(
                tape.problem(
                    &self.input.name,
                    tape.seen.len().saturating_sub(1),
                    "",
                    message,
                )
                .with_help(help),
            );
        }
        self.unread(&tape, &error.into())
    }

    /// Returns the problem if the next byte cannot be read.
    fn unread(&self, tape: &Tape, error: &io::Error) -> Box<Problem> {
        if error.kind() != ErrorKind::FileTooLarge {
            return self.input.unreadable(error);
        }
        let message = format!("a JSON value or another line must have at most {MOST_BYTES} bytes");
        let problem = Arc::new(Source::new(&self.input.name, "")).at(0..0, "", message);
        Box::new(
            problem
                .in_part_after(tape.begins.lines, tape.begins.characters)
                .with_help(WRITE_AGAIN),
        )
    }
}
