//! `fleetsim init`: asks for the inputs of an experiment, and writes the experiment.
//!
//! Every question has a default answer in brackets, which Enter accepts, and an option that answers it in advance.
//! Without a terminal, answers are read line by line, and after the end of the input the defaults are used. After an
//! invalid answer, the question is repeated on a terminal; without a terminal, the command fails.

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
    /// The product that manages rollouts
    #[arg(long, value_enum, value_name = "PRODUCT")]
    product: Option<ProductChoice>,
    /// Number of clusters, or of instances for Cloud Foundry
    #[arg(long, value_name = "N")]
    clusters: Option<String>,
    /// Nodes of a cluster
    #[arg(long, value_name = "N")]
    nodes: Option<String>,
    /// Location of the clusters: suggests typical links of such sites
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
    /// Ask nothing: use the default answers
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn init(args: &InitArgs) -> Result<(), Failure> {
    free(&args.folder)?;
    let name = args.folder.file_name().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
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
         Lines with `guess` have no better source than a guess: replace them with your own values, or let\n\
         `fleetsim import` and `fleetsim calibrate` read these from your clusters.\n",
        args.folder.display(),
        folder = args.folder.display(),
    ))
}

/// Rejects a folder that is not empty.
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

/// Writes the experiment and checks it. On failure, no files remain.
fn write(folder: &Path, text: &str) -> Result<(), Failure> {
    let existed = folder.exists();
    let file = folder.join("experiment.yaml");
    let written = write_checked(folder, &file, text);
    if written.is_err() {
        let _ = std::fs::remove_file(&file);
        if !existed {
            let _ = std::fs::remove_dir(folder);
        }
    }
    written
}

fn write_checked(folder: &Path, file: &Path, text: &str) -> Result<(), Failure> {
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(file, text));
    written
        .map_err(|error| Failure::Machine(format!("cannot write {}: {error}", folder.display())))?;
    load(folder, &Overrides::default())?;
    Ok(())
}

/// A question of `fleetsim init`.
#[derive(Clone, Copy)]
struct InitQuestion<'q> {
    /// The option that answers the question in advance.
    option: &'q str,
    text: &'q str,
    /// The default answer, shown in brackets.
    proposed: &'q str,
}

impl InitQuestion<'_> {
    fn refused(&self, answer: &str, reason: &str) -> Failure {
        let Self { option, text, .. } = self;
        Failure::Usage(format!(
            "`{answer}` is not a valid answer to --{option} ({text}): {reason}"
        ))
    }
}

/// Asks the user the questions in order.
struct Interview {
    /// Whether no more questions are asked and the defaults are used.
    silent: bool,
    at_terminal: bool,
}

impl Interview {
    /// Returns the answer to a question: the value `given` by the option, the text that the user types, or the
    /// default.
    fn ask<T>(
        &mut self,
        given: Option<&str>,
        question: InitQuestion<'_>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        if let Some(given) = given {
            return read(given).map_err(|reason| question.refused(given, &reason));
        }
        loop {
            let typed = if self.silent {
                String::new()
            } else {
                self.line(&format!("{} [{}]: ", question.text, question.proposed))?
            };
            let answer = match typed.trim() {
                "" => question.proposed,
                typed => typed,
            };
            match read(answer) {
                Ok(value) => return Ok(value),
                Err(reason) if self.at_terminal => output::err(&format!("{reason}\n")),
                Err(reason) => return Err(question.refused(answer, &reason)),
            }
        }
    }

    /// Returns the value of the option, or the choice from a menu by name or number.
    fn choose<C: ValueEnum>(
        &mut self,
        given: Option<C>,
        question: InitQuestion<'_>,
    ) -> Result<C, Failure> {
        if let Some(given) = given {
            return Ok(given);
        }
        let mut names = Vec::new();
        for value in C::value_variants() {
            if let Some(value) = value.to_possible_value() {
                names.push(value.get_name().to_owned());
            }
        }
        let mut menu = Vec::new();
        for (number, name) in (1..).zip(&names) {
            menu.push(format!("{number} {name}"));
        }
        let question = InitQuestion {
            text: &format!("{} {}", question.text, menu.join(", ")),
            ..question
        };
        self.ask(None, question, |answer| chosen(answer, &names))
    }

    /// Returns the next line of the input. After the end of the input, lines are empty and no more questions are
    /// asked.
    fn line(&mut self, prompt: &str) -> Result<String, Failure> {
        output::err(prompt);
        let mut line = String::new();
        let read = stdin().lock().read_line(&mut line);
        let bytes =
            read.map_err(|error| Failure::Machine(format!("cannot read standard input: {error}")))?;
        let is_at_end = bytes == 0;
        if is_at_end || !self.at_terminal {
            output::err("\n");
        }
        if is_at_end {
            self.silent = true;
        }
        Ok(line)
    }

    /// Returns the fields of a cluster's link: the measured values for its kind of site, unless the user enters
    /// others.
    fn link(&mut self, args: &InitArgs, is_app: bool) -> Result<String, Failure> {
        let is_known = args.downlink.is_some() && args.rtt.is_some();
        let site = match args.site {
            None if is_known => Some(SiteKind::default()),
            given => given,
        };
        let question = InitQuestion {
            option: "site",
            text: "Where are the clusters?",
            proposed: if is_app { "data-centre" } else { "branch" },
        };
        let site = self.choose(site, question)?;
        let link = site.link();
        let usual_downlink = link.downlink.typical().to_string();
        let usual_rtt = link.rtt.typical().to_string();
        let question = InitQuestion {
            option: "downlink",
            text: "How fast is the downlink of a site?",
            proposed: &usual_downlink,
        };
        let downlink = self.ask(args.downlink.as_deref(), question, rate)?;
        let question = InitQuestion {
            option: "rtt",
            text: "How long is the round trip from a site to the registry?",
            proposed: &usual_rtt,
        };
        let rtt = self.ask(args.rtt.as_deref(), question, duration)?;
        // Two numbers do not say the spread of a kind of site, or the limit of its machines.
        let has_more = matches!(link.downlink, RateModel::LogNormal { .. }) || link.nic.is_some();
        if has_more && downlink == usual_downlink && rtt == usual_rtt {
            Ok(format!("site: {}", site.name()))
        } else {
            Ok(format!("downlink: {downlink}, rtt: {rtt}"))
        }
    }

    fn clusters(&mut self, args: &InitArgs, is_app: bool) -> Result<u64, Failure> {
        let question = InitQuestion {
            option: "clusters",
            text: if is_app {
                "How many instances does the app have?"
            } else {
                "How many clusters are there?"
            },
            proposed: "200",
        };
        self.ask(args.clusters.as_deref(), question, |answer| {
            whole_number(answer, 1_000_000)
        })
    }

    fn nodes(&mut self, args: &InitArgs) -> Result<u64, Failure> {
        let question = InitQuestion {
            option: "nodes",
            text: "How many nodes does a cluster have?",
            proposed: "3",
        };
        self.ask(args.nodes.as_deref(), question, |answer| {
            whole_number(answer, 10_000)
        })
    }

    fn changed_size(&mut self, args: &InitArgs, image: Bytes) -> Result<Bytes, Failure> {
        let question = InitQuestion {
            option: "changed",
            text: "How much of it does an update change?",
            proposed: "100 MB",
        };
        self.ask(args.changed.as_deref(), question, |answer| {
            let changed = size(answer)?;
            if changed <= image {
                Ok(changed)
            } else {
                Err(format!("it must be at most the image's size, {image}"))
            }
        })
    }
}

