//! `registry` and `registries`: presets, and checks across several fields.

use std::sync::Arc;

use super::check::Checker;
use crate::document::csv::{broken, byte_of, cell_at, reader};
use crate::document::path::Path;
use crate::document::problem::{OrProblem, Problem, Source, some_of};
use crate::document::wording::Wording;
use crate::units::{BytesPerSec, SimDuration};
use crate::world::{
    BlobScope, CdnSpec, HostSpec, NamedRegistry, OtherLoad, OverLimit, Quantity, RegistryPreset,
    RegistrySpec, RequestLimit, WindowSpec, WorldSpec,
};

/// Groups of settings that override a preset's groups field by field. Other settings replace the preset's setting as a
/// whole.
const NESTED: &[&str] = &["token", "blobs"];

/// The name of `registry` in results, and for images.
pub(super) const FIRST_REGISTRY: &str = "registry";

/// The required format of a series file.
const SERIES_HELP: &str =
    "the first column has times in seconds, another one rates: `10 Mbit/s`, or bytes per second";

impl Checker<'_> {
    /// Checks all registries except the first.
    pub(super) fn registries(
        &mut self,
        written: &[NamedRegistry],
        starts: SimDuration,
    ) -> Vec<NamedRegistry> {
        let list = Path::of("registries");
        let names = written.iter().map(|registry| registry.name.as_str());
        self.unique(&list, names.enumerate());
        for (index, named) in written.iter().enumerate() {
            if named.name == FIRST_REGISTRY {
                let message =
                    format!("`{FIRST_REGISTRY}` is the name of the first registry in results");
                let path = list.index(index).key("name");
                self.report(&path, message, "use another name for this one");
            }
        }
        let mut registries = written.to_vec();
        for (index, named) in registries.iter_mut().enumerate() {
            named.spec = self.registry(
                &list.index(index).key("registry"),
                named.spec.preset,
                starts,
            );
        }
        registries
    }

    /// Returns the registry at `path`. Settings in the file override those of its preset. `starts`: the time of day at
    /// which the run starts.
    pub(super) fn registry(
        &mut self,
        path: &Path,
        preset: Option<RegistryPreset>,
        starts: SimDuration,
    ) -> RegistrySpec {
        let base = match preset {
            Some(preset) => preset.spec(),
            None => RegistrySpec::default(),
        };
        let mut registry = self.over(path, base, NESTED);
        if self.is_set(&path.key("cdn")) && !self.is_set(&path.key("perConnection")) {
            registry.per_connection = None;
        }
        if let Some(cdn) = &mut registry.cdn {
            self.warm_rate(&path.key("cdn").key("warm"), cdn);
        }
        self.host(path, &mut registry.api);
        let token_time = path.key("token").key("serviceTime");
        if self.is_set(&path.key("serviceTime")) && !self.is_set(&token_time) {
            registry.token.service_time = registry.api.service_time.clone();
        }
        self.host(&path.key("token"), &mut registry.token);
        self.host(&path.key("blobs"), &mut registry.blobs.host);
        if let Some(first_byte) = &mut registry.blobs.cold_first_byte {
            self.resolve(&path.key("blobs").key("coldFirstByte"), first_byte);
        }
        if let Some(rate) = &mut registry.per_blob {
            let path = path.key("perBlob");
            self.resolve(&path, rate);
            self.positive_rate(&path, rate);
        }
        self.load(path, &mut registry, starts);
        self.limit_of_kind(path, "manifestRequests", &mut registry.manifest_limit);
        self.limit_of_kind(path, "blobRequests", &mut registry.blob_limit);
        let blobs = path.key("blobs");
        let has_host = ["requests", "connections", "workers", "serviceTime"]
            .iter()
            .any(|key| self.is_set(&blobs.key(key)));
        if !registry.blobs.redirect && has_host {
            let message = "without a redirect the API host sends the blobs, so the settings of this host have no effect";
            let help = "write the settings next to `blobs`, or `redirect: true`";
            self.report(&blobs.key("redirect"), message, help);
        }
        self.windows(&path.key("windows"), &mut registry.windows);
        registry
    }

    /// Checks that there are regions for rates of blobs that each region has for itself.
    pub(super) fn blob_scopes(&mut self, world: &WorldSpec) {
        if !world.regions.is_empty() {
            return;
        }
        for (at, registry) in world.all_registries().enumerate() {
            let path = match at {
                0 => Path::of("registry"),
                other => Path::of("registries").index(other - 1).key("registry"),
            };
            if registry.per_blob_scope == BlobScope::Region {
                let message = "without `regions` the scope has no effect";
                let help = "name the regions of the clusters in `regions`, or remove the scope";
                self.report(&path.key("perBlobScope"), message, help);
            }
        }
    }

    /// Checks the rate of a warm connection at `path`. If it is not set, it is at least the rate of a cold connection.
    fn warm_rate(&mut self, path: &Path, cdn: &mut CdnSpec) {
        if cdn.warm >= cdn.cold {
            return;
        }
        if !self.is_set(path) {
            cdn.warm = cdn.cold;
            return;
        }
        let message = format!(
            "a warm connection ({}) carries less than a cold one ({})",
            cdn.warm, cdn.cold
        );
        self.report(path, message, "raise `warm` or lower `cold`");
    }

    /// Checks the limit on one kind of request.
    fn limit_of_kind(&mut self, path: &Path, key: &str, limit: &mut Option<RequestLimit>) {
        fill_burst(limit);
        if limit.is_some_and(|limit| limit.answer == OverLimit::Unavailable) {
            let message = format!("`{key}` is always answered with 429");
            let help = "remove `answer`, or set it in `requests`";
            self.report(&path.key(key).key("answer"), message, help);
        }
    }

    /// Checks the burst and the load by others, and reads the file of a series.
    fn load(&mut self, path: &Path, registry: &mut RegistrySpec, starts: SimDuration) {
        let egress = registry.egress;
        if let Some(burst) = registry.burst.filter(|burst| burst.baseline >= egress) {
            let message = format!(
                "the baseline ({}) must be below `egress` ({egress})",
                burst.baseline
            );
            self.report(
                &path.key("burst").key("baseline"),
                message,
                "lower `baseline`, or remove `burst`",
            );
        }
        let path = path.key("otherLoad");
        let (key, at) = match &mut registry.other_load {
            None | Some(OtherLoad::Pulls(_)) => return,
            Some(OtherLoad::Constant(_)) => ("constant", path.key("constant")),
            Some(OtherLoad::Daily(daily)) => {
                daily.starts = starts;
                if daily.rates.is_empty() || daily.rates.len() > 1440 {
                    let help =
                        "write the rates of equal parts of the day, such as 24 for its hours";
                    self.report(
                        &path.key("daily").key("rates"),
                        "a day needs 1 to 1,440 rates",
                        help,
                    );
                    return;
                }
                ("daily", path.key("daily").key("rates"))
            }
            Some(OtherLoad::Series(series)) => {
                let path = path.key("series");
                let Some(source) = self.context.file(&series.file, &path.key("file")) else {
                    return;
                };
                let read = read_series(&source, series.column.as_deref());
                let Ok(steps) = read.map_err(|problem| self.context.problems.push(*problem)) else {
                    return;
                };
                series.steps = steps;
                self.context.files.copy_whole(&series.file);
                ("series", path.key("file"))
            }
        };
        let peak = registry
            .other_load
            .as_ref()
            .map_or(BytesPerSec::ZERO, OtherLoad::peak);
        if peak >= egress {
            let message =
                format!("the other load (up to {peak}) must be below `egress` ({egress})");
            self.report(&at, message, &format!("lower `{key}`, or raise `egress`"));
        }
    }

    fn host(&mut self, path: &Path, host: &mut HostSpec) {
        self.resolve(&path.key("serviceTime"), &mut host.service_time);
        fill_burst(&mut host.request_limit);
    }

    /// Checks the time windows and sorts them by time.
    fn windows(&mut self, list: &Path, windows: &mut [WindowSpec]) {
        let mut sorted: Vec<(usize, WindowSpec)> = windows.iter().copied().enumerate().collect();
        for (index, window) in &sorted {
            let path = list.index(*index);
            let shares = ["egress", "requests"]
                .iter()
                .any(|key| self.is_set(&path.key(key)));
            if window.down && shares {
                let help =
                    "write only `down: true`, or the remaining shares of `egress` and `requests`";
                self.report(
                    &path.key("down"),
                    "a registry that is down sends and answers nothing",
                    help,
                );
            } else if !window.down && !shares && self.is_untouched(&path) {
                let help = "write `down: true`, `egress: 10%` or `requests: 20%`";
                self.report(&path, "the window has no effect", help);
            }
        }
        sorted.sort_by_key(|(_, window)| window.from);
        for pair in sorted.windows(2) {
            let (earlier, before) = pair[0];
            let (index, window) = pair[1];
            if window.begins() < before.ends() {
                let message = format!("it begins before the end of `{list}[{earlier}]`");
                self.report(
                    &list.index(index).key("from"),
                    message,
                    "windows must not overlap",
                );
            }
        }
        for (place, (_, window)) in windows.iter_mut().zip(sorted) {
            *place = window;
        }
    }
}

