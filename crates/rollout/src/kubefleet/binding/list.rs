//! All bindings of a placement in upstream's list order, and the names that determine that order.
//!
//! Follows `pkg/utils/controller/binding_resolver.go` and `pkg/scheduler/framework/uniquename`.

use std::sync::Arc;

use super::super::super::{TargetId, TargetSet};
use super::{Binding, BindingState};

/// The name that the scheduler gives a binding, with `suffix` in place of eight random hexadecimal digits; both parts
/// are cut so that it fits into 63 characters (`pkg/scheduler/framework/uniquename`).
pub fn binding_name(placement: &str, cluster: &str, suffix: u32) -> String {
    const PART: usize = (63 - 8 - 2) / 2;
    let placement_len = placement.chars().count();
    let cluster_len = cluster.chars().count();
    // One part may use the length that the other leaves unused.
    let placement_most = PART.max(2 * PART - cluster_len.min(2 * PART));
    let cluster_most = PART.max(2 * PART - placement_len.min(2 * PART));
    let placement: String = placement.chars().take(placement_most).collect();
    let cluster: String = cluster.chars().take(cluster_most).collect();
    format!("{placement}-{cluster}-{suffix:08x}")
}

/// All bindings of a placement, in the byte order of their names.
///
/// A binding keeps its place when others go or come back, so passes can keep what they know by place. Those that were
/// borrowed mutably since [`Self::clear_changed`] are in [`Self::changed`].
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// Those that exist, and those that are gone and may come back under the same name.
    list: Vec<Binding>,
    layout: Arc<Layout>,
    /// Places of those that are gone.
    gone: TargetSet,
    changed: TargetSet,
    /// Clusters that were not available when it was last looked at what has changed.
    unavailable: TargetSet,
}

/// The places of bindings. When places change, the layout is another object.
#[derive(Debug, Default)]
pub(in super::super) struct Layout {
    /// For each cluster the place of its binding, one that is not being deleted if there are several; `NOWHERE` for
    /// none.
    place_of: Vec<u32>,
    /// No cluster has several bindings.
    are_single: bool,
}

const NOWHERE: u32 = u32::MAX;

impl Bindings {
    /// All bindings, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Binding> {
        (0..)
            .zip(&self.list)
            .filter(|(place, _)| !self.gone.contains(*place))
            .map(|(_, binding)| binding)
    }

    /// The binding of a cluster; if it has several, one that is not being deleted.
    pub fn get(&self, target: TargetId) -> Option<&Binding> {
        self.at(self.place(target)?)
    }

    /// Mutable [`Bindings::get`]; the caller must not change name and cluster.
    pub fn get_mut(&mut self, target: TargetId) -> Option<&mut Binding> {
        let place = self.place(target)?;
        if self.gone.contains(place) {
            return None;
        }
        self.changed.insert(target.0);
        self.list.get_mut(place as usize)
    }

    /// The binding of a cluster that a pass has decided about.
    ///
    /// # Panics
    /// If there is none.
    pub(in super::super) fn decided(&mut self, target: TargetId) -> &mut Binding {
        self.get_mut(target)
            .expect("a binding that a pass decided about exists")
    }

    /// The binding of a cluster that a staged run rolls: the last that is not unscheduled.
    ///
    /// # Panics
    /// If there is none.
    pub(in super::super) fn selected(&mut self, target: TargetId) -> &mut Binding {
        let bindings = self.of_mut(target);
        let selected = bindings.filter(|binding| binding.state != BindingState::Unscheduled);
        selected
            .last()
            .expect("a binding that a pass decided about exists")
    }

    /// Mutable bindings of a cluster; the caller must not change name and cluster.
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

    /// A binding comes back under the name that it had before it was gone.
    ///
    /// # Panics
    /// If its cluster never had one.
    pub fn insert(&mut self, binding: Binding) {
        let place = self
            .place(binding.target)
            .expect("a binding that comes back has a place");
        self.gone.remove(place);
        self.changed.insert(binding.target.0);
        self.list[place as usize] = binding;
    }

    /// Removes the binding of a cluster that has only one: it is gone.
    pub fn remove(&mut self, target: TargetId) {
        if let Some(place) = self.place(target) {
            self.gone.insert(place);
            self.changed.insert(target.0);
        }
    }

    /// Whether no cluster has several bindings.
    pub fn are_single(&self) -> bool {
        self.layout.are_single
    }

    /// The clusters whose bindings may have changed since the last [`Self::clear_changed`]; at first all.
    pub const fn changed(&self) -> &TargetSet {
        &self.changed
    }

    /// Everybody knows what has changed so far.
    pub fn clear_changed(&mut self) {
        self.count_unavailable();
        self.changed.clear();
    }

    /// Number of clusters whose bindings have not succeeded, at the cost of what changed.
    pub fn count_unavailable(&mut self) -> usize {
        for cluster in self.changed.iter() {
            let is_unavailable = self
                .get(TargetId(cluster))
                .is_some_and(|binding| !binding.has_succeeded());
            self.unavailable.set(cluster, is_unavailable);
        }
        self.unavailable.len()
    }

    /// The number of places.
    pub(in super::super) fn places(&self) -> usize {
        self.list.len()
    }

    /// The binding at a place. `None`: it is gone.
    pub(in super::super) fn at(&self, place: u32) -> Option<&Binding> {
        if self.gone.contains(place) {
            return None;
        }
        self.list.get(place as usize)
    }

    /// The cluster of the binding at a place, also of one that is gone.
    pub(in super::super) fn target_at(&self, place: u32) -> TargetId {
        self.list[place as usize].target
    }

    /// The place of a cluster's binding, also of one that is gone.
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
    /// If two have the same name.
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
    fn a_binding_that_returns_gets_its_old_position() {
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
