//! Why an experiment was rejected: all problems together, each with its location in a file and a fix.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use itertools::Itertools;

use super::named_file::NamedFile;
use super::wording::Wording;
use fleetsim_units::io::printable;

/// The message that replaces an error's own message if no content of a file may be shown.
const NOT_AS_EXPECTED: &str = "the content is not valid here";

/// Maximum number of problems that are shown: one or two screens.
const MOST_SHOWN: usize = 20;

/// Maximum number of characters that are shown on either side of a problem's location.
const MOST_BESIDE: usize = 120;

/// A parsed value, or all problems with the text.
pub type OrProblems<T> = Result<T, Vec<Problem>>;

/// A parsed value, or the first problem with the text.
pub type OrProblem<T> = Result<T, Box<Problem>>;

/// A file's text.
#[derive(Debug, Eq, PartialEq)]
pub struct Source {
    /// The path under which the user finds the file.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// The file, if an experiment names it, so that errors may have to withhold its text. `None`: errors may quote it.
    file: Option<Arc<NamedFile>>,
}

impl Source {
    /// Creates a text that errors may quote.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self::of_file(name, text, None)
    }

    /// Creates the text of a file. `file`: the file if an experiment names it, otherwise `None`.
    pub(super) fn of_file(
        name: impl Into<String>,
        text: impl Into<String>,
        file: Option<Arc<NamedFile>>,
    ) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            file,
        }
    }

    /// Returns another text of the same file.
    pub fn with_text(&self, text: impl Into<String>) -> Self {
        Self::of_file(&self.name, text, self.file.clone())
    }

    /// Returns why errors must not quote the text. `None`: errors may quote it.
    fn withheld(&self) -> Option<&'static str> {
        self.file.as_ref()?.withheld()
    }

    /// Returns whether errors must not quote the text.
    pub fn is_withheld(&self) -> bool {
        self.withheld().is_some()
    }

    /// Returns the message of an error that may quote this text, wherever the error is located.
    pub fn reason(&self, wording: impl Into<Wording>) -> String {
        let reason = wording.into().shown(self.is_withheld());
        reason.unwrap_or_else(|| NOT_AS_EXPECTED.to_owned())
    }

    /// Returns the text of a fix. `None`: the content of the file must not be shown, and nothing else of the fix is
    /// left.
    pub fn fix(&self, wording: impl Into<Wording>) -> Option<String> {
        wording.into().shown(self.is_withheld())
    }

    /// Creates a problem at a location in the text.
    pub fn at(
        self: &Arc<Self>,
        span: Range<usize>,
        field: impl Into<String>,
        message: impl Into<Wording>,
    ) -> Problem {
        let withheld = self.withheld();
        Problem {
            // Keys are content of the file, too.
            field: if withheld.is_none() {
                field.into()
            } else {
                String::new()
            },
            place: Some(Place {
                source: Arc::clone(self),
                span,
            }),
            withheld,
            ..Problem::of_file(&self.name, self.reason(message))
        }
    }

    /// Returns the 1-based line and 1-based column (in characters) of a byte offset.
    fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (
            before.matches('\n').count() + 1,
            before[line_start..].chars().count() + 1,
        )
    }

    /// Returns the byte offset of a 1-based line and a 1-based column in characters; the end of the text if the
    /// position is beyond it.
    pub fn offset(&self, line: usize, column: usize) -> usize {
        let mut start = 0;
        for _ in 1..line {
            match self.text[start..].find('\n') {
                Some(at) => start += at + 1,
                None => return self.text.len(),
            }
        }
        let line = self.text[start..].split('\n').next().unwrap_or_default();
        start
            + line
                .char_indices()
                .nth(column.saturating_sub(1))
                .map_or(line.len(), |(at, _)| at)
    }

    /// Returns the byte offset of a 1-based line and a 1-based column in bytes, moved back to the start of a
    /// character.
    pub(crate) fn byte_offset(&self, line: usize, column: usize) -> usize {
        let line = self.line_at(self.offset(line, 1));
        self.text
            .floor_char_boundary((line.start + column.saturating_sub(1)).min(line.end))
    }

    /// Returns the byte range of the first JSON string with this content; an empty range at the start of the text if
    /// there is no such string.
    pub fn find_json_string(&self, content: &str) -> Range<usize> {
        self.find_json_string_after(0, content)
    }

    /// Like [`Self::find_json_string`], but only for strings that begin at or after `offset`.
    pub fn find_json_string_after(&self, offset: usize, content: &str) -> Range<usize> {
        let quoted = format!("\"{content}\"");
        let found = self.text[offset..].find(&quoted);
        found.map_or(0..0, |at| offset + at..offset + at + quoted.len())
    }

    /// Returns the byte range of the line that contains `offset`, without the line end.
    fn line_at(&self, offset: usize) -> Range<usize> {
        let start = self.text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let end = self.text[offset..]
            .find('\n')
            .map_or(self.text.len(), |at| offset + at);
        start..end
    }
}

