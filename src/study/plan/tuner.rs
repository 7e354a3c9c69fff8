//! Which settings a search within a number of tries looks at: of several settings together, all combinations are often
//! too many to run.
//!
//! The space is the grid of the candidates' values, in the order in which they are written. The search begins with the
//! present setting, the two corners and points that fill the space evenly: half of the tries. The points are an
//! additive recurrence with the powers of the generalised golden ratio (Roberts, "The unreasonable effectiveness of
//! quasirandom sequences", 2018), which needs no random numbers. Then it refines: it tries the neighbours, one step of
//! one setting away, of the best setting so far until there are none left, and after that of those on the front. Tries
//! that remain fill the space further. With as many tries as combinations, every combination is tried.
//!
//! Left out: any assumption about how time or load depend on a setting. So a narrow optimum far from all points can be
//! missed, and the answer is about the settings that were tried. Tests compare it with an exhaustive search.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;

use crate::results::{Setting, grouped};

/// The search in one race. Candidates are numbered as in the race's list of all.
#[derive(Clone, Debug)]
pub struct Tuner {
    /// Number of values of each setting.
    sizes: Vec<usize>,
    /// The point of each candidate. `None`: it is outside of the grid.
    points: Vec<Option<Vec<usize>>>,
    at: BTreeMap<Vec<usize>, usize>,
    /// The setting as it stands.
    present: Option<usize>,
    tried: BTreeSet<usize>,
    tries: usize,
    /// Points that were drawn from the sequence.
    drawn: u64,
}

impl Tuner {
    /// A search among candidates with these searched settings, which form a grid; one without any is outside of it.
    /// `present` is tried first.
    #[must_use]
    pub fn new(candidates: &[Vec<&Setting>], present: Option<usize>, tries: usize) -> Self {
        let settings = candidates
            .iter()
            .flatten()
            .map(|setting| (setting.path.as_str(), setting.value.as_str()));
        let axes: Vec<(&str, Vec<&str>)> = grouped(settings.unique());
        let place = |setting: &&Setting| {
            let (_, values) = axes.iter().find(|(path, _)| *path == setting.path)?;
            values.iter().position(|value| *value == setting.value)
        };
        let point = |settings: &Vec<&Setting>| -> Option<Vec<usize>> {
            if settings.is_empty() {
                None
            } else {
                settings.iter().map(place).collect()
            }
        };
        let points: Vec<Option<Vec<usize>>> = candidates.iter().map(point).collect();
        let of_grid = points
            .iter()
            .enumerate()
            .filter_map(|(at, point)| Some((point.clone()?, at)));
        Self {
            sizes: axes.iter().map(|(_, values)| values.len()).collect(),
            at: of_grid.collect(),
            points,
            present,
            tried: BTreeSet::new(),
            tries,
            drawn: 0,
        }
    }

    /// The candidates to try next; empty when the tries are spent. `leading`: those whose neighbours are tried, the
    /// most important first.
    pub fn next(&mut self, leading: &[usize]) -> Vec<usize> {
        let left = self.tries.saturating_sub(self.tried.len());
        let chosen: Vec<usize> = if self.points.len() <= self.tries {
            (0..self.points.len())
                .filter(|at| !self.tried.contains(at))
                .collect()
        } else if self.tried.is_empty() {
            let corners = [
                self.sizes.iter().map(|_| 0).collect(),
                self.sizes.iter().map(|size| size - 1).collect(),
            ];
            let corners = corners
                .iter()
                .filter_map(|corner: &Vec<usize>| self.at.get(corner).copied());
            let mut begin: Vec<usize> = self.present.into_iter().chain(corners).unique().collect();
            let more = (self.tries / 2).saturating_sub(begin.len());
            begin.extend(self.spread(more, &begin.iter().copied().collect()));
            begin
        } else {
            let near = leading
                .iter()
                .map(|&at| self.neighbours(at))
                .find(|list| !list.is_empty())
                .unwrap_or_default();
            if near.is_empty() {
                self.spread(left.min(2 * self.sizes.len()), &BTreeSet::new())
            } else {
                near
            }
        };
        let chosen: Vec<usize> = chosen.into_iter().take(left).collect();
        self.tried.extend(&chosen);
        chosen
    }

    /// Candidates one step of one setting away that were not tried.
    fn neighbours(&self, of: usize) -> Vec<usize> {
        let Some(point) = &self.points[of] else {
            return Vec::new();
        };
        let step = |(axis, up): (usize, bool)| {
            let mut near = point.clone();
            near[axis] = if up {
                near[axis] + 1
            } else {
                near[axis].checked_sub(1)?
            };
            self.at
                .get(&near)
                .copied()
                .filter(|at| !self.tried.contains(at))
        };
        (0..self.sizes.len())
            .cartesian_product([true, false])
            .filter_map(step)
            .collect()
    }

    /// So many further points of the sequence, as far as there are; where it repeats itself for long, the first ones of
    /// the grid.
    fn spread(&mut self, wanted: usize, besides: &BTreeSet<usize>) -> Vec<usize> {
        let ratios = ratios(self.sizes.len());
        let mut found: Vec<usize> = Vec::new();
        let is_new = |at: &usize, found: &[usize]| {
            !self.tried.contains(at) && !besides.contains(at) && !found.contains(at)
        };
        for _ in 0..50 * wanted {
            if found.len() == wanted {
                return found;
            }
            self.drawn += 1;
            let drawn = self.drawn as f64;
            let place = |(ratio, size): (&f64, &usize)| {
                ((0.5 + drawn * ratio).fract() * *size as f64) as usize
            };
            let point: Vec<usize> = ratios.iter().zip(&self.sizes).map(place).collect();
            found.extend(self.at.get(&point).copied().filter(|at| is_new(at, &found)));
        }
        let rest: Vec<usize> = (0..self.points.len())
            .filter(|at| is_new(at, &found))
            .collect();
        found.extend(rest.into_iter().take(wanted - found.len()));
        found
    }
}

/// Powers of the inverse of the generalised golden ratio: the root of x^(d+1) = x + 1 for d settings.
fn ratios(settings: usize) -> Vec<f64> {
    let power = 1.0 / (settings as f64 + 1.0);
    let golden = (0..64).fold(2.0, |root: f64, _| libm::pow(1.0 + root, power));
    (1..=settings)
        .map(|at| libm::pow(golden, -(at as f64)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The grid of so many values of each setting, behind the setting as it stands.
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

    /// All that is tried when the neighbours of the least value so far are followed.
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
        let (mut order, mut leading) = (Vec::new(), Vec::new());
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
    fn nothing_is_tried_twice_and_tries_are_kept_to_the_last() {
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
    fn the_least_value_of_a_bowl_is_found_from_few_tries() {
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
        // By hand: the root of x³ = x + 1 is 1.3247.
        assert!(
            (ratios(2)[0] - 1.0 / 1.324_717_957).abs() < 1e-9
                && (ratios(1)[0] - 0.618_033_988_7).abs() < 1e-9
        );
    }
}
