//! All bindings of a placement in upstream's list order, and the names that determine that order.
//!
//! Follows `pkg/utils/controller/binding_resolver.go` and `pkg/scheduler/framework/uniquename`.

use std::sync::Arc;

use super::super::super::{TargetId, TargetSet};
use super::{Binding, BindingState};

/// Returns the name that the scheduler gives a binding, with `suffix` instead of eight random hexadecimal digits. Both
/// parts are truncated so that the name fits into 63 characters (`pkg/scheduler/framework/uniquename`).
pub fn binding_name(placement: &str, cluster: &str, suffix: u32) -> String {
    const PART: usize = (63 - 8 - 2) / 2;
    let placement_len = placement.chars().count();
    let cluster_len = cluster.chars().count();
    // Each part may use characters that the other leaves unused.
    let placement_most = PART.max(2 * PART - cluster_len.min(2 * PART));
    let cluster_most = PART.max(2 * PART - placement_len.min(2 * PART));
    let placement: String = placement.chars().take(placement_most).collect();
    let cluster: String = cluster.chars().take(cluster_most).collect();
    format!("{placement}-{cluster}-{suffix:08x}")
}

/// All bindings of a placement, in the byte order of their names.
///
/// A binding keeps its index when others are removed or return, so passes can store data by index. Bindings that were
/// borrowed mutably since [`Self::clear_changed`] are in [`Self::changed`].
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// Existing bindings, and removed ones that may return under the same name.
    list: Vec<Binding>,
    layout: Arc<Layout>,
    /// Indices of removed bindings.
    gone: TargetSet,
    changed: TargetSet,
    /// Clusters whose binding had not succeeded when changes were last examined.
    unavailable: TargetSet,
}

/// The indices of bindings. When indices change, a new layout is created.
#[derive(Debug, Default)]
pub(in super::super) struct Layout {
    /// The index of each cluster's binding, preferring one that is not being deleted; `NOWHERE` if there is no
    /// binding.
    place_of: Vec<u32>,
    /// Whether no cluster has several bindings.
    are_single: bool,
}

const NOWHERE: u32 = u32::MAX;

impl Bindings {
    /// Returns all bindings in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Binding> {
        (0..)
            .zip(&self.list)
            .filter(|(place, _)| !self.gone.contains(*place))
            .map(|(_, binding)| binding)
    }

    /// Returns the binding of a cluster; if it has several, one that is not being deleted.
    pub fn get(&self, target: TargetId) -> Option<&Binding> {
        self.at(self.place(target)?)
    }

    /// Returns the binding like [`Bindings::get`], mutably. The caller must not change its name or its cluster.
    pub fn get_mut(&mut self, target: TargetId) -> Option<&mut Binding> {
        let place = self.place(target)?;
        if self.gone.contains(place) {
            return None;
        }
        self.changed.insert(target.0);
        self.list.get_mut(place as usize)
    }

    /// Returns the binding of a cluster in a pass's decision.
    ///
    /// # Panics
    /// If the cluster has no binding.
    pub(in super::super) fn decided(&mut self, target: TargetId) -> &mut Binding {
        self.get_mut(target)
            .expect("a binding that a pass decided about exists")
    }

    /// Returns the binding of a cluster that a staged run rolls: the cluster's last binding that is not unscheduled.
    ///
    /// # Panics
    /// If there is no such binding.
    pub(in super::super) fn selected(&mut self, target: TargetId) -> &mut Binding {
        let bindings = self.of_mut(target);
        let selected = bindings.filter(|binding| binding.state != BindingState::Unscheduled);
        selected
            .last()
            .expect("a binding that a pass decided about exists")
    }

    /// Returns the mutable bindings of a cluster. The caller must not change their names or clusters.
    pub fn of_mut(&mut self, target: TargetId) -> impl Iterator<Item = &mut Binding> {
        let places = match self.place(target) {
            Some(place) if self.layout.are_single => place as usize..place as usize + 1,
            _ => 0..self.list.len(),
        };
        let gone = &self.gone;
        let changed = &mut self.changed;
        let own = (places.start as u32..).zip(&mut self.list[places]);
        let own =
            own.filter(move |(place, binding)| binding.target == target && !gone.contains(*place));
        own.map(|(_, binding)| binding)
            .inspect(move |_| _ = changed.insert(target.0))
    }

    /// Adds a binding under the name that it had before it was removed.
    ///
    /// # Panics
    /// If its cluster never had a binding.
    pub fn insert(&mut self, binding: Binding) {
        let place = self
            .place(binding.target)
            .expect("a binding that returns has a position");
        self.gone.remove(place);
        self.changed.insert(binding.target.0);
        self.list[place as usize] = binding;
    }

    /// Removes the binding of a cluster that has only one binding.
    pub fn remove(&mut self, target: TargetId) {
        if let Some(place) = self.place(target) {
            self.gone.insert(place);
            self.changed.insert(target.0);
        }
    }

    /// Returns whether no cluster has several bindings.
    pub fn are_single(&self) -> bool {
        self.layout.are_single
    }

    /// Returns the clusters whose bindings may have changed since the last [`Self::clear_changed`]; at first all.
    pub const fn changed(&self) -> &TargetSet {
        &self.changed
    }

    /// Forgets the changes so far.
    pub fn clear_changed(&mut self) {
        self.count_unavailable();
        self.changed.clear();
    }

    /// Returns how many clusters have a binding that has not succeeded, at a cost that depends on what changed.
    pub fn count_unavailable(&mut self) -> usize {
        for cluster in self.changed.iter() {
            let is_unavailable = self
                .get(TargetId(cluster))
                .is_some_and(|binding| !binding.has_succeeded());
            self.unavailable.set(cluster, is_unavailable);
        }
        self.unavailable.len()
    }

    /// Returns the number of indices.
    pub(in super::super) fn places(&self) -> usize {
        self.list.len()
    }

    /// Returns the binding at an index. `None`: it was removed.
    pub(in super::super) fn at(&self, place: u32) -> Option<&Binding> {
        if self.gone.contains(place) {
            return None;
        }
        self.list.get(place as usize)
    }

    /// Returns the cluster of the binding at an index, even if the binding was removed.
    pub(in super::super) fn target_at(&self, place: u32) -> TargetId {
        self.list[place as usize].target
    }

    /// Returns the index of a cluster's binding, even if the binding was removed.
    pub(in super::super) fn place(&self, target: TargetId) -> Option<u32> {
        let place = *self.layout.place_of.get(target.index())?;
        (place != NOWHERE).then_some(place)
    }

    pub(in super::super) const fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }
}

