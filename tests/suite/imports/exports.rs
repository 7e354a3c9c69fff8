//! Exports as printed by the products' clients: with managed fields, several namespaces, clusters that are paused or
//! have no agent, objects that are being deleted, and fields without effect.

use serde_json::{Value, json};

/// A digest of 64 digits.
pub(super) fn digest(seed: &str) -> String {
    let mut digits = String::new();
    let mut state = seed.bytes().fold(0x9e37_79b9_7f4a_7c15_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    while digits.len() < 64 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        digits.push_str(&format!("{:016x}", state >> 3));
    }
    format!("sha256:{}", &digits[..64])
}

fn noise(manager: &str, name: &str) -> Value {
    json!([{
        "apiVersion": "v1", "fieldsType": "FieldsV1", "manager": manager, "operation": "Update", "time": "2026-03-02T08:11:09Z",
        "fieldsV1": {"f:metadata": {"f:labels": {".": {}, format!("f:{name}"): {}}}, "f:spec": {"f:clientID": {}}},
    }])
}

/// A manifest as printed by `crane manifest`, with layers of the given names and sizes in megabytes.
pub(super) fn manifest(layers: &[(&str, u64)]) -> String {
    let layer = |(name, megabytes): &(&str, u64)| {
        json!({
            "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
            "size": megabytes * 1_000_000 + 17,
            "digest": digest(name),
        })
    };
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "size": 7023, "digest": digest("config")},
        "layers": layers.iter().map(layer).collect::<Vec<_>>(),
        "annotations": {"org.opencontainers.image.version": "2.0.0"},
    });
    serde_json::to_string(&manifest).expect("values can be written")
}

/// The new version of the image in these tests: 90 MB, of which 30 MB are new.
pub(super) fn new_image() -> String {
    manifest(&[("base", 40), ("runtime", 20), ("app-2", 30)])
}

/// The version of the image before [`new_image`].
pub(super) fn old_image() -> String {
    manifest(&[("base", 40), ("runtime", 20), ("app-1", 29)])
}

/// `kubectl get clusters.fleet.cattle.io -A -o json`: the management cluster and `count - 1` others; two of them are
/// paused, one has no agent, and some are in another workspace.
pub(super) fn fleet_clusters(count: usize) -> Value {
    let mut items = vec![fleet_cluster("fleet-local", "local", 0)];
    items.extend((1..count).map(|at| {
        let space = if at % 50 == 0 {
            "edge-lab"
        } else {
            "fleet-default"
        };
        fleet_cluster(space, &format!("store-{at:04}"), at)
    }));
    json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items})
}

fn fleet_cluster(space: &str, name: &str, at: usize) -> Value {
    let ring = if at % 10 == 1 { "canary" } else { "rest" };
    let registered = at != 7;
    json!({
        "apiVersion": "fleet.cattle.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {
            "annotations": {"field.cattle.io/description": "a store: \"corner\", 2nd floor"},
            "creationTimestamp": "2025-11-02T10:00:00Z",
            "generation": 3,
            "labels": {
                "ring": ring,
                "management.cattle.io/cluster-name": format!("c-m-{at:05}"),
                "management.cattle.io/cluster-display-name": name,
                "region": if at.is_multiple_of(3) { "eu" } else { "us" },
            },
            "managedFields": noise("fleetcontroller", name),
            "name": name,
            "namespace": space,
            "uid": format!("00000000-0000-4000-8000-{at:012}"),
        },
        "spec": {
            "agentAffinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}},
            "clientID": digest(name),
            "kubeConfigSecret": format!("{name}-kubeconfig"),
            "paused": at == 3 || at == 12,
        },
        "status": if registered { json!({
            "agent": {"lastSeen": "2026-03-02T08:00:00Z", "namespace": "cattle-fleet-system"},
            "conditions": [{"lastUpdateTime": "2026-03-02T08:00:00Z", "status": "True", "type": "Ready"}],
            "namespace": format!("cluster-{space}-{name}-1a4d104acf57"),
            "summary": {"desiredReady": 4, "ready": 4},
            "resourceCounts": {"desiredReady": 40, "missing": 0, "ready": 40},
        }) } else { json!({"agent": {}, "conditions": []}) },
    })
}

