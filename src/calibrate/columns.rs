//! Reads durations from a column of a CSV file.
//!
//! A value has a unit (`4.2 s`), or its column's name is a unit or ends in one (`seconds`, `start_ms`), as in the
//! experiment file. Empty cells are skipped.

use super::events::Tally;
use super::fit::Measurements;
use super::input::{Input, short};
use crate::document::problem::OrProblem;
use crate::units::SimDuration;
use crate::world::{ReadColumn, WrongColumn, read_column};

/// Reads the durations in a column. `setting`: the setting that they calibrate.
pub(super) fn read(
    input: &Input,
    column: &str,
    setting: Option<&str>,
    tally: &mut Tally,
) -> OrProblem<Measurements> {
    let read = read_column::<SimDuration>(&input.source, Some(column));
    let ReadColumn { values, empty } = read.map_err(|wrong| match wrong {
        WrongColumn::Column(message, help) => input.at(0, column, message.whole(), help.whole()),
        WrongColumn::Cell(problem) => problem,
    })?;
    tally.add_many("row without a value", empty);
    Ok(Measurements {
        title: format!("durations of the column {column}"),
        source: short(&input.source.name),
        values: values.into_iter().map(SimDuration::as_secs_f64).collect(),
        setting: setting.map(str::to_owned),
        name: name_of(column),
        nodes: Vec::new(),
    })
}

/// Returns the column's name reduced to letters, digits and `_`, without the unit at its end.
fn name_of(column: &str) -> String {
    let clean = column.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    let clean = clean.trim_matches('_').to_lowercase();
    let mut units = ["_s", "_ms", "_seconds"].into_iter();
    let short = units.find_map(|unit| clean.strip_suffix(unit));
    let short = short.unwrap_or(&clean);
    if short.is_empty() {
        "durations".to_owned()
    } else {
        short.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::document::problem::Source;

    fn column(text: &str, name: &str) -> Result<Measurements, String> {
        let source = Arc::new(Source::new("t.csv", text));
        let input = Input::of(source);
        read(&input, name, None, &mut Tally::default()).map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_column_is_chosen_by_its_name_and_its_unit_is_read() {
        let found = column("pod,start_ms\na,400\nb,\nc,1500\n", "start_ms").expect("a column");
        assert_eq!(
            (found.name.as_str(), found.values),
            ("start", vec![0.4, 1.5])
        );
        assert_eq!(
            column("took\n4 s\n250 ms\n", "took")
                .expect("a column")
                .values,
            [4.0, 0.25]
        );
    }

    #[test]
    fn an_invalid_column_is_refused_with_its_position_and_the_fix() {
        for (text, name, message) in [
            (
                "pod,start_s\na,1\n",
                "strat_s",
                "t.csv:1:1: strat_s: the file has no column `strat_s` (help: did you mean `start_s`?)",
            ),
            ("start\n4\n", "start", "t.csv:2:1: start: `4` has no unit"),
            ("start_s\n1\n-4\n", "start_s", "t.csv:3:1: start_s: "),
            (
                "start_s\n",
                "start_s",
                "t.csv:1:1: start_s: the column `start_s` has 0 values",
            ),
            ("a,start_s\n1\n", "start_s", "t.csv:2:1: not CSV"),
        ] {
            let found = column(text, name).expect_err(text);
            assert!(found.starts_with(message), "{text}: {found}");
        }
    }
}
