//! `fleetsim explore`: a page that simulates while the user changes settings, served locally or written as one file.

use std::path::{Path, PathBuf};

use clap::Args;
use fleetsim::explore::{Explorer, serve};
use fleetsim::io::{MOST_BYTES, read_file};

use super::memory::MemoryArgs;
use super::shard;
use super::simulation::Simulation;
use super::{ExperimentArgs, Failure, output};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  fleetsim explore experiments/01-max-unavailable
  fleetsim explore my-rollout.yaml --page my-rollout.html")]
pub(super) struct ExploreArgs {
    /// Folder of the experiment, or its experiment.yaml
    #[arg(value_name = "EXPERIMENT")]
    experiment: PathBuf,
    /// Seed for all random numbers [default: from the experiment]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Value for a setting of the experiment, such as registry.egress=unlimited; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Number of threads; does not affect results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    memory: MemoryArgs,
    /// Write the page to this file, with the simulator embedded, instead of serving it; `-` is standard output
    #[arg(long, value_name = "FILE", conflicts_with = "threads")]
    page: Option<PathBuf>,
    /// The simulator for --page, built by web/build [default: fleetsim-web.wasm.gz next to the program]
    #[arg(long, value_name = "FILE", requires = "page")]
    engine: Option<PathBuf>,
}

pub(super) fn explore(args: &ExploreArgs) -> Result<(), Failure> {
    let ExploreArgs {
        experiment,
        seed,
        set,
        threads,
        memory,
        page,
        engine,
    } = args;
    let asked = ExperimentArgs {
        experiment: experiment.clone(),
        seed: *seed,
        set: set.clone(),
        ..ExperimentArgs::default()
    };
    let loaded = asked.load()?;
    let inputs = output::inputs(&asked.experiment, &loaded);
    let explorer = Explorer::new(loaded, asked.overrides()).map_err(Failure::Usage)?;
    let threads = memory.threads(&explorer.memory(), *threads)?;
    match page {
        Some(file) => {
            let explorer = explorer.limited_to(memory.most, 1);
            let engine = match engine {
                Some(engine) => engine.clone(),
                None => engine_beside_program().unwrap_or_default(),
            };
            write(&explorer, file, &inputs, &engine)
        }
        None => {
            let pool = Simulation::begin(threads)?.pool;
            let explorer = explorer.limited_to(memory.most, pool.current_num_threads());
            let server = serve(explorer, pool).map_err(Failure::Machine)?;
            let address = server
                .address()
                .map_err(|error| Failure::Machine(error.to_string()))?;
            output::out(&format!("{address}\n"))?;
            output::err(
                "open this address in a browser on this machine; Ctrl-C ends the program\n",
            );
            server.run();
            Ok(())
        }
    }
}

fn engine_beside_program() -> Option<PathBuf> {
    let program = shard::program().ok()?;
    Some(program.parent()?.join("fleetsim-web.wasm.gz"))
}

/// Writes the page with the embedded simulator to a file, which must not be one of the `inputs`.
fn write(
    explorer: &Explorer,
    file: &Path,
    inputs: &[PathBuf],
    engine: &Path,
) -> Result<(), Failure> {
    let bytes = read_file(engine, MOST_BYTES).map_err(|error| {
        let fix =
            "releases include it next to the program; otherwise run `web/build` in a checkout and name it with \
             --engine";
        Failure::Usage(format!("--page needs the simulator as WebAssembly, {}: {error}\n  {fix}", engine.display()))
    })?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        let fix = "name the file that web/build creates";
        return Err(Failure::Usage(format!(
            "{} is not a compressed engine; {fix}",
            engine.display()
        )));
    }
    let page = explorer.page(&base64(&bytes)).map_err(Failure::Machine)?;
    let written = output::file(file, inputs, |out| out.write_all(page.as_bytes()));
    written.map_err(|error| Failure::Machine(format!("cannot write {}: {error}", file.display())))
}

/// Encodes bytes as base64 for use in a script.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let mut bytes = [0; 4];
        bytes[1..=part.len()].copy_from_slice(part);
        let bits = u32::from_be_bytes(bytes);
        for digit in 0..4 {
            let is_filled = digit <= part.len();
            text.push(if is_filled {
                char::from(DIGITS[(bits >> (18 - 6 * digit)) as usize & 63])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    /// The examples are from RFC 4648.
    #[test]
    fn bytes_are_written_as_base64() {
        let texts =
            ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(
            texts,
            [
                "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"
            ]
        );
    }
}
