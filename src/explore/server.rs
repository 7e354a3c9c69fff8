//! Serves the page on this machine, and answers its questions.
//!
//! Only this machine can connect, and only clients that present the token in the address get a response. Another web
//! page may send requests here through the user's browser. Such requests are detected by their `Origin`, or by the
//! name in `Host` if the other page's own name resolves to this machine. Requests cannot name files: there are only
//! the page and the questions.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::entrance::{Entrance, StrangerPlace};
use super::http::{HttpHead, HttpStatus, closes_within, refuse, write_head};
use super::{Exploration, Explorer, PageQuestion, refusal};
use crate::causes::{EventBudget, causes};
use crate::engine::Stop;
use crate::report::bound_text;
use crate::results::RunRecord;
use crate::study::{StudyError, in_order};

/// Maximum number of concurrent connections with the token. A page needs two.
const MOST_READERS: usize = 32;

/// Maximum time until the server notices that a page was closed.
const GLANCE: Duration = Duration::from_millis(100);

/// A server for the page.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    token: String,
    page: String,
    explorer: Explorer,
    pool: rayon::ThreadPool,
    /// Connections without the token.
    strangers: Arc<Entrance>,
    /// Number of connections with the token.
    readers: AtomicUsize,
    /// The stop signal for each page's current question.
    questions: Mutex<BTreeMap<String, Stop>>,
}

/// The slot of a connection with the token. The slot is freed when this value is dropped.
struct ReaderPlace<'s>(&'s AtomicUsize);

impl Drop for ReaderPlace<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Opens a free port on this machine for connections. `pool` contains the threads for simulations.
///
/// # Errors
/// Returns an error if no port or no random numbers are available, or the first run fails.
pub fn serve(explorer: Explorer, pool: rayon::ThreadPool) -> Result<Arc<Server>, String> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let page = explorer.page("")?;
    Ok(Arc::new(Server {
        listener,
        token,
        page,
        explorer,
        pool,
        strangers: Arc::default(),
        readers: AtomicUsize::new(0),
        questions: Mutex::default(),
    }))
}

impl Server {
    /// Returns the address of the page.
    ///
    /// # Errors
    /// Returns an error if the system does not report the port.
    pub fn address(&self) -> io::Result<String> {
        Ok(format!(
            "http://{}/{}/",
            self.listener.local_addr()?,
            self.token
        ))
    }

    /// Serves requests until the program ends.
    pub fn run(self: &Arc<Self>) {
        for stream in self.listener.incoming() {
            let Ok(mut stream) = stream else {
                // For example, too many files are open.
                std::thread::sleep(Duration::from_millis(50));
                continue;
            };
            let Ok(stranger) = self.strangers.admit(&stream) else {
                continue;
            };
            let server = Arc::clone(self);
            // If no thread can be started, the connection is closed.
            let _ = std::thread::Builder::new().spawn(move || {
                server.answer(&mut stream, stranger);
                let _ = stream.shutdown(Shutdown::Both);
            });
        }
    }

    /// Handles one connection. Error responses use the slot of a connection without the token; all other responses use
    /// the slot of a connection with the token.
    fn answer(&self, stream: &mut TcpStream, stranger: StrangerPlace) {
        let head = match HttpHead::read(stream) {
            Ok(head) => head,
            Err(None) => return,
            Err(Some(status)) => return refuse(stream, status),
        };
        let route = match self.route(&head) {
            Ok(route) => route,
            Err(status) => return refuse(stream, status),
        };
        let reader = self.reader();
        drop(stranger);
        if reader.is_none() {
            return refuse(stream, HttpStatus::UNAVAILABLE);
        }
        // If the client has closed the connection, the response is lost.
        let _ = match route {
            Route::Page => self.write_page(stream),
            Route::Question => match question(head, stream) {
                Ok(question) => self.stream(stream, &question),
                Err(None) => return,
                Err(Some(status)) => return refuse(stream, status),
            },
        };
    }

    fn write_page(&self, stream: &mut TcpStream) -> io::Result<()> {
        write_head(stream, HttpStatus::OK, "text/html")?;
        stream.write_all(self.page.as_bytes())
    }

