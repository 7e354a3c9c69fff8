//! What a rollout costs: bytes, requests and hours times their prices, by hand.

use fleetsim::scenario::{Overrides, load};

use super::common::{first_run, fleetsim, folder_with, text};

/// Ten clusters of one node that each pull an image of 1 GB, with these other sections.
fn experiment(others: &str) -> String {
    format!(
        "name: prices
question: What does it cost?
seed: 1
replicates: 1
fleet: [{{name: 'c-{{01..10}}', nodes: 1, downlink: 1 Gbit/s, rtt: 1 ms, region: north}}]
regions: [{{name: north, bandwidth: 100 Gbit/s}}]
release:
  images: [{{name: app, manifest: {{layers: [{{size: 1 GB}}]}}}}]
  workloads: [{{kind: Deployment, image: app}}]
strategies: {{all: {{allAtOnce: {{}}}}}}
{others}
"
    )
}

fn refused(others: &str) -> String {
    let home = folder_with(&[("experiment.yaml", &experiment(others))]);
    let error = load(home.path(), &Overrides::default()).expect_err(others);
    error.render(false)
}

#[test]
fn data_costs_its_bytes_times_the_prices_of_its_path() {
    let cases = [
        ("price: {egress: 0.09 USD/GB}", 0.09),
        ("price: {egress: 0.09 USD/GB, nat: 0.045 USD/GB}", 0.135),
        ("price: {egress: 1 USD/GiB}", 1e9 / 1_073_741_824.0),
        ("price: {egress: {registry: 90 USD/TB}}", 0.09),
        ("price: {nat: {registry: 0.045 USD/GB}}", 0.045),
    ];
    for (price, of_a_gigabyte) in cases {
        let record = first_run(&[("experiment.yaml", &experiment(price))]);
        // Ten layers of 1 GB, and ten configs.
        let gigabytes = record.run.egress_bytes as f64 / 1e9;
        assert!((10.0..10.001).contains(&gigabytes), "{gigabytes}");
        let cost = record.run.cost.expect("it has a price");
        assert!(
            (cost - gigabytes * of_a_gigabyte).abs() < 1e-9,
            "{price}: {cost}"
        );
        assert_eq!(record.run.currency, "USD");
    }
}

/// The cache fetches one copy for ten clusters, so it is the cheapest. Both take 8 s on the clusters' links.
#[test]
fn the_answer_says_what_the_variant_costs_and_which_is_the_cheapest() {
    let others = "price: {egress: 0.1 USD/GB}
registry: {egress: 100 Gbit/s, perConnection: unlimited}
sweep: {distribution: [{direct: {}}, {cache: {per: region, egress: 100 Mbit/s}}]}";
    let home = folder_with(&[("experiment.yaml", &experiment(others))]);
    let run = fleetsim(home.path())
        .args(["run", "experiment.yaml", "--out", "out"])
        .output()
        .expect("it runs");
    let shown = text(&run.stdout);
    assert!(
        shown.contains("  cost   1 USD for each rollout; the cheapest is `cache(per=region, "),
        "{shown}"
    );
}

#[test]
fn requests_cost_by_the_thousand() {
    let record = first_run(&[(
        "experiment.yaml",
        &experiment("price: {requests: 5 USD/1000}"),
    )]);
    let expected = record.run.requests as f64 * 0.005;
    let cost = record.run.cost.expect("it has a price");
    assert!(
        record.run.requests > 0 && (cost - expected).abs() < 1e-9,
        "{cost}"
    );
}

#[test]
fn mirrors_and_caches_cost_by_the_hour_and_by_what_they_send() {
    let mirror = "
mirrors: [{name: near, region: north, egress: 10 Gbit/s}]
price: {mirror: 3.6 USD/h, mirrorEgress: 0.01 USD/GB, egress: 0.09 USD/GB}";
    let run = first_run(&[("experiment.yaml", &experiment(mirror))]).run;
    // The mirror has the image, so the registry sends nothing.
    let expected = run.end_s * 0.001 + run.cache_bytes as f64 / 1e9 * 0.01;
    assert_eq!(run.egress_bytes, 0);
    assert!(run.cache_bytes >= 10_000_000_000);
    assert!(
        (run.cost.expect("a price") - expected).abs() < 1e-9,
        "{:?}",
        run.cost
    );

    let caches = "
distribution: {cache: {per: cluster}}
price: {cache: 3.6 USD/h, egress: 0.09 USD/GB}";
    let run = first_run(&[("experiment.yaml", &experiment(caches))]).run;
    let expected = 10.0 * run.end_s * 0.001 + run.egress_bytes as f64 / 1e9 * 0.09;
    assert!(
        (run.cost.expect("a price") - expected).abs() < 1e-9,
        "{:?}",
        run.cost
    );

    let regional = "
distribution: {cache: {per: region}}
price: {cache: 3.6 USD/h, cacheEgress: 0.01 USD/GB}";
    let run = first_run(&[("experiment.yaml", &experiment(regional))]).run;
    let expected = run.end_s * 0.001 + run.cache_bytes as f64 / 1e9 * 0.01;
    assert!(
        (run.cost.expect("a price") - expected).abs() < 1e-9,
        "{:?}",
        run.cost
    );
}

