//! The lines of answers to synthetic results.

use super::groups::groups;
use super::*;
use crate::report::Results;
use crate::report::synthetic::{Fleet, Wave, grid, six_settings};
use crate::results::{
    AllowedLeft, Limit, LinkKind, READY_TIME, RegistryRow, RunKey, RunOutcome, RunRow, WorkloadRow,
};

/// The results of a fleet.
fn results_of(fleet: &Fleet) -> Results {
    let home = tempfile::tempdir().expect("a temporary folder");
    fleet.publish(&home.path().join("results"));
    Results::read(&home.path().join("results")).expect("readable")
}

/// The answers to the questions of these results, as texts.
fn texts(results: &Results, limits: &[&str]) -> Vec<String> {
    let variants = results.variants();
    let mut asserted: Vec<AssertedLimit> = Vec::new();
    for limit in limits {
        asserted.push(AssertedLimit {
            limit: Limit::parse(limit).expect("a limit"),
            strategy: None,
        });
    }
    let found = answer(&variants, &groups(&variants), &asserted, 42);
    let mut texts = Vec::new();
    for question in &found.questions {
        let title = &question.title;
        let lines = question.lines.text();
        texts.push(if title.is_empty() {
            lines
        } else {
            format!("{title}: {lines}")
        });
    }
    texts
}

/// The answer to the only question.
fn text(results: &Results, limits: &[&str]) -> String {
    let mut texts = texts(results, limits);
    assert_eq!(texts.len(), 1, "{texts:?}");
    texts.remove(0)
}

fn of_waves(waves: Vec<Wave>) -> Fleet {
    Fleet {
        waves,
        replicates: 6,
        ..six_settings()
    }
}

#[test]
fn a_sweep_leads_with_the_fastest_setting_that_leaves_room_on_the_link() {
    let results = results_of(&six_settings());
    let said = text(&results, &[]);
    assert!(
        said.starts_with(
            "Use `maxUnavailable=5%`: the fastest setting that leaves room on the registry's link."
        ),
        "{said}"
    );
    assert!(said.contains("busiest minute 4.71 of 10 Gbit/s"), "{said}");
    assert!(said.contains("`maxUnavailable=10%`: "), "{said}");
    assert!(said.contains("`maxUnavailable=1`: "), "{said}");
    assert!(said.lines().count() <= 6, "{said}");
}

#[test]
fn a_link_that_other_load_fills_has_no_room() {
    let mut results = results_of(&six_settings());
    for run in &mut results.tables.runs {
        run.other_egress_bytes = 1e12;
        run.total_egress_peak_60s_bytes_per_s = 1.2e9;
    }
    let said = text(&results, &[]);
    assert!(
        said.starts_with(
            "No setting leaves room on the registry's link; `maxUnavailable=100%` is the fastest."
        ),
        "{said}"
    );
}

#[test]
fn each_limit_has_its_mark_and_a_limit_that_is_met_is_never_marked_as_missed() {
    let one = Fleet {
        waves: vec![Wave::new("git", 50, 0)],
        ..of_waves(Vec::new())
    };
    let said = text(&results_of(&one), &["peak_pulls < 5", "completion < 20h"]);
    assert!(
        said.starts_with("✗ `fleet` misses 1 of 2 limits."),
        "{said}"
    );
    assert!(
        said.contains("\n  ✗       peak_pulls < 5: 150 pulls, 6 of 6 runs outside"),
        "{said}"
    );
    assert!(said.contains("\n  ✓       completion < 20h: "), "{said}");
    let none = text(
        &results_of(&six_settings()),
        &["peak_pulls < 2", "completion < 20d"],
    );
    assert!(
        none.starts_with(
            "✗ No variant meets all limits; without limits, `maxUnavailable=100%` ranks first."
        ),
        "{none}"
    );
    assert!(
        none.contains("✗       peak_pulls < 2: closest `maxUnavailable=1`, 6 pulls"),
        "{none}"
    );
    let met = text(&results_of(&six_settings()), &["peak_pulls < 1000"]);
    assert!(
        met.starts_with(
            "Use `maxUnavailable=25%`: the fastest of the 4 of 6 variants that meet the limit."
        ),
        "{met}"
    );
    assert!(
        met.contains("✓       peak_pulls < 1000: 750 pulls, met by 4 of 6"),
        "{met}"
    );
}

