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
    /// For each cluster the position in `list` of its binding, one that is not being deleted if there are several;
    /// `NOWHERE` for none.
    of_target: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl Bindings {
    /// All bindings, in the order of their names.
    pub fn iter(&self) -> std::slice::Iter<'_, Binding> {
        self.list.iter()
    }

    /// Mutable [`Bindings::iter`]; the caller must not change name and cluster.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Binding> {
        self.list.iter_mut()
    }

    /// The binding of a cluster; if it has several, one that is not being deleted.
    #[must_use]
    pub fn get(&self, target: TargetId) -> Option<&Binding> {
        self.position(target).map(|position| &self.list[position])
    }

    /// Mutable [`Bindings::get`]; the caller must not change name and cluster.
    pub fn get_mut(&mut self, target: TargetId) -> Option<&mut Binding> {
        self.position(target).map(|position| &mut self.list[position])
    }

    /// Removes the bindings of a cluster: they are gone.
    pub fn remove(&mut self, target: TargetId) {
        let list = std::mem::take(&mut self.list);
        *self = list.into_iter().filter(|binding| binding.target != target).collect();
    }

    /// Whether no cluster has several bindings.
    #[must_use]
    pub fn are_single(&self) -> bool {
        let is_found = |(position, binding): (u32, &Binding)| self.of_target[binding.target.index()] == position;
        (0..).zip(&self.list).all(is_found)
    }

    fn position(&self, target: TargetId) -> Option<usize> {
        let position = *self.of_target.get(target.index())?;
        (position != NOWHERE).then_some(position as usize)
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
        let most = list.iter().map(|binding| binding.target.index() + 1).max().unwrap_or(0);
        let mut of_target = vec![NOWHERE; most];
        for (position, binding) in list.iter().enumerate() {
            let entry = &mut of_target[binding.target.index()];
            if *entry == NOWHERE || list[*entry as usize].deleting {
                *entry = position as u32;
            }
        }
        Self { list, of_target }
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
        let mut old = named("a");
        old.delete();
        let bindings: Bindings = [named("b"), old].into_iter().collect();
        assert_eq!(bindings.get(TargetId(2)).map(|binding| binding.name.as_str()), Some("b"));
        assert_eq!(bindings.iter().map(|binding| binding.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(bindings.get(TargetId(0)).is_none() && bindings.get(TargetId(9)).is_none());
        assert!(!bindings.are_single());
        let other = Binding::scheduled("c".to_owned(), TargetId(1), 0);
        assert!([named("b"), other].into_iter().collect::<Bindings>().are_single());
    }
}
