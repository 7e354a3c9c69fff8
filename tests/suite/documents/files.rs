//! The unchanged example files of the documents. Markup that a page adds to a file, such as `[source,text]`, is
//! omitted.

pub(super) const THRESHOLD: &str = "\
rolloutStrategy:
  autoPartitionThreshold: 50  # Enable partitioning with only 50 clusters
  autoPartitionSize: 50%      # Create partitions of 50% each
";

pub(super) const MANUAL: &str = "\
rolloutStrategy:
  partitions:
    - name: demoRollout
      maxUnavailable: 10%
      clusterSelector:
        matchLabels:
          env: staging
    - name: stable
      maxUnavailable: 5%
      clusterSelector:
        matchLabels:
          env: prod
";

pub(super) const TEN_PERCENT: &str = "\
rolloutStrategy:
  maxUnavailable: 10%
";

pub(super) const ONE_PARTITION: &str = "\
rolloutStrategy:
  maxUnavailablePartitions: 1
  autoPartitionSize: 10%
";

pub(super) const STRICT: &str = "\
rolloutStrategy:
  maxUnavailable: 0
  maxUnavailablePartitions: 0
  partitions:
    - name: demoRollout
      clusterSelector:
        matchLabels:
          stage: demoRollout
    - name: stable
      clusterSelector:
        matchLabels:
          stage: stable
";

pub(super) const PROPOSAL: &str = "\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: guestbook
spec:
  generators:
  - list:
      elements:
      - cluster: engineering-dev
        url: https://1.2.3.4
      - cluster: engineering-prod
        url: https://2.4.6.8
      - cluster: finance-preprod
        url: https://9.8.7.6/
  strategy:
    type: RollingUpdate
    rollingUpdate:
      steps:
        - matchExpressions:
            - key: env
              operator: In
              values:
                - dev
          maxUpdate: 0 # if undefined or 0, all applications matched are updated together
        - matchExpressions:
            - key: env
              operator: In
              values:
                - qa
        - matchExpressions:
            - key: env
              operator: In
              values:
                - us_east_2
                - eu_west_1
                - ap_south_1
          maxUpdate: 1 # maxUpdate supports both integer and percentage string values
  template:
    metadata:
      name: '{{cluster}}-guestbook'
    spec:
      source:
        repoURL: https://github.com/infra-team/cluster-deployments.git
        targetRevision: HEAD
        path: guestbook/{{cluster}}
      destination:
        server: '{{url}}'
        namespace: guestbook
";

/// The proposal's file with an environment in each element, from which the template generates a label.
pub(super) const PROPOSAL_WITH_LABELS: &str = "\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: guestbook}
spec:
  generators:
  - list:
      elements:
      - {cluster: engineering-dev, env: dev, url: https://1.2.3.4}
      - {cluster: engineering-prod, env: us_east_2, url: https://2.4.6.8}
      - {cluster: finance-preprod, env: qa, url: https://9.8.7.6/}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      steps:
        - matchExpressions: [{key: env, operator: In, values: [dev]}]
        - matchExpressions: [{key: env, operator: In, values: [qa]}]
        - matchExpressions: [{key: env, operator: In, values: [us_east_2]}]
  template:
    metadata:
      name: '{{cluster}}-guestbook'
      labels: {env: '{{env}}'}
    spec:
      source: {repoURL: https://example.com/deployments.git, targetRevision: v2, path: guestbook}
      destination: {server: '{{url}}', namespace: guestbook}
";

/// The file above with the strategy that shipped.
pub(super) const SYNC_WITH_LABELS: &str = "\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: guestbook}
spec:
  generators:
  - list:
      elements:
      - {cluster: engineering-dev, env: dev, url: https://1.2.3.4}
      - {cluster: engineering-prod, env: us_east_2, url: https://2.4.6.8}
      - {cluster: finance-preprod, env: qa, url: https://9.8.7.6/}
  strategy:
    type: RollingSync
    rollingSync:
      steps:
        - matchExpressions: [{key: env, operator: In, values: [dev]}]
        - matchExpressions: [{key: env, operator: In, values: [qa]}]
        - matchExpressions: [{key: env, operator: In, values: [us_east_2]}]
  template:
    metadata:
      name: '{{cluster}}-guestbook'
      labels: {env: '{{env}}'}
    spec:
      project: default
      source: {repoURL: https://example.com/deployments.git, targetRevision: v2, path: guestbook}
      destination: {server: '{{url}}', namespace: guestbook}
";

pub(super) const CANARY: &str = r#"{
  "droplet": {"guid": "[droplet-guid]"},
  "strategy": "canary",
  "options": {
    "canary": {
      "steps": [
        {"instance_weight": 1}, {"instance_weight": 20}, {"instance_weight": 45}, {"instance_weight": 80},
        {"instance_weight": 100}
      ]
    }
  },
  "relationships": {"app": {"data": {"guid": "[app-guid]"}}}
}
"#;

pub(super) const ROLLING: &str = r#"{
  "droplet": {
    "guid": "[droplet-guid]"
  },
  "strategy": "rolling",
  "options": {
    "max_in_flight": 10
  },
  "relationships": {
    "app": {
      "data": {
        "guid": "[app-guid]"
      }
    }
  }
}
"#;

pub(super) const STAGES: &str = "\
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterStagedUpdateStrategy
metadata:
  name: example-strategy
spec:
  stages:
    - name: staging
      labelSelector:
        matchLabels:
          environment: staging
      afterStageTasks:
        - type: TimedWait
          waitTime: 1h
    - name: canary
      labelSelector:
        matchLabels:
          environment: canary
      afterStageTasks:
        - type: Approval
    - name: production
      labelSelector:
        matchLabels:
          environment: production
      sortingLabelKey: order
      afterStageTasks:
        - type: Approval
        - type: TimedWait
          waitTime: 1h
";

pub(super) const RUN: &str = "\
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterStagedUpdateRun
metadata:
  name: example-run
spec:
  placementName: example-placement
  resourceSnapshotIndex: \"0\"
  stagedRolloutStrategyName: example-strategy
";

pub(super) const EXTERNAL: &str = "\
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata:
  name: example-placement
spec:
  resourceSelectors:
    - group: \"\"
      kind: Namespace
      name: test-namespace
      version: v1
  policy:
    placementType: PickAll
    tolerations:
      - key: gpu-workload
        operator: Exists
  strategy:
    type: External # specify External here to use the stagedUpdateRun strategy.
";

/// The placement without a strategy.
pub(super) const ROLLING_PLACEMENT: &str = "\
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata:
  name: example-placement
spec:
  resourceSelectors:
    - group: \"\"
      kind: Namespace
      name: test-namespace
      version: v1
  policy:
    placementType: PickAll
";