impl FromIterator<Binding> for Bindings {
    /// # Panics
    /// If two bindings have the same name.
    fn from_iter<I: IntoIterator<Item = Binding>>(bindings: I) -> Self {
        let mut list: Vec<Binding> = bindings.into_iter().collect();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        assert!(
            list.is_sorted_by(|a, b| a.name < b.name),
            "a binding's name is unique"
        );
        let ends = list.iter().map(|binding| binding.target.index() + 1);
        let clusters = ends.max().unwrap_or(0);
        let mut layout = Layout {
            place_of: vec![NOWHERE; clusters],
            are_single: true,
        };
        for (place, binding) in (0..).zip(&list) {
            let entry = &mut layout.place_of[binding.target.index()];
            layout.are_single &= *entry == NOWHERE;
            if *entry == NOWHERE || list[*entry as usize].deleting {
                *entry = place;
            }
        }
        Self {
            gone: TargetSet::new(list.len()),
            list,
            layout: Arc::new(layout),
            changed: TargetSet::all(clusters),
            unavailable: TargetSet::new(clusters),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_name_is_truncated_to_the_limit_of_kubernetes() {
        assert_eq!(binding_name("crp", "store-1", 0xab), "crp-store-1-000000ab");
        let name = binding_name(&"p".repeat(60), &"c".repeat(60), u32::MAX);
        assert_eq!(name.len(), 62, "26 characters each");
        assert!(binding_name("p", &"c".repeat(63), 1).len() <= 63);
    }

    #[test]
    fn the_live_binding_of_a_cluster_is_found_next_to_a_deleted_one() {
        let named = |name: &str| Binding::scheduled(name.to_owned(), TargetId(2), 0);
        let mut old = named("a");
        old.delete();
        let bindings: Bindings = [named("b"), old].into_iter().collect();
        assert_eq!(
            bindings
                .get(TargetId(2))
                .map(|binding| binding.name.as_str()),
            Some("b")
        );
        assert_eq!(
            bindings
                .iter()
                .map(|binding| binding.name.as_str())
                .collect::<Vec<_>>(),
            ["a", "b"]
        );
        assert!(bindings.get(TargetId(0)).is_none() && bindings.get(TargetId(9)).is_none());
        assert!(!bindings.are_single());
        let other = Binding::scheduled("c".to_owned(), TargetId(1), 0);
        assert!(
            [named("b"), other]
                .into_iter()
                .collect::<Bindings>()
                .are_single()
        );
    }

    #[test]
    fn a_recreated_binding_gets_its_old_position() {
        let named =
            |name: &str, cluster: u32| Binding::scheduled(name.to_owned(), TargetId(cluster), 0);
        let mut bindings: Bindings = [named("a", 2), named("b", 0), named("c", 1)]
            .into_iter()
            .collect();
        let names = |bindings: &Bindings| {
            bindings
                .iter()
                .map(|binding| binding.name.clone())
                .collect::<String>()
        };
        assert_eq!(bindings.changed().len(), 3, "at first all");
        bindings.clear_changed();
        let layout = Arc::clone(bindings.layout());
        bindings.remove(TargetId(0));
        assert_eq!(
            (
                names(&bindings).as_str(),
                bindings.changed().iter().collect::<Vec<_>>()
            ),
            ("ac", vec![0])
        );
        assert!(bindings.get(TargetId(0)).is_none() && bindings.get_mut(TargetId(0)).is_none());
        assert_eq!(bindings.iter().count(), 2);
        bindings.insert(named("b", 0));
        assert_eq!(names(&bindings), "abc");
        assert!(Arc::ptr_eq(bindings.layout(), &layout));
    }
}
