//! Charts that only some experiments have: when they appear, and that their values are at the right positions.

use crate::report::canvas::Canvas;
use crate::report::data::{Results, VariantResults};
use crate::report::draw::charts_of;
use crate::report::style::series_colour;
use crate::report::swept::SweepAxis;
use crate::report::synthetic::{Fleet, Wave, grid, six_settings, sweeps};
use crate::report::tests::readable_quietly;
use crate::results::Measure;

const LIMIT: &str = "strategies.fleet.rancherFleet.maxUnavailable";

fn fleet(clusters: u64, waves: Vec<Wave>) -> Fleet {
    Fleet {
        clusters,
        replicates: 3,
        waves,
        egress_bytes_per_s: Some(1.25e9),
    }
}

fn of(name: &str) -> Results {
    let (_, fleet) = sweeps()
        .into_iter()
        .find(|(other, _)| *other == name)
        .expect("one of the sweeps");
    readable_quietly(&fleet)
}

fn chart(results: &Results, name: &str) -> Canvas {
    let found = charts_of(results)
        .into_iter()
        .find(|(other, _)| other == name);
    found.unwrap_or_else(|| panic!("no chart {name}")).1
}

fn texts(canvas: &Canvas) -> Vec<String> {
    canvas
        .text_boxes()
        .into_iter()
        .map(|(_, text)| text)
        .collect()
}

/// The charts that not every experiment has.
fn extra(results: &Results) -> Vec<String> {
    let always = [
        "tradeoff",
        "pulls",
        "egress",
        "ready",
        "completion",
        "states",
        "load",
    ];
    let names = charts_of(results).into_iter().map(|(name, _)| name);
    names
        .filter(|name| !always.contains(&name.as_str()))
        .collect()
}

#[test]
fn a_chart_appears_if_the_results_have_its_data() {
    let plain = fleet(50, vec![Wave::new("a", 10, 0), Wave::new("b", 20, 0)]);
    assert!(extra(&readable_quietly(&plain)).is_empty());
    let four = fleet(
        50,
        (1..=4)
            .map(|at| Wave::new(&format!("strategy {at}"), 10 * at, 0))
            .collect(),
    );
    assert_eq!(extra(&readable_quietly(&four)), ["multiples"]);
    assert_eq!(extra(&of("one value")), [""; 0], "one value is no sweep");
    assert_eq!(
        extra(&of("defects")),
        ["sweep", "exposure", "exposure-over-time", "multiples"]
    );
    assert_eq!(
        extra(&of("two settings")),
        [
            "sweep-maxUnavailable",
            "sweep-egress",
            "heat",
            "multiples",
            "front"
        ]
    );
    assert_eq!(
        extra(&of("two strategies in two worlds")),
        ["sweep", "heat", "multiples", "front"]
    );
    assert_eq!(extra(&of("two settings, no run")), [""; 0]);
}

#[test]
fn charts_that_add_nothing_to_another_chart_are_left_out() {
    let names = |results: &Results| {
        charts_of(results)
            .into_iter()
            .map(|(name, _)| name)
            .collect::<Vec<String>>()
    };
    let four = fleet(
        50,
        (1..=4)
            .map(|at| Wave::new(&format!("strategy {at}"), 10 * at, 0))
            .collect(),
    );
    let four = names(&readable_quietly(&four));
    assert!(
        !four.contains(&"pulls".to_owned()),
        "`multiples` has these curves: {four:?}"
    );
    let worlds = names(&of("two settings"));
    assert!(
        !worlds.contains(&"tradeoff".to_owned()),
        "`front` has these dots: {worlds:?}"
    );
    let many = names(&of("forty values"));
    assert!(
        !many.contains(&"states".to_owned()),
        "nobody reads forty stacks: {many:?}"
    );
}

#[test]
fn with_a_defective_revision_charts_show_the_exposure() {
    let results = of("defects");
    for name in ["sweep", "tradeoff"] {
        let shown = texts(&chart(&results, name)).join(" ");
        assert!(
            shown.contains("exposed to the defective revision"),
            "{name}: {shown}"
        );
    }
}

#[test]
fn the_same_results_give_the_same_bytes() {
    for name in ["two settings, some stall", "texts", "defects"] {
        let results = of(name);
        let drawn = || {
            charts_of(&results)
                .into_iter()
                .map(|(name, canvas)| (name, canvas.to_svg()))
                .collect::<Vec<_>>()
        };
        assert!(drawn() == drawn(), "{name}");
    }
}

