//! `report.html`: one page that needs no network, with question, answer, comparison, curves, the fleet over time,
//! unfinished variants, and provenance.
//!
//! The text is HTML, so that it is readable without scripts and on paper. The scripts in `assets/page` draw the curves
//! and the fleet from compact columns of numbers, with uPlot (`assets/uplot`, MIT). The same results give the same
//! bytes.

mod about;
mod applications;
mod explored;
mod fleet;
mod markup;
mod releases;
mod series;
mod statuses;
mod table;
mod uncertainty;

use itertools::Itertools;
use serde::Serialize;

use self::fleet::FleetData;
use self::markup::{escaped, filled, marked};
use self::series::PageSeries;
use super::answer::{self, GroupDetails, PageAnswer, QuestionAnswer, groups};
use super::cautions;
use super::data::{Results, VariantResults};
use super::format::RateUnit;
use super::guesses;
use super::limits::AssertedLimit;
use super::spans::TimeSpans;
use super::style::CLUSTER_STATES;
use crate::results::{FileNotes, Setting, distinct};

pub use explored::{EXPLORED, ExploredPage, explore_page, explored};

/// The page's name in a results folder.
pub const PAGE_FILE: &str = "report.html";

/// If there are more variants than this, only the first group is shown initially.
const SHOWN_AT_ONCE: usize = 10;
/// Maximum number of squares of all fleets together: for more clusters, a square stands for several.
const SQUARES_MAX: usize = 100_000;
/// If completion times differ by more than this factor, the time axis is initially logarithmic.
const LOG_FROM: f64 = 12.0;

const TEMPLATE: &str = include_str!("../../../assets/page/page.html");
const STYLE: &str = include_str!("../../../assets/page/page.css");
/// The scripts of the page, ordered by dependency, without the one that starts them.
const SCRIPTS: [&str; 6] = [
    include_str!("../../../assets/page/state.js"),
    include_str!("../../../assets/page/format.js"),
    include_str!("../../../assets/page/table.js"),
    include_str!("../../../assets/page/variants.js"),
    include_str!("../../../assets/page/curves.js"),
    include_str!("../../../assets/page/fleet.js"),
];
/// The script for results with several applications.
const SCRIPT_OF_APPLICATIONS: &str = include_str!("../../../assets/page/applications.js");
/// The script that starts the others.
const MAIN_SCRIPT: &str = include_str!("../../../assets/page/main.js");
/// The curves and the fleet over time, shared by the results page and the page of `fleetsim explore`.
const OVER_TIME: &str = include_str!("../../../assets/page/over_time.html");
const UPLOT: &str = include_str!("../../../assets/uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../../../assets/uplot/uPlot.min.css");
const UPLOT_LICENCE: &str = include_str!("../../../assets/uplot/LICENSE");

/// The data for the scripts.
#[derive(Debug, Serialize)]
struct PageData<'r> {
    variants: Vec<VariantData<'r>>,
    /// Distinct lists of cluster names.
    names: Vec<Vec<String>>,
    /// Number of clusters per square of a fleet; the square shows one of them.
    each: usize,
    /// Names of settings (and `strategy`) with their values, for choosing variants.
    filters: Vec<(String, Vec<String>)>,
    /// Variants shown initially.
    shown: Vec<usize>,
    /// The two variants whose fleets are shown initially; both are equal if there is only one variant.
    fleets: [usize; 2],
    /// Whether the time axis is initially logarithmic.
    log: bool,
    /// The unit of egress: its size in bytes per second, and its name.
    rate: (f64, &'static str),
    /// The unit of the stored egress, in bytes per second.
    egress_unit: f64,
    /// Names of the states of a cluster with their colours on light and dark backgrounds.
    states: Vec<(&'static str, String, String)>,
}

#[derive(Debug, Serialize)]
struct VariantData<'r> {
    label: &'r str,
    name: &'r str,
    /// The colours of the variant on light and on dark backgrounds.
    colours: [String; 2],
    dash: &'static [f64],
    /// Name and value of `strategy` and of each setting.
    settings: Vec<(&'r str, &'r str)>,
    /// The registry's link in bytes per second; `null` if unlimited.
    link: Option<f64>,
    targets: u64,
    runs: usize,
    /// End of the time axis for the variant's curves, in seconds: the last change in the displayed run, or sooner for
    /// a run that does not complete.
    end: f64,
    series: PageSeries,
    fleet: FleetData,
}

