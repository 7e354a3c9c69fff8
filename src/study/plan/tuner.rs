//! Chooses the settings that a search with a number of tries examines, because the combinations of several settings
//! are often too many to run.
//!
//! The space is the grid of the candidates' values, in the order in which they are written. The search begins with the
//! current setting, the two corners, and points that fill the space evenly. These use half of the tries. The points
//! are an additive recurrence with the powers of the generalised golden ratio (Roberts, "The unreasonable
//! effectiveness of quasirandom sequences", 2018), which needs no random numbers. The search then tries neighbours,
//! which differ by one step in one setting: first those of the best setting so far until none is left, and then those
//! of the settings on the front. The remaining tries fill the space further. With as many tries as combinations, every
//! combination is tried.
//!
//! Left out: any assumption about how time or load depend on a setting. A narrow optimum far from all tried points can
//! therefore be missed, and the answer covers only the settings that were tried. Tests compare the answer with an
//! exhaustive search.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;

use crate::results::{Setting, grouped};

/// A point in the grid: for each setting, the rank of the setting's value.
type GridPoint = Vec<usize>;

/// The search in one race. Candidates are identified by their index in the race's full list.
#[derive(Clone, Debug)]
pub struct Tuner {
    /// Number of values of each setting.
    sizes: Vec<usize>,
    /// The point of each candidate. `None`: the candidate is outside the grid.
    points: Vec<Option<GridPoint>>,
    /// The candidate at each point.
    at: BTreeMap<GridPoint, usize>,
    /// The candidate that is the current setting, if any.
    present: Option<usize>,
    tried: BTreeSet<usize>,
    /// The maximum number of candidates to try.
    tries: usize,
    /// The number of points drawn from the sequence so far.
    drawn: u64,
}

impl Tuner {
    /// Creates a search among candidates with these searched settings, which form a grid. A candidate without searched
    /// settings is outside the grid. `present` is tried first.
    #[must_use]
    pub fn new(candidates: &[Vec<&Setting>], present: Option<usize>, tries: usize) -> Self {
        let axes = axes(candidates);
        let mut points = Vec::new();
        let mut at = BTreeMap::new();
        for (candidate, settings) in candidates.iter().enumerate() {
            let point = point(settings, &axes);
            if let Some(point) = &point {
                at.insert(point.clone(), candidate);
            }
            points.push(point);
        }
        Self {
            sizes: axes.iter().map(|axis| axis.values.len()).collect(),
            at,
            points,
            present,
            tried: BTreeSet::new(),
            tries,
            drawn: 0,
        }
    }

    /// Returns the candidates to try next. Empty when all tries are used. `leading`: the candidates whose neighbours
    /// are tried, most important first.
    pub fn next(&mut self, leading: &[usize]) -> Vec<usize> {
        let left = self.tries.saturating_sub(self.tried.len());
        let mut chosen = if self.points.len() <= self.tries {
            self.untried()
        } else if self.tried.is_empty() {
            self.first_points()
        } else {
            self.refinement(leading, left)
        };
        chosen.truncate(left);
        self.tried.extend(&chosen);
        chosen
    }

    /// Returns all candidates that have not been tried.
    fn untried(&self) -> Vec<usize> {
        let mut candidates: Vec<usize> = (0..self.points.len()).collect();
        candidates.retain(|at| !self.tried.contains(at));
        candidates
    }

    /// Returns the current setting, the two corners, and points that fill the space evenly, for half of the tries.
    fn first_points(&mut self) -> Vec<usize> {
        let least: GridPoint = vec![0; self.sizes.len()];
        let greatest: GridPoint = self.sizes.iter().map(|size| size - 1).collect();
        let mut chosen = Vec::new();
        chosen.extend(self.present);
        for corner in [least, greatest] {
            chosen.extend(self.at.get(&corner));
        }
        let mut chosen: Vec<usize> = chosen.into_iter().unique().collect();
        let more = (self.tries / 2).saturating_sub(chosen.len());
        let spread = self.spread(more, &chosen);
        chosen.extend(spread);
        chosen
    }

