//! The clients of a registry, and the limits that each of them has.
//!
//! Modelled: registries that count by account, by the address of a client, or by both. The nodes of a cluster usually
//! share one address, that of their NAT; with public addresses each node has its own. A cache asks with its own
//! address.
//!
//! Each bucket counts what it refuses, so that results say how many clients a limit met, and whom most.
//!
//! Left out: clusters that share an address, and addresses that a NAT changes during a run.

use std::collections::{HashMap, HashSet};

use crate::world::ids::{ClusterId, NodeId, StoreId};
use crate::world::registry::spec::{ClientScope, RequestLimit};
use crate::world::token_bucket::TokenBucket;
use fleetsim_units::SimTime;

/// The sender of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Client {
    pub(crate) cluster: ClusterId,
    pub(crate) node: NodeId,
    /// The cache that asks for the node. It has one address of its own.
    pub(in crate::world) cache: Option<StoreId>,
}

/// The owner of a limit.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum LimitOwner {
    Fleet,
    Cluster(ClusterId),
    Node(NodeId),
    Cache(StoreId),
}

impl Client {
    /// Returns the owner of this client's limit.
    pub(super) const fn owner(self, scope: ClientScope) -> LimitOwner {
        match (scope, self.cache) {
            (ClientScope::Account, _) => LimitOwner::Fleet,
            (ClientScope::Address | ClientScope::Node, Some(cache)) => LimitOwner::Cache(cache),
            (ClientScope::Address, None) => LimitOwner::Cluster(self.cluster),
            (ClientScope::Node, None) => LimitOwner::Node(self.node),
        }
    }
}

/// The token buckets of one limit, one for each owner.
#[derive(Debug)]
pub(super) struct ClientBuckets {
    limit: RequestLimit,
    /// The current share of the limit's rate.
    share: f64,
    /// Used only for lookups and for changes of all buckets; the order of the map has no effect.
    buckets: HashMap<LimitOwner, TokenBucket>,
    /// Number of refused requests of each owner that had one.
    refused: HashMap<LimitOwner, u64>,
}

/// The requests that limits of single clients have refused.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ClientRefusals {
    /// Number of clients with a limit of their own that sent a request.
    pub clients: u64,
    /// Number of clients that were refused.
    pub refused_clients: u64,
    /// Number of refused requests of the client with most of them.
    pub most_of_one: u64,
}

impl ClientRefusals {
    /// Returns the refusals of several limits together. `None`: none of them is a limit of single clients.
    pub(super) fn of<'b>(limits: impl Iterator<Item = &'b ClientBuckets>) -> Option<Self> {
        let mut clients: HashSet<LimitOwner> = HashSet::new();
        let mut refused: HashMap<LimitOwner, u64> = HashMap::new();
        let mut has_scope = false;
        for limit in limits {
            if limit.limit.scope == ClientScope::Account {
                continue;
            }
            has_scope = true;
            clients.extend(limit.buckets.keys());
            for (&owner, &requests) in &limit.refused {
                *refused.entry(owner).or_default() += requests;
            }
        }
        has_scope.then(|| Self {
            clients: clients.len() as u64,
            refused_clients: refused.len() as u64,
            most_of_one: refused.values().copied().max().unwrap_or(0),
        })
    }
}

impl ClientBuckets {
    pub(super) fn new(limit: RequestLimit) -> Self {
        Self {
            limit,
            share: 1.0,
            buckets: HashMap::new(),
            refused: HashMap::new(),
        }
    }

    /// Sets the share of the limit's rate at which all buckets refill now.
    pub(super) fn set_rate(&mut self, now: SimTime, share: f64) {
        self.share = share;
        for bucket in self.buckets.values_mut() {
            bucket.set_rate(now, share);
        }
    }

    /// Takes one token of a client. Returns false if no token is available.
    pub(super) fn try_take(&mut self, client: Client, now: SimTime) -> bool {
        let owner = client.owner(self.limit.scope);
        let bucket = self.buckets.entry(owner).or_insert_with(|| {
            // A bucket that nobody has used is full.
            let mut bucket = TokenBucket::new(self.limit);
            bucket.set_rate(now, self.share);
            bucket
        });
        let is_taken = bucket.try_take(now);
        if !is_taken && self.limit.scope != ClientScope::Account {
            *self.refused.entry(owner).or_default() += 1;
        }
        is_taken
    }
}

#[cfg(test)]
pub(super) const fn client(cluster: u32, node: u32) -> Client {
    Client {
        cluster: ClusterId(cluster),
        node: NodeId(node),
        cache: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleetsim_units::PerSecond;

    /// Returns how many of these clients get a token at the start.
    fn admitted(scope: ClientScope, clients: &[Client]) -> Vec<bool> {
        let mut buckets = ClientBuckets::new(RequestLimit {
            scope,
            ..RequestLimit::new(PerSecond::new(1.0), 1)
        });
        let mut admitted = Vec::new();
        for &one in clients {
            admitted.push(buckets.try_take(one, SimTime::ZERO));
        }
        admitted
    }

    #[test]
    fn each_owner_of_a_limit_has_its_own_tokens() {
        let clients = [client(0, 0), client(0, 1), client(1, 2), client(0, 0)];
        let of_account = [true, false, false, false];
        assert_eq!(admitted(ClientScope::Account, &clients), of_account);
        let of_address = [true, false, true, false];
        assert_eq!(admitted(ClientScope::Address, &clients), of_address);
        let of_node = [true, true, true, false];
        assert_eq!(admitted(ClientScope::Node, &clients), of_node);
    }

    #[test]
    fn refusals_are_counted_for_each_client_over_all_limits_with_a_scope() {
        let scopes = [
            ClientScope::Address,
            ClientScope::Address,
            ClientScope::Account,
        ];
        let mut limits = scopes.map(|scope| {
            ClientBuckets::new(RequestLimit {
                scope,
                ..RequestLimit::new(PerSecond::new(1.0), 1)
            })
        });
        for limit in &mut limits {
            // Cluster 0 asks four times, cluster 1 once.
            for one in [
                client(0, 0),
                client(0, 1),
                client(0, 0),
                client(1, 2),
                client(0, 1),
            ] {
                limit.try_take(one, SimTime::ZERO);
            }
        }
        let expected = ClientRefusals {
            clients: 2,
            refused_clients: 1,
            most_of_one: 6,
        };
        assert_eq!(ClientRefusals::of(limits.iter()), Some(expected));
        assert_eq!(ClientRefusals::of(limits[2..].iter()), None);
    }

    #[test]
    fn a_cache_has_one_address_for_all_nodes_behind_it() {
        let mut clients = [client(0, 0), client(1, 1)];
        for one in &mut clients {
            one.cache = Some(StoreId::at(0));
        }
        for scope in [ClientScope::Address, ClientScope::Node] {
            assert_eq!(admitted(scope, &clients), [true, false], "{scope:?}");
        }
    }

    #[test]
    fn a_brownout_slows_the_buckets_of_clients_that_come_later_too() {
        let mut buckets = ClientBuckets::new(RequestLimit {
            scope: ClientScope::Node,
            ..RequestLimit::new(PerSecond::new(1.0), 1)
        });
        buckets.set_rate(SimTime::ZERO, 0.5);
        assert!(buckets.try_take(client(0, 0), SimTime::ZERO));
        assert!(!buckets.try_take(client(0, 0), SimTime::from_secs(1)));
        assert!(buckets.try_take(client(0, 0), SimTime::from_secs(2)));
    }
}