/// The charts next to the page.
#[derive(Clone, Debug, Default)]
pub(super) struct PageCharts {
    /// The names of all charts.
    pub(super) names: Vec<String>,
    /// The chart of the applications as SVG, which the page shows; empty if there is none.
    pub(super) applications: String,
}

/// The HTML page with the given results.
pub(super) fn page(results: &Results, charts: &PageCharts) -> String {
    let variants = results.variants();
    let limits = AssertedLimit::all(results);
    let groups = groups::groups(&variants);
    let labels = groups::labels(&variants.iter().collect::<Vec<_>>());
    let answer = answer::answer(
        &variants,
        &groups,
        &AssertedLimit::of_answer(results),
        results.provenance.seed,
    );
    let filters = filters(&variants);
    let shown = match groups.first() {
        _ if variants.len() <= SHOWN_AT_ONCE => (0..variants.len()).collect(),
        Some(first) => first.members.clone(),
        None => Vec::new(),
    };
    let fleets = fleets(&variants, &answer);
    let all = PageData::of(results, &variants, &labels, fleets);
    let log = is_log(shown.iter().map(|&at| all.variants[at].end));
    let page = PageData {
        filters,
        log,
        shown,
        ..all
    };
    let each = page.each;
    let json = script_json(&page);
    let provenance = &results.provenance;
    let question = if provenance.question.is_empty() {
        &provenance.experiment
    } else {
        &provenance.question
    };
    let over_time = filled(
        OVER_TIME,
        &[
            ("displayed", &about::displayed(results)),
            ("released", &about::released(&variants, &labels)),
            ("square", &about::square(target_of(results), each)),
        ],
    );
    filled(
        TEMPLATE,
        &[
            ("over_time", &over_time),
            ("title", &escaped(question)),
            ("extent", &about::extent(provenance, &variants)),
            (
                "answer",
                &(answer_html(&answer) + &file_notes_html(&provenance.file_notes)),
            ),
            ("bold", bold(&answer)),
            (
                "comparison",
                &table::table(&variants, &labels, &limits, &answer.best),
            ),
            ("unfinished", &about::unfinished(&variants, &labels)),
            (
                "uncertainty",
                &uncertainty::section(results, &guesses::sentences(results, &variants, &answer)),
            ),
            (
                "applications",
                &applications::section(results, &charts.applications),
            ),
            ("applications_link", applications::link(results)),
            ("releases", &releases::section(results)),
            ("releases_link", releases::link(results)),
            ("statuses", &statuses::section(results)),
            ("statuses_link", statuses::link(results)),
            ("provenance", &about::provenance(provenance, &variants)),
            ("files", &about::files(results, &charts.names)),
            ("style", &format!("{UPLOT_STYLE}\n{STYLE}")),
            ("licence", &escaped(UPLOT_LICENCE)),
            ("data", &json),
            ("uplot", UPLOT),
            ("scripts", &scripts(results).join("\n")),
        ],
    )
}

/// The answer of the page and its comparison as a part of another page, such as a notebook: HTML without scripts.
#[must_use]
pub fn answer_fragment(results: &Results) -> String {
    let variants = results.variants();
    let groups = groups::groups(&variants);
    let limits = AssertedLimit::of_answer(results);
    let answer = answer::answer(&variants, &groups, &limits, results.provenance.seed);
    let notes = file_notes_html(&results.provenance.file_notes);
    format!(
        "<div class=\"fleetsim-answer\">\n{}{notes}</div>\n",
        answer_html(&answer)
    )
}

