//! Charts and table of synthetic results, from the plain case to degenerate ones.

use std::collections::BTreeMap;
use std::path::Path;

use super::canvas::Canvas;
use super::draw::charts_of;
use super::sheet::LEAST_PT;
use super::synthetic::{Fleet, Wave, six_settings, sweeps};
use super::*;

/// The lines of the comparison, after the answer.
fn comparison(text: &str) -> Vec<&str> {
    text.lines()
        .skip_while(|line| !line.is_empty())
        .skip(1)
        .collect()
}

fn wave(name: &str, size: u64, stalls: u32) -> Wave {
    Wave::new(name, size, stalls)
}

fn read_all(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    std::fs::read_dir(folder.join(CHARTS_FOLDER))
        .expect("charts")
        .map(|entry| entry.expect("readable"))
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                std::fs::read(entry.path()).expect("readable"),
            )
        })
        .collect()
}

/// Publishes and reads a fleet's results, and checks that every chart is readable at each width. Returns the results.
fn readable(fleet: &Fleet) -> Results {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join("results");
    fleet.publish(&folder);
    let mut results = Results::read(&folder).expect("readable");
    for width in [ChartWidth::Column, ChartWidth::Slide, ChartWidth::Page] {
        results.width = width;
        charts_of(&results)
            .iter()
            .for_each(|(_, canvas)| assert_printable(canvas, width));
    }
    results
}

/// Checks that texts neither overlap nor leave the page, and that they are large enough in print.
pub(super) fn assert_printable(canvas: &Canvas, width: ChartWidth) {
    canvas.assert_readable();
    let pt = canvas.smallest_text() / canvas.width * width.mm() / 25.4 * 72.0;
    // Details in the panels of a page may be smaller.
    let least = if width == ChartWidth::Page {
        LEAST_PT - 1.0
    } else {
        LEAST_PT
    };
    assert!(pt >= least, "{width:?}: a text of {pt:.1} pt");
}

/// The fleets that charts and table must handle.
fn fleets() -> Vec<(&'static str, Fleet)> {
    let six = six_settings();
    let with = |waves: Vec<Wave>| Fleet {
        waves,
        replicates: 6,
        ..six_settings()
    };
    let twelve = (1..=12).map(|at| {
        wave(
            &format!("strategy {at} with a rather long name, setting={at}"),
            at * 80,
            0,
        )
    });
    vec![
        ("six settings", six),
        ("one variant", with(vec![wave("all at once", 1000, 0)])),
        (
            "two alike",
            with(vec![wave("all at once", 1000, 0), wave("halves", 500, 0)]),
        ),
        (
            "three alike",
            with(vec![
                wave("quarter", 250, 0),
                wave("third", 334, 0),
                wave("half", 500, 3),
            ]),
        ),
        ("twelve", with(twelve.collect())),
        (
            "one stalls always",
            with(vec![wave("careful", 100, 1), wave("bold", 500, 0)]),
        ),
        (
            "nothing finished",
            with(vec![wave("careful", 100, 1), wave("bold", 500, 1)]),
        ),
        (
            "one run",
            Fleet {
                replicates: 1,
                ..six_settings()
            },
        ),
        (
            "one cluster",
            Fleet {
                clusters: 1,
                replicates: 2,
                ..with(vec![wave("a", 1, 0)])
            },
        ),
        (
            "no cluster",
            Fleet {
                clusters: 0,
                replicates: 2,
                ..with(vec![wave("a", 1, 0), wave("b", 1, 0)])
            },
        ),
        (
            "no run",
            Fleet {
                replicates: 0,
                ..six_settings()
            },
        ),
        ("no variant", with(Vec::new())),
        (
            "no capacity",
            Fleet {
                replicates: 2,
                egress_bytes_per_s: None,
                ..six_settings()
            },
        ),
        (
            "eight coincide",
            with(
                (1..=8)
                    .map(|at| wave(&format!("setting {at}"), 250, 0))
                    .collect(),
            ),
        ),
        (
            "a capacity far above",
            Fleet {
                replicates: 2,
                egress_bytes_per_s: Some(1e15),
                ..six_settings()
            },
        ),
    ]
}

