//! Files that a user names as inputs: plain or compressed with gzip, or `-`, which is standard input.

use std::io::{self, Cursor, ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::read::open_file;

/// The first bytes of a gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Returns true if the path is `-`, which is standard input.
#[must_use]
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Returns the bytes of an input as stored.
///
/// # Errors
/// If the input is not a regular file, or cannot be opened.
pub fn open_input(path: &Path) -> io::Result<Box<dyn Read>> {
    Ok(if is_stdin(path) {
        Box::new(io::stdin())
    } else {
        Box::new(open_file(path)?)
    })
}

/// Returns the bytes of an input, decompressed if they are compressed.
///
/// # Errors
/// If the first bytes cannot be read.
pub fn unpacked(mut bytes: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut first = Vec::new();
    bytes
        .by_ref()
        .take(GZIP.len() as u64)
        .read_to_end(&mut first)?;
    let is_packed = first == GZIP;
    let bytes = Cursor::new(first).chain(bytes);
    Ok(if is_packed {
        Box::new(Packed {
            decoder: MultiGzDecoder::new(bytes),
        })
    } else {
        Box::new(bytes)
    })
}

/// Compressed bytes whose read errors mention the compression.
struct Packed<R> {
    decoder: MultiGzDecoder<R>,
}

impl<R: Read> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| {
            let message = format!("it cannot be decompressed: {error}");
            io::Error::new(ErrorKind::InvalidData, message)
        })
    }
}

/// Returns the text of an input: UTF-8 with or without a byte order mark, or UTF-16, which PowerShell writes when it
/// redirects output. `None`: the bytes are not text.
#[must_use]
pub fn text_of(mut bytes: Vec<u8>) -> Option<String> {
    match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => return utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => return utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, ..] => drop(bytes.drain(..3)),
        _ => {}
    }
    String::from_utf8(bytes).ok()
}

/// Decodes UTF-16, with `unit_of` for the byte order.
fn utf16(bytes: &[u8], unit_of: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, _) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit_of(*pair));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.ok()
}

/// Explains why a file cannot be opened or read.
#[must_use]
pub fn in_words(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_in_the_encodings_of_common_shells() {
        assert_eq!(text_of(b"\xef\xbb\xbfabc".to_vec()).as_deref(), Some("abc"));
        assert_eq!(
            text_of(b"\xff\xfea\0\xe9\0".to_vec()).as_deref(),
            Some("aé")
        );
        assert_eq!(text_of(b"\xfe\xff\0a".to_vec()).as_deref(), Some("a"));
        assert_eq!(text_of(vec![0xff, 0x00, 0x80]), None);
    }
}
