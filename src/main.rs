//! The `fleetsim` program: reads the command line and hands over to one file a subcommand.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