/// A fleet.yaml with two partitions.
pub(super) const FLEET_YAML: &str = "\
# The shop in all stores.
defaultNamespace: shop
helm:
  releaseName: shop
  values: {image: {tag: 2.0.0}}
rolloutStrategy:
  maxUnavailable: 10%
  partitions:
    - name: canary
      clusterSelector: {matchLabels: {ring: canary}}
    - name: rest
      clusterSelector: {matchLabels: {ring: rest}}
";

/// `kubectl get memberclusters -o json`: two members have not joined, one is leaving, and some have a taint.
pub(super) fn members(count: usize) -> Value {
    let member = |at: usize| {
        let name = format!("aks-member-{at:03}");
        let joined = if at == 4 || at == 5 {
            "Unknown"
        } else {
            "True"
        };
        let mut metadata = json!({
            "name": name,
            "labels": {"stage": if at < 20 { "canary" } else { "prod" }, "fleet.azure.com/location": "westeurope"},
            "managedFields": noise("hubagent", &name),
            "uid": format!("00000000-0000-4000-8000-{at:012}"),
        });
        if at == 9 {
            metadata["deletionTimestamp"] = json!("2026-03-02T08:11:09Z");
        }
        let taints = if at % 40 == 39 {
            json!([{"key": "reserved", "value": "batch", "effect": "NoSchedule"}])
        } else {
            json!([])
        };
        json!({
            "apiVersion": "cluster.kubernetes-fleet.io/v1",
            "kind": "MemberCluster",
            "metadata": metadata,
            "spec": {
                "heartbeatPeriodSeconds": 15,
                "identity": {"apiGroup": "", "kind": "ServiceAccount", "name": name, "namespace": "fleet-system"},
                "taints": taints,
            },
            "status": {
                "agentStatus": [{"type": "MemberAgent", "lastReceivedHeartbeat": "2026-03-02T08:11:09Z", "conditions": []}],
                "conditions": [
                    {"type": "ReadyToJoin", "status": "True", "reason": "ready", "lastTransitionTime": "2026-01-01T00:00:00Z"},
                    {"type": "Joined", "status": joined, "reason": "x", "lastTransitionTime": "2026-01-01T00:00:00Z"},
                ],
                "properties": {"kubernetes-fleet.io/node-count": {"value": (2 + at % 3).to_string(), "observationTime": "2026-03-02T08:11:09Z"}},
                "resourceUsage": {"capacity": {"cpu": "12", "memory": "48Gi"}, "allocatable": {"cpu": "11400m", "memory": "40Gi"}},
            },
        })
    };
    json!({"apiVersion": "v1", "kind": "List", "items": (0..count).map(member).collect::<Vec<_>>()})
}

