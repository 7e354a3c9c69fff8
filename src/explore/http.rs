//! The part of HTTP/1.1 that a locally served page needs: one request for each connection, with limits on its size and
//! time. `httparse` parses the head.
//!
//! No server library is used, because the small ones limit neither the size of a head nor the time for sending it, and
//! they hide the connection, which shows whether the page is still open.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Maximum size of a head in bytes, followed by the maximum number of its lines and the maximum size of a body.
const MOST_HEAD: usize = 16 * 1024;
const MOST_LINES: usize = 64;
const MOST_BODY: usize = 512 * 1024;

/// Maximum time for a client to send a head, to send a body, or to accept a part of a response.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum time for reading the rest of a rejected request, followed by its maximum size in bytes.
const LAST_PATIENCE: Duration = Duration::from_secs(1);
const MOST_IGNORED: usize = 4 * 1024 * 1024;

/// A request without its complete body.
pub(super) struct HttpHead {
    pub(super) method: String,
    pub(super) path: String,
    lines: Vec<(String, String)>,
    /// The length of the body in bytes.
    length: usize,
    /// The part of the body received so far.
    body: Vec<u8>,
}

/// An HTTP status. Error statuses give the reason why there is no other response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct HttpStatus {
    code: u16,
    words: &'static str,
}

impl HttpStatus {
    pub(super) const OK: Self = Self::new(200, "OK");
    pub(super) const BAD_REQUEST: Self = Self::new(400, "Bad Request");
    pub(super) const FORBIDDEN: Self = Self::new(403, "Forbidden");
    pub(super) const NOT_FOUND: Self = Self::new(404, "Not Found");
    pub(super) const METHOD_NOT_ALLOWED: Self = Self::new(405, "Method Not Allowed");
    const TIMEOUT: Self = Self::new(408, "Request Timeout");
    const LENGTH_REQUIRED: Self = Self::new(411, "Length Required");
    const CONTENT_TOO_LARGE: Self = Self::new(413, "Content Too Large");
    const HEAD_TOO_LARGE: Self = Self::new(431, "Request Header Fields Too Large");
    pub(super) const UNAVAILABLE: Self = Self::new(503, "Service Unavailable");

    const fn new(code: u16, words: &'static str) -> Self {
        Self { code, words }
    }
}

impl HttpHead {
    /// Returns the value of a header. Empty if the header is missing. Names are in lowercase.
    pub(super) fn line(&self, name: &str) -> &str {
        for (known, value) in &self.lines {
            if known == name {
                return value;
            }
        }
        ""
    }

    /// Reads a head, which must arrive completely within [`PATIENCE`].
    ///
    /// # Errors
    /// Returns an error if the head is invalid, is too large, or takes too long. `None`: the client has closed the
    /// connection.
    pub(super) fn read(stream: &mut TcpStream) -> Result<Self, Option<HttpStatus>> {
        let end = Instant::now() + PATIENCE;
        let _ = stream.set_write_timeout(Some(PATIENCE));
        let mut bytes = Vec::new();
        loop {
            more(stream, &mut bytes, end)?;
            if let Some((mut head, size)) = parsed(&bytes)? {
                head.body = bytes.split_off(size);
                return Ok(head);
            }
            if bytes.len() > MOST_HEAD {
                return Err(Some(HttpStatus::HEAD_TOO_LARGE));
            }
        }
    }

    /// Reads the body, which must arrive completely within [`PATIENCE`].
    ///
    /// # Errors
    /// See [`HttpHead::read`].
    pub(super) fn read_body(
        mut self,
        stream: &mut TcpStream,
    ) -> Result<Vec<u8>, Option<HttpStatus>> {
        let end = Instant::now() + PATIENCE;
        while self.body.len() < self.length {
            more(stream, &mut self.body, end)?;
        }
        self.body.truncate(self.length);
        Ok(self.body)
    }
}

