//! Checks `faults`: random quantities must have a mean, and regional outages must name existing regions or select
//! clusters by label.

use super::check::Checker;
use crate::document::path::Path;
use crate::products::Strategy;
use crate::rollout::label_selector::Labels;
use crate::units::Share;
use crate::world::{
    ApplyFaultSpec, ClusterSpec, DefectKind, DefectSpec, DurationModel, FaultSpec, RegionSpec,
    RegionalOutageSpec, WorkloadSpec,
};

impl Checker<'_> {
    /// Checks the faults of a world, reads files of values, and applies regional outages to clusters.
    pub(super) fn faults(
        &mut self,
        written: &FaultSpec,
        clusters: &[ClusterSpec],
        regions: &[RegionSpec],
        workloads: &[WorkloadSpec],
    ) -> FaultSpec {
        let mut faults = written.clone();
        let path = Path::of("faults");
        if faults.pull_failure == Share::ALL {
            let help = "write less than 100%: a fleet that cannot pull images cannot be updated";
            self.report(
                &path.key("pullFailure"),
                "`pullFailure` must be less than 100%",
                help,
            );
        }
        if let Some(back) = &mut faults.offline.comes_back {
            self.resolve(&path.key("offline").key("return"), back);
        }
        self.renewals(&path, &mut faults);
        for (at, one) in faults.regional.iter_mut().enumerate() {
            self.regional(&path.key("regional").index(at), one, clusters, regions);
        }
        if let Some(slow) = &mut faults.slow {
            self.resolve(&path.key("slow").key("factor"), &mut slow.factor);
        }
        self.defect(&path.key("defect"), &mut faults.defect, workloads);
        let names: Vec<String> = clusters
            .iter()
            .map(|cluster| cluster.name.clone())
            .collect();
        for (at, one) in faults.apply.iter_mut().enumerate() {
            self.apply_fault(&path.key("apply").index(at), one, &names);
        }
        faults
    }

    fn renewals(&mut self, path: &Path, faults: &mut FaultSpec) {
        if let Some(outages) = &mut faults.outages {
            let path = path.key("outages");
            self.renewal(&path, &mut outages.between, &mut outages.repair);
            self.brownout(&path, outages.downlink);
        }
        if let Some(loss) = &mut faults.node_loss {
            self.renewal(&path.key("nodeLoss"), &mut loss.between, &mut loss.repair);
        }
    }

    /// Checks alternating failures and repairs. Both need a mean, because otherwise there is no typical state at the
    /// start of the rollout.
    fn renewal(&mut self, path: &Path, between: &mut DurationModel, repair: &mut DurationModel) {
        for (key, model) in [("between", &mut *between), ("repair", repair)] {
            let path = path.key(key);
            self.resolve(&path, model);
            if !model.mean().is_finite() {
                let help = "write an `alpha` greater than 1, or a `most`";
                self.report(&path, "the distribution must have a finite mean", help);
            }
        }
        if between.mean() < 1.0 {
            let help = "write e.g. `{weibull: {mean: 30 d, shape: 0.75}}`";
            self.report(
                &path.key("between"),
                "mean time between failures must be at least 1 s",
                help,
            );
        }
    }

    fn brownout(&mut self, path: &Path, downlink: Option<Share>) {
        if downlink.is_none() {
            return;
        }
        let at = path.key("downlink");
        if self.is_set(&path.key("cuts")) {
            let help = "remove `cuts` for a brownout, or `downlink` for an outage";
            self.report(&at, "an outage has either `cuts` or `downlink`", help);
        } else if downlink == Some(Share::NONE) {
            let help = "to cut clusters off completely, remove it";
            self.report(&at, "`downlink` must be greater than 0%", help);
        }
    }

    fn regional(
        &mut self,
        path: &Path,
        outage: &mut RegionalOutageSpec,
        clusters: &[ClusterSpec],
        regions: &[RegionSpec],
    ) {
        match (&outage.region, &outage.selector) {
            (Some(region), None) => {
                let path = path.key("region");
                let names: Vec<String> = regions.iter().map(|region| region.name.clone()).collect();
                let Some(found) = self.lookup(&path, region, &Path::of("regions"), &names) else {
                    return;
                };
                outage.clusters = positions(clusters, |cluster| cluster.region == Some(found));
                if outage.clusters.is_empty() && self.is_whole(&Path::of("fleet")) {
                    let help = "set `region:` in a group of `fleet`";
                    self.report(&path, format!("no cluster is in region `{region}`"), help);
                }
            }
            (None, Some(selector)) => {
                let labels: Vec<&Labels> =
                    clusters.iter().map(|cluster| &*cluster.labels).collect();
                let Some(checked) = self.selector(&path.key("selector"), selector, &labels) else {
                    return;
                };
                outage.clusters = positions(clusters, |cluster| checked.matches(&cluster.labels));
            }
            _ => {
                let help = "write e.g. `{region: eu, windows: [{from: 10m, for: 1h}]}`; `selector: {}` is all clusters";
                self.report(
                    path,
                    "a regional outage needs either `region` or `selector`",
                    help,
                );
                return;
            }
        }
        match (
            outage.windows.is_empty(),
            &mut outage.between,
            &mut outage.repair,
        ) {
            (true, Some(between), Some(repair)) => self.renewal(path, between, repair),
            (false, None, None) => {}
            _ if !self.is_untouched(path) => return,
            _ => {
                let help =
                    "write `windows: [{from: 10m, for: 1h}]`, or `between: …` and `repair: …`";
                self.report(
                    path,
                    "a regional outage needs either `windows`, or `between` and `repair`",
                    help,
                );
                return;
            }
        }
        self.brownout(path, outage.downlink);
    }

    /// Checks failing applies, which affect a share of the clusters or the named clusters.
    pub(super) fn apply_fault(
        &mut self,
        path: &Path,
        fault: &mut ApplyFaultSpec,
        clusters: &[String],
    ) {
        let has_share = self.is_set(&path.key("share"));
        if has_share != fault.clusters.is_empty() {
            let help = "write e.g. `{share: 10%, kind: rejected}`, or `{clusters: [c-01], kind: rejected}`";
            let message = "a failing apply needs either `share` or `clusters`";
            self.report(path, message, help);
        }
        for (at, name) in fault.clusters.iter().enumerate() {
            let path = path.key("clusters").index(at);
            self.lookup(&path, name, &Path::of("fleet"), clusters);
        }
        if fault.attempts == Some(0) {
            let help = "write how many applies fail, or remove it: then all fail";
            self.report(&path.key("attempts"), "`attempts` must be at least 1", help);
        }
        if let Some(after) = &mut fault.after {
            self.resolve(&path.key("after"), after);
        }
    }

    /// Checks that failing applies are used only with products whose reaction to them is simulated.
    pub(super) fn apply_faults_of(
        &mut self,
        name: &str,
        strategy: &dyn Strategy,
        faults: &FaultSpec,
    ) {
        for (at, fault) in faults.apply.iter().enumerate() {
            if let Some(refusal) = strategy.refuses_failure(fault.kind) {
                let path = Path::of("faults").key("apply").index(at).key("kind");
                let message = format!("the strategy `{name}` cannot have it: {}", refusal.message);
                self.report(&path, message, refusal.help);
            }
        }
    }

    pub(super) fn defect(
        &mut self,
        path: &Path,
        defect: &mut DefectSpec,
        workloads: &[WorkloadSpec],
    ) {
        let crash_after = path.key("crashAfter");
        let is_unready = defect.kind == DefectKind::Unready;
        if self.is_set(&crash_after) && (defect.detected_after.is_some() || is_unready) {
            let help = "remove it: it applies to containers that crash and never work";
            self.report(
                &crash_after,
                "`crashAfter` has no effect on this defect",
                help,
            );
        }
        if is_unready
            && !workloads.is_empty()
            && workloads
                .iter()
                .all(|workload| workload.readiness.is_none() && workload.start_timeout.is_none())
        {
            let help =
                "give a workload a `readiness` probe or a `startTimeout`, or write `kind: crashes`";
            self.report(
                &path.key("kind"),
                "`unready` has no effect without a readiness probe",
                help,
            );
        }
        self.resolve(&crash_after, &mut defect.crash_after);
        if let Some(after) = &mut defect.detected_after {
            self.resolve(&path.key("detectedAfter"), after);
        }
    }
}

fn positions(clusters: &[ClusterSpec], is_hit: impl Fn(&ClusterSpec) -> bool) -> Vec<usize> {
    (0..clusters.len())
        .filter(|index| is_hit(&clusters[*index]))
        .collect()
}