/// A location in a file: a range of bytes in its text.
#[derive(Clone, Debug)]
struct Place {
    source: Arc<Source>,
    span: Range<usize>,
}

impl Place {
    /// Returns the part of the location's first line to show, and the location within that part.
    fn excerpt(&self) -> (Range<usize>, Range<usize>) {
        let text = &self.source.text;
        let start = self.span.start;
        let line = self.source.line_at(start);
        // Point at the part of the location on its first line. An empty span is widened to one character if possible.
        let width = text[start..line.end]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
        let end = self.span.end.min(line.end).max(start + width);
        // Of a long line, such as JSON without line ends, show only the part around the location.
        let before = text[line.start..start]
            .char_indices()
            .rev()
            .nth(MOST_BESIDE - 1);
        let from = before.map_or(line.start, |(at, _)| line.start + at);
        let end = text[start..end]
            .char_indices()
            .nth(MOST_BESIDE)
            .map_or(end, |(at, _)| start + at);
        let to = text[end..line.end]
            .char_indices()
            .nth(MOST_BESIDE)
            .map_or(line.end, |(at, _)| end + at);
        (from..to, start - from..end - from)
    }
}

/// One error in an experiment.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// The path of the file, relative to the folder in which the program was started.
    pub file: String,
    /// The path of the field in the file, e.g. `fleet[0].downlink`; empty for the file as a whole.
    pub field: String,
    /// The error.
    pub message: String,
    /// The fix, if one is known.
    pub help: Option<String>,
    place: Option<Place>,
    /// The reason why no content of the file is shown. `None`: the line is shown.
    withheld: Option<&'static str>,
    /// The size of the part of the file before `text`.
    before: TextBefore,
}

/// The size of the part of a file that precedes a text.
#[derive(Clone, Copy, Debug, Default)]
struct TextBefore {
    /// Number of whole lines.
    lines: usize,
    /// Number of characters before the text in its first line.
    characters: usize,
}

impl Problem {
    /// Creates a problem with a file as a whole.
    pub fn of_file(file: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// Returns the problem's 1-based line. `None`: the problem concerns the file as a whole.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        Some(self.line_and_column()?.0)
    }

    /// Returns the problem's 1-based line and column, in characters. They are computed on demand, because this takes
    /// time proportional to the file, and few of many problems are shown.
    fn line_and_column(&self) -> Option<(usize, usize)> {
        let place = self.place.as_ref()?;
        let (line, column) = place.source.line_and_column(place.span.start);
        let TextBefore { lines, characters } = self.before;
        let column = if line == 1 {
            column + characters
        } else {
            column
        };
        Some((line + lines, column))
    }

    /// Records that the text is a part of the file, after this number of lines, and this number of characters in its
    /// first line.
    pub const fn in_part_after(mut self, lines: usize, characters: usize) -> Self {
        self.before = TextBefore { lines, characters };
        self
    }

    /// Returns this problem, or, if its location is after the end of the file in `source`, a problem of the argument
    /// `--set`: the arguments follow the file there.
    pub fn of_argument(mut self, source: &Source, file_ends: usize) -> Self {
        if let Some(place) = &self.place
            && place.source.name == source.name
            && place.span.start > file_ends
        {
            let line = place.source.line_at(place.span.start);
            let argument = Source::new("--set", &place.source.text[line.clone()]);
            let start = place.span.start - line.start;
            let end = place.span.end.clamp(line.start, line.end) - line.start;
            self.file.clone_from(&argument.name);
            self.place = Some(Place {
                source: Arc::new(argument),
                span: start..end,
            });
        }
        self
    }

    /// Adds a fix.
    pub fn with_help(mut self, help: impl Into<Wording>) -> Self {
        self.help = help.into().shown(self.withheld.is_some());
        self
    }

