//! The recorded results of an experiment, arranged by variant for charts and tables.

use std::collections::HashMap;
use std::path::Path;

use itertools::Itertools;

#[cfg(not(target_family = "wasm"))]
use super::clock::StartClock;
use super::format::{count, time, time_with_interval};
use super::sheet::{ChartWidth, Sheet};
use super::style::CurveStyle;
use crate::results::{
    AllowedLeft, ApplicationRow, ApplicationTimeline, CauseRow, ClusterRow, DrawnConstant, Measure,
    Provenance, READY_TIME, RESOLVED_FILE, ReachRange, RegistryRow, ReleaseRow, ResultsError,
    RunOutcome, RunRow, Setting, SummaryRow, Tables, TimelineRow, UncertaintyRow, VariantInfo,
    WorkloadRow, compared, grouped, read_causes, read_draws, read_uncertainty,
};
use fleetsim_units::io::read_below;
use fleetsim_units::stats;

/// All input of a report: the files of one results folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// The provenance of the results.
    pub provenance: Provenance,
    /// The tables.
    pub tables: Tables,
    /// `uncertainty.csv`; empty if constants were not drawn.
    pub uncertainty: Vec<UncertaintyRow>,
    /// `draws.csv`: the runs with drawn constants.
    pub draws: Vec<RunRow>,
    /// `constants.csv`: the constants of each draw.
    pub constants: Vec<DrawnConstant>,
    /// `causes.csv`: the trials of what holds variants back; empty if there were none.
    pub causes: Vec<CauseRow>,
    /// Settings that are guesses, according to `resolved.yaml`; empty if that file is missing.
    pub guesses: Vec<String>,
    /// `resolved.yaml`, with all settings in force; empty if that file is missing.
    pub resolved: String,
    /// The width of the charts.
    pub width: ChartWidth,
    /// Whether charts lack title, note and footer.
    pub untitled: bool,
}

