//! Kinds of sites: the links of clusters, from published measurements if available.
//!
//! Modelled: downlink, round trip, loss, seconds without data, and the correlation of high rates with short round
//! trips; in a cloud, also the network cards of nodes, because a provider limits machines and not clusters. Sources:
//! FCC, Measuring Broadband America, September 2020 (afreund415/MBA-broadband-research @0468a0b), home lines, whose
//! data is also used for shops; Starlink-Project/Satellite-vs-Cellular @79f9412; sys-uos/WetLinks @c238191 (fixed
//! Starlink); awsdocs/amazon-ec2-user-guide @1300242; the VPC user guide of AWS (NAT gateways). Branch offices and
//! data centres are guesses.
//!
//! Left out: hours of the day, weather, credits for bursts, and typical nodes and disks of a kind of site.

use clap::ValueEnum;
#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::world::calibration;
use crate::world::quantity::{DurationModel, RateModel};
use fleetsim_units::{BytesPerSec, Share, SimDuration};

/// The kind of site where clusters are.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize, ValueEnum)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SiteKind {
    /// Branch offices: 100 Mbit/s (sigma 0.9), 30 ms (sigma 0.35), correlated by -0.3. The medians are guesses; the
    /// spread is that of one kind of home line (FCC).
    #[default]
    Branch,
    /// Shops: 89 Mbit/s (sigma 0.95), 20 ms (sigma 0.35), correlated by -0.35. The medians are those of all home lines
    /// (FCC, September 2020). The spread is that of one kind of line, because a chain buys one kind. Over all kinds,
    /// sigma is 1.63 and the correlation -0.74.
    Store,
    /// DSL: 16 Mbit/s (sigma 1.1), 35 ms (sigma 0.37), correlated by -0.46. Source: FCC.
    Dsl,
    /// Cable: 230 Mbit/s (sigma 0.95), 17 ms (sigma 0.29), correlated by -0.2. Source: FCC.
    Cable,
    /// Fibre: 305 Mbit/s (sigma 0.87), 12 ms (sigma 0.34), correlated by -0.34. Source: FCC.
    Fibre,
    /// Cellular networks: 58 Mbit/s (sigma 1.2), 80 ms, no data in 2.5% of seconds. The values are those of three
    /// carriers, measured while driving (Satellite-vs-Cellular, 2023); the round trip is a guess.
    Cellular,
    /// Satellites in low orbit: 170 Mbit/s (sigma 0.25), 50 ms, a loss of 0.067%. There is no data in 15% of seconds.
    /// The loss limits one connection to 11 Mbit/s; loss and gaps were measured on a moving terminal
    /// (Satellite-vs-Cellular), the downlink on fixed ones (WetLinks). The round trip is a guess.
    Satellite,
    /// Data centres: 10 Gbit/s, 1 ms. Both are guesses.
    DataCentre,
    /// Regions of a cloud provider: 100 Gbit/s, 5 ms, and 5 Gbit/s for each node. The downlink is the most that a NAT
    /// gateway of AWS carries (5 to 100 Gbit/s; paths without one have no such limit). A node has the limit of EC2
    /// instances with fewer than 32 vCPU to hosts outside of their region, unless `node.nic` is set; small instances
    /// have 0.75 to 5 Gbit/s in the long run. The round trip is a guess.
    Cloud,
}

/// Seconds in which no data arrives over a link, as in cellular and satellite networks.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GapSpec {
    /// The share of seconds that are in a gap; less than 100%.
    pub share: Share,
    /// The length of a gap, with a finite mean. Default: the length in cellular networks.
    #[serde(default = "gap_length")]
    pub length: DurationModel,
}

const fn gap_length() -> DurationModel {
    calibration::GAP_LENGTH
}

/// The links of a kind of site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteLink {
    /// The downlink of a site.
    pub downlink: RateModel,
    /// The round trip to the registry.
    pub rtt: DurationModel,
    /// The share of segments that are lost.
    pub loss: Share,
    /// Seconds in which no data arrives.
    pub gaps: Option<GapSpec>,
    /// The rate of the network card of each node, if machines of this kind of site have a limit.
    pub nic: Option<BytesPerSec>,
    /// The correlation between the logarithms of downlink and round trip, from -1 to 1.
    pub correlation: f64,
    /// The source of the values.
    pub source: &'static str,
}

const FCC: &str = "the FCC's Measuring Broadband America, September 2020";