/// A placement whose affinity selects two stages, rolled out by staged update runs.
pub(super) const PLACEMENT: &str = "\
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: shop, generation: 2}
spec:
  resourceSelectors: [{group: \"\", kind: Namespace, name: shop, version: v1}]
  policy:
    placementType: PickAll
    affinity:
      clusterAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          clusterSelectorTerms:
            - labelSelector: {matchLabels: {stage: canary}}
            - labelSelector: {matchExpressions: [{key: stage, operator: In, values: [prod]}]}
  strategy: {type: External}
status:
  conditions: [{type: ClusterResourcePlacementScheduled, status: \"True\"}]
";

/// Stages with a wait and an approval.
pub(super) const STAGES: &str = "\
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterStagedUpdateStrategy
metadata:
  name: by-stage
  managedFields: [{manager: kubectl, operation: Apply}]
spec:
  stages:
    - name: canary
      labelSelector: {matchLabels: {stage: canary}}
      maxConcurrency: 5
      afterStageTasks: [{type: TimedWait, waitTime: 10m}, {type: Approval}]
    - name: prod
      labelSelector: {matchLabels: {stage: prod}}
      maxConcurrency: 25%
";

/// `argocd app list -o json`: applications of the set `shop`, two of another set, and one that is being deleted.
pub(super) fn applications(count: usize) -> Value {
    let application = |at: usize, set: &str| {
        let name = format!("{set}-eu-{at:02}");
        let mut metadata = json!({
            "name": name,
            "namespace": "argocd",
            "labels": {"ring": if at < 10 { "canary" } else { "rest" }},
            "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": set, "uid": "x"}],
            "managedFields": noise("argocd-application-controller", &name),
        });
        if set == "gone" {
            metadata["deletionTimestamp"] = json!("2026-03-02T08:11:09Z");
        }
        json!({
            "metadata": metadata,
            "spec": {
                "project": "default",
                "source": {"repoURL": "https://git.example.com/shop.git", "targetRevision": "main", "path": "deploy"},
                "destination": {"server": format!("https://10.0.{at}.1:6443"), "namespace": "shop"},
                "syncPolicy": {"automated": {"prune": true}},
            },
            "status": {
                "sync": {"status": "Synced", "revision": "5c1e9d7"},
                "health": {"status": if at == 3 { "Degraded" } else { "Healthy" }},
                "summary": {"images": ["registry.example.com/shop:1.0.0"]},
                "resources": [{"group": "apps", "kind": "Deployment", "name": "shop", "status": "Synced"}],
            },
        })
    };
    let mut items: Vec<Value> = (0..count).map(|at| application(at, "shop")).collect();
    items.extend([
        application(1, "monitoring"),
        application(2, "monitoring"),
        application(3, "gone"),
    ]);
    Value::Array(items)
}

/// `argocd appset get shop -o yaml`, with a status and without a kind.
pub(super) const APPLICATION_SET: &str = "\
metadata:
  creationTimestamp: \"2025-06-01T00:00:00Z\"
  name: shop
  namespace: argocd
spec:
  goTemplate: true
  generators:
    - clusters: {selector: {matchLabels: {argocd.argoproj.io/secret-type: cluster}}}
  strategy:
    type: RollingSync
    rollingSync:
      steps:
        - matchExpressions: [{key: ring, operator: In, values: [canary]}]
        - matchExpressions: [{key: ring, operator: In, values: [rest]}]
          maxUpdate: 25%
  template:
    metadata:
      name: 'shop-{{.name}}'
      labels: {ring: '{{ index .metadata.labels \"ring\" }}'}
    spec:
      project: default
      source: {repoURL: https://git.example.com/shop.git, targetRevision: main, path: deploy}
      destination: {server: '{{.server}}', namespace: shop}
status:
  conditions: [{type: ResourcesUpToDate, status: \"True\"}]
";

/// Secrets that declare Argo CD's clusters, and one for a repository.
pub(super) fn cluster_secrets(count: usize) -> Value {
    // `printf eu-0 | base64` etc.
    const NAMES: [&str; 6] = [
        "ZXUtMA==", "ZXUtMQ==", "ZXUtMg==", "ZXUtMw==", "ZXUtNA==", "ZXUtNQ==",
    ];
    let secret = |at: usize| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": {"name": format!("cluster-10.0.{at}.1"), "namespace": "argocd", "labels": {
                "argocd.argoproj.io/secret-type": "cluster", "ring": if at < 3 { "canary" } else { "rest" }}},
            "data": {"name": NAMES[at],
                     "server": "aHR0cHM6Ly94", "config": "eyJiZWFyZXJUb2tlbiI6ICJzZWNyZXQifQ=="},
        })
    };
    let mut items: Vec<Value> = (0..count).map(secret).collect();
    items.push(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "repo", "namespace": "argocd",
        "labels": {"argocd.argoproj.io/secret-type": "repository"}}, "data": {"url": "eA=="}}));
    json!({"apiVersion": "v1", "kind": "SecretList", "items": items})
}