/// Reads rates and their start times from a CSV file. The first time is 0.
fn read_series(
    source: &Arc<Source>,
    column: Option<&str>,
) -> OrProblem<Vec<(SimDuration, BytesPerSec)>> {
    let broken = broken(source, SERIES_HELP);
    let mut reader = reader(source)?;
    let headers = reader.headers().map_err(&broken)?;
    let names: Vec<String> = headers.iter().map(str::to_owned).collect();
    let Some(index) = column_of_rates(&names, column) else {
        return Err(Box::new(no_column(source, &names, column)));
    };
    let series = SeriesFile {
        source,
        names: &names,
        column: index,
    };
    let mut steps: Vec<(SimDuration, BytesPerSec)> = Vec::new();
    let mut start = None;
    for record in reader.records() {
        let record = record.map_err(&broken)?;
        let (time, rate) = series.row(&record)?;
        let since = time - *start.get_or_insert(time);
        let is_earlier = steps
            .last()
            .is_some_and(|(last, _)| SimDuration::from_secs_f64(since) < *last);
        if since < 0.0 || is_earlier {
            let message = "a row must not be earlier than the previous row";
            return Err(series.wrong(&record, 0, message));
        }
        steps.push((SimDuration::from_secs_f64(since), rate));
    }
    if steps.is_empty() {
        let problem = source.at(0..0, "", "the file has no rates");
        return Err(Box::new(problem.with_help(SERIES_HELP)));
    }
    Ok(steps)
}

