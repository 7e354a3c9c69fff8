//! For 100 random settings, the server, the simulator in a page and `fleetsim run` have the same measures, byte for
//! byte.

use std::fs;

use fleetsim::results::{Tables, VariantRecord};
use fleetsim::scenario::{Overrides, load};
use fleetsim::sim;

use super::{EXPERIMENT, Served, engine, page_file, question};
use crate::common::{fleetsim, folder_with};
use crate::report_page::browser::{self, Page};

/// Settings and their values: those of a sweep, links, faults, the start, and constants.
const CHOICES: [(&str, &[&str]); 17] = [
    (
        "strategies.careful.rancherFleet.maxUnavailable",
        &["1", "5%", "33%", "75%", "100%"],
    ),
    (
        "registry.egress",
        &["20 Mbit/s", "200 Mbit/s", "1 Gbit/s", "unlimited"],
    ),
    (
        "registry.requests",
        &["{rate: 5/s, burst: 10}", "{rate: 100/s, burst: 200}"],
    ),
    (
        "registry.serviceTime",
        &["{median: 200 ms, sigma: 1}", "5 ms"],
    ),
    ("fleet[0].downlink", &["10 Mbit/s", "75 Mbit/s", "1 Gbit/s"]),
    ("fleet[0].rtt", &["1 ms", "180 ms"]),
    ("fleet[0].nodes", &["1", "3"]),
    ("fleet[0].loss", &["0.1%"]),
    ("faults.pullFailure", &["0%", "3%", "20%"]),
    ("faults.offline", &["{share: 5%}"]),
    ("faults.defect", &["{share: 10%}"]),
    (
        "faults.apply",
        &[
            "[{share: 20%, kind: rejected}]",
            "[{share: 100%, kind: hook, attempts: 3}]",
        ],
    ),
    ("startsAt", &["Fri 22:00"]),
    ("node.unpackRate", &["40 MB/s", "500 MB/s"]),
    ("node.startOverhead", &["{median: 3 s, sigma: 0.6}"]),
    ("agent.apply", &["{median: 9 s, sigma: 0.2}"]),
    ("seed", &["1", "18446744073709551615", "123456789"]),
];

/// Random choices, which are the same in every test: xorshift with the shifts of Marsaglia (2003).
fn settings(count: usize) -> Vec<Vec<String>> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut below = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % most as u64).expect("small")
    };
    let mut one = || {
        let mut paths: Vec<usize> = (0..=below(4)).map(|_| below(CHOICES.len())).collect();
        paths.sort_unstable();
        paths.dedup();
        let set = |path: usize| {
            format!(
                "{}={}",
                CHOICES[path].0,
                CHOICES[path].1[below(CHOICES[path].1.len())]
            )
        };
        paths.into_iter().map(set).collect()
    };
    (0..count).map(|_| one()).collect()
}

/// The rows of `runs.csv` for one variant, without the columns that name the variant: `variant`, `strategy`,
/// `setting`.
fn measures(csv: &str, variant: &str) -> Vec<String> {
    let rows = csv
        .lines()
        .filter(|line| line.starts_with(&format!("{variant},")));
    rows.map(|row| row.splitn(4, ',').nth(3).expect("measures").to_owned())
        .collect()
}

/// The measures of `fleetsim run` for the first strategy with the given settings, through the library that it calls.
fn of_run(folder: &std::path::Path, set: &[String]) -> Vec<String> {
    let overrides = Overrides {
        set: set.to_vec(),
        ..Overrides::default()
    };
    let experiment = load(folder, &overrides).unwrap_or_else(|error| panic!("{set:?}: {error}"));
    let variant = &experiment.variants[0];
    let record = sim::run(variant, experiment.seed, 0).expect("no process");
    let record = VariantRecord {
        variant: "after".to_owned(),
        strategy: String::new(),
        setting: String::new(),
        settings: Vec::new(),
        runs: vec![record],
    };
    let mut tables = Tables::of(&[record], experiment.seed);
    (
        tables.runs[0].variant,
        tables.runs[0].strategy,
        tables.runs[0].setting,
    ) = ("after".into(), String::new(), String::new());
    let (_, bytes) = tables
        .files()
        .into_iter()
        .find(|(name, _)| *name == "runs.csv")
        .expect("a table");
    measures(&String::from_utf8(bytes).expect("text"), "after")
}

#[test]
fn for_100_settings_the_server_returns_the_measures_of_the_run_command() {
    let served = Served::begin(EXPERIMENT);
    let folder = folder_with(&[("experiment.yaml", EXPERIMENT)]);
    for set in settings(100) {
        let texts: Vec<&str> = set.iter().map(String::as_str).collect();
        let answer = &served.ask(&question("a", &texts), 1)[0];
        let csv = answer["csv"]
            .as_str()
            .unwrap_or_else(|| panic!("{set:?}: {answer}"));
        assert_eq!(
            measures(csv, "after"),
            of_run(folder.path(), &set),
            "{set:?}"
        );
    }
}

#[test]
fn the_command_run_also_gives_the_measures_of_the_library() {
    for set in settings(4) {
        let folder = folder_with(&[("experiment.yaml", EXPERIMENT)]);
        let mut run = fleetsim(folder.path());
        run.args(["run", ".", "--out", "out", "--replicates", "1"]);
        set.iter().for_each(|set| _ = run.args(["--set", set]));
        run.assert().success();
        let csv = fs::read_to_string(folder.path().join("out/runs.csv")).expect("a table");
        let first = csv
            .lines()
            .nth(1)
            .and_then(|row| row.split(',').next())
            .expect("a row")
            .to_owned();
        assert_eq!(
            measures(&csv, &first),
            of_run(folder.path(), &set),
            "{set:?}"
        );
    }
}

#[test]
fn for_100_settings_the_simulator_in_a_page_returns_the_measures_of_the_run_command() {
    let (Some(engine), Some(browser)) = (engine(), browser::find()) else {
        return;
    };
    let folder = folder_with(&[("experiment.yaml", EXPERIMENT)]);
    let file = page_file(folder.path(), &engine);
    let mut page = Page::open(&browser, &file, 1280, 900);
    for set in settings(100) {
        let csv = csv_of(&mut page, &set);
        let found = &measures(&csv, "after")[..1];
        assert_eq!(found, of_run(folder.path(), &set), "{set:?}");
    }
    assert_eq!(page.complaints(), [""; 0]);
}

/// The table of runs that the page offers after an answer for the given settings.
fn csv_of(page: &mut Page, set: &[String]) -> String {
    let encoded = |text: &String| {
        text.bytes()
            .map(|byte| format!("%{byte:02x}"))
            .collect::<String>()
    };
    let hash: Vec<String> = set
        .iter()
        .map(|set| format!("set={}", encoded(set)))
        .collect();
    page.text(&format!(
        "new Promise((done) => {{
            const wait = () => {{
                const troubles = document.getElementById('troubles').textContent;
                const is_stale = document.querySelector('.answers').classList.contains('stale');
                if (troubles) done(troubles);
                else if (is_stale) setTimeout(wait, 2);
                else done(decodeURIComponent(document.getElementById('csv').href.split(',').slice(1).join(',')));
            }};
            addEventListener('hashchange', wait, {{ once: true }});
            location.hash = '{}';
        }})",
        hash.join("&")
    ))
}
