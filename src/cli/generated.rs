//! `fleetsim completions`, `fleetsim man` and `fleetsim schema`, generated from the definitions of the command line
//! and of the experiment file.

use clap::{CommandFactory, Error, error::ErrorKind};
use clap_complete::Shell;
use fleetsim::results::to_json;

use super::{Cli, Failure, output};

pub(super) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fleetsim", &mut script);
    print(&script)
}

/// Prints the manual page of the program or of one of its commands.
pub(super) fn man(name: Option<&str>) -> Result<(), Failure> {
    let mut program = Cli::command();
    program.build();
    let command = match name {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command.clone(),
            None => unknown(&mut program, name).exit(),
        },
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::Machine(format!("cannot generate the manual page: {error}")))?;
    print(&page)
}

pub(super) fn schema() -> Result<(), Failure> {
    print(&to_json(&fleetsim::scenario::schema()))
}

fn unknown(program: &mut clap::Command, name: &str) -> Error {
    let names: Vec<&str> = program
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    let message = format!(
        "unknown command `{name}`; the commands are {}",
        names.join(", ")
    );
    program.error(ErrorKind::InvalidValue, message)
}

fn print(bytes: &[u8]) -> Result<(), Failure> {
    let text = std::str::from_utf8(bytes).expect("it is text");
    output::out(text)
}
