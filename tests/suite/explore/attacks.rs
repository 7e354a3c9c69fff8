//! Requests to the server that come from other origins, or are malformed.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use super::{EXPERIMENT, Served, question};

/// A rollout that takes a while to simulate.
const LARGE: &str = r#"
name: large
seed: 1
horizon: 24h
fleet: [{name: "site-{00001..10000}", nodes: 1, downlink: 100 Mbit/s, rtt: 30 ms}]
registry: {egress: 10 Gbit/s}
release:
  kind: update
  images: [{name: shop, manifest: {layers: [{size: 20 MB}]}}]
  workloads: [{kind: Deployment, image: shop}]
strategies: {batches: {batches: {size: 500}}}
"#;

#[test]
fn foreign_and_malformed_requests_are_rejected() {
    let served = Served::begin(EXPERIMENT);
    let (host, path) = (&served.host, &served.path);
    let body = question("a", &[]).to_string();
    let post = |path: &str, host: &str, lines: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\n{lines}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let ask = format!("{path}ask");
    let own = format!("Origin: http://{host}\r\n");
    let json = "Content-Type: application/json\r\n";
    let get = |path: &str, lines: &str| format!("GET {path} HTTP/1.1\r\n{lines}\r\n");
    let long = "x".repeat(20_000);
    let cases = [
        // These requests come from other origins.
        (
            get(path, "Host: attacker.example\r\n"),
            403,
            "a name that points here",
        ),
        (
            get(path, "Host: 127.0.0.1.attacker.example:80\r\n"),
            403,
            "a name that looks like it",
        ),
        (get(path, ""), 403, "no host"),
        (
            get(path, &format!("Host: {host}\r\nHost: attacker.example\r\n")),
            400,
            "two hosts",
        ),
        (
            get(
                path,
                &format!("Host: {host}\r\nOrigin: http://attacker.example\r\n"),
            ),
            403,
            "a page elsewhere",
        ),
        (get("/", &format!("Host: {host}\r\n")), 404, "no token"),
        (
            get(
                "/0123456789abcdef0123456789abcdef/",
                &format!("Host: {host}\r\n"),
            ),
            404,
            "another token",
        ),
        (
            get(
                &format!("{path}../../etc/passwd"),
                &format!("Host: {host}\r\n"),
            ),
            404,
            "a file",
        ),
        (post(&ask, host, json), 403, "no origin"),
        (
            post(&ask, host, &format!("Origin: null\r\n{json}")),
            403,
            "a page without an origin",
        ),
        (
            post(
                &ask,
                host,
                &format!("Origin: http://attacker.example\r\n{json}"),
            ),
            403,
            "another origin",
        ),
        (
            post(&ask, host, &format!("Origin: http://127.0.0.1:1\r\n{json}")),
            403,
            "another port",
        ),
        (
            post(
                &ask,
                "attacker.example",
                &format!("Origin: http://attacker.example\r\n{json}"),
            ),
            403,
            "rebinding",
        ),
        (
            post(&ask, host, &format!("{own}Content-Type: text/plain\r\n")),
            403,
            "a form",
        ),
        (
            post("/ask", host, &format!("{own}{json}")),
            404,
            "a question without the token",
        ),
        (
            get(&ask, &format!("Host: {host}\r\n")),
            405,
            "a question that is none",
        ),
        (
            format!("OPTIONS {ask} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
            405,
            "may I ask?",
        ),
        // These requests are malformed or huge.
        ("\0\x01\x02\r\n\r\n".to_owned(), 400, "no request"),
        ("GET\r\n\r\n".to_owned(), 400, "half a line"),
        (
            get(path, &format!("Host: {host}\r\nX: {long}\r\n")),
            431,
            "a long line",
        ),
        (
            get(path, &format!("Host: {host}\r\n{}", "A: b\r\n".repeat(100))),
            431,
            "many lines",
        ),
        (get(&format!("/{long}"), ""), 431, "a long path"),
        (
            format!("POST {ask} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 99999999999\r\n\r\n"),
            413,
            "a huge body",
        ),
        (
            format!("POST {ask} HTTP/1.1\r\nHost: {host}\r\nContent-Length: -1\r\n\r\n"),
            400,
            "a negative body",
        ),
        (
            format!(
                "POST {ask} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"
            ),
            400,
            "two lengths",
        ),
        (
            format!(
                "POST {ask} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
            411,
            "chunks",
        ),
        (
            post(&ask, host, &format!("{own}{json}")).replace('{', "["),
            400,
            "no JSON",
        ),
    ];
    for (request, status, what) in &cases {
        let answer = served.send(request.as_bytes());
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{what}: {}",
            answer.lines().next().unwrap_or("nothing")
        );
        assert!(
            !answer.contains("store-"),
            "{what}: nothing of the experiment"
        );
    }
    // One request has a body of several megabytes, the other a body that never arrives.
    let mut huge =
        format!("POST {ask} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3000000\r\n\r\n")
            .into_bytes();
    huge.resize(3_000_000, b'x');
    assert!(served.send(&huge).starts_with("HTTP/1.1 413 "));
    let start = Instant::now();
    assert!(
        served
            .send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n").as_bytes())
            .starts_with("HTTP/1.1 408 ")
    );
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
    // The server still serves its own page, with the headers that restrict what the page may do.
    let page = served.send(get(path, &format!("Host: {host}\r\n")).as_bytes());
    assert!(page.starts_with("HTTP/1.1 200 "));
    for line in [
        "frame-ancestors 'none'",
        "Referrer-Policy: no-referrer",
        "nosniff",
        "connect-src 'self'",
    ] {
        assert!(page.contains(line), "{line}");
    }
}

#[test]
fn ten_concurrent_readers_get_equal_answers() {
    let served = Served::begin(EXPERIMENT);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let reader = |at: usize| {
            let served = &served;
            scope.spawn(move || {
                served.ask(
                    &question(&format!("reader {at}"), &["registry.egress=1 Gbit/s"]),
                    3,
                )
            })
        };
        let readers: Vec<_> = (0..10).map(reader).collect();
        readers
            .into_iter()
            .map(|reader| reader.join().expect("answered"))
            .collect()
    });
    assert_eq!(answers[0].len(), 3);
    for answer in &answers {
        assert!(
            answer == &answers[0],
            "the same question has the same answers"
        );
    }
}

