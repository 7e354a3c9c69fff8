//! Chooses the solver that computes the rates, and moves transfers from one solver to the other.
//!
//! The choice depends on two things, and not on queries in between: whether a *crossing* transfer (over links other
//! than a link and its ancestors) is in flight, and the cost of completions since the last such transfer. While a
//! crossing transfer is in flight, the general solver is used. Afterwards each completion costs a few times what it
//! costs in the forest, and switching to the forest and eventually back costs about as much as `PATIENCE` completions
//! for each transfer in flight. After that many completions, or when nothing is in flight, the forest takes over. The
//! total cost is therefore at most about twice that of the better choice, even if crossing transfers arrive one at a
//! time.
//!
//! A switch hands over the remaining bytes at the solver's current time, and delivers no bytes.

use super::{LinkId, Network, TransferPhase, TransferRecord};

/// The solver that computes the rates. Only this solver knows the transfers in flight.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Solver {
    #[default]
    Forest,
    Mesh,
}

/// Number of completions by the general solver, per transfer in flight, after which a switch to the forest and back
/// pays off.
const PATIENCE: u64 = 1;

impl Network {
    /// Hands a transfer that is not crossing, with `left` bytes remaining, to the current solver.
    pub(super) fn launch(&mut self, slot: u32, left: f64) {
        let TransferRecord {
            link, connection, ..
        } = self.transfers[slot as usize];
        match self.solver {
            Solver::Forest => self
                .forest
                .insert(slot, self.nodes[link.index()], connection, left),
            Solver::Mesh => {
                let path: Vec<u32> = self.path_down_to(link).map(|link| link.0).collect();
                self.mesh
                    .get_mut()
                    .insert(slot, path.into_iter(), connection, left);
            }
        }
    }

    /// Updates the counters for a transfer that is no longer in flight.
    pub(super) fn leave(&mut self, slot: u32) {
        self.active -= 1;
        if self.transfers[slot as usize].crossing {
            self.crossing -= 1;
            self.work_when_crossing = self.mesh.get_mut().work();
        }
    }

    pub(super) fn remaining(&self, slot: u32) -> f64 {
        match self.solver {
            Solver::Forest => self.forest.remaining(slot),
            Solver::Mesh => self.mesh.borrow().remaining(slot),
        }
    }

    /// Returns true if `links` are a root, its child and so on down to one link.
    pub(super) fn is_path_down(&self, links: &[LinkId]) -> bool {
        let mut above = None;
        for link in links {
            let node = self.nodes[link.index()];
            if self.forest.above(node) != above {
                return false;
            }
            above = Some(node);
        }
        true
    }

    /// Returns the link and its ancestors.
    pub(super) fn path_down_to(&self, link: LinkId) -> impl Iterator<Item = LinkId> + '_ {
        let first = self.nodes[link.index()];
        std::iter::successors(Some(first), |&node| self.forest.above(node))
            .map(|node| self.link_of(node))
    }

    /// Returns the link of a node in the forest. Nodes of links are numbered in the order of the links.
    fn link_of(&self, node: u32) -> LinkId {
        let number = self.nodes.binary_search(&node);
        LinkId(number.expect("a link's parent is a link") as u32)
    }

    fn in_flight(&self) -> impl Iterator<Item = u32> + use<> {
        let in_flight: Vec<u32> = if self.active == 0 {
            Vec::new()
        } else {
            let slots = self.transfers.iter().zip(0..);
            slots
                .filter(|(transfer, _)| transfer.phase == TransferPhase::InFlight)
                .map(|(_, slot)| slot)
                .collect()
        };
        in_flight.into_iter()
    }

    /// Hands all transfers in flight to the general solver.
    pub(super) fn leave_forest(&mut self) {
        // The crossing transfer is already in flight, but not in either solver yet.
        let handed: Vec<(u32, f64)> = self
            .in_flight()
            .filter(|&slot| !self.transfers[slot as usize].crossing)
            .map(|slot| (slot, self.forest.remaining(slot)))
            .collect();
        self.solver = Solver::Mesh;
        self.show_links_to_mesh();
        self.mesh.get_mut().set_now(self.forest.now());
        for (slot, left) in handed {
            self.forest.remove(slot);
            self.launch(slot, left);
        }
    }

    /// Adds the links that the general solver does not have yet. They are added only when needed, because the general
    /// solver needs more memory per link than the forest.
    pub(super) fn show_links_to_mesh(&mut self) {
        let mesh = self.mesh.get_mut();
        for &node in &self.nodes[mesh.links()..] {
            mesh.add_link(self.forest.capacity(node));
        }
    }

    /// Hands all transfers in flight back to the forest once none is crossing and the switch pays off.
    pub(super) fn reconsider(&mut self) {
        if self.solver == Solver::Forest || self.crossing > 0 {
            return;
        }
        let worked = self.mesh.get_mut().work() - self.work_when_crossing;
        if worked < PATIENCE * self.active as u64 {
            return;
        }
        self.solver = Solver::Forest;
        self.forest.set_now(self.mesh.get_mut().now());
        for slot in self.in_flight() {
            let left = self.mesh.get_mut().remaining(slot);
            self.mesh.get_mut().remove(slot);
            self.launch(slot, left);
        }
    }
}
