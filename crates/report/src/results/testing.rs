//! Rows for the tests of this folder.

use super::{RegistryRow, RunOutcome, RunRecord, RunRow, Setting, VariantRecord};

/// A minimal finished run.
pub(super) fn run_record(replicate: u32, peak_pulls: u64) -> RunRecord {
    let run = RunRow {
        variant: "v".to_owned(),
        strategy: "s".to_owned(),
        setting: "limit=1".to_owned(),
        replicate,
        outcome: RunOutcome::Complete,
        held_by: String::new(),
        held_detail: String::new(),
        currency: String::new(),
        release_s: 0.0,
        reported_s: None,
        completion_s: Some(100.5),
        reachable_ready_s: Some(100.5),
        path_rule_s: None,
        path_people_s: None,
        path_transfer_s: None,
        path_unpack_s: None,
        path_throttled_s: None,
        path_unavailable_s: None,
        path_kubelet_s: None,
        path_start_s: None,
        path_offline_s: None,
        path_report_s: None,
        t50_s: Some(50.25),
        t90_s: Some(90.0),
        t99_s: None,
        update_p50_s: None,
        update_p95_s: None,
        update_max_s: None,
        pull_p50_s: None,
        pull_p95_s: None,
        pull_p99_s: None,
        end_s: 100.5,
        targets: 10,
        targets_done: 10,
        left_behind: 0,
        reachable_targets: 10,
        paused_targets: 0,
        agentless_targets: 0,
        offline_targets: 0,
        offline_at_start: 0,
        defective_targets: 0,
        peak_pulls,
        peak_downloads: 3 * peak_pulls,
        peak_registry_downloads: 1,
        peak_pulling_clusters: peak_pulls,
        egress_bytes: 1_000_000_007,
        received_bytes: 1_000_000_000,
        lost_bytes: 7,
        upstream_bytes: 0,
        cache_bytes: 0,
        peer_bytes: 0,
        total_egress_peak_1s_bytes_per_s: 1.25e9,
        total_egress_peak_60s_bytes_per_s: 1e9 / 3.0,
        other_egress_bytes: 0.0,
        egress_peak_1s_bytes_per_s: 1.25e9,
        egress_peak_60s_bytes_per_s: 1e9 / 3.0,
        egress_busy_share: 0.5,
        egress_p95_over_time_bytes_per_s: 1e9,
        egress_p99_over_time_bytes_per_s: 1.2e9,
        egress_busy_s: 40.0,
        egress_busiest_hour_share: 0.1,
        requests: 40,
        responses_429: 1,
        responses_503: 0,
        request_timeouts: 0,
        pulls: 10,
        failed_pulls: 1,
        failed_pulls_kubelet_rate: 0,
        failed_pulls_429: 0,
        failed_pulls_503: 0,
        failed_pulls_unreachable: 0,
        failed_pulls_no_progress: 0,
        backoffs: 1,
        crashes: 0,
        peak_not_ready: 5,
        not_ready_cluster_hours: 0.1,
        exposed_targets: 0,
        passes: 4,
        promotions: 10,
        peak_promotions_per_pass: 5,
        events: 123,
        peak_instances: None,
        removed_targets: None,
        joined_nodes: None,
        releases: None,
        reactions: None,
        exposed_target_hours: None,
        peak_waiting_pods: None,
        failed_pulls_no_space: None,
        removed_images: None,
        disk_pressures: None,
        cost: None,
    };
    let registry = RegistryRow {
        registry: "registry".to_owned(),
        egress_bytes: run.egress_bytes,
        ..RegistryRow::default()
    };
    RunRecord {
        run,
        registries: vec![registry],
        workloads: Vec::new(),
        releases: Vec::new(),
        applications: Vec::new(),
        series: Vec::new(),
        bin_s: 1.0,
        clusters: Vec::new(),
        passes: Vec::new(),
        statuses: Vec::new(),
        application_series: Vec::new(),
    }
}

/// A variant with the given runs, each of which gets the variant's name.
pub(super) fn variant(name: &str, mut runs: Vec<RunRecord>) -> VariantRecord {
    for run in &mut runs {
        name.clone_into(&mut run.run.variant);
    }
    let setting = Setting {
        path: "strategies.s.limit".to_owned(),
        name: "limit".to_owned(),
        value: "1".to_owned(),
    };
    VariantRecord {
        variant: name.to_owned(),
        strategy: "s".to_owned(),
        setting: "limit=1".to_owned(),
        settings: vec![setting],
        runs,
    }
}

/// Asserts that `docs/results-format.md` has a section on the table that names each of its columns.
pub(super) fn assert_documented(table: &str, csv: &[u8]) {
    let section = include_str!("../../../../docs/results-format.md")
        .split("\n## ")
        .find(|section| section.starts_with(&format!("`{table}`")))
        .unwrap_or_else(|| panic!("{table} has a section"));
    let text = str::from_utf8(csv).expect("CSV is text");
    for column in text.lines().next().expect("a header").split(',') {
        assert!(
            section.contains(&format!("`{column}`")),
            "{column} of {table} is documented"
        );
    }
}
