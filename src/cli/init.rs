//! `fleetsim init`: asks what an experiment needs, and writes one that runs.
//!
//! Every question has an answer in brackets, which Enter accepts, and an option that answers it beforehand. Without a
//! terminal the answers are read line by line; where the input ends, the answers in brackets are taken. An answer that
//! is no valid value is asked again at a terminal, and refused elsewhere.

mod product;
mod template;

use std::io::{BufRead, IsTerminal, stdin};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fleetsim::scenario::{Overrides, load};
use fleetsim::units::{Bytes, BytesPerSec, SimDuration, WithUnit};
use fleetsim::world::{RateModel, SiteKind};
use itertools::Itertools;

use self::product::ProductChoice;
use self::template::InitAnswers;
use super::{Failure, output};

#[derive(Args, Debug)]
pub(super) struct InitArgs {
    /// Folder to write; it must not exist, or be empty
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// The product that rolls releases out
    #[arg(long, value_enum, value_name = "PRODUCT")]
    product: Option<ProductChoice>,
    /// Number of clusters; of instances for Cloud Foundry
    #[arg(long, value_name = "N")]
    clusters: Option<String>,
    /// Nodes of a cluster
    #[arg(long, value_name = "N")]
    nodes: Option<String>,
    /// Where the clusters are: proposes the links of such sites
    #[arg(long, value_enum, value_name = "KIND")]
    site: Option<SiteKind>,
    /// Downlink of a cluster's site, such as `100 Mbit/s`
    #[arg(long, value_name = "RATE")]
    downlink: Option<String>,
    /// Round trip from a site to the registry, such as `30 ms`
    #[arg(long, value_name = "DURATION")]
    rtt: Option<String>,
    /// Link of the registry, such as `10 Gbit/s`
    #[arg(long, value_name = "RATE")]
    egress: Option<String>,
    /// Compressed size of the image, such as `400 MB`
    #[arg(long, value_name = "SIZE")]
    image: Option<String>,
    /// Size of the part that an update changes, such as `100 MB`
    #[arg(long, value_name = "SIZE")]
    changed: Option<String>,
    /// Settings to compare, such as `1, 10%, 100%`
    #[arg(long, value_name = "LIST")]
    settings: Option<String>,
    /// Ask nothing: take the answers in brackets
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn init(args: &InitArgs) -> Result<(), Failure> {
    free(&args.folder)?;
    let name = args
        .folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    if !name.starts_with(|letter: char| letter.is_ascii_alphanumeric()) {
        let message = "the folder's last part names the experiment and must begin with a letter or digit; write e.g. \
                       `fleetsim init my-rollout`";
        return Err(Failure::Usage(message.to_owned()));
    }
    let answers = answers(args, name)?;
    let text = answers.text();
    write(&args.folder, &text)?;
    output::out(&format!(
        "wrote {}/experiment.yaml\n\nnext:\n  fleetsim check {folder}     report errors and surprises\n  fleetsim run {folder}       \
         simulate, and compare the settings\n  fleetsim plan {folder}      find the fastest setting that meets the limits\n\n\
         Lines with `guess` have no better source than a guess: replace them by your own values, or let\n\
         `fleetsim import` and `fleetsim calibrate` read these from your clusters.\n",
        args.folder.display(),
        folder = args.folder.display(),
    ))
}

/// Refuses a folder with something in it.
fn free(folder: &Path) -> Result<(), Failure> {
    let taken = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => folder.exists(),
    };
    if taken {
        let message = format!(
            "{} exists and is not an empty folder; name a new folder",
            folder.display()
        );
        return Err(Failure::Usage(message));
    }
    Ok(())
}

