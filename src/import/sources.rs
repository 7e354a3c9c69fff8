//! The files of an import, each read once. `-` is standard input.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use jiff::Timestamp;

use crate::document::problem::{OrProblems, Problem, Source};
use crate::io::{in_words, is_stdin, open_input, text_of, unpacked};
use crate::world::SiteKind;

/// Maximum size of an export. 100,000 clusters need about 200 MB.
const MOST_BYTES: u64 = 2_000_000_000;

/// The exports and settings of an import, which are also command-line options. Any file may be `-` for standard input.
#[derive(Args, Clone, Debug, Default)]
pub struct ImportSources {
    /// Rancher Fleet's clusters: `kubectl get clusters.fleet.cattle.io -A -o json`
    #[arg(long, value_name = "FILE", help_heading = "Rancher Fleet")]
    pub fleet: Option<PathBuf>,
    /// Targets of a bundle: `kubectl get gitrepos.fleet.cattle.io NAME -n NAMESPACE -o yaml`
    #[arg(
        long = "gitrepo",
        value_name = "FILE",
        help_heading = "Rancher Fleet",
        visible_alias = "targets"
    )]
    pub git_repo: Option<PathBuf>,
    /// Cluster groups: `kubectl get clustergroups.fleet.cattle.io -A -o json`
    #[arg(long, value_name = "FILE", help_heading = "Rancher Fleet")]
    pub cluster_groups: Option<PathBuf>,
    /// Schedules: `kubectl get schedules.fleet.cattle.io -A -o json`; those in other files are read as well
    #[arg(long, value_name = "FILE", help_heading = "Rancher Fleet")]
    pub schedules: Option<PathBuf>,
    /// KubeFleet's members: `kubectl get memberclusters -o json`
    #[arg(long, value_name = "FILE", help_heading = "KubeFleet")]
    pub members: Option<PathBuf>,
    /// The placement, which picks members: `kubectl get clusterresourceplacements NAME -o yaml`
    #[arg(long, value_name = "FILE", help_heading = "KubeFleet")]
    pub placement: Option<PathBuf>,
    /// Argo CD's applications: `argocd app list -o json`, or with their set: `kubectl get
    /// applications,applicationsets -A -o json`
    #[arg(long, value_name = "FILE", help_heading = "Argo CD")]
    pub applications: Option<PathBuf>,
    /// Argo CD's clusters: `argocd cluster list -o json`, or the Secrets that declare them
    #[arg(long, value_name = "FILE", help_heading = "Argo CD")]
    pub clusters: Option<PathBuf>,
    /// Projects, for their sync windows: `kubectl get appprojects -A -o json`; those in other files are read as well
    #[arg(long, value_name = "FILE", help_heading = "Argo CD")]
    pub project: Option<PathBuf>,
    /// An app's processes: `cf curl /v3/apps/GUID/processes`
    #[arg(long, value_name = "FILE", help_heading = "Cloud Foundry")]
    pub process: Option<PathBuf>,
    /// A deployment: the body of a request, or `cf curl /v3/deployments/GUID`
    #[arg(long, value_name = "FILE", help_heading = "Cloud Foundry")]
    pub deployment: Option<PathBuf>,
    /// An app manifest: manifest.yml
    #[arg(long, value_name = "FILE", help_heading = "Cloud Foundry")]
    pub manifest: Option<PathBuf>,
    /// The app to import, if the manifest has several
    #[arg(long, value_name = "NAME", help_heading = "Cloud Foundry")]
    pub app: Option<String>,
    /// The strategy: a fleet.yaml, an ApplicationSet, a ClusterStagedUpdateStrategy, a placement or a deployment
    #[arg(long, value_name = "FILE")]
    pub strategy: Option<PathBuf>,
    /// Also write the strategy's fields into the experiment, where they override those of its file
    #[arg(long)]
    pub inline: bool,
    /// Namespace of the clusters or applications [default: the GitRepo's, or fleet-default]
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Nodes of a typical cluster: `kubectl get nodes -o json`
    #[arg(long, value_name = "FILE")]
    pub nodes: Option<PathBuf>,
    /// Where the clusters are, for the links that no export contains [default: from the exports, or branch]
    #[arg(long, value_enum, value_name = "KIND")]
    pub site: Option<SiteKind>,
    /// Manifest of a new image: `crane manifest IMAGE` or `skopeo inspect --raw docker://IMAGE`; may be repeated
    #[arg(long = "image", value_name = "FILE", help_heading = "Images")]
    pub images: Vec<PathBuf>,
    /// Manifest of the image that runs now, one for each --image, in the same order
    #[arg(long, value_name = "FILE", help_heading = "Images")]
    pub previous: Vec<PathBuf>,
    /// Platform to choose from an image index
    #[arg(
        long,
        value_name = "OS/ARCH",
        help_heading = "Images",
        default_value = "linux/amd64"
    )]
    pub platform: String,
    /// The current time. `None`: no time in an export is treated as a future time.
    #[arg(skip)]
    pub clock: Option<Timestamp>,
}

