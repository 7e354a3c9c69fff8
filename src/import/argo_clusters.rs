//! Argo CD's clusters: what `argocd cluster list -o json` prints, or the Secrets that declare them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::fleet::left_out;
use super::kinds::ARGO_CLUSTERS;
use super::sources::Texts;
use super::target::bad_label;
use crate::document::problem::{OrProblems, Problem};
use crate::scenario::import::object::{KubeMetadata, OrDefault};
use crate::units::counted;

const SECRETS: &str =
    "kubectl get secrets -n argocd -l argocd.argoproj.io/secret-type=cluster -o json";

/// The label of Secrets that declare a cluster.
const SECRET_TYPE: &str = "argocd.argoproj.io/secret-type";

/// A cluster that Argo CD deploys to.
#[derive(Default)]
pub(super) struct ArgoCluster {
    pub(super) name: String,
    pub(super) server: String,
    pub(super) labels: BTreeMap<String, String>,
    /// Argo CD cannot connect to it.
    pub(super) has_failed: bool,
}

/// The clusters of an export.
pub(super) struct ArgoClusterFacts {
    pub(super) file: String,
    pub(super) clusters: Vec<ArgoCluster>,
    /// Names by server.
    pub(super) names: BTreeMap<String, String>,
}

impl ArgoClusterFacts {
    /// Whether Argo CD cannot connect to the cluster of this name or server.
    pub(super) fn has_failed(&self, name: &str) -> bool {
        self.clusters
            .iter()
            .any(|cluster| cluster.has_failed && (cluster.name == name || cluster.server == name))
    }
}

/// A cluster as the client prints it, or a Secret; of a Secret's data only name and server are read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClusterOrSecret {
    kind: Option<String>,
    metadata: OrDefault<KubeMetadata>,
    server: Option<String>,
    name: Option<String>,
    labels: Option<BTreeMap<String, String>>,
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
    /// Whether it is a Secret of another kind.
    fn is_other_secret(&self) -> bool {
        self.kind.is_some()
            && self
                .metadata
                .labels
                .get(SECRET_TYPE)
                .is_none_or(|kind| kind != "cluster")
    }

    fn cluster(&self) -> ArgoCluster {
        let of_secret = |field: fn(&SecretData) -> &Option<String>| {
            let plain = self
                .string_data
                .as_ref()
                .and_then(|data| field(data).clone());
            plain.or_else(|| {
                self.data
                    .as_ref()
                    .and_then(|data| field(data).as_deref().and_then(decoded))
            })
        };
        let server = self
            .server
            .clone()
            .or_else(|| of_secret(|data| &data.server))
            .unwrap_or_default();
        let own = Some(self.metadata.name.0.clone()).filter(|own| !own.is_empty());
        let name = self
            .name
            .clone()
            .or_else(|| of_secret(|data| &data.name))
            .filter(|name| !name.is_empty());
        let labels = self
            .labels
            .clone()
            .unwrap_or_else(|| self.metadata.labels.0.clone());
        let name = name.or(own).unwrap_or_else(|| server.clone());
        let state = self
            .connection_state
            .as_ref()
            .or(self.info.connection_state.as_ref());
        ArgoCluster {
            name,
            server,
            labels,
            has_failed: state.is_some_and(|state| state.status == "Failed"),
        }
    }
}

/// Reads clusters.
///
/// # Errors
/// When the file has none, or two of one name.
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
    let mut clusters: Vec<ArgoCluster> = Vec::new();
    let mut problems = Vec::new();
    let mut seen = BTreeMap::new();
    for read in declared {
        let cluster = read.value.cluster();
        if let Some(bad) = bad_label(&cluster.labels) {
            problems.push(
                read.object
                    .problem("labels", format!("`{bad}` is no label of Kubernetes")),
            );
        }
        if cluster.name.is_empty() {
            problems.push(
                read.object
                    .problem("", "the cluster has neither a name nor a server"),
            );
        } else if seen.insert(cluster.name.clone(), ()).is_some() {
            let message = format!("there are two clusters of the name `{}`", cluster.name);
            problems.push(
                read.object
                    .problem("name", message)
                    .with_help("export every cluster once"),
            );
        }
        clusters.push(cluster);
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    read.push(format!(
        "{}: {}",
        source.name,
        counted(clusters.len(), "cluster")
    ));
    notes.extend(left_out(others.len(), "Secret", "without a cluster"));
    notes.extend(found.note_on_others(&source.name));
    let names = clusters
        .iter()
        .map(|cluster| (cluster.server.clone(), cluster.name.clone()))
        .collect();
    Ok(ArgoClusterFacts {
        file: source.name.clone(),
        clusters,
        names,
    })
}

/// The text of a Secret's data, in base64.
fn decoded(text: &str) -> Option<String> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut buffer, mut bits) = (0, 0);
    for letter in text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=')
    {
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
