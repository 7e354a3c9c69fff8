//! All bindings of a placement in upstream's list order, and the names that determine that order.
//!
//! Follows `pkg/utils/controller/binding_resolver.go` and `pkg/scheduler/framework/uniquename`.

use std::collections::BTreeSet;

use super::super::super::TargetId;
use super::Binding;

/// The name that the scheduler gives a binding, with `suffix` in place of eight random hexadecimal digits; both parts
/// are cut so that it fits into 63 characters (`pkg/scheduler/framework/uniquename`).
#[must_use]
pub fn binding_name(placement: &str, cluster: &str, suffix: u32) -> String {
    const PART: usize = (63 - 8 - 2) / 2;
    let cut = |part: &str, most: usize| part.chars().take(most).collect::<String>();
    let (placement_len, cluster_len) = (placement.chars().count(), cluster.chars().count());
    // One part may use the length that the other leaves unused.
    let placement_most = PART.max(2 * PART - cluster_len.min(2 * PART));
    let cluster_most = PART.max(2 * PART - placement_len.min(2 * PART));
    format!("{}-{}-{suffix:08x}", cut(placement, placement_most), cut(cluster, cluster_most))
}

/// All bindings of a placement, in the byte order of their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bindings {
    list: Vec<Binding>,
    /// For each cluster the position in `list` of the binding that was inserted last; `NOWHERE` for none.
    of_target: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl Bindings {
    /// All bindings, in the order of their names.
    pub fn iter(&self) -> std::slice::Iter<'_, Binding> {
        self.list.iter()
    }

    /// Their number, including those marked for deletion.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The binding of a cluster; if it has several, the one that was inserted last.
    #[must_use]
    pub fn get(&self, target: TargetId) -> Option<&Binding> {
        self.position(target).map(|position| &self.list[position])
    }

    /// Mutable [`Bindings::get`]; the caller must not change name and cluster.
    pub fn get_mut(&mut self, target: TargetId) -> Option<&mut Binding> {
        self.position(target).map(|position| &mut self.list[position])
    }

    /// The binding of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Binding> {
        self.find(name).ok().map(|position| &self.list[position])
    }

    /// Mutable [`Bindings::named`]; the caller must not change name and cluster.
    pub fn named_mut(&mut self, name: &str) -> Option<&mut Binding> {
        self.find(name).ok().map(|position| &mut self.list[position])
    }

    /// Adds a binding, replacing one of the same name.
    pub fn insert(&mut self, binding: Binding) {
        let target = binding.target;
        match self.find(&binding.name) {
            Ok(position) => self.list[position] = binding,
            Err(position) => self.list.insert(position, binding),
        }
        self.reindex(Some(target));
    }

    /// Removes a binding: the cluster is cleaned up.
    pub fn remove(&mut self, name: &str) -> Option<Binding> {
        let removed = self.list.remove(self.find(name).ok()?);
        self.reindex(None);
        Some(removed)
    }

    pub(in crate::rollout::kubefleet) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Binding> {
        self.list.iter_mut()
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.list.binary_search_by(|binding| binding.name.as_str().cmp(name))
    }

    fn position(&self, target: TargetId) -> Option<usize> {
        let position = *self.of_target.get(target.index())?;
        (position != NOWHERE).then_some(position as usize)
    }

    /// Recomputes every cluster's binding. Among several, one that is not being deleted is taken; `newest` takes
    /// precedence over all others.
    fn reindex(&mut self, newest: Option<TargetId>) {
        let most = self.list.iter().map(|binding| binding.target.index() + 1).max().unwrap_or(0);
        self.of_target.clear();
        self.of_target.resize(most, NOWHERE);
        for (position, binding) in self.list.iter().enumerate() {
            let entry = &mut self.of_target[binding.target.index()];
            if *entry == NOWHERE
                || self.list[*entry as usize].deleting
                || newest == Some(binding.target) && !binding.deleting
            {
                *entry = position as u32;
            }
        }
    }
}

impl FromIterator<Binding> for Bindings {
    /// # Panics
    /// If two have the same name.
    fn from_iter<I: IntoIterator<Item = Binding>>(bindings: I) -> Self {
        let mut list: Vec<Binding> = bindings.into_iter().collect();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        let names: BTreeSet<&str> = list.iter().map(|binding| binding.name.as_str()).collect();
        assert_eq!(names.len(), list.len(), "a binding's name is unique");
        let mut bindings = Self { list, of_target: Vec::new() };
        bindings.reindex(None);
        bindings
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
    fn the_live_binding_of_a_cluster_is_found_beside_a_deleted_one() {
        let named = |name: &str| Binding::scheduled(name.to_owned(), TargetId(2), 0);
        let mut old = named("b");
        old.delete();
        let mut bindings: Bindings = [old].into_iter().collect();
        bindings.insert(named("a"));
        assert_eq!(bindings.get(TargetId(2)).map(|binding| binding.name.as_str()), Some("a"));
        bindings.insert(named("c"));
        assert_eq!(bindings.remove("b").map(|binding| binding.deleting), Some(true));
        assert_eq!(bindings.iter().map(|binding| binding.name.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        assert!(bindings.get(TargetId(0)).is_none() && bindings.get(TargetId(9)).is_none());
        assert!(bindings.named("b").is_none() && bindings.named_mut("c").is_some());
    }
}
