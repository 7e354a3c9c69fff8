//! Labels on a panel of the front, where there is room for them.

use super::mark::{DOT, Mark, MarkStyle};
use crate::report::axis::Scale;
use crate::report::canvas::{Align, Canvas, Position};
use crate::report::frame::{Area, write, write_bold};
use crate::report::style::{INK, LABEL, MUTED, SMALL};
use crate::report::text::{Weight, fitted, fitted_name, text_width};

/// Greatest width of a setting's name.
const NAME: f64 = 190.0;

/// Writes a limit along its edge, beyond it if possible. Returns the room that the text takes.
pub(super) fn label_limit(
    canvas: &mut Canvas,
    area: Area,
    text: &str,
    at: f64,
    is_load: bool,
    taken: &[[f64; 4]],
) -> [f64; 4] {
    let text = fitted(text, SMALL, Weight::Regular, area.right - area.left - 12.0);
    let width = text_width(&text, SMALL, Weight::Regular);
    let (left, right) = (area.left + 6.0, area.right - 6.0 - width);
    let places: Vec<Position> = if is_load {
        let middle = f64::midpoint(left, right);
        [at - 6.0, at + 14.0].iter().flat_map(|&y| [(right, y), (left, y), (middle, y)]).collect()
    } else {
        let beside = [at + 6.0, at - 6.0 - width];
        let heights = [area.bottom - 8.0, area.bottom - 26.0, area.top + 16.0, f64::midpoint(area.top, area.bottom)];
        beside.iter().flat_map(|&x| heights.map(|y| (x, y))).collect()
    };
    let room = |&(left, baseline): &Position| [left - 2.0, baseline - 11.0, left + width * 1.02 + 2.0, baseline + 3.5];
    let fits = |place: &&Position| is_free(&room(place), area, taken);
    let inside = (left.max(if is_load { right } else { (at - 6.0 - width).max(left) }), at - 6.0);
    let fallback = if is_load { inside } else { (inside.0, area.bottom - 8.0) };
    let place = places.iter().find(fits).copied().unwrap_or(fallback);
    write(canvas, &text, place, SMALL, MUTED, Align::Left);
    room(&place)
}

/// Whether a rectangle is inside the area and overlaps nothing taken.
fn is_free(&[left, top, right, bottom]: &[f64; 4], area: Area, taken: &[[f64; 4]]) -> bool {
    let inside = left >= area.left && right <= area.right + 4.0 && top >= area.top - 2.0 && bottom <= area.bottom;
    inside && taken.iter().all(|[l, t, r, b]| right <= *l || left >= *r || bottom <= *t || top >= *b)
}

/// Writes names beside the dots: the chosen one and those of the front first, others where there is room. Returns the
/// names that had no room.
pub(super) fn label_marks<'m>(
    canvas: &mut Canvas,
    marks: &'m [Mark],
    best: &[usize],
    x: &Scale,
    y: &Scale,
    area: Area,
    taken: &mut Vec<[f64; 4]>,
) -> Vec<&'m str> {
    let mut unnamed = Vec::new();
    let mut order: Vec<usize> = (0..marks.len()).filter(|&at| marks[at].style == MarkStyle::Chosen).collect();
    order.extend(best.iter().filter(|&&at| marks[at].style != MarkStyle::Chosen));
    let rest: Vec<usize> = (0..marks.len()).filter(|at| !order.contains(at)).collect();
    order.extend(rest);
    for at in order {
        let mark = &marks[at];
        let Some(time) = mark.time else { continue };
        let (px, py) = (x.at(time.value), y.at(mark.load.value));
        let is_bold = mark.style == MarkStyle::Chosen;
        let weight = if is_bold { Weight::Bold } else { Weight::Regular };
        let size = if is_bold { LABEL } else { SMALL };
        let name = fitted_name(&mark.name, size, weight, NAME);
        let width = text_width(&name, size, weight);
        let aside = if is_bold { DOT + 9.0 } else { DOT + 5.0 };
        // Above or below the dot, but not over the axis.
        let middle = (px - width / 2.0).max(area.left + 2.0);
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
        let room =
            |&(left, baseline): &(f64, f64)| [left - 1.0, baseline - 11.5, left + width * 1.02 + 1.0, baseline + 3.5];
        let fits = |place: &&Position| is_free(&room(place), area, taken);
        let Some(&place) = places.iter().find(fits) else {
            unnamed.push(mark.name.as_str());
            continue;
        };
        taken.push(room(&place));
        if is_bold {
            write_bold(canvas, &name, place, size, INK);
        } else {
            let ink = if best.contains(&at) { INK } else { MUTED };
            write(canvas, &name, place, size, ink, Align::Left);
        }
    }
    unnamed
}
