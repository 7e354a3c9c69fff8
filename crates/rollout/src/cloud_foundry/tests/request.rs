//! Tests of reading, rejecting and overriding request bodies.

use super::super::request::{DeploymentOptions, DeploymentRequest, DeploymentStrategy};

fn request(yaml: &str) -> DeploymentRequest {
    serde_saphyr::from_str(yaml).expect(yaml)
}

fn refused(yaml: &str) -> Vec<String> {
    match request(yaml).check() {
        Ok(options) => panic!("{yaml}: {options:?}"),
        Err(errors) => errors
            .iter()
            .map(|error| format!("{}: {error}", error.field))
            .collect(),
    }
}

#[test]
fn a_real_body_is_read_with_all_its_fields() {
    let body = r#"{
  "droplet": {"guid": "44ccfa61-dbcf-4a0d-82fe-f668e9d2a962"},
  "strategy": "canary",
  "options": {"max_in_flight": 3, "web_instances": "20", "memory_in_mb": 256, "disk_in_mb": null,
    "canary": {"steps": [{"instance_weight": 10}, {"instance_weight": 10}, {"instance_weight": 60}], "later": 1}},
  "relationships": {"app": {"data": {"guid": "305cea31-5a44-45ca-b51b-e89c7a8ef8b2"}}},
  "metadata": {"labels": {}, "annotations": {}}
}"#;
    let options = request(body).check().expect("it is accepted");
    let expected = DeploymentOptions {
        strategy: DeploymentStrategy::Canary,
        max_in_flight: 3,
        web_instances: Some(20),
        memory_in_mb: Some(256),
        canary_steps: Some(vec![10, 10, 60]),
        ..DeploymentOptions::default()
    };
    assert_eq!(options, expected);
}

#[test]
fn an_absent_option_has_its_default() {
    for yaml in [
        "",
        "{}",
        "{strategy: null}",
        "{options: {max_in_flight: null}}",
        "{options: {canary: null}}",
    ] {
        assert_eq!(
            request(yaml).check(),
            Ok(DeploymentOptions::default()),
            "{yaml:?}"
        );
    }
    assert!(
        serde_saphyr::from_str::<DeploymentRequest>("[rolling]").is_err(),
        "a list is not a deployment"
    );
}

#[test]
fn errors_have_the_products_messages_and_order() {
    let cases: [(&str, &[&str]); 9] = [
        (
            "{strategy: recreate}",
            &["strategy: Strategy 'recreate' is not a supported deployment strategy"],
        ),
        (
            "{b: 1, a: 2, strategy: '', options: 7}",
            &[
                "b: Unknown field(s): 'b', 'a'",
                "strategy: Strategy '' is not a supported deployment strategy",
                "options: Options must be an object",
            ],
        ),
        (
            "{options: {maxInFlight: 2, max_in_flight: 1.0, memory_in_mb: 0, log_rate_limit_in_bytes_per_second: -2}}",
            &[
                "options.maxInFlight: Options has unsupported key(s): maxInFlight",
                "options.memory_in_mb: Memory in mb must be greater than 0",
                "options.log_rate_limit_in_bytes_per_second: Log rate limit in bytes per second must be greater \
                 than or equal to -1",
                "options.max_in_flight: Max in flight must be an integer greater than 0",
            ],
        ),
        (
            "{options: {web_instances: 1.5, disk_in_mb: 2147483648}}",
            &[
                "options.web_instances: Web instances must be an integer",
                "options.disk_in_mb: Disk in mb must be less than or equal to 2147483647",
            ],
        ),
        (
            "{options: {canary: {}}}",
            &["options.canary: Options canary are only valid for Canary deployments"],
        ),
        (
            "{strategy: canary, options: {canary: {steps: [{instance_weight: 101}, {instance_weight: 5}]}}}",
            &[
                "options.canary.steps: Options canary steps instance weight must be an Integer between 1-100 \
                 (inclusive)",
                "options.canary.steps: Options canary steps instance weight must be sorted in ascending order",
            ],
        ),
        (
            "{strategy: canary, options: {canary: {steps: [20, 40]}}}",
            &["options.canary.steps: Options canary steps must be an array of objects"],
        ),
        (
            "{strategy: canary, options: {canary: {steps: []}}}",
            &[
                "options.canary.steps: Options canary steps must not be empty (the product accepts this, and then \
               fails with NoMethodError)",
            ],
        ),
        (
            "{options: []}",
            &[
                "options: Options must be an object (the product accepts an empty list or text, and then fails \
               with TypeError)",
            ],
        ),
    ];
    for (yaml, expected) in cases {
        assert_eq!(refused(yaml), expected, "{yaml}");
    }
}

#[test]
fn replacing_a_field_keeps_all_others() {
    let mut merged = request("{strategy: canary, options: {max_in_flight: 5, web_instances: 7}}");
    merged.set("options.max_in_flight", &2.into());
    merged.set("strategy", &"rolling".into());
    assert_eq!(
        merged,
        request("{strategy: rolling, options: {max_in_flight: 2, web_instances: 7}}")
    );
    let mut merged = DeploymentRequest::default();
    merged.set("options.max_in_flight", &2.into());
    assert_eq!(merged.check().map(|options| options.max_in_flight), Ok(2));
}
