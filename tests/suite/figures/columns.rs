//! Tables in READMEs whose columns are measures, and the formats of their cells.

use std::path::Path;

use super::{cell, grouped, row_of};

/// The text of a README with current values in the marked columns of its tables.
pub(super) fn current(text: &str, results: &Path) -> String {
    let mut columns: Vec<&str> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for line in text.split('\n') {
        if let Some(inside) = line
            .strip_prefix("<!-- columns:")
            .and_then(|rest| rest.strip_suffix("-->"))
        {
            columns = inside.split('|').map(str::trim).collect();
        } else if !line.starts_with('|') && lines.last().is_some_and(|last| last.starts_with('|')) {
            columns.clear();
        }
        lines.push(
            match line
                .strip_suffix(" --> |")
                .and_then(|rest| rest.rsplit_once("<!-- "))
            {
                Some((cells, variants)) if !columns.is_empty() => {
                    row(cells, variants, &columns, results)
                }
                _ => line.to_owned(),
            },
        );
    }
    lines.join("\n")
}

fn row(cells: &str, names: &str, columns: &[&str], results: &Path) -> String {
    let variants: Vec<&str> = names.split(" %% ").collect();
    let old: Vec<&str> = cells
        .trim_start_matches('|')
        .split('|')
        .map(str::trim)
        .collect();
    assert_eq!(old.len(), columns.len(), "a cell for each column: {cells}");
    let new = old.iter().zip(columns).map(|(old, column)| match *column {
        "-" => (*old).to_owned(),
        column => written(column, &variants, results),
    });
    format!(
        "| {} <!-- {names} --> |",
        new.collect::<Vec<_>>().join(" | ")
    )
}

/// The text of a cell in a column such as `reachable_ready_s time ci @2`.
fn written(column: &str, variants: &[&str], results: &Path) -> String {
    let mut words = column.split(' ');
    let (measure, form) = (
        words.next().expect("a measure"),
        words.next().expect("a form"),
    );
    let rest: Vec<&str> = words.collect();
    let has = |word: &str| rest.contains(&word);
    let number = rest
        .iter()
        .find_map(|word| word.strip_prefix('@'))
        .map_or(1, |at| at.parse().expect("a number"));
    let variant = variants[number - 1];
    let of = |variant: &str, measure: &str, column: &str| {
        let table = if column.starts_with("total") {
            "uncertainty.csv"
        } else {
            "summary.csv"
        };
        cell(results, &[table, variant, measure, column])
    };
    let median = if has("total") {
        "total_median"
    } else {
        "median"
    };
    let value = match measure.split_once('/') {
        Some((part, whole)) => of(variant, part, median)
            .zip(of(variant, whole, median))
            .map(|(a, b)| a / b),
        None => of(variant, measure, median),
    };
    let ends = match () {
        () if has("ci") => Some(["median_ci95_low", "median_ci95_high"]),
        () if has("range") => Some(["min", "max"]),
        () if has("total") => Some(["total_low", "total_high"]),
        () => None,
    };
    let ends = ends.map(|names| names.map(|name| of(variant, measure, name)));
    let brackets = if has("ci") { ("[", "]") } else { ("(", ")") };
    match form {
        "time" => value.map_or("never".to_owned(), |value| time(value, ends, brackets)),
        "share" => value.map_or("–".to_owned(), |value| share(value * 100.0)),
        "count" => value.map_or("–".to_owned(), |value| {
            with_ends(value, 0, "", ends, brackets)
        }),
        "fixed1" => value.map_or("–".to_owned(), |value| {
            with_ends(value, 1, "", ends, brackets)
        }),
        "GB" => value.map_or("–".to_owned(), |value| {
            format!("{} GB", grouped(value / 1e9, 0))
        }),
        "runs" => {
            let all = of(variant, measure, "runs").expect("the runs");
            format!(
                "{} of {all}",
                of(variant, measure, "finished").expect("the runs that finished")
            )
        }
        "difference" => {
            let [one, other] = [0, 1].map(|at| of(variants[at], measure, median).expect("a value"));
            let percent = (one / other - 1.0) * 100.0;
            if percent.abs() < 0.05 {
                "0.0 %".to_owned()
            } else {
                format!("{percent:+.1} %")
            }
        }
        "change" => {
            let reference =
                &row_of(results, &["summary.csv", variant, measure, "reference"])["reference"];
            let whole = of(reference, measure, "mean").expect("a reference") / 100.0;
            let names = ["diff_mean", "diff_mean_ci95_low", "diff_mean_ci95_high"];
            match names.map(|name| of(variant, measure, name).map(|value| value / whole)) {
                [Some(value), low, high] => change(value, [low, high]),
                _ => "0".to_owned(),
            }
        }
        other => panic!("no form `{other}`"),
    }
}

