//! A quota of images per time window, per account or per address, as on Docker Hub.
//!
//! The quota counts the allowed requests for a platform's manifest: Docker Hub counts a pull for each platform, and
//! does not count a version check by HEAD (docker/docs pull request 20788). The window slides: Docker Hub's headers
//! name a window of 21,600 s (`ratelimit-limit: 100;w=21600`), which updatecli's documentation calls rolling.

use std::collections::{HashMap, VecDeque};

use crate::world::registry::client::{Client, LimitOwner};
use crate::world::registry::spec::PullQuota;
use fleetsim_units::SimTime;

/// The pulls in the window, oldest first, for each owner of a quota.
#[derive(Debug)]
pub(super) struct QuotaWindow {
    spec: PullQuota,
    /// Used only for lookups; the order of the map has no effect.
    taken: HashMap<LimitOwner, VecDeque<SimTime>>,
}

impl QuotaWindow {
    pub(super) fn new(spec: PullQuota) -> Self {
        Self {
            spec,
            taken: HashMap::new(),
        }
    }

    /// Counts one pull. Returns false if the quota is exhausted.
    pub(super) fn try_take(&mut self, client: Client, now: SimTime) -> bool {
        let taken = self.taken.entry(client.owner(self.spec.scope)).or_default();
        while taken.front().is_some_and(|&at| now - at >= self.spec.per) {
            taken.pop_front();
        }
        let allowed = taken.len() < self.spec.pulls as usize;
        if allowed {
            taken.push_back(now);
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::registry::client::client;
    use crate::world::registry::spec::ClientScope;
    use fleetsim_units::SimDuration;

    #[test]
    fn a_pull_stops_counting_towards_the_quota_after_the_window() {
        let spec = PullQuota {
            pulls: 2,
            per: SimDuration::from_secs(100),
            scope: ClientScope::Address,
        };
        let mut quota = QuotaWindow::new(spec);
        let mut take =
            |cluster: u32, at: u64| quota.try_take(client(cluster, 0), SimTime::from_secs(at));
        assert!(take(0, 0) && take(0, 60));
        assert!(!take(0, 99), "two in the last 100 s");
        assert!(take(1, 99), "another address has its own");
        assert!(take(0, 100), "the first is 100 s old");
        assert!(!take(0, 159) && take(0, 160));
    }

    #[test]
    fn clients_with_one_account_share_a_quota() {
        let spec = PullQuota {
            pulls: 1,
            per: SimDuration::from_secs(100),
            scope: ClientScope::Account,
        };
        let mut quota = QuotaWindow::new(spec);
        assert!(quota.try_take(client(0, 0), SimTime::ZERO));
        assert!(!quota.try_take(client(1, 1), SimTime::ZERO));
    }
}