#[test]
fn a_variant_that_leaves_more_targets_behind_is_never_first() {
    let quick = Wave {
        unreachable: 3,
        ..Wave::new("quick", 500, 0)
    };
    let said = text(
        &results_of(&of_waves(vec![quick, Wave::new("whole", 50, 0)])),
        &[],
    );
    assert!(said.starts_with("`whole` is the fastest: all "), "{said}");
    assert!(said.contains("but up to 3 stay behind"), "{said}");
}

#[test]
fn targets_that_the_experiment_allows_to_stay_behind_do_not_decide() {
    let quick = Wave {
        unreachable: 3,
        ..Wave::new("quick", 500, 0)
    };
    let mut results = results_of(&of_waves(vec![quick, Wave::new("whole", 50, 0)]));
    let allowed = [
        (AllowedLeft::Count(2), "`whole` is the fastest: "),
        (AllowedLeft::Count(3), "`quick` is the fastest: "),
        (AllowedLeft::Percent(1), "`quick` is the fastest: "),
    ];
    for (allowed, start) in allowed {
        results.provenance.allowed_left = allowed;
        let said = text(&results, &[]);
        assert!(said.starts_with(start), "{allowed:?}: {said}");
    }
    let said = text(&results, &[]);
    assert!(said.contains("; 1% allowed"), "{said}");
}

#[test]
fn a_few_late_targets_do_not_hide_the_others() {
    let mut results = results_of(&of_waves(vec![
        Wave::new("one", 100, 0),
        Wave::new("two", 110, 0),
    ]));
    let late = |run: &mut RunRow| {
        let is_one = run.variant == "one";
        run.t99_s = Some(if is_one { 300.0 } else { 600.0 });
        run.reachable_ready_s = Some(10_800.0);
        run.completion_s = Some(10_800.0);
    };
    results.tables.runs.iter_mut().for_each(late);
    for row in &mut results.tables.summary {
        let is_one = row.variant == "one";
        match row.measure {
            crate::results::Measure::T99 => row.median = Some(if is_one { 300.0 } else { 600.0 }),
            crate::results::READY_TIME => row.median = Some(10_800.0),
            _ => {}
        }
    }
    let said = text(&results, &[]);
    assert!(
        said.starts_with("`one` is the fastest for 99% of the clusters: 5.00 min."),
        "{said}"
    );
    assert!(
        said.contains("; 99% in 5.00 min, the last is for example "),
        "{said}"
    );
}

#[test]
fn a_run_that_ends_at_the_horizon_is_not_called_never() {
    let mut results = results_of(&of_waves(vec![Wave::new("slow", 50, 1)]));
    for run in &mut results.tables.runs {
        run.outcome = RunOutcome::Horizon;
        run.end_s = 172_000.0;
    }
    let said = text(&results, &[]);
    assert!(
        said.starts_with("✗ `fleet` needs more than 47.8 h."),
        "{said}"
    );
    let stalled = text(&results_of(&of_waves(vec![Wave::new("stuck", 50, 1)])), &[]);
    assert!(
        stalled.starts_with("✗ `fleet` never completes."),
        "{stalled}"
    );
    assert!(stalled.contains("held by maxUnavailable"), "{stalled}");
}

#[test]
fn choices_of_the_world_are_compared_at_the_best_setting_of_the_strategy() {
    let path = "distribution";
    let waves = grid("git", 10, &[(path, &["{direct: {}}", "{cache: {}}"])]);
    let mut results = results_of(&of_waves(waves));
    for row in &mut results.tables.summary {
        if row.measure == crate::results::READY_TIME {
            let is_direct = row.setting.contains("direct");
            row.median = Some(if is_direct { 1500.0 } else { 300.0 });
        }
    }
    let said = text(&results, &[]);
    assert!(
        said.starts_with(
            "Use `{cache: {}}`: all 1,000 clusters are ready after 5 instead of 25.0 min"
        ),
        "{said}"
    );
}

