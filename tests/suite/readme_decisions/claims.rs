//! The sentences that decide, each with the condition that a draw has to fulfil.

use super::drawn::{DrawnRow, DrawnWorld};

/// A sentence of a page that decides.
pub(super) struct Claim {
    /// The folder of the experiment.
    pub(super) experiment: &'static str,
    /// The end of the sentence, up to the number of draws.
    pub(super) sentence: &'static str,
    /// Returns true if a draw fulfils it.
    pub(super) holds: fn(&DrawnWorld) -> bool,
    /// The row of `uncertainty.csv` that has the same number.
    pub(super) least: Option<LeastValue>,
}

/// The share of draws in which a variant has the least value of a measure.
pub(super) struct LeastValue {
    pub(super) variant: &'static str,
    pub(super) measure: &'static str,
}

const SWEEP: &str = "01-max-unavailable";
const PRODUCTS: &str = "02-four-products";
const STORM: &str = "04-registry-storm";
const SIZES: &str = "06-max-unavailable-sweep";
const OFFLINE: &str = "07-offline-clusters";
const BAD: &str = "08-bad-release";
const WAY_BACK: &str = "13-way-back";

/// The settings of the sweeps, from the lowest.
const SETTINGS: [&str; 6] = ["1", "5%", "10%", "25%", "50%", "100%"];
const DEFAULTS: [&str; 5] = [
    "fleet-default",
    "argo-default",
    "staged-default",
    "rolling-default",
    "cf-default",
];
const CAREFUL: [&str; 6] = [
    "fleet-careful",
    "argo-careful",
    "argo-proposal",
    "staged-careful",
    "rolling-careful",
    "cf-canary",
];
/// A cluster's update with the best setting takes at most this factor longer than alone.
const LONGER: f64 = 1.02;
const LATE: &str = "defect={share: 100%, kind: unready, detectedAfter: 10 min}";
const AT_ONCE: &str = "defect={share: 100%, kind: unready}";

/// The variant of a sweep; without clusters, that of the first experiment.
fn swept(clusters: u32, setting: &str) -> String {
    match clusters {
        0 => format!("from-git maxUnavailable={setting}"),
        clusters => format!("from-git clusters={clusters}; maxUnavailable={setting}"),
    }
}

/// The fastest setting whose run is fit.
fn fastest(draw: &DrawnWorld, clusters: u32, is_fit: fn(&DrawnRow) -> bool) -> &'static str {
    let mut fastest = SETTINGS[0];
    let mut least_s = f64::INFINITY;
    for setting in SETTINGS {
        let run = draw.run(&swept(clusters, setting));
        if is_fit(run) && run.time() < least_s {
            least_s = run.time();
            fastest = setting;
        }
    }
    fastest
}

/// The place of the highest setting at which a cluster's update takes hardly longer than alone.
fn best(draw: &DrawnWorld, clusters: u32) -> usize {
    let alone = draw.run(&swept(clusters, SETTINGS[0])).hours();
    let mut best = 0;
    for (place, setting) in SETTINGS.iter().enumerate() {
        if draw.run(&swept(clusters, setting)).hours() <= LONGER * alone {
            best = place;
        }
    }
    best
}

/// The highest setting at which a cluster's update takes hardly longer than alone.
fn best_setting(draw: &DrawnWorld, clusters: u32) -> &'static str {
    SETTINGS[best(draw, clusters)]
}

/// The storm of a fleet with a limit of requests per second; a million is none.
fn storm(draw: &DrawnWorld, sites: &str, rate: u32) -> f64 {
    draw.time(&format!("storm name=site-{{{sites}}}; rate={rate}/s"))
}

/// Returns true if all products in a list complete with this share of clusters offline.
fn all_complete(draw: &DrawnWorld, products: &[&str], share: &str) -> bool {
    let mut products = products.iter();
    products.all(|product| draw.time(&format!("{product} share={share}")).is_finite())
}