#[test]
fn texts_neither_overlap_nor_leave_the_page_and_nothing_panics() {
    for (name, fleet) in fleets().into_iter().chain(sweeps()) {
        let results = readable(&fleet);
        for width in [40, 80, 100, 200] {
            assert!(!table(&results, width, Detail::All).is_empty(), "{name}");
        }
        assert!(
            serde_json::from_str::<serde_json::Value>(&json(&results)).is_ok(),
            "{name}"
        );
    }
}

#[test]
fn charts_drawn_from_the_recorded_files_have_the_same_bytes() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join("results");
    let fleet = Fleet {
        clusters: 200,
        replicates: 3,
        ..six_settings()
    };
    fleet.publish(&folder);
    // Charts drawn from a copy of only the recorded files are equal.
    let copy = home.path().join("copy");
    std::fs::create_dir(&copy).expect("made");
    for file in [
        "provenance.json",
        "variants.csv",
        "registries.csv",
        "runs.csv",
        "summary.csv",
        "comparison.csv",
        "timeline.csv",
        "clusters.csv",
        "passes.csv",
    ] {
        std::fs::copy(folder.join(file), copy.join(file)).expect("copied");
    }
    draw_folder(&folder, ChartWidth::Page).expect("drawn");
    draw_folder(&copy, ChartWidth::Page).expect("drawn");
    let drawn = read_all(&folder);
    assert_eq!(drawn.len(), 16, "the charts of one world");
    let page = |folder: &Path| std::fs::read(folder.join(PAGE_FILE)).expect("readable");
    assert!(page(&folder) == page(&copy), "the same page");
    assert!(drawn == read_all(&copy), "the same bytes");
    for (name, bytes) in &drawn {
        if name.ends_with(".svg") {
            let text = std::str::from_utf8(bytes).expect("SVG is text");
            assert_well_formed(text);
            for expected in [
                "max-unavailable · fleetsim",
                "seed 42",
                "navailable",
                "100%",
                "200 clusters, 3 runs",
            ] {
                assert!(text.contains(expected), "{name} says {expected}");
            }
            let size: u32 = attribute(text, "height").parse().expect("a number");
            let png = &drawn[&name.replace(".svg", ".png")];
            let field =
                |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
            assert_eq!(
                (field(16), field(20)),
                (1920, 2 * size),
                "{name}: twice the size"
            );
        }
    }
}

#[test]
fn axes_have_units() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join("results");
    let few = Fleet {
        waves: vec![wave("half", 500, 0), wave("all", 1000, 0)],
        replicates: 4,
        ..six_settings()
    };
    few.publish(&folder);
    let results = Results::read(&folder).expect("readable");
    let texts: BTreeMap<String, String> = charts_of(&results)
        .into_iter()
        .map(|(name, canvas)| (name, canvas.to_svg()))
        .collect();
    let cases = [
        ("pulls", "concurrent image pulls"),
        ("pulls", "minutes since the rollout started"),
        ("egress", "registry egress in Gbit/s"),
        ("egress", "link 10 Gbit/s"),
        ("ready", "share of all clusters"),
        ("completion", "minutes since the rollout started"),
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
    let error = draw_folder(home.path(), ChartWidth::Page)
        .expect_err("nothing there")
        .to_string();
    assert!(
        error.contains("is not a results folder: provenance.json is missing"),
        "{error}"
    );
}

#[test]
fn results_with_guests_name_no_command() {
    let mut results = readable_quietly(&six_settings());
    results.provenance.guests = vec![
        "`notebook.Regions`".to_owned(),
        "a failure model".to_owned(),
    ];
    let text = table(&results, 100, Detail::Answer);
    assert!(
        text.replace('\n', " ").ends_with(
            "Reproduce: run the program that has `notebook.Regions` and a failure model again; no command has them "
        ),
        "{text}"
    );
    let page = html::page(&results, &html::PageCharts::default());
    assert!(
        page.contains("run the program that has `notebook.Regions`")
            && !page.contains("reproduce with"),
        "{page}"
    );
}