/// Returns the index of the column with the rates: the named column, or else the second one.
fn column_of_rates(names: &[String], column: Option<&str>) -> Option<usize> {
    match column {
        Some(column) => names.iter().position(|name| name == column),
        None => (names.len() > 1).then_some(1),
    }
}

/// Returns the problem with a series file that lacks the column of rates.
fn no_column(source: &Arc<Source>, names: &[String], column: Option<&str>) -> Problem {
    let name = match column {
        Some(column) => format!("`{column}`"),
        None => "of rates".to_owned(),
    };
    // The message quotes the experiment, and the fix quotes the file.
    let message = Wording::quoting(
        format!("the file has no column {name}"),
        "the file has no such column",
    );
    let problem = source.at(0..0, "", message);
    problem.with_help(format!("it has {}", some_of(names)))
}

/// A series file while its rows are being read.
struct SeriesFile<'s> {
    source: &'s Arc<Source>,
    /// The names of the file's columns.
    names: &'s [String],
    /// The index of the column with the rates.
    column: usize,
}

impl SeriesFile<'_> {
    /// Returns the time in a row, in seconds, and the rate.
    fn row(&self, record: &csv::StringRecord) -> OrProblem<(f64, BytesPerSec)> {
        let time = record.get(0).and_then(|time| time.parse::<f64>().ok());
        let Some(time) = time.filter(|time| time.is_finite()) else {
            let message = "a row must begin with a time in seconds";
            return Err(self.wrong(record, 0, message));
        };
        let cell = record.get(self.column).unwrap_or_default();
        let Some(rate) = rate(cell) else {
            let name = &self.names[self.column];
            let message = Wording::quoting(
                format!("invalid `{name}`: `{cell}`: it must be a rate, 0 or more"),
                "a cell must be a rate, 0 or more",
            );
            return Err(self.wrong(record, self.column, message));
        };
        Ok((time, rate))
    }

    /// Returns the problem with a cell.
    fn wrong(
        &self,
        record: &csv::StringRecord,
        index: usize,
        message: impl Into<Wording>,
    ) -> Box<Problem> {
        let byte = cell_at(&self.source.text, byte_of(record.position()), index);
        let problem = self
            .source
            .at(byte..byte, self.names[index].as_str(), message);
        Box::new(problem.with_help(SERIES_HELP))
    }
}