/// Returns true if a product is the fastest where no cluster is offline.
fn is_first_online(draw: &DrawnWorld, product: &str) -> bool {
    let others = [
        "batches", "fleet", "argo", "proposal", "staged", "rolling", "cf",
    ];
    let variants = others.map(|product| format!("{product} share=0%"));
    let among: Vec<&str> = variants.iter().map(String::as_str).collect();
    draw.is_fastest(&format!("{product} share=0%"), &among)
}

/// A claim without a row of `uncertainty.csv`.
const fn claim(
    experiment: &'static str,
    sentence: &'static str,
    holds: fn(&DrawnWorld) -> bool,
) -> Claim {
    Claim {
        experiment,
        sentence,
        holds,
        least: None,
    }
}

impl Claim {
    /// The same claim with a row of `uncertainty.csv`.
    const fn least(self, variant: &'static str, measure: &'static str) -> Self {
        let Self {
            experiment,
            sentence,
            holds,
            ..
        } = self;
        Self {
            experiment,
            sentence,
            holds,
            least: Some(LeastValue { variant, measure }),
        }
    }
}

/// All claims.
pub(super) const CLAIMS: &[Claim] = &[
    claim(
        SWEEP,
        "50 % is the fastest setting with room on the link in its busiest minute in",
        |draw| fastest(draw, 0, DrawnRow::has_room) == "50%",
    ),
    claim(SWEEP, "50 % is the fastest in", |draw| {
        fastest(draw, 0, DrawnRow::is_seldom_full) == "50%"
    }),
    claim(SWEEP, "25 % in", |draw| {
        fastest(draw, 0, DrawnRow::is_seldom_full) == "25%"
    }),
    claim(SWEEP, "and 100 % in", |draw| {
        fastest(draw, 0, DrawnRow::is_seldom_full) == "100%"
    }),
    claim(
        PRODUCTS,
        "Of the defaults of the products, Fleet's is the fastest in",
        |draw| draw.is_fastest("fleet-default", &DEFAULTS),
    ),
    claim(
        PRODUCTS,
        "and that of KubeFleet's staged run is the slowest in",
        |draw| draw.is_slowest("staged-default", &DEFAULTS),
    ),
    claim(
        PRODUCTS,
        "Of the careful settings, KubeFleet's rolling update is the fastest in",
        |draw| draw.is_fastest("rolling-careful", &CAREFUL),
    ),
    claim(PRODUCTS, "and its staged run is the slowest in", |draw| {
        draw.is_slowest("staged-careful", &CAREFUL)
    }),
    claim(
        STORM,
        "a limit of 200 requests per second takes longer than none in",
        |draw| storm(draw, "0001..5000", 200) > storm(draw, "0001..5000", 1_000_000),
    ),
    claim(STORM, "and more than twice as long in", |draw| {
        storm(draw, "0001..5000", 200) > 2.0 * storm(draw, "0001..5000", 1_000_000)
    }),
    claim(
        STORM,
        "and one of 1,000 takes less than a twentieth longer in",
        |draw| storm(draw, "0001..5000", 1000) < 1.05 * storm(draw, "0001..5000", 1_000_000),
    ),
    claim(
        STORM,
        "With 500 clusters, a limit of 200 takes over a tenth longer in",
        |draw| storm(draw, "001..500", 200) > 1.1 * storm(draw, "001..500", 1_000_000),
    ),
    claim(SIZES, "50 % is the best for 200 clusters in", |draw| {
        best_setting(draw, 200) == "50%"
    }),
    claim(SIZES, "and 100 % in", |draw| {
        best_setting(draw, 200) == "100%"
    }),
    claim(SIZES, "For 1,000 clusters, 50 % is the best in", |draw| {
        best_setting(draw, 1000) == "50%"
    }),
    claim(SIZES, "and 25 % in", |draw| {
        best_setting(draw, 1000) == "25%"
    }),
    claim(
        SIZES,
        "For 5,000 clusters, one at a time is the best in",
        |draw| best_setting(draw, 5000) == "1",
    ),
    claim(SIZES, "draws, 10 % in", |draw| {
        best_setting(draw, 5000) == "10%"
    }),
    claim(SIZES, "and 5 % in", |draw| best_setting(draw, 5000) == "5%"),
    claim(
        SIZES,
        "The best setting of 5,000 clusters is below that of 1,000 in",
        |draw| best(draw, 5000) < best(draw, 1000),
    ),
    claim(SIZES, "and that of 1,000 is below that of 200 in", |draw| {
        best(draw, 1000) < best(draw, 200)
    }),
    claim(
        SIZES,
        "100 % is the fastest within this limit for 200 clusters in",
        |draw| fastest(draw, 200, DrawnRow::is_seldom_full) == "100%",
    ),
    claim(SIZES, "50 % for 1,000 in", |draw| {
        fastest(draw, 1000, DrawnRow::is_seldom_full) == "50%"
    }),
    claim(SIZES, "and 10 % for 5,000 in", |draw| {
        fastest(draw, 5000, DrawnRow::is_seldom_full) == "10%"
    }),
    claim(OFFLINE, "Cloud Foundry is the fastest in", |draw| {
        is_first_online(draw, "cf")
    })
    .least("cf share=0%", "reachable_ready_s"),
    claim(
        OFFLINE,
        "KubeFleet's rolling update, the fastest at the defaults, in",
        |draw| is_first_online(draw, "rolling"),
    )
    .least("rolling share=0%", "reachable_ready_s"),
    claim(
        OFFLINE,
        "Fleet, KubeFleet's rolling update and Cloud Foundry each update all others in",
        |draw| all_complete(draw, &["fleet", "rolling", "cf"], "2.5%"),
    ),
    claim(
        OFFLINE,
        "Argo CD and KubeFleet's staged run each in",
        |draw| all_complete(draw, &["argo", "proposal", "staged"], "2.5%"),
    ),
    claim(OFFLINE, "and batches in", |draw| {
        all_complete(draw, &["batches"], "2.5%")
    }),
    claim(
        OFFLINE,
        "With a tenth offline, every product leaves others behind in",
        |draw| {
            [
                "batches", "fleet", "argo", "proposal", "staged", "rolling", "cf",
            ]
            .iter()
            .all(|product| !all_complete(draw, &[product], "10%"))
        },
    ),
    claim(
        BAD,
        "the canary rings of Fleet, Argo CD and KubeFleet in",
        |draw| {
            ["fleet", "argo", "staged"]
                .iter()
                .all(|product| draw.exposes_fewest(product, AT_ONCE))
        },
    )
    .least(
        "fleet defect={share: 100%, kind: unready}",
        "exposed_targets",
    ),
    claim(
        BAD,
        "One that shows after ten minutes reaches the fewest with Cloud Foundry's canary in",
        |draw| draw.exposes_fewest("canary", LATE),
    )
    .least(
        "canary defect={share: 100%, kind: unready, detectedAfter: 10 min}",
        "exposed_targets",
    ),
    claim(BAD, "and with Fleet's gate in", |draw| {
        draw.exposes_fewest("fleet", LATE)
    })
    .least(
        "fleet defect={share: 100%, kind: unready, detectedAfter: 10 min}",
        "exposed_targets",
    ),
    claim(
        BAD,
        "It reaches all clusters with KubeFleet's staged run in",
        |draw| draw.run(&format!("staged {LATE}")).exposes_all(),
    ),
    claim(
        BAD,
        "and with its rolling update, where it does so at the defaults, in",
        |draw| draw.run(&format!("rolling {LATE}")).exposes_all(),
    ),
    claim(
        WAY_BACK,
        "Fleet's gate exposes the fewest clusters after 20 minutes in",
        |draw| draw.exposes_fewest("fleet", "within=20 min"),
    )
    .least("fleet within=20 min", "exposed_targets"),
];
