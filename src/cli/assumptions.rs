//! `fleetsim assumptions`: the constants of the model or of an experiment, with their ranges and sources.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use fleetsim::report::wrapped;
use fleetsim::scenario::constants::{self, Constant};
use fleetsim::scenario::{Overrides, VariedExperiment};

use super::{Failure, output};

#[derive(Args, Debug)]
pub(super) struct AssumptionsArgs {
    /// Folder of an experiment, or its experiment.yaml: print only the constants that it uses, with its values
    #[arg(value_name = "EXPERIMENT")]
    experiment: Option<PathBuf>,
}

/// A constant's line in the table, and its source below the line.
struct ConstantLine {
    name: String,
    of: String,
    value: String,
    range: String,
    constant: &'static Constant,
}

pub(super) fn assumptions(args: &AssumptionsArgs) -> Result<(), Failure> {
    let heading;
    let lines;
    match &args.experiment {
        None => {
            heading = "constants of the model, with their default values".to_owned();
            lines = defaults();
        }
        Some(path) => {
            let varied = VariedExperiment::load(path, &Overrides::default())?;
            heading = format!("constants used in {}", varied.base().name);
            lines = in_force(&varied);
        }
    }
    output::out(&text(&heading, &lines))
}

fn defaults() -> Vec<ConstantLine> {
    let mut lines = Vec::new();
    for constant in constants::all() {
        lines.push(ConstantLine {
            name: constant.name(),
            of: constant.products.join(", "),
            value: match constant.default_value() {
                Some(value) => constant.text(value),
                None => "-".to_owned(),
            },
            range: constant.range.join(" to "),
            constant,
        });
    }
    lines
}

fn in_force(varied: &VariedExperiment) -> Vec<ConstantLine> {
    let mut lines = Vec::new();
    for constant in varied.constants() {
        for value in &constant.values {
            let low = value.constant.text(value.low);
            let high = value.constant.text(value.high);
            lines.push(ConstantLine {
                name: constant.own_name.clone(),
                of: value.product.unwrap_or_default().to_owned(),
                value: value.constant.text(value.value),
                range: format!("{low} to {high}"),
                constant: value.constant,
            });
        }
    }
    lines
}

fn text(heading: &str, lines: &[ConstantLine]) -> String {
    let guesses = lines
        .iter()
        .filter(|line| line.constant.basis == constants::Basis::Guess)
        .count();
    let mut text = format!("{} {heading}; {guesses} are guesses\n", lines.len());
    for line in lines {
        let of = if line.of.is_empty() {
            String::new()
        } else {
            format!(" ({})", line.of)
        };
        let ConstantLine {
            name,
            value,
            range,
            constant,
            ..
        } = line;
        let _ = writeln!(text, "\n{name}{of}");
        let shape = constant.shape.word();
        let _ = writeln!(
            text,
            "  {value}, from {range} ({shape}); {}",
            constant.basis.word()
        );
        for line in wrapped(&constant.source, 97, "").lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}
