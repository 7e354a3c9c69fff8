//! Synthetic results for tests: waves of pulls as a rollout would cause them, without a simulator. Deterministic.

use std::path::Path;

use super::data::Results;
use crate::results::{
    ApplicationBin, ApplicationRow, ApplicationSeries, ApplicationTimeline, ClusterRow, PassRow,
    Provenance, Publication, RegistryRow, ReleaseRow, RunKey, RunOutcome, RunRecord, RunRow,
    SeriesRow, Setting, Tables, TimelineRow, VariantInfo, VariantRecord,
};

/// A synthetic variant.
#[derive(Clone, Debug)]
pub(super) struct Wave {
    pub(super) name: String,
    pub(super) strategy: String,
    /// The swept settings, as path and value.
    pub(super) settings: Vec<(String, String)>,
    /// Clusters promoted together.
    pub(super) size: u64,
    /// One in this number of runs stalls halfway; 0 if none does.
    pub(super) stalls: u32,
    /// Number of clusters, if it differs from the number in the experiment.
    pub(super) clusters: Option<u64>,
    /// Number of clusters after which a run with a defect stops. `None`: the revision is good.
    pub(super) defect: Option<u64>,
    /// Number of clusters that cannot be updated: two paused, one without agent, the others offline.
    pub(super) unreachable: u64,
}

impl Wave {
    /// Waves of one strategy that promote `size` clusters together.
    pub(super) fn new(name: &str, size: u64, stalls: u32) -> Self {
        let strategy = "fleet".to_owned();
        Self {
            name: name.to_owned(),
            strategy,
            settings: Vec::new(),
            size,
            stalls,
            clusters: None,
            defect: None,
            unreachable: 0,
        }
    }
}

/// A wave for each combination of swept values, named as a run would name it. The first one updates `size` clusters
/// together, each following one more.
pub(super) fn grid(strategy: &str, size: u64, axes: &[(&str, &[&str])]) -> Vec<Wave> {
    let mut points: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for (path, values) in axes {
        let with = |point: &Vec<(String, String)>, value: &&str| {
            point
                .iter()
                .cloned()
                .chain([((*path).to_owned(), (*value).to_owned())])
                .collect()
        };
        points = points
            .iter()
            .flat_map(|point| values.iter().map(|value| with(point, value)))
            .collect();
    }
    let wave = |(at, settings): (u64, Vec<(String, String)>)| {
        let texts: Vec<String> = settings
            .iter()
            .map(|(path, value)| format!("{}={value}", last(path)))
            .collect();
        let name = format!("{strategy} {}", texts.join("; "));
        Wave {
            strategy: strategy.to_owned(),
            settings,
            ..Wave::new(&name, size * (at + 1), 0)
        }
    };
    (0..).zip(points).map(wave).collect()
}

/// The last key of a path.
fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// A complete synthetic experiment.
#[derive(Clone, Debug)]
pub(super) struct Fleet {
    pub(super) clusters: u64,
    pub(super) replicates: u32,
    pub(super) waves: Vec<Wave>,
    pub(super) egress_bytes_per_s: Option<f64>,
}

/// Six settings of `maxUnavailable` for 1,000 clusters, 20 runs each.
pub(super) fn six_settings() -> Fleet {
    let wave = |(setting, size): &(&str, u64)| {
        let path = "strategies.fleet.rancherFleet.maxUnavailable".to_owned();
        Wave {
            settings: vec![(path, (*setting).to_owned())],
            ..Wave::new(&format!("fleet maxUnavailable={setting}"), *size, 0)
        }
    };
    let waves = [
        ("1", 1),
        ("5%", 50),
        ("10%", 100),
        ("25%", 250),
        ("50%", 500),
        ("100%", 1000),
    ];
    Fleet {
        clusters: 1000,
        replicates: 20,
        waves: waves.iter().map(wave).collect(),
        egress_bytes_per_s: Some(1.25e9),
    }
}

