//! The settings on a front: how each is shown and labelled where there is room, and which ones are Pareto-optimal.

use crate::report::prelude::*;
use crate::results::Estimate;

/// Radius of a dot.
pub(super) const DOT: f64 = 5.0;

/// Greatest width of a setting's name.
const NAME: f64 = 190.0;

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
    /// Empty: it has no label.
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
        let fade = |channel: u8| {
            (255.0 - (255.0 - f64::from(channel)) * (0.35 + 0.65 * weight)).round() as u8
        };
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
    let place = |at: usize| {
        marks[at]
            .time
            .map(|time| (time.value, marks[at].load.value))
    };
    let mut placed: Vec<usize> = (0..marks.len()).filter(|&at| place(at).is_some()).collect();
    placed.sort_by(|&a, &b| {
        place(a)
            .partial_cmp(&place(b))
            .expect("times and loads are finite")
    });
    let mut best: Vec<usize> = Vec::new();
    for at in placed {
        if best
            .last()
            .is_none_or(|&last| marks[at].load.value < marks[last].load.value * (1.0 - SAME_LOAD))
        {
            best.push(at);
        }
    }
    best
}

/// The plot of a world, with the rooms in it that texts must not cover.
pub(super) struct MarkPlot {
    pub(super) area: Area,
    pub(super) x: Scale,
    pub(super) y: Scale,
    pub(super) taken: Vec<[f64; 4]>,
}

impl MarkPlot {
    /// The place of a mark. `None`: a run did not finish.
    pub(super) fn place(&self, mark: &Mark) -> Option<Position> {
        Some((self.x.at(mark.time?.value), self.y.at(mark.load.value)))
    }

    /// Writes a limit along its edge, beyond it if possible.
    pub(super) fn label_limit(&mut self, canvas: &mut Canvas, text: &str, at: f64, is_load: bool) {
        let area = self.area;
        let text = fitted(text, SMALL, Weight::Regular, area.right - area.left - 12.0);
        let width = text_width(&text, SMALL, Weight::Regular);
        let (left, right) = (area.left + 6.0, area.right - 6.0 - width);
        let places: Vec<Position> = if is_load {
            let middle = f64::midpoint(left, right);
            [at - 6.0, at + 14.0]
                .iter()
                .flat_map(|&y| [(right, y), (left, y), (middle, y)])
                .collect()
        } else {
            let beside = [at + 6.0, at - 6.0 - width];
            let heights = [
                area.bottom - 8.0,
                area.bottom - 26.0,
                area.top + 16.0,
                f64::midpoint(area.top, area.bottom),
            ];
            beside
                .iter()
                .flat_map(|&x| heights.map(|y| (x, y)))
                .collect()
        };
        let room = |&(left, baseline): &Position| {
            [
                left - 2.0,
                baseline - 11.0,
                left + width * 1.02 + 2.0,
                baseline + 3.5,
            ]
        };
        let inside = (
            left.max(if is_load {
                right
            } else {
                (at - 6.0 - width).max(left)
            }),
            at - 6.0,
        );
        let fallback = if is_load {
            inside
        } else {
            (inside.0, area.bottom - 8.0)
        };
        let place = places
            .into_iter()
            .find(|place| self.is_free(room(place)))
            .unwrap_or(fallback);
        write(canvas, &text, place, SMALL, MUTED, Align::Left);
        self.taken.push(room(&place));
    }

    /// True if a rectangle is inside the area and overlaps nothing taken.
    fn is_free(&self, [left, top, right, bottom]: [f64; 4]) -> bool {
        let Area {
            left: first,
            top: highest,
            right: last,
            bottom: lowest,
        } = self.area;
        let inside =
            left >= first && right <= last + 4.0 && top >= highest - 2.0 && bottom <= lowest;
        inside
            && self
                .taken
                .iter()
                .all(|[l, t, r, b]| right <= *l || left >= *r || bottom <= *t || top >= *b)
    }

    /// Writes names beside the dots: the chosen one and those of the front first, others where there is room. Returns
    /// the names that had no room.
    pub(super) fn label_marks<'m>(
        &mut self,
        canvas: &mut Canvas,
        marks: &'m [Mark],
        best: &[usize],
    ) -> Vec<&'m str> {
        let mut unnamed = Vec::new();
        let chosen = (0..marks.len()).filter(|&at| marks[at].style == MarkStyle::Chosen);
        for at in chosen
            .chain(best.iter().copied())
            .chain(0..marks.len())
            .unique()
        {
            let mark = &marks[at];
            let Some((px, py)) = self.place(mark).filter(|_| !mark.name.is_empty()) else {
                continue;
            };
            let is_bold = mark.style == MarkStyle::Chosen;
            let (weight, size) = if is_bold {
                (Weight::Bold, LABEL)
            } else {
                (Weight::Regular, SMALL)
            };
            let name = fitted_name(&mark.name, size, weight, NAME);
            let width = text_width(&name, size, weight);
            let aside = if is_bold { DOT + 9.0 } else { DOT + 5.0 };
            // Above or below the dot, but not over the axis.
            let middle = (px - width / 2.0).max(self.area.left + 2.0);
            let places = [
                (px + aside, py - 5.0),
                (px - aside - width, py - 5.0),
                (px + aside, py + 14.0),
                (px - aside - width, py + 14.0),
                (middle, py - aside - 6.0),
                (middle, py + aside + 12.0),
                (px + aside, py + 4.0),
                (px - aside - width, py + 4.0),
                (px + aside, py - 20.0),
                (px + aside, py + 28.0),
            ];
            let room = |(left, baseline): Position| {
                [
                    left - 1.0,
                    baseline - 11.5,
                    left + width * 1.02 + 1.0,
                    baseline + 3.5,
                ]
            };
            let Some(place) = places.into_iter().find(|place| self.is_free(room(*place))) else {
                unnamed.push(mark.name.as_str());
                continue;
            };
            self.taken.push(room(place));
            if is_bold {
                write_bold(canvas, &name, place, size, INK);
            } else {
                let ink = if best.contains(&at) { INK } else { MUTED };
                write(canvas, &name, place, size, ink, Align::Left);
            }
        }
        unnamed
    }
}
