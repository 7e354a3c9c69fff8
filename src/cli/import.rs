//! `fleetsim import`: converts exports of clusters, images and strategies to an experiment.

use std::path::PathBuf;

use clap::Args;
use fleetsim::import::{ImportError, ImportSources, import};
use fleetsim::scenario::LoadError;

use super::{Failure, output};

#[derive(Args, Debug)]
#[command(after_help = "\
Every FILE is JSON or YAML with one or several documents, or `-` for standard input.

Examples:
  fleetsim import --fleet clusters.json --image v2.json --previous v1.json --strategy fleet.yaml -o my-experiment
  fleetsim import --members members.json --placement placement.yaml --image v2.json -o my-experiment
  fleetsim import --applications apps.json --strategy applicationset.yaml --image v2.json -o my-experiment
  fleetsim import --process processes.json --deployment deployment.json -o my-experiment
  kubectl get clusters.fleet.cattle.io -A -o json | fleetsim import --fleet - --image v2.json -o my-experiment")]
pub(super) struct ImportArgs {
    #[command(flatten)]
    sources: ImportSources,
    /// Output folder: new or empty
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Replace an experiment that an earlier import wrote; unless it is identical, it is kept as DIR.before-import
    #[arg(long)]
    replace: bool,
}

pub(super) fn run(args: &ImportArgs) -> Result<(), Failure> {
    let sources = ImportSources {
        clock: Some(jiff::Timestamp::now()),
        ..args.sources.clone()
    };
    let imported = import(&sources, &args.out, args.replace)?;
    output::out(&imported.to_string())?;
    if imported.undecided.is_empty() {
        Ok(())
    } else {
        let file = args.out.display().to_string();
        Err(Failure::Input(LoadError::new(imported.undecided, &file)))
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Input(error) => Self::Input(error),
            ImportError::Usage(message) => Self::Usage(message),
            error => Self::Machine(error.to_string()),
        }
    }
}
