//! The value of a limit, for the answer: `10 Gbit/s`, `1,000/min`.

use crate::results::Resource;
use crate::units::{BytesPerSec, counted, in_thousands};
use crate::world::{RequestLimit, WorldSpec};

/// Returns the value of a limit that a trial lifts. Empty where several values differ, or the value says little.
pub(super) fn limit_words(world: &WorldSpec, resource: Resource) -> String {
    match resource {
        Resource::RegistryLink if world.registries.is_empty() => link(world.registry.egress),
        Resource::RegionLinks => {
            let mut rates: Vec<BytesPerSec> = Vec::new();
            for region in &world.regions {
                rates.push(region.bandwidth);
            }
            common(&rates).map_or_else(String::new, link)
        }
        Resource::RegistryRequests if world.registries.is_empty() => {
            let limits = [
                world.registry.api.request_limit,
                world.registry.manifest_limit,
            ];
            match limits {
                [Some(only), None] | [None, Some(only)] => requests(only),
                _ => String::new(),
            }
        }
        Resource::PullQuota if world.registries.is_empty() => match world.registry.pull_quota {
            Some(quota) => format!(
                "{} in {}",
                counted(u64::from(quota.pulls), "pull"),
                quota.per
            )
            .replace(" 00 min", ""),
            None => String::new(),
        },
        Resource::DiskSpace => {
            let size = world.node.disk.as_ref().and_then(|disk| disk.size);
            size.map_or_else(String::new, |size| size.to_string())
        }
        Resource::NodeJoins => {
            let mut times = Vec::new();
            for cluster in &world.clusters {
                let scaling = cluster.autoscaling.as_ref();
                times.extend(scaling.map(|one| one.provisioning.typical()));
            }
            match times.first() {
                Some(first) if times.iter().all(|time| time == first) => first.to_string(),
                _ => String::new(),
            }
        }
        _ => String::new(),
    }
}

/// The value that all have.
fn common(rates: &[BytesPerSec]) -> Option<BytesPerSec> {
    let first = *rates.first()?;
    rates.iter().all(|rate| *rate == first).then_some(first)
}

fn link(rate: BytesPerSec) -> String {
    if rate == BytesPerSec::UNLIMITED {
        String::new()
    } else {
        rate.to_string()
    }
}

/// `1,000/min`, or `50/s` where a limit is not set by the minute.
fn requests(limit: RequestLimit) -> String {
    let by_second = limit.rate.get();
    let by_minute = (by_second * 60.0).round();
    if by_second.fract() > 0.0 && (by_second * 60.0 - by_minute).abs() < 1e-6 {
        format!("{}/min", in_thousands(&(by_minute as u64).to_string()))
    } else {
        limit.rate.to_string()
    }
}