    /// Adds a fix, if there is one.
    pub fn with_optional_help(self, help: Option<impl Into<Wording>>) -> Self {
        match help {
            Some(help) => self.with_help(help),
            None => Self { help: None, ..self },
        }
    }

    /// Returns the byte offset of the problem's start.
    fn start(&self) -> Option<usize> {
        Some(self.place.as_ref()?.span.start)
    }

    /// Returns whether two problems have the same message at the same location.
    fn is_same_as(&self, other: &Self) -> bool {
        self.file == other.file && self.start() == other.start() && self.message == other.message
    }

    fn render(&self, renderer: &Renderer) -> String {
        let message = printable(&self.message);
        let file = printable(&self.file);
        let field = printable(&self.field);
        let help = self.help.as_deref().map(printable);
        let title = Level::ERROR.primary_title(&*message);
        let note = self.withheld.map(|why| Level::NOTE.message(why));
        let help = help.as_deref().map(|help| Level::HELP.message(help));
        let origin = annotate_snippets::Origin::path(&*file);
        let (line, column) = self.line_and_column().unwrap_or((1, 1));
        let report = match &self.place {
            None => title.element(origin).elements(help),
            Some(_) if note.is_some() => title
                .element(origin.line(line).char_column(column))
                .elements(note)
                .elements(help),
            Some(place) => {
                let (excerpt, span) = place.excerpt();
                let shown = &place.source.text[excerpt];
                let is_cut = column > shown[..span.start].chars().count() + 1;
                let snippet = Snippet::source(shown)
                    .line_start(line)
                    .annotation(AnnotationKind::Primary.span(span).label(&*field));
                if is_cut {
                    // The columns of a snippet count from its own start.
                    let origin = origin.line(line).char_column(column);
                    title.element(origin).element(snippet).elements(help)
                } else {
                    title.element(snippet.path(&*file)).elements(help)
                }
            }
        };
        renderer.render(&[report])
    }
}

impl fmt::Display for Problem {
    /// Formats the problem on one line: location, message and fix.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column)) = self.line_and_column() {
            write!(f, ":{line}:{column}")?;
        }
        f.write_str(": ")?;
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.message)?;
        if let Some(why) = self.withheld {
            write!(f, " ({why})")?;
        }
        match &self.help {
            Some(help) => write!(f, " (help: {help})"),
            None => Ok(()),
        }
    }
}

/// All errors in an experiment; never empty.
#[derive(Clone, Debug)]
pub struct LoadError {
    /// The problems, first those of the experiment file, then those of the files it names.
    pub problems: Vec<Problem>,
}

impl LoadError {
    /// Creates an error without duplicate problems, ordered by location; problems in the experiment file (`first`) are
    /// before the others.
    pub fn new(mut problems: Vec<Problem>, first: &str) -> Self {
        problems.sort_by_cached_key(|problem| {
            (
                problem.file != first,
                problem.file.clone(),
                problem.start(),
                problem.message.clone(),
            )
        });
        problems.dedup_by(|later, earlier| later.is_same_as(earlier));
        Self { problems }
    }

    /// Formats the problems like a compiler: location, line, carets, message and fix. Of many problems, only the first
    /// are shown, with the number of the others. `color`: use ANSI colours.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        let renderer = if color {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let shown = self
            .problems
            .iter()
            .take(MOST_SHOWN)
            .map(|problem| problem.render(&renderer))
            .join("\n\n");
        match self.problems.len().saturating_sub(MOST_SHOWN) {
            0 => shown,
            1 => format!("{shown}\n\nand 1 more problem"),
            more => format!("{shown}\n\nand {more} more problems"),
        }
    }
}

impl fmt::Display for LoadError {
    /// Formats the problems like [`LoadError::render`], without colours.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for LoadError {}

/// Returns the name in `known` that is nearest to `written`, if it is near enough to be the intended one.
pub fn nearest<'k>(written: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let lower = written.to_lowercase().replace(['_', '-'], "");
    let mut distances = Vec::new();
    for name in known {
        let other = name.to_lowercase().replace(['_', '-'], "");
        distances.push((strsim::levenshtein(&lower, &other), name));
    }
    let (distance, name) = distances.into_iter().min()?;
    let length = name.chars().count();
    (distance <= 1 + length / 4 && distance * 2 <= length).then_some(name)
}