    /// Returns a slot for a connection with the token. `None`: all slots are in use.
    fn reader(&self) -> Option<ReaderPlace<'_>> {
        let reader = ReaderPlace(&self.readers);
        let taken = self.readers.fetch_add(1, Ordering::SeqCst);
        (taken < MOST_READERS).then_some(reader)
    }

    /// Returns the purpose of a request, if the request has the token and comes from the page.
    fn route(&self, request: &HttpHead) -> Result<Route, HttpStatus> {
        let host = request.line("host");
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        if !["127.0.0.1", "localhost", "[::1]"].contains(&name) {
            return Err(HttpStatus::FORBIDDEN);
        }
        let origin = request.line("origin");
        if !origin.is_empty() && origin != format!("http://{host}") {
            return Err(HttpStatus::FORBIDDEN);
        }
        let below = request
            .path
            .strip_prefix('/')
            .and_then(|path| path.strip_prefix(&self.token));
        match (request.method.as_str(), below) {
            ("GET", Some("/")) => Ok(Route::Page),
            // Another web page cannot send this content type without a preflight request.
            ("POST", Some("/ask"))
                if !origin.is_empty() && request.line("content-type") == "application/json" =>
            {
                Ok(Route::Question)
            }
            ("POST", Some("/ask")) => Err(HttpStatus::FORBIDDEN),
            (_, Some("/" | "/ask")) => Err(HttpStatus::METHOD_NOT_ALLOWED),
            _ => Err(HttpStatus::NOT_FOUND),
        }
    }

    /// Streams the answers to a question, one per line, until the last answer, a newer question from the page, or the
    /// end of the connection.
    fn stream(&self, stream: &mut TcpStream, question: &PageQuestion) -> io::Result<()> {
        let stop = Stop::default();
        let is_page = (1..=64).contains(&question.page.len());
        if is_page {
            let newest = self.questions().insert(question.page.clone(), stop.clone());
            if let Some(older) = newest {
                older.set();
            }
        }
        let answered = self.answer_question(stream, question, &stop);
        // This also ends the thread that watches the connection.
        stop.set();
        let mut questions = self.questions();
        if let Some(newest) = questions.get(&question.page)
            && newest.is(&stop)
        {
            questions.remove(&question.page);
        }
        answered
    }

    fn answer_question(
        &self,
        stream: &mut TcpStream,
        question: &PageQuestion,
        stop: &Stop,
    ) -> io::Result<()> {
        write_head(stream, HttpStatus::OK, "application/x-ndjson")?;
        watch(stream, stop)?;
        self.explore(stream, question, stop)
    }

    fn questions(&self) -> MutexGuard<'_, BTreeMap<String, Stop>> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn explore(
        &self,
        stream: &mut TcpStream,
        question: &PageQuestion,
        stop: &Stop,
    ) -> io::Result<()> {
        let mut exploration = match self.pool.install(|| self.explorer.begin(question)) {
            Ok(exploration) => exploration,
            Err(troubles) => return tell(stream, &refusal(question.id, &troubles)),
        };
        // Runs are simulated in small portions, so that several users take turns.
        let part = 2 * self.pool.current_num_threads();
        while !exploration.is_done() {
            for runs in exploration.missing().chunks(part) {
                let simulated = self.pool.install(|| {
                    in_order(runs.len(), |at| {
                        Ok(exploration.simulate_until(runs[at], stop)?)
                    })
                });
                let records: Option<Vec<RunRecord>> = match simulated {
                    Ok(records) => records.into_iter().collect(),
                    Err(StudyError::Runs(errors)) => {
                        return tell(stream, &exploration.failure(&errors[0]));
                    }
                    Err(_) => None,
                };
                let Some(records) = records else {
                    self.explorer.keep(exploration);
                    return Ok(());
                };
                for (run, record) in runs.iter().zip(records) {
                    exploration.add(*run, record);
                }
            }
            tell(stream, &exploration.answer())?;
        }
        self.tell_bound(stream, &exploration, stop)?;
        self.explorer.keep(exploration);
        Ok(())
    }

    /// Tells the page what holds the variant after the change back, unless the page asks something else meanwhile.
    fn tell_bound(
        &self,
        stream: &mut TcpStream,
        exploration: &Exploration,
        stop: &Stop,
    ) -> io::Result<()> {
        let tried = exploration.tried(stop);
        let mut budget = EventBudget::of_study(0);
        // A failed trial leaves the answer as it is.
        let rows = self
            .pool
            .install(|| causes(&tried, &mut budget))
            .unwrap_or_default();
        if stop.is_set() || rows.is_empty() {
            return Ok(());
        }
        let words = bound_text(&rows, &tried.variant.label);
        tell(stream, &exploration.bound(&words))
    }
}

/// Sets `stop` when the client closes the connection. Ends when `stop` is set.
fn watch(stream: &TcpStream, stop: &Stop) -> io::Result<()> {
    let connection = stream.try_clone()?;
    let stop = stop.clone();
    std::thread::Builder::new().spawn(move || {
        while !stop.is_set() {
            if closes_within(&connection, GLANCE) {
                stop.set();
            }
        }
    })?;
    Ok(())
}

/// Reads the question of a request.
fn question(head: HttpHead, stream: &mut TcpStream) -> Result<PageQuestion, Option<HttpStatus>> {
    let body = head.read_body(stream)?;
    serde_json::from_slice(&body).map_err(|_| Some(HttpStatus::BAD_REQUEST))
}

enum Route {
    Page,
    Question,
}

fn tell(stream: &mut TcpStream, line: &str) -> io::Result<()> {
    stream.write_all(line.as_bytes())?;
    stream.write_all(b"\n")
}