/// One variant's part of the results.
#[derive(Clone, Debug)]
pub(super) struct VariantResults<'r> {
    pub(super) style: CurveStyle,
    pub(super) info: &'r VariantInfo,
    pub(super) runs: Vec<&'r RunRow>,
    /// The variant's runs with drawn constants, sorted by draw.
    pub(super) draws: Vec<&'r RunRow>,
    pub(super) timeline: Vec<&'r TimelineRow>,
    pub(super) clusters: Vec<&'r ClusterRow>,
    /// Registries, mirrors, caches, regions and peers of its runs, with the replicate of each.
    pub(super) links: Vec<(u32, &'r RegistryRow)>,
    /// The workloads of its runs, for a release with several.
    pub(super) workloads: Vec<&'r WorkloadRow>,
    /// The applications of its runs, with the replicate of each. Empty for a single application.
    pub(super) applications: Vec<(u32, &'r ApplicationRow)>,
    /// The releases of its runs, with the replicate of each. Empty if each application has one.
    pub(super) releases: Vec<(u32, &'r ReleaseRow)>,
    /// The largest applications of its displayed run over time.
    pub(super) application_timeline: Option<&'r ApplicationTimeline>,
    /// The trials of what holds the variant back.
    pub(super) causes: Vec<&'r CauseRow>,
    /// The run that the variant's curve and fleet show.
    pub(super) displayed: Option<&'r RunRow>,
    summary: Vec<&'r SummaryRow>,
    uncertain: Vec<&'r UncertaintyRow>,
    /// The targets that a run may leave behind and still count as one that leaves none.
    pub(super) allowed_left: AllowedLeft,
}

impl Results {
    /// Reads a results folder.
    ///
    /// # Errors
    /// Returns an error if the folder is not a results folder, or a file in it is missing or damaged.
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        // If the folder has no results, the error must say so, rather than name a missing table.
        Provenance::of_results(folder)?;
        Self::of(folder, Tables::read(folder)?)
    }

    /// The results of a folder whose tables were just written, and are still in memory: reading them would take as
    /// long as writing them.
    ///
    /// # Errors
    /// Returns an error if the folder has no provenance, or a file in it is damaged.
    pub fn of(folder: &Path, tables: Tables) -> Result<Self, ResultsError> {
        let resolved = read_below(folder, RESOLVED_FILE).unwrap_or_default();
        let resolved = String::from_utf8_lossy(&resolved).into_owned();
        let (draws, constants) = read_draws(folder)?;
        Ok(Self {
            provenance: Provenance::of_results(folder)?,
            tables,
            uncertainty: read_uncertainty(folder)?,
            draws,
            constants,
            causes: read_causes(folder)?,
            guesses: guesses_of(&resolved),
            resolved,
            width: ChartWidth::default(),
            untitled: false,
        })
    }

    /// Results that are not in a folder: without drawn constants, and without guessed settings.
    #[must_use]
    pub fn in_memory(provenance: Provenance, tables: Tables) -> Self {
        Self {
            provenance,
            tables,
            ..Self::default()
        }
    }

    /// Forgets all variants but those whose name is kept.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn keep_variants(&mut self, is_kept: &dyn Fn(&str) -> bool) {
        let tables = &mut self.tables;
        tables.runs.retain(|row| is_kept(&row.variant));
        tables.timeline.retain(|row| is_kept(&row.variant));
        tables.summary.retain(|row| is_kept(&row.variant));
        tables.comparison.retain(|row| is_kept(&row.variant));
        tables.registries.retain(|(key, _)| is_kept(&key.variant));
        tables.workloads.retain(|(key, _)| is_kept(&key.variant));
        tables.applications.retain(|(key, _)| is_kept(&key.variant));
        tables.releases.retain(|(key, _)| is_kept(&key.variant));
        tables
            .application_timelines
            .retain(|(key, _)| is_kept(&key.variant));
        tables.clusters.retain(|(key, _)| is_kept(&key.variant));
        tables.passes.retain(|(key, _)| is_kept(&key.variant));
        tables.statuses.retain(|(key, _)| is_kept(&key.variant));
        self.uncertainty.retain(|row| is_kept(&row.variant));
        self.draws.retain(|row| is_kept(&row.variant));
        self.provenance
            .variants
            .retain(|info| is_kept(&info.variant));
    }

    /// The page layout of a chart.
    pub(super) const fn sheet(&self) -> Sheet<'_> {
        Sheet {
            provenance: &self.provenance,
            width: self.width,
            untitled: self.untitled,
        }
    }

    /// The time of day at which the runs start, if it is set.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn clock(&self) -> Option<StartClock> {
        StartClock::of_settings(&self.resolved)
    }

    /// The event from which the times of series and clusters count.
    pub(super) fn start(&self) -> &'static str {
        let pre_pull = self.tables.runs.iter().any(|run| run.release_s > 0.0);
        if pre_pull {
            "the run started (including the pre-pull)"
        } else {
            "the rollout started"
        }
    }

    /// `; line: replicate 3`, for charts of the displayed run; empty if there is none.
    pub(super) fn replicate_of(&self, what: &str) -> String {
        match self.displayed() {
            Some(run) => format!("; {what}: replicate {}", run.replicate),
            None => String::new(),
        }
    }

    /// The run that curves and fleets show. `None` if there is none.
    pub(super) fn displayed(&self) -> Option<DisplayedRun> {
        let clusters = &self.tables.clusters;
        let (first, _) = clusters.first()?;
        let variants = grouped(
            clusters
                .iter()
                .map(|(key, row)| (key.variant.as_str(), row)),
        );
        let mut all: Vec<u64> = Vec::new();
        let mut offline: Vec<u64> = Vec::new();
        let mut defective: Vec<u64> = Vec::new();
        for (_, rows) in &variants {
            all.push(rows.len() as u64);
            offline.push(rows.iter().filter(|row| row.offline).count() as u64);
            defective.push(rows.iter().filter(|row| row.defective).count() as u64);
        }
        Some(DisplayedRun {
            replicate: first.replicate,
            target: target_of(&self.provenance.variants).to_owned(),
            clusters: least_and_most(&all),
            offline: least_and_most(&offline),
            defective: least_and_most(&defective),
        })
    }

    /// The rank of a variant among the compared variants for a measure that should be low: `best` if the variant has
    /// the lowest value with 95% confidence for all of them together, `may be best` if that cannot be excluded.
    pub(super) fn standing(
        &self,
        variant: &VariantResults<'_>,
        measure: Measure,
        best: &str,
    ) -> Option<String> {
        let row = self
            .tables
            .comparison
            .iter()
            .find(|row| row.variant == variant.name() && row.measure == measure)?;
        if !row.may_be_best {
            return None;
        }
        let is_alone = row.behind_high.is_some_and(|high| high < 0.0);
        Some(if is_alone {
            best.to_owned()
        } else {
            format!("may be {best}")
        })
    }

    /// The variants that have runs, in the experiment's order.
    pub(super) fn variants<'r>(&'r self) -> Vec<VariantResults<'r>> {
        let tables = &self.tables;
        let replicate = tables.clusters.first().map(|(key, _)| key.replicate);
        let runs = by_variant(&tables.runs, |run| &run.variant);
        let draws = by_variant(&self.draws, |run| &run.variant);
        let timeline = by_variant(&tables.timeline, |row| &row.variant);
        let clusters = by_variant(&tables.clusters, |(key, _)| &key.variant);
        let links = by_variant(&tables.registries, |(key, _)| &key.variant);
        let workloads = by_variant(&tables.workloads, |(key, _)| &key.variant);
        let applications = by_variant(&tables.applications, |(key, _)| &key.variant);
        let releases = by_variant(&tables.releases, |(key, _)| &key.variant);
        let timelines = by_variant(&tables.application_timelines, |(key, _)| &key.variant);
        let causes = by_variant(&self.causes, |row| &row.variant);
        let summary = by_variant(&tables.summary, |row| &row.variant);
        let uncertain = by_variant(&self.uncertainty, |row| &row.variant);
        let styles = self.styles();
        let mut variants = Vec::new();
        for (style, info) in styles.into_iter().zip(&self.provenance.variants) {
            let name = info.variant.as_str();
            let Some(runs) = runs.get(name) else {
                continue;
            };
            let mut of_displayed = runs.iter().filter(|run| Some(run.replicate) == replicate);
            variants.push(VariantResults {
                style,
                displayed: of_displayed.next().copied(),
                info,
                runs: runs.clone(),
                draws: rows_of(&draws, name),
                timeline: rows_of(&timeline, name),
                clusters: rows_of(&clusters, name)
                    .into_iter()
                    .map(|(_, row)| row)
                    .collect(),
                links: rows_of(&links, name)
                    .into_iter()
                    .map(|(key, row)| (key.replicate, row))
                    .collect(),
                workloads: rows_of(&workloads, name)
                    .into_iter()
                    .map(|(_, row)| row)
                    .collect(),
                applications: rows_of(&applications, name)
                    .into_iter()
                    .map(|(key, row)| (key.replicate, row))
                    .collect(),
                releases: rows_of(&releases, name)
                    .into_iter()
                    .map(|(key, row)| (key.replicate, row))
                    .collect(),
                application_timeline: rows_of(&timelines, name)
                    .first()
                    .map(|(_, timeline)| timeline),
                causes: rows_of(&causes, name),
                summary: rows_of(&summary, name),
                uncertain: rows_of(&uncertain, name),
                allowed_left: self.provenance.allowed_left,
            });
        }
        variants
    }
}