/// A time with three digits in a suitable unit.
fn time(seconds: f64, ends: Option<[Option<f64>; 2]>, brackets: (&str, &str)) -> String {
    let units = [
        ("s", 1.0, 100.0),
        ("min", 60.0, 6000.0),
        ("h", 3600.0, 360_000.0),
        ("d", 86_400.0, f64::INFINITY),
    ];
    let (name, size, _) = units
        .into_iter()
        .find(|(.., limit)| seconds < *limit)
        .expect("one fits");
    let value = seconds / size;
    let decimals = if value < 9.995 {
        2
    } else {
        usize::from(value < 99.95)
    };
    with_ends(
        value,
        decimals,
        &format!(" {name}"),
        ends.map(|ends| ends.map(|end| end.map(|s| s / size))),
        brackets,
    )
}

/// A value with the ends of its interval, if they differ from it.
fn with_ends(
    value: f64,
    decimals: usize,
    unit: &str,
    ends: Option<[Option<f64>; 2]>,
    brackets: (&str, &str),
) -> String {
    let of = |value: f64| grouped(value, decimals);
    let Some(ends) = ends.filter(|ends| {
        ends.iter()
            .any(|end| end.is_none_or(|end| of(end) != of(value)))
    }) else {
        return format!("{}{unit}", of(value));
    };
    let [low, high] = ends.map(|end| end.map_or("never".to_owned(), of));
    format!(
        "{}{unit} {}{low}–{high}{}",
        of(value),
        brackets.0,
        brackets.1
    )
}

fn share(percent: f64) -> String {
    match percent {
        0.0 => "0 %".to_owned(),
        small if small < 0.05 => "< 0.1 %".to_owned(),
        small if small < 9.95 => format!("{small:.1} %"),
        large => format!("{large:.0} %"),
    }
}

fn change(percent: f64, ends: [Option<f64>; 2]) -> String {
    if percent < 0.005 {
        return "< 0.01 %".to_owned();
    }
    let decimals = if percent < 0.995 {
        2
    } else {
        usize::from(percent < 9.95)
    };
    with_ends(percent, decimals, " %", Some(ends), ("[", "]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_columns_have_the_format_named_in_their_comment() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let table = "variant,measure,runs,finished,mean,median,median_ci95_low,median_ci95_high,min,max,reference,\
                     diff_mean,diff_mean_ci95_low,diff_mean_ci95_high\n\
                     a x=1,ready_s,20,20,90,90,89,91,80,100,a x=1,,,\n\
                     a x=2,ready_s,20,19,99,1458.3,1450.2,1470,1440,1500,a x=1,9,8.1,9.9\n\
                     a x=1,pulls,20,20,5,5,5,5,5,5,a x=1,,,\n\
                     a x=2,pulls,20,20,1234,1234,1200,1250,1100,1300,a x=1,,,\n\
                     a x=2,never_s,20,0,,,,,,,a x=1,,,\n\
                     a x=1,never_s,20,20,1,1,1,1,1,1,a x=1,,,\n";
        std::fs::write(home.path().join("summary.csv"), table).expect("written");
        let page = |cells: [&str; 2]| {
            format!(
                "<!-- columns: - | ready_s time ci | pulls count range | never_s time | ready_s runs | ready_s change -->\
                 \n\n| a | b | c | d | e | f |\n|---|---|---|---|---|---|\n| one | {} <!-- a x=1 --> |\n| two | {} <!-- \
                 a x=2 --> |\n\n| x <!-- a x=1 --> |\n",
                cells[0], cells[1]
            )
        };
        let now = current(&page(["1 | 2 | 3 | 4 | 5"; 2]), home.path());
        let cells = [
            "90.0 s [89.0–91.0] | 5 | 1.00 s | 20 of 20 | 0",
            "24.3 min [24.2–24.5] | 1,234 (1,100–1,300) | never | 19 of 20 | 10 % [9–11]",
        ];
        assert_eq!(now, page(cells));
    }

    #[test]
    fn small_shares_are_not_written_as_zero() {
        assert_eq!(
            [0.0, 0.01, 0.06, 4.94, 9.96].map(share),
            ["0 %", "< 0.1 %", "0.1 %", "4.9 %", "10 %"]
        );
    }
}