impl SiteLink {
    /// Creates links with a fixed rate, in Mbit/s, and a fixed round trip, in milliseconds.
    const fn fixed(mbit: f64, millis: u64, source: &'static str) -> Self {
        Self {
            downlink: RateModel::Constant(BytesPerSec::from_mbit(mbit)),
            rtt: DurationModel::Constant(SimDuration::from_millis(millis)),
            loss: Share::NONE,
            gaps: None,
            nic: None,
            correlation: 0.0,
            source,
        }
    }

    /// Creates links whose rates vary by `sigma` around a median, with a fixed round trip.
    fn drawn(mbit: f64, sigma: f64, millis: u64, source: &'static str) -> Self {
        Self {
            downlink: RateModel::LogNormal {
                median: BytesPerSec::from_mbit(mbit),
                sigma,
            },
            ..Self::fixed(mbit, millis, source)
        }
    }

    /// Creates lines as measured by the FCC: medians and spreads of rate and round trip, and their correlation.
    fn home_line(
        mbit: f64,
        rate_sigma: f64,
        millis: u64,
        rtt_sigma: f64,
        correlation: f64,
    ) -> Self {
        Self {
            rtt: DurationModel::LogNormal {
                median: SimDuration::from_millis(millis),
                sigma: rtt_sigma,
            },
            correlation,
            ..Self::drawn(mbit, rate_sigma, millis, FCC)
        }
    }
}