impl Results {
    /// The style of each variant of the experiment.
    fn styles(&self) -> Vec<CurveStyle> {
        let mut settings: Vec<&[Setting]> = Vec::new();
        let mut products: Vec<(&str, bool)> = Vec::new();
        for info in &self.provenance.variants {
            settings.push(&info.settings);
            products.push((&info.product, info.is_bound));
        }
        CurveStyle::of(&compared(&settings), &products)
    }
}

/// The minimum and the maximum of some numbers; zeros if there are none.
fn least_and_most(numbers: &[u64]) -> (u64, u64) {
    let least = numbers.iter().min();
    let most = numbers.iter().max();
    (
        least.copied().unwrap_or_default(),
        most.copied().unwrap_or_default(),
    )
}

/// The rows of a table by variant.
type RowsByVariant<'r, Row> = HashMap<&'r str, Vec<&'r Row>>;

/// Groups the rows of a table by variant, in the order of the table.
fn by_variant<Row>(rows: &[Row], variant: fn(&Row) -> &String) -> RowsByVariant<'_, Row> {
    let mut found: RowsByVariant<'_, Row> = HashMap::new();
    for row in rows {
        found.entry(variant(row)).or_default().push(row);
    }
    found
}

/// The rows of one variant, in the order of the table; empty if the table does not have it.
fn rows_of<'r, Row>(rows: &RowsByVariant<'r, Row>, variant: &str) -> Vec<&'r Row> {
    rows.get(variant).cloned().unwrap_or_default()
}

