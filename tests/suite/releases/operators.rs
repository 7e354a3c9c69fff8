//! The operator's rules: when people notice, when they act, and what becomes of the targets.

use fleetsim::results::RunOutcome;

use super::{CLUSTERS, FIX, PRODUCTS, assert_complete, releases, run};

/// Containers of the first release never become ready.
const BROKEN: &str = "faults: {defect: {share: 100%, kind: unready}}\n";

#[test]
fn people_roll_back_some_time_after_they_notice() {
    for (product, strategy) in PRODUCTS {
        let rule = "operator: [{when: failed > 0, within: 20 min, then: rollback}]";
        let record = run(strategy, &format!("{BROKEN}{rule}"));
        assert_complete(product, &record);
        let [first, back] = releases(product, &record);
        assert_eq!(
            (back.content.as_str(), back.cause.as_str()),
            ("installed", "failed > 0")
        );
        let noticed = back.noticed_s.expect("people noticed");
        let published = back.published_s.expect("published");
        assert!(noticed > 5.0 && noticed < 120.0, "{product}: {noticed}");
        assert!(
            (published - noticed - 1200.0).abs() < 1.0,
            "{product}: {published}"
        );
        assert_eq!(record.run.reactions, Some(1));
        // Each exposed target has the defective revision until its pods are back.
        let exposed = record.run.exposed_targets as f64;
        let hours = record.run.exposed_target_hours.expect("several releases");
        let most = exposed * (published + back.completion_s.expect("back")) / 3600.0;
        assert!(
            hours > exposed * 1200.0 / 3600.0 * 0.9 && hours <= most,
            "{product}: {hours}"
        );
        assert!((hours - first.exposed_target_hours - back.exposed_target_hours).abs() < 1e-9);
    }
}

#[test]
fn people_who_take_longer_leave_targets_exposed_for_longer() {
    let (product, strategy) = PRODUCTS[0];
    let mut last = 0.0;
    for minutes in [5, 20, 60] {
        let rule =
            format!("operator: [{{when: failed > 0, within: {minutes} min, then: rollback}}]");
        let record = run(strategy, &format!("{BROKEN}{rule}"));
        let hours = record.run.exposed_target_hours.expect("several releases");
        assert!(hours > 2.0 * last, "{product}: {hours} after {last}");
        last = hours;
    }
}

#[test]
fn a_repair_reaches_all_targets() {
    for (product, strategy) in PRODUCTS {
        let rule =
            format!("operator: [{{when: failed > 0, within: 10 min, then: fixForward, {FIX}}}]");
        let record = run(strategy, &format!("{BROKEN}{rule}"));
        assert_complete(product, &record);
        let [_, repair] = releases(product, &record);
        assert_eq!(repair.content, "content 2", "{product}");
        assert_eq!(repair.targets_done, CLUSTERS, "{product}");
        assert_eq!(repair.egress_bytes, CLUSTERS * 2 * 11_000_000, "{product}");
    }
}

#[test]
fn a_paused_rollout_stays_where_it_is_and_a_rollback_resumes_it() {
    let (product, strategy) = PRODUCTS[0];
    let pause = "{when: failed > 0, within: 1 min, then: pause}";
    let paused = run(strategy, &format!("{BROKEN}operator: [{pause}]"));
    assert_eq!(paused.run.outcome, RunOutcome::Stalled, "{product}");
    assert_eq!(paused.run.reactions, Some(0), "{product}");
    let exposed = paused.run.exposed_targets as f64;
    let hours = paused
        .run
        .exposed_target_hours
        .expect("a pause ends nothing");
    assert!(
        hours > exposed * 11.9,
        "{product}: exposed until the horizon of 12 h, {hours}"
    );
    let back = "{when: failed > 0, within: 30 min, then: rollback}";
    let resumed = run(strategy, &format!("{BROKEN}operator: [{pause}, {back}]"));
    assert_complete(product, &resumed);
}

#[test]
fn a_rollout_that_stands_still_is_noticed_after_its_time() {
    for (product, strategy) in PRODUCTS {
        let rule = "operator: [{when: stalled > 30 min, within: 1 min, then: rollback}]";
        let record = run(strategy, &format!("{BROKEN}{rule}"));
        assert_complete(product, &record);
        let [_, back] = releases(product, &record);
        assert!(
            back.noticed_s.is_some_and(|at| (at - 1800.0).abs() < 1.0),
            "{product}: {back:?}"
        );
    }
}

#[test]
fn nobody_acts_where_nothing_fails() {
    for (product, strategy) in PRODUCTS {
        let rule = "operator: [{when: failed > 0, within: 1 min, then: rollback}]";
        let record = run(strategy, rule);
        assert_complete(product, &record);
        let [only] = releases(product, &record);
        assert_eq!(only.content, "content 1", "{product}");
        assert_eq!(record.run.exposed_target_hours, Some(0.0));
    }
}

#[test]
fn a_defect_that_shows_later_is_noticed_after_the_rollout_is_complete() {
    let (product, strategy) = PRODUCTS[0];
    let faults = "faults: {defect: {share: 100%, kind: crashes, detectedAfter: 2h}}\n";
    let rule = "operator: [{when: failed > 0, within: 5 min, then: rollback}]";
    let record = run(strategy, &format!("{faults}{rule}"));
    assert_complete(product, &record);
    let [first, back] = releases(product, &record);
    assert_eq!(first.targets_done, CLUSTERS);
    assert!(back.noticed_s.is_some_and(|at| at > 7200.0), "{back:?}");
}

#[test]
fn people_react_to_each_release() {
    let (product, strategy) = PRODUCTS[0];
    // The second release is broken, too. The first reaction is still to come when it overtakes.
    let second =
        format!("{{at: 10 min, {FIX}, faults: {{defect: {{share: 100%, kind: unready}}}}}}");
    let rule = "operator: [{when: failed > 0, within: 20 min, then: rollback}]";
    let record = run(
        strategy,
        &format!("{BROKEN}releases: [{{at: 0 s}}, {second}]\n{rule}"),
    );
    assert_complete(product, &record);
    let [_, second, to_first, to_installed] = releases(product, &record);
    let published = second.published_s.expect("published");
    let noticed = to_first.noticed_s.expect("noticed");
    assert!(
        noticed - published < 120.0,
        "{product}: {noticed} after {published}"
    );
    assert_eq!(to_first.content, "content 1", "broken, too");
    assert_eq!(to_installed.content, "installed", "{product}");
    assert_eq!(record.run.left_behind, CLUSTERS, "nothing is released");
}

#[test]
fn a_cluster_that_was_away_is_done_when_it_runs_what_is_wanted() {
    for (product, strategy) in PRODUCTS {
        let faults = "faults: {offline: {share: 50%, return: 1h}}\n";
        let record = run(
            strategy,
            &format!("{faults}releases: [{{at: 0 s}}, {{at: 30 min, rollback: true}}]"),
        );
        assert_complete(product, &record);
    }
}

#[test]
fn a_rollback_right_after_the_release_leaves_nothing_on_the_way() {
    for (product, strategy) in PRODUCTS {
        // Argo CD's steps leave an application whose operation was in progress (docs/schedulers.md).
        if product.starts_with("Argo CD, RollingSync") {
            continue;
        }
        for at in ["0.5 s", "2 s", "5 s"] {
            let record = run(
                strategy,
                &format!("releases: [{{at: 0 s}}, {{at: {at}, rollback: true}}]"),
            );
            assert_complete(product, &record);
        }
    }
}
