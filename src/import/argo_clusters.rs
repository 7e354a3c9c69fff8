//! Argo CD's clusters, from the output of `argocd cluster list -o json` or from the Secrets that declare them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use super::argo_own;
use super::kinds::ARGO_CLUSTERS;
use super::left_out::left_out;
use super::site;
use super::sources::Texts;
use super::target::bad_label;
use crate::document::problem::{OrProblems, Problem};
use crate::scenario::import::object::{KubeMetadata, OrDefault};
use crate::scenario::import::objects::ReadObject;
use crate::units::counted;
use crate::world::SiteKind;

const SECRETS: &str =
    "kubectl get secrets -n argocd -l argocd.argoproj.io/secret-type=cluster -o json";

/// The label key of Secrets that declare a cluster.
const SECRET_TYPE: &str = "argocd.argoproj.io/secret-type";

/// A cluster that Argo CD deploys to.
#[derive(Default)]
pub(super) struct ArgoCluster {
    pub(super) name: String,
    pub(super) server: String,
    pub(super) labels: BTreeMap<String, String>,
    /// Whether Argo CD cannot connect to the cluster.
    pub(super) has_failed: bool,
    /// Whether Argo CD ignores the cluster's applications (`IsManagedCluster` in `controller/sharding/cache.go`).
    pub(super) is_skipped: bool,
}

impl ArgoCluster {
    /// Returns the kind of site that the cluster indicates.
    pub(super) fn site(&self) -> Option<SiteKind> {
        site::of_cluster(&self.server, &self.name, &self.labels)
    }
}

/// The clusters of an export.
pub(super) struct ArgoClusterFacts {
    pub(super) file: String,
    pub(super) clusters: Vec<ArgoCluster>,
    /// The names of the clusters by server.
    pub(super) names: BTreeMap<String, String>,
    /// The indices of the clusters, by name and by server address.
    places: BTreeMap<String, usize>,
}

impl ArgoClusterFacts {
    /// Returns the cluster with this name or server.
    pub(super) fn find(&self, name: &str) -> Option<&ArgoCluster> {
        let at = *self.places.get(name)?;
        Some(&self.clusters[at])
    }
}