/// The replicate that curves and fleets of all variants show. Counts have a minimum and a maximum over the variants,
/// because worlds differ.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DisplayedRun {
    pub(super) replicate: u32,
    target: String,
    clusters: (u64, u64),
    offline: (u64, u64),
    defective: (u64, u64),
}

impl DisplayedRun {
    /// `5 of 200 clusters offline at its start, defective release in 0`.
    pub(super) fn conditions(&self) -> String {
        let s = if self.clusters == (1, 1) { "" } else { "s" };
        format!(
            "{} of {} {}{s} offline at its start, defective release in {}",
            range_of(self.offline),
            range_of(self.clusters),
            self.target,
            range_of(self.defective)
        )
    }
}

impl ReachRange {
    /// The number of reachable targets among all targets: `297 of 301`.
    pub(super) fn of_all(&self) -> String {
        format!("{} of {}", range_of(self.reachable), range_of(self.targets))
    }

    /// `4 cannot be updated: 2 paused, 1 without agent, 1 offline`.
    pub(super) fn missing(&self) -> String {
        let obstacles = [
            (self.paused, "paused"),
            (self.agentless, "without agent"),
            (self.offline, "offline"),
        ];
        let mut reasons: Vec<String> = Vec::new();
        for (range, reason) in obstacles {
            let (_, most) = range;
            if most > 0 {
                reasons.push(format!("{} {reason}", range_of(range)));
            }
        }
        let reasons = reasons.join(", ");
        format!("{} cannot be updated: {reasons}", range_of(self.missing))
    }

    /// The number of targets that cannot be updated as a separate sentence; empty if all can be updated.
    pub(super) fn note(&self) -> String {
        if self.is_whole() {
            String::new()
        } else {
            format!(" {}.", self.missing())
        }
    }
}

/// A range of numbers in words: `5`, or `3–7`.
pub(super) fn range_of((low, high): (u64, u64)) -> String {
    let from = if low < high {
        format!("{}–", count(low as f64))
    } else {
        String::new()
    };
    format!("{from}{}", count(high as f64))
}

impl<'r> VariantResults<'r> {
    /// A variant without any results.
    #[cfg(test)]
    pub(super) fn bare(info: &'r VariantInfo) -> Self {
        Self {
            style: CurveStyle::default(),
            info,
            runs: Vec::new(),
            draws: Vec::new(),
            timeline: Vec::new(),
            clusters: Vec::new(),
            links: Vec::new(),
            workloads: Vec::new(),
            applications: Vec::new(),
            releases: Vec::new(),
            application_timeline: None,
            causes: Vec::new(),
            displayed: None,
            summary: Vec::new(),
            uncertain: Vec::new(),
            allowed_left: AllowedLeft::default(),
        }
    }

    /// The name of its product, and whether the variant is a bound.
    pub(super) fn product(&self) -> (&'r str, bool) {
        (&self.info.product, self.info.is_bound)
    }

