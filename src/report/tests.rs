//! Charts and table over made-up results, from the plain case to the degenerate ones.

use std::collections::BTreeMap;
use std::path::Path;

use super::synthetic::{Fleet, Wave, six_settings};
use super::*;

fn wave(name: &str, size: u64, stalls: u32) -> Wave {
    Wave { name: name.to_owned(), strategy: "fleet", size, stalls }
}

fn read_all(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    std::fs::read_dir(folder.join(CHARTS_FOLDER))
        .expect("charts")
        .map(|entry| entry.expect("readable"))
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("readable")))
        .collect()
}

/// Publishes, reads, and checks that every chart is readable. Returns the results.
fn readable(fleet: &Fleet) -> Results {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join("results");
    fleet.publish(&folder);
    let results = Results::read(&folder).expect("readable");
    for (_, scene) in scenes(&results) {
        scene.assert_readable();
    }
    results
}

/// The fleets that charts and table must bear.
fn fleets() -> Vec<(&'static str, Fleet)> {
    let six = six_settings();
    let with = |waves: Vec<Wave>| Fleet { waves, replicates: 6, ..six_settings() };
    let twelve = (1..=12).map(|at| wave(&format!("strategy {at} with a rather long name, setting={at}"), at * 80, 0));
    vec![
        ("six settings", six),
        ("one variant", with(vec![wave("all at once", 1000, 0)])),
        ("two alike", with(vec![wave("all at once", 1000, 0), wave("halves", 500, 0)])),
        ("three alike", with(vec![wave("quarter", 250, 0), wave("third", 334, 0), wave("half", 500, 3)])),
        ("twelve", with(twelve.collect())),
        ("one stalls always", with(vec![wave("careful", 100, 1), wave("bold", 500, 0)])),
        ("nothing finished", with(vec![wave("careful", 100, 1), wave("bold", 500, 1)])),
        ("one run", Fleet { replicates: 1, ..six_settings() }),
        ("one cluster", Fleet { clusters: 1, replicates: 2, ..with(vec![wave("a", 1, 0)]) }),
        ("no cluster", Fleet { clusters: 0, replicates: 2, ..with(vec![wave("a", 1, 0), wave("b", 1, 0)]) }),
        ("no run", Fleet { replicates: 0, ..six_settings() }),
        ("no variant", with(Vec::new())),
        ("no capacity", Fleet { replicates: 2, egress_bytes_per_s: None, ..six_settings() }),
        ("a capacity far above", Fleet { replicates: 2, egress_bytes_per_s: Some(1e15), ..six_settings() }),
    ]
}

#[test]
fn texts_neither_overlap_nor_leave_the_page_and_nothing_panics() {
    for (name, fleet) in fleets() {
        let results = readable(&fleet);
        for width in [40, 80, 100, 200] {
            assert!(!table(&results, width).is_empty(), "{name}");
        }
        assert!(serde_json::from_str::<serde_json::Value>(&json(&results)).is_ok(), "{name}");
    }
}

#[test]
fn charts_are_drawn_from_the_recorded_files_alone_and_to_the_same_bytes() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join("results");
    let fleet = Fleet { clusters: 200, replicates: 3, ..six_settings() };
    fleet.publish(&folder);
    // A copy of nothing but the recorded files gives the same charts.
    let copy = home.path().join("copy");
    std::fs::create_dir(&copy).expect("made");
    for file in ["provenance.json", "runs.csv", "summary.csv", "timeline.csv", "clusters.csv", "passes.csv"] {
        std::fs::copy(folder.join(file), copy.join(file)).expect("copied");
    }
    let paths = draw_all(&folder).expect("drawn");
    draw_all(&copy).expect("drawn");
    let drawn = read_all(&folder);
    assert_eq!((paths.len(), drawn.len()), (12, 12));
    assert!(paths.iter().all(|path| path.is_file()));
    assert!(drawn == read_all(&copy), "the same bytes");
    for (name, bytes) in &drawn {
        if name.ends_with(".svg") {
            let text = std::str::from_utf8(bytes).expect("SVG is text");
            assert_well_formed(text);
            for expected in ["max-unavailable · fleetsim", "seed 42", "navailable=100%", "200 clusters, 3 runs"] {
                assert!(text.contains(expected), "{name} says {expected}");
            }
            let size: u32 = attribute(text, "height").parse().expect("a number");
            let png = &drawn[&name.replace(".svg", ".png")];
            let field = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
            assert_eq!((field(16), field(20)), (1920, 2 * size), "{name}: twice the size");
        }
    }
}

