//! The kubelet's messages about images, in the formats of all its versions.
//!
//! Source: `pkg/kubelet/images/image_manager.go` of kubernetes/kubernetes. The message `Successfully pulled image "x"`
//! was extended by ` in 1.5s` in 1.19, by ` (2.3s including waiting)` in 1.27, and by `. Image size: 123 bytes.` in
//! 1.30.
//!
//! The image size is the compressed size of the layers, as the runtime reports it.

use crate::units::{SimDuration, WithUnit};

/// A message about an image.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ImageMessage {
    /// The kubelet queues a pull.
    Pulling,
    /// A pull has ended, or no pull was needed.
    Pulled(PulledMessage),
    /// A pull has failed, or is in back-off after a failure.
    Failed,
}

/// The kubelet's message about an image that is now present.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PulledMessage {
    pub(super) image: String,
    /// Whether no pull was needed.
    pub(super) was_present: bool,
    /// Duration of the pull. It includes the wait if the kubelet does not print the waiting time.
    pub(super) took_s: Option<f64>,
    /// Duration since the kubelet's request, including the wait for other pulls on the node.
    pub(super) with_waiting_s: Option<f64>,
    /// Compressed size of the image in bytes.
    pub(super) size: Option<u64>,
}

/// Parses a message. `None`: the message is not about an image.
pub(super) fn read(message: &str) -> Option<ImageMessage> {
    let message = message.trim();
    if let Some(rest) = strip_any(message, &["Pulling image ", "pulling image "]) {
        return quoted(rest).map(|_| ImageMessage::Pulling);
    }
    if let Some(rest) = strip_any(
        message,
        &["Successfully pulled image ", "successfully pulled image "],
    ) {
        return pulled(rest).map(ImageMessage::Pulled);
    }
    if let Some(rest) = strip_any(message, &["Container image ", "container image "]) {
        let (image, rest) = quoted(rest)?;
        let present = PulledMessage {
            image: image.to_owned(),
            was_present: true,
            ..PulledMessage::default()
        };
        return rest
            .contains("already present")
            .then_some(ImageMessage::Pulled(present));
    }
    let rest = strip_any(
        message,
        &["Failed to pull image ", "Back-off pulling image "],
    )?;
    quoted(rest).map(|_| ImageMessage::Failed)
}

fn pulled(rest: &str) -> Option<PulledMessage> {
    let (image, rest) = quoted(rest)?;
    let mut read = PulledMessage {
        image: image.to_owned(),
        ..PulledMessage::default()
    };
    let mut times = rest;
    if let Some((before, size)) = rest.split_once("Image size:") {
        times = before;
        let size = size.split_whitespace().next();
        let size = size.and_then(|size| size.parse::<u64>().ok());
        read.size = size.filter(|size| *size > 0);
    }
    let Some(times) = times.trim().strip_prefix("in ") else {
        return Some(read);
    };
    let mut took = times;
    if let Some((before, waiting)) = times.split_once('(') {
        took = before;
        if let Some((with_waiting, _)) = waiting.split_once("including waiting") {
            read.with_waiting_s = seconds(with_waiting);
        }
    }
    read.took_s = seconds(took.trim().trim_end_matches('.'));
    Some(read)
}

/// Parses a duration in Go's format, such as `1m6.852s` or `874ms`.
fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let duration = SimDuration::parse(text).ok()?;
    Some(duration.as_secs_f64())
}

fn strip_any<'t>(text: &'t str, starts: &[&str]) -> Option<&'t str> {
    starts.iter().find_map(|start| text.strip_prefix(start))
}

/// Returns the quoted text at the start, and the remaining text.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let (inner, rest) = text.strip_prefix('"')?.split_once('"')?;
    (!inner.is_empty()).then_some((inner, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_all_versions_are_read() {
        let pulled = |took_s, with_waiting_s, size| {
            let (image, was_present) = ("a/b:1".to_owned(), false);
            Some(ImageMessage::Pulled(PulledMessage {
                image,
                was_present,
                took_s,
                with_waiting_s,
                size,
            }))
        };
        let present = PulledMessage {
            image: "a/b:1".to_owned(),
            was_present: true,
            ..PulledMessage::default()
        };
        for (message, expected, version) in [
            (
                "Successfully pulled image \"a/b:1\"",
                pulled(None, None, None),
                "1.18",
            ),
            (
                "Successfully pulled image \"a/b:1\" in 1m2.5s",
                pulled(Some(62.5), None, None),
                "1.26",
            ),
            (
                "Successfully pulled image \"a/b:1\" in 874ms (2.5s including waiting)",
                pulled(Some(0.874), Some(2.5), None),
                "1.29",
            ),
            (
                "Successfully pulled image \"a/b:1\" in 1.5s (1.5s including waiting). Image size: 20956222 bytes.",
                pulled(Some(1.5), Some(1.5), Some(20_956_222)),
                "1.30",
            ),
            (
                "Successfully pulled image \"a/b:1\" in 350.5µs (1s including waiting). Image size: 0 bytes.",
                pulled(Some(0.000_350_5), Some(1.0), None),
                "a size of 0 is unknown",
            ),
            (
                "pulling image \"a/b:1\"",
                Some(ImageMessage::Pulling),
                "1.13",
            ),
            (
                "Container image \"a/b:1\" already present on machine",
                Some(ImageMessage::Pulled(present)),
                "all",
            ),
            (
                "Failed to pull image \"a/b:1\": rpc error: code = Unknown desc = in 5s",
                Some(ImageMessage::Failed),
                "all",
            ),
            ("Created container: shop", None, "another message"),
            ("Successfully pulled image a/b:1", None, "without quotes"),
        ] {
            assert_eq!(read(message), expected, "{version}: {message}");
        }
    }
}