/// Experiments whose sweeps are easy or hard to draw, three runs each.
pub(super) fn sweeps() -> Vec<(&'static str, Fleet)> {
    const LIMIT: &str = "strategies.fleet.rancherFleet.maxUnavailable";
    const SIZE: &str = "fleet.0.name";
    let limits: &[&str] = &["1", "5%", "25%", "100%"];
    let of = |waves: Vec<Wave>| Fleet {
        clusters: 120,
        replicates: 3,
        waves,
        egress_bytes_per_s: Some(1.25e9),
    };
    let with = |waves: Vec<Wave>, change: &dyn Fn(usize, Wave) -> Wave| {
        of(waves
            .into_iter()
            .enumerate()
            .map(|(at, wave)| change(at, wave))
            .collect())
    };
    let two = || {
        grid(
            "fleet",
            4,
            &[
                (LIMIT, limits),
                ("registry.egress", &["10 Gbit/s", "40 Gbit/s"]),
            ],
        )
    };
    let sizes = grid(
        "fleet",
        5,
        &[(SIZE, &["a-{001..040}", "a-{001..400}"]), (LIMIT, limits)],
    );
    let sized = |at: usize, wave: Wave| Wave {
        clusters: Some(if at < 4 { 40 } else { 400 }),
        ..wave
    };
    let texts: &[&str] = &[
        "direct",
        "cache",
        "cache(coalesce=wait)",
        "a distribution(with=quite a lot to say, and=more)",
    ];
    let forty: Vec<String> = (1..=40).map(|at| format!("{at}0%")).collect();
    let forty: Vec<&str> = forty.iter().map(String::as_str).collect();
    let names: Vec<String> = (1..=40).map(|at| format!("text {at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let strategies = ["careful", "bold"].map(|strategy| {
        grid(
            strategy,
            10,
            &[("registry.egress", &["1 Gbit/s", "9 Gbit/s"])],
        )
    });
    let defects = [Some(3), Some(40), Some(110), None];
    vec![
        ("two settings", of(two())),
        (
            "two settings, some stall",
            with(two(), &|at, wave| Wave {
                stalls: [0, 2, 1][at % 3],
                ..wave
            }),
        ),
        (
            "two settings, nothing finished",
            with(two(), &|_, wave| Wave { stalls: 1, ..wave }),
        ),
        (
            "two settings, one run",
            Fleet {
                replicates: 1,
                ..of(two())
            },
        ),
        (
            "two settings, no run",
            Fleet {
                replicates: 0,
                ..of(two())
            },
        ),
        ("worlds of two sizes", with(sizes, &sized)),
        (
            "texts",
            of(grid(
                "fleet",
                9,
                &[
                    ("distribution", texts),
                    ("release.kind", &["initial", "update"]),
                ],
            )),
        ),
        (
            "forty values",
            of(grid(
                "a strategy with a name",
                3,
                &[("strategies.a.limit", &forty)],
            )),
        ),
        (
            "forty texts",
            of(grid(
                "fleet",
                3,
                &[("distribution", &names), ("faults.offline", &["0%", "3%"])],
            )),
        ),
        ("two strategies in two worlds", of(strategies.concat())),
        ("one value", of(grid("fleet", 30, &[(LIMIT, &["25%"])]))),
        (
            "defects",
            Fleet {
                replicates: 6,
                ..with(grid("fleet", 4, &[(LIMIT, limits)]), &|at, wave| Wave {
                    defect: defects[at],
                    ..wave
                })
            },
        ),
        (
            "defects everywhere",
            with(two(), &|at, wave| Wave {
                defect: Some(1 + 11 * at as u64),
                ..wave
            }),
        ),
    ]
}

/// The swept settings in the tables' notation.
fn in_short(wave: &Wave) -> String {
    let texts: Vec<String> = wave
        .settings
        .iter()
        .map(|(path, value)| format!("{}={value}", last(path)))
        .collect();
    texts.join("; ")
}

/// Pseudo-random numbers in 0..1: an LCG with Knuth's constants.
struct Lcg(u64);