#[test]
fn fleets_of_other_sizes_are_other_questions() {
    let waves = grid("git", 10, &[("clusters", &["200", "1000"])]);
    let said = texts(&results_of(&of_waves(waves)), &[]);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("clusters=200: `git`"), "{said:?}");
}

#[test]
fn drawn_constants_give_the_total_interval_and_the_number_of_draws() {
    let mut results = results_of(&of_waves(vec![
        Wave::new("one", 100, 0),
        Wave::new("two", 50, 0),
    ]));
    results.draws = results.tables.runs.clone();
    // `two` is faster in four of six draws.
    for run in &mut results.draws {
        if run.variant == "one" && run.replicate < 4 {
            run.reachable_ready_s = Some(1e6);
        }
    }
    let said = text(&results, &[]);
    assert!(
        said.starts_with(
            "No variant is the fastest in most draws of the constants: `one`, the fastest at the defaults, is in 2 of 6."
        ),
        "{said}"
    );
}

/// A row of `registries.csv` in the first run of a variant.
fn link(
    results: &Results,
    kind: LinkKind,
    name: &str,
    sent: u64,
    busy: f64,
) -> (RunKey, RegistryRow) {
    let run = &results.tables.runs[0];
    let key = RunKey {
        variant: run.variant.clone(),
        replicate: run.replicate,
        ..RunKey::default()
    };
    let row = RegistryRow {
        registry: name.to_owned(),
        kind,
        egress_bytes: sent,
        capacity_bytes_per_s: Some(2e6),
        egress_busy_share: Some(busy),
        ..RegistryRow::default()
    };
    (key, row)
}

#[test]
fn mirrors_and_links_of_regions_that_are_full_are_named() {
    let mut results = results_of(&of_waves(vec![Wave::new("git", 50, 0)]));
    let gigabytes = 1_000_000_000;
    let rows = [
        link(
            &results,
            LinkKind::Registry,
            "registry",
            60 * gigabytes,
            0.1,
        ),
        link(&results, LinkKind::Mirror, "ma", 40 * gigabytes, 0.5),
        link(&results, LinkKind::Mirror, "mb", 20 * gigabytes, 0.0),
        link(&results, LinkKind::Region, "lan", 10 * gigabytes, 0.25),
    ];
    results.tables.registries = rows.to_vec();
    let end = results.tables.runs[0].end_s;
    let said = text(&results, &[]);
    let expected = format!(
        "registry sends 60 GB; 2 mirrors send 60 GB, ma is full for {}; link of region lan (16 Mbit/s) full for {}",
        crate::report::format::time(0.5 * end),
        crate::report::format::time(0.25 * end)
    );
    assert!(said.contains(&expected), "{said}");
}

#[test]
fn the_workloads_of_a_release_are_distinguished() {
    let path = "node.kubelet.serializeImagePulls";
    let waves = grid("git", 10, &[(path, &["true", "false"])]);
    let mut results = results_of(&of_waves(waves));
    for run in results.tables.runs.clone() {
        let small_s = if run.setting.contains("true") {
            260.0
        } else {
            20.0
        };
        for (workload, ready_s) in [("big", 267.0), ("small", small_s)] {
            let key = RunKey {
                variant: run.variant.clone(),
                replicate: run.replicate,
                ..RunKey::default()
            };
            let row = WorkloadRow {
                workload: workload.to_owned(),
                ready_s: Some(ready_s),
            };
            results.tables.workloads.push((key, row));
        }
    }
    for row in &mut results.tables.summary {
        if row.measure == crate::results::READY_TIME {
            row.median = Some(300.0);
        }
    }
    let said = text(&results, &[]);
    assert!(
        said.starts_with("Use `serializeImagePulls=false`: "),
        "{said}"
    );
    assert!(
        said.contains("; small is ready after 20.0 s instead of 4.33 min"),
        "{said}"
    );
    assert!(
        said.contains("; small in 20.0 s, big in 4.45 min"),
        "{said}"
    );
}

