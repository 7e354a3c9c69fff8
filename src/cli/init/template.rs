//! The experiment that `fleetsim init` writes: the answers and other relevant settings, each with its source or marked
//! as a guess.

use fleetsim::results::most_with_room;
use fleetsim::units::{Bytes, BytesPerSec, WithUnit};

use super::product::ProductChoice;

/// The canary group has one in 20 clusters, and at least one cluster.
const CANARY_SHARE: u64 = 20;

/// The user's answers. Rates and durations have been validated and are kept as written.
pub(super) struct InitAnswers {
    pub(super) name: String,
    pub(super) product: ProductChoice,
    pub(super) clusters: u64,
    pub(super) nodes: u64,
    /// The fields of a cluster's link.
    pub(super) link: String,
    pub(super) egress: String,
    pub(super) image: Bytes,
    pub(super) changed: Bytes,
    pub(super) settings: Vec<String>,
}

impl InitAnswers {
    /// Returns the text of `experiment.yaml`.
    pub(super) fn text(&self) -> String {
        let (setting, _) = self.product.setting();
        let name = &self.name;
        let egress = &self.egress;
        let fleet = self.fleet();
        let manifest = self.manifest("new");
        let previous = self.manifest("old");
        let (strategy, path) = self.strategy();
        let settings = self.settings.join(", ");
        let replicas = if self.product == ProductChoice::CloudFoundry {
            1
        } else {
            self.nodes.max(2)
        };
        format!(
            "\
# Written by `fleetsim init`. docs/experiment-format.md describes every field.
name: {name}
question: Which {setting} is fast enough, and how much load does it put on the registry?
seed: 1
replicates: 20
horizon: 48h

{fleet}
registry: {{egress: {egress}}}

release:
  kind: update
  images:
    # Sizes are compressed. `crane manifest IMAGE > v2.json` and `manifest: v2.json` use the real layers.
    - name: app
      manifest: {manifest}
      previous: {previous}
  workloads:
    # guess: the application needs 4 s to start, between 1 s and 30 s; replace it with what your pods need.
    - {{kind: Deployment, image: app, replicas: {replicas}, start: {{median: 4 s, sigma: 0.6}}, readiness: {{period: 10 s}}}}

# guess: two of 1,000 pulls fail, between 0 and 1%.
faults: {{pullFailure: 0.2%}}

strategies:
{strategy}
sweep:
  {path}: [{settings}]

# `fleetsim plan` finds the fastest of these settings that keeps the limits. A tenth of the link stays free.
plan:
  limits: [registry.busiest_minute_p99 < {limit}]
",
            limit = self.limit(),
        )
    }

    /// Returns nine tenths of the registry's link, in the format of the experiment.
    fn limit(&self) -> String {
        let rate = BytesPerSec::parse(&self.egress).map_or(0.0, BytesPerSec::get);
        format!("{} Mbit/s", most_with_room(rate * 8e-6).floor().max(1.0))
    }

    fn fleet(&self) -> String {
        let canary = (self.clusters / CANARY_SHARE).max(1);
        let rest = self.clusters - canary;
        let mut text = "\
# The clusters of the first group go first where the product has an order; labels say which they are.
# `fleetsim import` writes this list from what `kubectl get` prints.
fleet:
"
        .to_owned();
        text.push_str(&self.group("a-canary", "canary", canary));
        if rest > 0 {
            text.push_str(&self.group("b-rest", "rest", rest));
        }
        text
    }

    /// Returns a group of clusters with numbered names.
    fn group(&self, name: &str, ring: &str, count: u64) -> String {
        let digits = count.to_string().len();
        let first = 1;
        let nodes = self.nodes;
        let link = &self.link;
        format!(
            "  - {{name: \"{name}-{{{first:0digits$}..{count}}}\", labels: {{ring: {ring}}}, nodes: {nodes}, \
             {link}}}\n"
        )
    }

    fn manifest(&self, changed: &str) -> String {
        let kept = self.image.get() - self.changed.get();
        let mut layers = Vec::new();
        if kept > 0 {
            layers.push(format!("{{digest: kept, size: {}}}", written(kept)));
        }
        if self.changed.get() > 0 {
            layers.push(format!(
                "{{digest: {changed}, size: {}}}",
                written(self.changed.get())
            ));
        }
        format!("{{layers: [{}]}}", layers.join(", "))
    }

    /// Returns the strategy, and the path of the compared setting.
    fn strategy(&self) -> (String, &'static str) {
        let (text, path) = match self.product {
            ProductChoice::RancherFleet => (
                "  git: {rancherFleet: {maxUnavailable: 10%}}\n",
                "strategies.git.rancherFleet.maxUnavailable",
            ),
            ProductChoice::KubefleetRolling => (
                "  rolling: {kubeFleetRolling: {maxUnavailable: 10%}}\n",
                "strategies.rolling.kubeFleetRolling.maxUnavailable",
            ),
            ProductChoice::CloudFoundry => (
                "  rolling: {cloudFoundry: {maxInFlight: 1}}\n",
                "strategies.rolling.cloudFoundry.maxInFlight",
            ),
            ProductChoice::KubefleetStaged => (
                "  staged:
    kubeFleetStaged:
      stages:
        - {name: canary, labelSelector: {matchLabels: {ring: canary}}, maxConcurrency: 100%}
        - {name: rest, labelSelector: {matchLabels: {ring: rest}}, maxConcurrency: 10%}
",
                "strategies.staged.kubeFleetStaged.stages[1].maxConcurrency",
            ),
            ProductChoice::ArgoCd => (
                "  steps:
    argoCd:
      strategy:
        type: RollingSync
        rollingSync:
          steps:
            - {matchExpressions: [{key: ring, operator: In, values: [canary]}]}
            - {matchExpressions: [{key: ring, operator: In, values: [rest]}], maxUpdate: 10%}
",
                "strategies.steps.argoCd.strategy.rollingSync.steps[1].maxUpdate",
            ),
        };
        (text.to_owned(), path)
    }
}

/// Returns a number of bytes in the exact notation of an experiment.
fn written(bytes: u64) -> String {
    match bytes {
        whole if whole % 1_000_000 == 0 => format!("{} MB", whole / 1_000_000),
        whole if whole % 1_000 == 0 => format!("{} kB", whole / 1_000),
        bytes => format!("{bytes} B"),
    }
}
