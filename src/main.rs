//! The `fleetsim` program: reads the command line and calls the file of each subcommand.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(cli::of_terminal(std::env::args_os()))
}
