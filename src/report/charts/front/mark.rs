//! The settings on a front: how each is shown, and which ones are Pareto-optimal.

use crate::report::canvas::{Canvas, Position};
use crate::report::style::{Colour, INK, WHITE, series_colour};
use crate::results::Estimate;

/// Radius of a dot.
pub(super) const DOT: f64 = 5.0;

/// Loads that differ by less than this share are equal: a full link is full, whatever the last digit.
const SAME_LOAD: f64 = 0.01;

/// Representation of a setting.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum MarkStyle {
    Chosen,
    Meets,
    Exceeds,
}

/// One setting.
pub(super) struct Mark {
    pub(super) name: String,
    /// `None`: a run did not finish.
    pub(super) time: Option<Estimate>,
    pub(super) load: Estimate,
    pub(super) style: MarkStyle,
    /// Its number of runs as a share of the greatest, 0 to 1.
    pub(super) weight: f64,
}

impl MarkStyle {
    fn colour(self) -> Colour {
        match self {
            Self::Chosen | Self::Meets => series_colour(0),
            Self::Exceeds => series_colour(1),
        }
    }

    /// A colour that is closer to white the fewer runs it stands for.
    pub(super) fn faded(self, weight: f64) -> Colour {
        let Colour(red, green, blue) = self.colour();
        let fade = |channel: u8| (255.0 - (255.0 - f64::from(channel)) * (0.35 + 0.65 * weight)).round() as u8;
        Colour(fade(red), fade(green), fade(blue))
    }

    /// Draws a dot; filled, hollow or ringed, so that styles differ without colour too.
    pub(super) fn dot(self, canvas: &mut Canvas, at: Position, opacity: f64) {
        if self == Self::Chosen {
            canvas.dot(at, DOT + 5.0, INK, 1.0);
            canvas.dot(at, DOT + 3.0, WHITE, 1.0);
        }
        canvas.dot(at, DOT + 1.5, WHITE, 1.0);
        canvas.dot(at, DOT, self.colour(), opacity);
        if self == Self::Exceeds {
            canvas.dot(at, DOT - 2.2, WHITE, 1.0);
        }
    }
}

/// The Pareto-optimal marks: no other is better in both time and load. The fastest comes first.
pub(super) fn pareto_front(marks: &[Mark]) -> Vec<usize> {
    let place = |at: usize| marks[at].time.map(|time| (time.value, marks[at].load.value));
    let mut placed: Vec<usize> = (0..marks.len()).filter(|&at| place(at).is_some()).collect();
    placed.sort_by(|&a, &b| place(a).partial_cmp(&place(b)).expect("times and loads are finite"));
    let mut best: Vec<usize> = Vec::new();
    for at in placed {
        if best.last().is_none_or(|&last| marks[at].load.value < marks[last].load.value * (1.0 - SAME_LOAD)) {
            best.push(at);
        }
    }
    best
}
