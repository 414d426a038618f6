//! The command line: what was typed ([`args`]), what it means ([`settings`]),
//! and the files that reports go to ([`output`]).

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _};

pub mod args;
pub mod output;
pub mod settings;

pub use output::OutputFile;
pub use settings::{Environment, Settings};

/// Reads a command line, the program's name first.
///
/// # Errors
/// What was wrong in it, or a request for help or the version: to be printed
/// with [`clap::Error::print`], then the program ends with
/// [`clap::Error::exit_code`] (2 for wrong usage).
pub fn settings(
    line: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Settings, clap::Error> {
    let mut command = args::Args::command();
    let matches = command.try_get_matches_from_mut(line)?;
    let typed =
        args::Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Settings::resolve(typed, environment).map_err(|usage| command.error(usage.kind, usage.message))
}
