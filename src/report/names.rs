//! Names of variants for the room there is: whole, without what all share, and without the settings' names.

use super::data::VariantResults;
use super::swept::SweepAxis;
use super::text::{Weight, column_of_names, common_start, fitted_name, text_width};

/// Gives each variant its shorter names. Names that would not tell all variants apart are not taken.
pub(super) fn shorten(variants: &mut [VariantResults<'_>]) {
    let axes = SweepAxis::all(variants);
    let same_strategy = variants.windows(2).all(|pair| pair[0].info.strategy == pair[1].info.strategy);
    let strategy = |variant: &VariantResults<'_>| (!same_strategy).then(|| variant.info.strategy.clone());
    let with = |setting: &dyn Fn(&SweepAxis<'_>, &VariantResults<'_>) -> Option<String>| -> Option<Vec<String>> {
        let name = |variant: &VariantResults<'_>| -> String {
            let settings = axes.iter().filter_map(|axis| setting(axis, variant));
            strategy(variant).into_iter().chain(settings).collect::<Vec<_>>().join(", ")
        };
        let names: Vec<String> = variants.iter().map(name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        let told_apart = sorted.windows(2).all(|pair| pair[0] != pair[1]) && !sorted.iter().any(String::is_empty);
        told_apart.then_some(names)
    };
    let full: Vec<&str> = variants.iter().map(|variant| variant.info.variant.as_str()).collect();
    let start = common_start(&full);
    let ends = || full.iter().map(|name| if start == 0 { (*name).to_owned() } else { format!("…{}", &name[start..]) });
    let short = with(&|axis, variant| axis.named_of(variant)).unwrap_or_else(|| ends().collect());
    let brief = with(&|axis, variant| axis.said_of(variant)).unwrap_or_else(|| short.clone());
    for ((variant, short), brief) in variants.iter_mut().zip(short).zip(brief) {
        variant.short = short;
        variant.brief = brief;
    }
}

/// The longest names that all fit into `width`; the middle of the shortest ones is cut where they do not.
pub(super) fn within(variants: &[VariantResults<'_>], size: f64, weight: Weight, width: f64) -> Vec<String> {
    let fits = |names: &Vec<String>| names.iter().all(|name| text_width(name, size, weight) <= width);
    lengths(variants)
        .into_iter()
        .find(fits)
        .unwrap_or_else(|| brief(variants).iter().map(|name| fitted_name(name, size, weight, width)).collect())
}

/// Names for a column of at most `width`, and their size: smaller before anything is left out.
pub(super) fn column(
    variants: &[VariantResults<'_>],
    sizes: [f64; 2],
    weight: Weight,
    width: f64,
) -> (Vec<String>, f64) {
    for names in lengths(variants) {
        for size in sizes {
            if names.iter().all(|name| text_width(name, size, weight) <= width) {
                return (names, size);
            }
        }
    }
    let brief = brief(variants);
    column_of_names(&brief.iter().map(String::as_str).collect::<Vec<_>>(), sizes, weight, width)
}

/// The names of all variants, from the whole to the shortest.
fn lengths(variants: &[VariantResults<'_>]) -> [Vec<String>; 3] {
    let full = variants.iter().map(|variant| variant.name().to_owned()).collect();
    let short = variants.iter().map(|variant| variant.short.clone()).collect();
    [full, short, brief(variants)]
}

/// The shortest names that still tell all variants apart.
pub(super) fn brief(variants: &[VariantResults<'_>]) -> Vec<String> {
    variants.iter().map(|variant| variant.brief.clone()).collect()
}
