//! `fleetsim explore`: its page, its server, and the simulator in the page give the same answers as `fleetsim run`.
//!
//! The page is tested in a browser, like the page of results; `FLEETSIM_WEB` names the simulator as WebAssembly, which
//! `web/build` makes. Without these, tests say so and pass; if `CI` is set, there must be a browser.

mod applications;
mod attacks;
mod page;
mod settings;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::common::folder_with;

/// A small rollout with one swept setting.
const EXPERIMENT: &str = r#"
name: small
question: How <many> clusters at once?
seed: 7
replicates: 3
horizon: 12h
fleet:
  - {name: "store-{01..40}", labels: {env: prod}, nodes: 2, downlink: 50 Mbit/s, rtt: 30 ms}
registry: {egress: 200 Mbit/s}
release:
  kind: update
  images: [{name: shop, manifest: {layers: [{size: 80 MB}]}}]
  workloads: [{kind: Deployment, image: shop, replicas: 2, readiness: {period: 10 s}}]
faults: {pullFailure: 1%}
strategies:
  careful: {rancherFleet: {maxUnavailable: 10%}}
  all-at-once: {allAtOnce: {}}
sweep: {strategies.careful.rancherFleet.maxUnavailable: [10%, 50%]}
assert: [completion_p95 < 4h]
"#;

/// The variant that is selected when a page opens.
const FIRST: &str = "careful maxUnavailable=10%";

/// A running server with the folder of its experiment.
struct Served {
    program: Child,
    /// `127.0.0.1:PORT` of the server, and the path with the token.
    host: String,
    path: String,
    _folder: tempfile::TempDir,
}

impl Served {
    fn begin(experiment: &str) -> Self {
        let folder = folder_with(&[("experiment.yaml", experiment)]);
        let mut program = Command::new(env!("CARGO_BIN_EXE_fleetsim"))
            .args(["explore", ".", "--threads", "2"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut address = String::new();
        let stdout = program.stdout.take().expect("piped");
        BufReader::new(stdout)
            .read_line(&mut address)
            .expect("an address");
        let rest = address.trim().strip_prefix("http://").expect("an address");
        let (host, path) = rest.split_once('/').expect("a path");
        Self {
            program,
            host: host.to_owned(),
            path: format!("/{path}"),
            _folder: folder,
        }
    }

    fn address(&self) -> String {
        format!("http://{}{}", self.host, self.path)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(120)))
            .expect("a timeout");
        stream
    }

