//! Names of variants that fit the available width: full, without the common part, and without the settings' names.

use itertools::Itertools;

use super::data::VariantResults;
use super::swept::SweepAxis;
use super::text::{Weight, common_start, fitted_name, widest};

/// The longest names that all fit into `width`; if none do, the middle of the shortest names is cut.
pub(super) fn within(
    variants: &[VariantResults<'_>],
    size: f64,
    weight: Weight,
    width: f64,
) -> Vec<String> {
    let (names, _) = fitting(lengths(variants).into(), &[size], weight, width);
    names
}

/// Like [`within`]. If no form fits but the values of the settings alone do, the names are those values, and the first
/// text is a heading with the settings.
pub(super) fn within_or_values(
    variants: &[VariantResults<'_>],
    size: f64,
    weight: Weight,
    width: f64,
) -> (Option<String>, Vec<String>) {
    let lengths = lengths(variants);
    let narrowest = lengths
        .iter()
        .map(|names| widest(names, size, weight))
        .fold(f64::INFINITY, f64::min);
    if narrowest > width {
        let axes = SweepAxis::all(variants);
        if let Some(names) = values_alone(variants, &axes)
            && names.iter().all_unique()
            && widest(&names, size, weight) <= width
        {
            let heading = axes.iter().map(|axis| axis.name).join(", ");
            return (Some(heading), names);
        }
    }
    let (names, _) = fitting(lengths.into(), &[size], weight, width);
    (None, names)
}

/// Names of the values of all settings, with the strategy if it differs. `None` if a variant lacks a setting.
fn values_alone(variants: &[VariantResults<'_>], axes: &[SweepAxis<'_>]) -> Option<Vec<String>> {
    let has_strategy = !has_one_strategy(variants);
    let mut names = Vec::new();
    for variant in variants {
        let mut parts = Vec::new();
        if has_strategy {
            parts.push(variant.info.strategy.clone());
        }
        for axis in axes {
            let value = &axis.values[axis.value_of(variant)?];
            parts.push(value.label.clone());
        }
        names.push(parts.join(", "));
    }
    Some(names)
}

/// Returns whether all variants have the same strategy.
fn has_one_strategy(variants: &[VariantResults<'_>]) -> bool {
    let mut strategies = variants.iter().map(|variant| &variant.info.strategy);
    strategies.all_equal()
}

/// The names without their common part, for a title.
pub(super) fn in_short(variants: &[VariantResults<'_>]) -> Vec<String> {
    let [full, short, _] = lengths(variants);
    if short.iter().any(|name| name.starts_with('…')) {
        full
    } else {
        short
    }
}

/// Bold names for a column of at most `width`, and their size: a smaller size is tried before anything is left out.
pub(super) fn column(
    variants: &[VariantResults<'_>],
    width: f64,
    sizes: &[f64],
) -> (Vec<String>, f64) {
    let mut lengths: Vec<Vec<String>> = lengths(variants).into();
    lengths.extend(lengths.last().map(|brief| without_start(brief)));
    fitting(lengths, sizes, Weight::Bold, width)
}

/// Returns the first list of names that all fit, and the first size in which they do. If no list fits, returns the
/// last one, with the middle of each name cut.
fn fitting(
    mut lengths: Vec<Vec<String>>,
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
    let mut cut = Vec::new();
    for name in lengths.pop().unwrap_or_default() {
        cut.push(fitted_name(&name, size, weight, width));
    }
    (cut, size)
}

/// The names with an ellipsis instead of their common start.
fn without_start(names: &[impl AsRef<str>]) -> Vec<String> {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let start = common_start(&names);
    if start == 0 {
        return names.into_iter().map(str::to_owned).collect();
    }
    names
        .iter()
        .map(|name| format!("…{}", &name[start..]))
        .collect()
}

/// The names of all variants: full, without the common part, and without the names of settings as well. A shorter form
/// is used only if it is unique for each variant.
fn lengths(variants: &[VariantResults<'_>]) -> [Vec<String>; 3] {
    let axes = SweepAxis::all(variants);
    let full: Vec<String> = variants
        .iter()
        .map(|variant| variant.name().to_owned())
        .collect();
    let short = of_settings(variants, &axes, SweepAxis::named_of);
    let short = short.unwrap_or_else(|| without_start(&full));
    let brief = of_settings(variants, &axes, SweepAxis::said_of);
    let brief = brief.unwrap_or_else(|| short.clone());
    [full, short, brief]
}

/// Names composed of one text for each setting, with the strategy if it differs. `None` if one is empty, or two are
/// equal.
fn of_settings<'r>(
    variants: &[VariantResults<'r>],
    axes: &[SweepAxis<'r>],
    text: impl Fn(&SweepAxis<'r>, &VariantResults<'r>) -> Option<String>,
) -> Option<Vec<String>> {
    let has_strategy = !has_one_strategy(variants);
    let mut names: Vec<String> = Vec::new();
    for variant in variants {
        let mut parts = Vec::new();
        if has_strategy {
            parts.push(variant.info.strategy.clone());
        }
        for axis in axes {
            parts.extend(text(axis, variant));
        }
        names.push(parts.join(", "));
    }
    let is_usable = names.iter().all_unique() && !names.iter().any(String::is_empty);
    is_usable.then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::style::LABEL;
    use crate::report::text::text_width;

    #[test]
    fn names_are_first_made_smaller_then_lose_their_common_prefix_and_are_cut_last() {
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
