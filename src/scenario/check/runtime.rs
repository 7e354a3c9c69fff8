//! The container runtime: a preset, and what is written over it.

use super::super::file::NodeFile;
use super::super::file_runtime::{RetryFile, RuntimeFile, SlotScopeFile};
use super::Checker;
use crate::document::path::Path;
use crate::world::{RetrySpec, RuntimeSpec, SlotScope};

/// More requests for one than this are a slip.
const MOST_ATTEMPTS: u32 = 1000;

impl Checker<'_> {
    pub(super) fn runtime(&mut self, path: &Path, written: &NodeFile) -> RuntimeSpec {
        let preset = match written.runtime {
            Some(RuntimeFile::Containerd24) | None => RuntimeSpec::CONTAINERD_2_4,
            Some(RuntimeFile::Containerd21) => RuntimeSpec::CONTAINERD_2_1,
            Some(RuntimeFile::Containerd20) => RuntimeSpec::CONTAINERD_2_0,
            Some(RuntimeFile::Containerd17) => RuntimeSpec::CONTAINERD_1_7,
            Some(RuntimeFile::CriO) => RuntimeSpec::CRI_O,
        };
        let dial_timeout = written.dial_timeout.map_or(preset.dial_timeout, |span| span.0);
        let no_progress_timeout = written.no_progress_timeout.map_or(preset.no_progress_timeout, |span| span.0);
        RuntimeSpec {
            download_slots: self.count(&path.key("downloadSlots"), written.download_slots, preset.download_slots),
            slot_scope: match written.slot_scope {
                Some(SlotScopeFile::Image) => SlotScope::Image,
                Some(SlotScopeFile::Node) => SlotScope::Node,
                None => preset.slot_scope,
            },
            retry_429: self.retry(&path.key("retry429"), written.retry_429.as_ref(), preset.retry_429),
            retry_5xx: written.retry_5xx.unwrap_or(preset.retry_5xx),
            retry_transport: self.retry(
                &path.key("retryTransport"),
                written.retry_transport.as_ref(),
                preset.retry_transport,
            ),
            dial_timeout: self.positive(&path.key("dialTimeout"), dial_timeout),
            no_progress_timeout: no_progress_timeout.map(|span| self.positive(&path.key("noProgressTimeout"), span)),
            resume: written.resume.unwrap_or(preset.resume),
            merge_pulls: written.merge_pulls.unwrap_or(preset.merge_pulls),
        }
    }

    fn retry(&mut self, path: &Path, written: Option<&RetryFile>, preset: RetrySpec) -> RetrySpec {
        let Some(written) = written else { return preset };
        let delay = written.delay.map_or(preset.delay, |span| span.0);
        let unsaid = if written.delay.is_some() { delay } else { preset.delay_max };
        let delay_max = written.delay_max.map_or(unsaid, |span| span.0);
        if delay_max < delay {
            let message = format!("the longest wait ({delay_max}) is shorter than the first ({delay})");
            self.report(&path.key("delayMax"), message, "raise `delayMax` or lower `delay`");
        }
        let attempts = self.count(&path.key("attempts"), written.attempts, preset.attempts);
        if attempts > MOST_ATTEMPTS {
            let help = format!("write at most {MOST_ATTEMPTS}");
            self.report(&path.key("attempts"), format!("{attempts} requests for one"), &help);
        }
        let honours_retry_after = written.honours_retry_after.unwrap_or(preset.honours_retry_after);
        RetrySpec { attempts, delay, delay_max, honours_retry_after }
    }
}
