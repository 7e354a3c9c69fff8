//! The experiments of the page: small fleets, each with a strategy under the documented rules and one under the
//! shipped rules.

mod argo_cd;
mod cloud_foundry;
mod fleet;
mod kubefleet;

use fleetsim::report::wrapped;

pub(super) use argo_cd::ARGO_CD;
pub(super) use cloud_foundry::CLOUD_FOUNDRY;
pub(super) use fleet::FLEET;
pub(super) use kubefleet::KUBEFLEET;

/// Maximum number of characters in a line of the page.
const WIDTH: usize = 110;

/// Indentation of the continuation of a long line. YAML reads both as one line.
const FURTHER: &str = "      ";

/// An experiment with a strategy by each set of rules.
pub(super) struct DocumentSetup {
    pub(super) name: &'static str,
    /// The entries of the fleet: a name with its pattern, and labels.
    pub(super) fleet: &'static [(&'static str, &'static str)],
    /// `update`, or `initial` for a first deployment.
    pub(super) release: &'static str,
    /// Further lines of the experiment.
    pub(super) others: &'static str,
    pub(super) documented: &'static str,
    pub(super) shipped: &'static str,
    /// The products' files: name and text.
    pub(super) files: &'static [(&'static str, &'static str)],
}

impl DocumentSetup {
    /// The experiment with this strategy.
    pub(super) fn experiment(&self, strategy: &str) -> String {
        self.text(
            &format!("\n  s: {strategy}"),
            ", downlink: 1 Gbit/s, rtt: 1 ms",
        )
    }

    /// Returns the experiment as the page shows it, without the parts that all experiments share.
    pub(super) fn shown(&self) -> String {
        let mut strategies = format!("\n  documented: {}", self.documented);
        if self.documented != self.shipped {
            strategies.push_str(&format!("\n  shipped: {}", self.shipped));
        }
        let text = self.text(&strategies, "");
        let own = text
            .lines()
            .filter(|line| !COMMON.lines().any(|common| common == *line));
        own.map(folded).collect()
    }

    fn text(&self, strategies: &str, link: &str) -> String {
        let mut text = format!("{COMMON}fleet:\n");
        for (name, labels) in self.fleet {
            text.push_str(&format!(
                "  - {{name: \"{name}\", nodes: 1, labels: {{{labels}}}{link}}}\n"
            ));
        }
        let images = if self.others.contains("images:") {
            ""
        } else {
            IMAGES
        };
        text.push_str(&format!("release:\n  kind: {}\n{images}", self.release));
        text.push_str(self.others);
        text.push_str(&format!("strategies:{strategies}\n"));
        text
    }
}

/// Folds a line that is too long.
fn folded(line: &str) -> String {
    let text = line.trim_start();
    let indent = &line[..line.len() - text.len()];
    format!("{indent}{}", wrapped(text, WIDTH, FURTHER))
}

/// The common part of all experiments. The registry is no bottleneck, so waves stay separate.
pub(super) const COMMON: &str = "\
name: documents
question: What does the document promise?
replicates: 1
horizon: 24h
registry: {egress: 1000 Gbit/s}
controller: {request: 5 ms}
";

/// The release of most experiments.
const IMAGES: &str = "  images: [{name: shop, manifest: {layers: [{size: 100 MB}]}}]
  workloads: [{kind: Deployment, image: shop, replicas: 1, start: 4 s, readiness: {period: 10 s}}]
";

/// An update with everything else by default.
const UPDATE: DocumentSetup = DocumentSetup {
    name: "",
    fleet: &[],
    release: "update",
    others: "",
    documented: "",
    shipped: "",
    files: &[],
};