fn answers(args: &InitArgs, name: String) -> Result<InitAnswers, Failure> {
    let mut interview = Interview {
        silent: args.yes,
        at_terminal: stdin().is_terminal(),
    };
    let question = InitQuestion {
        option: "product",
        text: "Which product rolls releases out?",
        proposed: "rancher-fleet",
    };
    let product = interview.choose(args.product, question)?;
    let is_app = product == ProductChoice::CloudFoundry;
    let clusters = interview.clusters(args, is_app)?;
    let nodes = if is_app { 1 } else { interview.nodes(args)? };
    let link = interview.link(args, is_app)?;
    let question = InitQuestion {
        option: "egress",
        text: "How fast is the registry's link?",
        proposed: "10 Gbit/s",
    };
    let egress = interview.ask(args.egress.as_deref(), question, rate)?;
    let question = InitQuestion {
        option: "image",
        text: "How large is the image, compressed?",
        proposed: "400 MB",
    };
    let image = interview.ask(args.image.as_deref(), question, size)?;
    let changed = interview.changed_size(args, image)?;
    let (setting, proposed) = product.setting();
    let question = InitQuestion {
        option: "settings",
        text: &format!("Which values of {setting} do you want to compare?"),
        proposed,
    };
    let settings = interview.ask(args.settings.as_deref(), question, amounts)?;
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

fn whole_number(answer: &str, most: u64) -> Result<u64, String> {
    match answer.replace(['_', ','], "").parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("it must be a whole number from 1 to {most}")),
    }
}

/// Checks a rate, and returns it as written.
fn rate(answer: &str) -> Result<String, String> {
    match BytesPerSec::parse(answer) {
        Ok(_) => Ok(answer.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Checks a duration, and returns it as written.
fn duration(answer: &str) -> Result<String, String> {
    match SimDuration::parse(answer) {
        Ok(_) => Ok(answer.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn size(answer: &str) -> Result<Bytes, String> {
    Bytes::parse(answer).map_err(|error| error.to_string())
}

/// Returns the menu choice with this name or number.
fn chosen<C: ValueEnum>(answer: &str, names: &[String]) -> Result<C, String> {
    let name = match answer.parse::<usize>() {
        Ok(number @ 1..) if number <= names.len() => names[number - 1].as_str(),
        _ => answer,
    };
    C::from_str(name, true)
        .map_err(|_| format!("it must be one of {}, or its number", names.join(", ")))
}

/// Parses comma-separated counts or percentages.
fn amounts(answer: &str) -> Result<Vec<String>, String> {
    let mut values = Vec::new();
    for value in answer.split(',') {
        let value = value.trim();
        let number = value.strip_suffix('%').unwrap_or(value);
        if number.parse::<u32>().is_err() {
            return Err(format!(
                "`{value}` must be a count or a percentage; write e.g. `1, 10%, 100%`"
            ));
        }
        values.push(value.to_owned());
    }
    if values.iter().all_equal() {
        return Err("a comparison needs at least two values; write e.g. `10%, 25%`".to_owned());
    }
    Ok(values)
}