/// Parses a rate with a unit, or in bytes per second.
fn rate(cell: &str) -> Option<BytesPerSec> {
    match cell.parse::<f64>() {
        Ok(rate) if (0.0..=BytesPerSec::UNLIMITED.get()).contains(&rate) => {
            Some(BytesPerSec::new(rate))
        }
        Ok(_) => None,
        Err(_) => Quantity::read(cell).ok(),
    }
}

/// Sets the default burst, which is the number of tokens per second.
fn fill_burst(limit: &mut Option<RequestLimit>) {
    if let Some(limit) = limit.as_mut().filter(|limit| limit.burst == 0) {
        limit.burst = (limit.rate.get().ceil() as u32).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, column: Option<&str>) -> Result<Vec<(SimDuration, BytesPerSec)>, String> {
        let source = Arc::new(Source::new("s.csv", text));
        read_series(&source, column).map_err(|problem| problem.to_string())
    }

    #[test]
    fn times_of_a_series_count_from_its_first_row() {
        let steps = read("t,a,b\n5,x,1e3\n7.5,y,8 Mbit/s\n", Some("b")).expect("a series");
        let rates = [BytesPerSec::new(1000.0), BytesPerSec::from_mbit(8.0)];
        assert_eq!(
            steps,
            [
                (SimDuration::ZERO, rates[0]),
                (SimDuration::from_millis(2500), rates[1])
            ]
        );
    }

    #[test]
    fn an_invalid_series_is_refused_with_row_and_column() {
        for (text, column, message) in [
            (
                "t,v\n0,-5\n",
                None,
                "s.csv:2:3: v: invalid `v`: `-5`: it must be a rate",
            ),
            (
                "t,v\n0,5\n1,NaN\n",
                None,
                "s.csv:3:3: v: invalid `v`: `NaN`",
            ),
            ("t,v\n0,1e300\n", None, "s.csv:2:3: v: invalid `v`: `1e300`"),
            (
                "t,v\nx,5\n",
                None,
                "s.csv:2:1: t: a row must begin with a time in seconds",
            ),
            (
                "t,v\n2,5\n1,5\n",
                None,
                "s.csv:3:1: t: a row must not be earlier",
            ),
            (
                "t\n0\n",
                None,
                "s.csv:1:1: the file has no column of rates (help: it has `t`)",
            ),
            (
                "t,v\n0,5\n",
                Some("w"),
                "s.csv:1:1: the file has no column `w` (help: it has `t`, `v`)",
            ),
            ("t,v\n0\n", None, "s.csv:2:1: not CSV"),
            (
                "t,v\n0,\"5\n",
                None,
                "s.csv:2:3: a quoted cell must end with a quote",
            ),
            ("t,v\n", None, "s.csv:1:1: the file has no rates"),
        ] {
            let error = read(text, column).expect_err(text);
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
    }
}