impl Lcg {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Gives every run of results a rollback by people, 20 minutes after a failure that they notice after 10.
pub(super) fn with_rollbacks(results: &mut Results) {
    let tables = &mut results.tables;
    for run in &tables.runs {
        let first = ReleaseRow {
            release: 1,
            content: "content 1".to_owned(),
            cause: "releases".to_owned(),
            published_s: Some(0.0),
            superseded_s: Some(1800.0),
            targets_done: 20,
            egress_bytes: 3_000_000_000,
            exposed_target_hours: 12.5,
            ..ReleaseRow::default()
        };
        let back = ReleaseRow {
            release: 2,
            content: "installed".to_owned(),
            cause: "failed > 5".to_owned(),
            noticed_s: Some(600.0),
            published_s: Some(1800.0),
            superseded_s: None,
            completion_s: Some(90.0),
            targets_done: 200,
            egress_bytes: 1_000_000_000,
            exposed_target_hours: 0.5,
            ..ReleaseRow::default()
        };
        tables.releases.push((key_of(run), first));
        tables.releases.push((key_of(run), back));
    }
}

/// Gives results ten applications. The last one is released ten minutes later and has the most bytes; the first one has
/// most of the pulls. Two of them have no series of their own.
pub(super) fn with_applications(results: &mut Results) {
    let tables = &mut results.tables;
    for run in &tables.runs {
        for at in 0..10 {
            let release_s = if at == 9 { 600.0 } else { 0.0 };
            let row = ApplicationRow {
                application: format!("app-{at}"),
                targets: 20,
                targets_done: 20,
                release_s: Some(release_s),
                reachable_ready_s: run.reachable_ready_s,
                peak_pulls: 3,
                received_bytes: if at == 9 {
                    2_000_000_000
                } else {
                    1_000_000_000
                },
                ..ApplicationRow::default()
            };
            tables.applications.push((key_of(run), row));
        }
    }
    let names = [9, 0, 1, 2, 3, 4, 5, 6].map(|at| format!("app-{at}"));
    for run in &tables.runs {
        let rows = tables.timeline.iter();
        let rows: Vec<&TimelineRow> = rows.filter(|row| row.variant == run.variant).collect();
        if rows
            .first()
            .is_none_or(|row| row.replicate != run.replicate)
        {
            continue;
        }
        let mut timeline = ApplicationTimeline {
            bin_s: rows[0].bin_s,
            applications: Vec::new(),
        };
        for name in names.iter().map(String::as_str).chain(["(others)"]) {
            let mut bins = Vec::new();
            for row in &rows {
                let share = row.pulls / 10;
                let pulls = if name == "app-0" {
                    row.pulls - 8 * share
                } else {
                    share
                };
                bins.push(ApplicationBin {
                    pulls,
                    pulls_at_peak: pulls,
                    ready_new: row.ready_new / 10,
                });
            }
            timeline.applications.push(ApplicationSeries {
                application: name.to_owned(),
                bins,
            });
        }
        tables.application_timelines.push((key_of(run), timeline));
    }
}

/// The key of a run.
fn key_of(run: &RunRow) -> RunKey {
    RunKey {
        variant: run.variant.clone(),
        strategy: run.strategy.clone(),
        setting: run.setting.clone(),
        replicate: run.replicate,
    }
}

impl Fleet {
    /// Writes the tables into `folder`, as a run does.
    pub(super) fn publish(&self, folder: &Path) {
        let mut provenance = Provenance::new(
            "max-unavailable",
            "Which maxUnavailable can the registry bear?",
            42,
            self.replicates,
        );
        provenance.command = "fleetsim run experiments/01-max-unavailable".to_owned();
        provenance.horizon_s = 86_400.0;
        let variants: Vec<VariantRecord> =
            self.waves.iter().map(|wave| self.variant(wave)).collect();
        provenance.variants = variants
            .iter()
            .map(|variant| VariantInfo {
                variant: variant.variant.clone(),
                strategy: variant.strategy.clone(),
                setting: variant.setting.clone(),
                settings: variant.settings.clone(),
                product: "Rancher Fleet".to_owned(),
                target: String::new(),
                is_bound: variant.strategy == "all-at-once",
                registry_egress_bytes_per_s: self.egress_bytes_per_s,
                precision: None,
            })
            .collect();
        let publication = Publication::begin(folder, provenance).expect("a fresh folder");
        for (name, bytes) in Tables::of(&variants, 42).files() {
            publication.write(name, &bytes).expect("written");
        }
        publication.publish().expect("published");
    }

    fn variant(&self, wave: &Wave) -> VariantRecord {
        VariantRecord {
            variant: wave.name.clone(),
            strategy: wave.strategy.clone(),
            setting: in_short(wave),
            settings: wave
                .settings
                .iter()
                .map(|(path, value)| Setting {
                    path: path.clone(),
                    name: last(path).to_owned(),
                    value: value.clone(),
                })
                .collect(),
            runs: (0..self.replicates)
                .map(|replicate| self.run(wave, replicate))
                .collect(),
        }
    }