    /// Returns the untried neighbours of the first leading candidate that has any. If none has any, returns further
    /// points that fill the space.
    fn refinement(&mut self, leading: &[usize], left: usize) -> Vec<usize> {
        for &candidate in leading {
            let near = self.neighbours(candidate);
            if !near.is_empty() {
                return near;
            }
        }
        self.spread(left.min(2 * self.sizes.len()), &[])
    }

    /// Returns the untried candidates that differ from `of` by one step in one setting.
    fn neighbours(&self, of: usize) -> Vec<usize> {
        let Some(point) = &self.points[of] else {
            return Vec::new();
        };
        let mut neighbours = Vec::new();
        for axis in 0..self.sizes.len() {
            let above = Some(point[axis] + 1);
            let below = point[axis].checked_sub(1);
            for rank in [above, below].into_iter().flatten() {
                let mut near = point.clone();
                near[axis] = rank;
                if let Some(candidate) = self.at.get(&near)
                    && !self.tried.contains(candidate)
                {
                    neighbours.push(*candidate);
                }
            }
        }
        neighbours
    }

    /// Returns up to `wanted` further points of the sequence, except those in `besides`. If the sequence yields no new
    /// points for a long time, returns the first points of the grid.
    fn spread(&mut self, wanted: usize, besides: &[usize]) -> Vec<usize> {
        let ratios = ratios(self.sizes.len());
        let mut excluded = self.tried.clone();
        excluded.extend(besides);
        let mut found: Vec<usize> = Vec::new();
        for _ in 0..50 * wanted {
            if found.len() == wanted {
                return found;
            }
            self.drawn += 1;
            let point = self.point_of_sequence(self.drawn, &ratios);
            if let Some(&candidate) = self.at.get(&point)
                && excluded.insert(candidate)
            {
                found.push(candidate);
            }
        }
        for candidate in 0..self.points.len() {
            if found.len() == wanted {
                break;
            }
            if excluded.insert(candidate) {
                found.push(candidate);
            }
        }
        found
    }

    /// Returns the point with this number in the sequence.
    fn point_of_sequence(&self, number: u64, ratios: &[f64]) -> GridPoint {
        let number = number as f64;
        let mut point = Vec::new();
        for (ratio, size) in ratios.iter().zip(&self.sizes) {
            let share = (0.5 + number * ratio).fract();
            point.push((share * *size as f64) as usize);
        }
        point
    }
}

/// A searched setting, which is an axis of the grid.
struct SearchedAxis<'s> {
    path: &'s str,
    /// The setting's values in the order in which they are written.
    values: Vec<&'s str>,
}

/// Returns the settings that the candidates search, each with all its values.
fn axes<'s>(candidates: &[Vec<&'s Setting>]) -> Vec<SearchedAxis<'s>> {
    let mut settings = Vec::new();
    for &setting in candidates.iter().flatten() {
        settings.push((setting.path.as_str(), setting.value.as_str()));
    }
    let by_path = grouped(settings.into_iter().unique());
    by_path
        .into_iter()
        .map(|(path, values)| SearchedAxis { path, values })
        .collect()
}