#[test]
fn swept_values_are_drawn_on_a_scale_that_suits_them() {
    let cases: [(&str, &[&str], bool, &str, &str); 8] = [
        (LIMIT, &["10", "2", "5"], true, "2 5 10", "maxUnavailable"),
        (
            LIMIT,
            &["100%", "1", "5%"],
            true,
            "1 5% 100%",
            "maxUnavailable in clusters (100% of 60 = 60), logarithmic",
        ),
        (
            LIMIT,
            &["50%", "5%", "150%"],
            true,
            "5% 50% 150%",
            "maxUnavailable, logarithmic",
        ),
        (
            "registry.egress",
            &["1 Gbit/s", "800 Mbit/s"],
            true,
            "800 Mbit/s 1 Gbit/s",
            "registry.egress",
        ),
        (
            "strategies.fleet.pause",
            &["10 min", "90 s"],
            true,
            "90 s 10 min",
            "pause",
        ),
        (
            "distribution",
            &["direct", "cache", "lazy(a=1)"],
            false,
            "direct cache lazy",
            "distribution",
        ),
        (
            "distribution",
            &["cache(a=1)", "cache(a=2)"],
            false,
            "cache(a=1) cache(a=2)",
            "distribution",
        ),
        (
            LIMIT,
            &["1", "1.001", "1000"],
            false,
            "1 1.001 1000",
            "maxUnavailable",
        ),
    ];
    for (path, values, numeric, order, title) in cases {
        let results = readable_quietly(&fleet(60, grid("fleet", 5, &[(path, values)])));
        let variants = results.variants();
        let axes = SweepAxis::all(&variants);
        let labels: Vec<&str> = axes[0]
            .values
            .iter()
            .map(|value| value.label.as_str())
            .collect();
        assert_eq!(
            (labels.join(" ").as_str(), axes[0].numeric),
            (order, numeric),
            "{values:?}"
        );
        assert_eq!(axes[0].title, title, "{values:?}");
    }
}

#[test]
fn a_swept_share_is_drawn_at_its_number_of_clusters() {
    // 1, 100 and 1,000 of 1,000 clusters on a logarithmic axis: 10% is at two thirds of its length.
    let waves = grid("fleet", 50, &[(LIMIT, &["1", "10%", "100%"])]);
    let results = readable_quietly(&Fleet {
        clusters: 1000,
        replicates: 1,
        ..fleet(0, waves)
    });
    let dots = chart(&results, "sweep").dots_of(series_colour(0));
    let x: Vec<f64> = dots[..3].iter().map(|((x, _), _)| *x).collect();
    assert!(
        ((x[1] - x[0]) / (x[2] - x[0]) - 2.0 / 3.0).abs() < 1e-9,
        "{x:?}"
    );
}

#[test]
fn a_pattern_of_names_is_labelled_with_its_number_of_clusters() {
    let results = of("worlds of two sizes");
    let shown = texts(&chart(&results, "sweep-name"));
    assert!(
        [
            "Fleet size changes completion up to 5.1-fold, and the peak of pulls up to 5-fold",
            "number of clusters, logarithmic",
            "40",
            "400"
        ]
        .iter()
        .all(|text| shown.contains(&(*text).to_owned())),
        "{shown:?}"
    );
    let limits = texts(&chart(&results, "sweep-maxUnavailable"));
    assert!(
        limits.contains(&"40 clusters".to_owned()) && limits.contains(&"400 clusters".to_owned()),
        "{limits:?}"
    );
    // Worlds differ in size, so a share of the fleet does not correspond to one number of clusters. If a setting has
    // counts as well as shares, each share is a separate value.
    assert!(limits.contains(&"maxUnavailable".to_owned()), "{limits:?}");
}

#[test]
fn the_share_of_finished_runs_is_shown_before_the_other_panels() {
    let results = of("two settings, some stall");
    // Variants alternate between three cases: no run stalls, replicates 0 and 2 of three stall, and all three stall.
    let sweep = texts(&chart(&results, "sweep-maxUnavailable"));
    let place = |start: &str| sweep.iter().position(|text| text.starts_with(start));
    assert!(
        place("runs that finish")
            .is_some_and(|first| place("peak concurrent").is_some_and(|next| first < next))
    );
    let all_finish = texts(&chart(&of("two settings"), "sweep-maxUnavailable"));
    assert!(
        !all_finish
            .iter()
            .any(|text| text.starts_with("runs that finish")),
        "{all_finish:?}"
    );
    let heat = texts(&chart(&results, "heat"));
    let counted = |text: &str| heat.iter().filter(|other| *other == text).count();
    assert_eq!(
        counted("0 of 3 runs"),
        2,
        "only in the map of completion times: {heat:?}"
    );
    assert_eq!(counted("1 of 3 runs"), 9, "in each of three maps: {heat:?}");
    for name in ["two settings, nothing finished", "two settings, one run"] {
        charts_of(&of(name))
            .into_iter()
            .for_each(|(_, canvas)| canvas.assert_readable());
    }
}