/// Returns the fix for an unknown name: the nearest known name, or else the text of `other`.
pub fn did_you_mean<'k>(
    written: &str,
    known: impl IntoIterator<Item = &'k str>,
    other: impl FnOnce() -> String,
) -> String {
    nearest(written, known).map_or_else(other, |near| format!("did you mean `{near}`?"))
}

/// Lists names: "`a`, `b` or `c`".
pub fn any_of<T: AsRef<str>>(names: &[T]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [one] => format!("`{}`", one.as_ref()),
        [head @ .., last] => format!(
            "`{}` or `{}`",
            head.iter().map(T::as_ref).join("`, `"),
            last.as_ref()
        ),
    }
}

/// Lists up to eight names: "`a`, `b` and 7 more".
pub fn some_of(names: &[String]) -> String {
    const MOST: usize = 8;
    let more = if names.len() > MOST {
        format!(" and {} more", names.len() - MOST)
    } else {
        String::new()
    };
    names
        .iter()
        .take(MOST)
        .map(|name| format!("`{name}`"))
        .join(", ")
        + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Arc<Source> {
        Arc::new(Source::new("a.yaml", text))
    }

    #[test]
    fn a_problem_shows_its_line_and_its_fix() {
        let text = "name: x\nregistry: {egress: 10}\n";
        let problem = source(text)
            .at(27..29, "registry.egress", "`10` has no unit")
            .with_help("write `10 Gbit/s`");
        assert_eq!(
            (problem.line(), problem.line_and_column()),
            (Some(2), Some((2, 20)))
        );
        let error = LoadError::new(vec![problem.clone(), problem], "a.yaml");
        insta::assert_snapshot!(error, @r"
        error: `10` has no unit
         --> a.yaml:2:20
          |
        2 | registry: {egress: 10}
          |                    ^^ registry.egress
          |
          = help: write `10 Gbit/s`
        ");
        assert_eq!(
            error.problems[0].to_string(),
            "a.yaml:2:20: registry.egress: `10` has no unit (help: write `10 Gbit/s`)"
        );
    }

    #[test]
    fn a_position_at_the_end_of_the_file_can_be_shown() {
        for text in ["", "name: x", "name: x\n", "näme: é"] {
            let problem = source(text).at(text.len()..text.len(), "", "ends too early");
            assert!(
                problem
                    .render(&Renderer::plain())
                    .contains("ends too early"),
                "{text:?}"
            );
        }
    }

    #[test]
    fn lists_of_problems_and_long_lines_are_truncated() {
        let text = format!("[{}]", vec!["{\"clusters\": \"é\"}"; 8_000].join(", "));
        let source = Arc::new(Source::new("a.json", text));
        let at = source
            .text
            .match_indices("\"é\"")
            .map(|(at, found)| at..at + found.len());
        let problems: Vec<Problem> = at
            .map(|span| source.at(span, "clusters", "not a number"))
            .collect();
        let error = LoadError::new(problems, "a.json");
        assert_eq!(error.problems.len(), 8_000);
        let shown = error.to_string();
        assert!(shown.ends_with("\n\nand 7980 more problems"), "{shown}");
        assert!(
            shown.lines().all(|line| line.chars().count() < 270),
            "{shown}"
        );
        // An entry has 19 characters, so the last shown entry begins at 15 + 19 · 19.
        assert!(
            shown.contains(" --> a.json:1:15\n") && shown.contains(" --> a.json:1:376\n"),
            "{shown}"
        );
    }

    #[test]
    fn a_similar_name_is_suggested_only_if_it_is_similar_enough() {
        let known = ["maxUnavailable", "maxUnavailablePartitions", "maxNew"];
        assert_eq!(nearest("max_unavailable", known), Some("maxUnavailable"));
        assert_eq!(nearest("maxUnavailble", known), Some("maxUnavailable"));
        assert_eq!(nearest("colour", known), None);
    }

    #[test]
    fn positions_and_offsets_convert_into_each_other() {
        let source = Source::new("", "ab\ncdé\nf");
        for (line, column, offset) in [
            (1, 1, 0),
            (1, 3, 2),
            (2, 1, 3),
            (2, 4, 7),
            (3, 1, 8),
            (3, 2, 9),
        ] {
            assert_eq!(source.offset(line, column), offset, "{line}:{column}");
            assert_eq!(source.line_and_column(offset), (line, column), "{offset}");
        }
        assert_eq!(source.offset(9, 9), 9, "beyond the end");
    }
}