/// `cf curl /v3/apps/GUID/processes`: a web process and a worker.
pub(super) fn processes(instances: u32) -> Value {
    let process = |kind: &str, instances: u32| {
        json!({
            "guid": format!("6a901b7c-{kind}"), "created_at": "2026-03-23T18:48:22Z", "updated_at": "2026-03-23T18:48:42Z",
            "version": "e9df685c", "type": kind, "command": "rackup", "user": "vcap", "instances": instances,
            "memory_in_mb": 256, "disk_in_mb": 1024, "log_rate_limit_in_bytes_per_second": 1024,
            "health_check": {"type": "port", "data": {"timeout": null, "invocation_timeout": null, "interval": null}},
            "readiness_health_check": {"type": "http", "data": {"endpoint": "/ready", "invocation_timeout": 10, "interval": 5}},
            "relationships": {"app": {"data": {"guid": "ccc25a0f"}}, "revision": null},
            "metadata": {"labels": {}, "annotations": {}},
            "links": {"self": {"href": "https://api.example.org/v3/processes/6a901b7c"}},
        })
    };
    json!({
        "pagination": {"total_results": 2, "total_pages": 1, "first": {"href": "x"}, "last": {"href": "x"}, "next": null, "previous": null},
        "resources": [process("web", instances), process("worker", 4)],
    })
}

/// `cf curl /v3/deployments/GUID`.
pub(super) fn deployment() -> Value {
    json!({
        "guid": "59c3d133", "created_at": "2026-04-25T22:42:10Z", "updated_at": "2026-04-25T22:42:10Z",
        "status": {"value": "ACTIVE", "reason": "DEPLOYING", "details": {"last_successful_healthcheck": "2026-04-25T22:42:10Z"},
                   "canary": {"steps": {"current": 1, "total": 2}}},
        "strategy": "canary",
        "options": {"max_in_flight": 20, "web_instances": null, "memory_in_mb": null, "disk_in_mb": null,
                    "log_rate_limit_in_bytes_per_second": null,
                    "canary": {"steps": [{"instance_weight": 5}, {"instance_weight": 25}]}},
        "droplet": {"guid": "44ccfa61"}, "previous_droplet": {"guid": "cc6f954f"},
        "new_processes": [{"guid": "fd5d3e60", "type": "web"}],
        "revision": {"guid": "56126cba", "version": 3},
        "relationships": {"app": {"data": {"guid": "305cea31"}}},
        "metadata": {"labels": {}, "annotations": {}},
        "links": {"cancel": {"href": "x", "method": "POST"}},
    })
}

/// `kubectl get nodes -o json`: a control plane and three workers.
pub(super) fn nodes() -> Value {
    let node = |at: usize| {
        let is_control_plane = at == 0;
        let labels = if is_control_plane {
            json!({"node-role.kubernetes.io/control-plane": ""})
        } else {
            json!({})
        };
        let taints = if is_control_plane {
            json!([{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}])
        } else {
            json!(null)
        };
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": format!("node-{at}"), "labels": labels, "managedFields": noise("kubelet", "x")},
            "spec": {"podCIDR": "10.244.0.0/24", "taints": taints},
            "status": {
                "nodeInfo": {"architecture": "amd64", "containerRuntimeVersion": "containerd://1.7.13", "kubeletVersion": "v1.29.3"},
                "images": [{"names": ["registry.example.com/shop:1.0.0"], "sizeBytes": 230_000_000}],
                "allocatable": {"cpu": "4", "pods": "110"},
            },
        })
    };
    json!({"apiVersion": "v1", "kind": "List", "items": (0..4).map(node).collect::<Vec<_>>()})
}