/// Writes the experiment once it has been found valid, so that a failure leaves nothing behind.
fn write(folder: &Path, text: &str) -> Result<(), Failure> {
    let existed = folder.exists();
    let place = folder.join("experiment.yaml");
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&place, text));
    let written = written
        .map_err(|error| Failure::Machine(format!("cannot write {}: {error}", folder.display())));
    let checked =
        written.and_then(|()| load(folder, &Overrides::default()).map_err(Failure::Input));
    if checked.is_err() {
        let _ = std::fs::remove_file(&place);
        if !existed {
            let _ = std::fs::remove_dir(folder);
        }
    }
    checked.map(|_| ())
}

/// Asks one question after the other.
struct Interview {
    /// Nothing is asked any more.
    silent: bool,
    at_terminal: bool,
}

impl Interview {
    /// The answer to a question: what an option `given` says, what the person types, or `proposed`.
    fn ask<T>(
        &mut self,
        given: Option<&str>,
        (option, question, proposed): (&str, &str, &str),
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        let refused = |answer: &str, reason: &str| {
            Failure::Usage(format!(
                "`{answer}` is no answer to --{option} ({question}): {reason}"
            ))
        };
        if let Some(given) = given {
            return read(given).map_err(|reason| refused(given, &reason));
        }
        loop {
            let typed = if self.silent {
                None
            } else {
                self.line(&format!("{question} [{proposed}]: "))?
            };
            let answer = typed
                .as_deref()
                .map(str::trim)
                .filter(|answer| !answer.is_empty())
                .unwrap_or(proposed);
            match read(answer) {
                Ok(value) => return Ok(value),
                Err(reason) if self.at_terminal => output::err(&format!("{reason}\n")),
                Err(reason) => return Err(refused(answer, &reason)),
            }
        }
    }

    /// The choice of an option, or else by its name or number in a menu.
    fn choose<C: ValueEnum>(
        &mut self,
        given: Option<C>,
        (option, question, proposed): (&str, &str, &str),
    ) -> Result<C, Failure> {
        let names = C::value_variants().iter().filter_map(C::to_possible_value);
        let names: Vec<String> = names.map(|value| value.get_name().to_owned()).collect();
        let menu = (1..)
            .zip(&names)
            .map(|(number, name)| format!("{number} {name}"))
            .join(", ");
        let question = (option, &*format!("{question} {menu}"), proposed);
        given.map_or_else(
            || self.ask(None, question, |answer| chosen(answer, &names)),
            Ok,
        )
    }

    /// The next line of the input; after its end nothing is asked any more.
    fn line(&mut self, prompt: &str) -> Result<Option<String>, Failure> {
        output::err(prompt);
        let mut line = String::new();
        let read = stdin().lock().read_line(&mut line);
        let read =
            read.map_err(|error| Failure::Machine(format!("cannot read standard input: {error}")))?;
        if read == 0 || !self.at_terminal {
            output::err("\n");
        }
        self.silent |= read == 0;
        Ok((read > 0).then_some(line))
    }
}