    /// The variant's name in reports.
    pub(super) fn name(&self) -> &'r str {
        &self.info.variant
    }

    /// The summary of one measure. `None` if the results do not have it.
    pub(super) fn summary(&self, measure: Measure) -> Option<&'r SummaryRow> {
        self.summary
            .iter()
            .find(|row| row.measure == measure)
            .copied()
    }

    /// The intervals of one measure with drawn constants. `None` if constants were not drawn.
    pub(super) fn uncertain(&self, measure: Measure) -> Option<&'r UncertaintyRow> {
        self.uncertain
            .iter()
            .find(|row| row.measure == measure)
            .copied()
    }

    /// The median of one measure over the runs that have a value.
    pub(super) fn median(&self, measure: Measure) -> Option<f64> {
        self.summary(measure)?.median
    }

    /// The 95% interval of the median of one measure; its upper end is infinite if it exceeds every finished run.
    /// `None` without a measure or with too few runs.
    pub(super) fn median_interval(&self, measure: Measure) -> Option<(f64, f64)> {
        median_interval(self.summary(measure)?)
    }

    /// The median time until all reachable targets were ready.
    pub(super) fn ready_time(&self) -> Option<f64> {
        self.median(READY_TIME)
    }

    /// The median time until all reachable targets were ready, with its interval: `12.3 min [11.9–12.8]`.
    pub(super) fn ready_text(&self) -> Option<String> {
        let median = self.ready_time()?;
        let (low, high) = self.median_interval(READY_TIME).unwrap_or((median, median));
        Some(time_with_interval(median, low, high))
    }

    /// Runs in which all reachable targets were ready.
    pub(super) fn finished(&self) -> usize {
        self.runs.iter().filter(|run| run.is_done()).count()
    }

    /// Returns whether every run finished.
    pub(super) fn is_whole(&self) -> bool {
        self.finished() == self.runs.len()
    }

    /// The share of all possible runs that finish, with its exact 95% interval.
    pub(super) fn finishing_share(&self) -> Option<stats::Interval> {
        stats::share_interval(self.finished() as f64, self.runs.len(), 0.95)
    }

    /// The numbers of targets that could and could not be updated in the variant's runs.
    pub(super) fn reach(&self) -> ReachRange {
        ReachRange::of(&self.runs)
    }

    /// Returns whether any run rolled out a revision to a target where it is defective.
    pub(super) fn exposed(&self) -> bool {
        self.runs.iter().any(|run| run.exposed_targets > 0)
    }

    /// Returns whether any run left a target on the old revision.
    pub(super) fn leaves_behind(&self) -> bool {
        self.runs.iter().any(|run| run.left_behind > 0)
    }

    /// A run with the most frequent unfinished end: outcome and blocking rule. `None` if all runs finished.
    pub(super) fn unfinished(&self) -> Option<&'r RunRow> {
        let mut keyed = Vec::new();
        for run in self.unfinished_runs() {
            keyed.push(((run.outcome, &run.held_by, &run.held_detail), run));
        }
        let ends = grouped(keyed);
        let most = ends.iter().map(|(_, runs)| runs.len()).max()?;
        let (_, runs) = ends.iter().find(|(_, runs)| runs.len() == most)?;
        Some(runs[0])
    }

    /// The unfinished runs by outcome and blocking rule, the most frequent first.
    pub(super) fn ends(&self) -> Vec<Vec<&'r RunRow>> {
        let mut keyed = Vec::new();
        for run in self.unfinished_runs() {
            keyed.push(((run.outcome, &run.held_by), run));
        }
        let mut ends: Vec<Vec<&RunRow>> = Vec::new();
        for (_, runs) in grouped(keyed) {
            ends.push(runs);
        }
        ends.sort_by_key(|runs| std::cmp::Reverse(runs.len()));
        ends
    }

    /// The runs that did not finish.
    fn unfinished_runs(&self) -> Vec<&'r RunRow> {
        let mut runs = self.runs.clone();
        runs.retain(|run| !run.is_done());
        runs
    }

    /// The end of the last bin in which the value, or the upper end of its band, is greater than 0; at least one bin.
    /// 0 without a timeline.
    pub(super) fn active_until(
        &self,
        value: fn(&TimelineRow) -> f64,
        band: fn(&TimelineRow) -> (f64, f64),
    ) -> f64 {
        let last = self.timeline.iter().rposition(|row| {
            let (_, upper) = band(row);
            value(row) > 0.0 || upper > 0.0
        });
        match self.timeline.get(last.unwrap_or(0)) {
            Some(row) => row.t_s + row.bin_s,
            None => 0.0,
        }
    }
}