    /// Simulates waves of `size` clusters. Each cluster pulls 3 x 150 MB through 100 Mbit/s or its share of the link,
    /// and is ready 20 s to 60 s later. The next wave starts when all clusters of the previous one are ready.
    fn run(&self, wave: &Wave, replicate: u32) -> RunRecord {
        let mut draws = Lcg(u64::from(replicate) * 7919 + 1);
        let fleet = wave.clusters.unwrap_or(self.clusters);
        let stop = wave
            .defect
            .map(|after| (after + u64::from(replicate) * after / 10).min(fleet));
        let stalled = stop.is_some() || (wave.stalls > 0 && replicate.is_multiple_of(wave.stalls));
        let link = self.egress_bytes_per_s.unwrap_or(1.25e9);
        let mut clusters = Vec::new();
        let mut now = 0.0;
        let reach = stop.unwrap_or(if stalled {
            fleet / 2
        } else {
            fleet - wave.unreachable
        });
        while (clusters.len() as u64) < reach {
            let size = wave.size.min(reach - clusters.len() as u64);
            let rate = (link / size as f64).min(12.5e6);
            let mut wave_end: f64 = now;
            for _ in 0..size {
                let told = now + 10.0 * draws.next() * draws.next();
                let pull = 450e6 / rate * (0.7 + 0.6 * draws.next());
                let ready = told + pull + 20.0 + 40.0 * draws.next();
                wave_end = wave_end.max(ready);
                clusters.push((told, told + 2.0, told + 2.0 + pull, ready));
            }
            now = wave_end;
        }
        let completion = (!stalled).then_some(now);
        let end = if stalled { 86_400.0 } else { now };
        let bin_s = (now / 3000.0).ceil().max(1.0);
        let bins = (now / bin_s).ceil() as usize;
        let series = series(fleet, &clusters, bins, bin_s);
        let peak = series.iter().map(|row| row.pulls).max().unwrap_or(0);
        let egress_peak = series
            .iter()
            .map(|row| row.egress_bytes_per_s)
            .fold(0.0, f64::max);
        let mut ready: Vec<f64> = clusters.iter().map(|cluster| cluster.3).collect();
        ready.sort_by(f64::total_cmp);
        let mut took: Vec<f64> = clusters
            .iter()
            .map(|(told, _, _, ready)| ready - told)
            .collect();
        took.sort_by(f64::total_cmp);
        let update = |percent: usize| {
            Some(*took.get((took.len() * percent / 100).min(took.len().max(1) - 1))?)
        };
        let mut pulls: Vec<f64> = clusters
            .iter()
            .map(|(_, pull, pulled, _)| pulled - pull)
            .collect();
        pulls.sort_by(f64::total_cmp);
        let pull = |percent: usize| {
            Some(*pulls.get((pulls.len() * percent / 100).min(pulls.len().max(1) - 1))?)
        };
        let share = |percent: u64| {
            ready
                .get((fleet * percent).div_ceil(100).max(1) as usize - 1)
                .copied()
        };
        let run = RunRow {
            variant: wave.name.clone(),
            strategy: wave.strategy.clone(),
            setting: in_short(wave),
            replicate,
            outcome: if stalled || wave.unreachable > 0 {
                RunOutcome::Stalled
            } else {
                RunOutcome::Complete
            },
            held_by: if stalled {
                "maxUnavailable".to_owned()
            } else {
                String::new()
            },
            held_detail: if stalled {
                "store-0007 is offline and counts as unavailable".to_owned()
            } else {
                String::new()
            },
            currency: String::new(),
            release_s: 0.0,
            completion_s: completion.filter(|_| wave.unreachable == 0),
            reachable_ready_s: completion,
            reported_s: completion,
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
            t50_s: share(50),
            t90_s: share(90),
            t99_s: share(99),
            update_p50_s: update(50),
            update_p95_s: update(95),
            update_max_s: update(100),
            pull_p50_s: pull(50),
            pull_p95_s: pull(95),
            pull_p99_s: pull(99),
            end_s: end,
            targets: fleet,
            targets_done: reach,
            left_behind: fleet - reach,
            reachable_targets: fleet - wave.unreachable,
            paused_targets: wave.unreachable.min(2),
            agentless_targets: wave.unreachable.saturating_sub(2).min(1),
            offline_targets: wave.unreachable.saturating_sub(3),
            offline_at_start: wave.unreachable.saturating_sub(3),
            defective_targets: if stop.is_some() { fleet } else { 0 },
            peak_pulls: peak,
            peak_downloads: 3 * peak,
            peak_registry_downloads: 1,
            peak_pulling_clusters: peak / 3,
            egress_bytes: 450_000_000 * reach,
            received_bytes: 450_000_000 * reach,
            lost_bytes: 0,
            upstream_bytes: 0,
            cache_bytes: 0,
            peer_bytes: 0,
            egress_peak_1s_bytes_per_s: egress_peak,
            egress_peak_60s_bytes_per_s: egress_peak * 0.9,
            egress_busy_share: (egress_peak / link).min(1.0) * 0.4,
            total_egress_peak_1s_bytes_per_s: egress_peak,
            total_egress_peak_60s_bytes_per_s: egress_peak * 0.9,
            other_egress_bytes: 0.0,
            egress_p95_over_time_bytes_per_s: 1e9,
            egress_p99_over_time_bytes_per_s: 1.2e9,
            egress_busy_s: 40.0,
            egress_busiest_hour_share: 0.1,
            requests: 12 * reach,
            responses_429: wave.size / 40,
            responses_503: 0,
            request_timeouts: 0,
            pulls: 3 * reach,
            failed_pulls: wave.size / 100,
            failed_pulls_kubelet_rate: 0,
            failed_pulls_429: 0,
            failed_pulls_503: 0,
            failed_pulls_unreachable: 0,
            failed_pulls_no_progress: 0,
            backoffs: 0,
            crashes: 0,
            peak_not_ready: wave.size,
            not_ready_cluster_hours: 1.5,
            exposed_targets: stop.unwrap_or(0),
            passes: 100,
            promotions: reach,
            peak_promotions_per_pass: wave.size,
            events: 1000,
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
        let rows =
            |(at, &(told, pull, pulled, ready)): (usize, &(f64, f64, f64, f64))| ClusterRow {
                application: String::new(),
                cluster: format!("store-{at:04}"),
                stage: String::new(),
                group: "store".to_owned(),
                nodes: 3,
                downlink_bytes_per_s: 12.5e6,
                rtt_s: 0.03,
                region: String::new(),
                offline: false,
                defective: stop.is_some(),
                instructed_s: Some(told),
                applied_s: Some(told + 1.0),
                first_pull_s: Some(pull),
                last_pull_s: Some(pulled),
                ready_s: Some(ready),
                pulls: 3,
                failed_pulls: 0,
                received_bytes: 450_000_000,
            };
        let mut table: Vec<ClusterRow> = clusters.iter().enumerate().map(rows).collect();
        for at in table.len()..fleet as usize {
            let told = rows((at, &(0.0, 0.0, 0.0, 0.0)));
            table.push(ClusterRow {
                application: String::new(),
                instructed_s: None,
                applied_s: None,
                first_pull_s: None,
                last_pull_s: None,
                ready_s: None,
                ..told
            });
        }
        let passes = vec![PassRow {
            t_s: 0.0,
            passes: 1,
            duration_s: 0.5,
            created: 0,
            promoted: wave.size,
            unavailable: 0,
        }];
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
            series,
            bin_s,
            clusters: table,
            passes,
            statuses: Vec::new(),
            application_series: Vec::new(),
        }
    }
}

fn series(
    fleet: u64,
    clusters: &[(f64, f64, f64, f64)],
    bins: usize,
    bin_s: f64,
) -> Vec<SeriesRow> {
    // The series are computed from differences: one step up and one down for each cluster.
    let mut steps = vec![[0_i64; 4]; bins + 1];
    let mut bytes = vec![0.0; bins + 1];
    let bin = |time: f64| ((time / bin_s) as usize).min(bins);
    for &(told, pull, pulled, ready) in clusters {
        steps[bin(told)][0] += 1;
        steps[bin(ready)][1] += 1;
        steps[bin(pull)][2] += 3;
        steps[(bin(pulled) + 1).min(bins)][3] += 3;
        let (first, last) = (bin(pull), bin(pulled));
        for part in &mut bytes[first..=last] {
            *part += 450e6 / (last - first + 1) as f64;
        }
    }
    let mut sums = [0_i64; 4];
    (0..bins)
        .map(|at| {
            for (sum, step) in sums.iter_mut().zip(steps[at]) {
                *sum += step;
            }
            if at + 1 == bins {
                sums[1] = sums[0];
            }
            let [told, ready, pulls, pulled] = sums;
            SeriesRow {
                t_s: at as f64 * bin_s,
                pulls: (pulls - pulled) as u64,
                downloads: 3 * (pulls - pulled) as u64,
                egress_bytes_per_s: bytes[at] / bin_s,
                egress_peak_1s_bytes_per_s: bytes[at] / bin_s,
                ready_new: ready as u64,
                updating: (told - ready) as u64 * 9 / 10,
                not_ready: (told - ready) as u64 - (told - ready) as u64 * 9 / 10,
                waiting: fleet - told as u64,
            }
        })
        .collect()
}