#[test]
fn a_line_is_interrupted_at_values_where_no_run_finished() {
    let waves = grid("fleet", 5, &[(LIMIT, &["1", "2", "3", "4", "5"])]);
    let broken = waves
        .into_iter()
        .enumerate()
        .map(|(at, wave)| Wave {
            stalls: u32::from(at == 2),
            ..wave
        })
        .collect();
    let dots = chart(&readable_quietly(&fleet(60, broken)), "sweep").dots_of(series_colour(0));
    // Five dots and a mark in each of the first panels; four and a mark in the last.
    assert_eq!(dots.len(), 6 + 6 + 6 + 5);
}

#[test]
fn heat_map_cells_show_the_medians() {
    let results = of("two settings");
    let shown = texts(&chart(&results, "heat"));
    for variant in results.variants() {
        let completion = crate::report::format::time(variant.ready_time().expect("finished"));
        let peak =
            crate::report::format::count(variant.median(Measure::PeakPulls).expect("a peak"));
        assert!(
            shown.contains(&completion) && shown.contains(&peak),
            "{completion}, {peak}: {shown:?}"
        );
    }
}

#[test]
fn exposures_are_sorted_and_show_their_share_and_the_end_of_the_rollout() {
    let results = of("defects");
    let canvas = chart(&results, "exposure");
    let shown = texts(&canvas);
    let at = |text: &str| {
        shown
            .iter()
            .position(|other| other == text)
            .unwrap_or_else(|| panic!("{text}: {shown:?}"))
    };
    // 40, 44, 48, 52, 56 and 60 of 120 clusters; 110 and five times 120; none for the good revision. With six runs,
    // the interval of the median is from the minimum to the maximum.
    let order = [
        at("none"),
        at("3 [3–4], 2.5% of the fleet"),
        at("50 [40–60], 41.7% of the fleet"),
    ];
    assert!(
        order.is_sorted() && order[2] < at("120 [110–120], 100% of the fleet"),
        "{order:?}"
    );
    assert!(
        shown
            .iter()
            .any(|text| text.starts_with("stalled; last one after ")),
        "{shown:?}"
    );
    assert!(
        shown.iter().any(|text| text == "completed"),
        "a run that exposes none has no last one: {shown:?}"
    );
    // 50 is halfway between the ticks of 0 and 100.
    let tick = |text: &str| {
        let (place, _) = canvas
            .text_boxes()
            .into_iter()
            .find(|(_, other)| other == text)
            .expect("a tick");
        f64::midpoint(place[0], place[2])
    };
    let fifty = |variant: &&VariantResults<'_>| {
        variant
            .median(Measure::ExposedTargets)
            .is_some_and(|median| (median - 50.0).abs() < 1e-9)
    };
    let colour = results
        .variants()
        .iter()
        .find(fifty)
        .expect("it is there")
        .style
        .colour();
    let ((x, _), _) = canvas
        .dots_of(colour)
        .into_iter()
        .find(|(_, radius)| *radius > 4.0)
        .expect("a median");
    let share = (x - tick("0")) / (tick("100") - tick("0"));
    assert!((share - 0.5).abs() < 1e-3, "{share}");
}

#[test]
fn many_variants_are_numbered_by_their_completion_times_and_listed_with_short_names() {
    let results = of("forty values");
    let shown = texts(&chart(&results, "tradeoff"));
    // Larger batches are faster, so the last value is number 1.
    let at = |text: &str| {
        shown
            .iter()
            .position(|other| other == text)
            .unwrap_or_else(|| panic!("{text}: {shown:?}"))
    };
    assert!(at("a strategy with a name limit=400%") < at("a strategy with a name limit=10%"));
    let listed = shown
        .iter()
        .filter(|text| text.starts_with("a strategy with a name limit="))
        .count();
    assert_eq!(listed, 40);
    let settings = texts(&chart(&of("texts"), "egress"));
    assert!(
        settings.contains(&"cache(coalesce=wait), update".to_owned()),
        "{settings:?}"
    );
    assert!(
        settings.contains(&"a distribution, update".to_owned()),
        "{settings:?}"
    );
}

#[test]
fn small_multiples_have_the_swept_values_as_columns() {
    let canvas = chart(&of("worlds of two sizes"), "multiples");
    let places = canvas.text_boxes();
    let find = |text: &str| {
        places
            .iter()
            .find(|(_, other)| other == text)
            .map(|(place, _)| *place)
            .expect("is there")
    };
    let columns = ["1", "5%", "25%", "100%"].map(find);
    assert!(
        columns.windows(2).all(|pair| pair[0][0] < pair[1][0]),
        "from left to right: {columns:?}"
    );
    assert!(
        find("40 clusters")[1] < find("400 clusters")[1],
        "one below the other"
    );
    let listed = texts(&chart(&readable_quietly(&six_settings()), "multiples"));
    assert!(
        listed.contains(&"maxUnavailable".to_owned()) && listed.contains(&"100%".to_owned()),
        "{listed:?}"
    );
}