/// Rejects a request and reads the rest of it. Otherwise closing the connection would reset it, and the client might
/// not see the response.
pub(super) fn refuse(stream: &mut TcpStream, status: HttpStatus) {
    let end = Instant::now() + LAST_PATIENCE;
    let _ = write_head(stream, status, "text/plain");
    let _ = stream.write_all(status.words.as_bytes());
    let _ = stream.shutdown(Shutdown::Write);
    let mut taken = 0;
    let mut rest = Vec::new();
    while taken < MOST_IGNORED && more(stream, &mut rest, end).is_ok() {
        taken += rest.len();
        rest.clear();
    }
}

/// Reads further bytes of a request.
fn more(
    stream: &mut TcpStream,
    bytes: &mut Vec<u8>,
    end: Instant,
) -> Result<(), Option<HttpStatus>> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
        return Err(Some(HttpStatus::TIMEOUT));
    }
    let mut part = [0; 4096];
    match stream.read(&mut part) {
        Ok(0) => Err(None),
        Ok(read) => {
            bytes.extend_from_slice(&part[..read]);
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
        Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {
            Err(Some(HttpStatus::TIMEOUT))
        }
        Err(_) => Err(None),
    }
}

/// Parses a head, and returns it with its size. `None`: the head is incomplete.
fn parsed(bytes: &[u8]) -> Result<Option<(HttpHead, usize)>, HttpStatus> {
    let mut lines = [httparse::EMPTY_HEADER; MOST_LINES];
    let mut head = httparse::Request::new(&mut lines);
    let size = match head.parse(bytes) {
        Ok(httparse::Status::Complete(size)) if size <= MOST_HEAD => size,
        Ok(httparse::Status::Partial) => return Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => {
            return Err(HttpStatus::HEAD_TOO_LARGE);
        }
        Err(_) => return Err(HttpStatus::BAD_REQUEST),
    };
    let mut lines: Vec<(String, String)> = Vec::new();
    for line in head.headers.iter() {
        let value = str::from_utf8(line.value)
            .map_err(|_| HttpStatus::BAD_REQUEST)?
            .trim()
            .to_owned();
        let name = line.name.to_ascii_lowercase();
        // Headers that determine the origin or the end of the body must not be repeated.
        let is_twice = lines.iter().any(|(known, _)| *known == name);
        if is_twice && ["host", "origin", "content-length", "content-type"].contains(&name.as_str())
        {
            return Err(HttpStatus::BAD_REQUEST);
        }
        lines.push((name, value));
    }
    let mut request = HttpHead {
        method: head.method.unwrap_or_default().to_owned(),
        path: head.path.unwrap_or_default().to_owned(),
        lines,
        length: 0,
        body: Vec::new(),
    };
    if !request.line("transfer-encoding").is_empty() {
        return Err(HttpStatus::LENGTH_REQUIRED);
    }
    request.length = body_length(request.line("content-length"))?;
    Ok(Some((request, size)))
}

/// Returns the length of the body, according to the head.
fn body_length(text: &str) -> Result<usize, HttpStatus> {
    if text.is_empty() {
        return Ok(0);
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(HttpStatus::BAD_REQUEST);
    }
    match text.parse() {
        Ok(length) if text.len() < 10 && length <= MOST_BODY => Ok(length),
        _ => Err(HttpStatus::CONTENT_TOO_LARGE),
    }
}

/// Writes the head of a response with this content type. The end of the connection marks the end of the body.
pub(super) fn write_head(
    stream: &mut TcpStream,
    HttpStatus { code, words }: HttpStatus,
    kind: &str,
) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {code} {words}\r\nContent-Type: {kind}; charset=utf-8\r\nConnection: close\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: frame-ancestors 'none'\r\n\r\n"
    );
    stream.write_all(head.as_bytes())
}

/// Waits for this time for the client to close the connection, on which it sends nothing more. Returns whether the
/// client has closed it.
pub(super) fn closes_within(stream: &TcpStream, time: Duration) -> bool {
    if stream.set_read_timeout(Some(time)).is_err() {
        return true;
    }
    match stream.peek(&mut [0; 1]) {
        Ok(0) => true,
        Ok(_) => {
            // The client has sent more than it should. The additional bytes remain unread.
            std::thread::sleep(time);
            false
        }
        Err(error) => ![
            ErrorKind::WouldBlock,
            ErrorKind::TimedOut,
            ErrorKind::Interrupted,
        ]
        .contains(&error.kind()),
    }
}
