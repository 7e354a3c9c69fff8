//! A product's controller during one run: its cache and its decisions, as late as they are in reality.

use super::{Clusters, Requests, StatusLog};
use crate::process::ProcessError;
use crate::results::PassRow;
use crate::rollout::label_selector::Labels;
use crate::rollout::{Hold, Revision};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, ClusterSpec, Report};

/// An instruction to run nothing: the cluster removes what it runs.
pub const NOTHING: Revision = Revision(0);

/// A cluster to tell what to run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Deploy {
    /// Which cluster.
    pub cluster: ClusterId,
    /// What it is to run; [`NOTHING`] is removed.
    pub revision: Revision,
    /// The number of the pass's request that writes it, counted from 1; it takes effect when that is answered.
    pub after_requests: usize,
}

/// What one pass of a product's controller comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// In the order in which they are written.
    pub deploys: Vec<Deploy>,
    /// Targets of which the pass requests what the product itself does later.
    pub requested: usize,
    /// Objects that the pass creates.
    pub created: usize,
    /// The API requests that the pass makes.
    pub requests: Requests,
    /// What the pass wrote starts another one.
    pub again: bool,
    /// The pass reports, in the product's own status, that the rollout of the new revision is complete.
    pub complete: bool,
    /// Unavailable targets, as the product counted them at the start of the pass.
    pub unavailable: u64,
    /// When the pass ends, where the product itself knows the times of its requests. `None`: when all are answered.
    pub ends_at: Option<SimTime>,
    /// The pass goes on at that time, with another decision.
    pub continues: bool,
    /// When the product wants another pass whatever happens: times that do not depend on how long this one takes.
    pub wake_at: Option<SimTime>,
}

impl Decision {
    /// Instructs a cluster to run `revision` once the requests counted so far are answered; one that is paused or has
    /// no agent never hears of it.
    pub(super) fn instruct(&mut self, clusters: &[ClusterSpec], index: usize, revision: Revision) {
        let spec = &clusters[index];
        if spec.registered && !spec.paused {
            let cluster = ClusterId(index as u32);
            let after_requests = self.requests.len();
            self.deploys.push(Deploy { cluster, revision, after_requests });
        }
    }
}

/// What of the product's own happened beside passes and news.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Happened {
    /// It starts a pass.
    pub starts_pass: bool,
    /// Clusters in which the product itself applies a revision, at once; offline ones never hear of it.
    pub pushes: Vec<(ClusterId, Revision)>,
    /// Clusters whose agents are instructed to run a revision.
    pub instructions: Vec<(ClusterId, Revision)>,
    /// Clusters whose agents are instructed to remove what they run.
    pub removals: Vec<ClusterId>,
    /// Clusters of which the product sees something new.
    pub changed: Vec<ClusterId>,
    /// The pass in progress ends earlier than it said.
    pub pass_ends_at: Option<SimTime>,
}

/// A person's act in mid-rollout.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Another revision is released.
    Release(Revision),
    /// The rollout is stopped, or resumed.
    Stop(bool),
    /// The clusters' object has other labels now.
    Labels(ClusterId, Labels),
    /// A cluster leaves what the rollout selects, or comes to it.
    Selected(ClusterId, bool),
    /// A person approves a stage, before it begins or after its end.
    Approve {
        /// The stage's name.
        stage: String,
        /// Before the stage, not after it.
        before: bool,
    },
}

/// One product's controller: the adapter between a scheduler and the world.
pub trait Controller {
    /// Whether it looks at the progress deadlines of Deployments. They are followed for such a product only.
    fn sees_progress_deadlines(&self) -> bool {
        false
    }

    /// Whether the product leaves clusters alone that are paused; some know no pause.
    fn heeds_pause(&self) -> bool {
        true
    }

    /// Whether the product reports the completion of a rollout itself, in the status that a pass writes
    /// ([`Decision::complete`]). A run then waits for that report.
    fn reports_completion(&self) -> bool {
        false
    }

    /// The time after which a controller with a control loop of its own knows of a report. Its time passes in
    /// [`Controller::follow`], and there are no passes here. `None`: it has no loop of its own.
    fn own_loop(&self) -> Option<SimDuration> {
        None
    }