fn answers(args: &InitArgs, name: String) -> Result<InitAnswers, Failure> {
    let mut interview = Interview {
        silent: args.yes,
        at_terminal: stdin().is_terminal(),
    };
    let product = (
        "product",
        "Which product rolls releases out?",
        "rancher-fleet",
    );
    let product = interview.choose(args.product, product)?;
    let whole = |most: u64| {
        move |answer: &str| match answer.replace(['_', ','], "").parse::<u64>() {
            Ok(number) if (1..=most).contains(&number) => Ok(number),
            _ => Err(format!("it must be a whole number from 1 to {most}")),
        }
    };
    let is_app = product == ProductChoice::CloudFoundry;
    let what = if is_app {
        "How many instances does the app have?"
    } else {
        "How many clusters are there?"
    };
    let clusters = interview.ask(
        args.clusters.as_deref(),
        ("clusters", what, "200"),
        whole(1_000_000),
    )?;
    let nodes = match is_app {
        true => 1,
        false => interview.ask(
            args.nodes.as_deref(),
            ("nodes", "How many nodes has a cluster?", "3"),
            whole(10_000),
        )?,
    };
    let rate = |answer: &str| {
        BytesPerSec::parse(answer)
            .map(|_| answer.to_owned())
            .map_err(|error| error.to_string())
    };
    let span = |answer: &str| {
        SimDuration::parse(answer)
            .map(|_| answer.to_owned())
            .map_err(|error| error.to_string())
    };
    let is_known = args.downlink.is_some() && args.rtt.is_some();
    let site = args.site.or_else(|| is_known.then(SiteKind::default));
    let proposed = if is_app { "data-centre" } else { "branch" };
    let site = interview.choose(site, ("site", "Where are the clusters?", proposed))?;
    let link = site.link();
    let usual = [
        link.downlink.typical().to_string(),
        link.rtt.typical().to_string(),
    ];
    let downlink = (
        "downlink",
        "How fast is the downlink of a site?",
        usual[0].as_str(),
    );
    let downlink = interview.ask(args.downlink.as_deref(), downlink, rate)?;
    let rtt = (
        "rtt",
        "How long is the round trip from a site to the registry?",
        usual[1].as_str(),
    );
    let rtt = interview.ask(args.rtt.as_deref(), rtt, span)?;
    // As measured, with its spread, unless a person knows better.
    let is_measured = matches!(link.downlink, RateModel::LogNormal { .. })
        && [&downlink, &rtt] == [&usual[0], &usual[1]];
    let link = if is_measured {
        format!("site: {}", site.name())
    } else {
        format!("downlink: {downlink}, rtt: {rtt}")
    };
    let egress = ("egress", "How fast is the registry's link?", "10 Gbit/s");
    let egress = interview.ask(args.egress.as_deref(), egress, rate)?;
    let size = |answer: &str| Bytes::parse(answer).map_err(|error| error.to_string());
    let image = interview.ask(
        args.image.as_deref(),
        ("image", "How large is the image, compressed?", "400 MB"),
        size,
    )?;
    let changed = ("changed", "How much of it does an update change?", "100 MB");
    let changed = interview.ask(args.changed.as_deref(), changed, |answer| {
        match size(answer)? {
            changed if changed <= image => Ok(changed),
            _ => Err(format!("it must be at most the image's size, {image}")),
        }
    })?;
    let (setting, proposed) = product.setting();
    let question = format!("Which values of {setting} do you want to compare?");
    let settings = interview.ask(
        args.settings.as_deref(),
        ("settings", &question, proposed),
        listed,
    )?;
    Ok(InitAnswers {
        name,
        product,
        clusters,
        nodes,
        link,
        egress,
        image,
        changed,
        settings,
    })
}

/// The choice with this name or number of a menu.
fn chosen<C: ValueEnum>(answer: &str, names: &[String]) -> Result<C, String> {
    let numbered = answer
        .parse::<usize>()
        .ok()
        .and_then(|number| names.get(number.checked_sub(1)?));
    C::from_str(numbered.map_or(answer, String::as_str), true).map_err(|_| {
        format!(
            "it must be one of {}, or the number of one",
            names.join(", ")
        )
    })
}

/// Values between commas: counts or percentages.
fn listed(answer: &str) -> Result<Vec<String>, String> {
    let values: Vec<String> = answer
        .split(',')
        .map(|value| value.trim().to_owned())
        .collect();
    let is_amount = |value: &String| {
        value
            .strip_suffix('%')
            .unwrap_or(value)
            .parse::<u32>()
            .is_ok()
    };
    match values.iter().find(|value| !is_amount(value)) {
        Some(value) => Err(format!(
            "`{value}` must be a count or a percentage; write e.g. `1, 10%, 100%`"
        )),
        None if values.iter().unique().count() < 2 => {
            Err("a comparison needs at least two values; write e.g. `10%, 25%`".to_owned())
        }
        None => Ok(values),
    }
}