/// Returns the point of a candidate with these settings. `None`: the candidate has no searched settings.
fn point(settings: &[&Setting], axes: &[SearchedAxis<'_>]) -> Option<GridPoint> {
    if settings.is_empty() {
        return None;
    }
    let mut point = Vec::new();
    for setting in settings {
        let axis = axes.iter().find(|axis| axis.path == setting.path)?;
        point.push(
            axis.values
                .iter()
                .position(|value| *value == setting.value)?,
        );
    }
    Some(point)
}

/// Returns powers of the inverse of the generalised golden ratio, which is the root of x^(d+1) = x + 1 for d settings.
fn ratios(settings: usize) -> Vec<f64> {
    let power = 1.0 / (settings as f64 + 1.0);
    let mut golden = 2.0;
    for _ in 0..64 {
        golden = libm::pow(1.0 + golden, power);
    }
    (1..=settings)
        .map(|at| libm::pow(golden, -(at as f64)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the grid with this many values of each setting, preceded by the current setting, which is outside the
    /// grid.
    fn grid(sizes: &[usize]) -> Vec<Vec<Setting>> {
        let mut points: Vec<Vec<Setting>> = vec![Vec::new()];
        for (axis, size) in sizes.iter().enumerate() {
            let path = format!("strategies.s.{axis}");
            let setting = |value: usize| Setting {
                path: path.clone(),
                name: path.clone(),
                value: value.to_string(),
            };
            points = points
                .iter()
                .flat_map(|point| {
                    (0..*size).map(|value| [point.as_slice(), &[setting(value)]].concat())
                })
                .collect();
        }
        std::iter::once(Vec::new()).chain(points).collect()
    }

    /// Returns all candidates that are tried if the neighbours of the smallest value so far are followed.
    fn tried(
        sizes: &[usize],
        tries: usize,
        value: impl Fn(&[usize]) -> f64,
    ) -> (Vec<usize>, Tuner) {
        let all = grid(sizes);
        let mut tuner = Tuner::new(
            &all.iter()
                .map(|point| point.iter().collect())
                .collect::<Vec<_>>(),
            Some(0),
            tries,
        );
        let mut order = Vec::new();
        let mut leading = Vec::new();
        loop {
            let new = tuner.next(&leading);
            if new.is_empty() {
                return (order, tuner);
            }
            order.extend(new);
            let of = |at: &usize| {
                tuner.points[*at]
                    .as_ref()
                    .map_or(f64::INFINITY, |point| value(point))
            };
            leading = order
                .iter()
                .copied()
                .sorted_by(|a, b| of(a).total_cmp(&of(b)))
                .take(3)
                .collect();
        }
    }

    #[test]
    fn no_setting_is_tried_twice_and_all_tries_are_used() {
        for (sizes, tries) in [
            (vec![6, 6, 6, 6], 100),
            (vec![40], 9),
            (vec![2; 10], 300),
            (vec![3, 1, 5], 5),
        ] {
            let (order, _) = tried(&sizes, tries, |point| point.iter().sum::<usize>() as f64);
            assert_eq!(order.len(), tries, "{sizes:?}: all tries are used");
            assert!(order.iter().all_unique());
            assert_eq!(order[0], 0, "the present setting is tried first");
        }
        let (order, _) = tried(&[3, 4], 50, |_| 0.0);
        assert_eq!(
            order,
            (0..13).collect::<Vec<_>>(),
            "a small space is tried as a whole, in its order"
        );
    }

    #[test]
    fn the_minimum_of_a_bowl_is_found_with_few_tries() {
        for target in [[0, 5, 2, 3], [5, 5, 0, 0], [2, 2, 3, 3], [1, 4, 4, 1]] {
            let distance = |point: &[usize]| -> usize {
                point
                    .iter()
                    .zip(&target)
                    .map(|(a, b)| a.abs_diff(*b).pow(2))
                    .sum()
            };
            let (order, tuner) = tried(&[6, 6, 6, 6], 100, |point| distance(point) as f64);
            let best = order
                .iter()
                .filter_map(|at| tuner.points[*at].as_deref())
                .map(distance);
            assert_eq!(best.min(), Some(0), "{target:?} is found among 1,296");
        }
    }

    #[test]
    fn the_first_points_fill_the_space_evenly() {
        let all = grid(&[8, 8]);
        let mut tuner = Tuner::new(
            &all.iter()
                .map(|point| point.iter().collect())
                .collect::<Vec<_>>(),
            Some(0),
            40,
        );
        let begin: Vec<Vec<usize>> = tuner
            .next(&[])
            .iter()
            .filter_map(|at| tuner.points[*at].clone())
            .collect();
        let quarter = |x: usize, y: usize| {
            begin
                .iter()
                .filter(|point| point[0] / 4 == x && point[1] / 4 == y)
                .count()
        };
        let counts = [quarter(0, 0), quarter(0, 1), quarter(1, 0), quarter(1, 1)];
        assert!(
            counts.iter().all(|count| (3..=7).contains(count)),
            "19 points, one quarter each: {counts:?}"
        );
        // Computed by hand: the root of x³ = x + 1 is 1.3247.
        assert!(
            (ratios(2)[0] - 1.0 / 1.324_717_957).abs() < 1e-9
                && (ratios(1)[0] - 0.618_033_988_7).abs() < 1e-9
        );
    }
}