impl<'r> PageData<'r> {
    /// The curves and fleets of `variants`, all of which are initially visible.
    fn of(
        results: &Results,
        variants: &'r [VariantResults<'r>],
        labels: &'r [String],
        fleets: [usize; 2],
    ) -> Self {
        let mut names = Vec::new();
        let clusters: usize = variants.iter().map(|variant| variant.clusters.len()).sum();
        let each = clusters.div_ceil(SQUARES_MAX).max(1);
        let mut data = Vec::new();
        for (variant, label) in variants.iter().zip(labels) {
            let series = series::series(variant, variants.len());
            let fleet = fleet::fleet(variant, each, &mut names);
            data.push(VariantData::of(variant, label, series, fleet));
        }
        // A rollout that goes on without completing does not stretch the time axis.
        let ends = data.iter().map(|variant| variant.end).collect();
        for (variant, end) in data.iter_mut().zip(TimeSpans::of(variants, ends).ends) {
            variant.end = end;
        }
        let rates = results.tables.runs.iter();
        let greatest = rates
            .map(|run| run.egress_peak_1s_bytes_per_s)
            .fold(0.0, f64::max);
        let rate = RateUnit::for_max(greatest);
        Self {
            variants: data,
            names,
            each,
            filters: Vec::new(),
            shown: (0..variants.len()).collect(),
            fleets,
            log: false,
            rate: (rate.bytes_per_s, rate.name),
            egress_unit: series::EGRESS_UNIT,
            states: CLUSTER_STATES
                .iter()
                .map(|&(name, light, dark)| (name, light.css(), dark.css()))
                .collect(),
        }
    }
}

impl<'r> VariantData<'r> {
    /// The data of a variant with its curves and its fleet.
    fn of(
        variant: &'r VariantResults<'r>,
        label: &'r str,
        series: PageSeries,
        fleet: FleetData,
    ) -> Self {
        let mut settings = vec![("strategy", variant.info.strategy.as_str())];
        for setting in &variant.info.settings {
            settings.push((&setting.name, &setting.value));
        }
        let targets = variant.runs.iter().map(|run| run.targets);
        Self {
            label,
            name: variant.name(),
            colours: [
                variant.style.colour().css(),
                variant.style.colour_on_dark().css(),
            ],
            dash: variant.style.dash(),
            settings,
            link: variant.info.registry_egress_bytes_per_s,
            targets: targets.max().unwrap_or(0),
            runs: variant.runs.len(),
            end: series.end(),
            series,
            fleet,
        }
    }
}

/// Returns what a target of these results is: a cluster, or one of several applications on a cluster.
fn target_of(results: &Results) -> &'static str {
    if results.tables.applications.is_empty() {
        "cluster"
    } else {
        "deployment"
    }
}

/// The scripts of a page with these results, in their order.
fn scripts(results: &Results) -> Vec<&'static str> {
    let mut scripts = SCRIPTS.to_vec();
    if !results.tables.applications.is_empty() {
        scripts.push(SCRIPT_OF_APPLICATIONS);
    }
    scripts.push(MAIN_SCRIPT);
    scripts
}

/// Returns whether rollouts that end at these times are only readable on a logarithmic axis.
fn is_log(ends: impl Iterator<Item = f64>) -> bool {
    let (least, most) = ends
        .filter(|end| *end > 0.0)
        .minmax()
        .into_option()
        .unwrap_or_default();
    most > LOG_FROM * least
}

/// A value as JSON that is safe within a script.
fn script_json(value: &impl Serialize) -> String {
    serde_json::to_string(value)
        .expect("plain fields with text keys are always JSON")
        .replace('<', "\\u003c")
}

