//! Tests of `limit.rs`.

use super::super::RunOutcome;
use super::super::testing::run_record;
use super::*;

fn runs(completions: &[Option<f64>]) -> Vec<RunRow> {
    let row = |(replicate, &completion_s): (u32, &Option<f64>)| RunRow {
        completion_s,
        reachable_ready_s: completion_s,
        outcome: if completion_s.is_some() {
            RunOutcome::Complete
        } else {
            RunOutcome::Stalled
        },
        targets: 200,
        exposed_targets: u64::from(replicate) * 4,
        ..run_record(replicate, 10).run
    };
    (0..).zip(completions).map(row).collect()
}

fn judge(limit: &str, completions: &[Option<f64>]) -> (bool, f64, usize) {
    let rows = runs(completions);
    let Verdict {
        holds,
        value,
        runs_beyond,
        ..
    } = Limit::parse(limit)
        .expect("a limit")
        .judge(&rows.iter().collect::<Vec<_>>());
    (holds, value, runs_beyond)
}

#[test]
fn a_limit_applies_to_every_run_or_to_a_statistic_over_runs() {
    let times = [Some(60.0), Some(120.0), Some(240.0)];
    let cases = [
        (
            "completion < 5min",
            (true, 240.0, 0),
            "the worst run is nearest",
        ),
        (
            "completion < 3min",
            (false, 240.0, 1),
            "one run is too long",
        ),
        (
            "completion_s<=2 min",
            (false, 240.0, 1),
            "the unit may stand with the name; spaces do not matter",
        ),
        (
            "completion_median <= 2min",
            (true, 120.0, 1),
            "the median meets it although one run does not",
        ),
        (
            "completion_mean == 140s",
            (true, 140.0, 3),
            "(60 + 120 + 240) / 3",
        ),
        ("completion_p75 < 181s", (true, 180.0, 1), "120 + 0.5 * 120"),
        ("completion_max > 4min", (false, 240.0, 3), "not above"),
        ("completion > 61s", (false, 60.0, 1), "the shortest run"),
        (
            "bad_release_exposure < 5%",
            (true, 8.0, 0),
            "5 % of 200 targets are 10; the third run has 8",
        ),
        ("exposed_targets < 4%", (false, 8.0, 1), "4 % of 200 are 8"),
        ("failed_pulls == 1", (true, 1.0, 0), "a count"),
        ("failed_pulls != 1", (false, 1.0, 3), "a count"),
        (
            "registry.egress_p99 < 10.1 Gbit/s",
            (true, 1.25e9, 0),
            "the peak over a second",
        ),
        ("egress_busy_share <= 50%", (true, 0.5, 0), "a share"),
    ];
    for (limit, expected, why) in cases {
        assert_eq!(judge(limit, &times), expected, "{limit}: {why}");
    }
}

#[test]
fn a_limit_on_a_share_of_all_runs_holds_fails_or_is_undecided() {
    let judged = |limit: &str, beyond: usize, all: usize| {
        let limit = Limit::parse(limit).expect("a limit");
        let times: Vec<Option<f64>> = (0..all)
            .map(|run| (run >= beyond).then_some(60.0))
            .collect();
        let rows = runs(&times);
        let verdict = limit.judge(&rows.iter().collect::<Vec<_>>());
        (verdict.holds, verdict.share.expect("a share"))
    };
    let limit = "P(completion <= 5min) >= 95%";
    // By hand: 0.05^(1/59) = 0.9505 and 0.05^(1/58) = 0.9497.
    let (holds, found) = judged(limit, 0, 59);
    assert!(
        holds && !found.is_undecided && (found.share.low - 0.9505).abs() < 1e-4,
        "{found:?}"
    );
    let (holds, found) = judged(limit, 0, 58);
    assert_eq!(
        (holds, found.is_undecided, found.runs_needed),
        (false, true, Some(59))
    );
    // One failure in 93 runs is allowed: P(X <= 1 | 93, 0.05) = 0.0500.
    assert_eq!(judged(limit, 1, 20).1.runs_needed, Some(93));
    let (holds, found) = judged(limit, 5, 20);
    assert!(
        !holds && !found.is_undecided && found.share.high < 0.95,
        "{found:?}: 0.05^5 is not chance"
    );
    assert!(
        judged("P(completion > 5min) <= 5%", 0, 59).0,
        "the same in other words"
    );
    assert!(!judged("P(completion <= 5min) >= 95% with 99% confidence", 0, 59).0);
    assert!(
        judged("P(completion <= 5min) >= 95% with 99% confidence", 0, 90).0,
        "0.95^90 = 0.0099"
    );
    let single = |limit: &str| Limit::parse(limit).expect("a limit").of_single_run();
    assert_eq!(single(limit).as_deref(), Some("completion <= 5min"));
    assert_eq!(
        single("P(completion > 8h (06:00)) <= 5%").as_deref(),
        Some("completion <= 8h (06:00)")
    );
    assert_eq!(single("completion <= 5min"), None);
    let again = Limit::parse("P(completion<=5min)>=95% with 99 % confidence")
        .expect("a limit")
        .to_string();
    assert_eq!(again, "P(completion <= 5min) >= 95% with 99% confidence");
    assert_eq!(Limit::parse(&again).expect("reads back").to_string(), again);
    let demand = Limit::parse(limit).expect("a limit").demand();
    assert!(
        matches!(demand, Some(Statistic::Quantile(p)) if (p - 0.95).abs() < 1e-9),
        "{demand:?}"
    );
    for (wrong, message) in [
        ("P(completion <= 5min >= 95%", "`P(` has no `)`"),
        (
            "P(completion_p95 <= 5min) >= 95%",
            "is not a limit on single runs",
        ),
        (
            "P(completion <= 5min) > 95%",
            "must be compared with >= or <=, not `>`",
        ),
        (
            "P(completion <= 5min) >= 100%",
            "must be between 0% and 100%",
        ),
        (
            "P(completion <= 5min) >= 95% with 10% confidence",
            "invalid confidence",
        ),
        ("P(completion <= 5min) >= often", "often"),
    ] {
        let error = Limit::parse(wrong).expect_err(wrong);
        assert!(error.message.contains(message), "{wrong}: {error}");
    }
}