#[test]
fn the_table_fits_its_width_and_leaves_out_the_least_important_columns() {
    for (name, fleet) in fleets() {
        let results = readable_quietly(&fleet);
        let text = table(&results, 100, Detail::All);
        for line in text.lines().filter(|line| !line.starts_with("Reproduce:")) {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
        assert!(
            text.ends_with("Reproduce: fleetsim run experiments/01-max-unavailable\n"),
            "{name}: {text}"
        );
    }
    let results = readable_quietly(&Fleet {
        clusters: 200,
        replicates: 3,
        ..six_settings()
    });
    let heading = |width| comparison(&table(&results, width, Detail::Answer))[..2].join("\n");
    assert!(heading(200).contains("429") && heading(200).contains("full"));
    assert!(!heading(60).contains("429"), "{}", heading(60));
    assert!(
        heading(10).contains("completion") && heading(10).contains("pulls"),
        "the question is always answered"
    );
}

#[test]
fn the_table_states_once_what_is_identical_in_every_variant() {
    let results = readable_quietly(&Fleet {
        clusters: 200,
        replicates: 3,
        ..six_settings()
    });
    let narrow = table(&results, 90, Detail::All);
    assert!(
        narrow.replace('\n', " ").contains("link full for 40.0 s"),
        "{narrow}"
    );
    assert!(
        comparison(&table(&results, 200, Detail::Answer))[2].contains("3/3"),
        "wide, it stands in its column"
    );
    let long = |setting| {
        wave(
            &format!("a strategy with a long name maxUnavailable={setting}"),
            setting,
            0,
        )
    };
    let results = readable_quietly(&Fleet {
        replicates: 3,
        ..with_waves(vec![long(50), long(100)])
    });
    let text = table(&results, 100, Detail::All);
    assert!(
        text.contains("\n…maxUnavailable=50 ") && text.contains("\n…maxUnavailable=100 "),
        "{text}"
    );
    let prose = text.replace('\n', " ");
    assert!(
        prose.contains("All variant names begin with `a strategy with a long name`"),
        "{text}"
    );
}

#[test]
fn the_table_aligns_numbers_units_and_intervals() {
    let results = readable_quietly(&Fleet {
        replicates: 6,
        ..six_settings()
    });
    let text = table(&results, 100, Detail::Answer);
    let rows: Vec<Vec<char>> = comparison(&text)[2..8]
        .iter()
        .map(|line| line.chars().collect())
        .collect();
    let at = |row: &[char], letter: char| row.iter().position(|other| *other == letter);
    let brackets: Vec<_> = rows.iter().map(|row| at(row, '[')).collect();
    assert!(
        brackets[0].is_some() && brackets.iter().all(|place| *place == brackets[0]),
        "{text}"
    );
    let unit = brackets[0].expect("an interval") - 4;
    for row in &rows {
        let unit: String = row[unit..unit + 3].iter().collect();
        assert!(["min", "h  "].contains(&unit.as_str()), "{text}");
    }
}

#[test]
fn panels_have_their_own_value_axes_when_peaks_differ_much() {
    let results = readable_quietly(&six_settings());
    let pulls = |results: &Results| charts::over_time::pulls(results);
    let texts = |canvas: &Canvas| {
        canvas
            .text_boxes()
            .into_iter()
            .map(|(_, text)| text)
            .collect::<Vec<_>>()
    };
    let apart = texts(&pulls(&results));
    assert!(
        apart
            .iter()
            .any(|text| text.contains("; axes differ between panels")),
        "{apart:?}"
    );
    assert!(
        apart.contains(&"6".to_owned()) && apart.contains(&"3,000".to_owned()),
        "both scales: {apart:?}"
    );
    let waves = [250, 300, 350, 400].map(|size| wave(&format!("by {size}"), size, 0));
    let near = texts(&pulls(&readable(&with_waves(waves.to_vec()))));
    assert!(
        !near
            .iter()
            .any(|text| text.contains("differ between panels")),
        "{near:?}"
    );
    let egress = texts(&charts::over_time::egress(&results));
    assert!(
        egress
            .iter()
            .any(|text| text.contains("(dashed: link 10 Gbit/s)")),
        "all see the link: {egress:?}"
    );
    assert!(
        !egress.contains(&"0.1".to_owned()),
        "and no axis makes a small load look like a full link: {egress:?}"
    );
}

#[test]
fn names_in_the_completion_chart_are_not_cut_if_they_fit() {
    let names = ["5%", "10%"]
        .map(|setting| format!("a strategy with quite a long name maxUnavailable={setting}"));
    let fleet = with_waves(names.iter().map(|name| wave(name, 100, 0)).collect());
    let shown: Vec<String> = charts::completion::draw(&readable(&fleet))
        .text_boxes()
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert!(names.iter().all(|name| shown.contains(name)), "{shown:?}");
}

#[test]
fn overlapping_variants_are_all_visible_and_named() {
    let alike = ["first", "second", "third"].map(|name| wave(name, 100, 0));
    let other = wave("other", 500, 0);
    let results = readable(&with_waves(alike.into_iter().chain([other]).collect()));
    let canvas = charts::tradeoff::draw(&results);
    let names: Vec<([f64; 4], String)> = canvas.text_boxes();
    let place = |name: &str| {
        names
            .iter()
            .find(|(_, text)| text == name)
            .map(|(place, _)| *place)
            .expect("is named")
    };
    let [first, second, third] = ["first", "second", "third"].map(place);
    assert!(
        (first[0] - second[0]).abs() < 1e-9 && (second[0] - third[0]).abs() < 1e-9,
        "in one block"
    );
    assert!(
        first[1] < second[1] && second[1] < third[1] && third[1] - first[1] < 40.0,
        "line by line"
    );
    // A dot that is drawn below another one has a wider ring, in its own colour.
    let colours: Vec<_> = results
        .variants()
        .iter()
        .map(|variant| variant.style.colour())
        .collect();
    let radii: Vec<f64> = (0..3)
        .map(|index| canvas.dots_of(colours[index])[0].1)
        .collect();
    assert!(
        radii[0] > radii[1] + 2.0 && radii[1] > radii[2] + 2.0,
        "{radii:?}"
    );
    // The block is directly next to its dots.
    let (at, reach) = canvas.dots_of(colours[0])[0];
    let gap = (first[0] - at.0).abs().min((third[2] - at.0).abs());
    assert!(
        gap < reach + 40.0 && (second[1] - at.1).abs() < reach + 60.0,
        "{first:?} is far from {at:?}"
    );
    place("other");
}

#[test]
fn every_variant_is_named_in_the_tradeoff() {
    for (name, fleet) in fleets() {
        let canvas = charts::tradeoff::draw(&readable_quietly(&fleet));
        let texts = canvas.text_boxes();
        for wave in fleet.waves.iter().filter(|_| fleet.replicates > 0) {
            let end: String = wave
                .name
                .chars()
                .skip(wave.name.chars().count().saturating_sub(6))
                .collect();
            assert!(
                texts.iter().any(|(_, text)| text.ends_with(&end)),
                "{name}: {}",
                wave.name
            );
        }
    }
}

fn with_waves(waves: Vec<Wave>) -> Fleet {
    Fleet {
        waves,
        replicates: 4,
        ..six_settings()
    }
}

#[test]
fn the_rule_that_blocks_an_unfinished_variant_is_named() {
    let fleet = Fleet {
        clusters: 100,
        replicates: 4,
        waves: vec![
            wave("careful", 10, 2),
            wave("bold", 50, 0),
            wave("stuck", 5, 1),
        ],
        ..six_settings()
    };
    let results = readable_quietly(&fleet);
    let text = table(&results, 200, Detail::All);
    let rule = "blocked by maxUnavailable: store-0007 is offline and counts as unavailable";
    assert!(
        text.contains(&format!("careful: 2 of 4 runs stalled, {rule}.")),
        "{text}"
    );
    assert!(!text.contains("bold: "), "{text}");
    assert!(
        comparison(&text)
            .iter()
            .any(|line| line.starts_with("stuck") && line.contains("unfinished")),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_str(&json(&results)).expect("JSON");
    assert_eq!(json["schema_version"], 2);
    assert_eq!(json["variants"][0]["finished"], 2);
    assert_eq!(json["variants"][1]["held_by"], serde_json::Value::Null);
    assert_eq!(
        json["variants"][2]["reachable_ready_s"],
        serde_json::Value::Null
    );
}

#[test]
fn targets_that_cannot_be_updated_do_not_hide_the_answer() {
    let unreachable = |size, unreachable| Wave {
        unreachable,
        ..wave(&format!("by {size}"), size, 0)
    };
    let fleet = |waves: Vec<Wave>| Fleet {
        clusters: 301,
        replicates: 6,
        waves,
        ..six_settings()
    };
    let results = readable(&fleet(vec![unreachable(25, 4), unreachable(100, 4)]));
    let text = table(&results, 100, Detail::All);
    let prose = text.replace('\n', " ");
    assert!(
        prose.starts_with("`by 100` is the fastest: 297 of 301 clusters are ready after "),
        "{text}"
    );
    assert!(
        prose.contains("4 of 301 clusters cannot be updated: 2 paused, 1 without agent and 1 offline (for example"),
        "{text}"
    );
    assert!(
        prose.contains("6/6") && !prose.contains("unfinished"),
        "both are done: {text}"
    );
    assert!(
        prose.contains("297 reachable clusters") || prose.contains("reachable"),
        "{text}"
    );
    let shown: Vec<String> = charts::ready::draw(&results)
        .text_boxes()
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert!(
        shown
            .iter()
            .any(|text| text.contains(": 297 of 301 clusters reachable, 6 runs")),
        "{shown:?}"
    );
    assert!(
        shown.iter().any(|text| text.contains("]; this run ")),
        "{shown:?}"
    );
    // One variant alone, and one that is also blocked by a rule.
    let alone = table(
        &readable(&fleet(vec![unreachable(100, 4)])),
        100,
        Detail::All,
    );
    assert!(
        alone.starts_with("`fleet` leaves 4 of 301 clusters on the old version.\n"),
        "{alone}"
    );
    let stuck = table(
        &readable(&fleet(vec![Wave {
            stalls: 1,
            ..unreachable(100, 4)
        }])),
        100,
        Detail::All,
    )
    .replace('\n', " ");
    let first = "✗ `fleet` never completes.   left   4 of 301 clusters cannot be updated: 2 paused, 1 without agent and 1 offline; every";
    assert!(stuck.starts_with(first), "{stuck}");
}

#[test]
fn a_limit_on_completion_leaves_out_targets_that_cannot_be_updated() {
    let waves = vec![Wave {
        unreachable: 3,
        ..wave("all", 100, 0)
    }];
    let mut results = readable_quietly(&Fleet {
        clusters: 100,
        replicates: 2,
        waves,
        ..six_settings()
    });
    let limit = |limit: &str| crate::results::LimitInfo {
        limit: limit.to_owned(),
        strategy: None,
    };
    results.provenance.limits = vec![limit("completion < 1d"), limit("reachable_ready < 1d")];
    let (all_hold, text) = verdicts(&results);
    assert!(
        all_hold && text.contains("assert completion < 1d: holds"),
        "{text}"
    );
}

pub(super) fn readable_quietly(fleet: &Fleet) -> Results {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join("results");
    fleet.publish(&folder);
    Results::read(&folder).expect("readable")
}

fn attribute<'t>(text: &'t str, name: &str) -> &'t str {
    let start = text.find(&format!(" {name}=\"")).expect("the attribute") + name.len() + 3;
    &text[start..start + text[start..].find('"').expect("a closing quote")]
}

/// Asserts that every tag is closed in order, and that no text has a bare `<` or `&`.
fn assert_well_formed(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        for entity in rest[..start].split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;", "apos;", "#"];
            assert!(
                known.iter().any(|name| entity.starts_with(name)),
                "bare & before {entity}"
            );
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
    assert!(
        open.is_empty() && rest.trim().is_empty(),
        "{open:?} stay open; after them: {rest}"
    );
}

/// Writes the charts of the fleets, so that a person can inspect them, if the environment names a folder.
#[test]
fn charts_are_written_to_the_folder_for_inspection() {
    let Some(folder) = std::env::var_os("FLEETSIM_CHARTS") else {
        return;
    };
    for (name, fleet) in fleets().into_iter().chain(sweeps()) {
        let folder = Path::new(&folder).join(name.replace([' ', ','], "-"));
        if fleet.replicates > 0 {
            fleet.publish(&folder);
            draw_folder(&folder, ChartWidth::Page).expect("drawn");
            std::fs::write(
                folder.join(CHARTS_FOLDER).join("table.txt"),
                table(&readable_quietly(&fleet), 100, Detail::All),
            )
            .expect("written");
        }
    }
}
