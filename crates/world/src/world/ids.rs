//! Dense ids of the objects in a world: each is an index into a `Vec`.

use fleetsim_rollout::Revision;
/// A deployment: one application on one cluster, in the order of the applications, then of the clusters. With one
/// application on all clusters, target i is on cluster i.
pub use fleetsim_rollout::TargetId;

/// The revision that runs before the rollout, if there is one.
pub const OLD: Revision = Revision(1);
/// The revision that is rolled out.
pub const NEW: Revision = Revision(2);
/// Returns the revision of a later release: 0 is the first one after the release of [`NEW`].
#[must_use]
pub const fn later_revision(release: usize) -> Revision {
    Revision(NEW.0 + 1 + release as u32)
}

/// Returns the number of the later release that has this revision, from 0. `None`: it is not one of a later release.
#[must_use]
pub const fn later_release(revision: Revision) -> Option<usize> {
    match revision.0.checked_sub(NEW.0 + 1) {
        Some(release) => Some(release as usize),
        None => None,
    }
}

/// No revision: a target has applied nothing, or is instructed to remove its workloads.
pub const NOTHING: Revision = Revision(0);

/// An application, in the order of the experiment.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ApplicationId(pub u16);

impl ApplicationId {
    /// Returns the index of the application.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

macro_rules! dense_id {
    ($(#[$doc:meta])* $vis:vis $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        $vis struct $name($vis u32);

        impl $name {
            /// Returns the id of the object at `index`.
            ///
            /// # Panics
            /// If there are more than 2^32 objects.
            #[must_use]
            $vis fn at(index: usize) -> Self {
                Self(u32::try_from(index).expect("a world has fewer than 2^32 things of a kind"))
            }

            /// Returns the index of the object into their `Vec`.
            #[must_use]
            $vis const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

dense_id! {
    /// A cluster, in the order of [`crate::world::WorldSpec::clusters`].
    pub ClusterId
}
dense_id! {
    /// A node of some cluster.
    pub NodeId
}
dense_id! {
    /// A pod, dead or alive. Ids are never reused.
    pub PodId
}
dense_id! {
    /// One attempt to pull an image. Ids are never reused.
    pub PullId
}
dense_id! {
    /// A cache, or the seeds of one cluster.
    pub(super) StoreId
}
dense_id! {
    /// A store's download of one blob or config.
    pub(crate) FillId
}