#[test]
fn a_price_changes_nothing_but_the_cost() {
    let plain = first_run(&[("experiment.yaml", &experiment(""))]);
    let mut priced = first_run(&[(
        "experiment.yaml",
        &experiment("price: {egress: 0.09 USD/GB}"),
    )]);
    assert_ne!(plain, priced);
    priced.run.cost = None;
    priced.run.currency.clear();
    for row in &mut priced.registries {
        row.cost = None;
    }
    assert_eq!(plain, priced);
}

#[test]
fn a_price_without_effect_is_an_error() {
    let cases = [
        (
            "price: {mirror: 1 USD/h}",
            "this price has no effect: there are no `mirrors`",
        ),
        ("price: {mirrorEgress: 1 USD/GB}", "there are no `mirrors`"),
        (
            "price: {cache: 1 USD/h}",
            "there is no `distribution: {cache: …}`",
        ),
        (
            "distribution: {cache: {per: cluster}}\nprice: {cacheEgress: 1 USD/GB}",
            "there is no cache with `per: region`",
        ),
        (
            "registries: [{name: hub, registry: {}}]\nprice: {nat: {hub: 1 USD/GB}}",
            "no image is in `hub`",
        ),
        (
            "price: {nat: {docker: 1 USD/GB}}",
            "there is no registry `docker`",
        ),
        ("price: {}", "`price` has no price"),
        (
            "price: {egress: 1 USD/GB, nat: 1 EUR/GB}",
            "this price is in EUR and another one in USD",
        ),
        (
            "assert: [cost < 5 USD]",
            "`cost` is unknown, because there is no `price`",
        ),
        (
            "plan: {minimise: cost, limits: [completion < 1h]}",
            "`cost` is unknown, because there is no `price`",
        ),
        (
            "assert: [cost < 5 EUR]\nprice: {egress: 1 USD/GB}",
            "this limit is in EUR, and the prices are in USD",
        ),
        (
            "assert: [cost < 5]\nprice: {egress: 1 USD/GB}",
            "`5` has no currency",
        ),
    ];
    for (others, words) in cases {
        let error = refused(others);
        assert!(error.contains(words), "{others}: {error}");
    }
    // One variant with a cache is enough.
    let swept = "
distribution: {direct: {}}
sweep: {distribution: [{direct: {}}, {cache: {per: cluster}}]}
price: {cache: 1 USD/h}";
    let home = folder_with(&[("experiment.yaml", &experiment(swept))]);
    load(home.path(), &Overrides::default()).expect("one variant has a cache");
}

#[test]
fn tables_page_and_json_show_the_cost_only_if_there_are_prices() {
    let cases = [
        ("", false),
        ("price: {egress: 0.09 USD/GB}\nassert: [cost < 5 USD]", true),
    ];
    for (price, is_shown) in cases {
        let home = folder_with(&[("prices.yaml", &experiment(price))]);
        let out = |command: &[&str]| {
            let out = fleetsim(home.path())
                .args(command)
                .output()
                .expect("it runs");
            text(&out.stdout)
        };
        let printed = out(&["run", "prices.yaml", "--out", "out", "--no-causes"]);
        let json = out(&["report", "out", "--format", "json"]);
        let file = |name: &str| {
            std::fs::read_to_string(home.path().join("out").join(name)).expect("a file")
        };
        let runs = file("runs.csv");
        let shown = [
            printed.contains("USD"),
            json.contains("\"cost\": 0.900"),
            json.contains("\"currency\": \"USD\""),
            runs.lines()
                .next()
                .is_some_and(|line| line.contains(",currency,")),
            file("summary.csv").contains(",cost,USD,"),
            file("registries.csv")
                .lines()
                .next()
                .is_some_and(|line| line.ends_with(",cost")),
            file("report.html").contains("USD"),
        ];
        assert_eq!(shown, [is_shown; 7], "{price}: {printed}");
    }
}

#[test]
fn a_comparison_shows_the_cost() {
    let old = experiment("price: {nat: 0.045 USD/GB}");
    let new = experiment("price: {nat: 0 USD/GB}");
    let home = folder_with(&[("old.yaml", &old), ("new.yaml", &new)]);
    let out = fleetsim(home.path())
        .args(["compare", "old.yaml", "new.yaml", "--no-causes"])
        .output()
        .expect("it runs");
    let printed = text(&out.stdout);
    let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("cost 0.45 USD 0 USD"), "{printed}");
}

#[test]
fn costs_in_two_currencies_are_not_compared() {
    let old = experiment("price: {nat: 0.045 USD/GB}");
    let new = experiment("price: {nat: 0.045 EUR/GB}");
    let home = folder_with(&[("old.yaml", &old), ("new.yaml", &new)]);
    let out = fleetsim(home.path())
        .args(["compare", "old.yaml", "new.yaml", "--no-causes"])
        .output()
        .expect("it runs");
    let told = text(&out.stderr);
    assert!(!out.status.success(), "{told}");
    assert!(
        told.contains("both versions must have one currency"),
        "{told}"
    );
    assert!(told.contains("are in USD, those of"), "{told}");
    // A version without prices has no currency.
    std::fs::write(home.path().join("new.yaml"), experiment("")).expect("written");
    fleetsim(home.path())
        .args(["compare", "old.yaml", "new.yaml", "--no-causes"])
        .assert()
        .success();
}

#[test]
fn a_price_of_an_unknown_registry_is_one_error() {
    let error = refused("price: {nat: {docker: 1 USD/GB}}");
    assert!(!error.contains("`price` has no price"), "{error}");
    let error = refused("price: {nat: {}}");
    assert!(error.contains("`price` has no price"), "{error}");
}