impl SiteKind {
    /// Returns the kind's name in files and on the command line.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns the links of sites of this kind.
    #[must_use]
    pub fn link(self) -> SiteLink {
        match self {
            Self::Branch => SiteLink {
                source: "a guess, with the spread within a kind of home lines",
                ..SiteLink::home_line(100.0, 0.9, 30, 0.35, -0.3)
            },
            // Round trips: medians and spreads of DSL, cable and fibre lines, weighted by 1,329, 1,236 and 796 lines.
            Self::Store => SiteLink::home_line(89.0, 0.95, 20, 0.35, -0.35),
            Self::Dsl => SiteLink::home_line(16.0, 1.1, 35, 0.37, -0.46),
            Self::Cable => SiteLink::home_line(230.0, 0.95, 17, 0.29, -0.2),
            Self::Fibre => SiteLink::home_line(305.0, 0.87, 12, 0.34, -0.34),
            Self::Cellular => SiteLink {
                gaps: Some(GapSpec {
                    share: Share::new(0.025),
                    length: calibration::GAP_LENGTH,
                }),
                ..SiteLink::drawn(
                    58.0,
                    1.2,
                    80,
                    "three carriers, measured while driving; the round trip is a guess",
                )
            },
            // This loss limits one connection to 11 Mbit/s, the measured average of one connection.
            Self::Satellite => SiteLink {
                loss: Share::new(0.000_67),
                gaps: Some(GapSpec {
                    share: Share::new(0.15),
                    length: calibration::SATELLITE_GAP_LENGTH,
                }),
                ..SiteLink::drawn(
                    170.0,
                    0.25,
                    50,
                    "fixed terminals for the downlink, a moving terminal for the loss; the round trip is a guess",
                )
            },
            Self::DataCentre => SiteLink::fixed(
                10_000.0,
                1,
                "a guess from the links of machines in data centres",
            ),
            Self::Cloud => SiteLink {
                nic: Some(BytesPerSec::from_gbit(5.0)),
                ..SiteLink::fixed(
                    100_000.0,
                    5,
                    "the most that a NAT gateway of AWS carries; the limit of EC2 instances with fewer than 32 vCPUs \
                     is that of each node; the round trip is a guess",
                )
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EventQueue;
    use crate::world::testing::{bare_world, layer, play};
    use crate::world::{CountOrPercent, FactorModel, PlatformSpec, WorkloadKind, World, WorldSpec};
    use fleetsim_units::Factor;

    #[test]
    fn descriptions_contain_the_values() {
        let schema =
            serde_json::to_value(schemars::schema_for!(SiteKind)).expect("a schema is JSON");
        for (kind, choice) in SiteKind::value_variants()
            .iter()
            .zip(schema["oneOf"].as_array().expect("choices"))
        {
            let text = choice["description"].as_str().expect("a description");
            let link = kind.link();
            let sigma = |sigma: f64| format!("(sigma {sigma})");
            let mut values = vec![
                link.downlink.typical().to_string(),
                link.rtt.typical().to_string(),
            ];
            if let RateModel::LogNormal { sigma: spread, .. } = link.downlink {
                values.push(sigma(spread));
            }
            if let DurationModel::LogNormal { sigma: spread, .. } = link.rtt {
                values.push(sigma(spread));
            }
            if link.correlation != 0.0 {
                values.push(format!("correlated by {}.", link.correlation));
            }
            if link.loss > Share::NONE {
                values.push(format!("a loss of {}", link.loss));
            }
            if let Some(nic) = link.nic {
                values.push(format!("{nic} for each node"));
            }
            if let Some(gaps) = link.gaps {
                values.push(format!("no data in {} of seconds", gaps.share));
            }
            for value in values {
                assert!(text.contains(&value), "{text}: {value}");
            }
            assert_eq!(choice["const"], kind.name());
        }
    }

    #[test]
    fn a_cloud_limits_each_node_and_not_the_cluster() {
        let mut world = bare_world(1);
        world.clusters[0].nodes = 64.into();
        world.clusters[0].take_links_of(SiteKind::Cloud);
        world.clusters[0].rtt = DurationModel::Constant(SimDuration::ZERO);
        world.images[0].layers = vec![layer("app", 1_000_000_000)];
        world.applications[0].workloads[0].kind = WorkloadKind::DaemonSet {
            max_unavailable: CountOrPercent::Count(1),
            max_surge: CountOrPercent::Count(0),
        };
        let ready_s = |world: &WorldSpec| {
            let played = play(world, 1, SimDuration::from_hours(1));
            played.ready_s()[0].expect("the cluster became ready")
        };
        // 64 GB over the path of 100 Gbit/s.
        assert!((ready_s(&world) - 5.12).abs() < 1e-3, "{}", ready_s(&world));
        world.clusters[0].nodes = 1.into();
        // 1 GB over the card of 5 Gbit/s.
        assert!((ready_s(&world) - 1.6).abs() < 1e-3, "{}", ready_s(&world));
    }

    #[test]
    fn sites_with_fast_links_have_short_round_trips() {
        let mut world = bare_world(2000);
        let link = SiteKind::Dsl.link();
        for cluster in &mut world.clusters {
            (cluster.downlink, cluster.rtt) = (link.downlink.clone(), link.rtt.clone());
            cluster.rtt_correlation = link.correlation;
        }
        let world = World::new(&world, &PlatformSpec::INSTANT, 1, 0, &mut EventQueue::new());
        let mut scores = Vec::new();
        for site in world.site_facts() {
            let downlink = libm::log(site.downlink.get());
            scores.push((downlink, libm::log(site.rtt.as_secs_f64())));
        }
        let mean =
            |of: fn(&(f64, f64)) -> f64| scores.iter().map(of).sum::<f64>() / scores.len() as f64;
        let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
        let (sx, sy) = (
            mean(|pair| pair.0 * pair.0) - x * x,
            mean(|pair| pair.1 * pair.1) - y * y,
        );
        let correlation = (mean(|pair| pair.0 * pair.1) - x * y) / (sx * sy).sqrt();
        // The standard error is (1 - r²) / sqrt(n) = 0.018.
        assert!((correlation + 0.46).abs() < 0.06, "{correlation}");
        assert!(
            (sx.sqrt() - 1.1).abs() < 0.06 && (sy.sqrt() - 0.37).abs() < 0.02,
            "{} {}",
            sx.sqrt(),
            sy.sqrt()
        );
    }
    #[test]
    fn drawn_numbers_of_nodes_are_rounded_and_at_least_one() {
        let mut world = bare_world(2000);
        for cluster in &mut world.clusters {
            cluster.nodes = FactorModel::LogNormal {
                median: Factor::new(3.0),
                sigma: 1.0,
            };
        }
        let world = World::new(&world, &PlatformSpec::INSTANT, 1, 0, &mut EventQueue::new());
        let share = |at_most: u32| {
            world
                .site_facts()
                .filter(|site| site.nodes <= at_most)
                .count() as f64
                / world.clusters.len() as f64
        };
        // The expected shares are Phi(ln(x + 1/2) - ln 3), with a standard error of at most 0.011.
        for (at_most, expected) in [(0, 0.0), (1, 0.244), (2, 0.428), (3, 0.561), (9, 0.876)] {
            assert!(
                (share(at_most) - expected).abs() < 0.035,
                "{at_most}: {}",
                share(at_most)
            );
        }
    }
}
