//! `fleetsim report`: redraws the charts of existing results or of a plan, and prints the comparison or the plan.
//!
//! Nothing is simulated: charts and comparison are derived from the tables, which do not change.

use std::path::{Path, PathBuf};

use clap::Args;
use fleetsim::report::{self, ChartWidth, FigureError, FigureStyle};
use fleetsim::results::{
    CALIBRATION_FILE, PLAN_FILE, Provenance, Publication, ResultsError, SENSITIVITY_FILE, restore,
};

use fleetsim::units::counted;

use super::simulation::place_of;
use super::{DetailArgs, Failure, OutputFormat, output};

#[derive(Args, Debug)]
pub(super) struct ReportArgs {
    /// Folder written by `fleetsim run` or `fleetsim plan`
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    #[command(flatten)]
    figures: FigureArgs,
    /// Write the asserted limits to this file as a JUnit report, for CI; `-` is standard output
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    detail: DetailArgs,
}

/// Options for figures of a paper or a talk. With one of them, charts go to another folder, and the results stay as
/// they are.
#[derive(Args, Debug)]
struct FigureArgs {
    /// Write figures (SVG, PNG, PDF) for a column of a paper (85 mm), a page (170 mm), or a slide, next to RESULTS
    #[arg(long, value_enum, value_name = "WIDTH", help_heading = "Figures")]
    width: Option<ChartWidth>,
    /// Draw figures without title, note and footer; `captions.txt` has them
    #[arg(long, help_heading = "Figures")]
    no_title: bool,
    /// Draw these variants only: a variant, a strategy, or a setting such as `maxUnavailable=25%`
    #[arg(long, value_name = "NAME", num_args = 1.., help_heading = "Figures")]
    variants: Vec<String>,
    /// Folder of the figures [default: RESULTS-figures]
    #[arg(long, value_name = "FOLDER", help_heading = "Figures")]
    to: Option<PathBuf>,
}

impl FigureArgs {
    /// Whether figures are asked for.
    const fn is_asked(&self) -> bool {
        self.width.is_some() || self.no_title || !self.variants.is_empty() || self.to.is_some()
    }

    /// The folder of the figures: next to the results, unless it is named.
    fn folder(&self, results: &Path) -> PathBuf {
        if let Some(to) = &self.to {
            return to.clone();
        }
        let resolved = results.canonicalize();
        let results = resolved.as_deref().unwrap_or(results);
        let name = results.file_name().unwrap_or_default().to_string_lossy();
        results.with_file_name(format!("{name}-figures"))
    }

    /// Draws the figures of these results, and says where they are.
    fn draw(&self, results: &Path) -> Result<(), Failure> {
        let to = self.folder(results);
        if Provenance::read(&to)?.is_some() {
            let message = format!(
                "{} has results, which figures would damage; choose another folder with `--to`",
                to.display()
            );
            return Err(Failure::Usage(message));
        }
        let style = FigureStyle {
            width: self.width.unwrap_or_default(),
            untitled: self.no_title,
            variants: self.variants.clone(),
        };
        let files = report::draw_figures(results, &to, &style).map_err(|error| match error {
            FigureError::Results(error) => Failure::from(error),
            other => Failure::Usage(other.to_string()),
        })?;
        output::err(&format!(
            "{} in {}\n",
            counted(files.len(), "file"),
            to.display()
        ));
        Ok(())
    }
}

pub(super) fn report(args: &ReportArgs) -> Result<(), Failure> {
    restore(&args.results)?;
    if Provenance::of_results(&args.results)?.shard.is_some() {
        let fix = "run `fleetsim merge` on all shards to get results";
        return Err(Failure::Usage(format!(
            "{} is a shard, a part of a study's runs; {fix}",
            args.results.display()
        )));
    }
    let kind = ResultsKind::of(&args.results);
    if args.figures.is_asked() {
        if args.junit.is_some() {
            let message =
                "--junit and figures are two calls: figures leave the results as they are";
            return Err(Failure::Usage(message.to_owned()));
        }
        return args.figures.draw(&args.results);
    }
    let publication = Publication::renew(&args.results)?;
    if args.junit.is_some() && kind != ResultsKind::Study {
        let message =
            "--junit needs the results of `fleetsim run`; other results have no asserted limits";
        return Err(Failure::Usage(message.to_owned()));
    }
    let drawn = args.draw(kind, publication.folder());
    let drawn = drawn.map_err(|error| error.of_original(publication.folder(), &args.results))?;
    let text = match drawn {
        DrawnResults::Text(text) => text,
        DrawnResults::Study(results) => {
            let inputs = std::slice::from_ref(&args.results);
            output::junit(args.junit.as_deref(), &results, inputs)?;
            args.format.comparison(&results, args.detail.detail())
        }
    };
    let published = publication.publish()?;
    output::err(&place_of(&args.results, &published));
    output::out(&text)
}

/// The command that wrote a results folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ResultsKind {
    Study,
    Plan,
    Sensitivity,
    Calibration,
}

impl ResultsKind {
    fn of(results: &Path) -> Self {
        if results.join(PLAN_FILE).exists() {
            Self::Plan
        } else if results.join(SENSITIVITY_FILE).exists() {
            Self::Sensitivity
        } else if results.join(CALIBRATION_FILE).exists() {
            Self::Calibration
        } else {
            Self::Study
        }
    }
}

/// Results whose charts have been redrawn.
enum DrawnResults {
    Study(Box<report::Results>),
    /// Other results, printed as text.
    Text(String),
}

impl ReportArgs {
    fn draw(&self, kind: ResultsKind, folder: &Path) -> Result<DrawnResults, ResultsError> {
        let width = ChartWidth::default();
        Ok(match kind {
            ResultsKind::Plan => {
                let plan = report::draw_plan(folder, width)?;
                DrawnResults::Text(self.format.record(&plan, report::plan_text))
            }
            ResultsKind::Sensitivity => {
                let record = report::draw_sensitivity(folder, width)?;
                DrawnResults::Text(self.format.record(&record, report::sensitivity_text))
            }
            ResultsKind::Calibration => {
                let record = report::draw_calibration(folder, width)?;
                DrawnResults::Text(self.format.record(&record, report::calibration_text))
            }
            ResultsKind::Study => {
                DrawnResults::Study(Box::new(report::draw_folder(folder, width)?))
            }
        })
    }
}
