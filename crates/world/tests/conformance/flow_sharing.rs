//! Compares completion times of downloads over shared links with those that SimGrid computed.
//!
//! Every file is a scenario: links, and pullers that download layers over a path of links, some of them concurrently.
//! A case is a layer; it agrees if both its start and its finish agree. The files do not contain the forest; the
//! parent of a link is the link before it on a path. Each scenario runs twice: on that forest, and over links without
//! parents for the general solver.

use std::collections::BTreeMap;
use std::path::Path;

use fleetsim_units::{Bytes, BytesPerSec, SimTime};
use fleetsim_world::flow::{LinkId, Network, TransferId};
use serde::Deserialize;

use super::suite::{Suite, read_files};

const FORMAT: &str = "fleetsim-flow-sharing/1";

/// Tolerance of a time: a relative 10⁻⁹ plus a nanosecond, the tick of our clock.
const RELATIVE: f64 = 1e-9;
const ABSOLUTE_SECS: f64 = 1e-9;

#[derive(Deserialize)]
struct Scenario {
    format: String,
    name: String,
    links_bytes_per_s: Vec<f64>,
    pullers: Vec<Puller>,
    results: Results,
}

#[derive(Deserialize)]
struct Puller {
    start_us: u64,
    parallel: usize,
    /// Cap of a connection. Zero: no cap.
    per_connection_cap_bytes_per_s: f64,
    /// The links from the source to the puller.
    path: Vec<usize>,
    layer_bytes: Vec<u64>,
}

#[derive(Deserialize)]
struct Results {
    columns: Vec<String>,
    per_puller_layers: Vec<Vec<[f64; 2]>>,
}

/// Returns two suites for each file in `folder`.
///
/// # Panics
/// If a file is not a scenario. The message has its name.
pub(crate) fn suites(folder: &Path) -> Vec<Suite> {
    let files = read_files(folder, "");
    let scenarios = files.into_iter().map(|(file, value)| {
        let scenario: Scenario =
            serde_json::from_value(value).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(scenario.format, FORMAT, "{file}");
        assert_eq!(scenario.results.columns, ["start_s", "finish_s"], "{file}");
        scenario
    });
    scenarios
        .flat_map(|scenario| [Links::Forest, Links::Loose].map(|links| suite(&scenario, links)))
        .collect()
}

/// How a path is passed to the network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Links {
    /// By its last link, whose ancestors are the other links.
    Forest,
    /// By all of its links, none of which has a parent.
    Loose,
}

fn suite(scenario: &Scenario, links: Links) -> Suite {
    let name = match links {
        Links::Forest => format!("flow-sharing/{}", scenario.name),
        Links::Loose => format!("flow-sharing/{} over loose links", scenario.name),
    };
    let cases = scenario
        .pullers
        .iter()
        .map(|puller| puller.layer_bytes.len())
        .sum();
    let disagreements = match parents(scenario) {
        Ok(parents) => compare(scenario, &simulate(scenario, &parents, links)),
        Err(why) => vec![why],
    };
    Suite {
        name,
        cases,
        disagreements,
    }
}

/// Returns the parent of each link that is on a path.
fn parents(scenario: &Scenario) -> Result<BTreeMap<usize, Option<usize>>, String> {
    let mut parents = BTreeMap::new();
    for (number, puller) in scenario.pullers.iter().enumerate() {
        if puller.path.is_empty() {
            return Err(format!("puller {number} has no path"));
        }
        for (at, &link) in puller.path.iter().enumerate() {
            let parent = at.checked_sub(1).map(|before| puller.path[before]);
            let known = *parents.entry(link).or_insert(parent);
            if known != parent {
                return Err(format!(
                    "not a forest: link {link} comes after {known:?} and after {parent:?}"
                ));
            }
        }
    }
    Ok(parents)
}

/// Returns start and finish of every layer in seconds, by puller; NaN if the layer did not start or finish.
fn simulate(
    scenario: &Scenario,
    parents: &BTreeMap<usize, Option<usize>>,
    kind: Links,
) -> Vec<Vec<[f64; 2]>> {
    let mut network = Network::new();
    let mut links: BTreeMap<usize, LinkId> = BTreeMap::new();
    for puller in &scenario.pullers {
        for &link in &puller.path {
            // A link's parent comes before it on every path.
            if !links.contains_key(&link) {
                let parent = parents[&link]
                    .filter(|_| kind == Links::Forest)
                    .map(|parent| links[&parent]);
                links.insert(
                    link,
                    network.add_link(parent, BytesPerSec::new(scenario.links_bytes_per_s[link])),
                );
            }
        }
    }
    let mut run = Run {
        scenario,
        kind,
        paths: scenario
            .pullers
            .iter()
            .map(|puller| puller.path.iter().map(|link| links[link]).collect())
            .collect(),
        network,
        begun: vec![0; scenario.pullers.len()],
        in_flight: BTreeMap::new(),
        times: scenario
            .pullers
            .iter()
            .map(|puller| vec![[f64::NAN; 2]; puller.layer_bytes.len()])
            .collect(),
    };
    let mut starts: Vec<(SimTime, usize)> = scenario
        .pullers
        .iter()
        .enumerate()
        .map(|(at, p)| (SimTime::from_nanos(p.start_us * 1000), at))
        .collect();
    starts.sort_unstable();
    for (start, puller) in starts {
        run.run_until(start);
        for _ in 0..scenario.pullers[puller].parallel {
            run.begin_next_layer(start, puller);
        }
    }
    run.run_until(SimTime::MAX);
    run.times
}

