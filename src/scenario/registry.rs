//! `registry` and `registries`: presets, and checks of several fields.

use std::sync::Arc;

use super::check::Checker;
use crate::document::csv::{broken, byte_of, cell_at, reader};
use crate::document::path::Path;
use crate::document::problem::{OrProblem, Source, some_of};
use crate::document::wording::Wording;
use crate::units::{BytesPerSec, SimDuration};
use crate::world::{
    HostSpec, NamedRegistry, OtherLoad, OverLimit, Quantity, RegistryPreset, RegistrySpec,
    RequestLimit, WindowSpec,
};

/// Settings that are laid over those of a preset field by field; others replace the preset's.
const NESTED: &[&str] = &["token", "blobs"];

/// The name of `registry` in results.
const FIRST: &str = "registry";

/// The form of the file of a series.
const SERIES_HELP: &str =
    "the first column has times in seconds, another one rates: `10 Mbit/s`, or bytes per second";

impl Checker<'_> {
    /// The registries beside the first.
    pub(super) fn registries(
        &mut self,
        written: &[NamedRegistry],
        starts: SimDuration,
    ) -> Vec<NamedRegistry> {
        let list = Path::of("registries");
        self.unique(
            &list,
            written
                .iter()
                .map(|registry| registry.name.as_str())
                .enumerate(),
        );
        for (index, named) in written
            .iter()
            .enumerate()
            .filter(|(_, named)| named.name == FIRST)
        {
            let message = format!(
                "`{}` is the name of the first registry in results",
                named.name
            );
            self.report(
                &list.index(index).key("name"),
                message,
                "give this one another name",
            );
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

    /// The registry at `path`: what is written there, over the values of its preset. The run starts at a time of day.
    pub(super) fn registry(
        &mut self,
        path: &Path,
        preset: Option<RegistryPreset>,
        starts: SimDuration,
    ) -> RegistrySpec {
        let mut registry = self.over(
            path,
            preset.map_or_else(RegistrySpec::default, RegistryPreset::spec),
            NESTED,
        );
        let is_set = |checker: &Self, key: &str| checker.is_set(&path.key(key));
        if is_set(self, "cdn") && !is_set(self, "perConnection") {
            registry.per_connection = None;
        }
        if let Some(cdn) = &mut registry.cdn {
            let path = path.key("cdn").key("warm");
            if !self.is_set(&path) {
                cdn.warm = if cdn.warm < cdn.cold {
                    cdn.cold
                } else {
                    cdn.warm
                };
            } else if cdn.warm < cdn.cold {
                let message = format!(
                    "a warm connection ({}) carries less than a cold one ({})",
                    cdn.warm, cdn.cold
                );
                self.report(&path, message, "raise `warm` or lower `cold`");
            }
        }
        self.host(path, &mut registry.api);
        if is_set(self, "serviceTime") && !self.is_set(&path.key("token").key("serviceTime")) {
            registry.token.service_time = registry.api.service_time.clone();
        }
        self.host(&path.key("token"), &mut registry.token);
        self.host(&path.key("blobs"), &mut registry.blobs.host);
        if let Some(first_byte) = &mut registry.blobs.cold_first_byte {
            self.resolve(&path.key("blobs").key("coldFirstByte"), first_byte);
        }
        self.load(path, &mut registry, starts);
        for (key, limit) in [
            ("manifestRequests", &mut registry.manifest_limit),
            ("blobRequests", &mut registry.blob_limit),
        ] {
            fill_burst(limit);
            if limit.is_some_and(|limit| limit.answer == OverLimit::Unavailable) {
                let help = "remove `answer`, or set it in `requests`";
                self.report(
                    &path.key(key).key("answer"),
                    format!("`{key}` is always answered with 429"),
                    help,
                );
            }
        }
        let blobs = path.key("blobs");
        let has_host = ["requests", "connections", "workers"]
            .iter()
            .any(|key| self.is_set(&blobs.key(key)));
        if !registry.blobs.redirect && has_host {
            let message = "without a redirect the API host sends the blobs, so the limits of this host have no effect";
            self.report(
                &blobs.key("redirect"),
                message,
                "write the limits beside `blobs`, or `redirect: true`",
            );
        }
        self.windows(&path.key("windows"), &mut registry.windows);
        registry
    }

    /// Checks the burst and what others take, and reads the file of a series.
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

    /// Checks the windows and sorts them by time.
    fn windows(&mut self, list: &Path, windows: &mut [WindowSpec]) {
        let mut sorted: Vec<(usize, WindowSpec)> = windows.iter().copied().enumerate().collect();
        for (index, window) in &sorted {
            let path = list.index(*index);
            let shares = ["egress", "requests"]
                .iter()
                .any(|key| self.is_set(&path.key(key)));
            if window.down && shares {
                let help =
                    "write `down: true` alone, or the remaining shares of `egress` and `requests`";
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
            let ((earlier, before), (index, window)) = (pair[0], pair[1]);
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

/// The rates of a CSV file from their times on, which start at 0.
fn read_series(
    source: &Arc<Source>,
    column: Option<&str>,
) -> OrProblem<Vec<(SimDuration, BytesPerSec)>> {
    let text = source.text.as_str();
    let at = |byte: usize, field: &str, message: Wording, help: Wording| {
        Box::new(source.at(byte..byte, field, message).with_help(help))
    };
    let broken = broken(source, SERIES_HELP);
    let mut reader = reader(source)?;
    let names: Vec<String> = reader
        .headers()
        .map_err(&broken)?
        .iter()
        .map(str::to_owned)
        .collect();
    let found = column.map_or(Some(1), |column| {
        names.iter().position(|name| name == column)
    });
    let Some((index, name)) = found.and_then(|index| Some((index, names.get(index)?))) else {
        let name = column.map_or_else(|| "of rates".to_owned(), |column| format!("`{column}`"));
        return Err(at(
            0,
            "",
            // The name is of the experiment, and the names in the fix are of the file.
            Wording::quoting(
                format!("the file has no column {name}"),
                "the file has no such column",
            ),
            format!("it has {}", some_of(&names)).into(),
        ));
    };
    let mut steps: Vec<(SimDuration, BytesPerSec)> = Vec::new();
    let mut start = None;
    for record in reader.records() {
        let record = record.map_err(&broken)?;
        let wrong = |index: usize, message: Wording| {
            Err(at(
                cell_at(text, byte_of(record.position()), index),
                &names[index],
                message,
                SERIES_HELP.into(),
            ))
        };
        let time = record
            .get(0)
            .and_then(|time| time.parse::<f64>().ok())
            .filter(|time| time.is_finite());
        let Some(time) = time else {
            return wrong(0, "a row must begin with a time in seconds".into());
        };
        let Some(rate) = record.get(index).and_then(rate) else {
            let cell = record.get(index).unwrap_or_default();
            return wrong(
                index,
                Wording::quoting(
                    format!("invalid `{name}`: `{cell}`: it must be a rate, 0 or more"),
                    "a cell must be a rate, 0 or more",
                ),
            );
        };
        let since = time - *start.get_or_insert(time);
        if since < 0.0
            || steps
                .last()
                .is_some_and(|(last, _)| SimDuration::from_secs_f64(since) < *last)
        {
            return wrong(0, "a row must not be earlier than the one before it".into());
        }
        steps.push((SimDuration::from_secs_f64(since), rate));
    }
    if steps.is_empty() {
        Err(at(
            0,
            "",
            "the file has no rates".into(),
            SERIES_HELP.into(),
        ))
    } else {
        Ok(steps)
    }
}

/// A rate with a unit, or in bytes per second.
fn rate(cell: &str) -> Option<BytesPerSec> {
    match cell.parse::<f64>() {
        Ok(rate) if (0.0..=BytesPerSec::UNLIMITED.get()).contains(&rate) => {
            Some(BytesPerSec::new(rate))
        }
        Ok(_) => None,
        Err(_) => Quantity::read(cell).ok(),
    }
}

/// By default a bucket holds the tokens of one second.
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
    fn a_series_is_read_from_its_first_time_on() {
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
    fn a_wrong_series_is_refused_with_row_and_column() {
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
                "s.csv:2:3: a quote that opens a cell must be closed",
            ),
            ("t,v\n", None, "s.csv:1:1: the file has no rates"),
        ] {
            let error = read(text, column).expect_err(text);
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
    }
}