    /// From the arrival of a report in the management cluster until this controller knows of it; `watch_delay` is that
    /// of its cache.
    fn report_delay(&self, watch_delay: SimDuration) -> SimDuration {
        watch_delay
    }

    /// A controller with a loop of its own is handed a report when it arrives, and learns it when it knows of it.
    fn hand_over(&mut self, report: Report, now: SimTime) {
        let _ = (report, now);
    }

    /// A controller with a loop of its own is handed the news that a cluster is cut off from the management cluster, or
    /// is back.
    fn link(&mut self, cluster: ClusterId, is_online: bool, now: SimTime) {
        let _ = (cluster, is_online, now);
    }

    /// The world is at `now`, and nothing happens in it before `next`, or ever before the horizon if that is `None`. A
    /// controller with a loop of its own may advance as far as news could not surprise it.
    fn follow(&mut self, now: SimTime, next: Option<SimTime>) {
        let _ = (now, next);
    }

    /// The passes of a loop of its own since the last call.
    fn take_passes(&mut self) -> Vec<PassRow> {
        Vec::new()
    }

    /// A report reaches the controller's cache at `now`. Returns whether the change starts a pass.
    fn learn(&mut self, report: Report, now: SimTime) -> bool;

    /// A person has changed something, and the controller's cache shows it now. Returns whether this starts a pass;
    /// `None`: this controller does not know such a change.
    fn change(&mut self, change: &Change, now: SimTime) -> Option<bool> {
        let _ = (change, now);
        None
    }

    /// A pass may begin now: what the controller asks for anew in each pass, of which no agent reports.
    fn look(&mut self, clusters: &dyn Clusters) {
        let _ = clusters;
    }

    /// One pass on what is in the cache now. The cache then holds what the pass decided; the clusters hear of it as
    /// it is written.
    fn decide(&mut self, now: SimTime) -> Decision;

    /// The requests of the pass that was just decided are answered at these times, in their order.
    fn answered(&mut self, answers: &[SimTime]) {
        let _ = answers;
    }

    /// The pass that was just decided ends at `end`. When the controller's work queue comes up with its key again:
    /// what a pass of controller-runtime asks for (`RequeueAfter`, backoff) counts from its end. A time before `end`
    /// means at once after it.
    fn requeue(&mut self, end: SimTime) -> Option<SimTime> {
        let _ = end;
        None
    }

    /// Whether every further pass on what is in the cache now would come to nothing, whenever it is made. A product
    /// that looks again and again by a timer, or tries again and again what must fail, says so, and its rollout counts
    /// as stalled when no news can come either.
    fn is_idle(&self, clusters: &dyn Clusters) -> bool {
        let _ = clusters;
        false
    }

    /// Whether the product sees the target on its wanted revision and ready.
    fn is_done(&self, cluster: ClusterId) -> bool;

    /// Which rule holds the rollout now.
    fn hold(&self) -> Option<Hold>;

    /// The stage that each target is in, for people; empty for none.
    fn stages(&self) -> Vec<String>;

    /// When something of the product's own happens next, beside passes and news; a time that is past means at once.
    /// `None`: nothing is due.
    fn next_event(&self) -> Option<SimTime> {
        None
    }

    /// The world is over, and news of it comes no more. A controller with a loop of its own advances from `now` until
    /// it reports completion, or to the horizon.
    fn conclude(&mut self, now: SimTime) {
        let _ = now;
    }

    /// When a controller with a loop of its own reported that the rollout of the new revision is complete.
    fn completed_at(&self) -> Option<SimTime> {
        None
    }

    /// Shows what the product's objects show to people now. Asked at the start, after every pass and at the end, and
    /// only of a run in detail.
    fn show(&mut self, log: &mut StatusLog) {
        let _ = log;
    }

    /// The error that ended the controller's process, if it has one. The run then ends with this error.
    fn failure(&self) -> Option<ProcessError> {
        None
    }

    /// The run is over, and nothing more is asked.
    fn finish(&mut self) {}

    /// Lets everything happen that is due at `now`.
    fn advance(&mut self, now: SimTime, clusters: &dyn Clusters) -> Happened {
        let _ = (now, clusters);
        Happened::default()
    }
}
