//! The settings on a front: their marks, the labels that fit, and the Pareto-optimal settings.

use crate::report::prelude::*;
use crate::results::Estimate;
use fleetsim_units::stats::in_turn;

/// Radius of a dot.
pub(super) const DOT: f64 = 5.0;

/// Maximum width of a setting's name.
const NAME: f64 = 190.0;

/// Loads that differ by less than this share count as equal: on a saturated link, smaller differences mean nothing.
const SAME_LOAD: f64 = 0.01;

/// How a setting is drawn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum MarkStyle {
    Chosen,
    Meets,
    Exceeds,
}

/// One setting.
pub(super) struct Mark {
    /// The label; empty for none.
    pub(super) name: String,
    /// The completion time. `None`: a run did not finish.
    pub(super) time: Option<Estimate>,
    pub(super) load: Estimate,
    pub(super) style: MarkStyle,
    /// Number of runs of the setting, as a share of the largest number of runs of any setting, 0 to 1.
    pub(super) weight: f64,
}

impl MarkStyle {
    fn colour(self) -> Colour {
        match self {
            Self::Chosen | Self::Meets => series_colour(0),
            Self::Exceeds => series_colour(1),
        }
    }

    /// A paler colour for fewer runs.
    pub(super) fn faded(self, weight: f64) -> Colour {
        let Colour(red, green, blue) = self.colour();
        let [red, green, blue] = [red, green, blue].map(|channel| {
            let ink = 255.0 - f64::from(channel);
            (255.0 - ink * (0.35 + 0.65 * weight)).round() as u8
        });
        Colour(red, green, blue)
    }

    /// Draws a dot; filled, hollow or ringed, so that styles also differ without colour.
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

/// The Pareto-optimal marks: no other mark is better in both time and load. The fastest comes first.
pub(super) fn pareto_front(marks: &[Mark]) -> Vec<usize> {
    /// A setting that finishes in every run.
    struct Finished {
        mark: usize,
        time_s: f64,
        load: f64,
    }
    let mut finished: Vec<Finished> = Vec::new();
    for (mark, Mark { time, load, .. }) in marks.iter().enumerate() {
        if let Some(time) = time {
            finished.push(Finished {
                mark,
                time_s: time.value,
                load: load.value,
            });
        }
    }
    // Times and loads are finite and not negative.
    finished.sort_by(|a, b| in_turn([a.time_s, a.load], [b.time_s, b.load]));
    let mut best: Vec<usize> = Vec::new();
    let mut least_load = f64::INFINITY;
    for Finished { mark, load, .. } in finished {
        if best.is_empty() || load < least_load * (1.0 - SAME_LOAD) {
            best.push(mark);
            least_load = load;
        }
    }
    best
}

/// The rectangle that a text needs, including the margin `beside` on both sides.
fn room_of((left, baseline): Position, width: f64, beside: f64, above: f64) -> [f64; 4] {
    [
        left - beside,
        baseline - above,
        left + width * 1.02 + beside,
        baseline + 3.5,
    ]
}

/// The plot of a world, with the rectangles in it that texts must not cover.
pub(super) struct MarkPlot {
    pub(super) area: Area,
    pub(super) x: Scale,
    pub(super) y: Scale,
    pub(super) taken: Vec<[f64; 4]>,
}

impl MarkPlot {
    /// The position of a mark. `None`: a run did not finish.
    pub(super) fn place(&self, mark: &Mark) -> Option<Position> {
        Some((self.x.at(mark.time?.value), self.y.at(mark.load.value)))
    }

    /// Writes the text of a limit along its line.
    pub(super) fn label_limit(&mut self, canvas: &mut Canvas, text: &str, at: f64, is_load: bool) {
        let area = self.area;
        let text = fitted(text, SMALL, Weight::Regular, area.right - area.left - 12.0);
        let width = text_width(&text, SMALL, Weight::Regular);
        let left = area.left + 6.0;
        let right = area.right - 6.0 - width;
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
        let fallback = if is_load {
            (left.max(right), at - 6.0)
        } else {
            (left.max(at - 6.0 - width), area.bottom - 8.0)
        };
        let place = places
            .into_iter()
            .find(|place| self.is_free(room_of(*place, width, 2.0, 11.0)))
            .unwrap_or(fallback);
        write(
            canvas,
            &text,
            place,
            TextStyle::new(SMALL, MUTED),
            Align::Left,
        );
        self.taken.push(room_of(place, width, 2.0, 11.0));
    }

    /// Returns true if a rectangle is inside the area and does not overlap an occupied one.
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

    /// Writes names next to the dots: first the names of the chosen setting and of those on the front, and then all
    /// others that fit. Returns the names that did not fit.
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
            let mut free = places.into_iter();
            let free = free.find(|place| self.is_free(room_of(*place, width, 1.0, 11.5)));
            let Some(place) = free else {
                unnamed.push(mark.name.as_str());
                continue;
            };
            self.taken.push(room_of(place, width, 1.0, 11.5));
            if is_bold {
                write_bold(canvas, &name, place, TextStyle::new(size, INK));
            } else {
                let ink = if best.contains(&at) { INK } else { MUTED };
                write(canvas, &name, place, TextStyle::new(size, ink), Align::Left);
            }
        }
        unnamed
    }
}