    /// Sends bytes, and returns the whole response.
    fn send(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The server may respond before it has read everything.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The HTTP request that asks `question`.
    fn request(&self, question: &Value) -> String {
        let body = question.to_string();
        format!(
            "POST {}ask HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.path,
            body.len(),
            host = self.host
        )
    }

    /// Asks a question, and reads at most `count` answers.
    fn ask(&self, question: &Value, count: usize) -> Vec<Value> {
        let mut stream = self.connect();
        stream
            .write_all(self.request(question).as_bytes())
            .expect("sent");
        let lines = BufReader::new(stream)
            .lines()
            .map_while(Result::ok)
            .skip_while(|line| !line.is_empty())
            .skip(1);
        lines
            .take(count)
            .map(|line| serde_json::from_str(&line).expect("a line of JSON"))
            .collect()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// The page's request to change settings of the first variant.
fn question(page: &str, set: &[&str]) -> Value {
    json!({"id": 1, "page": page, "before": FIRST, "after": FIRST, "set": set})
}

/// The simulator as WebAssembly. `None` if it is missing; prints how to get it.
fn engine() -> Option<std::path::PathBuf> {
    let named = std::env::var_os("FLEETSIM_WEB").map(std::path::PathBuf::from);
    if named.is_none() {
        super::common::not_tested(
            "the simulator in a page; run web/build, and set FLEETSIM_WEB to the file it names",
        );
    }
    named.map(|named| std::path::absolute(named).expect("a path"))
}

/// The page of an experiment as one file.
fn page_file(folder: &Path, engine: &Path) -> std::path::PathBuf {
    let engine = engine.to_str().expect("text");
    super::common::fleetsim(folder)
        .args(["explore", ".", "--page", "page.html", "--engine", engine])
        .assert()
        .success();
    folder.join("page.html")
}

#[test]
fn an_answer_has_curves_measures_and_settings_to_paste() {
    let served = Served::begin(EXPERIMENT);
    let set = "strategies.careful.rancherFleet.maxUnavailable=25%";
    let answers = served.ask(&question("a", &[set]), 3);
    let runs: Vec<u64> = answers
        .iter()
        .map(|answer| answer["runs"].as_u64().expect("a number"))
        .collect();
    assert_eq!(runs, [1, 3, 6], "ever more runs");
    let last = &answers[2];
    assert_eq!(
        last["yaml"],
        "strategies:\n  careful:\n    rancherFleet:\n      maxUnavailable: 25%\n"
    );
    assert!(
        last["snippet"]["text"]
            .as_str()
            .expect("text")
            .contains("maxUnavailable: 25%")
    );
    let row = |heading: &str| {
        let rows = last["data"]["rows"].as_array().expect("rows");
        rows.iter()
            .find(|row| row["heading"] == heading)
            .unwrap_or_else(|| panic!("{heading}: {rows:?}"))
            .clone()
    };
    assert_eq!(row("completion_p95 < 4h")["holds"], json!([true, true]));
    let pulls = row("peak pulls");
    // 10% of 40 clusters are 4, and 25% are 10. Each cluster has one pull at a time, because a Deployment of 2
    // replicas updates one pod at a time.
    assert_eq!(pulls["values"], json!(["4 pulls", "10 pulls"]));
    assert_eq!(pulls["difference"], "+6 pulls");
    // The link is full before and after the change, except for rounding.
    assert_eq!(row("peak egress")["sign"], 0);
    assert_eq!(
        row("completion")["sign"],
        -1,
        "faster with certainty: {last}"
    );
    let page = &last["data"]["page"];
    let series = |variant: usize| {
        page["variants"][variant]["series"]["pulls95"]
            .as_array()
            .expect("a band")
            .len()
    };
    assert!(
        series(0) > series(1) && series(1) > 10,
        "{} {}",
        series(0),
        series(1)
    );
    assert_eq!(page["names"][0].as_array().expect("names").len(), 40);
}

#[test]
fn the_last_answer_says_what_holds_the_changed_variant_back() {
    let served = Served::begin(EXPERIMENT);
    let answers = served.ask(&question("a", &["registry.egress=20 Mbit/s"]), 9);
    assert_eq!(answers.len(), 9, "eight answers, and the trials after them");
    assert_eq!(answers[7]["done"], true);
    let bound = answers[8]["bound"].as_str().expect("words");
    assert!(
        bound.starts_with("the registry's link (20 Mbit/s): "),
        "{bound}"
    );
}

#[test]
fn two_rollouts_that_never_complete_have_no_difference() {
    let served = Served::begin(&EXPERIMENT.replace("horizon: 12h", "horizon: 10s"));
    let answers = served.ask(&question("a", &[]), 2);
    let rows = answers[1]["data"]["rows"].as_array().expect("rows");
    let completion = rows
        .iter()
        .find(|row| row["heading"] == "completion")
        .expect("a row");
    assert_eq!(completion["values"], json!(["never", "never"]));
    assert_eq!(
        (&completion["difference"], &completion["interval"]),
        (&json!("–"), &json!(""))
    );
}

#[test]
fn errors_equal_those_of_set_with_the_position_and_the_fix() {
    let served = Served::begin(EXPERIMENT);
    let told = |set: &[&str]| served.ask(&question("a", set), 1)[0]["errors"].clone();
    let unit = json!([{"at": "registry.egress", "message": "`0` has no unit; write e.g. `10 Gbit/s` or `unlimited`", "fix": ""}]);
    assert_eq!(told(&["registry.egress=0"]), unit);
    assert_eq!(
        told(&["registry.egres=1 Gbit/s"])[0]["fix"],
        "did you mean `egress`?"
    );
    assert_eq!(
        told(&["sweep={}"])[0]["message"],
        "`sweep` cannot be set here: write it in the file"
    );
    let many: Vec<&str> = vec!["seed=1"; 101];
    assert!(
        told(&many)[0]["message"]
            .as_str()
            .expect("text")
            .starts_with("at most 100 settings")
    );
    // These settings make the server read no other file, and start no command.
    for set in [
        "inventory=/etc/passwd",
        "release.images[0].manifest=/etc/passwd",
        "release.images[0].manifest=../x.json",
    ] {
        let error = told(&[set])[0]["message"]
            .as_str()
            .expect("text")
            .to_owned();
        assert!(
            error.contains("it did not exist when the experiment was read"),
            "{set}: {error}"
        );
    }
    let command = "strategies.all-at-once={external: {command: [touch, started]}}";
    let all = json!({"id": 1, "before": "all-at-once", "after": "all-at-once", "set": [command]});
    assert_eq!(
        served.ask(&all, 1)[0]["errors"][0]["message"],
        "explore starts no commands"
    );
}
