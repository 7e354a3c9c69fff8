//! Short names of choices whose values are long: `cache` instead of `cache(egress=10 Gbit/s, rtt=1 ms, …)`.
//!
//! A part of a value that all values of the same kind have does not tell them apart. If several kinds have one value
//! each, their names are enough; the table has the whole values.

/// Values with more letters are shortened.
const LONG: usize = 40;

/// A value as `kind(part, part)`.
struct ParsedValue<'v> {
    kind: &'v str,
    parts: Vec<&'v str>,
}

impl<'v> ParsedValue<'v> {
    /// `None`: the value has another form.
    fn of(value: &'v str) -> Option<Self> {
        let (kind, inside) = value.strip_suffix(')')?.split_once('(')?;
        let mut parts = Vec::new();
        let mut depth = 0;
        let mut start = 0;
        for (at, letter) in inside.char_indices() {
            match letter {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(inside[start..at].trim());
                    start = at + 1;
                }
                _ => {}
            }
        }
        parts.push(inside[start..].trim());
        Some(Self { kind, parts })
    }

    /// The value without the parts that all values of its kind have.
    fn short(&self, all: &[ParsedValue<'_>]) -> String {
        let mut alike: Vec<&ParsedValue<'_>> = all.iter().collect();
        alike.retain(|other| other.kind == self.kind);
        let mut parts = self.parts.clone();
        parts.retain(|part| !alike.iter().all(|other| other.parts.contains(part)));
        if parts.is_empty() {
            self.kind.to_owned()
        } else {
            format!("{}({})", self.kind, parts.join(", "))
        }
    }
}

/// The distinct values of a swept setting, each in short if any of them is long.
pub(super) fn short_values(values: &[&str]) -> Vec<String> {
    let is_long = values.iter().any(|value| value.chars().count() > LONG);
    let mut parsed: Vec<ParsedValue<'_>> = Vec::new();
    for value in values {
        parsed.extend(ParsedValue::of(value));
    }
    let mut short = Vec::new();
    for &value in values {
        short.push(match ParsedValue::of(value) {
            Some(own) if is_long => own.short(&parsed),
            _ => value.to_owned(),
        });
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_lose_what_does_not_tell_them_apart() {
        let long = [
            "direct",
            "cache(egress=10 Gbit/s, rtt=1 ms)",
            "cache(coalesce=wait, egress=10 Gbit/s, rtt=1 ms)",
            "kraken(announce=50 ms, timeouts={share: 8%, after: 5 s})",
        ];
        assert_eq!(
            short_values(&long),
            ["direct", "cache", "cache(coalesce=wait)", "kraken"]
        );
        let short = ["direct", "cache(per=region, coalesce=stream)"];
        assert_eq!(short_values(&short), short);
    }
}