/// `more than 48 h` where all unfinished runs went on at the horizon; `never` where one of them stalled.
pub(super) fn latest(runs: &[&RunRow]) -> String {
    let mut latest_s: f64 = 0.0;
    for run in runs {
        match run.outcome {
            RunOutcome::Complete => {}
            RunOutcome::Stalled if run.is_done() => {}
            RunOutcome::Stalled => return "never".to_owned(),
            RunOutcome::Horizon => latest_s = latest_s.max(run.end_s),
        }
    }
    format!("more than {}", time(latest_s))
}

/// The distinct paths of settings that `resolved.yaml` marks as guesses.
pub(super) fn guesses_of(resolved: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for line in resolved.lines() {
        if !line.ends_with(": guess") || line.starts_with('#') {
            continue;
        }
        if let Some((path, _)) = line.trim_start().split_once(": ")
            && !paths.iter().any(|known| known == path)
        {
            paths.push(path.to_owned());
        }
    }
    paths
}

/// The 95% interval of a median; its upper end may be infinite. `None` with too few runs.
pub(super) fn median_interval(row: &SummaryRow) -> Option<(f64, f64)> {
    let low = row.median_ci95_low?;
    Some((low, row.median_ci95_high.unwrap_or(f64::INFINITY)))
}

/// The word for an entry of the fleet: cluster or instance.
pub(super) fn target_of<'i>(variants: impl IntoIterator<Item = &'i VariantInfo>) -> &'i str {
    let mut words = variants.into_iter().map(|info| info.target.as_str());
    words
        .all_equal_value()
        .ok()
        .filter(|word| !word.is_empty())
        .unwrap_or("cluster")
}

/// The distinct capacities of the registry's link, in ascending order.
pub(super) fn links<'v, 'r: 'v>(
    variants: impl IntoIterator<Item = &'v VariantResults<'r>>,
) -> Vec<f64> {
    let links = variants
        .into_iter()
        .filter_map(|variant| variant.info.registry_egress_bytes_per_s);
    links.sorted_by(f64::total_cmp).dedup().collect()
}

/// `1,000 clusters, 20 runs` for the subtitle; different numbers are given as a range. `297 of 301 clusters reachable`
/// if some cannot be updated.
pub(super) fn extent(variants: &[VariantResults<'_>]) -> String {
    let mut all: Vec<&RunRow> = Vec::new();
    let mut runs: Vec<u64> = Vec::new();
    for variant in variants {
        all.extend(&variant.runs);
        runs.push(variant.runs.len() as u64);
    }
    let reach = ReachRange::of(&all);
    let target = target_of(variants.iter().map(|variant| variant.info));
    let clusters = if reach.is_whole() {
        let targets: Vec<u64> = all.iter().map(|run| run.targets).collect();
        range_with_noun(&targets, target)
    } else {
        format!("{} {target}s reachable", reach.of_all())
    };
    format!("{clusters}, {}", range_with_noun(&runs, "run"))
}

/// `1 run`, `3–7 runs`.
fn range_with_noun(numbers: &[u64], noun: &str) -> String {
    let (low, high) = least_and_most(numbers);
    let s = if high == 1 { "" } else { "s" };
    format!("{} {noun}{s}", range_of((low, high)))
}