struct Run<'s> {
    scenario: &'s Scenario,
    kind: Links,
    paths: Vec<Vec<LinkId>>,
    network: Network,
    /// Number of layers that each puller has begun.
    begun: Vec<usize>,
    /// The puller and the layer of each transfer.
    in_flight: BTreeMap<TransferId, (usize, usize)>,
    times: Vec<Vec<[f64; 2]>>,
}

impl Run<'_> {
    fn begin_next_layer(&mut self, now: SimTime, puller: usize) {
        let Puller {
            layer_bytes,
            per_connection_cap_bytes_per_s: cap,
            ..
        } = &self.scenario.pullers[puller];
        let layer = self.begun[puller];
        if let Some(&size) = layer_bytes.get(layer) {
            let cap = Some(BytesPerSec::new(*cap)).filter(|cap| cap.get() > 0.0);
            let path = &self.paths[puller];
            let id = match self.kind {
                Links::Forest => {
                    self.network
                        .start(now, *path.last().expect("not empty"), Bytes::new(size), cap)
                }
                Links::Loose => self.network.start_over(now, path, Bytes::new(size), cap),
            };
            self.begun[puller] += 1;
            self.in_flight.insert(id, (puller, layer));
            self.times[puller][layer][0] = now.as_secs_f64();
        }
    }

    fn run_until(&mut self, until: SimTime) {
        let mut completed = Vec::new();
        while let Some(now) = self.network.next_completion().filter(|&next| next <= until) {
            self.network.advance(now, &mut completed);
            for id in completed.drain(..) {
                let (puller, layer) = self.in_flight.remove(&id).expect("it was started");
                self.times[puller][layer][1] = now.as_secs_f64();
                self.begin_next_layer(now, puller);
            }
        }
    }
}

fn compare(scenario: &Scenario, times: &[Vec<[f64; 2]>]) -> Vec<String> {
    let expected = &scenario.results.per_puller_layers;
    let mut disagreements = Vec::new();
    if expected.len() != times.len() {
        disagreements.push(format!(
            "results for {} pullers, of {}",
            expected.len(),
            times.len()
        ));
    }
    for (puller, (expected, times)) in expected.iter().zip(times).enumerate() {
        if expected.len() != times.len() {
            disagreements.push(format!(
                "puller {puller}: results for {} layers, of {}",
                expected.len(),
                times.len()
            ));
        }
        for (layer, (expected, time)) in expected.iter().zip(times).enumerate() {
            let agree = |at: usize| {
                (time[at] - expected[at]).abs() <= RELATIVE * expected[at].abs() + ABSOLUTE_SECS
            };
            if !(agree(0) && agree(1)) {
                disagreements.push(format!(
                    "puller {puller}, layer {layer}: from {} s to {} s, expected from {} s to {} s",
                    time[0], time[1], expected[0], expected[1],
                ));
            }
        }
    }
    disagreements
}

#[test]
fn a_wrong_finish_time_is_a_disagreement() {
    let scenario: Scenario = serde_json::from_value(serde_json::json!({
        "format": FORMAT, "name": "x", "links_bytes_per_s": [100, 20],
        "pullers": [{"start_us": 1_000_000, "parallel": 1, "per_connection_cap_bytes_per_s": 0,
                     "path": [0, 1], "layer_bytes": [40, 20]}],
        // 40 B at 20 B/s, started at 1 s, end at 3 s; then 20 B end at 4 s. The last time is wrong by 10 ns.
        "results": {"columns": ["start_s", "finish_s"], "per_puller_layers": [[[1.0, 3.0], [3.0, 4.000_000_01]]]},
    }))
    .expect("a scenario");
    for (links, name) in [
        (Links::Forest, "flow-sharing/x"),
        (Links::Loose, "flow-sharing/x over loose links"),
    ] {
        let suite = suite(&scenario, links);
        assert_eq!((suite.name.as_str(), suite.cases), (name, 2));
        assert_eq!(
            suite.disagreements,
            ["puller 0, layer 1: from 3 s to 4 s, expected from 3 s to 4.00000001 s"]
        );
    }
}
