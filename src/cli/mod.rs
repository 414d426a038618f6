//! The command line: what was typed ([`args`]), what it means ([`mod@settings`]),
//! and the files that reports go to ([`output`]).

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _};

pub mod args;
pub mod generate;
pub mod live;
pub mod output;
pub mod progress;
mod reports;
pub mod run;
pub mod settings;

pub use output::OutputFile;
pub use run::{Status, run, unwritable};
pub use settings::{Environment, Settings, UsageError};

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
    let matches = match command.try_get_matches_from_mut(line) {
        Err(error) if lacks_capture(&error) => {
            return Err(command.error(error.kind(), NO_CAPTURE));
        }
        matches => matches?,
    };
    let typed = args::Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Settings::resolve(typed, environment).map_err(|usage| command.error(ErrorKind::ArgumentConflict, usage))
}

/// Whether what a command line lacks is a capture.
fn lacks_capture(error: &clap::Error) -> bool {
    let lacks = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(lacks)) => lacks.iter().any(|argument| argument.contains("CAPTURE")),
        _ => false,
    };
    error.kind() == ErrorKind::MissingRequiredArgument && lacks
}

const NO_CAPTURE: &str = "no capture is given

Give a file that tcpdump or Wireshark wrote, or - for standard input:
  tcpdump -i any -w capture.pcap port 8001
  chunkscope capture.pcap";
