//! Names of variants for the room there is: whole, without what all share, and without the settings' names.

use itertools::Itertools;

use super::data::VariantResults;
use super::swept::SweepAxis;
use super::text::{Weight, common_start, fitted_name, widest};

/// The longest names that all fit into `width`; the middle of the shortest ones is cut where they do not.
pub(super) fn within(
    variants: &[VariantResults<'_>],
    size: f64,
    weight: Weight,
    width: f64,
) -> Vec<String> {
    fitting(lengths(variants).into(), &[size], weight, width).0
}

/// As [`within`]. Where no form fits and the values of the settings alone do, the names are these, and the first text
/// has the settings that they belong to, as a heading.
pub(super) fn within_or_values(
    variants: &[VariantResults<'_>],
    size: f64,
    weight: Weight,
    width: f64,
) -> (Option<String>, Vec<String>) {
    let lengths = lengths(variants);
    if !lengths
        .iter()
        .any(|names| widest(names, size, weight) <= width)
    {
        let axes = SweepAxis::all(variants);
        let has_strategy = !variants
            .iter()
            .map(|variant| &variant.info.strategy)
            .all_equal();
        let named = |variant: &VariantResults<'_>| -> Option<String> {
            let value =
                |axis: &SweepAxis<'_>| Some(axis.values[axis.value_of(variant)?].label.clone());
            let values: Vec<String> = axes.iter().map(value).collect::<Option<_>>()?;
            Some(
                has_strategy
                    .then(|| variant.info.strategy.clone())
                    .into_iter()
                    .chain(values)
                    .join(", "),
            )
        };
        let names: Option<Vec<String>> = variants.iter().map(named).collect();
        let heading = axes.iter().map(|axis| axis.name).join(", ");
        if let Some(names) =
            names.filter(|names| names.iter().all_unique() && widest(names, size, weight) <= width)
        {
            return (Some(heading), names);
        }
    }
    (None, fitting(lengths.into(), &[size], weight, width).0)
}

/// The names without what all share, for a title.
pub(super) fn in_short(variants: &[VariantResults<'_>]) -> Vec<String> {
    let [full, short, _] = lengths(variants);
    if short.iter().any(|name| name.starts_with('…')) {
        full
    } else {
        short
    }
}

/// Bold names for a column of at most `width`, and their size: a smaller one of these before anything is left out.
pub(super) fn column(
    variants: &[VariantResults<'_>],
    width: f64,
    sizes: &[f64],
) -> (Vec<String>, f64) {
    let mut lengths: Vec<Vec<String>> = lengths(variants).into();
    lengths.extend(lengths.last().map(|brief| without_start(brief)));
    fitting(lengths, sizes, Weight::Bold, width)
}

/// The first of these names that all fit, in the first size in which they do; otherwise the middle of the last is cut.
fn fitting(
    lengths: Vec<Vec<String>>,
    sizes: &[f64],
    weight: Weight,
    width: f64,
) -> (Vec<String>, f64) {
    for (names, &size) in lengths.iter().cartesian_product(sizes) {
        if widest(names, size, weight) <= width {
            return (names.clone(), size);
        }
    }
    let size = sizes[sizes.len() - 1];
    let cut = |name: String| fitted_name(&name, size, weight, width);
    (
        lengths
            .into_iter()
            .next_back()
            .into_iter()
            .flatten()
            .map(cut)
            .collect(),
        size,
    )
}

/// The names with an ellipsis for their common start.
fn without_start(names: &[impl AsRef<str>]) -> Vec<String> {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let start = common_start(&names);
    names
        .iter()
        .map(|name| {
            if start == 0 {
                (*name).to_owned()
            } else {
                format!("…{}", &name[start..])
            }
        })
        .collect()
}

/// The names of all variants: whole, without what all share, and without the names of settings as well. A shorter form
/// is used only where it is unique for each variant.
fn lengths(variants: &[VariantResults<'_>]) -> [Vec<String>; 3] {
    let axes = SweepAxis::all(variants);
    let same_strategy = variants
        .windows(2)
        .all(|pair| pair[0].info.strategy == pair[1].info.strategy);
    let strategy =
        |variant: &VariantResults<'_>| (!same_strategy).then(|| variant.info.strategy.clone());
    let with = |setting: &dyn Fn(&SweepAxis<'_>, &VariantResults<'_>) -> Option<String>| -> Option<Vec<String>> {
        let name = |variant: &VariantResults<'_>| -> String {
            let settings = axes.iter().filter_map(|axis| setting(axis, variant));
            strategy(variant).into_iter().chain(settings).join(", ")
        };
        let names: Vec<String> = variants.iter().map(name).collect();
        (names.iter().all_unique() && !names.iter().any(String::is_empty)).then_some(names)
    };
    let full: Vec<String> = variants
        .iter()
        .map(|variant| variant.name().to_owned())
        .collect();
    let short =
        with(&|axis, variant| axis.named_of(variant)).unwrap_or_else(|| without_start(&full));
    let brief = with(&|axis, variant| axis.said_of(variant)).unwrap_or_else(|| short.clone());
    [full, short, brief]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::style::LABEL;
    use crate::report::text::text_width;

    #[test]
    fn a_column_of_names_gets_smaller_before_it_loses_its_common_start_and_is_cut_last() {
        let names = ["from-git maxUnavailable=5%", "from-git maxUnavailable=10%"]
            .map(str::to_owned)
            .to_vec();
        let widest = |size| text_width(&names[1], size, Weight::Bold);
        let column = |width| {
            fitting(
                vec![names.clone(), without_start(&names)],
                &[LABEL, 11.0],
                Weight::Bold,
                width,
            )
        };
        assert_eq!(column(widest(LABEL) + 1.0), (names.clone(), LABEL));
        assert_eq!(column(widest(11.0) + 1.0), (names.clone(), 11.0));
        assert_eq!(
            column(widest(11.0) - 1.0).0,
            ["…maxUnavailable=5%", "…maxUnavailable=10%"]
        );
        let cut = column(60.0).0;
        assert!(
            cut[0].ends_with("=5%") && cut[1].ends_with("=10%"),
            "{cut:?}"
        );
    }
}
