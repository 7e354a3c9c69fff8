//! `registry` and `registries`: presets, and checks of several fields.

use super::check::Checker;
use crate::document::path::Path;
use crate::world::{HostSpec, NamedRegistry, OverLimit, RegistryPreset, RegistrySpec, RequestLimit, WindowSpec};

/// Settings that are laid over those of a preset field by field; others replace the preset's.
const NESTED: &[&str] = &["token", "blobs"];

/// The name of `registry` in results.
const FIRST: &str = "registry";

impl Checker<'_> {
    /// The registries beside the first.
    pub(super) fn registries(&mut self, written: &[NamedRegistry]) -> Vec<NamedRegistry> {
        let list = Path::of("registries");
        self.unique(&list, written.iter().map(|registry| registry.name.as_str()).enumerate());
        for (index, named) in written.iter().enumerate().filter(|(_, named)| named.name == FIRST) {
            let message = format!("`{}` is the name of the first registry in results", named.name);
            self.report(&list.index(index).key("name"), message, "give this one another name");
        }
        let mut registries = written.to_vec();
        for (index, named) in registries.iter_mut().enumerate() {
            named.spec = self.registry(&list.index(index).key("registry"), named.spec.preset);
        }
        registries
    }

    /// The registry at `path`: what is written there, over the values of its preset.
    pub(super) fn registry(&mut self, path: &Path, preset: Option<RegistryPreset>) -> RegistrySpec {
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

/// By default a bucket holds the tokens of one second.
fn fill_burst(limit: &mut Option<RequestLimit>) {
    if let Some(limit) = limit.as_mut().filter(|limit| limit.burst == 0) {
        limit.burst = (limit.rate.get().ceil() as u32).max(1);
    }
}
