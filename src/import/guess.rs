//! Facts that no export contains: the assumed value, its range, and how to replace it.
//!
//! Values and ranges of constants come from [`constants`]. The other guesses are counts for the user's own site, with
//! ranges from [`crate::world::calibration`].

use crate::document::yaml;
use crate::scenario::constants;
use crate::world::{RuntimeVersion, calibration};

/// A value that no export contains.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Guess {
    /// The setting, as a path in the experiment file.
    pub setting: String,
    /// The value, as written in the experiment file.
    pub value: String,
    /// The range in which the true value is expected.
    pub range: String,
    /// The suggested replacement for the guess.
    pub replace_with: String,
}

impl Guess {
    pub(super) fn new(setting: &str, value: &str, range: &str, replace_with: &str) -> Self {
        Self {
            setting: setting.to_owned(),
            value: value.to_owned(),
            range: range.to_owned(),
            replace_with: replace_with.to_owned(),
        }
    }

    /// Creates a guess for a model constant, with the constant's default and range. `at` is the index in the
    /// constant's path, if there is one.
    fn constant(name: &str, at: usize, replace_with: &str) -> Self {
        let constant = constants::all()
            .find(|constant| constant.name() == name)
            .expect("a constant of the model");
        let value = constant.default_text().expect("it has a default");
        Self::new(
            &name.replace('*', &at.to_string()),
            &value,
            &constant.range.join(" to "),
            replace_with,
        )
    }

    /// Guesses when the rollout starts, on which its windows depend.
    pub(super) fn start_time(start: &str) -> Self {
        Self::new(
            "startsAt",
            start,
            "inside or outside of the windows",
            "the date, time and time zone of the start, such as `2026-03-28 22:00 Europe/Berlin`",
        )
    }

    /// Guesses the number of nodes of each cluster for which it is not given.
    pub(super) fn nodes(place: &str) -> Self {
        Self::new(
            &format!("{place}.nodes"),
            &calibration::NODES.to_string(),
            "1 to 250",
            "the count of a typical cluster (--nodes), or a column `nodes` in clusters.csv",
        )
    }

    pub(super) fn egress() -> Self {
        Self::new(
            "registry.egress",
            &calibration::REGISTRY_EGRESS.to_string(),
            "240 Mbit/s to 100 Gbit/s",
            "the bandwidth of your registry, or a preset such as `preset: ecr`",
        )
    }

    pub(super) fn service_time() -> Self {
        Self::constant(
            "registry.serviceTime",
            0,
            "the median of the registry's request durations",
        )
    }

    /// Guesses the link of a cluster that several targets share.
    pub(super) fn shared_link(at: usize) -> Self {
        let replace = "the bandwidth of each of these clusters";
        Self {
            setting: format!("regions[{at}].bandwidth"),
            ..Self::constant("fleet[*].downlink", at, replace)
        }
    }

    /// Guesses that no layer is shared with the currently running version.
    pub(super) fn previous(image: usize, all: &str) -> Self {
        Self::new(
            &format!("release.images[{image}].previous"),
            "none",
            &format!("0 B to {all} are already on the nodes"),
            "the manifest of the version that runs now (--previous)",
        )
    }

    /// Guesses the size of an image without a manifest.
    pub(super) fn image_size() -> Self {
        Self::new(
            "release.images[0].manifest.layers[0].size",
            "200 MB",
            "20 MB to 2 GB",
            "the manifest that `crane manifest IMAGE` prints (--image), or the size of the droplet",
        )
    }

    pub(super) fn compression_ratio(image: usize) -> Self {
        let replace =
            "the size that `crictl images` shows, divided by that of the layers in the manifest";
        Self::constant("release.images[*].compressionRatio", image, replace)
    }

    pub(super) fn zstd_factor() -> Self {
        let replace =
            "the unpacking time of a layer with gzip, divided by that of the same layer with zstd";
        Self::constant("node.zstdFactor", 0, replace)
    }

    pub(super) fn replicas(workload: usize) -> Self {
        Self::new(
            &format!("release.workloads[{workload}].replicas"),
            "1",
            "1 to 20",
            "`spec.replicas` of the Deployment, or `kind: DaemonSet`",
        )
    }

    pub(super) fn start(workload: usize) -> Self {
        let replace = "the time from a container's start to its first successful probe";
        Self::constant("release.workloads[*].start", workload, replace)
    }

    pub(super) fn readiness(workload: usize) -> Self {
        let replace = "`periodSeconds` of the readiness probe; remove the line where there is none";
        Self::constant("release.workloads[*].readiness.period", workload, replace)
    }

    /// Guesses the time until people approve a stage.
    pub(super) fn approvals() -> Self {
        Self::new(
            "strategies.as-exported.kubeFleetStaged.approvals",
            "{after: 10 min}",
            "1 min to 24 h",
            "the time that people take to approve a stage",
        )
    }

    /// Guesses the time until people continue a canary deployment.
    pub(super) fn continue_after() -> Self {
        Self::new(
            "strategies.as-exported.cloudFoundry.continueAfter",
            "10 min",
            "1 min to 24 h",
            "the time that people take to continue a paused deployment",
        )
    }

    /// Guesses whether a webhook announces commits to Argo CD.
    pub(super) fn webhook() -> Self {
        Self::new(
            "strategies.as-exported.argoCd.webhook",
            "false",
            "false or true",
            "true, if the repository calls Argo CD's webhook on each commit; without it, applications find a commit by \
             polling, within 5 min",
        )
    }

    pub(super) fn runtime() -> Self {
        let value = serde_json::to_value(RuntimeVersion::default()).expect("a name");
        Self::new(
            "node.runtime",
            &yaml::plain(&value),
            "containerd-1.7, -2.0, -2.1, -2.4 or cri-o",
            "the runtime of a typical node (--nodes)",
        )
    }
}
