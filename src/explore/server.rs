//! The page on this machine, and the answers to its questions.
//!
//! Only this machine can connect, and only who knows the token in the address gets an answer. A web page elsewhere may
//! send requests here through the reader's browser: its `Origin` gives it away, and the name in `Host` where it had
//! its own name point here. No request names a file: there are the page, and the questions.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::http::{HttpRefusal, HttpRequest, is_closed, write_head};
use super::{Explorer, PageQuestion, refusal};
use crate::study::{StudyError, in_order};

/// Most connections at a time; a page needs two.
const MOST_CONNECTIONS: usize = 32;

/// The rest of a request that is refused is taken up to this size, so that the client reads the answer.
const MOST_IGNORED: u64 = 4 * 1024 * 1024;

const FORBIDDEN: HttpRefusal = (403, "Forbidden");

/// A page that waits for readers.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    token: String,
    page: String,
    explorer: Explorer,
    pool: rayon::ThreadPool,
    connections: AtomicUsize,
    /// Of each page, what stops its question.
    questions: Mutex<BTreeMap<String, Arc<AtomicBool>>>,
}

/// Waits for connections on a free port of this machine; `pool` simulates.
///
/// # Errors
/// When the system has no port or no random numbers, or the first run fails.
pub fn serve(explorer: Explorer, pool: rayon::ThreadPool) -> Result<Arc<Server>, String> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let page = explorer.page("")?;
    let (connections, questions) = (AtomicUsize::new(0), Mutex::default());
    Ok(Arc::new(Server {
        listener,
        token,
        page,
        explorer,
        pool,
        connections,
        questions,
    }))
}

impl Server {
    /// The address of the page.
    ///
    /// # Errors
    /// When the system does not tell the port.
    pub fn address(&self) -> io::Result<String> {
        Ok(format!(
            "http://{}/{}/",
            self.listener.local_addr()?,
            self.token
        ))
    }

    /// Answers until the program ends.
    pub fn run(self: &Arc<Self>) {
        for stream in self.listener.incoming() {
            let Ok(mut stream) = stream else {
                // Such as too many open files.
                std::thread::sleep(Duration::from_millis(50));
                continue;
            };
            let server = Arc::clone(self);
            if server.connections.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
                server.connections.fetch_sub(1, Ordering::SeqCst);
                let _ = write_head(&mut stream, (503, "Service Unavailable"), "text/plain");
                continue;
            }
            let answer = move || {
                server.answer(&mut stream);
                let _ = stream.shutdown(Shutdown::Both);
                server.connections.fetch_sub(1, Ordering::SeqCst);
            };
            if std::thread::Builder::new().spawn(answer).is_err() {
                self.connections.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    fn answer(&self, stream: &mut TcpStream) {
        let answered = match HttpRequest::read(stream) {
            Ok(request) => self.route(&request).map(|route| match route {
                Route::Page => write_head(stream, (200, "OK"), "text/html")
                    .and_then(|()| stream.write_all(self.page.as_bytes())),
                Route::Question(question) => self.stream(stream, &question),
            }),
            Err(None) => return,
            Err(Some(status)) => Err(status),
        };
        if let Err(status) = answered {
            let _ = write_head(stream, status, "text/plain");
            let _ = stream.write_all(status.1.as_bytes());
            // A connection that is closed with bytes left unread is reset, and the client may not see the answer.
            let _ = stream.shutdown(Shutdown::Write);
            let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
            let _ = io::copy(&mut io::Read::take(stream, MOST_IGNORED), &mut io::sink());
        }
    }

    fn route(&self, request: &HttpRequest) -> Result<Route, HttpRefusal> {
        let host = request.line("host");
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        if !["127.0.0.1", "localhost", "[::1]"].contains(&name) {
            return Err(FORBIDDEN);
        }
        let origin = request.line("origin");
        if !origin.is_empty() && origin != format!("http://{host}") {
            return Err(FORBIDDEN);
        }
        let below = request
            .path
            .strip_prefix('/')
            .and_then(|path| path.strip_prefix(&self.token));
        match (request.method.as_str(), below) {
            ("GET", Some("/")) => Ok(Route::Page),
            // A page elsewhere cannot send this type without asking first.
            ("POST", Some("/ask"))
                if !origin.is_empty() && request.line("content-type") == "application/json" =>
            {
                serde_json::from_slice(&request.body)
                    .map(Route::Question)
                    .map_err(|_| (400, "Bad Request"))
            }
            ("POST", Some("/ask")) => Err(FORBIDDEN),
            (_, Some("/" | "/ask")) => Err((405, "Method Not Allowed")),
            _ => Err((404, "Not Found")),
        }
    }

    /// Answers a question, a line for each answer, until the last, a newer question, or the end of the connection.
    fn stream(&self, stream: &mut TcpStream, question: &PageQuestion) -> io::Result<()> {
        let stop = Arc::new(AtomicBool::new(false));
        let is_page = (1..=64).contains(&question.page.len());
        if is_page {
            let mut questions = self
                .questions
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if let Some(older) = questions.insert(question.page.clone(), Arc::clone(&stop)) {
                older.store(true, Ordering::Relaxed);
            }
        }
        write_head(stream, (200, "OK"), "application/x-ndjson")?;
        let answered = self.explore(stream, question, &stop);
        let mut questions = self
            .questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if questions
            .get(&question.page)
            .is_some_and(|newest| Arc::ptr_eq(newest, &stop))
        {
            questions.remove(&question.page);
        }
        answered
    }

    fn explore(
        &self,
        stream: &mut TcpStream,
        question: &PageQuestion,
        stop: &AtomicBool,
    ) -> io::Result<()> {
        let mut exploration = match self.pool.install(|| self.explorer.begin(question)) {
            Ok(exploration) => exploration,
            Err(troubles) => return tell(stream, &refusal(question.id, &troubles)),
        };
        // Small parts, so that several readers take turns.
        let part = 2 * self.pool.current_num_threads();
        while !exploration.is_done() {
            for runs in exploration.missing().chunks(part) {
                let connection = &*stream;
                let simulate = |at: usize| {
                    if is_closed(connection) {
                        stop.store(true, Ordering::Relaxed);
                    }
                    Ok(exploration.simulate(runs[at])?)
                };
                let records = match self.pool.install(|| in_order(runs.len(), stop, simulate)) {
                    Ok(records) => records,
                    Err(StudyError::Runs(errors)) => {
                        return tell(stream, &exploration.failure(&errors[0]));
                    }
                    Err(_) => {
                        self.explorer.keep(exploration);
                        return Ok(());
                    }
                };
                for (run, record) in runs.iter().zip(records) {
                    exploration.add(*run, record);
                }
            }
            tell(stream, &exploration.answer())?;
        }
        self.explorer.keep(exploration);
        Ok(())
    }
}

enum Route {
    Page,
    Question(PageQuestion),
}

fn tell(stream: &mut TcpStream, line: &str) -> io::Result<()> {
    stream.write_all(line.as_bytes())?;
    stream.write_all(b"\n")
}