/// Returns true if the text is a command, rather than the name of a hand-written file.
pub(super) fn is_command(command: &str) -> bool {
    command.contains(' ')
}

/// Returns the fix for a wrong file: the command that writes the right file, or its name.
pub(super) fn written(command: &str) -> String {
    if is_command(command) {
        format!("write it with `{command}`")
    } else {
        format!("name your {command}")
    }
}

/// Returns a problem with a file as a whole.
fn problem(file: &str, message: &str, help: String) -> Vec<Problem> {
    vec![Problem::of_file(file, message.to_owned()).with_help(help)]
}

/// The texts of an import's files.
pub(crate) struct Texts {
    read: BTreeMap<PathBuf, Arc<Source>>,
    /// Maximum size of a file in bytes.
    most: u64,
}

impl Default for Texts {
    fn default() -> Self {
        Self::limited_to(MOST_BYTES)
    }
}

impl Texts {
    /// Creates an empty collection. `most` is the maximum size of a file in bytes.
    pub(crate) const fn limited_to(most: u64) -> Self {
        Self {
            read: BTreeMap::new(),
            most,
        }
    }

    /// Creates a collection with the given names and texts, without reading files.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let source = |(name, text): &(&str, &str)| {
            (
                PathBuf::from(name),
                Arc::new(Source::new((*name).to_owned(), (*text).to_owned())),
            )
        };
        Self {
            read: files.iter().map(source).collect(),
            most: MOST_BYTES,
        }
    }

    /// Returns the text of a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is too large, is not text or is empty.
    pub(crate) fn read(&mut self, path: &Path, command: &str) -> OrProblems<Arc<Source>> {
        let is_stdin = is_stdin(path);
        let name = if is_stdin {
            "<standard input>".to_owned()
        } else {
            path.display().to_string()
        };
        if let Some(known) = self.read.get(path) {
            if is_stdin {
                let help = "save the others to files, and name the files".to_owned();
                return Err(problem(&name, "standard input can be read only once", help));
            }
            return Ok(Arc::clone(known));
        }
        let bytes = match self.bytes_of(path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                let message = format!("the file has more than {} bytes", self.most);
                let help = "export fewer objects, e.g. by label with `-l`".to_owned();
                return Err(problem(&name, &message, help));
            }
            Err(error) => return Err(problem(&name, &in_words(&error), written(command))),
        };
        let Some(text) = text_of(bytes) else {
            return Err(problem(
                &name,
                "the file is not UTF-8 text",
                written(command),
            ));
        };
        if text.trim().is_empty() {
            return Err(problem(&name, "the file is empty", written(command)));
        }
        let source = Arc::new(Source::new(name, text));
        self.read.insert(path.to_owned(), Arc::clone(&source));
        Ok(source)
    }

    /// Returns the texts that were read.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Arc<Source>> {
        self.read.values()
    }

    /// Returns the decompressed bytes of a file. `None`: the file is too large.
    fn bytes_of(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        if !is_stdin(path)
            && let Ok(file) = path.metadata()
            && file.is_file()
            && file.len() > self.most
        {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let input = open_input(path).and_then(unpacked)?;
        input.take(self.most + 1).read_to_end(&mut bytes)?;
        let fits = bytes.len() as u64 <= self.most;
        Ok(fits.then_some(bytes))
    }
}
