//! Names of variants for the room there is: whole, without what all share, and without the settings' names.

use super::data::VariantResults;
use super::swept::SweepAxis;
use super::text::{Weight, column_of_names, common_start, fitted_name, widest};

/// The longest names that all fit into `width`; the middle of the shortest ones is cut where they do not.
pub(super) fn within(variants: &[VariantResults<'_>], size: f64, weight: Weight, width: f64) -> Vec<String> {
    let fits = |names: &&Vec<String>| widest(*names, size, weight) <= width;
    let lengths = lengths(variants);
    let cut = |name: &String| fitted_name(name, size, weight, width);
    lengths.iter().find(fits).cloned().unwrap_or_else(|| lengths[2].iter().map(cut).collect())
}

/// Names for a column of at most `width`, and their size: smaller before anything is left out.
pub(super) fn column(
    variants: &[VariantResults<'_>],
    sizes: [f64; 2],
    weight: Weight,
    width: f64,
) -> (Vec<String>, f64) {
    let lengths = lengths(variants);
    for names in &lengths {
        for size in sizes {
            if widest(names, size, weight) <= width {
                return (names.clone(), size);
            }
        }
    }
    let [.., brief] = &lengths;
    column_of_names(&brief.iter().map(String::as_str).collect::<Vec<_>>(), sizes, weight, width)
}

/// The names of all variants: whole, without what all share, and without the names of settings as well. A shorter form
/// is used only where it is unique for each variant.
fn lengths(variants: &[VariantResults<'_>]) -> [Vec<String>; 3] {
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
        let unique = sorted.windows(2).all(|pair| pair[0] != pair[1]) && !sorted.iter().any(String::is_empty);
        unique.then_some(names)
    };
    let full: Vec<&str> = variants.iter().map(VariantResults::name).collect();
    let start = common_start(&full);
    let ends = || full.iter().map(|name| if start == 0 { (*name).to_owned() } else { format!("…{}", &name[start..]) });
    let short = with(&|axis, variant| axis.named_of(variant)).unwrap_or_else(|| ends().collect());
    let brief = with(&|axis, variant| axis.said_of(variant)).unwrap_or_else(|| short.clone());
    [full.into_iter().map(str::to_owned).collect(), short, brief]
}