#[test]
fn axes_carry_their_units() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join("results");
    let few = Fleet { waves: vec![wave("half", 500, 0), wave("all", 1000, 0)], replicates: 4, ..six_settings() };
    few.publish(&folder);
    let results = Results::read(&folder).expect("readable");
    let texts: BTreeMap<&str, String> =
        scenes(&results).into_iter().map(|(name, scene)| (name, scene.to_svg())).collect();
    let cases = [
        ("pulls", "image pulls in progress"),
        ("pulls", "minutes since the rollout began"),
        ("egress", "Gbit/s out of the registry"),
        ("egress", "link 10 Gbit/s"),
        ("ready", "share of all clusters"),
        ("completion", "minutes since the rollout began"),
        ("states", "ready on the new revision"),
        ("tradeoff", "completion time in minutes"),
    ];
    for (chart, expected) in cases {
        assert!(texts[chart].contains(expected), "{chart} says `{expected}`");
    }
}

#[test]
fn a_folder_without_results_is_an_error_that_names_the_file() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let error = draw_all(home.path()).expect_err("nothing there").to_string();
    assert!(error.contains("provenance.json is missing"), "{error}");
}

#[test]
fn the_table_fits_its_width_and_leaves_out_the_least_telling_columns() {
    for (name, fleet) in fleets() {
        let results = readable_quietly(&fleet);
        let text = table(&results, 100);
        for line in text.lines().filter(|line| !line.starts_with("Reproduce:")) {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
        assert!(text.ends_with("Reproduce: fleetsim run experiments/01-max-unavailable\n"), "{name}: {text}");
    }
    let results = readable_quietly(&Fleet { clusters: 200, replicates: 3, ..six_settings() });
    let heading = |width| table(&results, width).lines().next().expect("a heading").to_owned();
    assert!(heading(200).contains("failed/429") && heading(200).contains("busy"));
    assert!(!heading(90).contains("failed/429"), "{}", heading(90));
    assert!(
        heading(10).contains("completion") && heading(10).contains("peak pulls"),
        "the question is always answered"
    );
}

#[test]
fn an_unfinished_variant_names_the_rule_that_holds_it() {
    let fleet = Fleet {
        clusters: 100,
        replicates: 4,
        waves: vec![wave("careful", 10, 2), wave("bold", 50, 0), wave("stuck", 5, 1)],
        ..six_settings()
    };
    let results = readable_quietly(&fleet);
    let text = table(&results, 200);
    let rule = "held by maxUnavailable: store-0007 is offline and counts as unavailable";
    assert!(text.contains(&format!("careful: 2 of 4 runs unfinished, stalled, {rule}.")), "{text}");
    assert!(!text.contains("bold: "), "{text}");
    assert!(text.lines().any(|line| line.starts_with("stuck") && line.contains("unfinished")), "{text}");
    let json: serde_json::Value = serde_json::from_str(&json(&results)).expect("JSON");
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["variants"][0]["finished"], 2);
    assert_eq!(json["variants"][1]["held_by"], serde_json::Value::Null);
    assert_eq!(json["variants"][2]["completion_s"], serde_json::Value::Null);
}

fn readable_quietly(fleet: &Fleet) -> Results {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join("results");
    fleet.publish(&folder);
    Results::read(&folder).expect("readable")
}

fn attribute<'t>(text: &'t str, name: &str) -> &'t str {
    let start = text.find(&format!(" {name}=\"")).expect("the attribute") + name.len() + 3;
    &text[start..start + text[start..].find('"').expect("a closing quote")]
}

/// Every tag is closed in order, and no bare `<` or `&` stands in a text.
fn assert_well_formed(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        for entity in rest[..start].split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;", "apos;", "#"];
            assert!(known.iter().any(|name| entity.starts_with(name)), "bare & before {entity}");
        }
        let end = start + rest[start..].find('>').expect("every tag ends");
        let tag = &rest[start + 1..end];
        let name = |tag: &'_ str| tag.split_whitespace().next().map_or(0, str::len);
        if let Some(closing) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closing), "tags close in order");
        } else if !tag.ends_with('/') {
            open.push(&tag[..name(tag)]);
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes pair up in <{tag}>");
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} stay open; after them: {rest}");
}

/// Draws the fleets for a person to look at, when a folder is named.
#[test]
fn charts_can_be_looked_at() {
    let Some(folder) = std::env::var_os("FLEETSIM_CHARTS") else { return };
    for (name, fleet) in fleets() {
        let folder = Path::new(&folder).join(name.replace(' ', "-"));
        if fleet.replicates > 0 {
            fleet.publish(&folder);
            draw_all(&folder).expect("drawn");
            std::fs::write(folder.join(CHARTS_FOLDER).join("table.txt"), table(&readable_quietly(&fleet), 100))
                .expect("written");
        }
    }
}