/// Filters for variants: the strategy and every setting, if they have at least two values.
fn filters(variants: &[VariantResults<'_>]) -> Vec<(String, Vec<String>)> {
    let settings: Vec<&[Setting]> = variants
        .iter()
        .map(|variant| variant.info.settings.as_slice())
        .collect();
    let strategies = variants
        .iter()
        .map(|variant| variant.info.strategy.clone())
        .unique()
        .collect();
    let mut filters = vec![("strategy".to_owned(), strategies)];
    filters.extend(distinct(&settings));
    filters.retain(|(_, values)| values.len() > 1);
    filters
}

/// The two fleets that are shown initially. For a defect: the variants that expose the fewest and the most clusters.
/// Otherwise the fastest variant and one that stalls, or the compromise, or the one with the lowest peak.
fn fleets(variants: &[VariantResults<'_>], answer: &PageAnswer) -> [usize; 2] {
    let best = answer.best.first().cloned().unwrap_or_default();
    if let Some(&least) = best.least_exposed.first()
        && let Some(most) = best.most_exposed
        && least != most
    {
        return [least, most];
    }
    let stalls = variants
        .iter()
        .position(|variant| variant.unfinished().is_some());
    let first = best.fastest.unwrap_or(0);
    let second = match stalls.or(best.compromise).or(best.lowest) {
        Some(second) if second != first => second,
        // Otherwise any other variant.
        _ if first > 0 => 0,
        _ if variants.len() > 1 => 1,
        _ => first,
    };
    [first, second]
}

/// Explains the bold cells of the table.
fn bold(answer: &PageAnswer) -> &'static str {
    let exposing = answer.best.iter().filter(|best| best.is_exposing()).count();
    match exposing {
        0 => "the fastest and the lowest peak",
        all if all == answer.best.len() => "the fewest exposed clusters",
        _ => "the fewest exposed clusters, or the fastest and the lowest peak",
    }
}

/// The answer: for each question its verdict and lines, then the sentences behind them.
fn answer_html(answer: &PageAnswer) -> String {
    if answer.questions.is_empty() {
        return "<p>No variant has any runs.</p>".to_owned();
    }
    let mut html = String::new();
    if !answer.caution.is_empty() {
        html.push_str(&format!(
            "<p><strong>{}</strong></p>\n",
            marked(&answer.caution)
        ));
    }
    if !answer.lead.is_empty() {
        html.push_str(&format!("<p>{}</p>\n", marked(&answer.lead)));
    }
    for question in &answer.questions {
        html.push_str(&question_html(question));
    }
    html + &details_html(&answer.details)
}

/// The answer to one question.
fn question_html(question: &QuestionAnswer) -> String {
    let mut html = String::from("<div class=\"asked\">");
    if !question.title.is_empty() {
        html.push_str(&format!("<h3>{}</h3>\n", escaped(&question.title)));
    }
    html.push_str(&format!(
        "<p class=\"verdict\">{}</p>\n",
        marked(&question.lines.verdict)
    ));
    let mut lines = String::new();
    for line in &question.lines.lines {
        lines.push_str(&format!(
            "<div><dt>{}</dt><dd>{}</dd></div>\n",
            line.key.word(),
            marked(&line.text)
        ));
    }
    if !lines.is_empty() {
        html.push_str(&format!("<dl class=\"parts lines\">{lines}</dl>"));
    }
    html + "</div>\n"
}

/// The sentences behind the answer, which the reader may open.
fn details_html(details: &[GroupDetails]) -> String {
    let mut parts = String::new();
    for group in details.iter().filter(|group| !group.text.is_empty()) {
        parts.push_str(&format!(
            "<div><dt>{}</dt><dd>{}</dd></div>\n",
            escaped(&group.title),
            marked(&group.text)
        ));
    }
    if parts.is_empty() {
        return parts;
    }
    format!(
        "<details class=\"behind\"><summary>Details</summary><dl class=\"parts\">{parts}</dl></details>"
    )
}

/// The block on the parts of the products' files that are not simulated or were read with a note; empty without notes.
fn file_notes_html(notes: &[FileNotes]) -> String {
    let mut items = String::new();
    for line in cautions::file_notes(notes) {
        items.push_str(&format!("<li>{}</li>", marked(&line)));
    }
    if items.is_empty() {
        return items;
    }
    format!(
        "\n<div id=\"file-notes\"><strong>Notes on the products' files</strong><ul>{items}</ul></div>"
    )
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Fleet, Wave, six_settings};
    use super::*;

    fn results(fleet: &Fleet) -> Results {
        let home = tempfile::tempdir().expect("a temporary folder");
        fleet.publish(&home.path().join("results"));
        Results::read(&home.path().join("results")).expect("readable")
    }

    #[test]
    fn text_written_by_users_is_escaped_on_the_page() {
        let mut results = results(&Fleet {
            replicates: 2,
            ..six_settings()
        });
        results.provenance.question = "</title><script>alert('{{data}}')</script>".to_owned();
        results.provenance.variants[0].settings[0].value = "</script><b>".to_owned();
        let page = page(&results, &PageCharts::default());
        assert!(page.contains(
            "<title>&lt;/title&gt;&lt;script&gt;alert(&#39;{{data}}&#39;)&lt;/script&gt;</title>"
        ));
        assert!(!page.contains("<script>alert") && !page.contains("</script><b>"));
        assert!(
            page.contains("\\u003c/script>\\u003cb>"),
            "in the data, and still JSON"
        );
    }

    #[test]
    fn the_same_results_give_the_same_page_without_network_addresses() {
        let results = results(&Fleet {
            replicates: 2,
            ..six_settings()
        });
        let page = page(&results, &PageCharts::default());
        assert_eq!(page, super::page(&results, &PageCharts::default()));
        let loads = [
            "src=\"http",
            "href=\"http",
            "url(http",
            "@import",
            "fetch(",
            "XMLHttpRequest",
            "WebSocket",
        ];
        for load in loads {
            assert!(!page.contains(load), "{load}");
        }
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn results_without_runs_or_variants_also_have_a_page() {
        for fleet in [
            Fleet {
                replicates: 0,
                ..six_settings()
            },
            Fleet {
                waves: Vec::new(),
                ..six_settings()
            },
        ] {
            assert!(
                page(&results(&fleet), &PageCharts::default()).contains("No variant has any runs.")
            );
        }
    }

    #[test]
    fn for_a_defect_exposure_comes_first_and_a_limit_follows_its_measure() {
        let wave = |name: &str, defect: u64| Wave {
            defect: Some(defect),
            ..Wave::new(name, 50, 0)
        };
        let fleet = Fleet {
            replicates: 4,
            waves: vec![wave("default", 900), wave("canary", 1)],
            ..six_settings()
        };
        let mut results = results(&fleet);
        let limit = crate::results::LimitInfo {
            limit: "bad_release_exposure <= 20%".to_owned(),
            strategy: None,
        };
        results.provenance.limits = vec![limit];
        let page = page(&results, &PageCharts::default());
        let headings: Vec<&str> = page
            .split("<span class=\"sorts\">")
            .skip(1)
            .filter_map(|rest| rest.split('<').next())
            .collect();
        assert_eq!(
            headings[..4],
            [
                "variant",
                "exposed clusters",
                "bad_release_exposure &lt;= 20%",
                "done"
            ]
        );
        assert!(page.contains("</span> 1 target</td>"), "one is singular");
        assert!(
            page.contains("data-sort=\"1\" class=\"best\">1</td>"),
            "the fewest are bold"
        );
        assert!(page.contains("Bold: the fewest exposed clusters."));
        // The page shows both fleets: first the one whose rollout stops the defect, then the one whose rollout does
        // not.
        assert!(page.contains("\"fleets\":[1,0]"));
    }

    #[test]
    fn without_a_defect_the_page_does_not_mention_exposure() {
        let page = page(
            &results(&Fleet {
                replicates: 2,
                ..six_settings()
            }),
            &PageCharts::default(),
        );
        assert!(!page.contains("exposed cluster"));
        assert!(page.contains("Bold: the fastest and the lowest peak."));
    }

    #[test]
    fn very_different_times_have_their_unit_in_the_cell_and_are_sorted_in_seconds() {
        let page = page(
            &results(&Fleet {
                replicates: 2,
                ..six_settings()
            }),
            &PageCharts::default(),
        );
        let rows: Vec<&str> = page.split("<th scope=\"row\"").skip(1).collect();
        let completion = |row: &str| row.split("<td ").nth(1).expect("a cell").to_owned();
        let (slow, fast) = (completion(rows[0]), completion(rows[5]));
        assert!(
            slow.contains(" h") && fast.contains(" min"),
            "{slow} {fast}"
        );
        let seconds = |cell: &str| {
            cell.split('"')
                .nth(1)
                .and_then(|sort| sort.parse::<f64>().ok())
                .expect("a number")
        };
        assert!(seconds(&slow) > 20.0 * seconds(&fast), "{slow} {fast}");
    }

    #[test]
    fn each_of_many_unfinished_variants_is_one_line_with_folded_texts() {
        let waves = |count: u64| {
            (0..count)
                .map(|at| Wave::new(&format!("wave {at}"), 10 + at, 1))
                .collect()
        };
        let held = |count: u64| {
            let page = page(
                &results(&Fleet {
                    replicates: 2,
                    waves: waves(count),
                    ..six_settings()
                }),
                &PageCharts::default(),
            );
            (
                page.matches("<details class=\"held\" open").count(),
                page.matches("<details class=\"held\"").count(),
            )
        };
        assert_eq!(held(3), (3, 3), "few are written out");
        assert_eq!(held(7), (0, 7));
    }

    #[test]
    fn the_fourth_blocking_reason_is_only_counted_and_names_keep_their_order() {
        let waves = vec![Wave::new("wave", 10, 1)];
        let mut results = results(&Fleet {
            replicates: 4,
            waves,
            ..six_settings()
        });
        for (at, run) in results.tables.runs.iter_mut().enumerate() {
            (run.held_by, run.held_detail) = ("batch".to_owned(), format!("1 target (مرحبا-{at})"));
        }
        let page = page(&results, &PageCharts::default());
        assert!(
            page.contains("<li>1 more reason; see") && page.contains("(<bdi>مرحبا</bdi>-0)"),
            "{page}"
        );
    }

    #[test]
    fn the_files_with_drawn_constants_are_listed_if_there_are_any() {
        let mut results = results(&Fleet {
            replicates: 2,
            ..six_settings()
        });
        let listed = |results: &Results| {
            let page = page(results, &PageCharts::default());
            [
                "uncertainty.csv",
                "draws.csv",
                "constants.csv",
                "decisions-by-draw.csv",
            ]
            .map(|file| page.contains(&format!("<li><a href=\"{file}\">")))
        };
        assert_eq!(listed(&results), [false; 4]);
        results.uncertainty = crate::report::uncertainty::tests::uncertain().uncertainty;
        assert_eq!(listed(&results), [true; 4]);
    }

    #[test]
    fn a_limit_gets_a_column_with_a_verdict_for_each_variant() {
        let mut results = results(&Fleet {
            replicates: 2,
            ..six_settings()
        });
        let limit = |limit: &str| crate::results::LimitInfo {
            limit: limit.to_owned(),
            strategy: None,
        };
        results.provenance.limits = vec![limit("peak_pulls < 1000")];
        let page = page(&results, &PageCharts::default());
        assert!(page.contains("peak_pulls &lt; 1000"));
        // Three pulls per cluster: 1, 50, 100 and 250 concurrent clusters stay below the limit, 500 and 1,000 do not.
        assert_eq!(page.matches("class=\"ok\"").count(), 4);
        assert_eq!(page.matches("class=\"bad\"").count(), 2);
    }
}