/// A cluster printed by the client, or a Secret. Only the name and the server are read from a Secret's data.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClusterOrSecret {
    kind: Option<String>,
    metadata: OrDefault<KubeMetadata>,
    server: Option<String>,
    name: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    data: Option<SecretData>,
    string_data: Option<SecretData>,
    connection_state: Option<ConnectionState>,
    info: OrDefault<ClusterInfo>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ConnectionState {
    status: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClusterInfo {
    connection_state: Option<ConnectionState>,
}

#[derive(Deserialize)]
struct SecretData {
    name: Option<String>,
    server: Option<String>,
}

impl ClusterOrSecret {
    /// Returns whether the object is a Secret that does not declare a cluster.
    fn is_other_secret(&self) -> bool {
        let kind = self.metadata.labels.get(SECRET_TYPE);
        self.kind.is_some() && kind.map(String::as_str) != Some("cluster")
    }

    /// Returns the cluster that the object declares.
    fn cluster(&self) -> ArgoCluster {
        let server = self
            .server
            .clone()
            .or_else(|| self.of_secret(|data| &data.server))
            .unwrap_or_default();
        let labels = match &self.labels {
            Some(labels) => labels.clone(),
            None => (*self.metadata.labels).clone(),
        };
        let annotations = match &self.annotations {
            Some(annotations) => annotations,
            None => &*self.metadata.annotations,
        };
        let state = self
            .connection_state
            .as_ref()
            .or(self.info.connection_state.as_ref());
        ArgoCluster {
            name: self.cluster_name().unwrap_or_else(|| server.clone()),
            server,
            labels,
            has_failed: state.is_some_and(|state| state.status == "Failed"),
            is_skipped: argo_own::is_skipped(annotations),
        }
    }

    /// Returns the name of the cluster, or the name of its Secret. `None`: neither has a name.
    fn cluster_name(&self) -> Option<String> {
        let named = self
            .name
            .clone()
            .or_else(|| self.of_secret(|data| &data.name));
        let of_object = (*self.metadata.name).clone();
        let mut names = [named, Some(of_object)].into_iter().flatten();
        names.find(|name| !name.is_empty())
    }

    /// Returns a field in a Secret's data: as plain text if given, otherwise decoded from base64.
    fn of_secret(&self, field: fn(&SecretData) -> &Option<String>) -> Option<String> {
        if let Some(plain) = self
            .string_data
            .as_ref()
            .and_then(|data| field(data).clone())
        {
            return Some(plain);
        }
        let encoded = field(self.data.as_ref()?).as_deref()?;
        decoded(encoded)
    }
}

/// Reads exported clusters.
///
/// # Errors
/// Returns an error if the file has no clusters, or two clusters have the same name.
pub(super) fn clusters(
    path: &Path,
    texts: &mut Texts,
    read: &mut Vec<String>,
    notes: &mut Vec<String>,
) -> OrProblems<ArgoClusterFacts> {
    let source = texts.read(path, ARGO_CLUSTERS.command)?;
    let found = ARGO_CLUSTERS.read::<ClusterOrSecret>(&source)?;
    let (others, declared): (Vec<_>, Vec<_>) = found
        .found
        .iter()
        .partition(|read| read.value.is_other_secret());
    if declared.is_empty() {
        let problem = Problem::of_file(
            &source.name,
            format!("no Secret has the label `{SECRET_TYPE}: cluster`"),
        );
        return Err(vec![
            problem.with_help(format!("write the file with `{SECRETS}`")),
        ]);
    }
    let clusters = declared_clusters(&declared)?;
    read.push(format!(
        "{}: {}",
        source.name,
        counted(clusters.len(), "cluster")
    ));
    notes.extend(left_out(others.len(), "Secret", "without a cluster"));
    notes.extend(found.note_on_others(&source.name));
    let mut names = BTreeMap::new();
    let mut places = BTreeMap::new();
    for (at, cluster) in clusters.iter().enumerate() {
        names.insert(cluster.server.clone(), cluster.name.clone());
        places.entry(cluster.server.clone()).or_insert(at);
    }
    for (at, cluster) in clusters.iter().enumerate() {
        places.insert(cluster.name.clone(), at);
    }
    Ok(ArgoClusterFacts {
        file: source.name.clone(),
        clusters,
        names,
        places,
    })
}

/// Returns the clusters that the exported objects declare.
///
/// # Errors
/// Returns an error if a cluster has no name, an invalid label, or a duplicate name.
fn declared_clusters(
    declared: &[&ReadObject<'_, ClusterOrSecret>],
) -> OrProblems<Vec<ArgoCluster>> {
    let mut clusters = Vec::new();
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for read in declared {
        let cluster = read.value.cluster();
        if let Some(bad) = bad_label(&cluster.labels) {
            let message = format!("`{bad}` is not a valid Kubernetes label");
            problems.push(read.object.problem("labels", message));
        }
        if cluster.name.is_empty() {
            let message = "the cluster has neither a name nor a server";
            problems.push(read.object.problem("", message));
        } else if !seen.insert(cluster.name.clone()) {
            let message = format!("two clusters are named `{}`", cluster.name);
            let problem = read.object.problem("name", message);
            problems.push(problem.with_help("export every cluster once"));
        }
        clusters.push(cluster);
    }
    if problems.is_empty() {
        Ok(clusters)
    } else {
        Err(problems)
    }
}

/// Decodes a base64 text in a Secret's data.
fn decoded(text: &str) -> Option<String> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let mut buffer = 0;
    let mut bits = 0;
    for letter in text.bytes() {
        if letter.is_ascii_whitespace() || letter == b'=' {
            continue;
        }
        buffer = (buffer << 6) | DIGITS.iter().position(|digit| *digit == letter)?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((buffer >> bits) as u8);
            buffer &= (1 << bits) - 1;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_secrets_is_decoded() {
        // `printf TEXT | base64`
        for (text, plain) in [
            (
                "aHR0cHM6Ly8xMC4wLjAuMTo2NDQz",
                Some("https://10.0.0.1:6443"),
            ),
            ("ZQ==", Some("e")),
            ("w6k=", Some("é")),
            ("", Some("")),
            ("a b!", None),
        ] {
            assert_eq!(decoded(text).as_deref(), plain, "{text}");
        }
    }
}
