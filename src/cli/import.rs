//! `fleetsim import`: from exports of clusters, images and strategies to an experiment.

use std::path::PathBuf;

use clap::Args;
use fleetsim::import::{ImportError, ImportSources, import};

use super::{Failure, output};

#[derive(Args, Debug)]
#[command(after_help = "\
Every FILE is JSON or YAML with one or several documents, or `-` for standard input.

Examples:
  fleetsim import --fleet clusters.json --image v2.json --previous v1.json --strategy fleet.yaml -o my-experiment
  fleetsim import --members members.json --placement placement.yaml --image v2.json -o my-experiment
  fleetsim import --applications apps.json --strategy applicationset.yaml --image v2.json -o my-experiment
  fleetsim import --process processes.json --deployment deployment.json -o my-experiment
  kubectl get clusters.fleet.cattle.io -A -o json | fleetsim import --fleet - --image v2.json -o my-experiment")]
pub(super) struct ImportArgs {
    /// Rancher Fleet's clusters: `kubectl get clusters.fleet.cattle.io -A -o json`
    #[arg(long, value_name = "FILE", help_heading = "Rancher Fleet")]
    fleet: Option<PathBuf>,
    /// Targets of a bundle: `kubectl get gitrepos.fleet.cattle.io NAME -n NAMESPACE -o yaml`
    #[arg(long, value_name = "FILE", help_heading = "Rancher Fleet", visible_alias = "targets")]
    gitrepo: Option<PathBuf>,
    /// Cluster groups: `kubectl get clustergroups.fleet.cattle.io -A -o json`
    #[arg(long, value_name = "FILE", help_heading = "Rancher Fleet")]
    cluster_groups: Option<PathBuf>,
    /// KubeFleet's members: `kubectl get memberclusters -o json`
    #[arg(long, value_name = "FILE", help_heading = "KubeFleet")]
    members: Option<PathBuf>,
    /// The placement, which picks members: `kubectl get clusterresourceplacements NAME -o yaml`
    #[arg(long, value_name = "FILE", help_heading = "KubeFleet")]
    placement: Option<PathBuf>,
    /// Argo CD's applications: `argocd app list -o json` or `kubectl get applications -A -o json`
    #[arg(long, value_name = "FILE", help_heading = "Argo CD")]
    applications: Option<PathBuf>,
    /// Argo CD's clusters: `argocd cluster list -o json`, or the Secrets that declare them
    #[arg(long, value_name = "FILE", help_heading = "Argo CD")]
    clusters: Option<PathBuf>,
    /// An app's processes: `cf curl /v3/apps/GUID/processes`
    #[arg(long, value_name = "FILE", help_heading = "Cloud Foundry")]
    process: Option<PathBuf>,
    /// A deployment: the body of a request, or `cf curl /v3/deployments/GUID`
    #[arg(long, value_name = "FILE", help_heading = "Cloud Foundry")]
    deployment: Option<PathBuf>,
    /// An app manifest: manifest.yml
    #[arg(long, value_name = "FILE", help_heading = "Cloud Foundry")]
    manifest: Option<PathBuf>,
    /// The app of a manifest with several
    #[arg(long, value_name = "NAME", help_heading = "Cloud Foundry")]
    app: Option<String>,
    /// The strategy: a fleet.yaml, an ApplicationSet, a ClusterStagedUpdateStrategy, a placement or a deployment
    #[arg(long, value_name = "FILE")]
    strategy: Option<PathBuf>,
    /// Namespace of the clusters or applications [default: that of the GitRepo, or fleet-default]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Nodes of a typical cluster: `kubectl get nodes -o json`
    #[arg(long, value_name = "FILE")]
    nodes: Option<PathBuf>,
    /// Manifest of a new image: `crane manifest IMAGE` or `skopeo inspect --raw docker://IMAGE`; may be repeated
    #[arg(long = "image", value_name = "FILE", help_heading = "Images")]
    images: Vec<PathBuf>,
    /// Manifest of the image that runs now, for each --image in its order
    #[arg(long, value_name = "FILE", help_heading = "Images")]
    previous: Vec<PathBuf>,
    /// Platform to choose from an image index
    #[arg(long, value_name = "OS/ARCH", help_heading = "Images", default_value = "linux/amd64")]
    platform: String,
    /// Output folder: new or empty
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Replace an experiment that an earlier import wrote
    #[arg(long)]
    replace: bool,
}

pub(super) fn run(args: &ImportArgs) -> Result<(), Failure> {
    let sources = ImportSources {
        fleet: args.fleet.clone(),
        cluster_groups: args.cluster_groups.clone(),
        git_repo: args.gitrepo.clone(),
        namespace: args.namespace.clone(),
        members: args.members.clone(),
        placement: args.placement.clone(),
        applications: args.applications.clone(),
        clusters: args.clusters.clone(),
        process: args.process.clone(),
        deployment: args.deployment.clone(),
        manifest: args.manifest.clone(),
        app: args.app.clone(),
        nodes: args.nodes.clone(),
        strategy: args.strategy.clone(),
        images: args.images.clone(),
        previous: args.previous.clone(),
        platform: args.platform.clone(),
    };
    let imported = import(&sources, &args.out, args.replace)?;
    output::out(&imported.to_string())
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Input(error) => Self::Input(error),
            ImportError::Usage(message) => Self::Usage(message),
            error => Self::Machine(error.to_string()),
        }
    }
}
