//! `releases` of an application: the time of its release, and later releases that supersede it.
//!
//! The first entry of a list is the release that `release` describes. Each later entry publishes another revision:
//! with other images, with the same ones, or with the content of the release before it (`rollback`).

#[cfg(test)]
use std::borrow::Cow;
use std::fmt;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::release::InlineManifest;
use crate::document::text_or::TextOr;
use crate::rollout::Revision;
use crate::units::SimDuration;
use crate::world::{NEW, OLD, ReleaseFaults, later_revision};

/// The times of releases: a list, or one for each application of a pattern.
#[derive(Clone, Debug)]
pub(crate) enum ReleaseTimes {
    /// The releases of each application, in the order of their times.
    List(Vec<ReleaseAt>),
    /// One release of each application of a pattern, one after the other.
    Every(ReleasesEvery),
}

/// One release.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ReleaseAt {
    /// Time from the start to the release.
    pub(super) at: SimDuration,
    /// The images with another content than in the release before. Not for the first release, whose images are in
    /// `release`.
    #[serde(default)]
    pub(super) images: Vec<LaterImageFile>,
    /// Publishes the content of the release before the last one again.
    #[serde(default)]
    pub(super) rollback: bool,
    /// What fails in this release. Default: nothing. The failures of the first release are in `faults`.
    #[serde(default)]
    pub(super) faults: ReleaseFaults,
}

/// The content of an image in a later release.
#[derive(Clone, Debug, serde::Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct LaterImageFile {
    /// The image's name in `release`.
    pub(super) name: String,
    /// Its content in this release, written like `manifest` in `release`.
    pub(super) manifest: TextOr<InlineManifest>,
}

/// A release after the first one, with its revision.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PublishedRelease {
    /// The time from the first release.
    pub after: SimDuration,
    /// The revision that it publishes.
    pub revision: Revision,
}

/// The releases of a pattern of applications, one after the other.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleasesEvery {
    /// Time between the releases of two applications. 0: all are released at once.
    every: SimDuration,
    /// Time from the start to the first release.
    #[serde(default)]
    from: SimDuration,
}

/// A problem with release times.
pub(super) struct TimesProblem {
    pub(super) message: &'static str,
    pub(super) help: &'static str,
}

impl ReleaseTimes {
    /// Returns the release time of application number `nth` of a pattern.
    pub(super) fn of(&self, nth: u32) -> SimDuration {
        match self {
            Self::List(releases) => releases
                .first()
                .map_or(SimDuration::ZERO, |release| release.at),
            Self::Every(ReleasesEvery { every, from }) => *from + *every * u64::from(nth),
        }
    }

    /// Returns the releases after the first one, in the order of their times.
    pub(super) fn later(&self) -> &[ReleaseAt] {
        match self {
            Self::List(releases) => releases.get(1..).unwrap_or_default(),
            Self::Every(_) => &[],
        }
    }

    /// Returns the time of the last release of application number `nth` of a pattern.
    pub(super) fn last(&self, nth: u32) -> SimDuration {
        match self.later().last() {
            Some(release) => release.at,
            None => self.of(nth),
        }
    }

    /// Returns the releases after the first one of an application, with their revisions.
    pub(super) fn published(&self) -> Vec<PublishedRelease> {
        let first = self.of(0);
        // What a rollback goes back to: the contents before the current one.
        let mut before = vec![OLD];
        let mut current = NEW;
        let mut contents = 0;
        let mut published = Vec::new();
        for release in self.later() {
            if release.rollback {
                current = before.pop().unwrap_or(OLD);
            } else {
                before.push(current);
                current = later_revision(contents);
                contents += 1;
            }
            published.push(PublishedRelease {
                after: release.at.saturating_sub(first),
                revision: current,
            });
        }
        published
    }

    /// Returns the problem with the times of this number of applications, if there is one.
    pub(super) fn problem(&self, applications: usize) -> Option<TimesProblem> {
        match self {
            Self::List(releases) if releases.is_empty() => Some(TimesProblem {
                message: "there is no release",
                help: "write `[{at: 0 s}]`, or remove `releases`",
            }),
            Self::List(releases) if has_equal_times(releases) => Some(TimesProblem {
                message: "two releases have the same time",
                help: "keep one of the two",
            }),
            Self::List(releases) if !releases.is_sorted_by_key(|release| release.at) => {
                Some(TimesProblem {
                    message: "a release is earlier than the one before it",
                    help: "write the releases in the order of their times",
                })
            }
            Self::Every(_) if applications == 1 => Some(TimesProblem {
                message: "`every` has no effect on one application",
                help: "write its time as `[{at: 1h}]`, or a pattern such as `svc-{01..40}`",
            }),
            Self::List(_) | Self::Every(_) => None,
        }
    }
}

fn has_equal_times(releases: &[ReleaseAt]) -> bool {
    for (at, release) in releases.iter().enumerate() {
        for earlier in &releases[..at] {
            if earlier.at == release.at {
                return true;
            }
        }
    }
    false
}

impl<'de> Deserialize<'de> for ReleaseTimes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TimesVisitor;

        impl<'de> Visitor<'de> for TimesVisitor {
            type Value = ReleaseTimes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`[{at: 0 s}, {at: 1h, rollback: true}]`, or `{every: 5 min}`")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<ReleaseTimes, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(ReleaseTimes::List)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ReleaseTimes, A::Error> {
                ReleasesEvery::deserialize(MapAccessDeserializer::new(map)).map(ReleaseTimes::Every)
            }
        }

        deserializer.deserialize_any(TimesVisitor)
    }
}

#[cfg(test)]
impl JsonSchema for ReleaseTimes {
    fn schema_name() -> Cow<'static, str> {
        "Releases".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "array", "items": generator.subschema_for::<ReleaseAt>() },
                generator.subschema_for::<ReleasesEvery>(),
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applications_of_a_pattern_are_released_one_after_the_other() {
        let times = ReleaseTimes::Every(ReleasesEvery {
            every: SimDuration::from_mins(5),
            from: SimDuration::from_hours(1),
        });
        assert_eq!(times.of(0), SimDuration::from_hours(1));
        assert_eq!(times.of(3), SimDuration::from_mins(75));
        let list = ReleaseTimes::List(vec![ReleaseAt {
            at: SimDuration::from_mins(7),
            ..ReleaseAt::default()
        }]);
        assert_eq!((list.of(0), list.of(3)), (list.of(3), list.of(0)));
    }

    fn release(mins: u64, rollback: bool) -> ReleaseAt {
        ReleaseAt {
            at: SimDuration::from_mins(mins),
            rollback,
            ..ReleaseAt::default()
        }
    }

    #[test]
    fn a_rollback_publishes_the_content_of_the_release_before() {
        let list = ReleaseTimes::List(vec![
            release(10, false),
            release(20, false),
            release(30, true),
            release(40, false),
            release(50, true),
            release(60, true),
        ]);
        let mut revisions = Vec::new();
        for published in list.published() {
            revisions.push(published.revision);
        }
        let second = later_revision(0);
        let third = later_revision(1);
        assert_eq!(revisions, [second, NEW, third, NEW, OLD]);
        assert_eq!(list.published()[0].after, SimDuration::from_mins(10));
        assert_eq!(list.last(0), SimDuration::from_mins(60));
        let unsorted = ReleaseTimes::List(vec![release(20, false), release(10, false)]);
        assert!(unsorted.problem(1).is_some());
    }
}
