//! What goes wrong.

use super::super::file_faults::{
    CutsFile, DefectFile, DefectKindFile, FaultsFile, NodeLossFile, OutagesFile, RegionalFile,
};
use super::super::quantity::Percent;
use super::super::spread::Spread;
use super::Checker;
use crate::document::path::Path;
use crate::rollout::label_selector::Labels;
use crate::units::{Factor, Share, SimDuration};
use crate::world::calibration as default;
use crate::world::{
    ClusterSpec, CutKind, DefectKind, DurationModel, FactorModel, FaultSpec, NodeLossSpec, OutageSpec, RegionSpec,
    RegionalOutageSpec, RegionalTimes, SlowSpec, WorkloadSpec,
};

impl Checker<'_> {
    pub(super) fn faults(
        &mut self,
        written: Option<&FaultsFile>,
        clusters: &[ClusterSpec],
        regions: &[RegionSpec],
        workloads: &[WorkloadSpec],
    ) -> FaultSpec {
        let written = written.cloned().unwrap_or_default();
        let path = Path::of("faults");
        let share = |share: Option<Percent>| share.map_or(Share::NONE, |share| share.0);
        let pull_failure = share(written.pull_failure);
        if pull_failure.get() >= 1.0 {
            let help = "write less than 100%; a fleet that cannot pull at all is not a rollout";
            self.report(&path.key("pullFailure"), "no pull would ever succeed", help);
        }
        let back = written.offline.as_ref().and_then(|offline| offline.comes_back.as_ref());
        let list = path.key("regional");
        let regional = written.regional.iter().flatten().enumerate();
        let regional = regional.filter_map(|(at, one)| self.regional(&list.index(at), at, one, clusters, regions));
        let regional = regional.collect();
        let mut faults = FaultSpec {
            offline: share(written.offline.as_ref().map(|offline| offline.share)),
            offline_return: back
                .map(|back| self.spread(&path.key("offline").key("return"), Some(back), SimDuration::ZERO.into())),
            outages: written.outages.as_ref().map(|outages| self.outages(&path.key("outages"), outages)),
            regional,
            slow: written.slow.as_ref().map(|slow| SlowSpec {
                share: slow.share.0,
                factor: self.spread(
                    &path.key("slow").key("factor"),
                    Some(&slow.factor),
                    FactorModel::Constant(Factor::new(1.0)),
                ),
            }),
            pull_failure,
            not_found: share(written.not_found),
            node_loss: written.node_loss.as_ref().map(|loss| self.node_loss(&path.key("nodeLoss"), loss)),
            crash_after: default::CRASH_AFTER,
            ..FaultSpec::default()
        };
        if let Some(defect) = &written.defect {
            self.defect(&path.key("defect"), defect, workloads, &mut faults);
        }
        faults
    }

    /// A time between failures, or of a repair: with a mean, or the process would have no present.
    fn turn(&mut self, path: &Path, written: Option<&Spread>, default: DurationModel) -> DurationModel {
        let model = self.spread(path, written, default);
        if !model.mean().is_finite() {
            let help = "write an `alpha` above 1, or a `most`";
            self.report(path, "the mean is infinite, so that nobody could say how the fleet stands", help);
        }
        model
    }

    fn between(&mut self, path: &Path, written: Option<&Spread>, default: DurationModel) -> DurationModel {
        let model = self.turn(path, written, default);
        if model.mean() < 1.0 {
            let help = "write a mean of at least 1 s, e.g. `{weibull: {mean: 30 d, shape: 0.75}}`";
            self.report(path, "failures would follow on each other without end", help);
        }
        model
    }

    fn cuts(&mut self, path: &Path, cuts: Option<CutsFile>, downlink: Option<Percent>) -> CutKind {
        match (cuts, downlink) {
            (Some(CutsFile::Management), None) => CutKind::Management,
            (Some(CutsFile::All) | None, None) => CutKind::All,
            (cuts, Some(Percent(downlink))) => {
                let path = path.key("downlink");
                if cuts.is_some() {
                    let help = "leave `cuts` out for a brownout, or `downlink` for an outage";
                    self.report(&path, "an outage has either `cuts` or `downlink`", help);
                } else if downlink == Share::NONE {
                    let help = "write more than 0%, or leave it out: then the clusters are cut off";
                    self.report(&path, "a link that carries nothing is no brownout", help);
                }
                CutKind::Brownout { downlink }
            }
        }
    }

    fn outages(&mut self, path: &Path, written: &OutagesFile) -> OutageSpec {
        let between = self.between(&path.key("between"), written.between.as_ref(), default::outage_between());
        let repair = self.turn(&path.key("repair"), written.repair.as_ref(), default::OUTAGE_REPAIR);
        let cuts = self.cuts(path, written.cuts, written.downlink);
        OutageSpec { between, repair, cuts }
    }

    fn node_loss(&mut self, path: &Path, written: &NodeLossFile) -> NodeLossSpec {
        NodeLossSpec {
            between: self.between(&path.key("between"), written.between.as_ref(), default::node_loss_between()),
            repair: self.turn(&path.key("repair"), written.repair.as_ref(), default::NODE_LOSS_REPAIR),
            grace: written.grace.map_or(default::NODE_GRACE, |span| span.0),
            eviction: written.eviction.map_or(default::NODE_EVICTION, |span| span.0),
        }
    }

    fn regional(
        &mut self,
        path: &Path,
        at: usize,
        written: &RegionalFile,
        clusters: &[ClusterSpec],
        regions: &[RegionSpec],
    ) -> Option<RegionalOutageSpec> {
        let names: Vec<String> = regions.iter().map(|region| region.name.clone()).collect();
        let (name, chosen): (String, Vec<usize>) = match (&written.region, &written.selector) {
            (Some(region), None) => {
                let found = self.lookup(&path.key("region"), region, &Path::of("regions"), &names)?;
                let members = clusters.iter().enumerate().filter(|(_, cluster)| cluster.region == Some(found));
                (format!("region {region}"), members.map(|(index, _)| index).collect())
            }
            (None, Some(selector)) => {
                let labels: Vec<&Labels> = clusters.iter().map(|cluster| &cluster.labels).collect();
                let checked = self.selector(&path.key("selector"), selector, &labels)?;
                let members = labels.iter().enumerate().filter(|(_, labels)| checked.matches(labels));
                (format!("regional outage {at}"), members.map(|(index, _)| index).collect())
            }
            _ => {
                let help = "write e.g. `{region: eu, windows: [{from: 10m, for: 1h}]}`; `selector: {}` is all clusters";
                self.report(path, "it wants either `region` or `selector`", help);
                return None;
            }
        };
        if chosen.is_empty() && written.region.is_some() && self.is_whole(&Path::of("fleet")) {
            self.report(
                &path.key("region"),
                "no cluster is behind this link",
                "write `region:` at the clusters' group",
            );
        }
        let times = match (&written.windows, &written.between, &written.repair) {
            (Some(windows), None, None) if !windows.is_empty() => {
                RegionalTimes::Windows(windows.iter().map(|window| (window.from.0, window.lasts.0)).collect())
            }
            (None, Some(between), Some(repair)) => RegionalTimes::Drawn {
                between: self.between(&path.key("between"), Some(between), default::outage_between()),
                repair: self.turn(&path.key("repair"), Some(repair), default::OUTAGE_REPAIR),
            },
            _ if !self.is_untouched(path) => return None,
            _ => {
                let help = "write `windows: [{from: 10m, for: 1h}]`, or `between: …` and `repair: …`";
                self.report(path, "it wants either `windows`, or `between` and `repair`", help);
                return None;
            }
        };
        let cuts = self.cuts(path, written.cuts, written.downlink);
        // Luck of its own: an outage of the same region does not come at the same times.
        let name = if let CutKind::Brownout { .. } = cuts { format!("brownout of {name}") } else { name };
        Some(RegionalOutageSpec { name, clusters: chosen, cuts, times })
    }

    fn defect(&mut self, path: &Path, written: &DefectFile, workloads: &[WorkloadSpec], faults: &mut FaultSpec) {
        faults.defect = written.share.0;
        faults.defect_kind = match written.kind {
            Some(DefectKindFile::Unready) => DefectKind::Unready,
            Some(DefectKindFile::Crashes) | None => DefectKind::Crashes,
        };
        if written.crash_after.is_some() && (written.detected_after.is_some() || written.kind.is_some_and(is_unready)) {
            let help = "leave `crashAfter` out: it is for a container that crashes and never works";
            self.report(&path.key("crashAfter"), "such a container does not crash at its start", help);
        }
        if faults.defect_kind == DefectKind::Unready
            && !workloads.is_empty()
            && workloads.iter().all(|workload| workload.readiness.is_none())
        {
            let help = "give a workload a `readiness` probe, or write `kind: crashes`";
            self.report(&path.key("kind"), "without a readiness probe nobody sees that a pod is not ready", help);
        }
        faults.crash_after = self.spread(&path.key("crashAfter"), written.crash_after.as_ref(), default::CRASH_AFTER);
        faults.detected_after = written
            .detected_after
            .as_ref()
            .map(|after| self.spread(&path.key("detectedAfter"), Some(after), SimDuration::ZERO.into()));
    }
}

const fn is_unready(kind: DefectKindFile) -> bool {
    matches!(kind, DefectKindFile::Unready)
}