#[test]
fn a_newer_question_from_a_page_stops_the_older_question() {
    let served = Served::begin(LARGE);
    let question = |set: &str| serde_json::json!({"id": 1, "page": "p", "before": "batches", "after": "batches", "set": [set]});
    let mut older = served.connect();
    older
        .write_all(
            served
                .request(&question("registry.egress=1 Gbit/s"))
                .as_bytes(),
        )
        .expect("sent");
    let mut lines = BufReader::new(older)
        .lines()
        .map_while(Result::ok)
        .skip_while(|line| !line.starts_with('{'));
    assert!(lines.next().is_some(), "the first answer");
    let newer = served.ask(&question("registry.egress=2 Gbit/s"), 1);
    assert_eq!(newer[0]["runs"], 1);
    let rest: Vec<String> = lines.collect();
    assert!(
        rest.iter().all(|line| !line.contains("\"done\":true")),
        "{} answers came",
        rest.len()
    );
}

/// The server's processor time, in ticks.
#[cfg(target_os = "linux")]
fn spent(served: &Served) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", served.program.id())).expect("it runs");
    let fields = stat.rsplit(')').next().expect("fields");
    let times = fields.split_whitespace().skip(11).take(2);
    times
        .map(|field| field.parse::<u64>().expect("ticks"))
        .sum()
}

#[cfg(target_os = "linux")]
#[test]
fn closing_a_page_stops_its_simulations() {
    let served = Served::begin(LARGE);
    let question = serde_json::json!({"id": 1, "page": "p", "before": "batches", "after": "batches", "set": ["registry.egress=1 Gbit/s"]});
    assert_eq!(
        served.ask(&question, 1).len(),
        1,
        "the first answer, then the connection is closed"
    );
    let start = Instant::now();
    loop {
        let before = spent(&served);
        std::thread::sleep(Duration::from_secs(1));
        if spent(&served) == before {
            break;
        }
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "it still works for a page that is closed"
        );
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_server() {
    let mut served = Served::begin(EXPERIMENT);
    let _reader = served.connect();
    let id = rustix::process::Pid::from_child(&served.program);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it runs");
    assert_eq!(served.program.wait().expect("it ends").code(), Some(130));
}

/// In an earlier version, connections without the token occupied all slots: 32 connections that sent a byte now and
/// then blocked the owner.
#[test]
fn slow_connections_do_not_block_the_owner() {
    let served = Served::begin(EXPERIMENT);
    let get = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n",
        served.path, served.host
    );
    let mut drips: Vec<_> = (0..100).map(|_| served.connect()).collect();
    let began = Instant::now();
    let mut asked = 0;
    while began.elapsed() < Duration::from_secs(7) {
        for drip in &mut drips {
            let _ = drip.write_all(b"G");
        }
        let before = Instant::now();
        assert!(
            served.send(get.as_bytes()).starts_with("HTTP/1.1 200 "),
            "the owner's page"
        );
        assert!(
            before.elapsed() < Duration::from_secs(2),
            "{:?}",
            before.elapsed()
        );
        asked += 1;
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(asked > 5);
    for drip in &mut drips {
        drip.set_read_timeout(Some(Duration::from_secs(2)))
            .expect("a timeout");
        // The server allows five seconds in total for the head of a request.
        let end = std::io::Read::read_to_end(drip, &mut Vec::new());
        assert!(
            end.is_ok_and(|read| read < 1_000) || drip.write_all(b"G").is_err(),
            "it is closed"
        );
    }
}

/// The server reads the rest of a refused request, but not indefinitely.
#[test]
fn a_refused_request_that_continues_slowly_is_closed() {
    let served = Served::begin(EXPERIMENT);
    let mut stream = served.connect();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
    let began = Instant::now();
    while stream.write_all(b"x").is_ok() {
        assert!(began.elapsed() < Duration::from_secs(5), "it is still open");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_newer_question_or_a_closed_page_stops_a_run_midway() {
    let large = EXPERIMENT.replace(
        "fleet:\n  - {name: \"store-{01..40}\",",
        "clusters: 40\nfleet:\n  - {name: \"store-{000001..}\", clusters: 100%,",
    );
    let served = Served::begin(&large);
    // One run of 100,000 clusters takes many seconds.
    let mut page = served.connect();
    page.write_all(
        served
            .request(&question("p", &["clusters=100000"]))
            .as_bytes(),
    )
    .expect("sent");
    std::thread::sleep(Duration::from_secs(3));
    let began = Instant::now();
    assert_eq!(served.ask(&question("p", &[]), 1)[0]["runs"], 1);
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    drop(page);

    #[cfg(target_os = "linux")]
    {
        let mut page = served.connect();
        page.write_all(
            served
                .request(&question("p", &["clusters=100000"]))
                .as_bytes(),
        )
        .expect("sent");
        std::thread::sleep(Duration::from_secs(3));
        drop(page);
        std::thread::sleep(Duration::from_secs(2));
        let before = spent(&served);
        std::thread::sleep(Duration::from_secs(1));
        assert!(
            spent(&served) <= before + 5,
            "it works on for a page that is closed"
        );
    }
}
