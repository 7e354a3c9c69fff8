//! `registry` and `registries`: presets, and checks of several fields.

use super::check::Checker;
use crate::document::csv::{CLOSE_QUOTE, UNCLOSED_QUOTE, unclosed_quote};
use crate::document::path::Path;
use crate::units::{BytesPerSec, SimDuration};
use crate::world::{
    HostSpec, NamedRegistry, OtherLoad, OverLimit, Quantity, RegistryPreset, RegistrySpec, RequestLimit, WindowSpec,
};

/// Settings that are laid over those of a preset field by field; others replace the preset's.
const NESTED: &[&str] = &["token", "blobs"];

/// The name of `registry` in results.
const FIRST: &str = "registry";

impl Checker<'_> {
    /// The registries beside the first.
    pub(super) fn registries(&mut self, written: &[NamedRegistry], starts: SimDuration) -> Vec<NamedRegistry> {
        let list = Path::of("registries");
        self.unique(&list, written.iter().map(|registry| registry.name.as_str()).enumerate());
        for (index, named) in written.iter().enumerate().filter(|(_, named)| named.name == FIRST) {
            let message = format!("`{}` is the name of the first registry in results", named.name);
            self.report(&list.index(index).key("name"), message, "give this one another name");
        }
        let mut registries = written.to_vec();
        for (index, named) in registries.iter_mut().enumerate() {
            named.spec = self.registry(&list.index(index).key("registry"), named.spec.preset, starts);
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
        let mut registry = self.over(path, preset.map_or_else(RegistrySpec::default, RegistryPreset::spec), NESTED);
        let is_set = |checker: &Self, key: &str| checker.is_set(&path.key(key));
        if is_set(self, "cdn") && !is_set(self, "perConnection") {
            registry.per_connection = None;
        }
        if let Some(cdn) = &mut registry.cdn {
            let path = path.key("cdn").key("warm");
            if !self.is_set(&path) {
                cdn.warm = if cdn.warm < cdn.cold { cdn.cold } else { cdn.warm };
            } else if cdn.warm < cdn.cold {
                let message = format!("a warm connection ({}) carries less than a cold one ({})", cdn.warm, cdn.cold);
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
        for (key, limit) in
            [("manifestRequests", &mut registry.manifest_limit), ("blobRequests", &mut registry.blob_limit)]
        {
            fill_burst(limit);
            if limit.is_some_and(|limit| limit.answer == OverLimit::Unavailable) {
                let help = "remove `answer`, or set it in `requests`";
                self.report(&path.key(key).key("answer"), format!("`{key}` is always answered with 429"), help);
            }
        }
        let blobs = path.key("blobs");
        let has_host = ["requests", "connections", "workers"].iter().any(|key| self.is_set(&blobs.key(key)));
        if !registry.blobs.redirect && has_host {
            let message = "without a redirect the API host sends the blobs, so the limits of this host have no effect";
            self.report(&blobs.key("redirect"), message, "write the limits beside `blobs`, or `redirect: true`");
        }
        self.windows(&path.key("windows"), &mut registry.windows);
        registry
    }

    /// Checks the burst and what others take, and reads the file of a series.
    fn load(&mut self, path: &Path, registry: &mut RegistrySpec, starts: SimDuration) {
        let egress = registry.egress;
        if let Some(burst) = registry.burst.filter(|burst| burst.baseline >= egress) {
            let message = format!("the baseline ({}) must be below `egress` ({egress})", burst.baseline);
            self.report(&path.key("burst").key("baseline"), message, "lower `baseline`, or remove `burst`");
        }
        let path = path.key("otherLoad");
        let (key, at) = match &mut registry.other_load {
            None | Some(OtherLoad::Pulls(_)) => return,
            Some(OtherLoad::Constant(_)) => ("constant", path.key("constant")),
            Some(OtherLoad::Daily(daily)) => {
                daily.starts = starts;
                if daily.rates.is_empty() || daily.rates.len() > 1440 {
                    let help = "write the rates of equal parts of the day, such as 24 for its hours";
                    self.report(&path.key("daily").key("rates"), "a day needs 1 to 1,440 rates", help);
                    return;
                }
                ("daily", path.key("daily").key("rates"))
            }
            Some(OtherLoad::Series(series)) => {
                let path = path.key("series");
                let Some(source) = self.context.file(&series.file, &path.key("file")) else { return };
                match read_series(&source.text, series.column.as_deref()) {
                    Ok(steps) => series.steps = steps,
                    Err((message, help)) => {
                        self.report(&path.key("file"), message, &help);
                        return;
                    }
                }
                ("series", path.key("file"))
            }
        };
        let peak = registry.other_load.as_ref().map_or(BytesPerSec::ZERO, OtherLoad::peak);
        if peak >= egress {
            let message = format!("the other load (up to {peak}) must be below `egress` ({egress})");
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
            let shares = ["egress", "requests"].iter().any(|key| self.is_set(&path.key(key)));
            if window.down && shares {
                let help = "write `down: true` alone, or the remaining shares of `egress` and `requests`";
                self.report(&path.key("down"), "a registry that is down sends and answers nothing", help);
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
                self.report(&list.index(index).key("from"), message, "windows must not overlap");
            }
        }
        for (place, (_, window)) in windows.iter_mut().zip(sorted) {
            *place = window;
        }
    }
}

/// The rates of a CSV file from their times on, which start at 0; or what is wrong, and the fix.
fn read_series(text: &str, column: Option<&str>) -> Result<Vec<(SimDuration, BytesPerSec)>, (String, String)> {
    let wrong = |message: String| (message, "the first column has times in seconds, another one rates".to_owned());
    if let Some(byte) = unclosed_quote(text) {
        let line = text[..byte].lines().count().max(1);
        return Err((format!("line {line}: {UNCLOSED_QUOTE}"), CLOSE_QUOTE.to_owned()));
    }
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let names: Vec<String> =
        reader.headers().map_err(|error| wrong(format!("not CSV: {error}")))?.iter().map(str::to_owned).collect();
    let index = match column {
        None => 1,
        Some(column) => names
            .iter()
            .position(|name| name == column)
            .ok_or_else(|| (format!("the file has no column `{column}`"), format!("it has {}", names.join(", "))))?,
    };
    let mut steps: Vec<(SimDuration, BytesPerSec)> = Vec::new();
    let mut start = None;
    for (line, record) in (2..).zip(reader.records()) {
        let record = record.map_err(|error| wrong(format!("not CSV: {error}")))?;
        let time = record.get(0).and_then(|time| time.parse::<f64>().ok()).filter(|time| time.is_finite());
        let time = time.ok_or_else(|| wrong(format!("line {line} must begin with a time in seconds")))?;
        let cell = record.get(index).unwrap_or_default();
        let bare = cell.parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate >= 0.0).map(BytesPerSec::new);
        let rate = match bare {
            Some(rate) => rate,
            None => Quantity::read(cell).map_err(|_| wrong(format!("line {line}: `{cell}` is not a rate")))?,
        };
        let since = time - *start.get_or_insert(time);
        if since < 0.0 || steps.last().is_some_and(|(last, _)| SimDuration::from_secs_f64(since) < *last) {
            return Err(wrong(format!("line {line} is earlier than the line before it")));
        }
        steps.push((SimDuration::from_secs_f64(since), rate));
    }
    if steps.is_empty() { Err(wrong("the file has no rates".to_owned())) } else { Ok(steps) }
}

/// By default a bucket holds the tokens of one second.
fn fill_burst(limit: &mut Option<RequestLimit>) {
    if let Some(limit) = limit.as_mut().filter(|limit| limit.burst == 0) {
        limit.burst = (limit.rate.get().ceil() as u32).max(1);
    }
}