#[test]
fn verdicts_on_a_share_are_wrong_at_most_as_often_as_their_confidence() {
    let limit = Limit::parse("P(completion <= 5min) >= 90%").expect("a limit");
    let mut draws = fleetsim_units::stats::draws::Draws::new(21);
    let mut judged = |share: f64, wrong: fn(&Verdict) -> bool| {
        let of_study = |_| {
            let times: Vec<Option<f64>> = (0..60)
                .map(|_| (draws.unit() < share).then_some(60.0))
                .collect();
            let rows = runs(&times);
            wrong(&limit.judge(&rows.iter().collect::<Vec<_>>()))
        };
        (0..1_000).map(of_study).filter(|wrong| *wrong).count()
    };
    // At the limit itself and just below it, at most 5% plus four standard deviations of 0.7%.
    let holds = judged(0.8999, |verdict| verdict.holds);
    assert!(holds < 78, "it holds in {holds} of 1,000");
    let fails = judged(0.9, |verdict| {
        !verdict.holds && !verdict.share.is_some_and(|share| share.is_undecided)
    });
    assert!(fails < 78, "it fails in {fails} of 1,000");
}

#[test]
fn limits_on_times_do_not_oppose_speed() {
    let opposes = |limit: &str| Limit::parse(limit).expect("a limit").opposes_speed();
    assert!(
        opposes("peak_pulls < 200")
            && opposes("bad_release_exposure < 5%")
            && opposes("failed_pulls == 0")
    );
    assert!(!opposes("completion_p95 < 4h") && !opposes("targets_done > 10"));
}

#[test]
fn an_unfinished_run_is_later_than_any_time() {
    let times = [Some(60.0), None, Some(240.0)];
    assert_eq!(judge("completion < 1d", &times), (false, f64::INFINITY, 1));
    assert_eq!(
        judge("completion_mean < 1d", &times),
        (false, f64::INFINITY, 1)
    );
    assert_eq!(judge("completion_median < 1d", &times), (true, 240.0, 1));
    assert_eq!(
        judge("completion_p90 < 1d", &times),
        (false, f64::INFINITY, 1)
    );
}

#[test]
fn an_invalid_limit_is_reported_with_a_fix() {
    let cases = [
        (
            "completion",
            "`completion` has no comparison",
            "completion_p95 < 4h",
        ),
        (
            "completion =< 4h",
            "invalid comparison `=<`",
            "use <, <=, >, >=, == or !=",
        ),
        (
            "complexion < 4h",
            "unknown measure `complexion`",
            "bad_release_exposure",
        ),
        (
            "own.egress < 1 Gbit/s",
            "unknown measure `own.egress`",
            "all registries together",
        ),
        ("completion_p101 < 4h", "unknown statistic `_p101`", "_p95"),
        (
            "completion < 4",
            "`4` has no unit",
            "write e.g. `90s` or `4h`",
        ),
        (
            "failed_pulls == few",
            "`few` is not a number",
            "pulls: write a number",
        ),
        ("egress_peak_60s < 8 GB", "`GB`", "write e.g. `8 Gbit/s`"),
    ];
    for (limit, message, help) in cases {
        let error = Limit::parse(limit).expect_err(limit);
        assert!(
            error.message.contains(message),
            "{limit}: {}",
            error.message
        );
        assert!(error.help.contains(help), "{limit}: {}", error.help);
    }
}
