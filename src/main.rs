//! The program: exit statuses, and nothing else.

use std::io::{self, ErrorKind, Write as _};
use std::process::ExitCode;

use chunkscope::cli::{self, Environment, Status};

fn main() -> ExitCode {
    let settings = match cli::settings(std::env::args_os(), &Environment::current()) {
        Ok(settings) => settings,
        Err(usage) => {
            let printed = usage.print().and_then(|()| io::stdout().flush());
            return match printed {
                // A closed pipe is no reason to complain.
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    // Nobody is left to be told where this fails.
                    let _ = writeln!(io::stderr(), "chunkscope: {}", cli::unwritable(&error));
                    ExitCode::from(Status::Error as u8)
                }
                _ => ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(Status::Error as u8)),
            };
        }
    };
    ExitCode::from(cli::run(&settings, io::stdout().lock(), &mut io::stderr()) as u8)
}