#[test]
fn a_workload_that_is_not_ready_at_the_end_has_no_time() {
    let mut results = results_of(&of_waves(grid("git", 10, &[])));
    for run in results.tables.runs.clone() {
        for (workload, ready_s) in [("big", Some(267.0)), ("small", None)] {
            let key = RunKey {
                variant: run.variant.clone(),
                replicate: run.replicate,
                ..RunKey::default()
            };
            let row = WorkloadRow {
                workload: workload.to_owned(),
                ready_s,
            };
            results.tables.workloads.push((key, row));
        }
    }
    let said = text(&results, &[]);
    assert!(
        said.contains("big in 4.45 min, small not in half of the runs"),
        "{said}"
    );
}

#[test]
fn choices_of_similar_duration_are_compared_with_the_fastest() {
    let path = "distribution";
    let names = ["{direct: {}}", "{cache: {}}", "{kraken: {}}"];
    let mut results = results_of(&of_waves(grid("git", 10, &[(path, &names)])));
    // Each is within 2% of the next, but the last is not within 2% of the first.
    for row in &mut results.tables.summary {
        let at = names
            .iter()
            .position(|name| row.setting.contains(&name[1..5]));
        let at = at.expect("a choice") as f64;
        match row.measure {
            crate::results::READY_TIME => row.median = Some(1000.0 + 15.0 * at),
            crate::results::Measure::EgressBytes => row.median = Some(9e12 - 3e12 * at),
            _ => {}
        }
    }
    let said = text(&results, &[]);
    assert!(said.starts_with("Use `{cache: {}}`: "), "{said}");
}

/// Two or three variants with two runs each, whose times are known.
fn of_two_runs(times_s: &[(&str, [f64; 2])]) -> Results {
    let waves = times_s.iter().map(|(name, _)| Wave {
        strategy: (*name).to_owned(),
        ..Wave::new(name, 100, 0)
    });
    let fleet = Fleet {
        replicates: 2,
        ..of_waves(waves.collect())
    };
    let mut results = results_of(&fleet);
    for (name, [first, second]) in times_s {
        for run in &mut results.tables.runs {
            if run.variant == *name {
                let time_s = if run.replicate == 0 { first } else { second };
                run.reachable_ready_s = Some(*time_s);
            }
        }
        for row in &mut results.tables.summary {
            if row.variant == *name && row.measure == READY_TIME {
                row.median = Some((first + second) / 2.0);
            }
        }
    }
    results
}

/// The interval of the mean of two differences is so wide that it contains 0, however far the medians are apart.
#[test]
fn variants_that_two_runs_do_not_tell_apart_have_their_own_times() {
    let apart = [("argo", [108.0, 118.0]), ("kf", [300.0, 529.0])];
    let said = text(&of_two_runs(&apart), &[]);
    let words =
        "`argo` is ahead, 1.88 min, but 2 runs do not show that it is faster than `kf` (6.91 min).";
    assert!(said.starts_with(words), "{said}");
    let alike = [("argo", [108.0, 118.0]), ("kf", [118.0, 109.0])];
    let said = text(&of_two_runs(&alike), &[]);
    let words =
        "`argo` and `kf` are the fastest, 1.88 min; these runs do not show which is faster.";
    assert!(said.starts_with(words), "{said}");
    let many = [
        ("argo", [108.0, 118.0]),
        ("kf", [113.0, 518.0]),
        ("fleet", [114.0, 530.0]),
        ("slow", [115.0, 540.0]),
    ];
    let said = text(&of_two_runs(&many), &[]);
    let words =
        "`argo` is ahead, 1.88 min, but 2 runs do not show which of 4 variants is the fastest.";
    assert!(said.starts_with(words), "{said}");
}
